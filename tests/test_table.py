# SPDX-License-Identifier: Apache-2.0
"""The whole way: init, keygen, encrypt, query, decrypt, on disk and over the network."""

import os
import pathlib
import subprocess

import duckdb
import pytest

from conftest import ROOT

PATIENTS = ROOT / "examples" / "patients.csv"


@pytest.fixture
def table(hush, tmp_path):
    """An encrypted table with its key; gives the directory and the key's arguments."""
    schema = tmp_path / "patients.schema.toml"
    hush("init", PATIENTS, "--sensitive", "age,charges,email", "-o", schema)
    refused = hush("encrypt", PATIENTS, "--schema", schema, "-o", tmp_path / "T", *key(tmp_path, hush), status=3)
    assert "HUSH-S002" in refused.stderr
    text = schema.read_text(encoding="utf-8").replace('status = "proposed"', 'status = "approved"')
    schema.write_text(text, encoding="utf-8")
    hush("encrypt", PATIENTS, "--schema", schema, "-o", tmp_path / "T", *key(tmp_path, hush))
    return tmp_path / "T", key(tmp_path, hush)


def key(tmp_path, hush):
    """Arguments that open the key; makes it the first time."""
    path, passphrase = tmp_path / "owner.hushkey", tmp_path / "passphrase"
    if not path.exists():
        passphrase.write_text("correct horse\n", encoding="utf-8")
        hush("keygen", "-o", path, "--passphrase-file", passphrase)
    return "--key", path, "--passphrase-file", passphrase


def expected(query):
    """What DuckDB says."""
    return duckdb.sql(query.replace("FROM patients", f"FROM '{PATIENTS}'")).fetchall()


def test_query_and_decrypt(hush, table, tmp_path):
    """Sums over the stored table equal DuckDB's; the data comes back; another passphrase is refused."""
    directory, opened = table
    query = "SELECT ward, SUM(charges) AS s FROM patients GROUP BY ward ORDER BY ward"
    done = hush("query", directory, query, "--format", "csv", *opened)
    lines = [f"{ward},{total:.2f}" for ward, total in expected(query.replace("SUM(charges)", "SUM(charges::DECIMAL(18,2))"))]
    assert done.stdout.splitlines()[1:] == lines
    ages = hush("decrypt", directory, "--columns", "age", *opened).stdout.splitlines()[1:]
    assert list(map(int, ages)) == [row[0] for row in expected("SELECT age FROM patients")]
    wrong = tmp_path / "wrong"
    wrong.write_text("battery staple\n", encoding="utf-8")
    hush("query", directory, query, "--key", opened[1], "--passphrase-file", wrong, status=4)


def test_no_plaintext_lies_in_the_table(table):
    """E-mail addresses are sealed: no file of the table holds one."""
    directory, _ = table
    for path in directory.rglob("*"):
        if path.is_file():
            assert b"example.org" not in path.read_bytes(), path


def test_an_altered_table_is_refused(hush, table):
    """One flipped bit in a part is found."""
    directory, opened = table
    part = next((directory / "parts").glob("*.enc.parquet"))
    data = bytearray(part.read_bytes())
    data[len(data) // 2] ^= 1
    part.write_bytes(data)
    done = hush("query", directory, "SELECT SUM(charges) FROM patients", *opened, status=9)
    assert done.stdout == ""


def test_over_the_network(hush, table, tmp_path):
    """Push to a server, ask it, and find no plaintext of protected columns in its store."""
    directory, opened = table
    data = tmp_path / "server"
    binary = pathlib.Path(os.environ["HUSH_BIN"]) / "hush-server"
    command = [binary, "--data", data, "--listen", "127.0.0.1:0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        url = ""
        while not url:
            url = next((word for word in server.stdout.readline().split() if word.startswith("http://")), "")
        token = ("--token-file", data / "token")
        hush("push", directory, url, *token)
        assert "patients" in hush("ls", url, *token).stdout
        query = "SELECT COUNT(*) AS n, SUM(age) AS s FROM patients WHERE year = 2022"
        done = hush("query", url, query, "--format", "csv", *opened, *token)
        assert done.stdout.splitlines()[1] == ",".join(map(str, expected(query)[0]))
        hush("query", url, query, *opened, status=4)
    finally:
        server.terminate()
        server.wait(timeout=30)
    stored = b"".join(path.read_bytes() for path in data.rglob("*") if path.is_file())
    assert b"example.org" not in stored
