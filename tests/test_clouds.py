# SPDX-License-Identifier: Apache-2.0
"""Tables in Azure Blob Storage, by the emulator of its makers, and in Google Cloud Storage, by a server of ours that follows its pages: what is tested on S3
at each change is tried here on other protocols."""

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

import google_storage
from buckets import CACHE, free_port
from conftest import PATIENTS, approve

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


def visits():
    """Names and bodies of a folder of data."""
    for year in (2022, 2023):
        yield f"lake/visits/year={year}/part.csv", b"ward,charges\n" + b"".join(b"w%d,%d\n" % (i % 3, i) for i in range(500))


@pytest.fixture(scope="module")
def azure(tmp_path_factory):
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
        for name, body in visits():
            put(port, name, body=body)
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
def storage():
    """A server of Google's protocol with a bucket `lake`."""
    storage = google_storage.Storage()
    for name, body in visits():
        storage.put(name, body)
    yield storage
    storage.stop()


def google_environment(storage, **more):
    """The environment of a client of it."""
    account = {"gcs_base_url": f"http://127.0.0.1:{storage.port}", "disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": "", **more}
    return {"GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps(account), "GOOGLE_ALLOW_HTTP": "true"}


@pytest.fixture(params=[pytest.param("az", marks=pytest.mark.slow), "gs"])
def cloud(hush, request):
    """A runner that reaches a store, and the container there."""
    if request.param == "az":
        return hush.with_environment(**request.getfixturevalue("azure")), "az://lake"
    return hush.with_environment(**google_environment(request.getfixturevalue("storage"))), "gs://lake"


@pytest.fixture
def encrypt(hush, tmp_path, key):
    """The arguments that encrypt the example, but for the place."""
    path = tmp_path / "patients.schema.toml"
    hush("init", PATIENTS, "--sensitive", "age,charges,email", "--clear", "ward,patient_id,year,bp,temperature", "-o", path)
    approve(path)
    return ("encrypt", PATIENTS, "--schema", path, *key)


def rows(hush, place, key):
    """The answer to the query."""
    return hush("query", place, SQL, "--format", "csv", *key).stdout


def test_a_container_is_as_good_as_a_directory(hush, cloud, encrypt, key):
    run, lake = cloud
    hush(*encrypt, "-o", "T")
    expected = rows(hush, "T", key)
    run(*encrypt, "-o", f"{lake}/patients")
    assert rows(run, f"{lake}/patients", key) == expected
    run("push", "T", f"{lake}/copies/patients", "--verify")
    assert " 0 parts sent" in run("push", "T", f"{lake}/copies/patients").stderr
    assert rows(run, f"{lake}/copies/patients", key) == expected
    run("pull", f"{lake}/copies/patients", "-o", "back", *key)
    assert rows(hush, "back", key) == expected
    listed = [json.loads(line) for line in run("ls", f"{lake}/copies", "--json").stdout.splitlines()]
    assert [table["table"] for table in listed] == ["patients"]
    run(*encrypt, "-o", f"{lake}/patients", "--replace")
    assert "version    2" in run("info", f"{lake}/patients").stdout
    run("drop", lake, "patients", "--yes")
    assert run("query", f"{lake}/patients", SQL, *key, status=2).stderr.startswith("HUSH-T020")


def test_data_in_a_container_are_read(cloud, key, tmp_path):
    """A folder with partitions is encrypted from the container into the container."""
    run, lake = cloud
    run("init", f"{lake}/visits/", "--sensitive", "charges", "--clear", "ward,year", "-o", "visits.schema.toml")
    approve(tmp_path / "visits.schema.toml")
    run("encrypt", f"{lake}/visits/", "--schema", "visits.schema.toml", "-o", f"{lake}/visits.hush", *key)
    query = "SELECT year, COUNT(*), SUM(charges) FROM visits GROUP BY year ORDER BY year"
    found = run("query", f"{lake}/visits.hush", query, "--format", "csv", *key).stdout
    assert found.splitlines()[1:] == [f"{year},500,{sum(range(500))}" for year in (2022, 2023)]
    absent = run("init", f"{lake}/nothing.csv", status=None)
    assert absent.returncode != 0 and f"{lake}/nothing.csv" in absent.stderr, absent.stderr
    assert KEY not in absent.stderr and "SharedKey" not in absent.stderr


def test_of_sixteen_writers_one_commits(cloud, encrypt, key):
    run, lake = cloud
    writers = [run.start(*encrypt, "-o", f"{lake}/raced", text=True) for _ in range(WRITERS)]
    ended = [(writer.communicate()[1], writer.returncode) for writer in writers]
    assert [code for _, code in ended].count(0) == 1, ended
    # They also write the same clear part, of one name, and Google changes that as seldom as any object.
    expected = ("HUSH-T02", "HUSH-C07", "HUSH-T051") if lake.startswith("gs") else ("HUSH-T02", "HUSH-C07")
    assert all(error.startswith(expected) for error, code in ended if code != 0), ended
    assert "version    1" in run("info", f"{lake}/raced").stdout
    assert rows(run, f"{lake}/raced", key)


def test_what_changes_too_often_is_tried_again(hush, storage, encrypt, key):
    """Google changes an object once a second, and refuses what comes sooner."""
    run = hush.with_environment(**google_environment(storage))
    run(*encrypt, "-o", "gs://lake/patients")
    for version in range(2, 6):
        run(*encrypt, "-o", "gs://lake/patients", "--replace")
        assert f"version    {version}" in run("info", "gs://lake/patients").stdout
    assert len(storage.objects) > google_storage.PAGE, "lists take several pages"


def test_no_token_goes_over_an_open_line(hush, storage, key):
    """An address that begins with http:// has to be allowed, in the environment as in the file of an account."""
    lines = {"GOOGLE_BASE_URL": f"http://127.0.0.1:{storage.port}"}
    account = google_environment(storage)
    for environment in (lines | {"GOOGLE_SERVICE_ACCOUNT_KEY": account["GOOGLE_SERVICE_ACCOUNT_KEY"]}, lines, {**account, "GOOGLE_ALLOW_HTTP": "false"}):
        refused = hush.with_environment(**environment)("info", "gs://lake/patients", *key, status=None)
        assert refused.returncode != 0 and refused.stderr.startswith("HUSH-"), refused.stderr
        assert "private_key" not in refused.stderr
        if "GOOGLE_BASE_URL" in environment:
            assert "GOOGLE_ALLOW_HTTP" in refused.stderr, refused.stderr
    assert not storage.calls
