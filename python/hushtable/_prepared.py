# SPDX-License-Identifier: Apache-2.0
"""Questions in two halves: planned here, evaluated elsewhere, opened here."""

from __future__ import annotations

from . import _hushtable
from ._result import Result


class Prepared:
    """A planned question. Made by ``Table.prepare``.

    The plan goes to whoever evaluates it; it holds no key, and no value of a protected column. The answer comes back to ``finish``.
    """

    def __init__(self, native: _hushtable.Prepared) -> None:
        self._native = native

    @property
    def plan(self) -> bytes:
        """The plan's bytes, for ``hushtable_worker``. It fits this version of the table, and no later one."""
        return self._native.plan

    def gathered(self) -> Prepared | None:
        """The same question for more groups than this plan adds up (HUSH-E040): the rows that match come back, and ``finish`` groups
        them. ``None`` if it cannot be answered so."""
        native = self._native.gathered()
        return None if native is None else Prepared(native)

    def finish(self, answer: bytes, *, release: int | None = None) -> Result:
        """Opens the answer: decrypts and merges.

        ``release``: as in ``Table.sql``.

        Raises:
            DamagedError: the answer belongs to another plan, or no honest evaluation gives it.
        """
        return self._finish(answer, release)

    def _finish(self, answer: bytes, release: int | None) -> Result:
        """Finishes for a function, at whose caller's line it warns."""
        return Result._of(self._native.finish(answer, release), stacklevel=4)

    def __repr__(self) -> str:
        return f"<Prepared question: a plan of {len(self.plan)} bytes>"


__all__ = ["Prepared"]
