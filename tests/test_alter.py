# SPDX-License-Identifier: Apache-2.0
"""Columns that are added, dropped, renamed, widened and given further purposes: in every place, interrupted anywhere, in every front."""

import csv
import datetime
import decimal
import io
import json
import random
import subprocess

import pyarrow
import pytest

import hushtable as ht
from buckets import Proxy, bucket, proxy, s3  # noqa: F401
from conftest import PATIENTS
from devices import FIELDS, edge, make_rows, own_rows, write_csv  # noqa: F401
from test_append import answer, begin, days, expected  # noqa: F401
from test_buckets import kill_at_every_call, schema, there, through  # noqa: F401

WEIGHT = 'weight = { type = "decimal(5,1)", range = [0, 500], protect = "encrypt" }'
PHONE = 'phone = { type = "text", protect = "seal" }'
UNIT = 'unit = { type = "int(16)", protect = "clear" }'


@pytest.fixture
def wide_days(days, tmp_path):
    """The third day's rows with three columns more."""
    with open(days[2], encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for number, row in enumerate(rows):
        row.update(weight=f"{number % 200}.5", phone=f"+{number}", unit=str(number % 3))
    path = tmp_path / "wide.csv"
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    return path, rows


def rows_of(hush, place, sql, key, *more):
    text = hush("query", place, sql, "--format", "csv", *key, *more).stdout
    return [tuple(row.values()) for row in csv.DictReader(io.StringIO(text))]


def test_columns_change_in_every_place(there, schema, days, wide_days, key, bucket, server, tmp_path):
    """Directory, bucket and server: rows of before and after are answered together, and given back the same."""
    wide, rows = wide_days
    for place in ("T", f"s3://{bucket}/t", "S"):
        begin(there, schema, days, place, key)
        there("append", days[1], "-o", place, *key)
    there("push", "S", server.url, *server.token)
    places = [("T", "T", ()), (f"s3://{bucket}/t", f"s3://{bucket}/t", ())]
    places.append((f"{server.url}/tables/patients", server.url, server.token))
    texts = []
    for table, asked, token in places:
        add = ("alter", table, "--add", WEIGHT, "--add", PHONE, "--add", UNIT, *key, *token)
        said = there(*add).stderr
        assert said.startswith("Altered: weight added; phone added; unit added; rows that are there have NULL"), said
        assert "2 files of clear columns" in said and "is version 3 with 200 rows" in said, said
        assert answer(there, asked, key, *token) == expected(days[:2])
        # A file of before lacks what the table has now.
        refused = there("append", days[3], "-o", table, *key, *token, status=8).stderr
        assert refused.startswith("HUSH-S021 the schema lists columns weight, phone, unit"), refused
        there("append", wide, "-o", table, *key, *token)
        assert answer(there, asked, key, *token) == expected(days[:3])
        weights = [decimal.Decimal(row["weight"]) for row in rows]
        found = rows_of(there, asked, "SELECT COUNT(*), COUNT(weight), SUM(weight) FROM patients", (*key, *token))
        assert found == [("300", "100", str(sum(weights)))]
        found = rows_of(there, asked, "SELECT unit, COUNT(*), SUM(weight) FROM patients GROUP BY unit ORDER BY unit", (*key, *token))
        by_unit = [str(sum(w for w, row in zip(weights, rows, strict=True) if row["unit"] == str(u))) for u in range(3)]
        assert [row[2] for row in found] == [*by_unit, ""] and found[-1][:2] == ("", "200"), found
        assert "2 generations" in there("info", table, *token).stdout
        told = there("explain", asked, "SELECT SUM(weight) FROM patients", *key, *token).stdout
        assert "from before a column was added or dropped" in " ".join(told.split())
        said = there("alter", table, "--rename", "ward=station", "--rename", "weight=mass", "--for", "mass=variance", "--drop", "bp", *key, *token).stderr
        assert "bp dropped; ward renamed to station; weight renamed to mass; mass serves variance" in said, said
        assert "Rows   100 written anew" in said, said
        found = rows_of(there, asked, "SELECT station, VAR_POP(mass) AS v, SUM(charges) AS c FROM patients GROUP BY station ORDER BY station", (*key, *token))
        assert len(found) == len(expected(days[:3])) and all(row[1] for row in found)
        texts.append(there("decrypt", table, *key, *token).stdout)
        # The schema as it is now is one that a table can be encrypted with.
        (tmp_path / "now.toml").write_text(there("info", table, "--schema", *key, *token).stdout, encoding="utf-8")
        (tmp_path / "given.csv").write_text(texts[-1], encoding="utf-8")
        there("encrypt", "given.csv", "--schema", "now.toml", "-o", f"again-{len(texts)}", *key)
        assert there("decrypt", f"again-{len(texts)}", *key).stdout == texts[-1]
        assert "alter" in there("history", table, *token).stdout
        there("compact", table, "--all", *key, *token)
        assert "generations" not in there("info", table, *token).stdout
        assert there("decrypt", table, *key, *token).stdout == texts[-1]
        assert there(*add[:2], "--add", PHONE, *key, *token).stderr.startswith("Altered before: nothing")
    assert texts[0] == texts[1] == texts[2]
    assert texts[0].splitlines()[0].endswith("mass,phone,unit") and "station" in texts[0].splitlines()[0]


def test_an_altered_directory_is_pushed_over_its_version_before(hush, schema, days, wide_days, key, server):
    wide, _ = wide_days
    begin(hush, schema, days, "T", key)
    hush("push", "T", server.url, *server.token)
    hush("alter", "T", "--add", WEIGHT, "--add", PHONE, "--add", UNIT, *key)
    hush("append", wide, "-o", "T", *key)
    hush("push", "T", server.url, *server.token)
    assert answer(hush, server.url, key, *server.token) == expected([days[0], days[2]])
    hush("alter", "T", "--for", "weight=variance", "--range", "weight=0..900000000", *key)
    hush("push", "T", server.url, *server.token)
    hush("pull", f"{server.url}/tables/patients", "-o", "P", *key, *server.token)
    assert rows_of(hush, "P", "SELECT COUNT(weight) FROM patients", key) == [("100",)]


def killed(through, there, proxy, place, change, key, rows):
    """The table answers what it answered, and the same command again ends it."""

    def still_answers(number):
        assert answer(there, place, key) == rows, number

    kill_at_every_call(through, proxy, ("alter", place, *change, *key), still_answers, 200)
    still_answers("end")
    assert json.loads(there("alter", place, "--json", *change, *key).stdout)["changed"] is False
    assert there("alter", place, *key).stderr.startswith("Nothing to alter")


def test_new_columns_may_be_killed_at_any_call(through, there, schema, days, key, bucket, proxy):
    place = f"s3://{bucket}/t"
    begin(there, schema, days, place, key)
    there("append", days[1], "-o", place, *key)
    change = ("--add", WEIGHT, "--add", UNIT, "--drop", "email")
    killed(through, there, proxy, place, change, key, expected(days[:2]))
    assert rows_of(there, place, "SELECT COUNT(weight), COUNT(*) FROM patients", key) == [("0", "200")]


def test_purposes_and_ranges_may_be_killed_at_any_call(through, there, schema, days, key, bucket, proxy):
    place = f"s3://{bucket}/t"
    begin(there, schema, days, place, key)
    there("append", days[1], "-o", place, *key)
    change = ("--for", "age=variance", "--range", "charges=-1e9..90000000000000")
    killed(through, there, proxy, place, change, key, expected(days[:2]))
    found = rows_of(there, place, "SELECT ward, VARIANCE(age) AS v FROM patients GROUP BY ward", key)
    assert len(found) == 3 and all(float(row[1]) > 0 for row in found)


def test_a_full_disk_stops_no_alteration_half_way(hush, schema, days, key):
    begin(hush, schema, days, "T", key)
    hush("append", days[1], "-o", "T", *key)
    for change in (("--add", WEIGHT, "--add", UNIT), ("--for", "age=variance"), ("--range", "charges=-1e9..9e13")):
        refused = 0
        for blocks in (0, 1, 2, 4, 8, 16, 24, 32, 48, 80, 200, 100_000):
            limited = ("sh", "-c", f'trap "" XFSZ; ulimit -f {blocks}; exec "$@"', "sh")
            process = hush.start("alter", "T", *change, *key, through=limited, stderr=subprocess.PIPE, text=True)
            _, said = process.communicate()
            assert process.returncode in (0, 6), (change, blocks, said)
            refused += process.returncode == 6
            assert answer(hush, "T", key) == expected(days[:2]), (change, blocks)
        assert refused, change
    assert "goes on" not in hush("info", "T").stdout


def test_two_who_alter_at_once_do_one_after_the_other(there, schema, days, key, bucket):
    """Or are told that the table is another one by now. Nothing is half done."""
    place = f"s3://{bucket}/t"
    begin(there, schema, days, place, key)
    columns = [f'c{number} = {{ type = "int(16)", range = [0, 9], protect = "encrypt" }}' for number in range(4)]
    running = [there.start("alter", place, "--add", column, *key, stderr=subprocess.PIPE, text=True) for column in columns]
    running.append(there.start("append", days[1], "-o", place, *key, stderr=subprocess.PIPE, text=True))
    said = [(process.communicate()[1], process.returncode) for process in running]
    assert all(code == 0 or text.startswith(("HUSH-C", "HUSH-T", "HUSH-S021")) for text, code in said), said
    for column in columns:
        there("alter", place, "--add", column, *key)
    files = days[: 2 if said[-1][1] == 0 else 1]
    assert answer(there, place, key) == expected(files)
    sums = ", ".join(f"COUNT(c{number})" for number in range(4))
    assert rows_of(there, place, f"SELECT {sums} FROM patients", key) == [("0",) * 4]


def test_devices_deliver_before_and_get_new_keys_after(edge):
    """What waits is accepted first; what comes with a key from before is told, and not taken."""
    rows = make_rows(random.Random(7), 50)
    write_csv(edge.directory / "rows.csv", rows)
    edge.run("rows.csv", "--to", "T")
    column = 'extra = { type = "int(16)", range = [0, 100], protect = "encrypt" }'
    refused = edge.hush("alter", "T", "--add", column, *edge.key, status=3).stderr
    assert "HUSH-C121" in refused and "1 deliveries of devices wait" in refused, refused
    assert edge.accept()["rows"] == 50
    said = edge.hush("alter", "T", "--add", column, *edge.key).stderr
    assert "! Keys of devices that were made before serve no more" in said, said
    write_csv(edge.directory / "late.csv", rows[:20])
    told = edge.run("late.csv", "--to", "T", status=9)
    assert "HUSH-T060" in told and "its columns are not those that the table has" in told, told
    assert edge.accept()["rows"] == 0
    sealed = edge.hush("alter", "T", "--add", 's = { type = "text", protect = "seal" }', *edge.key, status=None)
    assert sealed.returncode != 0 and "HUSH-P027" in sealed.stderr, sealed.stderr
    edge.device("new.key")
    with open(edge.directory / "extra.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*FIELDS, "extra"])
        writer.writerows([*row, number] for number, row in enumerate(rows))
    edge.run("extra.csv", "--to", "T", key="new.key", spool="new-spool")
    accepted = edge.accept()
    assert accepted["rows"] == 50, accepted
    sql = "SELECT COUNT(*), COUNT(extra), SUM(extra) FROM readings"
    count = len(own_rows()) + 100
    assert rows_of(edge.hush, "T", sql, edge.key) == [(str(count), "50", str(sum(range(50))))]
    edge.hush("compact", "T", "--all", *edge.key)
    assert rows_of(edge.hush, "T", sql, edge.key) == [(str(count), "50", str(sum(range(50))))]


def test_python_alters(tmp_path):
    frame = pyarrow.table({"id": ["a", "b", "c"], "ward": ["x", "y", "x"], "load": [1, None, 3]})
    key = ht.keygen(tmp_path / "k", passphrase="correct horse battery", opens_in="16MiB")
    schema = ht.propose(frame, sensitive=["id", "load"], clear=["ward"], name="t")
    schema["load"].range = (0, 9)
    table = ht.encrypt(frame, schema=schema.approve("a test"), out=tmp_path / "T", keys=key)
    done = table.alter(
        add={
            "born": {"type": "date", "protect": "encrypt", "for": ["count"], "range": [datetime.date(1900, 1, 1), "2100-12-31"]},
            "price": {"type": "decimal(8,2)", "range": [decimal.Decimal("0"), decimal.Decimal("999.99")], "protect": "encrypt"},
            'odd "name"\n': {"type": "text", "protect": "seal", "reason": "a \\ and \x7f"},
        },
        rename={"ward": "unit"},
        widen={"load": (0, 20)},
        purposes={"load": ["variance"]},
    )
    assert (done.changed, done.rows, done.clear_parts, done.left_behind) == (True, 3, 1, [])
    more = pyarrow.table({
        "id": ["d"], "unit": ["y"], "load": [20], "born": [datetime.date(1980, 2, 3)],
        "price": [decimal.Decimal("12.50")], 'odd "name"\n': ["v"],
    })  # fmt: skip
    table.append(more)
    sql = "SELECT unit, SUM(load) AS s, SUM(price) AS p, COUNT(born) AS b FROM t GROUP BY unit ORDER BY unit"
    found = table.sql(sql).to_pyarrow().to_pylist()
    assert found == [{"unit": "x", "s": 4, "p": None, "b": 0}, {"unit": "y", "s": 20, "p": decimal.Decimal("12.50"), "b": 1}]
    assert table.decrypt().to_pyarrow().column_names[-1] == 'odd "name"\n'
    assert not table.alter().changed
    done = table.alter(drop=["price"], products=[["load", "load"]])
    assert done.changed and "price" not in table.decrypt().to_pyarrow().column_names
    for wrong in (
        {"add": {"x": 5}},
        {"add": {"x": {"type": object(), "protect": "seal"}}},
        {"widen": {"load": 5}},
        {"widen": {"load": (0, True)}},
        {"add": {"x": {"type": "int(3)", "protect": "seal"}}},
        {"purposes": {"load": ["median"]}},
        {"purposes": {"unit": ["sum"]}},
        {"drop": ["nothing"]},
    ):
        with pytest.raises((ht.HushError, ValueError)) as refused:
            table.alter(**wrong)
        assert isinstance(refused.value, ht.HushError) or "purpose" in str(refused.value), wrong
    with pytest.raises(ht.RefusedError, match="C126"):
        table.alter(widen={"load": (1, 20)})
    assert [change.what for change in table.history().versions][:1] == ["alter"]


def test_what_an_alteration_leaves_behind_goes(there, schema, days, key, bucket, tmp_path):
    """As the guide of erasing says: a dropped column is in no file of the present version after a compaction, and in none after a purge."""
    begin(there, schema, days, "T", key)
    said = there("alter", "T", "--drop", "email", *key).stderr
    assert "! Parts that are there still have email, encrypted" in said, said
    again = there("alter", "T", "--drop", "patient_id", *key).stderr
    assert "! Old versions still have what was dropped" in again, again
    there("compact", "T", "--all", *key)
    there("purge", "T", "-o", "gone.json", *key)
    known = [name for name in PATIENTS.read_text(encoding="utf-8").splitlines()[1:101]]
    ids = [line.split(",")[0].encode() for line in known]
    for path in (tmp_path / "T").rglob("*"):
        data = path.read_bytes() if path.is_file() else b""
        assert not any(name in data for name in ids), path
    assert answer(there, "T", key) == expected(days[:1])


def test_a_server_that_loses_the_answer_has_altered_once(hush, schema, days, key, server):
    """The manifest is committed, and the connection breaks before the answer comes: the same command once more finds it done."""
    begin(hush, schema, days, "T", key)
    hush("push", "T", server.url, *server.token)
    lost = []

    def lose(call):
        if call.method == "PUT" and call.path.endswith("/manifest") and not lost:
            lost.append(call)
            return "lost"
        return None

    relay = Proxy(server.port, lose)
    place = f"http://127.0.0.1:{relay.port}/tables/patients"
    said = hush("alter", place, "--add", WEIGHT, *key, *server.token).stderr
    relay.stop()
    assert lost and said.startswith("Altered: weight added"), said
    assert "is version 2 " in said, said
    assert answer(hush, server.url, key, *server.token) == expected(days[:1])
