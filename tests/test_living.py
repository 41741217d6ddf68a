# SPDX-License-Identifier: Apache-2.0
"""Rows that get new values and rows that go: in every place, by columns of every protection, whole or not at all; against DuckDB, which
does the same to the same rows in the clear."""

import json
import os
import subprocess
import sys

import duckdb
import pyarrow
import pytest

import hushtable as ht
from buckets import S3, Proxy, bucket, credentials, proxy, s3  # noqa: F401
from conftest import PATIENTS
from history import History
from test_append import answer, begin, days, expected  # noqa: F401
from test_buckets import kill_at_every_call, schema, there, through  # noqa: F401

#: Deletions, as the command and DuckDB read them.
CONDITIONS = (
    "patient_id = 'P14486110006'",
    "email IN (SELECT_EMAILS)",
    "age >= 90",
    "ward = 'surgery' AND charges < 500",
    "year = 2022 AND email LIKE '%a%@%' AND age BETWEEN 30 AND 40",
    "charges IS NULL OR age IS NULL",
)


class Clear:
    """The same rows in DuckDB, in the order of the table."""

    def __init__(self, files):
        self.db = duckdb.connect()
        listed = ", ".join(f"'{path}'" for path in files)
        self.db.execute(f"CREATE TABLE t AS SELECT * FROM read_csv([{listed}], types={{'charges': 'DECIMAL(18, 2)'}})")

    def delete(self, condition):
        return self.db.execute(f"DELETE FROM t WHERE {condition}").fetchone()[0]

    def answer(self):
        found = self.db.execute(
            "SELECT ward, COUNT(*) AS n, SUM(charges)::DECIMAL(38, 2) AS c, AVG(age) AS a FROM t GROUP BY ward ORDER BY ward"
        )
        return [(ward, n, float(c), round(float(a), 6)) for ward, n, c, a in found.fetchall()]

    def conditions(self):
        """All of `CONDITIONS`; emails are of rows that are there."""
        emails = [email for (email,) in self.db.execute("SELECT email FROM t WHERE email IS NOT NULL LIMIT 40").fetchall()]
        named = ", ".join(f"'{email}'" for email in emails[::9])
        return [condition.replace("SELECT_EMAILS", named) for condition in CONDITIONS]


def test_rows_go_from_every_place(there, schema, days, key, bucket, server):
    """The answer is that of the rows that are left; they are given back, and no others."""
    for place in ("T", f"s3://{bucket}/t", "S"):
        begin(there, schema, days, place, key)
        for day in days[1:4]:
            there("append", day, "-o", place, *key)
    there("push", "S", server.url, *server.token)
    places = [("T", "T", ()), (f"s3://{bucket}/t", f"s3://{bucket}/t", ())]
    places.append((f"{server.url}/tables/patients", server.url, server.token))
    texts = []
    for table, asked, token in places:
        clear, dead = Clear(days[:4]), 0
        for condition in clear.conditions():
            gone = clear.delete(condition)
            dead += gone
            said = there("delete", table, f"WHERE {condition}", *key, *token, status=None)
            if gone == 0:
                assert said.returncode == 8 and said.stderr.startswith("HUSH-C076"), said.stderr
                continue
            assert said.returncode == 0 and said.stderr.startswith(f"Deleted {gone} rows. "), (condition, said.stderr)
            assert f"with {400 - dead} rows" in said.stderr and f"{dead} deleted rows in all" in said.stderr
            assert answer(there, asked, key, *token) == clear.answer(), condition
        assert dead > 20
        texts.append(there("decrypt", table, *key, *token).stdout)
        refused = there("delete", table, "year > 0", *key, *token, status=3).stderr
        assert refused.startswith("HUSH-C077") and "--all, if that is meant" in refused
    assert texts[0] == texts[1] == texts[2] and texts[0].count("\n") == 401 - dead
    # Copies have the lists of what went.
    there("pull", places[2][0], "-o", "P", *key, *server.token)
    assert answer(there, "P", key) == clear.answer()
    there("pull", places[1][0], "-o", "Q", *key)
    there("push", "Q", f"s3://{bucket}/copy")
    assert answer(there, f"s3://{bucket}/copy", key) == clear.answer()
    # A version that comes from the server's replaces nothing that was not meant to go, deletions and compactions among what it changed.
    assert clear.delete("age = 50") > 0
    there("delete", "P", "age = 50", *key)
    there("push", "P", server.url, *server.token)
    assert answer(there, server.url, key, *server.token) == clear.answer()
    there("compact", "P", "--all", *key)
    there("push", "P", server.url, *server.token)
    assert answer(there, server.url, key, *server.token) == clear.answer()
    refused = there("push", "S", server.url, *server.token, status=None)
    assert refused.returncode != 0, refused.stderr


def test_rows_get_new_values_in_every_place(there, schema, days, key, bucket, server, tmp_path):
    new = tmp_path / "new.csv"
    new.write_text("patient_id,charges,email\nP000003,1.25,new@example.org\nP000150,0,other@example.org\nNOBODY,7,x@example.org\n", encoding="utf-8")
    for place in ("T", f"s3://{bucket}/t", "S"):
        begin(there, schema, days, place, key)
        there("append", days[1], "-o", place, *key)
    there("push", "S", server.url, *server.token)
    places = [("T", "T", ()), (f"s3://{bucket}/t", f"s3://{bucket}/t", ())]
    places.append((f"{server.url}/tables/patients", server.url, server.token))
    clear = Clear(days[:2])
    known = [name for (name,) in clear.db.execute("SELECT patient_id FROM t ORDER BY patient_id").fetchall()]
    text = new.read_text(encoding="utf-8").replace("P000003", known[3]).replace("P000150", known[150])
    new.write_text(text, encoding="utf-8")
    clear.db.execute(f"UPDATE t SET charges = 1.25, email = 'new@example.org' WHERE patient_id = '{known[3]}'")
    clear.db.execute(f"UPDATE t SET charges = 0, email = 'other@example.org' WHERE patient_id = '{known[150]}'")
    for table, asked, token in places:
        refused = there("update", table, new, "--on", "patient_id", *key, *token, status=8).stderr
        assert refused.startswith("HUSH-C092 1 keys are not in") and "--missing skip" in refused
        options = ("--on", "patient_id", "--missing", "skip", *key, *token)
        said = there("update", table, new, "--dry-run", *options).stderr
        assert said.startswith("Would change 2 rows; 1 are not in the table and were left out"), said
        said = there("update", table, new, *options).stderr
        assert said.startswith("Changed 2 rows; 1 are not in the table and were left out, "), said
        assert "is version 3 with 200 rows" in said
        assert answer(there, asked, key, *token) == clear.answer()
        again = there("update", table, new, *options).stderr
        assert again.startswith("Nothing changed: 0 rows; 2 had the values already; 1 are not"), again
        emails = there("decrypt", table, "--columns", "patient_id,email,charges", *key, *token).stdout
        assert f"{known[3]},new@example.org,1.25\n" in emails and f"{known[150]},other@example.org,0.00\n" in emails
        assert emails.count("\n") == 201


def test_a_deletion_and_an_update_may_be_killed_at_any_call(through, there, schema, days, key, bucket, proxy, tmp_path):
    """Before its commit it has done nothing, after it all; and once more ends well."""
    place, clear = f"s3://{bucket}/t", Clear(days[:1])
    begin(there, schema, days, place, key)
    new, updated = tmp_path / "new.csv", "UPDATE t SET charges = 5 WHERE patient_id = '{}'"
    known = clear.db.execute("SELECT patient_id FROM t WHERE age < 80 LIMIT 1").fetchone()[0]
    new.write_text(f"patient_id,charges\n{known},5\n", encoding="utf-8")
    for command, change in (
        (("update", place, new, "--on", "patient_id"), updated.format(known)),
        (("delete", place, "age > 80"), "DELETE FROM t WHERE age > 80"),
    ):
        before, seen = clear.answer(), []
        clear.db.execute(change)
        after = clear.answer()
        assert before != after

        def none_or_all(number, before=before, after=after, seen=seen):
            found = answer(there, place, key)
            seen.append(found == after)
            assert found in (before, after), number

        # What a killed one has done already, the next one finds done.
        def attempt(command=command):
            kill_at_every_call(through, proxy, (*command, *key), none_or_all, 60)

        try:
            attempt()
        except AssertionError:
            assert command[0] == "delete" and seen[-1], seen
        assert seen == sorted(seen) and not seen[0] and len(seen) >= 4
        assert answer(there, place, key) == after


def test_a_full_disk_stops_no_change_half_way(hush, schema, days, key, tmp_path):
    """A limit on file sizes fails a write as a full disk does. The change is there as a whole or not at all, and once more with room it is there."""
    begin(hush, schema, days, "T", key)
    hush("append", days[1], "-o", "T", *key)
    clear, new = Clear(days[:2]), tmp_path / "new.csv"
    known = [name for (name,) in clear.db.execute("SELECT patient_id FROM t ORDER BY patient_id LIMIT 50").fetchall()]
    new.write_text("patient_id,charges\n" + "".join(f"{name},7\n" for name in known), encoding="utf-8")
    sets = f"UPDATE t SET charges = 7 WHERE patient_id IN ({', '.join(repr(name) for name in known)})"
    extra = f"INSERT INTO t SELECT * FROM read_csv('{days[2]}', types={{'charges': 'DECIMAL(18, 2)'}})"
    refused = 0
    for command, change in (
        (("update", "T", new, "--on", "patient_id"), sets),
        (("append", days[2], "-o", "T", "--batch", "three"), extra),
        (("delete", "T", "age > 80"), "DELETE FROM t WHERE age > 80"),
        (("compact", "T", "--all"), None),
        (("rotate", "T", "--new-rows"), None),
        (("rotate", "T"), None),
    ):
        before = clear.answer()
        if change:
            clear.db.execute(change)
        after, done = clear.answer(), False
        for blocks in (0, 1, 2, 4, 8, 16, 24, 32, 48, 80, 200, 100_000):
            # The signal that comes with the limit is ignored, so that the write itself fails.
            limited = ("sh", "-c", f'trap "" XFSZ; ulimit -f {blocks}; exec "$@"', "sh")
            process = hush.start(*command, *key, through=limited, stderr=subprocess.PIPE, text=True)
            _, said = process.communicate()
            # What cannot even remember the version that it has seen says so.
            assert process.returncode in (0, 6) or (command[0] == "delete" and done), (command, blocks, said)
            refused += process.returncode == 6
            found = answer(hush, "T", key)
            assert found in (before, after), (command, blocks, said)
            assert not done or found == after, (command, blocks, said)
            done = done or (found == after and before != after)
        assert found == after, command
    assert refused >= 12


def test_a_lost_answer_to_a_commit_is_no_failure(hush, schema, days, key, server):
    """The manifest is committed, and the connection breaks before the answer comes."""
    begin(hush, schema, days, "T", key)
    hush("push", "T", server.url, *server.token)
    clear, lost = Clear(days[:1]), []

    def lose(call):
        if call.method == "PUT" and call.path.endswith("/manifest") and not lost:
            lost.append(call)
            return "lost"
        return None

    relay = Proxy(server.port, lose)
    place = f"http://127.0.0.1:{relay.port}/tables/patients"
    gone = clear.delete("age > 80")
    said = hush("delete", place, "age > 80", *key, *server.token).stderr
    relay.stop()
    assert lost and said.startswith(f"Deleted {gone} rows"), said
    assert answer(hush, server.url, key, *server.token) == clear.answer()


def test_a_server_has_no_other_rows_deleted(hush, schema, days, key, server):
    """A server that gives a deleted list to a table whose manifest does not name it changes nothing; one that loses it is found out."""
    begin(hush, schema, days, "T", key)
    hush("push", "T", server.url, *server.token)
    hush("delete", f"{server.url}/tables/patients", "age > 80", *key, *server.token)
    parts = server.data / "tables" / "patients" / "parts"
    (lists,) = parts.glob("*.dead")
    kept = lists.read_bytes()
    for damaged in (kept[:-1], kept[:-1] + bytes([kept[-1] ^ 1]), b""):
        lists.write_bytes(damaged)
        os.utime(lists)
        asked = hush("query", server.url, "SELECT SUM(age) FROM patients", *key, *server.token, status=None)
        assert asked.returncode != 0, asked.stdout
        pulled = hush("pull", f"{server.url}/tables/patients", "-o", "P", *key, *server.token, status=None)
        assert pulled.returncode != 0
    lists.write_bytes(kept)
    assert answer(hush, server.url, key, *server.token)


def test_the_guide_of_erasing_rows_erases_them(there, schema, days, key, bucket, s3, server, tmp_path):
    """As the guide says, with the program that it gives: in a directory, a bucket and on a server; and the statement holds."""
    guide = (PATIENTS.parent.parent / "docs" / "guides" / "erasure.md").read_text(encoding="utf-8")
    program = tmp_path / "bytes.py"
    program.write_text(guide.partition("cat > bytes.py <<'END'\n")[2].partition("\nEND\n")[0], encoding="utf-8")
    for place in ("T", f"s3://{bucket}/t", "S"):
        begin(there, schema, days, place, key)
        there("append", days[1], "-o", place, *key)
    there("push", "S", server.url, *server.token)
    places = [("T", "T", ()), (f"s3://{bucket}/t", s3.directory / bucket / "t", ())]
    places.append((f"{server.url}/tables/patients", server.data / "tables" / "patients", server.token))

    def look(what, where):
        done = subprocess.run([sys.executable, program, what, where], cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout

    for number, (table, where, token) in enumerate(places):
        look("keep", where)
        there("delete", table, "patient_id = 'P14486110006'", *key, *token)
        assert ", 0 found" not in look("search", where)
        there("compact", table, "--all", *key, *token)
        there("purge", table, "-o", f"erased-{number}.json", *key, *token)
        assert ", 0 found" in look("search", where), table
        assert "P14486110006" not in there("decrypt", table, *key, *token).stdout
        there("purge", "--check", f"erased-{number}.json", *token)
        told = there("history", table, *token).stdout
        assert "199 living, 0 deleted, 199 stored" in told, told
        statement = tmp_path / f"erased-{number}.json"
        statement.write_text(statement.read_text(encoding="utf-8").replace('"version": ', '"version": 1', 1), encoding="utf-8")
        assert there("purge", "--check", statement.name, *token, status=9).stderr.startswith("HUSH-C103")


@pytest.fixture
def versioned(tmp_path_factory):
    """An S3 server with a bucket that keeps versions, and where it keeps them."""
    place = tmp_path_factory.mktemp("versioned")
    running = S3(place / "buckets", place / "versions")
    if not running.has_files:
        running.stop()
        pytest.skip("a server that keeps versions is built by Go")
    running.make_bucket("kept")
    running.keep_versions("kept")
    yield running, place
    running.stop()


def test_a_bucket_that_keeps_versions_keeps_none_of_a_purged_row(hush, schema, days, key, versioned, tmp_path):
    """Neither where objects are nor where their versions are; without the right to see them, the statement says that nobody can tell."""
    running, where = versioned
    there, place = hush.with_environment(**credentials(running.port)), "s3://kept/lake/t"
    begin(there, schema, days, place, key)
    begin(there, schema, days, "s3://kept/lake/t2", key)
    for day in days[1:4]:
        there("append", day, "-o", place, *key)
    there("append", days[1], "-o", "s3://kept/lake/t2", *key)
    running.request("PUT", "/kept/lake/t/notes.txt", "", b"first")
    running.request("PUT", "/kept/lake/t/notes.txt", "", b"second")
    listed = running.request("GET", "/kept", "prefix=lake%2Ft&versions=").decode()
    assert listed.count("<IsLatest>false") == 5
    # The other table has the same clear columns, and no ciphertext of this one.
    old = {path.read_bytes() for path in (running.directory / "kept" / "lake" / "t" / "parts").glob("*.enc.parquet")}
    there("delete", place, "patient_id = 'P14486110006'", *key)
    there("compact", place, "--all", *key)
    looked = json.loads(there("purge", place, "--dry-run", "--json", *key).stdout)
    assert looked["earlier_objects"] > 3
    # Who may not see versions proves nothing of them.
    denied = Proxy(running.port, lambda call: "denied" if "versions=" in call.query else None)
    blind = hush.with_environment(**credentials(denied.port))
    said = blind("purge", place, "-o", "blind.json", *key).stderr
    denied.stop()
    assert "noncurrent versions of the objects" in said and "earlier contents" not in said, said
    said = there("purge", place, "-o", "seen.json", *key).stderr
    assert "earlier contents (" in said and "noncurrent versions" not in said, said
    statement = json.loads((tmp_path / "seen.json").read_text(encoding="utf-8"))["statement"]
    assert statement["earlier"]["objects"] > 3
    assert "earlier" not in json.loads((tmp_path / "blind.json").read_text(encoding="utf-8"))["statement"]
    listed = running.request("GET", "/kept", "prefix=lake%2Ft%2F&versions=").decode()
    # Of the table nothing but what it has; of others everything.
    assert listed.count("<IsLatest>false") == 1 and "notes.txt" in listed and "<DeleteMarker>" not in listed, listed
    kept = [path.read_bytes() for path in where.rglob("*") if path.is_file()]
    present = [path.read_bytes() for path in (running.directory / "kept" / "lake" / "t" / "parts").iterdir()]
    assert present and not any(content in old for content in kept)
    assert "<IsLatest>false" in running.request("GET", "/kept", "prefix=lake%2Ft2&versions=").decode()
    there("purge", "--check", "seen.json")
    clear = Clear(days[:4])
    clear.delete("patient_id = 'P14486110006'")
    assert answer(there, place, key) == clear.answer()
    again = there("purge", place, "-o", "again.json", *key).stderr
    assert "earlier contents" not in again and "noncurrent" not in again, again


def test_what_a_deleted_row_would_have_failed_does_not_fail(tmp_path):
    """An expression is not evaluated on rows that are gone."""
    frame = pyarrow.table({"id": ["a", "b", "c"], "n": [2, 0, 5], "x": [10, 20, 30]})
    key = ht.keygen(tmp_path / "k", passphrase="correct horse battery", opens_in="16MiB")
    table = ht.encrypt(frame, sensitive=["x", "id"], clear=["n"], out=tmp_path / "T", keys=key, name="t")
    sql = "SELECT SUM(x) AS s, COUNT(*) AS k FROM t WHERE CAST(CASE WHEN n = 0 THEN 'x' ELSE '1' END AS INT) > 0"
    with pytest.raises(ht.HushError, match="failed on a row"):
        table.sql(sql)
    done = table.delete("id = 'b'")
    assert (done.rows, done.table_rows, done.dead_rows, len(table)) == (1, 2, 1, 2)
    assert table.sql(sql).to_pyarrow().to_pylist() == [{"s": 40, "k": 2}]
    assert table.sql("SELECT n, COUNT(*) AS k FROM t GROUP BY n ORDER BY n").to_pyarrow().to_pylist() == [
        {"n": 2, "k": 1},
        {"n": 5, "k": 1},
    ]
    with pytest.raises(ht.DataError, match="no row"):
        table.delete("id = 'b'")
    with pytest.raises(ht.RefusedError, match="all=True"):
        table.delete("x > 0")
    assert table.delete("x > 0", all=True).table_rows == 0
    assert table.sql("SELECT COUNT(*) AS k, SUM(x) AS s FROM t").to_pyarrow().to_pylist() == [{"k": 0, "s": None}]


def test_a_random_history_is_that_of_duckdb(tmp_path):
    """Appends, updates, deletions, compactions, rotations, alterations, purges, crashes and questions in random order."""
    History(tmp_path, os.environ.get("HUSH_TEST_SEED", "23")).run(steps=60, look_every=6)


@pytest.mark.slow
def test_ten_thousand_random_steps_are_those_of_duckdb(tmp_path):
    for number in range(20):
        place = tmp_path / str(number)
        place.mkdir()
        History(place, number).run(steps=500, look_every=25)


def test_a_key_gets_another_passphrase_and_copies_that_open(hush, schema, days, key, tmp_path):
    begin(hush, schema, days, "T", key)
    _, path, _, old = key
    new = tmp_path / "new-passphrase"
    new.write_text("tired donkey battery\n", encoding="utf-8")
    new.chmod(0o600)
    said = hush("key", "backup", "copy.hushkey", *key).stderr
    assert "copy.hushkey is a copy of it, and opens." in said, said
    assert hush("key", "backup", "copy.hushkey", *key, status=4).stderr.startswith("HUSH-K001")
    changed = ("key", "passphrase", "--new-passphrase-file", new, "--opens-in", "16MiB", *key)
    assert "opens with the new passphrase" in hush(*changed).stderr
    # The old one opens the copy alone, and the new one the key alone.
    assert hush("query", "T", "SELECT COUNT(*) FROM patients", *key, status=4).stderr.startswith("HUSH-K002")
    now = ("--key", path, "--passphrase-file", new)
    assert answer(hush, "T", now) == expected(days[:1])
    assert answer(hush, "T", ("--key", "copy.hushkey", "--passphrase-file", old)) == expected(days[:1])
    assert hush("key", "backup", "copy.hushkey", "--verify", *now, status=4).stderr.startswith("HUSH-K002")
    hush("key", "backup", "second.hushkey", *now)
    assert "second.hushkey opens with this passphrase" in hush("key", "backup", "second.hushkey", "--verify", *now).stderr
    hush("keygen", "-o", "other.hushkey", "--passphrase-file", new, "--opens-in", "16MiB")
    other = hush("key", "backup", "other.hushkey", "--verify", *now, status=4).stderr
    assert other.startswith("HUSH-K018") and "holds another key" in other, other
