# SPDX-License-Identifier: Apache-2.0
"""Predictions: bytes equal to measured ones, the profile that calibration keeps, and drawings without values."""

import json
import random
import xml.dom.minidom

import pytest

from conftest import approve
from test_queries import HEADER, random_rows, write_csv

GROUPED = ("g", "k", "g, k", "k > 0", "date_part('year', d)", "")
FILTERS = ("", "WHERE k = 1", "WHERE d >= DATE '2015-01-01'", "WHERE g IS NOT NULL AND k < 2", "WHERE k = 99")
SUMS = ("COUNT(*)", "COUNT(x)", "SUM(x)", "SUM(y)", "AVG(m)", "STDDEV(y)", "SUM(y * k)", "SUM(k)", "SUM(3 * y - 7)",
        "SUM(y) FILTER (WHERE k > 0)", "MIN(k)")
BY_ROW = ("y * k", "y + 1", "y * y", "x", "m", "k", "y - k")


def random_query(draw):
    """A grouped query, or one row by row."""
    where = draw.choice(FILTERS)
    if draw.random() < 0.3:
        items = draw.sample(BY_ROW, draw.randint(1, 3))
        limit = draw.choice(["", "LIMIT 5"])
        return f"SELECT {', '.join(f'{item} AS c{n}' for n, item in enumerate(items))} FROM t {where} {limit}"
    keys = draw.choice(GROUPED)
    items = [f"{item} AS c{n}" for n, item in enumerate(draw.sample(SUMS, draw.randint(1, 4)))]
    return f"SELECT {', '.join(items)} FROM t {where}" + (f" GROUP BY {keys}" if keys else "")


def analysis(hush, path, query, *more):
    """`hush run --analyze` as JSON."""
    options = ("--sensitive", "x,y,m", "--clear", "g,k,d", "--format", "csv", "--analyze", "--json", *more)
    return json.loads(hush("run", path, query, *options).stderr.splitlines()[-1])["analysis"]


@pytest.mark.parametrize("rows", [1, 8192, 20_001])
def test_predicted_bytes_equal_measured_ones(hush, tmp_path, rows):
    """Random queries: the plan and the encrypted half to the byte; the clear half too if its size is fixed, else nearly."""
    seed = random.randrange(2**32)
    print("seed", seed)
    draw = random.Random(seed)
    path = tmp_path / "t.csv"
    write_csv(path, HEADER, random_rows(draw, rows))
    exact = 0
    for query in ["SELECT SUM(y) AS s FROM t", *(random_query(draw) for _ in range(12))]:
        found = analysis(hush, path, query)
        predicted, measured = found["predicted"]["prediction"], found["measured"]
        assert predicted["bytes_up"] == measured["bytes_up"], query
        encrypted = measured["bytes_down"] - measured["clear_bytes"]
        clear = predicted["clear_half"]
        assert predicted["bytes_down"] - clear["bytes"] == encrypted, query
        if predicted["bytes_down_exact"]:
            exact += 1
            assert predicted["bytes_down"] == measured["bytes_down"], query
        assert predicted["key_bytes"] == 0
        # Bitmaps of NULLs, and texts of groups, which are not as long as those of rows.
        assert abs(clear["bytes"] - measured["clear_bytes"]) <= 128 + measured["clear_bytes"] / 4, query
    assert exact > 0


def test_explain_predicts_what_the_run_takes(hush, table, key):
    """Given the groups, `explain` predicts the figures that `--analyze` finds."""
    query = "SELECT ward, SUM(charges) AS s FROM patients GROUP BY ward"
    done = hush("query", table, query, "--analyze", "--json", *key)
    groups = len(done.stdout.splitlines()) - 1
    measured = json.loads(done.stderr)["measured"]
    found = json.loads(hush("explain", table, query, "--groups", groups, "--json", *key).stdout)
    prediction = found["prediction"]
    assert (found["format"], prediction["groups"]) == (1, groups)
    clear = prediction["clear_half"]["bytes"] - measured["clear_bytes"]
    assert prediction["bytes_down"] - clear == measured["bytes_down"]
    # The sum, and the count of rows that have charges.
    assert [(node["scheme"], node["kind"], node["depth"]) for node in found["nodes"]] == 2 * [("BGV", "sum", 0)]
    assert found["planning_s"] < 5 and found["times"]["server_s"] > 0


def test_calibration_is_kept_and_damage_is_noticed(hush, table, key, tmp_path):
    """The profile lies in the cache, explain uses it; a damaged one is a warning and the built-in figures."""
    hush = hush.with_environment(XDG_CACHE_HOME=str(tmp_path / "cache"))
    query = "SELECT SUM(age) AS s FROM patients"
    profile = tmp_path / "cache" / "hushtable" / "machine.json"
    assert "built-in" in hush("explain", table, query, *key).stdout
    assert str(profile) in hush("doctor", "--calibrate").stdout
    assert json.loads(profile.read_text(encoding="utf-8"))["format"] == 2
    assert "this machine's profile" in hush("explain", table, query, *key).stdout
    for text in ("{", profile.read_text(encoding="utf-8").replace('"format": 2', '"format": 9')):
        profile.write_text(text, encoding="utf-8")
        done = hush("explain", table, query, *key)
        assert "HUSH-C044" in done.stderr and "built-in" in done.stdout


def test_drawings(hush, table, key, tmp_path):
    """SVG that a parser takes, DOT, and no constant of the query in either."""
    query = "SELECT ward, AVG(age) AS a FROM patients WHERE ward <> 'surgery' GROUP BY ward HAVING COUNT(*) > 4711"
    for name in ("plan.svg", "plan.dot"):
        hush("explain", table, query, "--graph", tmp_path / name, *key)
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert "surgery" not in text and "4711" not in text and "masked sums" in text
    xml.dom.minidom.parse(str(tmp_path / "plan.svg"))
    refused = hush("explain", table, query, "--graph", tmp_path / "plan.png", *key, status=2)
    assert "HUSH-U001" in refused.stderr and not (tmp_path / "plan.png").exists()


def test_the_link_decides_how_a_query_by_row_is_answered(hush, tmp_path, key):
    """In one process the server evaluates, unrounded. Over a slow link the answer is rounded, and the owner evaluates if that takes
    fewer bytes. The rows are the same."""
    draw = random.Random(3)
    path, schema, queries = tmp_path / "t.csv", tmp_path / "t.toml", tmp_path / "queries.sql"
    rows = [(row, *(draw.choice(["", draw.randint(-999, 999)]) if row else 0 for _ in range(5))) for row in range(9000)]
    write_csv(path, ["id", "a", "b", "c", "d", "e"], rows)
    product = "SELECT id, a * b AS p FROM t WHERE id % 7 < 5"
    many = "SELECT id, a + b + c - 3 * d + e AS s FROM t"
    queries.write_text(f"{product};\n{many};\n", encoding="utf-8")
    hush("init", path, "--sensitive", "a,b,c,d,e", "--clear", "id", "-o", schema)
    approve(schema)
    hush("encrypt", path, "--schema", schema, "-o", tmp_path / "T", "--for", queries, *key)
    for query, slow in [(product, "you evaluate"), (many, "the server evaluates")]:
        outputs, moved = [], []
        for link in ("0", "1"):
            more = ("--format", "csv", "--analyze", "--json", "--link", link)
            done = hush("query", tmp_path / "T", query, *more, *key)
            analysis = json.loads(done.stderr.splitlines()[-1])
            (taken,) = [way for way in analysis["predicted"]["ways"] if way["taken"]]
            assert taken["what"].startswith(slow if link == "1" else "the server evaluates")
            assert ("rounded" in taken["what"]) == (link == "1")
            outputs.append(done.stdout)
            moved.append(analysis["measured"]["bytes_down"])
            predicted = analysis["predicted"]["prediction"]
            clear = predicted["clear_half"]["bytes"] - analysis["measured"]["clear_bytes"]
            assert predicted["bytes_down"] - clear == moved[-1]
        assert outputs[0] == outputs[1] and 3 * moved[1] < 2 * moved[0], query
        text = hush("explain", tmp_path / "T", query, "--link", "1", "--verbose", *key).stdout
        assert f"* rows, {slow}, the answer is rounded" in text and "rounded to" in text
    assert "Ways" not in hush("explain", tmp_path / "T", "SELECT SUM(id) AS s FROM t", *key).stdout
    grouped = "SELECT id AS g, SUM(a) AS s FROM t GROUP BY g"
    few, many = (hush("explain", tmp_path / "T", grouped, "--groups", groups, *key).stdout for groups in (10, 9000))
    assert "- fetch, with more groups, columns come back" in few and "the values of a in each group" in few
    assert "* fetch, with more groups, columns come back" in many and "put the question to them" in many
    gathered = hush("explain", tmp_path / "T", grouped, "--way", "gather", *key).stdout
    assert "group them, and add up" in gathered
    for link in ("1e9", "fast", "nan"):
        assert "--link" in hush("explain", tmp_path / "T", product, "--link", link, *key, status=2).stderr
