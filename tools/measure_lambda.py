#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures a grouped question on a table of ROWS rows in a bucket: by one machine, and by emulated functions.

    HUSH_BIN=DIRECTORY measure_lambda.py [ROWS] [GROUPS] [CORES]    by default 1000000, 8 and 2

The bucket is a server on this machine, behind a proxy that counts, for both; the functions are real processes under the emulator of the tests. CORES
workers at once. Prints medians, the function's cold start, and the size of its archive.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

import hushtable_worker as worker
import measured_table
from measured_table import QUERY

import hushtable as ht

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import cloud  # noqa: E402
from buckets import S3, Proxy, credentials  # noqa: E402
from conftest import Hush, binary, make_key  # noqa: E402

TURNS = 9


def main(rows=1_000_000, groups=8, cores=2):
    """Prints all."""
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        s3 = S3(directory / "buckets")
        proxy = Proxy(s3.port)
        emulator, token_file = cloud.deploy(directory, s3, proxy)
        emulator.functions["hush-worker"].concurrency = cores
        os.environ.update(credentials(proxy.port), HUSH_STATE_DIR=str(directory / "state"))
        try:
            place, key = f"{cloud.DATA}/tables/t", owner(directory)
            measured_table.encrypt(directory, rows, groups, key, place)
            measure(emulator, proxy, token_file.read_text(), place, ht.open(place, keys=key).prepare(QUERY).plan, cores)
        finally:
            emulator.stop()
            proxy.stop()
            s3.stop()
        archive = directory / "hush-lambda.zip"
        subprocess.run([sys.executable, ROOT / "tools" / "package_lambda.py", binary("hush-lambda"), archive], check=True, capture_output=True)
        say("archive", archive.stat().st_size / 1e6, "MB")


def owner(directory):
    """A key."""
    (directory / "home").mkdir()
    arguments = make_key(Hush(directory), directory, "--opens-in", "16MiB")
    return ht.open_key(arguments[1], passphrase_file=arguments[3])


def measure(emulator, proxy, token, place, plan, cores):
    """The question by one machine and by functions, in turns; the same bytes, or an error."""

    def alone():
        parts = len(worker.part_sizes(place, plan))
        return worker.finish(place, plan, [worker.run_parts(place, plan, 0, parts, threads=cores)])

    def request(method, path, body=None):
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        return urllib.request.urlopen(urllib.request.Request(emulator.url + path, body, headers, method=method)).read()

    def through_functions():
        job = json.loads(request("POST", "/v1/jobs", plan))["id"]
        while (found := json.loads(request("GET", f"/v1/jobs/{job}?wait_ms=10000")))["state"] != "done":
            assert found["state"] != "failed", found
        answer = request("GET", f"/v1/jobs/{job}/result")
        request("DELETE", f"/v1/jobs/{job}")
        return answer

    sizes = worker.part_sizes(place, plan)
    say("parts", len(sizes), "")
    say("bytes that the question needs", sum(size for _, size in sizes) / 1e6, "MB")
    expected = alone()
    begun = time.monotonic()
    assert through_functions() == expected
    say("first question through functions, all processes cold", time.monotonic() - begun, "s")
    cold = []
    for _ in range(TURNS):
        emulator.forget_idle()
        begun = time.monotonic()
        request("GET", "/v1/tables")
        cold.append(time.monotonic() - begun)
    say("cold start of a front to its first answer from the bucket, files in memory", statistics.median(cold), "s")
    through_functions()
    cloud.use(emulator, proxy)
    times = {"alone": [], "functions": [], "ratio": []}
    for _ in range(TURNS):
        for name, run in (("alone", alone), ("functions", through_functions)):
            begun = time.monotonic()
            assert run() == expected, "other bytes"
            times[name].append(time.monotonic() - begun)
        times["ratio"].append(times["functions"][-1] / times["alone"][-1])
    say(f"one machine, {cores} threads, table in the bucket, warm", statistics.median(times["alone"]), "s")
    say("through functions, warm", statistics.median(times["functions"]), "s")
    say("ratio", statistics.median(times["ratio"]), "")
    used = {name: value / TURNS for name, value in cloud.use(emulator, proxy).items()}
    for name in ("front_calls", "worker_calls", "front_gb_s", "worker_gb_s", "store_reads", "store_read_bytes", "store_writes"):
        say(f"for one question: {name}", used[name], "")


def say(what, value, unit):
    """A line."""
    print(f"{what:75} {value:10.3f} {unit}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
