# SPDX-License-Identifier: Apache-2.0
"""DuckDB on a plaintext file, in memory; prints one JSON object. Of a long result it has some rows: the first and every `every`th after it.

Usage: python3 - CSV TABLE SQL REPEAT THREADS
"""

import json
import statistics
import sys
import time

import duckdb


def number(cell):
    """A cell as a double; of a text FNV-1a of 32 bits."""
    if not isinstance(cell, str):
        return None if cell is None else float(cell)
    found = 0x811C9DC5
    for byte in cell.encode():
        found = (found ^ byte) * 0x01000193 & 0xFFFFFFFF
    return float(found)


path, table, sql, repeat, threads = sys.argv[1:]
connection = duckdb.connect(config={"threads": int(threads)})
connection.execute(f"CREATE TABLE {table} AS SELECT * FROM read_csv_auto(?)", [path])
result = connection.execute(sql).fetchall()
every = max(1, len(result) // 20_000)
rows = [[number(cell) for cell in row] for row in result[::every]]
times = []
for _ in range(int(repeat)):
    start = time.perf_counter()
    connection.execute(sql).fetchall()
    times.append(time.perf_counter() - start)
print(json.dumps({"version": duckdb.__version__, "seconds": statistics.median(times), "every": every, "rows": rows}))
