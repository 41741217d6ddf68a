# SPDX-License-Identifier: Apache-2.0
"""Models of one column by others, fitted with the owner's key."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from . import _hushtable
from ._result import Result
from ._table import Table


class Model:
    """A fitted model. Made by ``fit`` and ``Model.load``.

    Its coefficients tell of the rows that it was fitted to, as every result of a query does.
    """

    def __init__(self, native: _hushtable.Model) -> None:
        self._native = native

    @property
    def kind(self) -> str:
        """``"linear"``, ``"logistic"`` or ``"tree"``."""
        kind: str = self._native.facts["kind"]
        return kind

    @property
    def outcome(self) -> str:
        """SQL of what it says."""
        outcome: str = self._native.facts["outcome"]
        return outcome

    @property
    def features(self) -> list[str]:
        """SQL of what it says it from."""
        features: list[str] = self._native.facts["features"]
        return features

    @property
    def rows(self) -> int:
        """The rows that it was fitted to: those with all values."""
        rows: int = self._native.facts["rows"]
        return rows

    @property
    def intercept(self) -> float | None:
        """The constant of a regression."""
        return self._native.facts.get("intercept")

    @property
    def coefficients(self) -> list[float] | None:
        """The coefficient of each feature of a regression."""
        return self._native.facts.get("coefficients")

    @property
    def r2(self) -> float | None:
        """How much a regression explains: of the variance, or of the logarithm of the likelihood (McFadden)."""
        return self._native.facts.get("r2")

    def score(self, table: Table, *, keep: Sequence[str] = (), where: str | None = None) -> Result:
        """What it says of rows of a table, in the column ``score``: a number, or the chance of a condition. NULL where a feature is missing.

        Args:
            keep: columns beside the score, by their exact names.
            where: SQL of a condition on the rows.

        Raises:
            RefusedError: the table lacks a feature.
        """
        return Result._of(self._native.score(table._native, list(keep), where))

    def sql(self) -> str:
        """SQL of a row's score, for queries of your own: ``f"SELECT AVG({model.sql()}) FROM t"``. A tree of more than some
        sixty leaves is more than a query may have."""
        return self._native.sql()

    def expression(self) -> str:
        """The model for ``hush eval``, over encrypted vectors with the names of the features; coefficients are rounded to six digits.
        A logistic model gives the logarithmic odds.

        Raises:
            UsageError: a feature is no plain name.
        """
        return self._native.expression()

    def save(self, path: str | os.PathLike[str], *, replace: bool = False) -> None:
        """Writes its file, which only its owner can read.

        Raises:
            FileExistsError: there is a file of that name, and ``replace`` is not set.
        """
        how = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if replace else os.O_EXCL)
        with os.fdopen(os.open(path, how, 0o600), "w", encoding="utf-8") as file:
            file.write(self._native.json())

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Model:
        """Reads the file of a model.

        Raises:
            DamagedError: it is no model.
        """
        return Model(_hushtable.Model.parse(Path(path).read_text(encoding="utf-8"), os.fspath(path)))

    def __repr__(self) -> str:
        facts: dict[str, Any] = self._native.facts
        return f"<{facts['kind']} model of {facts['outcome']} by {', '.join(facts['features'])}, of {facts['rows']} rows>"


def fit(
    table: Table,
    outcome: str,
    features: Sequence[str],
    *,
    model: Literal["linear", "logistic", "tree"],
    where: str | None = None,
    depth: int = 4,
    leaf_rows: int = 20,
) -> Model:
    """Fits a model to rows of a table: those that have a value of the outcome and of every feature.

    Args:
        outcome: SQL of a number, or of a condition such as ``"stay > 7"``, which a logistic model needs.
        features: SQL of numbers and conditions: ``["age", "ward = 'A'"]``.
        model: ``"linear"`` by least squares, ``"logistic"`` by likelihood, or a ``"tree"``.
        where: SQL of a condition on the rows.
        depth: questions one after the other, at most, in a tree.
        leaf_rows: rows of a leaf of a tree, at least.

    Raises:
        DataError: the rows determine no single model.
        RefusedError: a column is not there.
    """
    wanted = (outcome, list(features))
    return Model(_hushtable.fit(table._native, model, wanted, where, (depth, leaf_rows)))


__all__ = ["Model", "fit"]
