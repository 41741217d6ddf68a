# SPDX-License-Identifier: Apache-2.0
"""The machine that this runs on."""

from __future__ import annotations

import os
import re
from typing import Any

from . import _hushtable
from ._errors import usage


def doctor() -> dict[str, Any]:
    """What this machine is to Hushtable: version, kernels, threads, memory, parameter sets."""
    return _hushtable.doctor()


#: Bytes of the units of a size.
_UNITS = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}


def byte_count(size: int | str | None) -> int | None:
    """Bytes of a size: a number of them, or a text such as ``"64MB"``, ``"64MiB"`` or ``"1.5GB"``.

    Raises:
        UsageError: it is no size.
    """
    if size is None:
        return None
    written = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmg]?i?b)\s*", size, re.IGNORECASE) if isinstance(size, str) else None
    unit = _UNITS.get(written[2].lower()) if written else None
    count = int(float(written[1]) * unit) if written and unit else size
    if isinstance(count, int) and not isinstance(count, bool) and 0 < count < 2**63:
        return count
    raise usage(f"{size!r} is not a size\n  Ways out: a number of bytes; a text such as \"64MB\", \"64MiB\" or \"1.5GB\".")


def thread_count(threads: int | None) -> int:
    """As many as asked for; by default one for each core that this process may use, as far as the system says."""
    if threads is not None:
        return threads
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1
