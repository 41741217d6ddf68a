# SPDX-License-Identifier: Apache-2.0
"""Files that change while devices read them, and files with odd contents: every row is in the table once, or the device names it."""

import random
import signal
import subprocess
import time

import pytest

from devices import FIELDS, edge, make_rows, own_rows, same, write_csv

__all__ = ["edge"]


def append(path, rows, end="\n"):
    """Adds rows to a CSV."""
    with path.open("a", encoding="utf-8", newline="") as file:
        file.writelines(",".join(row) + end for row in rows)


def stopped(process):
    """Asks a program to end; returns its messages."""
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return err


def settled(edge, process, chunks):
    """Waits until so many chunks are delivered."""
    said = []
    while sum("delivered" in line for line in said) < chunks:
        said.append(process.stderr.readline())
        assert said[-1], said
    return said


def test_a_file_is_read_to_its_end_after_it_was_rotated(edge):
    """The writer keeps the old file open. Rows written to it after the new file has begun are not lost, and no line is pieced together."""
    draw = random.Random(30)
    path = edge.directory / "log.csv"
    rounds = [make_rows(draw, 40) for _ in range(3)]
    write_csv(path, rounds[0][:20])
    process = edge.start("log.csv", "--follow", "--to", "T", "--flush-after", "0.2")
    settled(edge, process, 1)
    old = path.open("a", encoding="utf-8")
    old.writelines(",".join(row) + "\n" for row in rounds[0][20:30])
    old.flush()
    path.rename(edge.directory / "log.csv.1")
    write_csv(path, rounds[1])
    time.sleep(0.6)
    old.writelines(",".join(row) + "\n" for row in rounds[0][30:])
    # A number that is half written when the file is left.
    old.write("a,1,12.3,45")
    old.close()
    # The end of the old file, its rows from after the new one's beginning, and the new file.
    said = settled(edge, process, 3) + [stopped(process)]
    assert any("without its end" in line for line in said)
    # Rotated while nothing runs: the rest of the old file is read under its new name, by the same spool.
    append(path, rounds[2][:10])
    path.rename(edge.directory / "log.csv.2")
    write_csv(path, rounds[2][10:])
    assert edge.run("log.csv", "--to", "T")["rows"] == 30
    assert edge.run("log.csv.2", "--to", "T")["rows"] == 10
    assert edge.run("log.csv", "--to", "T")["rows"] == 0
    edge.accept()
    found = edge.decrypted()
    same(sorted(found), sorted([row[0], row[1], "" if row[2] == "NA" else row[2], *row[3:]] for row in own_rows() + sum(rounds, [])))


def test_a_file_that_was_written_anew_is_another(edge):
    """With rows of equal length, on the same file number, shorter and longer than before."""
    path = edge.directory / "log.csv"
    rows = [[["a", "1", "10.0", str(100000 + number), "1.000"] for number in range(first, first + count)] for first, count in ((0, 30), (200, 40), (400, 20), (600, 60))]
    write_csv(path, rows[0])
    inode = path.stat().st_ino
    assert edge.run("log.csv", "--to", "T")["rows"] == 30
    with path.open("r+", encoding="utf-8") as file:
        file.truncate(0)
        file.write(",".join(FIELDS) + "\n" + "".join(",".join(row) + "\n" for row in rows[1]))
    assert path.stat().st_ino == inode
    assert edge.run("log.csv", "--to", "T")["rows"] == 40
    # While it is followed, within one look.
    process = edge.start("log.csv", "--follow", "--to", "T", "--flush-after", "0.1")
    time.sleep(0.7)
    for again in rows[2:]:
        with path.open("r+", encoding="utf-8") as file:
            file.truncate(0)
            file.write(",".join(FIELDS) + "\n" + "".join(",".join(row) + "\n" for row in again))
        settled(edge, process, 1)
    stopped(process)
    edge.accept()
    same(edge.decrypted(), own_rows() + sum(rows, []))
    # The same beginning and other rows behind it: nobody can tell which of them the table has.
    text = path.read_text(encoding="utf-8")
    path.write_text(text[:-10] + "7" + text[-9:], encoding="utf-8")
    append(path, rows[0])
    assert "HUSH-G008" in edge.run("log.csv", "--to", "T", status=8)


def test_a_spool_keeps_the_place_of_every_input(edge):
    draw = random.Random(32)
    one, other, stream = make_rows(draw, 60), make_rows(draw, 20), make_rows(draw, 10)
    write_csv(edge.directory / "one.csv", one[:40])
    write_csv(edge.directory / "other.csv", other)
    for name, rows in (("one.csv", 40), ("other.csv", 20), ("one.csv", 0)):
        assert edge.run(name, "--to", "T")["rows"] == rows
    lines = ",".join(FIELDS) + "\n" + "".join(",".join(row) + "\n" for row in stream)
    assert edge.run("-", "--to", "T", lines=lines)["rows"] == 10
    append(edge.directory / "one.csv", one[40:])
    assert edge.run("one.csv", "--to", "T")["rows"] == 20
    assert edge.run("other.csv", "--to", "T")["rows"] == 0
    edge.accept()
    same(edge.decrypted(), own_rows() + one[:40] + other + stream + one[40:])


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_as_they_do(edge, end):
    rows = make_rows(random.Random(33), 9000)
    (edge.directory / "rows.csv").write_text(",".join(FIELDS) + end, encoding="utf-8", newline="")
    append(edge.directory / "rows.csv", rows, end)
    # Empty lines stop nothing, at any place.
    append(edge.directory / "rows.csv", [[]] * 3, end)
    assert edge.run("rows.csv", "--to", "T")["rows"] == 9000
    assert edge.run("rows.csv", "--to", "T")["rows"] == 0
    append(edge.directory / "rows.csv", rows[:5], end)
    assert edge.run("rows.csv", "--to", "T")["rows"] == 5
    edge.accept()
    same(edge.decrypted(), own_rows() + rows + rows[:5])


def test_quotes_inside_fields_are_text(edge):
    rows = make_rows(random.Random(34), 20000)
    for row in rows:
        row[0] = '5" pipe'
    (edge.directory / "rows.csv").write_text(",".join(FIELDS) + "\n", encoding="utf-8")
    append(edge.directory / "rows.csv", rows)
    assert edge.run("rows.csv", "--to", "T")["rows"] == 20000
    edge.accept()
    same(edge.decrypted(), own_rows() + rows)
    # A quote that is never closed is refused; the rows before it are kept.
    rows = make_rows(random.Random(38), 8)
    append(edge.directory / "rows.csv", rows[:3] + [['"open', *rows[3][1:]]] + rows[4:])
    error = edge.run("rows.csv", "--to", "T", status=8)
    assert "HUSH-D016" in error
    assert edge.accept()["rows"] == 3


def test_rows_before_a_bad_one_are_kept_and_the_file_goes_on_when_it_is_mended(edge):
    rows = make_rows(random.Random(35), 12000)
    bad = [list(row) for row in rows]
    bad[9000][3] = "1000000001"
    path = edge.directory / "rows.csv"
    write_csv(path, bad)
    error = edge.run("rows.csv", "--to", "T", status=8)
    place = len(",".join(FIELDS)) + 1 + sum(len(",".join(row)) + 1 for row in rows[:9000])
    assert f"byte {place} of the input" in error and "1000000001" not in error
    assert "load" in edge.run("rows.csv", "--to", "T", status=8)
    assert edge.accept()["rows"] == 9000
    write_csv(path, rows)
    assert edge.run("rows.csv", "--to", "T")["rows"] == 3000
    edge.accept()
    same(edge.decrypted(), own_rows() + rows)


@pytest.mark.parametrize("ending", ["bad row", "bad message", "hangup", "refused", "full"])
def test_rows_of_a_stream_are_kept_whatever_ends_it(edge, ending):
    """Rows that have come cannot be read again, so they are in the spool when the program ends."""
    rows = make_rows(random.Random(36), 500)
    lines = [",".join(FIELDS) + "\n"] + [",".join(row) + "\n" for row in rows]
    if ending == "bad row":
        text = "".join(lines) + ",".join([*rows[0][:3], "no number", "1"]) + "\n" + lines[1]
        assert "load" in edge.run("-", lines=text, status=8)
    elif ending == "bad message":
        text = "".join(f'{{"site":"{row[0]}","day":{row[1]},"temp":"{row[2]}","load":{row[3]},"level":{row[4]}}}\n' for row in rows)
        assert "HUSH-G002" in edge.run("-", "--messages", lines=text + '{"site":\n', status=8)
    elif ending == "full":
        process = edge.start("-", "--spool-limit", "1kB", "--flush-after", "0.1", stdin=subprocess.PIPE)
        process.stdin.write("".join(lines[:101]))
        process.stdin.flush()
        assert process.wait(timeout=60) == 6 and "HUSH-G009" in process.stderr.read()
        # No more is read, and no row that was read is lost.
        rows = rows[:100]
    else:
        options = []
        if ending == "refused":
            # A table of another owner's key has this name.
            edge.hush("encrypt", "own.csv", "-o", "U", "--schema", "t.schema.toml", *edge.key)
            options = ["--to", "U"]
        process = edge.start("-", "--flush-after", "1", *options, stdin=subprocess.PIPE)
        process.stdin.write("".join(lines[:201]))
        process.stdin.flush()
        time.sleep(2.5)
        if ending == "hangup":
            process.stdin.write("".join(lines[201:]))
            process.stdin.flush()
            time.sleep(0.5)
            process.send_signal(signal.SIGHUP)
            process.communicate(timeout=60)
            assert process.returncode == 0
        else:
            _, err = process.communicate(timeout=60)
            assert process.returncode != 0 and "HUSH-" in err
            rows = rows[:200]
    assert edge.waiting()
    edge.run("--to", "T")
    edge.accept()
    same(edge.decrypted(), own_rows() + rows)


def test_a_spool_is_no_place_for_anything_else(edge):
    rows = make_rows(random.Random(37), 5)
    write_csv(edge.directory / "rows.csv", rows)
    before = sorted(path.name for path in (edge.directory / "T" / "parts").iterdir())
    assert "HUSH-G007" in edge.run("rows.csv", "--to", "T", spool="T", status=2)
    assert sorted(path.name for path in (edge.directory / "T" / "parts").iterdir()) == before
    project = edge.directory / "project"
    (project / "parts").mkdir(parents=True)
    (project / "parts" / "thesis.doc").write_text("years of work", encoding="utf-8")
    assert "HUSH-G007" in edge.run("rows.csv", "--to", "T", spool="project", status=2)
    assert (project / "parts" / "thesis.doc").exists()
    same(edge.decrypted(), own_rows())
