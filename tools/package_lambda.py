#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts `hush-lambda` into the archive that AWS Lambda takes.

    python3 tools/package_lambda.py PROGRAM ARCHIVE

The platform's C library may be older than this machine's, with which the program was linked. The archive therefore holds the program's
shared libraries and their loader too; `bootstrap`, which the platform starts, starts the program by them.
"""

import pathlib
import re
import subprocess
import sys
import zipfile

#: What the platform takes, zipped, by an upload.
MOST_BYTES = 50 * 10**6
BOOTSTRAP = """#!/bin/sh
exec "$LAMBDA_TASK_ROOT/lib/{loader}" --library-path "$LAMBDA_TASK_ROOT/lib" "$LAMBDA_TASK_ROOT/hush-lambda"
"""


def libraries(program):
    """Paths of the shared libraries of a program, and of its loader."""
    listed = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    found = [pathlib.Path(path) for path in re.findall(r"(?:=> |^\s*)(/\S+)", listed, re.MULTILINE)]
    loader = next((path for path in found if path.name.startswith("ld-")), None)
    if loader is None:
        raise SystemExit(f"{program}: ldd names no loader; is it a program for this machine?")
    return found, loader


def add(archive, name, content, mode):
    """Adds a file, with the same bytes at each run."""
    entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    entry.external_attr = (0o100000 | mode) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, content, compresslevel=9)


def main():
    """Writes the archive and prints its size."""
    if len(sys.argv) != 3:
        raise SystemExit(__doc__.strip())
    program, target = map(pathlib.Path, sys.argv[1:])
    found, loader = libraries(program)
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w") as archive:
        add(archive, "bootstrap", BOOTSTRAP.format(loader=loader.name), 0o755)
        add(archive, "hush-lambda", program.read_bytes(), 0o755)
        for path in sorted(found):
            add(archive, f"lib/{path.name}", path.read_bytes(), 0o755)
    size = target.stat().st_size
    print(f"{target}: {size / 1e6:.1f} MB, with {', '.join(sorted(path.name for path in found))}")
    if size > MOST_BYTES:
        raise SystemExit(f"{target} is larger than the {MOST_BYTES / 1e6:.0f} MB that the platform takes")


if __name__ == "__main__":
    main()
