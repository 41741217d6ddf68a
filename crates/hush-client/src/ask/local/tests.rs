// SPDX-License-Identifier: Apache-2.0

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int64Array, StringArray,
    TimestampMicrosecondArray,
};
use hush_plan::schema::file::from_toml;
use hush_remote::Silent;
use hush_testkit::Draw;

use super::*;

const SCHEMA: &str = r#"format = 1
table = "t"
status = "approved"
[columns.i]
type = "int(64)"
protect = "clear"
nullable = true
[columns.b]
type = "bool"
protect = "clear"
nullable = true
[columns.c]
type = "category"
protect = "clear"
nullable = true
[columns.d]
type = "date"
protect = "clear"
nullable = true
[columns.m]
type = "decimal(12,2)"
protect = "clear"
nullable = true
[columns.f]
type = "float(3)"
protect = "clear"
nullable = true
[columns.s]
type = "timestamp"
protect = "clear"
nullable = true
"#;

const QUESTIONS: &[&str] = &[
    "SELECT COUNT(*), COUNT(i), MIN(i), MAX(i), SUM(m), AVG(f), VARIANCE(f), MIN(d), MAX(s), MIN(c) FROM t",
    "SELECT COUNT(*), SUM(m) FROM t WHERE i > 0 AND b",
    "SELECT c, b, COUNT(*), SUM(m), AVG(f), MAX(d) FROM t GROUP BY c, b ORDER BY c, b",
    "SELECT c, MEDIAN(i) FROM t GROUP BY c ORDER BY c",
    "SELECT * FROM t",
    "SELECT i, d, m FROM t WHERE f < 0.0",
    "SELECT i, c, s FROM t ORDER BY i DESC, m, s LIMIT 7",
    "SELECT COUNT(*), SUM(m) FROM t WHERE d < DATE '1700-01-01'",
    "SELECT i FROM t WHERE c = 'nowhere'",
    "SELECT SUM(i) FROM t WHERE i > 9000000000000000000",
    "SELECT 10 / (i - i) FROM t WHERE i IS NOT NULL",
    "SELECT i + 1 FROM t",
];

/// Rows of every type, with missing values and both ends of each.
fn rows(count: usize, draw: &mut Draw) -> RecordBatch {
    fn some<T: Copy>(count: usize, draw: &mut Draw, ends: &[T], of: impl Fn(u64) -> T) -> Vec<Option<T>> {
        let value = |draw: &mut Draw| match draw.below(40) {
            0 => ends.get(draw.below(ends.len())).copied(),
            1..5 => None,
            _ => Some(of(draw.word())),
        };
        (0..count).map(|_| value(draw)).collect()
    }
    let units =
        some(count, draw, &[10_i128.pow(12) - 1, 1 - 10_i128.pow(12), 0], |word| i128::from(word % 5000));
    let units = Decimal128Array::from(units).with_precision_and_scale(12, 2).unwrap();
    let floats = some(count, draw, &[-0.0, 0.0, f64::MAX, -1e-300], |word| word as f64 / 1e18 - 9.0);
    let integers = some(count, draw, &[i64::MIN, i64::MAX, 0], |word| word as i64 % 1000);
    let texts = some(count, draw, &["", "é"], |word| {
        ["a", "b", "c"].into_iter().nth(word as usize % 3).unwrap_or_default()
    });
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("i", Arc::new(Int64Array::from(integers))),
        ("b", Arc::new(BooleanArray::from(some(count, draw, &[true], |word| word % 2 == 1)))),
        ("c", Arc::new(StringArray::from(texts))),
        ("d", Arc::new(Date32Array::from(some(count, draw, &[0, -719_162], |word| (word % 20_000) as i32)))),
        ("m", Arc::new(units)),
        ("f", Arc::new(Float64Array::from(floats))),
        (
            "s",
            Arc::new(TimestampMicrosecondArray::from(some(count, draw, &[0, -1], |word| {
                (word >> 12) as i64
            }))),
        ),
    ];
    let columns = columns.into_iter().map(|(name, array)| (name, array, true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

fn half() -> PrivateHalf {
    PrivateHalf::new(from_toml(SCHEMA).unwrap(), Vec::new())
}

/// The same rows in a table whose clear columns are written and read as those of every table.
fn stored(clear: &RecordBatch) -> OwnedTable {
    let (owner, store, half) = (OwnerSeed::generate().unwrap(), TableStore::memory(), half());
    let identity = new_identity(&owner, half.schema.table.clone()).unwrap();
    let keys = owner.of_table(*identity.table_id.as_bytes(), *identity.encryption.as_bytes());
    let layout = TableLayout { clear: clear.schema(), encodings: Vec::new(), sealed_columns: 0 };
    let mut writer = TableWriter::begin(&store, identity, layout).unwrap();
    for (index, (first, count)) in (0..).zip(cut(clear.num_rows())) {
        let (seed, rows) = ([0; 32], count as u32);
        let chunk = EncodedChunk { index, rows, seed, encoded: Vec::new(), sealed: Vec::new() };
        writer.push(&clear.slice(first, count), chunk).unwrap();
    }
    writer.finish(half.seal(keys).unwrap(), |bytes| owner.sign(bytes)).unwrap();
    OwnedTable::open_store(&store, &owner, &NoOp, 2, hush_exec::Limits::default()).unwrap()
}

/// All rows, in pieces of none to more than a chunk.
fn pieces(clear: &RecordBatch, draw: &mut Draw) -> Vec<RecordBatch> {
    let (mut pieces, mut first) = (Vec::new(), 0);
    while first < clear.num_rows() {
        let most = match draw.below(3) {
            0 => 3,
            1 => 3000,
            _ => 9000,
        };
        let rows = draw.below(most).min(clear.num_rows() - first);
        pieces.push(clear.slice(first, rows));
        first += rows;
    }
    pieces
}

#[test]
fn chunks_are_the_batches_that_came_where_these_have_enough_rows() {
    let clear = rows(30_000, &mut Draw::new());
    let sizes = |pieces: &[usize]| -> Vec<usize> {
        let slice = |first: &mut usize, rows: &usize| {
            *first += rows;
            Some(clear.slice(*first - rows, *rows))
        };
        let chunks = in_chunks(&clear.schema(), pieces.iter().scan(0, slice).collect()).unwrap();
        let all = concat_batches(&clear.schema(), &chunks).unwrap();
        assert_eq!(all, clear.slice(0, pieces.iter().sum()));
        chunks.iter().map(RecordBatch::num_rows).collect()
    };
    assert_eq!(sizes(&[]), [] as [usize; 0]);
    assert_eq!(sizes(&[0, 0]), [] as [usize; 0]);
    assert_eq!(sizes(&[8192, 8192, 7]), [8192, 8192, 7]);
    assert_eq!(sizes(&[4000, 2048, 6000]), [4000, 2048, 6000]);
    assert_eq!(sizes(&[1, 2000, 0, 1000, 5, 6]), [3001, 11]);
    assert_eq!(sizes(&[2000, 8000, 1]), [2000, 8000, 1]);
    assert_eq!(sizes(&[20_000, 3]), [8192, 8192, 3616, 3]);
}

/// Results, their types and refusals are those of a table in files, whatever the batches in which the rows came.
#[test]
fn a_table_in_memory_answers_as_one_in_files() {
    let mut draw = Draw::new();
    for count in [0, 1, 100, 8192, 20_000, 140_000] {
        let clear = rows(count, &mut draw);
        let pieces: Vec<RecordBatch> = match count {
            20_000 => {
                [(0, 5000), (5000, 1), (5001, 14_999)].map(|(first, rows)| clear.slice(first, rows)).into()
            }
            140_000 => pieces(&clear, &mut draw),
            _ => cut(count).map(|(first, rows)| clear.slice(first, rows)).collect(),
        };
        let chunks = in_chunks(&clear.schema(), pieces).unwrap();
        let held = table_of(half(), (&clear.schema(), chunks), &[], 2).unwrap();
        let stored = stored(&clear);
        for sql in QUESTIONS {
            match (held.ask(sql, &Silent), stored.ask(sql, &Silent)) {
                (Ok(found), Ok(expected)) => {
                    let schema = expected.batches.first().unwrap().schema();
                    assert_eq!(found.batches.first().unwrap().schema(), schema, "{sql}");
                    let whole = |batches: &[RecordBatch]| concat_batches(&schema, batches).unwrap();
                    let (found, expected) = (whole(&found.batches), whole(&expected.batches));
                    assert_eq!(found, expected, "{draw:?}: {count} rows, {sql}");
                }
                (Err(found), Err(expected)) => {
                    assert_eq!(found.to_string(), expected.to_string(), "{sql}");
                }
                (found, expected) => {
                    panic!("{draw:?}: {count} rows, {sql}: {:?} and {:?}", found.err(), expected.err())
                }
            }
        }
    }
}

/// Chunks that are not those of the version are refused: fewer, more, of other rows or of other columns.
#[test]
fn an_engine_refuses_columns_of_another_version() {
    let clear = rows(20_000, &mut Draw::new());
    let version = || stored(&clear).manifest().clone();
    let chunks = || cut(20_000).map(|(first, rows)| clear.slice(first, rows)).collect::<Vec<_>>();
    let open = |chunks: Vec<RecordBatch>| {
        let engine =
            hush_exec::Engine::dry_run(TableStore::memory(), 1, hush_exec::Limits::default()).unwrap();
        engine.with_version_in_memory(version(), chunks)
    };
    assert!(open(chunks()).is_ok());
    assert!(open(Vec::new()).is_err() && open(chunks().into_iter().take(2).collect()).is_err());
    assert!(open([chunks(), chunks()].concat()).is_err());
    assert!(open(vec![clear.clone()]).is_err());
    let short = vec![clear.slice(0, 8191), clear.slice(8191, 8193), clear.slice(16_384, 3616)];
    assert!(open(short).is_err());
    let fewer = chunks().iter().map(|chunk| chunk.project(&[0, 1, 2]).unwrap()).collect();
    assert!(open(fewer).is_err());
    let moved = chunks().iter().map(|chunk| chunk.project(&[1, 0, 2, 3, 4, 5, 6]).unwrap()).collect();
    assert!(open(moved).is_err());
}
