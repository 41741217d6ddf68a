# SPDX-License-Identifier: Apache-2.0
"""Devices encrypt rows with public keys and deliver them. Every row is in the table once, in spite of any interruption, and no
plaintext lies anywhere. The owner's questions get the answers of all rows."""

import csv
import json
import os
import random
import re
import resource
import shutil
import signal
import statistics
import subprocess
import time

import pytest

from conftest import Server, binary
from devices import FIELDS, SCHEMA, edge, make_rows, no_canary, own_rows, same, write_csv
from random_queries import OF_SHAPE, deviations

__all__ = ["edge"]


@pytest.mark.parametrize("seed", range(3))
def test_answers_are_those_of_all_rows(edge, seed):
    draw = random.Random(seed)
    sent = [make_rows(draw, count) for count in (draw.randrange(1, 200), 8192, draw.randrange(8193, 20000))]
    for number, rows in enumerate(sent):
        write_csv(edge.directory / "rows.csv", rows)
        account = edge.run("rows.csv", "--to", "T", spool=f"spool{number}")
        chunks = -(-len(rows) // 8192)
        assert account["rows"] == len(rows) and account["chunks"] == account["delivered"] == chunks
        assert account["flushed"] == (len(rows) % 8192 > 0) and account["waiting"] == 0
    # Nothing is in the table until its owner takes it in.
    assert len(edge.decrypted()) == 100
    accepted = edge.accept()
    assert accepted["rows"] == sum(map(len, sent)) and accepted["version"] == 2 and accepted["waiting"] == 0
    assert edge.accept()["deliveries"] == 0
    # Each device's stream in its order.
    found = edge.decrypted()
    assert sorted(row[:4] for row in found) == sorted(
        [row[0], row[1], "" if row[2] == "NA" else row[2], row[3]] for row in own_rows() + sum(sent, [])
    )

    by_site = {}
    for row in own_rows() + sum(sent, []):
        if int(row[1]) < 11:
            by_site.setdefault(row[0], []).append(row)
    sql = (
        "SELECT site, COUNT(*), COUNT(temp), SUM(temp), STDDEV(temp), SUM(load), SUM(load * day), AVG(level), SKEWNESS(temp) "
        "FROM readings WHERE day < 11 GROUP BY site ORDER BY site"
    )
    answer = edge.hush("query", "T", sql, *edge.key, "--format", "csv").stdout
    rows = list(csv.reader(answer.splitlines()))[1:]
    assert len(rows) == len(by_site)
    for values, (site, group) in zip(rows, sorted(by_site.items())):
        temps = [float(row[2]) for row in group if row[2] != "NA"]
        assert values[0] == site and int(values[1]) == len(group) and int(values[2]) == len(temps)
        assert float(values[3]) == pytest.approx(sum(round(10 * t) for t in temps) / 10, abs=1e-9)
        assert float(values[4]) == pytest.approx(statistics.stdev(temps), rel=1e-9)
        assert int(values[5]) == sum(int(row[3]) for row in group)
        assert int(values[6]) == sum(int(row[3]) * int(row[1]) for row in group)
        assert float(values[7]) == pytest.approx(statistics.mean(float(row[4]) for row in group), abs=1e-3)
        assert float(values[8]) == OF_SHAPE["SKEWNESS"](*deviations([round(10 * t) for t in temps]))
    # By row: rows of devices come back beside those of the owner.
    sql = "SELECT load, temp FROM readings WHERE site = 'a' AND day = 3"
    answer = edge.hush("query", "T", sql, *edge.key, "--format", "csv").stdout
    found = sorted(row[0] for row in list(csv.reader(answer.splitlines()))[1:])
    assert found == sorted(row[3] for row in own_rows() + sum(sent, []) if row[0] == "a" and row[1] == "3")


def test_what_devices_cost_is_said_before(edge):
    text = edge.hush("explain", "T", "SELECT SUM(load) FROM readings", *edge.key).stdout
    line = next(line for line in text.splitlines() if line.startswith("Devices"))
    assert "25.5 bytes a value in full chunks where yours have 12.8, 8.4 bits more noise" in line
    plan = json.loads(edge.hush("explain", "T", "SELECT SUM(load) FROM readings", *edge.key, "--json").stdout)
    cost = plan["nodes"][0]["devices"]
    assert cost["value_bytes"] == 2 * cost["owner_value_bytes"] == 25.5 and cost["noise_bits"] == pytest.approx(8.37, abs=0.01)


def test_more_rows_than_were_planned_for_are_told(edge):
    text = SCHEMA.replace("max_rows = 10000000", "max_rows = 150")
    (edge.directory / "t.schema.toml").write_text(text, encoding="utf-8")
    edge.hush("encrypt", "own.csv", "-o", "small", "--schema", "t.schema.toml", *edge.key)
    edge.device("small.key", "small")
    write_csv(edge.directory / "rows.csv", make_rows(random.Random(21), 60))
    edge.run("rows.csv", "--to", "small", key="small.key")
    assert "10 rows more than max_rows" in edge.hush("edge", "accept", "small", *edge.key).stderr


def test_over_a_server_that_comes_and_goes(edge, server):
    edge.hush("push", "T", server.url, *server.token)
    rows = make_rows(random.Random(5), 20000)
    write_csv(edge.directory / "rows.csv", rows)
    place = f"{server.url.rstrip('/')}/tables/readings"
    token = ("--token-file", server.data / "device-token")
    server.kill()
    # Nobody there: all rows wait, encrypted.
    account = edge.run("rows.csv", "--to", place, *token, "--patience", "0.5")
    assert account["delivered"] == 0 and account["waiting"] == 3
    server.start()
    # The very same command reads nothing again.
    account = edge.run("rows.csv", "--to", place, *token)
    assert account["rows"] == 0 and account["delivered"] == 3 and account["waiting"] == 0
    server.kill()
    server.start()
    accepted = edge.accept(place, *server.token)
    assert accepted["rows"] == 20000 and accepted["version"] == 2
    assert edge.accept(place, *server.token)["deliveries"] == 0
    same(edge.decrypted(place, *server.token), own_rows() + rows)


def test_the_token_of_devices_opens_nothing_else(edge, server):
    edge.hush("push", "T", server.url, *server.token)
    place = f"{server.url.rstrip('/')}/tables/readings"
    token = ("--token-file", server.data / "device-token")
    for command in (
        ("decrypt", place, *edge.key, *token),
        ("info", place, *token),
        ("ls", server.url, *token),
        ("drop", server.url, "readings", "--yes", *token),
        ("query", server.url, "SELECT SUM(load) FROM readings", *edge.key, *token),
        ("edge", "accept", place, *edge.key, *token),
    ):
        assert "HUSH-V036" in edge.hush(*command, status=7).stderr, command
    # And nobody delivers without one.
    write_csv(edge.directory / "rows.csv", make_rows(random.Random(5), 10))
    assert "HUSH-R004" in edge.run("rows.csv", "--to", place, status=4)


def test_standard_input_is_flushed_in_time_and_messages_are_rows(edge):
    rows = make_rows(random.Random(6), 40)
    lines = [dict(zip(FIELDS, row)) for row in rows]
    for line in lines:
        line["day"], line["load"], line["level"] = int(line["day"]), int(line["load"]), float(line["level"])
        line["temp"] = None if line["temp"] == "NA" else float(line["temp"])
    process = edge.start("-", "--messages", "--flush-after", "0.3", "--to", "T", stdin=subprocess.PIPE)
    for group in (lines[:10], lines[10:11], lines[11:]):
        text = json.dumps(group if len(group) > 1 else group[0])
        process.stdin.write(text + "\n")
        process.stdin.flush()
        waited = time.monotonic() + 30
        said = ""
        while "delivered" not in said:
            said = process.stderr.readline()
            assert said and time.monotonic() < waited
            if "rows" in said:
                # The cost of a flush before time.
                assert f"{len(group)} of 8192 rows" in said and re.search(r"\d+ bytes a value where a full chunk has 2\d$", said.strip())
    process.stdin.close()
    assert process.wait() == 0
    assert edge.accept()["deliveries"] == 3
    same(edge.decrypted(), own_rows() + rows)


def test_asked_to_end_it_encrypts_what_waits(edge):
    rows = make_rows(random.Random(7), 500)
    write_csv(edge.directory / "rows.csv", rows)
    process = edge.start("rows.csv", "--follow", "--flush-after", "3600", "--to", "T")
    time.sleep(1.0)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert edge.accept()["rows"] == 500
    same(edge.decrypted(), own_rows() + rows)


def test_a_line_that_is_not_whole_waits_for_its_end(edge):
    """Stopped in the middle of a line, and of a number: the row comes whole, and once."""
    rows = make_rows(random.Random(18), 3)
    path = edge.directory / "log.csv"
    lines = [",".join(row) for row in rows]
    write_csv(path, [])
    with path.open("a", encoding="utf-8") as file:
        file.write(lines[0] + "\n" + lines[1][:-3])
    process = edge.start("log.csv", "--follow", "--flush-after", "3600", "--to", "T")
    time.sleep(1.0)
    process.send_signal(signal.SIGTERM)
    assert process.wait() == 0
    with path.open("a", encoding="utf-8") as file:
        file.write(lines[1][-3:] + "\n" + lines[2])
    # At the end of a file that does not grow, a line needs no end; growing after all, it goes on behind it.
    assert edge.run("log.csv", "--to", "T")["rows"] == 2
    more = make_rows(random.Random(19), 2)
    with path.open("a", encoding="utf-8") as file:
        file.writelines("\n" + ",".join(row) for row in more)
    assert edge.run("log.csv", "--to", "T")["rows"] == 2
    # Cut and begun again under the same name.
    again = make_rows(random.Random(20), 1)
    with path.open("r+", encoding="utf-8") as file:
        file.truncate(0)
        file.write(",".join(FIELDS) + "\n" + ",".join(again[0]) + "\n")
    assert edge.run("log.csv", "--to", "T")["rows"] == 1
    edge.accept()
    same(edge.decrypted(), own_rows() + rows + more + again)


def sweep(edge, seed, ends):
    """A file that grows and is rotated, and a gateway that is killed again and again: every row once, in its order."""
    draw = random.Random(seed)
    path, written = edge.directory / "log.csv", []
    write_csv(path, [])
    home = edge.directory / "device-home"
    (home / "tmp").mkdir(parents=True)
    environment = {**edge.hush.environment, "HOME": str(home), "TMPDIR": str(home / "tmp")}
    for end in range(ends):
        process = edge.start("log.csv", "--follow", "--to", "T", "--flush-after", "0.05", stdin=subprocess.DEVNULL, env=environment)
        until = time.monotonic() + draw.uniform(0.0, 0.6)
        while time.monotonic() < until:
            rows = make_rows(draw, draw.randrange(1, 6000), canary=True)
            written += rows
            with path.open("a", encoding="utf-8") as file:
                file.writelines(",".join(row) + "\n" for row in rows)
            time.sleep(draw.uniform(0, 0.05))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        no_canary(edge.directory / "spool", edge.directory / "T", home)
        if end == ends // 2:
            # Rotated while nothing runs: what is left of the old file is read first.
            edge.run("log.csv", "--to", "T")
            path.rename(edge.directory / "log.csv.1")
            write_csv(path, [])
    edge.run("log.csv", "--to", "T")
    assert not edge.waiting()
    edge.accept()
    no_canary(edge.directory / "spool", edge.directory / "T", home)
    same(edge.decrypted(), own_rows() + written)


def test_every_row_is_delivered_once_whatever_kills_it(edge):
    sweep(edge, seed=8, ends=8)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20, 24))
def test_every_row_is_delivered_once_over_many_ends(edge, seed):
    sweep(edge, seed, ends=120)


def test_a_delivery_that_is_sent_again_is_known(edge):
    rows = make_rows(random.Random(9), 9000)
    write_csv(edge.directory / "rows.csv", rows)
    edge.run("rows.csv")
    assert len(edge.waiting()) == 2
    shutil.copytree(edge.directory / "spool", edge.directory / "again")
    for spool in ("spool", "again"):
        assert edge.run("--to", "T", spool=spool)["delivered"] == 2
    assert edge.accept()["deliveries"] == 2
    # Also after it was taken in.
    shutil.rmtree(edge.directory / "again")
    edge.run("rows.csv", spool="other")
    shutil.copytree(edge.directory / "other", edge.directory / "again")
    edge.run("--to", "T", spool="other")
    edge.accept()
    assert edge.run("--to", "T", spool="again")["delivered"] == 2
    assert edge.accept()["deliveries"] == 0
    same(edge.decrypted(), own_rows() + rows + rows)


def test_a_copied_spool_is_refused_where_it_differs(edge):
    write_csv(edge.directory / "rows.csv", make_rows(random.Random(10), 10))
    edge.run("rows.csv")
    shutil.copytree(edge.directory / "spool", edge.directory / "copy")
    write_csv(edge.directory / "more.csv", make_rows(random.Random(11), 10))
    edge.run("more.csv", "--to", "T")
    assert "has its number" in edge.run("more.csv", "--to", "T", spool="copy", status=9)
    # Nor is it taken for what the owner has accepted: its rows would be lost.
    assert edge.accept()["rows"] == 20
    assert "has its number" in edge.run("--to", "T", spool="copy", status=9)
    assert list((edge.directory / "copy").glob("*.delivery"))


def test_a_delivery_that_is_held_back_is_noticed(edge):
    write_csv(edge.directory / "rows.csv", make_rows(random.Random(12), 25000))
    edge.run("rows.csv", "--to", "T")
    held = sorted((edge.directory / "T" / "deliveries").glob("*.delivery"))[1]
    held.rename(edge.directory / held.name)
    accepted = edge.accept()
    assert accepted["deliveries"] == 1 and accepted["out_of_order"] == 2
    assert "wait for one before them" in edge.hush("edge", "accept", "T", *edge.key).stderr
    (edge.directory / held.name).rename(held)
    assert edge.accept()["deliveries"] == 3


def test_deliveries_for_an_earlier_version_of_the_columns_stay_out(edge):
    write_csv(edge.directory / "rows.csv", make_rows(random.Random(13), 10))
    edge.run("rows.csv", "--to", "T")
    edge.hush("encrypt", "own.csv", "-o", "T", "--schema", "t.schema.toml", "--replace", *edge.key)
    accepted = edge.accept()
    assert accepted["deliveries"] == 0 and accepted["outdated"] == 1
    same(edge.decrypted(), own_rows())


def test_what_cannot_be_is_refused_and_no_value_is_told(edge, hush, tmp_path):
    key = edge.key
    good = make_rows(random.Random(14), 20)
    for column, bad in ((2, "100000.1"), (3, "1000000001"), (4, "inf"), (3, "seventy3")):
        rows = [list(row) for row in good]
        rows[7][column] = bad
        write_csv(edge.directory / "bad.csv", rows)
        error = edge.run("bad.csv", status=8)
        assert FIELDS[column] in error and bad not in error
        assert len(edge.waiting()) == 1
        shutil.rmtree(edge.directory / "spool")
    # A table that was not made for devices.
    (tmp_path / "t.schema.toml").write_text(SCHEMA.replace("edge = true", ""), encoding="utf-8")
    hush("encrypt", "own.csv", "-o", "plain", "--schema", "t.schema.toml", *key)
    assert "edge = true" in hush("edge", "key", "plain", "-o", "no.key", *key, status=2).stderr
    assert not (tmp_path / "no.key").exists()
    # A key that others can read, one that is none, another device's spool, a device of another owner's.
    (tmp_path / "device.key").chmod(0o640)
    assert "HUSH-G003" in edge.run("own.csv", status=4)
    (tmp_path / "device.key").chmod(0o600)
    edge.run("own.csv")
    edge.device("second.key")
    assert "HUSH-G007" in edge.run("own.csv", key="second.key", status=2)
    # Sealed columns and products need the owner's secret.
    sealed = SCHEMA + '[columns.note]\ntype = "text"\nprotect = "seal"\n'
    (tmp_path / "t.schema.toml").write_text(sealed, encoding="utf-8")
    write_csv(tmp_path / "few.csv", [])
    (tmp_path / "few.csv").write_text(",".join([*FIELDS, "note"]) + "\n", encoding="utf-8")
    assert "HUSH-P027" in hush("encrypt", "few.csv", "-o", "U", "--schema", "t.schema.toml", *key, status=3).stderr


def test_a_full_disk_loses_nothing(edge):
    """A limit on the size of files stands for the disk: a file that does not fit is not there at all."""
    rows = make_rows(random.Random(15), 9000, canary=True)
    write_csv(edge.directory / "rows.csv", rows)

    def small_disk():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    edge.run("rows.csv", status=6, preexec_fn=small_disk)
    assert not edge.waiting() and not list((edge.directory / "spool" / "parts").iterdir())
    no_canary(edge.directory / "spool")
    edge.run("rows.csv", "--to", "T")
    edge.accept()
    same(edge.decrypted(), own_rows() + rows)


def test_a_full_spool_stops_the_reading(edge):
    write_csv(edge.directory / "rows.csv", make_rows(random.Random(16), 30000))
    # The table is not there now, and will be.
    (edge.directory / "T").rename(edge.directory / "away")
    process = edge.start("rows.csv", "--spool-limit", "1MB", "--to", "T")
    said = ""
    while "reading stops" not in said:
        said = process.stderr.readline()
        assert said
    process.kill()
    process.communicate()
    assert len(edge.waiting()) < 4
    # Without a place to deliver to, waiting would have no end.
    assert "HUSH-G009" in edge.run("rows.csv", "--spool-limit", "1MB", status=6)
    (edge.directory / "away").rename(edge.directory / "T")
    assert edge.run("rows.csv", "--to", "T")["waiting"] == 0
    assert edge.accept()["rows"] == 30000


def test_the_program_alone_does_what_the_command_does(edge):
    write_csv(edge.directory / "rows.csv", make_rows(random.Random(17), 10))
    common = ["--key", "device.key", "--spool", "spool", "--to", "T", "--json"]
    account = json.loads(edge.hush("edge", "run", "rows.csv", *common).stdout)
    assert account["delivered"] == 1
    assert edge.run("rows.csv", "--to", "T")["rows"] == 0
    version = subprocess.run([binary("hush-edge"), "--version"], capture_output=True, text=True, check=True)
    assert version.stdout.startswith("hush-edge ")
    assert os.access(edge.directory / "device.key", os.R_OK)


def hostile(edge, name, load=("1000000000", "2000000000000")):
    """A certified device that was tampered with: its copy of the schema lets it encrypt values that the table's schema forbids. Its
    deliveries have the right form, seeds, digests and signatures."""
    edge.device("honest.tmp")
    key = json.loads((edge.directory / "honest.tmp").read_text(encoding="utf-8"))
    (edge.directory / "honest.tmp").unlink()
    before = key["schema"]
    key["schema"] = before.replace(f"range = [0, {load[0]}]", f"range = [0, {load[1]}]").replace('type = "int(32)"', 'type = "int(64)"')
    assert key["schema"] != before
    path = edge.directory / name
    path.write_text(json.dumps(key, separators=(",", ":")), encoding="utf-8")
    path.chmod(0o600)


def falsified(edge, where, *token):
    """Two rows of a hostile device beside rows of an honest one. One of the two gives every sum another value."""
    honest, bad = make_rows(random.Random(31), 30), make_rows(random.Random(32), 2)
    bad[1][3] = "1999999999999"
    hostile(edge, "hostile.key")
    write_csv(edge.directory / "honest.csv", honest)
    write_csv(edge.directory / "bad.csv", bad)
    write_csv(edge.directory / "more.csv", bad[:1])
    edge.run("bad.csv", "--to", where, *token, key="hostile.key", spool="hostile")
    edge.run("more.csv", "--to", where, *token, key="hostile.key", spool="hostile")
    edge.run("honest.csv", "--to", where, *token)
    return honest, bad


def total(edge, where, *token):
    """The sum that one hostile row would change."""
    answer = edge.hush("query", where, "SELECT SUM(load) FROM readings", *edge.key, *token, "--format", "csv").stdout
    return int(answer.splitlines()[1])


@pytest.mark.parametrize("remote", [False, True])
def test_one_hostile_device_neither_stops_nor_falsifies_a_table(edge, server, remote):
    """One value outside its range is rejected and told, and the honest device's rows are taken. The delivery can be discarded, the
    device revoked, and its rows removed."""
    place, url, token, device_token = "T", "T", (), ()
    if remote:
        edge.hush("push", "T", server.url, *server.token)
        place, url = f"{server.url.rstrip('/')}/tables/readings", server.url
        token, device_token = server.token, ("--token-file", server.data / "device-token")
    honest, bad = falsified(edge, place, *device_token)
    said = edge.hush("edge", "accept", place, *edge.key, *token).stderr
    assert "Took in 1 deliveries, 30 rows" in said and "! Rejected 0 of device " in said
    assert "load: what a row decrypts to is outside its range" in said and bad[1][3] not in said
    name = re.search(r"--reject (\S+) discards", said).group(1)
    device = name.split("-")[0]
    assert total(edge, url, *token) == sum(int(row[3]) for row in own_rows() + honest)
    # It stays rejected, its stream stands, and nobody decrypts it once more.
    accepted = edge.accept(place, *token)
    assert (accepted["deliveries"], accepted["out_of_order"], accepted["waiting"]) == (0, 1, 2)
    assert [rejected["delivery"] for rejected in accepted["rejected"]] == [name]
    assert "no delivery" in edge.hush("edge", "accept", place, "--reject", name + "0", *edge.key, *token, status=2).stderr
    # After the delivery is discarded for good, the stream goes on; the same delivery again is known.
    accepted = edge.accept(place, "--reject", name, *token)
    assert (accepted["deliveries"], accepted["discarded"], accepted["rejected"], accepted["waiting"]) == (1, 1, [], 0)
    assert total(edge, url, *token) == sum(int(row[3]) for row in own_rows() + honest + bad[:1])
    same(edge.decrypted(place, *token), own_rows() + honest + bad[:1])
    # Revoked: nobody takes its deliveries, and its rows can go.
    said = edge.hush("edge", "revoke", place, device[:8], *edge.key, *token).stderr
    assert f"Device {device} is revoked" in said and "Its 1 rows stay" in said
    code = "HUSH-V037" if remote else "HUSH-T060"
    complaint = edge.run("more.csv", "--to", place, *device_token, key="hostile.key", spool="again", status=7 if remote else 9)
    assert code in complaint and "revoked" in complaint
    revoked = json.loads(edge.hush("edge", "revoke", place, device, "--remove-rows", "--json", *edge.key, *token).stdout)
    assert (revoked["removed_rows"], revoked["removed_deliveries"], revoked["table_rows"]) == (1, 1, 130)
    same(edge.decrypted(place, *token), own_rows() + honest)
    assert total(edge, url, *token) == sum(int(row[3]) for row in own_rows() + honest)
    # Once more changes nothing, and the honest device goes on.
    assert json.loads(edge.hush("edge", "revoke", place, device, "--json", *edge.key, *token).stdout)["version"] == revoked["version"]
    write_csv(edge.directory / "honest.csv", honest[:3])
    edge.run("honest.csv", "--to", place, *device_token)
    assert edge.accept(place, *token)["rows"] == 3


def test_a_revoked_device_is_refused_by_the_owner_too(edge):
    """Anyone who can write to the directory can put its delivery there all the same."""
    write_csv(edge.directory / "rows.csv", make_rows(random.Random(33), 5))
    edge.run("rows.csv", "--to", "T")
    kept = edge.directory / "kept"
    shutil.copytree(edge.directory / "T", kept)
    (waiting,) = (edge.directory / "T" / "deliveries").glob("*.delivery")
    edge.hush("edge", "revoke", "T", waiting.name.split("-")[0], *edge.key)
    assert not list((edge.directory / "T" / "deliveries").glob("*.delivery"))
    shutil.copytree(kept / "deliveries", edge.directory / "T" / "deliveries", dirs_exist_ok=True)
    shutil.copytree(kept / "parts", edge.directory / "T" / "parts", dirs_exist_ok=True)
    accepted = edge.accept()
    assert (accepted["deliveries"], accepted["rejected"]) == (0, [])
    same(edge.decrypted(), own_rows())


def test_rejections_are_counted_and_then_nothing_of_the_device_is_decrypted(edge):
    """Each rejection tells something to a server that is the device's accomplice; it gets three at most."""
    hostile(edge, "hostile.key")
    rows = make_rows(random.Random(34), 1)
    rows[0][3] = "1500000000"
    write_csv(edge.directory / "bad.csv", rows)
    for spool in range(5):
        edge.run("bad.csv", "--to", "T", key="hostile.key", spool=f"spool{spool}")
    write_csv(edge.directory / "rows.csv", make_rows(random.Random(35), 4))
    edge.run("rows.csv", "--to", "T")
    accepted = edge.accept()
    assert (accepted["deliveries"], len(accepted["rejected"]), accepted["held"]) == (1, 3, 2)
    said = edge.hush("edge", "accept", "T", *edge.key).stderr
    assert f"Device {accepted['held_devices'][0]}: 3 of its deliveries were rejected" in said and "hush edge revoke" in said


def test_deliveries_and_keys_of_the_format_before_are_refused_by_name(edge):
    key = json.loads((edge.directory / "device.key").read_text(encoding="utf-8"))
    key["format"] = 1
    (edge.directory / "device.key").write_text(json.dumps(key, separators=(",", ":")), encoding="utf-8")
    complaint = edge.run("own.csv", status=4)
    assert "HUSH-G003" in complaint and "format 1" in complaint and "hush edge key" in complaint


def load_of(row):
    """The load of a row, which no two rows share."""
    return int(row[3])


def test_every_delivery_is_found_whichever_page_it_is_on(edge, tmp_path):
    """A device with many deliveries keeps no other device's out, and every list goes on to the end."""
    server = Server(tmp_path / "paged", tmp_path / "paged.log", "--max-listed", "2").start()
    try:
        edge.hush("push", "T", server.url, *server.token)
        place = f"{server.url.rstrip('/')}/tables/readings"
        token = ("--token-file", server.data / "device-token")
        sent, names = [], []
        for device, spools in (("first.key", 7), ("second.key", 2), ("third.key", 1)):
            edge.device(device)
            for spool in range(spools):
                rows = make_rows(random.Random(len(names) + 70), 3)
                write_csv(edge.directory / "rows.csv", rows)
                edge.run("rows.csv", "--to", place, *token, key=device, spool=f"{device}-{spool}")
                sent += rows
                names.append(device)
        # One beyond its range, on any page.
        rows = make_rows(random.Random(69), 1)
        rows[0][3] = "1500000000"
        write_csv(edge.directory / "rows.csv", rows)
        hostile(edge, "hostile.key")
        edge.run("rows.csv", "--to", place, *token, key="hostile.key", spool="hostile")
        accepted = edge.accept(place, *server.token)
        assert (accepted["deliveries"], accepted["rows"], accepted["waiting"]) == (10, 30, 1), accepted
        (rejected,) = accepted["rejected"]
        same(sorted(edge.decrypted(place, *server.token), key=load_of), sorted(own_rows() + sent, key=load_of))
        accepted = edge.accept(place, "--reject", rejected["delivery"], *server.token)
        assert (accepted["deliveries"], accepted["discarded"], accepted["waiting"]) == (0, 1, 0)
        # The count of waiting deliveries, which a new encryption would lose, goes on to the end too.
        write_csv(edge.directory / "rows.csv", make_rows(random.Random(90), 3))
        for spool in range(5):
            edge.run("rows.csv", "--to", place, *token, key="first.key", spool=f"late-{spool}")
        edge.hush("pull", place, "-o", "again", *edge.key, *server.token)
        edge.hush("encrypt", "own.csv", "-o", "again", "--schema", "t.schema.toml", "--replace", *edge.key)
        assert "5 deliveries wait" in edge.hush("push", "again", server.url, *server.token, status=3).stderr
    finally:
        server.kill()
