# SPDX-License-Identifier: Apache-2.0
"""Another table of the same owner in the place of the right one: under its name on a server, or in its directory. No command of
the owner takes it for the right one, and none refuses a table that its owner has moved or copied."""

import random
import shutil

import pytest

from devices import Edge, make_rows, write_csv


@pytest.fixture
def two(hush, key, tmp_path):
    """A table T, and another one U of the same owner, with the same name and columns."""
    edge = Edge(hush, key, tmp_path, make_rows(random.Random(1), 50))
    write_csv(tmp_path / "own.csv", make_rows(random.Random(2), 60))
    hush("encrypt", "own.csv", "-o", "U", "--schema", "t.schema.toml", *key)
    return edge


def commands(edge, place, of_query):
    """Every command that uses a stored table, with its arguments."""
    sql = "SELECT SUM(load) FROM readings"
    return [
        ("query", of_query, sql, *edge.key),
        ("explain", of_query, sql, *edge.key),
        ("decrypt", place, *edge.key),
        ("edge", "key", place, "-o", "new.key", *edge.key),
        ("edge", "accept", place, *edge.key),
        ("edge", "revoke", place, "0" * 32, *edge.key),
        ("info", place),
    ]


def test_a_server_cannot_exchange_a_table_under_its_name(two, server):
    hush = two.hush
    hush("push", "T", server.url, *server.token)
    place = f"{server.url.rstrip('/')}/tables/readings"
    hush("decrypt", place, *two.key, *server.token)
    right = server.data / "tables" / "readings"
    server.kill()
    shutil.rmtree(right)
    shutil.copytree(two.directory / "U", right)
    server.start()
    for command in commands(two, place, server.url):
        refused = hush(*command, *server.token, status=9)
        assert "HUSH-R022" in refused.stderr and refused.stdout == "", command
    assert not (two.directory / "new.key").exists()
    # Under a name that was never seen: the table says its own.
    server.kill()
    right.rename(right.with_name("others"))
    server.start()
    for command in commands(two, f"{server.url.rstrip('/')}/tables/others", None):
        if None not in command:
            refused = hush(*command, *server.token, status=9)
            assert "HUSH-R023" in refused.stderr and refused.stdout == "", command


def test_a_directory_cannot_be_exchanged(two, server):
    hush = two.hush
    shutil.move(two.directory / "T", two.directory / "kept")
    shutil.copytree(two.directory / "U", two.directory / "T")
    for command in [*commands(two, "T", "T"), ("push", "T", server.url, *server.token)]:
        refused = hush(*command, status=9)
        assert "HUSH-R022" in refused.stderr and refused.stdout == "", command
        # The way out, as it is told.
        assert "remove " in refused.stderr
    assert not (two.directory / "new.key").exists()
    pin = refused.stderr.split("remove ")[1].strip().rstrip(".")
    (two.directory / pin).unlink()
    hush("decrypt", "T", *two.key)


def test_a_table_may_be_moved_copied_and_encrypted_again(two):
    hush = two.hush
    sql = "SELECT COUNT(*) FROM readings"
    shutil.move(two.directory / "T", two.directory / "moved")
    shutil.copytree(two.directory / "moved", two.directory / "copied")
    for place in ("moved", "copied", "./copied"):
        hush("query", place, sql, *two.key)
        hush("decrypt", place, *two.key)
    # The owner encrypts another one in its place.
    hush("encrypt", "own.csv", "-o", "T", "--schema", "t.schema.toml", *two.key)
    for command in commands(two, "T", "T"):
        if "revoke" not in command:
            hush(*command)
    # Through a link it is the same place.
    (two.directory / "link").symlink_to(two.directory / "copied")
    shutil.rmtree(two.directory / "copied")
    shutil.copytree(two.directory / "U", two.directory / "copied")
    assert "HUSH-R022" in hush("query", "link", sql, *two.key, status=9).stderr



def test_what_is_no_place_of_tables_is_refused_and_made_no_directory(two):
    """Every command refuses other schemes, buckets that cannot be reached by what the environment says, and a server in place of a
    directory, before anything is written."""
    for place, code in (
        ("ftp://host/t", "HUSH-U001"),
        ("s3://", "HUSH-U001"),
        ("s3://bucket/a//t", "HUSH-T051"),
        ("az://c/t", "HUSH-T051"),
    ):
        for command in commands(two, place, place):
            refused = two.hush(*command, status=2)
            assert refused.stderr.startswith(code) and refused.stdout == "", (command, refused.stderr)
    encrypt = ("encrypt", "own.csv", "--schema", "t.schema.toml", *two.key)
    for output, code in (("az://c/t", "HUSH-T051"), ("ftp://host/t", "HUSH-U001"), ("http://localhost:1/tables/t", "HUSH-U001")):
        assert two.hush(*encrypt, "-o", output, status=2).stderr.startswith(code), output
    assert not [path.name for path in two.directory.iterdir() if ":" in path.name]
    # A path by its URL.
    two.hush("info", f"file://{two.directory / 'T'}")
