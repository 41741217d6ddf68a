# SPDX-License-Identifier: Apache-2.0
"""The Python package against DuckDB: every input kind, every verb, types that stay, errors, signals, stubs."""

import datetime
import decimal
import doctest
import math
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import duckdb
import pandas
import polars
import pyarrow as pa
import pyarrow.parquet
import pytest

import hushtable as ht
from conftest import PATIENTS, ROOT

PASSPHRASE = "correct horse"


def random_table(draw, rows):
    """g (text or NULL), d (date), k (small integer), x (integer or NULL), m (money or NULL), b (truth); the first row is whole."""
    maybe = lambda row, value: value if row == 0 or draw.random() < 0.85 else None
    cents = lambda: decimal.Decimal(draw.randint(-(10**8), 10**8)).scaleb(-2)
    columns = {
        "g": ([maybe(row, draw.choice(["north", "south", "é'\""])) for row in range(rows)], pa.string()),
        "d": ([datetime.date(2020, 1, 1) + datetime.timedelta(draw.randint(0, 900)) for _ in range(rows)], pa.date32()),
        "k": ([draw.randint(-3, 3) for _ in range(rows)], pa.int16()),
        "x": ([maybe(row, draw.randint(-(2**40), 2**40)) for row in range(rows)], pa.int64()),
        "m": ([maybe(row, cents()) for row in range(rows)], pa.decimal128(12, 2)),
        "b": ([draw.random() < 0.5 for _ in range(rows)], pa.bool_()),
    }
    return pa.table({name: pa.array(values, kind) for name, (values, kind) in columns.items()})


class Stream:
    """Nothing but the Arrow stream of a table, in batches."""

    def __init__(self, table):
        self._reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=1000))

    def __arrow_c_stream__(self, requested_schema=None):
        return self._reader.__arrow_c_stream__(requested_schema)


def as_csv(table, directory):
    """Its CSV file."""
    duckdb.from_arrow(table).write_csv(str(directory / "t.csv"))
    return directory / "t.csv"


def as_parquet(table, directory):
    """Its Parquet file, named by a text."""
    pyarrow.parquet.write_table(table, directory / "t.parquet")
    return str(directory / "t.parquet")


INPUTS = {
    "csv": as_csv,
    "parquet": as_parquet,
    "pyarrow": lambda table, _: table,
    "batch": lambda table, _: table.combine_chunks().to_batches()[0],
    "pandas": lambda table, _: table.to_pandas(types_mapper=pandas.ArrowDtype),
    "polars": lambda table, _: polars.from_arrow(table),
    "lazy": lambda table, _: polars.from_arrow(table).lazy(),
    "stream": lambda table, _: Stream(table),
    "duckdb": lambda table, _: duckdb.from_arrow(table),
}
POLICY = {"clear": ["g", "d", "k", "b"], "sensitive": ["x", "m"]}
EXACT = [
    "SELECT COUNT(*) AS n, COUNT(x) AS nx, SUM(x) AS sx, SUM(m) AS sm FROM t",
    "SELECT g, k, SUM(x * k) AS s, MIN(d) AS first FROM t WHERE d >= DATE '2021-02-03' GROUP BY g, k ORDER BY g, k",
    "SELECT b, SUM(m) AS s FROM t WHERE g = 'é''\"' GROUP BY b ORDER BY b",
    "SELECT d, x, m FROM t WHERE k = 2",
    "SELECT SUM(x) AS s FROM t WHERE k = 99",
]


def expected(query, table):
    """DuckDB's rows. The query knows `table` as t."""
    with duckdb.connect() as connection:
        return connection.register("t", table).execute(query).fetchall()


def rows(result):
    """Rows as tuples."""
    return [tuple(row.values()) for row in result]


@pytest.mark.parametrize("kind", INPUTS)
def test_every_input_gives_what_duckdb_gives(kind, tmp_path):
    """Integers, decimals, dates, NULLs and awkward text, from every kind of data, to the last digit."""
    seed = random.randrange(2**32)
    print("seed", seed)
    table = random_table(random.Random(seed), random.Random(seed).choice([1, 700, 8193]))
    for query in EXACT:
        # A stream can be read once only, hence a fresh one for each query.
        data = INPUTS[kind](table, tmp_path)
        found, want = rows(ht.run(data, query, **POLICY)), expected(query, table)
        if "ORDER BY" not in query:
            found, want = sorted(found, key=str), sorted(want, key=str)
        assert found == want, query


def test_types_survive_every_output():
    """Decimals stay decimals, dates dates, integers with NULLs integers, in every kind of result."""
    day, money = datetime.date(2024, 2, 29), decimal.Decimal("12.30")
    table = pa.table({"d": [day, None], "x": pa.array([2**53 + 1, None]), "m": pa.array([money, None], pa.decimal128(9, 2))})
    result = ht.run(table, "SELECT d, x, m FROM t ORDER BY d NULLS LAST", clear="d", sensitive=["x", "m"])
    want = [{"d": day, "x": 2**53 + 1, "m": money}, {"d": None, "x": None, "m": None}]
    assert list(result) == want and len(result) == 2 and result.columns == ["d", "x", "m"]
    assert result.to_pyarrow().to_pylist() == want
    assert result.to_polars().to_dicts() == want
    frame = result.to_pandas()
    assert [frame[name][0] for name in frame] == list(want[0].values()) and frame.isna().iloc[1].all()
    # A numpy double would compare equal to the integer that it is not.
    assert int(frame["x"][0]) == 2**53 + 1
    assert duckdb.sql("SELECT * FROM result").fetchall() == [tuple(row.values()) for row in want]
    assert repr(result).splitlines()[1].split() == ["2024-02-29", str(2**53 + 1), "12.30"]


def test_the_account_says_what_the_command_says():
    """The README's query: reasons, leakage, bytes, verification."""
    query = "SELECT ward, COUNT(*) AS n, AVG(age) AS a, STDDEV(charges) AS s FROM patients WHERE year = 2023 GROUP BY ward ORDER BY ward"
    result = ht.run(PATIENTS, query, clear=["ward", "year"], verify=True)
    want = duckdb.sql(query.replace("FROM patients", f"FROM '{PATIENTS}'")).fetchall()
    for found, row in zip(rows(result), want, strict=True):
        assert found[:2] == row[:2] and all(math.isclose(f, w, rel_tol=1e-9) for f, w in zip(found[2:], row[2:]))
    account = result.account
    assert account.details["verified_within"] == 0.0
    assert dict(account.details["encrypted"]).keys() == {"age", "charges"}
    assert any("which rows match" in sentence for sentence in account.leakage.query)
    assert any("age, charges" in sentence for sentence in account.leakage.hidden)
    assert account.bytes_up > 0 and account.bytes_down > 0
    assert math.isclose(account.seconds, sum(account.phases.values()), rel_tol=1e-9)


@pytest.fixture(scope="module")
def owner(tmp_path_factory):
    """A key file and its key."""
    path = tmp_path_factory.mktemp("key") / "owner.hushkey"
    return path, ht.keygen(path, passphrase=PASSPHRASE, opens_in="16MiB")


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """Versions are remembered below the test's directory."""
    monkeypatch.setenv("HUSH_STATE_DIR", str(tmp_path / "state"))


def test_a_table_on_disk_answers_explains_and_decrypts(owner, tmp_path):
    """Encrypt a frame, open it again from its files, ask, and get every value back."""
    path, key = owner
    table = random_table(random.Random(11), 9000)
    ht.encrypt(polars.from_arrow(table), keys=key, out=tmp_path / "T", name="t", **POLICY)
    opened = ht.open(tmp_path / "T", keys=ht.open_key(path, passphrase=lambda: PASSPHRASE))
    assert opened.name == "t" and opened.info["rows"] == 9000 and opened.info["key"] == key.id
    assert 'protect = "encrypt"' in opened.schema.text and opened.columns == table.column_names
    for query in EXACT[:3]:
        assert rows(opened.sql(query)) == expected(query, table)
    plan = opened.explain(EXACT[1])
    assert plan.security_bits >= 128 and ("server, encrypted" in [actor for actor, _ in plan.steps])
    assert "The server learns" in str(plan)
    assert rows(opened.decrypt()) == [tuple(row.values()) for row in table.to_pylist()]
    assert opened.decrypt("m").to_pyarrow().column("m").to_pylist() == table.column("m").to_pylist()


def test_a_table_on_a_server_answers(server, owner, hush, tmp_path):
    """The same over the network; the fetched copy is decrypted too."""
    table = random_table(random.Random(12), 500)
    ht.encrypt(table, keys=owner[1], out=tmp_path / "T", name="t", **POLICY)
    hush.with_environment(HUSH_STATE_DIR=str(tmp_path / "state"))("push", tmp_path / "T", server.url, *server.token)
    remote = ht.open(f"{server.url.rstrip('/')}/tables/t", keys=owner[1], token_file=server.data / "token")
    assert rows(remote.sql(EXACT[1])) == expected(EXACT[1], table)
    assert remote.decrypt(["x"]).to_pyarrow().column("x").to_pylist() == table.column("x").to_pylist()


def test_verbs_write_the_sql_that_duckdb_answers_alike():
    """Filters, groups, conditions on groups, order and limit; texts that try to be SQL stay values."""
    table = random_table(random.Random(13), 800)
    t = ht.encrypt(table, name="t", **POLICY)
    hostile = "x' OR 1=1 --"
    queries = [
        t.filter("k > 0", ht.col("d") >= datetime.date(2021, 1, 1)).group_by("g").agg(ht.count().alias("n"), ht.sum("m").alias("s")).sort("g"),
        t.group_by("k").agg(ht.count("x"), ht.sum(ht.col("x") * ht.col("k") - 1)).having(ht.count() > 100).sort("k", descending=True).limit(3),
        t.agg(ht.sum("m"), ht.min("d"), ht.max("k")),
        t.filter((ht.col("g") == hostile) | ht.col("g").is_in(["north", hostile])).agg(ht.count()),
        t.filter(~(ht.col("g") != None) & ht.col("k").is_between(-1, ht.lit(2))).select("d", "m").sort("d", "m"),  # noqa: E711
        t.agg(ht.median("k"), ht.quantile("k", 0.9), ht.quantile(ht.col("k") + 1, decimal.Decimal("0.25")), ht.mode("d")),
        t.filter(ht.col("b") == True).select((ht.col("k") + 1).alias('a"b')).sort('a"b'),  # noqa: E712
    ]
    for query in queries:
        assert rows(query.collect()) == expected(query.sql_text, table), query
    # DuckDB rounds on the way.
    shape = t.agg(ht.variance("k"), ht.skewness("k"), ht.kurtosis("k"))
    assert rows(shape.collect())[0] == pytest.approx(expected(shape.sql_text, table)[0], rel=1e-9)
    assert queries[3].sql_text.count("''") == 2
    assert queries[0].explain().steps == t.explain(queries[0].sql_text).steps


def test_ways_and_what_is_hidden(hush, tmp_path, key):
    """A way that is wanted is taken or refused, for all questions; what is hidden is in no plan; wrong names are told."""
    table = random_table(random.Random(17), 300)
    opened = ht.open_key(key[1], passphrase_file=key[3])
    ht.encrypt(table, keys=opened, out=tmp_path / "T", name="t", **POLICY)
    asked = "SELECT g, SUM(x) AS s FROM t WHERE k > 3 GROUP BY g ORDER BY g"
    expect = expected(asked, table)
    tables = {way: ht.open(tmp_path / "T", keys=opened, way=way) for way in (None, "sum", "gather", "fetch")}
    for way, t in tables.items():
        assert rows(t.sql(asked)) == expect, way
    plan = tables[None].explain(asked)
    assert {way.name for way in plan.ways} == {"sum", "gather", "fetch"} and sum(way.taken for way in plan.ways) == 1
    assert all(way.seconds > 0 and way.bytes_down > 0 and way.tells for way in plan.ways)
    with pytest.raises(ht.HushError, match="HUSH-P014"):
        tables["sum"].sql("SELECT COUNT(*) FROM t WHERE x > 0")
    with pytest.raises(ht.HushError, match="HUSH-P030"):
        tables["gather"].sql("SELECT SUM(x) FROM t")
    hidden = ht.open(tmp_path / "T", keys=opened, hide="constants")
    assert rows(hidden.sql(asked)) == expect
    assert b"predicate\":null" in hidden.prepare(asked).plan and b"predicate\":null" not in tables["sum"].prepare(asked).plan
    with pytest.raises(ht.HushError, match="HUSH-P030"):
        ht.open(tmp_path / "T", keys=opened, way="cube").sql("SELECT SUM(x) FROM t")
    for wrong in ({"way": "orders"}, {"hide": ["size"]}):
        with pytest.raises(ht.UsageError, match="Ways out: one of"):
            ht.open(tmp_path / "T", keys=opened, **wrong)


def test_hostile_values_are_quoted_and_orders_that_mean_nothing_are_refused():
    """Literals of every type, as DuckDB reads them; values without a literal; verbs in the wrong order."""
    values = ["it's", '"', "\\'", "a\nb", "--", 0, -5, 2**70, True, False, decimal.Decimal("-0.10"), 1.5, 1e-7]
    values += [datetime.date(1, 1, 1), datetime.datetime(2024, 2, 29, 1, 2, 3, 4)]
    for value in values:
        found = duckdb.sql(f"SELECT {ht.lit(value).sql}").fetchall()[0][0]
        assert found == (decimal.Decimal(repr(value)) if isinstance(value, float) else value)
    for bad in [math.nan, math.inf, "\0", object(), decimal.Decimal("NaN"), datetime.datetime.now(datetime.UTC)]:
        with pytest.raises(ht.UsageError):
            ht.lit(bad)
    t = ht.encrypt(pa.table({"a": [1, 2]}), clear=["a"])
    for wrong in [
        lambda: t.agg(ht.count()).filter("a = 1"),
        lambda: t.select("a").agg(ht.count()),
        lambda: t.filter("a = 1").sort("a").limit(1).sort("a"),
        lambda: t.select("a").sort("a").filter("a = 1"),
        lambda: t.select("a").limit(1).filter("a = 1"),
        lambda: t.select("a").group_by("a"),
        lambda: t.select("a").having("a = 1"),
        lambda: t.group_by("a").agg(),
        lambda: t.select("a").limit(-1),
        lambda: t.select(""),
    ]:
        with pytest.raises(ht.UsageError):
            wrong()
    with pytest.raises(TypeError):
        bool(ht.col("a") == 1)


def test_errors_are_classes_with_codes(owner, tmp_path):
    """One class for each kind, all below HushError; the code is the command's; no value and no passphrase in the text."""
    path, key = owner
    table = pa.table({"age": [71, 72], "ward": ["a", "b"]})
    broken = tmp_path / "broken.csv"
    broken.write_bytes(b"\x1f\x8b" + bytes(100))
    cases = [
        (ht.RefusedError, "HUSH-P003", lambda: ht.run(table, "SELECT COUNT(*) FROM t WHERE aged > 71", clear="ward")),
        (ht.DataError, "HUSH-D", lambda: ht.run(broken, "SELECT COUNT(*) FROM broken")),
        (ht.OwnerKeyError, "HUSH-K", lambda: ht.open_key(path, passphrase="wrong secret")),
        (ht.OwnerKeyError, "HUSH-K008", lambda: ht.open_key(path, passphrase="")),
        (ht.UsageError, "HUSH-U001", lambda: ht.run(object(), "SELECT 1 FROM t")),
        (ht.UsageError, "HUSH-U001", lambda: ht.encrypt(table)),
        (ht.UsageError, "HUSH-U001", lambda: ht.encrypt(table, clear="ward", out=tmp_path / "T")),
        (ht.HushError, "HUSH-S00", lambda: ht.encrypt(table, schema=ht.propose(table), keys=key, out=tmp_path / "T")),
        (ht.HushError, "HUSH-", lambda: ht.open(tmp_path / "nothing", keys=key)),
        (ht.RemoteError, "HUSH-R", lambda: ht.open("http://127.0.0.1:9/tables/t", keys=key)),
        (ht.DataError, "HUSH-D012", lambda: ht.run(pa.Table.from_arrays([pa.array([1])] * 2, ["a", "a"]), "SELECT 1 FROM t")),
        (ht.DataError, "HUSH-D011", lambda: ht.run(table.slice(0, 0), "SELECT COUNT(*) FROM t")),
    ]
    for kind, code, call in cases:
        with pytest.raises(kind) as caught:
            call()
        error = caught.value
        assert isinstance(error, ht.HushError) and error.code.startswith(code), error
        assert str(error) == f"{error.code} {error.message}" and "71" not in error.message.replace("age > 71", "")
        assert "wrong secret" not in repr(error)
    assert not (tmp_path / "T" / "manifest.hush").exists()


def test_a_workload_proposes_layouts(tmp_path):
    """What is proposed, and what it does for each query, stands in the warnings; a wrong query is named by its number."""
    draw = random.Random(3)
    count = 20_000
    frame = pa.table({
        "kind": [draw.choice(["a", "b"]) for _ in range(count)],
        "age": [draw.randint(0, 99) for _ in range(count)],
        "pay": [draw.randint(0, 10**6) for _ in range(count)],
    })
    queries = tmp_path / "q.sql"
    queries.write_text("SELECT kind, SUM(pay) AS s FROM t WHERE age > 65 GROUP BY kind", encoding="utf-8")
    protected = ["kind", "age", "pay"]
    schema = ht.propose(frame, sensitive=protected, name="t", workload=queries)
    assert 'values = ["a", "b"]' in schema.text and "bins = [66]" in schema.text, schema.text
    assert any(line.startswith("a cube by age in 2 bins, kind; sums of pay: ") for line in schema.warnings), schema.warnings
    assert any(line.startswith("query 1: ") and "-> cube " in line for line in schema.warnings), schema.warnings
    assert "kind: the schema file lists its 2 texts now" in schema.warnings
    assert "cubes" not in ht.propose(frame, sensitive=protected, name="t").text
    queries.write_text("SELECT kind FROM t; SELECT nobody FROM t", encoding="utf-8")
    with pytest.raises(ht.RefusedError, match="query 2 of the workload"):
        ht.propose(frame, sensitive=protected, name="t", workload=queries)


def test_a_schema_is_approved_by_a_person(owner, tmp_path):
    """Propose, save, read, approve, encrypt; text that is not queried is sealed and comes back."""
    table = pa.table({"email": ["a@example.org", None], "charges": pa.array([decimal.Decimal("1.50")] * 2)})
    schema = ht.propose(table, sensitive=["email", "charges"], name="bills")
    assert (schema.table, schema.columns, schema.is_approved) == ("bills", ["email", "charges"], False)
    schema.save(tmp_path / "s.toml", False)
    with pytest.raises(ht.UsageError):
        schema.save(tmp_path / "s.toml", False)
    approved = ht.read_schema(tmp_path / "s.toml").approve("the test")
    assert 'approved_by = "the test"' in approved.text
    t = ht.encrypt(table, schema=approved, keys=owner[1], out=tmp_path / "T")
    assert rows(t.sql("SELECT SUM(charges) AS s FROM bills")) == [(decimal.Decimal("3.00"),)]
    assert t.decrypt().to_pyarrow().to_pylist() == table.to_pylist()


def test_a_temporary_table_holds_no_plaintext_and_goes():
    """The directory of a table without a place has no protected value in any file, and is gone afterwards."""
    secret = 0x5EC0DE0000000000 + random.randrange(2**32)
    t = ht.encrypt(pa.table({"x": [secret, 1], "g": ["clear-text", "b"]}), sensitive=["x"], clear=["g"], name="t")
    directory = pathlib.Path(t._place)
    stored = b"".join(path.read_bytes() for path in directory.rglob("*") if path.is_file())
    assert b"clear-text" in stored
    assert secret.to_bytes(8, "little") not in stored and str(secret).encode() not in stored
    assert rows(t.sql("SELECT SUM(x) AS s FROM t")) == [(secret + 1,)]
    del t
    assert not directory.exists()


def test_other_threads_run_during_long_work():
    """The interpreter's lock is released: a counting thread goes on."""
    table = pa.table({"x": list(range(200_000))})
    ticks, over = [], threading.Event()

    def tick():
        while not over.wait(0.001):
            ticks.append(time.perf_counter())

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    start = time.perf_counter()
    source = ht._data.source(table, "t")
    begun = time.perf_counter()
    ht._hushtable.rehearse(source, "SELECT SUM(x * x) AS s FROM t", sensitive=["x"], clear=[], schema=None, verify=True, dry_run=False, release=None, threads=1)
    ended = time.perf_counter()
    over.set()
    thread.join()
    inside = [tick for tick in ticks if begun < tick < ended]
    assert len(inside) > 20 * (ended - begun), (len(inside), ended - begun, begun - start)


def test_ctrl_c_ends_long_work():
    """SIGINT while encrypting ends with KeyboardInterrupt, sooner than the work would."""
    program = (
        "import pyarrow as pa, hushtable as ht, sys\n"
        "table = pa.table({f'x{i}': list(range(1_000_000)) for i in range(6)})\n"
        "print('begun', flush=True)\n"
        "ht.encrypt(table, sensitive=[f'x{i}' for i in range(6)], threads=1)\n"
        "print('ended', flush=True)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begun\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert out == "" and "KeyboardInterrupt" in err and process.returncode != 0, (out, err)


def test_doctor_knows_this_machine():
    """The facts of `hush doctor`."""
    facts = ht.doctor()
    assert facts["version"] == ht.__version__ and facts["kernels"] in facts["available"] and facts["params"]


def test_the_guide_runs(tmp_path, monkeypatch):
    """Every example of the guide prints the guide's output."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(PATIENTS, "patients.csv")
    pathlib.Path("passphrase").write_text(PASSPHRASE, encoding="utf-8")
    pathlib.Path("passphrase").chmod(0o600)
    text = (ROOT / "docs" / "guides" / "python.md").read_text(encoding="utf-8")
    examples = "\n".join(re.findall(r"```pycon\n(.*?)```", text, re.DOTALL))
    parsed = doctest.DocTestParser().get_doctest(examples, {}, "python.md", None, 0)
    assert len(parsed.examples) > 10
    failed, _ = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(parsed)
    assert failed == 0


def test_types_are_strict_and_stubs_are_true():
    """mypy --strict on both packages, and stubtest: the native modules' stubs have the names of the modules."""
    checks = [["mypy", "--config-file", "pyproject.toml", "python/hushtable", "python/hushtable_worker"]]
    modules = ["hushtable._hushtable", "hushtable_worker._hushtable_worker"]
    checks.append(["mypy.stubtest", "--mypy-config-file", "pyproject.toml", *modules])
    for check in checks:
        environment = {**os.environ, "MYPYPATH": str(ROOT / "python")}
        done = subprocess.run([sys.executable, "-m", *check], cwd=ROOT, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stdout + done.stderr
