# SPDX-License-Identifier: Apache-2.0
"""Spark itself: what its executors give has the bytes of one machine. One session in the gate, other versions and faults in the long suite."""

import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import hushtable_worker as worker
import pytest

from conftest import PATIENTS, ROOT
from test_worker import QUERIES, Lake

SPARK_35 = os.environ.get("HUSH_SPARK_35", "")
pytestmark = [
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java"),
    pytest.mark.skipif(sys.platform != "linux", reason="tried on Linux"),
]


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """A table of 23 parts."""
    return Lake(tmp_path_factory.mktemp("lake"))


def started(lake, queries=()):
    """The arguments of a session, but for its steps."""
    return [lake.place, lake.arguments[1], lake.arguments[3], json.dumps(list(queries))]


def job(lake, master, *steps, queries=QUERIES.values(), python=sys.executable):
    """What a session finds."""
    command = [python, ROOT / "tests" / "spark_job.py", master, *started(lake, queries), *steps]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=lake.directory)
    assert done.returncode == 0, done.stderr[-4000:]
    found = json.loads(done.stdout.splitlines()[-1])
    print(f"Spark {found['spark']}: session after {found['session_s']:.1f} s")
    return found


def check(found, count):
    """All equal, none empty."""
    assert len(found["queries"]) == count
    assert all(query["bytes"] and query["rows"] and query["count"] for query in found["queries"]), found


def check_encrypted(found):
    """Rows of a frame were taken in once."""
    assert found["announced"] == [[30_000, 4, False], [0, 0, True]]
    assert found["accepted"] == [30_000, 0, []] and found["equal"], found


def test_spark_gives_the_bytes_of_one_machine(lake):
    """A grouped query in the version that is installed; the setting of the session is as it was. And a frame that is encrypted."""
    found = job(lake, "local[2]", "queries", "setting", "encrypted", queries=[QUERIES["grouped"]])
    check(found, 1)
    assert found["setting"] == [None, None, "77"]
    check_encrypted(found["encrypted"])


@pytest.mark.slow
@pytest.mark.parametrize("master", ["local[2]", "connect"])
def test_every_kind_of_question(lake, master):
    """In an ordinary session and over Spark Connect; an error of a task names place and code, and has Spark's report as its cause."""
    found = job(lake, master, "queries", "setting", "damage", "encrypted", "wrong_rows")
    check(found, len(QUERIES))
    check_encrypted(found["encrypted"])
    wrong = found["wrong_rows"]
    assert "load" in wrong["message"] and "1073741823" not in wrong["message"] and wrong["cause"] == "PythonException" and not wrong["accepted"], wrong
    assert found["setting"] == [None, None, "77"]
    damage = found["damage"]
    assert re.fullmatch(r"HUSH-E06[01]", damage["code"]) and lake.place in damage["message"] and damage["cause"] == "PythonException"


@pytest.mark.slow
@pytest.mark.skipif(not SPARK_35, reason="HUSH_SPARK_35 names no Python with Spark 3.5")
def test_spark_35(lake):
    """The oldest version that is served."""
    found = job(lake, "local[2]", "queries", "damage", "encrypted", python=SPARK_35)
    check_encrypted(found["encrypted"])
    assert found["spark"].startswith("3.5.")
    check(found, len(QUERIES))
    assert lake.place in found["damage"]["message"]


@pytest.mark.slow
def test_a_task_that_dies_runs_again(lake):
    """The first process of a task ends; Spark starts another, and the answer is the same. Two attempts at once need two machines, as Spark
    sees to; the cluster of test_worker.py has them."""
    found = job(lake, "local[2,4]", "deaths")["deaths"]
    assert found["rows"] and found["died"]


@pytest.mark.slow
def test_a_task_that_dies_behind_its_work_counts_once(lake):
    """Its first process has stored parts, and ends before anybody hears of them."""
    found = job(lake, "local[2,4]", "encrypted_by_mortals")["encrypted_by_mortals"]
    check_encrypted(found)
    assert found["marked"]


@pytest.mark.slow
def test_a_driver_that_dies_has_added_nothing(lake, tmp_path, monkeypatch):
    """Killed while tasks have stored parts; the same job in another session adds its rows, once."""
    monkeypatch.setenv("HUSH_COPY", str(tmp_path / "copy"))
    (tmp_path / "copy").mkdir()
    command = [sys.executable, ROOT / "tests" / "spark_job.py", "local[2]", *started(lake), "encrypted_for_ever"]
    with subprocess.Popen(list(map(str, command)), cwd=lake.directory, start_new_session=True, stderr=subprocess.DEVNULL) as driver:
        until = time.monotonic() + 300
        while not (tmp_path / "copy" / "mark").exists():
            assert driver.poll() is None and time.monotonic() < until
            time.sleep(0.1)
        os.killpg(driver.pid, signal.SIGKILL)
    parts = lambda: len(list((tmp_path / "copy" / "T" / "parts").glob("*.enc.parquet")))  # noqa: E731
    before = parts()
    check_encrypted(job(lake, "local[2]", "encrypted")["encrypted"])
    # The parts of the dead run lie beside those of the other.
    assert before > 23 and parts() == before + 4


@pytest.mark.slow
def test_the_guide_runs(tmp_path):
    """Every example of the guide prints the guide's output."""
    shutil.copy(PATIENTS, tmp_path / "patients.csv")
    passphrase = tmp_path / "passphrase"
    passphrase.write_text("correct horse", encoding="utf-8")
    passphrase.chmod(0o600)
    text = (ROOT / "docs" / "guides" / "spark.md").read_text(encoding="utf-8")
    examples = "\n".join(re.findall(r"```pycon\n(.*?)```", text, re.DOTALL))
    (tmp_path / "guide.txt").write_text(examples + ">>> spark.stop()\n", encoding="utf-8")
    command = [sys.executable, "-W", "ignore", "-m", "doctest", "-o", "NORMALIZE_WHITESPACE", "guide.txt"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0 and examples.count(">>>") > 15, done.stdout + done.stderr[-2000:]


@pytest.mark.slow
def test_dask_gives_the_bytes_of_one_machine(lake):
    """The recipe of the guide."""
    bag = pytest.importorskip("dask.bag")
    plan = lake.prepare(QUERIES["grouped"]).plan
    runs = worker.cut(worker.part_sizes(lake.place, plan), 8)
    evaluate = functools.partial(worker.run_parts, lake.place, plan)
    partials = bag.from_sequence(runs).starmap(evaluate).compute()
    assert len(partials) == len(runs) > 4 and worker.finish(lake.place, plan, partials) == lake.alone(plan)


@pytest.mark.slow
def test_ray_gives_the_bytes_of_one_machine(lake, monkeypatch):
    """The recipe of the guide."""
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    ray = pytest.importorskip("ray")
    plan = lake.prepare(QUERIES["grouped"]).plan
    runs = worker.cut(worker.part_sizes(lake.place, plan), 8)
    ray.init(num_cpus=2, include_dashboard=False)
    try:
        task = ray.remote(worker.run_parts)
        partials = ray.get([task.remote(lake.place, plan, *run) for run in runs])
    finally:
        ray.shutdown()
    assert len(partials) == len(runs) > 4 and worker.finish(lake.place, plan, partials) == lake.alone(plan)
