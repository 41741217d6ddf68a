# SPDX-License-Identifier: Apache-2.0
"""Kills, full disks, limits and servers that go away. There is a typed error, nothing is left in the clear, and the same
command completes when it is run again."""

import http.client
import http.server
import random
import signal
import threading
import time

import pyarrow.parquet
import pytest

from conftest import PATIENTS, approve

CANARY = "canary-7f3a91"
NUMBER = 918_273_645


@pytest.fixture
def wide(hush, tmp_path):
    """A table of some chunks with a canary text and a canary number in every row: file and approved schema."""
    path, schema = tmp_path / "wide.csv", tmp_path / "wide.schema.toml"
    rows = (f"{row % 9},{NUMBER + row % 2},{CANARY}{row}\n" for row in range(60_000))
    path.write_text("g,x,secret\n" + "".join(rows), encoding="utf-8")
    hush("init", path, "--sensitive", "x,secret", "--clear", "g", "-o", schema)
    approve(schema)
    return path, schema


def assert_clean(directory):
    """No file below the directory holds a canary."""
    for path in directory.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert CANARY.encode() not in data and str(NUMBER).encode() not in data, path
            assert NUMBER.to_bytes(8, "little") not in data, path


def kills(hush, tmp_path, wide, key, moments):
    """Kills `encrypt` at these fractions of its time; afterwards the same command completes."""
    path, schema = wide
    place = tmp_path / "K"
    command = ("encrypt", path, "--schema", schema, "-o", place / "T", "--replace", *key)
    place.mkdir()
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    hush = hush.with_environment(TMPDIR=str(scratch))
    start = time.monotonic()
    hush("encrypt", path, "--schema", schema, "-o", tmp_path / "timed", *key)
    whole = time.monotonic() - start
    query = "SELECT COUNT(*) AS n, SUM(x) AS s FROM wide"
    for moment in moments:
        process = hush.start(*command)
        time.sleep(whole * moment)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert_clean(place)
        assert_clean(scratch)
        if not (place / "T" / "manifest.hush").exists():
            refused = hush("query", place / "T", query, *key, status=None)
            assert refused.returncode in (2, 9) and "HUSH-T" in refused.stderr
    hush(*command)
    done = hush("query", place / "T", query, "--format", "csv", *key)
    assert done.stdout.splitlines()[1] == f"60000,{60_000 * NUMBER + 30_000}"
    assert not list(place.rglob("*.partial"))


def test_a_killed_encryption_leaves_nothing_and_is_repeated(hush, tmp_path, wide, key):
    """Three moments; the long suite sweeps more."""
    kills(hush, tmp_path, wide, key, [random.uniform(0.6, 1.0) for _ in range(3)])


@pytest.mark.slow
def test_a_sweep_of_kills(hush, tmp_path, wide, key):
    """Fifty moments over the whole run."""
    kills(hush, tmp_path, wide, key, [step / 50 for step in range(1, 51)])


def seeds(place):
    """Seeds of the chunks in every part that a directory holds, with the part that holds it."""
    found = {}
    for path in place.rglob("*.enc.parquet*"):
        # A part that is not yet whole has no index, and nobody reads it.
        if path.suffix != ".parquet":
            continue
        try:
            held = pyarrow.parquet.read_table(path, columns=["seed"])["seed"].to_pylist()
        except FileNotFoundError:
            # Removed meanwhile, by a run that sweeps the leftovers of the run before.
            continue
        for seed in held:
            assert found.setdefault(seed, path.name) == path.name, "one seed in two parts"
    assert all(len(seed) == 32 for seed in found)
    return found


def stopped_streams(hush, tmp_path, wide, key, ends):
    """Ends `encrypt` of standard input under a limit at random moments; then the same command completes. No seed is used twice."""
    path, schema = wide
    place, scratch = tmp_path / "K", tmp_path / "scratch"
    place.mkdir()
    scratch.mkdir()
    hush = hush.with_environment(TMPDIR=str(scratch))
    command = ("encrypt", "-", "--schema", schema, "-o", place / "T", "--replace", "--memory-limit", "64MB", *key)
    draw, used = random.Random(ends), {}
    for end in range(ends):
        with path.open("rb") as rows:
            process = hush.start(*command, stdin=rows)
            # Every other one while parts are being written, the rest at any moment.
            if end % 2:
                until = time.monotonic() + 60
                while process.poll() is None and time.monotonic() < until and not seeds(place).keys() - used.keys():
                    time.sleep(0.005)
            else:
                time.sleep(draw.uniform(0.0, 0.5))
            process.send_signal(draw.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]))
            _, errors = process.communicate()
        assert CANARY.encode() not in errors and str(NUMBER).encode() not in errors
        assert_clean(place)
        assert_clean(scratch)
        for seed, part in seeds(place).items():
            assert used.setdefault(seed, part) == part, f"a seed of an earlier run, after {end} ends"
    assert used
    with path.open("rb") as rows:
        hush(*command, stdin=rows)
    last = seeds(place)
    # The chunks of this run. If an earlier run had completed before it was ended, also those of the version that this one replaces.
    assert len(last) in (8, 16)
    assert all(used.get(seed, part) == part for seed, part in last.items())
    done = hush("query", place / "T", "SELECT COUNT(*) AS n, SUM(x) AS s FROM wide", "--format", "csv", *key)
    assert done.stdout.splitlines()[1] == f"60000,{60_000 * NUMBER + 30_000}"


def test_a_stream_that_is_ended_uses_no_seed_twice(hush, tmp_path, wide, key):
    """Four ends; the long suite has more."""
    stopped_streams(hush, tmp_path, wide, key, ends=4)


@pytest.mark.slow
def test_a_stream_that_is_ended_many_times_uses_no_seed_twice(hush, tmp_path, wide, key):
    """Two hundred ends."""
    stopped_streams(hush, tmp_path, wide, key, ends=200)


def test_a_full_disk_is_a_typed_error_and_loses_nothing(hush, tmp_path, wide, key):
    """A limit on file sizes fails the write as a full disk does; the table that was there stays."""
    path, schema = wide
    command = ("encrypt", path, "--schema", schema, "-o", tmp_path / "T", *key)

    # A shell sets the limits: this process, which takes more by itself, could not go on under them until it becomes the command.
    limited = ("sh", "-c", 'ulimit -c unlimited; ulimit -v 307200; exec "$@"', "sh")
    process = hush.start("encrypt", path, "--schema", schema, "-o", tmp_path / "T", *key, through=limited)
    process.communicate()
    if (tmp_path / "T").exists():
        assert_clean(tmp_path / "T")
    assert not list(tmp_path.glob("core*"))


def test_a_server_that_goes_away(hush, table, key, server):
    """Queries and pushes to a dead server say so; when it is back the same commands work, and nothing is sent twice."""
    query = ("query", server.url, "SELECT SUM(age) AS s FROM patients", "--format", "csv", *key, *server.token)
    server.kill()
    for command in (("push", table, server.url, *server.token), query):
        refused = hush(*command, status=7)
        assert "HUSH-R0" in refused.stderr and refused.stdout == ""
    server.start()
    hush("push", table, server.url, *server.token)
    expected = hush(*query).stdout
    server.kill()
    server.start()
    assert hush(*query).stdout == expected
    assert "0 parts sent" in hush("push", table, server.url, *server.token).stderr


def test_an_interrupted_push_is_continued(hush, tmp_path, wide, key, server):
    """Client and server are killed during an upload; the same push again completes, and the table is whole."""
    path, schema = wide
    hush("encrypt", path, "--schema", schema, "-o", tmp_path / "T", *key)
    push = ("push", tmp_path / "T", server.url, *server.token)
    for victim in ("client", "server"):
        process = hush.start(*push)
        time.sleep(random.uniform(0.0, 0.05))
        process.kill() if victim == "client" else server.kill()
        process.wait()
        if victim == "server":
            server.start()
    hush(*push)
    done = hush("query", server.url, "SELECT COUNT(*) AS n, SUM(x) AS s FROM wide", "--format", "csv", *key, *server.token)
    assert done.stdout.splitlines()[1] == f"60000,{60_000 * NUMBER + 30_000}"
    assert_clean(server.data)


def test_a_server_that_lies_is_refused(hush, table, key, server):
    """Parts on the server are altered, dropped or replaced by another table's: an error, never a number."""
    hush("push", table, server.url, *server.token)
    query = ("query", server.url, "SELECT ward, SUM(age) FROM patients GROUP BY ward", *key, *server.token)
    hush(*query)
    parts = sorted(server.data.rglob("*.parquet"))
    assert parts
    for part in parts:
        good = part.read_bytes()
        part.write_bytes(good[:-7] + bytes(7))
        refused = hush(*query, status=None)
        assert refused.returncode in (7, 9) and refused.stdout == "", refused.stderr
        part.unlink()
        refused = hush(*query, status=None)
        assert refused.returncode in (7, 9) and refused.stdout == "", refused.stderr
        part.write_bytes(good)
    hush(*query)


BAD_INPUT = {
    "ragged": ("a,b\n1,2\n3,4,SECRETVALUE\n", "HUSH-D"),
    "no header": ("", "HUSH-D"),
    "no rows": ("a,b\n", None),
    "twice the same name": ("a,a\n1,2\n", "HUSH-D"),
    "no UTF-8": (b"a,b\n1,2\n\xff\xfe,3\n", None),
    "open quote": ('a,b\n1,"SECRETVALUE\n', "HUSH-D"),
    "null byte": ("a,b\n1,\0\n", None),
}


@pytest.mark.parametrize("name", BAD_INPUT)
def test_bad_files(hush, tmp_path, name):
    """Broken tables: a code and a place, never a panic, never the value."""
    content, code = BAD_INPUT[name]
    path = tmp_path / "bad.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    done = hush("run", path, "SELECT SUM(a) FROM bad", "--sensitive", "a", status=None)
    assert "panicked" not in done.stderr and "SECRETVALUE" not in done.stderr, done.stderr
    assert done.returncode in ((8, 3) if code else (0, 3, 8)), (done.returncode, done.stderr)
    if code:
        assert code in done.stderr


def test_values_outside_the_declared_range_and_type(hush, tmp_path, key):
    """The schema's ranges hold for encrypted and for clear columns; the message names the place, not the value."""
    schema = tmp_path / "v.schema.toml"
    schema.write_text(
        'format = 1\ntable = "v"\nstatus = "approved"\n'
        '[columns.w]\ntype = "int(8)"\nrange = [0, 9]\nprotect = "clear"\n'
        '[columns.x]\ntype = "int(16)"\nrange = [0, 99]\nprotect = "encrypt"\nnullable = true\n',
        encoding="utf-8",
    )
    path = tmp_path / "v.csv"
    for row in ("3,4711", "4711,3", "3,x4711x", "3,-1"):
        path.write_text(f"w,x\n1,2\n{row}\n", encoding="utf-8")
        refused = hush("encrypt", path, "--schema", schema, "-o", tmp_path / "V", *key, status=8)
        assert "HUSH-D0" in refused.stderr and "4711" not in refused.stderr.replace(str(tmp_path), ""), refused.stderr
        assert "column" in refused.stderr
        assert not (tmp_path / "V" / "manifest.hush").exists()
    path.write_text("w,x\n1,2\n3,NA\n", encoding="utf-8")
    hush("encrypt", path, "--schema", schema, "-o", tmp_path / "V", *key, status=8)
    path.write_text("w,x\n1,2\n3,\n", encoding="utf-8")
    hush("encrypt", path, "--schema", schema, "-o", tmp_path / "V", *key)


def test_a_part_damaged_on_the_server_after_it_was_summed(hush, table, key, server):
    """A kept sum is that of the part which the manifest names, and stays right. Queries that need the file are refused."""
    hush("push", table, server.url, *server.token)
    total = "SELECT SUM(age) AS s, SUM(charges) AS c FROM patients"
    grouped = "SELECT ward, SUM(age) AS s FROM patients GROUP BY ward"
    ask = ("query", server.url, total, "--format", "csv", *key, *server.token)
    expected = hush("query", table, total, "--format", "csv", *key).stdout
    assert hush(*ask).stdout == expected
    for part in server.data.glob("tables/*/parts/*.enc.parquet"):
        damaged = bytearray(part.read_bytes())
        damaged[len(damaged) // 2] ^= 1
        part.write_bytes(damaged)
    assert hush(*ask).stdout == expected
    refused = hush("query", server.url, grouped, *key, *server.token, status=None)
    assert refused.returncode != 0 and "HUSH-E060" in refused.stderr
    # Kept sums go with the process.
    server.kill()
    server.start()
    refused = hush(*ask, status=None)
    assert refused.returncode != 0 and "HUSH-E060" in refused.stderr


def flip(part):
    """One bit in the middle."""
    damaged = bytearray(part.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    part.write_bytes(damaged)


DAMAGES = {
    "flipped": flip,
    "truncated": lambda part: part.write_bytes(part.read_bytes()[:-9]),
    "empty": lambda part: part.write_bytes(b""),
    "another": lambda part: part.write_bytes(PATIENTS.read_bytes()),
    "removed": lambda part: part.unlink(),
}


def test_a_push_mends_what_is_damaged_on_the_server(hush, table, key, server):
    """Parts and the manifest are damaged in every way, and half of an upload is another part's. The query fails with a code, the
    same push mends the table, and the query is right again."""
    push = ("push", table, server.url, *server.token)
    hush(*push)
    assert "0 parts sent (0 B), 2 were there already" in hush(*push).stderr
    grouped = "SELECT ward, SUM(age) AS s FROM patients WHERE year = 2023 GROUP BY ward ORDER BY ward"
    expected = hush("query", table, grouped, "--format", "csv", *key).stdout
    ask = ("query", server.url, grouped, "--format", "csv", *key, *server.token)
    parts = sorted(server.data.glob("tables/*/parts/*.parquet"))
    assert len(parts) == 2
    for part in parts:
        for damage, change in DAMAGES.items():
            good = part.read_bytes()
            change(part)
            refused = hush(*ask, status=None)
            assert refused.returncode in (7, 9) and "HUSH-E06" in refused.stderr and not refused.stdout, refused.stderr
            if damage == "removed":
                (server.data / "uploads" / "patients").mkdir(parents=True, exist_ok=True)
                (server.data / "uploads" / "patients" / part.name).write_bytes(b"half of another")
            said = hush(*push, "--verify").stderr
            assert "1 parts sent" in said and "1 were there already" in said, said
            assert ("1 of them for damaged ones" in said) == (damage != "removed"), said
            assert "Verified" in said
            assert part.read_bytes() == good
            assert hush(*ask).stdout == expected
    manifest = server.data / "tables" / "patients" / "manifest.hush"
    good = manifest.read_bytes()
    for change in DAMAGES.values():
        change(manifest)
        hush(*push)
        assert manifest.read_bytes() == good
        change(manifest)
        server.kill()
        server.start()
        refused = hush(*ask, status=7)
        assert "HUSH-" in refused.stderr and not refused.stdout
        hush(*push)
        assert manifest.read_bytes() == good
        assert hush(*ask).stdout == expected


class Liar(http.server.BaseHTTPRequestHandler):
    """Forwards to a server; says of every part that it is there and sound."""

    protocol_version = "HTTP/1.1"
    behind = None

    def forward(self):
        """One request."""
        if self.command == "HEAD":
            self.send_response(200)
            self.send_header("Upload-Complete", "?1")
            self.end_headers()
            return
        if self.headers.get("Expect"):
            self.send_response_only(100)
            self.end_headers()
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        onward = http.client.HTTPConnection(*self.behind)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in ("expect", "host")}
        onward.request(self.command, self.path, body, headers)
        answer = onward.getresponse()
        content = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("content-length", "connection", "date", "server"):
                self.send_header(name, value)
        if answer.status != 204:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_HEAD = do_GET = do_PUT = do_POST = do_DELETE = forward

    def handle_expect_100(self):
        """Only once the body is wanted."""
        return True

    def log_message(self, *_):
        """Nothing."""


def test_a_server_that_lies_about_what_it_has_is_found_by_download(hush, table, server):
    """A push takes its word and sends nothing; with --verify the same push ends in an error."""
    hush("push", table, server.url, *server.token)
    Liar.behind = ("127.0.0.1", server.port)
    proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Liar)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    push = ("push", table, f"http://127.0.0.1:{proxy.server_port}", *server.token)
    assert "Verified" in hush(*push, "--verify").stderr
    for part in server.data.glob("tables/*/parts/*.parquet"):
        good = part.read_bytes()
        flip(part)
        assert "0 parts sent" in hush(*push).stderr
        assert "HUSH-R008" in hush(*push, "--verify", status=9).stderr
        part.write_bytes(good)
    proxy.shutdown()
