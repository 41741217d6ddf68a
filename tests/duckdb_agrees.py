# SPDX-License-Identifier: Apache-2.0
"""Results beside DuckDB's on the plain rows."""

import csv

import duckdb


def assert_as_duckdb(text, query, data, least=1):
    """A result as CSV is DuckDB's on a CSV file in the place of `t`: texts are equal, numbers to nine digits, and rows at least so many."""
    expected = duckdb.sql(query.replace("FROM t ", f"FROM read_csv('{data}') ")).fetchall()
    assert_same_rows(text, expected, query, least)


def assert_same_rows(text, expected, query, least=1):
    """The rows of a result as CSV are these, in their order: texts are equal, and numbers to nine digits."""
    found = list(csv.reader(text.splitlines()))[1:]
    assert len(found) == len(expected) >= least, query
    for row, wanted in zip(found, expected):
        for cell, value in zip(row, wanted):
            alike = cell == str(value if value is not None else "") or abs(float(cell) - float(value)) <= 1e-9 * abs(float(value))
            assert alike, (query, row, wanted)
