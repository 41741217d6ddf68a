# SPDX-License-Identifier: Apache-2.0
"""Encrypted tables: made, opened, asked."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from . import _html, _hushtable
from ._alter import Bound, Purpose, column_text, range_texts
from ._data import Columns, Data, Path, names, source
from ._errors import HushWarning, usage
from ._expr import Expr, quote_name
from ._keys import Key, require_key
from ._life import Altered, History, Purged, Rotated, VersionChange
from ._lookup import Lookups, looked_up
from ._machine import byte_count, thread_count
from ._plan import Plan
from ._prepared import Prepared
from ._query import Query
from ._result import Result
from ._schema import Schema, of_file
from ._server import Pushed, is_url, uploaded


@dataclass(frozen=True)
class Appended:
    """Rows that were added to a table."""

    #: Rows that were given.
    rows: int
    #: Bytes that were stored for them.
    bytes: int
    #: The table's version and rows now.
    version: int
    table_rows: int
    #: The version that had brought the batch already; nothing was added then.
    known_since: int | None


@dataclass(frozen=True)
class Deleted:
    """Rows that went out of a table, or would go."""

    #: Rows that were deleted now.
    rows: int
    #: The table's version and rows now.
    version: int
    table_rows: int
    #: Deleted rows that its parts still hold.
    dead_rows: int


@dataclass(frozen=True)
class Updated:
    """Rows that got new values, or would get them."""

    #: Rows that were given.
    given: int
    #: Rows of the table with new values, and those that had them already.
    updated: int
    unchanged: int
    #: Rows that were added, and rows that were left out, because their key is not in the table.
    inserted: int
    skipped: int
    #: Bytes that were stored for new values.
    bytes: int
    #: The table's version and rows now.
    version: int
    table_rows: int
    #: Deleted rows, those with old values among them, that its parts still hold.
    dead_rows: int


@dataclass(frozen=True)
class Compacted:
    """Parts of a table that were written anew."""

    #: Parts that went, and that came in their place; none if nothing was worth it.
    parts: int
    made_parts: int
    #: Deleted rows that went with them.
    removed_rows: int
    #: Bytes of the parts that went, and of those that came.
    bytes: int
    made_bytes: int
    #: The table's version, rows and parts now.
    version: int
    table_rows: int
    table_parts: int


class Table:
    """An encrypted table whose owner's key is at hand. Made by ``encrypt``, ``open`` and ``pull``."""

    def __init__(self, native: _hushtable.Table, key: Key, place: Path, token_file: Path | None, keep: object) -> None:
        self._native, self._key, self._place, self._token_file = native, key, place, token_file
        # A table without a place of its own lives in a temporary directory, which ends with this object.
        self._keep = keep

    @property
    def name(self) -> str:
        """Its name in SQL."""
        return self._native.name

    @property
    def schema(self) -> Schema:
        """Its schema. A copy: changing it changes no table."""
        return Schema(self._native.schema)

    @property
    def columns(self) -> list[str]:
        """The names of its columns, protected ones too: only the owner sees them. Dropped ones are not stored."""
        return [column.name for column in self.schema if column.protect != "drop"]

    @property
    def info(self) -> dict[str, Any]:
        """What is public: table, version, rows, bytes, parts, key."""
        return self._native.info

    def sql(self, query: str, *, release: int | None = None) -> Result:
        """Asks: plans, lets the server compute on ciphertexts, decrypts and merges.

        ``release`` is for results that leave you: approximate numbers get noise that hides what they tell of the key, are
        rounded to so many digits after the point, and are counted against the table's budget.

        Raises:
            RefusedError: the query cannot be answered; nothing was sent.
            HushError: of another kind, if something fails.
        """
        return self._ask(query, release)

    def _ask(self, query: str, release: int | None = None) -> Result:
        """Asks for a method, at whose caller's line it warns."""
        return Result._of(self._native.ask(query, release), stacklevel=4)

    def prepare(self, query: str) -> Prepared:
        """Plans a query for evaluation elsewhere: by workers that have some of the parts each, and no key.

        Raises:
            RefusedError: the query cannot be answered.
        """
        return Prepared(self._native.prepare(query))

    def explain(self, query: str) -> Plan:
        """Plans a query without running it."""
        return Plan._of(self._native.explain(query))

    def decrypt(self, columns: Columns | None = None, *, release: int | None = None) -> Result:
        """The owner's data back, all columns or some. A table on a server is fetched first, as ciphertext.

        ``release``: as in ``sql``.
        """
        wanted = None if columns is None else names(columns)
        return Result._of(_hushtable.decrypt(self._place, self._token_file, self._key, wanted, release))

    def append(
        self,
        data: Data,
        *,
        lookup: Lookups = (),
        batch: str | None = None,
        memory_limit: int | str | None = None,
        threads: int | None = None,
    ) -> Appended:
        """Adds rows, read by the schema that the table was encrypted with. This object is of the version that has them then.

        Args:
            data: as for ``encrypt``.
            lookup: as for ``encrypt``: the columns that were looked up then are part of the table.
            batch: your name for these rows. The same batch again adds nothing; other rows under its name are refused.
            memory_limit: as for ``encrypt``.

        Warns:
            HushWarning: the table has more rows than ``max_rows`` of its schema: sums that may not fit are refused.

        Raises:
            DataError: the rows do not fit the schema, or are others than those of the batch that has this name.
            RefusedError: others keep the table busy, or it was encrypted anew meanwhile. Nothing was added.
        """
        data_in, count = looked_up(source(data, self.name, once=True), lookup), thread_count(threads)
        limit = byte_count(memory_limit)
        done = _hushtable.append(self._place, self._token_file, data_in, self._key, batch, limit, count)
        beyond = done.pop("rows_beyond")
        if beyond:
            note = f"the table has {beyond} rows more than max_rows in its schema: sums that may not fit are refused"
            warnings.warn(note, HushWarning, stacklevel=2)
        self._reopen(threads)
        return Appended(**done)

    def update(
        self,
        data: Data,
        *,
        key: str | Sequence[str],
        lookup: Lookups = (),
        missing: str = "refuse",
        all: bool = False,
        dry_run: bool = False,
        memory_limit: int | str | None = None,
        threads: int | None = None,
    ) -> Updated:
        """Gives rows new values, by the values of a key. This object is of the version that has them then. The same update again changes nothing.

        Args:
            data: the key and the columns that change, as for ``encrypt``. Other columns keep their values.
            key: the columns that tell rows apart.
            lookup: as for ``encrypt``: what is looked up changes too.
            missing: what becomes of rows whose key is not in the table: ``"refuse"``, ``"skip"`` or ``"insert"``.
            all: a key may be that of several rows, which all get the values.
            dry_run: rows are only counted.
            memory_limit: as for ``encrypt``.

        Warns:
            HushWarning: the table stores more rows than ``max_rows`` of its schema: sums that may not fit are refused.

        Raises:
            DataError: the rows do not fit the schema; keys that are NULL, there twice, missing, or of several rows.
            RefusedError: others keep the table busy, or it was encrypted anew meanwhile. Nothing was changed.
        """
        data_in, count = looked_up(source(data, self.name, once=True), lookup), thread_count(threads)
        on, limit = [key] if isinstance(key, str) else list(key), byte_count(memory_limit)
        place, token = self._place, self._token_file
        done = _hushtable.update_rows(place, token, data_in, on, self._key, missing, all, dry_run, limit, count)
        beyond = done.pop("rows_beyond")
        if beyond:
            note = f"the table stores {beyond} rows more than max_rows in its schema: sums that may not fit are refused"
            warnings.warn(note, HushWarning, stacklevel=2)
        self._reopen(threads)
        return Updated(**done)

    def delete(self, condition: str, *, all: bool = False, dry_run: bool = False, threads: int | None = None) -> Deleted:
        """Deletes the rows that meet a condition. This object is of the version without them then.

        Args:
            condition: as behind ``WHERE``, on columns of any protection: ``"id = 'p17'"``.
            all: it may be all rows.
            dry_run: rows are only counted.

        Raises:
            DataError: no row meets the condition.
            RefusedError: all rows do, and ``all`` is not set; the condition cannot be evaluated; others keep the table busy.
        """
        count = thread_count(threads)
        done = _hushtable.delete_rows(self._place, self._token_file, condition, self._key, all, dry_run, count)
        self._reopen(threads)
        return Deleted(**done)

    def _reopen(self, threads: int | None) -> None:
        """Turns to the newest version."""
        self._native = open(self._place, keys=self._key, token_file=self._token_file, threads=threads)._native

    def history(self) -> History:
        """What each version has changed, the newest first, and the rows that the table holds: by the newest version's manifest."""
        told = _hushtable.history(self._place, self._token_file, self._key)
        return History(**{**told, "versions": [VersionChange(**change) for change in told["versions"]]})

    def purge(self, statement: Path | None, *, dry_run: bool = False) -> Purged:
        """Deletes old versions for good, with all files that the present one does not name, and writes a signed statement of it.

        Args:
            statement: where the statement goes; never over a file. ``None`` with ``dry_run``.
            dry_run: delete nothing, and say what would be.

        Raises:
            UsageError: there is a file of that name. Nothing was deleted.
            RefusedError: others keep the table busy, or another version came meanwhile. Nothing was deleted.
            DamagedError: a server still gives what it says to have deleted. No statement was written.
        """
        if dry_run != (statement is None):
            raise usage("a purge writes a statement, and a dry run none\n  Ways out: purge(PATH); purge(None, dry_run=True).")
        return Purged(**_hushtable.purge(self._place, self._token_file, self._key, statement))

    def compact(
        self,
        which: Literal["worth", "due", "deleted", "all"] = "worth",
        *,
        memory_limit: int | str | None = None,
        threads: int | None = None,
    ) -> Compacted:
        """Writes small parts and parts with deleted rows anew: fewer, full, without those rows. Others may read and write meanwhile. This object is
        of the version that has them then.

        Args:
            which: parts that are ``worth`` it: small ones side by side, and those with more than 20 % of their rows deleted; the same once that is
                ``due``, from 8 small ones on; also all with a ``deleted`` row; or ``all``.
            memory_limit: as for ``encrypt``.

        Raises:
            RefusedError: the rows cannot be had again from the table, or it was encrypted anew meanwhile.
        """
        if which not in ("worth", "due", "deleted", "all"):
            raise usage(f"which={which!r} is not 'worth', 'due', 'deleted' or 'all'")
        limit, count = byte_count(memory_limit), thread_count(threads)
        done = _hushtable.compact(self._place, self._token_file, self._key, which, limit, count)
        self._reopen(threads)
        return Compacted(**done)

    def alter(
        self,
        *,
        add: Mapping[str, Mapping[str, Any]] | None = None,
        drop: Sequence[str] = (),
        rename: Mapping[str, str] | None = None,
        widen: Mapping[str, tuple[Bound, Bound]] | None = None,
        purposes: Mapping[str, Sequence[Purpose]] | None = None,
        products: Sequence[Sequence[str]] = (),
        moments: Sequence[Sequence[str]] = (),
        measures: Sequence[str] = (),
        memory_limit: int | str | None = None,
        threads: int | None = None,
    ) -> Altered:
        """Adds, drops, renames or widens columns, or gives them further purposes. The same call again goes on with an alteration that was
        interrupted, and changes nothing if it was complete; a call without any change goes on with whichever was.

        Args:
            add: columns as a schema file has them, ``{"weight": {"type": "int(16)", "range": [0, 500], "protect": "encrypt"}}``. They are
                NULL in all rows that are there.
            drop: columns to drop; data may go on having them.
            rename: old names with new ones.
            widen: columns with lowest and highest value from now on.
            purposes: encrypted columns with what they are to be computed for, besides what they are for already.
            products: sets of encrypted columns whose product is to be summed.
            moments: sets of columns among which COVAR, CORR and regressions are to be asked for.
            measures: expressions to be added up under conditions without keys, ``["price * discount"]``.
            memory_limit: as for ``encrypt``.

        Raises:
            RefusedError: a name or a range that would change answers; deliveries of devices wait; rows that would have to be written anew
                cannot be had again from the table.
            UsageError: a column that there is not, or that cannot have what is asked for.
        """
        limit, count = byte_count(memory_limit), thread_count(threads)
        columns = [column_text(name, keys) for name, keys in (add or {}).items()]
        ranges = [(name, range_texts(name, bounds)) for name, bounds in (widen or {}).items()]
        given = [(name, names(wanted)) for name, wanted in (purposes or {}).items()]
        done = _hushtable.alter(
            self._place,
            self._token_file,
            self._key,
            columns,
            names(drop),
            list((rename or {}).items()),
            ranges,
            given,
            [list(factors) for factors in products],
            [list(columns) for columns in moments],
            names(measures),
            limit,
            count,
        )
        note = done.pop("note")
        if note is not None:
            warnings.warn(note, HushWarning, stacklevel=2)
        self._reopen(threads)
        return Altered(**done)

    def rotate(
        self,
        new_key: Key | None = None,
        *,
        way: Literal["everything", "new_rows", "rewrap"] = "everything",
        forget: bool = False,
        memory_limit: int | str | None = None,
        threads: int | None = None,
    ) -> Rotated:
        """Gives the table another owner's key, or new secrets for its rows. This object then has the new key. The same call again goes on
        with a rotation that was interrupted.

        Args:
            new_key: the key that the table is to have; ``None`` to keep the one that it has.
            way: new secrets for ``everything``, so that all rows are written anew; for ``new_rows``, those to come; or ``rewrap``, for none: the
                table gets the key alone.
            forget: whether the roots of all earlier secrets go from the key file in the end, so that no copy of an earlier version opens any
                more. For tables with ``erasable = true`` in their schema, and for ``everything``.
            memory_limit: as for ``encrypt``.

        Raises:
            UsageError: nothing would change.
            RefusedError: deliveries of devices wait; the rows cannot be had again from the table.
        """
        if way not in ("everything", "new_rows", "rewrap"):
            raise usage(f"way={way!r} is not 'everything', 'new_rows' or 'rewrap'")
        limit, count = byte_count(memory_limit), thread_count(threads)
        to = None if new_key is None else require_key(new_key)
        done = _hushtable.rotate(self._place, self._token_file, self._key, way, to, forget, limit, count)
        note = done.pop("note")
        if note is not None:
            warnings.warn(note, HushWarning, stacklevel=2)
        self._key = to or self._key
        self._reopen(threads)
        return Rotated(**done)

    def push(self, server: str, *, token_file: Path | None = None, replace: bool = False) -> Pushed:
        """Uploads it; see ``hushtable.push``.

        Raises:
            UsageError: it is on a server already, or temporary: its key ends with this process.
        """
        if is_url(self._place):
            raise usage("the table is on a server\n  Way out: ht.pull it into a directory first.")
        if self._keep is not None:
            raise usage("a temporary table cannot be pushed\n  Way out: ht.encrypt(..., out=DIRECTORY, keys=...)")
        return uploaded(self._place, server, token_file, replace, stacklevel=3)

    def filter(self, *conditions: str | Expr) -> Query:
        """See ``Query.filter``."""
        return self._query().filter(*conditions)

    def select(self, *columns: str | Expr) -> Query:
        """See ``Query.select``."""
        return self._query().select(*columns)

    def group_by(self, *keys: str | Expr) -> Query:
        """See ``Query.group_by``."""
        return self._query().group_by(*keys)

    def agg(self, *aggregates: Expr) -> Query:
        """See ``Query.agg``."""
        return self._query().agg(*aggregates)

    def _query(self) -> Query:
        return Query(self._ask, self.explain, self.name)

    def head(self, rows: int = 5) -> Result:
        """The first rows of all columns that can be asked for: a query like any other.

        Raises:
            UsageError: a negative number.
        """
        if rows < 0:
            raise usage("a number of rows is at least 0")
        return self._ask(f"SELECT * FROM {quote_name(self.name)} LIMIT {rows}")

    def __len__(self) -> int:
        """Rows."""
        return int(self.info["rows"])

    def __repr__(self) -> str:
        return f"<Table {self.name}: {len(self)} rows>"

    def _repr_html_(self) -> str:
        info = self.info
        cells = [[column.name, column.type, column.protect] for column in self.schema]
        facts = f"{self.name}, version {info['version']}: {info['rows']} rows, {info['bytes']} bytes, key {info['key']}"
        return _html.table(["column", "type", "protect"], cells, [False] * 3, [facts])


def encrypt(
    data: Data,
    *,
    lookup: Lookups = (),
    schema: Schema | Path | None = None,
    keys: Key | None = None,
    clear: Columns | None = None,
    sensitive: Columns | None = None,
    out: Path | None = None,
    replace: bool = False,
    workload: Path | None = None,
    name: str = "data",
    memory_limit: int | str | None = None,
    threads: int | None = None,
) -> Table:
    """Encrypts data into a table. After an interruption the same call goes on behind what is stored in ``out``.

    Args:
        data: a path of a CSV or Parquet file or of a folder of them, also ``s3://``, ``gs://`` or ``az://``, or an object with an Arrow stream.
        lookup: other data whose columns each row gets by a key, ``ht.Lookup("part.parquet", on={"partkey": "p_partkey"})``, or several: what
            questions would join. They are columns of the table like all others; the schema lists them too.
        schema: an approved schema or its file. With one, a stream or a LazyFrame is read once and never held.
        clear: without a schema, columns that a server may read.
        sensitive: without a schema, columns that are protected whatever they look like. What neither names is protected as
            ``propose`` says; ``clear=[]`` takes all of the proposal.
        keys: the owner's key; by default a temporary one, which ends with this process, and the table with it.
        out: the table's directory, or its address in an object store; by default a temporary directory, which ends with the table. It
            holds no plaintext of a protected column.
        replace: whether a table in ``out`` is replaced by this one. All of its rows go.
        workload: a file of queries, separated by semicolons, whose layouts the table must have.
        name: the table's name in SQL where the data is not a file.
        memory_limit: the most that the process may take, in bytes or as a text such as ``"500MB"``. It counts what the process
            has taken already; by default all that the system lets it.

    Warns:
        HushWarning: a column is left clear that looks sensitive, or clear columns single out rows together; a table was
            replaced; columns are not kept; values are read as others than they are written (``censored``).

    Raises:
        UsageError: neither a schema nor ``clear`` nor ``sensitive`` is given, or both are; a column is both clear and
            sensitive.
        RefusedError: the proposal leaves a column undecided, which ``clear`` and ``sensitive`` do not name; ``out`` holds a table
            and ``replace`` is not given, or it holds other files, or an interrupted encryption of other data.
        DataError: the data does not fit the schema.
        ResourceError: the memory limit is too low for even one chunk, or it was passed.
    """
    if keys is None and out is not None:
        raise usage("a table that stays needs a key that stays\n  Way out: keys=ht.keygen(...)")
    by_choice = clear is not None or sensitive is not None
    if by_choice == (schema is not None):
        raise usage("what may a server read?\n  Ways out: schema=..., or clear=[...] and sensitive=[...]; not both.")
    key = Key.temporary() if keys is None else require_key(keys)
    if schema is None:
        data_in = looked_up(source(data, name), lookup)
        approved = _approved(data_in, names(clear or ()), names(sensitive or ()))
    else:
        approved = of_file(schema)
        data_in = looked_up(source(data, name, once=True), lookup)
    keep = _TemporaryDirectory() if out is None else None
    place = os.fspath(out) if out is not None else os.path.join(keep.name if keep else "", "table")
    count, limit = thread_count(threads), byte_count(memory_limit)
    for note in _hushtable.encrypt(data_in, approved._native, key, place, replace, workload, limit, count):
        warnings.warn(note, HushWarning, stacklevel=2)
    return Table(_hushtable.Table.open_files(place, key, count, None, [], None), key, place, None, keep)


class _TemporaryDirectory:
    """A directory that is removed when this object ends, or the process. Unlike ``tempfile.TemporaryDirectory`` it does not warn
    that it was left to that: a table without a place is meant to end so."""

    def __init__(self) -> None:
        self.name = tempfile.mkdtemp(prefix="hushtable-")
        weakref.finalize(self, shutil.rmtree, self.name, ignore_errors=True)


def _approved(data: _hushtable.Source, clear: list[str], sensitive: list[str]) -> Schema:
    """The proposal with the caller's choice, which approves it; refused while it leaves a column undecided."""
    proposal = _hushtable.Schema.propose(data, sensitive, clear)
    for warning in proposal.warnings:
        warnings.warn(warning, HushWarning, stacklevel=3)
    return Schema(proposal.approve("clear and sensitive, given to hushtable.encrypt"))


def open(  # noqa: A001
    place: Path,
    *,
    keys: Key,
    token_file: Path | None = None,
    way: str | None = None,
    hide: Sequence[str] = (),
    keep: bool | int | str = False,
    threads: int | None = None,
) -> Table:
    """Opens a table: a directory, ``SERVER/tables/NAME``, or a prefix in an object store, such as ``s3://lake/patients``.

    Args:
        keys: the owner's key.
        token_file: the file with the server's API token.
        way: the way to answer its questions, ``"cube"``, ``"group"``, ``"order"``, ``"filter"``, ``"sum"``, ``"rows"``, ``"gather"`` or ``"fetch"``; else the one
            that is predicted to be quickest.
        hide: what no question may show the server, of ``"constants"``, ``"pattern"`` and ``"sizes"``.
        keep: whether questions are put to columns that are kept on this machine, in so many bytes (1 GB for ``True``). What a
            question lacks comes back once for each version of the table, all rows of it; the server learns nothing else. Questions
            of clear columns alone go to the server as ever.
    """
    key = require_key(keys)
    if keep and (way or hide):
        raise usage("keep has a way of its own, which hides all that can be hidden\n  Way out: way and hide without keep.")
    limit = byte_count("1GB" if keep is True else keep or None)
    if is_url(place):
        native = _hushtable.Table.open_remote(str(place), key, token_file, way, names(hide), limit)
    else:
        native = _hushtable.Table.open_files(place, key, thread_count(threads), way, names(hide), limit)
    return Table(native, key, place, token_file, None)


def pull(
    url: str, out: Path, *, keys: Key, token_file: Path | None = None, threads: int | None = None
) -> Table:
    """Downloads the newest version of the table at ``SERVER/tables/NAME`` or in an object store into ``out``, a directory or a prefix
    in an object store, and opens it there.

    The manifest must be signed by ``keys``, be no older than what was seen of the table, and be of the table that was
    seen there; every part is held to the digest that the manifest names. Broken off and called again, it continues.
    """
    _hushtable.pull(url, token_file, out, require_key(keys))
    return open(out, keys=keys, threads=threads)


__all__ = ["Table", "encrypt", "open", "pull"]
