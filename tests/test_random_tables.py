# SPDX-License-Identifier: Apache-2.0
"""Random queries on random tables: encrypted, on plain values, and by an oracle, with predicted bytes beside measured ones.

`random_tables` draws schemas, tables and expressions, `random_queries` the queries and their results in DuckDB. Exact results must
be equal, and so must doubles that the reference promises correctly rounded from the exact sums (others to nine digits).

A failure shows its seed, schema and query. `HUSH_SEED=S HUSH_DRAWS=1` repeats the table of seed S. `HUSH_DRAWS=N` draws N tables
(default 20) with eight queries each; the slow suite draws ten times as many.
"""

import collections
import csv
import datetime
import fractions
import itertools
import json
import math
import os
import random
import re

import duckdb
import pytest

from random_queries import OF_ONE, OF_SHAPE, OF_TWO, Approximate, random_query, value_of
from random_tables import random_table, write_csv

QUERIES = 8
WAYS = ("sum", "rows", "gather", "fetch")
DRAWS = int(os.environ.get("HUSH_DRAWS", "20"))
FILES = ("--schema", "t.toml", "--format", "csv")


def seeds(count):
    """Seeds of tables, from one that is printed."""
    first = int(os.environ.get("HUSH_SEED", random.randrange(2**32)))
    print("seed", first)
    return range(first, first + count)


def same(text, want):
    """Whether a cell of CSV is a value."""
    if want is None or text == "":
        return want is None and text == ""
    if isinstance(want, bool):
        return text == str(want).lower()
    if isinstance(want, Approximate):
        return math.isclose(float(text), want, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(want, float):
        return float(text) == want
    if isinstance(want, datetime.datetime):
        return datetime.datetime.fromisoformat(text) == want
    if isinstance(want, datetime.date):
        return text == want.isoformat()
    return text == want if isinstance(want, str) else fractions.Fraction(text) == want


def check_result(text, query, database):
    """The CSV against the oracle; False if DuckDB cannot compute the query."""
    try:
        expected = query.finish(database.execute(query.duck).fetchall())
    except duckdb.OutOfRangeException:
        return False
    found = list(csv.reader(text.splitlines()))[1:]
    assert len(found) == len(expected), f"{len(found)} rows, not {len(expected)}"
    for place, (row, wanted) in enumerate(zip(found, expected)):
        row = row or [""]
        assert len(row) == len(wanted) and all(map(same, row, wanted)), f"row {place}: {row}, not {wanted}"
    return True


def check_prediction(analysis, texts):
    """Bytes of the plan and of the encrypted half to the byte, sealed columns that are no copies nearly; of the clear half too if its size is
    fixed, else nearly."""
    predicted, measured = analysis["predicted"]["prediction"], analysis["measured"]
    clear, clear_bytes = predicted["clear_half"], measured["clear_bytes"]
    is_sealed = any("sealed column" in step["what"] for step in analysis["predicted"]["steps"])
    if is_sealed and not predicted["bytes_down_exact"]:
        assert predicted["bytes_up"] == measured["bytes_up"], "bytes"
        found = measured["bytes_down"] - clear_bytes
        assert abs(predicted["bytes_down"] - clear["bytes"] - found) <= found / 4 + 2000, "bytes of sealed columns"
        return
    found = [measured["bytes_up"], measured["bytes_down"] - clear_bytes]
    assert [predicted["bytes_up"], predicted["bytes_down"] - clear["bytes"]] == found, "bytes"
    if predicted["bytes_down_exact"]:
        assert predicted["bytes_down"] == measured["bytes_down"], "bytes down"
    # Bitmaps of NULLs are not predicted, and those of truth values are as large as the values; texts are taken to have 12 bytes, those here have
    # 1 to 16.
    over, under = (3 * clear_bytes if texts else clear_bytes / 4), clear_bytes / 2
    assert -under - 128 <= clear["bytes"] - clear_bytes <= over + 128, f"clear half: {clear} predicted, {clear_bytes} measured"
    for unit in ("butterflies", "expanded", "products", "transforms", "unpacked", "owner_products", "owner_decoded"):
        parts = sum(block["work"][unit] for block in predicted["blocks"])
        assert parts == predicted["work"][unit], unit


def has_texts(table, query):
    """Whether an answer may hold texts: those of a column, or 'yes' and 'no' of a key."""
    return any(column.kind == "text" for column in table.columns) or "'yes'" in query


def check_query(hush, query, database, texts, tally):
    """Plain and encrypted runs agree, refused or answered. The answer is right, and its size as predicted."""
    plain = hush("run", "t.csv", query.ours, *FILES, "--dry-run", "--quiet", status=None)
    secret = hush("run", "t.csv", query.ours, *FILES, "--analyze", "--json", status=None)
    assert plain.returncode == secret.returncode, (plain.stderr, secret.stderr)
    if plain.returncode:
        # A refusal of the planner, or the limits on groups and on the answer.
        codes = [re.match(r"HUSH-(P\d+|E04[01])", done.stderr) for done in (plain, secret)]
        assert all(codes) and codes[0][0] == codes[1][0], (plain.stderr, secret.stderr)
        assert plain.stdout == secret.stdout == ""
        tally[codes[0][0]] += 1
        return
    assert plain.stdout == secret.stdout, "dry run and run differ"
    tally["answered" if check_result(secret.stdout, query, database) else "skipped"] += 1
    check_prediction(json.loads(secret.stderr.splitlines()[-1])["analysis"], texts)


def check_table(hush, directory, seed, tally):
    """Queries on one table."""
    draw = random.Random(seed)
    table = random_table(draw)
    source = table.write(directory)
    database = duckdb.connect()
    database.execute("SET threads = 1")
    database.execute(f"CREATE TABLE t AS FROM {source}")
    for query in [random_query(draw, table, "t") for _ in range(QUERIES)]:
        try:
            check_query(hush, query, database, has_texts(table, query.ours), tally)
        except Exception as error:
            schema = (directory / "t.toml").read_text(encoding="utf-8")
            raise AssertionError(f"seed {seed}, {table.count} rows\n{schema}\n{query.ours}\n{query.duck}\n{error}") from error


@pytest.mark.parametrize("draws", [DRAWS, pytest.param(10 * DRAWS, marks=pytest.mark.slow)])
def test_random_queries(hush, tmp_path, draws):
    """Most queries are answered, few are refused, and DuckDB can compute almost all."""
    tally = collections.Counter()
    for seed in seeds(draws):
        check_table(hush, tmp_path, seed, tally)
    print(dict(tally))
    total = draws * QUERIES
    refused = total - tally["answered"] - tally["skipped"]
    assert draws == 1 or 4 * tally["skipped"] < total and 4 * refused < total, tally


def test_a_table_encrypted_for_random_queries_answers_them(hush, tmp_path, small_key):
    """A table on disk is encrypted once for all its queries. Over any link it answers as a dry run does, with the predicted bytes,
    and so does every way that serves."""
    tally = collections.Counter()
    for seed in seeds(max(1, DRAWS // 4)):
        draw = random.Random(seed)
        table = random_table(draw)
        table.write(tmp_path)
        queries = ["SELECT COUNT(*) AS n FROM t", *(random_query(draw, table, "t").ours for _ in range(QUERIES))]
        dry = [hush("run", "t.csv", query, *FILES, "--dry-run", "--quiet", status=None) for query in queries]
        expected = [(query, done.stdout) for query, done in zip(queries, dry) if done.returncode == 0]
        (tmp_path / "queries.sql").write_text(";\n".join(query for query, _ in expected), encoding="utf-8")
        encrypt = lambda status: hush("encrypt", "t.csv", "--schema", "t.toml", "-o", f"T{seed}", "--for", "queries.sql", *small_key, status=status)
        done = encrypt(None)
        if done.returncode:
            # A table has room for a million rows unless its schema says otherwise, a rehearsal for the rows that there are.
            assert done.stderr.startswith(("HUSH-P011", "HUSH-P023")) and not table.max_rows, done.stderr
            table.max_rows = table.count
            table.write(tmp_path)
            encrypt(0)
        for query, text in expected:
            # Plans differ by the link: the server or the owner evaluates, and the answer is rounded or not.
            link = draw.choice(["0", "1", "100", "10000"])
            done = hush("query", f"T{seed}", query, "--format", "csv", "--analyze", "--json", "--link", link, *small_key)
            assert same_rows(done.stdout, text), (seed, query, link)
            check_prediction(json.loads(done.stderr.splitlines()[-1]), has_texts(table, query))
            answered = [way for way in WAYS if answers(hush, f"T{seed}", query, text, ("--way", way, *small_key))]
            assert answered, (seed, query)
            # What is hidden is paid with all rows, or refused.
            answers(hush, f"T{seed}", query, text, ("--hide", draw.choice(["constants", "pattern", "sizes"]), *small_key))
            tally.update(answered)
    print(dict(tally))


def answers(hush, table, query, text, options):
    """Whether a table answers a query with these options, and then with this text; the planner refuses it otherwise."""
    done = hush("query", table, query, "--format", "csv", *options, status=None)
    if done.returncode:
        # The limits on groups and on the answer are found by the server.
        assert re.match(r"HUSH-(P\d+|E04[01])", done.stderr), (query, options, done.stderr)
        return False
    assert same_rows(done.stdout, text), (query, options, done.stdout, text)
    return True


def same_rows(one, other):
    """Whether two results as CSV have the same rows."""
    found, expected = (list(csv.reader(lines.splitlines())) for lines in (one, other))
    return len(found) == len(expected) and all(map(alike, found, expected))


def alike(row, expected):
    """Whether two ways gave the same row: equal, but for doubles that are nobody's exact sums, and digits of terms that cancel (0 and 0.000)."""
    is_number = lambda text: re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?", text)
    near = lambda a, b: is_number(a) and is_number(b) and math.isclose(float(a), float(b), rel_tol=1e-9, abs_tol=1e-9)
    return len(row) == len(expected) and all(a == b or near(a, b) for a, b in zip(row, expected))


def test_the_oracle_agrees_with_aggregates_of_duckdb():
    """The fractions are right: DuckDB's own aggregates agree on small numbers, of which doubles lose nothing."""
    draw = random.Random(next(iter(seeds(1))))
    for count in (1, 2, 3, 30):
        points = [(draw.randint(-50, 50), draw.randint(-50, 50)) for _ in range(count)]
        for name in (*OF_ONE, *OF_SHAPE, *OF_TWO):
            arguments = "y, x" if name in OF_TWO else "y"
            sql = f"SELECT {name}({arguments}) FROM (SELECT unnest($1) AS y, unnest($2) AS x)"
            want = duckdb.execute(sql, [list(column) for column in zip(*points)]).fetchall()[0][0]
            found = value_of(name, points, (0, 0))
            if want is None or math.isnan(want):
                assert found is None, name
            else:
                assert found is not None and math.isclose(found, want, rel_tol=1e-9, abs_tol=1e-9), name


def test_predicted_memory_is_like_measured_memory(hush, tmp_path):
    """From 100 rows to 100 000, one group to 5000, one aggregate to five: within a factor of two, and queries far apart in order."""
    draw = random.Random(next(iter(seeds(1))))
    aggregates = ["SUM(x)", "SUM(y)", "VARIANCE(x)", "CORR(x, y)", "AVG(z)", "REGR_R2(z, x)", "STDDEV(y)", "SUM(x * y)"]
    choice = ("--sensitive", "x,y,z", "--clear", "k", "--analyze", "--json")
    found = []
    for count in (100, 10_000, 100_000):
        rows = [(row, draw.randint(-(2**40), 2**40), draw.randint(-9, 9), draw.randint(0, 10**9)) for row in range(count)]
        write_csv(tmp_path / "t.csv", ["k", "x", "y", "z"], rows)
        for groups in (1, 5, 20, 60, 200, 1000, 5000):
            items = ", ".join(draw.sample(aggregates, draw.randint(1, 5)))
            done = hush("run", "t.csv", f"SELECT {items} FROM t GROUP BY k % {groups}", *choice)
            analysis = json.loads(done.stderr.splitlines()[-1])["analysis"]
            found.append((analysis["predicted"]["memory_bytes"], analysis["measured"]["peak_bytes"]))
    assert all(predicted / 2 < measured < 2 * predicted for predicted, measured in found), found
    # The peak of a process varies by some megabytes from run to run, so nearer ones may come in any order.
    apart = [(more, less) for more, less in itertools.permutations(found, 2) if more[0] > less[0] + 20e6]
    ordered = sum(more[1] > less[1] for more, less in apart)
    assert len(apart) > 30 and ordered > 0.85 * len(apart), found
