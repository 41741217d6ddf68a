# SPDX-License-Identifier: Apache-2.0
"""What a server has, and tables to it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from . import _hushtable
from ._data import Path
from ._errors import HushWarning


@dataclass(frozen=True)
class Listed:
    """A table in a server's list: its claim, until the table is opened."""

    table: str
    version: int
    rows: int
    bytes: int
    key: str


@dataclass(frozen=True)
class Pushed:
    """What a push did."""

    #: Where ``open`` finds the table now.
    url: str
    version: int
    parts_sent: int
    parts_present: int
    bytes_sent: int


def push(directory: Path, server: str, *, token_file: Path | None = None, replace: bool = False) -> Pushed:
    """Copies a table to a server or an object store: ciphertext, clear columns and the signed manifest. Broken off and called again,
    it continues. A version that keeps all rows of the one that is there goes without more.

    Args:
        directory: the table's directory, or its address in an object store.
        server: for instance ``https://host:7373``, or ``s3://lake/patients``.
        token_file: the file with the server's API token.
        replace: whether the rows that are there are replaced by these.

    Warns:
        HushWarning: rows were replaced: how many there were, and how many there are.
    """
    return uploaded(directory, server, token_file, replace, stacklevel=3)


def uploaded(directory: Path, server: str, token_file: Path | None, replace: bool, stacklevel: int) -> Pushed:
    """Pushes; warns at the line of the caller of so many levels above."""
    done = _hushtable.push(directory, server, token_file, replace)
    replaced = done.pop("replaced")
    if replaced is not None:
        warnings.warn(replaced, HushWarning, stacklevel=stacklevel)
    return Pushed(**done)


def ls(server: str, *, token_file: Path | None = None) -> list[Listed]:
    """The tables of a server, or one level below a prefix of an object store."""
    return [Listed(**table) for table in _hushtable.ls(server, token_file)]


def drop(url: str, *, token_file: Path | None = None) -> None:
    """Deletes the table at ``SERVER/tables/NAME`` or ``SCHEME://BUCKET/PREFIX`` for good: all its versions, and deliveries of devices that
    wait. In a bucket, whatever else lies below the prefix goes too.

    Args:
        token_file: the file with the server's API token.

    Raises:
        HushError: there is no such table, or the server or the object store refuses.
    """
    _hushtable.drop_table(url, token_file)


def is_url(place: Path) -> bool:
    """Whether a place is on a server."""
    return _hushtable.is_server(place)
