# SPDX-License-Identifier: Apache-2.0
"""Approximate results that leave their owner: the warning without `--release`, and the effect of `--release`."""

import random
import shutil

import pytest

SCHEMA = """format = 1
table = "visits"
status = "approved"
release = { digits = 2, answers = 6 }
[columns.ward]
type = "category"
protect = "clear"
[columns.charge]
type = "float(1)"
protect = "encrypt"
for = ["sum"]
[columns.age]
type = "int(8)"
range = [0, 120]
protect = "encrypt"
for = ["sum"]
"""
GROUPED = "SELECT ward, SUM(charge) AS s FROM visits GROUP BY ward ORDER BY ward"


@pytest.fixture
def visits(hush, tmp_path, key):
    """A table with an approximate and an exact column, and the sums of tenths by ward."""
    seeded, sums, rows = random.Random(20), {}, []
    for number in range(2000):
        ward, tenths = f"w{number % 3}", seeded.randrange(-5000, 5000)
        sums[ward] = sums.get(ward, 0) + tenths
        rows.append(f"{ward},{tenths / 10:.1f},{number % 90}")
    data, schema = tmp_path / "visits.csv", tmp_path / "visits.schema.toml"
    data.write_text("\n".join(["ward,charge,age", *rows]) + "\n", encoding="utf-8")
    schema.write_text(SCHEMA, encoding="utf-8")
    hush("encrypt", data, "--schema", schema, "-o", tmp_path / "T", *key)
    return tmp_path / "T", sums, data


def test_results_of_approximate_columns_warn_once(hush, visits, key):
    """Query, decrypt and run warn of columns that their output opens; exact results and released ones need no warning."""
    table, _, data = visits
    approximate = [
        ("query", table, GROUPED, *key),
        ("query", table, "SELECT charge FROM visits WHERE ward = 'w0'", *key),
        ("decrypt", table, "--columns", "charge", *key),
        ("decrypt", table, *key),
        ("run", data, GROUPED, "--schema", data.with_suffix(".schema.toml")),
        ("run", data, GROUPED, "--schema", data.with_suffix(".schema.toml"), "--quiet"),
    ]
    for arguments in approximate:
        said = hush(*arguments).stderr
        assert said.count("charge is approximate: this output opens the whole column") == 1, (arguments, said)
    for arguments in (
        ("query", table, "SELECT ward, SUM(age), COUNT(*) FROM visits GROUP BY ward", *key),
        ("query", table, GROUPED, "--release", "2", *key),
        ("decrypt", table, "--columns", "age,ward", *key),
        ("run", data, GROUPED, "--schema", data.with_suffix(".schema.toml"), "--release", "2"),
        ("run", data, GROUPED, "--schema", data.with_suffix(".schema.toml"), "--dry-run"),
    ):
        assert "approximate: this output" not in hush(*arguments).stderr, arguments


def test_released_sums_are_right_repeatable_counted_and_end(hush, visits, key, tmp_path):
    """Right up to one unit of the last digit, the same again, six numbers and no more, nothing without a ledger."""
    table, sums, _ = visits
    ask = ("query", table, GROUPED, "--format", "csv", "--account", *key)
    done = hush(*ask, "--release", "2")
    found = dict(line.split(",") for line in done.stdout.splitlines()[1:])
    assert all(abs(float(found[ward]) - total / 10) <= 0.0100001 for ward, total in sums.items()), (found, sums)
    assert "3 numbers" in done.stderr and "3 of the table's budget left" in done.stderr
    again = hush(*ask, "--release", "2")
    assert again.stdout == done.stdout and "3 of the table's budget left" in again.stderr
    coarse = hush(*ask, "--release=-2")
    assert all(float(line.split(",")[1]) % 100 == 0 for line in coarse.stdout.splitlines()[1:])
    assert "HUSH-C083" in hush(*ask, "--release", "12", status=3).stderr
    halves = GROUPED.replace("GROUP BY", "WHERE age < 45 GROUP BY").replace("age < 45", "ward <> ''")
    assert hush("query", table, halves, "--release", "2", *key).returncode == 0
    # Three numbers are left. The sum over everything and two over pairs of wards take them; a fourth is refused.
    for condition in ("1 = 1", "ward <> 'w0'", "ward <> 'w1'"):
        hush("query", table, f"SELECT SUM(charge) FROM visits WHERE {condition}", "--release", "2", *key)
    refused = hush("query", table, "SELECT SUM(charge) FROM visits WHERE ward <> 'w2'", "--release", "2", *key, status=3)
    assert "HUSH-C082" in refused.stderr and refused.stdout == ""
    assert hush(*ask, "--release", "2").stdout == done.stdout
    shutil.rmtree(tmp_path / "home" / ".local" / "state" / "hushtable" / "releases")
    lost = hush(*ask, "--release", "2", status=3)
    assert "HUSH-C080" in lost.stderr and lost.stdout == ""


def test_a_table_of_the_format_before_is_refused_by_name(hush, visits, key):
    """The container's version is refused before anything else is looked at."""
    table, _, _ = visits
    manifest = table / "manifest.hush"
    content = bytearray(manifest.read_bytes())
    content[8] = 1
    manifest.write_bytes(bytes(content))
    said = hush("query", table, GROUPED, *key, status=None)
    assert said.returncode != 0 and "HUSH-T002" in said.stderr and "encrypt the source again" in said.stderr
