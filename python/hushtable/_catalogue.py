# SPDX-License-Identifier: Apache-2.0
"""Questions about several tables."""

from __future__ import annotations

from dataclasses import dataclass

from . import _hushtable
from ._plan import Plan
from ._result import Result
from ._table import Table


@dataclass(frozen=True)
class TablePlan:
    """What one table of a question would be asked."""

    #: The table's name in SQL.
    table: str
    #: Its question: the columns that come back, under the conditions that the table alone decides.
    sql: str
    plan: Plan

    def __str__(self) -> str:
        return f"{self.table}: {self.sql}\n{self.plan}"


class Catalogue:
    """Open tables to put one question to: with joins, sub-queries, WITH and set operations.

    Each table is asked a question of its own, and this machine joins what comes back. No server learns of the other tables.

        patients, visits = ht.open("patients", keys=key), ht.open("visits", keys=key)
        ht.catalogue(patients, visits).sql("SELECT ward, SUM(cost) FROM patients JOIN visits USING (id) GROUP BY ward")

    Tables are read as they are now: after ``append`` and the like the same object reads their new version.

    Raises:
        UsageError: two tables of one name, or none.
    """

    def __init__(self, *tables: Table) -> None:
        self._tables = tables
        self._native()

    def _native(self) -> _hushtable.Catalogue:
        return _hushtable.Catalogue([table._native for table in self._tables])

    @property
    def tables(self) -> list[Table]:
        """The tables."""
        return list(self._tables)

    def sql(self, query: str) -> Result:
        """Asks. ``account.details["questions"]`` has what each table was asked, with rows and bytes.

        Raises:
            RefusedError: the query cannot be answered; nothing was sent.
            HushError: of another kind, if something fails.
        """
        return Result._of(self._native().ask(query))

    def explain(self, query: str) -> list[TablePlan]:
        """What each table would be asked, without asking."""
        return [TablePlan(table, sql, Plan._of(plan)) for table, sql, plan in self._native().explain(query)]

    def __repr__(self) -> str:
        return f"<Catalogue of {', '.join(table.name for table in self._tables)}>"


def catalogue(*tables: Table) -> Catalogue:
    """A catalogue of these tables, for questions about all of them."""
    return Catalogue(*tables)


__all__ = ["Catalogue", "TablePlan", "catalogue"]
