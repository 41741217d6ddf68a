# SPDX-License-Identifier: Apache-2.0
"""Conditions whose constants are encrypted: results are those of columns that come back, and nothing that is sent hangs on a constant."""

import base64
import datetime
import json
import random
import re

import hushtable_worker as worker
import pytest

import hushtable as ht
from duckdb_agrees import assert_as_duckdb

SCHEMA = """format = 1
table = "t"
status = "approved"
approved_by = "test"
null_tokens = [""]
max_rows = 100000
constant_keys = true
filter = [{ column = "kind", values = ["a", "b", "ü"] }]
derive = ["size / 2 = 3", "day > due", "kind = 'a' AND fresh = true"]
measure = ["pay * rate"]
[columns.ward]
type = "category"
protect = "clear"
[columns.day]
type = "date"
range = ["1994-01-01", "1994-07-31"]
protect = "encrypt"
for = ["filter"]
[columns.size]
type = "int(8)"
range = [-3, 20]
nullable = true
protect = "encrypt"
for = ["filter"]
[columns.fresh]
type = "bool"
protect = "encrypt"
for = ["filter"]
[columns.rate]
type = "decimal(3,2)"
range = [0, 0.10]
protect = "encrypt"
for = ["filter", "measure"]
[columns.pay]
type = "decimal(7,2)"
range = [0, 20000]
nullable = true
protect = "encrypt"
for = ["measure"]
[columns.kind]
type = "category"
nullable = true
protect = "seal"
[columns.due]
type = "date"
range = ["1994-01-01", "1994-07-31"]
nullable = true
protect = "encrypt"
"""
AGGREGATES = ["COUNT(*)", "COUNT(pay)", "SUM(pay)", "SUM(rate)", "AVG(pay)", "SUM(pay * rate)"]
FORM = "SELECT SUM(pay * rate) AS s, COUNT(*) AS n FROM t WHERE day >= DATE '{0}' AND day < DATE '{1}' AND rate BETWEEN {2} AND {3} AND size < {4}"
#: Some match, none can, every row with a size does, and bounds beyond all values.
CONSTANTS = [
    ("1994-02-01", "1994-06-01", "0.02", "0.07", "12"),
    ("1994-06-01", "1994-02-01", "0.07", "0.02", "12"),
    ("1994-01-01", "1994-08-01", "0", "0.1", "21"),
    ("1900-01-01", "2100-01-01", "0.055", "7.5", "-100"),
    ("1994-01-15", "1994-01-16", "0.03", "0.03", "100"),
]


def day(place):
    """A day by how far it lies above the first."""
    return (datetime.date(1994, 1, 1) + datetime.timedelta(days=place)).isoformat()


def write(path, draw, count):
    """Random rows with missing values."""
    some = lambda value: value if draw.random() < 0.9 else ""
    with open(path, "w", encoding="utf-8") as out:
        out.write("ward,day,size,fresh,rate,pay,kind,due\n")
        for _ in range(count):
            cells = [draw.choice("ns"), day(draw.randrange(212)), some(draw.randint(-3, 20)), draw.choice(["true", "false"]), f"0.{draw.randrange(11):02}", some(f"{draw.randrange(2000001) / 100:.2f}"), some(draw.choice(["a", "b", "ü"])), some(day(draw.randrange(212)))]
            out.write(",".join(map(str, cells)) + "\n")


@pytest.fixture
def table(hush, tmp_path, key):
    """Three chunks, of which two share ring elements, so that constants meet more than one."""
    (tmp_path / "t.schema.toml").write_text(SCHEMA, encoding="utf-8")
    write(tmp_path / "t.csv", random.Random(3), 16900)
    hush("encrypt", "t.csv", "-o", "T", *key)
    return tmp_path / "T"


def parts(table):
    """How many parts a table has."""
    return len(list((table / "parts").glob("*.enc.parquet")))


def opened(table, key):
    """The table, with constants hidden."""
    return ht.open(str(table), keys=ht.open_key(key[1], passphrase_file=key[3]), way="filter", hide=["constants", "pattern", "sizes"])


def atom(draw):
    """A comparison of a hidden column with constants."""
    op = draw.choice(["<", "<=", ">", ">=", "=", "<>"])
    return draw.choice([
        lambda: f"day {op} DATE '{day(draw.randint(-5, 220))}'",
        lambda: f"day {draw.choice(['', 'NOT '])}BETWEEN DATE '{day(draw.randint(-5, 220))}' AND DATE '{day(draw.randint(-5, 220))}'",
        lambda: f"day IN (DATE '{day(draw.randint(0, 211))}', DATE '{day(draw.randint(0, 220))}')",
        lambda: f"{draw.randint(-5, 22)} {op} size",
        lambda: f"size {draw.choice(['', 'NOT '])}IN ({draw.randint(-3, 20)}, {draw.randint(-3, 20)}, 40)",
        lambda: f"size IS {draw.choice(['', 'NOT '])}NULL",
        lambda: draw.choice(["fresh", "NOT fresh", "fresh = true"]),
        lambda: f"rate {op} {draw.choice(['0.05', '0.055', '0.1', '0', '1.5'])}",
        lambda: f"kind {draw.choice(['=', '<>'])} '{draw.choice(['a', 'ü', 'none'])}'",
        lambda: f"kind {draw.choice(['', 'NOT '])}IN ('a', 'ü')",
        lambda: f"day {draw.choice(['>', '<='])} due",
        lambda: f"size / 2 {draw.choice(['=', '<>'])} 3",
    ])()


def condition(draw, factors):
    """Comparisons joined by AND, OR and NOT."""
    if factors == 1:
        return atom(draw)
    left = draw.randint(1, factors - 1)
    text = f"({condition(draw, left)}) {draw.choice(['AND', 'OR'])} ({condition(draw, factors - left)})"
    return f"NOT ({text})" if draw.random() < 0.2 else text


def question(draw):
    """A random query, in groups sometimes."""
    keys = draw.choice([[], [], ["kind"], ["fresh"]])
    items = [*keys, *draw.sample(AGGREGATES, 2)]
    named = ", ".join(f"{text} AS x{place}" for place, text in enumerate(items))
    group_by = f" GROUP BY {keys[0]} ORDER BY x0" if keys else ""
    return f"SELECT {named} FROM t WHERE {condition(draw, draw.randint(1, 3))}{group_by}"


def hidden(hush, query, key):
    """The result on encrypted constants; None where they take more levels, or more of them, than there are."""
    done = hush("query", "T", query, "--way", "filter", "--hide", "pattern", "--format", "csv", "--analyze", "--json", *key, status=None)
    if done.returncode:
        # A derived condition with a constant in it would tell whether a question has that.
        assert re.match("HUSH-P030.*(encrypted constants|bits missing|would show its constants)", done.stderr), (query, done.stderr)
        return None
    analysis = json.loads(done.stderr.splitlines()[-1])
    predicted, measured = analysis["predicted"]["prediction"], analysis["measured"]
    assert predicted["bytes_up"] == measured["bytes_up"] and predicted["bytes_down"] == measured["bytes_down"], query
    return done.stdout


def by_fetch(hush, query, key):
    """The result by columns that come back."""
    return hush("query", "T", query, "--way", "fetch", "--format", "csv", *key).stdout


def test_random_questions(hush, table, key):
    """Until enough were answered: some need more levels than there are."""
    seed = random.randrange(2**32)
    print("seed", seed)
    draw = random.Random(seed)
    answered = 0
    for _ in range(60):
        query = question(draw)
        found = hidden(hush, query, key)
        assert found in (None, by_fetch(hush, query, key)), query
        answered += found is not None
        if answered == 6:
            return
    raise AssertionError(f"only {answered} were answered")


def test_duckdb_agrees(hush, table, key):
    """The form of TPC-H's Q6, with dates in two digits; more rows then."""
    for constants in CONSTANTS[:2]:
        query = FORM.format(*constants)
        assert hidden(hush, query, key) == by_fetch(hush, query, key)
        assert_as_duckdb(by_fetch(hush, query, key), query, table.parent / "t.csv", least=1)
    write(table.parent / "more.csv", random.Random(4), 500)
    hush("append", "more.csv", "-o", "T", *key)
    query = FORM.format(*CONSTANTS[2])
    assert hidden(hush, query, key) == by_fetch(hush, query, key) != ""


def test_what_is_sent_hangs_on_no_constant(table, key):
    """Plans are the same but for a ciphertext, which is never the same; answers are of one length."""
    owned = opened(table, key)
    sent, ciphertexts, lengths = set(), set(), set()
    for constants in [*CONSTANTS, CONSTANTS[0]]:
        prepared = owned.prepare(FORM.format(*constants))
        plan = json.loads(prepared.plan)
        condition = plan["task"]["products"]["computed"]
        ciphertexts.add(condition.pop("constants"))
        sent.add(json.dumps(plan))
        answer = worker.finish(str(table), prepared.plan, [worker.run_parts(str(table), prepared.plan, 0, parts(table))])
        lengths.add(len(answer))
    assert (len(sent), len(ciphertexts), len(lengths)) == (1, len(CONSTANTS) + 1, 1)
    assert {len(text) for text in ciphertexts} == {len(next(iter(ciphertexts)))}
    [plan] = sent
    assert "1994" not in plan and json.loads(plan)["predicate"] is None
    # Terms stand by the numbers of columns, which are random: their order is not that of values.
    task = json.loads(plan)["task"]["products"]
    for places in task["computed"]["inner"]:
        numbers = [-1 if place is None else task["columns"][place] for place in places]
        assert numbers == sorted(numbers) and len(numbers) > 2
    # In lists, equal members and members that are no value take as much as others.
    forms = ["size IN (1, 2, 3)", "size IN (1, 1, 99)", "day IN (DATE '1994-02-02', DATE '1994-02-03')", "day IN (DATE '1994-02-02', DATE '2094-02-02')"]
    lists = [json.loads(owned.prepare(f"SELECT COUNT(*) FROM t WHERE {form}").plan)["task"]["products"] for form in forms]
    # A condition is derived for the constants of the first.
    forms = ["kind = 'a' AND fresh = true", "kind = 'b' AND fresh = false"]
    lists += [json.loads(owned.prepare(f"SELECT COUNT(*) FROM t WHERE {form}").plan)["task"]["products"] for form in forms]
    # Groups that a condition leaves no row in are asked for too.
    forms = ["kind = 'a' AND size > 3", "kind = 'ü' AND size > 30"]
    lists += [json.loads(owned.prepare(f"SELECT kind, COUNT(*) FROM t WHERE {form} GROUP BY kind").plan)["task"]["products"] for form in forms]
    for one, other in (lists[:2], lists[2:4], lists[4:6], lists[6:]):
        assert one["computed"].pop("constants") != other["computed"].pop("constants")
        assert one == other


def test_partial_answers(hush, table, key):
    """Each part by itself, put together, gives the bytes of one machine; the owner reads them."""
    write(table.parent / "more.csv", random.Random(5), 300)
    hush("append", "more.csv", "-o", "T", *key)
    last = parts(table)
    assert last > 2
    place, query = str(table), FORM.format(*CONSTANTS[0])
    prepared = opened(table, key).prepare(query)
    whole = worker.finish(place, prepared.plan, [worker.run_parts(place, prepared.plan, 0, last)])
    partials = [worker.run_parts(place, prepared.plan, a, b) for a, b in ((2, last), (0, 1), (1, 2))]
    assert worker.finish(place, prepared.plan, partials) == whole
    expected = ht.open(place, keys=ht.open_key(key[1], passphrase_file=key[3]), way="fetch").sql(query)
    assert list(prepared.finish(whole)) == list(expected)


def test_a_server_answers(hush, table, server, key):
    """Keys are pushed with the table, and plans of such a size are taken."""
    hush("push", "T", server.url, *server.token)
    query = FORM.format(*CONSTANTS[0])
    asked = ["query", f"{server.url}/tables/t", query, "--way", "filter", "--hide", "pattern", "--format", "csv"]
    assert hush(*asked, *server.token, *key).stdout == by_fetch(hush, query, key)
    assert "1994" not in server.log.read_text(encoding="utf-8")


def test_plans_that_were_changed_are_refused(table, key):
    """Before anything is computed; bytes that are no ciphertext over the chain, too."""
    prepared = opened(table, key).prepare(FORM.format(*CONSTANTS[0]))
    plan = json.loads(prepared.plan)
    run = lambda: worker.run_parts(str(table), json.dumps(plan).encode(), 0, 1)
    condition = plan["task"]["products"]["computed"]
    whole = json.loads(json.dumps(condition))
    constants = bytearray(base64.b64decode(condition["constants"]))
    constants[5000] ^= 1
    deep = {"mul": [{"inner": 0}, {"inner": 1}]}
    for _ in range(4):
        deep = {"mul": [deep, {"inner": 0}]}
    changes = [
        ("constants", ""),
        ("constants", "no base64"),
        ("constants", base64.b64encode(constants).decode()),
        ("constants", condition["constants"][: len(condition["constants"]) // 8 * 4]),
        ("keys", "n14_q8p1x46_d1_sec128_v1"),
        ("inner", [*condition["inner"], [0] * 600]),
        ("inner", [[10_000]]),
        ("inner", []),
        ("inner", [[], *condition["inner"]]),
        ("formula", {"inner": 99}),
        ("formula", deep),
    ]
    for member, value in changes:
        condition.update(whole)
        condition[member] = value
        with pytest.raises(worker.WorkerError, match="HUSH-E"):
            run()
    condition.update(whole)
    # A sum that the condition does not decide would be computed modulo too few primes.
    plan["task"]["products"]["factors"].append({"column": 0})
    plan["task"]["products"]["sums"][0]["factor"] = len(plan["task"]["products"]["factors"]) - 1
    with pytest.raises(worker.WorkerError, match="HUSH-E012"):
        run()


def test_without_keys_or_with_clear_columns_another_way_answers(hush, table, tmp_path, key):
    """Clear columns would show their constants. Keys that are gone, or are of another secret, are not used."""
    asked = "SELECT SUM(pay) AS s FROM t WHERE size > 3"
    for query in (f"{asked} AND ward = 'n'", f"{asked} OR ward = 's'"):
        done = hush("query", "T", query, "--way", "filter", "--hide", "pattern", *key, status=None)
        assert done.stderr.startswith("HUSH-P030") and "clear columns" in done.stderr, done.stderr
        assert hush("query", "T", query, "--hide", "pattern", "--format", "csv", *key).stdout == by_fetch(hush, query, key)
    told = " ".join(hush("explain", "T", asked, "--way", "filter", "--hide", "constants", *key).stdout.split())
    assert "constants that it cannot read" in told and "circular security" in told and "expand" in told, told
    assert "relinearisation" in hush("info", "T").stdout
    keys = sorted((table / "keys").glob("*.key"), key=lambda file: file.stat().st_size)
    assert len(keys) == 2
    whole = keys[0].read_bytes()
    keys[0].write_bytes(whole[:-1])
    done = hush("query", "T", asked, "--way", "filter", "--hide", "pattern", *key, status=None)
    assert done.returncode and re.match("HUSH-[ETC]", done.stderr), done.stderr
    keys[0].write_bytes(whole)
    assert hidden(hush, asked, key) == by_fetch(hush, asked, key)
    hush("rotate", "T", *key)
    assert hidden(hush, asked, key) is None
    assert hush("query", "T", asked, "--hide", "pattern", "--format", "csv", *key).stdout == by_fetch(hush, asked, key)


def test_rows_that_match(hush, table, key):
    """Rows come back under hidden constants too, and neither what is sent nor its length hangs on constants, or on whether a row matches."""
    moved = set()
    for first, last, size in (("1994-02-01", "1994-02-09", "4"), ("1994-07-30", "1994-02-09", "-9"), ("1990-01-01", "1994-01-02", "100"), ("1994-01-01", "1999-01-01", "21")):
        query = f"SELECT day, pay FROM t WHERE day >= DATE '{first}' AND day < DATE '{last}' AND size < {size} ORDER BY day, pay NULLS LAST"
        found = hidden(hush, query, key)
        assert found == by_fetch(hush, query, key), query
        done = hush("query", "T", query, "--way", "filter", "--hide", "pattern", "--analyze", "--json", *key)
        measured = json.loads(done.stderr.splitlines()[-1])["measured"]
        moved.add((measured["bytes_up"], measured["bytes_down"]))
        done = hush("query", "T", query, "--way", "filter", "--hide", "pattern,sizes", *key, status=None)
        assert done.stderr.startswith("HUSH-P030"), done.stderr
    assert len(moved) == 1, moved
    # Rounds would hang on what they find: the first rows of an order are rows that match, if they are few.
    query = "SELECT day, pay FROM t WHERE size = 3 AND rate = 0.05 ORDER BY day LIMIT 3"
    assert hidden(hush, query, key) == by_fetch(hush, query, key)
    told = hush("explain", "T", query, "--way", "filter", "--hide", "pattern", *key).stdout
    assert "encrypted constants" in told and "rounds" not in told, told


def test_chunks_that_share_ring_elements_live(hush, table, tmp_path, key):
    """Rows come, go, and are put together into other parts: with and without hidden constants the answers are those of columns that come back."""
    rows = "SELECT day, pay FROM t WHERE day < DATE '1994-01-05' AND size < 4 ORDER BY day, pay NULLS LAST"
    hidden_ones = [FORM.format(*CONSTANTS[0]), "SELECT kind, COUNT(*) AS n, SUM(rate) AS s FROM t WHERE size > 3 GROUP BY kind ORDER BY kind", rows]
    clear = "SELECT ward, COUNT(*) AS n, SUM(pay) AS s FROM t WHERE size > 3 AND (fresh OR ward = 'n') GROUP BY ward ORDER BY ward"

    def agree():
        for query in hidden_ones:
            expected = by_fetch(hush, query, key)
            assert hidden(hush, query, key) in (None, expected), query
            assert hush("query", "T", query, "--way", "filter", "--format", "csv", *key).stdout == expected, query
        assert hush("query", "T", clear, "--way", "filter", "--format", "csv", *key).stdout == by_fetch(hush, clear, key)

    for count in (100, 9000):
        write(tmp_path / "more.csv", random.Random(count), count)
        hush("append", "more.csv", "-o", "T", *key)
    agree()
    hush("delete", "T", "day < DATE '1994-01-04' OR size = 7", "--all", *key)
    agree()
    hush("compact", "T", "--all", *key)
    agree()
    hush("alter", "T", "--measure", "pay * size", *key)
    query = "SELECT SUM(pay * size) AS s FROM t WHERE day < DATE '1994-03-01'"
    assert hidden(hush, query, key) == by_fetch(hush, query, key)
    agree()
