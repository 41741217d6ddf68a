# SPDX-License-Identifier: Apache-2.0
"""Columns for equality alone, in constant-weight codes: answers equal those by columns that come back and DuckDB's, whatever became of the table
meanwhile; what is no equality goes another way; a server sees as many flags whatever the constant."""

import csv
import datetime
import json
import random
import re

import pytest

from duckdb_agrees import assert_as_duckdb

ROWS = 9000
SCHEMA = """format = 1
table = "t"
status = "approved"
approved_by = "test"
null_tokens = [""]
max_rows = 60000
filter = ["equality(id)", "equality(price)", "equality(day)"]
[columns.key]
type = "int(32)"
range = [0, 1000000]
protect = "clear"
[columns.id]
type = "int(64)"
range = [-5, 20000000]
nullable = true
protect = "encrypt"
for = ["filter"]
[columns.price]
type = "decimal(6,2)"
range = [-9, 99.99]
protect = "encrypt"
for = ["filter"]
[columns.day]
type = "date"
range = ["2024-01-01", "2024-12-31"]
nullable = true
protect = "encrypt"
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
IDS = [-5, -4, 0, 1, 2, 17, 4096, 16_777_216, 19_999_999, 20_000_000]
PRICES = ["-9.00", "-8.99", "0.00", "0.01", "12.34", "99.99"]
#: Digits of `pay`.
LIMBS = 3
QUESTIONS = [
    "SELECT SUM(pay) AS s, COUNT(*) AS c FROM t WHERE id = 17",
    "SELECT COUNT(*) AS c, AVG(pay) AS a FROM t WHERE price IN (0.01, 12.34)",
    "SELECT SUM(pay) AS s FROM t WHERE day <> DATE '2024-02-29' AND size < 7",
    "SELECT size, COUNT(*) AS c FROM t WHERE day = DATE '2024-01-01' OR day IS NULL GROUP BY size ORDER BY size",
    "SELECT SUM(pay) AS s FROM t WHERE id BETWEEN -5 AND 40",
]
AGGREGATES = ["COUNT(*)", "COUNT(pay)", "SUM(pay)", "AVG(pay)"]


def day(number):
    """A day of 2024, as ISO has it."""
    return (datetime.date(2024, 1, 1) + datetime.timedelta(days=number)).isoformat()


def rows(draw, count, first=0):
    """Random rows, many of them with the same values."""
    some = lambda value: value if draw.random() < 0.9 else ""
    for key in range(first, first + count):
        number = draw.choice([draw.choice(IDS), draw.randint(0, 40), draw.randint(0, 2 * 10**7)])
        price = draw.choice([draw.choice(PRICES), f"{draw.randint(0, 9999) / 100:.2f}"])
        yield key, some(number), price, some(day(draw.randrange(366))), draw.randrange(10), some(f"{draw.randint(-50000, 2000000) / 100:.2f}")


def write(path, lines):
    """A CSV file of rows."""
    with open(path, "w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["key", "id", "price", "day", "size", "pay"])
        writer.writerows(lines)


def atom(draw):
    """A condition that tells a few values of a column from all others."""
    number = lambda: draw.choice(IDS + [draw.randint(0, 40), -6, 2 * 10**7 + 1, 2**62])
    price = lambda: draw.choice(PRICES + ["12.345", "-1e3", "7"])
    date = lambda: f"DATE '{day(draw.randrange(366))}'"
    op = draw.choice(["=", "=", "<>"])
    low = draw.randint(-6, 30)
    return draw.choice([
        lambda: f"id {op} {number()}",
        lambda: f"{number()} {op} id",
        lambda: f"id {draw.choice(['', 'NOT '])}IN ({number()}, {number()}, {number()})",
        lambda: f"id {draw.choice(['', 'NOT '])}BETWEEN {low} AND {low + draw.randrange(60)}",
        lambda: f"id {draw.choice(['<', '<='])} {draw.randint(-6, 50)}",
        lambda: f"(id > {low} AND id <= {low + 20})",
        lambda: f"id IS {draw.choice(['', 'NOT '])}NULL",
        lambda: f"price {op} {price()}",
        lambda: f"price IN ({price()}, {price()})",
        lambda: f"price > {draw.choice(['99.5', '100', '99.4'])}",
        lambda: f"day {op} {date()}",
        lambda: f"day IN ({date()}, {date()})",
        lambda: f"day < DATE '2024-02-{draw.randint(1, 29):02}'",
        lambda: f"day IS {draw.choice(['', 'NOT '])}NULL",
    ])()


def question(draw):
    """A random question with one such condition, and perhaps others."""
    where = atom(draw)
    where = f"NOT ({where})" if draw.random() < 0.15 else where
    if draw.random() < 0.4:
        where = f"{where} {draw.choice(['AND', 'AND', 'OR'])} {draw.choice(['size < 6', 'size <> 3', 'key < 9000', atom(draw)])}"
    key, group, order = draw.choice([("", "", "")] * 4 + [("size AS k, ", " GROUP BY size", " ORDER BY k")])
    sums = ", ".join(f"{text} AS x{place}" for place, text in enumerate(draw.sample(AGGREGATES, 2)))
    return f"SELECT {key}{sums} FROM t WHERE {where}{group}{order}"


def asked(hush, query, key, *more):
    """The result as CSV and the figures."""
    done = hush("query", "T", query, "--format", "csv", "--analyze", "--json", *more, *key)
    return done.stdout, json.loads(done.stderr.splitlines()[-1])["measured"]


def same_without_keys(hush, query, key):
    """Whether a server answers, as columns that come back do."""
    done = hush("query", "T", query, "--way", "filter", "--format", "csv", *key, status=None)
    if done.returncode != 0:
        refused = "HUSH-(E042|P030.*(encrypted columns, and|factors|no row can match|no condition on|condition is not made of|cannot be evaluated|some part of the table))"
        assert re.match(refused, done.stderr), (query, done.stderr)
        return False
    assert done.stdout == hush("query", "T", query, "--way", "fetch", "--format", "csv", *key).stdout, query
    return True


@pytest.fixture
def table(hush, tmp_path, key):
    """Two chunks of rows."""
    (tmp_path / "t.schema.toml").write_text(SCHEMA, encoding="utf-8")
    write(tmp_path / "t.csv", rows(random.Random(11), ROWS))
    hush("encrypt", "t.csv", "-o", "T", *key)
    return tmp_path / "T"


def test_random_questions(hush, table, key):
    draw = random.Random()
    seed = draw.randrange(1 << 32)
    draw.seed(seed)
    print("seed", seed)
    answered = 0
    while answered < 25:
        answered += same_without_keys(hush, question(draw), key)


def test_duckdb_agrees(hush, table, key):
    for query in QUESTIONS:
        assert_as_duckdb(asked(hush, query, key, "--way", "filter")[0], query, table.parent / "t.csv")


def test_as_much_is_sent_whatever_the_constant(hush, table, key):
    """Neither plans nor answers differ in length; `explain` names as many flags as a codeword has, and no constant."""
    for condition, constants in [("id = {}", IDS), ("price = {}", PRICES), ("day = DATE '{}'", [day(0), day(77), day(365)])]:
        moved = [asked(hush, "SELECT SUM(pay) AS s FROM t WHERE " + condition.format(constant), key, "--way", "filter")[1] for constant in constants]
        # Numbers of columns have one to three digits.
        assert len({found["bytes_down"] for found in moved}) == 1, (condition, moved)
        assert max(found["bytes_up"] for found in moved) - min(found["bytes_up"] for found in moved) < 20, (condition, moved)
    told = hush("explain", "T", "SELECT SUM(pay) AS s FROM t WHERE id = 19999999", "--way", "filter", *key).stdout
    shown = told.split("from this query")[1]
    assert len(set(re.findall(r"#\d+", re.split(r"are combined", shown)[0]))) == 4 + LIMBS, shown
    assert "19999999" not in shown and "id" not in re.split(r"\n +not ", shown)[0].split(), shown


def test_what_is_no_equality_goes_another_way(hush, table, key):
    """Ranges of many values, groups, CASE, medians and first rows by such a column are answered, but not so."""
    for query in [
        "SELECT COUNT(*) AS c FROM t WHERE id < 1000000",
        "SELECT COUNT(*) AS c FROM t WHERE price BETWEEN 10 AND 20 AND size < 4",
        "SELECT SUM(CASE WHEN price < 5 THEN pay END) AS s FROM t WHERE size < 4",
        "SELECT SUM(pay) FILTER (WHERE day = DATE '2024-05-05') AS s FROM t WHERE size < 4",
        "SELECT day, COUNT(*) AS c FROM t WHERE size < 4 GROUP BY day ORDER BY day",
        "SELECT EXTRACT(MONTH FROM day) AS m, COUNT(*) AS c FROM t WHERE size < 4 GROUP BY m ORDER BY m",
        "SELECT COUNT(*) AS c FROM t WHERE EXTRACT(MONTH FROM day) = 3",
        "SELECT MEDIAN(id) AS m, MIN(price) AS p FROM t WHERE size < 2",
        "SELECT id, pay FROM t WHERE price = 12.34 AND size = 3 ORDER BY id, pay",
        "SELECT pay FROM t WHERE size = 3 ORDER BY id NULLS LAST, pay LIMIT 5",
        "SELECT COUNT(DISTINCT id) AS c FROM t WHERE size = 3",
    ]:
        expected = hush("query", "T", query, "--way", "fetch", "--format", "csv", *key).stdout
        assert hush("query", "T", query, "--format", "csv", *key).stdout == expected, query
        done = hush("query", "T", query, "--way", "filter", "--format", "csv", *key, status=None)
        assert done.stdout in ("", expected) and (done.stdout or re.match("HUSH-(P030|C098|E042)", done.stderr)), (query, done.stdout, done.stderr)
    # Rows that match such a condition come back.
    for query in ["SELECT pay, size FROM t WHERE id = 4096 ORDER BY pay, size", "SELECT MAX(pay) AS m FROM t WHERE day = DATE '2024-05-05' AND size = 1"]:
        assert same_without_keys(hush, query, key), query


def test_constants_of_equality_are_not_encrypted(hush, tmp_path, key):
    """With keys for hidden constants `--hide constants` goes without them and says so, and `--hide pattern` another way."""
    (tmp_path / "t.schema.toml").write_text(SCHEMA.replace("[columns.key]", "constant_keys = true\n[columns.key]", 1), encoding="utf-8")
    write(tmp_path / "t.csv", rows(random.Random(11), 600))
    hush("encrypt", "t.csv", "-o", "T", *key)
    query = "SELECT COUNT(*) AS c FROM t WHERE id = 17"
    done = hush("query", "T", query, "--way", "filter", "--hide", "pattern", *key, status=None)
    assert re.match("HUSH-P030.*it is on a column for equality alone", done.stderr), done.stderr
    told = " ".join(hush("explain", "T", query, "--way", "filter", "--hide", "constants", *key).stdout.split())
    assert "which are not encrypted because it is on a column for equality alone" in told, told
    assert same_without_keys(hush, query, key)


def test_the_life_of_a_table(hush, table, tmp_path, key):
    """Further and deleted rows, compactions, rotations and other names leave no sum wrong."""
    def check(has_deleted=False, questions=QUESTIONS):
        answered = [query for query in questions if same_without_keys(hush, query, key)]
        # Deleted rows take the place of a factor.
        assert answered == questions or (has_deleted and len(answered) > 2), answered

    write(tmp_path / "more.csv", rows(random.Random(12), 900, ROWS))
    hush("append", "more.csv", "-o", "T", *key)
    check()
    hush("delete", "T", "WHERE key < 500", *key)
    write(tmp_path / "changed.csv", rows(random.Random(13), 100, 1000))
    hush("update", "--on", "key", "T", "changed.csv", *key)
    check(has_deleted=True)
    hush("compact", "T", "--all", *key)
    check()
    hush("rotate", "T", *key)
    check(questions=random.sample(QUESTIONS, 2))
    hush("alter", "T", "--rename", "id=number", *key)
    for query in random.sample(QUESTIONS, 2):
        assert same_without_keys(hush, re.sub(r"\bid\b", "number", query), key)


def test_what_cannot_be_for_equality(hush, tmp_path, key):
    """Each is refused before anything is written, with what would do."""
    write(tmp_path / "t.csv", rows(random.Random(3), 50))
    for old, new, words in [
        ("range = [-5, 20000000]\n", "", "id has more than 2829877120 values"),
        ('filter = ["', 'filter = ["equality(key)", "', "key is neither encrypted nor sealed"),
        ('filter = ["', 'filter = ["equality(nobody)", "', "there is no column"),
        ('filter = ["', 'filter = ["id", "', "id stands twice in it"),
        ('filter = ["', 'filter_factors = 2\nfilter = ["', "id has more than 512 values"),
    ]:
        assert old in SCHEMA
        (tmp_path / "t.schema.toml").write_text(SCHEMA.replace(old, new, 1), encoding="utf-8")
        refused = hush("encrypt", "t.csv", "-o", "T", *key, status=None)
        assert refused.returncode and words in refused.stderr, (words, refused.stderr)
        assert not (tmp_path / "T").exists()


def test_the_widest_column(hush, tmp_path, key):
    """Some 2.8 thousand million values, of which the first and the last are told from their neighbours."""
    (tmp_path / "t.schema.toml").write_text(SCHEMA.replace("range = [-5, 20000000]", "range = [-2147483648, 682393471]"), encoding="utf-8")
    numbers = [-(2**31), -(2**31) + 1, 0, 682393470, 682393471]
    write(tmp_path / "t.csv", [(row, numbers[row % 5], "1.00", day(row), 1, f"{row}.50") for row in range(40)])
    hush("encrypt", "t.csv", "-o", "T", *key)
    for number in numbers:
        query = f"SELECT COUNT(*) AS c, SUM(pay) AS s FROM t WHERE id = {number}"
        assert same_without_keys(hush, query, key)
        assert_as_duckdb(asked(hush, query, key, "--way", "filter")[0], query, tmp_path / "t.csv")


def test_a_key_is_not_widened_beyond_its_code(hush, table, key):
    """Ranks would show more than codewords do: nobody gets them who asked for equality."""
    refused = hush("alter", "T", "--range", "id=-5..2900000000", *key, status=None)
    assert "HUSH-C129" in refused.stderr and "id has more than 2829877120 values" in refused.stderr, refused.stderr
    assert same_without_keys(hush, QUESTIONS[0], key)
    assert "rank" not in hush("info", "T", *key).stdout
