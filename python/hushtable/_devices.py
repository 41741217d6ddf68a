# SPDX-License-Identifier: Apache-2.0
"""The owner's side of devices: keys that encrypt and decrypt nothing, and the rows that come of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from . import _hushtable
from ._data import Path
from ._keys import Key, require_key


@dataclass(frozen=True)
class Rejected:
    """A delivery that was not taken in."""

    #: Its name, by which it can be discarded.
    delivery: str
    device: str
    #: Rows that it claims to have.
    rows: int
    #: Its fault.
    why: str


@dataclass(frozen=True)
class Accepted:
    """Deliveries that were taken in, and those that were not."""

    #: Deliveries that are in the table now, and their rows.
    deliveries: int
    rows: int
    #: The table's version and rows now.
    version: int
    table_rows: int
    #: Deliveries that still wait: faulty ones, those behind them, and those for the table before it was encrypted again.
    waiting: int
    #: Deliveries of a job of which another run was taken before; they stay out.
    repeated: int
    #: The faulty ones, the first thousand.
    rejected: list[Rejected]


def device_key(place: Path, out: Path, *, keys: Key, token_file: Path | None = None) -> str:
    """Makes the key of a new device for a table with ``edge = true`` in its schema, and writes it to ``out``, mode 0600. It encrypts and
    signs rows, and decrypts nothing; it holds the schema in the clear.

    Returns:
        The device's name, by which ``hush edge revoke`` shuts it out.

    Raises:
        UsageError: the table leaves no room for devices; ``out`` exists.
    """
    return _hushtable.device_key(place, token_file, require_key(keys), out)


def accept(place: Path, *, keys: Key, token_file: Path | None = None, discard: Sequence[str] = ()) -> Accepted:
    """Takes what devices have delivered into the next version of the table, after decrypting and checking all of it. Tables that are open
    keep their version: open them again.

    Args:
        place: a directory, ``SERVER/tables/NAME``, or an address in an object store.
        discard: names of faulty deliveries that go for good.

    Raises:
        HushError: the table cannot be read or written, or another version was made at the same time. Call it again.
    """
    found = _hushtable.accept(place, token_file, require_key(keys), list(discard))
    return Accepted(**{**found, "rejected": [Rejected(**one) for one in found["rejected"]]})
