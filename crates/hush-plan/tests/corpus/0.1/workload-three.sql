-- sums; and more
SELECT SUM(age) AS a FROM patients;;
SELECT COUNT(*) AS b FROM patients WHERE ward = 'a;b' /* ; */;
SELECT ward AS "x;y" FROM patients;
-- the end