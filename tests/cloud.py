# SPDX-License-Identifier: Apache-2.0
"""The deployed functions and their bucket, emulated on this machine for a program that asks them: what `hush bench split-table --serverless` starts.

    HUSH_BIN=DIRECTORY python tests/cloud.py

The first line of the output is one JSON object: ``url`` of the gateway, ``data`` (the functions' place in the bucket), ``token_file``, and
``environment``, the variables with which the bucket is reached. Each line of the input is answered by the use since the last one, as JSON. It ends with
the input.
"""

import contextlib
import json
import pathlib
import subprocess
import sys
import tempfile

from buckets import ACCESS_KEY, S3, SECRET_KEY, Proxy, credentials
from conftest import binary
from lambda_emulator import Function, Lambda

BUCKET, DATA = "lake", "s3://lake/hush"
#: Megabytes of the functions, as in deploy/lambda/template.yaml.
FRONT_MB, WORKER_MB = 512, 3008


def deploy(directory, s3, proxy):
    """Deploys front and worker; gives the emulator and the file of the owner's token."""
    printed = subprocess.run([binary("hush-lambda"), "token"], check=True, capture_output=True, text=True).stdout
    token = dict(line.split(": ") for line in printed.splitlines() if ": " in line)
    token_file = directory / "token"
    token_file.write_text(token["token"])
    token_file.chmod(0o600)
    emulator = Lambda(directory / "functions", (ACCESS_KEY, SECRET_KEY))
    common = {**credentials(proxy.port), "AWS_ENDPOINT_URL_LAMBDA": emulator.url, "HUSH_DATA": DATA}
    front = {**common, "HUSH_ROLE": "front", "HUSH_WORKER": "hush-worker", "HUSH_TOKEN_HASH": token["hash"]}
    emulator.deploy("hush-front", Function([binary("hush-lambda")], front, memory_mb=FRONT_MB, timeout_s=29))
    emulator.deploy("hush-worker", Function([binary("hush-lambda")], {**common, "HUSH_ROLE": "worker"}, memory_mb=WORKER_MB, timeout_s=300))
    emulator.front = "hush-front"
    s3.make_bucket(BUCKET)
    return emulator, token_file


def use(emulator, proxy):
    """What has been used since the last call."""
    emulator.settle()
    calls, emulator.invocations = emulator.invocations, []
    requests, proxy.calls = proxy.calls, []
    by_role = {role: [one for one in calls if one.function == f"hush-{role}"] for role in ("front", "worker")}
    reads = [call for call in requests if call.method in ("GET", "HEAD")]
    return {
        "front_calls": len(by_role["front"]),
        "worker_calls": len(by_role["worker"]),
        "cold_starts": sum(one.is_cold for one in calls),
        "front_gb_s": emulator.gigabyte_seconds(by_role["front"]),
        "worker_gb_s": emulator.gigabyte_seconds(by_role["worker"]),
        "longest_s": max((one.seconds for one in calls), default=0.0),
        "peak_mb": max((one.peak_mb for one in calls), default=0),
        "largest_bytes": max((max(len(one.payload), len(one.answer)) for one in calls), default=0),
        "failed": sum(one.ended != "ok" for one in calls),
        "store_reads": len(reads),
        "store_writes": len(requests) - len(reads),
        "store_read_bytes": sum(call.read for call in reads),
        "store_written_bytes": sum(call.written for call in requests),
    }


def main():
    """Serves until the input ends."""
    with tempfile.TemporaryDirectory(prefix="hush-cloud-") as scratch, contextlib.ExitStack() as stack:
        directory = pathlib.Path(scratch)
        s3 = S3(directory / "buckets")
        stack.callback(s3.stop)
        proxy = Proxy(s3.port)
        stack.callback(proxy.stop)
        emulator, token_file = deploy(directory, s3, proxy)
        stack.callback(emulator.stop)
        facts = {"url": emulator.url, "data": DATA, "token_file": str(token_file), "environment": credentials(proxy.port)}
        print(json.dumps(facts), flush=True)
        for _ in sys.stdin:
            print(json.dumps(use(emulator, proxy)), flush=True)


if __name__ == "__main__":
    main()
