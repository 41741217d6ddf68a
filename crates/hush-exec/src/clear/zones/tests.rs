// SPDX-License-Identifier: Apache-2.0
//! Random conditions on random parts: a condition has the value of its text, and an excluded part has no matching row. With
//! NULLs, NaN, both zeros, the largest and smallest numbers, long texts that differ at the end, empty texts, and conversions.

use arrow::array::{
    Date32Array, Decimal128Array, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray, UInt8Array,
};
use datafusion::common::DFSchema;
use hush_plan::plan::Predicate;
use hush_table::manifest::{BODY_FORMAT, DeviceRules, Lengths};
use hush_table::part::{ClearPartWriter, PartSource};
use hush_table::{CHUNK_ROWS, ClearColumn, EncryptionId, Manifest, PartEntry, TableId};
use hush_testkit::Draw;

use super::*;
use crate::Stop;
use crate::clear::compiled::{Compiled, UsedColumns};
use crate::clear::held::PartColumns;
use crate::clear::scalar::Scope;
use crate::clear::session::Session;
use crate::error::ExpressionRole;

const LONG: &str = "a text that is longer than what a footer holds of it, so that its bounds are cut somewhere before the end";

fn integer(draw: &mut Draw, centre: i64) -> i64 {
    match draw.below(60) {
        0 => i64::MIN,
        1 => i64::MAX,
        2 => 0,
        _ => centre + draw.below(7) as i64 - 3,
    }
}

fn float(draw: &mut Draw, centre: i64) -> f64 {
    match draw.below(20) {
        0 => f64::NAN,
        1 => -0.0,
        2 => 0.0,
        3 => f64::INFINITY,
        _ => centre as f64 + draw.unit(),
    }
}

fn text(draw: &mut Draw, centre: i64) -> String {
    match draw.below(12) {
        0 => String::new(),
        1 if centre > 5 => format!("{LONG}{}", draw.below(3)),
        2 if centre > 5 => "\u{10ffff}".repeat(30),
        _ => format!("w{:03}", centre + draw.below(4) as i64),
    }
}

/// Rows around one value, so that bounds tell something.
fn batch(draw: &mut Draw, rows: usize) -> RecordBatch {
    let centre = draw.below(24) as i64 - 8;
    let nulls = [0, 0, 30, 100][draw.below(4)];
    let mut column = || (0..rows).map(|_| draw.below(100) >= nulls).collect::<Vec<bool>>();
    let valid: Vec<Vec<bool>> = (0..8).map(|_| column()).collect();
    let some = |column: usize, row: usize| valid[column][row];
    let mut all = |column: usize, value: &mut dyn FnMut(&mut Draw) -> i64| -> Vec<Option<i64>> {
        (0..rows).map(|row| some(column, row).then(|| value(draw))).collect()
    };
    let narrow = |value: i64| value.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32;
    let i = all(0, &mut |draw| integer(draw, centre));
    let s: Vec<_> = all(1, &mut |draw| integer(draw, centre)).into_iter().map(|v| v.map(narrow)).collect();
    let u: Vec<_> =
        all(2, &mut |draw| integer(draw, centre)).into_iter().map(|v| v.map(|v| v as u8)).collect();
    let m: Vec<_> = all(3, &mut |draw| 100 * centre + draw.below(300) as i64)
        .into_iter()
        .map(|v| v.map(i128::from))
        .collect();
    let day: Vec<_> = all(4, &mut |draw| integer(draw, centre)).into_iter().map(|v| v.map(narrow)).collect();
    let flag = draw.below(3);
    let f: Vec<_> = (0..rows).map(|row| some(5, row).then(|| float(draw, centre))).collect();
    let t: Vec<_> = (0..rows).map(|row| some(6, row).then(|| text(draw, centre))).collect();
    let b: Vec<_> =
        (0..rows).map(|row| some(7, row).then(|| flag == 0 || flag == 1 && draw.below(2) == 0)).collect();
    RecordBatch::try_from_iter_with_nullable([
        ("i", Arc::new(Int64Array::from(i)) as ArrayRef, true),
        ("s", Arc::new(Int32Array::from(s)), true),
        ("u", Arc::new(UInt8Array::from(u)), true),
        ("m", Arc::new(Decimal128Array::from(m).with_precision_and_scale(12, 2).unwrap()), true),
        ("day", Arc::new(Date32Array::from(day)), true),
        ("f", Arc::new(Float64Array::from(f)), true),
        ("t", Arc::new(StringArray::from(t)), true),
        ("b", Arc::new(BooleanArray::from(b)), true),
    ])
    .unwrap()
}

fn part(batch: &RecordBatch) -> ClearPart {
    let mut writer = ClearPartWriter::new(&batch.schema()).unwrap();
    writer.push(batch).unwrap();
    let written = writer.finish().unwrap();
    let rows = batch.num_rows() as u64;
    let entry = PartEntry {
        rows,
        chunks: 1,
        clear: Some(written.file),
        encrypted: None,
        delivery: None,
        append: None,
        first_chunk: None,
        dead: None,
        cubes: None,
        runs: None,
        domain: 0,
        generation: 0,
    };
    let schema = batch.schema();
    let columns =
        schema.fields().iter().map(|field| ClearColumn::new(field.name(), field.data_type()).unwrap());
    let manifest = Manifest {
        format: BODY_FORMAT,
        table: "t".to_owned(),
        table_id: TableId::from_bytes([1; 16]),
        encryption: EncryptionId::from_bytes([2; 16]),
        domain: 0,
        earlier: Vec::new(),
        rotating: false,
        version: 1,
        key_id: "0".repeat(32),
        predecessors: Vec::new(),
        rows,
        chunk_rows: CHUNK_ROWS,
        clear_columns: columns.collect(),
        encodings: Vec::new(),
        sealed_columns: 0,
        unsealed: Vec::new(),
        generation: 0,
        generations: Vec::new(),
        parts: vec![entry.clone()],
        devices: DeviceRules::default(),
        chains: Vec::new(),
        keys: Vec::new(),
        zones: None,
        batches: Vec::new(),
        changes: Vec::new(),
        lengths: Lengths::default(),
        sealed_roots: Vec::new(),
        sealed_schema: Vec::new(),
    };
    ClearPart::open(PartSource::from_memory(written.bytes), &manifest, &entry).unwrap()
}

fn term(draw: &mut Draw) -> String {
    let number = (draw.below(30) as i64 - 10).to_string();
    let compared = ["=", "<>", "<", "<=", ">", ">="][draw.below(6)];
    let text = match draw.below(4) {
        0 => format!("'{LONG}1'"),
        1 => "''".to_owned(),
        _ => format!("'w{:03}'", draw.below(30)),
    };
    let column = ["i", "s", "u", "m", "f"][draw.below(5)];
    match draw.below(14) {
        0..=3 => format!("{column} {compared} {number}"),
        4 => format!("{number} {compared} {column}"),
        5 => format!("{column} {compared} {number}.{}", draw.below(100)),
        6 => format!("t {compared} {text}"),
        7 => format!("{column} BETWEEN {number} AND {}", draw.below(20)),
        8 => format!(
            "{column} {}IN ({number}, 3{})",
            ["", "NOT "][draw.below(2)],
            ["", ", NULL"][draw.below(2)]
        ),
        9 => format!("{} IS {}NULL", ["i", "f", "t", "b"][draw.below(4)], ["", "NOT "][draw.below(2)]),
        10 => ["b", "NOT b", "b = true", "b <> true", "b IS TRUE", "t LIKE 'w01%'", "t NOT LIKE 'w0%'"]
            [draw.below(7)]
        .to_owned(),
        11 => {
            let kind = ["BOOLEAN", "SMALLINT", "DOUBLE", "VARCHAR", "DECIMAL(20,0)", "BIGINT"][draw.below(6)];
            let value = match kind {
                "BOOLEAN" => "false".to_owned(),
                "VARCHAR" => text,
                _ => number,
            };
            format!("{}CAST({column} AS {kind}) {compared} {value}", ["", "TRY_"][draw.below(2)])
        }
        12 => format!("-{column} {compared} {number}"),
        _ => format!("day {compared} DATE '1970-01-{:02}'", 1 + draw.below(20)),
    }
}

/// A condition as SQL and as a predicate.
fn condition(draw: &mut Draw, depth: usize) -> (String, Predicate) {
    match draw.below(if depth == 0 { 1 } else { 5 }) {
        0 | 1 => {
            let sql = term(draw);
            (sql.clone(), Predicate::clear(sql))
        }
        kind @ (2 | 3) => {
            let ((left, one), (right, other)) = (condition(draw, depth - 1), condition(draw, depth - 1));
            match kind {
                2 => (format!("({left} AND {right})"), one.and(other)),
                _ => (format!("({left} OR {right})"), one.or(other)),
            }
        }
        _ => {
            let (sql, predicate) = condition(draw, depth - 1);
            (format!("NOT ({sql})"), predicate.negated())
        }
    }
}

/// A predicate compiled over the columns that it uses; `None` if it is not valid.
fn compile(scope: &Scope<'_>, predicate: &Predicate) -> Option<(UsedColumns, Compiled)> {
    let expr = scope.predicate(ExpressionRole::Predicate, predicate).ok()?;
    let columns = UsedColumns::of(scope, [&expr]).unwrap();
    let compiled = columns.compile(scope.state, ExpressionRole::Predicate, &expr).ok()?;
    Some((columns, compiled))
}

/// A predicate is true, false or NULL on a row as the query engine's own reading of the whole text is.
#[test]
fn a_predicate_has_the_value_of_its_text_and_a_part_that_it_excludes_has_no_row_that_matches() {
    let session = Session::new(1 << 20).unwrap();
    let state = session.state();
    let mut draw = Draw::of_environment("HUSH_TEST_SEED");
    let (mut excluded, mut empty, mut compiled, mut compared) = (0, 0, 0, 0);
    let parts: Vec<_> = (0..40)
        .map(|_| {
            let rows = 1 + draw.below(40);
            let batch = batch(&mut draw, rows);
            (PartColumns::from(part(&batch)), batch)
        })
        .collect();
    let schema = DFSchema::try_from(parts[0].1.schema().as_ref().clone()).unwrap();
    let stop = Stop::never();
    let scope = Scope { state, schema: &schema, stop: &stop };
    for _ in 0..600 {
        let (sql, predicate) = condition(&mut draw, 3);
        assert_eq!(predicate.check(), Ok(()), "{sql}, {draw}");
        let Some((columns, condition)) = compile(&scope, &predicate) else { continue };
        let whole = compile(&scope, &Predicate::clear(&*sql));
        compiled += 1;
        let zones = columns.zones(&condition);
        for (part, batch) in &parts {
            let batches = columns.read(Some(part), batch.num_rows() as u64).unwrap();
            let Ok(found) = condition.array(&batches[0]) else { continue };
            // A conversion may fail in one of them alone: members behind the one that decides are not evaluated.
            let (columns, whole) = whole.as_ref().unwrap();
            let batches = columns.read(Some(part), batch.num_rows() as u64).unwrap();
            if let Ok(expected) = whole.array(&batches[0]) {
                assert_eq!(&found, &expected, "{sql}, {draw}");
                compared += usize::from(found.null_count() > 0);
            }
            let matches = condition.condition(&batches[0]).unwrap().count_set_bits();
            empty += usize::from(matches == 0);
            if zones.as_ref().is_some_and(|zones| zones.excludes(part.stored().unwrap())) {
                excluded += 1;
                assert_eq!(matches, 0, "{sql}, {draw}");
            }
        }
    }
    // Without excluded parts, or without NULLs, the test would show nothing.
    assert!(compiled > 150 && excluded * 10 > empty, "{excluded} of {empty} in {compiled} conditions");
    assert!(compared > 1000, "{compared} arrays with NULLs");
}

/// Conditions for which careless use of bounds would lose rows.
#[test]
fn what_bounds_cannot_tell_is_read() {
    let session = Session::new(1 << 20).unwrap();
    let state = session.state();
    let integers = || Arc::new(Int64Array::from(vec![-5, 0, 5])) as ArrayRef;
    let floats = |values: [f64; 3]| Arc::new(Float64Array::from(values.to_vec())) as ArrayRef;
    let texts = |values: [&str; 3]| Arc::new(StringArray::from(values.to_vec())) as ArrayRef;
    let cents = |units: [i128; 3]| {
        let decimals = Decimal128Array::from(units.to_vec()).with_precision_and_scale(12, 2);
        Arc::new(decimals.unwrap()) as ArrayRef
    };
    let long = format!("{LONG}1");
    for (column, sql) in [
        (integers(), "CAST(x AS BOOLEAN) = false"),
        (Arc::new(Int64Array::from(vec![i64::MIN, 1, 2])) as ArrayRef, "-x < 0"),
        (floats([1.0, f64::NAN, 2.0]), "x > 5.0"),
        (floats([-0.0, -0.0, -0.0]), "x = 0.0"),
        (floats([f64::NAN; 3]), "x IS NOT NULL"),
        (texts([&long, &long, &long]), "x > 'a text that is longer'"),
        (texts(["1", "20", "3"]), "CAST(x AS BIGINT) > 10"),
        (cents([1360, 1370, 1390]), "CAST(x AS DECIMAL(20,0)) = 14"),
    ] {
        let batch = RecordBatch::try_from_iter_with_nullable([("x", column, true)]).unwrap();
        let part = part(&batch);
        let schema = DFSchema::try_from(batch.schema().as_ref().clone()).unwrap();
        let stop = Stop::never();
        let scope = Scope { state, schema: &schema, stop: &stop };
        let (columns, condition) = compile(&scope, &Predicate::clear(sql)).unwrap();
        let zones = columns.zones(&condition);
        assert!(!zones.is_some_and(|zones| zones.excludes(&part)), "{sql}");
    }
    let sorted = RecordBatch::try_from_iter_with_nullable([("x", integers(), true)]).unwrap();
    let part = part(&sorted);
    let schema = DFSchema::try_from(sorted.schema().as_ref().clone()).unwrap();
    let stop = Stop::never();
    let scope = Scope { state, schema: &schema, stop: &stop };
    for sql in [
        "x > 5",
        "x = 6 OR x < -5",
        "x IN (7, 9)",
        "x IS NULL",
        "x > 5 AND ABS(x) = 1",
        "x > 5.5",
        "x <> x AND 6 <= x",
        "NOT x <= 5",
        "(x > 5 AND ABS(x) = 1) OR x < -5",
    ] {
        let (columns, condition) = compile(&scope, &Predicate::clear(sql)).unwrap();
        assert!(columns.zones(&condition).is_some_and(|zones| zones.excludes(&part)), "{sql}");
    }
}
