# SPDX-License-Identifier: Apache-2.0
"""DuckDB reads a file and adds up its columns; prints one JSON object.

Usage: python3 - FILE THREADS COLUMN...
"""

import json
import os
import sys
import time

import duckdb

path, threads, *columns = sys.argv[1:]
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(threads)])
connection = duckdb.connect(config={"threads": int(threads)})
reader = "read_parquet" if path.endswith(".parquet") else "read_csv_auto"
sums = ", ".join(f"sum({column})" for column in columns)
start = time.perf_counter()
found = connection.execute(f"SELECT {sums} FROM {reader}(?)", [path]).fetchone()
seconds = time.perf_counter() - start
print(json.dumps({"version": duckdb.__version__, "seconds": seconds, "sums": [str(int(value)) for value in found]}))
