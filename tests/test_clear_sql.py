# SPDX-License-Identifier: Apache-2.0
"""SQL over clear columns, decimals of every width and messages for empty columns, with DuckDB as the oracle."""

import csv
import decimal
import io
import json
import math
import random

import duckdb
import pytest

HEADER = ["n", "k", "d", "f", "s", "x"]
TYPES = (
    "columns={'n':'BIGINT','k':'BIGINT','d':'DECIMAL(12,4)','f':'DOUBLE','s':'VARCHAR','x':'BIGINT'}, "
    "header=true, nullstr=''"
)
TEXTS = ["50%", "50!", "a_b", "axb", "back\\slash", "it's", "100% of it", None]

CLEAR = [
    "SELECT SUM(CASE WHEN n<3 THEN 0*CASE WHEN n>3 THEN 3 END - 5 ELSE 2 END) AS s FROM t",
    "SELECT COUNT(CASE WHEN n<3 THEN 0*n - 5 ELSE 2 END) AS c, SUM(CASE WHEN k<2 THEN n-n+1 ELSE k END) AS s FROM t",
    "SELECT SUM(CASE WHEN n<3 THEN 0*CASE WHEN n>3 THEN 3 END - 5 ELSE x END) AS s FROM t",
    "SELECT COUNT(*) AS c FROM t WHERE n IN (1.0, 2.00000000000000000, 3.00000000000000001)",
    "SELECT COUNT(*) AS c FROM t WHERE d IN (0.12340000000000000001, 1.5, 0.2500000000000000000000000000000000)",
    "SELECT COUNT(*) AS c FROM t WHERE d NOT IN (0.2500000000000000000000000000000001, 1.5)",
    "SELECT COUNT(*) AS c FROM t WHERE f IN (0.12345678901234567, 0.1, 2.5, 1e300)",
    "SELECT COUNT(*) AS c FROM t WHERE f BETWEEN 0.1 AND 0.30000000000000004",
    "SELECT COUNT(*) AS c FROM t WHERE f > d AND f <> n",
    "SELECT COUNT(*) AS c FROM t WHERE 2.5 IN (f, 7)",
    "SELECT COUNT(*) AS c FROM t WHERE CASE f WHEN 0.1 THEN true WHEN 2.5 THEN false ELSE k > 0 END",
    "SELECT COUNT(*) AS c FROM t WHERE (CASE WHEN k > 0 THEN 1 ELSE 2.5 END) + 1 > 3",
    "SELECT COUNT(*) AS c FROM t WHERE COALESCE(n, 2.5) = 2.5",
    "SELECT SUM(CASE WHEN k > 0 THEN n * k ELSE f END) AS s FROM t WHERE f < 100",
    "SELECT SUM(CASE WHEN k > 0 THEN d * d ELSE f END) AS s FROM t WHERE f < 100",
    "SELECT AVG(CASE WHEN k > 0 THEN d ELSE f * 1.5 END) AS s FROM t WHERE f < 100",
    "SELECT SUM(ABS(n)) AS s, AVG(ABS(k)) AS a, AVG(ROUND(d, 2)) AS r, SUM(ABS(d)) AS u FROM t",
    "SELECT AVG(ABS(k)) FILTER (WHERE n > 0) AS a, COUNT(ABS(n)) AS c, AVG(DISTINCT ABS(k)) AS q FROM t",
    "SELECT k, SUM(x) AS s, AVG(d) AS a, AVG(n) AS b, STDDEV(d) AS e, VARIANCE(n) AS v FROM t GROUP BY k ORDER BY k",
    "SELECT COUNT(*) AS c FROM t WHERE s LIKE '50!%' ESCAPE '!'",
    "SELECT COUNT(*) AS c FROM t WHERE s NOT LIKE 'a#_b' ESCAPE '#'",
    "SELECT COUNT(*) AS c FROM t WHERE s ILIKE 'BACK!\\%' ESCAPE '!' OR s LIKE 'it''s' ESCAPE '!'",
    "SELECT COUNT(*) AS c, SUM(x) AS s FROM t WHERE s LIKE '%!%%' ESCAPE '!'",
]


def table(path, rows, seed=5):
    """Random rows with NULLs in every clear column."""
    draw = random.Random(seed)
    maybe = lambda row, value: value if row == 0 or draw.random() < 0.85 else ""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(HEADER)
        for row in range(rows):
            writer.writerow([
                maybe(row, draw.randint(-6, 6)),
                draw.randint(-3, 3),
                maybe(row, draw.choice(["0.1234", "1.5000", "0.2500", f"{draw.randint(-9999, 9999)}.{draw.randint(0, 9999):04}"])),
                maybe(row, draw.choice(["0.1", "2.5", "0.12345678901234567", "0.30000000000000004", "1e300", "-3.75e-5"])),
                maybe(row, draw.choice(TEXTS[:-1])) if row else "50%",
                draw.randint(-1000, 1000),
            ])


def run(hush, path, query, *more, status=0):
    """The rows of a result as dictionaries of text."""
    done = hush("run", path, query, "--sensitive", "x", "--clear", "n,k,d,f,s", "--format", "csv", *more, status=status)
    return list(csv.DictReader(io.StringIO(done.stdout)))


def same(text, want):
    """Whether a cell of ours is the oracle's value: exactly, or for doubles to their last digits."""
    if want is None:
        return text == ""
    if isinstance(want, float):
        return math.isclose(float(text), want, rel_tol=1e-12, abs_tol=1e-12)
    if isinstance(want, (int, decimal.Decimal)) and not isinstance(want, bool):
        return decimal.Decimal(text) == want
    return text == str(want)


def test_clear_sql_equals_duckdb(hush, tmp_path):
    """NULL through CASE, long literals, doubles beside decimals, escapes: as DuckDB, to the last digit."""
    path = tmp_path / "t.csv"
    table(path, 400)
    for query in CLEAR:
        cursor = duckdb.sql(query.replace("FROM t", f"FROM read_csv('{path}', {TYPES}) AS t"))
        expected = [dict(zip(cursor.columns, row)) for row in cursor.fetchall()]
        found = run(hush, path, query, "--verify")
        assert len(found) == len(expected), query
        for ours, theirs in zip(found, expected):
            assert ours.keys() == theirs.keys()
            assert all(same(ours[name], theirs[name]) for name in theirs), (query, ours, theirs)


def test_division_and_remainder_by_zero_are_null(hush, tmp_path):
    """On results and in clear conditions alike."""
    path = tmp_path / "t.csv"
    table(path, 50)
    assert run(hush, path, "SELECT SUM(x)/0 AS a, SUM(x)%0 AS b, COUNT(*)%(COUNT(*)-50) AS c, AVG(d)/0 AS d FROM t") == [
        {"a": "", "b": "", "c": "", "d": ""}
    ]
    assert run(hush, path, "SELECT SUM(x) % 7 = SUM(x) - 7 * TRUNC(SUM(x) / 7) AS a FROM t") == [{"a": "true"}]
    for condition in ("k % (k - k) = 0", "k / (n - n) = 1", "d % (k - k) < 1", "(k / 0) IS NOT NULL"):
        assert run(hush, path, f"SELECT COUNT(*) AS c FROM t WHERE {condition}") == [{"c": "0"}], condition


def test_escapes_that_the_engine_lacks_are_refused_before_anything_runs(hush, tmp_path):
    """With the reason."""
    path = tmp_path / "t.csv"
    table(path, 10)
    for condition in ("s LIKE s ESCAPE '!'", "s LIKE 'a' ESCAPE '!!'", "s LIKE 'a!' ESCAPE '!'"):
        query = f"SELECT COUNT(*) AS c FROM t WHERE {condition}"
        done = hush("run", path, query, "--sensitive", "x", "--clear", "s", status=3)
        assert "HUSH-P005" in done.stderr and "ESCAPE" in done.stderr, done.stderr


def test_integers_under_sum_do_not_wrap(hush, tmp_path):
    """If the planner knows no bound (a function), the engine's 64 bits would overflow."""
    path = tmp_path / "t.csv"
    path.write_text("n,x\n" + "9223372036854775806,1\n" * 4, encoding="utf-8")
    done = hush("run", path, "SELECT SUM(ABS(n)) AS s, SUM(n) AS u FROM t", "--sensitive", "x", "--clear", "n", "--format", "csv")
    assert done.stdout.splitlines()[1] == ",".join([str(4 * 9223372036854775806)] * 2)


def test_the_least_integer_is_not_its_own_negative(hush, tmp_path):
    """In 64 bits it would be. A seed of the random queries: `-MIN(n)` was negative."""
    path, least = tmp_path / "t.csv", -(2**63)
    path.write_text(f"n,x\n{least},1\n3,2\n", encoding="utf-8")
    for choice in (("--sensitive", "x", "--clear", "n"), ("--sensitive", "n", "--clear", "x")):
        ask = lambda query, status=0: hush("run", path, query, *choice, "--format", "csv", status=status)
        answers = {
            "SELECT -MIN(n) FROM t": -least,
            "SELECT - -MIN(n) FROM t": least,
            "SELECT COUNT(*) FROM t HAVING -MIN(n) > 0": 2,
            "SELECT COUNT(*) FROM t WHERE -n > 0": 1,
            "SELECT COUNT(*) FROM t WHERE -n IN (9223372036854775808, -3)": 2,
            "SELECT SUM(-n) FROM t": -least - 3,
            "SELECT -n FROM t ORDER BY n LIMIT 1": -least,
        }
        for query, want in answers.items():
            assert ask(query).stdout.split()[-1] == str(want), query
        # As the values of any other operation must, these must fit their type.
        assert "HUSH-E050" in ask("SELECT MIN(-n) FROM t", 3).stderr


DECIMALS = [
    (38, 0, 10**37),
    (38, 10, 10**37),
    (38, 38, 10**37),
    (30, 20, 10**29),
    (20, 2, 10**19),
    (18, 12, 10**17),
]


@pytest.mark.parametrize("precision, scale, limit", DECIMALS)
def test_declared_decimals_are_exact(hush, tmp_path, precision, scale, limit):
    """Parquet decimals of any scale and width, encrypted and clear, summed to the last digit or refused by the planner."""
    draw = random.Random(precision * 100 + scale)
    rows = [(decimal.Decimal(draw.randint(-limit, limit)).scaleb(-scale, decimal.Context(prec=60)), draw.randint(0, 3)) for _ in range(300)]
    source, path = tmp_path / "source.csv", tmp_path / "t.parquet"
    with source.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["m", "k"], *[[f"{value:f}", k] for value, k in rows]])
    duckdb.sql(
        f"COPY (FROM read_csv('{source}', header=true, columns={{'m':'DECIMAL({precision},{scale})','k':'BIGINT'}})) "
        f"TO '{path}' (FORMAT PARQUET)"
    )
    for sensitive, clear, query in (
        ("m", "k", "SELECT SUM(m) AS s FROM t WHERE k < 3"),
        ("k", "m", "SELECT SUM(m) AS s FROM t"),
    ):
        done = hush("run", path, query, "--sensitive", sensitive, "--clear", clear, "--format", "csv", "--verify")
        with decimal.localcontext(prec=80):
            want = sum(value for value, k in rows if k < 3 or sensitive == "k")
            assert decimal.Decimal(done.stdout.split()[1]) == want
    schema = tmp_path / "schema.toml"
    hush("init", path, "-o", schema)
    assert f"decimal({precision},{scale})" in schema.read_text(encoding="utf-8")


def test_decimals_beside_small_integers_by_row(hush, tmp_path):
    """The whole of DECIMAL(38,0), added to an int(8): every value within the range is taken."""
    edge = 10**38 - 1
    values = [edge, -edge, 0, 2**126, -(2**126), 2**126 - 1, 5]
    path, schema = tmp_path / "t.csv", tmp_path / "s.toml"
    for wide in ('type = "decimal(38,0)"', 'type = "decimal(38,0)"\nrange = [0, 1000]'):
        some = values if "range" not in wide else [5, 0, 1000]
        path.write_text("a,b\n" + "".join(f"{value},{index - 3}\n" for index, value in enumerate(some)), encoding="utf-8")
        schema.write_text(
            f'format = 1\ntable = "t"\nstatus = "approved"\n[columns.a]\n{wide}\nprotect = "encrypt"\n'
            '[columns.b]\ntype = "int(8)"\nprotect = "encrypt"\n',
            encoding="utf-8",
        )
        for query, want in {
            "SELECT a + b AS s FROM t": [value + index - 3 for index, value in enumerate(some)],
            "SELECT a - b AS s FROM t": [value - index + 3 for index, value in enumerate(some)],
            "SELECT a * b AS s FROM t": [value * (index - 3) for index, value in enumerate(some)],
            "SELECT a AS s, b FROM t": some,
        }.items():
            done = hush("run", path, query, "--schema", schema, "--format", "csv", "--verify")
            found = [row["s"] for row in csv.DictReader(io.StringIO(done.stdout))]
            assert found == list(map(str, want)), query


def test_json_says_null(hush, tmp_path):
    """Every key is in every object."""
    path = tmp_path / "t.csv"
    path.write_text("g,x\na,1\nb,\n", encoding="utf-8")
    query = "SELECT g, SUM(x) AS s FROM t GROUP BY g ORDER BY g"
    done = hush("run", path, query, "--sensitive", "x", "--clear", "g", "--format", "json")
    assert [json.loads(line) for line in done.stdout.splitlines()] == [{"g": "a", "s": 1}, {"g": "b", "s": None}]


def test_a_column_without_values_is_refused_with_its_reason(hush, tmp_path):
    """By the proposal and by choice. A column with a declared type sums to NULL."""
    path, schema = tmp_path / "t.csv", tmp_path / "s.toml"
    path.write_text("k,e\n1,\n2,\n", encoding="utf-8")
    for options in (("--clear", "k"), ("--sensitive", "e")):
        done = hush("run", path, "SELECT SUM(e) AS s FROM t", *options, status=3)
        assert "HUSH-P010" in done.stderr and "no value in the file" in done.stderr and "type in the schema" in done.stderr
    schema.write_text(
        'format = 1\ntable = "t"\nstatus = "approved"\n[columns.k]\ntype = "int(8)"\nprotect = "clear"\n'
        '[columns.e]\ntype = "int(32)"\nprotect = "encrypt"\nnullable = true\n',
        encoding="utf-8",
    )
    done = hush("run", path, "SELECT SUM(e) AS s, COUNT(e) AS n FROM t", "--schema", schema, "--format", "csv")
    assert done.stdout == "s,n\n,0\n"


def test_a_star_over_nothing_says_so(hush, tmp_path):
    """All columns are sealed: the refusal tells so, and COUNT(*) works."""
    path = tmp_path / "t.csv"
    path.write_text("name,email\nAda Byron,ada@example.org\nAlan M,alan@example.org\n", encoding="utf-8")
    done = hush("run", path, "SELECT * FROM t", "--sensitive", "name,email", status=3)
    assert "HUSH-P005" in done.stderr and "all sealed" in done.stderr and "hush decrypt" in done.stderr
    done = hush("run", path, "SELECT COUNT(*) AS n FROM t", "--sensitive", "name,email", "--format", "csv", "--verify")
    assert done.stdout == "n\n2\n"
