# SPDX-License-Identifier: Apache-2.0
"""A query before it runs: what it would do, by which ways, and what the server would learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._result import Leakage


@dataclass(frozen=True)
class Way:
    """A way to answer a query, with its predicted price. All ways give the same result."""

    #: ``cube``, ``group``, ``order``, ``filter``, ``sum``, ``rows``, ``gather`` or ``fetch``, and what that is.
    name: str
    what: str
    #: Seconds of server, link and owner, and bytes of the answer.
    seconds: float
    bytes_down: int
    #: What the server learns from it.
    tells: list[str]
    #: Whether the query is answered so.
    taken: bool


@dataclass(frozen=True)
class Plan:
    """What a query would do, before it runs."""

    #: Who does what, in order: (``server, clear`` | ``server, encrypted`` | ``you``, sentence).
    steps: list[tuple[str, str]]
    #: Bytes of encrypted answer for each group or chunk.
    answer_bytes_each: int
    #: Parameter sets, their security in bits, depth, and distance in bits between noise and its limit.
    params: list[str]
    security_bits: int
    depth: int
    margin_bits: float
    #: Absolute error of approximate results; ``None`` where all are exact.
    precision: float | None
    leakage: Leakage
    #: The ways that were weighed; empty where there was only one.
    ways: list[Way]

    @classmethod
    def _of(cls, found: dict[str, Any]) -> Plan:
        ways = [Way(**way) for way in found["ways"]]
        return cls(**{**found, "leakage": Leakage(**found["leakage"]), "ways": ways})

    def __str__(self) -> str:
        lines = [f"{number} {actor:<18} {what}" for number, (actor, what) in enumerate(self.steps, 1)]
        lines.append("The server learns")
        for label, sentences in (
            ("from the table", self.leakage.table),
            ("from this query", self.leakage.query),
            ("not", self.leakage.hidden),
        ):
            lines.append(f" {label:<16} {'; '.join(sentences)}")
        return "\n".join(lines)
