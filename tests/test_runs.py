# SPDX-License-Identifier: Apache-2.0
"""Sorted runs: medians, ends, first rows and ranges of any type, as columns that come back give them, whatever became of the table meanwhile."""

import csv
import datetime
import json
import random
import re

import duckdb
import pytest

import devices

SCHEMA = """format = 1
table = "t"
status = "approved"
max_rows = 200000
order = [
  { by = "pay", within = ["ward", "level"], sum = ["pay", "hours", "hours * bonus"], cover = ["name", "day"] },
  { by = "name", sum = ["hours"], cover = ["key", "pay"] },
  { by = "score", within = ["ward"], sum = ["hours"], cover = ["key"] },
  { by = "seen", cover = ["name", "big"] },
  { by = "day" },
]
[columns.ward]
type = "category"
nullable = true
protect = "seal"
[columns.level]
type = "int(8)"
range = [-2, 3]
protect = "clear"
[columns.pay]
type = "decimal(10,2)"
range = [-1000, 99999.99]
nullable = true
protect = "encrypt"
for = ["fetch"]
[columns.hours]
type = "int(16)"
range = [0, 60]
nullable = true
protect = "encrypt"
for = ["fetch"]
[columns.bonus]
type = "int(16)"
range = [-5, 5]
protect = "encrypt"
for = ["fetch"]
[columns.name]
type = "text"
nullable = true
protect = "seal"
[columns.score]
type = "float(3)"
nullable = true
protect = "seal"
[columns.seen]
type = "timestamp"
nullable = true
protect = "seal"
[columns.day]
type = "date"
nullable = true
protect = "seal"
[columns.big]
type = "int(64)"
protect = "encrypt"
for = ["order"]
[columns.key]
type = "int(32)"
protect = "clear"
"""
HEADER = ["ward", "level", "pay", "hours", "bonus", "name", "score", "seen", "day", "big", "key"]
ROWS = 9000


def rows(draw, count, first=0):
    """Random rows with missing values, ties and extremes."""
    maybe = lambda value, chance: "" if draw.random() < chance else value
    names = ["Ab", "Abe", "ab", "b", "it's", "zz", "Ünal"]
    for key in range(first, first + count):
        seen = datetime.datetime(1969, 12, 30) + datetime.timedelta(microseconds=draw.randrange(400_000_000_000))
        yield [
            maybe(draw.choice("ABC"), 0.05),
            draw.randint(-2, 3),
            maybe(draw.choice(["-1000.00", "99999.99", "5.25", f"{draw.randint(-100000, 9999999) / 100:.2f}"]), 0.1),
            maybe(draw.randint(0, 60), 0.1),
            draw.randint(-5, 5),
            maybe(draw.choice(names) + draw.choice(["", "", f"{draw.randrange(900)}"]), 0.1),
            maybe(draw.choice(["0.0", "1e300", "-1e-300", f"{draw.gauss(0, 10)!r}"]), 0.1),
            maybe(f"{seen.isoformat()}Z", 0.1),
            maybe(datetime.date(2020, 1, 1) + datetime.timedelta(draw.randrange(500)), 0.3),
            draw.choice([-(2**63), 2**63 - 1, 0, draw.randint(-(2**63), 2**63 - 1)]),
            key,
        ]


def write(path, lines):
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([HEADER, *lines])


# By the column of the run: conditions on it, on its `within` columns, sums, and columns of rows.
RUNS = {
    "pay": (
        ["pay < 5.25", "pay <= 5.25", "pay > 40000", "pay >= 99999.99", "pay = 5.25", "pay <> 5.25", "pay BETWEEN 0 AND 1000", "pay IN (5.25, -1000, 7)", "pay IS NULL", "30000 > pay", "pay IS NOT NULL"],
        ["ward = 'A'", "ward IS NULL", "level > 0", "level % 2 = 0 AND ward <> 'C'"],
        ["SUM(pay)", "AVG(pay)", "SUM(hours)", "COUNT(hours)", "VAR_POP(hours)", "SUM(hours * bonus)", "STDDEV(pay)", "SUM(CASE WHEN pay > 100 THEN hours END)"],
        ["pay", "name", "day", "hours", "ward", "level", "hours * bonus"],
    ),
    "name": (
        ["name < 'b'", "name >= 'ab'", "name = 'it''s'", "name LIKE 'Ab%'", "name NOT LIKE 'b%'", "name IN ('Ab', 'zz', 'none')", "name BETWEEN 'Ab1' AND 'b5'", "name > 'Z'", "name IS NULL", "name = 'Ünal'"],
        [],
        ["SUM(hours)", "AVG(hours)"],
        ["name", "key", "pay", "upper(name)"],
    ),
    "score": (
        ["score < 0", "score <= 0.0", "score > -0.0", "score = 0", "score BETWEEN -1.5 AND 1e3", "score >= 1e30", "score IS NULL"],
        ["ward = 'B'", "ward IN ('A', 'C')"],
        ["SUM(hours)", "COUNT(hours)"],
        ["score", "key", "ward"],
    ),
    "seen": (
        ["seen < '1970-01-01'", "seen >= TIMESTAMP '1970-01-02 03:04:05'", "seen IS NULL", "seen BETWEEN '1969-12-31' AND '1970-01-01'"],
        [],
        [],
        ["seen", "name", "big"],
    ),
    "day": (["day = DATE '2020-05-05'", "day > '2021-01-01'", "day IS NOT NULL", "day BETWEEN '2020-02-28' AND '2020-03-01'"], [], [], ["day"]),
    "big": (["big = 0", "big >= 9223372036854775807", "big < -9223372036854775807", "big > 4611686018427387904"], [], [], ["big"]),
}
NUMBERS = {"pay", "score", "big"}


def condition(draw, run, only=False):
    """A random condition that a run decides."""
    of_by, of_within, _, _ = RUNS[run]
    one = lambda: draw.choice(of_by + ([] if only else of_within))
    kind = draw.randrange(5)
    return [one(), f"{one()} AND {one()}", f"({one()} OR {one()})", f"NOT ({one()})", f"{one()} AND ({one()} OR NOT ({one()}))"][kind]


def of_segments(draw, run):
    """A random grouped query that segments decide."""
    _, within, sums, _ = RUNS[run]
    disc = [f"QUANTILE_DISC({run}, 0.{draw.randint(0, 9)})", f"PERCENTILE_DISC(0.3) WITHIN GROUP (ORDER BY {run} DESC)"]
    cont = [f"MEDIAN({run})", f"QUANTILE_CONT({run}, 0.{draw.randint(0, 9)}5)"] if run in NUMBERS else []
    ends = [f"MIN({run})", f"MAX({run})", f"COUNT({run})", "COUNT(*)", f"COUNT(*) FILTER (WHERE {condition(draw, run)})"]
    filtered = [f"MAX({run}) FILTER (WHERE {condition(draw, run)})", f"{disc[0]} FILTER (WHERE {condition(draw, run)})"]
    items = draw.sample(disc + cont + ends + filtered + sums, draw.randint(1, 4))
    keys = []
    if draw.random() < 0.5:
        keys = [draw.choice((["ward"] if within else []) + [f"CASE WHEN {condition(draw, run)} THEN 'yes' ELSE 'no' END"])]
    named = [f"{text} AS x{place}" for place, text in enumerate([*keys, *items])]
    # Nothing comes back to count all rows.
    where = f" WHERE {condition(draw, run)}" if draw.random() < 0.6 or items == ["COUNT(*)"] else ""
    group = f" GROUP BY {', '.join(keys)} ORDER BY x0" if keys else ""
    return f"SELECT {', '.join(named)} FROM t{where}{group}"


def of_rows(draw, run):
    """A random query of rows."""
    _, _, _, columns = RUNS[run]
    items = ", ".join(draw.sample(columns, draw.randint(1, len(columns))))
    if draw.random() < 0.5:
        where = f" WHERE {condition(draw, run)}" if draw.random() < 0.5 else ""
        order = draw.choice(["", " DESC", " ASC NULLS FIRST", " DESC NULLS LAST"])
        offset = draw.choice(["", " OFFSET 7"])
        return f"SELECT {items} FROM t{where} ORDER BY {run}{order} LIMIT {draw.choice([1, 10, 700])}{offset}"
    return f"SELECT {items} FROM t WHERE {condition(draw, run)} ORDER BY {run}, {items}"


def same_by_each_way(hush, query, key, table="T"):
    """The result by a run is the text of the result by columns that come back."""
    ask = lambda way: hush("query", table, query, "--way", way, "--format", "csv", *key, status=None)
    done = ask("order")
    assert done.returncode == 0, (query, done.stderr)
    back = ask("fetch")
    if back.returncode:
        # Nothing of it stands on protected columns: the server answers.
        assert back.stderr.startswith("HUSH-P030"), (query, back.stderr)
        back = ask("sum")
    assert done.stdout == back.stdout, (query, back.stderr)
    return done.stdout


def manifest(table):
    """The body of a table's manifest."""
    data = (table / "manifest.hush").read_bytes()
    return json.loads(data[20 : 20 + int.from_bytes(data[12:20], "little")])


def covered(table):
    """Whether each part has runs that count."""
    return ["runs" in part and "dead" not in part for part in manifest(table)["parts"]]


@pytest.fixture
def table(hush, tmp_path, key):
    """A table with runs."""
    (tmp_path / "t.schema.toml").write_text(SCHEMA, encoding="utf-8")
    write(tmp_path / "t.csv", rows(random.Random(3), ROWS))
    hush("encrypt", "t.csv", "-o", "T", *key)
    return tmp_path / "T"


QUESTIONS = [
    "SELECT ward, MEDIAN(pay) AS m, MAX(pay) AS h, COUNT(*) AS n FROM t GROUP BY ward ORDER BY ward",
    "SELECT COUNT(*) AS n, SUM(hours) AS h FROM t WHERE name LIKE 'Ab%'",
    "SELECT name, pay FROM t ORDER BY name DESC NULLS LAST LIMIT 12",
    "SELECT MIN(big) AS l, QUANTILE_DISC(big, 0.25) AS q FROM t WHERE big > 0",
]


def test_random_questions(hush, tmp_path, key):
    """Runs answer as columns that come back do, over parts with runs and a part whose rows come back."""
    seed = random.randrange(2**32)
    print("seed", seed)
    draw = random.Random(seed)
    (tmp_path / "t.schema.toml").write_text(SCHEMA, encoding="utf-8")
    write(tmp_path / "t.csv", rows(draw, ROWS))
    hush("encrypt", "t.csv", "-o", "T", *key)
    for first, count in ((ROWS, 700), (ROWS + 700, 3000)):
        write(tmp_path / "more.csv", rows(draw, count, first))
        hush("append", "more.csv", "-o", "T", *key)
    assert covered(tmp_path / "T") == [True] * 3
    for _ in range(6):
        for run in RUNS:
            same_by_each_way(hush, of_segments(draw, run), key)
            same_by_each_way(hush, of_rows(draw, run), key)
    hush("delete", "T", f"WHERE key >= {ROWS} AND key < {ROWS + 5}", *key)
    assert covered(tmp_path / "T") == [True, False, True]
    for run in RUNS:
        same_by_each_way(hush, of_segments(draw, run), key)
        same_by_each_way(hush, of_rows(draw, run), key)


def test_duckdb_agrees(hush, table, key):
    """Another engine on the plain rows."""
    data = str(table.parent / "t.csv")
    types = "{'ward': 'VARCHAR', 'pay': 'DECIMAL(10,2)', 'name': 'VARCHAR', 'big': 'BIGINT'}"
    for query in QUESTIONS:
        found = list(csv.reader(same_by_each_way(hush, query, key).splitlines()))[1:]
        expected = duckdb.sql(query.replace("FROM t ", f"FROM read_csv('{data}', types={types}) ")).fetchall()
        assert len(found) == len(expected) >= 1, query
        for row, wanted in zip(found, expected):
            for place, (cell, value) in enumerate(zip(row, wanted)):
                # Rows of one name are in no order.
                if query == QUESTIONS[2] and place == 1:
                    continue
                alike = cell == str(value if value is not None else "") or abs(float(cell) - float(value)) <= 1e-9 * abs(float(value))
                assert alike, (query, row, wanted)


def test_what_a_question_costs_and_tells(hush, table, key):
    """A few blocks come back, the same for the same question, as many for every constant; `explain` says what the server learns."""
    ask = lambda query, *more: hush("query", "T", query, "--way", "order", "--analyze", "--json", *more, *key)
    measured = lambda query: json.loads(ask(query).stderr.splitlines()[-1])["measured"]
    # Before all days and behind them too: no constant shows where it lies.
    days = [f"2020-{month:02d}-11" for month in range(1, 13)] + ["1990-01-01", "2050-01-01"]
    moved = {measured(f"SELECT COUNT(*) FROM t WHERE day < DATE '{day}'")["bytes_down"] for day in days}
    assert len(moved) == 1, moved
    whole = json.loads(hush("query", "T", "SELECT day FROM t", "--way", "fetch", "--analyze", "--json", *key).stderr.splitlines()[-1])["measured"]["bytes_down"]
    assert max(moved) < whole / 4, (moved, whole)
    described = hush("info", "T", *key).stdout
    assert "run        #0 by pay within ward, level" in described and "in 1 of 1 parts" in described, described
    told = hush("explain", "T", "SELECT MEDIAN(pay) AS m FROM t WHERE pay < 77.5", "--way", "order", *key).stdout
    assert "that run 0 was asked for" in told and "77.5" not in told.split("learns")[-1], told
    for hidden in ("pattern", "constants,pattern,sizes"):
        done = hush("query", "T", "SELECT MEDIAN(big) AS m FROM t", "--way", "order", "--hide", hidden, *key, status=None)
        assert done.returncode and done.stderr.startswith("HUSH-P030"), done.stderr
    hush("query", "T", "SELECT MEDIAN(big) AS m FROM t", "--way", "order", "--hide", "constants,sizes", *key)
    # How many rows match or are wanted, or which groups count, shows in how many blocks come back.
    for query in (
        "SELECT day FROM t WHERE day = DATE '2020-03-03' ORDER BY day",
        "SELECT day FROM t WHERE day < DATE '2020-03-03' ORDER BY day LIMIT 100000",
        "SELECT MEDIAN(pay) AS m FROM t WHERE ward = 'A'",
    ):
        ask(query)
        for hidden in ("sizes", "constants"):
            done = hush("query", "T", query, "--way", "order", "--hide", hidden, *key, status=None)
            assert done.returncode and done.stderr.startswith("HUSH-P030"), (query, done.stderr)


def test_runs_through_the_life_of_a_table(hush, table, tmp_path, key):
    """Appends, deletions, updates, compactions, alterations and rotations leave no question of a run wrong."""
    check = lambda: [same_by_each_way(hush, query, key) for query in questions]
    questions = list(QUESTIONS)
    first = check()
    write(tmp_path / "more.csv", rows(random.Random(8), 3000, ROWS))
    hush("append", "more.csv", "-o", "T", *key)
    second = check()
    assert second != first and covered(table) == [True, True]
    hush("delete", "T", f"WHERE key < {ROWS} AND level = 0", *key)
    assert covered(table) == [False, True]
    third = check()
    hush("compact", "T", "--deleted", *key)
    assert all(covered(table)) and check() == third
    hush("alter", "T", "--rename", "name=label", "--rename", "hours=Work Hours", *key)
    questions = [query.replace("name", "label").replace("(hours)", '("Work Hours")') for query in QUESTIONS]
    renamed = check()
    assert [text.replace("label", "name") for text in renamed] == third
    # Wider numbers are packed in other widths: such runs are others, and parts have them once they are written anew.
    hush("alter", "T", "--range", "pay=-1000..9999999.99", *key)
    assert hush("query", "T", questions[0], "--way", "order", *key, status=None).returncode
    assert same_by_each_way(hush, questions[3], key) == renamed[3]
    hush("compact", "T", "--all", *key)
    assert check() == renamed
    hush("rotate", "T", *key)
    assert all(covered(table)) and check() == renamed
    hush("alter", "T", "--drop", "ward", *key)
    done = hush("query", "T", "SELECT MEDIAN(pay) AS m FROM t", "--way", "order", *key, status=None)
    assert done.returncode and "HUSH-P" in done.stderr, done.stderr


def test_runs_behind_a_server(hush, table, key, server):
    """A server cuts blocks out as this process does; damaged and exchanged files are refused, and other ways do not read them."""
    expected = [hush("query", "T", query, "--way", "order", "--format", "csv", *key).stdout for query in QUESTIONS]
    hush("push", "T", server.url, *server.token)
    for query, text in zip(QUESTIONS, expected):
        found = hush("query", server.url, query, "--way", "order", "--format", "csv", *server.token, *key)
        assert found.stdout == text, query
    log = server.log.read_text(encoding="utf-8")
    assert "pay" not in log and "Ab" not in log
    [stored] = (table / "parts").glob("*.runs")
    saved = stored.read_bytes()
    # Of bytes that look random a shorter text is found now and then.
    assert b"it's" not in saved and "Ünal".encode() not in saved
    for damaged in (saved[:-1], saved[:100] + bytes([saved[100] ^ 1]) + saved[101:], saved[::-1], b""):
        stored.write_bytes(damaged)
        done = hush("query", "T", QUESTIONS[0], "--way", "order", *key, status=None)
        assert done.returncode and re.match(r"HUSH-[TEC]\d+", done.stderr) and done.stdout == "", done.stderr
        assert hush("query", "T", QUESTIONS[0], "--way", "fetch", "--format", "csv", *key).stdout == expected[0]
    stored.write_bytes(saved)
    assert hush("query", "T", QUESTIONS[0], "--way", "order", "--format", "csv", *key).stdout == expected[0]


def test_rows_of_devices_are_beside_the_runs(hush, tmp_path, key, monkeypatch):
    """Devices make no runs: their rows come back, and are not forgotten."""
    schema = devices.SCHEMA.replace("edge = true\n", 'edge = true\norder = [{ by = "day", sum = ["load"], cover = ["site"] }]\n')
    monkeypatch.setattr(devices, "SCHEMA", schema)
    draw = random.Random(9)
    edge = devices.Edge(hush, key, tmp_path, devices.make_rows(draw, 3000))
    queries = ["SELECT COUNT(*) AS n, SUM(load) AS l, MAX(day) AS d FROM readings WHERE day < 20", "SELECT site, day, load FROM readings ORDER BY day DESC, load LIMIT 9"]
    check = lambda: [same_by_each_way(hush, query, key) for query in queries]
    before = check()
    devices.write_csv(tmp_path / "more.csv", devices.make_rows(draw, 200))
    assert edge.run("more.csv", "--to", "T")["delivered"] == 1
    edge.accept()
    assert ["runs" in part for part in manifest(tmp_path / "T")["parts"]] == [True, False]
    assert check()[0] != before[0]


def test_runs_that_cannot_be(hush, table, tmp_path, key):
    """Schemas with a run of columns that are not there, or that no sum adds up, name it."""
    for old, new, text in [
        ('by = "day" }', 'by = "dya" }', "there is no column dya"),
        ('sum = ["hours"], cover = ["key", "pay"]', 'sum = ["name"]', "name"),
        ('within = ["ward"]', 'within = ["score"]', "score stands twice"),
    ]:
        assert old in SCHEMA
        (tmp_path / "bad.toml").write_text(SCHEMA.replace(old, new), encoding="utf-8")
        done = hush("encrypt", "t.csv", "-o", "B", "--schema", "bad.toml", *key, status=None)
        assert done.returncode and done.stderr.startswith("HUSH-S015") and text in done.stderr, done.stderr


def test_long_texts_and_approximate_columns(hush, tmp_path, key):
    """A text that would make every block as long as it is keeps its part without that run, and nothing fails; approximate columns need a copy."""
    column = lambda name, kind, protect, more="": f'[columns.{name}]\ntype = "{kind}"\nprotect = "{protect}"\n{more}'
    head = 'format = 1\ntable = "t"\nstatus = "approved"\n'
    schema = head + 'order = [{ by = "k", cover = ["x"] }, { by = "k", cover = ["y"] }]\n' + column("k", "int(32)", "clear") + column("x", "text", "seal") + column("y", "int(8)", "seal")
    (tmp_path / "t.schema.toml").write_text(schema, encoding="utf-8")
    lines = lambda first, count, long: "k,x,y\n" + "".join(f"{row},{'z' * 6_000_000 if long and row == first else 'short'},3\n" for row in range(first, first + count))
    (tmp_path / "t.csv").write_text(lines(0, 9000, False), encoding="utf-8")
    hush("encrypt", "t.csv", "-o", "T", *key)
    (tmp_path / "more.csv").write_text(lines(9000, 3000, True), encoding="utf-8")
    hush("append", "more.csv", "-o", "T", *key)
    runs = lambda: [[run["number"] for run in part["runs"]["runs"]] for part in manifest(tmp_path / "T")["parts"]]
    assert runs() == [[0, 1], [1]]
    query = "SELECT k, length(x) AS l FROM t ORDER BY k DESC LIMIT 3002"
    first = same_by_each_way(hush, query, key)
    assert "9000,6000000" in first
    hush("compact", "T", "--all", *key)
    hush("rotate", "T", *key)
    assert runs() == [[1]]
    assert hush("query", "T", query, "--format", "csv", *key).stdout == first
    approximate = head + 'order = [{ by = "x" }]\n' + column("x", "float(3)", "encrypt", 'for = ["sum"]\n')
    (tmp_path / "a.toml").write_text(approximate, encoding="utf-8")
    (tmp_path / "a.csv").write_text("x\n0.5\n", encoding="utf-8")
    done = hush("encrypt", "a.csv", "-o", "A", "--schema", "a.toml", *key, status=None)
    assert done.returncode and done.stderr.startswith("HUSH-S015") and "approximate" in done.stderr, done.stderr
