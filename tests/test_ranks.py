# SPDX-License-Identifier: Apache-2.0
"""Conditions by ranks: numbers of any width, instants and texts that nobody lists are compared by their places in each chunk, equal to columns that come
back and to DuckDB, whatever became of the table meanwhile; a server sees as many flags and blocks whatever the constants."""

import csv
import datetime
import json
import random
import re

import pytest

from duckdb_agrees import assert_as_duckdb

ROWS = 17000
SCHEMA = """format = 1
table = "t"
status = "approved"
approved_by = "test"
null_tokens = [""]
max_rows = 200000
filter = ["name"]
[columns.key]
type = "int(32)"
range = [0, 1000000]
protect = "clear"
[columns.id]
type = "int(64)"
nullable = true
protect = "encrypt"
for = ["filter"]
[columns.price]
type = "decimal(18,4)"
protect = "encrypt"
for = ["filter"]
[columns.stamp]
type = "timestamp"
nullable = true
protect = "encrypt"
for = ["filter"]
[columns.name]
type = "text"
nullable = true
protect = "seal"
[columns.size]
type = "int(8)"
range = [0, 9]
protect = "encrypt"
for = ["filter"]
[columns.pay]
type = "decimal(9,2)"
range = [-500, 20000]
nullable = true
protect = "encrypt"
for = ["measure"]
"""
NAMES = ["", "Zoë", "ab", "ab%", "abc", "b", "ü", "ünder"]
IDS = [-(2**63), -5, 0, 1, 2, 3, 4, 2**62, 2**63 - 1]
AGGREGATES = ["COUNT(*)", "COUNT(pay)", "SUM(pay)", "AVG(pay)"]
QUESTIONS = [
    "SELECT SUM(pay) AS s, COUNT(*) AS c FROM t WHERE id >= -5 AND id < 4 AND size < 7",
    "SELECT COUNT(*) AS c FROM t WHERE name LIKE 'ab%' OR name IS NULL",
    "SELECT size, SUM(pay) AS s FROM t WHERE price > 99.00005 GROUP BY size ORDER BY size",
    "SELECT COUNT(*) AS c, AVG(pay) AS a FROM t WHERE stamp BETWEEN TIMESTAMP '2024-02-01 00:00:00' AND TIMESTAMP '2024-03-01 12:30:00'",
    "SELECT pay FROM t WHERE name = 'n17' ORDER BY pay NULLS LAST",
]


def instant(seconds):
    """An instant of 2024."""
    return (datetime.datetime(2024, 1, 1) + datetime.timedelta(seconds=seconds)).isoformat(sep=" ")


def rows(draw, count, first=0):
    """Random rows, many of them with the same values."""
    some = lambda value: value if draw.random() < 0.9 else ""
    for key in range(first, first + count):
        number = draw.choice([draw.choice(IDS), draw.randint(-(2**63), 2**63 - 1), draw.randint(-9, 9)])
        # An empty text in CSV is a missing one.
        name = draw.choice([draw.choice(NAMES), f"n{draw.randrange(4000)}"])
        price = f"{draw.choice([draw.randint(-20, 20), draw.randint(0, 2 * 10**6)]) / 10000:.4f}"
        yield key, some(number), price, some(instant(draw.randrange(100 * 86400))), name, draw.randrange(10), some(f"{draw.randint(-50000, 2000000) / 100:.2f}")


def write(path, lines):
    """A CSV file of rows."""
    with open(path, "w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["key", "id", "price", "stamp", "name", "size", "pay"])
        writer.writerows(lines)


def atom(draw):
    """A comparison with constants."""
    op = draw.choice(["<", "<=", ">", ">=", "=", "<>"])
    number = lambda: draw.choice(IDS + [draw.randint(-9, 9)])
    stamp = lambda: f"TIMESTAMP '{instant(draw.randrange(110 * 86400))}'"
    name = lambda: draw.choice(NAMES + [f"n{draw.randrange(4000)}"])
    return draw.choice([
        lambda: f"id {op} {number()}",
        lambda: f"{number()} {op} id",
        lambda: f"id {draw.choice(['', 'NOT '])}BETWEEN {number()} AND {number()}",
        lambda: f"id {draw.choice(['', 'NOT '])}IN ({number()}, {number()})",
        lambda: f"id IS {draw.choice(['', 'NOT '])}NULL",
        lambda: f"price {op} {draw.choice(['0', '0.00005', '-0.0003', '99.12345', '150', '-1e3'])}",
        lambda: f"stamp {op} {stamp()}",
        lambda: f"stamp BETWEEN {stamp()} AND {stamp()}",
        lambda: f"name {op} '{name()}'",
        lambda: f"name {draw.choice(['', 'NOT '])}LIKE '{draw.choice(['a', 'ab', 'n1', 'ü', 'zz'])}%'",
        lambda: f"name IN ('{name()}', '{name()}')",
        lambda: f"name IS {draw.choice(['', 'NOT '])}NULL",
    ])()


def question(draw):
    """A random question with one condition by ranks, and perhaps others."""
    where = atom(draw)
    where = f"NOT ({where})" if draw.random() < 0.15 else where
    if draw.random() < 0.5:
        where = f"{where} AND {draw.choice(['size < 6', 'size <> 3', 'size IN (1, 4)', 'key < 9000'])}"
    if draw.random() < 0.15:
        return f"SELECT pay, size FROM t WHERE {where} ORDER BY pay NULLS LAST, size LIMIT 20"
    key, group, order = draw.choice([("", "", "")] * 3 + [("size AS k, ", " GROUP BY size", " ORDER BY k")])
    sums = ", ".join(f"{text} AS x{place}" for place, text in enumerate(draw.sample(AGGREGATES, 2)))
    return f"SELECT {key}{sums} FROM t WHERE {where}{group}{order}"


def asked(hush, query, key, *more, status=0):
    """The result as CSV and the figures."""
    done = hush("query", "T", query, "--format", "csv", "--analyze", "--json", *more, *key, status=status)
    return done.stdout, json.loads(done.stderr.splitlines()[-1])["measured"]


def same_by_ranks(hush, query, key):
    """Whether a server answers, as columns that come back do."""
    done = hush("query", "T", query, "--way", "filter", "--format", "csv", *key, status=None)
    if done.returncode != 0:
        refused = "HUSH-(C098|E042|P030.*(encrypted columns, and|no row can match|no condition on|some part of the table))"
        assert re.match(refused, done.stderr), (query, done.stderr)
        return False
    assert done.stdout == hush("query", "T", query, "--way", "fetch", "--format", "csv", *key).stdout, query
    return True


@pytest.fixture(params=["plain", "keys"])
def table(request, hush, tmp_path, key):
    """Three chunks of rows."""
    keys = "answer_keys = true\n" if request.param == "keys" else ""
    (tmp_path / "t.schema.toml").write_text(SCHEMA.replace("[columns.key]", keys + "[columns.key]", 1), encoding="utf-8")
    write(tmp_path / "t.csv", rows(random.Random(11), ROWS))
    hush("encrypt", "t.csv", "-o", "T", *key)
    return tmp_path / "T"


def test_random_questions(hush, table, key):
    draw = random.Random()
    seed = draw.randrange(1 << 32)
    draw.seed(seed)
    print("seed", seed)
    answered = 0
    while answered < 15:
        answered += same_by_ranks(hush, question(draw), key)


def test_duckdb_agrees(hush, table, key):
    for query in QUESTIONS:
        assert_as_duckdb(asked(hush, query, key, "--way", "filter")[0], query, table.parent / "t.csv")


def test_as_much_is_sent_whatever_the_constants(hush, table, key):
    """Neither plans nor answers, nor the blocks that are read, differ in length; `explain` names flags and no constant."""
    for condition, constants in [("id < {}", ["-9223372036854775808", "0", "3", "9223372036854775807"]), ("name = '{}'", ["ab", "n17", "nobody at all"]), ("name LIKE '{}%'", ["ab", "zz"]), ("stamp >= TIMESTAMP '{}'", [instant(0), instant(5 * 10**6), instant(10**8)])]:
        moved = {tuple(asked(hush, "SELECT SUM(pay) AS s FROM t WHERE " + condition.format(constant), key, "--way", "filter")[1][way] for way in ("bytes_up", "bytes_down")) for constant in constants}
        # A plan names the places of blocks in digits.
        assert len({down for _, down in moved}) == 1 and max(up for up, _ in moved) - min(up for up, _ in moved) < 40, (condition, moved)
    told = hush("explain", "T", "SELECT SUM(pay) AS s FROM t WHERE name = 'n17'", "--way", "filter", *key).stdout
    shown = " ".join(re.split(r"\n +not ", told.split("from this query")[1])[0].split())
    assert re.search(r"that 6 of encoded columns #\d+, .* are combined, others in each chunk and in an order that only you know; that blocks of run 0 are read", shown), shown
    assert "n17" not in shown and "name" not in shown, shown
    assert "how many" not in told.split("from this query")[1], told
    # Bounds that share flags tell that few rows lie between: with sizes hidden another way answers.
    done = hush("query", "T", QUESTIONS[0], "--way", "filter", "--hide", "sizes", *key, status=None)
    assert done.stderr.startswith("HUSH-P030"), done.stderr


def test_columns_by_ranks_are_no_cells(hush, table, key):
    """CASE, FILTER, groups and HAVING by such columns are answered in other ways; LIKE on a number is none that has an answer."""
    for query in [
        "SELECT COUNT(CASE WHEN price < 5 THEN 1 END) AS c FROM t WHERE size < 4",
        "SELECT SUM(pay) FILTER (WHERE price >= 5) AS s FROM t WHERE size < 4",
        "SELECT price < 5 AS k, COUNT(*) AS c FROM t WHERE size < 4 GROUP BY k ORDER BY k",
        "SELECT size, COUNT(*) FILTER (WHERE price < 5) AS c FROM t WHERE id < 100 GROUP BY size ORDER BY size",
        "SELECT SUM(pay) AS s FROM t WHERE size < 4 HAVING COUNT(*) FILTER (WHERE price >= 5) > 3",
        "SELECT name = 'ab' AS k, COUNT(*) AS c FROM t WHERE size < 4 GROUP BY k ORDER BY k",
        "SELECT MEDIAN(id) AS m, MIN(price) AS p FROM t WHERE size < 2",
        "SELECT MEDIAN(size) AS m FROM t WHERE id < 3",
    ]:
        expected = hush("query", "T", query, "--way", "fetch", "--format", "csv", *key).stdout
        assert hush("query", "T", query, "--format", "csv", *key).stdout == expected, query
        done = hush("query", "T", query, "--way", "filter", "--format", "csv", *key, status=None)
        assert done.stdout in ("", expected) and (done.stdout or re.match("HUSH-(P030|C098)", done.stderr)), (query, done.stdout, done.stderr)
    for condition in ("id LIKE '4%'", "NOT (price LIKE '4%')", "stamp LIKE '2024%'"):
        done = hush("query", "T", f"SELECT COUNT(*) AS c FROM t WHERE {condition}", "--way", "filter", *key, status=None)
        assert done.returncode and not done.stdout, (condition, done.stdout)


def test_constants_by_ranks_are_not_encrypted(hush, tmp_path, key):
    """With keys for hidden constants `--hide constants` goes without them and says so, and `--hide pattern` another way."""
    (tmp_path / "t.schema.toml").write_text(SCHEMA.replace("[columns.key]", "constant_keys = true\n[columns.key]", 1), encoding="utf-8")
    write(tmp_path / "t.csv", rows(random.Random(11), 600))
    hush("encrypt", "t.csv", "-o", "T", *key)
    query = "SELECT COUNT(*) AS c FROM t WHERE id < 3"
    done = hush("query", "T", query, "--way", "filter", "--hide", "pattern", *key, status=None)
    assert re.match("HUSH-P030.*it is on a column by ranks", done.stderr), done.stderr
    told = " ".join(hush("explain", "T", query, "--way", "filter", "--hide", "constants", *key).stdout.split())
    assert "which are not encrypted because it is on a column by ranks" in told, told
    assert same_by_ranks(hush, query, key)
    # Other columns have their constants encrypted.
    assert "encrypted constants" in hush("explain", "T", "SELECT COUNT(*) AS c FROM t WHERE size < 3", "--way", "filter", "--hide", "constants", *key).stdout


@pytest.mark.parametrize("table", ["keys", pytest.param("plain", marks=pytest.mark.slow)], indirect=True)
def test_the_life_of_a_table(hush, table, tmp_path, key):
    """Further rows, compactions, rotations and other names leave no sum wrong; parts with deleted rows are answered in another way until a compaction."""
    def check(answered=True, questions=QUESTIONS):
        for query in questions:
            expected = hush("query", "T", query, "--way", "fetch", "--format", "csv", *key).stdout
            assert hush("query", "T", query, "--format", "csv", *key).stdout == expected
            done = hush("query", "T", query, "--way", "filter", "--format", "csv", *key, status=None)
            if answered:
                assert done.stdout == expected, (query, done.stderr)
            else:
                assert re.match("HUSH-P030.*or has deleted rows", done.stderr), done.stderr

    write(tmp_path / "more.csv", rows(random.Random(12), 2000, ROWS))
    hush("append", "more.csv", "-o", "T", *key)
    check()
    hush("delete", "T", "WHERE key < 500", *key)
    check(answered=False)
    hush("compact", "T", "--deleted", *key)
    check()
    hush("rotate", "T", *key)
    check(questions=random.sample(QUESTIONS, 2))
    hush("alter", "T", "--rename", "id=number", "--rename", "name=label", *key)
    for query in random.sample(QUESTIONS, 2):
        renamed = re.sub(r"\bid\b", "number", re.sub(r"\bname\b", "label", query))
        assert same_by_ranks(hush, renamed, key)


def test_ranks_are_added_to_a_table(hush, tmp_path, key):
    """`alter --for` gives a wide column flags of ranks."""
    plain = SCHEMA.replace('protect = "encrypt"\nfor = ["filter"]\n[columns.price]', 'protect = "encrypt"\nfor = ["fetch"]\n[columns.price]', 1)
    assert plain != SCHEMA
    (tmp_path / "t.schema.toml").write_text(plain, encoding="utf-8")
    write(tmp_path / "t.csv", rows(random.Random(13), 9000))
    hush("encrypt", "t.csv", "-o", "T", *key)
    done = hush("query", "T", QUESTIONS[0], "--way", "filter", *key, status=None)
    assert done.stderr.startswith("HUSH-P030"), done.stderr
    hush("alter", "T", "--for", "id=filter", *key)
    assert same_by_ranks(hush, QUESTIONS[0], key) and same_by_ranks(hush, QUESTIONS[1], key)


def test_texts_that_are_long_leave_the_way_out(hush, tmp_path, key):
    """One long text would make all blocks long: its part has no order of chunks, and columns come back."""
    (tmp_path / "t.schema.toml").write_text(SCHEMA, encoding="utf-8")
    lines = list(rows(random.Random(14), 9000))
    lines[77] = (*lines[77][:4], "x" * 100_000, *lines[77][5:])
    write(tmp_path / "t.csv", lines)
    hush("encrypt", "t.csv", "-o", "T", *key)
    done = hush("query", "T", QUESTIONS[1], "--way", "filter", *key, status=None)
    assert re.match("HUSH-P030.*some part of the table does not have the order of name in its chunks", done.stderr), done.stderr
    assert asked(hush, QUESTIONS[1], key)[0] == asked(hush, QUESTIONS[1], key, "--way", "fetch")[0]
    assert same_by_ranks(hush, QUESTIONS[0], key)
