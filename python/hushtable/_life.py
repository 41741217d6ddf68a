# SPDX-License-Identifier: Apache-2.0
"""What the versions of a table were, and that old ones are gone."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class VersionChange:
    """What one version of a table has changed."""

    #: The version.
    version: int
    #: When it was made, by its owner's clock: ``2026-11-25T16:00:00Z``.
    at: str
    #: What was done: ``encrypt``, ``append``, ``accept``, ``update``, ``delete``, ``compact``, ``rotate``, ``alter`` or ``devices``.
    what: str
    #: Rows that came, and rows that went.
    added: int
    removed: int
    #: Rows of this version that were not deleted; ``None`` where a later version does not say what it changed.
    living_rows: int | None


@dataclass(frozen=True)
class History:
    """The versions of a table, and what it holds now."""

    #: The table's name and version.
    table: str
    version: int
    #: Rows that were not deleted, rows that were and that its parts still hold, and both.
    living_rows: int
    deleted_rows: int
    stored_rows: int
    #: Parts, and bytes of its files.
    parts: int
    bytes: int
    #: What its versions have changed, the newest first.
    versions: list[VersionChange]
    #: The first version of which the table says what it changed; ``None`` if it says so of none.
    since: int | None


@dataclass(frozen=True)
class Purged:
    """What a purge has deleted, and what it has left."""

    #: The version that stays.
    version: int
    #: Files that are gone, by their paths below the table's place, and their bytes.
    deleted: list[str]
    deleted_bytes: int
    #: Files of deliveries that wait, and of uploads under way or interrupted less than a day ago: they stay.
    waiting: list[str]
    unnamed: list[str]
    #: Contents of overwritten and deleted objects that a bucket had kept, and that are gone; ``None`` where nobody can tell.
    earlier_objects: int | None
    #: What nobody can prove, in words.
    not_proven: list[str]


@dataclass(frozen=True)
class Altered:
    """What an alteration of columns has done."""

    #: The version that has it.
    version: int
    #: Whether anything changed: the same alteration once more changes nothing.
    changed: bool
    #: Whether it went on with an alteration that was interrupted.
    resumed: bool
    #: Rows that were written anew, and bytes of their parts.
    rows: int
    made_bytes: int
    #: Parts that got a new file of clear columns.
    clear_parts: int
    #: Columns that were dropped and that parts which are there still have, encrypted.
    left_behind: list[str]
    #: Rows of the table.
    table_rows: int


@dataclass(frozen=True)
class Rotated:
    """What a rotation has done, and what it has not undone."""

    #: The version that has it.
    version: int
    #: The owner's key of the table now, and the one before if that was another.
    key: str
    key_before: str | None
    #: Whether it went on with a rotation that was interrupted.
    resumed: bool
    #: Rows that were written anew, and bytes of their parts.
    rows: int
    made_bytes: int
    #: Rows of the table.
    table_rows: int
    #: Sets of secrets that its rows are under now.
    domains: int
    #: Roots of earlier secrets that went from the key file.
    forgotten: int
    #: What it does not undo, in words.
    not_undone: str
