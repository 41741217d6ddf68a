# SPDX-License-Identifier: Apache-2.0
"""Rows of values, quantifiers, functions of rows one by one and of several columns, asked of one table with the program: as DuckDB has them."""

import random

import pytest

from conftest import approve
from duckdb_agrees import assert_as_duckdb

ROWS = 400

# Rows of values with what the SQL standard says that they are: DuckDB takes a row that lacks a value for one with a value.
ROWS_OF_VALUES = [
    ("(ward, grade) IN (('a', 3), ('b', 5), ('c', NULL))", "ward = 'a' AND grade = 3 OR ward = 'b' AND grade = 5 OR ward = 'c' AND grade = NULL"),
    ("(ward, grade) NOT IN (('a', 3), ('b', 5))", "NOT (ward = 'a' AND grade = 3 OR ward = 'b' AND grade = 5)"),
    ("(ward, grade) <> ('a', 3)", "ward <> 'a' OR grade <> 3"),
    ("(grade, cost) < (5, 120.5)", "grade < 5 OR grade = 5 AND cost < 120.5"),
    ("(grade, ward, cost) >= (5, 'b', 40)", "grade > 5 OR grade = 5 AND (ward > 'b' OR ward = 'b' AND cost >= 40)"),
]

# What is read as another form: any way answers it.
FORMS = [
    "SELECT COUNT(*) FROM t WHERE grade = ANY (ARRAY[3, 4, 5])",
    "SELECT COUNT(*) FROM t WHERE grade <> ALL (ARRAY[3, 4, 5])",
    "SELECT COUNT(*) FROM t WHERE grade > ANY (ARRAY[7, 8])",
    "SELECT COUNT(*) FROM t WHERE grade <= ALL (ARRAY[4, 6])",
    "SELECT id FROM t ORDER BY cost DESC NULLS LAST, id FETCH FIRST 5 ROWS ONLY",
    "SELECT ward, COUNT_IF(grade > 5) AS n FROM t GROUP BY ward ORDER BY ward NULLS LAST",
    "SELECT ward, SUM(grade > 5) AS n FROM t GROUP BY ward ORDER BY ward NULLS LAST",
    "SELECT MOD(grade, 3) AS m, COUNT(*) AS n FROM t GROUP BY 1 ORDER BY 1 NULLS LAST",
    "SELECT SIGN(grade - 5) AS s, COUNT(*) AS n FROM t GROUP BY 1 ORDER BY 1 NULLS LAST",
    "SELECT IF(grade > 5, 'high', 'low') AS band, COUNT(*) AS n FROM t GROUP BY 1 ORDER BY 1",
    "SELECT * EXCLUDE (note, cost) FROM t WHERE grade = 5 ORDER BY id",
]

# What the owner's query engine computes.
ROWS_ONE_BY_ONE = [
    "SELECT ward, STRING_AGG(note, '; ' ORDER BY id) AS s FROM t WHERE grade = 5 GROUP BY ward ORDER BY ward NULLS LAST",
    "SELECT STRING_AGG(grade, '-' ORDER BY id) AS s FROM t WHERE id < 9",
    "SELECT ward, FIRST(id ORDER BY cost DESC NULLS LAST, id) AS f, LAST(id ORDER BY cost NULLS FIRST, id) AS l FROM t GROUP BY ward ORDER BY ward NULLS LAST",
    "SELECT ward, ARG_MAX(id, cost * 1000 + id) AS m, MIN_BY(id, cost * 1000 + id) AS n FROM t GROUP BY ward ORDER BY ward NULLS LAST",
    "SELECT ANY_VALUE(note) AS v FROM t WHERE id = 7",
    "SELECT ward, BIT_AND(grade) AS a, BIT_OR(grade) AS o, BIT_XOR(grade) AS x FROM t GROUP BY ward ORDER BY ward NULLS LAST",
    "SELECT DISTINCT ON (ward) ward, id FROM t ORDER BY ward NULLS LAST, cost DESC NULLS LAST, id",
    "SELECT ward, GROUPING(ward) AS g, SUM(grade) AS s FROM t GROUP BY ROLLUP (ward) ORDER BY g, ward NULLS LAST",
    "SELECT id FROM t WHERE grade >= ALL (SELECT u.grade FROM t u WHERE u.grade IS NOT NULL) ORDER BY id",
    "SELECT COUNT(*) FROM t WHERE cost < ANY (SELECT u.cost FROM t u WHERE u.ward = 'a')",
    "SELECT id FROM t WHERE (ward, grade) IN (SELECT u.ward, MAX(u.grade) FROM t u GROUP BY u.ward) ORDER BY id",
    "SELECT COUNT(*) FROM t WHERE grade = ANY (SELECT u.grade FROM t u WHERE u.id < 20)",
]

# Exact sums of several columns where one table cannot add them up: over sets of keys, of tables that are joined.
OF_SEVERAL_COLUMNS = [
    "SELECT ward, CORR(cost, grade) AS r, COVAR_POP(cost, grade) AS c, COVAR_SAMP(grade, cost) AS d FROM t GROUP BY ROLLUP (ward) ORDER BY ward NULLS LAST, r",
    "SELECT REGR_SLOPE(a.cost, b.grade) AS s, REGR_INTERCEPT(a.cost, b.grade) AS i, REGR_R2(a.cost, b.grade) AS r, REGR_COUNT(a.cost, b.grade) AS n, REGR_SXY(a.cost, b.grade) AS x, REGR_AVGX(a.cost, b.grade) AS m FROM t a JOIN (SELECT * FROM t ) b ON a.id = b.id + 1",
    "SELECT GEOMEAN(a.grade) AS g, PRODUCT(a.grade) AS p FROM t a JOIN (SELECT * FROM t ) b ON a.id = b.id WHERE a.id < 12 AND a.grade > 0",
]


@pytest.fixture
def table(hush, key, tmp_path):
    """Random rows with missing values and ties, in a table whose wards are clear and whose notes are sealed; and the rows."""
    draw, lines = random.Random(), ["id,ward,grade,cost,note"]
    for number in range(ROWS):
        ward = draw.choice(["a", "b", "c", ""])
        grade = "" if draw.random() < 0.1 else draw.randrange(10)
        cost = "" if draw.random() < 0.1 else f"{draw.randrange(20000) / 100:.2f}"
        lines.append(f"{number},{ward},{grade},{cost},n{draw.randrange(30)}")
    rows = tmp_path / "t.csv"
    rows.write_text("\n".join(lines) + "\n", encoding="utf-8")
    hush("init", rows, "--sensitive", "grade,cost,note", "--clear", "id,ward", "-o", "t.toml")
    approve(tmp_path / "t.toml")
    hush("encrypt", rows, "--schema", "t.toml", "-o", "T", *key)
    return tmp_path / "T", rows


def test_forms_and_functions_of_rows_are_those_of_duckdb(hush, key, table):
    """Each of them once, on random rows."""
    encrypted, rows = table
    for condition, meant in ROWS_OF_VALUES:
        found = hush("query", encrypted, f"SELECT id FROM t WHERE {condition} ORDER BY id", "--format", "csv", *key).stdout
        assert_as_duckdb(found, f"SELECT id FROM t WHERE {meant} ORDER BY id", rows)
    listed, joined = "LISTAGG(grade) WITHIN GROUP (ORDER BY id DESC)", "STRING_AGG(grade, ',' ORDER BY id DESC)"
    found = hush("query", encrypted, f"SELECT {listed} FROM t", "--format", "csv", *key).stdout
    assert_as_duckdb(found, f"SELECT {joined} FROM t ", rows)
    for query in FORMS + ROWS_ONE_BY_ONE + OF_SEVERAL_COLUMNS:
        found = hush("query", encrypted, query, "--format", "csv", *key).stdout
        assert_as_duckdb(found, query, rows)


def test_outputs_are_named_after_what_was_written(hush, key, table):
    """And not after what it is read as."""
    encrypted, _ = table
    for query, names in [
        ("SELECT COUNT_IF(grade > 5), MOD(id, 7), IF(id > 3, 1, 0) FROM t GROUP BY 2, 3 LIMIT 1", 'COUNT_IF(grade > 5),"MOD(id, 7)","IF(id > 3, 1, 0)"'),
        ("SELECT STRING_AGG(note), ARG_MAX(id, cost), CORR(cost, grade), APPROX_COUNT_DISTINCT(id) FROM t", "string_agg_note,arg_max_id_cost,corr_cost_grade,APPROX_COUNT_DISTINCT(id)"),
        ("SELECT LINREG(cost, grade) AS m FROM t GROUP BY ROLLUP (ward)", "m_intercept,m_grade,m_r2,m_n"),
    ]:
        assert hush("query", encrypted, query, "--format", "csv", *key).stdout.splitlines()[0] == names


def test_what_they_cannot_be_is_refused(hush, key, table):
    """With code and place, and nothing printed."""
    encrypted, rows = table
    for query, code in [
        ("SELECT id FROM t WHERE (ward, grade) = ('a', 3, 4)", "HUSH-P005"),
        ("SELECT id FROM t WHERE NOT (ward, grade) IN (SELECT ward, grade FROM t)", "HUSH-P005"),
        ("SELECT ARRAY_AGG(id) FROM t", "HUSH-P006"),
        ("SELECT STRING_AGG(DISTINCT note, ',') FROM t", "HUSH-P005"),
        ("SELECT BIT_AND(note) FROM t", None),
        ("SELECT CORR(note, grade) FROM t GROUP BY ROLLUP (ward)", "HUSH-P011"),
        ("SELECT id FROM t ORDER BY id FETCH FIRST 3 ROWS WITH TIES", "HUSH-P005"),
        ("SELECT * EXCLUDE (gradee) FROM t", "HUSH-P003"),
        ("SELECT id FROM t WHERE cost > ANY (ARRAY[" + ", ".join(["id + cost"] * 450) + "])", "HUSH-P012"),
    ]:
        refused = hush("query", encrypted, query, *key, status=None)
        assert refused.returncode in (2, 3) and refused.stdout == "" and refused.stderr.startswith(code or "HUSH-"), (query, refused.stderr)
    refused = hush("run", rows, "SELECT STRING_AGG(note) FROM t", "--clear", "ward", status=3)
    assert refused.stderr.startswith("HUSH-P005") and "hush query" in refused.stderr
