# SPDX-License-Identifier: Apache-2.0
"""Queries as text files (`tests/queries`): each runs on plain values, encrypted, and on DuckDB, with one expected result for all three.

A file has comments (`--`), one table (`data`, then CSV up to an empty line; `types` for DuckDB; `sensitive` and `clear` columns) and
queries: `query` and the SQL on the next line, then either `expect` and CSV up to an empty line, or `refuse` and a code
(`*` for any). Cells are compared exactly, as numbers if both are numbers; those that begin with `~` to six digits.
"""

import csv
import dataclasses
import decimal
import pathlib

import duckdb
import pytest

FILES = pathlib.Path(__file__).parent / "queries"


@dataclasses.dataclass
class Case:
    """One query of a file."""

    settings: dict
    sql: str
    expected: list | None
    refusal: str | None


def cases():
    """Every query of every file."""
    for path in sorted(FILES.glob("*.test")):
        settings, sql = {}, None
        lines = iter(path.read_text(encoding="utf-8").splitlines())
        block = lambda: list(iter(lambda: next(lines, ""), ""))
        number = 0
        for line in lines:
            word, _, rest = line.partition(" ")
            if word == "query":
                sql = next(lines)
            elif word in ("expect", "refuse"):
                number += 1
                expected = list(csv.reader(block())) if word == "expect" else None
                case = Case(dict(settings), sql, expected, rest or None)
                yield pytest.param(case, id=f"{path.stem}-{number}")
            elif word == "data":
                settings["data"] = "\n".join(block()) + "\n"
            elif word not in ("", "--"):
                settings[word] = rest


def same(found, expected):
    """Whether a cell is as expected."""
    if expected.startswith("~"):
        return float(found) == pytest.approx(float(expected[1:]), rel=1e-6)
    try:
        return decimal.Decimal(found) == decimal.Decimal(expected)
    except decimal.InvalidOperation:
        return found == expected


def check(found, expected, mode):
    """Compares two tables of text, header first."""
    assert found[0] == expected[0], mode
    assert len(found) == len(expected), f"{mode}: {found}"
    for row, wanted in zip(found[1:], expected[1:]):
        assert len(row) == len(wanted) and all(map(same, row, wanted)), f"{mode}: {row}, expected {wanted}"


def ask_duckdb(case):
    """The result of the oracle, as text."""
    types = ", ".join(f"'{name}': '{kind}'" for name, kind in (item.split() for item in split_types(case)))
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.execute(f"CREATE TABLE t AS FROM read_csv('t.csv', columns={{{types}}}, header=true, nullstr='')")
    result = connection.execute(case.sql)
    header = [column[0] for column in result.description]
    text = lambda cell: "" if cell is None else str(cell)
    return [header, *([text(cell) for cell in row] for row in result.fetchall())]


def split_types(case):
    """`x BIGINT` for each column; a comma inside parentheses belongs to a type."""
    return case.settings["types"].replace(", ", "\n").splitlines()


@pytest.mark.parametrize("case", list(cases()))
def test_query(case, hush, tmp_path, monkeypatch):
    """The result is the same on plain values, encrypted, and in DuckDB; or both of our runs refuse."""
    (tmp_path / "t.csv").write_text(case.settings["data"], encoding="utf-8")
    choice = ["--sensitive", case.settings["sensitive"], "--clear", case.settings["clear"]]
    arguments = ["run", "t.csv", case.sql, *choice, "--format", "csv", "--quiet"]
    for mode in (["--dry-run"], []):
        if case.refusal:
            done = hush(*arguments, *mode, status=None)
            assert done.returncode != 0 and not done.stdout, mode
            code = "HUSH-P" if case.refusal == "*" else case.refusal
            assert done.stderr.startswith(code), done.stderr
        else:
            found = list(csv.reader(hush(*arguments, *mode).stdout.splitlines()))
            check(found, case.expected, mode or "encrypted")
    if case.expected:
        monkeypatch.chdir(tmp_path)
        check(ask_duckdb(case), case.expected, "DuckDB")
