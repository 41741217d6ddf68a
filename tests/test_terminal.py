# SPDX-License-Identifier: Apache-2.0
"""Cases of a person at a shell: closed pipes, `-`, characters that a terminal obeys, missing homes."""

import json

import pytest

from conftest import PATIENTS, approve

ESCAPE, CSI, TURN = "\x1b[2J", "\x9b", "\u202e"


def test_a_schema_goes_to_standard_output(hush, tmp_path):
    """`-o -` is the usual name of standard output, not of a file."""
    schema = tmp_path / "s.toml"
    hush("init", PATIENTS, "-o", schema)
    done = hush("init", PATIENTS, "-o", "-")
    assert done.stdout == schema.read_text(encoding="utf-8")
    assert "Wrote" not in done.stderr and not (tmp_path / "-").exists()


@pytest.mark.parametrize("form", ["csv", "json", "table", "parquet"])
def test_a_reader_that_leaves_is_no_error(hush, tmp_path, form):
    """`hush … | head -1` ends quietly, for every format's wrapping of the broken pipe."""
    data = tmp_path / "wide.csv"
    rows = "".join(f"{n},{'x' * 100}{n}\n" for n in range(20_000))
    data.write_text("n,text\n" + rows, encoding="utf-8")
    query = "SELECT text, n * 2 AS m FROM wide"
    process = hush.start("run", data, query, "--clear", "text", "--sensitive", "n", "--quiet", "--format", form)
    process.stdout.read(1)
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 0


def test_a_schema_that_is_no_text_is_a_fault_of_the_schema(hush, tmp_path):
    """S001 with the place, not a failure of the file system."""
    schema = tmp_path / "s.toml"
    schema.write_bytes(b'format = 1\ntable = "s\xfcd"\n')
    refused = hush("run", PATIENTS, "SELECT COUNT(*) FROM patients", "--schema", schema, status=3)
    assert "HUSH-S001" in refused.stderr and "line 2: byte 21" in refused.stderr


def harmless(text):
    """No character but line breaks that a terminal would obey."""
    return not any(c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160) or c == TURN for c in text)


def test_data_does_not_speak_to_the_terminal(hush, tmp_path, key):
    """Names and values with control characters are escaped for people, and whole in the formats for programs."""
    data, name = tmp_path / "odd.csv", f"ward{ESCAPE}{CSI}{TURN}"
    data.write_text(f"{name},age\n" + f"a{ESCAPE},30\nb{TURN},40\n" * 30, encoding="utf-8")
    query = f'SELECT "{name}", SUM(age) AS s FROM odd GROUP BY "{name}"'
    options = ("--clear", name, "--sensitive", "age")
    shown = hush("run", data, query, *options)
    assert harmless(shown.stdout) and harmless(shown.stderr)
    assert "\\u{1b}[2J" in shown.stdout and "\\u{202e}" in shown.stderr
    account = hush("run", data, query, *options, "--json").stderr
    assert harmless(account) and json.loads(account)["clear"][0]["column"] == name
    rows = [json.loads(line) for line in hush("run", data, query, *options, "--format", "json").stdout.splitlines()]
    assert {row[name] for row in rows} == {f"a{ESCAPE}", f"b{TURN}"}
    refused = hush("run", data, f'SELECT SUM("{name}") AS s FROM odd', *options, status=None)
    assert refused.returncode != 0 and harmless(refused.stderr)

    schema = tmp_path / "odd.toml"
    hush("init", data, *options, "-o", schema)
    approve(schema)
    hush("encrypt", data, "--schema", schema, "-o", tmp_path / "T", *key)
    for command in (("info", tmp_path / "T"), ("info", tmp_path / "T", "--json"), ("explain", tmp_path / "T", query, *key)):
        done = hush(*command)
        assert harmless(done.stdout) and harmless(done.stderr)


def test_a_missing_home_is_told(hush, table, key):
    """Without a place for pins an older version would not be noticed, and a message tells so."""
    query = ("query", table, "SELECT SUM(age) FROM patients", *key)
    assert "not remembered" not in hush(*query).stderr
    homeless = hush.with_environment()
    del homeless.environment["HOME"]
    done = homeless(*query)
    assert "versions of tables are not remembered" in done.stderr and "HUSH_STATE_DIR" in done.stderr
    assert done.stdout == hush(*query).stdout
