# SPDX-License-Identifier: Apache-2.0
"""Columns of other data beside those of rows that are read, found by a key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from . import _hushtable
from ._data import Columns, Data, source
from ._errors import usage

#: What errors call data that is no file.
_NAME = "lookup"


@dataclass(frozen=True)
class Lookup:
    """Other data, of which each row gets the row with its key: all columns but the key's. Where there is none, they are NULL.

    ``ht.Lookup("part.parquet", on={"partkey": "p_partkey"})`` pairs columns of the rows with columns of the data; ``on="ward"``, or a list,
    names columns that both have under one name. The data are read anew by every pass, and held in memory while it lasts.
    """

    #: As for ``encrypt``.
    data: Data = field(repr=False)
    #: The columns of the key.
    on: Columns | Mapping[str, str]

    def _pairs(self) -> list[tuple[str, str]]:
        match self.on:
            case str():
                return [(self.on, self.on)]
            case Mapping():
                return list(self.on.items())
            case _:
                return [(name, name) for name in self.on]


#: One lookup or several; a later one's key may be a column that an earlier one gives.
Lookups = Lookup | Iterable[Lookup]


def looked_up(rows: _hushtable.Source, lookups: Lookups) -> _hushtable.Source:
    """The rows with what they look up.

    Raises:
        UsageError: something else than lookups.
        DataError: a column that there is not, or one that stands on both sides.
    """
    for lookup in [lookups] if isinstance(lookups, Lookup) else lookups:
        if not isinstance(lookup, Lookup):
            raise usage(f"a lookup is a Lookup, not {type(lookup).__name__}\n  Way out: lookup=ht.Lookup(data, on=...)")
        rows = rows.look_up(source(lookup.data, _NAME), lookup._pairs())
    return rows


__all__ = ["Lookup"]
