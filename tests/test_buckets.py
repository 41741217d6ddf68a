# SPDX-License-Identifier: Apache-2.0
"""Tables in object stores: what directories can, buckets can, in few requests; and nothing is lost, doubled or told when the store fails."""

import io
import json
import os
import shutil
import subprocess
import sys
import time

import pyarrow.compute
import pyarrow.csv
import pytest

import hushtable as ht
from buckets import ACCESS_KEY, SECRET_KEY, bucket, credentials, free_port, proxy, s3  # noqa: F401
from conftest import PATIENTS, Server, approve, binary

SQL = "SELECT ward, COUNT(*) AS n, SUM(charges) AS c, AVG(age) AS a FROM patients GROUP BY ward ORDER BY ward"


@pytest.fixture
def there(hush, s3):
    """A runner that reaches the S3 server."""
    return hush.with_environment(**credentials(s3.port))


@pytest.fixture
def through(hush, proxy):
    """A runner that reaches the S3 server through the proxy."""
    return hush.with_environment(**credentials(proxy.port))


@pytest.fixture
def schema(hush, tmp_path):
    """An approved schema of the example."""
    path = tmp_path / "patients.schema.toml"
    hush("init", PATIENTS, "--sensitive", "age,charges,email", "--clear", "ward,patient_id,year,bp,temperature", "-o", path)
    approve(path)
    return path


@pytest.fixture
def encrypt(schema, key):
    """The arguments that encrypt the example, but for the place."""
    return ("encrypt", PATIENTS, "--schema", schema, *key)


def rows(hush, place, key, sql=SQL):
    """The answer to a query."""
    return hush("query", place, sql, "--format", "csv", *key).stdout


def assert_quiet(text, *more):
    """No credential, signed request or address in what a person reads."""
    for secret in (SECRET_KEY, ACCESS_KEY, "http://127", "Signature=", "X-Amz", "AWS4", "0123abcd", *more):
        assert secret not in text, text


def test_a_bucket_is_as_good_as_a_directory(hush, there, encrypt, key, bucket, s3, server, tmp_path):
    place = f"s3://{bucket}/lake/patients"
    hush(*encrypt, "-o", "T")
    expected = rows(hush, "T", key)
    there(*encrypt, "-o", place)
    assert rows(there, place, key) == expected
    assert there("decrypt", place, *key).stdout == hush("decrypt", "T", *key).stdout
    assert there("explain", place, SQL, *key).stdout == hush("explain", "T", SQL, *key).stdout
    facts = there("info", place, *key).stdout
    assert "charges" in facts and "version    1" in facts
    listed = [json.loads(line) for line in there("ls", f"s3://{bucket}/lake", "--json").stdout.splitlines()]
    assert [(table["table"], table["version"]) for table in listed] == [("patients", 1)]
    # To a bucket from a directory and from a bucket, to a server from a bucket, and back.
    there("push", "T", f"s3://{bucket}/copied", "--verify")
    there("push", f"s3://{bucket}/copied", f"s3://{bucket}/again")
    again = there("push", f"s3://{bucket}/copied", f"s3://{bucket}/again")
    assert " 0 parts sent" in again.stderr
    there("push", f"s3://{bucket}/again", server.url, *server.token)
    url = f"{server.url.rstrip('/')}/tables/patients"
    there("pull", url, "-o", f"s3://{bucket}/pulled", *key, *server.token)
    there("pull", f"s3://{bucket}/pulled", "-o", "back", *key)
    for path in (tmp_path / "T").rglob("*"):
        if path.is_file() and path.name != ".lock":
            assert path.read_bytes() == (tmp_path / "back" / path.relative_to(tmp_path / "T")).read_bytes()
    for copied in (f"s3://{bucket}/again", f"s3://{bucket}/pulled", "back"):
        assert rows(there, copied, key) == expected
    # Devices of a table in a bucket.
    there("edge", "revoke", f"s3://{bucket}/again", "0" * 32, *key)
    assert "version    2" in there("info", f"s3://{bucket}/again").stdout
    there("drop", f"s3://{bucket}", "again", "--yes")
    gone = there("query", f"s3://{bucket}/again", SQL, *key, status=2)
    assert gone.stderr.startswith("HUSH-T020") and f"s3://{bucket}/again" in gone.stderr
    there("drop", f"s3://{bucket}", "again", "--yes", status=2)


def test_a_table_is_not_replaced_unasked_and_not_exchanged(there, encrypt, key, bucket, s3):
    place = f"s3://{bucket}/t"
    there(*encrypt, "-o", place)
    assert there(*encrypt, "-o", place, status=3).stderr.startswith("HUSH-C070")
    there(*encrypt, "-o", place, "--replace")
    assert "version    2" in there("info", place).stdout
    there("push", place, f"s3://{bucket}/u")
    there(*encrypt, "-o", f"s3://{bucket}/v")
    # Another table of this owner there, then: files of somebody else.
    refused = there("push", f"s3://{bucket}/v", f"s3://{bucket}/u", "--replace", status=2)
    assert refused.stderr.startswith("HUSH-T021"), refused.stderr
    shutil.rmtree(s3.directory / bucket / "u")
    shutil.copytree(s3.directory / bucket / "v", s3.directory / bucket / "u")
    assert "HUSH-R022" in there("query", f"s3://{bucket}/u", SQL, *key, status=9).stderr
    (s3.directory / bucket / "foreign").mkdir()
    (s3.directory / bucket / "foreign" / "holiday.jpg").write_bytes(b"..")
    for output in (f"s3://{bucket}/foreign", f"s3://{bucket}"):
        assert there(*encrypt, "-o", output, status=3).stderr.startswith("HUSH-C071")


def test_a_full_bucket_hides_no_table(there, encrypt, key, bucket, s3):
    place = f"s3://{bucket}/t"
    there(*encrypt, "-o", place)
    expected = rows(there, place, key)
    directory = s3.directory / bucket
    for number in range(1100):
        (directory / "t" / "parts" / f"zz-{number}.jpg").write_bytes(b"x")
    for name in ("a", "t/parts/sub", "z.d", "T t"):
        (directory / name).mkdir(parents=True)
        (directory / name / "manifest.hush").write_bytes(b"HUSHTBL1 nonsense")
    assert rows(there, place, key) == expected
    there(*encrypt, "-o", place, "--replace")
    listed = there("ls", f"s3://{bucket}")
    assert listed.stdout.split()[0] == "t" and "HUSH-T" in listed.stderr and f"s3://{bucket}/a" in listed.stderr
    assert len(list((directory / "t" / "parts").glob("zz-*"))) == 1100


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """A table of 20 encoded columns that fill one part and begin another: its rows."""
    path = tmp_path_factory.mktemp("wide") / "wide.csv"
    count, columns = 160_000, [f"c{number}" for number in range(20)]
    with path.open("w", encoding="utf-8") as file:
        file.write(",".join(columns) + "\n")
        file.writelines(",".join(str(row * 7919 + number) for number in range(20)) + "\n" for row in range(count))
    return path, count


def test_a_sum_reads_the_columns_that_it_needs(through, there, key, wide, bucket, proxy, s3, tmp_path):
    path, count = wide
    through("init", path, "--sensitive", ",".join(f"c{number}" for number in range(20)), "-o", "wide.schema.toml")
    approve(tmp_path / "wide.schema.toml")
    place = f"s3://{bucket}/wide"
    there("encrypt", path, "--schema", "wide.schema.toml", "-o", place, *key)
    stored = sum(file.stat().st_size for file in (s3.directory / bucket / "wide" / "parts").iterdir())
    proxy.reset()
    answer = rows(through, place, key, "SELECT SUM(c3) AS s, SUM(c17) AS t FROM wide")
    base = 7919 * count * (count - 1) // 2
    assert answer.splitlines()[1] == f"{base + 3 * count},{base + 17 * count}"
    parts = proxy.of_parts()
    assert len(parts) >= 2 and all(len(calls) <= 5 for calls in parts.values()), parts
    assert proxy.read() <= 0.12 * stored, (proxy.read(), stored)
    assert len(proxy.calls) <= 2 + sum(map(len, parts.values()))


class Asked:
    """A process of Python that opens a table, asks, and asks again when told to."""

    def __init__(self, hush, environment, place, key, sql):
        secret = f"ht.open_key({str(key[1])!r}, passphrase_file={str(key[3])!r})"
        ask = f"print(json.dumps(table.sql({sql!r}).to_pyarrow().to_pylist(), default=str), flush=True)"
        script = f"import json, hushtable as ht\ntable = ht.open({place!r}, keys={secret})\n{ask}\ninput()\n{ask}\n"
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        environment = {**hush.environment, **environment, "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
        self.process = subprocess.Popen([sys.executable, "-c", script], env=environment, cwd=hush.directory, **streams)
        self.first = json.loads(self.process.stdout.readline())

    def again(self):
        """The second answer."""
        out, _ = self.process.communicate("\n")
        assert self.process.returncode == 0
        return json.loads(out)


def test_an_open_table_asks_once_for_each_part(hush, key, encrypt, there, bucket, proxy):
    place = f"s3://{bucket}/t"
    there(*encrypt, "-o", place)
    for sql in ("SELECT SUM(age) AS a FROM patients", SQL.replace("SUM(charges)", "SUM(charges) * 2")):
        asked = Asked(hush, credentials(proxy.port), place, key, sql)
        proxy.reset()
        assert asked.again() == asked.first
        parts = proxy.of_parts()
        assert all(len(calls) <= 1 for calls in parts.values()) and len(proxy.calls) <= len(parts), proxy.calls


def test_python_takes_the_same_places(there, key, encrypt, bucket, s3, monkeypatch, tmp_path):
    there(*encrypt, "-o", f"s3://{bucket}/t")
    expected = there("decrypt", f"s3://{bucket}/t", *key).stdout
    for name, value in {**credentials(s3.port), "HUSH_STATE_DIR": str(tmp_path / "state")}.items():
        monkeypatch.setenv(name, value)
    opened = ht.open_key(key[1], passphrase_file=key[3])
    rows = pyarrow.csv.read_csv(io.BytesIO(expected.encode()))
    made = ht.encrypt(rows, name="patients", out=f"s3://{bucket}/made", keys=opened, clear=["ward"], sensitive=[n for n in rows.column_names if n != "ward"])
    total = pyarrow.compute.sum(rows["age"]).as_py()
    assert made.sql("SELECT SUM(age) AS a FROM patients").to_pyarrow().to_pylist() == [{"a": total}]
    assert ht.push(f"s3://{bucket}/made", f"s3://{bucket}/copied").url == f"s3://{bucket}/copied"
    pulled = ht.pull(f"s3://{bucket}/copied", tmp_path / "pulled", keys=opened)
    assert pulled.sql("SELECT SUM(age) AS a FROM patients").to_pyarrow().to_pylist() == [{"a": total}]
    assert [(table.table, table.version) for table in ht.ls(f"s3://{bucket}")] == [("copied", 1), ("made", 1), ("t", 1)]
    ht.drop(f"s3://{bucket}/copied")
    assert [table.table for table in ht.ls(f"s3://{bucket}")] == ["made", "t"]
    for place in (f"s3://{bucket}/copied", f"s3://{bucket}"):
        with pytest.raises(ht.HushError):
            ht.drop(place)
    assert [table.table for table in ht.ls(f"s3://{bucket}")] == ["made", "t"]
    with pytest.raises(ht.UsageError, match="no such bucket"):
        ht.open("s3://there-is-no-such-bucket/t", keys=opened)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    with pytest.raises(ht.HushError, match="does not take the credentials") as refused:
        ht.open(f"s3://{bucket}/t", keys=opened)
    assert_quiet(str(refused.value), "wrong")


def manifests(s3, bucket, prefix):
    """The present manifest and the replaced ones, as bytes."""
    folder = s3.directory / bucket / prefix
    present = folder / "manifest.hush"
    replaced = sorted(path.name for path in (folder / "versions").glob("*.hush")) if (folder / "versions").exists() else []
    return (present.read_bytes() if present.exists() else None), replaced


def kill_at_every_call(through, proxy, command, check, most):
    """Kills a command at its 1st, 2nd, ... call to the store, which is not done then, until one run comes to its end."""
    for number in range(1, most):
        proxy.reset(lambda call, number=number: "kill" if call.number == number else None)
        process = through.start(*command)
        proxy.victim = process.kill
        _, errors = process.communicate()
        assert_quiet(errors.decode())
        if process.returncode == 0:
            assert len(proxy.calls) < number
            return
        proxy.reset()
        check(number)
    raise AssertionError("it never came to its end")


def test_an_encryption_may_be_killed_at_any_call(through, there, encrypt, key, bucket, proxy, s3, tmp_path):
    place = f"s3://{bucket}/t"

    def nothing_or_all(number):
        present, _ = manifests(s3, bucket, "t")
        if present is None:
            assert there("query", place, SQL, *key, status=2).stderr.startswith("HUSH-T020"), number
        else:
            # Another user's eyes: the next run makes another table here.
            stranger = there.with_environment(HUSH_STATE_DIR=str(tmp_path / f"state-{number}"))
            assert rows(stranger, place, key).count("\n") > 2
            (s3.directory / bucket / "t" / "manifest.hush").unlink()

    kill_at_every_call(through, proxy, (*encrypt, "-o", place), nothing_or_all, 40)
    assert rows(there, place, key).count("\n") > 2


def test_a_replacement_may_be_killed_at_any_call(through, there, encrypt, key, bucket, proxy, s3):
    place = f"s3://{bucket}/t"
    there(*encrypt, "-o", place)
    expected, versions = rows(there, place, key), []

    def old_or_new(number):
        assert rows(there, place, key) == expected, number
        versions.append(int(there("info", place).stdout.split("version")[1].split()[0]))

    kill_at_every_call(through, proxy, (*encrypt, "-o", place, "--replace"), old_or_new, 60)
    assert versions == sorted(versions) and versions[0] == 1 and rows(there, place, key) == expected


def test_a_copy_may_be_killed_at_any_call(through, there, encrypt, key, bucket, proxy, s3):
    there(*encrypt, "-o", "T")
    expected, place = rows(there, "T", key), f"s3://{bucket}/t"

    def nothing_or_all(number):
        if manifests(s3, bucket, "t")[0] is not None:
            assert rows(there, place, key) == expected, number

    kill_at_every_call(through, proxy, ("push", "T", place), nothing_or_all, 60)
    assert rows(there, place, key) == expected


def test_of_many_writers_one_commits(there, encrypt, key, bucket, s3):
    place = f"s3://{bucket}/t"
    for more in ((), ("--replace",)):
        before, _ = manifests(s3, bucket, "t")
        processes = [there.start(*encrypt, "-o", place, *more) for _ in range(16)]
        errors = [process.communicate()[1].decode() for process in processes]
        won = [process.returncode == 0 for process in processes]
        assert any(won), errors
        for error in [error for error, winner in zip(errors, won, strict=True) if not winner]:
            assert error.split()[0] in ("HUSH-T021", "HUSH-T022", "HUSH-T023", "HUSH-C070", "HUSH-C072"), error
        # The first table: one winner. Replacements that came one after the other are versions of their own, none of them lost.
        version = int(there("info", place).stdout.split("version")[1].split()[0])
        assert sum(won) == (1 if before is None else version - 1)
        assert rows(there, place, key).count("\n") > 2
    assert len(manifests(s3, bucket, "t")[1]) == version - 1


def test_a_lost_answer_to_a_commit_is_no_failure(through, there, encrypt, key, bucket, proxy):
    place, lost = f"s3://{bucket}/t", []

    def lose(call):
        if call.method == "PUT" and call.path.endswith("manifest.hush") and len(lost) < 2:
            lost.append(call)
            return "lost"
        return None

    for version, more in ((1, ()), (2, ("--replace",))):
        lost.clear()
        proxy.reset(lose)
        through(*encrypt, "-o", place, *more)
        assert lost
        assert f"version    {version}" in there("info", place).stdout
    assert rows(there, place, key).count("\n") > 2


def test_a_store_that_stumbles_is_asked_again(through, there, encrypt, key, bucket, proxy):
    place = f"s3://{bucket}/t"
    proxy.reset(lambda call: "slow" if call.number % 3 == 1 else None)
    through(*encrypt, "-o", place)
    expected = rows(there, place, key)
    for action in ("slow", "lost", "cut"):
        proxy.reset(lambda call, action=action: action if call.number % 3 == 1 and call.method == "GET" else None)
        assert rows(through, place, key) == expected, action
        assert [call for call in proxy.calls if call.number % 3 == 1]


def test_a_store_that_fails_is_told(through, there, encrypt, key, bucket, proxy, hush, s3):
    place = f"s3://{bucket}/t"
    there(*encrypt, "-o", place)

    def refused(runner, status, words, at=place):
        error = runner("query", at, SQL, *key, status=status).stderr
        assert error.startswith("HUSH-T051") and words in error and at in error and "Way" in error, error
        assert_quiet(error)

    refused(there, 2, "no such bucket", at="s3://there-is-no-such-bucket/t")
    error = there(*encrypt, "-o", "s3://there-is-no-such-bucket/t", status=2).stderr
    assert error.startswith("HUSH-T051") and "no such bucket" in error
    wrong = hush.with_environment(**credentials(s3.port, AWS_SECRET_ACCESS_KEY="not-the-secret"))
    refused(wrong, 4, "does not take the credentials")
    assert "not-the-secret" not in wrong("info", place, status=4).stderr
    unknown = hush.with_environment(**credentials(s3.port, AWS_ACCESS_KEY_ID="somebody"))
    refused(unknown, 4, "does not take the credentials")
    for action, status, words in (("expired", 4, "ExpiredToken"), ("denied", 4, "does not allow it"), ("slow", 7, "6 tries")):
        # From the first call, and half way.
        for first in (1, 3):
            proxy.reset(lambda call, action=action, first=first: action if call.number >= first else None)
            error = through("query", place, SQL, *key, status=status).stderr
            assert error.startswith("HUSH-T051") and words in error and place in error, error
            assert_quiet(error)
    proxy.reset(lambda call: "cut")
    refused(through, 7, "break off")
    nobody = hush.with_environment(**credentials(free_port()))
    refused(nobody, 7, "cannot be reached")
    plain = hush.with_environment(**{**credentials(s3.port), "AWS_ALLOW_HTTP": "false"})
    assert "AWS_ALLOW_HTTP" in plain("info", place, status=2).stderr
    assert rows(there, place, key).count("\n") > 2


def test_credentials_that_expire_half_way_leave_nothing_visible(through, there, encrypt, key, bucket, proxy):
    place = f"s3://{bucket}/t"
    proxy.reset()
    through(*encrypt, "-o", place)
    calls, expected = len(proxy.calls), rows(there, place, key)
    for first in range(2, calls):
        proxy.reset(lambda call, first=first: "expired" if call.number >= first else None)
        error = through(*encrypt, "-o", place, "--replace", status=None)
        assert error.returncode in (0, 4) and (error.returncode == 0 or error.stderr.startswith("HUSH-T051")), error.stderr
        assert_quiet(error.stderr)
    assert rows(there, place, key) == expected


def test_altered_parts_are_found(there, encrypt, key, bucket, s3):
    place, parts = f"s3://{bucket}/t", s3.directory / bucket / "t" / "parts"
    there(*encrypt, "-o", place)
    expected = rows(there, place, key)
    there(*encrypt, "-o", f"s3://{bucket}/u")
    others = s3.directory / bucket / "u" / "parts"
    for ending in (".enc.parquet", ".clear.parquet"):
        (part,), (other,) = parts.glob("*" + ending), others.glob("*" + ending)
        good = part.read_bytes()
        for bad in (good[:-100], good[: len(good) // 2] + b"\x01" + good[len(good) // 2 + 1 :], other.read_bytes(), b""):
            if bad == good:
                continue
            part.write_bytes(bad)
            error = there("query", place, SQL, *key, status=9).stderr
            assert error.startswith(("HUSH-E060", "HUSH-T03")), error
        part.unlink()
        assert "HUSH-" in there("query", place, SQL, *key, status=9).stderr
        part.write_bytes(good)
        assert rows(there, place, key) == expected


def test_a_reader_keeps_its_version(hush, there, encrypt, key, bucket, s3, tmp_path):
    place, sql = f"s3://{bucket}/t", "SELECT COUNT(*) AS n, SUM(age) AS a FROM patients"
    there(*encrypt, "-o", place)
    asked = Asked(hush, credentials(s3.port), place, key, sql)
    few = tmp_path / "few.csv"
    few.write_text("".join(PATIENTS.read_text(encoding="utf-8").splitlines(keepends=True)[:50]), encoding="utf-8")
    there("encrypt", few, *encrypt[2:], "-o", place, "--replace")
    assert asked.again() == asked.first and asked.first[0]["n"] == 6000
    assert rows(there, place, key, "SELECT COUNT(*) AS n FROM patients") == "n\n49\n"
    assert len(manifests(s3, bucket, "t")[1]) == 1
    # A day later the next commit gives the space back; parts that it names too stay.
    folder, long_ago = s3.directory / bucket / "t", time.time() - 25 * 60 * 60
    for path in [*folder.glob("parts/*"), *folder.glob("versions/*")]:
        os.utime(path, (long_ago, long_ago))
    there("encrypt", few, *encrypt[2:], "-o", place, "--replace")
    assert len(list(folder.glob("parts/*.enc.parquet"))) == 2 and len(manifests(s3, bucket, "t")[1]) == 1
    assert rows(there, place, key, "SELECT COUNT(*) AS n FROM patients") == "n\n49\n"


@pytest.fixture
def days(through, there, key, bucket, tmp_path):
    """A table whose parts hold runs of days: its place."""
    path, more = tmp_path / "days.csv", [f"x{number}" for number in range(1, 10)]
    lines = (f"{row // 8192},{row % 7},{row * 3}" + f",{row}" * len(more) + "\n" for row in range(24 * 8192))
    path.write_text("day,k,x," + ",".join(more) + "\n" + "".join(lines), encoding="utf-8")
    through("init", path, "--sensitive", "x," + ",".join(more), "--clear", "day,k")
    approve(tmp_path / "days.schema.toml")
    there("encrypt", path, "-o", f"s3://{bucket}/days", "--memory-limit", "64MB", *key)
    return f"s3://{bucket}/days"


def test_zones_leave_parts_closed(through, there, hush, key, days, proxy, bucket, s3, tmp_path):
    """A condition that one part can meet opens that part and the zone file; the answers are those of the rows."""
    folder = s3.directory / bucket / "days" / "parts"
    parts = len(list(folder.glob("*.enc.parquet")))
    (zones,) = folder.glob("*.zones.parquet")
    assert parts >= 8

    def asked(sql):
        proxy.reset()
        answer = rows(through, days, key, sql).splitlines()[1:]
        names = proxy.of_parts()
        opened = [name for name in names if name.startswith(zones.name.split(".")[0])]
        return answer, len(opened), len(names) - len(opened), len(proxy.calls)

    of_day = [3 * row for row in range(5 * 8192, 6 * 8192)]
    for sql, expected in (
        ("SELECT SUM(x) AS s, COUNT(*) AS n FROM days WHERE day = 5", [f"{sum(of_day)},8192"]),
        ("SELECT k, SUM(x) AS s FROM days WHERE day = 5 AND k < 1 GROUP BY k", [f"0,{sum(x for x in of_day if x // 3 % 7 == 0)}"]),
        ("SELECT k, COUNT(*) AS n FROM days WHERE day = 5 GROUP BY k ORDER BY n DESC, k LIMIT 1", None),
        ("SELECT x FROM days WHERE day = 5 LIMIT 2", [str(of_day[0]), str(of_day[1])]),
    ):
        answer, zone_files, others, calls = asked(sql)
        assert expected is None or answer == expected
        # One part: two files.
        assert zone_files == 1 and others <= 2 and calls <= 8, (sql, others, calls)
        print(f"{sql}: {calls} requests of {parts} parts")
    answer, zone_files, others, calls = asked("SELECT SUM(x) AS s, COUNT(*) AS n FROM days WHERE day = 500")
    assert (answer, zone_files, others) == ([",0"], 1, 0)
    assert asked("SELECT SUM(x) AS s FROM days WHERE k = 1")[1:3] == (1, 2 * parts)
    # What bounds tell nothing about asks for no zones.
    assert asked("SELECT SUM(x) AS s FROM days WHERE day % 2 = 1")[1] == 0
    # A zone file goes where its table goes, and a swapped one is found.
    there("push", days, f"s3://{bucket}/copied")
    assert (s3.directory / bucket / "copied" / "parts" / zones.name).exists()
    zones.write_bytes(zones.read_bytes()[::-1])
    refused = through("query", days, "SELECT SUM(x) AS s FROM days WHERE day = 5", *key, status=9).stderr
    assert refused.startswith(("HUSH-E060", "HUSH-T03")), refused


class BucketServer(Server):
    """A server whose tables lie in a bucket."""

    def __init__(self, data, directory, environment, *options):
        super().__init__(directory, directory.with_suffix(".log"), "--work", directory, *options)
        self.place, self.environment = data, {**os.environ, **environment}

    def command(self):
        """Data in the bucket, all else in the directory."""
        return [binary("hush-server"), "--data", self.place, "--listen", f"127.0.0.1:{self.port}", *self.options]


def test_a_server_answers_for_a_bucket(there, encrypt, key, bucket, s3, tmp_path):
    """Pushed through it or put beside it, a table is the one that lies in the bucket; a killed server has lost nothing."""
    there(*encrypt, "-o", "T")
    expected = rows(there, "T", key)
    server = BucketServer(f"s3://{bucket}/srv", tmp_path / "work", credentials(s3.port)).start()
    try:
        there("push", "T", server.url, *server.token)
        url = f"{server.url.rstrip('/')}/tables/patients"
        asked = (*key, *server.token)
        assert rows(there, url, asked) == expected
        assert rows(there, f"s3://{bucket}/srv/tables/patients", key) == expected
        # The next version by the owner's own hand.
        there(*encrypt, "-o", f"s3://{bucket}/srv/tables/patients", "--replace")
        assert rows(there, url, asked) == expected
        assert "version    2" in there("info", url, *asked).stdout
        server.kill()
        server.start()
        assert rows(there, url, asked) == expected
        there("drop", server.url, "patients", "--yes", *server.token)
        assert there("query", f"s3://{bucket}/srv/tables/patients", SQL, *key, status=2).stderr.startswith("HUSH-T020")
    finally:
        server.kill()
    assert_quiet(server.log.read_text())
