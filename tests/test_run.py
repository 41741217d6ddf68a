# SPDX-License-Identifier: Apache-2.0
"""`hush run` against DuckDB and exact Python arithmetic."""

import csv
import decimal
import io
import json
import math
import random

import duckdb
import pytest

from conftest import PATIENTS


def rows_of(text):
    """CSV text as a list of dictionaries."""
    return list(csv.DictReader(io.StringIO(text)))


def test_the_main_job_equals_duckdb(hush):
    """The README's query: groups, a filter, an average and a standard deviation."""
    query = "SELECT ward, COUNT(*) AS n, AVG(age) AS a, STDDEV(charges) AS s FROM patients WHERE year = 2023 GROUP BY ward ORDER BY ward"
    done = hush("run", PATIENTS, query, "--clear", "ward,year", "--verify", "--format", "csv")
    expected = duckdb.sql(query.replace("FROM patients", f"FROM '{PATIENTS}'")).fetchall()
    found = rows_of(done.stdout)
    assert [(row["ward"], int(row["n"])) for row in found] == [(ward, n) for ward, n, _, _ in expected]
    for row, (_, _, average, deviation) in zip(found, expected):
        assert math.isclose(float(row["a"]), average, rel_tol=1e-12)
        assert math.isclose(float(row["s"]), deviation, rel_tol=1e-9)
    assert "equals plaintext, exactly" in done.stderr
    assert "A server would see" in done.stderr


def test_only_the_result_goes_to_standard_output(hush):
    """The account belongs to standard error."""
    done = hush("run", PATIENTS, "SELECT COUNT(*) AS n FROM patients", "--clear", "ward", "--format", "csv")
    assert done.stdout == "n\n6000\n"


@pytest.mark.parametrize("seed", range(4))
def test_random_tables_are_exact(hush, tmp_path, seed):
    """Random integers and decimals with NULLs: counts, sums and weighted sums, per group, to the last digit."""
    draw = random.Random(seed)
    rows = [draw.choice([1, 37, 2500, 9000])][0]
    groups = ["a", "b", None]
    table = [
        (
            draw.choice(groups),
            draw.randint(-(10**6), 10**6) if draw.random() < 0.9 else None,
            decimal.Decimal(draw.randint(-(10**9), 10**9)).scaleb(-2) if draw.random() < 0.9 else None,
            draw.randint(0, 9),
        )
        for _ in range(rows)
    ]
    path = tmp_path / "t.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["g", "x", "m", "w"])
        writer.writerows([["" if cell is None else cell for cell in row] for row in table])
    query = (
        "SELECT g, COUNT(*) AS n, COUNT(x) AS nx, SUM(x) AS sx, SUM(m) AS sm, SUM(x * w) AS xw "
        "FROM t WHERE w < 8 GROUP BY g"
    )
    done = hush("run", path, query, "--sensitive", "x,m", "--clear", "g,w", "--format", "csv")
    found = {row["g"]: row for row in rows_of(done.stdout)}
    expected = {}
    for group, x, money, weight in table:
        if weight < 8:
            entry = expected.setdefault(group or "", {"n": 0, "x": [], "m": [], "xw": []})
            entry["n"] += 1
            if x is not None:
                entry["x"].append(x)
                entry["xw"].append(x * weight)
            if money is not None:
                entry["m"].append(money)
    assert set(found) == set(expected)
    for group, entry in expected.items():
        row = found[group]
        assert (int(row["n"]), int(row["nx"])) == (entry["n"], len(entry["x"]))
        for column, values in (("sx", entry["x"]), ("sm", entry["m"]), ("xw", entry["xw"])):
            if values:
                assert decimal.Decimal(row[column]) == sum(values)
            else:
                assert row[column] == ""


def test_conditions_on_encrypted_columns_are_the_owners(hush):
    """The server sends columns, and learns nothing of the condition."""
    query = "SELECT AVG(age) AS a FROM patients WHERE bp > 137"
    done = hush("run", PATIENTS, query, "--verify", "--json")
    account = json.loads(done.stderr.splitlines()[-1])
    assert account["verified"] == "exactly"
    assert "137" not in json.dumps(account["server_sees"]) and "that every row is used" in account["server_sees"]["from_query"]
    assert "the rest of the question" in account["server_does_not_see"]


def test_bad_data_is_named_by_place_and_never_by_value(hush, tmp_path):
    """A ragged line stops the job."""
    path = tmp_path / "bad.csv"
    path.write_text("a,b\n1,2\n3,4,SECRETVALUE\n", encoding="utf-8")
    done = hush("run", path, "SELECT SUM(a) FROM bad", status=8)
    assert "HUSH-D015" in done.stderr and "SECRETVALUE" not in done.stderr
