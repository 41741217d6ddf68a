SELECT SUM(charges * 0.5), SUM(age) * 1.19 FROM patients WHERE year > 99999999999999999999 OR rate < 1e300 OR disc = -0.0
