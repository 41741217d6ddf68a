# SPDX-License-Identifier: Apache-2.0
"""Mistakes that a careful person makes with a table. They must not leave columns clear, replace rows or change values without
a word."""

import csv
import datetime
import decimal
import io
import math
import random
import shutil

import duckdb
import pyarrow
import pyarrow.parquet
import pytest

from conftest import PATIENTS, approve


def schema_of(hush, path, *options):
    """The proposal of `init`, as text, and its messages."""
    done = hush("init", path, "-o", "-", *options)
    return done.stdout, done.stderr


def column(schema, name):
    """The lines of one column."""
    start = schema.index(f"[columns.{name}]")
    return schema[start:].split("\n\n")[0]


def approved(path, schema, **changes):
    """Writes a proposal as approved, with some texts changed."""
    text = schema.replace('status = "proposed"', 'status = "approved"')
    for old, new in changes.get("edit", ()):
        assert old in text, old
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")
    return path


def write(path, header, rows):
    """A CSV file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def one_row(text):
    """The only row of a CSV result."""
    (row,) = csv.DictReader(io.StringIO(text))
    return row


# Columns left clear.


def test_what_is_not_named_keeps_its_proposal(hush):
    """`--sensitive` adds protection and takes none away; a name that identifies is sealed, not thrown away."""
    plain, _ = schema_of(hush, PATIENTS)
    named, said = schema_of(hush, PATIENTS, "--sensitive", "bp")
    for name in ("patient_id", "email", "ward", "year", "age", "temperature", "charges"):
        assert column(named, name) == column(plain, name), name
    assert 'protect = "encrypt"' in column(named, "bp") and 'reason = "your choice"' in column(named, "bp")
    assert 'protect = "seal"' in column(named, "patient_id")
    assert "left clear" not in said


def test_clear_columns_that_look_sensitive_are_said_with_either_option(hush):
    """The choice is followed, and never silently."""
    _, said = schema_of(hush, PATIENTS, "--clear", "bp,email,ward")
    assert "bp is left clear by your choice, though it looks sensitive: clinical measurement" in said
    assert "email is left clear by your choice" in said and "ward is left clear" not in said
    done = hush("run", PATIENTS, "SELECT AVG(bp) AS a FROM patients", "--clear", "bp")
    assert "bp is left clear by your choice" in done.stderr


@pytest.mark.parametrize("command", ["run", "init"])
def test_contradictions_are_refused(hush, command):
    """In both orders and in any spelling. Repeats and missing columns are refused too."""
    arguments = ["run", PATIENTS, "SELECT AVG(age) FROM patients"] if command == "run" else ["init", PATIENTS, "-o", "-"]
    for options in (("--clear", "age", "--sensitive", "age"), ("--sensitive", "ward, Age", "--clear", "AGE")):
        refused = hush(*arguments, *options, status=2)
        assert "HUSH-U001 column age is named both clear and sensitive" in refused.stderr and refused.stdout == ""
    assert "named twice" in hush(*arguments, "--clear", "ward,Ward", status=2).stderr
    assert "no column" in hush(*arguments, "--sensitive", "agee", status=2).stderr
    assert "no column" in hush(*arguments, "--clear", "ward,", status=2).stderr


def test_blanks_around_names_are_no_part_of_them(hush):
    """As people write lists."""
    query = "SELECT ward, SUM(age) AS s FROM patients WHERE year = 2023 GROUP BY ward"
    done = hush("run", PATIENTS, query, "--clear", " ward, year ", "--format", "csv")
    assert len(done.stdout.splitlines()) == 4


def test_a_rehearsal_protects_what_nobody_decided_and_says_so(hush):
    """A stored table is refused instead."""
    done = hush("run", PATIENTS, "SELECT SUM(bp) AS s FROM patients", "--format", "csv")
    assert "encrypted  bp" in done.stderr and "undecided, so protected" in done.stderr


def test_few_rows_make_a_guess(hush, tmp_path):
    """Two mails are not 150 % of the values."""
    path = write(tmp_path / "few.csv", ["contact", "n"], [["a@example.org", 1], ["b@example.org", 2]])
    schema, said = schema_of(hush, path)
    assert "100 % of values" in schema and "guesses" in schema and "2 rows alone" in said
    assert "guesses" not in schema_of(hush, PATIENTS)[1]


# Rows replaced.


def test_encrypting_over_a_table_replaces_only_when_it_is_said(hush, table, key, tmp_path):
    """Tomorrow's rows are not appended by writing them over yesterday's."""
    schema, tomorrow = tmp_path / "patients.schema.toml", tmp_path / "tomorrow.csv"
    lines = PATIENTS.read_text(encoding="utf-8").splitlines(keepends=True)
    tomorrow.write_text("".join(lines[:101]), encoding="utf-8")
    command = ("encrypt", tomorrow, "--schema", schema, "-o", table, *key)
    before = {path: path.read_bytes() for path in table.rglob("*") if path.is_file()}
    refused = hush(*command, status=3)
    assert "HUSH-C070" in refused.stderr and "6000 rows" in refused.stderr and "--replace" in refused.stderr
    assert {path: path.read_bytes() for path in table.rglob("*") if path.is_file()} == before
    assert "Replaced version 1: 6,000 rows before; 100 rows now" in hush(*command, "--replace").stderr
    assert hush("query", table, "SELECT COUNT(*) AS n FROM patients", "--format", "csv", *key).stdout == "n\n100\n"


def test_a_push_replaces_rows_on_a_server_only_when_it_is_said(hush, table, key, server, tmp_path):
    """A version that was encrypted anew is another table; the same push again is not."""
    hush("push", table, server.url, *server.token)
    assert "Replaced" not in hush("push", table, server.url, *server.token).stderr
    schema, fewer = tmp_path / "patients.schema.toml", tmp_path / "fewer.csv"
    fewer.write_text("".join(PATIENTS.read_text(encoding="utf-8").splitlines(keepends=True)[:101]), encoding="utf-8")
    hush("encrypt", fewer, "--schema", schema, "-o", table, "--replace", *key)
    count = ("query", server.url, "SELECT COUNT(*) AS n FROM patients", "--format", "csv", *server.token, *key)
    refused = hush("push", table, server.url, *server.token, status=3)
    assert "HUSH-C070" in refused.stderr and "6000 rows" in refused.stderr and "100 rows" in refused.stderr
    assert hush("info", f"{server.url}/tables/patients", *server.token).stdout.count("6,000") == 1
    said = hush("push", table, server.url, "--replace", *server.token).stderr
    assert "Replaced version 1: 6,000 rows before; 100 rows now" in said
    assert hush(*count).stdout == "n\n100\n"


def test_a_directory_with_anything_else_is_no_place_for_a_table(hush, table, key, tmp_path):
    """A file is no place either. The leftovers of an interrupted run are one."""
    schema, place = tmp_path / "patients.schema.toml", tmp_path / "thesis"
    place.mkdir()
    (place / "chapter.txt").write_text("years of work", encoding="utf-8")
    command = ("encrypt", PATIENTS, "--schema", schema, *key, "-o")
    for more in ((), ("--replace",)):
        refused = hush(*command, place, *more, status=3)
        assert "HUSH-C071" in refused.stderr and "chapter.txt" in refused.stderr
    assert [path.name for path in place.iterdir()] == ["chapter.txt"]
    hush(*command, place / "chapter.txt", status=6)
    broken = tmp_path / "broken"
    shutil.copytree(table, broken)
    (broken / "manifest.hush").unlink()
    hush(*command, broken)


def test_columns_that_are_not_kept_are_named(hush, key, tmp_path):
    """By `encrypt` and by `decrypt`: a dropped column does not come back."""
    path = write(tmp_path / "t.csv", ["id", "password", "x"], [[f"k{row}", "secret", row % 50] for row in range(60)])
    schema, _ = schema_of(hush, path)
    assert 'protect = "drop"' in column(schema, "password") and 'protect = "seal"' in column(schema, "id")
    file = approved(tmp_path / "s.toml", schema)
    assert "Not kept  password" in hush("encrypt", path, "--schema", file, "-o", tmp_path / "T", *key).stderr
    done = hush("decrypt", tmp_path / "T", *key)
    assert "Not kept  password" in done.stderr and done.stdout.splitlines()[:2] == ["id,x", "k0,0"]


# Values changed.


def test_dates_with_the_day_first_are_read_by_what_the_data_decide(hush, tmp_path):
    """A day above 12 decides. A person is asked about dates that could be either. Y and N are true and false."""
    draw = random.Random(1)
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(draw.randrange(1500)) for _ in range(200)]
    rows = [[f"{day:%d/%m/%Y}", draw.choice("YN"), row % 9] for row, day in enumerate(days)]
    path = write(tmp_path / "t.csv", ["admitted", "smoker", "x"], rows)
    schema, _ = schema_of(hush, path, "--clear", "admitted")
    assert 'type = "date"' in column(schema, "admitted") and 'date_format = "dmy"' in column(schema, "admitted")
    assert 'type = "bool"' in column(schema, "smoker")
    query = "SELECT MIN(admitted) AS a, MAX(admitted) AS z, SUM(smoker) AS s FROM t WHERE admitted >= DATE '2021-06-01'"
    found = one_row(hush("run", path, query, "--clear", "admitted", "--format", "csv", "--verify").stdout)
    kept = [(day, row[1]) for day, row in zip(days, rows) if day >= datetime.date(2021, 6, 1)]
    want = {"a": min(kept)[0], "z": max(kept)[0], "s": sum(letter == "Y" for _, letter in kept)}
    assert found == {name: str(value) for name, value in want.items()}
    american = write(tmp_path / "us.csv", ["admitted", "x"], [[f"{day:%m/%d/%Y}", 1] for day in days])
    assert 'date_format = "mdy"' in schema_of(hush, american)[0]


def test_dates_that_mean_two_things_are_asked_for(hush, key, tmp_path):
    """Nothing is sealed as text instead; the person's word decides."""
    path = write(tmp_path / "t.csv", ["admitted", "x"], [["03/04/2024", 1], ["05/06/2024", 2]] * 20)
    schema, said = schema_of(hush, path)
    assert 'protect = "DECIDE"' in column(schema, "admitted") and "date_format" in column(schema, "admitted")
    assert "day or month first" in said
    file = approved(tmp_path / "s.toml", schema)
    assert "HUSH-S003" in hush("encrypt", path, "--schema", file, "-o", tmp_path / "T", *key, status=3).stderr
    decided = ('protect = "DECIDE"', 'protect = "clear" #')
    file = approved(tmp_path / "s.toml", schema, edit=[decided])
    refused = hush("encrypt", path, "--schema", file, "-o", tmp_path / "T", *key, status=8)
    assert "HUSH-D021" in refused.stderr and "date_format" in refused.stderr
    for written, day in (("dmy", "2024-04-03"), ("mdy", "2024-03-04")):
        file = approved(tmp_path / "s.toml", schema, edit=[decided, ('type = "date"', f'type = "date"\ndate_format = "{written}"')])
        hush("encrypt", path, "--schema", file, "-o", tmp_path / written, *key)
        assert hush("decrypt", tmp_path / written, "--columns", "admitted", *key).stdout.splitlines()[1] == day


def test_laboratory_values_are_said_to_be_numbers(hush, key, tmp_path):
    """Their limits can be read as bounds, their texts as missing; nothing happens without a word."""
    draw = random.Random(2)
    values = [draw.choice(["<5", ">200", "haemolytic"]) if row % 9 == 4 else str(draw.randint(5, 200)) for row in range(300)]
    path = write(tmp_path / "t.csv", ["crp", "x"], [[value, 1] for value in values])
    schema, said = schema_of(hush, path)
    texts, limits = sum(not value.isdigit() for value in values), sum(value[0] in "<>" for value in values)
    assert f"crp would be int(16) but for {texts} texts in 300 values, {limits} of them limits" in said
    assert 'censored = "bound"' in said and "haemolytic" not in said + schema
    head = column(schema, "crp")
    number = (
        '[columns.crp]\ntype = "int(16)"\nrange = [0, 999]\nnullable = true\nprotect = "encrypt"\n'
        'null_tokens = ["haemolytic"]\ncensored = "bound"'
    )
    file = approved(tmp_path / "s.toml", schema, edit=[(head, number)])
    said = hush("encrypt", path, "--schema", file, "-o", tmp_path / "T", *key).stderr
    assert "crp: values such as <5 are read as their bounds" in said
    found = one_row(hush("query", tmp_path / "T", "SELECT COUNT(crp) AS n, SUM(crp) AS s FROM t", "--format", "csv", *key).stdout)
    kept = [int(value.lstrip("<>")) for value in values if value != "haemolytic"]
    assert (int(found["n"]), int(found["s"])) == (len(kept), sum(kept))


def test_texts_of_typed_files_are_no_missing_values(hush, key, tmp_path):
    """NA is Namibia, and an empty text is one; `--verify` reads the file by other means."""
    countries = ["NA", "", None, "DE", "NA", "FR"] * 50
    path = tmp_path / "t.parquet"
    numbers = [row % 7 for row in range(300)]
    pyarrow.parquet.write_table(pyarrow.table({"country": countries, "x": numbers}), path)
    query = "SELECT country, COUNT(*) AS n, COUNT(country) AS c, SUM(x) AS s FROM t GROUP BY country ORDER BY country NULLS FIRST"
    done = hush("run", path, query, "--clear", "country", "--format", "csv", "--verify")
    found = [tuple(row.values()) for row in csv.DictReader(io.StringIO(done.stdout))]
    expected = duckdb.sql(query.replace("FROM t", f"FROM '{path}'")).fetchall()
    assert found == [tuple("" if cell is None else str(cell) for cell in row) for row in expected]
    schema, said = schema_of(hush, path)
    assert 'null_tokens = [""]' in schema and '"NA"' not in schema and "often mean a missing value" in said
    file = approved(tmp_path / "s.toml", schema)
    hush("encrypt", path, "--schema", file, "-o", tmp_path / "T", *key)
    back = tmp_path / "back.parquet"
    back.write_bytes(hush.bytes("decrypt", tmp_path / "T", "--format", "parquet", *key))
    assert pyarrow.parquet.read_table(back).column("country").to_pylist() == countries


def test_a_marker_among_numbers_is_missing_and_the_same_text_beside_them_is_not(hush, tmp_path):
    """Column by column, in CSV."""
    rows = [[["NA", "4", "7"][row % 3], ["NA", "DE"][row % 2]] for row in range(60)]
    path = write(tmp_path / "t.csv", ["x", "country"], rows)
    schema, _ = schema_of(hush, path)
    assert 'null_tokens = ["", "NA"]' in column(schema, "x") and "null_tokens" not in column(schema, "country")
    query = "SELECT COUNT(x) AS n, COUNT(country) AS c, COUNT(*) FILTER (WHERE country = 'NA') AS namibia FROM t"
    found = one_row(hush("run", path, query, "--clear", "country", "--format", "csv", "--verify").stdout)
    assert found == {"n": "40", "c": "60", "namibia": "30"}


def test_small_floats_keep_their_digits_and_no_others_are_printed(hush, key, tmp_path):
    """Nanograms: not noise of sixteen digits."""
    draw = random.Random(3)
    values = [f"{draw.uniform(1, 9):.5f}e-9" for _ in range(400)]
    path = write(tmp_path / "t.csv", ["dose", "g"], [[value, row % 2] for row, value in enumerate(values)])
    schema, _ = schema_of(hush, path, "--sensitive", "dose")
    assert 'type = "float(14)"' in column(schema, "dose")
    query = "SELECT SUM(dose) AS s, AVG(dose) AS a FROM t"
    done = hush("run", path, query, "--sensitive", "dose", "--format", "csv", "--verify")
    found = one_row(done.stdout)
    total = sum(map(decimal.Decimal, values))
    assert math.isclose(float(found["s"]), total, rel_tol=1e-6)
    assert math.isclose(float(found["a"]), total / 400, rel_tol=1e-5)
    assert "Error     at most" in done.stderr
    # No digit below the stated error: a sum of float(14) is known to 14 places, an average to a few more.
    places = {name: -decimal.Decimal(text).as_tuple().exponent for name, text in found.items()}
    assert places["s"] <= 15 and places["a"] <= 18, found
    file = approved(tmp_path / "s.toml", schema)
    hush("encrypt", path, "--schema", file, "-o", tmp_path / "T", *key)
    for text, value in zip(hush("decrypt", tmp_path / "T", "--columns", "dose", *key).stdout.splitlines()[1:], values):
        assert decimal.Decimal(text) == round(decimal.Decimal(value), 14)


def test_single_floats_are_not_rewritten(hush, tmp_path):
    """0.1 of four bytes is 0.100000001490116…; if decimals are proposed instead, the reason says so."""
    import struct

    singles = [struct.unpack("f", struct.pack("f", 1.1 + row * 1e-7))[0] for row in range(100)]
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"v": pyarrow.array(singles, pyarrow.float32())}), path)
    schema = tmp_path / "s.toml"
    schema.write_text(
        'format = 1\ntable = "t"\nstatus = "approved"\n[columns.v]\ntype = "float(15)"\nrange = [0, 9]\nprotect = "encrypt"\n',
        encoding="utf-8",
    )
    done = hush("run", path, "SELECT SUM(v) AS s FROM t", "--schema", schema, "--format", "csv", "--verify")
    exact = sum(round(decimal.Decimal(value), 15) for value in singles)
    assert math.isclose(float(one_row(done.stdout)["s"]), exact, rel_tol=1e-15)
    assert "single floats, read by their shortest decimals" in schema_of(hush, path)[0]


def test_blank_lines_of_one_column_are_rows(hush, tmp_path):
    """None is lost."""
    path = tmp_path / "t.csv"
    path.write_text("x\n5\n\n7\n\n\n7\n", encoding="utf-8")
    found = one_row(hush("run", path, "SELECT COUNT(*) AS n, COUNT(x) AS c, SUM(x) AS s FROM t", "--format", "csv", "--verify").stdout)
    assert found == {"n": "6", "c": "3", "s": "19"}


# Sums with clear factors.


def test_sums_with_clear_factors_work_as_proposed(hush, key, tmp_path):
    """`SUM(x * m)` needs nothing further if m is clear, for any proposal of `init`. Sums without room are named."""
    draw = random.Random(4)
    money = lambda most: f"{draw.randint(0, most * 100) / 100:.2f}"
    rows = [[draw.randint(0, 9_000_000), money(90_000), draw.randint(0, 10**15), draw.randint(1, 9) * 10**16] for _ in range(500)]
    path = write(tmp_path / "t.csv", ["x", "m", "y", "big"], rows)
    schema, said = schema_of(hush, path, "--clear", "m,big", "--sensitive", "x,y")
    assert "SUM(x * w) is left out for w = big" in said and "w = m" not in said
    file = approved(tmp_path / "s.toml", schema)
    hush("encrypt", path, "--schema", file, "-o", tmp_path / "T", *key)
    query = "SELECT SUM(x * m) AS xm, SUM(y * m) AS ym FROM t"
    found = one_row(hush("query", tmp_path / "T", query, "--format", "csv", *key).stdout)
    assert decimal.Decimal(found["xm"]) == sum(x * decimal.Decimal(m) for x, m, _, _ in rows)
    assert decimal.Decimal(found["ym"]) == sum(y * decimal.Decimal(m) for _, m, y, _ in rows)


def test_a_name_that_another_table_has_is_not_replaced(hush, table, key, server, tmp_path):
    """Consent would not help, so the message does not ask for it but tells the ways out. A copy that went its own way is told too."""
    hush("push", table, server.url, *server.token)
    schema, lines = tmp_path / "patients.schema.toml", PATIENTS.read_text(encoding="utf-8").splitlines(keepends=True)

    def encrypted(owner, place, rows, *more):
        data = tmp_path / "some.csv"
        data.write_text("".join(lines[: rows + 1]), encoding="utf-8")
        owner("encrypt", data, "--schema", schema, "-o", place, *more, *key)

    fork, other, elsewhere = tmp_path / "fork", tmp_path / "other", hush.with_environment(HUSH_STATE_DIR=str(tmp_path / "elsewhere"))
    shutil.copytree(table, fork)
    encrypted(hush, other, 50)
    encrypted(elsewhere, fork, 60, "--replace")
    encrypted(hush, table, 70, "--replace")
    hush("push", table, server.url, "--replace", *server.token)
    for owner, place, code in ((hush, other, "HUSH-R025"), (elsewhere, fork, "HUSH-R021")):
        for more in ((), ("--replace",)):
            refused = owner("push", place, server.url, *more, *server.token, status=3).stderr
            assert code in refused and "--replace" not in refused and 'table = "NAME"' in refused, refused
            assert f"hush drop {server.url} patients --yes" in refused, refused
    assert "patients" in hush("ls", server.url, *server.token).stdout
    hush("drop", server.url, "patients", "--yes", *server.token)
    hush("push", other, server.url, *server.token)


def test_keys_of_devices_end_with_the_encryption_they_were_made_for(hush, key, tmp_path):
    """Encrypting again tells so, and so does accepting later deliveries of a device."""
    data, schema, place = tmp_path / "t.csv", tmp_path / "t.schema.toml", tmp_path / "T"
    write(data, ["x"], [[n] for n in range(20)])
    head = 'format = 1\ntable = "t"\nstatus = "approved"\napproved_by = "a test"\nedge = true\n'
    schema.write_text(f'{head}[columns.x]\ntype = "int(16)"\nrange = [0, 999]\nprotect = "encrypt"\nfor = ["sum"]\n', encoding="utf-8")
    assert "edge key" not in hush("encrypt", data, "--schema", schema, "-o", place, *key).stderr
    device, spool = tmp_path / "device.hushkey", tmp_path / "spool"
    hush("edge", "key", place, "-o", device, *key)
    said = hush("encrypt", data, "--schema", schema, "-o", place, "--replace", *key).stderr
    assert "Keys of devices that were made before" in said and "hush edge key" in said, said
    hush("edge", "run", data, "--key", device, "--spool", spool, "--to", place)
    said = hush("edge", "accept", place, *key).stderr
    assert "Nothing was taken in" in said and "hush edge key" in said and "new keys" in said, said


# Names and texts.


def test_blanks_in_a_list_of_columns_to_decrypt(hush, table, key):
    """As everywhere on the command line."""
    done = hush("decrypt", table, "--columns", "age, WARD ", *key)
    assert done.stdout.splitlines()[0] == "age,ward" and len(done.stdout.splitlines()) == 6001
    assert "no column" in hush("decrypt", table, "--columns", "age,", *key, status=2).stderr


def test_missing_and_empty_texts_are_two_in_csv(hush, key, tmp_path):
    """`decrypt` and `query` write them apart, so that DuckDB reads them back; one column alone too."""
    texts = ["", None, 'say "a, b"', "two\nlines", " ", "NULL", None, ""]
    data, schema = tmp_path / "t.parquet", tmp_path / "t.schema.toml"
    pyarrow.parquet.write_table(pyarrow.table({"a": texts, "n": pyarrow.array([1, None, 3, 4, 5, 6, None, 8])}), data)
    head = 'format = 1\ntable = "t"\nstatus = "approved"\napproved_by = "a test"\n'
    columns = '[columns.a]\ntype = "text"\nnullable = true\nprotect = "PROTECT"\n[columns.n]\ntype = "int(8)"\nnullable = true\nprotect = "clear"\n'
    for protect in ("seal", "clear"):
        schema.write_text(head + columns.replace("PROTECT", protect), encoding="utf-8")
        place = tmp_path / protect
        hush("encrypt", data, "--schema", schema, "-o", place, *key)
        outputs = [hush("decrypt", place, *key).stdout]
        if protect == "clear":
            outputs.append(hush("query", place, "SELECT a, n FROM t", "--format", "csv", *key).stdout)
        for text in outputs:
            out = tmp_path / "out.csv"
            out.write_text(text, encoding="utf-8", newline="")
            read = duckdb.sql(f"SELECT a, n FROM read_csv('{out}', header=true, allow_quoted_nulls=false)").fetchall()
            assert read == list(zip(texts, [1, None, 3, 4, 5, 6, None, 8])), (protect, text)
        alone = hush("decrypt", place, "--columns", "a", *key).stdout
        assert alone == 'a\n""\n\n"say ""a, b"""\n"two\nlines"\n \nNULL\n\n""\n', protect


def test_numbers_with_separators_are_said_to_be_numbers(hush, tmp_path):
    """They stay texts, and never without a word."""
    amounts = [f"{1000 + 37 * row:,}.50" for row in range(80)] + ["12.25"] * 20
    path = write(tmp_path / "t.csv", ["amount", "phone"], [[amount, f"555 123 4{row:02}"] for row, amount in enumerate(amounts)])
    schema, said = schema_of(hush, path)
    assert 'type = "text"' in column(schema, "amount")
    assert "amount would be decimal(12,2) but for 80 values with a thousands separator" in said, said
    assert "phone would be" not in said
    path = write(tmp_path / "t.csv", ["amount"], [[amount] for amount in amounts[:-1]] + [["n.n."]])
    said = schema_of(hush, path)[1]
    assert "but for 81 texts in 100 values, 80 of them with a thousands separator" in said, said


def test_a_table_whose_name_sql_cannot_take_is_said_to_have_another(hush, tmp_path):
    """Once, when the schema is proposed."""
    path = write(tmp_path / "my table.csv", ["n"], [[n % 5] for n in range(100)])
    schema, said = schema_of(hush, path)
    assert 'table = "my_table"' in schema and 'The table\'s name in SQL is my_table, not "my table".' in said
    assert "name in SQL" not in schema_of(hush, PATIENTS)[1]
    assert "name in SQL is my_table" in hush("run", path, "SELECT COUNT(*) AS n FROM my_table").stderr


def test_columns_that_no_table_holds_are_not_proposed_to_be_sealed(hush, tmp_path):
    """A seal is no way out for a list; neither is a choice of protection."""
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"tags": [["a"], ["b", "c"]] * 20, "password": ["x1", "y2"] * 20}), path)
    schema, _ = schema_of(hush, path)
    assert 'protect = "drop"' in column(schema, "tags") and "seal" not in column(schema, "tags")
    assert 'or "seal"' in column(schema, "password")
    for choice in ("--sensitive", "--clear"):
        schema, said = schema_of(hush, path, choice, "tags")
        assert 'protect = "drop"' in column(schema, "tags") and "tags is dropped" in said


def test_a_time_zone_that_is_not_kept_is_said(hush, key, tmp_path):
    """The instant is kept; its zone is not, in Parquet and in CSV."""
    instant = datetime.datetime(2024, 7, 1, 12, 0, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
    times = [instant + datetime.timedelta(minutes=row) for row in range(40)]
    parquet = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"seen": pyarrow.array(times, pyarrow.timestamp("us", "Europe/Berlin"))}), parquet)
    text = write(tmp_path / "u.csv", ["seen", "n"], [[time.isoformat(), row] for row, time in enumerate(times)])
    plain = write(tmp_path / "v.csv", ["seen", "n"], [[time.replace(tzinfo=None), row] for row, time in enumerate(times)])
    for path, is_zoned in ((parquet, True), (text, True), (plain, False)):
        assert ("seen has a time zone" in schema_of(hush, path)[1]) == is_zoned, path
    schema = approved(tmp_path / "t.schema.toml", schema_of(hush, parquet)[0].replace("DECIDE", "seal"))
    said = hush("encrypt", parquet, "--schema", schema, "-o", tmp_path / "T", *key).stderr
    assert "seen has a time zone: its times are kept, and given back, in UTC without one" in said
    assert hush("decrypt", tmp_path / "T", *key).stdout.splitlines()[1] == "2024-07-01T10:00:00"
