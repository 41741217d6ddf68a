# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of devices: a table for devices, one device, and random rows."""

import csv
import json
import pathlib
import random
import subprocess

import pytest

from conftest import binary

SCHEMA = """format = 1
table = "readings"
status = "approved"
approved_by = "test"
null_tokens = ["", "NA"]
max_rows = 10000000
edge = true

[columns.site]
type = "category"
protect = "clear"
[columns.day]
type = "int(8)"
protect = "clear"
[columns.temp]
type = "decimal(8,1)"
range = [-100000, 100000]
nullable = true
protect = "encrypt"
for = ["sum", "avg", "skewness"]
[columns.load]
type = "int(32)"
range = [0, 1000000000]
protect = "encrypt"
[columns.level]
type = "float(3)"
protect = "encrypt"
"""
FIELDS = ["site", "day", "temp", "load", "level"]
# Numbers that no other value contains, one for each encrypted column. Found on a disk, they were plaintext.
CANARIES = ["73019.3", "730191337", "7301.9125"]


def make_rows(draw, count, canary=False):
    """Random rows as texts, some of them without a temperature."""
    rows = []
    for _ in range(count):
        temp = "NA" if draw.random() < 0.1 else f"{draw.randrange(-4000, 6000) / 10:.1f}"
        rows.append([draw.choice("abc"), str(draw.randrange(28)), temp, str(draw.randrange(10**6)), f"{draw.uniform(-9, 9):.4f}"])
    if canary:
        for row in rows[::7]:
            row[2:] = CANARIES
    return rows


def write_csv(path, rows, header=True):
    """Rows as a CSV."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if header:
            writer.writerow(FIELDS)
        writer.writerows(rows)


class Edge:
    """A table for devices, and one device."""

    def __init__(self, hush, key, directory, rows):
        self.hush, self.key, self.directory, self.program = hush, key, directory, binary("hush-edge")
        (directory / "t.schema.toml").write_text(SCHEMA, encoding="utf-8")
        write_csv(directory / "own.csv", rows)
        hush("encrypt", "own.csv", "-o", "T", "--schema", "t.schema.toml", *key)
        self.device()

    def device(self, name="device.key", table="T", *more):
        """Makes a device's key."""
        self.hush("edge", "key", table, "-o", name, *self.key, *more)

    def command(self, *arguments, key="device.key", spool="spool"):
        """The program of devices, with arguments."""
        return [str(argument) for argument in (self.program, *arguments, "--key", key, "--spool", spool)]

    def start(self, *arguments, **options):
        """Starts it in the background."""
        names = {name: options.pop(name) for name in ("key", "spool") if name in options}
        settings = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": self.hush.environment, **options}
        return subprocess.Popen(self.command(*arguments, **names), cwd=self.directory, **settings)

    def run(self, *arguments, status=0, lines=None, **options):
        """Runs it to its end; returns its account (or its complaint)."""
        process = self.start(*arguments, "--json", stdin=subprocess.PIPE if lines is not None else subprocess.DEVNULL, **options)
        out, err = process.communicate(lines)
        assert process.returncode == status, f"status {process.returncode}: {err}"
        return json.loads(out) if status == 0 else err

    def accept(self, table="T", *more):
        """Takes deliveries in."""
        return json.loads(self.hush("edge", "accept", table, "--json", *self.key, *more).stdout)

    def waiting(self):
        """Names of deliveries in the spool."""
        return sorted(path.name for path in (self.directory / "spool").glob("*.delivery"))

    def decrypted(self, table="T", *more):
        """All rows of the table."""
        text = self.hush("decrypt", table, *self.key, *more).stdout
        return list(csv.reader(text.splitlines()))[1:]


@pytest.fixture
def edge(hush, key, tmp_path):
    """A table with a hundred rows of its owner, and a device."""
    return Edge(hush, key, tmp_path, make_rows(random.Random(1), 100))


def own_rows():
    """The owner's rows of that table."""
    return make_rows(random.Random(1), 100)


def same(found, expected):
    """Whether decrypted rows are those written: the float column to its three digits."""
    assert len(found) == len(expected), f"{len(found)} rows, expected {len(expected)}"
    for left, right in zip(found, expected):
        temp = "" if right[2] == "NA" else right[2]
        assert left[:4] == [right[0], right[1], temp, right[3]], f"{left} for {right}"
        assert abs(float(left[4]) - float(right[4])) < 0.5e-3


def no_canary(*places):
    """No file below the places holds a value of a protected column."""
    looked = 0
    for place in places:
        for path in pathlib.Path(place).rglob("*"):
            if path.is_file():
                content, looked = path.read_bytes(), looked + 1
                assert not any(canary.encode() in content for canary in CANARIES), path
    assert looked
