# SPDX-License-Identifier: Apache-2.0
"""Joins whose tables are asked for groups in place of rows: by cubes, sums by hidden values and sums of a server, with the results of DuckDB."""

import csv
import random
import re

import duckdb
import pytest

from duckdb_agrees import assert_same_rows

STAYS = """format = 1
table = "stays"
status = "approved"
max_rows = 200000
cubes = [{ by = [{ column = "ward", values = ["a", "b", "c", "d"] }, "age"], sum = ["charges"] }]
[columns.ward]
type = "category"
nullable = true
protect = "seal"
[columns.age]
type = "int(8)"
range = [0, 20]
nullable = true
protect = "encrypt"
[columns.charges]
type = "decimal(10,2)"
range = [-1000, 99999.99]
nullable = true
protect = "encrypt"
[columns.year]
type = "int(16)"
range = [2020, 2024]
protect = "clear"
[columns.key]
type = "int(32)"
protect = "clear"
"""
WARDS = """format = 1
table = "wards"
status = "approved"
max_rows = 1000
[columns.ward]
type = "category"
protect = "clear"
[columns.region]
type = "category"
protect = "clear"
[columns.rate]
type = "decimal(4,2)"
range = [0, 20]
protect = "encrypt"
[columns.since]
type = "int(16)"
range = [2000, 2030]
protect = "clear"
"""
ROWS = 20_000


def stays(draw):
    maybe = lambda value: "" if draw.random() < 0.05 else value
    for key in range(ROWS):
        charges = f"{draw.randint(-100_000, 9_999_999) / 100:.2f}"
        yield [maybe(draw.choice("abcd")), maybe(draw.randint(0, 20)), maybe(charges), draw.randint(2020, 2024), key]


#: Ward d has no region, e no stays, and two regions share b.
REGIONS = [
    ["a", "north", "1.50", 2020],
    ["b", "north", "2.25", 2021],
    ["b", "south", "0.75", 2021],
    ["c", "south", "12.00", 2023],
    ["e", "south", "1.00", 2020],
]


@pytest.fixture
def tables(hush, key, tmp_path):
    """Both tables in directories, and as they are."""
    draw = random.Random(5)
    duck, places = duckdb.connect(), []
    for name, schema, header, rows in [
        ("stays", STAYS, ["ward", "age", "charges", "year", "key"], list(stays(draw))),
        ("wards", WARDS, ["ward", "region", "rate", "since"], REGIONS),
    ]:
        with open(tmp_path / f"{name}.csv", "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header, *rows])
        (tmp_path / f"{name}.toml").write_text(schema, encoding="utf-8")
        hush("encrypt", f"{name}.csv", "--schema", f"{name}.toml", "-o", name.upper(), *key)
        places.append(tmp_path / name.upper())
        types = {"charges": "DECIMAL(10,2)", "rate": "DECIMAL(4,2)", "age": "BIGINT", "year": "BIGINT", "since": "BIGINT", "key": "BIGINT"}
        types = {column: types.get(column, "VARCHAR") for column in header}
        duck.execute(f"CREATE TABLE {name} AS SELECT * FROM read_csv('{tmp_path / name}.csv', header=true, columns={types})")
    return places, duck


def ask(hush, places, query, key, *options):
    """The result, and what each table was asked: the way and the question."""
    done = hush("query", *places, query, "--format", "csv", "--account", *options, *key)
    said = re.sub(r"\s+", " ", done.stderr)
    asked = re.findall(r"Asked (\w+)(?: by (\w+))?: (SELECT .*?); ", said)
    return done.stdout, {table: (way, sql) for table, way, sql in asked}


#: Questions, and what the stays are asked, by which way.
QUESTIONS = [
    (
        "SELECT w.region, COUNT(*) AS n, SUM(s.charges) AS total, AVG(s.charges) AS mean FROM stays s JOIN wards w ON s.ward = w.ward "
        "WHERE s.age >= 5 GROUP BY w.region ORDER BY w.region",
        'SELECT "ward", COUNT(*), SUM("charges"), COUNT("charges") FROM "stays" WHERE ("age" >= 5) GROUP BY "ward"',
        "cube",
    ),
    (
        "SELECT w.region, SUM(s.charges * w.rate) AS due, COUNT(s.charges) AS n FROM wards w JOIN stays s ON s.ward = w.ward "
        "WHERE s.age BETWEEN 3 AND 9 AND w.rate < 5 GROUP BY w.region ORDER BY w.region",
        'SELECT "ward", SUM("charges"), COUNT("charges") FROM "stays" WHERE ("age" BETWEEN 3 AND 9) GROUP BY "ward"',
        "cube",
    ),
    (
        "SELECT s.ward, MAX(w.rate) AS rate, SUM(s.charges) AS total, COUNT(DISTINCT s.age) AS ages FROM stays s LEFT JOIN wards w "
        "ON s.ward = w.ward AND s.age < 10 GROUP BY s.ward ORDER BY s.ward NULLS LAST",
        'SELECT "age", "ward", SUM("charges") FROM "stays" GROUP BY "age", "ward"',
        "cube",
    ),
    (
        "SELECT t.ward, t.total FROM (SELECT ward, SUM(charges) AS total FROM stays WHERE age < 18 GROUP BY ward) t JOIN wards w ON w.ward = t.ward "
        "WHERE w.region = 'north' ORDER BY t.ward",
        'SELECT "ward", SUM("charges") FROM "stays" WHERE ("age" < 18) GROUP BY "ward"',
        "cube",
    ),
    (
        "SELECT w.ward FROM wards w WHERE NOT EXISTS (SELECT 1 FROM stays s WHERE s.ward = w.ward AND s.age = 7) ORDER BY w.ward",
        None,
        None,
    ),
    (
        "SELECT SUM(CASE WHEN w.region = 'north' THEN s.charges ELSE 0 END) AS north, COUNT(*) AS n FROM stays s, wards w WHERE s.ward = w.ward",
        'SELECT "ward", SUM("charges"), COUNT(*) FROM "stays" GROUP BY "ward"',
        "cube",
    ),
]


def test_a_cube_serves_joins(hush, key, tables):
    places, duck = tables
    for query, question, way in QUESTIONS:
        found, asked = ask(hush, places, query, key)
        assert_same_rows(found, duck.execute(query).fetchall(), query)
        if question is not None:
            assert asked["stays"] == (way, question), (query, asked)


def test_a_server_adds_up_for_a_join(hush, key, tables):
    """By clear keys no row comes back."""
    places, duck = tables
    query = (
        "SELECT w.region, SUM(s.key * w.since) AS total, COUNT(*) AS n FROM stays s JOIN wards w ON s.year = w.since "
        "WHERE s.key < 19000 GROUP BY w.region ORDER BY w.region"
    )
    found, asked = ask(hush, places, query, key)
    assert_same_rows(found, duck.execute(query).fetchall(), query)
    assert asked["stays"][1].endswith('FROM "stays" WHERE ("key" < 19000) GROUP BY "year"'), asked


def test_one_table_asked_twice(hush, key, tables):
    """Totals in sub-queries of one table are questions of their own."""
    places, duck = tables
    query = (
        "SELECT ward, SUM(charges) / (SELECT SUM(charges) FROM stays) AS share FROM stays GROUP BY ward "
        "HAVING SUM(charges) > (SELECT AVG(charges) FROM stays) * 10 ORDER BY ward NULLS LAST"
    )
    done = hush("query", places[0], query, "--format", "csv", "--account", *key)
    assert_same_rows(done.stdout, duck.execute(query).fetchall(), query)
    asked = re.findall(r"Asked +stays by (\w+): SELECT (.*?) FROM", re.sub(r"\s+", " ", done.stderr))
    assert ("cube", '"ward", SUM("charges")') in asked, asked


def test_explain_tells_of_the_groups(hush, key, tables):
    text = hush("explain", *tables[0], QUESTIONS[0][0], *key).stdout
    assert 'GROUP BY "ward"' in text and "* cube" in text, text


def test_more_groups_than_anybody_knew(hush, key, tmp_path):
    """Categories with as many values as there are rows: a server that is asked for groups refuses, and is asked for rows."""
    rows = 12_000
    (tmp_path / "codes.csv").write_text("code,n\n" + "".join(f"c{number},{number % 7}\n" for number in range(rows)), encoding="utf-8")
    (tmp_path / "codes.toml").write_text(
        'format = 1\ntable = "codes"\nstatus = "approved"\nmax_rows = 20000\n[columns.code]\ntype = "category"\nprotect = "clear"\n'
        '[columns.n]\ntype = "int(8)"\nrange = [0, 6]\nprotect = "clear"\n',
        encoding="utf-8",
    )
    hush("encrypt", "codes.csv", "--schema", "codes.toml", "-o", "C", *key)
    query = "SELECT COUNT(*) AS k, SUM(a.n * b.n) AS s FROM codes a JOIN codes b ON a.code = b.code"
    found, asked = ask(hush, ["C"], query, key)
    assert found.splitlines()[1] == f"{rows},{sum((number % 7) ** 2 for number in range(rows))}", found
    assert "GROUP BY" not in asked["codes"][1], asked
