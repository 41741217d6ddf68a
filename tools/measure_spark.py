#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures a question on a table of ROWS rows and four encrypted columns: by Spark on this machine, and by `hush query`.

    HUSH_BIN=DIRECTORY measure_spark.py [ROWS] [CORES] [GROUPS]    by default 1000000, 2 and 8

Prints the terms of the cost model in docs/performance.md, one a line, in the order in which they are measured: the engine on one core and
the combination of partial answers in processor seconds, which other programs on the machine disturb less; then Spark's own time for a task
and for a session. Needs Java and `hushtable[spark]`.
"""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

import hushtable_worker as worker
import measured_table
from measured_table import QUERY

import hushtable as ht

PASSPHRASE = "correct horse battery"
TURNS = 5


def main(rows: int = 1_000_000, cores: int = 2, groups: int = 8) -> None:
    """Prints all."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        key, key_files = owner(directory)
        place = str(directory / "T")
        seconds = measured_table.encrypt(directory, rows, groups, key, place)
        say(f"encrypt {rows} rows, {cores} cores", seconds, "s")
        plan = ht.open(place, keys=key).prepare(QUERY).plan
        engine(place, plan, rows)
        at_home = median(lambda: asked_at_home(place, key_files, cores))
        say(f"hush query --threads {cores}, whole process", at_home, "s")
        spark(place, plan, key, cores, at_home)


def owner(directory: pathlib.Path) -> tuple[ht.Key, list[str]]:
    """A key, and the arguments that open it."""
    passphrase = directory / "passphrase"
    passphrase.write_text(PASSPHRASE + "\n", encoding="utf-8")
    passphrase.chmod(0o600)
    key, files = directory / "k.hushkey", ["--key", str(directory / "k.hushkey"), "--passphrase-file", str(passphrase)]
    subprocess.run([program(), "keygen", "-o", key, *files[2:], "--opens-in", "16MiB"], check=True, capture_output=True)
    return ht.open_key(key, passphrase_file=passphrase), files


def engine(place: str, plan: bytes, rows: int) -> None:
    """The engine on one core: first without, then with what the process has verified; then the combination."""
    sizes = worker.part_sizes(place, plan)
    needed = sum(size for _, size in sizes)
    say("parts", len(sizes), "")
    say("bytes that the question needs", needed / 1e6, "MB")
    run = lambda: worker.run_parts(place, plan, 0, len(sizes))
    first, again = timed(run, time.process_time), median(run, time.process_time)
    say("engine, first time", first, "s of one core")
    say("engine, again", again, f"s of one core = {again / rows * 1e9:.1f} ns a row = {needed / again / 1e6:.0f} MB/s")
    partials = [worker.run_parts(place, plan, part, part + 1) for part in range(len(sizes))]
    say("a partial answer", len(partials[0]) / 1e3, "kB")
    none = median(lambda: worker.combine(place, plan, partials[:1]), time.process_time)
    all_of_them = median(lambda: worker.combine(place, plan, partials), time.process_time)
    say("combination of one", none * 1e3, "ms of one core")
    say(f"of {len(partials)}", all_of_them * 1e3, "ms of one core")


def spark(place: str, plan: bytes, key: ht.Key, cores: int, at_home: float) -> None:
    """A session, empty tasks, and the question."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    begun = time.monotonic()
    builder = SparkSession.builder.master(f"local[{cores}]").config("spark.ui.showConsoleProgress", "false")
    session = builder.config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    started = time.monotonic() - begun
    say(f"Spark {session.version} local[{cores}]: session", started, "s")
    first_task = timed(lambda: empty(session, 1))
    say("first task, which does nothing", first_task, "s")
    ask = lambda: ht.spark.query(session, place, QUERY, keys=key)
    first = timed(ask)
    say("ht.spark.query, first of the session", first, "s")
    say("ht.spark.query, again", median(ask), "s")
    begun_s = started + first_task
    say("all until the first result", begun_s + first, f"s; session, first task, 1.5 times hush query: {begun_s + 1.5 * at_home:.2f} s")
    few, many = median(lambda: empty(session, 10)), median(lambda: empty(session, 210))
    say("one more task", (many - few) / 200 * 1e3 * cores, "ms on one core")
    session.stop()


def empty(session: object, tasks: int) -> None:
    """Tasks that do nothing."""
    session.range(0, tasks, 1, tasks).mapInArrow(lambda batches: batches, "id long").collect()


def asked_at_home(place: str, key_files: list[str], cores: int) -> None:
    """The program, from its start to its end."""
    subprocess.run([program(), "query", place, QUERY, "--threads", str(cores), *key_files], check=True, capture_output=True)


def program() -> str:
    """`hush`."""
    return os.path.join(os.environ["HUSH_BIN"], "hush")


def timed(step: object, clock: object = time.monotonic) -> float:
    """Seconds of one turn."""
    begun = clock()
    step()
    return clock() - begun


def median(step: object, clock: object = time.monotonic) -> float:
    """Seconds, the median of some turns."""
    return statistics.median(timed(step, clock) for _ in range(TURNS))


def say(what: str, number: float, unit: str) -> None:
    """One line."""
    print(f"{what:<50} {number:>10.2f} {unit}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
