# SPDX-License-Identifier: Apache-2.0
"""Tables that get another owner's key and other secrets: in every place, interrupted anywhere, and against who would take them."""

import json
import random
import shutil

import pyarrow
import pytest

import hushtable as ht
from buckets import Proxy, bucket, proxy, s3  # noqa: F401
from conftest import make_key
from devices import edge, make_rows, own_rows, same, write_csv  # noqa: F401
from test_append import answer, begin, days, expected  # noqa: F401
from test_buckets import kill_at_every_call, schema, there, through  # noqa: F401


@pytest.fixture
def next_key(hush, tmp_path):
    """Arguments that open another key of small machines."""
    place = tmp_path / "next"
    place.mkdir()
    return make_key(hush, place)


def to(key):
    """Arguments of a rotation to a key."""
    _, path, _, passphrase = key
    return ("--new-key", path, "--new-passphrase-file", passphrase)


def test_a_table_gets_another_key_in_every_place(there, schema, days, key, next_key, bucket, server):
    """Queries, appends and deletions go on with the new key; the old one opens nothing, and is told."""
    for place in ("T", f"s3://{bucket}/t", "S"):
        begin(there, schema, days, place, key)
        there("append", days[1], "-o", place, "--batch", "two", *key)
    there("push", "S", server.url, *server.token)
    places = [("T", "T", ()), (f"s3://{bucket}/t", f"s3://{bucket}/t", ())]
    places.append((f"{server.url}/tables/patients", server.url, server.token))
    for table, asked, token in places:
        there("purge", table, "-o", f"{places.index((table, asked, token))}.json", *key, *token)
        said = there("rotate", table, *to(next_key), *key, *token).stderr
        assert said.startswith("No rotation undoes a theft"), said
        assert "200 rows written anew under new secrets" in said and "one set of secrets" in said, said
        refused = there("query", asked, "SELECT COUNT(*) FROM patients", *key, *token, status=4).stderr
        assert refused.startswith("HUSH-K022 the table was handed over from key"), refused
        assert answer(there, asked, (*next_key, *token)) == expected(days[:2])
        assert "batch two has been in the table" in there("append", days[1], "-o", table, "--batch", "two", *next_key, *token).stderr
        # Rows to come under secrets of their own, and all under one again.
        there("rotate", table, "--new-rows", *next_key, *token)
        there("append", days[2], "-o", table, *next_key, *token)
        assert "2 sets: 200 rows under earlier secrets" in there("info", table, *token).stdout
        assert answer(there, asked, (*next_key, *token)) == expected(days[:3])
        there("compact", table, "--all", *next_key, *token)
        assert "secrets" not in there("info", table, *token).stdout
        assert answer(there, asked, (*next_key, *token)) == expected(days[:3])
        # What was stated before the rotation is still the table's owner's word.
        there("purge", table, "--check", f"{places.index((table, asked, token))}.json", *token)
        again = there("rotate", table, *to(next_key), *key, *token).stderr
        assert "nothing was left to do" in again, again


def test_a_rotated_directory_is_pushed_over_its_version_before(hush, schema, days, key, next_key, server):
    begin(hush, schema, days, "T", key)
    hush("push", "T", server.url, *server.token)
    hush("rotate", "T", "--rewrap", *to(next_key), *key)
    hush("rotate", "T", *next_key)
    hush("push", "T", server.url, *server.token)
    assert answer(hush, server.url, (*next_key, *server.token)) == expected(days[:1])
    # The old key made a version of its own meanwhile: it has no signature of the new one.
    hush("pull", server.url + "/tables/patients", "-o", "copy", *next_key, *server.token)
    begin(hush, schema, days, "other", key)
    refused = hush("push", "other", server.url, "--replace", *server.token, status=None)
    assert refused.returncode == 3 and refused.stderr.startswith("HUSH-R020"), refused.stderr
    assert answer(hush, server.url, (*next_key, *server.token)) == expected(days[:1])


def test_a_rotation_may_be_killed_at_any_call(through, there, schema, days, key, next_key, bucket, proxy):
    """The table is never without an owner, and the same command again ends it."""
    place = f"s3://{bucket}/t"
    begin(there, schema, days, place, key)
    there("append", days[1], "-o", place, *key)
    seen = []

    def one_key_opens(number):
        by = [there("query", place, "SELECT COUNT(*) FROM patients", *one, status=None) for one in (key, next_key)]
        assert sorted(done.returncode for done in by) == [0, 4], number
        now = key if by[0].returncode == 0 else next_key
        assert answer(there, place, now) == expected(days[:2])
        seen.append(now is next_key)

    kill_at_every_call(through, proxy, ("rotate", place, *to(next_key), *key), one_key_opens, 200)
    assert seen == sorted(seen) and not seen[0] and len(seen) >= 6
    said = json.loads(there("rotate", place, "--json", *to(next_key), *key).stdout)
    assert said["domains"] == 1 and said["resumed"]
    assert answer(there, place, next_key) == expected(days[:2])


def test_deliveries_are_accepted_before_a_rotation(edge, next_key):
    """Those that wait could not be afterwards; and a device with a key from before delivers nothing that counts."""
    rows = make_rows(random.Random(5), 50)
    write_csv(edge.directory / "rows.csv", rows)
    edge.run("rows.csv", "--to", "T")
    refused = edge.hush("rotate", "T", *to(next_key), *edge.key, status=3).stderr
    assert "HUSH-C111" in refused and "1 deliveries of devices wait" in refused, refused
    assert edge.accept()["rows"] == 50
    said = edge.hush("rotate", "T", "--new-rows", *edge.key).stderr
    assert "! Keys of devices that were made before serve no more" in said, said
    same(edge.decrypted(), own_rows() + rows)
    # For the domain before: not taken.
    write_csv(edge.directory / "late.csv", rows)
    edge.run("late.csv", "--to", "T")
    assert edge.accept()["outdated"] == 1
    edge.accept("T", "--reject", edge_name(edge))
    edge.hush("rotate", "T", *to(next_key), *edge.key)
    edge.key = next_key
    edge.device("new.key")
    edge.run("late.csv", "--to", "T", key="new.key", spool="new-spool")
    assert edge.accept()["rows"] == 50
    same(edge.decrypted(), own_rows() + rows + rows)
    # The old device's certificate is of the owner's key before.
    write_csv(edge.directory / "later.csv", rows[:9])
    assert "HUSH-T060" in edge.run("later.csv", "--to", "T", status=9)
    assert edge.accept()["rows"] == 0
    same(edge.decrypted(), own_rows() + rows + rows)


def edge_name(edge):
    """The name of the one delivery that waits."""
    (waiting,) = (edge.directory / "T/deliveries").glob("*.delivery")
    return waiting.stem


def test_forgotten_secrets_make_copies_noise(hush, schema, days, key, next_key, tmp_path):
    """Of the table, of the key file from before, and of both."""
    text = schema.read_text(encoding="utf-8")
    schema.write_text(text.replace("\n[columns", "\nerasable = true\n[columns", 1), encoding="utf-8")
    said = hush("encrypt", days[0], "--schema", schema, "-o", "T", *key).stderr
    assert "! The key file has a root that nothing else has" in said, said
    shutil.copytree(tmp_path / "T", tmp_path / "stolen")
    hush("key", "backup", "before.hushkey", *key)
    hush("append", days[1], "-o", "T", *key)
    said = hush("rotate", "T", "--forget", *key).stderr
    assert "Forgot 1 root of earlier secrets: no copy of an earlier version opens any more" in said, said
    assert "! Copies of the key file from before still have them" in said, said
    assert answer(hush, "T", key) == expected(days[:2])
    thief = hush.with_environment(HUSH_STATE_DIR=str(tmp_path / "elsewhere"))
    refused = thief("query", "stolen", "SELECT COUNT(*) FROM patients", *key, status=4).stderr
    assert refused.startswith("HUSH-K023"), refused
    # Who has a copy of the key file from before still has that version, and not the present one.
    before = ("--key", "before.hushkey", *key[2:])
    assert hush("query", "T", "SELECT COUNT(*) FROM patients", *before, status=4).stderr.startswith("HUSH-K023")
    assert hush("key", "backup", "before.hushkey", "--verify", *key, status=4).stderr.startswith("HUSH-K019")
    assert thief("query", "stolen", "SELECT COUNT(*) FROM patients", *before).stdout
    # The root goes along to another key.
    hush("rotate", "T", "--forget", *to(next_key), *key)
    assert answer(hush, "T", next_key) == expected(days[:2])
    plain = schema.read_text(encoding="utf-8").replace("erasable = true\n", "")
    schema.write_text(plain, encoding="utf-8")
    begin(hush, schema, days, "U", next_key)
    assert hush("rotate", "U", "--forget", *next_key, status=3).stderr.splitlines()[1].startswith("HUSH-C116")


def test_python_rotates(tmp_path):
    keys = [ht.keygen(tmp_path / name, passphrase="correct horse battery", opens_in="16MiB") for name in ("one", "two")]
    data = pyarrow.table({"ward": ["icu", "er", "icu"], "age": [30, 40, 50]})
    schema = ht.propose(data, sensitive=["age"], clear=["ward"], name="t").approve("a test")
    table = ht.encrypt(data, schema=schema, out=tmp_path / "T", keys=keys[0])
    done = table.rotate(keys[1])
    assert (done.rows, done.domains, done.key, done.key_before) == (3, 1, keys[1].id, keys[0].id)
    assert done.not_undone.startswith("No rotation undoes a theft")
    assert table.sql("SELECT SUM(age) AS s FROM t").to_pyarrow().to_pylist()[0]["s"] == 120
    assert table.rotate(way="new_rows").domains == 2
    table.append(pyarrow.table({"ward": ["er"], "age": [7]}))
    assert table.sql("SELECT ward, SUM(age) AS s FROM t GROUP BY ward ORDER BY ward").to_pandas()["s"].astype(int).tolist() == [47, 80]
    assert table.history().versions[1].what == "rotate"
    with pytest.raises(ht.OwnerKeyError) as caught:
        ht.open(tmp_path / "T", keys=keys[0])
    assert caught.value.code == "HUSH-K022"
    with pytest.raises(ht.UsageError):
        table.rotate(way="rewrap")
    with pytest.raises(ht.UsageError):
        table.rotate(way="new_rows", forget=True)
    with pytest.raises(ht.UsageError):
        table.rotate(way="some")


def test_python_forgets(tmp_path, monkeypatch):
    """A key that was just made takes the root into its file, and an opened one loses it."""
    key = ht.keygen(tmp_path / "k", passphrase="correct horse battery", opens_in="16MiB")
    data = pyarrow.table({"ward": ["icu", "er", "icu"], "age": [30, 40, 50]})
    schema = ht.propose(data, sensitive=["age"], clear=["ward"], name="t")
    schema.erasable = True
    table = ht.encrypt(data, schema=schema.approve("a test"), out=tmp_path / "T", keys=key)
    shutil.copytree(tmp_path / "T", tmp_path / "copy")
    again = ht.open_key(tmp_path / "k", passphrase="correct horse battery")
    assert ht.open(tmp_path / "T", keys=again).sql("SELECT SUM(age) AS s FROM t").to_pyarrow().to_pylist()[0]["s"] == 120
    assert table.rotate(forget=True).forgotten == 1
    assert ht.open(tmp_path / "T", keys=ht.open_key(tmp_path / "k", passphrase="correct horse battery")).schema.erasable
    # What was opened before still has it, in memory alone. Where the copy is, nobody has seen a later version.
    monkeypatch.setenv("HUSH_STATE_DIR", str(tmp_path / "elsewhere"))
    assert len(ht.open(tmp_path / "copy", keys=again)) == 3
    with pytest.raises(ht.OwnerKeyError) as caught:
        ht.open(tmp_path / "copy", keys=ht.open_key(tmp_path / "k", passphrase="correct horse battery"))
    assert caught.value.code == "HUSH-K023"
