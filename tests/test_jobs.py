# SPDX-License-Identifier: Apache-2.0
"""Rows that many tasks encrypt with a device's key: each counted once, whatever tasks are repeated and whoever dies."""

import os
import random
import shutil
import subprocess
import sys

import duckdb
import hushtable_worker.spark
import pyarrow as pa
import pytest
from hushtable_worker import WorkerError, device

import hushtable as ht
from buckets import bucket, credentials, proxy, s3  # noqa: F401
from conftest import Hush, binary, make_key
from spark_cluster import Cluster, Rows
from test_buckets import assert_quiet

pytestmark = pytest.mark.filterwarnings("ignore:not kept")
SCHEMA = """format = 1
table = "readings"
status = "approved"
approved_by = "test"
max_rows = 10000000
edge = true

[columns.site]
type = "category"
protect = "clear"
[columns."day `of` year"]
type = "int(16)"
protect = "clear"
[columns.temp]
type = "decimal(8,1)"
range = [-100000, 100000]
nullable = true
protect = "encrypt"
for = ["sum", "avg"]
[columns.load]
type = "int(32)"
range = [0, 1000000000]
protect = "encrypt"
[columns.remark]
type = "text"
protect = "drop"
"""
SQL = "SELECT site, COUNT(*) AS n, SUM(load) AS load, SUM(temp) AS temp, COUNT(temp) AS temps FROM readings GROUP BY site ORDER BY site"
#: Found in an error, it would be a value of a protected column.
CANARY = 730191337


def made(draw, count, **more):
    """Random rows."""
    temps = [None if draw.random() < 0.1 else draw.randrange(-4000, 6000) for _ in range(count)]
    columns = {
        "load": pa.array([draw.randrange(10**6) for _ in range(count)], pa.int64()),
        "site": pa.array([draw.choice("abc") for _ in range(count)]),
        "day `of` year": pa.array([draw.randrange(365) for _ in range(count)], pa.int16()),
        "temp": pa.array(temps, pa.int64()).cast(pa.decimal128(20, 0)).cast(pa.decimal128(20, 1)),
    }
    return pa.table({**columns, **more})


class Lake:
    """A table for devices at a place, its owner's key, a device's key, and all rows that it should have."""

    def __init__(self, place, directory, owner):
        self.place, self.directory, self.key = place, directory, owner
        first = made(random.Random(1), 100)
        (directory / "t.schema.toml").write_text(SCHEMA, encoding="utf-8")
        ht.encrypt(first, name="readings", schema=ht.read_schema(directory / "t.schema.toml"), out=place, keys=self.key)
        self.device = ht.device_key(place, directory / "device.key", keys=self.key)
        self.file, self.bytes, self.rows = directory / "device.key", device.read_key(directory / "device.key"), [first]

    def accept(self):
        """Takes in what waits."""
        return ht.accept(self.place, keys=self.key)

    def check(self):
        """Sums, by the reference, and all rows."""
        readings = pa.concat_tables(self.rows)  # noqa: F841
        with duckdb.connect() as connection:
            expected = connection.sql(SQL).fetchall()
        found = ht.open(self.place, keys=self.key).sql(SQL).to_pyarrow().to_pylist()
        assert [(row["site"], row["n"], int(row["load"]), row["temp"], row["temps"]) for row in found] == expected
        decrypted = ht.open(self.place, keys=self.key).decrypt().to_pyarrow().select(readings.column_names)
        assert sorted(map(str, decrypted.to_pylist())) == sorted(map(str, readings.cast(decrypted.schema).to_pylist()))


@pytest.fixture(scope="module")
def arguments(tmp_path_factory):
    """Arguments that open a key of a small machine."""
    directory = tmp_path_factory.mktemp("owner")
    (directory / "home").mkdir()
    return make_key(Hush(directory), directory)


@pytest.fixture(scope="module")
def owner(arguments):
    """That key."""
    return ht.open_key(arguments[1], passphrase_file=arguments[3])


@pytest.fixture(params=["directory", "bucket"])
def lake(request, tmp_path, monkeypatch, owner):
    """A table in a directory, and one in a bucket."""
    monkeypatch.setenv("HUSH_STATE_DIR", str(tmp_path / "state"))
    place = str(tmp_path / "T")
    if request.param == "bucket":
        for name, value in credentials(request.getfixturevalue("s3").port).items():
            monkeypatch.setenv(name, value)
        place = f"s3://{request.getfixturevalue('bucket')}/lake/readings"
    return Lake(place, tmp_path, owner)


@pytest.fixture
def draw():
    """Random numbers; the seed is printed."""
    seed = int(os.environ.get("HUSH_SEED", random.randrange(2**32)))
    print(f"HUSH_SEED={seed}")
    return random.Random(seed)


@pytest.fixture
def cluster(draw):
    """A cluster that loses and repeats tasks."""
    running = Cluster(draw)
    yield running
    running.close()


def parts(lake):
    """The number of parts in the table, and of files in its place."""
    return ht.open(lake.place, keys=lake.key).info["parts"]


def test_tasks_that_are_lost_and_doubled_count_once(lake, draw, cluster):
    """A partition of several chunks, one without rows, attempts in any number."""
    rows = made(draw, 21_000, remark=pa.array(["not stored"] * 21_000))
    done = ht.spark.encrypt(Rows(cluster, rows, 4), lake.place, lake.file, job="monday")
    assert (done.rows, done.deliveries, done.announced_before, done.job) == (21_000, 4, False, "monday")
    lake.rows.append(rows.drop_columns(["remark"]))
    few = made(draw, 3)
    assert ht.spark.encrypt(Rows(cluster, few, 7), lake.place, lake.bytes).rows == 3
    lake.rows.append(few)
    assert cluster.modules and not [name for name in cluster.modules if name.split(".")[0] == "hushtable"]
    accepted = lake.accept()
    assert (accepted.rows, accepted.deliveries, accepted.waiting, accepted.rejected, accepted.version) == (21_003, 7, 0, [], 2)
    assert parts(lake) == 8
    lake.check()
    # The same job again, waiting or taken in, adds nothing; nothing is left to be taken in.
    again = ht.spark.encrypt(Rows(cluster, rows, 4), lake.place, lake.file, job="monday")
    assert again.announced_before and not again.rows
    assert lake.accept().deliveries == 0
    empty = made(draw, 0)
    assert ht.spark.encrypt(Rows(cluster, empty, 2), lake.place, lake.file, job="nothing").rows == 0
    lake.check()


def attempt(lake, run, number, rows):
    """A task, here."""
    return device.encrypt(lake.place, lake.bytes, run, number, rows.to_batches(max_chunksize=999))


def test_a_dead_driver_leaves_nothing_or_all(lake, draw):
    rows = made(draw, 300)
    # It dies before it announces: nothing is there, and the next run does all of it.
    for _ in range(2):
        run = device.begin(lake.place, lake.bytes, "monday")
        first, second = attempt(lake, run, 1, rows.slice(0, 100)), attempt(lake, run, 2, rows.slice(100))
        assert lake.accept().deliveries == 0
    # It dies afterwards: the next run finds that it is done, before and after the owner has taken it in.
    assert device.announce(lake.place, lake.bytes, [*second, *first]) == (300, True)
    assert device.announce(lake.place, lake.bytes, [*first, *second]) == (300, False)
    assert device.begin(lake.place, lake.bytes, "monday") is None
    lake.rows.append(rows)
    assert lake.accept().rows == 300
    assert device.begin(lake.place, lake.bytes, "monday") is None
    assert device.announce(lake.place, lake.bytes, [*first, *second]) == (300, False)
    assert device.begin(lake.place, lake.bytes, "tuesday") is not None
    assert lake.accept().deliveries == 0
    lake.check()


def test_of_two_drivers_of_a_job_one_counts(lake, draw):
    rows = made(draw, 50)
    runs = [device.begin(lake.place, lake.bytes, "monday") for _ in range(2)]
    one, other = (attempt(lake, run, 7, rows) for run in runs)
    assert device.announce(lake.place, lake.bytes, one) == (50, True)
    lake.rows.append(rows)
    for _ in range(2):
        with pytest.raises(WorkerError, match="HUSH-T060.*another run of its job"):
            device.announce(lake.place, lake.bytes, other)
        lake.accept()
    lake.check()
    with pytest.raises(WorkerError, match="HUSH-T060.*one run of a job"):
        device.announce(lake.place, lake.bytes, [*one, *other])
    with pytest.raises(WorkerError, match="HUSH-T060"):
        device.announce(lake.place, lake.bytes, [bytes(700)])


def test_an_announcement_that_comes_after_another_run_was_taken_stays_out(tmp_path, draw, monkeypatch, owner):
    """The driver looked before the other announced, and wrote after the owner had taken that in: as a copy of the table, made between,
    lets it."""
    monkeypatch.setenv("HUSH_STATE_DIR", str(tmp_path / "state"))
    lake = Lake(str(tmp_path / "T"), tmp_path, owner)
    shutil.copytree(tmp_path / "T", tmp_path / "before")
    rows = made(draw, 50)
    announced = []
    for place in (lake.place, str(tmp_path / "before")):
        run = device.begin(place, lake.bytes, "monday")
        announced.append(device.encrypt(place, lake.bytes, run, 1, rows.to_batches()))
        device.announce(place, lake.bytes, announced[-1])
    lake.rows.append(rows)
    assert lake.accept().rows == 50
    shutil.copytree(tmp_path / "before" / "deliveries", tmp_path / "T" / "deliveries", dirs_exist_ok=True)
    shutil.copytree(tmp_path / "before" / "parts", tmp_path / "T" / "parts", dirs_exist_ok=True)
    assert list((tmp_path / "T" / "deliveries").glob("*.job"))
    accepted = lake.accept()
    assert (accepted.rows, accepted.repeated, accepted.waiting, accepted.version) == (0, 1, 0, 2)
    assert not list((tmp_path / "T" / "deliveries").glob("*.job"))
    lake.check()


def test_what_waits_is_not_swept_and_what_was_not_announced_is(tmp_path, draw, monkeypatch, owner, arguments):
    monkeypatch.setenv("HUSH_STATE_DIR", str(tmp_path / "state"))
    lake = Lake(str(tmp_path / "T"), tmp_path, owner)
    rows, lost = made(draw, 40), made(draw, 40)
    run = device.begin(lake.place, lake.bytes, "monday")
    kept, given_up = attempt(lake, run, 1, rows), attempt(lake, run, 2, lost)
    device.announce(lake.place, lake.bytes, kept)
    before = len(list((tmp_path / "T" / "parts").iterdir()))
    assert given_up
    # A version without the rows of a device that has none sweeps.
    program = [binary("hush"), "edge", "revoke", lake.place, "0" * 32, "--remove-rows", *arguments]
    subprocess.run(program, check=True, capture_output=True)
    assert len(list((tmp_path / "T" / "parts").iterdir())) == before - 2
    lake.rows.append(rows)
    assert lake.accept().rows == 40
    lake.check()
    run = device.begin(lake.place, lake.bytes, "tuesday")
    swept = attempt(lake, run, 1, made(draw, 5))
    max((tmp_path / "T" / "parts").iterdir(), key=lambda path: path.stat().st_mtime_ns).unlink()
    with pytest.raises(WorkerError, match="HUSH-T030"):
        device.announce(lake.place, lake.bytes, swept)
    assert lake.accept().deliveries == 0


def test_what_does_not_fit_is_refused_by_name_and_adds_nothing(lake, draw, cluster):
    def refused(rows, **how):
        with pytest.raises(ht.HushError) as raised:
            ht.spark.encrypt(Rows(cluster, rows, 2), how.get("place", lake.place), how.get("key", lake.file), job="monday")
        assert str(CANARY) not in str(raised.value)
        return raised.value

    good = made(draw, 20)
    assert "day `of` year: missing" in refused(good.drop_columns(["day `of` year"])).message
    assert "age: not in the table" in refused(good.append_column("age", good["load"])).message
    high = good.set_column(0, "load", pa.array([*range(19), CANARY * 10], pa.int64()))
    error = refused(high)
    assert lake.place in error.message and "load" in error.message
    text = good.set_column(0, "load", pa.array([f"{CANARY}?"] * 20))
    assert "load" in refused(text).message
    assert refused(good, place=str(lake.directory / "absent")).code == "HUSH-T020"
    assert refused(good, place="https://host/tables/readings").code == "HUSH-T052"
    assert refused(good, key=lake.bytes[:-9]).code == "HUSH-G003"
    lake.file.chmod(0o644)
    assert refused(good).code == "HUSH-G003"
    lake.file.chmod(0o600)
    # Another table's key, then a revoked one.
    ht.encrypt(good, name="readings", schema=ht.read_schema(lake.directory / "t.schema.toml"), out=lake.directory / "other", keys=lake.key)
    assert refused(good, place=str(lake.directory / "other")).code == "HUSH-T060"
    assert lake.accept().deliveries == 0
    lake.check()


TASKS = """import sys, pyarrow as pa
from hushtable_worker import device
place, key, job, rows = sys.argv[1:]
key = device.read_key(key)
run = device.begin(place, key, job)
if run is not None:
    with pa.ipc.open_file(rows) as file:
        table = file.read_all()
    half = table.num_rows // 2
    pieces = [table.slice(0, half), table.slice(half)]
    device.announce(place, key, [delivery for number, piece in enumerate(pieces) for delivery in device.encrypt(place, key, run, number, piece.to_batches())])
"""


@pytest.mark.parametrize("lake", ["bucket"], indirect=True)
def test_a_job_may_end_at_any_call(lake, draw, proxy):  # noqa: F811
    """Driver and tasks in one process, which ends at its 1st, 2nd, ... call to the store, or does not hear the answer."""
    through = {**os.environ, **credentials(proxy.port)}

    def start(job):
        command = [sys.executable, "-c", TASKS, lake.place, str(lake.file), job, str(lake.directory / "rows.arrow")]
        return subprocess.Popen(command, env=through, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    for action in ("kill", "lost"):
        for number in range(1, 40):
            rows = made(draw, 10)
            with pa.ipc.new_file(lake.directory / "rows.arrow", rows.schema) as file:
                file.write_table(rows)
            proxy.reset(lambda call, number=number, action=action: action if call.number == number else None)
            process = start(f"{action} {number}")
            proxy.victim = process.kill
            _, errors = process.communicate()
            assert_quiet(errors)
            calls = len(proxy.calls)
            proxy.reset()
            again = start(f"{action} {number}")
            assert again.communicate() == ("", "") and again.returncode == 0
            lake.rows.append(rows)
            if process.returncode == 0 and calls < number:
                break
        assert number > 7
        lake.accept()
    lake.check()


@pytest.mark.slow
@pytest.mark.parametrize("lake", ["directory"], indirect=True)
def test_a_task_of_many_rows_has_several_parts(lake, draw):
    """More than the 64 chunks of a part."""
    rows = made(draw, 64 * 8192 + 9000)
    run = device.begin(lake.place, lake.bytes, "monday")
    deliveries = attempt(lake, run, 0, rows)
    assert len(deliveries) >= 2
    device.announce(lake.place, lake.bytes, deliveries)
    lake.rows.append(rows)
    assert lake.accept().rows == rows.num_rows
    lake.check()
