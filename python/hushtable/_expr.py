# SPDX-License-Identifier: Apache-2.0
"""Expressions: SQL text, built so that names and values are quoted and cannot become anything else."""

from __future__ import annotations

import datetime
import decimal
import math
from collections.abc import Iterable

from ._errors import UsageError

#: What a verb takes as a value.
Value = bool | int | float | decimal.Decimal | str | datetime.date | datetime.datetime | None


class Expr:
    """A piece of SQL. Operators build larger pieces; ``&``, ``|`` and ``~`` are AND, OR and NOT."""

    __slots__ = ("sql",)
    #: The SQL text.
    sql: str

    def __init__(self, sql: str) -> None:
        self.sql = sql

    def __repr__(self) -> str:
        return f"<Expr {self.sql}>"

    def __bool__(self) -> bool:
        raise TypeError("an expression has no truth value: combine conditions with &, | and ~")

    __hash__ = None  # type: ignore[assignment]

    def alias(self, name: str) -> Expr:
        """Named in the result."""
        return Expr(f"{self.sql} AS {quote_name(name)}")

    def __eq__(self, other: Expr | Value) -> Expr:  # type: ignore[override]
        return Expr(f"({self.sql} IS NULL)") if other is None else self._binary("=", other)

    def __ne__(self, other: Expr | Value) -> Expr:  # type: ignore[override]
        return Expr(f"({self.sql} IS NOT NULL)") if other is None else self._binary("<>", other)

    def __lt__(self, other: Expr | Value) -> Expr:
        return self._binary("<", other)

    def __le__(self, other: Expr | Value) -> Expr:
        return self._binary("<=", other)

    def __gt__(self, other: Expr | Value) -> Expr:
        return self._binary(">", other)

    def __ge__(self, other: Expr | Value) -> Expr:
        return self._binary(">=", other)

    def __add__(self, other: Expr | Value) -> Expr:
        return self._binary("+", other)

    def __radd__(self, other: Value) -> Expr:
        return lit(other)._binary("+", self)

    def __sub__(self, other: Expr | Value) -> Expr:
        return self._binary("-", other)

    def __rsub__(self, other: Value) -> Expr:
        return lit(other)._binary("-", self)

    def __mul__(self, other: Expr | Value) -> Expr:
        return self._binary("*", other)

    def __rmul__(self, other: Value) -> Expr:
        return lit(other)._binary("*", self)

    def __truediv__(self, other: Expr | Value) -> Expr:
        return self._binary("/", other)

    def __neg__(self) -> Expr:
        return Expr(f"(- {self.sql})")

    def __and__(self, other: Expr) -> Expr:
        return self._binary("AND", other)

    def __or__(self, other: Expr) -> Expr:
        return self._binary("OR", other)

    def __invert__(self) -> Expr:
        return Expr(f"(NOT {self.sql})")

    def is_in(self, values: Iterable[Value]) -> Expr:
        """Whether it is one of the values.

        Raises:
            UsageError: there is no value.
        """
        listed = ", ".join(lit(value).sql for value in values)
        if not listed:
            raise UsageError("HUSH-U001", "is_in needs at least one value")
        return Expr(f"({self.sql} IN ({listed}))")

    def is_between(self, low: Expr | Value, high: Expr | Value) -> Expr:
        """Whether it is from ``low`` to ``high``, both included."""
        return Expr(f"({self.sql} BETWEEN {operand(low).sql} AND {operand(high).sql})")

    def _binary(self, operator: str, other: Expr | Value) -> Expr:
        return Expr(f"({self.sql} {operator} {operand(other).sql})")


def col(name: str) -> Expr:
    """A column by its exact name."""
    return Expr(quote_name(name))


def lit(value: Value) -> Expr:
    """A value as a literal.

    Raises:
        UsageError: a type that has no literal, a float without digits (not a number, infinite), a timestamp with a zone.
    """
    match value:
        case None:
            return Expr("NULL")
        case bool():
            return Expr("TRUE" if value else "FALSE")
        case int():
            return Expr(str(int(value)) if value >= 0 else f"({int(value)})")
        case float() if math.isfinite(value):
            return Expr(_digits(decimal.Decimal(repr(float(value)))))
        case decimal.Decimal() if value.is_finite():
            return Expr(_digits(value))
        case str() if "\0" not in value:
            return Expr("'" + value.replace("'", "''") + "'")
        case datetime.datetime() if value.tzinfo is None:
            return Expr(f"TIMESTAMP '{value.isoformat(sep=' ')}'")
        case datetime.date() if not isinstance(value, datetime.datetime):
            return Expr(f"DATE '{value.isoformat()}'")
    raise UsageError("HUSH-U001", f"this {type(value).__name__} has no SQL literal")


def expr(sql: str) -> Expr:
    """SQL text as it is. Never build it from values that others chose: that is what ``col`` and ``lit`` are for."""
    return Expr(f"({sql})")


def count(column: str | Expr | None = None) -> Expr:
    """COUNT(*), or how many values a column has."""
    return Expr("COUNT(*)") if column is None else _aggregate("COUNT", column)


def sum(column: str | Expr) -> Expr:  # noqa: A001
    """SUM."""
    return _aggregate("SUM", column)


def avg(column: str | Expr) -> Expr:
    """AVG."""
    return _aggregate("AVG", column)


def variance(column: str | Expr) -> Expr:
    """VARIANCE: of a sample, divisor n - 1."""
    return _aggregate("VARIANCE", column)


def stddev(column: str | Expr) -> Expr:
    """STDDEV: of a sample."""
    return _aggregate("STDDEV", column)


def skewness(column: str | Expr) -> Expr:
    """SKEWNESS: of a sample; NULL for fewer than three values."""
    return _aggregate("SKEWNESS", column)


def median(column: str | Expr) -> Expr:
    """MEDIAN: the value in the middle, between two in proportion; a double."""
    return _aggregate("MEDIAN", column)


def mode(column: str | Expr) -> Expr:
    """MODE: the value that occurs most often; of several the least."""
    return _aggregate("MODE", column)


def quantile(column: str | Expr, part: float | decimal.Decimal) -> Expr:
    """QUANTILE_CONT: the value up to which ``part`` of the rows lie, from 0 to 1, between two in proportion; a double."""
    return Expr(f"QUANTILE_CONT({named(column).sql}, {lit(part).sql})")


def kurtosis(column: str | Expr) -> Expr:
    """KURTOSIS: the excess of a sample; NULL for fewer than four values."""
    return _aggregate("KURTOSIS", column)


def min(column: str | Expr) -> Expr:  # noqa: A001
    """MIN."""
    return _aggregate("MIN", column)


def max(column: str | Expr) -> Expr:  # noqa: A001
    """MAX."""
    return _aggregate("MAX", column)


def _aggregate(function: str, column: str | Expr) -> Expr:
    return Expr(f"{function}({named(column).sql})")


def named(column: str | Expr) -> Expr:
    """A column where a text is its name."""
    return col(column) if isinstance(column, str) else column


def operand(value: Expr | Value) -> Expr:
    """An expression where a text is a value."""
    return value if isinstance(value, Expr) else lit(value)


def quote_name(name: str) -> str:
    """A name between double quotes.

    Raises:
        UsageError: an empty name, or one with a zero character.
    """
    if not name or "\0" in name:
        raise UsageError("HUSH-U001", "a name is empty or holds a zero character")
    return '"' + name.replace('"', '""') + '"'


def _digits(value: decimal.Decimal) -> str:
    text = format(value, "f")
    return f"({text})" if text.startswith("-") else text
