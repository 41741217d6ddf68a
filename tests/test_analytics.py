# SPDX-License-Identifier: Apache-2.0
"""Covariance, correlation and regression: DuckDB for pairs, a solver in exact fractions for more."""

import csv
import decimal
import fractions
import io
import json
import math
import random

import duckdb
import pytest

HEADER = ["g", "k", "w", "x", "y", "m", "z"]
TYPES = (
    "columns={'g':'VARCHAR','k':'BIGINT','w':'BIGINT','x':'BIGINT','y':'BIGINT','m':'DECIMAL(12,2)','z':'BIGINT'}, "
    "header=true, nullstr=''"
)
SENSITIVE = "x,y,m,z"

PAIRS = [
    "SELECT COVAR_POP(y, x) AS a, COVAR_SAMP(m, y) AS b, CORR(x, m) AS c, REGR_COUNT(x, m) AS d FROM t",
    "SELECT CORR(y, k) AS a, COVAR_POP(k, m) AS b, CORR(k, w) AS c, COVAR_SAMP(w, w) AS d FROM t",
    "SELECT g, CORR(y, x) AS a, COVAR_POP(m, w) AS b FROM t GROUP BY g ORDER BY g NULLS FIRST",
    "SELECT k, REGR_COUNT(m, x) AS a, REGR_AVGX(m, x) AS b, REGR_AVGY(m, x) AS c, REGR_SXX(m, x) AS d, "
    "REGR_SYY(m, x) AS e, REGR_SXY(m, x) AS f FROM t GROUP BY k ORDER BY k",
    "SELECT k, REGR_SLOPE(m, x) AS a, REGR_INTERCEPT(m, x) AS b, REGR_R2(m, x) AS c FROM t GROUP BY k ORDER BY k",
    "SELECT g, REGR_SLOPE(y, w) AS a, REGR_INTERCEPT(w, y) AS b, REGR_R2(k, m) AS c FROM t WHERE k <> 0 "
    "GROUP BY g ORDER BY g NULLS FIRST",
    "SELECT CORR(y + 2 * k, m - 1) AS a, COVAR_POP(CASE WHEN k > 0 THEN y ELSE x END, m) AS b FROM t",
    "SELECT CORR(y, m) FILTER (WHERE k > 0) AS a, REGR_SLOPE(y, m) FILTER (WHERE w IS NOT NULL) AS b FROM t",
    "SELECT SUM(y * w) / SUM(w) AS a, SUM(x * w) / SUM(w + 0 * x) AS b, SUM(x + m) AS c, COUNT(x + m) AS d FROM t",
    "SELECT SUM(y * m) AS a, SUM(y * x) AS b, SUM(x * w) AS c FROM t",
    "SELECT g, CORR(y, m) AS a FROM t GROUP BY g HAVING REGR_COUNT(y, m) > 5 ORDER BY CORR(y, m) DESC, g LIMIT 2",
    "SELECT CORR(x, y) AS a, COVAR_SAMP(x, y) AS b, REGR_SLOPE(x, y) AS c, REGR_COUNT(x, y) AS d FROM t WHERE k = 99",
]


def rows(draw, count):
    """Rows of: g (text or NULL), k, w (clear, w or NULL), x, m, z (or NULL), y: related, so that fits mean something."""
    made = []
    for row in range(count):
        x, k, w = draw.randint(-1000, 1000), draw.randint(-3, 3), draw.randint(0, 9)
        y = 3 * x - 50 * k + draw.randint(-900, 900)
        cents = 25 * x - 4 * y + draw.randint(-20_000, 20_000)
        maybe = lambda value: value if row == 0 or draw.random() < 0.85 else None
        made.append((
            draw.choice(["north", "south", None]), k, maybe(w), maybe(x), y,
            maybe(decimal.Decimal(cents).scaleb(-2)), maybe(draw.randint(-50, 50)),
        ))
    return made


def write(path, table):
    """The table as CSV."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerows([HEADER, *[["" if cell is None else cell for cell in row] for row in table]])


def ask(hush, path, query, *more):
    """The result as dictionaries of text."""
    options = ("--sensitive", SENSITIVE, "--clear", "g,k,w", "--format", "csv", "--quiet", *more)
    return list(csv.DictReader(io.StringIO(hush("run", path, query, *options).stdout)))


def same(text, want):
    """Whether a cell is the oracle's value, to the oracle's own rounding where it is a double."""
    if want is None or isinstance(want, float) and math.isnan(want):
        return text == ""
    if isinstance(want, float):
        return text != "" and math.isclose(float(text), want, rel_tol=1e-7, abs_tol=1e-9)
    if isinstance(want, str):
        return text == want
    return decimal.Decimal(text) == want


@pytest.mark.parametrize("count", [1, 2, 40, 9000])
def test_pairs_equal_duckdb(hush, tmp_path, count):
    """Every aggregate of two columns: encrypted, clear and mixed, with missing values on either side."""
    seed = random.randrange(2**32)
    print("seed", seed)
    path = tmp_path / "t.csv"
    write(path, rows(random.Random(seed), count))
    for query in PAIRS:
        cursor = duckdb.sql(query.replace("FROM t", f"FROM read_csv('{path}', {TYPES}) AS t"))
        expected = [dict(zip(cursor.columns, row)) for row in cursor.fetchall()]
        found = ask(hush, path, query, "--verify")
        assert len(found) == len(expected), query
        for ours, theirs in zip(found, expected):
            assert all(same(ours[name], theirs[name]) for name in theirs), (query, ours, theirs)


def solved(table, indices):
    """Intercept, slopes, R² and n of a least-squares fit in fractions; None for all but n where it is singular."""
    points = [[fractions.Fraction(row[i]) for i in indices] for row in table if all(row[i] is not None for i in indices)]
    size = len(indices)
    design = [[fractions.Fraction(1), *point[1:]] for point in points]
    system = [
        [*(sum((d[i] * d[j] for d in design), fractions.Fraction()) for j in range(size)),
         sum((d[i] * p[0] for d, p in zip(design, points)), fractions.Fraction())]
        for i in range(size)
    ]
    for step in range(size):
        pivot = next((row for row in range(step, size) if system[row][step]), None)
        if pivot is None:
            return [None] * (size + 1), len(points)
        system[step], system[pivot] = system[pivot], system[step]
        system[step] = [cell / system[step][step] for cell in system[step]]
        for row in range(size):
            if row != step:
                factor = system[row][step]
                system[row] = [cell - factor * above for cell, above in zip(system[row], system[step])]
    beta = [row[-1] for row in system]
    mean = sum((p[0] for p in points), fractions.Fraction()) / len(points)
    total = sum((p[0] - mean) ** 2 for p in points)
    rest = sum((p[0] - sum(b * d for b, d in zip(beta, line))) ** 2 for p, line in zip(points, design))
    return [*beta, 1 - rest / total if total else fractions.Fraction(1)], len(points)


def as_double(text):
    """A cell of a double, None for NULL."""
    return float(text) if text else None


def test_regressions_equal_a_solver_in_fractions(hush, tmp_path):
    """To the last bit: three features, one of them clear, in groups, with missing values everywhere."""
    seed = random.randrange(2**32)
    print("seed", seed)
    table = rows(random.Random(seed), 700)
    path = tmp_path / "t.csv"
    write(path, table)
    place = HEADER.index
    for outcome, features in (("m", ["x", "z", "w"]), ("y", ["x"]), ("y", ["m", "k", "x", "z"])):
        query = f"SELECT g, LINREG({outcome}, {', '.join(features)}) FROM t GROUP BY g ORDER BY g NULLS FIRST"
        for found in ask(hush, path, query, "--verify"):
            group = [row for row in table if (row[0] or "") == found["g"]]
            expected, count = solved(group, [place(outcome), *map(place, features)])
            got = [as_double(found[name]) for name in ["intercept", *features, "r2"]]
            assert got == [float(value) for value in expected], (query, found)
            assert int(found["n"]) == count
    one = ask(hush, path, "SELECT LINREG(y, x), REGR_SLOPE(y, x) AS s, REGR_INTERCEPT(y, x) AS i, REGR_R2(y, x) AS q FROM t")[0]
    assert (one["x"], one["intercept"], one["r2"]) == (one["s"], one["i"], one["q"])


def test_singular_regressions_are_null(hush, tmp_path):
    """Fewer rows than unknowns, a constant feature, one that is the sum of two others."""
    path = tmp_path / "t.csv"
    draw = random.Random(3)
    table = [("a", draw.randint(1, 3), 7, x, x * x, decimal.Decimal(2 * x + 3), draw.randint(0, 9)) for x in range(30)]
    write(path, table)
    for query in ("SELECT LINREG(y, x, m) FROM t", "SELECT LINREG(y, x, w) FROM t", "SELECT LINREG(y, x, z, k) FROM t WHERE k = 99"):
        found = ask(hush, path, query)[0]
        assert all(found[name] == "" for name in found if name != "n"), query
        assert int(found["n"]) == (0 if "99" in query else 30)


def test_tables_answer_what_was_declared_and_say_what_to_declare(hush, tmp_path, key):
    """A workload or `moments` in the schema makes them available; else the refusal names the columns and the line."""
    path, schema, workload = tmp_path / "t.csv", tmp_path / "t.schema.toml", tmp_path / "queries.sql"
    table = rows(random.Random(5), 300)
    write(path, table)
    hush("init", path, "--sensitive", SENSITIVE, "--clear", "g,k,w", "-o", schema)
    text = schema.read_text(encoding="utf-8").replace('status = "proposed"', 'status = "approved"')
    schema.write_text(text, encoding="utf-8")
    query = "SELECT LINREG(m, x, w), CORR(m, x) AS r FROM t"
    hush("encrypt", path, "--schema", schema, "-o", tmp_path / "plain", *key)
    by_owner = hush("query", tmp_path / "plain", "SELECT CORR(m, x) AS r FROM t", "--format", "json", *key)
    why = 'because CORR(m, x) needs the moments (`moments = [["m", "x"]]` in the schema) of m, x'
    assert "you answer this by yourself on columns that come back" in by_owner.stderr and why in by_owner.stderr

    workload.write_text(query + ";\n", encoding="utf-8")
    hush("encrypt", path, "--schema", schema, "-o", tmp_path / "workload", "--for", workload, *key)
    first_column = text.index("[columns.")
    declared = text[:first_column] + 'moments = [["m", "x"], ["m", "x", "w"]]\n' + text[first_column:]
    schema.write_text(declared, encoding="utf-8")
    hush("encrypt", path, "--schema", schema, "-o", tmp_path / "declared", *key)
    answers = [
        json.loads(hush("query", tmp_path / name, query, "--format", "json", *key).stdout) for name in ("workload", "declared")
    ]
    # What a schema declares of encrypted columns is no hindrance to questions that the owner answers.
    found = json.loads(hush("query", tmp_path / "declared", "SELECT COUNT(*) AS n, MAX(m) AS m FROM t WHERE x > 0", "--format", "json", *key).stdout)
    matching = [row for row in table if row[HEADER.index("x")] is not None and row[HEADER.index("x")] > 0]
    most = max(row[HEADER.index("m")] for row in matching if row[HEADER.index("m")] is not None)
    assert found["n"] == len(matching) and float(found["m"]) == float(most), found
    expected, count = solved(table, [HEADER.index(name) for name in ("m", "x", "w")])
    for answer in answers:
        assert [answer[name] for name in ("intercept", "x", "w", "r2")] == [float(value) for value in expected]
        assert answer["n"] == count
    assert answers[0] == answers[1] and answers[0]["r"] == json.loads(by_owner.stdout)["r"], answers
    explained = hush("explain", tmp_path / "declared", query, *key).stdout
    assert "normal equations" in explained


def test_what_is_not_there_is_refused(hush, tmp_path):
    """With a code and a way out, before anything runs."""
    path = tmp_path / "t.csv"
    write(path, rows(random.Random(6), 20))
    for query, code, words in [
        ("SELECT 1 + LINREG(y, x) FROM t", "HUSH-P005", "LINREG_SLOPE"),
        ("SELECT CORR(x) FROM t", "HUSH-P005", "two arguments"),
        ("SELECT LINREG_SLOPE(3, y, x, m) FROM t", "HUSH-P009", "from 1 to 2"),
        (f"SELECT CORR({' * '.join(['x'] * 16)}, y) FROM t", "HUSH-P011", "76 decimal digits"),
    ]:
        done = hush("run", path, query, "--sensitive", SENSITIVE, status=3)
        assert code in done.stderr and words in done.stderr and done.stdout == "", (query, done.stderr)
