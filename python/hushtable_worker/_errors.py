# SPDX-License-Identifier: Apache-2.0
"""What a worker refuses or fails at. It travels between processes, as itself or as text."""

from __future__ import annotations

import re


class WorkerError(Exception):
    """An error of a worker, with the table's place. Carries no value of the table and no text of the plan."""

    #: Who can mend it: ``Refused``, ``Usage``, ``Resource``, ``Damaged`` or ``Internal``.
    kind: str
    #: Stable code, such as ``HUSH-E031``.
    code: str
    #: The table's place.
    place: str
    #: What was found, and the ways out.
    message: str

    def __init__(self, kind: str, code: str, place: str, message: str) -> None:
        super().__init__(kind, code, place, message)
        self.kind, self.code, self.place, self.message = kind, code, place, " ".join(message.split())

    def __str__(self) -> str:
        """One line, from which ``in_text`` reads it back."""
        return f"{self.code} [{self.kind}] {self.place}: {self.message}"


_LINE = re.compile(r"WorkerError: (HUSH-[A-Z]\d{3}) \[(\w+)\] ([^\n]*)")


def in_text(text: str, place: str) -> WorkerError | None:
    """The last error of a worker at ``place`` that a text quotes, such as the report of a scheduler on a task that failed."""
    found = [match for match in _LINE.finditer(text) if match[3].startswith(f"{place}: ")]
    if not found:
        return None
    code, kind, rest = found[-1].groups()
    return WorkerError(kind, code, place, rest.removeprefix(f"{place}: "))
