# SPDX-License-Identifier: Apache-2.0
"""Data of every kind as batches that the native module reads piece by piece. Nothing gathers a second copy."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from . import _hushtable
from ._errors import DataError, usage

Path = str | os.PathLike[str]
#: A path of a CSV or Parquet file or of a folder of them, or an object with an Arrow stream: pandas, polars (LazyFrames too), pyarrow, DuckDB.
Data = Any
#: Names of columns; one text is one name.
Columns = str | Iterable[str]

#: Rows of a piece: those of a chunk.
_PIECE_ROWS = 8192
#: Packages whose frames pyarrow converts.
_FRAMES = ("pandas", "polars")
#: Bytes that a value is taken to need in a piece where nobody knows.
_VALUE_BYTES = 32


def source(data: Data, name: str, *, once: bool = False) -> _hushtable.Source:
    """Data to read, called ``name`` in SQL unless it is a file. Read ``once``, a stream need not be held in memory.

    Raises:
        UsageError: neither a path nor an object with an Arrow stream.
        DataError: a column of a type that no table holds, two columns of one name, a file that is none.
    """
    if isinstance(data, str | os.PathLike):
        return _hushtable.Source.open(data)
    held = _held(data, once)
    columns = [(field.name, str(field.type), _serialised(field)) for field in held.schema]
    return _hushtable.Source.from_batches(name, columns, held.rows, held.batch_bytes, held.read)


def names(columns: Columns) -> list[str]:
    """Names as a list; one text is one name."""
    return [columns] if isinstance(columns, str) else list(columns)


@dataclass(frozen=True)
class _Held:
    """Batches, and how to read some of their columns."""

    schema: pa.Schema
    rows: int | None
    batch_bytes: int
    read: Callable[[list[int]], Iterator[bytes]]


def _held(data: Data, once: bool) -> _Held:
    if isinstance(data, pa.RecordBatch):
        return _of_table(pa.Table.from_batches([data]))
    package = _package(data)
    if package == "polars" and hasattr(data, "collect"):
        # Collected twice, a LazyFrame may give other rows: it is read once, or held.
        if once and hasattr(data, "collect_batches"):
            return _of_batches(map(_table, _guarded(data.collect_batches())), _table(data.collect_schema().to_frame()).schema)
        return _of_table(_table(_collected(data)))
    if not hasattr(data, "__arrow_c_stream__"):
        raise usage(f"a path or an object with an Arrow stream is needed, not {type(data).__name__}")
    if once and package not in _FRAMES and not isinstance(data, pa.Table):
        reader = _table(data, pa.RecordBatchReader.from_stream)
        return _of_batches(_guarded(reader), reader.schema)
    return _of_table(_table(data))


def _of_table(table: pa.Table) -> _Held:
    def read(columns: list[int]) -> Iterator[bytes]:
        picked = table.select(columns)
        return _pieces(picked.schema, picked.to_batches(max_chunksize=_PIECE_ROWS))

    row_bytes = table.nbytes // max(table.num_rows, 1)
    return _Held(table.schema, table.num_rows, 3 * row_bytes * _PIECE_ROWS, read)


def _of_batches(batches: Iterable[pa.RecordBatch | pa.Table], schema: pa.Schema) -> _Held:
    """A stream, which gives its batches once."""
    left: list[Iterable[pa.RecordBatch | pa.Table]] = [batches]

    def read(columns: list[int]) -> Iterator[bytes]:
        if not left:
            text = "a stream can be read only once\n  Way out: read it into memory first, with pyarrow.table(stream)."
            raise DataError("HUSH-D026", text)
        picked = pa.schema([schema.field(position) for position in columns])
        return _pieces(picked, _cut(left.pop(), columns))

    return _Held(schema, None, 3 * _VALUE_BYTES * len(schema) * _PIECE_ROWS, read)


def _cut(batches: Iterable[pa.RecordBatch | pa.Table], columns: list[int]) -> Iterator[pa.RecordBatch]:
    """The columns wanted, in pieces. Slices share the memory of their batch."""
    for batch in batches:
        picked = batch.select(columns)
        if isinstance(picked, pa.Table):
            yield from picked.to_batches(max_chunksize=_PIECE_ROWS)
        else:
            yield from (picked.slice(start, _PIECE_ROWS) for start in range(0, picked.num_rows, _PIECE_ROWS))


def _pieces(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
    """An IPC stream, piece by piece."""
    sink = io.BytesIO()

    def taken() -> bytes:
        piece = sink.getvalue()
        sink.seek(0)
        sink.truncate()
        return piece

    with pa.ipc.new_stream(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            yield taken()
    yield taken()


def _package(data: object) -> str:
    return type(data).__module__.partition(".")[0]


def _table(data: Any, read: Callable[[Any], Any] = pa.table) -> Any:
    """What pyarrow makes of it. Its own errors quote values; ours name the column and its type.

    Raises:
        DataError: it cannot. Its cause is what a stream raised.
    """
    try:
        return read(data)
    except BaseException as error:
        if not _is_refusal(error):
            raise
        # A stream has raised what it says itself. What a frame's conversion says quotes values.
        cause = None if _package(data) in _FRAMES else error
    raise _unreadable(data) from cause


def _collected(lazy: Any) -> Any:
    """A LazyFrame's rows, by the engine that streams."""
    return next(_guarded(lazy.collect(engine="streaming") for _ in range(1)))


def _guarded(batches: Iterable[Any]) -> Iterator[Any]:
    """The batches of a library that panics on some."""
    steps = iter(batches)
    while True:
        try:
            batch = next(steps)
        except StopIteration:
            return
        except BaseException as error:
            if not _is_panic(error):
                raise
            raise DataError("HUSH-D027", "the library that holds the data failed while it gave them") from None
        yield batch


def _is_panic(error: BaseException) -> bool:
    """A panic of a Rust library, which is not even an ``Exception``."""
    return type(error).__name__ == "PanicException"


def _is_refusal(error: BaseException) -> bool:
    return _is_panic(error) or (isinstance(error, Exception) and not isinstance(error, MemoryError))


def _unreadable(data: Any) -> DataError:
    """The first column that pyarrow does not take, by name and type."""
    columns = [] if isinstance(data, pa.Table) else list(getattr(data, "columns", []))
    texts = [str(name) for name in columns]
    twice = next((name for position, name in enumerate(texts) if name in texts[:position]), None)
    if twice is not None:
        return DataError("HUSH-D012", f"two columns are named {twice}\n  Rename one of them.")
    for position, name in enumerate(columns):
        try:
            pa.table(data[[name]])
        except BaseException as error:
            if not _is_refusal(error):
                raise
            kinds = getattr(data, "dtypes", None)
            kind = "unknown" if kinds is None else list(kinds)[position]
            text = f"column {name}: tables cannot hold the type {kind}\n  Convert the column to a plain type, or leave it out."
            return DataError("HUSH-D005", text)
    found = type(data).__name__
    return DataError("HUSH-D027", f"the Arrow stream of this {found} cannot be read\n  Way out: a pyarrow.Table of it.")


def _serialised(field: pa.Field) -> bytes:
    """The Arrow schema of a column alone; empty where tables cannot hold its type.

    An extension gives another meaning to what it stores (a period is stored as a number): it is not read as that.
    """
    if isinstance(field.type, pa.BaseExtensionType):
        return b""
    try:
        return bytes(pa.schema([field]).serialize().to_pybytes())
    except (pa.ArrowException, ValueError, TypeError):
        return b""
