# SPDX-License-Identifier: Apache-2.0
"""A real S3 server for tests, and a proxy in front of it that counts, delays, refuses, cuts, loses and kills.

The server is versitygw, built once by Go into the cache; where there is no Go, it is moto, if that is installed.
"""

import contextlib
import dataclasses
import datetime
import hashlib
import hmac
import http.client
import http.server
import importlib.util
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

import pytest

VERSITYGW = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"
CACHE = pathlib.Path(os.environ.get("HUSH_CACHE", pathlib.Path.home() / ".cache" / "hushtable"))
ACCESS_KEY, SECRET_KEY = "hush-tests", "a-secret-of-the-tests"


def free_port():
    """A port that nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def versitygw():
    """The server's program, built if it is not in the cache; `None` without Go."""
    built = CACHE / "go" / "bin" / "versitygw"
    if not built.exists() and shutil.which("go"):
        places = {"GOPATH": str(CACHE / "go"), "GOBIN": str(built.parent)}
        subprocess.run(["go", "install", VERSITYGW], env={**os.environ, **places}, check=True, capture_output=True)
    return built if built.exists() else None


class S3:
    """An S3 server on a directory of its own; with `versions`, a directory, for buckets that keep versions there."""

    def __init__(self, directory, versions=None):
        self.directory = directory
        directory.mkdir()
        self.port = free_port()
        program = versitygw()
        self.has_files = program is not None
        if program is not None:
            options = []
            if versions is not None:
                versions.mkdir()
                options = ["--versioning-dir", versions]
            command = [program, "--port", f"127.0.0.1:{self.port}", "posix", *options, directory]
        elif importlib.util.find_spec("moto"):
            command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)]
        else:
            pytest.skip("neither Go nor moto is installed")
        environment = {**os.environ, "ROOT_ACCESS_KEY": ACCESS_KEY, "ROOT_SECRET_KEY": SECRET_KEY}
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, env=environment, **quiet)
        until = time.monotonic() + 30
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            assert self.process.poll() is None and time.monotonic() < until, "the S3 server does not listen"
            time.sleep(0.02)

    def make_bucket(self, name):
        """Makes a bucket; gives its directory, where the server has one."""
        if self.has_files:
            (self.directory / name).mkdir()
            return self.directory / name
        urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{self.port}/{name}", method="PUT"))
        return None

    def request(self, method, path, query="", body=b""):
        """Asks what `object_store` does not ask: signed by version 4 of AWS's signature; gives the body."""
        now = datetime.datetime.now(datetime.UTC)
        day, time_, host = now.strftime("%Y%m%d"), now.strftime("%Y%m%dT%H%M%SZ"), f"127.0.0.1:{self.port}"
        digest = hashlib.sha256(body).hexdigest()
        headers = {"host": host, "x-amz-content-sha256": digest, "x-amz-date": time_}
        named = ";".join(headers)
        canonical = "\n".join([method, path, query, *(f"{name}:{value}" for name, value in headers.items()), "", named, digest])
        scope = f"{day}/us-east-1/s3/aws4_request"
        text = "\n".join(["AWS4-HMAC-SHA256", time_, scope, hashlib.sha256(canonical.encode()).hexdigest()])
        key = f"AWS4{SECRET_KEY}".encode()
        for step in (*scope.split("/"), text):
            key = hmac.new(key, step.encode(), hashlib.sha256).digest()
        credential = f"AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/{scope}, SignedHeaders={named}, Signature={key.hex()}"
        request = urllib.request.Request(f"http://{host}{path}?{query}", data=body or None, method=method)
        for name, value in {**headers, "Authorization": credential}.items():
            request.add_header(name, value)
        return urllib.request.urlopen(request).read()

    def keep_versions(self, name):
        """Has a bucket keep what is overwritten or deleted."""
        text = "<VersioningConfiguration xmlns='http://s3.amazonaws.com/doc/2006-03-01/'><Status>Enabled</Status></VersioningConfiguration>"
        self.request("PUT", f"/{name}", "versioning=", text.encode())

    def stop(self):
        """Ends it."""
        self.process.kill()
        self.process.wait()


@dataclasses.dataclass
class Call:
    """A request that passed the proxy."""

    number: int
    method: str
    #: Bucket and key.
    path: str
    query: str
    range: str | None
    #: Whether a write asks for nothing to be there.
    creates: bool = False
    status: int = 0
    #: Bytes of the answer's body.
    read: int = 0
    #: Bytes of the request's body.
    written: int = 0


@dataclasses.dataclass
class Proxy:
    """Passes requests on, and does to some of them what ``plan`` says.

    ``plan`` gets a call and returns ``None`` or one of: ``slow`` (503 SlowDown), ``cut`` (half of the body), ``lost`` (done, but no
    answer), ``expired`` (403 ExpiredToken), ``denied`` (403 AccessDenied), ``hidden`` (what is absent is denied, as to whoever may not
    list), ``kill`` (the client ends, the request is not done).
    """

    upstream: int
    plan: object = None
    victim: object = None
    calls: list = dataclasses.field(default_factory=list)

    def __post_init__(self):
        self.lock = threading.Lock()
        handler = type("Handler", (Handler,), {"proxy": self})
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def reset(self, plan=None):
        """Forgets the calls so far; from now on another plan holds."""
        with self.lock:
            self.calls, self.plan = [], plan

    def of_parts(self):
        """Calls for parts, by the name of the part."""
        found = {}
        for call in self.calls:
            if match := re.search(r"/parts/([0-9a-f]+\.[a-z]+)", call.path):
                found.setdefault(match[1], []).append(call)
        return found

    def read(self):
        """Bytes that were read."""
        return sum(call.read for call in self.calls)

    def stop(self):
        """Ends it."""
        self.server.shutdown()
        self.server.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    """One connection of a client."""

    protocol_version = "HTTP/1.1"
    proxy: Proxy

    def log_message(self, *_):
        """Says nothing."""

    def answer(self, status, code):
        """Refuses as S3 does. The text holds what a careless client would repeat."""
        body = (
            f"<Error><Code>{code}</Code><Message>refused</Message><AWSAccessKeyId>{ACCESS_KEY}</AWSAccessKeyId>"
            f"<SignatureProvided>0123abcd</SignatureProvided></Error>"
        ).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        return status

    def pass_on(self):
        """Handles one request."""
        proxy = self.proxy
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path, _, query = self.path.partition("?")
        path = urllib.parse.unquote(path).lstrip("/")
        with proxy.lock:
            call = Call(len(proxy.calls) + 1, self.command, path, query, self.headers.get("Range"), self.headers.get("If-None-Match") == "*", written=len(body))
            proxy.calls.append(call)
            action = proxy.plan(call) if proxy.plan else None
        if action == "kill":
            proxy.victim()
            self.close_connection = True
            return
        if action in ("slow", "expired", "denied"):
            refusals = {"slow": (503, "SlowDown"), "expired": (403, "ExpiredToken"), "denied": (403, "AccessDenied")}
            call.status = self.answer(*refusals[action])
            return
        upstream = http.client.HTTPConnection("127.0.0.1", proxy.upstream, timeout=60)
        headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
        upstream.request(self.command, self.path, body=body, headers=headers)
        found = upstream.getresponse()
        data = found.read()
        upstream.close()
        call.status, call.read = found.status, len(data)
        if action == "hidden" and found.status == 404:
            call.status = self.answer(403, "AccessDenied")
            return
        if action == "lost":
            self.close_connection = True
            return
        self.send_response_only(found.status)
        for name, value in found.getheaders():
            if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                self.send_header(name, value)
        length = found.getheader("Content-Length", "0") if self.command == "HEAD" else str(len(data))
        if found.status not in (204, 304):
            self.send_header("Content-Length", length)
        self.end_headers()
        if action == "cut":
            data = data[: len(data) // 2]
            self.close_connection = True
        with contextlib.suppress(OSError):
            self.wfile.write(data)

    do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = pass_on  # noqa: N815


@pytest.fixture(scope="session")
def s3(tmp_path_factory):
    """A running S3 server."""
    running = S3(tmp_path_factory.mktemp("s3") / "buckets")
    yield running
    running.stop()


@pytest.fixture
def bucket(s3, request):
    """A bucket of this test: its name."""
    name = "b-" + re.sub("[^a-z0-9]+", "-", request.node.name.lower())[:40].strip("-")
    s3.make_bucket(name)
    return name


@pytest.fixture
def proxy(s3):
    """A proxy in front of the S3 server."""
    running = Proxy(s3.port)
    yield running
    running.stop()


def credentials(port, **more):
    """The environment of a client."""
    return {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        "AWS_REGION": "us-east-1",
        **more,
    }
