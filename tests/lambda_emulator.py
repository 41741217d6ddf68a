# SPDX-License-Identifier: Apache-2.0
"""AWS Lambda and its HTTP API on this machine, with their limits: real processes that speak the Runtime API, frozen between calls.

What the services refuse is refused here too: requests and answers over 6 MB, events over 1 MB, bodies over 10 MB and answers after
29 s at the gateway, environments over 4 KB, invocations that are not signed. A process is killed at its time limit and at its memory
limit. Events come at least once: they are tried three times, and a test may have them doubled, delayed, lost, or their worker killed.
"""

import base64
import contextlib
import dataclasses
import hashlib
import hmac
import http.server
import json
import math
import os
import pathlib
import queue
import re
import shutil
import signal
import subprocess
import threading
import time
import urllib.parse
import uuid

MB = 1 << 20
SYNC_BYTES, EVENT_BYTES, GATEWAY_BYTES, GATEWAY_S = 6 * MB, MB, 10 * MB, 29.0
ENVIRONMENT_BYTES, INIT_S, TRIES = 4096, 10.0, 3
REGION = "us-east-1"
RUNTIME = re.compile(r"/([0-9a-f]+)/2018-06-01/runtime/(?:init/error|invocation/(next|([^/]+)/(response|error)))")
INVOKE = re.compile(r"/2015-03-31/functions/([^/]+)/invocations")


@dataclasses.dataclass
class Function:
    """What is deployed under a name."""

    command: list
    environment: dict
    memory_mb: int = 1024
    timeout_s: float = 60.0
    concurrency: int = 1000

    def __post_init__(self):
        size = sum(len(name) + len(str(value)) for name, value in self.environment.items())
        assert size <= ENVIRONMENT_BYTES, f"an environment of {size} bytes: at most {ENVIRONMENT_BYTES}"


@dataclasses.dataclass
class Invocation:
    """One call of a function, as it ended."""

    function: str
    payload: bytes
    #: ``sync`` or ``event``.
    kind: str
    #: Whether a process was started for it.
    is_cold: bool = False
    seconds: float = 0.0
    peak_mb: int = 0
    #: ``ok``, ``error`` (the function said so), ``timeout``, ``memory``, ``exit``, ``request``, ``response`` (too large), ``throttled``,
    #: ``stopped`` (the emulator ends).
    ended: str = ""
    answer: bytes = b""


class Environment:
    """An execution environment: one process, one invocation at a time, frozen between two."""

    def __init__(self, emulator, name):
        self.emulator, self.name, self.id = emulator, name, uuid.uuid4().hex
        function = emulator.functions[name]
        self.scratch = emulator.directory / f"tmp-{self.id[:8]}"
        self.scratch.mkdir()
        self.given, self.answers = queue.Queue(), queue.Queue()
        self.ready = threading.Event()
        emulator.environments[self.id] = self
        variables = {
            "PATH": os.environ["PATH"],
            "TMPDIR": self.scratch,
            "AWS_LAMBDA_RUNTIME_API": f"http://127.0.0.1:{emulator.port}/{self.id}",
            "AWS_LAMBDA_FUNCTION_NAME": name,
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": function.memory_mb,
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "LAMBDA_TASK_ROOT": pathlib.Path(function.command[0]).parent,
            "AWS_REGION": REGION,
            **function.environment,
        }
        settings = {"stdin": subprocess.DEVNULL, "stdout": emulator.log, "stderr": emulator.log}
        environment = {key: str(value) for key, value in variables.items()}
        self.process = subprocess.Popen(list(map(str, function.command)), env=environment, **settings)

    def memory_mb(self, field):
        """A line of the process's status in MB: ``VmHWM`` is the peak, ``VmRSS`` what it takes now."""
        with contextlib.suppress(OSError):
            for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
                if line.startswith(field):
                    return int(line.split()[1]) >> 10
        return 0

    def run(self, invocation, function, doomed_after=None):
        """Hands an invocation over and waits for its end; whether the environment lives on."""
        begun = time.monotonic()
        request = uuid.uuid4().hex
        self.process.send_signal(signal.SIGCONT)
        self.given.put((request, invocation.payload, time.time() + function.timeout_s))
        limit = begun + function.timeout_s
        while True:
            with contextlib.suppress(queue.Empty):
                found, verb, body = self.answers.get(timeout=0.01)
                if found == request:
                    invocation.answer, invocation.ended = body, "ok" if verb == "response" else "error"
                    break
            if self.process.poll() is not None:
                invocation.ended = "exit"
            elif time.monotonic() > limit or (not self.ready.is_set() and time.monotonic() > begun + INIT_S):
                invocation.ended = "timeout"
            elif self.memory_mb("VmRSS") > function.memory_mb:
                invocation.ended = "memory"
            elif doomed_after is not None and time.monotonic() > begun + doomed_after:
                invocation.ended = "exit"
            if invocation.ended:
                break
        invocation.seconds, invocation.peak_mb = time.monotonic() - begun, self.memory_mb("VmHWM")
        lives = invocation.ended in ("ok", "error") and self.process.poll() is None
        if lives:
            # Until its next question the process may be frozen at any place.
            self.process.send_signal(signal.SIGSTOP)
        return lives

    def end(self):
        """Ends the process and forgets what it wrote."""
        self.emulator.environments.pop(self.id, None)
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.scratch, ignore_errors=True)


class Lambda:
    """Functions by name, the Invoke API, and an HTTP API in front of one of them.

    ``plan`` gets the payload of an event, as it is taken on, and returns ``None`` or one of: ``twice``, ``late`` (half a second),
    ``lost`` (taken on and never run), ``kill`` (the process ends while it works; the next try is left alone), ``fail`` (as ``kill``, at each try).
    """

    def __init__(self, directory, credentials):
        self.directory, self.credentials = directory, credentials
        directory.mkdir(parents=True)
        self.log = (directory / "log").open("ab")
        self.functions, self.environments, self.idle, self.busy = {}, {}, {}, {}
        self.invocations, self.dropped, self.plan = [], [], None
        self.front, self.kill_after, self.lock = None, 0.05, threading.Lock()
        self.open_events, self.is_stopped = 0, False
        handler = type("Handler", (Handler,), {"emulator": self})
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def url(self):
        """The gateway's address, with which Invoke's is one here."""
        return f"http://127.0.0.1:{self.port}"

    def deploy(self, name, function):
        """Puts a function under a name; new processes run it."""
        self.functions[name] = function

    def invoke(self, name, payload, kind="sync", doomed_after=None):
        """Runs a function once; gives the invocation."""
        function = self.functions[name]
        invocation = Invocation(name, payload, kind)
        if self.is_stopped:
            invocation.ended = "stopped"
            return invocation
        if len(payload) > (SYNC_BYTES if kind == "sync" else EVENT_BYTES):
            invocation.ended = "request"
            return self.note(invocation)
        with self.lock:
            if self.busy.get(name, 0) >= function.concurrency:
                invocation.ended = "throttled"
            else:
                self.busy[name] = self.busy.get(name, 0) + 1
            waiting = self.idle.setdefault(name, [])
            environment = waiting.pop() if waiting and not invocation.ended else None
        if invocation.ended:
            return self.note(invocation)
        invocation.is_cold = environment is None
        environment = environment or Environment(self, name)
        lives = environment.run(invocation, function, doomed_after)
        if len(invocation.answer) > SYNC_BYTES:
            invocation.ended, invocation.answer = "response", b""
        with self.lock:
            self.busy[name] -= 1
            if lives:
                self.idle[name].append(environment)
        if not lives:
            environment.end()
        return self.note(invocation)

    def note(self, invocation):
        """Keeps an invocation. An event that finds no room is taken again by the service, and is none."""
        with self.lock:
            if invocation.kind != "event" or invocation.ended != "throttled":
                self.invocations.append(invocation)
        return invocation

    def later(self, name, payload):
        """Takes an event on: it is run at least once, unless the plan loses it."""
        action = self.plan(payload) if self.plan else None
        if action == "lost":
            return
        with self.lock:
            self.open_events += 1

        def deliver():
            if action == "late":
                time.sleep(0.5)
            for number in range(TRIES):
                doomed = self.kill_after if action == "fail" or (action == "kill" and number == 0) else None
                while (done := self.invoke(name, payload, "event", doomed)).ended == "throttled":
                    time.sleep(0.05)
                if done.ended in ("ok", "stopped"):
                    break
                time.sleep(0.05)
            else:
                self.dropped.append(payload)
            if action == "twice":
                self.invoke(name, payload, "event")
            with self.lock:
                self.open_events -= 1

        threading.Thread(target=deliver, daemon=True).start()

    def settle(self, seconds=300):
        """Waits until no event is under way."""
        until = time.monotonic() + seconds
        while self.open_events:
            assert time.monotonic() < until, "events are still under way"
            time.sleep(0.01)

    def forget_idle(self):
        """Ends the processes that wait, as the service does sooner or later: the next calls start cold."""
        with self.lock:
            waiting, self.idle = [one for many in self.idle.values() for one in many], {}
        for environment in waiting:
            environment.end()

    def gigabyte_seconds(self, invocations):
        """What is billed: the time of each call, in whole milliseconds, times the function's memory."""
        return sum(math.ceil(one.seconds * 1000) / 1000 * self.functions[one.function].memory_mb / 1024 for one in invocations)

    def text(self):
        """All that the processes have logged."""
        self.log.flush()
        return (self.directory / "log").read_text(errors="replace")

    def stop(self):
        """Ends everything; what is under way is given up."""
        self.is_stopped = True
        for environment in list(self.environments.values()):
            environment.end()
        self.server.shutdown()
        self.server.server_close()
        self.log.close()


class Handler(http.server.BaseHTTPRequestHandler):
    """The Runtime API below each environment's path, the Invoke API, and for all other paths the gateway."""

    protocol_version = "HTTP/1.1"
    emulator: Lambda

    def log_message(self, *_):
        """Says nothing."""

    def reply(self, status, body=b"", headers=()):
        """Answers."""
        self.send_response(status)
        for name, value in {"Content-Length": len(body), **dict(headers)}.items():
            self.send_header(name, str(value))
        self.end_headers()
        if self.command != "HEAD":
            with contextlib.suppress(OSError):
                self.wfile.write(body)

    def handle_any(self):
        """Handles one request."""
        body = self.body()
        path, _, query = self.path.partition("?")
        if match := RUNTIME.fullmatch(path):
            self.runtime(match, body)
        elif match := INVOKE.fullmatch(path):
            self.invocation(urllib.parse.unquote(match[1]), body)
        else:
            self.gateway(path, query, body)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_any  # noqa: N815

    def body(self):
        """The request's body, whichever way its length is told."""
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def runtime(self, match, body):
        """A process asks for its next invocation, or answers one."""
        environment = self.emulator.environments.get(match[1])
        if environment is None:
            self.reply(404)
        elif match[2] == "next":
            environment.ready.set()
            while True:
                with contextlib.suppress(queue.Empty):
                    request, payload, deadline = environment.given.get(timeout=0.2)
                    break
                if environment.id not in self.emulator.environments:
                    self.close_connection = True
                    return
            headers = {
                "Lambda-Runtime-Aws-Request-Id": request,
                "Lambda-Runtime-Deadline-Ms": int(deadline * 1000),
                "Lambda-Runtime-Invoked-Function-Arn": f"arn:aws:lambda:{REGION}:000000000000:function:{environment.name}",
                "Lambda-Runtime-Trace-Id": f"Root=1-{0:08x}-{0:024x};Sampled=0",
                "Content-Type": "application/json",
            }
            self.reply(200, payload, headers)
        elif match[2] is None:
            self.reply(202, b"{}")
        else:
            self.reply(413 if match[4] == "response" and len(body) > SYNC_BYTES else 202, b"{}")
            environment.answers.put((match[3], match[4], body))

    def invocation(self, name, body):
        """Somebody invokes a function by its name or the end of its ARN."""
        emulator, name = self.emulator, name.rsplit(":", 1)[-1]
        if not is_signed(self, body, *emulator.credentials):
            self.reply(403, b'{"message":"The request signature we calculated does not match"}')
        elif name not in emulator.functions:
            self.reply(404, b'{"message":"Function not found"}')
        elif self.headers.get("X-Amz-Invocation-Type") == "Event":
            if len(body) > EVENT_BYTES:
                self.reply(413, b'{"message":"Request must be smaller"}')
            else:
                emulator.later(name, body)
                self.reply(202)
        else:
            done = emulator.invoke(name, body)
            status = {"request": 413, "response": 413, "throttled": 429}.get(done.ended, 200)
            self.reply(status, done.answer, {} if done.ended == "ok" else {"X-Amz-Function-Error": "Unhandled"})

    def gateway(self, path, query, body):
        """A request to the HTTP API, for the front, as an event of payload version 2.0."""
        if len(body) > GATEWAY_BYTES:
            self.reply(413, b'{"message":"Request Too Long"}')
            return
        kind = self.headers.get("Content-Type", "")
        is_text = kind.startswith("text/") or "json" in kind or not body
        method = {"method": self.command, "path": path, "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1", "userAgent": "tests"}
        event = {
            "version": "2.0",
            "routeKey": "$default",
            "rawPath": path,
            "rawQueryString": query,
            "headers": {name.lower(): value for name, value in self.headers.items()},
            "requestContext": {
                "accountId": "000000000000",
                "apiId": "emulated",
                "domainName": f"127.0.0.1:{self.emulator.port}",
                "domainPrefix": "emulated",
                "http": method,
                "requestId": uuid.uuid4().hex,
                "routeKey": "$default",
                "stage": "$default",
                "timeEpoch": int(time.time() * 1000),
            },
            "isBase64Encoded": not is_text,
            "body": body.decode() if is_text else base64.b64encode(body).decode(),
        }
        box = queue.Queue()
        run = lambda: box.put(self.emulator.invoke(self.emulator.front, json.dumps(event).encode()))  # noqa: E731
        threading.Thread(target=run, daemon=True).start()
        try:
            done = box.get(timeout=GATEWAY_S)
        except queue.Empty:
            self.reply(504, b'{"message":"Endpoint request timed out"}')
            return
        if done.ended != "ok":
            status = {"request": 413, "throttled": 503}.get(done.ended, 502)
            self.reply(status, b'{"message":"Internal Server Error"}')
            return
        answer = json.loads(done.answer)
        content = answer.get("body") or ""
        content = base64.b64decode(content) if answer.get("isBase64Encoded") else content.encode()
        headers = {name: value for name, value in answer.get("headers", {}).items() if name.lower() != "content-length"}
        if self.command == "HEAD":
            headers["Content-Length"] = answer.get("headers", {}).get("content-length", len(content))
        self.reply(answer["statusCode"], content, headers)


def is_signed(request, body, access_key, secret_key):
    """Whether a request has the signature (version 4) of these credentials for the service ``lambda``."""
    match = re.fullmatch(
        r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/lambda/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})",
        request.headers.get("Authorization", ""),
    )
    if match is None or match[1] != access_key or match[3] != REGION:
        return False
    _, day, region, names, signature = match.groups()
    path, _, query = request.path.partition("?")
    headers = "".join(f"{name}:{' '.join(request.headers.get(name, '').split())}\n" for name in names.split(";"))
    digest = hashlib.sha256(body).hexdigest()
    # Services but S3 encode the path twice: what the line of the request has is encoded once more.
    canonical = "\n".join([request.command, urllib.parse.quote(path, safe="/"), query, headers, names, digest])
    scope = f"{day}/{region}/lambda/aws4_request"
    stamp = request.headers.get("x-amz-date", "")
    text = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = f"AWS4{secret_key}".encode()
    for part in (day, region, "lambda", "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.compare_digest(hmac.new(key, text.encode(), hashlib.sha256).hexdigest(), signature)
