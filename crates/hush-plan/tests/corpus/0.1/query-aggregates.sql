SELECT year % 10 AS decade, SUM(CASE WHEN ward = 'north' THEN age ELSE 0 END) AS "north's", SUM(age * weight) / 100,
  ROUND(AVG(charges), 2), VARIANCE(bp), COUNT(age), SUM(age * bp), MIN(year), COUNT(DISTINCT ward)
FROM patients AS p WHERE p.year BETWEEN 1990 AND 2020 OR ward IN ('a', 'b', NULL)
GROUP BY 1 HAVING SUM(charges) > 1000.50 ORDER BY 2 DESC NULLS LAST, decade LIMIT 10 OFFSET 5
