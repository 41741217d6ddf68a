# SPDX-License-Identifier: Apache-2.0
"""Random queries on random tables: encrypted, on plain values, and by an oracle, with predicted bytes beside measured ones.

`random_tables` draws schemas, tables and expressions, `random_queries` the queries and their results in DuckDB. Exact results must
be equal, and so must doubles that the reference promises correctly rounded from the exact sums (others to nine digits).

A failure shows its seed, schema and query. `HUSH_SEED=S HUSH_DRAWS=1` repeats the table of seed S. `HUSH_DRAWS=N` draws N tables
(default 20) with eight queries each; the slow suite draws ten times as many.

Tables that are encrypted have random structures too, of `random_structures`, and `structure_queries` draws queries for these. One process
asks them by every way, through the Python package.
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
import warnings

import duckdb
import pytest

import hushtable as ht
from random_queries import OF_ONE, OF_SHAPE, OF_TWO, Approximate, random_query, value_of
from random_structures import add_structures
from random_tables import condition, random_table, write_csv
from structure_queries import structure_query

QUERIES = 8
STRUCTURE_QUERIES = 8
WAYS = ("cube", "group", "order", "filter", "sum", "rows", "gather", "fetch")
WAY_OF = {"cubes": "cube", "group": "group", "order": "order", "filter": "filter"}
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
    problem = difference_of([row or [""] for row in csv.reader(text.splitlines())][1:], expected)
    assert not problem, problem
    return True


def difference_of(found, expected):
    """What is other in rows of texts than in those expected; nothing if they are the same."""
    if len(found) != len(expected):
        return f"{len(found)} rows, not {len(expected)}"
    for place, (row, wanted) in enumerate(zip(found, expected)):
        if len(row) != len(wanted) or not all(map(same, row, wanted)):
            return f"row {place}: {row}, not {wanted}"
    return ""


def check_prediction(analysis, texts, slack=2000):
    """Bytes of the plan and of the encrypted half to the byte, sealed columns that are no copies nearly; of the clear half too if its size is
    fixed, else nearly."""
    predicted, measured = analysis["predicted"]["prediction"], analysis["measured"]
    clear, clear_bytes = predicted["clear_half"], measured["clear_bytes"]
    is_sealed = any("sealed column" in step["what"] for step in analysis["predicted"]["steps"])
    if is_sealed and not predicted["bytes_down_exact"]:
        assert predicted["bytes_up"] == measured["bytes_up"], "bytes"
        found = measured["bytes_down"] - clear_bytes
        assert abs(predicted["bytes_down"] - clear["bytes"] - found) <= found / 4 + slack, "bytes of sealed columns"
        return
    found = [measured["bytes_up"], measured["bytes_down"] - clear_bytes]
    assert [predicted["bytes_up"], predicted["bytes_down"] - clear["bytes"]] == found, "bytes"
    if predicted["bytes_down_exact"]:
        assert predicted["bytes_down"] == measured["bytes_down"], "bytes down"
    # Bitmaps of NULLs are not predicted, and those of truth values are as large as the values. Texts are taken to be as long as those of their
    # column on average; those here have 1 to 16 bytes, and a condition or a key may pick short or long ones.
    over, under = (3 * clear_bytes if texts else clear_bytes / 4), clear_bytes / 2
    assert -under - 128 <= clear["bytes"] - clear_bytes <= over + 128, f"clear half: {clear} predicted, {clear_bytes} measured"
    # The cells of a cube are no block.
    if any("cells of cube" in step["what"] for step in analysis["predicted"]["steps"]):
        return
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


@pytest.mark.parametrize("draws", [max(1, DRAWS // 4), pytest.param(15 * DRAWS, marks=pytest.mark.slow)])
def test_a_table_encrypted_for_random_queries_answers_them(hush, tmp_path, key, draws, monkeypatch):
    """A table with random structures, in several parts, with deleted rows: over any link it answers as a dry run does, with the predicted bytes,
    and by every way that serves it answers as DuckDB does. The slow suite asks some 10 000 queries."""
    monkeypatch.setenv("HOME", hush.environment["HOME"])
    tally = collections.Counter()
    for seed in seeds(draws):
        try:
            check_encrypted(hush, tmp_path, key, seed, tally)
        except Exception as error:
            schema = (tmp_path / "t.toml").read_text(encoding="utf-8")
            raise AssertionError(f"seed {seed}\n{schema}\n{error}") from error
    print(dict(tally))
    if draws >= 100:
        # The way that answers fewest, gathering, answers more than one of a table.
        assert all(3 * tally[way] > draws for way in WAYS) and 50 * tally["no way"] < tally["queries"], tally
        assert 50 * tally["no room"] < draws, tally


def check_encrypted(hush, directory, key, seed, tally):
    """One table: queries that it is encrypted for, and queries of its structures."""
    draw, place = random.Random(seed), directory / f"T{seed}"
    table, structures = add_structures(draw, random_table(draw))
    database = duckdb.connect()
    database.execute("SET threads = 1")
    database.execute(f"CREATE TABLE t AS FROM {table.write(directory)}")
    known = [random_query(draw, table, "t") for _ in range(QUERIES)]
    asked = [(structure.kind, structure_query(draw, table, structure, "t")) for structure in structures for _ in range(STRUCTURE_QUERIES)]
    gone = condition(draw, table.opened(), 1) if draw.random() < 0.4 else None
    cuts = sorted(draw.sample(range(1, table.count), min(draw.choice([0, 0, 1, 2]), table.count - 1)))
    if gone:
        database.execute(f"DELETE FROM t WHERE {gone[1]}")
    alive = [row for row, in database.execute("SELECT i FROM t ORDER BY i").fetchall()]
    if not alive or len(alive) == table.count:
        gone, alive = None, range(table.count)
        database.execute(f"CREATE OR REPLACE TABLE t AS FROM {table.write(directory)}")
    # A rehearsal is of the rows that are left.
    table.write_rows(directory / "alive.csv", alive)
    rehearse = lambda query: hush("run", "alive.csv", query.ours, *FILES, "--dry-run", "--quiet", status=None)
    dry = [(query, rehearse(query)) for query in known]
    known = [(query, done.stdout) for query, done in dry if done.returncode == 0]
    for query, text in known:
        check_result(text, query, database)
    (directory / "queries.sql").write_text(";\n".join(["SELECT COUNT(*) FROM t", *(query.ours for query, _ in known)]), encoding="utf-8")
    if not make_table(hush, directory, place, key, table, cuts, gone):
        tally["no room"] += 1
        return
    ask = lambda query, *options: hush("query", place, query.ours, "--format", "csv", "--analyze", "--json", *options, *key, status=None)
    for query, text in known:
        # Plans differ by the link: the server or the owner evaluates, and the answer is rounded or not.
        done = ask(query, "--link", draw.choice(["0", "1", "100", "10000"]))
        assert same_rows(done.stdout, text), (query.ours, done.stderr)
        check_prediction_of_parts(done, has_texts(table, query.ours), 1 + len(cuts))
    for kind, query in dict(asked).items():
        if (done := ask(query, "--way", WAY_OF[kind])).returncode == 0:
            check_prediction_of_parts(done, has_texts(table, query.ours), 1 + len(cuts))
    ask_every_way(place, key, [query for query, _ in known] + [query for _, query in asked], database, tally)


def check_prediction_of_parts(done, texts, parts):
    """Bytes as far as they are predicted: how many blocks of a run come back is known once its index is there."""
    analysis = json.loads(done.stderr.splitlines()[-1])
    if not any("blocks out of run" in step["what"] for step in analysis["predicted"]["steps"]):
        # Files with many encoded columns have some kilobytes beside them, which count for sealed columns where these are small.
        check_prediction(analysis, texts, 5000 * parts)


def make_table(hush, directory, place, key, table, cuts, gone):
    """Encrypts the rows up to the first cut, appends the others, and deletes some. False if a query that fits the rows that are left does not fit all."""
    ends = [0, *cuts, table.count]
    for part, (first, end) in enumerate(zip(ends, ends[1:])):
        table.write_rows(directory / f"part{part}.csv", range(first, end))
    encrypt = lambda status: hush(
        "encrypt", "part0.csv", "--schema", "t.toml", "-o", place, "--for", "queries.sql", *key, status=status
    )
    done = encrypt(None)
    if done.returncode:
        # A table has room for a million rows unless its schema says otherwise, a rehearsal for the rows that there are.
        # Notes on what the schema takes may stand before it.
        assert re.search("^HUSH-P0(11|23)", done.stderr, re.MULTILINE) and not table.max_rows, done.stderr
        table.max_rows = table.count
        table.write(directory)
        if (done := encrypt(None)).returncode:
            assert re.search("^HUSH-P0(11|23)", done.stderr, re.MULTILINE) and gone, done.stderr
            return False
    for part in range(1, len(ends) - 1):
        hush("append", f"part{part}.csv", "-o", place, *key)
    if gone:
        hush("delete", place, f"WHERE {gone[0]}", *key)
    return True


def ask_every_way(place, key, queries, database, tally):
    """Each query by every way, by the quickest, and with what hides something of it: answered as DuckDB has it, or refused by the planner."""
    opened = ht.open_key(key[1], passphrase_file=key[3])
    tables = {way: ht.open(place, keys=opened, way=way) for way in (*WAYS, None)}
    tables.update({f"hidden {what}": ht.open(place, keys=opened, hide=[what]) for what in ("constants", "pattern", "sizes")})
    for query in queries:
        try:
            expected = query.finish(database.execute(query.duck).fetchall())
        except duckdb.OutOfRangeException:
            tally["skipped"] += 1
            continue
        answered = [way for way, table in tables.items() if answers(table, way, query, expected)]
        tally.update(["queries", *answered] if answered else ["queries", "no way"])


def answers(table, way, query, expected):
    """Whether a table answers a query as it is expected; the planner refuses it otherwise, or the server because of limits on groups, answers and memory, or
    cells have more rows than their cube has room for."""
    try:
        with warnings.catch_warnings(action="ignore"):
            found = table.sql(query.ours).to_pyarrow()
    except ht.HushError as error:
        assert re.match(r"HUSH-(P\d+|E04[0-2])", error.code) or (way, error.code) == ("cube", "HUSH-C097"), f"{way}: {query.ours}\n{error}"
        return False
    except BaseException as error:
        raise AssertionError(f"{way}: {query.ours}\n{error!r}") from error
    rows = list(zip(*(map(as_text, column.to_pylist()) for column in found.columns)))
    problem = difference_of(rows, expected)
    assert not problem, f"{way}: {query.ours}\n{query.duck}\n{problem}"
    return True


def as_text(value):
    """A value as CSV has it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if isinstance(value, datetime.date) else str(value)


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
            # Many groups of several, so that some queries are far apart whatever is drawn.
            items = ", ".join(draw.sample(aggregates, draw.randint(4 if groups >= 1000 else 1, 5)))
            done = hush("run", "t.csv", f"SELECT {items} FROM t GROUP BY k % {groups}", *choice)
            analysis = json.loads(done.stderr.splitlines()[-1])["analysis"]
            found.append((analysis["predicted"]["memory_bytes"], analysis["measured"]["peak_bytes"]))
    assert all(predicted / 2 < measured < 2 * predicted for predicted, measured in found), found
    # The peak of a process varies by some megabytes from run to run, so nearer ones may come in any order.
    apart = [(more, less) for more, less in itertools.permutations(found, 2) if more[0] > less[0] + 20e6]
    ordered = sum(more[1] > less[1] for more, less in apart)
    assert len(apart) > 30 and ordered > 0.85 * len(apart), found
