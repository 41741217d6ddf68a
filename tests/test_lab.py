# SPDX-License-Identifier: Apache-2.0
"""The laboratory from the client, which does not contain it."""

import json
import shutil
import subprocess

from conftest import binary


def test_the_comparison_of_2013_runs_in_a_program_of_its_own(hush):
    """Smallest set, one operation of each scheme; no result is wrong."""
    arguments = ("--up-to", 42, "--only", "add", "--scheme", "agcd", "--scheme", "bgv", "--repeat", 2, "--json")
    done = hush("bench", "lwe-agcd", *arguments)
    rows = json.loads(done.stdout)
    assert [(row["contender"], row["security"]) for row in rows] == [("agcd", 42), ("bgv", 128)]
    assert all(row["runs"] == 2 and row["failures"] == 0 and row["peak_mb"] > 0 for row in rows)
    assert rows[0]["published_s"] == 0.048


def test_the_client_says_how_to_build_what_it_does_not_contain(tmp_path):
    """A client without the laboratory beside it."""
    shutil.copy(binary("hush"), tmp_path / "hush")
    done = subprocess.run([tmp_path / "hush", "bench", "W2"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "cargo build --release -p hush-lab" in done.stderr
