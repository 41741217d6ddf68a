# SPDX-License-Identifier: Apache-2.0
"""The load that a device can carry, schemas fitted to it, Parquet files as its input, and the small builds of its program."""

import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import time

import pyarrow
import pyarrow.parquet
import pytest

from conftest import approve, binary
from devices import Edge, make_rows, own_rows, same, write_csv

SETS = 8


@pytest.fixture
def edge(hush, key, tmp_path):
    """A table with a hundred rows of its owner, and a device."""
    return Edge(hush, key, tmp_path, own_rows())


def write_parquet(path, rows, group=3000):
    """Rows as a Parquet file of exact types, row groups other than chunks."""
    columns = list(zip(*rows))
    tables = pyarrow.table(
        {
            "site": columns[0],
            "day": [int(value) for value in columns[1]],
            "temp": pyarrow.array([None if value == "NA" else value for value in columns[2]]).cast(pyarrow.decimal128(9, 1)),
            "load": [int(value) for value in columns[3]],
            "level": [float(value) for value in columns[4]],
        }
    )
    pyarrow.parquet.write_table(tables, path, row_group_size=group)


def test_a_device_does_not_send_texts_that_its_owner_rejects(edge):
    """A row of clear texts beyond a mebibyte is refused before it is encrypted; one just below is taken in."""
    rows = make_rows(random.Random(61), 40)
    rows[7][0] = "x" * (1 << 20)
    write_parquet(edge.directory / "rows.parquet", rows)
    assert edge.run("rows.parquet", "--to", "T")["delivered"] == 1
    # Alone in its delivery, so other rows cannot make up for it.
    write_parquet(edge.directory / "one.parquet", rows[7:8])
    assert edge.run("one.parquet", "--to", "T", spool="one")["delivered"] == 1
    accepted = edge.accept()
    assert (accepted["deliveries"], accepted["rows"], accepted["rejected"]) == (2, 41, []), accepted["rejected"]
    rows[7][0] += "y"
    write_parquet(edge.directory / "long.parquet", rows)
    complaint = edge.run("long.parquet", "--to", "T", spool="long", status=8)
    assert "HUSH-G010" in complaint and "row 8 of the chunk have 1048577 bytes" in complaint and "at most 1048576" in complaint
    assert "xxx" not in complaint
    assert not list((edge.directory / "T" / "deliveries").glob("*.delivery"))


def test_long_lines_are_delivered_before_they_are_a_chunk(edge):
    """Any number of rows of a mebibyte is sent in files that the owner takes in."""
    rows = make_rows(random.Random(62), 100)
    for row in rows:
        row[0] = row[0] * 999_000
    write_csv(edge.directory / "rows.csv", rows)
    account = edge.run("rows.csv", "--to", "T")
    assert account["rows"] == 100 and account["chunks"] == account["flushed"] == 2
    accepted = edge.accept()
    assert (accepted["rows"], accepted["rejected"]) == (100, [])


def doctor(edge, *arguments):
    """The report of the device's own program on its machine."""
    command = [binary("hush-edge"), "doctor", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=edge.directory, env=edge.hush.environment).stdout


def ended(edge, number, chunks):
    """Starts the delivery of a file into a spool with room for so many more chunks, and ends it when the spool is full."""
    process = edge.start("rows.parquet", "--spool-limit", f"{chunks}MB")
    until = time.monotonic() + 60
    while len(edge.waiting()) < chunks:
        assert time.monotonic() < until and process.poll() is None
        time.sleep(0.01)
    process.send_signal(number)
    process.communicate()
    assert chunks <= len(edge.waiting()) < 4


def test_a_parquet_file_is_delivered_once_whatever_ends_it(edge):
    rows = make_rows(random.Random(31), 30_000)
    write_parquet(edge.directory / "rows.parquet", rows)
    edge_bytes = edge.run("rows.parquet", spool="whole")["bytes"]
    # A chunk takes between one and two megabytes: so many are in the spool when it is full.
    assert 1_000_000 < edge_bytes / (30_000 / 8192) < 2_000_000
    ended(edge, signal.SIGKILL, 1)
    ended(edge, signal.SIGTERM, 2)
    left = edge.run("rows.parquet", "--to", "T")
    assert 30_000 % 8192 <= left["rows"] < 30_000 and left["waiting"] == 0
    assert edge.run("rows.parquet", "--to", "T")["rows"] == 0
    edge.accept()
    same(edge.decrypted(), own_rows() + rows)


def test_a_parquet_file_that_was_written_again_is_another(edge):
    path, sent = edge.directory / "rows.parquet", []
    for count in (10_000, 10_000, 20_000):
        rows = make_rows(random.Random(len(sent)), count)
        if path.exists():
            # In place: the same number in the file system.
            write_parquet(edge.directory / "next.parquet", rows)
            path.write_bytes((edge.directory / "next.parquet").read_bytes())
        else:
            write_parquet(path, rows)
        assert edge.run("rows.parquet", "--to", "T")["rows"] == count
        assert edge.run("rows.parquet", "--to", "T")["rows"] == 0
        sent += rows
    # Lines in the place of a table begin at their first byte, and a table in the place of lines at its first row.
    rows = make_rows(random.Random(77), 9000)
    write_csv(path, rows)
    assert edge.run("rows.parquet", "--to", "T")["rows"] == 9000
    write_parquet(edge.directory / "next.parquet", rows)
    path.write_bytes((edge.directory / "next.parquet").read_bytes())
    assert edge.run("rows.parquet", "--to", "T")["rows"] == 9000
    edge.accept()
    same(edge.decrypted(), own_rows() + sent + rows + rows)


def test_a_parquet_file_is_no_stricter_than_lines(edge):
    text = (edge.directory / "t.schema.toml").read_text(encoding="utf-8").replace("max_rows = 10000000", "max_rows = 100")
    (edge.directory / "t.schema.toml").write_text(text, encoding="utf-8")
    edge.hush("encrypt", "own.csv", "-o", "few", "--schema", "t.schema.toml", *edge.key)
    edge.device("few.key", "few")
    rows = make_rows(random.Random(34), 200)
    write_parquet(edge.directory / "rows.parquet", rows)
    assert edge.run("rows.parquet", key="few.key")["rows"] == 200
    table = pyarrow.parquet.read_table(edge.directory / "rows.parquet")
    pyarrow.parquet.write_table(table.slice(0, 0), edge.directory / "none.parquet")
    assert edge.run("none.parquet", key="few.key")["rows"] == 0


def test_a_pipe_is_read_as_lines(edge):
    rows = make_rows(random.Random(35), 300)
    os.mkfifo(edge.directory / "pipe")
    process = edge.start("pipe", "--to", "T")
    write_csv(edge.directory / "pipe", rows)
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    edge.accept()
    same(edge.decrypted(), own_rows() + rows)


def test_what_has_no_lines_is_not_followed(edge):
    write_parquet(edge.directory / "rows.parquet", make_rows(random.Random(33), 10))
    for flag in ("--follow", "--messages"):
        assert flag in edge.run("rows.parquet", flag, status=2)
    (edge.directory / "bad.parquet").write_bytes((edge.directory / "rows.parquet").read_bytes()[:200])
    assert "HUSH-D003" in edge.run("bad.parquet", status=8)
    assert not edge.waiting()


def test_a_device_says_what_it_can_carry(edge):
    found = json.loads(doctor(edge, "--json"))
    assert len(found["rings"]) == SETS
    for ring in found["rings"]:
        assert ring["column_s"] > 0 and ring["column_memory_bytes"] > ring["value_bytes"] * 8192
    text = doctor(edge)
    assert len(re.findall(r"^ +\d+ +\d+ bit", text, re.MULTILINE)) == SETS, text
    same_machine = json.loads(edge.hush("doctor", "--device", "--json").stdout)
    assert [ring["params"] for ring in same_machine["rings"]] == [ring["params"] for ring in found["rings"]]
    assert "--calibrate" in edge.hush("doctor", "--device", "--calibrate", status=2).stderr


def peak_of_gateway(edge):
    """The most memory that the program has taken when it has delivered the three chunks of a file."""
    process = edge.start("wide.csv", "--follow", "--flush-after", "0.1", "--to", "W", key="wide.key")
    deliveries = edge.directory / "W" / "deliveries"
    until = time.monotonic() + 60
    while not deliveries.exists() or len(list(deliveries.glob("*.delivery"))) < 3:
        assert time.monotonic() < until and process.poll() is None
        time.sleep(0.05)
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
    process.terminate()
    process.communicate()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024


@pytest.mark.parametrize("count", [1, 6, 24])
def test_a_schema_is_fitted_to_a_device_and_keeps_what_was_said(edge, count):
    draw = random.Random(count)
    names = [f"x{place}" for place in range(count)]
    lines = [",".join(["site", *names])]
    lines += [",".join([draw.choice("abc"), *(str(draw.randrange(10**6)) for _ in names)]) for _ in range(20_000)]
    (edge.directory / "wide.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (edge.directory / "device.json").write_text(doctor(edge, "--json"), encoding="utf-8")
    said = edge.hush("init", "wide.csv", "--sensitive", ",".join(names), "--clear", "site", "--target", "edge", "--device", "device.json").stderr
    columns = int(re.search(r"(\d+) encoded columns", said)[1])
    predicted = int(re.search(r"(\d+) MB of memory", said)[1]) * 1e6
    row_bytes = int(re.search(r"(\d+) bytes of ciphertext a row", said)[1])
    schema = edge.directory / "wide.schema.toml"
    text = schema.read_text(encoding="utf-8")
    assert "edge = true" in text
    # Parameters for a million rows hold more, and that costs nothing.
    assert int(re.search(r"max_rows = ([0-9_]+)", text)[1].replace("_", "")) >= 10**6
    approve(schema)
    edge.hush("encrypt", "wide.csv", "-o", "W", "--schema", schema, *edge.key)
    edge.device("wide.key", "W")
    assert len(json.loads((edge.directory / "wide.key").read_text(encoding="utf-8"))["encodings"]) == columns
    before = {entry.name for entry in (edge.directory / "W" / "parts").iterdir()}
    found = peak_of_gateway(edge)
    assert predicted / 2 < found <= predicted, f"{found} of {predicted}"
    # Chunks have the predicted bytes and the overhead of a file; the last chunk is not full.
    parts = edge.directory / "W" / "parts"
    own = {entry.name for entry in parts.iterdir()} - before
    sizes = sorted(path.stat().st_size for path in parts.glob("*.enc.parquet") if path.name in own)
    assert len(sizes) == 3
    for size in sizes[-2:]:
        assert 8192 * (row_bytes - 1) <= size <= 8192 * (row_bytes + 1) + 4000 * columns
    edge.accept("W")
    total = edge.hush("query", "W", f"SELECT SUM({names[-1]}) AS s FROM wide", "--format", "csv", *edge.key).stdout
    assert int(total.splitlines()[1]) == 2 * sum(int(line.rsplit(",", 1)[1]) for line in lines[1:])


def test_a_table_that_a_device_cannot_carry_is_refused(edge):
    capacity = json.loads(doctor(edge, "--json"))
    path = edge.directory / "device.json"

    def init(memory, status=0):
        path.write_text(json.dumps({**capacity, "memory_bytes": memory}), encoding="utf-8")
        return edge.hush("init", "own.csv", "-o", "-", "--sensitive", "temp,load,level", "--clear", "site,day", "--target", "edge", "--device", path, status=status)

    whole = init(10**9)
    assert "variances are left out" not in whole.stderr and '"stddev"' in whole.stdout
    assert "seal" not in whole.stdout
    nothing = edge.hush("init", "own.csv", "-o", "-", "--sensitive", "site", "--clear", "day,temp,load,level", "--target", "edge", "--device", path)
    assert "No column is encrypted" in nothing.stderr and "max_rows = 1000000 " in nothing.stdout
    assert '"decide"' in nothing.stdout.lower() and "# seal" not in nothing.stdout
    needed = int(re.search(r"(\d+) MB of memory", whole.stderr)[1]) * 10**6
    less = init(needed - 10**6)
    assert "variances are left out" in less.stderr and '"stddev"' not in less.stdout
    assert "HUSH-C063" in init(19 * 10**6, status=6).stderr
    huge = json.dumps({**capacity, "rings": [{**ring, "column_memory_bytes": 2**64 - 1} for ring in capacity["rings"]]})
    path.write_text(huge, encoding="utf-8")
    assert "no time or size" in edge.hush("init", "own.csv", "-o", "-", "--target", "edge", "--device", path, status=2).stderr
    assert "too long" in edge.hush("init", "own.csv", "-o", "-", "--target", "edge", "--device", "/dev/zero", status=2).stderr
    path.write_text("{}", encoding="utf-8")
    assert "hush-edge doctor" in edge.hush("init", "own.csv", "-o", "-", "--target", "edge", "--device", path, status=2).stderr
    assert "--target" in edge.hush("init", "own.csv", "-o", "-", "--device", path, status=2).stderr


@pytest.mark.slow
@pytest.mark.parametrize("name, most", [("hush-edge-csv", 8_000_000), ("hush-edge", 14_000_000)])
def test_the_program_for_devices_is_small_and_works(hush, key, tmp_path, name, most):
    """What `make edge` builds; `make test-slow` does so before."""
    program = pathlib.Path(os.environ["HUSH_EDGE_BIN"]) / name
    assert program.stat().st_size < most
    edge = Edge(hush, key, tmp_path, own_rows())
    shutil.copy(program, tmp_path / "hush-edge")
    edge.program = tmp_path / "hush-edge"
    rows = make_rows(random.Random(41), 9000)
    write_csv(tmp_path / "rows.csv", rows)
    write_parquet(tmp_path / "rows.parquet", rows)
    for processor in ({}, {"HUSH_CPU": "scalar"}):
        environment = {**hush.environment, **processor}
        assert edge.run("rows.csv", "--to", "T", spool=f"S{len(processor)}", env=environment)["delivered"] == 2
    if name == "hush-edge-csv":
        assert "HUSH-D002" in edge.run("rows.parquet", "--to", "T", spool="P", status=8)
        expected = own_rows() + rows + rows
    else:
        assert edge.run("rows.parquet", "--to", "T", spool="P")["delivered"] == 2
        expected = own_rows() + rows + rows + rows
    edge.accept()
    same(edge.decrypted(), expected)
