# SPDX-License-Identifier: Apache-2.0
"""A plan evaluated by the executors of a Spark cluster, without a key; and rows encrypted by them, with a device's key.

    answer = hushtable_worker.spark.evaluate(spark, "s3://lake/patients", plan)
    done = hushtable_worker.spark.encrypt(frame, "s3://lake/patients", "device.key", job="2026-11-24")

Tasks carry the place, the plan and numbers of parts; executors read the table themselves, so every executor must see the place, and have
the package ``hushtable_worker``. DataFrames alone are used, and so Spark Connect serves too. Spark 3.5 and 4.
"""

from __future__ import annotations

import functools
import math
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from . import combine, cut, device, finish, part_sizes, run_parts
from ._errors import WorkerError, in_text

#: Bytes that a plan needs of the parts of one task.
TASK_BYTES = 256 << 20
#: Tasks for each place where one runs at a time, so that a slow one does not keep all others waiting.
WAVES = 2
#: Partial answers that are combined in one place.
FAN_IN = 16

_DELIVERY = "delivery binary"
_DELIVERY_SCHEMA = pa.schema([pa.field("delivery", pa.binary())])
_ANSWER = "answer binary"
_ANSWER_SCHEMA = pa.schema([pa.field("answer", pa.binary())])
_RECORDS = "spark.sql.execution.arrow.maxRecordsPerBatch"


def evaluate(spark: Any, place: str, plan: bytes, *, tasks: int | None = None) -> bytes:
    """The answer to a plan, computed by the executors: the bytes that one machine would give.

    Args:
        spark: a ``SparkSession``, of Spark Connect too.
        place: the table's place, as the executors and this process see it.
        plan: ``Prepared.plan`` of the owner, or ``hushtable.spark.plan(...).plan``.
        tasks: how many tasks; by default one for each 256 MB that the plan needs, and at least two for each of the session's default
            partitions. Never more than the table has parts.

    While it runs, ``spark.sql.execution.arrow.maxRecordsPerBatch`` of the session is 1: an answer may be large, and batches of Arrow
    are held whole.

    Raises:
        WorkerError: the worst that a worker said, with the place and a code. What Spark reports besides is its ``__cause__``.
    """
    # Executors work in directories of their own.
    place = place if "://" in place else os.path.abspath(place)
    sizes = part_sizes(place, plan)
    count = tasks or max(WAVES * _default_partitions(spark), math.ceil(sum(size for _, size in sizes) / TASK_BYTES))
    runs = cut(sizes, max(count, 1))
    frame = spark.range(0, len(runs), 1, len(runs)).mapInArrow(functools.partial(partial_answers, place, plan, runs), _ANSWER)
    left = len(runs)
    while left > FAN_IN:
        left = math.ceil(left / FAN_IN)
        frame = frame.repartition(left).mapInArrow(functools.partial(combined_answers, place, plan), _ANSWER)
    with _one_record_a_batch(spark), _errors_of_workers(place):
        rows = frame.collect()
    return finish(place, plan, (bytes(row.answer) for row in rows), threads=os.cpu_count() or 1)


@dataclass(frozen=True)
class Encrypted:
    """What became of a job."""

    #: Its name.
    job: str
    #: Rows that wait for the owner now; 0 if the job was announced before.
    rows: int
    #: Parts of them.
    deliveries: int
    #: Whether an earlier run has announced the job: then this one has added nothing.
    announced_before: bool


def encrypt(frame: Any, place: str, device_key: str | os.PathLike[str] | bytes, *, job: str | None = None) -> Encrypted:
    """Encrypts the rows of a DataFrame on the executors, for a table that leaves room for devices. The rows wait for the table's owner
    afterwards: all of them, once, whatever tasks were lost, repeated or run twice.

    Args:
        frame: a ``DataFrame``, of Spark Connect too, with the columns of the table and no others, but for columns that the table drops.
        place: the table's place, as the executors and this process see it: a directory, or an address in an object store.
        device_key: a device's key file, or its bytes. It encrypts and decrypts nothing; executors get it.
        job: the name of these rows, such as their day. A job that this device has announced before is not run again. Without a
            name every call adds its rows.

    Nothing is announced if this process ends before the job does; what the tasks have left is swept a day later. The frame is computed
    once, so it may hold random numbers.

    Raises:
        WorkerError: a row that the schema does not allow, and everything else that a task says, with the place and a code; another run of
            the job was announced meanwhile (HUSH-T060). Nothing has been added then. Spark's own report is its ``__cause__``.
    """
    place = place if "://" in place else os.path.abspath(place)
    key = device_key if isinstance(device_key, bytes) else device.read_key(device_key)
    known = dict(device.columns(place, key))
    wrong = [f"{name}: not in the table" for name in frame.columns if name not in known]
    wrong += [f"{name}: missing" for name, is_needed in known.items() if is_needed and name not in frame.columns]
    if wrong:
        raise WorkerError("Usage", "HUSH-U001", place, f"the frame has other columns than the table ({'; '.join(wrong)}): select those of the table")
    name = secrets.token_hex(16) if job is None else job
    run = device.begin(place, key, name)
    if run is None:
        return Encrypted(name, 0, 0, True)
    wanted = frame.select(*(_quoted(column) for column, is_needed in known.items() if is_needed))
    with _errors_of_workers(place):
        rows = wanted.mapInArrow(functools.partial(encrypted_rows, place, key, run), _DELIVERY).collect()
    deliveries = [bytes(row.delivery) for row in rows]
    count, _ = device.announce(place, key, deliveries)
    return Encrypted(name, count, len(deliveries), False)


def encrypted_rows(place: str, key: bytes, run: bytes, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A task: stores its rows, and gives their deliveries."""
    for delivery in device.encrypt(place, key, run, _attempt(), batches):
        yield pa.RecordBatch.from_arrays([pa.array([delivery], pa.binary())], schema=_DELIVERY_SCHEMA)


def _attempt() -> int:
    """A number that no other attempt at a task of this cluster has."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return secrets.randbits(32) if context is None else int(context.taskAttemptId()) % (1 << 32)


def _quoted(column: str) -> str:
    """A column's name as Spark takes it, whatever letters it has."""
    return "`" + column.replace("`", "``") + "`"


def partial_answers(
    place: str, plan: bytes, runs: list[tuple[int, int]], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """A task: the partial answers of the runs whose numbers it gets. One thread, because Spark gives a task one core."""
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield _record(run_parts(place, plan, *runs[number]))


def combined_answers(place: str, plan: bytes, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A task: one partial answer for all that it gets, none for none."""
    partials = (answer.as_py() for batch in batches for answer in batch.column(0))
    first = next(partials, None)
    if first is not None:
        yield _record(combine(place, plan, _chain(first, partials)))


def _chain(first: bytes, others: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from others


def _record(answer: bytes) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([answer], pa.binary())], schema=_ANSWER_SCHEMA)


def _default_partitions(spark: Any) -> int:
    """The partitions of a frame for which nobody asks for a number: as many as the cluster has cores, unless set otherwise."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except Exception:
        # A session of Spark Connect, or of a platform that closes it off, has no context to ask: a job counts.
        last = spark.range(1 << 16).selectExpr("spark_partition_id() AS number").groupBy().max("number")
        return int(last.collect()[0][0]) + 1


@contextmanager
def _one_record_a_batch(spark: Any) -> Iterator[None]:
    before = spark.conf.get(_RECORDS, None)
    spark.conf.set(_RECORDS, "1")
    try:
        yield
    finally:
        if before is None:
            spark.conf.unset(_RECORDS)
        else:
            spark.conf.set(_RECORDS, before)


@contextmanager
def _errors_of_workers(place: str) -> Iterator[None]:
    """Raises what a worker said, where Spark raises a report of its own that quotes it."""
    try:
        yield
    except WorkerError:
        raise
    except Exception as report:
        error = in_text(str(report), place)
        if error is None:
            raise
        raise error from report


__all__ = ["FAN_IN", "TASK_BYTES", "WAVES", "Encrypted", "combined_answers", "encrypt", "encrypted_rows", "evaluate", "partial_answers"]
