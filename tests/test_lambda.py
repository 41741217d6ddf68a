# SPDX-License-Identifier: Apache-2.0
"""Tables in a bucket, asked through functions: the bytes of one machine, within the platform's limits, whatever happens to the events."""

import json
import os
import pathlib
import random
import re
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import zipfile

import hushtable_worker as worker
import polars
import pytest
import yaml

import hushtable as ht
from buckets import ACCESS_KEY, SECRET_KEY, Proxy, credentials, s3  # noqa: F401
from conftest import ROOT, Hush, approve, binary, make_key
from lambda_emulator import SYNC_BYTES, Function, Lambda

ROWS, GROUPS = 1_000_000, 120
GROUPED = "SELECT site, COUNT(*) AS n, SUM(load) AS l, AVG(temp) AS t FROM readings GROUP BY site ORDER BY site"
SHORT = "SELECT COUNT(*), SUM(load), SUM(temp) FROM readings WHERE day < 50"
#: A number that the question compares a protected sum with; nothing else has its digits.
CANARY = 730191337
TEMPLATE = ROOT / "deploy" / "lambda" / "template.yaml"


class Lake:
    """A table of a million rows in a bucket, and its owner."""

    def __init__(self, directory, s3):
        self.s3, self.bucket, self.data = s3, "lambda", "s3://lambda/lake"
        s3.make_bucket(self.bucket)
        (directory / "home").mkdir()
        environment = credentials(s3.port)
        self.hush = Hush(directory, **environment)
        self.arguments = make_key(self.hush, directory)
        self.key = ht.open_key(self.arguments[1], passphrase_file=self.arguments[3])
        draw = random.Random(11)
        columns = {
            "site": [f"s{row % GROUPS:03}" for row in range(ROWS)],
            "day": [row * 365 // ROWS for row in range(ROWS)],
            "load": [draw.randrange(10**6) for _ in range(ROWS)],
            "temp": [draw.randrange(-500, 500) for _ in range(ROWS)],
        }
        self.table = polars.DataFrame(columns)
        self.table.write_parquet(directory / "readings.parquet")
        self.hush("init", "readings.parquet", "--sensitive", "load,temp", "--clear", "site,day", "-o", "r.schema.toml")
        approve(directory / "r.schema.toml")
        self.place = f"{self.data}/tables/readings"
        more = ("--schema", "r.schema.toml", "--memory-limit", "64MB")
        self.hush("encrypt", "readings.parquet", "-o", self.place, *more, *self.arguments)
        token = subprocess.run([binary("hush-lambda"), "token"], check=True, capture_output=True, text=True).stdout
        self.token, self.token_hash = re.search("token: (.*)", token)[1], re.search("hash: ([0-9a-f]{64})", token)[1]
        (directory / "token").write_text(self.token)
        (directory / "token").chmod(0o600)

    def prepare(self, query):
        """The owner's half of a question."""
        # Many groups are quicker as rows that come back; here they are added up.
        way = "sum" if "GROUP BY" in query else None
        return ht.open(self.place, keys=self.key, way=way).prepare(query)

    def alone(self, plan):
        """The answer of one machine."""
        parts = len(worker.part_sizes(self.place, plan))
        return worker.finish(self.place, plan, [worker.run_parts(self.place, plan, 0, parts)])


@pytest.fixture(scope="module")
def lake(tmp_path_factory, s3):
    """A table of a million rows in some tens of parts."""
    patch = pytest.MonkeyPatch()
    directory = tmp_path_factory.mktemp("lake")
    patch.setenv("HUSH_STATE_DIR", str(directory / "state"))
    for name, value in credentials(s3.port).items():
        patch.setenv(name, value)
    yield Lake(directory, s3)
    patch.undo()


class Cloud:
    """The deployed functions, in front of the bucket."""

    def __init__(self, directory, lake, front=(), worker=(), **limits):
        self.lake, self.proxy = lake, Proxy(lake.s3.port)
        self.emulator = Lambda(directory / "cloud", (ACCESS_KEY, SECRET_KEY))
        common = {
            **credentials(self.proxy.port),
            "AWS_ENDPOINT_URL_LAMBDA": self.emulator.url,
            "HUSH_DATA": lake.data,
        }
        front = {"HUSH_ROLE": "front", "HUSH_WORKER": "hush-worker", "HUSH_TOKEN_HASH": lake.token_hash, **dict(front)}
        worker = {"HUSH_ROLE": "worker", "HUSH_LEAF_BYTES": 1 << 20, **dict(worker)}
        program = [binary("hush-lambda")]
        self.emulator.deploy("hush-front", Function(program, {**common, **front}, memory_mb=512, timeout_s=29))
        self.emulator.deploy("hush-worker", Function(program, {**common, **worker}, **{"memory_mb": 1024, "concurrency": 4, **limits}))
        self.emulator.front = "hush-front"
        self.url = f"{self.emulator.url}/tables/readings"

    def request(self, method, path, body=None, token=None, **headers):
        """A request as a client makes it; follows an address in the bucket without the token. Gives status, body."""
        headers = {"Authorization": f"Bearer {token or self.lake.token}", "Content-Type": "application/json", **headers}
        opener = urllib.request.build_opener(Stay)
        request = urllib.request.Request(self.emulator.url + path, data=body, method=method, headers=headers)
        try:
            answer = opener.open(request, timeout=40)
        except urllib.error.HTTPError as refused:
            answer = refused
        if answer.status == 307:
            answer = urllib.request.urlopen(answer.headers["Location"], timeout=40)
        return answer.status, answer.read()

    def submit(self, plan, **headers):
        """A job's id."""
        status, body = self.request("POST", "/v1/jobs", plan, **headers)
        assert status == 202, body
        return json.loads(body)["id"]

    def ended(self, job, seconds=120):
        """A job's status at its end."""
        until = time.monotonic() + seconds
        while True:
            status, body = self.request("GET", f"/v1/jobs/{job}?wait_ms=20000")
            assert status == 200, body
            found = json.loads(body)
            if found["state"] in ("done", "failed"):
                return found
            assert time.monotonic() < until, found

    def answer(self, plan):
        """The bytes of an answer."""
        job = self.submit(plan)
        found = self.ended(job)
        assert found["state"] == "done", found
        status, body = self.request("GET", f"/v1/jobs/{job}/result")
        assert status == 200
        return body

    def stop(self):
        """Ends all."""
        self.emulator.stop()
        self.proxy.stop()


class Stay(urllib.request.HTTPRedirectHandler):
    """Follows nothing."""

    def redirect_request(self, *_):
        """Nothing."""
        return None


@pytest.fixture
def deploy(lake, tmp_path):
    """Deploys the functions."""
    clouds = []

    def deployed(**settings):
        clouds.append(Cloud(tmp_path / str(len(clouds)), lake, **settings))
        return clouds[-1]

    yield deployed
    for cloud in clouds:
        cloud.stop()


def test_a_million_rows_by_group_are_those_of_one_machine(lake, deploy):
    """By the command, and byte for byte; nothing over a limit, results by an address in the bucket."""
    cloud = deploy()
    arguments = (cloud.url, GROUPED, "--format", "csv", *lake.arguments, "--token-file", lake.hush.directory / "token")
    found = lake.hush("query", *arguments).stdout
    sums = {"n": polars.len(), "l": polars.col("load").sum(), "t": polars.col("temp").mean()}
    expected = lake.table.group_by("site").agg(**sums).sort("site")
    lines = [line.split(",") for line in found.splitlines()[1:]]
    assert [(site, int(n), int(total)) for site, n, total, _ in lines] == expected.select("site", "n", "l").rows()
    assert all(abs(float(mean) - exact) < 1e-6 for (*_, mean), exact in zip(lines, expected["t"]))
    prepared = lake.prepare(GROUPED)
    cloud.proxy.reset()
    answer = cloud.answer(prepared.plan)
    assert answer == lake.alone(prepared.plan)
    assert len(answer) > 4 << 20, "too small to need an address in the bucket"
    assert list(prepared.finish(answer)) == list(ht.open(lake.place, keys=lake.key).sql(GROUPED))
    cloud.emulator.settle()
    calls = cloud.emulator.invocations
    workers = [one for one in calls if one.function == "hush-worker"]
    assert len(workers) > 20 and all(len(one.payload) < 200 for one in workers)
    # Two who see the last partial answer both combine it, and write the same object at once. The test's server breaks off the second of two
    # long writes; that worker's event comes again, late.
    failed = [one for one in workers if one.ended != "ok"]
    assert all(one.ended == "error" and b"HUSH-T051" in one.answer for one in failed), failed
    assert all(len(one.answer) < SYNC_BYTES for one in calls)
    assert not cloud.emulator.dropped


def test_any_order_of_events_gives_the_same_bytes(lake, deploy):
    """Events that come twice, late, or never, and workers that are killed while they work."""
    seed = int(os.environ.get("HUSH_SEED", random.randrange(2**32)))
    print(f"HUSH_SEED={seed}")
    draw = random.Random(seed)
    cloud = deploy(front={"HUSH_PATIENCE_S": 3})
    lost = {}

    def plan(payload):
        # One task may be lost three times at most: the fourth loss gives the job up.
        action = draw.choices([None, "twice", "late", "lost", "kill"], [6, 2, 1, 1, 1])[0]
        if action == "lost":
            lost[payload] = lost.get(payload, 0) + 1
            return action if lost[payload] == 1 else None
        return action

    cloud.emulator.plan, cloud.emulator.kill_after = plan, 0.02
    for query in (GROUPED, SHORT):
        prepared = lake.prepare(query)
        expected = lake.alone(prepared.plan)
        assert cloud.answer(prepared.plan) == expected
    cloud.emulator.settle()


def test_tasks_that_always_fail_end_the_job(lake, deploy):
    """Workers that die at each try, or whose events never come: a typed failure, no answer, and no wait for ever."""
    for action in ("fail", "lost"):
        cloud = deploy(front={"HUSH_PATIENCE_S": 1})
        cloud.emulator.kill_after = 0.0
        cloud.emulator.plan = lambda payload, action=action: action if json.loads(payload)["first"] > 0 else None
        found = cloud.ended(cloud.submit(lake.prepare(SHORT).plan))
        assert (found["state"], found["code"]) == ("failed", "HUSH-V028"), found


def test_a_worker_that_runs_out_of_time_says_so(lake, deploy):
    """One leaf over all parts, and a time limit in which few could: a typed failure, or else the right answer."""
    cloud = deploy(front={"HUSH_PATIENCE_S": 1}, worker={"HUSH_LEAF_BYTES": 1 << 40}, timeout_s=0.15)
    plan = lake.prepare(GROUPED).plan
    job = cloud.submit(plan)
    found = cloud.ended(job)
    if found["state"] == "failed":
        assert found["code"] in ("HUSH-E043", "HUSH-V028"), found
        assert cloud.request("GET", f"/v1/jobs/{job}/result")[0] != 200
    else:
        assert cloud.request("GET", f"/v1/jobs/{job}/result") == (200, lake.alone(plan))
    assert all(one.ended != "timeout" for one in cloud.emulator.invocations if one.function == "hush-front")


def test_a_frozen_front_and_many_askers(lake, deploy):
    """Six owners at once through cold and thawed fronts; a plan under the same key is one job."""
    cloud = deploy()
    prepared = lake.prepare(SHORT)
    expected, found = lake.alone(prepared.plan), []
    threads = [threading.Thread(target=lambda: found.append(cloud.answer(prepared.plan))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 6
    key = {"Idempotency-Key": "once-and-only-once"}
    first = cloud.submit(prepared.plan, **key)
    cloud.emulator.forget_idle()
    assert cloud.submit(prepared.plan, **key) == first
    status, body = cloud.request("POST", "/v1/jobs", lake.prepare(GROUPED).plan, **key)
    assert (status, json.loads(body)["code"]) == (422, "HUSH-V023"), body
    assert cloud.ended(first)["state"] == "done"
    assert cloud.request("DELETE", f"/v1/jobs/{first}")[0] in (200, 204)
    assert cloud.request("GET", f"/v1/jobs/{first}")[0] == 404


def test_strangers_are_refused(lake, deploy):
    """No token, another token, an invocation without a signature; and a table cannot be put there through the front."""
    cloud = deploy()
    for token in ("x", "0" * len(lake.token), lake.token_hash):
        status, body = cloud.request("POST", "/v1/jobs", lake.prepare(SHORT).plan, token=token)
        assert status == 401, body
    assert urllib.request.urlopen(f"{cloud.emulator.url}/v1/health", timeout=10).status == 200
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{cloud.emulator.url}/2015-03-31/functions/hush-worker/invocations", data=b"{}")
    assert refused.value.code == 403
    token = ("--token-file", lake.hush.directory / "token")
    pushed = lake.hush("push", lake.place, cloud.emulator.url, *token, status=None)
    assert pushed.returncode != 0 and "HUSH-V038" in pushed.stderr and "s3://" in pushed.stderr, pushed.stderr


def test_events_of_strangers_change_nothing(lake, deploy):
    """What no front sends is refused, and nothing is written for it."""
    cloud = deploy()
    job = cloud.submit(lake.prepare(SHORT).plan)
    assert cloud.ended(job)["state"] == "done"
    for event, code in [
        (b"{}", "HUSH-L001"),
        (b"[1]", "HUSH-L001"),
        (b'{"job":"../../tables","first":0,"end":1}', "HUSH-L001"),
        (b'{"job":"%s","first":0,"end":1,"more":1}' % job.encode(), "HUSH-L001"),
        (b'{"job":"%s","first":-1,"end":5}' % job.encode(), "HUSH-L001"),
    ]:
        cloud.proxy.reset()
        done = cloud.emulator.invoke("hush-worker", event)
        assert done.ended == "error" and code in done.answer.decode(), (event, done.answer)
        assert not [call for call in cloud.proxy.calls if call.method in ("PUT", "POST", "DELETE")]
    late = cloud.emulator.invoke("hush-worker", b'{"job":"%s","first":0,"end":1}' % (b"0" * 32))
    assert late.ended == "ok" and json.loads(late.answer)["ended"] == "late"


def test_nothing_secret_is_logged_sent_or_kept(lake, deploy):
    """Logs, events, records and plans in the bucket: no token, no credential, no value that the owner protects."""
    cloud = deploy()
    query = f"SELECT SUM(load) - {CANARY} AS owed FROM readings WHERE site < 's001x' HAVING SUM(load) > {CANARY}"
    prepared = lake.prepare(query)
    job = cloud.submit(prepared.plan)
    found = cloud.ended(job)
    assert found["state"] == "done", found
    cloud.emulator.settle()
    kept = b"".join(path.read_bytes() for path in (lake.s3.directory / lake.bucket / "lake" / "jobs").rglob("*") if path.is_file())
    events = b"".join(one.payload for one in cloud.emulator.invocations if one.function == "hush-worker")
    logged = cloud.emulator.text()
    assert logged and job in logged, "nothing is logged"
    for secret in (lake.token, SECRET_KEY, str(CANARY), "correct horse", "X-Amz-Signature", "s001"):
        assert secret not in logged and secret.encode() not in events, secret
        if secret != "s001":
            assert secret.encode() not in kept, secret


@pytest.mark.parametrize(
    "change",
    [{"HUSH_ROLE": "both"}, {"HUSH_ROLE": None}, {"HUSH_TOKEN_HASH": None}, {"HUSH_TOKEN_HASH": "0"}, {"HUSH_WORKER": None}, {"HUSH_DATA": "/tmp"}],
    ids=lambda change: "-".join(f"{name}={value}" for name, value in change.items()),
)
def test_it_does_not_start_half_configured(lake, tmp_path, change):
    """A front without a token's hash would be open to all; the log says what is missing."""
    settings = {"HUSH_ROLE": "front", "HUSH_DATA": lake.data, "HUSH_WORKER": "w", "HUSH_TOKEN_HASH": lake.token_hash, **credentials(lake.s3.port)}
    settings = {name: value for name, value in {**settings, **change}.items() if value is not None}
    emulator = Lambda(tmp_path / "cloud", (ACCESS_KEY, SECRET_KEY))
    emulator.deploy("front", Function([binary("hush-lambda")], settings))
    try:
        assert emulator.invoke("front", b"{}").ended == "exit"
        assert next(iter(change)) in emulator.text(), emulator.text()
    finally:
        emulator.stop()


class Cfn(yaml.SafeLoader):
    """Reads the short forms of functions as their arguments."""


Cfn.add_multi_constructor("!", lambda loader, suffix, node: (suffix, getattr(loader, f"construct_{node.id}")(node)))


def test_the_template_is_sound(tmp_path):
    """Linted; the numbers are those of the limits; no right reaches further than it must."""
    lint = subprocess.run([pathlib.Path(sys.executable).with_name("cfn-lint"), TEMPLATE], capture_output=True, text=True)
    assert lint.returncode == 0, lint.stdout + lint.stderr
    text = TEMPLATE.read_text(encoding="utf-8")
    assert not re.search(r"[&*][a-z]+\n|: [&*][a-z]+$", text, re.MULTILINE), "CloudFormation takes no aliases"
    found = yaml.load(text, Cfn)  # noqa: S506
    resources, shared = found["Resources"], found["Globals"]["Function"]
    front, workers = resources["Front"]["Properties"], resources["Worker"]["Properties"]
    assert shared["Architectures"] == ["x86_64"] and shared["Runtime"] == "provided.al2023" and shared["EphemeralStorage"]["Size"] == 512
    assert 10 < front["Timeout"] < 30 and front["MemorySize"] <= 1024
    assert 60 <= workers["Timeout"] <= 900 and workers["EventInvokeConfig"]["MaximumRetryAttempts"] == 2
    assert workers["EventInvokeConfig"]["DestinationConfig"]["OnFailure"]["Type"] == "SQS"
    assert set(front["Environment"]["Variables"]) == {"HUSH_ROLE", "HUSH_DATA", "HUSH_WORKER", "HUSH_TOKEN_HASH"}
    assert set(workers["Environment"]["Variables"]) == {"HUSH_ROLE", "HUSH_DATA"}
    writes = {"s3:PutObject", "s3:DeleteObject"}
    for role in ("FrontRole", "WorkerRole"):
        for policy in resources[role]["Properties"]["Policies"]:
            for right in policy["PolicyDocument"]["Statement"]:
                actions = right["Action"] if isinstance(right["Action"], list) else [right["Action"]]
                assert not any("*" in action for action in actions) and right["Resource"] != "*"
                if writes & set(actions):
                    assert "/jobs/*" in str(right["Resource"]) and "tables" not in str(right["Resource"])
                if role == "FrontRole":
                    assert "sqs:SendMessage" not in actions
    blocked = resources["Bucket"]["Properties"]["PublicAccessBlockConfiguration"]
    assert all(blocked.values()) and len(blocked) == 4 and resources["Bucket"]["DeletionPolicy"] == "Retain"


def test_the_archive_brings_what_the_program_needs(lake, tmp_path):
    """At most 50 MB; started by its bootstrap and its own C library, whatever that of the platform is, it answers."""
    archive = tmp_path / "hush-lambda.zip"
    subprocess.run([sys.executable, ROOT / "tools" / "package_lambda.py", binary("hush-lambda"), archive], check=True, capture_output=True)
    assert archive.stat().st_size <= 50e6
    task = tmp_path / "task"
    with zipfile.ZipFile(archive) as opened:
        for entry in opened.infolist():
            (task / opened.extract(entry, task)).chmod(entry.external_attr >> 16)
    settings = {"HUSH_ROLE": "front", "HUSH_DATA": lake.data, "HUSH_WORKER": "w", "HUSH_TOKEN_HASH": lake.token_hash, **credentials(lake.s3.port)}
    emulator = Lambda(tmp_path / "cloud", (ACCESS_KEY, SECRET_KEY))
    emulator.front = "front"
    emulator.deploy("front", Function([task / "bootstrap"], settings, memory_mb=512))
    try:
        assert urllib.request.urlopen(f"{emulator.url}/v1/health", timeout=20).status == 200
        process = next(iter(emulator.environments.values())).process
        maps = pathlib.Path(f"/proc/{process.pid}/maps").read_text()
        assert {line.rpartition("/")[0].rpartition(" ")[2] for line in maps.splitlines() if ".so" in line} == {str(task / "lib")}
    finally:
        emulator.stop()


def test_the_program_tells_what_it_reads():
    """Help, version, and a refusal of all else; without an argument it is a function, which has to be told which."""

    def said(*arguments):
        quiet = {"PATH": os.environ["PATH"]}
        return subprocess.run([binary("hush-lambda"), *arguments], check=False, capture_output=True, text=True, env=quiet)

    for option in ("--help", "-h"):
        done = said(option)
        assert done.returncode == 0 and not done.stderr and "HUSH_DATA" in done.stdout and "token" in done.stdout
    assert re.fullmatch(r"hush-lambda \d+\.\d+\.\d+\n", said("--version").stdout)
    for arguments in (("nonsense",), ("--help", "token"), ("token", "token"), ("",)):
        done = said(*arguments)
        assert done.returncode == 1 and not done.stdout and done.stderr == "error: no such command or option: see hush-lambda --help\n"
    assert said().returncode == 1
