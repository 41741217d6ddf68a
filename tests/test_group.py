# SPDX-License-Identifier: Apache-2.0
"""Sums by hidden values: conditions and groups of encrypted and sealed columns under any clear condition, equal to those of columns that come back,
whatever became of the table meanwhile."""

import csv
import json
import random
import re

import pytest

import devices
import test_cubes
from duckdb_agrees import assert_as_duckdb
from test_cubes import AGGREGATES, CONDITIONS, HEADER, KEYS, ROWS, manifest, rows, write

CELLS = """group = [
  { by = ["flag", { column = "kind", values = ["a", "b's", "ü"] }], sum = ["pay", "pay * (1 - rate) * hours"] },
  { by = [{ column = "age", bins = [18, 40, 65] }, "year(seen)"], sum = ["pay", "gain", "level"] },
]
[columns.day]"""
SCHEMA = re.sub(r"cubes = \[.*?\n\]\n\[columns.day\]", lambda _: CELLS, test_cubes.SCHEMA, flags=re.DOTALL)
SCHEMA = SCHEMA.replace('range = [-1000, 99999.99]\nnullable = true\nprotect = "encrypt"\n', 'range = [-1000, 99999.99]\nnullable = true\nprotect = "encrypt"\nfor = ["sum", "variance"]\n')
CLEAR = ["level > 0", "level BETWEEN -1 AND 2", "key % 3 = 1", "key < 11000", "level IN (-2, 3) OR key > 500"]
HIDDEN = {cube: [text for text in of if not re.search("day|abs|level", text)] for cube, of in CONDITIONS.items()}
GROUPS = {cube: [text for text in of if "day" not in text] for cube, of in KEYS.items()}


def question(draw, group):
    """A random grouped query on hidden dimensions and clear columns."""
    hidden = lambda: draw.choice(HIDDEN[group])
    aggregates = [text for text in AGGREGATES[group] if not re.search(r"GAIN|STDDEV\(gain", text)]
    items = draw.sample(aggregates, draw.randint(1, 4))
    if not any(re.search("flag|kind|age", item) for item in items):
        items.append(f"COUNT(*) FILTER (WHERE {hidden()})")
    keys = draw.sample(GROUPS[group], draw.choice([0, 1, 1, 2]))
    named = [f"{text} AS x{place}" for place, text in enumerate([*keys, *items])]
    conditions = [draw.choice(CLEAR) for _ in range(draw.randrange(3))] + [hidden() for _ in range(draw.randrange(2))]
    if draw.random() < 0.3:
        conditions.append(f"({hidden()} OR NOT ({hidden()}) AND level <> 1)")
    where = f" WHERE {' AND '.join(f'({text})' for text in conditions)}" if conditions else ""
    group_by = f" GROUP BY {', '.join(keys)}" if keys else ""
    having = " HAVING COUNT(*) > 40" if draw.random() < 0.2 else ""
    order = " ORDER BY " + ", ".join(f"x{place}" for place in range(len(named))) if keys else ""
    limit = f" LIMIT {draw.randint(1, 5)}" if order and draw.random() < 0.2 else ""
    return f"SELECT {', '.join(named)} FROM t{where}{group_by}{having}{order}{limit}"


def same_by_each_way(hush, query, key):
    """The result by sums by hidden values is the text of the result by columns that come back, and its bytes are the predicted ones."""
    ask = lambda way: hush("query", "T", query, "--way", way, "--format", "csv", "--analyze", "--json", *key)
    done = ask("group")
    assert done.stdout == ask("fetch").stdout, query
    analysis = json.loads(done.stderr.splitlines()[-1])
    predicted, measured = analysis["predicted"]["prediction"], analysis["measured"]
    assert predicted["bytes_up"] == measured["bytes_up"], query
    assert not predicted["bytes_down_exact"] or predicted["bytes_down"] == measured["bytes_down"], query
    return done.stdout


@pytest.fixture
def table(hush, tmp_path, key):
    """A table with two groups."""
    (tmp_path / "t.schema.toml").write_text(SCHEMA, encoding="utf-8")
    write(tmp_path / "t.csv", rows(random.Random(3), ROWS))
    hush("encrypt", "t.csv", "-o", "T", *key)
    return tmp_path / "T"


def test_random_questions(hush, table, tmp_path, key):
    """Over several parts, one with deleted rows."""
    seed = random.randrange(2**32)
    print("seed", seed)
    draw = random.Random(seed)
    write(tmp_path / "more.csv", rows(draw, 3000, ROWS))
    hush("append", "more.csv", "-o", "T", *key)
    hush("delete", "T", "WHERE key % 7 = 3", *key)
    for _ in range(14):
        for group in ("first", "second"):
            same_by_each_way(hush, question(draw, group), key)


QUESTIONS = [
    "SELECT kind, COUNT(*) AS n, SUM(pay) AS p, STDDEV(pay) AS s FROM t WHERE level > 0 AND flag GROUP BY kind ORDER BY kind",
    "SELECT level, SUM(gain) AS g, COUNT(*) AS n FROM t WHERE age >= 18 AND key % 2 = 0 GROUP BY level ORDER BY level",
    "SELECT EXTRACT(year FROM seen) AS y, COUNT(*) AS n, SUM(level) AS l FROM t WHERE age < 65 AND level <> 0 GROUP BY y ORDER BY y",
]


def test_rows_are_gathered_for_other_sums(hush, table, key):
    """Rows that come back are grouped as a server would that adds columns up: it knows of no hidden cell."""
    gather = lambda query: hush("query", "T", query, "--way", "gather", "--format", "csv", *key, status=None)
    query = "SELECT level, COUNT(flag) AS n, SUM(pay) AS p FROM t GROUP BY level ORDER BY level"
    done = gather(query)
    assert done.stdout == same_by_each_way(hush, query, key), done.stderr
    done = gather(QUESTIONS[1])
    assert done.returncode and done.stderr.startswith("HUSH-P030"), done.stderr


def test_duckdb_agrees(hush, table, key):
    """Another engine on the plain rows."""
    for query in QUESTIONS:
        assert_as_duckdb(same_by_each_way(hush, query, key), query, table.parent / "t.csv", least=3)


def test_what_is_sent_is_the_same_for_every_hidden_constant(hush, table, key):
    """Bytes up and down do not depend on it; `explain` tells what the server learns, and nothing of it is hidden."""
    moved = set()
    for kind in ("a", "b''s", "ü", "nothing"):
        for flag in ("flag", "NOT flag", "flag IS NULL"):
            query = f"SELECT SUM(pay), COUNT(*) FROM t WHERE kind = '{kind}' AND {flag} AND level > 0"
            done = hush("query", "T", query, "--way", "group", "--analyze", "--json", *key)
            measured = json.loads(done.stderr.splitlines()[-1])["measured"]
            moved.add((measured["bytes_up"], measured["bytes_down"]))
    assert len(moved) == 1, moved
    whole = "SELECT SUM(pay) FROM t WHERE kind = 'a'"
    hush("query", "T", whole, "--way", "group", "--hide", "constants,pattern,sizes", *key)
    done = hush("query", "T", whole + " AND level > 0", "--way", "group", "--hide", "constants", *key, status=None)
    assert done.returncode and done.stderr.startswith("HUSH-P030"), done.stderr
    told = hush("explain", "T", QUESTIONS[0], "--way", "group", *key).stdout
    assert "add up rows by flag, kind" in told and "put the rest of the question to the cells" in told, told
    asked = re.split(r"\n +not ", told.split("from this query")[1])[0]
    assert "level > 0" in asked and "kind" not in asked and "flag" not in asked, told
    listed = hush("explain", "T", QUESTIONS[0], *key).stdout
    assert "group, the server adds up 8 cells by flag, kind" in listed, listed


def test_the_life_of_a_table(hush, table, tmp_path, key):
    """Appends, deletions, updates, compactions, alterations and rotations leave no sum wrong."""
    check = lambda: [same_by_each_way(hush, query, key) for query in questions]
    questions = list(QUESTIONS)
    first = check()
    write(tmp_path / "more.csv", rows(random.Random(8), 3000, ROWS))
    hush("append", "more.csv", "-o", "T", *key)
    hush("delete", "T", f"WHERE key < {ROWS} AND level = 1", *key)
    second = check()
    assert second != first
    hush("compact", "T", "--all", *key)
    assert check() == second
    (tmp_path / "new.csv").write_text("key,kind,age\n5,ü,90\n9,,\n", encoding="utf-8")
    hush("update", "T", "new.csv", "--on", "key", *key)
    third = check()
    assert third != second
    hush("alter", "T", "--rename", "kind=sort", "--rename", "pay=Total Pay", *key)
    questions = [query.replace("kind", "sort").replace("(pay)", '("Total Pay")') for query in QUESTIONS]
    assert [text.replace("sort", "kind") for text in check()] == third
    renamed = check()
    # Larger numbers take wider places: the old ones are not asked, and the new ones are there once all parts are written anew.
    hush("alter", "T", "--range", "gain=-5000..5000", *key)
    hush("compact", "T", "--all", *key)
    assert check() == renamed
    hush("rotate", "T", *key)
    assert check() == renamed
    hush("alter", "T", "--drop", "age", *key)
    done = hush("query", "T", QUESTIONS[2].replace("age < 65 AND ", ""), "--way", "group", *key, status=None)
    assert done.returncode and done.stderr.startswith("HUSH-P030"), done.stderr
    assert same_by_each_way(hush, questions[0], key) == renamed[0]


def test_a_column_that_is_added_with_its_groups(hush, table, tmp_path, key):
    """Rows from before have no value in it, which is a cell of its own: they are written anew with it."""
    hush("alter", "T", "--add", 'late = { type = "bool", protect = "encrypt", for = ["group"] }', *key)
    query = "SELECT late, COUNT(*) AS n, SUM(pay) AS s FROM t WHERE level > 0 GROUP BY late ORDER BY late"
    assert len(same_by_each_way(hush, query, key).splitlines()) == 2
    with (tmp_path / "new.csv").open("w", encoding="utf-8", newline="") as file:
        lines = [[*line, draw] for line, draw in zip(rows(random.Random(4), 900, ROWS), ["true", "false", "false"] * 300)]
        csv.writer(file).writerows([[*HEADER, "late"], *lines])
    hush("append", "new.csv", "-o", "T", *key)
    after = same_by_each_way(hush, query, key)
    assert len(after.splitlines()) == 4, after
    for condition in ("late", "NOT late", "late IS NULL", "late IS NOT NULL"):
        same_by_each_way(hush, query.replace("WHERE ", f"WHERE {condition} AND "), key)
    hush("compact", "T", "--all", *key)
    assert same_by_each_way(hush, query, key) == after


def test_values_without_a_cell_are_refused(hush, table, tmp_path, key):
    """A text that is not listed: the row and the column are named, the value is not, and nothing is written."""
    lines = list(rows(random.Random(1), 20))
    lines[7][1] = "secret kind"
    write(tmp_path / "bad.csv", lines)
    before = manifest(table)
    for command in (("append", "bad.csv", "-o", "T"), ("encrypt", "bad.csv", "-o", "bad", "--schema", "t.schema.toml")):
        done = hush(*command, *key, status=None)
        assert done.returncode and re.match(r"HUSH-C096.*row 8, column kind", done.stderr, re.DOTALL), done.stderr
        assert "secret kind" not in done.stderr and manifest(table) == before
    (tmp_path / "new.csv").write_text("key,kind\n5,secret kind\n", encoding="utf-8")
    done = hush("update", "T", "new.csv", "--on", "key", *key, status=None)
    assert done.returncode and done.stderr.startswith("HUSH-C096") and manifest(table) == before, done.stderr


def test_groups_of_a_purpose_and_of_devices(hush, tmp_path, key, monkeypatch):
    """`for = ["group"]` adds up all that is there to be summed; devices write these sums with their public keys."""
    clear = '[columns.day]\ntype = "int(8)"\nprotect = "clear"\n'
    hidden = '[columns.day]\ntype = "int(8)"\nrange = [0, 27]\nprotect = "encrypt"\nfor = ["group"]\n'
    assert clear in devices.SCHEMA
    monkeypatch.setattr(devices, "SCHEMA", devices.SCHEMA.replace(clear, hidden))
    draw = random.Random(9)
    edge = devices.Edge(hush, key, tmp_path, devices.make_rows(draw, 3000))
    query = "SELECT site, COUNT(*) AS n, SUM(load) AS l FROM readings WHERE day < 20 GROUP BY site ORDER BY site"
    ask = lambda way: hush("query", "T", query, "--format", "csv", "--way", way, *key).stdout
    before = ask("group")
    assert before == ask("fetch")
    devices.write_csv(tmp_path / "more.csv", devices.make_rows(draw, 200))
    assert edge.run("more.csv", "--to", "T")["delivered"] == 1
    edge.accept()
    assert ask("group") == ask("fetch") != before


def test_a_rehearsal_and_a_server(hush, table, key, server):
    """`hush run` makes what its schema says; a server adds the same sums up, and its log has nothing of them."""
    query = QUESTIONS[0]
    expected = hush("query", "T", query, "--way", "group", "--format", "csv", *key).stdout
    for options in ((), ("--dry-run",)):
        done = hush("run", "t.csv", query, "--schema", "t.schema.toml", "--format", "csv", "--json", *options)
        assert done.stdout == expected, done.stderr
    hush("push", "T", server.url, *server.token)
    assert hush("query", server.url, query, "--way", "group", "--format", "csv", *server.token, *key).stdout == expected
    assert "kind" not in server.log.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "code", "words"),
    [
        ('by = ["flag",', 'by = ["level",', "HUSH-S016", "group 1: level is clear"),
        ('by = ["flag",', 'by = ["nobody",', "HUSH-S016", "group 1: there is no column nobody"),
        ('"year(seen)"', '"month(seen)", "day"', "HUSH-S016", "group 2: with those before"),
        ('values = ["a", "b\'s", "ü"]', "values = []", "HUSH-S016", "group 1: kind is a text"),
    ],
)
def test_groups_that_cannot_be(hush, table, tmp_path, key, old, new, code, words):
    """They name their number and what is wrong, before anything is written."""
    assert SCHEMA.count(old) == 1
    (tmp_path / "bad.toml").write_text(SCHEMA.replace(old, new), encoding="utf-8")
    done = hush("encrypt", "t.csv", "-o", "bad", "--schema", "bad.toml", *key, status=None)
    assert done.returncode and done.stderr.startswith(code) and words in done.stderr, done.stderr
    assert not (tmp_path / "bad").exists()
