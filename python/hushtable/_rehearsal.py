# SPDX-License-Identifier: Apache-2.0
"""One query on one machine, from plain data to the decrypted answer."""

from __future__ import annotations

import os
import warnings

from . import _hushtable
from ._data import Columns, Data, Path, names, source
from ._errors import HushWarning, usage
from ._lookup import Lookups, looked_up
from ._machine import thread_count
from ._result import Result
from ._schema import Schema, of_file


def run(
    data: Data,
    query: str,
    *,
    lookup: Lookups = (),
    clear: Columns = (),
    sensitive: Columns = (),
    schema: Schema | Path | None = None,
    verify: bool = False,
    dry_run: bool = False,
    release: int | None = None,
    threads: int | None = None,
) -> Result:
    """Rehearses a query: guesses what is sensitive, encrypts it with temporary keys, evaluates, decrypts. Nothing leaves
    this machine and nothing is written to disk.

    Args:
        data: a path of a CSV or Parquet file, or of a folder of them, also ``s3://``, ``gs://`` or ``az://``, whose name is the table's in SQL; or a DataFrame or other object with an
            Arrow stream, which has the name that the query gives it.
        query: one SELECT over one table.
        lookup: as for ``encrypt``.
        clear: columns that a server may read.
        sensitive: columns that are protected whatever they look like. What neither names is protected as ``propose`` says.
        schema: a schema or its file, approved or not, instead of a guess and of ``clear`` and ``sensitive``.
        verify: compute everything once more in the clear and compare.
        dry_run: run the same plan on plain values; nothing is encrypted.
        release: as in ``Table.sql``: what a result that leaves you would look like.
        threads: of this process; all cores by default.

    Warns:
        HushWarning: a column is left clear that looks sensitive, or clear columns single out rows together.

    Raises:
        UsageError: both a schema and ``clear`` or ``sensitive`` are given, or a column is both clear and sensitive.
        RefusedError: the query cannot be answered so; the message names the way out.
        HushError: of another kind, if something fails.
    """
    if schema is not None and (names(clear) or names(sensitive)):
        raise usage("a schema says what a server may read\n  Ways out: schema=..., or clear=[...] and sensitive=[...]; not both.")
    chosen = None if schema is None else of_file(schema)
    data_in = source(data, "" if isinstance(data, str | os.PathLike) else _hushtable.table_of_query(query))
    data_in = looked_up(data_in, lookup)
    answer = _hushtable.rehearse(
        data_in,
        query,
        sensitive=names(sensitive),
        clear=names(clear),
        schema=None if chosen is None else chosen._native,
        verify=verify,
        dry_run=dry_run,
        release=release,
        threads=thread_count(threads),
    )
    for warning in answer.account["warnings"]:
        warnings.warn(warning, HushWarning, stacklevel=2)
    return Result._of(answer)
