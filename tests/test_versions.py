# SPDX-License-Identifier: Apache-2.0
"""Queries that race the push of a new version: they are answered on one version or the other."""

import http.server
import shutil
import threading
import urllib.error
import urllib.request

import pytest

from conftest import PATIENTS

QUERY = "SELECT SUM(age) AS s FROM patients"


class Between(http.server.ThreadingHTTPServer):
    """Passes requests on to a server; `before` sees each one first and may answer it with bytes."""

    def __init__(self, target, before):
        super().__init__(("127.0.0.1", 0), Relay)
        self.target, self.before = target, before
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class Relay(http.server.BaseHTTPRequestHandler):
    """One request of `Between`."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        """Says nothing."""

    def pass_on(self):
        """Asks the hook, then the server."""
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        answer = self.server.before(self.command, self.path)
        status, headers = 200, {}
        if answer is None:
            request = urllib.request.Request(self.server.target + self.path, body or None, method=self.command)
            for name, value in self.headers.items():
                if name.lower() not in ("host", "connection", "content-length"):
                    request.add_header(name, value)
            try:
                reply = urllib.request.urlopen(request, timeout=60)
            except urllib.error.HTTPError as refused:
                reply = refused
            with reply:
                status, headers, answer = reply.status, reply.headers, reply.read()
        self.send_response(status)
        for name in ("content-type", "x-request-id"):
            if name in headers:
                self.send_header(name, headers[name])
        if status != 204:
            self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_POST = do_DELETE = pass_on


@pytest.fixture
def versions(hush, table, key, server, tmp_path):
    """Directories of versions 1 and 2; version 1 is on the server."""
    hush("push", table, server.url, *server.token)
    first = tmp_path / "first"
    shutil.copytree(table, first)
    hush("encrypt", PATIENTS, "--schema", tmp_path / "patients.schema.toml", "-o", table, "--replace", *key)
    return first, table


def test_a_version_that_arrives_before_the_plan_is_run(hush, versions, key, server, tmp_path):
    """The plan was made for version 1 by a client that knows no other; version 2 is there when it arrives."""
    fresh = hush.with_environment(HUSH_STATE_DIR=str(tmp_path / "fresh"))
    pushed = []

    def before(method, path):
        if (method, path.partition("?")[0]) == ("POST", "/v1/jobs") and not pushed:
            pushed.append(hush("push", versions[1], server.url, "--replace", *server.token))

    between = Between(server.url, before)
    done = fresh("query", between.url, QUERY, "--format", "csv", *key, *server.token)
    assert pushed and done.stdout == hush("query", versions[1], QUERY, "--format", "csv", *key).stdout


def test_a_version_that_is_known_before_the_server_shows_it(hush, versions, key, server):
    """Version 2 was seen here, the server still shows version 1 once."""
    hush("query", versions[1], QUERY, *key)
    old = (versions[0] / "manifest.hush").read_bytes()
    shown = []

    def before(method, path):
        if path.endswith("/manifest") and len(shown) < limit:
            shown.append(path)
            return old
        return None

    hush("push", versions[1], server.url, "--replace", *server.token)
    limit = 1
    done = hush("query", Between(server.url, before).url, QUERY, "--format", "csv", *key, *server.token)
    assert len(shown) == 1 and done.stdout == hush("query", versions[1], QUERY, "--format", "csv", *key).stdout
    # A server that insists is refused, and the message tells both reasons.
    shown, limit = [], 2
    refused = hush("query", Between(server.url, before).url, QUERY, *key, *server.token, status=9)
    assert "HUSH-T010" in refused.stderr and "being pushed" in refused.stderr
