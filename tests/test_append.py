# SPDX-License-Identifier: Apache-2.0
"""Rows that are added to tables: in every place, once, whole or not at all, by many at the same time."""

import concurrent.futures
import csv
import io
import random
import re
import runpy
import shutil
import sys
import types

import duckdb
import pyarrow.csv
import pytest

import hushtable as ht
from buckets import Proxy, bucket, proxy, s3  # noqa: F401
from conftest import PATIENTS
from test_buckets import kill_at_every_call, schema, there, through  # noqa: F401

SQL = "SELECT ward, COUNT(*) AS n, SUM(charges) AS c, AVG(age) AS a FROM patients GROUP BY ward ORDER BY ward"


@pytest.fixture
def days(tmp_path):
    """The example's rows by day: 60 files of 100 rows with its header; the first is where a table begins."""
    header, *lines = PATIENTS.read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "days").mkdir()
    found = []
    for day in range(60):
        path = tmp_path / "days" / f"day{day:02}.csv"
        path.write_text(header + "".join(lines[100 * day : 100 * day + 100]), encoding="utf-8")
        found.append(path)
    return found


def begin(hush, schema, days, place, key):
    """A table of the first day."""
    hush("encrypt", days[0], "--schema", schema, "-o", place, *key)


def expected(files):
    """What DuckDB says of the rows of some files."""
    listed = ", ".join(f"'{path}'" for path in files)
    found = duckdb.sql(
        f"SELECT ward, COUNT(*) AS n, SUM(charges)::DECIMAL(38, 2) AS c, AVG(age) AS a "
        f"FROM read_csv([{listed}], types={{'charges': 'DECIMAL(18, 2)'}}) GROUP BY ward ORDER BY ward"
    )
    return [(ward, n, float(c), round(float(a), 6)) for ward, n, c, a in found.fetchall()]


def answer(hush, place, key, *more):
    """What the table says, as `expected`."""
    text = hush("query", place, SQL, "--format", "csv", *key, *more).stdout
    return [(r["ward"], int(r["n"]), float(r["c"]), round(float(r["a"]), 6)) for r in csv.DictReader(io.StringIO(text))]


def test_rows_of_every_day(there, schema, days, key, bucket, server):
    """Directory, bucket and server: each append is a version that has the rows of all days so far."""
    # Tables of their own: copies of one that grow apart are forks, which are refused.
    for place in ("T", f"s3://{bucket}/t", "S"):
        begin(there, schema, days, place, key)
    there("push", "S", server.url, *server.token)
    places = [("T", "T", ()), (f"s3://{bucket}/t", f"s3://{bucket}/t", ())]
    places.append((f"{server.url}/tables/patients", server.url, server.token))
    for table, asked, token in places:
        for day in (1, 2, 3):
            said = there("append", days[day], "-o", table, "--batch", f"day {day}", *key, *token).stderr
            assert "Added 100 rows, " in said and f"is version {day + 1} with {100 * day + 100:,} rows" in said, said
        assert answer(there, asked, key, *token) == expected(days[:4])
        again = there("append", days[2], "-o", table, "--batch", "day 2", *key, *token).stderr
        assert again.startswith("Nothing added: batch day 2 has been in the table since version 3."), again
        refused = there("append", days[5], "-o", table, "--batch", "day 2", *key, *token, status=8).stderr
        assert refused.startswith("HUSH-C075") and "another name for other rows" in refused
        # On standard input, and without a name.
        with days[4].open() as rows:
            said = there("append", "-", "-o", table, *key, *token, stdin=rows).stderr
        assert "is version 5 with 500 rows" in said, said
        assert answer(there, asked, key, *token) == expected(days[:5])
    # What they hold is the same but for its encryption: sealed columns open, in the order of the rows.
    texts = [there("decrypt", table, *key, *token).stdout for table, _, token in places]
    assert texts[0] == texts[1] == texts[2] and texts[0].count("\n") == 501
    # A bucket's version goes on in a directory, and the other way round: what only adds rows needs no leave to replace.
    there("append", days[6], "-o", "T", *key)
    there("pull", f"s3://{bucket}/t", "-o", "P", *key)
    assert answer(there, "P", key) == expected(days[:5])


def test_rows_that_do_not_fit_change_nothing(hush, schema, days, key, tmp_path):
    begin(hush, schema, days, "T", key)
    before = sorted(path.name for path in (tmp_path / "T" / "parts").iterdir())
    text = days[1].read_text(encoding="utf-8")
    for name, change in {
        "renamed": text.replace("charges", "cost", 1),
        "missing": "\n".join(line.rpartition(",")[0] for line in text.splitlines()) + "\n",
        "text": f"{text}P1,x@example.org,surgery,2023,old,120,36.6,1.00\n",
        "beyond": f"{text}P1,x@example.org,surgery,2023,30,120,36.6,999999999999.00\n",
    }.items():
        bad = tmp_path / f"{name}.csv"
        bad.write_text(change, encoding="utf-8")
        error = hush("append", bad, "-o", "T", *key, status=8).stderr
        assert error.startswith(("HUSH-D", "HUSH-S")), error
    assert hush("append", days[1], "-o", "nowhere", *key, status=2).stderr.startswith("HUSH-T020")
    assert sorted(path.name for path in (tmp_path / "T" / "parts").iterdir()) == before
    assert answer(hush, "T", key) == expected(days[:1])


def test_rows_beyond_those_that_sums_are_sized_for_are_told(hush, schema, days, key):
    """Taken, said, and never answered wrongly: a sum that may not fit is refused."""
    text = schema.read_text(encoding="utf-8")
    found = re.search(r"^max_rows = .*$", text, re.MULTILINE)
    schema.write_text(text.replace(found[0], "max_rows = 130"), encoding="utf-8")
    begin(hush, schema, days, "T", key)
    hush("append", days[1], "-o", "T", *key)
    said = hush("append", days[2], "-o", "T", *key).stderr
    assert "! The table has 170 rows more than max_rows in its schema" in said, said
    asked = hush("query", "T", SQL, "--format", "csv", *key, status=None)
    if asked.returncode == 0:
        assert answer(hush, "T", key) == expected(days[:3])
    else:
        assert asked.returncode in (3, 5) and asked.stderr.startswith("HUSH-P"), asked.stderr
    counted = hush("query", "T", "SELECT COUNT(*) AS n FROM patients", "--format", "csv", *key).stdout
    assert counted == "n\n300\n"


def test_an_append_may_be_killed_at_any_call(through, there, schema, days, key, bucket, proxy, s3):
    """Before its commit it has added nothing, after it all; and the same batch again ends well."""
    place = f"s3://{bucket}/t"
    begin(there, schema, days, place, key)
    seen = []

    def none_or_all(number):
        had = there("info", place, "--json").stdout
        seen.append('"version":2' in had.replace(" ", ""))
        assert answer(there, place, key) == expected(days[: 2 if seen[-1] else 1]), number

    kill_at_every_call(through, proxy, ("append", days[1], "-o", place, "--batch", "1", *key), none_or_all, 60)
    assert seen == sorted(seen) and not seen[0] and len(seen) >= 4
    assert answer(there, place, key) == expected(days[:2])
    assert "has been in the table" in there("append", days[1], "-o", place, "--batch", "1", *key).stderr


def test_a_lost_answer_to_a_commit_adds_once(through, there, schema, days, key, bucket, proxy):
    place, lost = f"s3://{bucket}/t", []
    begin(there, schema, days, place, key)

    def lose(call):
        if call.method == "PUT" and call.path.endswith("manifest.hush") and len(lost) < 8:
            lost.append(call)
            return "lost"
        return None

    proxy.reset(lose)
    # Without a name, so that nothing but the manifest itself tells that it is there.
    through("append", days[1], "-o", place, *key)
    assert lost
    assert answer(there, place, key) == expected(days[:2])


def test_a_server_that_loses_its_answer_adds_once(hush, schema, days, key, server):
    """The manifest is committed, and the connection breaks before the answer comes."""
    begin(hush, schema, days, "T", key)
    hush("push", "T", server.url, *server.token)
    lost = []

    def lose(call):
        if call.method == "PUT" and call.path.endswith("/manifest") and not lost:
            lost.append(call)
            return "lost"
        return None

    relay = Proxy(server.port, lose)
    place = f"http://127.0.0.1:{relay.port}/tables/patients"
    hush("append", days[1], "-o", place, *key, *server.token)
    relay.stop()
    assert lost
    assert answer(hush, server.url, key, *server.token) == expected(days[:2])


@pytest.mark.parametrize("where", ["directory", "bucket", "server"])
def test_many_append_at_once(there, schema, days, key, bucket, server, where):
    begin(there, schema, days, "T", key)
    table, asked, token = {
        "directory": ("T", "T", ()),
        "bucket": (f"s3://{bucket}/t",) * 2 + ((),),
        "server": (f"{server.url}/tables/patients", server.url, server.token),
    }[where]
    if where != "directory":
        there("push", "T", table if where == "bucket" else server.url, *token)

    def append(day):
        return there("append", days[day], "-o", table, "--batch", f"{day}", "--threads", 1, *key, *token).stderr

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        said = list(pool.map(append, [*range(1, 9), 3, 5]))
    assert sum("Nothing added" in text for text in said) == 2, said
    assert answer(there, asked, key, *token) == expected(days[:9])
    assert "version    9" in there("info", table, *token).stdout


def test_a_table_of_many_appends_is_a_table_of_their_rows(hush, schema, days, key, server, tmp_path):
    """Random files, some of many days; the table is pushed between, and grows on the server."""
    chance = random.Random(23)
    begin(hush, schema, days, "T", key)
    hush("push", "T", server.url, *server.token)
    had, day = [days[0]], 1
    while day < len(days):
        several = days[day : day + chance.choice([1, 1, 1, 20])]
        folder = tmp_path / "several"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for path in several:
            shutil.copy(path, folder)
        hush("append", folder if len(several) > 1 else several[0], "-o", "T", *key)
        had += several
        day += len(several)
        if chance.random() < 0.2:
            hush("push", "T", server.url, *server.token)
    hush("push", "T", server.url, *server.token)
    assert answer(hush, "T", key) == expected(had)
    assert answer(hush, server.url, key, *server.token) == expected(had)
    # Other statistics, rows and filters, against the same rows encrypted at once.
    hush("encrypt", PATIENTS, "--schema", schema, "-o", "whole", *key)
    for sql in (
        "SELECT COUNT(*) AS n, SUM(charges) AS s FROM patients WHERE year = 2023",
        "SELECT patient_id, age FROM patients WHERE ward = 'surgery' ORDER BY patient_id LIMIT 40",
        "SELECT year, AVG(charges) AS m FROM patients GROUP BY year ORDER BY year",
    ):
        found = [hush("query", place, sql, "--format", "csv", *key).stdout for place in ("T", "whole")]
        assert found[0] == found[1], sql


def test_python_appends_frames(tmp_path, days, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    key = ht.keygen(tmp_path / "k", passphrase="correct horse battery", opens_in="16MiB")
    clear = ["ward", "year", "patient_id", "bp", "temperature"]
    table = ht.encrypt(days[0], sensitive=["age", "charges", "email"], clear=clear, out=tmp_path / "T", keys=key)
    frame = pyarrow.csv.read_csv(days[1])
    done = table.append(frame, batch="tuesday")
    assert (done.rows, done.version, done.table_rows, done.known_since) == (100, 2, 200, None) and done.bytes > 0
    assert len(table) == 200 and table.info["version"] == 2
    assert table.append(frame, batch="tuesday").known_since == 2
    with pytest.raises(ht.DataError, match="tuesday"):
        table.append(days[2], batch="tuesday")
    with pytest.raises(ht.DataError):
        table.append(frame.drop_columns(["age"]))
    ages = [age for day in days[:2] for age in pyarrow.csv.read_csv(day)["age"].to_pylist() if age is not None]
    assert table.sql(f"SELECT SUM(age) AS a FROM {table.name}").to_pyarrow().to_pylist() == [{"a": sum(ages)}]


def test_the_example_of_airflow_loads_each_day_once(tmp_path, days, monkeypatch, hush, schema, key):
    """The task as Airflow calls it, with a stand-in for Airflow itself: days in any order, tried again after they were in."""
    begin(hush, schema, days, "T", key)
    planned, tasks = [], {}

    def task(**settings):
        assert settings["retries"] > 0

        def keep(function):
            tasks[function.__name__] = function
            return planned.append

        return keep

    airflow = types.ModuleType("airflow.decorators")
    airflow.task, airflow.dag = task, lambda **_: lambda function: function
    monkeypatch.setitem(sys.modules, "airflow", types.ModuleType("airflow"))
    monkeypatch.setitem(sys.modules, "airflow.decorators", airflow)
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    for number in (1, 2, 3):
        shutil.copy(days[number], inbox / f"2026-01-0{number}.csv")
    places = {"HUSH_TABLE": tmp_path / "T", "HUSH_INBOX": inbox, "HUSH_KEY": key[1], "HUSH_PASSPHRASE_FILE": key[3]}
    for name, value in {**places, "HOME": tmp_path / "home"}.items():
        monkeypatch.setenv(name, str(value))
    runpy.run_path(str(PATIENTS.parent / "airflow_daily.py"))
    assert planned == ["{{ ds }}"]
    load = tasks["load"]
    assert [load(f"2026-01-0{number}") for number in (3, 1, 3, 2, 1)] == [200, 300, 300, 400, 400]
    shutil.copy(days[9], inbox / "2026-01-02.csv")
    with pytest.raises(ht.DataError, match="2026-01-02"):
        load("2026-01-02")
    assert answer(hush, "T", key) == expected(days[:4])
