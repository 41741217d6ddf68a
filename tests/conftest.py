# SPDX-License-Identifier: Apache-2.0
"""End-to-end tests: the real binaries on real files, DuckDB and exact Python integers as independent oracles."""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PATIENTS = ROOT / "examples" / "patients.csv"


def pytest_configure(config):
    """Registers the marker of the long suite."""
    config.addinivalue_line("markers", "slow: long; run by make test-slow")


def pytest_collection_modifyitems(config, items):
    """Skips the long suite unless it is asked for by `-m slow`."""
    if "slow" not in config.getoption("-m", default=""):
        for item in items:
            if "slow" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="long; run by make test-slow"))


def binary(name):
    """Path of a built program."""
    return pathlib.Path(os.environ["HUSH_BIN"]) / name


class Hush:
    """Runs `hush` in a directory, with a home of its own; every call returns the finished process."""

    def __init__(self, directory, **environment):
        self.directory = directory
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(directory / "home"), **environment}

    def with_environment(self, **more):
        """This runner with more environment variables."""
        return Hush(self.directory, **{**self.environment, **more})

    def start(self, *arguments, through=(), **options):
        """Starts the command, perhaps through another one, and does not wait."""
        settings = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        command = [*through, binary("hush"), *map(str, arguments)]
        return subprocess.Popen(command, env=self.environment, cwd=self.directory, **settings)

    def bytes(self, *arguments):
        """Standard output, as bytes, of a command that must succeed."""
        process = self.start(*arguments)
        out, err = process.communicate()
        assert process.returncode == 0, err
        return out

    def __call__(self, *arguments, status=0, **options):
        """Runs the command; it must end with `status` (any, if None)."""
        process = self.start(*arguments, text=True, **options)
        out, err = process.communicate()
        assert status is None or process.returncode == status, f"status {process.returncode}: {err}"
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)


class Server:
    """A `hush-server` process on a data directory; stop and start it as often as you like."""

    def __init__(self, data, log, *options):
        self.data, self.log, self.options, self.process, self.url = data, log, options, None, ""
        self.port, self.environment = 0, None

    def command(self):
        """The program and its arguments."""
        return [binary("hush-server"), "--data", self.data, "--listen", f"127.0.0.1:{self.port}", *self.options]

    def start(self):
        """Starts it, the second time on the same port, and waits until it listens."""
        settings = {"stdout": subprocess.PIPE, "stderr": self.log.open("a"), "text": True, "env": self.environment}
        self.process = subprocess.Popen(self.command(), **settings)
        self.url = ""
        while not self.url:
            line = self.process.stdout.readline()
            assert line, "the server ended"
            self.url = next((word for word in line.split() if word.startswith("http://")), "")
        self.port = int(self.url.rstrip("/").rsplit(":", 1)[1])
        return self

    def kill(self):
        """Ends it as a power cut would."""
        self.process.kill()
        self.process.wait()

    @property
    def token(self):
        """Arguments that hold its token."""
        return "--token-file", self.data / "token"


@pytest.fixture(scope="session", autouse=True)
def remembered(tmp_path_factory):
    """What Python in this process remembers of tables lies below the tests' directory, and not with the person who runs them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HUSH_STATE_DIR", str(tmp_path_factory.mktemp("remembered")))
        yield


@pytest.fixture
def hush(tmp_path):
    """A runner in a fresh directory."""
    (tmp_path / "home").mkdir()
    return Hush(tmp_path)


@pytest.fixture
def server(tmp_path):
    """A running server, killed afterwards."""
    running = Server(tmp_path / "server", tmp_path / "server.log").start()
    yield running
    running.kill()


def make_key(hush, directory, opens_in="16MiB"):
    """Makes a key of small machines, which opens fast: by default opening takes a second of each command. Returns the arguments that
    open it."""
    path, passphrase = directory / "owner.hushkey", directory / "passphrase"
    passphrase.write_text("correct horse\n", encoding="utf-8")
    passphrase.chmod(0o600)
    hush("keygen", "-o", path, "--passphrase-file", passphrase, "--opens-in", opens_in)
    return "--key", path, "--passphrase-file", passphrase


@pytest.fixture
def key(hush, tmp_path):
    """Arguments that open a key made for this test."""
    return make_key(hush, tmp_path)


def approve(schema):
    """Approves a proposal, as a person does after reading it."""
    text = schema.read_text(encoding="utf-8").replace('status = "proposed"', 'status = "approved"')
    schema.write_text(text, encoding="utf-8")


@pytest.fixture
def table(hush, tmp_path, key):
    """The example as an encrypted table: its directory."""
    schema = tmp_path / "patients.schema.toml"
    hush("init", PATIENTS, "--sensitive", "age,charges,email", "--clear", "patient_id,bp,temperature", "-o", schema)
    approve(schema)
    hush("encrypt", PATIENTS, "--schema", schema, "-o", tmp_path / "T", *key)
    return tmp_path / "T"
