# SPDX-License-Identifier: Apache-2.0
"""`hush init --for`: what is proposed for a file of queries is what answers them, as DuckDB does."""

import csv
import datetime
import io
import json
import random
import tomllib

import duckdb
import pytest

from conftest import approve

ROWS = 40_000
KINDS = ["asthma", "burn", "it's", "o'neill", ""]
QUERIES = {
    "cube": [
        "SELECT kind, COUNT(*) AS n, SUM(charges) AS s FROM t WHERE age > 65 AND admitted >= DATE '2023-04-01' GROUP BY kind ORDER BY kind",
        "SELECT ward, SUM(charges) AS s FROM t WHERE age = 40 AND kind <> 'burn' GROUP BY ward ORDER BY ward",
        "SELECT COUNT(*) AS n FROM t WHERE level IN (2, 3) AND age BETWEEN 18 AND 39",
    ],
    "order": [
        "SELECT ward, MEDIAN(amount) AS m, MAX(amount) AS x FROM t GROUP BY ward ORDER BY ward",
        "SELECT amount, id FROM t ORDER BY amount DESC LIMIT 7",
    ],
    "fetch": ["SELECT COUNT(DISTINCT amount) AS n, MEDIAN(charges) AS m FROM t WHERE charges > amount"],
}
ORDERED = [(way, query) for way, queries in QUERIES.items() for query in queries]


def write(path, rows=ROWS):
    """Rows of made-up stays, some values missing."""
    draw = random.Random(7)
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(["id", "ward", "kind", "age", "level", "admitted", "charges", "amount"])
        for row in range(rows):
            admitted = datetime.date(2022, 1, 1) + datetime.timedelta(draw.randrange(900))
            age = "" if draw.random() < 0.05 else draw.choice([18, 39, 40, 41, 65, 66, draw.randint(0, 99)])
            # No two amounts are equal, so that first rows are certain.
            amount = draw.randrange(10**6) * ROWS + row
            charges = f"{draw.randint(0, 10**7) / 100:.2f}"
            out.writerow([row, draw.choice("abc"), draw.choice(KINDS), age, draw.randint(0, 5), admitted, charges, amount])


def init(hush, queries, *options, **more):
    (hush.directory / "q.sql").write_text(queries, encoding="utf-8")
    protected = ("--sensitive", "kind,age,level,admitted,charges,amount", "--clear", "id,ward")
    return hush("init", "t.csv", "--for", "q.sql", *protected, *options, **more)


@pytest.fixture
def data(tmp_path):
    write(tmp_path / "t.csv")
    return tmp_path


def test_what_is_proposed_answers_the_queries(hush, data, key):
    """Each query takes the way that was proposed for it over such a link, and its result is DuckDB's."""
    done = init(hush, "-- the workload\n" + ";\n".join(query for _, query in ORDERED) + ";\n")
    schema = data / "t.schema.toml"
    facts = tomllib.loads(schema.read_text(encoding="utf-8"))
    # What the schema now holds of the data's values is told.
    listed = {
        dimension["column"]: dimension["values"]
        for cube in facts["cubes"]
        for dimension in cube["by"]
        if isinstance(dimension, dict) and "values" in dimension
    }
    assert listed == {"kind": ["asthma", "burn", "it's", "o'neill"], "ward": ["a", "b", "c"]}, facts["cubes"]
    for name, texts in listed.items():
        assert f"{name}: the schema file lists its {len(texts)} texts now" in done.stderr, done.stderr
    for number, (way, _) in enumerate(ORDERED, 1):
        line = next(line for line in done.stderr.splitlines() if line.startswith(f"  query {number}: "))
        assert f"{way} " in line.split("->")[-1], line
        assert ("--keep" in line) == (way == "fetch"), line
    assert "a cube by" in done.stderr and "a sorted run by amount within ward" in done.stderr, done.stderr
    assert "bytes a row" in done.stderr and "µs to encrypt one" in done.stderr, done.stderr

    approve(schema)
    assert "-0.0" not in done.stderr, done.stderr
    hush("encrypt", "t.csv", "-o", "T", *key)
    oracle = duckdb.connect()
    oracle.execute(f"CREATE TABLE t AS SELECT * FROM read_csv('{data / 't.csv'}', nullstr='', types={{'charges': 'DECIMAL(12,2)'}})")
    for way, query in ORDERED:
        told = json.loads(hush("explain", "T", query, "--link", "100", "--json", *key).stdout)
        taken = [found["name"] for found in told["ways"] if found["taken"]]
        # Where there is one way alone, none was weighed.
        assert taken == [way] or (way == "fetch" and not told["ways"]), (query, told["ways"])
        answer = hush("query", "T", query, "--way", way, "--format", "csv", *key).stdout
        found = [tuple(row) for row in list(csv.reader(io.StringIO(answer)))[1:]]
        expected = oracle.execute(query.replace("ORDER BY kind", "ORDER BY kind NULLS LAST")).fetchall()
        same = [tuple("" if value is None else value for value in row) for row in expected]
        assert len(found) == len(same), query
        for mine, theirs in zip(found, same, strict=True):
            for left, right in zip(mine, theirs, strict=True):
                assert left == right or float(left) == float(right), (query, mine, theirs)


def test_conditions_without_keys_are_proposed_and_answer(hush, data, key):
    """Of a question that nothing smaller answers: texts are listed, the schema serves as it is written, and all ways agree with DuckDB."""
    query = "SELECT COUNT(*) AS n FROM t WHERE charges * 1000000 > amount AND kind IN ('burn', 'asthma')"
    done = init(hush, query)
    assert "conditions without keys (filter) on kind; derived: charges * 1000000 > amount" in done.stderr, done.stderr
    assert "-> filter " in done.stderr and "kind: the schema file lists its 4 texts now" in done.stderr, done.stderr
    schema = data / "t.schema.toml"
    facts = tomllib.loads(schema.read_text(encoding="utf-8"))
    assert facts["derive"] == ["charges * 1000000 > amount"] and not facts.get("cubes"), facts
    assert facts["filter"] == [{"column": "kind", "values": ["asthma", "burn", "it's", "o'neill"]}], facts["filter"]
    approve(schema)
    hush("encrypt", "t.csv", "-o", "T", *key)
    found = {hush("query", "T", query, "--way", way, "--format", "csv", *key).stdout for way in ("filter", "fetch")}
    expected = duckdb.sql(query.replace(" t ", f" read_csv('{data / 't.csv'}', types={{'charges': 'DECIMAL(12,2)'}}) ")).fetchall()[0][0]
    assert found == {f"n\n{expected}\n"} and expected > 1000, (found, expected)


def test_proposals_are_the_same_each_time(hush, data):
    queries = ";".join(query for _, query in ORDERED)
    first = init(hush, queries, "-o", "-").stdout
    assert first == init(hush, queries, "-o", "-").stdout and "cubes = [" in first and "order = [" in first


def test_a_wrong_query_is_named_by_its_number(hush, data):
    """Nothing is written then."""
    for wrong, code in [("SELECT SUM(nobody) FROM t", "HUSH-P003"), ("SELEC 1", "HUSH-P001"), ("SELECT 1 FROM u", "HUSH-P002")]:
        refused = init(hush, f"SELECT SUM(charges) FROM t;\n-- ;\n{wrong};", status=None)
        assert refused.returncode and code in refused.stderr and "query 2 of the workload" in refused.stderr, refused.stderr
        assert not (data / "t.schema.toml").exists()
    empty = init(hush, "-- nothing\n;", status=None)
    assert empty.returncode and "HUSH-U001" in empty.stderr and not (data / "t.schema.toml").exists(), empty.stderr


def test_a_query_without_an_answer_is_told_beside_the_others(hush, data):
    """A dropped column has no values."""
    text = (data / "t.csv").read_text(encoding="utf-8").splitlines()
    lines = [f"{line},{'password' if number == 0 else f'pw{number}'}" for number, line in enumerate(text)]
    (data / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = init(hush, f"SELECT COUNT(password) FROM t; {ORDERED[0][1]}")
    assert "query 1: no answer: HUSH-P" in done.stderr, done.stderr
    assert (data / "t.schema.toml").exists() and "query 2: " in done.stderr, done.stderr


def test_few_rows_get_no_layouts(hush, tmp_path):
    """What saves nothing is not proposed."""
    write(tmp_path / "t.csv", 30)
    done = init(hush, "SELECT ward, COUNT(*) AS n FROM t GROUP BY ward")
    assert "nothing that makes a query clearly cheaper" in done.stderr, done.stderr
    facts = tomllib.loads((tmp_path / "t.schema.toml").read_text(encoding="utf-8"))
    assert not facts.get("cubes") and not facts.get("order")


def test_a_run_says_what_keeping_its_layouts_takes(hush, data):
    query = "SELECT kind, SUM(charges) AS s FROM t WHERE age > 65 GROUP BY kind"
    done = hush("run", "t.csv", query, "--sensitive", "kind,age,charges")
    line = next(line for line in done.stderr.splitlines() if line.startswith("Keep "))
    assert "bytes a row; a cube by age in 2 bins, kind; sums of charges: 0." in line, line
    keep = json.loads(hush("run", "t.csv", query, "--sensitive", "kind,age,charges", "--json").stderr.splitlines()[-1])["keep"]
    assert f"take {keep['row_bytes']:.1f} bytes a row" in line and keep["instead"]["what"] in line, keep
    assert keep["instead"]["way"] == "cube" and f"{keep['instead']['row_bytes']:.2f} bytes a row" in line, keep
    done = hush("run", "t.csv", "SELECT COUNT(DISTINCT amount) AS n FROM t WHERE amount % 3 = 1", "--sensitive", "amount")
    line = next(line for line in done.stderr.splitlines() if line.startswith("Keep "))
    assert line.endswith("bytes a row"), line
    # Where nothing is encrypted there is nothing to keep.
    assert "Keep " not in hush("run", "t.csv", "SELECT COUNT(*) FROM t", "--clear", "ward").stderr
