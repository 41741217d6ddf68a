# SPDX-License-Identifier: Apache-2.0
"""Devices that deliver to a bucket: every row once, whichever call to the store fails, and with few rights."""

import json
import os
import pathlib
import random
import shutil
import subprocess

import pytest

from buckets import bucket, credentials, proxy, s3  # noqa: F401
from devices import Edge, make_rows, own_rows, same, write_csv
from test_buckets import assert_quiet, there, through  # noqa: F401

EDGE_BIN = os.environ.get("HUSH_EDGE_BIN", "")


class Station:
    """A table in a bucket, and one device that reaches it through the proxy."""

    def __init__(self, there, through, key, directory, place):
        self.place, self.expected, self.draw, self.directory = place, own_rows(), random.Random(5), directory
        self.edge = Edge(there, key, directory, self.expected)
        there("push", "T", place)
        (directory / "device.key").unlink()
        self.edge.device(table=place)
        self.environment = through.environment

    def collect(self, name, count):
        """Rows that the device will have."""
        rows = make_rows(self.draw, count)
        write_csv(self.directory / name, rows)
        self.expected += rows

    def deliver(self, *arguments, status=0):
        """The device's program."""
        return self.edge.run(*arguments, "--to", self.place, status=status, env=self.environment)

    def check(self):
        """Every row once."""
        same(sorted(self.edge.decrypted(self.place), key=order), sorted(self.expected, key=order))


def order(row):
    """By the columns that are equal, written and decrypted."""
    return row[0], row[1], row[2].removeprefix("NA"), row[3]



@pytest.fixture
def station(there, through, key, tmp_path, bucket):  # noqa: F811
    """A table in a bucket, and a device."""
    return Station(there, through, key, tmp_path, f"s3://{bucket}/lake/readings")


def test_a_device_needs_the_rights_of_the_guide(station, proxy):  # noqa: F811
    """Nothing is listed, deleted or replaced, no part is read, and what is absent need not be told from what is forbidden."""
    def rights(call):
        is_new = call.method == "PUT" and call.creates and ("/parts/" in call.path or "/deliveries/" in call.path)
        is_read = call.method == "GET" and ("/deliveries/" in call.path or call.path.endswith("/manifest.hush"))
        return "hidden" if is_new or is_read else "denied"

    station.collect("log.csv", 17_000)
    proxy.reset(rights)
    account = station.deliver("log.csv")
    assert (account["delivered"], account["waiting"]) == (3, 0)
    assert all(call.status < 300 for call in proxy.calls), [call for call in proxy.calls if call.status >= 300]
    # The manifest, two parts, the delivery; and the hash trees of the large parts.
    assert len(proxy.calls) == 3 * 4 + 2, "\n".join(f"{c.method} {c.path[-30:]} {c.range} {c.read}" for c in proxy.calls)
    accepted = station.edge.accept(station.place)
    assert (accepted["deliveries"], accepted["version"], accepted["waiting"]) == (3, 2, 0)
    station.check()
    # Sent again, it is known: waiting, then taken.
    for taken in (False, True):
        station.collect("more.csv", 10)
        station.edge.run("more.csv", spool="first")
        subprocess.run(["cp", "-r", "first", f"copy-{taken}"], cwd=station.directory, check=True)
        for number, spool in enumerate(("first", f"copy-{taken}")):
            assert station.edge.run("--to", station.place, spool=spool, env=station.environment)["delivered"] == 1
            if taken and not number:
                station.edge.accept(station.place)
    station.edge.accept(station.place)
    station.check()


def test_a_device_may_be_killed_at_any_call(station, proxy):  # noqa: F811
    """Two deliveries, and the end at each of their calls: the next run sends what is left."""
    for number in range(1, 60):
        station.collect(f"{number}.csv", 8200)
        proxy.reset(lambda call, number=number: "kill" if call.number == number else None)
        process = station.edge.start(f"{number}.csv", "--to", station.place, env=station.environment)
        proxy.victim = process.kill
        _, errors = process.communicate()
        assert_quiet(errors)
        proxy.reset()
        if process.returncode == 0:
            break
        station.deliver(f"{number}.csv")
        assert not station.edge.waiting()
        station.edge.accept(station.place)
    else:
        raise AssertionError("it never came to its end")
    assert number > 9
    station.edge.accept(station.place)
    station.check()


def test_lost_answers_lose_and_double_nothing(station, proxy):  # noqa: F811
    for number in range(1, 8):
        station.collect(f"{number}.csv", 20)
        proxy.reset(lambda call, number=number: "lost" if call.number == number else None)
        assert station.deliver(f"{number}.csv")["delivered"] == 1
        assert station.edge.accept(station.place)["deliveries"] == 1
    assert len(proxy.calls) < number
    station.check()


def test_an_acceptance_may_be_killed_at_any_call(station, proxy, s3, bucket):  # noqa: F811
    """What devices have delivered is taken in once, whatever becomes of the owner's program."""
    owner = station.edge.hush.with_environment(**credentials(proxy.port))
    for number in range(1, 60):
        station.collect(f"{number}.csv", 20)
        station.deliver(f"{number}.csv")
        proxy.reset(lambda call, number=number: "kill" if call.number == number else None)
        process = owner.start("edge", "accept", station.place, *station.edge.key)
        proxy.victim = process.kill
        process.communicate()
        proxy.reset()
        if process.returncode == 0:
            break
        station.edge.accept(station.place)
        # Each version that was replaced is looked at by a sweep.
        shutil.rmtree(s3.directory / bucket / "lake" / "readings" / "versions")
    else:
        raise AssertionError("it never came to its end")
    assert number > 8
    station.check()


def test_a_store_that_fails_is_waited_for_or_told(station, proxy):  # noqa: F811
    station.collect("log.csv", 9000)
    away = {**station.environment, **credentials(1)}
    account = station.edge.run("log.csv", "--to", station.place, "--patience", "0.1", env=away)
    assert (account["delivered"], account["waiting"]) == (0, 2)
    for action, words in (("expired", "(ExpiredToken)"), ("denied", "(AccessDenied)")):
        proxy.reset(lambda call, action=action: action if call.method == "PUT" else None)
        refused = station.deliver(status=4)
        assert refused.startswith("chunk") or "HUSH-T051" in refused
        assert words in refused and "Way out" in refused
        assert_quiet(refused)
    proxy.reset(lambda call: "slow" if call.number % 3 == 1 else None)
    assert station.deliver()["delivered"] == 2
    # A part that cannot be fetched is the store's fault, and no delivery's.
    owner = station.edge.hush.with_environment(**credentials(proxy.port))
    proxy.reset(lambda call: "expired" if "/parts/" in call.path else None)
    failed = owner("edge", "accept", station.place, *station.edge.key, status=4)
    assert "(ExpiredToken)" in failed.stderr and "Rejected" not in failed.stderr
    station.edge.accept(station.place)
    station.check()


def test_a_part_that_is_swept_before_its_delivery_is_sent_again(station, proxy, s3, bucket):  # noqa: F811
    """A sweep takes parts that nothing names for a day: here between a part and the delivery that names it."""
    parts, swept = s3.directory / bucket / "lake" / "readings" / "parts", []
    before = set(parts.iterdir())
    station.collect("log.csv", 50)
    proxy.reset(lambda call: "expired" if "/deliveries/" in call.path else None)
    station.deliver("log.csv", status=4)

    def sweep(call):
        if "/deliveries/" in call.path and not swept:
            swept.extend(path for path in parts.iterdir() if path not in before)
            for path in swept:
                path.unlink()

    proxy.reset(sweep)
    assert station.deliver("log.csv")["delivered"] == 1 and len(swept) == 2
    assert station.edge.accept(station.place)["deliveries"] == 1
    station.check()


def test_a_revoked_device_is_refused(station):
    station.collect("log.csv", 5)
    station.deliver("log.csv")
    station.edge.accept(station.place)
    device = json.loads((station.directory / "spool" / "state.json").read_text(encoding="utf-8"))["key"][:32]
    station.edge.hush("edge", "revoke", station.place, device, "--remove-rows", *station.edge.key)
    write_csv(station.directory / "more.csv", make_rows(station.draw, 5))
    assert "HUSH-T060" in station.deliver("more.csv", status=9)
    station.expected = station.expected[:-5]
    station.check()


@pytest.mark.slow
@pytest.mark.skipif(not EDGE_BIN, reason="HUSH_EDGE_BIN names no directory of small programs")
def test_the_small_programs_say_that_they_reach_no_store(station):
    station.edge.program = pathlib.Path(EDGE_BIN) / "hush-edge"
    refused = station.deliver(status=2)
    assert "built without object stores" in refused
