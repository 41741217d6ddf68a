# SPDX-License-Identifier: Apache-2.0
"""Join keys: the questions about several tables with keys of which a server sees equality alone, and what it does see.

A failure shows its seed and query; `HUSH_SEED=S HUSH_DRAWS=1` repeats the tables of seed S.
"""

import collections
import datetime
import decimal
import os
import random
import re
import warnings

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_several_tables import DRAWS, FIXED, PASSPHRASE, QUERIES, TABLES, Case, random_condition, random_join

import hushtable as ht

#: Columns that are join keys here.
KEYED = {
    "patients": {"id", "ward", "born", "note"},
    "visits": {"patient", "day", "cost", "kind", "seen", "urgent"},
    "wards": {"ward", "head"},
}
KEYED_TABLES = {
    table: {
        name: (kind, "joinkey" if name in KEYED[table] else protect, is_nullable)
        for name, (kind, protect, is_nullable) in columns.items()
    }
    for table, columns in TABLES.items()
}


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """Versions are remembered below the test's directory."""
    monkeypatch.setenv("HUSH_STATE_DIR", str(tmp_path / "state"))
    warnings.simplefilter("ignore", ht.HushWarning)


@pytest.fixture(scope="module")
def owner(tmp_path_factory):
    """A key that is stored."""
    return ht.keygen(tmp_path_factory.mktemp("key") / "owner.hushkey", passphrase=PASSPHRASE, opens_in="16MiB")


@pytest.fixture(scope="module")
def case(owner, tmp_path_factory):
    """One set of tables for the fixed queries."""
    os.environ["HUSH_STATE_DIR"] = str(tmp_path_factory.mktemp("state"))
    return Case(7, owner, tmp_path_factory.mktemp("tables"), {"patients": 60, "visits": 150, "wards": 5}, KEYED_TABLES)


@pytest.mark.parametrize("query", FIXED)
def test_results_are_those_of_duckdb(case, query):
    case.check(query)


def test_random_joins_are_those_of_duckdb(owner, tmp_path):
    first = int(os.environ.get("HUSH_SEED", random.randrange(2**32)))
    print("seed", first)
    for seed in range(first, first + DRAWS):
        case, draw = Case(seed, owner, tmp_path / str(seed), tables=KEYED_TABLES), random.Random(seed + 1)
        for _ in range(QUERIES):
            query = random_join(draw)
            try:
                case.check(query)
            except (AssertionError, ht.HushError) as error:
                raise AssertionError(f"seed {seed}: {query}: {error}") from error


def test_one_table_answers_by_itself(case):
    """A question about one table needs no catalogue; and the same in Python's verbs."""
    draw = random.Random(3)
    for _ in range(30):
        condition = random_condition(draw, "v", "visits")
        query = f"SELECT v.patient, v.kind, v.units FROM visits v WHERE {condition} ORDER BY 1, 2, 3"
        found = [tuple(row.values()) for row in case.tables[1].sql(query)]
        assert found == case.duck.execute(query).fetchall(), query
    found = case.tables[0].filter("ward = 'a'").group_by("ward").agg(ht.count().alias("n")).collect()
    assert list(found) == [{"ward": "a", "n": case.data["patients"]["ward"].to_pylist().count("a")}]


def test_constants_go_as_tokens(case):
    """Equality goes with the table's question, without a value; nothing else does."""
    asked = lambda query: {plan.table: plan.sql for plan in case.catalogue.explain(query)}
    query = "SELECT p.age FROM patients p JOIN visits v ON p.id = v.patient WHERE p.ward = 'a' AND p.born > DATE '2020-02-01' AND v.kind IN ('it''s', '50%')"
    found = asked(query)
    assert found["patients"].startswith('SELECT "id", "ward", "age", "born" FROM "patients" WHERE ("ward" = ')
    assert "born\" >" not in found["patients"] and "'a'" not in found["patients"]
    assert found["visits"].count(", '") == 1 and "it''s" not in found["visits"]
    case.check(query)
    # 1.5 is no value of an integer: nothing is equal to it.
    case.check("SELECT id FROM patients WHERE id = 1.5")
    case.check("SELECT id FROM patients WHERE id = 2.0 OR id <> 1.5 AND ward IS NULL")


def tokens(table, column):
    """The tokens of a column in its clear files."""
    files = sorted((table / "parts").glob("*.parquet"))
    read = [pq.read_table(file) for file in files if not file.name.endswith(".zones.parquet")]
    return [cell for part in read if column in part.column_names for cell in part[column].to_pylist()]


def test_a_server_sees_equality_and_nothing_else(case):
    """Tokens are as many as values, and equal where these are: in other tables too, where names agree."""
    patients, visits, wards = (case.out / name for name in ("patients", "visits", "wards"))
    for place, name, column in [(patients, "patients", "ward"), (visits, "visits", "kind"), (visits, "visits", "cost")]:
        values, found = case.data[name][column].to_pylist(), tokens(place, column)
        pairs = set(zip(values, found, strict=True))
        assert len(pairs) == len(set(values)) == len(set(found)), column
        assert all((value is None) == (token is None) for value, token in pairs), column
        counts = lambda cells: sorted(collections.Counter(cells).values())
        assert counts(values) == counts(found)
    of = dict(zip(case.data["wards"]["ward"].to_pylist(), tokens(wards, "ward"), strict=True))
    for value, token in zip(case.data["patients"]["ward"].to_pylist(), tokens(patients, "ward"), strict=True):
        assert of.get(value, token) == token
    # Of another name: nothing in common, whatever the values.
    assert not set(tokens(patients, "note")) & set(tokens(visits, "kind")) - {None}
    for place in (patients, visits, wards):
        for file in place.rglob("*"):
            held = file.read_bytes() if file.is_file() else b""
            assert b"Z\xc3\xbcrich" not in held and b"it's" not in held, file


# --- The life of a table. ---


def people(first, rows):
    """Rows with a key."""
    return pa.table({
        "id": pa.array(range(first, first + rows), pa.int32()),
        "city": pa.array([["Bern", "Ulm", None][number % 3] for number in range(rows)]),
        "paid": pa.array([decimal.Decimal(number) for number in range(rows)], pa.decimal128(9, 2)),
        "day": pa.array([datetime.date(2020, 1, 1 + number % 28) for number in range(rows)]),
    })


def test_a_table_lives_with_join_keys(owner, tmp_path):
    """Rows are appended, updated by a join key, deleted by one, compacted, copied and decrypted; a column of tokens is renamed and another added."""
    data = people(0, 50)
    schema = ht.propose(data, sensitive=["id", "city", "paid"], clear=["day"], name="people")
    schema["id"].update(protect="joinkey", join="person", for_=None)
    schema["city"].update(protect="joinkey")
    schema["paid"].for_ = ["sum", "fetch"]
    table = ht.encrypt(data, schema=schema.approve("a person"), keys=owner, out=tmp_path / "t", name="people")
    rows = {row["id"]: row for row in data.to_pylist()}

    def check():
        found = {row["id"]: row for row in table.decrypt()}
        assert found == rows
        groups = collections.defaultdict(list)
        for row in rows.values():
            groups[row["city"]].append(row["paid"])
        expected = {city: (len(paid), sum(paid)) for city, paid in groups.items()}
        asked = table.sql("SELECT city, COUNT(*) AS n, SUM(paid) AS s FROM people GROUP BY city")
        assert {row["city"]: (row["n"], row["s"]) for row in asked} == expected
        ulm = table.sql("SELECT SUM(paid) AS s, MIN(id) AS least FROM people WHERE city = 'Ulm'")
        assert list(ulm) == [{"s": sum(groups["Ulm"]), "least": min(key for key, row in rows.items() if row["city"] == "Ulm")}]

    check()
    before = dict(zip(data["id"].to_pylist(), tokens(tmp_path / "t", "id"), strict=True))
    more = people(50, 20)
    table.append(more)
    rows |= {row["id"]: row for row in more.to_pylist()}
    check()
    changed = pa.table({"id": pa.array([3, 60], pa.int32()), "city": ["Ulm", "Genf"]})
    table.update(changed, key="id")
    rows[3]["city"], rows[60]["city"] = "Ulm", "Genf"
    check()
    table.delete("city = 'Bern' AND id > 10")
    rows = {key: row for key, row in rows.items() if not (row["city"] == "Bern" and key > 10)}
    check()
    table.compact(which="all")
    check()
    assert {before[key] for key in rows if key in before} <= set(tokens(tmp_path / "t", "id"))
    table.alter(rename={"city": "town"}, add={"nick": {"type": "text", "protect": "joinkey"}})
    found = table.sql("SELECT town, COUNT(*) AS n, COUNT(nick) AS k FROM people WHERE town <> 'Ulm' GROUP BY town ORDER BY town")
    counted = collections.Counter(row["city"] for row in rows.values() if row["city"] not in (None, "Ulm"))
    assert list(found) == [{"town": town, "n": n, "k": 0} for town, n in sorted(counted.items())]
    table.append(pa.table({"id": pa.array([99], pa.int32()), "town": ["Ulm"], "paid": pa.array([decimal.Decimal(1)], pa.decimal128(9, 2)),
                           "day": [datetime.date(2020, 1, 1)], "nick": ["Bo"]}))  # fmt: skip
    assert list(table.sql("SELECT id FROM people WHERE nick = 'Bo' AND town = 'Ulm'")) == [{"id": 99}]
    table.rotate()
    assert list(table.sql("SELECT id FROM people WHERE nick = 'Bo' AND town = 'Ulm'")) == [{"id": 99}]


def test_what_join_keys_cannot_be_is_refused(owner, tmp_path):
    """Floats, purposes, cubes by them, tables that are erased or for devices, another owner's key, release."""
    data = people(0, 9)
    schema = ht.propose(data, sensitive=["id", "city", "paid"], clear=["day"], name="people")
    schema["city"].protect = "joinkey"
    text = schema.approve("a person").text

    def refused(code, make):
        with pytest.raises(ht.HushError) as caught:
            make()
        assert caught.value.code == code, caught.value
        # Nothing of the command line.
        assert not re.search(r"(?<![\w-])--[a-z]|(?<![\w.])hush [a-z]", str(caught.value)), caught.value

    encrypt = lambda text: ht.encrypt(data, schema=ht.Schema.parse(text), keys=owner, out=tmp_path / "x", name="people")
    top, columns = text.split("[columns", 1)
    with_top = lambda line: lambda: encrypt(f"{top}{line}\n[columns{columns}")
    refused("HUSH-S008", lambda: schema["city"].update(for_=["fetch"]))
    refused("HUSH-S008", lambda: schema["city"].update(join=""))
    refused("HUSH-S008", lambda: schema["id"].update(join="x"))
    refused("HUSH-S008", lambda: schema["id"].update(type="float(2)", range=None, protect="joinkey", for_=None))
    refused("HUSH-S008", with_top("erasable = true"))
    refused("HUSH-S014", with_top('cubes = [{ by = ["city"] }]'))
    refused("HUSH-S015", with_top('order = [{ by = "city" }]'))
    refused("HUSH-S017", with_top('filter = [{ column = "city", values = ["Ulm"] }]'))
    refused("HUSH-S017", with_top("derive = [\"city = 'Ulm'\"]"))
    refused("HUSH-P027", with_top("edge = true"))
    table = encrypt(text)
    refused("HUSH-P010", lambda: table.sql("SELECT city FROM people", release=2))
    refused("HUSH-P010", lambda: table.explain("SELECT paid FROM people WHERE city = 'Ulm'"))
    refused("HUSH-P010", lambda: table.prepare("SELECT paid FROM people WHERE city = 'Ulm'"))
    assert len(ht.catalogue(table).explain("SELECT paid FROM people WHERE city = 'Ulm'")) == 1
    other = ht.keygen(tmp_path / "other.hushkey", passphrase=PASSPHRASE, opens_in="16MiB")
    refused("HUSH-C117", lambda: table.rotate(other))


def test_tokens_that_are_not_the_owners_are_noticed(owner, tmp_path):
    """Two tables of one owner do not take each other's tokens for values where their names differ: what is joined are values."""
    data = people(0, 6)
    made = {}
    for name, join in [("a", "x"), ("b", "y")]:
        schema = ht.propose(data, sensitive=["id", "city", "paid"], clear=["day"], name=name)
        schema["id"].update(protect="joinkey", join=join, for_=None)
        made[name] = ht.encrypt(data, schema=schema.approve("a person"), keys=owner, out=tmp_path / name, name=name)
    assert not set(tokens(tmp_path / "a", "id")) & set(tokens(tmp_path / "b", "id"))
    found = ht.catalogue(*made.values()).sql("SELECT COUNT(*) AS n, SUM(a.paid) AS s FROM a JOIN b ON a.id = b.id")
    assert list(found) == [{"n": 6, "s": decimal.Decimal(15)}]
