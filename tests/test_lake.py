# SPDX-License-Identifier: Apache-2.0
"""Data in object stores as input: the same tables as from a disk, in few requests; stores that fail, objects that change, runs that are killed."""

import io
import os
import random

import pyarrow.csv
import pyarrow.fs
import pyarrow.parquet
import pytest

import hushtable as ht
from buckets import ACCESS_KEY, SECRET_KEY, bucket, credentials, proxy, s3  # noqa: F401
from conftest import PATIENTS, approve
from test_buckets import assert_quiet, there, through  # noqa: F401
from test_datasets import write_dataset
from test_memory import LIMIT, encrypted, schema_of, sums, write_rows

#: Bytes of a piece of CSV, and those in which a format is found.
PIECE, END = 2 << 20, 64 << 10


@pytest.fixture
def lake(s3):
    """Writes objects, as another program does."""
    endpoint = {"endpoint_override": f"127.0.0.1:{s3.port}", "scheme": "http", "region": "us-east-1"}
    store = pyarrow.fs.S3FileSystem(access_key=ACCESS_KEY, secret_key=SECRET_KEY, **endpoint)

    def put(path, content):
        if path.endswith("/"):
            # As consoles do: an object without bytes for a folder.
            store.create_dir(path.rstrip("/"))
            return
        with store.open_output_stream(path) as stream:
            stream.write(content)

    return put


def upload(lake, folder, place):
    """Every file of a folder as an object."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            lake(f"{place}/{path.relative_to(folder)}", path.read_bytes())


def split_rows(directory, rows, files):
    """The rows of `t.csv` as files of a folder `t`."""
    write_rows(directory / "t.csv", rows)
    header, *lines = (directory / "t.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (directory / "t").mkdir()
    for file in range(files):
        part = lines[rows * file // files : rows * (file + 1) // files]
        (directory / "t" / f"{file:03}.csv").write_text(header + "".join(part), encoding="utf-8")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_dataset_is_the_folder(hush, there, tmp_path, key, bucket, lake, kind, monkeypatch, s3):
    """Proposal, rehearsal, table and Python; hive names with blanks, percent signs and slashes; marks of folders."""
    seed = int(os.environ.get("HUSH_SEED", random.randrange(2**32)))
    print(f"HUSH_SEED={seed}")
    folder, place = tmp_path / "visits", f"s3://{bucket}/a/visits"
    write_dataset(random.Random(seed), folder, kind)
    upload(lake, folder, f"{bucket}/a/visits")
    lake(f"{bucket}/a/visits/", b"")
    lake(f"{bucket}/a/visits/year=2021/", b"")
    lake(f"{bucket}/a/visits/year=2030/ward=A/", b"")
    choice = ("--sensitive", "n,m", "--clear", "t,year,ward")
    query = "SELECT year, ward, COUNT(*) AS rows, SUM(n) AS n, SUM(m) AS m FROM visits GROUP BY year, ward ORDER BY year, ward"
    local = hush("run", folder, query, *choice, "--verify", "--format", "csv")
    assert there("run", f"{place}/", query, *choice, "--verify", "--format", "csv").stdout == local.stdout
    schema = tmp_path / "visits.schema.toml"
    hush("init", folder, *choice)
    expected = schema.read_text(encoding="utf-8")
    schema.unlink()
    there("init", f"{place}/", *choice)
    assert schema.read_text(encoding="utf-8") == expected
    approve(schema)
    hush("encrypt", folder, "-o", "T", *key)
    there("encrypt", place, "-o", f"s3://{bucket}/T", *key)
    rows = hush("decrypt", "T", *key).stdout
    assert there("decrypt", f"s3://{bucket}/T", *key).stdout == rows and rows.count("\n") > 10
    for name, value in {**credentials(s3.port), "HOME": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    found = ht.run(f"{place}/", query, sensitive=["n", "m"], clear=["t", "year", "ward"])
    assert found.to_pyarrow().num_rows == len(local.stdout.splitlines()) - 1
    assert ht.propose(f"{place}/", sensitive=["n", "m"], clear=["t", "year", "ward"]).table == "visits"


def test_one_object_is_one_file(hush, there, tmp_path, key, bucket, lake):
    """CSV and Parquet; an address with a slash is a folder."""
    text = PATIENTS.read_bytes()
    lake(f"{bucket}/patients.csv", text)
    query = "SELECT ward, AVG(age) AS a FROM patients GROUP BY ward ORDER BY ward"
    choice = ("--sensitive", "age", "--clear", "ward", "--format", "csv", "--quiet")
    expected = hush("run", PATIENTS, query, *choice).stdout
    assert there("run", f"s3://{bucket}/patients.csv", query, *choice).stdout == expected
    table = pyarrow.csv.read_csv(io.BytesIO(text))
    sink = io.BytesIO()
    pyarrow.parquet.write_table(table, sink, row_group_size=1000)
    for name in ("patients.parquet", "patients"):
        lake(f"{bucket}/p/{name}", sink.getvalue())
        assert there("run", f"s3://{bucket}/p/{name}", query, *choice).stdout == expected
    refused = there("run", f"s3://{bucket}/patients.csv/", query, *choice, status=8).stderr
    assert refused.startswith("HUSH-D040") and f"s3://{bucket}/patients.csv" in refused
    assert there("run", "http://127.0.0.1:1/tables/t", query, status=2).stderr.startswith("HUSH-T052")


def test_a_pass_reads_every_byte_once(through, there, tmp_path, key, bucket, lake, proxy):
    """A list, a beginning for each file, and pieces; of Parquet its end and its columns."""
    rows, files = 150_000, 6
    split_rows(tmp_path, rows, files)
    upload(lake, tmp_path / "t", f"{bucket}/t")
    schema_of(through, tmp_path, rows)
    sizes = [path.stat().st_size for path in (tmp_path / "t").iterdir()]
    proxy.reset()
    through("encrypt", f"s3://{bucket}/t/", "--schema", "t.schema.toml", "-o", "T", *key)
    calls = [call for call in proxy.calls if call.method == "GET" and call.range]
    pieces = sum(-(-size // PIECE) for size in sizes)
    assert len(calls) == files + pieces and len(proxy.calls) == len(calls) + 1, proxy.calls
    assert sum(call.read for call in calls) == sum(sizes) + files * END
    # Of Parquet its end, and windows of its columns.
    table = pyarrow.csv.read_csv(tmp_path / "t.csv")
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet", row_group_size=50_000)
    content = (tmp_path / "t.parquet").read_bytes()
    lake(f"{bucket}/u/t.parquet", content)
    proxy.reset()
    through("encrypt", f"s3://{bucket}/u/", "--schema", "t.schema.toml", "-o", "U", *key)
    assert proxy.read() <= len(content) + 3 * END and len(proxy.calls) <= 3 + 6 * 3 + len(content) // (512 << 10), proxy.calls
    assert sums(through, key) == sums(through, key, "U")


def test_a_store_that_stumbles_is_asked_again(through, there, hush, tmp_path, key, bucket, lake, proxy):
    """SlowDown, answers that are lost or cut: the same rows."""
    split_rows(tmp_path, 60_000, 5)
    upload(lake, tmp_path / "t", f"{bucket}/t")
    schema_of(hush, tmp_path, 60_000)
    command = ("encrypt", f"s3://{bucket}/t/", "--schema", "t.schema.toml", "--replace", *key, "-o")
    hush("encrypt", "t.csv", "--schema", "t.schema.toml", "-o", "T", *key)
    expected = hush("decrypt", "T", *key).stdout
    for action in ("slow", "lost", "cut"):
        # A list that breaks off is told, as one of tables is.
        proxy.reset(lambda call, action=action: action if call.number % 3 == 1 and (call.range or action == "slow") else None)
        through(*command, "U")
        assert [call for call in proxy.calls if call.number % 3 == 1]
        assert hush("decrypt", "U", *key).stdout == expected, action
    for action, status, words in (("expired", 4, "ExpiredToken"), ("denied", 4, "does not allow it"), ("cut", 7, "break off")):
        for first in (1, 4, 8):
            proxy.reset(lambda call, action=action, first=first: action if call.number >= first else None)
            error = through(*command, "V", status=status).stderr
            assert error.startswith("HUSH-T051") and words in error and f"s3://{bucket}/t" in error and error.count("\n") == 2, error
            assert_quiet(error)
            assert not (tmp_path / "V" / "manifest.hush").exists()
    gone = there("init", "s3://there-is-no-such-bucket/t/", status=2).stderr
    assert gone.startswith("HUSH-T051") and "no such bucket" in gone
    lake(f"{bucket}/t/README.md", b"About this folder.\n")
    foreign = there(*command, "V", status=8).stderr
    assert "README.md" in foreign and foreign.startswith("HUSH-D"), foreign


def test_a_killed_encryption_goes_on(through, there, hush, tmp_path, key, bucket, lake, proxy, s3):
    """Killed at the n-th request, again and again, from bucket to bucket; then the rows of the folder, and no part was encrypted twice."""
    rows = 400_000
    split_rows(tmp_path, rows, 12)
    upload(lake, tmp_path / "t", f"{bucket}/t")
    schema_of(hush, tmp_path, rows)
    hush("encrypt", "t.csv", "--schema", "t.schema.toml", "-o", "T", *key)
    place = f"s3://{bucket}/T"
    command = ("encrypt", f"s3://{bucket}/t/", "--schema", "t.schema.toml", "-o", place, "--memory-limit", "128MB", *key)
    present = s3.directory / bucket / "T" / "manifest.hush"
    journal = present.with_name("encryption.journal")
    draw, kills = random.Random(), 0
    # A busy machine may be killed before it has stored a part; the later it is, the more it has.
    while not present.exists() and (kills < 6 or not journal.exists()):
        number = draw.randrange(12, 40 + 5 * kills)
        proxy.reset(lambda call, number=number: "kill" if call.number == number else None)
        process = through.start(*command)
        proxy.victim = process.kill
        _, errors = process.communicate()
        assert process.returncode != 0 or present.exists()
        assert_quiet(errors.decode())
        kills += 1
    assert kills > 1
    if not present.exists():
        # An object that has changed since is refused, and nothing is lost.
        parts = {path.name for path in present.parent.glob("parts/*.enc.parquet")}
        good = (tmp_path / "t" / "003.csv").read_bytes()
        lake(f"{bucket}/t/003.csv", good.replace(b"1", b"2", 1))
        refused = there(*command, status=3).stderr
        assert "HUSH-C073" in refused and "003.csv" in refused, refused
        lake(f"{bucket}/t/003.csv", good)
        proxy.reset()
        through(*command)
        assert {path.name for path in present.parent.glob("parts/*.enc.parquet")} >= parts
        assert not journal.exists()
    assert there("decrypt", place, *key).stdout == hush("decrypt", "T", *key).stdout
    assert sums(there, key, place) == sums(hush, key)


@pytest.mark.parametrize("rows", [50_000, pytest.param(300_000, marks=pytest.mark.slow)])
def test_killed_at_any_call_it_goes_on(through, hush, tmp_path, key, bucket, proxy, rows, s3):
    """Killed at its 1st, 2nd, ... call to the store, each time in a place of its own, and run again: the table is that of a whole run."""
    schema_of(hush, tmp_path, rows)
    write_rows(tmp_path / "t.csv", rows)

    def command(place):
        return ("encrypt", "t.csv", "--schema", "t.schema.toml", "-o", f"s3://{bucket}/{place}", "--memory-limit", "64MB", *key)

    def sent(ending):
        """How many objects were sent since the last reset."""
        return sum(call.method == "PUT" and call.path.endswith(ending) for call in proxy.calls)

    through(*command("whole"))
    parts = sent(".enc.parquet")
    assert parts > 2
    expected = through("decrypt", f"s3://{bucket}/whole", *key).stdout
    assert expected.count("\n") == rows + 1
    spared = set()
    for number in range(1, 20 * parts):
        proxy.reset(lambda call, number=number: "kill" if call.number == number else None)
        process = through.start(*command(number))
        proxy.victim = process.kill
        _, errors = process.communicate()
        assert_quiet(errors.decode())
        if process.returncode == 0:
            break
        folder = s3.directory / bucket / str(number)
        is_there, was_sent = (folder / "manifest.hush").exists(), sent("encryption.journal") > 0
        proxy.reset()
        if not is_there:
            has_journal = (folder / "encryption.journal").exists()
            through(*command(number))
            again = sent(".enc.parquet")
            assert again < parts if has_journal else again == parts or was_sent, number
            assert not (folder / "encryption.journal").exists()
            spared.add(parts - again)
        assert through("decrypt", f"s3://{bucket}/{number}", *key).stdout == expected, number
    assert process.returncode == 0 and len(spared) > 1, spared
    print(f"{parts} parts, {number - 1} kills, spared {spared}")


def test_an_object_that_changes_during_a_pass_is_refused(through, tmp_path, key, bucket, lake, proxy, hush):
    """Before each request that comes before its bytes are read, an object gets others, as many: the error names it, and nothing is written."""
    split_rows(tmp_path, 60_000, 3)
    upload(lake, tmp_path / "t", f"{bucket}/t")
    schema_of(hush, tmp_path, 60_000)
    good = (tmp_path / "t" / "002.csv").read_bytes()
    for number in (2, 4, 5, 6, 7):
        # Files are read side by side: this one's bytes are the last that are asked for, or those before.
        versions = iter([good[:-6] + f"{number:05}\n".encode()])

        def change(call, number=number, versions=versions):
            if call.number == number or (call.path.endswith("002.csv") and call.range == f"bytes=0-{len(good) - 1}"):
                for version in versions:
                    lake(f"{bucket}/t/002.csv", version)

        proxy.reset(change)
        refused = through("encrypt", f"s3://{bucket}/t/", "--schema", "t.schema.toml", "-o", "T", *key, status=8).stderr
        assert refused.startswith("HUSH-D045") and f"s3://{bucket}/t/002.csv" in refused, refused
        assert_quiet(refused)
        assert not (tmp_path / "T" / "manifest.hush").exists()


def test_memory_does_not_grow_with_a_bucket(there, hush, tmp_path, key, bucket, lake):
    """Below a limit that is the same for all sizes, of CSV and of Parquet."""
    peaks = []
    for rows, files in ((40_000, 4), (400_000, 100)):
        directory = tmp_path / str(rows)
        directory.mkdir()
        split_rows(directory, rows, files)
        upload(lake, directory / "t", f"{bucket}/{rows}/t")
        schema_of(hush, tmp_path, rows)
        peaks.append(encrypted(there, tmp_path, key, f"s3://{bucket}/{rows}/t/", "96MB", "T"))
        assert peaks[-1] < 96 * 10**6, peaks
    hush("encrypt", directory / "t.csv", "--schema", "t.schema.toml", "-o", "U", *key)
    assert sums(hush, key) == sums(hush, key, "U")
    table = pyarrow.csv.read_csv(directory / "t.csv")
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet", row_group_size=100_000)
    lake(f"{bucket}/t.parquet", (tmp_path / "t.parquet").read_bytes())
    peaks.append(encrypted(there, tmp_path, key, f"s3://{bucket}/t.parquet", "128MB", "T"))
    assert peaks[-1] < 128 * 10**6, peaks
    assert sums(hush, key) == sums(hush, key, "U")
    print([f"{peak / 10**6:.1f} MB" for peak in peaks], LIMIT)
