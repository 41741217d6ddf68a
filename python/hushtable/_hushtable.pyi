# SPDX-License-Identifier: Apache-2.0
"""The native module: the Rust facade behind plain arguments. Use `hushtable` instead."""

import os
from collections.abc import Callable, Iterator
from typing import Any, final

__all__ = [
    "Answer", "Catalogue", "Key", "Model", "Prepared", "Schema", "Source", "Table", "accept", "alter", "append", "compact", "decrypt",
    "delete_rows", "device_key", "doctor", "drop_table", "encrypt", "fit", "history", "is_server", "ls", "pull", "purge", "push",
    "rehearse", "rotate", "table_of_query", "update_rows",
]  # fmt: skip

_Path = str | os.PathLike[str]
_Setting = bool | int | str | list[str] | list[list[str]] | None

@final
class Source:
    @property
    def table(self) -> str: ...
    @property
    def columns(self) -> list[str]: ...
    @staticmethod
    def open(path: _Path) -> Source: ...
    @staticmethod
    def from_batches(
        name: str,
        columns: list[tuple[str, str, bytes]],
        rows: int | None,
        batch_bytes: int,
        read: Callable[[list[int]], Iterator[bytes]],
    ) -> Source: ...
    def look_up(self, other: Source, on: list[tuple[str, str]]) -> Source: ...

@final
class Answer:
    @property
    def account(self) -> dict[str, Any]: ...
    def ipc(self) -> bytes: ...

@final
class Key:
    @property
    def id(self) -> str: ...
    @staticmethod
    def create(
        path: _Path, backup: _Path | None, passphrase: str | None, file: _Path | None, weak: bool, opens_in: int | None
    ) -> Key: ...
    @staticmethod
    def open(path: _Path, passphrase: str | None, file: _Path | None) -> Key: ...
    @staticmethod
    def temporary() -> Key: ...

@final
class Schema:
    @property
    def text(self) -> str: ...
    @property
    def warnings(self) -> list[str]: ...
    @staticmethod
    def parse(text: str) -> Schema: ...
    @staticmethod
    def propose(
        source: Source, sensitive: list[str], clear: list[str], workload: _Path | None = None
    ) -> Schema: ...
    @staticmethod
    def read(path: _Path) -> Schema: ...
    def approve(self, by: str) -> Schema: ...
    def edit(self, column: str | None, changes: list[tuple[str, _Setting]]) -> Schema: ...
    def save(self, path: _Path, replace: bool) -> None: ...

@final
class Model:
    @property
    def facts(self) -> dict[str, Any]: ...
    @staticmethod
    def parse(text: str, place: str) -> Model: ...
    def json(self) -> str: ...
    def sql(self) -> str: ...
    def expression(self) -> str: ...
    def score(self, table: Table, keep: list[str], condition: str | None) -> Answer: ...

def fit(
    table: Table,
    kind: str,
    wanted: tuple[str, list[str]],
    condition: str | None,
    size: tuple[int, int],
) -> Model: ...
@final
class Table:
    @property
    def schema(self) -> Schema: ...
    @property
    def name(self) -> str: ...
    @property
    def info(self) -> dict[str, Any]: ...
    @staticmethod
    def open_files(path: _Path, key: Key, threads: int, way: str | None, hide: list[str], keep: int | None) -> Table: ...
    @staticmethod
    def open_remote(url: str, key: Key, token_file: _Path | None, way: str | None, hide: list[str], keep: int | None) -> Table: ...
    def ask(self, sql: str, release: int | None) -> Answer: ...
    def prepare(self, sql: str) -> Prepared: ...
    def explain(self, sql: str) -> dict[str, Any]: ...

@final
class Catalogue:
    def __new__(cls, tables: list[Table]) -> Catalogue: ...
    def ask(self, sql: str) -> Answer: ...
    def explain(self, sql: str) -> list[tuple[str, str, dict[str, Any]]]: ...

@final
class Prepared:
    @property
    def plan(self) -> bytes: ...
    def gathered(self) -> Prepared | None: ...
    def finish(self, answer: bytes, release: int | None) -> Answer: ...

def accept(place: _Path, token_file: _Path | None, key: Key, discard: list[str]) -> dict[str, Any]: ...
def device_key(place: _Path, token_file: _Path | None, key: Key, output: _Path) -> str: ...
def append(
    place: _Path,
    token_file: _Path | None,
    source: Source,
    key: Key,
    batch: str | None,
    memory_limit: int | None,
    threads: int,
) -> dict[str, Any]: ...
def compact(
    place: _Path, token_file: _Path | None, key: Key, which: str, memory_limit: int | None, threads: int
) -> dict[str, Any]: ...
def alter(
    place: _Path,
    token_file: _Path | None,
    key: Key,
    add: list[str],
    drop: list[str],
    rename: list[tuple[str, str]],
    widen: list[tuple[str, tuple[str, str]]],
    purposes: list[tuple[str, list[str]]],
    products: list[list[str]],
    moments: list[list[str]],
    measures: list[str],
    memory_limit: int | None,
    threads: int,
) -> dict[str, Any]: ...
def rotate(
    place: _Path,
    token_file: _Path | None,
    key: Key,
    way: str,
    new_key: Key | None,
    forget: bool,
    memory_limit: int | None,
    threads: int,
) -> dict[str, Any]: ...
def decrypt(
    place: _Path, token_file: _Path | None, key: Key, columns: list[str] | None, release: int | None
) -> Answer: ...
def delete_rows(
    place: _Path,
    token_file: _Path | None,
    condition: str,
    key: Key,
    all: bool,
    dry_run: bool,
    threads: int,
) -> dict[str, Any]: ...
def doctor() -> dict[str, Any]: ...
def drop_table(url: str, token_file: _Path | None) -> None: ...
def encrypt(
    source: Source,
    schema: Schema,
    key: Key,
    output: _Path,
    replace: bool,
    workload: _Path | None,
    memory_limit: int | None,
    threads: int,
) -> list[str]: ...
def history(place: _Path, token_file: _Path | None, key: Key) -> dict[str, Any]: ...
def is_server(place: _Path) -> bool: ...
def ls(server: str, token_file: _Path | None) -> list[dict[str, Any]]: ...
def pull(url: str, token_file: _Path | None, directory: _Path, key: Key) -> None: ...
def purge(place: _Path, token_file: _Path | None, key: Key, statement: _Path | None) -> dict[str, Any]: ...
def push(directory: _Path, server: str, token_file: _Path | None, replace: bool) -> dict[str, Any]: ...
def rehearse(
    source: Source,
    sql: str,
    *,
    sensitive: list[str],
    clear: list[str],
    schema: Schema | None,
    verify: bool,
    dry_run: bool,
    release: int | None,
    threads: int,
) -> Answer: ...
def table_of_query(sql: str) -> str: ...
def update_rows(
    place: _Path,
    token_file: _Path | None,
    source: Source,
    on: list[str],
    key: Key,
    missing: str,
    all: bool,
    dry_run: bool,
    memory_limit: int | None,
    threads: int,
) -> dict[str, Any]: ...
