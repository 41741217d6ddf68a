# SPDX-License-Identifier: Apache-2.0
"""Results: Arrow tables with the account of how they came about."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from . import _html, _hushtable
from ._errors import HushWarning, no_column, usage

if TYPE_CHECKING:
    import pandas
    import polars

_SHOWN_ROWS = 20


@dataclass(frozen=True)
class Leakage:
    """What a server learns, in sentences."""

    #: From the table as it is stored.
    table: list[str]
    #: From this query.
    query: list[str]
    #: What it does not learn.
    hidden: list[str]


@dataclass(frozen=True)
class Account:
    """What a run cost and what a server saw."""

    #: Seconds in all, and for each phase in the order in which they ran.
    seconds: float
    phases: dict[str, float]
    #: Bytes from the owner (for a rehearsal the table too) and to the owner.
    bytes_up: int
    bytes_down: int
    leakage: Leakage
    #: The rest of a rehearsal's account: ``encrypted``, ``sealed`` and ``clear`` columns with reasons, ``warnings``,
    #: ``verified_within`` (0.0: exactly), ``security`` (scheme, ring degree, log2 q, bits), ``copies`` (columns
    #: that the owner reads, and bits of a row of each), ``peak_bytes``.
    details: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def _of(cls, account: dict[str, Any]) -> Account:
        parts = dict(account)
        leakage = Leakage(**parts.pop("leakage"))
        named = {name: parts.pop(name) for name in ("seconds", "phases", "bytes_up", "bytes_down")}
        return cls(leakage=leakage, details=parts, **named)


class Result:
    """Rows that only the owner sees.

    Speaks the Arrow PyCapsule interface, so that ``polars.DataFrame(result)``, ``pyarrow.table(result)`` and
    ``duckdb.sql("FROM result")`` take it as it is. Decimals stay decimals, dates dates and NULLs NULLs.
    """

    def __init__(self, table: pa.Table, account: dict[str, Any]) -> None:
        self._table: pa.Table = table
        self._account = account

    @classmethod
    def _of(cls, answer: _hushtable.Answer, stacklevel: int = 3) -> Result:
        """Warns at the line of the caller of so many levels above."""
        exposed = answer.account.get("exposed")
        if exposed:
            text = (
                f"approximate: {', '.join(exposed)}. This result opens these columns, whole, to whoever holds the table's "
                "ciphertexts; keep it to yourself, or ask with release=DIGITS for one that may be given away"
            )
            warnings.warn(text, HushWarning, stacklevel=stacklevel)
        for note in answer.account.get("notes", ()):
            warnings.warn(note, HushWarning, stacklevel=stacklevel)
        return cls(pa.ipc.open_stream(answer.ipc()).read_all(), answer.account)

    @property
    def account(self) -> Account:
        """Time, bytes and leakage.

        Raises:
            UsageError: the rows were decrypted, not asked for: that has no account.
        """
        if not self._account:
            raise usage("rows that were decrypted have no account: no server computed anything")
        return Account._of(self._account)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._table.column_names)

    def __getitem__(self, column: str) -> pa.ChunkedArray:
        """The values of a column, as Arrow; ``result["age"].to_pylist()`` gives Python's.

        Raises:
            NoColumnError: there is none of this name. It is a ``KeyError``.
            UsageError: there are several.
        """
        found = self._table.schema.get_all_field_indices(column) if isinstance(column, str) else []
        if not found:
            raise no_column(column, self.columns)
        if len(found) > 1:
            raise usage(f"{len(found)} columns are named {column!r}\n  Way out: name them apart, with AS or alias.")
        return self._table.column(found[0])

    def head(self, rows: int = 5) -> Result:
        """The first rows, with the account of all.

        Raises:
            UsageError: a negative number.
        """
        if rows < 0:
            raise usage("a number of rows is at least 0")
        return Result(self._table.slice(0, rows), self._account)

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Row by row, each a dictionary of Python values."""
        for batch in self._table.to_batches():
            yield from batch.to_pylist()

    def __arrow_c_schema__(self) -> object:
        return self._table.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

    def to_pyarrow(self) -> pa.Table:
        """As a ``pyarrow.Table``; costs nothing."""
        return self._table

    def to_pandas(self) -> pandas.DataFrame:
        """As a pandas DataFrame of Arrow-backed columns, so that integers with NULLs stay integers."""
        import pandas

        return self._table.to_pandas(types_mapper=pandas.ArrowDtype)

    def to_polars(self) -> polars.DataFrame:
        """As a polars DataFrame."""
        import polars

        return polars.DataFrame(self)

    def __repr__(self) -> str:
        names, rows, number, more = self._shown()
        widths = [max(map(len, column)) for column in zip(names, *rows)]
        text = []
        for line in [names, *rows]:
            cells = zip(line, widths, number)
            text.append(" " + "  ".join(c.rjust(w) if right else c.ljust(w) for c, w, right in cells))
        return "\n".join(line.rstrip() for line in [*text, *(f" {note}" for note in more)])

    def _repr_html_(self) -> str:
        return _html.table(*self._shown())

    def _shown(self) -> tuple[list[str], list[list[str]], list[bool], list[str]]:
        """Names, rows of texts, which columns are numbers, and what is left out."""
        shown = self._table.slice(0, _SHOWN_ROWS)
        columns = [[_cell(value) for value in column.to_pylist()] for column in shown.columns]
        names = [_html.visible(name) for name in self.columns]
        number = [_is_number(kind) for kind in self._table.schema.types]
        left = len(self) - _SHOWN_ROWS
        return names, [list(row) for row in zip(*columns)], number, [f"… {left} more rows"] if left > 0 else []


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.2f}" if value == 0 or abs(value) >= 1 else f"{value:.3g}"
    return _html.visible(str(value))
