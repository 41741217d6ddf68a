# SPDX-License-Identifier: Apache-2.0
"""Columns of other files that rows look up before they are encrypted: DuckDB joins the clear files."""

import csv
import datetime
import decimal
import io
import os
import random
import re

import duckdb
import pyarrow
import pyarrow.parquet
import pytest

import hushtable as ht
from conftest import approve

TYPES = ["BRASS", "COPPER", "NICKEL", "STEEL", "TIN"]
QUERIES = [
    "SELECT p_type, COUNT(*) AS n, SUM(quantity) AS q FROM lineitem WHERE p_size > 20 GROUP BY p_type ORDER BY p_type",
    "SELECT p_type, SUM(price) AS p FROM lineitem WHERE ship >= DATE '2024-03-01' GROUP BY p_type ORDER BY p_type",
    "SELECT COUNT(*) AS n, SUM(price) AS p FROM lineitem WHERE p_type IS NULL",
    "SELECT COUNT(*) AS n, MIN(p_size) AS low, MAX(p_size) AS high, SUM(p_size) AS s FROM lineitem WHERE p_type IN ('TIN', 'BRASS')",
    "SELECT id, p_type, p_size FROM lineitem WHERE quantity > 47 ORDER BY id",
]


def lines(draw, ids):
    """Rows of facts; some have no part, some one that there is not."""
    return [
        {
            "id": number,
            "partkey": draw.choice([None, draw.randrange(1, 60), draw.randrange(1, 60), draw.randrange(1, 60)]),
            "quantity": draw.randrange(1, 51),
            "price": decimal.Decimal(draw.randrange(100, 100_000)).scaleb(-2),
            "ship": datetime.date(2024, 1, 1) + datetime.timedelta(draw.randrange(180)),
        }
        for number in ids
    ]


def write_csv(path, rows):
    """Rows as CSV."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


@pytest.fixture
def data(tmp_path):
    """Facts in two CSV files, and parts in Parquet, fewer than the facts name."""
    seed = int(os.environ.get("HUSH_SEED", random.randrange(2**32)))
    print(f"HUSH_SEED={seed}")
    draw = random.Random(seed)
    write_csv(tmp_path / "lineitem.csv", lines(draw, range(9000)))
    write_csv(tmp_path / "more.csv", lines(draw, range(9000, 9500)))
    keys = draw.sample(range(1, 60), 50)
    part = {
        "p_size": pyarrow.array([draw.choice([None, *range(1, 51)]) for _ in keys], pyarrow.int32()),
        "p_partkey": pyarrow.array(keys, pyarrow.int64()),
        "p_type": [draw.choice(TYPES) for _ in keys],
    }
    pyarrow.parquet.write_table(pyarrow.table(part), tmp_path / "part.parquet")
    return tmp_path


LOOKUP = ("--lookup", "partkey=p_partkey:part.parquet")


def expected(data, query, *files):
    """What DuckDB says of a join of the clear files."""
    listed = ", ".join(f"'{data / file}'" for file in files)
    types = "{'partkey': 'BIGINT', 'price': 'DECIMAL(12,2)', 'ship': 'DATE'}"
    joined = (
        f"SELECT l.*, p.p_size, p.p_type FROM read_csv([{listed}], header = true, types = {types}) l "
        f"LEFT JOIN read_parquet('{data}/part.parquet') p ON l.partkey = p.p_partkey"
    )
    return texts(duckdb.sql(query.replace("FROM lineitem", f"FROM ({joined}) lineitem")).fetchall())


def texts(rows):
    """Cells as text, nothing where they are NULL."""
    return [tuple("" if value is None else str(value) for value in row) for row in rows]


def answer(text):
    """Rows of CSV without the header."""
    return [tuple(row) for row in csv.reader(io.StringIO(text))][1:]


def by_key(rows):
    """Rows whose order NULLs do not disturb."""
    return sorted(rows)


def schema_of(hush, data, *options):
    """An approved schema, in which the key is dropped."""
    hush("init", "lineitem.csv", *LOOKUP, "--sensitive", "quantity,price,p_size,p_type", "--clear", "id,ship,partkey", *options)
    schema = data / "lineitem.schema.toml"
    text, count = re.subn(r'(\[columns\.partkey\](?:\n.+)*?\nprotect = )"clear"', r'\1"drop"', schema.read_text(encoding="utf-8"))
    assert count == 1, text
    schema.write_text(text, encoding="utf-8")
    approve(schema)
    return schema


def test_a_table_answers_what_a_join_would(hush, data, key):
    """Encrypted, appended to, and rehearsed."""
    schema_of(hush, data)
    hush("encrypt", "lineitem.csv", *LOOKUP, "-o", "T", *key)
    columns = hush("decrypt", "T", *key).stdout.splitlines()[0].split(",")
    assert set(columns) == {"id", "quantity", "price", "ship", "p_size", "p_type"}
    ask = lambda query: by_key(answer(hush("query", "T", query, "--format", "csv", *key).stdout))
    for query in QUERIES:
        assert ask(query) == by_key(expected(data, query, "lineitem.csv")), query
    hush("append", "more.csv", *LOOKUP, "--batch", "more", "-o", "T", *key)
    assert "Nothing added" in hush("append", "more.csv", *LOOKUP, "--batch", "more", "-o", "T", *key).stderr
    for query in QUERIES:
        assert ask(query) == by_key(expected(data, query, "lineitem.csv", "more.csv")), query
    # Without the lookup the rows lack columns; with another part they are other rows.
    refused = hush("append", "more.csv", "-o", "T", *key, status=8).stderr
    assert "HUSH-S021" in refused and "p_type" in refused and "look them up" in refused, refused
    changed = pyarrow.parquet.read_table(data / "part.parquet").slice(1)
    pyarrow.parquet.write_table(changed, data / "other.parquet")
    other = ("--lookup", "partkey=p_partkey:other.parquet")
    assert "HUSH-C" in hush("append", "more.csv", *other, "--batch", "more", "-o", "T", *key, status=None).stderr


def test_a_rehearsal_looks_up(hush, data):
    """`run` with its check of every cell, and what it says to do next."""
    choice = ("--sensitive", "quantity,price,p_size", "--clear", "id,ship,partkey,p_type")
    for query in QUERIES[:3]:
        done = hush("run", "lineitem.csv", query, *LOOKUP, *choice, "--verify", "--format", "csv")
        assert by_key(answer(done.stdout)) == by_key(expected(data, query, "lineitem.csv")), query
        assert "hush init lineitem.csv --lookup partkey=p_partkey:part.parquet" in done.stderr


def test_layouts_hold_what_is_looked_up(hush, data, key):
    """A workload over columns of both files is answered by what is proposed for it."""
    query = QUERIES[0].replace("WHERE p_size > 20 ", "")
    (data / "queries.sql").write_text(query + ";", encoding="utf-8")
    schema_of(hush, data, "--for", "queries.sql")
    hush("encrypt", "lineitem.csv", *LOOKUP, "--for", "queries.sql", "-o", "T", *key)
    found = by_key(answer(hush("query", "T", query, "--format", "csv", *key).stdout))
    assert found == by_key(expected(data, query, "lineitem.csv"))


def test_an_update_looks_up(hush, data, key):
    """Rows with another key get what that finds, though the key itself is not kept."""
    schema_of(hush, data)
    hush("encrypt", "lineitem.csv", *LOOKUP, "-o", "T", *key)
    part = pyarrow.parquet.read_table(data / "part.parquet").to_pylist()
    write_csv(data / "moved.csv", [{"id": 10, "partkey": part[0]["p_partkey"]}, {"id": 11, "partkey": None}])
    hush("update", "T", "moved.csv", "--on", "id", *LOOKUP, *key)
    query = "SELECT id, p_type, p_size FROM lineitem WHERE id IN (10, 11) ORDER BY id"
    wanted = texts([(10, part[0]["p_type"], part[0]["p_size"]), (11, None, None)])
    assert answer(hush("query", "T", query, "--format", "csv", *key).stdout) == wanted


def test_what_is_no_lookup_is_refused(hush, data):
    """Each with its code, its file, and nothing of a value."""
    for name, text in [
        ("twice.csv", "p_partkey,p_type\n77123,a\n5,b\n77123,c\n"),
        ("clash.csv", "p_partkey,price\n5,1\n"),
        ("bad.csv", "p_partkey,p_type\n5,a\n6,b,77123\n"),
        ("empty.csv", "p_partkey,p_type\n"),
    ]:
        (data / name).write_text(text, encoding="utf-8")
    init = lambda lookup, status: hush("init", "lineitem.csv", "--lookup", lookup, "-o", "-", status=status).stderr
    for lookup, code, words in [
        ("partkey=p_partkey:twice.csv", "HUSH-D053", "twice.csv: rows 1 and 3 have one key"),
        ("partkey=p_partkey:clash.csv", "HUSH-D051", "clash.csv: column price"),
        ("partkey=p_partkey:bad.csv", "HUSH-D015", "bad.csv: line 3"),
        ("partkey=p_partkey:empty.csv", "HUSH-D011", "empty.csv"),
        ("partkey=p_key:part.parquet", "HUSH-D050", "no column p_key"),
        ("part=p_partkey:part.parquet", "HUSH-D050", "no column part,"),
        ("partkey:nowhere.csv", "HUSH-D001", "nowhere.csv"),
    ]:
        refused = init(lookup, 8 if code != "HUSH-D001" else None)
        assert code in refused and words in refused and "77123" not in refused, refused
    assert "KEY=THEIR_KEY:FILE" in init("part.parquet", 2)


def test_a_typed_pass_refuses_keys_of_two_kinds(hush, data, key):
    """The schema says what a key is; what must be there is asked of what is found."""
    schema = schema_of(hush, data)
    part = pyarrow.parquet.read_table(data / "part.parquet")
    at = part.schema.get_field_index("p_partkey")
    keys = part["p_partkey"].cast(pyarrow.string())
    pyarrow.parquet.write_table(part.set_column(at, "p_partkey", keys), data / "texts.parquet")
    encrypt = ("encrypt", "lineitem.csv", "-o", "T", *key)
    refused = hush(*encrypt, "--lookup", "partkey=p_partkey:texts.parquet", status=8).stderr
    assert "HUSH-D052" in refused and "p_partkey has texts, but partkey has numbers" in refused, refused
    text = schema.read_text(encoding="utf-8")
    found = re.subn(r"(\[columns\.p_type\](?:\n.+)*?)\nnullable = true", r"\1", text)
    assert found[1] == 1, text
    schema.write_text(found[0], encoding="utf-8")
    refused = hush(*encrypt, *LOOKUP, status=8).stderr
    assert "HUSH-D055" in refused and "column p_type" in refused, refused
    assert not (data / "T" / "manifest.hush").exists()


def test_python_looks_up(data):
    """In paths, tables and frames; two lookups, one behind the other."""
    facts = pyarrow.table({"k": pyarrow.array([1, 2, 3, None]), "x": [10, 20, 30, 40]})
    part = pyarrow.table({"k": [1, 2], "brand": ["a", "b"]})
    brands = pyarrow.table({"name": ["b", "a"], "size": [7, 5]})
    lookup = [ht.Lookup(part, on="k"), ht.Lookup(brands, on={"brand": "name"})]
    choice = {"clear": ["k", "brand"], "sensitive": ["x", "size"]}
    result = ht.run(facts, "SELECT brand, SUM(x) AS x, SUM(size) AS s FROM t GROUP BY brand", lookup=lookup, verify=True, **choice)
    found = {row["brand"]: (int(row["x"]), row["s"] and int(row["s"])) for row in result}
    assert found == {"a": (10, 5), "b": (20, 7), None: (70, None)}
    table = ht.encrypt(facts, lookup=lookup, name="t", **choice)
    table.append(facts, lookup=lookup)
    assert int(next(iter(table.sql("SELECT SUM(size) AS s FROM t WHERE x < 25")))["s"]) == 24
    assert "part" not in repr(lookup[0]) and "brand" not in repr(lookup[0])
    with pytest.raises(ht.UsageError):
        ht.run(facts, "SELECT COUNT(*) FROM t", lookup=[part])
    with pytest.raises(ht.DataError) as caught:
        ht.run(facts, "SELECT COUNT(*) FROM t", lookup=ht.Lookup(pyarrow.table({"k": [1, 1], "y": [2, 3]}), on="k"))
    assert caught.value.code == "HUSH-D053"
    path = ht.Lookup(data / "part.parquet", on={"k": "p_partkey"})
    assert ht.propose(facts, lookup=path).columns == ["k", "x", "p_size", "p_type"]
