# SPDX-License-Identifier: Apache-2.0
"""Logistic regression in SQL, models that are fitted and used: against fits of NumPy and trees by hand."""

import csv
import io
import json
import math
import random
import stat

import numpy
import pytest

import hushtable as ht

HEADER = ["id", "g", "k", "x", "z", "y", "cost"]
SENSITIVE = "x,z,y,cost"


def rows(draw, count):
    """Rows of: id, g (text), k (clear), x and z (integers or NULL), y (0 or 1, likelier for large x), cost."""
    made = []
    for row in range(count):
        k, x, z = draw.randint(0, 4), draw.randint(-50, 50), draw.randint(0, 9)
        chance = 1 / (1 + math.exp(-(0.08 * x - 0.3 * z + 0.5 * k)))
        cost = 100 * (x > 7) + 10 * (z > 4) + draw.randint(-2, 2)
        maybe = lambda value: value if draw.random() < 0.9 else None
        made.append((row, draw.choice(["north", "south"]), k, maybe(x), maybe(z), int(draw.random() < chance), cost))
    return made


def write(path, table):
    """The table as CSV."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([HEADER, *[["" if cell is None else cell for cell in row] for row in table]])


def likeliest(samples):
    """Constant, coefficients and McFadden's measure of rows `(outcome, features)`, by Newton's method from zero."""
    outcome = numpy.array([y for y, _ in samples], dtype=float)
    design = numpy.array([[1.0, *map(float, x)] for _, x in samples])
    found = numpy.zeros(design.shape[1])
    loss = lambda score: float(numpy.sum(numpy.logaddexp(0, score) - outcome * score))
    for _ in range(60):
        chance = 1 / (1 + numpy.exp(-design @ found))
        curvature = (design * (chance * (1 - chance))[:, None]).T @ design
        found += numpy.linalg.solve(curvature, design.T @ (outcome - chance))
    mean = outcome.mean()
    return [*found, 1 - loss(design @ found) / loss(numpy.full(len(outcome), math.log(mean / (1 - mean))))]


def ask(hush, path, query, *more):
    """The result as dictionaries of text."""
    options = ("--sensitive", SENSITIVE, "--clear", "id,g,k", "--format", "csv", "--quiet", *more)
    return list(csv.DictReader(io.StringIO(hush("run", path, query, *options).stdout)))


def check(found, samples, names):
    """Compares a row of a result with the fit of its rows."""
    expected = likeliest(samples)
    for name, want in zip(["intercept", *names, "r2"], expected, strict=True):
        assert math.isclose(float(found[name]), want, rel_tol=1e-8, abs_tol=1e-9), (name, found, expected)
    assert int(found["n"]) == len(samples)


@pytest.fixture
def made(tmp_path):
    """A table of 800 rows, and its file."""
    seed = random.randrange(2**32)
    print("seed", seed)
    table = rows(random.Random(seed), 800)
    write(tmp_path / "t.csv", table)
    return table, tmp_path / "t.csv"


def encrypted(hush, path, key, *options):
    """The file as an encrypted table."""
    schema, place = path.with_suffix(".schema.toml"), path.with_suffix(".hush")
    hush("init", path, "--sensitive", SENSITIVE, "--clear", "id,g,k", "-o", schema)
    schema.write_text(schema.read_text(encoding="utf-8").replace('status = "proposed"', 'status = "approved"'), encoding="utf-8")
    hush("encrypt", path, "--schema", schema, "-o", place, *options, *key)
    return place


def test_logistic_regressions_equal_a_fit_of_numpy(hush, made):
    """Encrypted and clear columns, in groups, with conditions, FILTER and missing values."""
    table, path = made
    for found in ask(hush, path, "SELECT g, LOGREG(y, x, z, k) FROM t GROUP BY g ORDER BY g", "--verify"):
        group = [row for row in table if row[1] == found["g"] and None not in row]
        check(found, [(row[5], (row[3], row[4], row[2])) for row in group], ["x", "z", "k"])
    known = [row for row in table if None not in row]
    one = ask(hush, path, "SELECT LOGREG(cost > 50, k, z) AS m, LOGREG(y = 1, x) FILTER (WHERE z > 2) FROM t WHERE k <> 3")[0]
    dear = [(row[6] > 50, (row[2], row[4])) for row in table if row[2] != 3 and row[4] is not None]
    check({name.removeprefix("m_"): cell for name, cell in one.items() if name.startswith("m_")}, dear, ["k", "z"])
    check(one, [(row[5], (row[3],)) for row in known if row[2] != 3 and row[4] > 2], ["x"])
    parts = "LOGREG_INTERCEPT(y, k), LOGREG_SLOPE(1, y, k), LOGREG_R2(y, k), LOGREG_COUNT(y, k)"
    alone = ask(hush, path, f"SELECT {parts}, LOGREG(y, k) FROM t HAVING LOGREG_COUNT(y, k) > 5")[0]
    cells = list(alone.values())
    assert cells[:4] == [cells[4], cells[5], cells[6], cells[7]]


def test_clear_columns_are_fitted_by_a_server(hush, made, key, server):
    """A server has no key, and what it says of clear columns is what the owner's machine says."""
    table, path = made
    place = encrypted(hush, path, key)
    hush("push", place, server.url, *server.token)
    query = "SELECT g, LOGREG(k > 2, id) FROM t GROUP BY g ORDER BY g"
    explained = hush("explain", place, query, *key).stdout
    assert "logreg" in explained
    there = hush("query", server.url, query, "--format", "csv", *key, *server.token).stdout
    assert there == hush("query", place, query, "--format", "csv", *key).stdout
    for found in csv.DictReader(io.StringIO(there)):
        check(found, [(row[2] > 2, (row[0],)) for row in table if row[1] == found["g"]], ["id"])


def test_rows_without_a_fit_and_outcomes_that_are_none(hush, made):
    """NULL where no coefficients are likeliest; a refusal where an outcome may be anything."""
    _, path = made
    for features in ("x, x", "1", "z, 2 * z + 1"):
        found = ask(hush, path, f"SELECT LOGREG(y, {features}) FROM t")[0]
        assert all(cell == "" for name, cell in found.items() if name != "n") and int(found["n"]) > 0
    separated = ask(hush, path, "SELECT LOGREG(x > 3, x) FROM t")[0]
    assert separated["intercept"] == "" and separated["r2"] == ""
    none = ask(hush, path, "SELECT LOGREG(y, x) FROM t WHERE k = 99")[0]
    assert none["n"] == "0" and none["x"] == ""
    for query, code in (
        ("SELECT LOGREG(cost, x) FROM t", "HUSH-E052"),
        ("SELECT LOGREG(g, x) FROM t", "HUSH-P011"),
        ("SELECT LOGREG(y, g) FROM t", "HUSH-P011"),
        ("SELECT LOGREG(y) FROM t", "HUSH-P005"),
        ("SELECT 1 + LOGREG(y, x) FROM t", "HUSH-P005"),
        ("SELECT LOGREG_SLOPE(2, y, x) FROM t", "HUSH-P009"),
        ("SELECT LOGREG_R2(DISTINCT y, x) FROM t", "HUSH-P005"),
    ):
        refused = hush("run", path, query, "--sensitive", SENSITIVE, "--clear", "id,g,k", status=None)
        assert refused.returncode == 3 and code in refused.stderr, (query, refused.stderr)


def test_models_are_fitted_kept_and_used(hush, made, key):
    """All three kinds, from the command line: coefficients, scores of every row, SQL for other queries."""
    table, path = made
    place = encrypted(hush, path, key)
    fit = lambda kind, outcome, features, name, *more: hush(
        "fit", place, "--model", kind, "--outcome", outcome, "--features", features, "-o", path.parent / name, *more, *key
    )
    told = fit("logistic", "y", "x,z,g = 'north'", "l.json").stderr
    model = json.loads((path.parent / "l.json").read_text(encoding="utf-8"))
    known = [row for row in table if None not in row]
    samples = [(row[5], (row[3], row[4], row[1] == "north")) for row in known]
    logistic = model["fit"]["logistic"]
    expected = likeliest(samples)
    got = [logistic["intercept"], *logistic["coefficients"], logistic["r2"]]
    assert numpy.allclose(got, expected, rtol=1e-8) and model["rows"] == len(known)
    assert f"of {len(known)} rows" in told and "g = 'north'" in told
    assert stat.S_IMODE((path.parent / "l.json").stat().st_mode) == 0o600

    scored = hush("score", path.parent / "l.json", place, "--keep", "id", "--format", "csv", *key).stdout
    scores = {int(row["id"]): row["score"] for row in csv.DictReader(io.StringIO(scored))}
    assert len(scores) == len(table)
    for row in table:
        if None in row:
            assert scores[row[0]] == ""
            continue
        odds = expected[0] + expected[1] * row[3] + expected[2] * row[4] + expected[3] * (row[1] == "north")
        assert math.isclose(float(scores[row[0]]), 1 / (1 + math.exp(-odds)), rel_tol=1e-7)

    fit("linear", "cost", "x,k,g = 'north'", "c.json", "--where", "z > 4")
    sql = hush("score", path.parent / "c.json", "--print", "sql").stdout.strip()
    means = hush("query", place, f"SELECT AVG({sql}) AS a, AVG(cost) AS b FROM t WHERE z > 4 AND x IS NOT NULL", "--format", "csv", *key)
    a, b = map(float, means.stdout.splitlines()[1].split(","))
    # The mean of a least-squares fit is that of the outcome.
    assert math.isclose(a, b, rel_tol=1e-9)

    fit("tree", "cost", "x,z", "t.json", "--depth", "2", "--leaf-rows", "5")
    tree = hush("score", path.parent / "t.json", place, "--keep", "x,z,cost", "--where", "x IS NOT NULL AND z IS NOT NULL", "--format", "csv", *key)
    # The outcome is made by two questions, and noise of two.
    assert all(abs(float(row["score"]) - float(row["cost"])) <= 4 for row in csv.DictReader(io.StringIO(tree.stdout)))
    # One with more questions than a query may have.
    fit("tree", "cost", "x,z,k", "d.json", "--depth", "12", "--leaf-rows", "1")
    assert (path.parent / "d.json").read_text(encoding="utf-8").count('"leaf"') > 100
    deep = hush("score", path.parent / "d.json", place, "--keep", "x,z,k,cost", "--format", "csv", *key)
    leaves = {}
    for row in csv.DictReader(io.StringIO(deep.stdout)):
        assert (row["score"] == "") == (row["x"] == "" or row["z"] == "")
        leaves.setdefault(row["score"], []).append(float(row["cost"]))
    del leaves[""]
    # What a tree says is the mean of the rows of which it says so.
    assert len(leaves) > 30 and all(abs(float(score) - sum(costs) / len(costs)) < 1e-6 for score, costs in leaves.items())
    refused = hush("score", path.parent / "d.json", place, "--keep", "id FROM t --", *key, status=None)
    assert refused.returncode == 3 and "HUSH-P003" in refused.stderr

    expression = hush("score", path.parent / "t.json", "--print", "expression").stdout.strip()
    assert expression.startswith("if(x <= 7.5, if(z <= 4, ")
    vectors = ("--x", "3,50,8", "--z", "9,0,4")
    said = hush("eval", expression, *vectors, "--format", "csv", "--verify").stdout.split()[1:]
    leaves = [float(value) for value in said]
    assert [round(value / 10) for value in leaves] == [1, 10, 10]


def test_models_that_cannot_be(hush, made, key):
    """Refusals with their codes; nothing is written, and no file is replaced unasked."""
    _, path = made
    place, out = encrypted(hush, path, key), path.parent / "m.json"
    fit = lambda *more: hush("fit", place, "-o", out, *more, *key, status=None)
    for options, code, status in (
        (("--model", "logistic", "--outcome", "x > 3", "--features", "x"), "HUSH-M002", 8),
        (("--model", "linear", "--outcome", "y", "--features", "x,x"), "HUSH-M002", 8),
        (("--model", "tree", "--outcome", "y", "--features", "x", "--where", "k = 99"), "HUSH-M001", 8),
        (("--model", "tree", "--outcome", "y", "--features", "x", "--depth", "17"), "HUSH-M006", 2),
        (("--model", "tree", "--outcome", "y", "--features", "x", "--leaf-rows", "0"), "HUSH-M006", 2),
        (("--model", "linear", "--outcome", "y", "--features", "nothing"), "HUSH-P003", 3),
        (("--model", "linear", "--outcome", "y", "--features", "x) FROM t; --"), "HUSH-M006", 2),
    ):
        refused = fit(*options)
        assert refused.returncode == status and code in refused.stderr, (options, refused.stderr)
        assert not out.exists()
    out.write_text("{}", encoding="utf-8")
    assert "--force" in fit("--model", "tree", "--outcome", "y", "--features", "x").stderr
    refused = hush("score", out, place, *key, status=None)
    assert refused.returncode == 9 and "HUSH-M004" in refused.stderr
    assert fit("--model", "tree", "--outcome", "y", "--features", "ln(k + 1)", "--force").returncode == 0
    refused = hush("score", out, "--print", "expression", status=None)
    assert refused.returncode == 2 and "HUSH-M005" in refused.stderr


def test_models_in_python(made, tmp_path):
    """Fitted, scored, saved and loaded; the table is one in memory's stead."""
    table, path = made
    schema = ht.propose(path, sensitive=SENSITIVE.split(","), clear=["id", "g", "k"]).approve("test")
    with_all = [row for row in table if row[3] is not None]
    place = ht.encrypt(path, schema=schema)
    model = ht.fit(place, "y", ["x", "k"], model="logistic")
    expected = likeliest([(row[5], (row[3], row[2])) for row in with_all])
    assert numpy.allclose([model.intercept, *model.coefficients, model.r2], expected, rtol=1e-8)
    assert (model.kind, model.outcome, model.features, model.rows) == ("logistic", "y", ["x", "k"], len(with_all))
    scores = model.score(place, keep=["id"], where="x IS NOT NULL").to_pandas()
    assert len(scores) == len(with_all) and scores["score"].between(0, 1).all()
    model.save(tmp_path / "m.json")
    with pytest.raises(FileExistsError):
        model.save(tmp_path / "m.json")
    again = ht.Model.load(tmp_path / "m.json")
    assert again.sql() == model.sql() and "logistic model of y by x, k" in repr(again)
    assert again.expression().count("*") == 2
    tree = ht.fit(place, "cost > 50", ["x"], model="tree", depth=1)
    assert tree.coefficients is None and "<= 7.5e0" in tree.sql()
    dear = tree.score(place, keep=["cost"], where="x IS NOT NULL").to_pandas()
    assert ((dear["score"] > 0.5) == (dear["cost"] > 50)).all() and list(dear) == ["cost", "score"]
    with pytest.raises(ht.DataError, match="HUSH-M002"):
        ht.fit(place, "x > 3", ["x"], model="logistic")
    with pytest.raises(ht.UsageError):
        ht.fit(place, "y", ["x"], model="forest")
    (tmp_path / "m.json").write_text("[]", encoding="utf-8")
    with pytest.raises(ht.DamagedError, match="HUSH-M004"):
        ht.Model.load(tmp_path / "m.json")


def test_a_cube_answers_for_its_dimensions(hush, made, key):
    """Cells stand for many rows: the fit is that of the rows, to the last bit."""
    _, path = made
    schema, place = path.with_suffix(".schema.toml"), path.with_suffix(".hush")
    hush("init", path, "--sensitive", SENSITIVE, "--clear", "id,g,k", "-o", schema)
    text = schema.read_text(encoding="utf-8").replace('status = "proposed"', 'status = "approved"')
    text = text.replace("\n[columns.", '\ncubes = [{ by = ["y", "z"] }]\n\n[columns.', 1)
    schema.write_text(text.replace("[0, 99]", "[0, 9]"), encoding="utf-8")
    hush("encrypt", path, "--schema", schema, "-o", place, *key)
    query = "SELECT z > 4 AS late, LOGREG(y = 1, z) FILTER (WHERE z <> 8) FROM t GROUP BY late ORDER BY late"
    ask_by = lambda way: hush("query", place, query, "--way", way, "--format", "csv", *key).stdout
    assert ask_by("cube") == ask_by("fetch") and ask_by("cube").count("\n") == 4
