# SPDX-License-Identifier: Apache-2.0
"""Python's objects: pages without injection, edited schemas, names in messages, tables that are not replaced by mistake,
servers."""

import builtins
import datetime
import decimal
import html.parser
import os
import re
import subprocess
import sys
import tomllib
import warnings

import pyarrow as pa
import pytest

import hushtable as ht
from conftest import PATIENTS

PASSPHRASE = "correct horse battery"
HOSTILE = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "</td></tr></table><iframe src='javascript:alert(1)'>",
    "'; DROP TABLE t; --",
    "a\u202eb\x1b[31mc\u2028d",
    "&lt;b&gt;",
]


@pytest.fixture(scope="module")
def key(tmp_path_factory):
    """A key that is stored."""
    return ht.keygen(tmp_path_factory.mktemp("key") / "owner.hushkey", passphrase=PASSPHRASE, opens_in="16MiB")


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """Versions are remembered below the test's directory."""
    monkeypatch.setenv("HUSH_STATE_DIR", str(tmp_path / "state"))


class Page(html.parser.HTMLParser):
    """The tags, attributes and texts of a page, as a browser's parser splits it."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.tags, self.styles, self.texts, self.open = set(), set(), [], []
        self.feed(page)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.styles.update(attrs)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def only_a_table(page):
    """The texts of a page that holds a table and nothing that runs, loads or leaves it."""
    parsed = Page(page)
    assert parsed.tags <= {"div", "table", "thead", "tbody", "tr", "th", "td", "p", "small"}, parsed.tags
    assert {name for name, _ in parsed.styles} <= {"style"}
    assert {value for _, value in parsed.styles} <= {"text-align: left", "text-align: right"}
    assert all(c.isprintable() for text in parsed.texts for c in text)
    return parsed.texts


@pytest.mark.filterwarnings("ignore::hushtable.HushWarning")
def test_pages_show_names_and_values_and_run_nothing():
    """Hostile column names, values, table facts and reasons stay texts, in results, schemas and tables."""
    columns = {name: [*HOSTILE] for name in HOSTILE} | {"x": list(range(len(HOSTILE)))}
    data = pa.table(columns)
    table = ht.encrypt(data, clear=HOSTILE, sensitive="x", name="t")
    result = table.decrypt()
    texts = only_a_table(result._repr_html_())
    for text in HOSTILE[:4]:
        assert texts.count(text) == len(HOSTILE) + 1, text
    schema = table.schema
    schema["x"].reason = HOSTILE[0]
    assert HOSTILE[0] in only_a_table(schema._repr_html_()) and HOSTILE[1] in only_a_table(table._repr_html_())
    assert "t: not approved" in only_a_table(schema._repr_html_())
    for shown in (repr(result), repr(schema), repr(table)):
        assert all(c.isprintable() or c == "\n" for c in shown)
    many = ht.run(pa.table({"g": list(range(50))}), "SELECT g FROM t ORDER BY g", clear="g")
    assert "… 30 more rows" in only_a_table(many._repr_html_())


def test_results_give_columns_and_heads():
    """`result["a"]`, `columns`, `len`, `head`. The error of an unknown name tells a near one, and is a KeyError too."""
    data = pa.table({"ward": ["a", "a", "b"], "x": [1, 2, None]})
    result = ht.run(data, "SELECT ward, x FROM t ORDER BY ward, x", clear="ward", sensitive="x")
    assert result["x"].to_pylist() == [1, 2, None] and result.columns == ["ward", "x"]
    assert result["ward"].type == pa.string()
    first = result.head(2)
    assert list(first) == list(result)[:2] and len(first) == 2 and first.account.bytes_down == result.account.bytes_down
    assert len(result.head()) == 3 and len(result.head(0)) == 0
    for wrong, kind in [(lambda: result["wrad"], KeyError), (lambda: result[0], KeyError), (lambda: result.head(-1), ht.UsageError)]:
        with pytest.raises(kind) as caught:
            wrong()
        assert isinstance(caught.value, ht.UsageError)
    with pytest.raises(ht.NoColumnError, match="did you mean 'ward'"):
        result["wrad"]


def test_tables_give_columns_rows_and_schemas():
    """`table.columns`, `len`, `head`, `table.schema`: a copy."""
    data = pa.table({"ward": ["a", "a", "b"], "x": [1, 2, 3], "gone": ["p", "q", "r"]})
    schema = ht.propose(data, clear="ward", sensitive="x", name="t")
    schema["gone"].protect = "drop"
    table = ht.encrypt(data, schema=schema.approve("the test"))
    assert table.columns == ["ward", "x"] and len(table) == 3 and isinstance(table.schema, ht.Schema)
    assert table.schema.is_approved and table.schema.approved_by == "the test"
    assert len(table.head(2)) == 2 and table.head(2)["x"].to_pylist() == [1, 2]
    table.schema["x"].protect = "clear"
    assert table.schema["x"].protect == "encrypt" and table.schema.is_approved
    with pytest.raises(ht.UsageError):
        table.head(-1)
    for call in (lambda: ht.open("T", keys="owner.hushkey"), lambda: ht.encrypt(data, clear="ward", keys="owner.hushkey", out="T")):
        with pytest.raises(ht.UsageError, match="open_key"):
            call()


SCHEMA = """format = 1
table = "patients"
status = "approved"
approved_by = "a person"
unlisted = "refuse"
null_tokens = ["", "NA"]
max_rows = 1000

[columns.age]
type = "int(16)"
range = [0, 150]
nullable = true
protect = "encrypt"
for = ["sum", "avg"]
reason = "age (name)"

[columns."a \\"b\\" [c]"]
type = "text"
protect = "seal"

[columns.paid]
type = "decimal(38,2)"
range = ["-123456789012345678.90", "123456789012345678.91"]
protect = "encrypt"

[columns.day]
type = "date"
range = ["1900-01-01", "2100-12-31"]
protect = "clear"

[columns.at]
type = "timestamp"
range = ["2000-01-01 00:00:00", "2030-06-01 12:00:00.000001"]
protect = "clear"
"""


def test_schemas_are_edited_as_objects_and_survive_their_file(tmp_path):
    """Every attribute reads the file's value and writes one that the parser takes; files and objects agree."""
    schema = ht.Schema.parse(SCHEMA)
    assert schema.columns == ["age", 'a "b" [c]', "paid", "day", "at"] and len(schema) == 5 and "age" in schema
    age = schema["age"]
    assert (age.name, age.type, age.range, age.nullable, age.protect) == ("age", "int(16)", (0, 150), True, "encrypt")
    assert (age.for_, age.reason, schema.max_rows, schema.table) == (["sum", "avg"], "age (name)", 1000, "patients")
    assert schema["paid"].range == (decimal.Decimal("-123456789012345678.90"), decimal.Decimal("123456789012345678.91"))
    assert schema["day"].range == (datetime.date(1900, 1, 1), datetime.date(2100, 12, 31))
    assert schema["at"].range == (datetime.datetime(2000, 1, 1), datetime.datetime(2030, 6, 1, 12, 0, 0, 1))

    age.protect = "seal"
    assert not schema.is_approved and schema.approved_by == "", "an approval is of what was approved"
    age.protect, age.for_, age.reason, age.nullable = "encrypt", ["sum", "variance"], 'our "choice"\nof two lines', False
    age.update(type="decimal(12,2)", range=(decimal.Decimal("0.05"), 10**9))
    schema['a "b" [c]'].type = "category"
    schema["paid"].range = ("-1.5", 2)
    schema["day"].range = (datetime.date(2000, 1, 1), datetime.date(2000, 1, 2))
    schema["at"].range = (datetime.datetime(2000, 1, 1), datetime.datetime(2000, 1, 1, 0, 0, 0, 7))
    schema.products, schema.moments = [("age", "paid")], [["age", "paid"]]
    schema.max_rows, schema.null_tokens, schema.edge, schema.table = 5, ["-"], True, "t2"
    written = tomllib.loads(schema.text, parse_float=decimal.Decimal)
    assert written["columns"]["age"] == {
        "type": "decimal(12,2)", "range": [decimal.Decimal("0.05"), 10**9], "protect": "encrypt", "for": ["sum", "variance"],
        "reason": 'our "choice"\nof two lines',
    }  # fmt: skip
    assert written["columns"]["at"]["range"][1].endswith("00:00:00.000007") and schema["paid"].range[0] == decimal.Decimal("-1.50")
    assert (written["products"], written["moments"], written["null_tokens"]) == ([["age", "paid"]], [["age", "paid"]], ["-"])
    assert (written["max_rows"], written["edge"], written["table"]) == (5, True, "t2")
    age.range = None
    assert age.range is None and "range" not in tomllib.loads(schema.text)["columns"]["age"]
    schema.save(tmp_path / "s.toml")
    again = ht.read_schema(tmp_path / "s.toml")
    assert again == schema and again.text == (tmp_path / "s.toml").read_text(encoding="utf-8") and again != ht.Schema.parse(SCHEMA)
    with pytest.raises(ht.UsageError, match="replace=True"):
        schema.save(tmp_path / "s.toml")
    schema.save(tmp_path / "s.toml", replace=True)


def test_a_schema_refuses_what_its_file_may_not_say():
    """The parser judges, and the schema stays as it was. The message names the column, and no line, because there is no file."""
    schema = ht.Schema.parse(SCHEMA)
    before = schema.text
    age = schema["age"]
    wrong = [
        lambda: setattr(age, "protect", "open"),
        lambda: setattr(age, "protect", None),
        lambda: setattr(age, "type", "int(12)"),
        lambda: setattr(age, "range", (3, 2)),
        lambda: setattr(age, "range", (1, 2, 3)),
        lambda: setattr(age, "range", (0, 0.5)),
        lambda: setattr(age, "range", (0, 10**9)),
        lambda: setattr(age, "nullable", "yes"),
        lambda: setattr(age, "for_", ["everything"]),
        lambda: setattr(age, "for_", "sum"),
        lambda: age.update(colour="red"),
        lambda: setattr(schema['a "b" [c]'], "protect", "encrypt"),
        lambda: setattr(schema["day"], "range", ("yesterday", "today")),
        lambda: setattr(schema, "max_rows", 0),
        lambda: setattr(schema, "products", [["age"]]),
        lambda: setattr(schema, "products", [["age", "day"]]),
        lambda: setattr(schema, "table", "no such name!"),
        lambda: schema.update(columns=[]),
    ]
    for edit in wrong:
        with pytest.raises(ht.RefusedError) as caught:
            edit()
        assert caught.value.code.startswith("HUSH-S0") and not re.match(r".*\bline \d", caught.value.message), caught.value
    with pytest.raises(ht.RefusedError, match="column age"):
        age.type = "int(12)"
    for call in (lambda: setattr(age, "range", 3), lambda: setattr(age, "reason", 1.5), lambda: setattr(age, "range", (object(), 1))):
        with pytest.raises(ht.UsageError):
            call()
    with pytest.raises(ht.NoColumnError, match="did you mean 'age'"):
        schema["aeg"]
    with pytest.raises(AttributeError):
        age.colour = "red"
    assert schema.text == before and schema.is_approved
    with pytest.raises(ht.RefusedError, match="line 3"):
        ht.Schema.parse('format = 1\ntable = "t"\nstatus = "yes"\n')
    for taken in (lambda: ht.read_schema(SCHEMA), lambda: ht.encrypt(PATIENTS, schema=SCHEMA), lambda: ht.run(PATIENTS, "SELECT 1 FROM patients", schema=SCHEMA)):
        with pytest.raises(ht.UsageError, match="Schema.parse") as caught:
            taken()
        assert "max_rows" not in caught.value.message


ADMISSIONS = {
    "patient_name": ["Ada Byron", "Alan Mathison", "Grace Murray", "Kurt Friedrich"] * 10,
    "email": [f"user{i}@example.org" for i in range(40)],
    "ward": ["north", "south"] * 20,
    "age": [30 + i for i in range(40)],
    "diagnosis": ["E11.9", "I10", "J45.0", "C50.9"] * 10,
    "charge": [decimal.Decimal(f"{100 + i}.50") for i in range(40)],
}


def stored_in_clear(directory):
    """The names of the columns that anybody reads in a table's directory."""
    found = set()
    for path in directory.glob("parts/*.clear.parquet"):
        found.update(pa.parquet.read_schema(path).names)
    return found


@pytest.mark.filterwarnings("ignore::hushtable.HushWarning")
def test_what_is_not_named_is_protected_as_proposed(key, tmp_path):
    """`sensitive=["charge"]` left every other column clear, names and all: now nothing that looks sensitive is."""
    import pyarrow.parquet  # noqa: F401

    data = pa.table(ADMISSIONS)
    try:
        ht.encrypt(data, sensitive=["charge"], keys=key, out=tmp_path / "T", name="t")
        clear = stored_in_clear(tmp_path / "T")
    except ht.RefusedError as error:
        # The proposal may leave columns undecided; then nothing is written, and the message names them.
        assert error.code == "HUSH-S003" and not (tmp_path / "T").exists(), error
        undecided = [name for name in ADMISSIONS if name in error.message]
        assert undecided
        ht.encrypt(data, sensitive=["charge", *undecided], keys=key, out=tmp_path / "T", name="t")
        clear = stored_in_clear(tmp_path / "T")
    assert not clear & {"patient_name", "email", "age", "charge", "diagnosis"}, clear
    stored = b"".join(path.read_bytes() for path in (tmp_path / "T").rglob("*") if path.is_file())
    assert b"Ada Byron" not in stored and b"user7@example.org" not in stored


def test_clear_columns_that_look_sensitive_are_said():
    """Through Python's warnings, which a careful caller makes errors, at the caller's line."""
    data = pa.table(ADMISSIONS)
    everything = [name for name in ADMISSIONS if name != "charge"]
    for call in (
        lambda: ht.encrypt(data, clear=everything, sensitive=["charge"], name="t"),
        lambda: ht.run(data, "SELECT ward, SUM(charge) FROM t GROUP BY ward", clear=everything, sensitive=["charge"]),
        lambda: ht.propose(data, clear=everything, sensitive=["charge"]).approve("the test"),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
        said = " ".join(str(warning.message) for warning in caught if warning.category is ht.HushWarning)
        assert "patient_name" in said and "email" in said, said
        assert {warning.filename for warning in caught if warning.category is ht.HushWarning} == {__file__}
        with warnings.catch_warnings(), pytest.raises(ht.HushWarning):
            warnings.simplefilter("error")
            call()


def test_contradictions_and_undecided_columns_are_refused(tmp_path):
    """`clear=["age"], sensitive=["age"]` left age clear once, and `approve` decided on undecided columns by itself."""
    data = pa.table(ADMISSIONS)
    for call in (
        lambda: ht.encrypt(data, clear=["age"], sensitive=["age"]),
        lambda: ht.propose(data, clear=["ward", "age"], sensitive="age"),
        lambda: ht.run(data, "SELECT SUM(age) FROM t", clear="age", sensitive="age"),
    ):
        with pytest.raises(ht.UsageError, match="age"):
            call()
    schema = ht.propose(data, clear="ward", sensitive="charge")
    schema["age"].protect = "DECIDE"
    with pytest.raises(ht.RefusedError, match="age") as caught:
        schema.approve("nobody")
    assert caught.value.code == "HUSH-S003"


@pytest.mark.filterwarnings("ignore::hushtable.HushWarning")
def test_a_table_is_replaced_only_if_asked(key, tmp_path):
    """Tomorrow's rows encrypted to today's table replaced it; now that needs `replace=True`, and other files are never touched."""
    today, tomorrow = pa.table({"x": list(range(6000))}), pa.table({"x": list(range(100))})
    place = tmp_path / "T"
    ht.encrypt(today, sensitive="x", keys=key, out=place, name="t")
    with pytest.raises(ht.HushError, match="replace=True") as caught:
        ht.encrypt(tomorrow, sensitive="x", keys=key, out=place, name="t")
    assert "6000" in caught.value.message.replace(" ", "").replace(",", "")
    assert len(ht.open(place, keys=key)) == 6000
    assert len(ht.encrypt(tomorrow, sensitive="x", keys=key, out=place, name="t", replace=True)) == 100
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.tex").write_text("three years of work", encoding="utf-8")
    for replace in (False, True):
        with pytest.raises(ht.HushError):
            ht.encrypt(today, sensitive="x", keys=key, out=other, name="t", replace=replace)
    assert [path.name for path in other.iterdir()] == ["thesis.tex"]


@pytest.mark.filterwarnings("ignore::hushtable.HushWarning")
def test_tables_go_to_a_server_and_come_back(server, key, tmp_path):
    """push, ls, pull: the newest version, byte by byte; another key, another table and other files are refused."""
    token = server.data / "token"
    data = pa.table({"x": list(range(9000)), "g": ["a", "b"] * 4500})
    table = ht.encrypt(data, sensitive="x", clear="g", keys=key, out=tmp_path / "T", name="t")
    pushed = table.push(server.url, token_file=token)
    assert pushed.version == 1 and pushed.parts_sent == 2 and pushed.bytes_sent > 0
    assert ht.push(tmp_path / "T", server.url, token_file=token).parts_sent == 0
    listed = ht.ls(server.url, token_file=token)
    assert [(each.table, each.version, each.rows, each.key) for each in listed] == [("t", 1, 9000, key.id)]
    remote = ht.open(pushed.url, keys=key, token_file=token)
    assert list(remote.sql("SELECT SUM(x) AS s FROM t")) == [{"s": sum(range(9000))}]

    copy = ht.pull(pushed.url, tmp_path / "copy", keys=key, token_file=token)
    names = lambda place: {path.relative_to(place): path.read_bytes() for path in place.rglob("*.*") if path.is_file() and path.name != ".lock"}
    assert names(tmp_path / "copy") == names(tmp_path / "T") and copy.decrypt()["x"].to_pylist() == list(range(9000))
    # A newer version is fetched into the same directory; a part damaged here is fetched anew.
    ht.encrypt(data.slice(0, 100), sensitive="x", clear="g", keys=key, out=tmp_path / "T", name="t", replace=True)
    push_again(tmp_path / "T", server, token)
    assert len(ht.pull(pushed.url, tmp_path / "copy", keys=key, token_file=token)) == 100
    for path in (tmp_path / "copy" / "parts").iterdir():
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    again = ht.pull(pushed.url, tmp_path / "copy", keys=key, token_file=token)
    assert again.decrypt()["x"].to_pylist() == list(range(100))

    stranger = ht.keygen(tmp_path / "stranger.hushkey", passphrase=PASSPHRASE, opens_in="16MiB")
    with pytest.raises(ht.OwnerKeyError):
        ht.pull(pushed.url, tmp_path / "stolen", keys=stranger, token_file=token)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letter.txt").write_text("dear reader", encoding="utf-8")
    with pytest.raises(ht.HushError):
        ht.pull(pushed.url, tmp_path / "home", keys=key, token_file=token)
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["letter.txt"]
    with pytest.raises(ht.UsageError):
        remote.push(server.url, token_file=token)
    with pytest.raises(ht.UsageError):
        ht.encrypt(data, sensitive="x", clear="g").push(server.url, token_file=token)
    with pytest.raises(ht.UsageError):
        ht.pull(server.url, tmp_path / "nothing", keys=key, token_file=token)


def push_again(directory, server, token):
    """Pushes over the table that is there."""
    return ht.push(directory, server.url, token_file=token, replace=True)


def test_names_are_the_public_ones():
    """`dir(ht)` shows the public names alone, and each has a docstring."""
    names = {name for name in dir(ht) if not name.startswith("__")}
    assert names == {name for name in ht.__all__}
    assert not names & {"os", "tempfile", "annotations", "Any", "Iterable", "Path", "Passphrase", "is_url", "names", "source", "secret"}
    for name in names:
        assert getattr(ht, name).__doc__, name
    assert builtins.open is not ht.open


def test_threads_are_counted_where_no_affinity_is_known(monkeypatch):
    """macOS and Windows have no `sched_getaffinity`."""
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    result = ht.run(pa.table({"x": [1, 2]}), "SELECT SUM(x) AS s FROM t", sensitive="x")
    assert list(result) == [{"s": 3}]


@pytest.mark.filterwarnings("ignore::hushtable.HushWarning")
def test_errors_advise_python(key, tmp_path, monkeypatch):
    """No message tells a caller of Python to use a flag or a command."""
    data = pa.table(ADMISSIONS)
    place = tmp_path / "T"
    ht.encrypt(data, clear=["ward"], sensitive=[name for name in ADMISSIONS if name != "ward"], keys=key, out=place, name="t")
    table = ht.open(place, keys=key)
    other = ht.keygen(tmp_path / "other.hushkey", passphrase=PASSPHRASE, opens_in="16MiB")
    schema = ht.propose(data)
    schema.save(tmp_path / "s.toml")
    calls = [
        lambda: ht.open(place, keys=other),
        lambda: ht.encrypt(data, sensitive=["nobody"]),
        lambda: ht.encrypt(data, clear=["age"], sensitive=["age"]),
        lambda: ht.encrypt(data, schema=tmp_path / "s.toml"),
        lambda: ht.encrypt(data, schema=tmp_path / "missing.toml"),
        lambda: ht.encrypt(data, clear=["ward"], sensitive=["age"], keys=key, out=place),
        lambda: ht.encrypt(data, clear=["ward"], keys=key, out=tmp_path),
        lambda: ht.run(tmp_path / "missing.csv", "SELECT 1 FROM missing"),
        lambda: ht.run(data, "SELECT SUM(nobody) FROM t"),
        lambda: ht.run(data, "SELEC 1"),
        lambda: ht.run(data, "DELETE FROM t"),
        lambda: ht.run(data, "SELECT AVG(ward) FROM t", clear="ward"),
        lambda: ht.run(data, "SELECT SUM(x) FROM t", schema=tmp_path / "s.toml"),
        lambda: table.sql("SELECT MIN(years) FROM t"),
        lambda: table.sql("SELECT ward FROM t WHERE age = 'three'"),
        lambda: table.sql("SELECT AVG(diagnosis) FROM t"),
        lambda: table.decrypt(["nobody"]),
        lambda: ht.open_key(tmp_path / "missing.hushkey", passphrase=PASSPHRASE),
        lambda: ht.open_key(tmp_path / "other.hushkey", passphrase="wrong horse battery"),
        lambda: ht.keygen(tmp_path / "other.hushkey", passphrase=PASSPHRASE, opens_in="16MiB"),
        lambda: ht.keygen(tmp_path / "new.hushkey", passphrase="short"),
        lambda: ht.keygen(tmp_path / "new.hushkey", passphrase=""),
        lambda: ht.open("http://127.0.0.1:9/tables/t", keys=key),
        lambda: ht.open("http://example.org/tables/t", keys=key),
        lambda: ht.open("https://127.0.0.1:9/", keys=key),
        lambda: ht.open(tmp_path, keys=key),
        lambda: ht.Schema.parse("format = 3"),
    ]
    for number, call in enumerate(calls):
        with pytest.raises(ht.HushError) as caught:
            call()
        message = caught.value.message
        assert not re.search(r"(?<![\w-])--[a-z]|\bhush [a-z]+\b|\brerun\b", message), (number, message)


def test_a_panic_is_an_error_of_ours():
    """For any fault of the engine Python sees a HushError, never pyo3's PanicException, which is not even an Exception."""
    program = """
import hushtable as ht, sys
class Broken:
    def __arrow_c_stream__(self, requested_schema=None):
        raise SystemError("no stream today")
try:
    ht.run(Broken(), "SELECT 1 FROM t")
except ht.HushError as error:
    print(type(error).__name__, error.code)
nested = "SELECT " + "(" * 20000 + "x" + ")" * 20000 + " FROM t"
try:
    import pyarrow
    ht.run(pyarrow.table({"x": [1]}), nested, sensitive="x")
except ht.HushError as error:
    print(type(error).__name__)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0 and "panick" not in done.stderr, done.stderr
    assert done.stdout.splitlines()[0] == "DataError HUSH-D027" and len(done.stdout.splitlines()) == 2, done.stdout


def test_what_is_not_kept_is_said(tmp_path):
    """Columns that a table does not have, and texts that are read as other values, are named by `encrypt` and `decrypt`."""
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{n},{n % 7}\n" for n in range(40)) + "<5,1\n", encoding="utf-8")
    schema = ht.Schema.parse(
        'format = 1\ntable = "t"\nstatus = "approved"\napproved_by = "a test"\n'
        '[columns.a]\ntype = "int(8)"\nrange = [0, 100]\nprotect = "encrypt"\ncensored = "bound"\n'
        '[columns.b]\ntype = "int(8)"\nrange = [0, 9]\nprotect = "drop"\n'
    )
    with pytest.warns(ht.HushWarning) as said:
        table = ht.encrypt(tmp_path / "t.csv", schema=schema)
    texts = [str(warning.message) for warning in said]
    assert any("not kept: b" in text for text in texts) and any("a" in text and "5" in text for text in texts), texts
    with pytest.warns(ht.HushWarning, match="not kept: b"):
        assert table.decrypt().columns == ["a"]


@pytest.mark.filterwarnings("ignore::hushtable.HushWarning")
def test_advice_of_a_stored_table_is_to_encrypt_again(key, server, tmp_path):
    """Errors in Python name things that Python has, and remedies that help in their place."""
    levels = pa.array([1 / (row + 7) for row in range(len(ADMISSIONS["ward"]))])
    data, place = pa.table(ADMISSIONS).append_column("level", levels), tmp_path / "T"
    everything = [name for name in data.column_names if name != "ward"]
    table = ht.encrypt(data, clear=["ward"], sensitive=everything, keys=key, out=place, name="t")
    query = "SELECT ward FROM t WHERE level > 3"
    for ask in (table.sql, table.explain):
        with pytest.raises(ht.RefusedError, match='protect = "clear" for level in the schema, then encrypt again') as caught:
            ask(query)
        assert caught.value.code == "HUSH-P029" and "clear=[" not in caught.value.message
    table.alter(purposes={"level": ["fetch"]})
    assert table.sql(query).to_pyarrow().num_rows == 0
    # Another table under a name; a version that the handle does not know; no token.
    ht.encrypt(data, clear=["ward"], sensitive=everything, keys=key, out=tmp_path / "U", name="t")
    token = server.data / "token"
    table.push(server.url, token_file=token)
    with pytest.raises(ht.RefusedError, match='schema.table = "NAME"') as caught:
        ht.push(tmp_path / "U", server.url, token_file=token, replace=True)
    assert caught.value.code == "HUSH-R025"
    remote = ht.open(f"{server.url}/tables/t", keys=key, token_file=token)
    ht.encrypt(data, clear=["ward"], sensitive=everything, keys=key, out=place, name="t", replace=True)
    ht.push(place, server.url, token_file=token, replace=True)
    for old, code in ((table, "HUSH-E031"), (remote, "HUSH-R005")):
        with pytest.raises(ht.HushError, match="open it again, by hushtable.open") as caught:
            old.sql("SELECT SUM(age) AS s FROM t")
        assert caught.value.code == code, caught.value
    assert len(ht.open(place, keys=key).sql("SELECT SUM(age) AS s FROM t")) == 1
    with pytest.raises(ht.OwnerKeyError, match="token_file=") as caught:
        ht.ls(server.url)
    assert caught.value.code == "HUSH-R004" and "--" not in caught.value.message
    with pytest.raises(ht.RefusedError) as caught:
        table.sql("SELECT CORR(age) FROM t")
    assert caught.value.code == "HUSH-P005" and "CORR(age)" in caught.value.message


def test_schemas_in_memory_are_refused_without_a_file(key):
    """S002 and S003 name no file, because there is none, and tell Python's ways out."""
    data = pa.table({"n": [7 * row % 1000 for row in range(100)], "dose": [float(row) / 7 for row in range(100)]})
    schema = ht.propose(data, name="t")
    with pytest.raises(ht.RefusedError) as caught:
        ht.encrypt(data, schema=schema)
    assert ".toml" not in caught.value.message and "approve" in caught.value.message, caught.value
    schema["n"].protect = "DECIDE"
    with pytest.raises(ht.RefusedError) as caught:
        schema.approve("me")
    message = caught.value.message
    assert caught.value.code == "HUSH-S003" and ".toml" not in message and "sensitive=[...]" in message, message


def test_digits_of_a_release_are_an_argument():
    """C083 tells the number of digits, as Python writes it."""
    data = pa.table({"x": [row / 7 for row in range(2000)]})
    with pytest.raises(ht.RefusedError, match=r"\brelease=-?\d") as caught:
        ht.run(data, "SELECT SUM(x) AS s FROM t", sensitive="x", release=15)
    assert caught.value.code == "HUSH-C083" and "--" not in caught.value.message, caught.value


def test_what_a_stream_raises_is_the_cause(tmp_path):
    """The caller's own exception is kept. That of a frame's conversion would quote values, and is dropped."""

    class Broken:
        def __arrow_c_stream__(self, requested_schema=None):
            raise LookupError("the database went away")

    for call in (lambda: ht.propose(Broken()), lambda: ht.run(Broken(), "SELECT 1 FROM t"), lambda: ht.encrypt(Broken(), clear=[])):
        with pytest.raises(ht.DataError) as caught:
            call()
        cause = caught.value.__cause__
        assert caught.value.code == "HUSH-D027" and isinstance(cause, LookupError) and "went away" in str(cause)
        assert "went away" not in str(caught.value)


def test_warnings_are_at_the_line_of_the_caller():
    """For every method."""
    data = pa.table({"x": [row / 7 for row in range(20)]})
    schema = ht.Schema.parse(
        'format = 1\ntable = "t"\nstatus = "approved"\napproved_by = "a test"\n'
        '[columns.x]\ntype = "float(6)"\nprotect = "encrypt"\n'
    )
    table = ht.encrypt(data, schema=schema)
    for ask in (
        lambda: table.head(),
        lambda: table.sql("SELECT x FROM t"),
        lambda: table.select("x").collect(),
        lambda: table.decrypt(),
    ):
        with pytest.warns(ht.HushWarning) as said:
            ask()
        assert {warning.filename for warning in said} == {__file__}, [str(warning) for warning in said]
