# SPDX-License-Identifier: Apache-2.0
"""Queries of every kind on random tables, with DuckDB as the independent oracle: exact where exactness is promised."""

import csv
import decimal
import fractions
import io
import json
import math
import random

import duckdb
import pytest

WIDE = 2**62


def write_csv(path, header, rows):
    """Writes rows, None as an empty field."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows([["" if cell is None else cell for cell in row] for row in rows])


def random_rows(draw, count):
    """Rows of: g (text or NULL), k (small int), d (date), x (wide int or NULL), y (int), m (money or NULL), b (truth), s (a text of its own or NULL)."""
    # The first row is whole: a CSV column without any value has no type.
    maybe = lambda row, value: value if row == 0 or draw.random() < 0.85 else None
    return [
        (
            draw.choice(["north", "south", "é", None]),
            draw.randint(-3, 3),
            f"20{draw.randint(10, 25)}-0{draw.randint(1, 9)}-1{draw.randint(0, 9)}",
            maybe(row, draw.choice([draw.randint(-WIDE, WIDE), 0, WIDE, -WIDE])),
            draw.randint(-100, 100),
            maybe(row, decimal.Decimal(draw.randint(-(10**10), 10**10)).scaleb(-2)),
            draw.random() < 0.5,
            maybe(row, f"r{row}"),
        )
        for row in range(count)
    ]


HEADER = ["g", "k", "d", "x", "y", "m", "b", "s"]
TYPES = (
    "columns={'g':'VARCHAR','k':'BIGINT','d':'DATE','x':'BIGINT','y':'BIGINT','m':'DECIMAL(18,2)','b':'BOOLEAN','s':'VARCHAR'}, "
    "header=true, nullstr=''"
)

# A query, and whether it gives the order of its rows.
EXACT = [
    "SELECT COUNT(*) AS n, COUNT(x) AS nx, SUM(x) AS sx, SUM(y) AS sy, SUM(m) AS sm FROM t",
    "SELECT g, COUNT(m) AS n, SUM(m) AS s FROM t GROUP BY g ORDER BY g NULLS FIRST",
    "SELECT k, SUM(y) AS s FROM t WHERE d >= DATE '2015-01-01' GROUP BY k ORDER BY k",
    "SELECT g, k, SUM(y * k) AS s FROM t WHERE g IS NOT NULL GROUP BY g, k ORDER BY g, k",
    "SELECT SUM(y) FILTER (WHERE k > 0) AS a, SUM(CASE WHEN k < 0 THEN y ELSE 0 END) AS b FROM t",
    "SELECT SUM(3 * y - 7) AS s, SUM(y + k) AS u FROM t",
    "SELECT SUM(x) AS s, COUNT(x) AS n FROM t WHERE k = 99",
    "SELECT k, COUNT(*) AS n FROM t WHERE k = 99 GROUP BY k",
    "SELECT g, SUM(y) AS s FROM t GROUP BY g HAVING COUNT(*) > 3 ORDER BY s DESC, g LIMIT 2",
    "SELECT date_part('year', d) AS yr, SUM(m) AS s FROM t GROUP BY yr ORDER BY yr",
    "SELECT SUM(y) * 2 + 1 AS s FROM t",
    "SELECT SUM(k) AS sk, SUM(y) AS sy, MIN(k) AS lo, MAX(k) AS hi FROM t",
    "SELECT y * k AS p, y + 1 AS q, m FROM t WHERE k >= 0",
    "SELECT y * y AS p, k FROM t WHERE k = 1",
    "SELECT x, y - k AS q FROM t WHERE k = 2",
    # On encrypted columns, and on one that is sealed.
    "SELECT SUM(x) AS s, COUNT(*) AS n FROM t WHERE y > 3",
    "SELECT COUNT(*) AS n FROM t WHERE x IS NULL OR m < -1000 AND NOT y BETWEEN -20 AND 20",
    "SELECT y, COUNT(*) AS n, MIN(m) AS lo, MAX(x) AS hi FROM t WHERE k > 0 GROUP BY y HAVING COUNT(*) > 1 ORDER BY y",
    "SELECT COUNT(DISTINCT y) AS n, SUM(ABS(y)) AS a, SUM(m) FILTER (WHERE x > 0) AS s FROM t",
    "SELECT DISTINCT y % 7 AS r FROM t",
    "SELECT x, m FROM t WHERE y IN (1, 2, 3, -4) ORDER BY x NULLS LAST, m NULLS FIRST, k, d LIMIT 9",
    "SELECT COUNT(*) AS n, SUM(CASE WHEN m > 0 THEN y WHEN x IS NULL THEN 1 ELSE -1 END) AS s FROM t WHERE k <> 2",
    "SELECT g, y FROM t WHERE y > 50 AND g = 'north' ORDER BY y LIMIT 4 OFFSET 1",
    "SELECT s, y FROM t WHERE s LIKE '%7' AND y < 0",
    "SELECT length(s) AS l, COUNT(*) AS n, SUM(y) AS t FROM t WHERE s > 'r2' OR s IS NULL GROUP BY length(s)",
    "SELECT k, ROW_NUMBER() OVER (PARTITION BY k ORDER BY s) AS r, y FROM t WHERE y = 3 ORDER BY k, r",
]
FLOATS = [
    "SELECT AVG(y) AS a, AVG(m) AS b, VAR_POP(y) AS c, STDDEV(m) AS e, AVG(k) AS f FROM t",
    "SELECT g, AVG(m) AS a, VARIANCE(y) AS v, STDDEV_POP(y) AS s FROM t GROUP BY g ORDER BY g NULLS FIRST",
    "SELECT SUM(y * k) / SUM(k + 4) AS w FROM t",
]


def ask(hush, path, query, *more):
    """The result as a list of dictionaries of text."""
    done = hush("run", path, query, "--sensitive", "x,y,m,s", "--clear", "g,k,d", "--format", "csv", "--quiet", *more)
    return list(csv.DictReader(io.StringIO(done.stdout)))


def as_text(cell):
    """A DuckDB value as our CSV shows it."""
    return "" if cell is None else str(cell)


@pytest.mark.parametrize("rows", [1, 7, 8192, 8193, 20_000])
def test_exact_queries_equal_duckdb(hush, tmp_path, rows):
    """Wide and negative integers, money, NULLs, empty groups, one row, part-filled and full chunks."""
    seed = random.randrange(2**32)
    print("seed", seed)
    path = tmp_path / "t.csv"
    write_csv(path, HEADER, random_rows(random.Random(seed), rows))
    for query in EXACT:
        text = query.replace("FROM t", f"FROM read_csv('{path}', {TYPES}) AS t")
        cursor = duckdb.sql(text.replace("date_part('year', d)", "CAST(date_part('year', d) AS BIGINT)"))
        names = cursor.columns
        expected = [dict(zip(names, map(as_text, row))) for row in cursor.fetchall()]
        found = ask(hush, path, query)
        if "ORDER BY" not in query:
            key = lambda row: sorted(row.items())
            expected, found = sorted(expected, key=key), sorted(found, key=key)
        assert found == expected, query


def test_float_results_equal_duckdb(hush, tmp_path):
    """Averages and variances: ours are rounded once, so they agree to the oracle's own rounding."""
    path = tmp_path / "t.csv"
    write_csv(path, HEADER, random_rows(random.Random(7), 9000))
    for query in FLOATS:
        expected = duckdb.sql(query.replace("FROM t", f"FROM read_csv('{path}', {TYPES}) AS t")).fetchall()
        found = ask(hush, path, query)
        assert len(found) == len(expected)
        for row, want in zip(found, expected):
            for text, value in zip(row.values(), want):
                if isinstance(value, float):
                    assert math.isclose(float(text), value, rel_tol=1e-9, abs_tol=1e-9), query
                else:
                    assert text == as_text(value)


def test_the_result_depends_on_no_thread_count_and_no_kernel(hush, tmp_path):
    """One and three threads, scalar and vector kernels: the same bytes."""
    path = tmp_path / "t.csv"
    write_csv(path, HEADER, random_rows(random.Random(8), 20_000))
    query = "SELECT g, SUM(x) AS s, AVG(m) AS a, STDDEV(y) AS e FROM t GROUP BY g ORDER BY g"
    plain = ask(hush, path, query)
    for threads in (1, 3):
        assert ask(hush, path, query, "--threads", str(threads)) == plain
    for kernels in ("scalar", "avx2"):
        assert ask(hush.with_environment(HUSH_CPU=kernels), path, query) == plain


def test_parquet_and_csv_agree(hush, tmp_path):
    """The same table from Parquet, with its own types, and out again as Parquet and JSON."""
    csv_path, parquet = tmp_path / "t.csv", tmp_path / "p" / "t.parquet"
    parquet.parent.mkdir()
    write_csv(csv_path, HEADER, random_rows(random.Random(9), 3000))
    duckdb.sql(f"COPY (FROM read_csv('{csv_path}', {TYPES})) TO '{parquet}' (FORMAT PARQUET)")
    query = "SELECT g, COUNT(x) AS n, SUM(x) AS s, SUM(m) AS m FROM t GROUP BY g ORDER BY g"
    assert ask(hush, parquet, query) == ask(hush, csv_path, query)
    result = tmp_path / "result.parquet"
    options = ("--sensitive", "x,m", "--clear", "g,k,d,y,b", "--quiet")
    result.write_bytes(hush.bytes("run", parquet, query, *options, "--format", "parquet"))
    expected = duckdb.sql(query.replace("FROM t", f"FROM '{parquet}' AS t")).fetchall()
    assert duckdb.sql(f"SELECT g, n, s, m FROM '{result}'").fetchall() == expected
    json_lines = tmp_path / "result.json"
    json_lines.write_bytes(hush.bytes("run", parquet, query, *options, "--format", "json"))
    counted = duckdb.sql(f"SELECT COUNT(*), SUM(n) FROM read_json_auto('{json_lines}')").fetchall()
    assert counted == [(len(expected), sum(row[1] for row in expected))]


def test_products_of_rows_are_the_nearest_doubles(hush, tmp_path):
    """Thousands of factors of both signs: equal to exact fractions, rounded once; and near the plaintext engine's doubles."""
    draw = random.Random(13)
    rows = [(row % 3, decimal.Decimal(draw.choice([-1, 1]) * draw.randint(9_000, 11_111)).scaleb(-4)) for row in range(9000)]
    path = tmp_path / "t.csv"
    write_csv(path, ["k", "m"], rows)
    query = "SELECT k, PRODUCT(m) AS p, GEOMEAN(m * m) AS g, PRODUCT(k - 1) AS c FROM t GROUP BY k ORDER BY k"
    done = hush("run", path, query, "--sensitive", "m", "--clear", "k", "--format", "csv", "--verify")
    for row in csv.DictReader(io.StringIO(done.stdout)):
        factors = [fractions.Fraction(value) for group, value in rows if group == int(row["k"])]
        product = math.prod(factors)
        assert float(row["p"]) == float(product)
        assert math.isclose(float(row["g"]), math.exp(2 * sum(math.log(abs(f)) for f in factors) / 3000), rel_tol=1e-12)
        assert float(row["c"]) == (int(row["k"]) - 1) ** 3000


def test_products_of_long_products(hush, tmp_path):
    """Logarithms are added factor by factor: no product of a row's columns is too long, and the sign is that of all of them."""
    draw = random.Random(14)
    maybe = lambda row, value: value if row == 0 or draw.random() < 0.9 else None
    rows = [(maybe(row, draw.choice([-1, 1]) * draw.randint(2**60, WIDE)), draw.randint(1, 9)) for row in range(3)]
    path = tmp_path / "t.csv"
    write_csv(path, ["x", "y"], rows)
    query = "SELECT PRODUCT(x * x * y * x * x * x) AS p, PRODUCT(-0.5 * x * y) AS q FROM t"
    done = hush("run", path, query, "--sensitive", "x,y", "--format", "csv")
    (row,) = csv.DictReader(io.StringIO(done.stdout))
    known = [(x, y) for x, y in rows if x is not None]
    assert float(row["p"]) == float(math.prod(x**5 * y for x, y in known))
    assert float(row["q"]) == float(math.prod(fractions.Fraction(-x * y, 2) for x, y in known))


def test_averages_over_windows_are_the_nearest_doubles(hush, tmp_path):
    """From the exact sum, rounded once: of clear and encrypted columns together, integers and money, in frames that move and not."""
    draw = random.Random(16)
    rows = [(row, draw.randint(-(2**60), 2**60), decimal.Decimal(draw.randint(-(10**15), 10**15)).scaleb(-2)) for row in range(60)]
    path = tmp_path / "t.csv"
    write_csv(path, ["k", "i", "q"], rows)
    query = "SELECT AVG(i + q) OVER () AS a, AVG(i + q) OVER (ORDER BY k ROWS 6 PRECEDING) AS m, MEAN(k * q) OVER (ORDER BY k) AS r FROM t ORDER BY k"
    for sensitive, clear in (("i,q", "k"), ("q", "k,i"), ("i", "k,q")):
        done = hush("run", path, query, "--sensitive", sensitive, "--clear", clear, "--format", "csv")
        mean = lambda values: float(sum(map(fractions.Fraction, values)) / len(values))
        both = [i + fractions.Fraction(q) for _, i, q in rows]
        for row, found in enumerate(csv.reader(done.stdout.splitlines()[1:])):
            products = [k * fractions.Fraction(q) for k, _, q in rows[: row + 1]]
            assert list(map(float, found)) == [mean(both), mean(both[max(row - 6, 0) : row + 1]), mean(products)], (sensitive, row)


def test_floats_with_and_without_a_range(hush, tmp_path):
    """Without a range CKKS, within the stated precision; with one fixed point, exact."""
    draw = random.Random(10)
    values = [round(draw.uniform(-50, 50), 4) for _ in range(9000)]
    path = tmp_path / "t.csv"
    write_csv(path, ["k", "f"], [(draw.randint(0, 2), value) for value in values])
    schema = tmp_path / "s.toml"
    hush("init", path, "--sensitive", "f", "-o", schema)
    proposed = schema.read_text(encoding="utf-8")
    query = "SELECT SUM(f) AS s FROM t"
    column = 'type = "float(4)"\nprotect = "encrypt"\nnullable = false\n'
    for extra, tolerance in (("", 1e-3), ("range = [-100, 100]\n", 0)):
        head = proposed[: proposed.index("[columns.f]")]
        schema.write_text(head + "[columns.f]\n" + column + extra, encoding="utf-8")
        done = hush("run", path, query, "--schema", schema, "--format", "csv", "--verify")
        total = sum(map(decimal.Decimal, map(str, values)))
        found = decimal.Decimal(done.stdout.split()[1])
        assert abs(found - total) <= tolerance + 1e-9, extra
        assert ("CKKS" in done.stderr) == (not extra)


def test_unfiltered_sums_of_few_rows_at_the_edge_of_their_parameters(hush, tmp_path):
    """Few rows leave the widest plaintexts, and the least room for noise: every total must still be exact."""
    draw = random.Random(12)
    for digits in range(2, 18):
        rows = draw.choice([1, 1, 2, 3, 5, 10, 50, 300])
        values = [[draw.randint(-(10**digits) + 1, 10**digits - 1) for _ in range(3)] for _ in range(rows)]
        path = tmp_path / f"t{digits}.csv"
        write_csv(path, ["a", "b", "c"], values)
        query = f"SELECT SUM(a) AS a, SUM(b) AS b, SUM(c) AS c FROM t{digits}"
        done = hush("run", path, query, "--sensitive", "a,b,c", "--format", "csv", "--verify")
        totals = [sum(row[column] for row in values) for column in range(3)]
        assert done.stdout.splitlines()[1] == ",".join(map(str, totals)), (rows, digits)


def approximate(tmp_path, rows):
    """A table with an encrypted float without a range beside clear columns: file and schema."""
    path, schema = tmp_path / "t.csv", tmp_path / "s.toml"
    write_csv(path, ["f", "w", "k"], rows)
    schema.write_text(
        'format = 1\ntable = "t"\nstatus = "approved"\n'
        '[columns.f]\ntype = "float(6)"\nprotect = "encrypt"\n'
        '[columns.w]\ntype = "float(6)"\nprotect = "clear"\n'
        '[columns.k]\ntype = "int(16)"\nprotect = "clear"\n',
        encoding="utf-8",
    )
    return path, schema


def test_approximate_products_are_right_or_refused(hush, tmp_path):
    """Long constants, large clear factors and large values: within the precision, or an error; never garbage."""
    draw = random.Random(13)
    rows = [(round(draw.uniform(-9, 9), 3), round(draw.uniform(-9, 9), 3), draw.randint(0, 9)) for _ in range(500)]
    path, schema = approximate(tmp_path, rows)
    answered = 0
    for factor in ("f", "w", "k", "3", "2.5", "123456789012345", "10000000000000000", "0.000001"):
        done = hush("run", path, f"SELECT f * {factor} AS p FROM t", "--schema", schema, "--format", "csv", "--quiet", status=None)
        if done.returncode:
            assert done.returncode in (3, 5), done.stderr
            continue
        answered += 1
        names = {"f": 0, "w": 1, "k": 2}
        for row, text in zip(rows, done.stdout.splitlines()[1:], strict=True):
            want = row[0] * (row[names[factor]] if factor in names else float(factor))
            assert math.isclose(float(text), want, rel_tol=1e-5, abs_tol=1e-3), factor
    assert answered >= 4
    huge = [(1.0, 1e30, 1)] * 20
    path, schema = approximate(tmp_path, huge)
    refused = hush("run", path, "SELECT f * w AS p FROM t", "--schema", schema, status=3)
    assert "HUSH-E051" in refused.stderr and "1e30" not in refused.stderr
    for value in (1e12, 1e40, -1e25):
        path, schema = approximate(tmp_path, [(value, 1.0, 1)] * 20)
        for query in ("SELECT f * f AS p FROM t", "SELECT f * w AS p FROM t"):
            refused = hush("run", path, query, "--schema", schema, status=8)
            assert "HUSH-D030" in refused.stderr and "column f" in refused.stderr


def test_errors_over_results_quote_no_value(hush, tmp_path):
    """The last step works on decrypted values: its errors must not show them."""
    path = tmp_path / "t.csv"
    write_csv(path, ["x"], [(4_611_686_018_427_387_903,)] * 3)
    query = "SELECT CAST(SUM(x) AS BIGINT) * CAST(SUM(x) AS BIGINT) AS p FROM t"
    done = hush("run", path, query, "--sensitive", "x", status=None)
    if done.returncode:
        assert "46116860" not in done.stderr and "13835058" not in done.stderr, done.stderr
        assert done.returncode == 3
    done = hush("run", path, "SELECT SUM(x) / (COUNT(*) - 3) AS p FROM t", "--sensitive", "x", status=None)
    assert done.returncode in (0, 3) and "13835058" not in done.stderr


SMALL = "k,n,t,b,c,x\n1,,a,true,false,1\n2,3,,false,false,2\n3,4,b'b,true,true,4\n4,7,b'b,,true,4\n"
AWKWARD = {
    "SELECT b IS DISTINCT FROM TRUE AND c AS q, SUM(x) AS s FROM t GROUP BY 1 ORDER BY 1": "false,7 true,4",
    "SELECT COUNT(*) AS n, SUM(x) AS s FROM t WHERE n NOT IN (1,2) OR n NOT IN (5,6)": "3,10",
    "SELECT COUNT(*) AS n FROM t WHERE t = 'b''b'": "2",
    "SELECT COUNT(*) AS n FROM t WHERE t IN ('''', 'b''b', '''''')": "2",
    "SELECT k*2 AS d FROM t ORDER BY d DESC LIMIT 2": "8 6",
    "SELECT SUM(x) AS s FROM t WHERE COALESCE(n,9)=9": "1",
    "SELECT NVL(n,0) AS g, SUM(x) AS s FROM t WHERE k < 3 GROUP BY 1 ORDER BY 1": "0,1 3,2",
    "SELECT SUM(CASE WHEN k>1 THEN x ELSE k END) AS s FROM t": "11",
    "SELECT SUM(k) FILTER (WHERE c IS TRUE) AS s FROM t": "7",
    "SELECT SUM(x+k) FILTER (WHERE b IS NOT TRUE) AS s FROM t": "12",
    "SELECT COUNT(x) AS n FROM t": "4",
    "SELECT 2 AS o, x, k FROM t ORDER BY o DESC, k DESC LIMIT 1": "2,4,4",
    "SELECT x AS o FROM t ORDER BY 1 DESC, k LIMIT 1": "4",
    # Names that the program has for columns of its own.
    "SELECT -k AS c0, k FROM t ORDER BY k LIMIT 2": "-1,1 -2,2",
    "SELECT k AS c1, n AS c0 FROM t ORDER BY k DESC LIMIT 2": "4,7 3,4",
    "SELECT k AS p0, -x AS c0 FROM t ORDER BY x DESC, k DESC LIMIT 1": "4,-4",
    'SELECT -k AS "row", k FROM t LIMIT 2': "-1,1 -2,2",
    "SELECT k, -SUM(x) AS a0 FROM t GROUP BY k ORDER BY SUM(x) LIMIT 1": "1,-1",
    "SELECT -k AS k0, SUM(x) AS s FROM t GROUP BY k ORDER BY k LIMIT 1": "-1,1",
}


def test_awkward_queries(hush, tmp_path):
    """Finds of an independent tester: precedence, quotes, three-valued logic, clear rows, constants as sort keys."""
    path = tmp_path / "t.csv"
    path.write_text(SMALL, encoding="utf-8")
    for query, expected in AWKWARD.items():
        done = hush("run", path, query, "--sensitive", "x", "--clear", "k,n,t,b,c", "--format", "csv", "--verify")
        assert " ".join(done.stdout.splitlines()[1:]) == expected, query
    for query in ("SELECT 12345678901 * 12345678901 AS p FROM t LIMIT 1", "SELECT SUM(x) + 12345678901 * 12345678901 AS p FROM t"):
        done = hush("run", path, query, "--sensitive", "x", "--clear", "k,n,t,b,c", "--format", "csv", status=None)
        want = 12345678901**2 + (11 if "SUM" in query else 0)
        assert done.returncode == 3 or done.stdout.split()[-1] == str(want), done.stdout
    for wide in ("k * 9223372036854775807 > 0", "k * 9223372036854775807 * 9223372036854775807 + k > 9223372036854775807"):
        done = hush("run", path, f"SELECT SUM(x) FROM t WHERE {wide}", "--sensitive", "x", "--clear", "k", "--format", "csv")
        assert done.stdout.split()[-1] == "11", wide
    wrapping = hush("run", path, "SELECT SUM(x) FROM t WHERE k * 9223372036854775807 % 5 = 0", "--sensitive", "x", "--clear", "k", status=3)
    assert "HUSH-E050" in wrapping.stderr
    growing = "SELECT COUNT(*) FROM t WHERE length(replace(replace(t,'b','bbbb'),'b','bbbb')) > 1"
    assert "HUSH-E023" in hush("run", path, growing, "--sensitive", "x", "--clear", "t", status=3).stderr


def test_many_groups_are_limited_with_a_clear_message(hush, tmp_path):
    """More clear groups than the limit are refused, with the number."""
    path = tmp_path / "t.csv"
    write_csv(path, ["k", "x"], [(row, row % 7) for row in range(12_000)])
    done = hush("run", path, "SELECT k, COUNT(*) FROM t GROUP BY k", "--sensitive", "x", "--clear", "k", status=6)
    assert "HUSH-E040" in done.stderr and "10000" in done.stderr.replace(",", "")
    few = hush("run", path, "SELECT k, SUM(x) AS s FROM t WHERE k < 300 GROUP BY k ORDER BY k", "--sensitive", "x",
               "--clear", "k", "--format", "csv", "--verify")
    assert len(few.stdout.splitlines()) == 301


def test_many_groups_of_encrypted_sums_are_grouped_by_the_owner(hush, tmp_path):
    """From 8 groups to one for each row, every aggregate: DuckDB's numbers, and fewer bytes than sums of each group would be."""
    draw = random.Random(12)
    path = tmp_path / "t.csv"
    maybe = lambda value: draw.choice(["", value, value, value])
    rows = [(row, maybe(draw.choice("abcü")), maybe(draw.randint(-9, 9)), maybe(draw.randint(-(2**40), 2**40)),
             f"{draw.randint(-9999, 9999) / 100:.2f}") for row in range(20_000)]
    write_csv(path, ["k", "g", "w", "x", "m"], rows)
    source = f"read_csv('{path}', types={{'k': 'BIGINT', 'g': 'VARCHAR', 'w': 'BIGINT', 'x': 'BIGINT', 'm': 'DECIMAL(9,2)'}})"
    exact = "COUNT(*) AS n, COUNT(x) AS c, SUM(x) AS s, SUM(x * w) AS p, SUM(m) FILTER (WHERE w > 0) AS f, MAX(k) AS z"
    floats = "AVG(x) AS a, VAR_POP(m) AS v, STDDEV(x) AS d, CORR(x, m) AS r"
    for groups in (8, 11, 700, 20_000):
        query = f"SELECT g, k % {groups} AS h, {exact}, {floats} FROM t WHERE k <> 5 GROUP BY g, h HAVING COUNT(*) > 0 ORDER BY h, g NULLS FIRST"
        done = hush("run", path, query, "--sensitive", "x,m", "--clear", "k,g,w", "--format", "csv", "--analyze", "--json")
        found = list(csv.reader(io.StringIO(done.stdout)))[1:]
        expected = duckdb.sql(query.replace("FROM t", f"FROM {source} AS t")).fetchall()
        assert len(found) == len(expected)
        for row, want in zip(found, expected):
            assert row[:8] == [as_text(cell) for cell in want[:8]], (groups, row, want)
            for text, value in zip(row[8:], want[8:]):
                if text == "" or value is None or math.isnan(value):
                    assert text == "" and (value is None or math.isnan(value)), (groups, row, want)
                else:
                    assert math.isclose(float(text), value, rel_tol=1e-6, abs_tol=1e-6), (groups, row, want)
        analysis = json.loads(done.stderr.splitlines()[-1])["analysis"]
        kinds = {node["kind"] for node in analysis["predicted"]["nodes"]}
        assert kinds == {"fetch"} or groups < 700 and kinds == {"sum"}, groups
        assert kinds == {"sum"} or analysis["measured"]["bytes_down"] < 5_000_000, groups


def test_what_cannot_be_done_is_refused_with_a_reason(hush, tmp_path):
    """One code for each kind of refusal, nothing on standard output."""
    path = tmp_path / "t.csv"
    write_csv(path, HEADER, random_rows(random.Random(11), 50))
    refusals = {
        "SELECT SUM(x) FROM elsewhere": "HUSH-P002",
        "SELECT SUM(nothing) FROM t": "HUSH-P003",
        "SELECT SUM(x FROM t": "HUSH-P001",
        "DELETE FROM t": "HUSH-P0",
        "SELECT SUM(x) FROM t; SELECT 1": "HUSH-P0",
        "SELECT a.x FROM t a JOIN t b ON a.k = b.k": "HUSH-P005",
        "SELECT SUM(y) OVER (PARTITION BY k), COUNT(*) FROM t": "HUSH-P0",
    }
    for query, code in refusals.items():
        done = hush("run", path, query, "--sensitive", "x,y,m", "--clear", "g,k,d", status=None)
        assert done.returncode in (3, 5), (query, done.returncode, done.stderr)
        assert code in done.stderr and done.stdout == "", (query, done.stderr)
