SELECT ward, SKEWNESS(charges), KURTOSIS(age * 2 - 1) FILTER (WHERE year > 2020), KURTOSIS_POP(year) FROM patients GROUP BY ward HAVING SKEWNESS(bp) > 0
