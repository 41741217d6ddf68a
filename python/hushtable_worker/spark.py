# SPDX-License-Identifier: Apache-2.0
"""A plan evaluated by the executors of a Spark cluster, without a key.

    answer = hushtable_worker.spark.evaluate(spark, "s3://lake/patients", plan)

Tasks carry the place, the plan and numbers of parts; executors read the table themselves, so every executor must see the place, and have
the package ``hushtable_worker``. DataFrames alone are used, and so Spark Connect serves too. Spark 3.5 and 4.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from . import combine, cut, finish, part_sizes, run_parts
from ._errors import WorkerError, in_text

#: Bytes that a plan needs of the parts of one task.
TASK_BYTES = 256 << 20
#: Tasks for each place where one runs at a time, so that a slow one does not keep all others waiting.
WAVES = 2
#: Partial answers that are combined in one place.
FAN_IN = 16

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


__all__ = ["FAN_IN", "TASK_BYTES", "WAVES", "combined_answers", "evaluate", "partial_answers"]
