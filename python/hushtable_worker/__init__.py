# SPDX-License-Identifier: Apache-2.0
"""One worker of many on one table of Hushtable: evaluates some parts, and combines partial answers. Needs no key.

    import hushtable_worker as worker

    sizes = worker.part_sizes(place, plan)                      # (rows, bytes that the plan needs) of each part
    partials = [worker.run_parts(place, plan, first, end) for first, end in worker.cut(sizes, 8)]
    answer = worker.finish(place, plan, partials)

The plan comes from the table's owner, and the answer goes back there (``Table.prepare`` of the package ``hushtable``). What lies between
is yours: ``hushtable_worker.spark`` is one way. Engines are kept for the life of the process, by place and number of threads: a
second plan finds verified files and the sums of whole parts. All functions block, and release the interpreter's lock.

``hushtable_worker.device`` encrypts rows for a table, with a device's key.

Every error is a :class:`WorkerError` with the place and a stable ``code``.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence

from ._errors import WorkerError
from ._hushtable_worker import Worker


@functools.lru_cache(maxsize=8)
def _worker(place: str, threads: int) -> Worker:
    return Worker(place, threads)


def part_sizes(place: str, plan: bytes) -> list[tuple[int, int]]:
    """Of each part, in order: its rows, and the bytes of it that the plan needs (its encoded columns, and all clear ones).

    Raises:
        WorkerError: no table is there; the plan was made for another version of it (HUSH-E031).
    """
    return _worker(place, 1).part_sizes(plan)


def cut(sizes: Sequence[tuple[int, int]], pieces: int) -> list[tuple[int, int]]:
    """Cuts parts into at most so many runs ``(first, end)`` of neighbours, with about as many bytes each. A table without parts
    has one run, which is empty."""
    # A part costs something even if the plan needs no byte of it.
    total = sum(size + 1 for _, size in sizes)
    runs: list[tuple[int, int]] = []
    first, done = 0, 0
    for end, (_, size) in enumerate(sizes, 1):
        done += size + 1
        # A run ends where its share of all bytes is reached, and at the last part.
        if end == len(sizes) or done * pieces >= total * (len(runs) + 1):
            runs.append((first, end))
            first = end
    return runs or [(0, 0)]


def run_parts(place: str, plan: bytes, first: int, end: int, *, threads: int = 1) -> bytes:
    """The partial answer of the parts ``first`` to ``end - 1``, counted from 0. The same bytes wherever and however often it runs.

    Raises:
        WorkerError: as ``part_sizes``; damage; a limit.
    """
    return _worker(place, threads).run_parts(plan, first, end)


def combine(place: str, plan: bytes, partials: Iterable[bytes], *, threads: int = 1) -> bytes:
    """The partial answer that covers what these cover, in any order. Takes them one at a time.

    Raises:
        WorkerError: two cover the same parts (HUSH-E073), unless they are equal; one is damaged, of another plan or of another version.
    """
    return _worker(place, threads).combine(plan, iter(partials))


def finish(place: str, plan: bytes, partials: Iterable[bytes], *, threads: int = 1) -> bytes:
    """The answer that these partial answers give together, for the owner: the bytes of one machine.

    Raises:
        WorkerError: as ``combine``; parts are missing (HUSH-E074).
    """
    return _worker(place, threads).finish(plan, iter(partials))


__all__ = ["Worker", "WorkerError", "combine", "cut", "finish", "part_sizes", "run_parts"]
