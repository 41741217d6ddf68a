# SPDX-License-Identifier: Apache-2.0
"""The table that `measure_lambda.py` and `measure_spark.py` ask, and their question."""

import pathlib
import time

import numpy
import pyarrow as pa
import pyarrow.parquet

import hushtable as ht

QUERY = "SELECT g, COUNT(*), SUM(a), AVG(b) FROM t WHERE year >= 2017 GROUP BY g ORDER BY g"


def encrypt(directory: pathlib.Path, rows: int, groups: int, key: ht.Key, place: str) -> float:
    """Encrypts a table of random integers to a place; gives the seconds of that. The directory takes the plaintext."""
    draw = numpy.random.default_rng(1)
    columns = {name: pa.array(draw.integers(0, 10**9, rows)) for name in "abcd"}
    columns |= {"g": pa.array(draw.integers(0, groups, rows)), "year": pa.array(draw.integers(2010, 2025, rows))}
    pa.parquet.write_table(pa.table(columns), directory / "t.parquet")
    schema = ht.propose(directory / "t.parquet", clear=["g", "year"], sensitive=list("abcd"))
    for name in "abcd":
        schema[name].update(type="int(64)", range=[0, 10**9], protect="encrypt", for_=["sum", "avg"])
    schema = schema.approve("measured_table.py")
    begun = time.monotonic()
    ht.encrypt(directory / "t.parquet", schema=schema, keys=key, out=place)
    return time.monotonic() - begun
