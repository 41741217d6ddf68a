# SPDX-License-Identifier: Apache-2.0
"""The output for a person, word by word: commands with their standard output, standard error and exit status.

Figures that depend on the machine are replaced by `#`. `HUSH_UPDATE_GOLDEN=1` writes the files anew; read the
difference before committing it.
"""

import os
import pathlib
import re

import pytest

from conftest import PATIENTS, ROOT, approve

GOLDEN = pathlib.Path(__file__).resolve().parent / "golden"
MACHINE_LINES = (
    "Time ", "Memory ", "Moved ", "hush ", "Kernels ", "Threads ", "Cost ", "Costs ", "Planned ", "Server ", "You ",
    "server ", "you ", "memory ",
)

# Columns of figures, as wide as the figures.
ANALYSIS_LINES = ("up ", "down ", "server ", "you ", "memory ")


def plain(text, directory):
    """The text without the parts that differ between machines, runs and keys."""
    text = text.replace(str(directory), "DIR").replace(str(ROOT), "REPO")
    text = re.sub(r"\b[0-9a-f]{32,64}\b", "HEX", text)
    text = re.sub(r"http://127.0.0.1:\d+", "http://SERVER", text)
    # Where ways are even depends on the machine's threads.
    text = re.sub(r";\s+quicker\s.*?(?=\n +[*-] |\n\S)", "; quicker #", text, flags=re.DOTALL)
    lines = []
    for line in text.splitlines():
        if line.startswith(MACHINE_LINES):
            line = re.sub(r"\d[\d.]*", "#", line)
            line = re.sub(r"(Kernels +)\S+ \(available: [^)]*\)", r"\1# (available: #)", line)
        if line.startswith(ANALYSIS_LINES):
            line = re.sub(" {2,}", "  ", line)
        line = re.sub(r": [\d.]+ s, ", ": # s, ", line)
        line = re.sub(r"up to [\d,]+ groups", "up to # groups", line)
        lines.append(re.sub(r"\d[\d.]* (kB|MB|B)\b", r"# \1", line).rstrip())
    return "\n".join(lines)


class Transcript:
    """Runs commands and keeps their output."""

    def __init__(self, hush, directory):
        self.hush, self.directory, self.parts = hush, directory, []

    def __call__(self, *arguments):
        done = self.hush(*arguments, status=None)
        words = " ".join(f'"{word}"' if " " in str(word) else str(word) for word in arguments)
        text = f"$ hush {words}\n"
        for name, stream in (("", done.stdout), ("stderr", done.stderr)):
            if stream:
                text += f"--- {name}\n".replace("--- \n", "") + stream.rstrip("\n") + "\n"
        self.parts.append(plain(text + f"--- exit {done.returncode}", self.directory))
        return done

    def compare(self, name):
        """Equals the file in golden/, or becomes it."""
        path, found = GOLDEN / f"{name}.txt", "\n\n".join(self.parts) + "\n"
        if os.environ.get("HUSH_UPDATE_GOLDEN"):
            path.write_text(found, encoding="utf-8")
        assert found == path.read_text(encoding="utf-8"), f"golden/{name}.txt differs"


@pytest.fixture
def say(hush, tmp_path):
    """A transcript in a fresh directory."""
    return Transcript(hush, tmp_path)


def test_rehearsal(say):
    """The README's example, a query without encrypted columns, and the account as JSON's absence."""
    query = (
        "SELECT ward, COUNT(*), AVG(age), STDDEV(charges) FROM patients WHERE year = 2023 GROUP BY ward ORDER BY ward"
    )
    say("run", PATIENTS, query, "--clear", "ward,year", "--verify")
    say("run", PATIENTS, "SELECT COUNT(*) FROM patients", "--clear", "ward")
    say("run", PATIENTS, "SELECT SUM(charges) AS s FROM patients", "--sensitive", "charges", "--format", "json", "--quiet")
    say.compare("run")


def test_the_way_of_a_table(say, tmp_path, key):
    """init, encrypt, info, query, explain, decrypt."""
    schema, directory = tmp_path / "patients.schema.toml", tmp_path / "T"
    say("init", PATIENTS, "--sensitive", "age,charges,email", "--clear", "patient_id,bp,temperature", "-o", schema)
    say("encrypt", PATIENTS, "--schema", schema, "-o", directory, *key)
    approve(schema)
    say("encrypt", PATIENTS, "--schema", schema, "-o", directory, *key)
    say("info", directory)
    query = "SELECT ward, AVG(age) FROM patients WHERE year = 2023 GROUP BY ward ORDER BY ward"
    say("query", directory, query, *key)
    say("explain", directory, query, *key)
    say("explain", directory, query, "--groups", "3", "--verbose", *key)
    say("query", directory, query, "--analyze", "--format", "csv", *key)
    say("explain", directory, "SELECT COUNT(*) AS n FROM patients", *key)
    say("explain", directory, "SELECT age - 1 AS a FROM patients WHERE year = 2023 LIMIT 3", *key)
    say("explain", directory, "SELECT SUM(age * age * charges) FROM patients", *key)
    say.compare("table")


def test_plan_graph_of_the_gallery(hush, tmp_path, key):
    """The picture in the documentation is the one that the command draws."""
    schema, directory, drawn = tmp_path / "patients.schema.toml", tmp_path / "T", tmp_path / "plan.svg"
    hush("init", PATIENTS, "--sensitive", "age,charges,email", "--clear", "patient_id,bp,temperature", "-o", schema)
    approve(schema)
    hush("encrypt", PATIENTS, "--schema", schema, "-o", directory, *key)
    query = (
        "SELECT ward, COUNT(*), AVG(age), STDDEV(charges) FROM patients WHERE year = 2023 GROUP BY ward ORDER BY ward"
    )
    hush("explain", directory, query, "--graph", drawn, *key)
    path, found = ROOT / "docs" / "pictures" / "plan-graph.svg", drawn.read_text(encoding="utf-8")
    if os.environ.get("HUSH_UPDATE_GOLDEN"):
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text(encoding="utf-8"), "docs/pictures/plan-graph.svg differs"


def test_schema_proposal(hush, tmp_path):
    """The proposed schema itself."""
    schema = tmp_path / "s.toml"
    hush("init", PATIENTS, "-o", schema)
    path, found = GOLDEN / "schema.toml", schema.read_text(encoding="utf-8")
    if os.environ.get("HUSH_UPDATE_GOLDEN"):
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text(encoding="utf-8")


def test_errors(say, tmp_path):
    """One of each kind: place, code, way out."""
    for query in (
        "SELECT SUM(age FROM patients",
        "SELECT SUM(age) FROM patient",
        "SELECT SUM(agee) FROM patients",
        "SELECT SUM(charges) OVER (), COUNT(*) FROM patients",
    ):
        say("run", PATIENTS, query)
    for query in (
        "SELECT AVG(ward) FROM patients",
        "SELECT COUNT(*) FROM patients WHERE year = 'abc'",
        "SELECT COUNT(*) FROM patients WHERE ward = 5",
        'SELECT COUNT(*) FROM patients WHERE ward = "surgery"',
        "SELECT COUNT(*) FROM patients WHERE wrad = 'surgery'",
        "SELECT STDEV(age) FROM patients",
        "SELECT COUNT(*) FROM patients WHERE ward SIMILAR TO '(a'",
        "SELECT COUNT(*) FROM patients WHERE CAST(ward AS INT) = 1",
        "UPDATE patients SET year = 2024",
    ):
        say("run", PATIENTS, query, "--clear", "ward,year")
    say("run", tmp_path / "missing.csv", "SELECT 1")
    folder = tmp_path / "visits"
    for name, text in (("a", "n,t\n1,x\n"), ("b", "n,u\n2,y\n")):
        (folder / f"ward={name}").mkdir(parents=True)
        (folder / f"ward={name}" / "part.csv").write_text(text, encoding="utf-8")
    say("run", folder, "SELECT COUNT(*) FROM visits")
    (folder / "ward=b" / "part.csv").write_text("n,t\n2,y,z\n", encoding="utf-8")
    say("run", folder, "SELECT COUNT(*) FROM visits")
    say("init", tmp_path / "home")
    say("query", tmp_path / "no-table", "SELECT SUM(age) FROM patients")
    say("query", "http://127.0.0.1:9", "SELECT SUM(age) FROM patients")
    say("run", PATIENTS, "SELECT SUM(agee) FROM patients", "--json-errors")
    say("run", PATIENTS, "SELECT SUM(age) FROM patients", "--clear", "agee")
    say("frobnicate")
    say.compare("errors")


def test_help(say):
    """The commands and their options."""
    say("--help")
    for command in ("run", "eval", "init", "keygen", "encrypt", "push", "ls", "info", "query", "explain", "decrypt", "append", "delete", "drop", "doctor", "bench"):
        say(command, "--help")
    say("doctor")
    say.compare("help")
