# SPDX-License-Identifier: Apache-2.0
"""Copies of encrypted columns: their size, and columns that are kept on the owner's machine."""

import csv
import json
import random
import re
import shutil

import pytest

from conftest import approve

BITS = {"age": 7, "cost": 20, "visits": 5}
ROWS = 20_000
SCHEMA = """format = 1
table = "t"
status = "approved"
max_rows = 100000
[columns.age]
type = "int(16)"
range = [0, 120]
protect = "encrypt"
for = ["sum", "fetch"]
[columns.cost]
type = "decimal(8,2)"
range = [-500, 9000.5]
protect = "encrypt"
for = ["fetch"]
[columns.visits]
type = "int(16)"
range = [-1, 14]
nullable = true
protect = "encrypt"
for = ["fetch"]
[columns.ward]
type = "category"
protect = "clear"
[columns.note]
type = "text"
protect = "seal"
"""
QUESTIONS = [
    "SELECT MAX(age) AS a, MEDIAN(cost) AS c FROM t WHERE visits > 3 OR visits IS NULL",
    "SELECT ward, SUM(age) AS a, MIN(cost) AS c, COUNT(visits) AS v FROM t GROUP BY ward ORDER BY ward",
    "SELECT COUNT(*) AS n FROM t WHERE note LIKE '%7' AND age > 60",
    "SELECT age, cost FROM t WHERE cost > 8990 ORDER BY cost, age LIMIT 5",
]


@pytest.fixture
def copied(hush, tmp_path, key):
    """A table with copies beside ciphertexts and alone: its directory, and its rows as a CSV file."""
    draw = random.Random(5)
    data = tmp_path / "t.csv"
    with data.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(["age", "cost", "visits", "ward", "note"])
        for row in range(ROWS):
            visits = "" if row % 9 == 0 else draw.randint(-1, 14)
            out.writerow([draw.choice([0, 120, draw.randint(0, 120)]), f"{draw.randint(-50000, 900050) / 100:.2f}", visits, "ab"[row % 2], f"n{row}"])
    (tmp_path / "t.schema.toml").write_text(SCHEMA, encoding="utf-8")
    hush("encrypt", data, "-o", tmp_path / "T", *key)
    return tmp_path / "T", data


def asked(hush, table, query, *options):
    """The result, and what moved."""
    done = hush("query", table, query, "--format", "csv", "--analyze", "--json", *options)
    return done.stdout, json.loads(done.stderr.splitlines()[-1])


def test_a_copy_takes_the_bits_of_its_range(hush, copied, key):
    """Down and stored, with all that is around them: at most a twentieth more. The answers are those of the plain rows."""
    table, data = copied
    for query in QUESTIONS:
        found, _ = asked(hush, table, query, *key)
        assert found == hush("run", data, query, "--schema", data.with_suffix(".schema.toml"), "--dry-run", "--format", "csv", "--quiet").stdout, query
    query = "SELECT MIN(age) AS a, MAX(cost) AS c, COUNT(visits) AS v FROM t"
    _, analysis = asked(hush, table, query, "--way", "fetch", *key)
    predicted, measured = analysis["predicted"]["prediction"], analysis["measured"]
    assert predicted["bytes_down_exact"] and predicted["bytes_down"] == measured["bytes_down"]
    least = ROWS * sum(BITS.values()) / 8
    assert least <= measured["bytes_down"] <= 1.05 * least
    # Alone, a column is stored in no more.
    alone = data.with_name("alone.toml")
    dropped = SCHEMA.replace('for = ["sum", "fetch"]', 'for = ["fetch"]').replace('protect = "clear"', 'protect = "drop"').replace('protect = "seal"', 'protect = "drop"')
    alone.write_text(dropped, encoding="utf-8")
    hush("encrypt", data, "-o", "A", "--schema", alone, *key)
    stored = sum(file.stat().st_size for file in (data.parent / "A" / "parts").iterdir())
    assert least <= stored <= 1.05 * least
    assert asked(hush, "A", query, *key)[0] == asked(hush, table, query, *key)[0]
    # Whatever is stored comes back by itself too, though no server could add it up.
    given = hush("decrypt", "A", "--format", "csv", *key).stdout.splitlines()
    wanted = [",".join(row[:3]) for row in csv.reader(data.open(encoding="utf-8"))]
    assert given == wanted


def test_a_proposal_says_what_a_row_takes(hush, copied, key, tmp_path):
    """Within a twentieth of what is stored, with copies and without."""
    _, data = copied
    said = hush("init", data, "--sensitive", "age,cost,visits", "--clear", "ward,note", "-o", tmp_path / "p.toml").stderr
    without, further = map(float, re.search(r"a row takes about ([\d.]+) bytes .*?take ([\d.]+) more", said, re.DOTALL).groups())
    approve(tmp_path / "p.toml")
    text = (tmp_path / "p.toml").read_text(encoding="utf-8").replace('protect = "clear"', 'protect = "drop"')
    for name, expected in (("for = [", without), ('for = ["fetch", ', without + further)):
        (tmp_path / "p.toml").write_text(text.replace("for = [", name), encoding="utf-8")
        table = tmp_path / f"P{name == 'for = ['}"
        hush("encrypt", data, "-o", table, "--schema", tmp_path / "p.toml", *key)
        stored = sum(file.stat().st_size for file in (table / "parts").iterdir()) / ROWS
        assert abs(stored / expected - 1) < 0.05, (stored, expected, said)


def test_kept_columns_come_back_once(hush, copied, key, server):
    """A question brings what no question before has brought; the server sees columns and nothing else of any question."""
    table, data = copied
    hush("push", table, server.url, *server.token)
    remote = (*server.token, *key)
    ask = lambda query, *options: asked(hush, server.url, query, *options, *remote)
    keeping = lambda query: ask(query, "--keep")
    expected = [ask(query)[0] for query in QUESTIONS]
    moved = []
    for _ in range(2):
        for query, result in zip(QUESTIONS, expected):
            found, analysis = keeping(query)
            assert found == result, query
            moved.append(analysis["measured"]["bytes_down"])
    # The first brings three copies, the second the wards, the third the notes; then nothing does.
    assert all(moved[:3]) and not any(moved[3:]), moved
    # Times and numbers of requests may have any digits.
    sent = re.sub(r'^\S+Z |id="\w+"', "", server.log.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert "8990" not in sent and "%7" not in sent
    columns = hush.directory / "home" / ".cache" / "hushtable" / "columns"
    files = list(columns.iterdir())
    assert len(files) == 5 and columns.stat().st_mode & 0o777 == 0o700
    kept = b"".join(file.read_bytes() for file in files)
    assert b"n1234" not in kept and b"note" not in kept and b"age" not in kept
    # What reads nothing protected goes to the server as ever, and nothing of it is kept.
    for query in ("SELECT COUNT(*) AS n FROM t", "SELECT ward, COUNT(*) AS n FROM t WHERE ward > 'a' GROUP BY ward"):
        assert keeping(query)[0] == ask(query)[0] and len(list(columns.iterdir())) == 5
    # Damaged and exchanged files are asked for again.
    for file, other in zip(files, files[1:]):
        before = file.read_bytes()
        file.write_bytes(other.read_bytes() if file.stat().st_size % 2 else before[: len(before) // 2])
    assert [keeping(query)[0] for query in QUESTIONS] == expected
    assert not any(keeping(query)[1]["measured"]["bytes_down"] for query in QUESTIONS)
    # A version later all columns are others. No file of the version before is left.
    data.write_text("age,cost,visits,ward,note\n120,9000.50,14,b,n7\n", encoding="utf-8")
    hush("append", data, "-o", table, *key)
    hush("push", table, server.url, *server.token)
    found, analysis = keeping(QUESTIONS[0])
    assert found == ask(QUESTIONS[0])[0] and analysis["measured"]["bytes_down"] > 0
    assert len(list(columns.iterdir())) == 3
    # Too little room for all columns of a question: what does not stay comes back again.
    assert asked(hush, server.url, QUESTIONS[0], "--keep=30kB", *remote)[0] == found
    assert sum(file.stat().st_size for file in columns.iterdir()) <= 30_000
    assert "cannot be used with" in hush("query", server.url, QUESTIONS[0], "--keep", "--way", "sum", *remote, status=2).stderr


def test_columns_without_copies_are_kept_too(hush, copied, key):
    """Bodies of sums, values and validity each by itself."""
    _, data = copied
    schema = data.with_name("bodies.toml")
    schema.write_text(SCHEMA.replace('for = ["sum", "fetch"]', 'for = ["sum"]').replace('for = ["fetch"]', 'for = ["sum"]'), encoding="utf-8")
    hush("encrypt", data, "-o", "B", "--schema", schema, *key)
    for query in QUESTIONS:
        plain, _ = asked(hush, "B", query, *key)
        first, _ = asked(hush, "B", query, "--keep", *key)
        again, analysis = asked(hush, "B", query, "--keep", *key)
        assert plain == first == again and analysis["measured"]["bytes_down"] == 0, query
    # What cannot be kept is said, and the answer is there.
    columns = hush.directory / "home" / ".cache" / "hushtable" / "columns"
    shutil.rmtree(columns)
    columns.write_text("a file", encoding="utf-8")
    done = hush("query", "B", QUESTIONS[0], "--keep", "--format", "csv", *key)
    assert done.stdout == asked(hush, "B", QUESTIONS[0], *key)[0] and "columns are not kept" in done.stderr


def test_python_keeps_columns(copied, tmp_path, monkeypatch):
    """`keep=` is the same there."""
    ht = pytest.importorskip("hushtable")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    table, _ = copied
    key = ht.open_key(tmp_path / "owner.hushkey", passphrase="correct horse")
    results = [ht.open(table, keys=key, keep=keep).sql(QUESTIONS[0]) for keep in (False, True, "10MB")]
    assert len({tuple(map(str, result.to_pyarrow().to_pylist())) for result in results}) == 1
    assert [result.account.bytes_down > 0 for result in results] == [True, True, False]
    with pytest.raises(ht.HushError, match="way and hide without keep"):
        ht.open(table, keys=key, keep=True, way="sum")
