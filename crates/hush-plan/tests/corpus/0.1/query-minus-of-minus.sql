SELECT ward, - - year, 1 - - - - weight, -(-disc), - - age FROM patients WHERE - - year > - - -5 AND ward = 'x'
