# SPDX-License-Identifier: Apache-2.0
"""Schemas as objects: read, edited, approved. Every change is judged by the parser of schema files."""

from __future__ import annotations

import datetime
import decimal
import os
import tomllib
import warnings as python_warnings
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from . import _html, _hushtable
from ._data import Columns, Data, Path, names, source
from ._errors import HushWarning, no_column, usage
from ._lookup import Lookups, looked_up

Protection = Literal["clear", "encrypt", "joinkey", "seal", "drop", "DECIDE"]
#: An end of a range, in values of the column; a text is read as the schema file reads it.
Bound = int | float | decimal.Decimal | datetime.date | datetime.datetime | str
Range = tuple[Any, Any]


class Schema:
    """What happens to every column of a table. Made by ``propose``, ``read_schema``, ``Schema.parse`` and ``table.schema``.

    ``schema["age"].protect = "encrypt"`` changes it; what a schema file may not say is refused. A change takes an approval
    back: it was given to what stood there before.
    """

    def __init__(self, native: _hushtable.Schema) -> None:
        self._take(native)

    def _take(self, native: _hushtable.Schema) -> None:
        self._native = native
        self._facts: dict[str, Any] = tomllib.loads(native.text, parse_float=decimal.Decimal)

    @staticmethod
    def parse(text: str) -> Schema:
        """Reads the text of a schema file.

        Raises:
            RefusedError: it is none; the message names the line.
        """
        return Schema(_hushtable.Schema.parse(text))

    @property
    def text(self) -> str:
        """The text of its file."""
        return self._native.text

    @property
    def warnings(self) -> list[str]:
        """What a person should know before approving it, as the proposal found it."""
        return self._native.warnings

    @property
    def is_approved(self) -> bool:
        """Whether a person has approved it."""
        return bool(self._facts["status"] == "approved")

    @property
    def approved_by(self) -> str:
        """Who approved it."""
        return str(self._facts["approved_by"])

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in the order of the data."""
        return list(self._facts["columns"])

    @property
    def table(self) -> str:
        """Name of the table in SQL."""
        return str(self._facts["table"])

    @table.setter
    def table(self, name: str) -> None:
        self.update(table=name)

    @property
    def max_rows(self) -> int:
        """Rows that the table may grow to; sums are sized for this many."""
        return int(self._facts["max_rows"])

    @max_rows.setter
    def max_rows(self, rows: int) -> None:
        self.update(max_rows=rows)

    @property
    def null_tokens(self) -> list[str]:
        """Texts that mean a missing value."""
        return list(self._facts["null_tokens"])

    @null_tokens.setter
    def null_tokens(self, texts: Iterable[str]) -> None:
        self.update(null_tokens=texts)

    @property
    def products(self) -> list[list[str]]:
        """Products of encrypted columns that are encrypted too, so that their sums can be asked for."""
        return [list(product) for product in self._facts.get("products", [])]

    @products.setter
    def products(self, products: Iterable[Iterable[str]]) -> None:
        self.update(products=products)

    @property
    def moments(self) -> list[list[str]]:
        """Sets of columns among which covariances and regressions can be asked for."""
        return [list(columns) for columns in self._facts.get("moments", [])]

    @moments.setter
    def moments(self, sets: Iterable[Iterable[str]]) -> None:
        self.update(moments=sets)

    @property
    def edge(self) -> bool:
        """Whether devices may append rows that they encrypt with public keys."""
        return bool(self._facts.get("edge", False))

    @edge.setter
    def edge(self, edge: bool) -> None:
        self.update(edge=edge)

    @property
    def erasable(self) -> bool:
        """Whether the secrets of a table can be forgotten: their roots are then in the owner's key file and nowhere else."""
        return bool(self._facts.get("erasable", False))

    @erasable.setter
    def erasable(self, erasable: bool) -> None:
        self.update(erasable=erasable)

    def update(self, **changes: object) -> None:
        """Changes several keys of the file's head at once; ``None`` removes one.

        Raises:
            RefusedError: the schema would not be one. It stays as it was.
        """
        self._edit(None, changes)

    def approve(self, by: str) -> Schema:
        """The same, approved by ``by``. Says, as a ``HushWarning`` each, what the proposal warned of.

        Raises:
            RefusedError: a column is undecided (``DECIDE``).
        """
        for warning in self.warnings:
            python_warnings.warn(warning, HushWarning, stacklevel=2)
        return Schema(self._native.approve(by))

    def save(self, path: Path, replace: bool = False) -> None:
        """Writes its file.

        Raises:
            UsageError: the file exists, and ``replace`` is not given.
        """
        if not replace and os.path.lexists(path):
            raise usage(f"{os.fspath(path)} exists already\n  Ways out: replace=True; another path.")
        self._native.save(path, replace)

    def __getitem__(self, name: str) -> Column:
        """A column, to be read and changed.

        Raises:
            NoColumnError: there is none of this name. It is a ``KeyError``.
        """
        if name not in self._facts["columns"]:
            raise no_column(name, self.columns)
        return Column(self, name)

    def __contains__(self, name: object) -> bool:
        return name in self._facts["columns"]

    def __iter__(self) -> Iterator[Column]:
        return (Column(self, name) for name in self.columns)

    def __len__(self) -> int:
        return len(self._facts["columns"])

    def __eq__(self, other: object) -> bool:
        return self.text == other.text if isinstance(other, Schema) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Schema {self.table}: {len(self)} columns, {self._state()}>"

    def _repr_html_(self) -> str:
        cells = [
            [c.name, c.type, "" if c.range is None else f"{c.range[0]} to {c.range[1]}", c.protect, ", ".join(c.for_), c.reason]
            for c in self
        ]
        heads = ["column", "type", "range", "protect", "for", "reason"]
        return _html.table(heads, cells, [False] * len(heads), [f"{self.table}: {self._state()}", *self.warnings])

    def _state(self) -> str:
        return f"approved by {self.approved_by}" if self.is_approved else "not approved"

    def _edit(self, column: str | None, changes: dict[str, object]) -> None:
        settings = [(key, _setting(value)) for key, value in changes.items()]
        self._take(self._native.edit(column, settings))


class Column:
    """A column of a schema. Setting an attribute changes the schema."""

    __slots__ = ("_name", "_schema")

    def __init__(self, schema: Schema, name: str) -> None:
        self._schema, self._name = schema, name

    @property
    def name(self) -> str:
        """Its name, as in the data."""
        return self._name

    @property
    def type(self) -> str:
        """``int(8|16|32|64)``, ``decimal(p,s)``, ``float(digits)``, ``bool``, ``date``, ``timestamp``, ``category``, ``text``."""
        return str(self._facts["type"])

    @type.setter
    def type(self, text: str) -> None:
        self.update(type=text)

    @property
    def protect(self) -> Protection:
        """``clear`` (the server reads it), ``encrypt``, ``joinkey`` (the server sees which values are equal), ``seal`` (stored; no
        server computes on it), ``drop``, ``DECIDE``.
        """
        found: Protection = self._facts["protect"]
        return found

    @protect.setter
    def protect(self, protect: Protection) -> None:
        self.update(protect=protect)

    @property
    def range(self) -> Range | None:
        """Smallest and largest value allowed, in values of the column; ``None`` for its type's."""
        bounds = self._facts.get("range")
        return None if bounds is None else (_bound(self.type, bounds[0]), _bound(self.type, bounds[1]))

    @range.setter
    def range(self, bounds: tuple[Bound, Bound] | None) -> None:
        self.update(range=bounds)

    @property
    def nullable(self) -> bool:
        """Whether values may be missing."""
        return bool(self._facts.get("nullable", False))

    @nullable.setter
    def nullable(self, nullable: bool) -> None:
        self.update(nullable=nullable)

    @property
    def for_(self) -> list[str]:
        """What an encrypted column is for: ``sum``, ``avg``, ``count``, ``variance``, ``stddev``, ``skewness``, ``kurtosis``,
        ``geomean``, ``product``, ``fetch``, ``order``.
        """
        return list(self._facts.get("for", []))

    @for_.setter
    def for_(self, purposes: Iterable[str]) -> None:
        self.update(for_=purposes)

    @property
    def join(self) -> str | None:
        """The name of a join key's tokens: columns of one name have equal tokens for equal values. ``None`` for the column's name."""
        name: str | None = self._facts.get("join")
        return name

    @join.setter
    def join(self, name: str | None) -> None:
        self.update(join=name)

    @property
    def reason(self) -> str:
        """Why it is protected so, for people."""
        return str(self._facts.get("reason", ""))

    @reason.setter
    def reason(self, reason: str) -> None:
        self.update(reason=reason)

    def update(self, **changes: object) -> None:
        """Changes several keys at once, for instance type and range; ``None`` removes one. Takes every key that a column has
        in a schema file, ``for`` as ``for_``.

        Raises:
            RefusedError: the schema would not be one. It stays as it was.
        """
        keys = {("for" if key == "for_" else key): value for key, value in changes.items()}
        if keys.get("range") is not None:
            keys["range"] = _bounds(keys["range"])
        self._schema._edit(self._name, keys)

    @property
    def _facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = self._schema._facts["columns"][self._name]
        return facts

    def __repr__(self) -> str:
        return f"<Column {self.name}: {self.type}, {self.protect}>"


def propose(
    data: Data,
    *,
    lookup: Lookups = (),
    clear: Columns = (),
    sensitive: Columns = (),
    name: str = "data",
    workload: Path | None = None,
) -> Schema:
    """Proposes a schema: reads all data once. A person approves it, in its file or by ``schema.approve(by)``.

    Args:
        data: a path of a CSV or Parquet file or of a folder of them, also ``s3://``, ``gs://`` or ``az://``, or an object with an Arrow stream.
        lookup: as for ``encrypt``.
        clear: columns that a server may read.
        sensitive: columns that are protected whatever they look like.
        name: the table's name in SQL where the data is not a file.
        workload: a file of queries, separated by semicolons, whose layouts are proposed where they make a query clearly cheaper. Columns whose
            texts the schema lists for that are named in ``warnings``, with what each layout takes and does.

    Raises:
        RefusedError: a query is wrong; the message has its number.
    """
    data_in = looked_up(source(data, name), lookup)
    return Schema(_hushtable.Schema.propose(data_in, names(sensitive), names(clear), workload))


def read_schema(path: Path) -> Schema:
    """Reads a schema file, approved or not.

    Raises:
        UsageError: this is the text of a schema file.
        RefusedError: it is no schema; the message names the line.
    """
    # An error about a path prints it: the text of a schema is told from one first.
    if "\n" in os.fspath(path):
        raise usage("a path of a schema file is needed, not its text\n  Way out: ht.Schema.parse(text)")
    return Schema(_hushtable.Schema.read(path))


def of_file(schema: Schema | Path) -> Schema:
    """A schema, read if it is a path."""
    return schema if isinstance(schema, Schema) else read_schema(schema)


def _setting(value: object) -> _hushtable._Setting:
    match value:
        case None | bool() | int() | str():
            return value
        case Iterable():
            items = list(value)
            if all(isinstance(item, str) for item in items):
                return items
            if all(isinstance(item, Iterable) for item in items):
                return [_texts(item) for item in items]
    raise usage(f"a schema holds texts, whole numbers, truth values and lists of texts, not {type(value).__name__}")


def _texts(value: Iterable[object]) -> list[str]:
    items = [] if isinstance(value, str) else list(value)
    texts = [item for item in items if isinstance(item, str)]
    if not texts or len(texts) < len(items):
        raise usage("a list of lists of column names is needed")
    return texts


def _bounds(value: object) -> list[str]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise usage("a range is two values, (low, high)")
    return [_bound_text(bound) for bound in value]


def _bound_text(bound: object) -> str:
    """A bound with all its digits: never through a binary float of ours."""
    match bound:
        case str():
            return bound
        case int() if not isinstance(bound, bool):
            return str(bound)
        case float():
            return format(decimal.Decimal(repr(bound)), "f")
        case decimal.Decimal():
            return format(bound, "f")
        case datetime.datetime() if bound.tzinfo is None:
            return bound.isoformat(sep=" ")
        case datetime.date() if not isinstance(bound, datetime.datetime):
            return bound.isoformat()
    raise usage(f"a range has numbers, dates, timestamps without a zone, or texts, not {type(bound).__name__}")


def _bound(kind: str, bound: object) -> Any:
    """A bound as the file has it, as a value of the column's type."""
    if kind == "date":
        return datetime.date.fromisoformat(str(bound))
    if kind == "timestamp":
        return datetime.datetime.fromisoformat(str(bound))
    return int(str(bound)) if kind.startswith("int") else decimal.Decimal(str(bound))


__all__ = ["Column", "Schema", "propose", "read_schema"]
