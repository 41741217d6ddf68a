SELECT ward, COUNT(*), AVG(age), STDDEV(charges) FROM patients WHERE year = 2023 GROUP BY ward ORDER BY ward
