# SPDX-License-Identifier: Apache-2.0
"""Tables in Azure Blob Storage, by the emulator of its makers: what is tested on S3 at each change is tried here on another protocol."""

import base64
import contextlib
import email.utils
import hashlib
import hmac
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.request

import pytest

from buckets import CACHE, free_port
from conftest import PATIENTS, approve

pytestmark = pytest.mark.slow

ACCOUNT, KEY = "hushtests", base64.b64encode(b"a key of the tests, 32 bytes..!!").decode()
SQL = "SELECT ward, COUNT(*) AS n, SUM(charges) AS c, AVG(age) AS a FROM patients GROUP BY ward ORDER BY ward"
WRITERS = 16


def azurite():
    """The emulator's program, installed if it is not in the cache; skipped without Node."""
    program = CACHE / "npm" / "node_modules" / ".bin" / "azurite-blob"
    if not program.exists():
        if shutil.which("npm") is None:
            pytest.skip("Node is not installed")
        command = ["npm", "install", "--silent", "--no-fund", "--no-audit", "--prefix", CACHE / "npm", "azurite@3.35.0"]
        subprocess.run(command, check=True, capture_output=True)
    return program


@pytest.fixture(scope="module")
def blobs(tmp_path_factory):
    """The environment of a client of a running emulator with a container `lake`."""
    port = free_port()
    command = [azurite(), "--blobPort", str(port), "--inMemoryPersistence", "--skipApiVersionCheck", "--silent", "--disableTelemetry"]
    environment = {**os.environ, "AZURITE_ACCOUNTS": f"{ACCOUNT}:{KEY}"}
    process = subprocess.Popen(command, env=environment, cwd=tmp_path_factory.mktemp("azurite"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 60
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            assert process.poll() is None and time.monotonic() < until, "azurite does not listen"
            time.sleep(0.1)
        put(port, "lake", ("restype", "container"))
        for year in (2022, 2023):
            put(port, f"lake/visits/year={year}/part.csv", body=b"ward,charges\n" + b"".join(b"w%d,%d\n" % (i % 3, i) for i in range(500)))
        yield {
            "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,
            "AZURE_STORAGE_ACCOUNT_KEY": KEY,
            "AZURE_STORAGE_ENDPOINT": f"http://127.0.0.1:{port}/{ACCOUNT}",
            "AZURE_ALLOW_HTTP": "true",
        }
    finally:
        process.kill()
        process.wait()


def put(port, name, parameter=None, body=b""):
    """Makes a container or a blob, by a request with the account's key."""
    headers = {"x-ms-blob-type": "BlockBlob", "x-ms-date": email.utils.formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
    signed = "".join(f"{header}:{value}\n" for header, value in sorted(headers.items()))
    resource = f"/{ACCOUNT}/{ACCOUNT}/{name}" + (f"\n{parameter[0]}:{parameter[1]}" if parameter else "")
    kind = "application/octet-stream"
    length = str(len(body)) if body else ""
    text = f"PUT\n\n\n{length}\n\n{kind}\n\n\n\n\n\n\n{signed}{resource}"
    signature = base64.b64encode(hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()).decode()
    headers |= {"Authorization": f"SharedKey {ACCOUNT}:{signature}", "Content-Length": str(len(body)), "Content-Type": kind}
    url = f"http://127.0.0.1:{port}/{ACCOUNT}/{name}" + (f"?{parameter[0]}={parameter[1]}" if parameter else "")
    assert urllib.request.urlopen(urllib.request.Request(url, body, headers, method="PUT"), timeout=20).status == 201


@pytest.fixture
def azure(hush, blobs):
    """A runner that reaches the emulator."""
    return hush.with_environment(**blobs)


@pytest.fixture
def encrypt(hush, tmp_path, small_key):
    """The arguments that encrypt the example, but for the place."""
    path = tmp_path / "patients.schema.toml"
    hush("init", PATIENTS, "--sensitive", "age,charges,email", "--clear", "ward,patient_id,year,bp,temperature", "-o", path)
    approve(path)
    return ("encrypt", PATIENTS, "--schema", path, *small_key)


def rows(hush, place, key):
    """The answer to the query."""
    return hush("query", place, SQL, "--format", "csv", *key).stdout


def test_a_container_is_as_good_as_a_directory(hush, azure, encrypt, small_key):
    hush(*encrypt, "-o", "T")
    expected = rows(hush, "T", small_key)
    azure(*encrypt, "-o", "az://lake/patients")
    assert rows(azure, "az://lake/patients", small_key) == expected
    azure("push", "T", "az://lake/copies/patients", "--verify")
    assert " 0 parts sent" in azure("push", "T", "az://lake/copies/patients").stderr
    assert rows(azure, "az://lake/copies/patients", small_key) == expected
    azure("pull", "az://lake/copies/patients", "-o", "back", *small_key)
    assert rows(hush, "back", small_key) == expected
    listed = [json.loads(line) for line in azure("ls", "az://lake/copies", "--json").stdout.splitlines()]
    assert [table["table"] for table in listed] == ["patients"]
    azure(*encrypt, "-o", "az://lake/patients", "--replace")
    assert "version    2" in azure("info", "az://lake/patients").stdout
    azure("drop", "az://lake", "patients", "--yes")
    assert azure("query", "az://lake/patients", SQL, *small_key, status=2).stderr.startswith("HUSH-T020")


def test_data_in_a_container_are_read(azure, small_key, tmp_path):
    """A folder with partitions is encrypted from the container into the container."""
    azure("init", "az://lake/visits/", "--sensitive", "charges", "--clear", "ward,year", "-o", "visits.schema.toml")
    approve(tmp_path / "visits.schema.toml")
    azure("encrypt", "az://lake/visits/", "--schema", "visits.schema.toml", "-o", "az://lake/visits.hush", *small_key)
    query = "SELECT year, COUNT(*), SUM(charges) FROM visits GROUP BY year ORDER BY year"
    found = azure("query", "az://lake/visits.hush", query, "--format", "csv", *small_key).stdout
    assert found.splitlines()[1:] == [f"{year},500,{sum(range(500))}" for year in (2022, 2023)]
    absent = azure("init", "az://lake/nothing.csv", status=None)
    assert absent.returncode != 0 and "az://lake/nothing.csv" in absent.stderr, absent.stderr
    assert KEY not in absent.stderr and "SharedKey" not in absent.stderr


def test_of_sixteen_writers_one_commits(azure, encrypt, small_key):
    writers = [azure.start(*encrypt, "-o", "az://lake/raced", text=True) for _ in range(WRITERS)]
    ended = [(writer.communicate()[1], writer.returncode) for writer in writers]
    assert [code for _, code in ended].count(0) == 1, ended
    assert all(error.startswith(("HUSH-T02", "HUSH-C07")) for error, code in ended if code != 0), ended
    assert "version    1" in azure("info", "az://lake/raced").stdout
    assert rows(azure, "az://lake/raced", small_key)
