# SPDX-License-Identifier: Apache-2.0
"""Refusals in Python name this package's functions and arguments, and no option or command of a program. A temporary table ends
without a warning, and a table on a server ends when it is deleted."""

import gc
import os
import re
import warnings

import pyarrow as pa
import pytest

import hushtable as ht
from conftest import PATIENTS

PASSPHRASE = "correct horse battery"
#: An option such as `--yes`, or a command such as `hush keygen`.
PROGRAM = re.compile(r"(?<![\w-])--[a-z]|(?<![\w.])hush [a-z]")
DATA = pa.table({"x": list(range(100)), "g": ["a", "b"] * 50, "note": ["long text " * 3] * 100})


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """Versions are remembered below the test's directory."""
    monkeypatch.setenv("HUSH_STATE_DIR", str(tmp_path / "state"))
    warnings.simplefilter("ignore", ht.HushWarning)


@pytest.fixture(scope="module")
def key(tmp_path_factory):
    """A key that is stored."""
    return ht.keygen(tmp_path_factory.mktemp("key") / "owner.hushkey", passphrase=PASSPHRASE, opens_in="16MiB")


def refusal(call, *arguments, **named):
    """The error of a call that must fail. Checks that it is worded for Python."""
    with pytest.raises(ht.HushError) as caught:
        call(*arguments, **named)
    text = str(caught.value)
    assert not PROGRAM.search(text), text
    return text


def parsed(line, replacement):
    """The refusal of a schema file with one line replaced."""
    text = ht.propose(PATIENTS).text
    assert line in text, text
    return refusal(ht.Schema.parse, text.replace(line, replacement, 1))


QUERIES = [
    ("SELECT COUNT(*) FROM t WHERE level > 0.1", "HUSH-P029", 'table.alter(purposes={"level": ["fetch"]})'),
    ("SELECT STDDEV(level) FROM t", "HUSH-P020", "replace=True"),
    ("SELECT VARIANCE(level) FROM t", "HUSH-P020", "workload="),
    ("SELECT SUM(y) FROM t", "HUSH-P003", "no column"),
    ("SELECT SUM(x) FROM other", "HUSH-P002", "table is"),
    ("SELECT SUM(x) FROM t; SELECT 1", "HUSH-P004", "one SELECT"),
    ("DELETE FROM t", "HUSH-P004", "encrypt it again"),
    ("SELECT g, x FROM t GROUP BY g", "HUSH-P007", "GROUP BY"),
    ("SELECT nosuch(x) FROM t", "HUSH-P006", "not supported"),
    ("SELECT SUM(x", "HUSH-P001", "SQL"),
    ("SELECT g FROM t UNION SELECT g FROM u", "HUSH-P005", "one query"),
]


def test_refused_queries_name_arguments(key, tmp_path):
    data = DATA.append_column("level", pa.array([1 / (row + 7) for row in range(100)]))
    schema = ht.propose(data, sensitive=["x", "note", "level"], clear="g", name="t")
    schema["note"].protect, schema["level"].for_ = "seal", ["sum"]
    table = ht.encrypt(data, schema=schema.approve("a person"), keys=key, out=tmp_path / "T")
    for query, code, word in QUERIES:
        said = refusal(table.sql, query)
        assert said.startswith(code) and word in said, said
    rehearsed = ht.run(data, "SELECT COUNT(*) AS n FROM t WHERE level > 0.1", sensitive=["level"])
    assert rehearsed.to_pyarrow()["n"].to_pylist() == [3]


def test_refused_schemas_and_data_name_arguments(key, tmp_path):
    assert "schema.approve(by)" in refusal(ht.encrypt, PATIENTS, schema=ht.propose(PATIENTS, clear="ward"), keys=key, out=tmp_path / "T")
    assert "sensitive=[...]" in refusal(ht.propose(PATIENTS).approve, "me")
    assert "hushtable.propose(" in parsed("format = 1", "format = 9")
    assert "hushtable.propose(" in refusal(ht.read_schema, tmp_path / "none.toml")
    parsed("protect = ", "protest = ")
    schema = ht.propose(PATIENTS)
    schema.save(tmp_path / "s.toml")
    assert "replace=True" in refusal(schema.save, tmp_path / "s.toml")
    narrow = ht.propose(DATA, sensitive=["x", "note"], clear="g", name="t")
    narrow["x"].range = (0, 5)
    assert "range" in refusal(ht.encrypt, DATA, schema=narrow.approve("a person"), keys=key, out=tmp_path / "T")
    refusal(ht.encrypt, tmp_path / "none.csv", sensitive="x", keys=key, out=tmp_path / "T")
    (tmp_path / "empty.csv").write_text("", encoding="utf-8")
    refusal(ht.propose, tmp_path / "empty.csv")
    refusal(ht.encrypt, DATA, sensitive="x", keys=str(tmp_path), out=tmp_path / "T")
    assert "replace=True" in refused_twice(key, tmp_path / "U")
    (tmp_path / "V").mkdir()
    (tmp_path / "V" / "letter.txt").write_text("dear reader", encoding="utf-8")
    refusal(ht.encrypt, DATA, sensitive="x", clear=["g", "note"], keys=key, out=tmp_path / "V")


def refused_twice(key, place):
    """The refusal to encrypt to one place a second time."""
    ht.encrypt(DATA, sensitive="x", clear=["g", "note"], keys=key, out=place)
    return refusal(ht.encrypt, DATA, sensitive="x", clear=["g", "note"], keys=key, out=place)


def test_refused_keys_name_arguments(key, tmp_path):
    assert "weak_passphrase=True" in refusal(ht.keygen, tmp_path / "k", passphrase="short")
    ht.keygen(tmp_path / "k", passphrase=PASSPHRASE, opens_in="16MiB")
    refusal(ht.keygen, tmp_path / "k", passphrase=PASSPHRASE)
    assert 'opens_in="16MiB"' in refusal(ht.keygen, tmp_path / "m", passphrase=PASSPHRASE, opens_in="8MiB")
    assert "64MiB" in refusal(ht.keygen, tmp_path / "m", passphrase=PASSPHRASE, opens_in="little")
    assert not (tmp_path / "m").exists()
    refusal(ht.open_key, tmp_path / "k", passphrase="wrong horse battery")
    refusal(ht.open_key, tmp_path / "none", passphrase=PASSPHRASE)
    (tmp_path / "k").chmod(0o644)
    refusal(ht.open_key, tmp_path / "k", passphrase=PASSPHRASE)
    (tmp_path / "p").write_text(PASSPHRASE, encoding="utf-8")
    (tmp_path / "p").chmod(0o644)
    refusal(ht.keygen, tmp_path / "l", passphrase_file=tmp_path / "p")
    ht.encrypt(DATA, sensitive="x", clear=["g", "note"], keys=key, out=tmp_path / "T")
    refusal(ht.open, tmp_path / "T", keys=ht.keygen(tmp_path / "other", passphrase=PASSPHRASE, opens_in="16MiB"))
    manifest = tmp_path / "T" / "manifest.hush"
    manifest.write_bytes(manifest.read_bytes()[:-1])
    refusal(ht.open, tmp_path / "T", keys=key)
    refusal(ht.open, tmp_path / "none", keys=key)


def test_a_memory_limit_is_held_and_its_refusal_names_the_argument(key, tmp_path):
    arguments = {"sensitive": "x", "clear": ["g", "note"], "keys": key, "out": tmp_path / "T"}
    said = refusal(ht.encrypt, DATA, memory_limit="1MB", **arguments)
    assert said.startswith("HUSH-C060"), said
    least = re.search(r'memory_limit="(\d+)MB"', said)[1]
    assert not (tmp_path / "T").exists() or not list((tmp_path / "T").rglob("*.enc"))
    assert len(ht.encrypt(DATA, memory_limit=(int(least) + 64) * 10**6, **arguments)) == 100
    for size in ("64", "a lot", -1, 0, True, 1.5):
        assert "64MB" in refusal(ht.encrypt, DATA, memory_limit=size, **{**arguments, "replace": True})


def test_a_table_on_a_server_is_deleted(server, key, tmp_path):
    """Its name is then free, also for another table, as the refusal before proposes."""
    token = server.data / "token"
    place, other = tmp_path / "T", tmp_path / "U"
    ht.encrypt(DATA, sensitive="x", clear=["g", "note"], keys=key, out=place, name="t")
    ht.encrypt(DATA, sensitive="x", clear=["g", "note"], keys=key, out=other, name="t")
    url = ht.push(place, server.url, token_file=token).url
    assert "token_file=" in refusal(ht.drop, url)
    said = refusal(ht.push, other, server.url, token_file=token)
    assert f'hushtable.drop("{url}")' in said, said
    assert "SERVER/tables/NAME" in refusal(ht.drop, server.url, token_file=token)
    ht.drop(url, token_file=token)
    assert ht.ls(server.url, token_file=token) == []
    for call in (lambda: ht.drop(url, token_file=token), lambda: ht.open(url, keys=key, token_file=token)):
        refusal(call)
    assert ht.push(other, server.url, token_file=token).version == 1
    refusal(ht.push, server.url, server.url, token_file=token)
    server.kill()
    refusal(ht.drop, url, token_file=token)


def test_a_temporary_table_ends_without_a_warning():
    table = ht.encrypt(DATA, sensitive="x", clear=["g", "note"])
    place = table._place
    assert os.path.isdir(place)
    # Leftovers of earlier tests do not concern this one.
    gc.collect()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        del table
        gc.collect()
    assert not os.path.exists(os.path.dirname(place))
