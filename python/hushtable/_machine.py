# SPDX-License-Identifier: Apache-2.0
"""The machine that this runs on."""

from __future__ import annotations

import os
from typing import Any

from . import _hushtable


def doctor() -> dict[str, Any]:
    """What this machine is to Hushtable: version, kernels, threads, memory, parameter sets."""
    return _hushtable.doctor()


def thread_count(threads: int | None) -> int:
    """As many as asked for; by default one for each core that this process may use, as far as the system says."""
    if threads is not None:
        return threads
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1
