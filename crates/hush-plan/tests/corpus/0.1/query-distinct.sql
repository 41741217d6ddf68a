SELECT DISTINCT ward, year FROM patients ORDER BY year
