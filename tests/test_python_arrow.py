# SPDX-License-Identifier: Apache-2.0
"""Every Arrow type there is, through pyarrow, polars and pandas: taken with the right values, or refused by column and type.
Streams are read once and never held; their exceptions are raised."""

import datetime
import decimal
import os
import subprocess
import sys

import pandas
import polars
import pyarrow as pa
import pytest

import hushtable as ht

DAY, NOON = datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 12, 30, 1, 250_000)
MONEY = decimal.Decimal("12.30")


def views(values):
    """The Arrow array that polars makes of a Categorical."""
    index = pa.array([None if value is None else values.index(value) for value in values], pa.uint32())
    return pa.DictionaryArray.from_arrays(index, pa.array(values, pa.string_view()))


#: Arrays that must be taken, each with a missing value.
TAKEN = {
    **{str(kind): pa.array([3, None, 7], kind) for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64())},
    **{str(kind): pa.array([3, None, 7], kind) for kind in (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())},
    **{str(kind): pa.array([1.5, None, -2.25], kind) for kind in (pa.float16(), pa.float32(), pa.float64())},
    **{str(kind): pa.array([MONEY, None, -MONEY], kind) for kind in (pa.decimal32(9, 2), pa.decimal64(12, 2), pa.decimal128(38, 2))},
    **{str(kind): pa.array(["é", None, "a\"b"], kind) for kind in (pa.string(), pa.large_string(), pa.string_view())},
    "bool": pa.array([True, None, False]),
    "date32": pa.array([DAY, None, datetime.date(1, 1, 1)], pa.date32()),
    "date64": pa.array([DAY, None, datetime.date(9999, 12, 31)], pa.date64()),
    **{f"timestamp {unit}": pa.array([NOON.replace(microsecond=0), None, datetime.datetime(1969, 12, 31)], pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")},
    "dictionary of texts": pa.array(["x", None, "y"]).dictionary_encode(),
    "dictionary of views": views(["x", None, "y"]),
    "dictionary of numbers": pa.array([5, None, 6]).dictionary_encode(),
    "ordered dictionary": pa.array(["x", None, "y"]).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string(), ordered=True)),
}
#: Arrays that are taken rightly or refused by name.
OTHERS = {
    "null": pa.array([None, None, None]),
    "decimal256": pa.array([MONEY, None, -MONEY], pa.decimal256(40, 2)),
    "narrow decimal256": pa.array([MONEY, None, -MONEY], pa.decimal256(20, 2)),
    "negative scale": pa.array([decimal.Decimal(1200), None, decimal.Decimal(-300)], pa.decimal128(5, -2)),
    "time32": pa.array([datetime.time(1, 2, 3), None, datetime.time(0)], pa.time32("s")),
    "time64": pa.array([datetime.time(1, 2, 3, 4), None, datetime.time(0)], pa.time64("us")),
    "duration": pa.array([datetime.timedelta(1), None, datetime.timedelta(0)], pa.duration("us")),
    "interval": pa.array([(1, 2, 3), None, (0, 0, 0)], pa.month_day_nano_interval()),
    **{str(kind): pa.array([b"\x00a", None, b""], kind) for kind in (pa.binary(), pa.large_binary(), pa.binary_view())},
    "fixed binary": pa.array([b"ab", None, b"cd"], pa.binary(2)),
    "list": pa.array([[1], None, []], pa.list_(pa.int64())),
    "large list": pa.array([[1], None, []], pa.large_list(pa.int64())),
    "list view": pa.array([[1], None, []], pa.list_view(pa.int64())),
    "fixed list": pa.array([[1], None, [2]], pa.list_(pa.int64(), 1)),
    "struct": pa.array([{"a": 1}, None, {"a": 2}]),
    "map": pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int64())),
    "union": pa.UnionArray.from_sparse(pa.array([0, 0, 0], pa.int8()), [pa.array([1, 2, 3])]),
    "dense union": pa.UnionArray.from_dense(pa.array([0, 0, 0], pa.int8()), pa.array([0, 1, 2], pa.int32()), [pa.array([1, 2, 3])]),
    "runs": pa.RunEndEncodedArray.from_arrays([2, 3], [4, None]),
    "dictionary of bytes": pa.array([b"x", None, b"y"]).dictionary_encode(),
    "uuid": pa.array([b"0123456789abcdef", None, b"0123456789abcdeg"], pa.uuid()),
    "bool8": pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, None, 0], pa.int8())),
    "json": pa.ExtensionArray.from_storage(pa.json_(), pa.array(["{}", None, "[]"])),
    "opaque": pa.ExtensionArray.from_storage(pa.opaque(pa.int64(), "x", "y"), pa.array([1, None, 2])),
}


def there_and_back(data, column="x"):
    """The values of a column that was protected, stored and decrypted; a refusal names the column and a type."""
    try:
        schema = ht.propose(data, clear=["k"])
        kind = schema[column].type
        is_text = kind in ("text", "category")
        # The column is stored whatever the proposal was. A number is encrypted, because that tests more than a seal.
        schema[column].protect = "encrypt" if not is_text and not kind.startswith("float") else "seal"
        table = ht.encrypt(data, schema=schema.approve("the test"))
        return table.decrypt(column)[column].to_pylist()
    except ht.DataError as error:
        assert error.code in ("HUSH-D005", "HUSH-D011", "HUSH-D021"), error
        assert f"column {column}" in error.message, error
        return None


def equal(found, want):
    """Whether a value is the one put in, or its text."""
    if isinstance(want, datetime.datetime | datetime.date) and isinstance(found, datetime.datetime | datetime.date):
        return str(found).removesuffix(" 00:00:00") == str(want).removesuffix(" 00:00:00")
    return found == want or found == str(want) or (found is not None and want is not None and str(found) == str(want))


@pytest.mark.filterwarnings("ignore::hushtable.HushWarning")
@pytest.mark.parametrize("kind", TAKEN)
def test_plain_types_come_back_as_they_were(kind):
    """Encrypted or sealed, then decrypted: the same values, and the missing one missing."""
    array = TAKEN[kind]
    found = there_and_back(pa.table({"k": [1, 2, 3], "x": array}))
    assert found is not None, "refused"
    assert all(map(equal, found, array.to_pylist())) and found[1] is None, found


@pytest.mark.filterwarnings("ignore::hushtable.HushWarning")
@pytest.mark.parametrize("kind", OTHERS)
def test_other_types_are_taken_rightly_or_refused_by_name(kind):
    """No panic, no error of Arrow's, no other value."""
    array = OTHERS[kind]
    data = pa.table({"k": [1, 2, 3], "x": array})
    found = there_and_back(data)
    if found is not None:
        assert all(map(equal, found, array.to_pylist())), found
    # The rest of the table is not affected.
    rows = ht.run(data, "SELECT SUM(k) AS s FROM t", sensitive="k")
    assert rows["s"].to_pylist() == [6]


FRAMES = {
    "Categorical": polars.Series(["b", None, "a"], dtype=polars.Categorical),
    "Enum": polars.Series(["b", None, "a"], dtype=polars.Enum(["a", "b"])),
    "String": polars.Series(["b", None, "a"]),
    "Decimal": polars.Series([MONEY, None, -MONEY]),
    "Date": polars.Series([DAY, None, DAY]),
    "Datetime": polars.Series([NOON, None, NOON]),
    "Int8": polars.Series([1, None, 3], dtype=polars.Int8),
    "UInt64": polars.Series([1, None, 3], dtype=polars.UInt64),
    "Boolean": polars.Series([True, None, False]),
}
ODD_FRAMES = {
    "Int128": polars.Series([1, None, 3], dtype=polars.Int128),
    "Float32": polars.Series([1.5, None, 3.0], dtype=polars.Float32),
    "Time": polars.Series([datetime.time(1), None, datetime.time(2)]),
    "Duration": polars.Series([datetime.timedelta(1), None, datetime.timedelta(2)]),
    "Binary": polars.Series([b"a", None, b"b"]),
    "Null": polars.Series([None, None, None]),
    "List": polars.Series([[1], None, [2]]),
    "Array": polars.Series([[1], None, [2]], dtype=polars.Array(polars.Int8, 1)),
    "Struct": polars.Series([{"a": 1}, None, {"a": 2}]),
    "Object": polars.Series([object(), object(), object()], dtype=polars.Object),
}


@pytest.mark.filterwarnings("ignore::hushtable.HushWarning")
@pytest.mark.parametrize("lazy", [False, True], ids=["frame", "lazy"])
@pytest.mark.parametrize("kind", [*FRAMES, *ODD_FRAMES])
def test_frames_of_polars(kind, lazy):
    """Categorical and Enum are texts; everything else as its Arrow type is."""
    if kind == "Object" and lazy:
        pytest.skip("polars itself has no lazy objects")
    series = {**FRAMES, **ODD_FRAMES}[kind]
    frame = polars.DataFrame({"k": [1, 2, 3], "x": series})
    found = there_and_back(frame.lazy() if lazy else frame)
    assert found is not None or kind in ODD_FRAMES, "refused"
    if found is not None:
        assert all(map(equal, found, series.to_list())), found


@pytest.mark.filterwarnings("ignore::hushtable.HushWarning")
@pytest.mark.parametrize("kind", ["category", "period", "interval", "timedelta", "mixed", "object", "complex", "Sparse[int64]"])
def test_frames_of_pandas(kind):
    """Categories are texts. Types that pandas alone knows are refused by column, and no value is quoted."""
    series = {
        "category": pandas.Series(["b", None, "a"], dtype="category"),
        "period": pandas.Series(pandas.period_range("2020", periods=3, freq="M")),
        "interval": pandas.Series(pandas.interval_range(0, 3)),
        "timedelta": pandas.Series([pandas.Timedelta(1)] * 3),
        "mixed": pandas.Series([1, "a-secret", 3], dtype=object),
        "object": pandas.Series([object()] * 3),
        "complex": pandas.Series([1j] * 3),
        "Sparse[int64]": pandas.Series([1, 0, 0], dtype="Sparse[int64]"),
    }[kind]
    frame = pandas.DataFrame({"k": [1, 2, 3], "x": series})
    if kind == "category":
        assert there_and_back(frame) == ["b", None, "a"]
        return
    try:
        schema = ht.propose(frame, clear="k")
        schema["x"].protect = "seal"
        found = ht.encrypt(frame, schema=schema.approve("the test")).decrypt("x")["x"].to_pylist()
        assert all(map(equal, found, series.tolist())), found
    except ht.DataError as error:
        assert error.code == "HUSH-D005" and "column x" in error.message, error
        assert "a-secret" not in "".join(map(str, [error, error.__cause__])) and error.__suppress_context__ | (error.__context__ is None)


def stream(rows, batch_rows, fail_at=None):
    """A reader of batches that are made as they are read, and the list of those made."""
    made = []

    def batches():
        for start in range(0, rows, batch_rows):
            if fail_at is not None and start >= fail_at:
                raise LookupError("the database went away")
            made.append(start)
            yield pa.record_batch({"x": pa.array(range(start, min(start + batch_rows, rows)))})

    return pa.RecordBatchReader.from_batches(pa.schema({"x": pa.int64()}), batches()), made


def approved(rows=10):
    """A schema of such a stream."""
    schema = ht.propose(pa.table({"x": list(range(rows))}), sensitive="x", name="t")
    schema.update(max_rows=10_000_000)
    schema["x"].update(type="int(64)", range=(0, 10_000_000))
    return schema.approve("the test")


def test_a_stream_is_read_once_and_what_it_raises_is_raised():
    """With a schema nothing is held: batches are taken as they come. Without one a stream is held, once."""
    reader, made = stream(100_000, 30_000)
    table = ht.encrypt(reader, schema=approved())
    assert made == [0, 30_000, 60_000, 90_000] and len(table) == 100_000
    assert list(table.sql("SELECT SUM(x) AS s FROM t")) == [{"s": sum(range(100_000))}]
    with pytest.raises(ht.HushError):
        ht.encrypt(reader, schema=approved())
    reader, _ = stream(50_000, 10_000)
    assert list(ht.run(reader, "SELECT SUM(x) AS s FROM t", sensitive="x")) == [{"s": sum(range(50_000))}]
    reader, _ = stream(100_000, 10_000, fail_at=50_000)
    # The stream's own exception, as pyarrow passes it on.
    with pytest.raises(pa.ArrowInvalid, match="the database went away"):
        ht.encrypt(reader, schema=approved())


def test_a_lazy_frame_is_collected_once(tmp_path):
    """Its functions run once for every row, with a schema and without."""
    calls = []

    def counted(frame):
        calls.append(frame.height)
        return frame

    lazy = polars.LazyFrame({"x": list(range(30_000))}).map_batches(counted)
    table = ht.encrypt(lazy, schema=approved())
    assert list(table.sql("SELECT SUM(x) AS s FROM t")) == [{"s": sum(range(30_000))}] and sum(calls) == 30_000
    calls.clear()
    assert list(ht.run(lazy, "SELECT SUM(x) AS s FROM t", sensitive="x")) == [{"s": sum(range(30_000))}]
    assert sum(calls) == 30_000

    def broken(frame):
        raise ValueError("no such luck")

    with pytest.raises((ValueError, polars.exceptions.PolarsError), match="no such luck"):
        ht.encrypt(polars.LazyFrame({"x": [1]}).map_batches(broken), schema=approved())


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for the peak of memory")
def test_data_are_not_held_twice(tmp_path):
    """Encrypting a table of 160 MB in memory takes a small part of another 160 MB, and so does a stream of as much."""
    program = """
import sys, pyarrow as pa, hushtable as ht
rows = 4_000_000
def peak():
    return next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if line.startswith("VmHWM"))
def batches():
    for start in range(0, rows, 100_000):
        ramp = pa.array(range(start, start + 100_000))
        yield pa.record_batch({"x": ramp, "a": ramp, "b": ramp, "c": ramp, "d": ramp})
schema = ht.propose(pa.table({name: [0, 1, 2] for name in "xabcd"}), sensitive="x", clear=list("abcd"), name="t")
schema.max_rows = rows
for name in "xabcd":
    schema[name].update(type="int(64)", range=(0, rows))
for name in "abcd":
    schema[name].protect = "drop"
schema = schema.approve("the test")
base = peak()
kind = pa.schema({name: pa.int64() for name in "xabcd"})
ht.encrypt(pa.RecordBatchReader.from_batches(kind, batches()), schema=schema, threads=1)
streamed = peak() - base
table = pa.Table.from_batches([batch.slice(0) for batch in (pa.record_batch({n: pa.array(c.to_numpy().copy()) for n, c in zip("xabcd", b.columns)}) for b in batches())])
open("/proc/self/clear_refs", "w").write("5")
before = peak()
ht.encrypt(table, schema=schema, threads=1)
print(streamed, peak() - before, table.nbytes)
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, env={**os.environ, "HUSH_STATE_DIR": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    streamed, more, held = map(int, done.stdout.split())
    print(f"a stream of {held / 1e6:.0f} MB took {streamed / 1e6:.0f} MB, as much in memory {more / 1e6:.0f} MB more")
    assert held > 150e6 and streamed < held / 2 and more < held / 2, (streamed, more, held)
