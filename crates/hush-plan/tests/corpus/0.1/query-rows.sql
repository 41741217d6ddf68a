SELECT p.ward, age * visits - 3, (charges + disc) * 2 AS x, born - admitted, smoker, "Odd Name" FROM patients p
-- a comment
WHERE NOT (weight IS NULL) AND ward LIKE '%!%x' ESCAPE '!' ORDER BY "Odd Name" LIMIT 4611686018427387904
