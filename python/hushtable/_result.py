# SPDX-License-Identifier: Apache-2.0
"""Results: Arrow tables with the account of how they came about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from . import _hushtable

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
    #: The rest of a rehearsal's account: ``encrypted`` and ``clear`` columns with reasons, ``warnings``,
    #: ``verified_within`` (0.0: exactly), ``security`` (scheme, ring degree, log2 q, bits), ``peak_bytes``.
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

    def __init__(self, answer: _hushtable.Answer) -> None:
        self._table: pa.Table = pa.ipc.open_stream(answer.ipc()).read_all()
        self._account = answer.account

    @property
    def account(self) -> Account:
        """Time, bytes and leakage; of queries and rehearsals."""
        return Account._of(self._account)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._table.column_names)

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Row by row, each a dictionary of Python values."""
        for batch in self._table.to_batches():
            yield from batch.to_pylist()

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
        shown = self._table.slice(0, _SHOWN_ROWS)
        columns = [[_cell(value) for value in column.to_pylist()] for column in shown.columns]
        names = [_visible(name) for name in self.columns]
        widths = [max(map(len, [name, *cells])) for name, cells in zip(names, columns)]
        number = [_is_number(kind) for kind in self._table.schema.types]
        text = []
        for line in [names, *zip(*columns)]:
            cells = zip(line, widths, number)
            text.append(" " + "  ".join(c.rjust(w) if right else c.ljust(w) for c, w, right in cells))
        if len(self) > _SHOWN_ROWS:
            text.append(f" … {len(self) - _SHOWN_ROWS} more rows")
        return "\n".join(line.rstrip() for line in text)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.2f}" if value == 0 or abs(value) >= 1 else f"{value:.3g}"
    return _visible(str(value))


def _visible(text: str) -> str:
    """Control characters as escapes, so that data cannot drive a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
