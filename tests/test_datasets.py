# SPDX-License-Identifier: Apache-2.0
"""Folders of files as one table: DuckDB reads the same folders; kills, memory, Python."""

import decimal
import os
import random
import signal
import time
import urllib.parse

import duckdb
import pyarrow
import pyarrow.parquet
import pytest

from conftest import approve
from test_memory import LIMIT, encrypted, schema_of, sums, write_rows

TYPES = "{'t': 'VARCHAR', 'n': 'BIGINT', 'm': 'DECIMAL(12,2)'}"
WARDS = ["A", "north wing", "50%", "a/b", "ä", None, "NA"]


def folder_name(key, value):
    """A folder as Hive names it."""
    text = "__HIVE_DEFAULT_PARTITION__" if value is None else urllib.parse.quote(str(value), safe=" ä")
    return f"{key}={text}"


def random_rows(draw, count):
    """Rows of a text, an integer that may be missing, and money."""
    return [
        (
            draw.choice(["x", "a,b", 'say "a"', "two\nlines"]),
            draw.choice([None, draw.randrange(-1000, 1000)]),
            decimal.Decimal(draw.randrange(-(10**6), 10**6)).scaleb(-2),
        )
        for _ in range(count)
    ]


def write_csv(path, rows, swapped):
    """Columns t, n, m, or in another order."""
    order = [2, 0, 1] if swapped else [0, 1, 2]
    quoted = ['"' + row[0].replace('"', '""') + '"' for row in rows]
    cells = [(text, "" if row[1] is None else str(row[1]), str(row[2])) for text, row in zip(quoted, rows)]
    lines = [",".join(row[i] for i in order) for row in [("t", "n", "m"), *cells]]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_parquet(path, rows, swapped, narrow):
    """The same in types of two widths."""
    columns = {
        "t": pyarrow.array([row[0] for row in rows], pyarrow.string()),
        "n": pyarrow.array([row[1] for row in rows], pyarrow.int16() if narrow else pyarrow.int64()),
        "m": pyarrow.array([row[2] for row in rows], pyarrow.decimal128(9 if narrow else 12, 2)),
    }
    order = ["m", "t", "n"] if swapped else ["t", "n", "m"]
    pyarrow.parquet.write_table(pyarrow.table({name: columns[name] for name in order}), path)


def write_dataset(draw, folder, kind):
    """Some files below `year=../ward=..`, and what does not count."""
    rows = 0
    for number in range(draw.randrange(2, 12)):
        # Where every ward is NA, it is proposed as a missing one.
        ward = draw.choice(WARDS if number else WARDS[:5])
        place = folder / folder_name("year", draw.choice([2021, 2022, None])) / folder_name("ward", ward)
        place.mkdir(parents=True, exist_ok=True)
        of_file = random_rows(draw, draw.choice([0, 1, 50, 5000, 9000]) if number else 10)
        rows += len(of_file)
        path, swapped = place / f"part-{draw.randrange(10**6)}.{kind}", draw.random() < 0.3
        if kind == "csv":
            write_csv(path, of_file, swapped)
        else:
            write_parquet(path, of_file, swapped, draw.random() < 0.5)
        (place / f".{path.name}.crc").write_bytes(b"\x00")
    (folder / "_SUCCESS").write_text("")
    return rows


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_random_folders_give_what_duckdb_reads(hush, tmp_path, key, kind):
    """Groups and sums over columns of files and of paths, rehearsed, verified, and from an encrypted table."""
    seed = int(os.environ.get("HUSH_SEED", random.randrange(2**32)))
    print(f"HUSH_SEED={seed}")
    draw = random.Random(seed)
    for turn in range(2):
        folder = tmp_path / f"visits{turn}"
        rows = write_dataset(draw, folder, kind)
        if kind == "csv":
            reader = f"read_csv('{folder}/*/*/*.csv', header = true, union_by_name = true, hive_partitioning = true, hive_types_autocast = false, types = {TYPES})"
        else:
            reader = f"read_parquet('{folder}/*/*/*.parquet', union_by_name = true, hive_partitioning = true, hive_types_autocast = false)"
        shape = "SELECT {year} AS year, ward, t, COUNT(*) AS rows, COUNT(n) AS ns, SUM(n) AS n, SUM(m) AS m FROM {source} GROUP BY 1, ward, t"
        expected = duckdb.sql(shape.format(year="CAST(year AS BIGINT)", source=reader)).fetchall()
        query = shape.format(year="year", source=f"visits{turn}").replace("GROUP BY 1", "GROUP BY year")
        choice = ("--sensitive", "n,m", "--clear", "t,year,ward")
        rehearsed = hush.bytes("run", folder, query, *choice, "--verify", "--format", "parquet", "--quiet")
        schema = tmp_path / f"visits{turn}.schema.toml"
        said = hush("init", folder, *choice).stderr
        assert f"{rows:,} rows" in said
        approve(schema)
        hush("encrypt", folder, "-o", tmp_path / f"T{turn}", *key)
        asked = hush.bytes("query", tmp_path / f"T{turn}", query, "--format", "parquet", *key)
        for found in (rehearsed, asked):
            table = pyarrow.parquet.read_table(pyarrow.BufferReader(found))
            assert by_key(zip(*(column.to_pylist() for column in table.columns))) == by_key(expected)
        # The order of rows is that of the paths.
        files = sorted((path for path in folder.rglob(f"part-*.{kind}")), key=lambda path: os.fsencode(path.relative_to(folder)))
        decrypted = hush.bytes("decrypt", tmp_path / f"T{turn}", "--format", "parquet", *key)
        found = pyarrow.parquet.read_table(pyarrow.BufferReader(decrypted))["m"].to_pylist()
        read = (lambda path: read_money(path)) if kind == "csv" else (lambda path: pyarrow.parquet.read_table(path, partitioning=None)["m"].to_pylist())
        assert found == [value for path in files for value in read(path)]


def read_money(path):
    """Column m of a CSV file."""
    rows = duckdb.sql(f"SELECT m FROM read_csv('{path}', header = true, types = {TYPES}, hive_partitioning = false)").fetchall()
    return [row[0] for row in rows]


def by_key(rows):
    """Rows in an order that NULLs do not disturb."""
    plain = [tuple(None if value is None else str(value) for value in row) for row in rows]
    return sorted(plain, key=lambda row: [(value is None, value or "") for value in row])


def test_errors_name_the_file(hush, tmp_path):
    """Each with its code; nothing of a value."""
    folder = tmp_path / "visits"
    (folder / "ward=A").mkdir(parents=True)
    (folder / "ward=B").mkdir()
    (folder / "ward=A" / "a.csv").write_text("n,t\n1,x\n", encoding="utf-8")
    other = folder / "ward=B" / "b.csv"
    query = ("SELECT ward, SUM(n) AS s FROM visits GROUP BY ward", "--sensitive", "n", "--clear", "ward", "--quiet")
    for text, code, words in [
        ("n,u\n1,x\n", "HUSH-D042", "ward=B/b.csv has other columns than ward=A/a.csv"),
        ("n,t\n1,x\n2,y,SECRET\n", "HUSH-D015", "ward=B/b.csv: line 3"),
        ("", "HUSH-D010", "ward=B/b.csv"),
    ]:
        other.write_text(text, encoding="utf-8")
        refused = hush("run", folder, *query, status=8)
        assert code in refused.stderr and words in refused.stderr and "SECRET" not in refused.stderr, refused.stderr
    other.write_text("n,t\n41,y\n", encoding="utf-8")
    assert hush("run", folder, *query, "--format", "csv").stdout.splitlines()[1:] == ["A,1", "B,41"]
    (folder / "README.md").write_text("About this folder.\n", encoding="utf-8")
    assert "README.md" in hush("run", folder, *query, status=8).stderr
    assert "HUSH-D040" in hush("init", tmp_path / "home", status=8).stderr


def test_memory_does_not_grow_with_files(hush, tmp_path, key):
    """Below the limit of one file, and the same sums as that file gives."""
    rows, files = 300_000, 150
    schema_of(hush, tmp_path, rows)
    write_rows(tmp_path / "t.csv", rows)
    header, *lines = (tmp_path / "t.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    for file in range(files):
        place = tmp_path / "t" / f"part={file % 7}"
        place.mkdir(parents=True, exist_ok=True)
        part = lines[rows * file // files : rows * (file + 1) // files]
        (place / f"{file}.csv").write_text(header + "".join(part), encoding="utf-8")
    schema = (tmp_path / "t.schema.toml").read_text(encoding="utf-8")
    (tmp_path / "t.schema.toml").write_text(schema + '\n[columns.part]\ntype = "int(16)"\nprotect = "clear"\n', encoding="utf-8")
    found = encrypted(hush, tmp_path, key, "t", "64MB")
    assert found < LIMIT, f"{found / 10**6:.1f} MB"
    (tmp_path / "t.schema.toml").write_text(schema, encoding="utf-8")
    encrypted(hush, tmp_path, key, "t.csv", "64MB", "U")
    assert sums(hush, key) == sums(hush, key, "U")


def parts_of(place):
    """Names of the parts in a table's place."""
    return {path.name for path in (place / "parts").glob("*.enc.parquet")}


def test_a_killed_encryption_of_a_folder_goes_on(hush, tmp_path, key):
    """Kills at random moments; what the journal names is never encrypted again, and no plaintext and no seed is left behind."""
    rows, files = 400_000, 10
    schema_of(hush, tmp_path, rows)
    write_rows(tmp_path / "t.csv", rows)
    header, *lines = (tmp_path / "t.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "t").mkdir()
    for file in range(files):
        part = lines[rows * file // files : rows * (file + 1) // files]
        (tmp_path / "t" / f"{file}.csv").write_text(header + "".join(part), encoding="utf-8")
    place, seen, ends = tmp_path / "T", set(), 0
    command = ("encrypt", "t", "--schema", "t.schema.toml", "-o", place, "--memory-limit", "64MB", *key)
    draw = random.Random()
    while ends < 6:
        process = hush.start(*command)
        # After a few more parts than there were.
        until, before = time.monotonic() + 60, parts_of(place)
        more = draw.randrange(2, 6)
        while process.poll() is None and time.monotonic() < until and len(parts_of(place) - before) < more:
            time.sleep(0.002)
        process.send_signal(draw.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]))
        process.communicate()
        ends += 1
        if (place / "manifest.hush").exists():
            break
        if (place / "encryption.journal").exists():
            seen |= parts_of(place)
            assert b"n399999" not in (place / "encryption.journal").read_bytes()
    if not (place / "manifest.hush").exists():
        kept = parts_of(place)
        # A file changes: refused, and nothing is lost.
        path = tmp_path / "t" / "0.csv"
        times = path.stat()
        os.utime(path, ns=(0, 0))
        refused = hush(*command, status=3)
        assert "HUSH-C073" in refused.stderr and "0.csv" in refused.stderr and "encryption.journal" in refused.stderr
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        assert parts_of(place) == kept
        hush(*command)
        assert len(kept & parts_of(place)) > 2
    assert not (place / "encryption.journal").exists() and not list(place.rglob("*.partial"))
    hush("encrypt", "t.csv", "--schema", "t.schema.toml", "-o", "U", *key)
    assert sums(hush, key) == sums(hush, key, "U")
    seeds = [seed for path in (place / "parts").glob("*.enc.parquet") for seed in pyarrow.parquet.read_table(path, columns=["seed"])["seed"].to_pylist()]
    assert len(seeds) == len(set(seeds)) == -(-rows // 8192)


def test_python_takes_folders(tmp_path, monkeypatch):
    """`run` and `encrypt` with the folder's path."""
    ht = pytest.importorskip("hushtable")
    monkeypatch.setenv("HOME", str(tmp_path))
    for ward in "AB":
        place = tmp_path / "visits" / f"ward={ward}"
        place.mkdir(parents=True)
        pyarrow.parquet.write_table(pyarrow.table({"n": [1, 2, ord(ward)]}), place / "x.parquet")
    query = "SELECT ward, SUM(n) AS s FROM visits GROUP BY ward ORDER BY ward"
    expected = {"ward": ["A", "B"], "s": [68, 69]}
    found = ht.run(tmp_path / "visits", query, sensitive=["n"], clear=["ward"])
    assert {name: [int(value) if name == "s" else value for value in values] for name, values in found.to_pyarrow().to_pydict().items()} == expected
    table = ht.encrypt(tmp_path / "visits", sensitive=["n"], clear=["ward"])
    assert [int(value) for value in table.sql(query).to_pyarrow().to_pydict()["s"]] == expected["s"]
