# SPDX-License-Identifier: Apache-2.0
"""Predicted bytes of columns whose values are of very different lengths, through all that happens to a table."""

import csv
import json
import random

import pytest

ROWS = 9000
SCHEMA = """format = 1
table = "t"
status = "approved"
max_rows = 100000
[columns.x]
type = "int(16)"
range = [0, 100]
protect = "encrypt"
for = ["sum"]
[columns.code]
type = "text"
protect = "seal"
[columns.note]
type = "text"
protect = "seal"
[columns.city]
type = "text"
protect = "clear"
[columns.tag]
type = "text"
protect = "clear"
"""
SEALED = {"code": 3, "note": 300}
CLEAR = {"city": 40, "tag": 2}
# As long as those are, the other way round.
OTHER = {"code": 150, "note": 6, "city": 4, "tag": 60}


def write(path, lengths, rows, draw):
    """Rows of texts of these lengths, of random letters."""
    text = lambda length: "".join(draw.choices("abcdefghij", k=length))
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(["x", *lengths])
        out.writerows([draw.randint(0, 100), *map(text, lengths.values())] for _ in range(rows))


@pytest.fixture
def texts(hush, tmp_path, key):
    """A table of two sealed columns and two clear ones, whose texts have 2 to 300 bytes, and rows of other lengths."""
    draw = random.Random(3)
    (tmp_path / "t.toml").write_text(SCHEMA, encoding="utf-8")
    write(tmp_path / "t.csv", SEALED | CLEAR, ROWS, draw)
    write(tmp_path / "other.csv", OTHER, ROWS, draw)
    hush("encrypt", "t.csv", "--schema", "t.toml", "-o", "T", *key)
    return "T"


def figures(hush, table, query, key, *options):
    """Predicted and measured bytes of an answer, and of its clear half."""
    found = json.loads(hush("query", table, query, "--format", "csv", "--analyze", "--json", *options, *key).stderr.splitlines()[-1])
    predicted, measured = found["predicted"]["prediction"], found["measured"]
    return (predicted["bytes_down"], measured["bytes_down"]), (predicted["clear_half"]["bytes"], measured["clear_bytes"])


def check(hush, table, key, columns=(*SEALED, *CLEAR), slack=0.15):
    """Each column that comes back is predicted nearly, and beforehand too."""
    for column in columns:
        query = f"SELECT {column} FROM t"
        down, clear = figures(hush, table, query, key)
        explained = json.loads(hush("explain", table, query, "--json", *key).stdout)["prediction"]
        assert (explained["bytes_down"], explained["clear_half"]["bytes"]) == (down[0], clear[0]), column
        assert abs(down[0] - down[1]) <= slack * down[1], (column, down)
        assert abs(clear[0] - clear[1]) <= slack * clear[1], (column, clear)


def test_texts_of_a_new_table_and_of_an_appended_one(hush, texts, key):
    """Within 15 % for the columns of a table, of rows with other lengths too, and where some rows match."""
    check(hush, texts, key)
    (down, short), (_, long) = (figures(hush, texts, f"SELECT {column} FROM t", key)[0] for column in SEALED)
    assert 20 * down < long and 20 * short < long
    hush("append", "other.csv", "-o", texts, *key)
    check(hush, texts, key)
    (both, _), _ = figures(hush, texts, "SELECT code, note FROM t", key)
    (alone, _), _ = figures(hush, texts, "SELECT note FROM t", key)
    assert 1.3 * alone < both < 1.7 * alone
    for query in ("SELECT upper(city) || '-' || tag AS a FROM t", "SELECT CASE WHEN tag > 'b' THEN 'yes' ELSE city END AS a FROM t WHERE tag < 'e'"):
        _, (predicted, measured) = figures(hush, texts, query, key)
        assert abs(predicted - measured) <= 0.35 * measured, query


def test_lengths_follow_what_becomes_of_a_table(hush, texts, key):
    """Deleted rows whose parts are written anew are counted no longer; columns that are renamed and dropped take their lengths along."""
    hush("append", "other.csv", "-o", texts, *key)
    # The first rows go, all of them: those of the other lengths stay.
    hush("delete", texts, "WHERE city LIKE '_____%'", *key)
    hush("compact", texts, "--all", *key)
    check(hush, texts, key)
    hush("alter", texts, "--rename", "note=remark", "--drop", "city", *key)
    check(hush, texts, key, ("code", "remark", "tag"))
    hush("rotate", texts, *key)
    check(hush, texts, key, ("code", "remark", "tag"))


def test_a_rehearsal_predicts_as_a_table_does(hush, texts, key):
    """`hush run` has no files, and counts all the same."""
    for column in CLEAR:
        options = ("--schema", "t.toml", "--format", "csv", "--analyze", "--json")
        found = json.loads(hush("run", "t.csv", f"SELECT {column}, x FROM t", *options).stderr.splitlines()[-1])["analysis"]
        clear, measured = found["predicted"]["prediction"]["clear_half"]["bytes"], found["measured"]["clear_bytes"]
        assert abs(clear - measured) <= 0.05 * measured, column


def test_numbers_of_rows_beside_a_cube_are_those_of_whole_parts(hush, tmp_path, key):
    """Where one part answers by a cube, the other sends the numbers of its rows: a few bytes, for they follow each other."""
    schema = SCHEMA.replace("max_rows", 'cubes = [{ by = [{ column = "x", bins = ["50"] }], sum = [] }]\nmax_rows')
    (tmp_path / "t.toml").write_text(schema, encoding="utf-8")
    write(tmp_path / "t.csv", SEALED | CLEAR, ROWS, random.Random(3))
    hush("encrypt", "t.csv", "--schema", "t.toml", "-o", "T", *key)
    hush("append", "t.csv", "-o", "T", *key)
    with (tmp_path / "t.csv").open(encoding="utf-8", newline="") as file:
        city = next(csv.DictReader(file))["city"]
    query = "SELECT COUNT(*) AS n FROM t"
    options = ("--way", "cube")
    (predicted, measured), _ = figures(hush, "T", query, key, *options)
    assert predicted == measured
    # A row of each part goes; the part that is appended after that has its cube.
    hush("delete", "T", f"WHERE city = '{city}'", *key)
    hush("append", "t.csv", "-o", "T", *key)
    _, (predicted, measured) = figures(hush, "T", query, key, *options)
    assert measured < 500 and abs(predicted - measured) <= 128
