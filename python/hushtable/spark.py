# SPDX-License-Identifier: Apache-2.0
"""Tables asked by a Spark cluster, which gets no key, and rows encrypted there, with a key that decrypts nothing. Needs
``pip install hushtable[spark]``.

    result = ht.spark.query(spark, "s3://lake/patients", "SELECT ward, AVG(age) FROM patients GROUP BY ward", keys=key)
    ht.spark.encrypt(frame, "s3://lake/patients", "device.key", job="2026-11-24")

The owner's key stays in this process. Where Spark's driver is not the owner's, the three steps run apart: ``plan`` (owner), ``evaluate``
(whoever has the cluster; ``hushtable_worker.spark.evaluate`` where this package is not installed) and ``finish`` (owner).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ._data import Path
from ._errors import HushError, of_kind, usage
from ._keys import Key
from ._prepared import Prepared
from ._result import Result
from ._table import open as open_table

try:
    import hushtable_worker.spark as _worker
    from hushtable_worker import WorkerError
    from hushtable_worker.spark import Encrypted
except ImportError as missing:
    raise usage("hushtable_worker is not installed\n  Way out: pip install hushtable[spark]") from missing

#: The code of an answer with more groups than its plan adds up.
_TOO_MANY_GROUPS = "HUSH-E040"


def plan(place: Path, sql: str, *, keys: Key, way: str | None = None, hide: Sequence[str] = ()) -> Prepared:
    """Plans a question on the table at ``place``. The owner's part; no cluster is needed.

    ``way``, ``hide``: as in ``ht.open``.

    Raises:
        RefusedError: the query cannot be answered, or not by this way, or not without showing what is to be hidden.
    """
    return open_table(place, keys=keys, way=way, hide=hide).prepare(sql)


def evaluate(spark: Any, place: Path, plan: bytes, *, tasks: int | None = None) -> bytes:
    """The answer to a plan (``Prepared.plan``), computed by the executors. Needs no key: see ``hushtable_worker.spark.evaluate``.

    Raises:
        HushError: what a worker refused or failed at, with the place. What Spark reports besides is its ``__cause__``.
    """
    with _errors():
        return _worker.evaluate(spark, str(place), plan, tasks=tasks)


def finish(prepared: Prepared, answer: bytes, *, release: int | None = None) -> Result:
    """Opens an answer. The owner's part; see ``Prepared.finish``."""
    return prepared._finish(answer, release)


def query(
    spark: Any,
    place: Path,
    sql: str,
    *,
    keys: Key,
    way: str | None = None,
    hide: Sequence[str] = (),
    tasks: int | None = None,
    release: int | None = None,
) -> Result:
    """Asks a question: plans, evaluates on the executors, opens the answer. The key stays in this process.

    Args:
        spark: a ``SparkSession``, of Spark Connect too.
        place: the table's place, as the executors and this process see it.
        way, hide: as in ``ht.open``.
        tasks: as in ``hushtable_worker.spark.evaluate``.
        release: as in ``Table.sql``.

    A question of more groups than one plan adds up is asked a second time, for its rows, as ``Table.sql`` does.

    Raises:
        RefusedError: the query cannot be answered; nothing was sent.
        HushError: of another kind, if something fails.
    """
    prepared = plan(place, sql, keys=keys, way=way, hide=hide)
    try:
        answer = evaluate(spark, place, prepared.plan, tasks=tasks)
    except HushError as error:
        gathered = prepared.gathered() if error.code == _TOO_MANY_GROUPS else None
        if gathered is None:
            raise
        prepared, answer = gathered, evaluate(spark, place, gathered.plan, tasks=tasks)
    return prepared._finish(answer, release)


def encrypt(frame: Any, place: Path, device_key: Path | bytes, *, job: str | None = None) -> Encrypted:
    """Encrypts the rows of a DataFrame on the executors, with a device's key (``ht.device_key``), which decrypts nothing. The rows wait
    for you afterwards (``ht.accept``): all of them, once. See ``hushtable_worker.spark.encrypt``.

    Raises:
        HushError: what a task refused or failed at, with the place. Nothing has been added then. What Spark reports besides is its
            ``__cause__``.
    """
    with _errors():
        return _worker.encrypt(frame, str(place), device_key, job=job)


@contextmanager
def _errors() -> Iterator[None]:
    """A worker's error as one of this package."""
    try:
        yield
    except WorkerError as error:
        raise of_kind(error.kind, error.code, f"{error.place}: {error.message}") from error.__cause__


__all__ = ["Encrypted", "encrypt", "evaluate", "finish", "plan", "query"]
