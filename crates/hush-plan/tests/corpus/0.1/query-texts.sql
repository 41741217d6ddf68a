SELECT ward FROM patients WHERE ward = 'it''s' OR ward = 'a;b' /* ; */ OR ward = 'a\b' OR ward <> '日本'
