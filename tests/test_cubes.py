# SPDX-License-Identifier: Apache-2.0
"""Cubes: every question that cells decide is answered by them, as by columns that come back, whatever became of the table meanwhile."""

import csv
import datetime
import json
import random
import re

import pytest

import devices
from duckdb_agrees import assert_as_duckdb

SCHEMA = """format = 1
table = "t"
status = "approved"
max_rows = 200000
cubes = [
  { by = ["month(day)", "kind", "flag", "level"], sum = ["pay", "pay * (1 - rate) * hours"] },
  { by = [{ column = "age", bins = [18, 40, 65] }, "year(seen)"], sum = ["pay", "gain"] },
]
[columns.day]
type = "date"
range = ["2023-01-15", "2023-12-20"]
nullable = true
protect = "encrypt"
[columns.kind]
type = "category"
nullable = true
protect = "seal"
[columns.flag]
type = "bool"
protect = "encrypt"
[columns.level]
type = "int(8)"
range = [-2, 3]
protect = "clear"
[columns.age]
type = "int(16)"
range = [0, 120]
nullable = true
protect = "encrypt"
[columns.seen]
type = "timestamp"
range = ["2021-06-01T00:00:00Z", "2024-01-31T23:59:59Z"]
protect = "encrypt"
[columns.pay]
type = "decimal(10,2)"
range = [-1000, 99999.99]
nullable = true
protect = "encrypt"
[columns.rate]
type = "decimal(3,2)"
range = [0, 0.10]
protect = "encrypt"
[columns.hours]
type = "int(16)"
range = [0, 60]
protect = "encrypt"
[columns.gain]
type = "float(3)"
range = [-50, 50]
nullable = true
protect = "encrypt"
[columns.key]
type = "int(32)"
protect = "clear"
"""
SCHEMA = SCHEMA.replace('"month(day)", "kind"', '"month(day)", { column = "kind", values = ["a", "b\'s", "ü"] }')
HEADER = ["day", "kind", "flag", "level", "age", "seen", "pay", "rate", "hours", "gain", "key"]
ROWS = 12_000


def rows(draw, count, first=0):
    """Random rows with missing values and extremes."""
    maybe = lambda value, chance: "" if draw.random() < chance else value
    for key in range(first, first + count):
        seen = datetime.datetime(2021, 6, 1) + datetime.timedelta(seconds=draw.randrange(84_000_000))
        yield [
            maybe(datetime.date(2023, 1, 15) + datetime.timedelta(draw.randrange(340)), 0.05),
            maybe(draw.choice(["a", "b's", "ü"]), 0.1),
            draw.choice(["true", "false"]),
            draw.randint(-2, 3),
            maybe(draw.choice([0, 120, 18, 17, 65, draw.randint(0, 120)]), 0.07),
            f"{seen.isoformat()}Z",
            maybe(draw.choice(["-1000.00", "99999.99", f"{draw.randint(-100000, 9999999) / 100:.2f}"]), 0.1),
            f"0.{draw.randint(0, 10):02d}" if draw.random() < 0.9 else "0.10",
            draw.choice([0, 60, draw.randint(0, 60)]),
            maybe(f"{draw.randint(-50000, 50000) / 1000:.3f}", 0.2),
            key,
        ]


def write(path, lines):
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([HEADER, *lines])


CONDITIONS = {
    "first": [
        "day >= DATE '2023-04-01'",
        "day < '2023-07-01'",
        "day BETWEEN '2023-02-01' AND '2023-10-31'",
        "day IS NULL",
        "day <= DATE '2023-11-30'",
        "kind = 'a'",
        "kind <> 'ü'",
        "kind IN ('a', 'b''s')",
        "kind IS NULL",
        "kind LIKE '%s'",
        "flag",
        "NOT flag",
        "level > 0",
        "level BETWEEN -1 AND 2",
        "abs(level) = 2",
        "level * 2 < 1",
    ],
    "second": ["age >= 18", "age < 65", "age BETWEEN 40 AND 64", "age IS NOT NULL", "age > 17", "seen >= '2022-01-01'", "seen < TIMESTAMP '2023-01-01 00:00:00'"],
}
KEYS = {
    "first": ["kind", "flag", "level", "date_trunc('month', day)", "EXTRACT(quarter FROM day)", "EXTRACT(month FROM day)", "upper(kind)", "level % 2", "CASE WHEN level > 1 THEN 'high' ELSE kind END"],
    "second": ["date_trunc('year', seen)", "EXTRACT(year FROM seen)", "CASE WHEN age < 18 THEN 'child' WHEN age >= 65 THEN 'old' END"],
}
AGGREGATES = {
    "first": [
        "COUNT(*)",
        "COUNT(pay)",
        "SUM(pay)",
        "AVG(pay)",
        "VARIANCE(pay)",
        "STDDEV_POP(pay)",
        "SUM(pay * level)",
        "SUM(pay * (1 - rate) * hours)",
        "SUM(pay - 3)",
        "SUM(level)",
        "AVG(level)",
        "VAR_POP(level)",
        "KURTOSIS(level)",
        "MIN(level)",
        "MAX(kind)",
        "COUNT(kind)",
        "COUNT(DISTINCT kind)",
        "COUNT(DISTINCT level)",
        "MODE(kind)",
        "MEDIAN(level)",
        "QUANTILE_DISC(level, 0.3)",
        "QUANTILE_CONT(level, 0.9)",
        "PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY level DESC)",
        "BOOL_OR(flag)",
        "CORR(level, pay)",
        "SUM(CASE WHEN flag THEN pay END)",
        "COUNT(CASE WHEN kind = 'a' THEN 1 END)",
        "SUM(pay) FILTER (WHERE level > 0)",
        "COUNT(*) FILTER (WHERE kind IS NULL)",
    ],
    "second": ["COUNT(*)", "SUM(pay)", "SUM(gain)", "AVG(gain)", "STDDEV(gain)", "COUNT(gain)", "SUM(pay + 1) FILTER (WHERE age >= 65)", "COUNT(*) FILTER (WHERE age IS NULL)"],
}


def condition(draw, cube):
    """A random condition on the dimensions of a cube."""
    one = lambda: draw.choice(CONDITIONS[cube])
    kind = draw.randrange(5)
    return [one(), f"{one()} AND {one()}", f"({one()} OR {one()})", f"NOT ({one()})", f"{one()} AND ({one()} OR NOT ({one()}))"][kind]


def question(draw, cube):
    """A random grouped query that the cells of a cube decide."""
    items = draw.sample(AGGREGATES[cube], draw.randint(1, 4))
    keys = draw.sample(KEYS[cube], draw.choice([0, 1, 1, 2]))
    named = [f"{text} AS x{place}" for place, text in enumerate([*keys, *items])]
    where = f" WHERE {condition(draw, cube)}" if draw.random() < 0.7 else ""
    group = f" GROUP BY {', '.join(keys)}" if keys else ""
    having = " HAVING COUNT(*) > 40" if draw.random() < 0.2 else ""
    order = " ORDER BY " + ", ".join(f"x{place}" for place in range(len(named))) if keys else ""
    limit = f" LIMIT {draw.randint(1, 5)}" if order and draw.random() < 0.2 else ""
    return f"SELECT {', '.join(named)} FROM t{where}{group}{having}{order}{limit}"


def test_random_questions(hush, tmp_path, key):
    """Cells answer as columns that come back do, over parts with the cube and without it, with the predicted bytes."""
    seed = random.randrange(2**32)
    print("seed", seed)
    draw = random.Random(seed)
    (tmp_path / "t.schema.toml").write_text(SCHEMA, encoding="utf-8")
    write(tmp_path / "t.csv", rows(draw, ROWS))
    hush("encrypt", "t.csv", "-o", "T", *key)
    # Few rows take less than a cube of them would: they have none.
    write(tmp_path / "few.csv", rows(draw, 20, ROWS))
    write(tmp_path / "many.csv", rows(draw, 9000, ROWS + 20))
    hush("append", "few.csv", "-o", "T", *key)
    hush("append", "many.csv", "-o", "T", *key)
    parts = manifest(tmp_path / "T")["parts"]
    assert [sorted(part.get("cubes", {}).get("numbers", [])) for part in parts] == [[0, 1], [], [0, 1]], parts
    for _ in range(14):
        for cube in ("first", "second"):
            same_by_each_way(hush, question(draw, cube), key)


def same_by_each_way(hush, query, key):
    """The result by the cube is the text of the result by columns that come back."""
    ask = lambda way: hush("query", "T", query, "--way", way, "--format", "csv", "--analyze", "--json", *key)
    done = ask("cube")
    # Nothing comes back for clear columns alone.
    other = "sum" if hush("query", "T", query, "--way", "fetch", *key, status=None).returncode else "fetch"
    assert done.stdout == ask(other).stdout, query
    analysis = json.loads(done.stderr.splitlines()[-1])
    predicted, measured = analysis["predicted"]["prediction"], analysis["measured"]
    assert predicted["bytes_up"] == measured["bytes_up"], query
    assert not predicted["bytes_down_exact"] or predicted["bytes_down"] == measured["bytes_down"], query
    assert predicted["bytes_down_exact"] or len(manifest(hush.directory / "T")["parts"]) > 1, query
    return done.stdout


def manifest(table):
    """The body of a table's manifest."""
    data = (table / "manifest.hush").read_bytes()
    return json.loads(data[20 : 20 + int.from_bytes(data[12:20], "little")])


QUESTIONS = [
    "SELECT kind, COUNT(*) AS n, SUM(pay) AS p, STDDEV(pay) AS s FROM t WHERE day >= DATE '2023-03-01' AND flag GROUP BY kind ORDER BY kind",
    "SELECT EXTRACT(year FROM seen) AS y, COUNT(*) AS n, AVG(gain) AS g FROM t WHERE age >= 18 GROUP BY y ORDER BY y",
]


@pytest.fixture
def table(hush, tmp_path, key):
    """A table with two cubes."""
    (tmp_path / "t.schema.toml").write_text(SCHEMA, encoding="utf-8")
    write(tmp_path / "t.csv", rows(random.Random(3), ROWS))
    hush("encrypt", "t.csv", "-o", "T", *key)
    return tmp_path / "T"


def test_duckdb_agrees(hush, table, key):
    """Another engine on the plain rows."""
    for query in QUESTIONS:
        assert_as_duckdb(same_by_each_way(hush, query, key), query, table.parent / "t.csv", least=3)


def test_what_is_sent_is_the_same_for_every_constant(hush, table, key):
    """Bytes up and down do not depend on the question; `explain` says what the server learns, and that it is right about it."""
    moved = set()
    for level in range(-2, 4):
        for month in range(2, 12):
            query = f"SELECT SUM(pay) FROM t WHERE level = {level} AND day < DATE '2023-{month:02d}-01'"
            done = hush("query", "T", query, "--way", "cube", "--hide", "constants,pattern,sizes", "--analyze", "--json", *key)
            measured = json.loads(done.stderr.splitlines()[-1])["measured"]
            moved.add((measured["bytes_up"], measured["bytes_down"]))
    assert len(moved) == 1, moved
    described = hush("info", "T", *key).stdout
    assert "cube       #0 by month(day), kind, flag, level: 624 cells, in 1 of 1 parts" in described, described
    told = hush("explain", "T", QUESTIONS[0], "--way", "cube", *key).stdout
    assert re.search(r"cube 0 was asked for, all 624 cells", told), told
    assert "2023-03-01" not in told.split("learns")[-1], told


def test_cubes_through_the_life_of_a_table(hush, table, tmp_path, key):
    """Deletions, updates, compactions, alterations and rotations leave no question of a cube wrong, and no name of cubes comes twice."""
    ids, files = {}, set()

    def check(covered=None):
        parts = manifest(table)["parts"]
        for part in parts:
            if "cubes" in part:
                found = (part["cubes"]["id"], part["cubes"]["file"]["digest"])
                assert ids.setdefault(*found) == found[1], "one name, one file"
                files.add(found[1])
        assert sum("cubes" in part and "dead" not in part for part in parts) == (covered or len(parts)), parts
        return [same_by_each_way(hush, query, key) for query in questions]

    questions = list(QUESTIONS)
    first = check(1)
    write(tmp_path / "more.csv", rows(random.Random(8), 6000, ROWS))
    hush("append", "more.csv", "-o", "T", *key)
    second = check(2)
    assert second != first
    # A part with deleted rows gives its rows; written anew, it has cubes again.
    hush("delete", "T", f"WHERE key < {ROWS} AND level = 0", *key)
    third = check(1)
    assert third != second
    hush("compact", "T", "--deleted", *key)
    assert check() == third
    hush("alter", "T", "--rename", "kind=sort", "--rename", "pay=Total Pay", *key)
    questions = [query.replace("kind", "sort").replace("(pay)", '("Total Pay")') for query in QUESTIONS]
    renamed = check()
    assert [text.replace("sort", "kind") for text in renamed] == third
    # Wider numbers make wider sums: such cubes are others, and parts have them once they are written anew.
    hush("alter", "T", "--range", "gain=-5000..5000", *key)
    assert hush("query", "T", questions[1], "--way", "cube", *key, status=None).returncode
    hush("compact", "T", "--all", *key)
    cubes = lambda: [part.get("cubes", {}).get("numbers") for part in manifest(table)["parts"]]
    assert all(2 in numbers and 1 not in numbers for numbers in cubes()), cubes()
    assert check() == renamed
    hush("rotate", "T", *key)
    assert check() == renamed
    # The same rows once more, under the same key: other names, and no number as it was.
    assert len(ids) == len(files) >= 5
    hush("encrypt", "t.csv", "-o", "again", *key)
    other = manifest(tmp_path / "again")["parts"][0]["cubes"]
    assert other["id"] not in ids and other["file"]["digest"] not in files
    hush("alter", "T", "--drop", "age", *key)
    done = hush("query", "T", QUESTIONS[1].replace("WHERE age >= 18 ", ""), "--way", "cube", *key, status=None)
    assert done.returncode and "HUSH-P" in done.stderr, done.stderr


def test_a_cube_behind_a_server_and_in_a_bucket_of_parts(hush, table, tmp_path, key, server):
    """A server adds the cells up as this process does; a damaged or exchanged file of cubes is refused, and so is one of another part."""
    write(tmp_path / "more.csv", rows(random.Random(8), 9000, ROWS))
    hush("append", "more.csv", "-o", "T", *key)
    expected = [hush("query", "T", query, "--way", "cube", "--format", "csv", *key).stdout for query in QUESTIONS]
    hush("push", "T", server.url, *server.token)
    for query, text in zip(QUESTIONS, expected):
        found = hush("query", server.url, query, "--way", "cube", "--format", "csv", *server.token, *key)
        assert found.stdout == text, query
    log = server.log.read_text(encoding="utf-8")
    assert "2023-03" not in log and "kind" not in log
    stored = sorted((table / "parts").glob("*.cubes"))
    assert len(stored) == 2
    plain = b"".join(file.read_bytes() for file in stored)
    assert b"kind" not in plain and b"HUSHCUBE" in plain
    saved = stored[0].read_bytes()
    for damaged in (saved[:-1], saved[:100] + bytes([saved[100] ^ 1]) + saved[101:], stored[1].read_bytes(), b""):
        stored[0].write_bytes(damaged)
        done = hush("query", "T", QUESTIONS[0], "--way", "cube", *key, status=None)
        assert done.returncode and re.match(r"HUSH-[TE]\d+", done.stderr) and done.stdout == "", done.stderr
        # Other ways do not read it.
        assert hush("query", "T", QUESTIONS[0], "--way", "fetch", "--format", "csv", *key).stdout == expected[0]
    stored[0].write_bytes(saved)
    assert hush("query", "T", QUESTIONS[0], "--way", "cube", "--format", "csv", *key).stdout == expected[0]


def test_a_table_that_outgrows_its_schema(hush, table, tmp_path, key):
    """Sums have bits for `max_rows` rows: with more, a cube is not asked, and the answer is that of other ways."""
    text = SCHEMA.replace("max_rows = 200000", f"max_rows = {ROWS}")
    (tmp_path / "full.toml").write_text(text, encoding="utf-8")
    hush("encrypt", "t.csv", "-o", "F", "--schema", "full.toml", *key)
    query = QUESTIONS[0]
    first = hush("query", "F", query, "--way", "cube", "--format", "csv", *key).stdout
    assert first == hush("query", "F", query, "--way", "fetch", "--format", "csv", *key).stdout
    hush("append", "t.csv", "-o", "F", *key)
    done = hush("query", "F", query, "--way", "cube", *key, status=None)
    assert done.returncode and done.stderr.startswith("HUSH-P030") and "`max_rows` of the schema" in done.stderr, done.stderr
    assert hush("query", "F", query, "--format", "csv", *key).stdout == hush("query", "F", query, "--way", "fetch", "--format", "csv", *key).stdout != first


def test_cells_that_outgrow_their_bits(hush, table, tmp_path, key):
    """A declared bound makes numbers narrower; a cell with more rows than it says is noticed, in a part and over parts, and other ways answer."""
    query = "SELECT level, COUNT(*) AS n, SUM(pay) AS s FROM t WHERE flag GROUP BY level ORDER BY level"
    ask = lambda place, *options: hush("query", place, query, "--format", "csv", *options, *key, status=None)
    small = lambda place: len(next((tmp_path / place / "parts").glob("*.cubes")).read_bytes())
    sums = 'sum = ["pay", "pay * (1 - rate) * hours"]'
    assert sums in SCHEMA
    for place, most in (("W", None), ("N", 255), ("S", 3)):
        bound = f"{sums}, max_cell_rows = {most}" if most else sums
        (tmp_path / "bounded.toml").write_text(SCHEMA.replace(sums, bound), encoding="utf-8")
        hush("encrypt", "t.csv", "-o", place, "--schema", "bounded.toml", *key)
    expected = ask("W", "--way", "cube").stdout
    assert expected == ask("N", "--way", "cube").stdout == ask("N", "--way", "fetch").stdout
    assert small("N") < small("W")
    told = lambda place: " ".join(hush("explain", place, query, "--way", "cube", *key).stdout.split())
    assert "columns come back instead" in told("N") and "columns come back instead" not in told("W")
    # Cells of one part pass theirs: it has none, and its rows come back.
    assert [part["cubes"]["numbers"] for part in manifest(tmp_path / "S")["parts"]] == [[1]]
    assert ask("S").stdout == expected and ask("S", "--way", "cube").stderr.startswith("HUSH-P030")
    # Cells of no part do, and those of all do.
    for _ in range(8):
        hush("append", "t.csv", "-o", "N", *key)
        if (refused := ask("N", "--way", "cube")).returncode:
            break
    assert refused.returncode and refused.stderr.startswith("HUSH-C097") and "max_cell_rows" in refused.stderr, refused.stderr
    assert all(part["cubes"]["numbers"] == [0, 1] for part in manifest(tmp_path / "N")["parts"])
    expected = ask("N", "--way", "fetch").stdout
    assert expected and ask("N").stdout == ask("N", "--link", "1").stdout == expected


def test_sums_of_many_bits_and_names_in_another_order(hush, tmp_path, key):
    """Sums of squares beyond 64 bits, negative ones, and lanes of equal ranges whose columns change their order in the alphabet."""
    columns = "".join(f'[columns.{name}]\ntype = "int(64)"\nrange = [-4000000000, 4000000000]\nprotect = "encrypt"\nfor = ["fetch"]\n' for name in "ab")
    schema = f'format = 1\ntable = "t"\nstatus = "approved"\nmax_rows = 50000\ncubes = [{{ by = ["g"], sum = ["a", "a - b"] }}]\n[columns.g]\ntype = "int(8)"\nrange = [0, 3]\nprotect = "encrypt"\nfor = ["fetch"]\n{columns}'
    (tmp_path / "t.schema.toml").write_text(schema, encoding="utf-8")
    draw = random.Random(6)
    with (tmp_path / "t.csv").open("w", encoding="utf-8") as file:
        file.write("g,a,b\n")
        file.writelines(f"{draw.randint(0, 3)},{draw.choice([-4 * 10**9, draw.randint(-4 * 10**9, 0)])},{draw.randint(0, 4 * 10**9)}\n" for _ in range(20_000))
    hush("encrypt", "t.csv", "-o", "T", *key)
    query = "SELECT g, SUM(a) AS s, VAR_POP(a) AS v, SUM(a - b) AS d, SUM(b) AS b FROM t WHERE g > 0 GROUP BY g ORDER BY g"
    first = same_by_each_way(hush, query, key)
    assert "-" in first
    hush("alter", "T", "--rename", "a=z", *key)
    renamed = query.replace("(a", "(z")
    assert same_by_each_way(hush, renamed, key) == first
    hush("append", "t.csv", "-o", "T", *key, status=None)
    (tmp_path / "t.csv").write_text((tmp_path / "t.csv").read_text(encoding="utf-8").replace("g,a,b", "g,z,b"), encoding="utf-8")
    hush("append", "t.csv", "-o", "T", *key)
    assert [len(part.get("cubes", {}).get("numbers", [])) for part in manifest(tmp_path / "T")["parts"]] == [1, 1]
    same_by_each_way(hush, renamed, key)


def test_values_without_a_cell_are_refused(hush, table, tmp_path, key):
    """A text that the cube does not list: the row and the column are named, the value is not, and nothing is written."""
    lines = list(rows(random.Random(1), 20))
    lines[7][1] = "secret kind"
    write(tmp_path / "bad.csv", lines)
    before = manifest(table)
    done = hush("append", "bad.csv", "-o", "T", *key, status=None)
    assert done.returncode and re.match(r"HUSH-C096.*row 8, column kind", done.stderr, re.DOTALL), done.stderr
    assert "secret kind" not in done.stderr and manifest(table) == before
    assert len(list((table / "parts").glob("*.cubes"))) == 1


def test_rows_of_devices_are_beside_the_cubes(hush, tmp_path, key, monkeypatch):
    """They come back, and are not forgotten; a text that no cell is for keeps the cube from answering, and nothing else from anything."""
    cube = 'edge = true\ncubes = [{ by = [{ column = "site", values = ["a", "b", "c"] }, "day"], sum = ["load", "temp"] }]\n'
    schema = devices.SCHEMA.replace("edge = true\n", cube).replace('type = "int(8)"\n', 'type = "int(8)"\nrange = [0, 27]\n')
    monkeypatch.setattr(devices, "SCHEMA", schema)
    draw = random.Random(9)
    edge = devices.Edge(hush, key, tmp_path, devices.make_rows(draw, 3000))
    query = "SELECT site, COUNT(*) AS n, SUM(load) AS l, AVG(temp) AS t FROM readings WHERE day < 20 GROUP BY site ORDER BY site"
    ask = lambda *options: hush("query", "T", query, "--format", "csv", *options, *key, status=None)
    before = ask("--way", "cube").stdout
    assert before == ask("--way", "sum").stdout
    devices.write_csv(tmp_path / "more.csv", devices.make_rows(draw, 200))
    assert edge.run("more.csv", "--to", "T")["delivered"] == 1
    edge.accept()
    assert ["cubes" in part for part in manifest(tmp_path / "T")["parts"]] == [True, False]
    assert ask("--way", "cube").stdout == ask("--way", "sum").stdout != before
    devices.write_csv(tmp_path / "other.csv", [["elsewhere", "3", "NA", "7", "0.5"]] * 30)
    assert edge.run("other.csv", "--to", "T", spool="other")["delivered"] == 1
    edge.accept()
    refused = ask("--way", "cube")
    assert refused.returncode and refused.stderr.startswith("HUSH-C096") and "elsewhere" not in refused.stderr
    expected = ask("--way", "sum").stdout
    assert "elsewhere,30,210," in expected and ask().stdout == ask("--link", "1").stdout == expected
    hush("compact", "T", "--all", *key)
    assert ["cubes" in part for part in manifest(tmp_path / "T")["parts"]] == [False]
    assert ask().stdout == expected


def test_cubes_that_cannot_be(hush, table, tmp_path, key):
    """Schemas with a cube too large, of columns that are not there or of floats name the line and the numbers."""
    for change, words in [
        (("month(day)", "nobody"), "cube 1: there is no column nobody"),
        (('"level"]', '"level", "hours", "seen"]'), "it would have"),
        (("bins = [18, 40, 65]", "bins = [40, 18]"), "the bins of age"),
        (('sum = ["pay", "gain"]', 'sum = ["hours / 2"]'), "cannot be added up"),
        (('sum = ["pay", "gain"]', 'sum = ["age"]'), "age is of dimensions alone"),
    ]:
        assert change[0] in SCHEMA
        (tmp_path / "bad.toml").write_text(SCHEMA.replace(*change), encoding="utf-8")
        done = hush("encrypt", "t.csv", "-o", "B", "--schema", "bad.toml", *key, status=None)
        assert done.returncode and done.stderr.startswith("HUSH-S014") and words in done.stderr, done.stderr
        assert not (tmp_path / "B").exists()

