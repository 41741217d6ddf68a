# SPDX-License-Identifier: Apache-2.0
"""End-to-end tests: the real binaries on real files, DuckDB and exact Python integers as independent oracles."""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent


def pytest_configure(config):
    """Registers the marker of the long suite."""
    config.addinivalue_line("markers", "slow: long; run by make test-slow")


def pytest_collection_modifyitems(config, items):
    """Skips the long suite unless it is asked for by `-m slow`."""
    if "slow" not in config.getoption("-m", default=""):
        for item in items:
            if "slow" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="long; run by make test-slow"))


@pytest.fixture
def hush(tmp_path):
    """Runs `hush` with a home of its own; gives the finished process."""
    binary = pathlib.Path(os.environ["HUSH_BIN"]) / "hush"
    home = tmp_path / "home"
    home.mkdir()
    environment = {"PATH": os.environ["PATH"], "HOME": str(home)}

    def run(*arguments, status=0):
        done = subprocess.run(
            [binary, *map(str, arguments)],
            capture_output=True,
            text=True,
            env=environment,
            cwd=tmp_path,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == status, f"status {done.returncode}: {done.stderr}"
        return done

    return run
