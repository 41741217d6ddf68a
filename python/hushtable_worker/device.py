# SPDX-License-Identifier: Apache-2.0
"""Rows that many tasks encrypt with one device's key, for a table in a directory or an object store. Such a key decrypts nothing.

    from hushtable_worker import device

    run = device.begin(place, key, "2026-11-24")                          # once; None if this job was announced before
    deliveries = device.encrypt(place, key, run, attempt, batches)        # in each task: Arrow batches, of any sizes
    device.announce(place, key, [*deliveries_of_all_tasks])               # once: now the owner can accept the rows

A task may run again, also twice at once, if every attempt has a number of its own: announce the deliveries of one attempt at each task.
What others have left are parts that nothing names. All deliveries of a job are announced at once, or none of them; and one run of a job is
counted, however often it is run, because it names the job. ``hushtable_worker.spark.encrypt`` does all this.

Every error is a ``WorkerError`` with the place and a stable ``code``.
"""

from __future__ import annotations

import functools
import io
import os
from collections.abc import Iterable, Sequence

import pyarrow as pa

from ._hushtable_worker import Device, read_device_key


@functools.lru_cache(maxsize=8)
def _device(place: str, key: bytes) -> Device:
    return Device(place, key)


def read_key(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a device's key file, to be handed to tasks. Whoever has them can add rows in the device's name, and reads the schema.

    Raises:
        WorkerError: no such file (HUSH-G001); other users can read it, or it is no device's key (HUSH-G003).
    """
    return read_device_key(path)


def columns(place: str, key: bytes) -> list[tuple[str, bool]]:
    """The columns of the table's schema, in order, and of each whether rows must have it. The others are dropped.

    Raises:
        WorkerError: no table is there; the key is damaged.
    """
    return _device(place, key).columns()


def begin(place: str, key: bytes, job: str) -> bytes | None:
    """A run of the job of this name, for its tasks; ``None`` if this device has announced the job before.

    Raises:
        WorkerError: no table is there, or another than the key's; the device was revoked (HUSH-T060).
    """
    return _device(place, key).begin(job)


def encrypt(place: str, key: bytes, run: bytes, attempt: int, batches: Iterable[pa.RecordBatch]) -> list[bytes]:
    """The work of a task: encrypts its rows and stores them, as parts that nothing names yet. Gives the deliveries that would take them
    in, signed, some 700 bytes for half a million rows; none for no rows. One thread, and memory for one part: about 100 MB.

    Args:
        run: what ``begin`` gave.
        attempt: a number below 2^32 that no other attempt in this run has, at this task or another.
        batches: rows, with the columns of the table in any order.

    Raises:
        WorkerError: a row that the schema does not allow, without its value; what the store refused.
    """
    task = _device(place, key).task(run, attempt)
    for batch in batches:
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
        task.push(sink.getvalue())
    return task.finish()


def announce(place: str, key: bytes, deliveries: Sequence[bytes]) -> tuple[int, bool]:
    """Announces the deliveries of one attempt at each task of a run, all or none: they wait for the owner now (``hushtable.accept``). Once
    more with the same ones changes nothing.

    Returns:
        Their rows, and whether they were announced by this call.

    Raises:
        WorkerError: another run of the job was announced meanwhile, or the deliveries are not of one run (HUSH-T060); a part is
            gone, because the job took more than a day and the table was tidied meanwhile (HUSH-T030): run it again.
    """
    return _device(place, key).announce(list(deliveries))


__all__ = ["announce", "begin", "columns", "encrypt", "read_key"]
