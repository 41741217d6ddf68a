SELECT ward, SUM(age + bp), CORR(age, bp), REGR_SLOPE(charges, age) FROM patients GROUP BY ward
