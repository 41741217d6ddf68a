SELECT score * rate - 2.50, score FROM patients WHERE rate > 1e300
