# SPDX-License-Identifier: Apache-2.0
"""Workers without a key: any cut of the parts, on any machines, gives the bytes of one machine, or an error that names the place."""

import importlib.metadata
import os
import pathlib
import pickle
import random
import subprocess
import sys
import tomllib

import hushtable_worker as worker
import hushtable_worker.spark
import pytest

import hushtable as ht
from buckets import credentials, s3  # noqa: F401
from conftest import ROOT, Hush, binary, make_key
from spark_cluster import RECORDS, Cluster

SCHEMA = """format = 1
table = "readings"
status = "approved"
approved_by = "test"
max_rows = 10000000
edge = true

[columns.site]
type = "category"
protect = "clear"
[columns.day]
type = "int(8)"
protect = "clear"
[columns.share]
type = "float(3)"
protect = "clear"
[columns.temp]
type = "decimal(8,1)"
range = [-100000, 100000]
nullable = true
protect = "encrypt"
for = ["sum", "avg"]
[columns.load]
type = "int(32)"
range = [0, 1000000000]
protect = "encrypt"
"""
QUERIES = {
    "grouped": "SELECT site, COUNT(*), SUM(load), AVG(temp) FROM readings GROUP BY site ORDER BY site",
    "ungrouped": "SELECT COUNT(temp), SUM(load) FROM readings WHERE day < 20",
    "rows": "SELECT site, day, load FROM readings WHERE day % 9 = 1 ORDER BY site, day, load",
    "first rows": "SELECT site, load FROM readings LIMIT 30",
    "clear only": "SELECT day, COUNT(*), MIN(site) FROM readings GROUP BY day ORDER BY day",
    "distinct": "SELECT site, COUNT(DISTINCT day), SUM(load) FROM readings GROUP BY site ORDER BY site",
    "clear floats": "SELECT site, AVG(share), STDDEV(share), SUM(load) FROM readings GROUP BY site ORDER BY site",
}
#: More groups than one plan adds up.
MANY_GROUPS = "SELECT share, SUM(load) FROM readings GROUP BY share ORDER BY share"
PARTS = 23
#: A number that a question compares protected sums with; nothing else has its digits.
CANARY = 730191337


class Lake:
    """A table of many small parts, and its owner's key."""

    def __init__(self, directory):
        (directory / "home").mkdir()
        hush = self.hush = Hush(directory)
        self.directory, self.place, self.arguments = directory, str(directory / "T"), make_key(hush, directory)
        self.key = ht.open_key(self.arguments[1], passphrase_file=self.arguments[3])
        draw = random.Random(3)
        (directory / "t.schema.toml").write_text(SCHEMA, encoding="utf-8")
        self.write("own.csv", draw, 1500)
        hush("encrypt", "own.csv", "-o", "T", "--schema", "t.schema.toml", *self.arguments)
        hush("edge", "key", "T", "-o", "device.key", *self.arguments)
        for number in range(1, PARTS):
            self.append(number, draw)
        hush("edge", "accept", "T", *self.arguments)

    def append(self, number, draw):
        """Delivers a part."""
        self.write(f"{number}.csv", draw, draw.randrange(1, 60))
        command = [binary("hush-edge"), f"{number}.csv", "--to", "T", "--key", "device.key", "--spool", f"spool{number}"]
        subprocess.run(command, check=True, capture_output=True, cwd=self.directory, env=self.hush.environment)

    def write(self, name, draw, count):
        """Random rows."""
        rows = ["site,day,share,temp,load"]
        for _ in range(count):
            temp = "" if draw.random() < 0.1 else f"{draw.randrange(-4000, 6000) / 10:.1f}"
            rows.append(f"{draw.choice('abc')},{draw.randrange(28)},{draw.uniform(-9, 9):.3f},{temp},{draw.randrange(10**6)}")
        (self.directory / name).write_text("\n".join(rows) + "\n", encoding="utf-8")

    def prepare(self, query):
        """The owner's half of a question."""
        return ht.open(self.place, keys=self.key).prepare(query)

    def alone(self, plan):
        """The answer of one machine."""
        return worker.finish(self.place, plan, [worker.run_parts(self.place, plan, 0, PARTS)])


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """A table of 23 parts."""
    return Lake(tmp_path_factory.mktemp("lake"))


@pytest.fixture(autouse=True)
def forgetful(tmp_path, monkeypatch):
    """Tables that were seen are remembered for one test: the bucket of the next run has the same name."""
    monkeypatch.setenv("HUSH_STATE_DIR", str(tmp_path / "state"))


@pytest.fixture
def draw():
    """Random numbers; the seed is printed."""
    seed = int(os.environ.get("HUSH_SEED", random.randrange(2**32)))
    print(f"HUSH_SEED={seed}")
    return random.Random(seed)


def rows(result):
    """A result as Python values."""
    return list(result)


def test_keys_bring_back_what_is_whole(tmp_path, draw):
    """Partial answers to a condition without keys have all components; whoever puts them together brings the sums back, to the bytes of one machine."""
    (tmp_path / "home").mkdir()
    hush = Hush(tmp_path)
    arguments = make_key(hush, tmp_path)
    (tmp_path / "t.schema.toml").write_text(
        'format = 1\ntable = "t"\nstatus = "approved"\napproved_by = "test"\nmax_rows = 100000\nanswer_keys = true\n'
        '[columns.ward]\ntype = "category"\nprotect = "clear"\n'
        '[columns.age]\ntype = "int(8)"\nrange = [0, 60]\nprotect = "encrypt"\nfor = ["filter"]\n'
        '[columns.dose]\ntype = "int(16)"\nrange = [0, 9000]\nprotect = "encrypt"\nfor = ["measure"]\n',
        encoding="utf-8",
    )
    for part in range(4):
        lines = "".join(f"{draw.choice('ab')},{draw.randrange(61)},{draw.randrange(9001)}\n" for _ in range(400))
        (tmp_path / f"{part}.csv").write_text("ward,age,dose\n" + lines, encoding="utf-8")
        write = ["append", f"{part}.csv", "-o", "T"] if part else ["encrypt", "0.csv", "--schema", "t.schema.toml", "-o", "T"]
        hush(*write, *arguments)
    place, key = str(tmp_path / "T"), ht.open_key(arguments[1], passphrase_file=arguments[3])
    for query in ("SELECT COUNT(*), SUM(dose) FROM t WHERE age BETWEEN 13 AND 51", "SELECT ward, SUM(dose), COUNT(*) FROM t WHERE age > 40 GROUP BY ward ORDER BY ward"):
        prepared = ht.open(place, keys=key, way="filter").prepare(query)
        assert b"relinearised" in prepared.plan
        whole = worker.finish(place, prepared.plan, [worker.run_parts(place, prepared.plan, 0, 4)])
        partials = [worker.run_parts(place, prepared.plan, a, b) for a, b in ((3, 4), (0, 1), (1, 3))]
        assert worker.finish(place, prepared.plan, partials) == whole
        assert 3 * len(whole) < sum(map(len, partials))
        assert rows(prepared.finish(whole)) == rows(ht.open(place, keys=key, way="fetch").sql(query))


@pytest.mark.parametrize("name", QUERIES)
def test_any_cut_gives_the_answer_of_one_machine(lake, draw, name):
    """Runs of random length, combined in a random tree; opened, it is the result of asking at home."""
    prepared = lake.prepare(QUERIES[name])
    plan, expected = prepared.plan, lake.alone(prepared.plan)
    for _ in range(3):
        borders = sorted(draw.sample(range(1, PARTS), draw.randrange(PARTS)))
        partials = [worker.run_parts(lake.place, plan, a, b) for a, b in zip([0, *borders], [*borders, PARTS])]
        draw.shuffle(partials)
        while len(partials) > 3:
            taken, partials = partials[:3], partials[3:]
            partials.append(worker.combine(lake.place, plan, taken))
        assert worker.finish(lake.place, plan, partials) == expected
    assert rows(prepared.finish(expected)) == rows(ht.open(lake.place, keys=lake.key).sql(QUERIES[name]))


@pytest.mark.parametrize("name", QUERIES)
def test_a_cluster_gives_the_answer_of_one_machine(lake, draw, name):
    """Tasks are lost, repeated and reordered; some places of the combination get nothing. Its processes have no owner's package."""
    prepared = lake.prepare(QUERIES[name])
    cluster = Cluster(draw)
    tasks = draw.choice([1, 5, PARTS, 2 * PARTS])
    answer = ht.spark.evaluate(cluster, lake.place, prepared.plan, tasks=tasks)
    cluster.close()
    assert answer == lake.alone(prepared.plan)
    assert cluster.modules and not any(module.split(".")[0] == "hushtable" for module in cluster.modules)
    assert cluster.stages[0] <= min(tasks, PARTS) and len(cluster.sent) == (2 if cluster.stages[0] > 16 else 1)


def test_a_question_is_asked_in_one_call(lake, draw):
    """`query` plans, evaluates and finishes, a second time for many groups; the session's setting is as it was."""
    cluster = Cluster(draw)
    cluster.conf[RECORDS] = "77"
    with pytest.raises(worker.WorkerError, match="HUSH-E040"):
        lake.alone(lake.prepare(MANY_GROUPS).plan)
    for query in [*QUERIES.values(), MANY_GROUPS]:
        found = ht.spark.query(cluster, pathlib.Path(lake.place), query, keys=lake.key)
        assert rows(found) == rows(ht.open(lake.place, keys=lake.key).sql(query))
    assert cluster.conf == {RECORDS: "77"}
    del cluster.conf[RECORDS]
    prepared = ht.spark.plan(lake.place, QUERIES["grouped"], keys=lake.key)
    found = ht.spark.finish(prepared, ht.spark.evaluate(cluster, lake.place, prepared.plan))
    assert len(found) == 3 and cluster.conf == {}
    # By another way, and with less shown, it is the same.
    for options in ({"way": "fetch"}, {"hide": ["constants", "sizes"]}, {"way": "fetch", "hide": ["pattern"]}):
        other = ht.spark.plan(lake.place, QUERIES["grouped"], keys=lake.key, **options)
        assert b'"aggregate"' in prepared.plan and b'"aggregate"' not in other.plan
        assert rows(ht.spark.query(cluster, lake.place, QUERIES["grouped"], keys=lake.key, **options)) == rows(found)
    with pytest.raises(ht.HushError, match="HUSH-P030"):
        ht.spark.query(cluster, lake.place, QUERIES["grouped"], keys=lake.key, way="sum", hide=["sizes"])
    cluster.close()


def test_tasks_hold_nothing_but_place_plan_and_numbers(lake, draw):
    """What is sent to the executors is made from public things alone, and no value that the owner protects is in it."""
    query = f"SELECT site, SUM(load) - {CANARY} AS owed FROM readings GROUP BY site HAVING SUM(load) < {CANARY}"
    prepared = lake.prepare(query)
    key_file = pathlib.Path(lake.arguments[1]).read_bytes()
    cluster = Cluster(draw)
    found = ht.spark.query(cluster, lake.place, query, keys=lake.key, tasks=PARTS)
    cluster.close()
    assert len(found) == 3
    sent = b"".join(cluster.sent)
    assert len(cluster.sent) == 2 and prepared.plan in sent
    for secret in [str(CANARY).encode(), CANARY.to_bytes(4, "little"), b"load", b"temp", b"correct horse", key_file[100:116]]:
        assert secret not in sent, secret
    # Each function, by name, with its arguments: no other object was pickled.
    for pickled in cluster.sent:
        function = pickle.loads(pickled)
        assert function.func in (worker.spark.partial_answers, worker.spark.combined_answers)
        place, held, *numbers = function.args
        assert (place, held, function.keywords) == (lake.place, prepared.plan, {})
        assert all(isinstance(number, int) for run in numbers for pair in run for number in pair)


def test_lost_and_doubled_parts_are_refused(lake):
    """Never a wrong total: the parts are named. Equal partial answers count once."""
    plan = lake.prepare(QUERIES["grouped"]).plan
    halves = [worker.run_parts(lake.place, plan, 0, 12), worker.run_parts(lake.place, plan, 12, PARTS)]
    assert worker.finish(lake.place, plan, [*halves, halves[0]]) == lake.alone(plan)
    with pytest.raises(worker.WorkerError, match="HUSH-E074.*missing are 12 to 22") as lost:
        worker.finish(lake.place, plan, halves[:1])
    assert (lost.value.place, lost.value.kind) == (lake.place, "Refused")
    with pytest.raises(worker.WorkerError, match="HUSH-E073.*11 to 22.*11"):
        worker.finish(lake.place, plan, [halves[0], worker.run_parts(lake.place, plan, 11, PARTS)])
    other = lake.prepare(QUERIES["ungrouped"]).plan
    with pytest.raises(worker.WorkerError, match="HUSH-E070"):
        worker.combine(lake.place, other, halves)
    for at in (9, len(halves[0]) // 2, len(halves[0]) - 1):
        damaged = bytearray(halves[0])
        damaged[at] ^= 1
        with pytest.raises(worker.WorkerError, match="HUSH-"):
            worker.combine(lake.place, plan, [bytes(damaged)])
    with pytest.raises(worker.WorkerError, match="HUSH-E072"):
        worker.run_parts(lake.place, plan, PARTS, PARTS + 1)


class Forgetful(Cluster):
    """A cluster that drops an answer, or gives one out twice, after another cut."""

    def __init__(self, draw, change):
        super().__init__(draw, twice=0, lost=0)
        self.change = change

    def range(self, *arguments):
        """The partitions, changed if they are the tasks."""
        frame = super().range(*arguments)
        if len(arguments) > 1:
            self.change(frame.partitions)
        return frame


def test_a_cluster_that_loses_answers_is_found_out(lake, draw):
    """Also through the session: the error is the package's, with code and place, and the setting is restored."""
    plan = lake.prepare(QUERIES["grouped"]).plan
    cluster = Forgetful(draw, lambda partitions: partitions.pop())
    with pytest.raises(ht.RefusedError, match="HUSH-E074") as lost:
        ht.spark.evaluate(cluster, lake.place, plan, tasks=4)
    assert lake.place in lost.value.message and cluster.conf == {}
    cluster.change = lambda partitions: partitions.append(partitions[0])
    assert ht.spark.evaluate(cluster, lake.place, plan, tasks=4) == lake.alone(plan)
    cluster.close()


def test_a_plan_of_another_version_is_refused(lake, draw, tmp_path):
    """A table that got rows meanwhile: the workers refuse the old plan, and the new one's partial answers do not mix with the old."""
    (tmp_path / "lake").mkdir()
    changed = Lake(tmp_path / "lake")
    plan = changed.prepare(QUERIES["grouped"]).plan
    old = worker.run_parts(changed.place, plan, 0, 5)
    changed.append(PARTS, random.Random(9))
    changed.hush("edge", "accept", "T", *changed.arguments)
    for call in (worker.part_sizes, lambda *arguments: worker.run_parts(*arguments, 0, 5), lambda *arguments: worker.finish(*arguments, [old])):
        with pytest.raises(worker.WorkerError, match="HUSH-E031 .*another version"):
            call(changed.place, plan)
    with pytest.raises(ht.RefusedError, match="HUSH-E031") as refused:
        ht.spark.evaluate(Cluster(draw), changed.place, plan)
    assert changed.place in refused.value.message
    with pytest.raises(worker.WorkerError, match="HUSH-E071"):
        worker.combine(changed.place, changed.prepare(QUERIES["grouped"]).plan, [old])
    # Another's plan is no plan of this table.
    with pytest.raises(worker.WorkerError, match="HUSH-E031"):
        worker.part_sizes(lake.place, plan)


def test_an_answer_of_another_question_is_not_opened(lake):
    """The owner checks plan and version of an answer that strangers computed."""
    grouped, ungrouped = lake.prepare(QUERIES["grouped"]), lake.prepare(QUERIES["ungrouped"])
    answer = lake.alone(grouped.plan)
    with pytest.raises(ht.DamagedError):
        ungrouped.finish(answer)
    with pytest.raises(ht.DamagedError):
        grouped.finish(answer[:-1])


def test_places_without_a_table_are_named(tmp_path):
    """A directory that is none, a server, a kind of place that there is not."""
    for place, code in [(str(tmp_path), "HUSH-T020"), ("https://host:7373/tables/t", "HUSH-T052"), ("ftp://host/t", "HUSH-U001")]:
        with pytest.raises(worker.WorkerError) as refused:
            worker.part_sizes(place, b"{}")
        assert (refused.value.code, refused.value.place) == (code, place) and place in str(refused.value)
    assert pickle.loads(pickle.dumps(refused.value)).args == refused.value.args


def test_errors_are_found_in_the_reports_of_schedulers():
    """The last line of a worker about the place, whatever is printed around it."""
    report = "Job aborted.\n  File x\nhushtable_worker._errors.WorkerError: HUSH-E061 [Resource] /lake/t: the storage failed\n\tat java\n"
    error = worker._errors.in_text(report, "/lake/t")
    assert (error.code, error.kind, error.place, error.message) == ("HUSH-E061", "Resource", "/lake/t", "the storage failed")
    assert worker._errors.in_text(report, "/lake") is None and worker._errors.in_text("no such line", "/lake/t") is None


def test_runs_have_like_sizes(draw):
    """Each part in one run, in order; no run exceeds its share by more than its last part."""
    for _ in range(300):
        sizes = [(1, draw.choice([0, 5, draw.randrange(1000)])) for _ in range(draw.randrange(1, 40))]
        pieces = draw.randrange(1, 50)
        runs = worker.cut(sizes, pieces)
        assert [part for first, end in runs for part in range(first, end)] == list(range(len(sizes)))
        assert len(runs) <= pieces and all(first < end for first, end in runs)
        share = sum(size + 1 for _, size in sizes) / pieces
        for first, end in runs:
            assert sum(size + 1 for _, size in sizes[first : end - 1]) <= share
    assert worker.cut([], 7) == [(0, 0)]


def test_sizes_of_parts_follow_the_plan(lake):
    """One column less is so many bytes less in every part; rows are those of the table."""
    wide, narrow = (worker.part_sizes(lake.place, lake.prepare(f"SELECT {sums} FROM readings").plan) for sums in ("SUM(load), SUM(temp)", "SUM(load)"))
    assert [rows for rows, _ in wide] == [rows for rows, _ in narrow]
    assert sum(rows for rows, _ in wide) == ht.open(lake.place, keys=lake.key).info["rows"]
    assert all(0 < few < many for (_, many), (_, few) in zip(wide, narrow))


def test_a_table_in_a_bucket(lake, s3, draw, monkeypatch):
    """Executors with the store's settings in their environment read the table from a bucket; faults are told with the place."""
    s3.make_bucket("workers")
    for name, value in credentials(s3.port).items():
        monkeypatch.setenv(name, value)
    place = "s3://workers/readings"
    environment = lake.hush.with_environment(**credentials(s3.port))
    environment("encrypt", "own.csv", "-o", place, "--schema", "t.schema.toml", *lake.arguments)
    cluster = Cluster(draw)
    found = ht.spark.query(cluster, place, QUERIES["grouped"], keys=lake.key)
    assert rows(found) == rows(ht.open(place, keys=lake.key).sql(QUERIES["grouped"])) and len(found) == 3
    with pytest.raises(ht.HushError, match="HUSH-E030 s3://workers/elsewhere: there is no such table"):
        ht.spark.evaluate(cluster, "s3://workers/elsewhere", ht.spark.plan(place, QUERIES["grouped"], keys=lake.key).plan)
    cluster.close()


def test_workers_have_no_code_that_decrypts():
    """The module's bytes: paths of the sources that it is built from stand in both, those of the owner's crates in the other alone."""

    def crates(module):
        content = pathlib.Path(module.__file__).read_bytes()
        return {crate for crate in ("hush-exec", "hush-table", "hush-keys", "hush-client") if f"crates/{crate}/src".encode() in content}

    assert crates(worker._hushtable_worker) == {"hush-exec", "hush-table"}
    assert crates(ht._hushtable) >= {"hush-keys", "hush-client"}


def test_both_packages_have_one_version():
    """`pip install hushtable[spark]` takes the worker of the same version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"hushtable-worker=={ht.__version__}" in project["optional-dependencies"]["spark"]
    assert importlib.metadata.version("hushtable-worker") == importlib.metadata.version("hushtable") == ht.__version__


def test_the_package_says_what_is_missing():
    """Without the worker's package, `ht.spark` names the command that installs it."""
    script = "import sys; sys.modules['hushtable_worker'] = None\nimport hushtable as ht\ntry: ht.spark\nexcept ht.UsageError as e: print(e)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "pip install hushtable[spark]" in done.stdout
