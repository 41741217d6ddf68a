#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Computes the table of the discrete Gaussian that released numbers get their noise from.

    python3 tools/gaussian_table.py            prints it as Rust
    python3 tools/gaussian_table.py --check    compares it with crates/hush-keys/src/release/table.rs

Entry j is floor(2^128 * P(|x| <= j)) for the discrete Gaussian x over the integers with deviation 5, in exact decimals of 80 digits.
"""

import sys
from decimal import Decimal, getcontext
from pathlib import Path

DEVIATION = 5
LARGEST = 70
PLACE = Path(__file__).parent.parent / "crates/hush-keys/src/release/table.rs"


def table():
    getcontext().prec = 80
    weight = [(-Decimal(k * k) / (2 * DEVIATION * DEVIATION)).exp() for k in range(4 * LARGEST)]
    total = weight[0] + 2 * sum(weight[1:])
    below, entries = Decimal(0), []
    for k in range(LARGEST):
        below += weight[k] * (1 if k == 0 else 2)
        entries.append(int(below / total * 2**128))
    return entries


def rust():
    lines = "".join(f"    {entry:#034x},\n" for entry in table())
    return (
        "// SPDX-License-Identifier: Apache-2.0\n"
        "//! Written by `tools/gaussian_table.py`; do not edit.\n\n"
        "/// Entry `j` is `floor(2^128 * P(|x| <= j))` for the discrete Gaussian `x` of deviation 5.\n"
        f"pub(super) const CUMULATIVE: [u128; {LARGEST}] = [\n{lines}];\n"
    )


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        sys.exit(0 if PLACE.read_text() == rust() else f"{PLACE} is not what this script prints")
    print(rust(), end="")
