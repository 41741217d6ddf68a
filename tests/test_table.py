# SPDX-License-Identifier: Apache-2.0
"""The whole way: init, keygen, encrypt, query, decrypt, on disk and over the network."""

import shutil

import duckdb
import pytest

from conftest import PATIENTS, approve


def expected(query):
    """DuckDB's rows."""
    return duckdb.sql(query.replace("FROM patients", f"FROM '{PATIENTS}'")).fetchall()


def test_an_unapproved_schema_is_refused(hush, tmp_path, key):
    """A person has to approve what the program proposes."""
    schema = tmp_path / "patients.schema.toml"
    hush("init", PATIENTS, "--sensitive", "age", "--clear", "bp,temperature", "-o", schema)
    refused = hush("encrypt", PATIENTS, "--schema", schema, "-o", tmp_path / "T", *key, status=3)
    assert "HUSH-S002" in refused.stderr
    again = hush("init", PATIENTS, "-o", schema, status=None)
    assert again.returncode not in (0, 1) and "--force" in again.stderr


def test_query_and_decrypt(hush, table, key, tmp_path):
    """Sums over the stored table equal DuckDB's; the data comes back; another passphrase is refused."""
    query = "SELECT ward, SUM(charges) AS s FROM patients GROUP BY ward ORDER BY ward"
    done = hush("query", table, query, "--format", "csv", *key)
    exact = expected(query.replace("SUM(charges)", "SUM(charges::DECIMAL(18,2))"))
    assert done.stdout.splitlines()[1:] == [f"{ward},{total:.2f}" for ward, total in exact]
    ages = hush("decrypt", table, "--columns", "age", *key).stdout.splitlines()[1:]
    assert list(map(int, ages)) == [row[0] for row in expected("SELECT age FROM patients")]
    wrong = tmp_path / "wrong"
    wrong.write_text("battery staple\n", encoding="utf-8")
    wrong.chmod(0o600)
    refused = hush("query", table, query, "--key", key[1], "--passphrase-file", wrong, status=4)
    assert "HUSH-K002" in refused.stderr


def test_everything_comes_back(hush, table, key):
    """Clear, encrypted and sealed columns, in the file's order and spelling of values."""
    found = hush("decrypt", table, *key).stdout.splitlines()
    original = PATIENTS.read_text(encoding="utf-8").splitlines()
    columns = found[0].split(",")
    positions = [original[0].split(",").index(column) for column in columns]
    assert "email" in columns and "age" in columns
    assert [row.split(",") for row in found[1:]] == [
        [row.split(",")[position] for position in positions] for row in original[1:]
    ]


def test_another_key_is_refused(hush, table, tmp_path):
    """A key that is sound, but not the table's."""
    other, passphrase = tmp_path / "other.hushkey", tmp_path / "passphrase"
    hush("keygen", "-o", other, "--passphrase-file", passphrase)
    refused = hush("query", table, "SELECT SUM(age) FROM patients", "--key", other, "--passphrase-file", passphrase, status=4)
    assert "HUSH-K020" in refused.stderr
    hush("keygen", "-o", other, "--passphrase-file", passphrase, status=4)


def test_no_plaintext_lies_in_the_table(table):
    """E-mail addresses are sealed: no file of the table holds one."""
    for path in table.rglob("*"):
        if path.is_file():
            assert b"example.org" not in path.read_bytes(), path


@pytest.mark.parametrize("pattern", ["parts/*.enc.parquet", "parts/*.clear.parquet", "manifest.hush"])
def test_an_altered_or_truncated_file_is_refused(hush, table, key, pattern):
    """One flipped bit anywhere, or a missing end, or a missing file: found, and named by a code."""
    part = next(table.glob(pattern))
    good = part.read_bytes()
    query = "SELECT ward, SUM(charges) FROM patients GROUP BY ward"
    for place in (0, len(good) // 3, len(good) // 2, len(good) - 1):
        bad = bytearray(good)
        bad[place] ^= 1 << (place % 8)
        part.write_bytes(bad)
        done = hush("query", table, query, *key, status=9)
        assert done.stdout == "" and done.stderr.startswith("HUSH-"), done.stderr
    part.write_bytes(good[: len(good) // 2])
    hush("query", table, query, *key, status=9)
    part.unlink()
    assert hush("query", table, query, *key, status=None).returncode in (2, 9)
    part.write_bytes(good)
    hush("query", table, query, *key)


def test_an_older_version_is_refused(hush, table, key, tmp_path):
    """After version 2 was seen, version 1 is a rollback, for queries and for decryption."""
    old = tmp_path / "old"
    shutil.copytree(table, old)
    schema = tmp_path / "patients.schema.toml"
    hush("encrypt", PATIENTS, "--schema", schema, "-o", table, "--replace", *key)
    hush("query", table, "SELECT SUM(age) FROM patients", *key)
    for command in (("query", old, "SELECT SUM(age) FROM patients"), ("decrypt", old)):
        refused = hush(*command, *key, status=9)
        assert refused.stdout == "" and "HUSH-T0" in refused.stderr


def test_over_the_network(hush, table, key, server):
    """Push, list, ask, decrypt, delete."""
    hush("push", table, server.url, *server.token)
    assert "patients" in hush("ls", server.url, *server.token).stdout
    assert "version    1" in hush("info", f"{server.url}/tables/patients", *server.token).stdout
    for query in (
        "SELECT COUNT(*) AS n, SUM(age) AS s FROM patients WHERE year = 2022",
        "SELECT COUNT(*) AS n FROM patients",
        "SELECT MAX(year) AS y, COUNT(age) AS n FROM patients WHERE ward LIKE 'c%'",
    ):
        done = hush("query", server.url, query, "--format", "csv", *key, *server.token)
        assert done.stdout.splitlines()[1] == ",".join(map(str, expected(query)[0]))
    here = hush("decrypt", table, *key).stdout
    assert hush("decrypt", f"{server.url}/tables/patients", *key, *server.token).stdout == here
    hush("query", server.url, "SELECT SUM(age) FROM patients", *key, status=4)
    hush("drop", server.url, "patients", "--yes", *server.token)
    assert "patients" not in hush("ls", server.url, *server.token).stdout


def test_another_table_under_the_same_name_is_refused(hush, table, key, server, tmp_path):
    """A deleted table that comes back under the name is refused: it is not the one that was put there last."""
    query = ("query", server.url, "SELECT SUM(age) FROM patients", *key, *server.token)
    hush("push", table, server.url, *server.token)
    hush(*query)
    schema = tmp_path / "patients.schema.toml"
    hush("encrypt", PATIENTS, "--schema", schema, "-o", tmp_path / "U", *key)
    hush("drop", server.url, "patients", "--yes", *server.token)
    hush("push", tmp_path / "U", server.url, *server.token)
    hush(*query)
    kept = tmp_path / "kept"
    shutil.copytree(server.data / "tables" / "patients", kept)
    server.kill()
    shutil.rmtree(server.data / "tables" / "patients")
    shutil.copytree(table, server.data / "tables" / "patients")
    server.start()
    refused = hush(*query, status=9)
    assert "HUSH-R022" in refused.stderr and refused.stdout == ""


def test_the_server_keeps_no_plaintext_of_protected_columns(hush, table, key, server):
    """Neither its store nor its log holds a sealed text or an encrypted number."""
    hush("push", table, server.url, *server.token)
    hush("query", server.url, "SELECT ward, SUM(charges) FROM patients GROUP BY ward", *key, *server.token)
    held = b"".join(path.read_bytes() for path in server.data.rglob("*") if path.is_file())
    held += server.log.read_bytes()
    assert b"cardiology" in held, "clear columns are there: the search works"
    assert b"example.org" not in held and b"charges" not in held and b"email" not in held
    for (charge,) in expected("SELECT DISTINCT charges FROM patients WHERE charges IS NOT NULL LIMIT 500"):
        units = round(charge * 100)
        if units > 2**24:
            assert units.to_bytes(8, "little") not in held


def test_a_workload_adds_the_layouts_that_its_queries_need(hush, tmp_path, key):
    """Without `for` or a workload the owner answers a variance and a sum of products, and is told why. By row the owner
    computes a product if the server has no layout for it, and may do so if it has one."""
    path, schema = tmp_path / "w.csv", tmp_path / "w.schema.toml"
    path.write_text("g,a,b\n" + "".join(f"{row % 3},{row % 50},{row % 7}\n" for row in range(1000)), encoding="utf-8")
    schema.write_text(
        'format = 1\ntable = "w"\nstatus = "approved"\n'
        '[columns.g]\ntype = "int(8)"\nprotect = "clear"\n'
        '[columns.a]\ntype = "int(8)"\nrange = [0, 99]\nprotect = "encrypt"\nnullable = false\n'
        '[columns.b]\ntype = "int(8)"\nrange = [0, 9]\nprotect = "encrypt"\nnullable = false\n',
        encoding="utf-8",
    )
    variance = "SELECT g, VARIANCE(a) AS v FROM w GROUP BY g ORDER BY g"
    product = "SELECT SUM(a * b) AS p FROM w"
    by_row = "SELECT a * b AS p FROM w WHERE g = 1"
    hush("encrypt", path, "--schema", schema, "-o", tmp_path / "W1", *key)
    for query in (variance, product):
        assert "because" in (told := hush("query", tmp_path / "W1", query, *key).stderr) and "does not have" in told, told
    workload = tmp_path / "queries.sql"
    workload.write_text(f"-- what we ask every day\n{variance};\n{product};\n{by_row};\n", encoding="utf-8")
    hush("encrypt", path, "--schema", schema, "-o", tmp_path / "W2", "--for", workload, *key)
    for table, query in [(table, query) for table in ("W1", "W2") for query in (by_row, variance, product)]:
        done = hush("query", tmp_path / table, query, "--format", "csv", *key)
        rows = duckdb.sql(query.replace("FROM w", f"FROM '{path}' AS w")).fetchall()
        found = [tuple(map(float, line.split(","))) for line in done.stdout.splitlines()[1:]]
        assert found == [pytest.approx(tuple(map(float, row)), rel=1e-12) for row in rows], query
    told = [hush("explain", tmp_path / table, by_row, *key).stdout for table in ("W1", "W2")]
    # If both can evaluate, the cheaper one does.
    assert ["the server evaluates" in text for text in told] == [False, True], told


def test_explain_says_what_runs_where(hush, table, key):
    """Nothing is run: a query that would be refused is refused here as well."""
    query = "SELECT ward, AVG(age) FROM patients WHERE year = 2023 GROUP BY ward"
    text = hush("explain", table, query, *key).stdout
    for part in ("Runs where", "server, clear", "server, encrypted", "you", "divide by counts", "The server learns",
                 "year = 2023", ">=128 bits"):
        assert part in text, text
    hush("explain", table, "SELECT AVG(aged) FROM patients WHERE age > 3", *key, status=3)
    text = hush("explain", table, "SELECT AVG(age) FROM patients WHERE age > 317 AND year = 2023", *key).stdout
    learns = text[text.index("The server learns") :]
    assert "put the question to them" in text and 'the filter "year = 2023"' in learns and "317" not in text, text


def test_approval_can_be_edited_by_hand_and_mistakes_are_named(hush, tmp_path, key):
    """Undecided and unknown columns stop `encrypt`."""
    schema = tmp_path / "s.toml"
    hush("init", PATIENTS, "--sensitive", "age,bp", "--clear", "temperature", "-o", schema)
    approve(schema)
    text = schema.read_text(encoding="utf-8")
    schema.write_text(text.replace('protect = "encrypt"', 'protect = "DECIDE"', 1), encoding="utf-8")
    undecided = hush("encrypt", PATIENTS, "--schema", schema, "-o", tmp_path / "T", *key, status=3)
    assert "HUSH-S003" in undecided.stderr
    start = text.index("[columns.bp]")
    end = text.index("[columns.", start + 1)
    schema.write_text(text[:start] + text[end:], encoding="utf-8")
    unlisted = hush("encrypt", PATIENTS, "--schema", schema, "-o", tmp_path / "T", *key, status=None)
    assert unlisted.returncode in (3, 8) and "bp" in unlisted.stderr
    assert not (tmp_path / "T" / "manifest.hush").exists()
