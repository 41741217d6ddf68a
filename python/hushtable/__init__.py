# SPDX-License-Identifier: Apache-2.0
"""Ask questions of a table that the server cannot read.

    import hushtable as ht

    result = ht.run("patients.csv", "SELECT ward, AVG(age) FROM patients GROUP BY ward", clear=["ward"])
    result.to_pandas()

``run`` rehearses one query on one machine. ``encrypt`` and ``open`` give a :class:`Table` for real work. Every error is a
:class:`HushError` with a stable ``code``. Long work releases the interpreter's lock, and Ctrl-C ends it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from typing import Any

from . import _hushtable
from ._errors import (
    DamagedError,
    DataError,
    HushError,
    InternalError,
    OwnerKeyError,
    PrecisionError,
    RefusedError,
    RemoteError,
    ResourceError,
    UsageError,
)
from ._expr import Expr, avg, col, count, expr, lit, max, min, stddev, sum, variance
from ._hushtable import Key, Schema
from ._query import Query
from ._result import Account, Leakage, Result
from ._table import Passphrase, Path, Plan, Table, is_url, names, secret, source

__version__: str = _hushtable.doctor()["version"]


def run(
    data: object,
    query: str,
    *,
    clear: Iterable[str] = (),
    sensitive: Iterable[str] | None = None,
    schema: Path | None = None,
    verify: bool = False,
    dry_run: bool = False,
    threads: int | None = None,
) -> Result:
    """Rehearses a query: guesses what is sensitive, encrypts it with temporary keys, evaluates, decrypts. Nothing leaves
    this machine and nothing is written to disk.

    Args:
        data: a path of a CSV or Parquet file, whose name is the table's in SQL; or a DataFrame or other object with an
            Arrow stream, which has the name that the query gives it.
        query: one SELECT over one table.
        clear: columns that a server may read.
        sensitive: exactly these columns are encrypted; replaces the guess.
        schema: a schema file instead of a guess.
        verify: compute everything once more in the clear and compare.
        dry_run: run the same plan on plain values; nothing is encrypted.
        threads: of this process; all cores by default.

    Raises:
        RefusedError: the query cannot be answered so; the message names the way out.
        HushError: of another kind, if something fails.
    """
    data_in = source(data, "" if isinstance(data, str | os.PathLike) else _hushtable.table_of_query(query))
    answer = _hushtable.rehearse(
        data_in,
        query,
        sensitive=names(sensitive),
        clear=names(clear) or [],
        schema=schema,
        verify=verify,
        dry_run=dry_run,
        threads=_threads(threads),
    )
    return Result(answer)


def propose(
    data: object, *, clear: Iterable[str] = (), sensitive: Iterable[str] | None = None, name: str = "data"
) -> Schema:
    """Proposes a schema: reads all data once. A person approves it, in its file or by ``schema.approve(by)``.

    Args:
        data: as for ``run``; ``name`` is the table's name in SQL where the data is not a file.
    """
    return _hushtable.propose(source(data, name), names(sensitive), names(clear) or [])


def read_schema(path: Path) -> Schema:
    """Reads a schema file, approved or not."""
    return _hushtable.read_schema(path)


def keygen(
    path: Path,
    *,
    passphrase: Passphrase | None = None,
    passphrase_file: Path | None = None,
    backup: Path | None = None,
    weak_passphrase: bool = False,
) -> Key:
    """Makes a key and stores it, wrapped by a passphrase. Takes about a second. Never overwrites a file.

    A passphrase of fewer than 12 characters is refused unless ``weak_passphrase`` is given. A passphrase file must be the
    user's own and closed to others (mode 0600). Whoever loses the key file or the passphrase loses the data: nobody can restore it.
    """
    return Key.create(path, backup, secret(passphrase, passphrase_file, confirm=True), passphrase_file, weak_passphrase)


def open_key(path: Path, *, passphrase: Passphrase | None = None, passphrase_file: Path | None = None) -> Key:
    """Opens a key file."""
    return Key.open(path, secret(passphrase, passphrase_file, confirm=False), passphrase_file)


def encrypt(
    data: object,
    *,
    schema: Schema | Path | None = None,
    keys: Key | None = None,
    clear: Iterable[str] = (),
    sensitive: Iterable[str] | None = None,
    out: Path | None = None,
    workload: Path | None = None,
    name: str = "data",
    threads: int | None = None,
) -> Table:
    """Encrypts data into a table.

    Args:
        data: a path of a CSV or Parquet file, or an object with an Arrow stream.
        schema: an approved schema or its file. Without one, ``clear`` and ``sensitive`` decide: what they do not name is
            protected as ``propose`` says, and what that leaves undecided is encrypted (numbers) or sealed (text).
        keys: the owner's key; by default a temporary one, which ends with this process, and the table with it.
        out: the table's directory; by default a temporary one, which ends with the table. It holds no plaintext of a
            protected column.
        workload: a file of queries, separated by semicolons, whose layouts the table must have.
        name: the table's name in SQL where the data is not a file.

    Raises:
        UsageError: neither a schema nor ``clear`` nor ``sensitive`` is given, or both are.
        DataError: the data does not fit the schema.
    """
    if keys is None and out is not None:
        raise UsageError("HUSH-U001", "a table that stays needs a key that stays\n  Way out: keys=ht.keygen(...)")
    data_in = source(data, name)
    by_choice = sensitive is not None or bool(names(clear))
    if by_choice == (schema is not None):
        text = "what may a server read?\n  Ways out: schema=..., or clear=[...] and sensitive=[...]; not both."
        raise UsageError("HUSH-U001", text)
    if schema is None:
        proposal = _hushtable.propose(data_in, names(sensitive), names(clear) or [])
        approved = proposal.approve("clear and sensitive, given to hushtable.encrypt")
    else:
        approved = schema if isinstance(schema, Schema) else _hushtable.read_schema(schema)
    key = Key.temporary() if keys is None else keys
    keep = tempfile.TemporaryDirectory(prefix="hushtable-") if out is None else None
    place = os.fspath(out) if out is not None else os.path.join(keep.name if keep else "", "table")
    _hushtable.encrypt(data_in, approved, key, place, workload, _threads(threads))
    native = _hushtable.Table.open_directory(place, key, _threads(threads))
    return Table(native, key, place, None, keep)


def open(place: Path, *, keys: Key, token_file: Path | None = None, threads: int | None = None) -> Table:  # noqa: A001
    """Opens a table: a directory, or ``SERVER/tables/NAME``.

    Args:
        keys: the owner's key.
        token_file: the file with the server's API token.
    """
    if is_url(place):
        native = _hushtable.Table.open_remote(str(place), keys, token_file)
    else:
        native = _hushtable.Table.open_directory(place, keys, _threads(threads))
    return Table(native, keys, place, token_file, None)


def doctor() -> dict[str, Any]:
    """What this machine is to Hushtable: version, kernels, threads, memory, parameter sets."""
    return _hushtable.doctor()


def _threads(threads: int | None) -> int:
    return threads if threads is not None else len(os.sched_getaffinity(0))


__all__ = [
    "Account", "DamagedError", "DataError", "Expr", "HushError", "InternalError", "Key", "Leakage", "OwnerKeyError", "Plan",
    "PrecisionError", "Query", "RefusedError", "RemoteError", "ResourceError", "Result", "Schema", "Table", "UsageError",
    "avg", "col", "count", "doctor", "encrypt", "expr", "keygen", "lit", "max", "min", "open", "open_key", "propose",
    "read_schema", "run", "stddev", "sum", "variance",
]  # fmt: skip
