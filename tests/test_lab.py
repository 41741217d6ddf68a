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
    """A client without the benchmarks beside it, then with them and without the laboratory."""
    for program, missing in (("hush", "hush-bench"), ("hush-bench", "hush-lab")):
        shutil.copy(binary(program), tmp_path / program)
        done = subprocess.run([tmp_path / "hush", "bench", "W2"], capture_output=True, text=True, check=False)
        assert done.returncode == 2 and f"cargo build --release -p {missing}\n" in done.stderr


def test_benchmarks_end_as_commands_of_the_client_do(hush):
    """Help, wrong arguments and errors, as JSON too, come from the program that `hush bench` starts."""
    assert "split-table  W0: " in hush("bench", "--help").stdout == hush("help", "bench").stdout
    assert "Usage: hush bench split-table" in hush("bench", "W0", "--help").stdout
    assert "unrecognized subcommand 'nonsense'" in hush("bench", "nonsense", status=2).stderr
    wrong = ("bench", "split-table", "--variant", "other")
    assert hush(*wrong, status=2).stderr.startswith("HUSH-U001 no variant")
    for arguments in (("--json-errors", *wrong), (*wrong, "--json-errors")):
        assert json.loads(hush(*arguments, status=2).stderr)["code"] == "HUSH-U001"
