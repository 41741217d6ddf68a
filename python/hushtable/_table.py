# SPDX-License-Identifier: Apache-2.0
"""Tables, keys and schemas."""

from __future__ import annotations

import getpass
import os
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from . import _hushtable
from ._errors import OwnerKeyError, UsageError
from ._expr import Expr
from ._hushtable import Key, Schema
from ._query import Query
from ._result import Leakage, Result

Path = str | os.PathLike[str]
#: A passphrase, or a function that gives one when it is needed, such as ``getpass.getpass``.
Passphrase = str | Callable[[], str]


@dataclass(frozen=True)
class Plan:
    """What a query would do, before it runs."""

    #: Who does what, in order: (``server, clear`` | ``server, encrypted`` | ``you``, sentence).
    steps: list[tuple[str, str]]
    #: Bytes of encrypted answer for each group or chunk.
    answer_bytes_each: int
    #: Parameter sets, their security in bits, depth, and distance in bits between noise and its limit.
    params: list[str]
    security_bits: int
    depth: int
    margin_bits: float
    #: Absolute error of approximate results; ``None`` where all are exact.
    precision: float | None
    leakage: Leakage

    def __str__(self) -> str:
        lines = [f"{number} {actor:<18} {what}" for number, (actor, what) in enumerate(self.steps, 1)]
        lines.append("The server learns")
        for label, sentences in (
            ("from the table", self.leakage.table),
            ("from this query", self.leakage.query),
            ("not", self.leakage.hidden),
        ):
            lines.append(f" {label:<16} {'; '.join(sentences)}")
        return "\n".join(lines)


class Table:
    """An encrypted table whose owner's key is at hand. Made by ``encrypt`` and ``open``."""

    def __init__(self, native: _hushtable.Table, key: Key, place: Path, token_file: Path | None, keep: object) -> None:
        self._native, self._key, self._place, self._token_file = native, key, place, token_file
        # A table without a place of its own lives in a temporary directory, which ends with this object.
        self._keep = keep

    @property
    def name(self) -> str:
        """Its name in SQL."""
        return self._native.name

    @property
    def schema(self) -> str:
        """The text of its schema file."""
        return self._native.schema

    @property
    def info(self) -> dict[str, Any]:
        """What is public: table, version, rows, bytes, parts, key."""
        return self._native.info

    def sql(self, query: str) -> Result:
        """Asks: plans, lets the server compute on ciphertexts, decrypts and merges.

        Raises:
            RefusedError: the query cannot be answered; nothing was sent.
            HushError: of another kind, if something fails.
        """
        return Result(self._native.ask(query))

    def explain(self, query: str) -> Plan:
        """Plans a query without running it."""
        plan = self._native.explain(query)
        return Plan(**{**plan, "leakage": Leakage(**plan["leakage"])})

    def decrypt(self, columns: Iterable[str] | None = None) -> Result:
        """The owner's data back, all columns or some. A table on a server is fetched first, as ciphertext."""
        wanted = names(columns)
        if not is_url(self._place):
            return Result(_hushtable.decrypt(self._place, self._key, wanted))
        with tempfile.TemporaryDirectory() as directory:
            _hushtable.pull(str(self._place), self._token_file, directory)
            return Result(_hushtable.decrypt(directory, self._key, wanted))

    def filter(self, *conditions: str | Expr) -> Query:
        """See ``Query.filter``."""
        return self._query().filter(*conditions)

    def select(self, *columns: str | Expr) -> Query:
        """See ``Query.select``."""
        return self._query().select(*columns)

    def group_by(self, *keys: str | Expr) -> Query:
        """See ``Query.group_by``."""
        return self._query().group_by(*keys)

    def agg(self, *aggregates: Expr) -> Query:
        """See ``Query.agg``."""
        return self._query().agg(*aggregates)

    def _query(self) -> Query:
        return Query(self.sql, self.explain, self.name)

    def __repr__(self) -> str:
        return f"<Table {self.name}: {self.info['rows']} rows>"


def source(data: object, name: str) -> _hushtable.Source:
    """Data to read: a path of a CSV or Parquet file, or anything with an Arrow stream (pandas, polars, pyarrow, DuckDB)."""
    if isinstance(data, str | os.PathLike):
        return _hushtable.Source.open(data)
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if not hasattr(data, "__arrow_c_stream__"):
        found = type(data).__name__
        raise UsageError("HUSH-U001", f"a path or an object with an Arrow stream is needed, not {found}")
    table = pa.table(data)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return _hushtable.Source.from_ipc(name, sink.getvalue().to_pybytes())


def names(columns: Iterable[str] | None) -> list[str] | None:
    """Names as a list; one text is one name."""
    if columns is None:
        return None
    return [columns] if isinstance(columns, str) else list(columns)


def is_url(place: Path) -> bool:
    """Whether a place is on a server."""
    return isinstance(place, str) and place.startswith(("http://", "https://"))


def secret(passphrase: Passphrase | None, file: Path | None, confirm: bool) -> str | None:
    """A passphrase from a function or the terminal; none where a file has it, which the native module reads."""
    if file is not None:
        return None
    if isinstance(passphrase, str):
        return passphrase
    if passphrase is not None:
        return passphrase()
    if not sys.stdin.isatty():
        text = "the key needs a passphrase and there is no terminal\n  Ways out: passphrase=..., passphrase_file=..."
        raise OwnerKeyError("HUSH-K007", text)
    first = getpass.getpass("Passphrase: ")
    if confirm and getpass.getpass("Again: ") != first:
        raise OwnerKeyError("HUSH-K009", "the two passphrases differ")
    return first


__all__ = ["Key", "Plan", "Schema", "Table"]
