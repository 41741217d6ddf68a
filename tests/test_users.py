# SPDX-License-Identifier: Apache-2.0
"""Troubles of new users: messages that misled, costs that were told twice, tables too wide for a terminal, columns left out silently."""

import csv
import datetime
import fcntl
import io
import json
import os
import pty
import random
import re
import shutil
import struct
import termios

import pytest

from conftest import PATIENTS, approve, binary

DAY = datetime.timedelta(days=1)


def admissions(path, rows):
    """A table of hospital admissions: 26 columns of all types, NULLs, dates, texts with quotes."""
    draw = random.Random(20)
    maybe = lambda value, share=0.1: "" if draw.random() < share else value
    wards = ["Cardiology", "ER", "O'Neill \"North\"", "surgery, 2nd floor", "pædiatrics"]
    header = (
        "admission_id,mrn,name,birth_date,sex,postcode,ward,physician,admitted_on,discharged_on,seen_at,emergency,los_days,age,weight_kg,"
        "height_cm,systolic,diastolic,temperature,glucose,creatinine,diagnosis,charge,copay,insurer,note"
    ).split(",")
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        for row in range(rows):
            admitted = datetime.date(2020, 1, 1) + draw.randint(0, 1800) * DAY
            born = datetime.date(1930, 1, 1) + draw.randint(0, 32000) * DAY
            days = draw.randint(0, 30)
            writer.writerow([
                f"A{row:07}", draw.randint(10**7, 10**8), f"Name {row} \"x\"", born, draw.choice("MF"), draw.randint(1000, 9999),
                draw.choice(wards), f"Dr. {draw.randint(1, 40)}", admitted, maybe(admitted + days * DAY, 0.03),
                f"{admitted}T{draw.randint(0, 23):02}:{draw.randint(0, 59):02}:00", draw.choice(["true", "false"]), days,
                (admitted - born).days // 365, maybe(f"{draw.uniform(3, 140):.1f}"), maybe(draw.randint(50, 210)), maybe(draw.randint(80, 220)),
                maybe(draw.randint(40, 130)), maybe(f"{draw.uniform(34, 42):.1f}"), maybe(f"{draw.uniform(2, 30):.2f}", 0.4),
                maybe(f"{draw.uniform(20, 900):.1f}", 0.4), f"{draw.choice('ABCIJK')}{draw.randint(10, 99)}.{draw.randint(0, 9)}",
                f"{draw.uniform(50, 90000):.2f}", f"{draw.uniform(0, 500):.2f}", draw.choice(["public", "private", "none"]),
                maybe(f"said \"it's fine\", left {row}", 0.6),
            ])
    return header


@pytest.fixture
def hospital(hush, tmp_path, key):
    """Such a table, encrypted: its directory."""
    admissions(tmp_path / "admissions.csv", 3000)
    schema = tmp_path / "admissions.schema.toml"
    hush("init", tmp_path / "admissions.csv", "--clear", "ward,admitted_on,emergency,insurer", status=None)
    text = schema.read_text(encoding="utf-8").replace('"DECIDE"', '"seal"').replace('protect = "drop"', 'protect = "seal"')
    schema.write_text(text, encoding="utf-8")
    approve(schema)
    hush("encrypt", tmp_path / "admissions.csv", "-o", tmp_path / "T", *key)
    return tmp_path / "T"


def test_a_schema_that_is_not_there_is_proposed_by_init(hush, tmp_path, key):
    """Encrypting first is the first thing that people try."""
    (tmp_path / "t.csv").write_text("a\n1\n2\n", encoding="utf-8")
    refused = hush("encrypt", "t.csv", "-o", "T", *key, status=6)
    assert "HUSH-C040" in refused.stderr and "hush init" in refused.stderr and "t.schema.toml" in refused.stderr


def test_a_schema_in_the_place_of_its_path_is_not_printed(hush, tmp_path):
    """A schema names sensitive columns and says why they are."""
    (tmp_path / "t.csv").write_text("a\n1\n2\n", encoding="utf-8")
    text = 'format = 1\ntable = "t"\n[columns.hiv_status]\nreason = "diagnosis"\n'
    refused = hush("run", "t.csv", "SELECT COUNT(*) FROM t", "--schema", text, status=2)
    assert "HUSH-U001" in refused.stderr and "hiv" not in refused.stderr and "diagnosis" not in refused.stderr


def test_https_to_a_server_without_it_says_so(hush, server, key):
    """The TLS library would call it invalid data."""
    refused = hush("query", server.url.replace("http:", "https:"), "SELECT COUNT(*) FROM t", *server.token, *key, status=7)
    assert "HUSH-R012" in refused.stderr and "http and not https" in refused.stderr and "invalid data" not in refused.stderr


def test_a_table_that_a_server_lacks_is_named(hush, server, key):
    """The name is half of the message."""
    refused = hush("query", server.url, "SELECT COUNT(*) FROM patiens", *server.token, *key, status=7)
    assert "HUSH-R005" in refused.stderr and '"patiens"' in refused.stderr


def test_a_newer_version_that_was_not_pushed_is_no_rollback(hush, server, tmp_path, key):
    """The table is encrypted again, and the server still has the version before: the way out is a push. A version that was there and is
    gone is a rollback."""
    replaced = ("--replace",) if "--replace" in hush("encrypt", "--help").stdout else ()
    (tmp_path / "t.csv").write_text("a\n1\n2\n", encoding="utf-8")
    hush("init", "t.csv", "--sensitive", "a")
    approve(tmp_path / "t.schema.toml")
    encrypt = lambda *options: hush("encrypt", "t.csv", "-o", "T", *options, *key)
    ask = lambda status=0: hush("query", server.url, "SELECT SUM(a) AS s FROM t", *server.token, *key, status=status)
    encrypt()
    hush("push", "T", server.url, *server.token)
    assert ask().stdout.split()[-1] == "3"
    server.kill()
    shutil.copytree(server.data, tmp_path / "before")
    server.start()
    encrypt(*replaced)
    refused = ask(3)
    assert "HUSH-R024" in refused.stderr and "hush push" in refused.stderr and "operator" not in refused.stderr
    hush("push", "T", server.url, *replaced, *server.token)
    assert ask().stdout.split()[-1] == "3"
    # The server goes back to its old version, which was not the one seen last.
    server.kill()
    shutil.rmtree(server.data)
    shutil.copytree(tmp_path / "before", server.data)
    server.start()
    assert "HUSH-T010" in ask(9).stderr


def test_columns_that_a_star_leaves_out_are_named(hush, hospital, key):
    """Sealed columns are in the table and in no answer."""
    done = hush("query", hospital, "SELECT * FROM admissions WHERE admitted_on < '2020-01-10'", "--format", "csv", *key)
    (note,) = [line for line in done.stderr.splitlines() if line.startswith("! * leaves out")]
    header = next(csv.reader(io.StringIO(done.stdout)))
    sealed = re.search(r"leaves out (.*) \(sealed", note)[1].split(", ")
    assert sealed and not set(sealed) & set(header) and len(sealed) + len(header) == 26
    back = hush("decrypt", hospital, "--columns", ",".join(sealed), "--format", "csv", *key)
    assert back.stdout.splitlines()[0].split(",") == sealed
    assert "leaves out" not in hush("query", hospital, "SELECT COUNT(*) FROM admissions", *key).stderr


def test_info_names_columns_to_the_owner_alone(hush, hospital, key):
    """Without the key `info` shows the public facts, and asks for no passphrase."""
    public, owned = hush("info", hospital).stdout, hush("info", hospital, *key).stdout
    assert "charge" not in public and "note" not in public and "sealed     " in public
    assert "the values of charge:" in owned and "sealed     note text" in owned
    columns = json.loads(hush("info", hospital, "--json", *key).stdout)["columns"]
    assert {"name": "note", "type": "text", "protect": "seal"} in columns and len(columns) == 26
    assert "columns" not in json.loads(hush("info", hospital, "--json").stdout)


def test_the_account_adds_up_to_what_was_waited_for(hush, hospital, key):
    """Opening the key takes most of a query's time, and is a part of it."""
    done = hush("query", hospital, "SELECT COUNT(*) FROM admissions", "--account", *key)
    line = next(line for line in done.stderr.splitlines() if line.startswith("Time"))
    total = float(re.search(r"([\d.]+) s:", line)[1])
    parts = {name: float(value) for name, value in re.findall(r"(\w+) ([\d.]+)(?:,|$)", line.split(":")[1])}
    assert {"key", "open", "plan", "server", "decrypt", "write", "other"} == set(parts)
    assert abs(sum(parts.values()) - total) <= 0.02 + 0.02 * total and parts["key"] > parts["plan"]


def test_a_plan_has_one_cost(hush, hospital, key):
    """`Cost` is the price of the way that is taken. Prices of other ways are those of the whole query too."""
    for query in ("SELECT insurer, SUM(charge) FROM admissions GROUP BY insurer", "SELECT charge - copay AS d FROM admissions LIMIT 9"):
        for options in ((), ("--link", "10"), ("--groups", "2000")):
            arguments = ("explain", hospital, query, *options, *key)
            text, known = hush(*arguments).stdout, json.loads(hush(*arguments, "--json").stdout)
            cost = " ".join(text[text.index("Cost ") : text.index("\nTimes")].split())
            taken = re.search(r"\* [^:]*: ([\d.]+) s, ([\d.]+ \w+) down", " ".join(text.split()))
            assert f"about {taken[1]} s" in cost and f"{taken[2]}" in cost, text
            assert ("link of 10 Mbit/s" in cost) == ("10" in options)
            (way,) = [way for way in known["ways"] if way["taken"]]
            assert way["seconds"] == known["times"]["total_s"] and way["bytes_down"] == known["prediction"]["bytes_down"]
            assert all(other["seconds"] >= known["times"]["link_s"] / 100 for other in known["ways"])


def on_terminal(hush, columns, *arguments):
    """The output of a command on a terminal of so many columns."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = hush.start(*arguments, stdout=slave)
    os.close(slave)
    shown = b""
    while True:
        try:
            piece = os.read(master, 1 << 16)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(master)
    assert process.wait() == 0, process.stderr.read()
    return shown.decode().replace("\r\n", "\n")


def test_a_wide_result_is_paged_by_columns(hush, hospital, key):
    """No line is longer than the terminal; every column is there; `--wide` and pipes are left as they are."""
    query = "SELECT * FROM admissions LIMIT 3"
    plain = hush("query", hospital, query, *key).stdout
    for columns in (60, 100):
        shown = on_terminal(hush, columns, "query", hospital, query, *key)
        assert max(map(len, shown.splitlines())) <= columns and "columns 1 to " in shown
        header = plain.splitlines()[0].split()
        found = [word for page in shown.split("\n\n") for word in page.strip("\n").splitlines()[1].split()]
        assert sorted(set(found)) == sorted(header)
    wide = on_terminal(hush, 60, "query", hospital, query, "--wide", *key)
    assert wide == plain and max(map(len, plain.splitlines())) > 100


def test_windows_are_labelled_in_a_drawing(hush, hospital, key, tmp_path):
    """A label has the function, its columns and their order, and no constant."""
    query = "SELECT AVG(charge) OVER (PARTITION BY ward ORDER BY admitted_on ROWS 6 PRECEDING) AS week FROM admissions"
    hush("explain", hospital, query, "--way", "rows", "--graph", tmp_path / "g.svg", *key)
    drawn = (tmp_path / "g.svg").read_text(encoding="utf-8")
    assert "window functions" in drawn and "AVG of charge by ward in order of" in drawn


def test_the_table_of_admissions_answers_what_analysts_ask(hush, hospital, key):
    """Dates, quotes and NULLs as they stand in the file, against the rows themselves."""
    rows = list(csv.DictReader((hospital.parent / "admissions.csv").open(encoding="utf-8")))
    ask = lambda query: [row for row in csv.reader(io.StringIO(hush("query", hospital, query, "--format", "csv", *key).stdout))][1:]
    quoted = "O''Neill \"North\""
    found = ask(f"SELECT COUNT(*), SUM(charge) FROM admissions WHERE ward = '{quoted}' AND admitted_on BETWEEN '2021-01-01' AND '9999-12-31'")
    wanted = [row for row in rows if row["ward"] == 'O\'Neill "North"' and row["admitted_on"] >= "2021-01-01"]
    assert found == [[str(len(wanted)), f"{sum(int(row['charge'].replace('.', '')) for row in wanted) / 100:.2f}"]]
    months = ask("SELECT date_trunc('month', admitted_on) AS m, COUNT(discharged_on) AS n FROM admissions GROUP BY m ORDER BY m")
    counts = {}
    for row in rows:
        counts[row["admitted_on"][:7]] = counts.get(row["admitted_on"][:7], 0) + (row["discharged_on"] != "")
    assert [(month[:7], int(count)) for month, count in months] == sorted(counts.items())


def test_errors_in_python_advise_arguments_and_no_options(tmp_path, monkeypatch):
    """An option of the command line is an argument here."""
    ht = pytest.importorskip("hushtable")
    monkeypatch.setenv("HOME", str(tmp_path))
    data = tmp_path / "t.csv"
    rows = [f"w{row % 3},{row + 80},said {row} words of it,{1 / (row + 7)}\n" for row in range(90)]
    data.write_text("ward,bp,note,level\n" + "".join(rows), encoding="utf-8")
    schema = 'format = 1\ntable = "hiv_status"\n'
    fails = {
                "HUSH-P011": lambda: ht.run(data, "SELECT SUM(note) FROM t", clear=["ward"]),
        "HUSH-P003": lambda: ht.run(data, "SELECT SUM(bq) FROM t", clear=["ward"]),
        "HUSH-C040": lambda: ht.run(data, "SELECT SUM(bp) FROM t", schema=tmp_path / "absent.toml"),
        "HUSH-U001": lambda: ht.run(data, "SELECT SUM(bp) FROM t", schema=schema),
    }
    for code, fail in fails.items():
        with pytest.raises(ht.HushError) as raised:
            fail()
        text = str(raised.value)
        assert raised.value.code == code and "--" not in text and "hush " not in text and "hiv" not in text, text


def test_advice_fits_what_was_asked(hush, key, tmp_path):
    """What is advised can be done, and helps."""
    data, schema = tmp_path / "t.csv", tmp_path / "t.schema.toml"
    data.write_text("ward,level\n" + "".join(f"w{row % 3},{1 / (row + 7)}\n" for row in range(90)), encoding="utf-8")
    query = "SELECT COUNT(*) AS n FROM t WHERE level > 0.1"
    hush("init", data, "--clear", "ward", status=None)
    approve(schema)
    hush("encrypt", data, "-o", tmp_path / "T", *key)
    # A rehearsal stores what its query needs: a copy of the values.
    for how in (("--clear", "ward"), ("--schema", schema)):
        assert hush("run", data, query, *how, "--format", "csv").stdout == "n\n3\n"
    for command in ("query", "explain"):
        said = hush(command, "T", query, *key, status=3).stderr
        assert "HUSH-P029" in said and "--clear" not in said and 'protect = "clear" for level in the schema, then encrypt again' in said, said
    advised = re.search("hush (alter) (TABLE) (--for) (level=fetch)", said).groups()
    hush(*(word.replace("TABLE", "T") for word in advised), *key)
    assert hush("query", "T", query, "--format", "csv", *key).stdout == "n\n3\n"


def test_small_refusals_name_what_they_are_about(hush, hospital, key, server, tmp_path):
    """The aggregate, the function, the table that is missing, the token that was not given, the least work of a new key."""
    says = {
        "SELECT LINREG_INTERCEPT(age) FROM admissions": ("HUSH-P005", "LINREG_INTERCEPT(age): "),
        "SELECT LINREG(age) FROM admissions": ("HUSH-P005", "LINREG(age): "),
        "SELECT CORR(age) FROM admissions": ("HUSH-P005", "CORR(age): "),
        "SELECT 1 + 1": ("HUSH-P002", "the query names no table"),
    }
    for query, (code, words) in says.items():
        said = hush("query", hospital, query, *key, status=3).stderr
        assert code in said and words in said, (query, said)
    assert "HUSH-P002" in hush("query", server.url, "SELECT 1 + 1", *server.token, *key, status=3).stderr
    assert "none was given" in (said := hush("ls", server.url, status=4).stderr) and "--token-file" in said and "refuses" not in said
    wrong = tmp_path / "wrong"
    wrong.write_text("x" * 40, encoding="utf-8")
    wrong.chmod(0o600)
    assert "refuses the API token" in hush("ls", server.url, "--token-file", wrong, status=4).stderr
    passphrase = key[3]
    said = hush("keygen", "-o", tmp_path / "k", "--passphrase-file", passphrase, "--opens-in", "8MiB", status=4).stderr
    assert "HUSH-K017" in said and "--opens-in 16MiB, or more" in said and "encrypted again" not in said, said


def test_what_a_server_does_not_learn_has_sealed_columns_too(hush, hospital, key, tmp_path):
    """Their names are sealed as those of encrypted ones are."""
    schema = (tmp_path / "admissions.schema.toml").read_text(encoding="utf-8")
    sealed = [part.split("]")[0] for part in schema.split("[columns.")[1:] if 'protect = "seal"' in part]
    plan = hush("explain", hospital, "SELECT COUNT(*) FROM admissions", *key).stdout
    hidden = plan[plan.index("names or any value of") :]
    assert sealed and all(name.strip('"') in hidden for name in sealed), (sealed, plan)
