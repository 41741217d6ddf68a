# SPDX-License-Identifier: Apache-2.0
"""Verbs that write one SELECT. They decide nothing: the planner judges the text like any other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ._errors import UsageError
from ._expr import Expr, expr, named, quote_name

if TYPE_CHECKING:
    from ._plan import Plan
    from ._result import Result


@dataclass(frozen=True, repr=False, eq=False)
class Query:
    """A query being written; every verb gives a new one. ``collect()`` asks it."""

    _ask: Callable[..., Result]
    _plan: Callable[[str], Plan]
    _table: str
    _select: tuple[Expr, ...] = ()
    _where: tuple[Expr, ...] = ()
    _keys: tuple[Expr, ...] = ()
    _aggregates: tuple[Expr, ...] = ()
    _having: tuple[Expr, ...] = ()
    _order: tuple[str, ...] = ()
    _limit: int | None = None

    def filter(self, *conditions: str | Expr) -> Query:
        """Keeps rows that meet every condition: SQL text, or an expression such as ``ht.col("year") == 2023``.

        Raises:
            UsageError: after ``agg``, ``sort`` or ``limit`` (conditions on groups go to ``having``).
        """
        self._refuse("filter", self._keys, self._aggregates, self._order, self._limit is not None)
        return replace(self, _where=self._where + tuple(map(_condition, conditions)))

    def select(self, *columns: str | Expr) -> Query:
        """Picks columns (texts are names) and expressions."""
        self._refuse("select", self._select, self._keys, self._aggregates)
        return replace(self, _select=tuple(map(named, columns)))

    def group_by(self, *keys: str | Expr) -> Query:
        """Groups rows; ``agg`` says what to compute of each group."""
        self._refuse("group_by", self._select, self._keys, self._aggregates, self._order, self._limit is not None)
        return replace(self, _keys=tuple(map(named, keys)))

    def agg(self, *aggregates: Expr) -> Query:
        """Aggregates of each group, or of all rows."""
        self._refuse("agg", self._select, self._aggregates, self._order, self._limit is not None)
        if not aggregates:
            raise UsageError("HUSH-U001", "agg needs at least one aggregate, such as ht.count()")
        return replace(self, _aggregates=aggregates)

    def having(self, *conditions: str | Expr) -> Query:
        """Keeps groups that meet every condition."""
        self._refuse("having", not self._aggregates, self._order, self._limit is not None)
        return replace(self, _having=self._having + tuple(map(_condition, conditions)))

    def sort(self, *columns: str | Expr, descending: bool = False) -> Query:
        """Sorts the result; a further ``sort`` breaks ties."""
        self._refuse("sort", self._limit is not None)
        direction = " DESC" if descending else ""
        return replace(self, _order=self._order + tuple(f"{named(c).sql}{direction}" for c in columns))

    def limit(self, rows: int) -> Query:
        """At most so many rows."""
        if isinstance(rows, bool) or not isinstance(rows, int) or rows < 0:
            raise UsageError("HUSH-U001", "limit takes a number of rows, 0 or more")
        return replace(self, _limit=rows if self._limit is None else min(rows, self._limit))

    @property
    def sql_text(self) -> str:
        """The SELECT that the verbs wrote."""
        columns = self._select or (self._keys + self._aggregates)
        parts = [f"SELECT {', '.join(c.sql for c in columns) or '*'} FROM {quote_name(self._table)}"]
        if self._where:
            parts.append("WHERE " + " AND ".join(c.sql for c in self._where))
        if self._keys:
            parts.append("GROUP BY " + ", ".join(c.sql for c in self._keys))
        if self._having:
            parts.append("HAVING " + " AND ".join(c.sql for c in self._having))
        if self._order:
            parts.append("ORDER BY " + ", ".join(self._order))
        if self._limit is not None:
            parts.append(f"LIMIT {self._limit}")
        return " ".join(parts)

    def collect(self, *, release: int | None = None) -> Result:
        """Asks, decrypts, merges. ``release``: as in ``Table.sql``."""
        return self._ask(self.sql_text, release=release)

    def explain(self) -> Plan:
        """What asking would do, without doing it."""
        return self._plan(self.sql_text)

    def __repr__(self) -> str:
        return f"<Query {self.sql_text}>"

    def _refuse(self, verb: str, *breaches: object) -> None:
        if any(breaches):
            order = "filter, select | group_by, agg, having, sort, limit"
            raise UsageError("HUSH-U001", f"{verb} comes too late, too early or twice\n  The order is {order}.")


def _condition(condition: str | Expr) -> Expr:
    return expr(condition) if isinstance(condition, str) else condition
