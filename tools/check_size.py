#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on source files over 600 lines; such a file wants to be two."""

import pathlib
import subprocess
import sys

LIMIT = 600


def main() -> int:
    """Prints every file over the limit and returns 1 if there is one."""
    root = pathlib.Path(__file__).resolve().parent.parent
    listed = subprocess.run(["git", "ls-files", "*.rs", "*.py"], cwd=root, check=True, capture_output=True, text=True)
    over = []
    for name in listed.stdout.split():
        lines = (root / name).read_text(encoding="utf-8").count("\n")
        if lines > LIMIT:
            over.append(f"{name}: {lines} lines (limit {LIMIT})")
    print("\n".join(over) if over else "sizes: every source file is within the limit")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
