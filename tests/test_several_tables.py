# SPDX-License-Identifier: Apache-2.0
"""Questions about several encrypted tables, compared with DuckDB on the plain rows: fixed ones, and random joins.

A failure shows its seed and query; `HUSH_SEED=S HUSH_DRAWS=1` repeats the tables of seed S. `HUSH_DRAWS=N` draws N sets of tables (default 4)
with twelve queries each.
"""

import csv
import datetime
import decimal
import io
import json
import math
import os
import random
import re
import warnings

import duckdb
import pyarrow as pa
import pytest

import hushtable as ht
from conftest import approve

PASSPHRASE = "correct horse battery"
DRAWS = int(os.environ.get("HUSH_DRAWS", "4"))
QUERIES = 12


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """Versions are remembered below the test's directory."""
    monkeypatch.setenv("HUSH_STATE_DIR", str(tmp_path / "state"))
    warnings.simplefilter("ignore", ht.HushWarning)


@pytest.fixture(scope="module")
def owner(tmp_path_factory):
    """A key that is stored."""
    return ht.keygen(tmp_path_factory.mktemp("key") / "owner.hushkey", passphrase=PASSPHRASE, opens_in="16MiB")


# --- Tables. ---

#: For each table its columns: kind, protection, whether it has NULLs.
TABLES = {
    "patients": {
        "id": ("key", "clear", False),
        "ward": ("name", "clear", True),
        "age": ("small", "encrypt", True),
        "born": ("date", "encrypt", True),
        "balance": ("money", "encrypt", True),
        "note": ("text", "seal", True),
    },
    "visits": {
        "patient": ("key", "encrypt", True),
        "day": ("date", "clear", True),
        "cost": ("money", "encrypt", True),
        "kind": ("text", "seal", True),
        "seen": ("instant", "encrypt", True),
        "urgent": ("truth", "encrypt", True),
        "units": ("small", "clear", True),
    },
    "wards": {
        "ward": ("name", "clear", True),
        "beds": ("small", "encrypt", True),
        "budget": ("long", "encrypt", True),
        "head": ("text", "seal", True),
    },
}
ARROW = {
    "key": pa.int64(),
    "small": pa.int64(),
    "name": pa.string(),
    "text": pa.string(),
    "date": pa.date32(),
    "instant": pa.timestamp("us"),
    "money": pa.decimal128(12, 2),
    "long": pa.decimal128(30, 3),
    "truth": pa.bool_(),
}
TEXTS = ["it's", "50%", "a_b", "Zürich", "", "plain", "PLAIN"]


def value(draw, kind):
    """A random value of a kind."""
    if kind in ("key", "small"):
        return draw.randint(1, 25) if kind == "key" else draw.randint(-9, 60)
    if kind in ("name", "text"):
        return draw.choice("abcd") if kind == "name" else draw.choice(TEXTS)
    if kind == "date":
        return datetime.date(2020, 1, 1) + datetime.timedelta(days=draw.randint(0, 400))
    if kind == "instant":
        return datetime.datetime(2020, 1, 1) + datetime.timedelta(seconds=draw.randint(0, 10**7), microseconds=draw.randint(0, 999999))
    if kind == "money":
        return decimal.Decimal(draw.randint(-99999, 99999)).scaleb(-2)
    return draw.random() < 0.5 if kind == "truth" else decimal.Decimal(draw.randint(-(10**27), 10**27)).scaleb(-3)


def rows_of(draw, columns, rows):
    """Random rows as an Arrow table."""
    arrays = {}
    for name, (kind, _, is_nullable) in columns.items():
        # A column without any value would have no type.
        cells = [None if is_nullable and draw.random() < 0.15 else value(draw, kind) for _ in range(rows - 1)]
        cells.append("plain" if kind == "text" else value(draw, kind))
        arrays[name] = pa.array(cells, ARROW[kind])
    return pa.table(arrays)


def encrypted(data, columns, name, owner, out):
    """The table, encrypted."""
    kinds = ("clear", "encrypt", "joinkey", "seal")
    wanted = {how: [column for column, (_, protect, _) in columns.items() if protect == how] for how in kinds}
    schema = ht.propose(data, sensitive=wanted["encrypt"] + wanted["joinkey"] + wanted["seal"], clear=wanted["clear"], name=name)
    for column in wanted["seal"]:
        schema[column].protect = "seal"
    for column in wanted["joinkey"]:
        schema[column].update(protect="joinkey", for_=None)
    return ht.encrypt(data, schema=schema.approve("a person"), keys=owner, out=out / name, name=name)


class Case:
    """Tables as they are, and encrypted."""

    def __init__(self, seed, owner, out, sizes=None, tables=TABLES):
        draw = random.Random(seed)
        self.duck, self.tables, self.data, self.out = duckdb.connect(), [], {}, out
        for name, columns in tables.items():
            rows = (sizes or {}).get(name) or draw.choice([1, 7, 40, 90])
            data = rows_of(draw, columns, rows)
            self.data[name] = data
            self.duck.register(name, data)
            self.tables.append(encrypted(data, columns, name, owner, out))
        self.catalogue = ht.catalogue(*self.tables)

    def check(self, query, duck=None):
        """The result is DuckDB's: in its order where the query has one, else as a set of rows."""
        found = [tuple(row.values()) for row in self.catalogue.sql(query)]
        expected = self.duck.execute(duck or query).fetchall()
        assert len(found) == len(expected), (query, len(found), len(expected))
        if "ORDER BY" not in query.rsplit(")", 1)[-1]:
            found, expected = sorted(found, key=key_of), sorted(expected, key=key_of)
        for row, wanted in zip(found, expected):
            assert len(row) == len(wanted) and all(map(same, row, wanted)), (query, row, wanted)


def key_of(row):
    """An order of rows of any values."""
    return [(cell is not None, f"{float(cell):030.9f}" if isinstance(cell, (int, float, decimal.Decimal)) else str(cell)) for cell in row]


def same(found, want):
    """Whether two cells have one value; doubles to their last digits."""
    if found is None or want is None:
        return found is None and want is None
    if isinstance(want, float) or isinstance(found, float):
        return math.isclose(float(found), float(want), rel_tol=1e-9, abs_tol=1e-9)
    return found == want


FIXED = [
    "SELECT p.id, v.cost FROM patients p JOIN visits v ON p.id = v.patient",
    "SELECT p.id, p.note, v.kind, v.seen FROM patients p LEFT JOIN visits v ON p.id = v.patient AND v.cost > 10.5",
    "SELECT p.id, v.day, v.urgent FROM patients p RIGHT JOIN visits v ON p.id = v.patient WHERE v.units IS NOT NULL",
    "SELECT p.ward, w.ward, w.beds FROM patients p FULL JOIN wards w ON p.ward = w.ward AND p.age > w.beds",
    "SELECT COUNT(*) AS n FROM patients, visits, wards",
    "SELECT COUNT(*) AS n FROM patients CROSS JOIN wards WHERE age > 20",
    "SELECT p.ward, COUNT(*) AS n, SUM(v.cost) AS s, AVG(v.cost) AS a, MIN(v.day) AS d, MAX(v.kind) AS k, COUNT(DISTINCT v.kind) AS u "
    "FROM patients p JOIN visits v ON p.id = v.patient GROUP BY p.ward ORDER BY p.ward NULLS LAST",
    "SELECT w.ward, SUM(w.budget) AS b, AVG(w.budget) AS a, SUM(v.cost * 3) AS t, STDDEV(v.cost) AS d, VAR_POP(p.age) AS v FROM patients p "
    "JOIN visits v ON p.id = v.patient JOIN wards w ON w.ward = p.ward WHERE v.day < DATE '2020-11-01' AND p.age BETWEEN 0 AND 50 "
    "GROUP BY w.ward HAVING COUNT(*) > 2 ORDER BY SUM(v.cost) DESC NULLS LAST, w.ward LIMIT 3",
    "SELECT id, age FROM patients WHERE id IN (SELECT patient FROM visits WHERE cost > 0)",
    "SELECT id, note FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient = p.id AND v.urgent)",
    "SELECT id FROM patients p WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.patient = p.id)",
    "SELECT id FROM patients WHERE id NOT IN (SELECT patient FROM visits WHERE patient IS NOT NULL AND NOT urgent)",
    "SELECT id FROM patients WHERE id NOT IN (SELECT patient FROM visits)",
    "SELECT id FROM patients WHERE age < 20 OR id IN (SELECT patient FROM visits WHERE urgent)",
    "SELECT id FROM patients WHERE EXISTS (SELECT 1 FROM visits WHERE units > 59) OR NOT EXISTS (SELECT 1 FROM wards WHERE beds > 99)",
    "SELECT a.id, b.id AS other FROM patients a JOIN patients b ON a.ward = b.ward AND a.id < b.id AND a.age < b.age",
    "WITH costs AS (SELECT patient, SUM(cost) AS total FROM visits GROUP BY patient) "
    "SELECT p.ward, MAX(c.total) AS most FROM costs c JOIN patients p ON p.id = c.patient GROUP BY p.ward",
    "SELECT p.ward, MEDIAN(v.units) AS m, QUANTILE_DISC(v.cost, 0.25) AS q, MEDIAN(v.day) AS d, QUANTILE_DISC(v.seen, 0.1) AS s, "
    "QUANTILE_DISC(v.kind, 0.9) AS k FROM patients p JOIN visits v ON p.id = v.patient GROUP BY p.ward HAVING MEDIAN(v.units) > 5 ORDER BY p.ward",
    "SELECT COUNT(*) AS n, MEDIAN(p.age) AS m FROM patients p WHERE p.age < (SELECT MEDIAN(units) FROM visits)",
    "SELECT ward FROM patients UNION ALL SELECT ward FROM wards",
    "SELECT ward FROM patients UNION SELECT ward FROM wards WHERE head LIKE '%a%'",
    "SELECT ward, COUNT(*) AS n, AVG(age) AS a FROM (SELECT ward, age FROM patients UNION ALL SELECT ward, beds FROM wards) t GROUP BY ward",
    "SELECT ward FROM patients EXCEPT SELECT ward FROM wards",
    "SELECT ward FROM patients INTERSECT SELECT ward FROM wards",
    "SELECT t.ward, t.n FROM (SELECT ward, COUNT(*) AS n FROM patients GROUP BY ward) AS t JOIN wards w ON w.ward = t.ward ORDER BY t.n, t.ward",
    "SELECT id FROM patients WHERE balance > (SELECT AVG(cost) FROM visits) ORDER BY id",
    "SELECT p.id, (SELECT SUM(v.cost) FROM visits v WHERE v.patient = p.id) AS s FROM patients p",
    "SELECT p.id, CASE WHEN v.cost > 100 THEN 'dear' WHEN v.cost IS NULL THEN 'free' ELSE v.kind END AS c FROM patients p "
    "LEFT JOIN visits v ON v.patient = p.id",
    "SELECT v.patient, v.seen, p.born, v.day - p.born AS d FROM visits v JOIN patients p ON p.id = v.patient "
    "WHERE v.seen >= TIMESTAMP '2020-02-03 04:05:06.5' AND p.born <> DATE '2020-02-02'",
    "SELECT p.id, v.units, p.age / v.units AS q FROM patients p JOIN visits v ON p.id = v.patient WHERE v.units <> 0",
    "SELECT SUM(p.age) / COUNT(v.cost) AS q, 100.0 * SUM(v.cost) AS h FROM patients p LEFT JOIN visits v ON p.id = v.patient",
    "SELECT p.id, SUM(v.cost) OVER (PARTITION BY p.id ORDER BY v.seen, v.cost) AS s FROM patients p JOIN visits v ON p.id = v.patient "
    "WHERE v.seen IS NOT NULL",
    "SELECT t0.head, t0.beds AS b0, t1.beds AS b1, t1.ward FROM wards t0 RIGHT JOIN wards t1 ON t0.beds = t1.beds AND t1.head <> 'plain' "
    "WHERE t0.beds IS NULL AND t1.ward IS NOT NULL",
    "SELECT * FROM (SELECT id, ward FROM patients) a JOIN (SELECT ward, beds FROM wards) b USING (ward)",
    "SELECT * FROM (SELECT id, ward FROM patients) a FULL JOIN (SELECT ward, beds FROM wards) b USING (ward)",
    "SELECT ward, COUNT(*) AS n FROM (SELECT id, ward FROM patients) a FULL JOIN (SELECT ward, beds FROM wards) b USING (ward) GROUP BY ward",
    "SELECT * FROM (SELECT id, ward FROM patients) a NATURAL RIGHT JOIN (SELECT ward, beds FROM wards) b",
    "SELECT v.kind, p.note FROM visits v JOIN patients p ON v.kind = p.note WHERE v.kind IN ('it''s', '50%', 'Zürich') AND p.note NOT LIKE 'a%'",
    # A name alone in ORDER BY is an output's, one in an expression a column's.
    "SELECT -p.id AS id, v.cost FROM patients p JOIN visits v ON p.id = v.patient ORDER BY p.id, v.cost, v.seen NULLS FIRST, v.day NULLS FIRST, v.units LIMIT 5",
    "SELECT -id AS id, beds FROM patients, wards WHERE patients.ward = wards.ward ORDER BY id + 0, beds LIMIT 7",
    "SELECT -id AS id, beds FROM patients, wards WHERE patients.ward = wards.ward ORDER BY id, beds LIMIT 7",
    "SELECT p.ward, -SUM(p.id) AS id FROM patients p JOIN visits v ON p.id = v.patient WHERE p.ward IS NOT NULL GROUP BY p.ward ORDER BY SUM(p.id) DESC, p.ward LIMIT 2",
    "SELECT -v AS v, x.k FROM (SELECT id AS k, id * 3 AS v FROM patients) x JOIN wards w ON x.k > w.beds ORDER BY v % 7, x.k, v LIMIT 9",
    "SELECT p.ward, COUNT(*) AS n FROM patients p JOIN visits v ON p.id = v.patient GROUP BY p.ward ORDER BY n + 1, p.ward NULLS FIRST LIMIT 3",
    "SELECT DISTINCT p.id % 7 AS z FROM patients p JOIN visits v ON p.id = v.patient ORDER BY p.id % 7 LIMIT 3",
    # Sums of computed integers have more digits than what stands beside them.
    *(
        f"SELECT p.ward, {item} AS x FROM patients p {kind}JOIN visits v ON p.id = v.patient{where} GROUP BY p.ward"
        for item in [
            "SUM(p.id * 2) + 1",
            "SUM(v.units * p.id) - SUM(p.id)",
            "SUM(p.id * 2) % 5",
            "SUM(p.id * 2) > 0",
            "SUM(p.id * v.units) > COUNT(*)",
            "CASE SUM(p.id * 2) WHEN 2 THEN 'two' WHEN 24 THEN 'more' END",
            "CASE WHEN SUM(v.units * 2) IS NULL THEN 0 ELSE SUM(v.units * 2) END",
            "NULLIF(SUM(p.id * 2), 24)",
            "GREATEST(SUM(p.id * 2), 30)",
            "COALESCE(SUM(v.units + 1), 0)",
            "COALESCE(SUM(v.cost * 3), 0)",
            "SUM(p.id * 2) IN (2, 24, 30)",
            "SUM(v.units * 2) BETWEEN 10 AND 100",
            "SUM(SUM(p.id * 2)) OVER () > 3",
        ]
        # Of no row has the sum a value in the second, so that only its type stands beside the others.
        for kind, where in [("LEFT ", ""), ("LEFT ", " AND v.patient IS NULL")]
    ),
    # Windows over groups and in QUALIFY, windows with names, and several sets of keys: of one table too.
    "SELECT ward, SUM(balance) AS s, RANK() OVER (ORDER BY SUM(balance) DESC NULLS LAST) AS r FROM patients GROUP BY ward",
    "SELECT ward, SUM(age) / SUM(SUM(age)) OVER () AS q, AVG(SUM(age)) OVER () AS a FROM patients GROUP BY ward ORDER BY ward NULLS LAST",
    "SELECT id, ward, AVG(balance) OVER (PARTITION BY ward) AS a FROM patients QUALIFY COUNT(*) OVER (PARTITION BY ward) > 3",
    "SELECT id, age, RANK() OVER w AS r FROM patients WINDOW v AS (PARTITION BY ward), w AS (PARTITION BY ward ORDER BY age NULLS LAST) QUALIFY RANK() OVER W <= 2 AND COUNT(*) OVER v > 1",
    "SELECT p.ward, SUM(v.cost) AS s FROM patients p JOIN visits v ON p.id = v.patient GROUP BY p.ward QUALIFY SUM(v.cost) > AVG(SUM(v.cost)) OVER ()",
    "SELECT ward, COUNT(*) AS n, SUM(age) AS s, MEDIAN(age) AS m, AVG(balance) AS a FROM patients GROUP BY ROLLUP (ward)",
    "SELECT ward, id % 3 AS k, SUM(balance) AS s, COUNT(note) AS n FROM patients WHERE age > 5 GROUP BY CUBE (ward, id % 3)",
    "SELECT p.ward, v.urgent, SUM(v.cost) AS s, COUNT(DISTINCT v.kind) AS n FROM patients p JOIN visits v ON p.id = v.patient GROUP BY GROUPING SETS ((p.ward, v.urgent), (v.urgent), ())",
    "SELECT ward, age > 20 AS old, COUNT(*) AS n FROM patients GROUP BY ROLLUP (2, 1) HAVING COUNT(*) > 1",
    "SELECT ward, SUM(age) AS s FROM patients WHERE age < -100 GROUP BY ROLLUP (ward)",
    "SELECT ward, age, COUNT(*) AS n FROM patients GROUP BY ALL HAVING COUNT(*) > 1",
    "SELECT p.ward FROM patients p JOIN visits v ON p.id = v.patient GROUP BY p.ward HAVING SUM(p.id * v.units) > 100",
    "SELECT p.ward FROM patients p JOIN visits v ON p.id = v.patient GROUP BY p.ward HAVING COALESCE(SUM(p.id * 2), 0) >= 20",
    "SELECT * FROM (SELECT p.ward, SUM(v.units * p.id) AS s FROM patients p JOIN visits v ON p.id = v.patient GROUP BY p.ward) x WHERE s > 0",
    "SELECT id FROM patients WHERE id IN (SELECT SUM(units * 1) FROM visits GROUP BY patient)",
    "SELECT id FROM patients WHERE id < (SELECT SUM(units + 1) - 6 FROM visits)",
    "SELECT p.id, b.s FROM patients p JOIN (SELECT patient, SUM(units * 3) AS s FROM visits GROUP BY patient) b ON p.id * 3 = b.s OR p.id = b.s",
    "SELECT p.id, b.s FROM patients p JOIN (SELECT patient, SUM(units * 3) AS s FROM visits GROUP BY patient) b ON p.id = b.s",
]


@pytest.fixture(scope="module")
def case(owner, tmp_path_factory):
    """One set of tables for the fixed queries."""
    os.environ["HUSH_STATE_DIR"] = str(tmp_path_factory.mktemp("state"))
    return Case(7, owner, tmp_path_factory.mktemp("tables"), {"patients": 60, "visits": 150, "wards": 5})


@pytest.mark.parametrize("query", FIXED)
def test_results_are_those_of_duckdb(case, query):
    case.check(query)


def test_names_and_types_are_those_of_one_table(case):
    """Outputs are named as in a question about one table, and what is sealed comes back if it is named."""
    columns = lambda query: case.catalogue.sql(query).columns
    assert columns("SELECT p.ID, COUNT(*), AVG(V.Cost), MAX(cost) AS Most FROM Patients p JOIN visits v ON p.id = v.patient GROUP BY p.id") == [
        "id", "count", "avg_cost", "Most",
    ]  # fmt: skip
    assert columns("SELECT p.ward, w.ward, w.* FROM patients p, wards w LIMIT 1") == ["ward", "ward_2", "ward_3", "beds", "budget"]
    assert columns("SELECT p.age, p.age, age AS a, age AS a FROM patients p, wards w LIMIT 1") == ["age", "age_2", "a", "a_2"]
    with pytest.warns(ht.HushWarning, match="leaves out head"):
        assert columns("SELECT * FROM wards, (SELECT id FROM patients) p") == ["ward", "beds", "budget", "id"]
    one, several = case.tables[0], case.catalogue
    for query in ["SELECT id, ward, age, born, balance, note FROM patients ORDER BY id, age, born, balance, note", "SELECT id, age / 7 AS q FROM patients ORDER BY id, q"]:
        assert one.sql(query).to_pyarrow().combine_chunks() == several.sql(query).to_pyarrow().combine_chunks().cast(one.sql(query).to_pyarrow().schema)


def test_sums_neither_wrap_nor_round(owner, tmp_path):
    """Sums of integers beyond 64 bits and of decimals of 38 digits are as of one table."""
    big, wide = 2**63 - 1, decimal.Decimal(10**37)
    data = pa.table({
        "k": [1, 1, 2],
        "n": [big, big, -big],
        "m": pa.array([wide * 9, wide * 9, -wide * 9], pa.decimal128(38, 0)),
        "c": pa.array([decimal.Decimal("0.1")] * 3, pa.decimal128(4, 1)),
    })
    table = ht.encrypt(data, clear=["k", "n", "m", "c"], keys=owner, out=tmp_path / "t", name="t")
    both = ht.catalogue(table)
    query = "SELECT SUM({0}.n) AS n, SUM({0}.m) AS m, AVG({0}.n) AS a, AVG({0}.c) AS c FROM t {0}"
    joined = query.format("x") + " JOIN (SELECT DISTINCT k FROM t) y ON x.k = y.k"
    for condition in ("", " WHERE x.k = 1"):
        one = list(table.sql(query.format("x") + condition))
        assert list(both.sql(joined + condition)) == one
    assert list(both.sql(joined + " WHERE x.k = 1")) == [{"n": 2 * big, "m": 18 * wide, "a": float(big), "c": 0.1}]
    with pytest.raises(ht.HushError) as caught:
        both.sql("SELECT x.n + y.n AS s FROM t x JOIN t y ON x.k = y.k WHERE x.k = 1")
    assert caught.value.code == "HUSH-C030"
    assert list(both.sql("SELECT COUNT(*) AS c FROM t x JOIN t y ON x.k = y.k WHERE x.n + y.n > 9223372036854775807")) == [{"c": 4}]


# --- Random joins. ---


def random_condition(draw, alias, table):
    """A condition on one table, NULL for some rows."""
    name, (kind, _, _) = draw.choice(list(TABLES[table].items()))
    column, literal = f"{alias}.{name}", lambda: text_of(value(draw, kind))
    form = draw.randrange(5)
    if kind == "truth":
        return draw.choice([column, f"NOT {column}", f"{column} IS NULL"])
    if form == 0:
        return f"{column} IS {draw.choice(['', 'NOT '])}NULL"
    if form == 1:
        return f"{column} {draw.choice(['', 'NOT '])}IN ({literal()}, {literal()}, {literal()})"
    if form == 2:
        return f"{column} {draw.choice(['', 'NOT '])}BETWEEN {literal()} AND {literal()}"
    if form == 3:
        return f"({random_condition(draw, alias, table)} {draw.choice(['AND', 'OR'])} NOT ({random_condition(draw, alias, table)}))"
    return f"{column} {draw.choice(['=', '<>', '<', '<=', '>', '>='])} {literal()}"


def text_of(cell):
    """A literal."""
    if isinstance(cell, datetime.datetime):
        return f"TIMESTAMP '{cell.isoformat(' ', 'microseconds')}'"
    if isinstance(cell, datetime.date):
        return f"DATE '{cell.isoformat()}'"
    return "'" + cell.replace("'", "''") + "'" if isinstance(cell, str) else str(cell)


#: Pairs of columns that may be equal.
PAIRS = {
    ("patients", "visits"): [("id", "patient"), ("age", "units"), ("note", "kind"), ("born", "day"), ("balance", "cost")],
    ("patients", "wards"): [("ward", "ward"), ("age", "beds"), ("note", "head")],
    ("visits", "wards"): [("units", "beds"), ("kind", "head")],
    ("patients", "patients"): [("id", "id"), ("ward", "ward"), ("age", "age")],
    ("visits", "visits"): [("patient", "patient"), ("day", "day"), ("kind", "kind")],
    ("wards", "wards"): [("ward", "ward"), ("beds", "beds")],
}


def random_join(draw):
    """A random query over two or three tables, in SQL that both understand."""
    names = [draw.choice(list(TABLES)) for _ in range(draw.choice([2, 2, 3]))]
    text = f"{names[0]} t0"
    for place, name in enumerate(names[1:], 1):
        other = draw.randrange(place)
        first, second = sorted([(names[other], f"t{other}"), (name, f"t{place}")])
        left, right = draw.choice(PAIRS[first[0], second[0]])
        on = f"{first[1]}.{left} = {second[1]}.{right}"
        if draw.random() < 0.4:
            on += f" AND {random_condition(draw, f't{place}', name)}"
        text += f" {draw.choice(['JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'FULL JOIN'])} {name} t{place} ON {on}"
    conditions = [random_condition(draw, f"t{place}", name) for place, name in enumerate(names) if draw.random() < 0.5]
    if draw.random() < 0.3:
        inner = draw.choice(["patients", "visits"])
        column = "id" if inner == "patients" else "patient"
        outer = {"patients": "id", "visits": "patient", "wards": "beds"}[names[0]]
        test = draw.choice(["EXISTS", "NOT EXISTS"])
        conditions.append(f"{test} (SELECT 1 FROM {inner} s WHERE s.{column} = t0.{outer} AND {random_condition(draw, 's', inner)})")
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    columns = [(f"t{place}.{column}", kind) for place, name in enumerate(names) for column, (kind, _, _) in TABLES[name].items()]
    if draw.random() < 0.5:
        picked = draw.sample(columns, min(4, len(columns)))
        outputs = ", ".join(f"{column} AS c{number}" for number, (column, _) in enumerate(picked))
        return f"SELECT {outputs} FROM {text}{where}"
    keys = [column for column, _ in draw.sample(columns, draw.choice([0, 1, 2]))]
    outputs = [f"{column} AS k{number}" for number, column in enumerate(keys)] + ["COUNT(*) AS n"]
    for number, (column, kind) in enumerate(draw.sample(columns, 4)):
        functions = ["COUNT", "MIN", "MAX"] if kind not in ("key", "small", "money", "long") else ["SUM", "AVG", "COUNT", "MIN", "MAX"]
        function = draw.choice(functions if kind != "truth" else ["COUNT"])
        distinct = "DISTINCT " if function == "COUNT" and draw.random() < 0.5 else ""
        outputs.append(f"{function}({distinct}{column}) AS a{number}")
    group = f" GROUP BY {', '.join(keys)}" if keys else ""
    having = f" HAVING COUNT(*) > {draw.randrange(3)}" if keys and draw.random() < 0.3 else ""
    return f"SELECT {', '.join(outputs)} FROM {text}{where}{group}{having}"


def test_random_joins_are_those_of_duckdb(owner, tmp_path):
    first = int(os.environ.get("HUSH_SEED", random.randrange(2**32)))
    print("seed", first)
    for seed in range(first, first + DRAWS):
        case, draw = Case(seed, owner, tmp_path / str(seed)), random.Random(seed + 1)
        for _ in range(QUERIES):
            query = random_join(draw)
            try:
                case.check(query)
            except (AssertionError, ht.HushError) as error:
                raise AssertionError(f"seed {seed}: {query}: {error}") from error


# --- What each table is asked. ---


def test_each_table_is_asked_its_own_columns_under_its_own_conditions(case):
    """Conditions on one table go with its question, equal questions go once, and a count needs no column."""
    asked = lambda query: {plan.table: plan.sql for plan in case.catalogue.explain(query)}
    found = asked(
        "SELECT p.id, v.cost FROM patients p JOIN visits v ON p.id = v.patient "
        "WHERE p.age > 20 AND v.day >= DATE '2020-02-01' AND v.kind IN ('a', 'it''s') AND p.age > v.units AND abs(p.age) > 3"
    )
    assert found == {
        "patients": """SELECT "id", "age" FROM "patients" WHERE ("age" > 20)""",
        "visits": """SELECT "patient", "day", "cost", "kind", "units" FROM "visits" WHERE ("day" >= DATE '2020-02-01') AND ("kind" IN ('a', 'it''s'))""",
    }
    assert asked("SELECT COUNT(*) FROM patients, wards") == {"patients": 'SELECT COUNT(*) FROM "patients"', "wards": 'SELECT COUNT(*) FROM "wards"'}
    twice = case.catalogue.sql("SELECT a.id FROM patients a JOIN patients b ON a.id = b.id")
    questions = twice.account.details["questions"]
    assert [(question["table"], question["sql"]) for question in questions] == [("patients", 'SELECT "id" FROM "patients"')]
    assert questions[0]["rows"] == 60 and questions[0]["bytes_down"] == twice.account.bytes_down > 0
    assert all(fact.startswith("patients: ") for fact in twice.account.leakage.table)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT p.id FROM patients p JOIN visits v ON p.id = v.patient WHERE v.patient = 4",
        "SELECT p.id FROM patients p LEFT JOIN visits v ON p.id = v.patient WHERE v.patient IN (4, 5)",
        "SELECT p.id FROM patients p, visits v WHERE p.id = v.patient AND v.patient BETWEEN 3 AND 5",
        "SELECT id FROM patients WHERE id IN (SELECT patient FROM visits WHERE patient = 4)",
        "SELECT id FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient = p.id AND v.patient = 4)",
        "WITH few AS (SELECT patient FROM visits WHERE patient > 4) SELECT p.id FROM patients p JOIN few ON p.id = few.patient",
        "SELECT p.id FROM patients p JOIN (SELECT patient AS id FROM visits) d ON p.id = d.id WHERE d.id = 4",
        "SELECT visits.id FROM patients visits JOIN visits v ON visits.id = v.patient WHERE v.patient = 4",
    ],
)
def test_no_constant_goes_from_one_table_to_another(case, query):
    """What is said of an encrypted column is not concluded of the clear column that it is joined with, and the result is right all the same."""
    asked = {plan.table: plan.sql for plan in case.catalogue.explain(query)}
    assert asked["patients"] == 'SELECT "id" FROM "patients"', asked
    case.check(query)


def test_conditions_are_stated_in_many_ways(case):
    """Of an alias, in ON, and of several forms: the planner asks for them as they stand, or simplified."""
    for condition, stated in [
        ("p.id BETWEEN 3 AND 9", '("id" BETWEEN 3 AND 9)'),
        ("NOT p.id < 3", '(NOT ("id" < 3))'),
        ("(p.id = 3 OR p.id = 4)", '(("id" = 3) OR ("id" = 4))'),
        ("p.ward LIKE 'a%'", """("ward" LIKE 'a%')"""),
    ]:
        query = f"SELECT p.id FROM patients p JOIN visits v ON p.id = v.patient AND {condition}"
        asked = {plan.table: plan.sql for plan in case.catalogue.explain(query)}
        assert asked["patients"].endswith(f"WHERE {stated}"), asked
        case.check(query)


def test_a_server_sees_no_constant_of_a_protected_column(case):
    """The plan of each table's question is that of any question: a condition on encrypted or sealed columns stays here."""
    query = (
        "SELECT p.id FROM patients p JOIN visits v ON p.id = v.patient "
        "WHERE p.age > 4711 AND p.note <> 'secret4712' AND v.cost < 4713.5 AND v.units < 4714"
    )
    plans = {plan.table: plan.sql for plan in case.catalogue.explain(query)}
    assert "4711" in plans["patients"] and "4712" in plans["patients"] and "4713.5" in plans["visits"]
    # Digests may have any digits.
    sent = {table.name: re.sub("[0-9a-f]{32,}", "", table.prepare(plans[table.name]).plan.decode()) for table in case.tables if table.name in plans}
    assert set(sent) == {"patients", "visits"}
    assert "471" not in sent["patients"] and "patients" not in sent["visits"] and "visits" not in sent["patients"]
    assert "4713" not in sent["visits"] and "4714" in sent["visits"]


# --- Refusals. ---


def refused(call, *arguments):
    with pytest.raises(ht.HushError) as caught:
        call(*arguments)
    return caught.value.code, caught.value.message


def test_refusals_say_what_was_found_and_how_to_mend_it(case, owner, tmp_path):
    for query, code, words in [
        ("SELECT * FROM patients JOIN nobody USING (id)", "HUSH-P002", "patients, visits, wards"),
        ("SELECT p.nothing FROM patients p, wards", "HUSH-P003", "nothing"),
        ("SELECT ward FROM patients, wards", "HUSH-C032", "t.ward"),
        ("SELECT CORR(p.note, p.id) FROM patients p, wards", "HUSH-P011", "note"),
        ("SELECT id FROM patients WHERE age = 1 OR id NOT IN (SELECT patient FROM visits)", "HUSH-C032", "NOT EXISTS"),
        ("SELECT id FROM patients WHERE NOT (age = 1 AND id IN (SELECT patient FROM visits))", "HUSH-C032", "missing values"),
        ("SELECT MEDIAN(p.note) FROM patients p, wards", "HUSH-P011", "note"),
        ("SELECT random() FROM patients, wards", "HUSH-P006", "random"),
        ("SELECT id FROM patients, wards; SELECT 1", "HUSH-P004", "one SELECT"),
        ("DELETE FROM patients", "HUSH-P004", "DELETE"),
        ("SELECT p.id FROM patients p WHERE p.age > (SELECT w.beds FROM wards w WHERE w.beds > p.age ORDER BY w.beds LIMIT 1)", "HUSH-C032", ""),
        ("SELECT p.id FROM patients p JOIN wards w ON p.id = w.head + INTERVAL '1 day'", "HUSH-C032", ""),
    ]:
        found = refused(case.catalogue.sql, query)
        assert found[0] == code and words in found[1], (query, found)
    assert refused(ht.catalogue, case.tables[0], case.tables[0])[0] == "HUSH-U001"
    assert refused(ht.catalogue)[0] == "HUSH-U001"
    code, message = refused(case.tables[0].sql, "SELECT a.id FROM patients a JOIN wards b USING (ward)")
    assert code == "HUSH-P005" and "hushtable.catalogue(" in message
    data = pa.table({"k": [1, 2, 3], "level": [0.1, 0.25, 1 / 3]})
    schema = ht.propose(data, sensitive=["level"], clear="k", name="levels")
    schema["level"].for_ = ["sum"]
    table = ht.encrypt(data, schema=schema.approve("a person"), keys=owner, out=tmp_path / "levels")
    code, message = refused(ht.catalogue(table, case.tables[0]).sql, "SELECT level FROM levels JOIN patients ON k = id")
    assert code == "HUSH-P029" and "level" in message


# --- The command line. ---


@pytest.fixture
def pair(hush, key, tmp_path):
    """Two tables in directories."""
    places = []
    for name, text, choice in [
        ("people", "id,ward,age\n1,a,30\n2,b,41\n3,a,\n4,,77\n", ("--sensitive", "age", "--clear", "id,ward")),
        ("visits", "patient,cost,kind\n1,10.50,x\n1,2.25,y\n3,100.00,x\n9,1.00,z\n", ("--sensitive", "patient,cost,kind")),
    ]:
        path = tmp_path / f"{name}.csv"
        path.write_text(text, encoding="utf-8")
        hush("init", path, *choice, "-o", tmp_path / f"{name}.toml")
        approve(tmp_path / f"{name}.toml")
        hush("encrypt", path, "--schema", tmp_path / f"{name}.toml", "-o", tmp_path / name.upper(), *key)
        places.append(tmp_path / name.upper())
    return places


JOIN = "SELECT ward, COUNT(*) AS n, SUM(cost) AS total FROM people JOIN visits ON id = patient WHERE age IS NULL OR age < 40 GROUP BY ward"


def test_the_program_takes_several_tables(hush, key, pair):
    done = hush("query", *pair, JOIN, "--format", "csv", "--account", *key)
    assert done.stdout == "ward,n,total\na,3,112.75\n"
    assert "Asked     people" in done.stderr and 'FROM "visits"' in done.stderr and "Moved" in done.stderr
    # Options may stand between the words of the question.
    done = hush("query", pair[0], "--format", "json", pair[1], *key, JOIN)
    assert json.loads(done.stdout.splitlines()[0])["n"] == 3
    done = hush("query", *pair, JOIN, "--analyze", "--json", "--format", "csv", *key)
    analysed = json.loads(done.stderr[done.stderr.index("[") :])
    assert [part["table"] for part in analysed] == ["people", "visits"]
    assert all(part["analysis"]["measured"]["bytes_down"] > 0 for part in analysed)
    kept = [hush("query", *pair, JOIN, "--keep", "--format", "csv", *key).stdout for _ in range(2)]
    assert kept == [done.stdout] * 2


def test_the_program_explains_every_question(hush, key, pair):
    text = hush("explain", *pair, JOIN, *key).stdout
    assert text.startswith("Asks\n 1 people: ") and "you join what comes back" in text
    assert "Question 1, people\nRuns where" in text and text.count("The server learns") == 2
    told = json.loads(hush("explain", *pair, JOIN, "--json", *key).stdout)
    assert [question["table"] for question in told["questions"]] == ["people", "visits"]
    assert all(question["explanation"]["leakage"]["query"] for question in told["questions"])


def test_one_table_may_be_read_several_times(hush, key, pair):
    done = hush("query", pair[0], "SELECT a.id, b.id AS older FROM people a JOIN people b ON a.age < b.age ORDER BY 1, 2", "--format", "csv", *key)
    assert done.stdout == "id,older\n1,2\n1,4\n2,4\n"
    done = hush("query", pair[0], "SELECT id FROM people WHERE age = (SELECT MAX(age) FROM people)", "--format", "csv", *key)
    assert done.stdout == "id\n4\n"
    # Names in a sub-query are those of its own tables.
    for query, found in [
        ("SELECT a.id FROM people a WHERE EXISTS (SELECT 1 FROM people b WHERE b.age > a.age) ORDER BY 1", "id\n1\n2\n"),
        ("SELECT a.id, (SELECT MAX(b.age) FROM people b) AS m FROM people a WHERE a.id = 1", "id,m\n1,77\n"),
        ("SELECT people.id FROM people WHERE people.age > (SELECT AVG(p.age) FROM people p)", "id\n4\n"),
    ]:
        assert hush("query", pair[0], query, "--format", "csv", *key).stdout == found, query


def test_the_program_refuses_what_it_cannot_do(hush, key, pair):
    for arguments, code, words in [
        ((*pair, JOIN, "--release", "2"), "HUSH-U001", "one table"),
        ((pair[0], pair[0], JOIN), "HUSH-U001", "two tables are named"),
        ((pair[0], JOIN), "HUSH-P002", "visits"),
        ((pair[0],), "HUSH-U001", "needs a table and a query"),
    ]:
        done = hush("query", *arguments, *key, status=None)
        assert done.returncode != 0 and code in done.stderr and words in done.stderr, done.stderr
        assert done.stdout == ""
    done = hush("explain", *pair, JOIN, "--graph", "x.svg", *key, status=None)
    assert done.returncode != 0 and "HUSH-U001" in done.stderr


def test_tables_on_a_server(hush, key, pair, server):
    urls = []
    for place, name in zip(pair, ["people", "visits"]):
        hush("push", place, server.url, *server.token)
        urls.append(f"{server.url.rstrip('/')}/tables/{name}")
    done = hush("query", *urls, JOIN, "--format", "csv", *key, *server.token)
    assert list(csv.reader(io.StringIO(done.stdout))) == [["ward", "n", "total"], ["a", "3", "112.75"]]
