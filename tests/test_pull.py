# SPDX-License-Identifier: Apache-2.0
"""Tables fetched from a server, by the command and from Python, are held to the key, to the version seen and to their digests."""

import http.server
import shutil
import threading

import pyarrow as pa
import pytest

import hushtable as ht


class Hostile(http.server.BaseHTTPRequestHandler):
    """A server that shows the table in `server.shows` under the name t, and applies `server.alters` to the bytes that it sends."""

    def do_GET(self):
        _, _, last = self.path.rpartition("/")
        place = self.server.shows
        path = place / "manifest.hush" if last == "manifest" else place / "parts" / f"{last}.parquet"
        content = self.server.alters(last, path.read_bytes())
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


@pytest.mark.filterwarnings("ignore::hushtable.HushWarning")
def test_a_hostile_server_gives_no_table(hush, key, tmp_path, monkeypatch):
    """pull refuses an earlier version, another table of the owner's under the name, and altered bytes; it leaves no table."""
    monkeypatch.setenv("HUSH_STATE_DIR", str(tmp_path / "state"))
    command = hush.with_environment(HUSH_STATE_DIR=str(tmp_path / "state"))
    opened = ht.open_key(key[1], passphrase_file=key[3])

    def made(place, values, replace=False):
        ht.encrypt(pa.table({"x": values}), sensitive="x", keys=opened, out=place, name="t", replace=replace)

    made(tmp_path / "T", [1, 2])
    shutil.copytree(tmp_path / "T", tmp_path / "first")
    made(tmp_path / "T", [3, 4], replace=True)
    made(tmp_path / "other", [5, 6])
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hostile)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/tables/t"

    def flipped(name):
        def alter(last, content):
            changed = bytearray(content)
            if last.endswith(name):
                changed[len(changed) // 2] ^= 1
            return bytes(changed)

        return alter

    honest = lambda _, content: content
    try:
        server.shows, server.alters = tmp_path / "T", honest
        assert ht.pull(url, tmp_path / "copy", keys=opened).decrypt()["x"].to_pylist() == [3, 4]
        attacks = [
            ("first", honest),
            ("other", honest),
            ("T", flipped("manifest")),
            ("T", flipped(".enc")),
            ("T", lambda last, content: content if last == "manifest" else content[:-1]),
            ("T", lambda last, content: content if last == "manifest" else content + b"x"),
        ]
        for number, (shows, alters) in enumerate(attacks):
            server.shows, server.alters = tmp_path / shows, alters
            place = tmp_path / f"copy{number}"
            with pytest.raises((ht.DamagedError, ht.RemoteError)) as caught:
                ht.pull(url, place, keys=opened)
            assert not (place / "manifest.hush").exists(), number
            if alters is honest:
                assert isinstance(caught.value, ht.DamagedError) and not place.exists(), (number, caught.value)
            refused = command("pull", url, "-o", place, *key, status=None)
            assert refused.returncode in (7, 9) and not (place / "manifest.hush").exists(), (number, refused.stderr)
    finally:
        server.shutdown()


def test_the_command_pulls(hush, server, table, key, tmp_path):
    """Byte by byte the pushed table. A second pull does nothing; another key and other files are refused."""
    hush("push", table, server.url, *server.token)
    url = f"{server.url.rstrip('/')}/tables/patients"
    done = hush("pull", url, "-o", "copy", *key, *server.token)
    assert "patients version 1: 6,000 rows" in done.stderr + done.stdout
    content = lambda place: {path.name: path.read_bytes() for path in place.rglob("*") if path.is_file() and path.name != ".lock"}
    assert content(tmp_path / "copy") == content(table)
    query = ("SELECT COUNT(*) AS n, SUM(age) AS s FROM patients", "--format", "csv", *key)
    assert hush("query", "copy", *query).stdout == hush("query", table, *query).stdout
    before = content(tmp_path / "copy")
    hush("pull", url, "-o", "copy", *key, *server.token)
    assert content(tmp_path / "copy") == before
    hush("keygen", "-o", "stranger.hushkey", *key[2:])
    refused = hush("pull", url, "-o", "stolen", "--key", "stranger.hushkey", *key[2:], *server.token, status=4)
    assert "HUSH-K020" in refused.stderr and not (tmp_path / "stolen").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear reader", encoding="utf-8")
    assert "HUSH-C071" in hush("pull", url, "-o", "mine", *key, *server.token, status=3).stderr
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["letter.txt"]
