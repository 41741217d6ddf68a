# SPDX-License-Identifier: Apache-2.0
"""What a device can carry, schemas fitted to it, Parquet files as its input, and the small builds of its program."""

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
from test_edge import Edge, make_rows, own_rows, same, write_csv

SETS = 7


@pytest.fixture
def edge(hush, small_key, tmp_path):
    """A table with a hundred rows of its owner, and a device."""
    return Edge(hush, small_key, tmp_path, own_rows())


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


def doctor(edge, *arguments):
    """What the device's own program says of its machine."""
    command = [binary("hush-edge"), "doctor", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=edge.directory, env=edge.hush.environment).stdout


def test_a_parquet_file_is_delivered_once_whatever_ends_it(edge):
    rows = make_rows(random.Random(31), 30_000)
    write_parquet(edge.directory / "rows.parquet", rows)
    for moment in (0.0, 0.05, 0.1, 0.2):
        process = edge.start("rows.parquet", "--to", "T")
        time.sleep(moment)
        process.send_signal(signal.SIGKILL if moment == 0.1 else signal.SIGTERM)
        process.communicate()
    left = edge.run("rows.parquet", "--to", "T")
    assert left["rows"] % 8192 in (0, 30_000 % 8192) and left["waiting"] == 0
    assert edge.run("rows.parquet", "--to", "T")["rows"] == 0
    # Another file under the name is another input.
    more = make_rows(random.Random(32), 10)
    write_parquet(edge.directory / "more.parquet", more)
    (edge.directory / "more.parquet").replace(edge.directory / "rows.parquet")
    assert edge.run("rows.parquet", "--to", "T")["rows"] == 10
    edge.accept()
    same(edge.decrypted(), own_rows() + rows + more)


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
    while not deliveries.exists() or len(list(deliveries.iterdir())) < 3:
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
    said = edge.hush("init", "wide.csv", "--sensitive", ",".join(names), "--target", "edge", "--device", "device.json").stderr
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
    found = peak_of_gateway(edge)
    assert predicted / 2 < found <= predicted, f"{found} of {predicted}"
    # Two full chunks and one that is not, and clear columns beside them.
    stored = sum(path.stat().st_size for path in (edge.directory / "W" / "parts").glob("*.enc.parquet"))
    owner = sum(path.stat().st_size for path in (edge.directory / "W" / "deliveries").iterdir())
    assert owner > 0 and stored > 2 * 8192 * (row_bytes - 1)
    edge.accept("W")
    total = edge.hush("query", "W", f"SELECT SUM({names[-1]}) AS s FROM wide", "--format", "csv", *edge.key).stdout
    assert int(total.splitlines()[1]) == 2 * sum(int(line.rsplit(",", 1)[1]) for line in lines[1:])


def test_a_table_that_a_device_cannot_carry_is_refused(edge):
    capacity = json.loads(doctor(edge, "--json"))
    path = edge.directory / "device.json"

    def init(memory, status=0):
        path.write_text(json.dumps({**capacity, "memory_bytes": memory}), encoding="utf-8")
        return edge.hush("init", "own.csv", "-o", "-", "--sensitive", "temp,load,level", "--target", "edge", "--device", path, status=status)

    whole = init(10**9)
    assert "variances are left out" not in whole.stderr and '"stddev"' in whole.stdout
    needed = int(re.search(r"(\d+) MB of memory", whole.stderr)[1]) * 10**6
    less = init(needed - 10**6)
    assert "variances are left out" in less.stderr and '"stddev"' not in less.stdout
    assert "HUSH-C063" in init(19 * 10**6, status=6).stderr
    path.write_text("{}", encoding="utf-8")
    assert "hush-edge doctor" in edge.hush("init", "own.csv", "-o", "-", "--target", "edge", "--device", path, status=2).stderr
    assert "--target" in edge.hush("init", "own.csv", "-o", "-", "--device", path, status=2).stderr


@pytest.mark.slow
@pytest.mark.parametrize("name, most", [("hush-edge-csv", 8_000_000), ("hush-edge", 14_000_000)])
def test_the_program_for_devices_is_small_and_works(hush, small_key, tmp_path, name, most):
    """What `make edge` builds; `make test-slow` does so before."""
    program = pathlib.Path(os.environ["HUSH_EDGE_BIN"]) / name
    assert program.stat().st_size < most
    edge = Edge(hush, small_key, tmp_path, own_rows())
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
