# SPDX-License-Identifier: Apache-2.0
"""`hush encrypt` under a limit of memory: the system's count stays below it for any number of rows; a table that cannot fit is refused."""

import os
import pathlib
import random
import re
import resource
import subprocess
import sys

import pytest

from conftest import approve, binary, make_key

MB = 1_000_000
LIMIT = 64 * MB


def write_rows(path, rows, text=""):
    """Four numbers to encrypt, one clear, a text to seal."""
    draw = random.Random(rows)
    with path.open("w", encoding="utf-8") as file:
        file.write("a,b,c,d,k,note\n")
        for row in range(rows):
            a, b, c, d = (draw.randrange(-(2**39), 2**39) for _ in range(4))
            file.write(f"{a},{b},{c},{d},{row % 7},{text or 'n' + str(row)}\n")


def schema_of(hush, directory, rows):
    """An approved schema for as many rows, from a file of a few; sums and second moments are encrypted."""
    write_rows(directory / "few.csv", 100)
    path = directory / "t.schema.toml"
    hush("init", "few.csv", "--sensitive", "a,b,c,d,note", "--clear", "k", "-o", path, "--force")
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"^max_rows = .*$", f"max_rows = {rows}", text, flags=re.M)
    text = text.replace('table = "few"', 'table = "t"')
    path.write_text(text, encoding="utf-8")
    approve(path)
    return path


# A process inherits its parent's peak, so the measured one has a small parent.
MEASURE = """
import os, subprocess, sys
_, status, usage = os.wait4(subprocess.Popen(sys.argv[1:]).pid, 0)
print(usage.ru_maxrss * 1024)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def peak(hush, *arguments, stdin=subprocess.DEVNULL):
    """Runs the command, which must succeed, and returns its peak of bytes, its threads included."""
    command = [sys.executable, "-c", MEASURE, binary("hush"), *map(str, arguments)]
    settings = {"stdin": stdin, "capture_output": True, "env": hush.environment, "cwd": hush.directory}
    done = subprocess.run(command, check=False, **settings)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def encrypted(hush, directory, key, source, limit, output="T", stdin=subprocess.DEVNULL):
    """Encrypts under a limit and returns the peak."""
    schema = ("--schema", directory / "t.schema.toml", "-o", directory / output)
    return peak(hush, "encrypt", source, *schema, "--memory-limit", limit, "--replace", *key, stdin=stdin)


def sums(hush, key, table="T"):
    """A few sums, as text."""
    return hush("query", table, "SELECT k, COUNT(*), SUM(a), SUM(b), SUM(d) FROM t GROUP BY k ORDER BY k", "--format", "csv", *key).stdout


@pytest.mark.parametrize("rows", [1000, 300_000, pytest.param(20_000_000, marks=pytest.mark.slow)])
def test_a_limit_is_kept_whatever_the_rows(hush, tmp_path, key, rows):
    """Below 64 MB, and the same answers as without a limit."""
    schema_of(hush, tmp_path, rows)
    write_rows(tmp_path / "t.csv", rows)
    found = encrypted(hush, tmp_path, key, "t.csv", "64MB")
    assert found < LIMIT, f"{found / MB:.1f} MB"
    hush("encrypt", "t.csv", "--schema", tmp_path / "t.schema.toml", "-o", tmp_path / "U", *key)
    assert sums(hush, key) == sums(hush, key, "U")


def test_parts_whose_clear_columns_are_the_same_count_each(hush, tmp_path, key):
    """Files of parts are named by their content. Those of a constant column are one file, which is read as often as it is named."""
    rows = 150_000
    schema_of(hush, tmp_path, rows)
    with (tmp_path / "t.csv").open("w", encoding="utf-8") as file:
        file.write("a,b,c,d,k,note\n")
        file.writelines(f"{row},1,2,3,5,n\n" for row in range(rows))
    encrypted(hush, tmp_path, key, "t.csv", "64MB")
    parts = list((tmp_path / "T" / "parts").glob("*.enc.parquet"))
    clear = list((tmp_path / "T" / "parts").glob("*.clear.parquet"))
    assert len(parts) > len(clear) > 1
    for query in ("SELECT k, COUNT(*), SUM(a), SUM(b) FROM t GROUP BY k", "SELECT k, COUNT(*), SUM(a), SUM(b) FROM t WHERE k < 9 GROUP BY k"):
        found = hush("query", "T", query, "--format", "csv", *key).stdout.splitlines()[1]
        assert found == f"5,{rows},{rows * (rows - 1) // 2},{rows}"
    assert hush("query", "T", "SELECT a FROM t WHERE k = 5", "--format", "csv", *key).stdout.splitlines()[1:] == [
        str(row) for row in range(rows)
    ]


def test_standard_input_is_encrypted_as_a_file_is(hush, tmp_path, key):
    """Within the same limit; without a schema it is refused, and so is Parquet."""
    schema_of(hush, tmp_path, 100_000)
    write_rows(tmp_path / "t.csv", 100_000)
    encrypted(hush, tmp_path, key, "t.csv", "64MB")
    with subprocess.Popen(["cat", tmp_path / "t.csv"], stdout=subprocess.PIPE) as feed:
        found = encrypted(hush, tmp_path, key, "-", "64MB", "U", feed.stdout)
    assert found < LIMIT
    assert sums(hush, key) == sums(hush, key, "U")
    refused = hush("encrypt", "-", "-o", "V", *key, status=2)
    assert "--schema" in refused.stderr and not (tmp_path / "V").exists()


def test_the_lowest_limit_is_named_and_suffices(hush, tmp_path, key):
    """A refusal before anything is written names a limit that would do, and that limit does."""
    schema_of(hush, tmp_path, 60_000)
    write_rows(tmp_path / "t.csv", 60_000)
    schema = ("--schema", tmp_path / "t.schema.toml", "-o", tmp_path / "T")
    # Enough for the program and the key.
    refused = hush("encrypt", "t.csv", *schema, "--memory-limit", "56MB", *key, status=6)
    assert "HUSH-C060" in refused.stderr, refused.stderr
    lowest = re.search(r"--memory-limit (\d+)MB", refused.stderr)[1]
    assert not list((tmp_path / "T").glob("*"))
    found = encrypted(hush, tmp_path, key, "t.csv", f"{lowest}MB")
    assert found < int(lowest) * MB, f"{found / MB:.1f} MB"


def test_a_key_that_takes_more_memory_to_open_is_refused(hush, tmp_path):
    """Passphrase work takes 128 MiB and more by default."""
    schema_of(hush, tmp_path, 100)
    key = make_key(hush, tmp_path, "128MiB")
    refused = hush("encrypt", "few.csv", "--schema", "t.schema.toml", "-o", "T", "--memory-limit", "64MB", *key, status=6)
    assert "HUSH-K015" in refused.stderr and "--opens-in" in refused.stderr


def test_texts_that_are_too_long_end_the_run_and_leave_nothing(hush, tmp_path, key):
    """The rows of a chunk are bounded; its texts have no bound but the limit."""
    schema_of(hush, tmp_path, 10_000)
    write_rows(tmp_path / "t.csv", 10_000, "x" * 5000)
    schema = ("--schema", tmp_path / "t.schema.toml", "-o", tmp_path / "T")
    refused = hush("encrypt", "t.csv", *schema, "--memory-limit", "64MB", *key, status=8)
    assert "HUSH-D025" in refused.stderr
    assert not list((tmp_path / "T" / "parts").glob("*")) and not list((tmp_path / "T").glob("manifest*"))
    assert encrypted(hush, tmp_path, key, "t.csv", "2GB") < 2000 * MB


def test_a_table_that_does_not_fit_the_disk_is_refused_before_it_is_read(hush, tmp_path, key):
    """A file with a hole: its first lines and its size tell the size of the table."""
    schema_of(hush, tmp_path, 10**12)
    write_rows(tmp_path / "t.csv", 5000)
    os.truncate(tmp_path / "t.csv", 10**13)
    refused = hush("encrypt", "t.csv", "--schema", "t.schema.toml", "-o", "T", *key, status=6)
    assert "HUSH-C062" in refused.stderr and not (tmp_path / "T" / "parts").exists()


CANARY = "vermilion-heron"


def attempt(hush, key, table, **options):
    """Encrypts in a process that the system limits. Either it is done, or it is refused and leaves the lock alone. Returns which."""
    process = hush.start("encrypt", "t.csv", "--schema", "t.schema.toml", "-o", table, *key, **options)
    _, err = process.communicate()
    left = {path.name for path in (hush.directory / table).rglob("*")} - {".lock", "parts"}
    if process.returncode == 0:
        return True
    assert process.returncode == 6 and re.match(rb"HUSH-(C060|C061|D025|K015) ", err), (process.returncode, err)
    assert not left, left
    return False


def no_canary(directory):
    """No file but the data itself holds a text that is sealed."""
    for path in directory.rglob("*"):
        if path.is_file() and path.name != "t.csv":
            assert CANARY.encode() not in path.read_bytes(), path


def test_a_limit_on_data_refuses_or_is_kept(hush, tmp_path, key):
    """Under any limit a process ends with a table or with a refusal. The same command without a limit completes."""
    schema_of(hush, tmp_path, 100_000)
    write_rows(tmp_path / "t.csv", 100_000, CANARY)
    done = []
    for limit in range(40, 400, 40):
        most = (limit * MB, limit * MB)
        done.append(attempt(hush, key, f"T{limit}", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, most)))
        no_canary(tmp_path)
    assert done[-1] and not done[0], done
    assert attempt(hush, key, "T40")
    hush("query", "T40", "SELECT COUNT(*) FROM t", *key)


def test_a_limit_on_address_space_may_end_the_run_but_leaves_nothing(hush, tmp_path, key):
    """Nobody can tell beforehand how much is reserved: an allocation fails somewhere. Ciphertext without a manifest may remain."""
    schema_of(hush, tmp_path, 100_000)
    write_rows(tmp_path / "t.csv", 100_000, CANARY)
    for limit in range(40, 400, 40):
        # The program's file is address space, too.
        most = limit * MB + binary("hush").stat().st_size
        arguments = ("encrypt", "t.csv", "--schema", "t.schema.toml", "-o", f"T{limit}", *key)
        ended = hush(*arguments, status=None, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)))
        manifest = tmp_path / f"T{limit}" / "manifest.hush"
        assert manifest.exists() == (ended.returncode == 0), ended.stderr
        no_canary(tmp_path)
        hush(*arguments, "--replace")
        hush("query", f"T{limit}", "SELECT COUNT(*) FROM t", *key)


@pytest.fixture
def group():
    """A control group of this test's own; the test is skipped if none can be made."""
    lines = pathlib.Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    groups = {controllers: path for _, controllers, path in (line.split(":", 2) for line in lines)}
    if "memory" in groups:
        parent, name = pathlib.Path("/sys/fs/cgroup/memory" + groups["memory"]), "memory.limit_in_bytes"
    else:
        parent, name = pathlib.Path("/sys/fs/cgroup" + groups.get("", "/")), "memory.max"
    made = parent / f"hush-{os.getpid()}"
    try:
        made.mkdir()
        (made / name).write_text(str(1 << 30), encoding="utf-8")
    except OSError as error:
        pytest.skip(f"no control group can be made: {error}")
    yield made, made / name
    made.rmdir()


def test_a_container_without_enough_memory_refuses_instead_of_being_killed(hush, tmp_path, key, group):
    """The limit of a control group holds without being asked for; the key's memory counts."""
    made, limit = group
    schema_of(hush, tmp_path, 300_000)
    write_rows(tmp_path / "t.csv", 300_000, CANARY)

    def enter():
        (made / "cgroup.procs").write_text(str(os.getpid()), encoding="utf-8")

    for most, expected in [(32, False), (48, False), (72, True), (512, True)]:
        limit.write_text(str(most * MB), encoding="utf-8")
        assert attempt(hush, key, f"T{most}", preexec_fn=enter) == expected, most
        no_canary(tmp_path)
        if expected:
            hush("query", f"T{most}", "SELECT COUNT(*) FROM t", *key)
