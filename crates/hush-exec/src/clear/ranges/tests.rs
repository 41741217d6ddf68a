// SPDX-License-Identifier: Apache-2.0
//! Random conditions on random rows hold where the query engine has them hold.

use arrow::array::{
    ArrayRef, Date32Array, Decimal128Array, Int32Array, Int64Array, StringArray, TimestampMicrosecondArray,
};
use datafusion::common::DFSchema;
use hush_plan::plan::Predicate;
use hush_testkit::Draw;

use super::*;
use crate::Stop;
use crate::clear::compiled::UsedColumns;
use crate::clear::scalar::Scope;
use crate::clear::session::Session;
use crate::error::ExpressionRole;

/// Rows with NULLs, and with the least and largest numbers of each type.
fn batch(draw: &mut Draw, rows: usize) -> RecordBatch {
    let mut numbers = |least: i128, largest: i128| -> Vec<Option<i128>> {
        let number = |draw: &mut Draw| match draw.below(12) {
            0 => None,
            1 => Some(least),
            2 => Some(largest),
            _ => Some((draw.below(61) as i128 - 30).clamp(least, largest)),
        };
        (0..rows).map(|_| number(draw)).collect()
    };
    let words = |values: Vec<Option<i128>>| values.into_iter().map(|value| value.map(|value| value as i64));
    let halves = |values: Vec<Option<i128>>| values.into_iter().map(|value| value.map(|value| value as i32));
    let (i64s, i32s) = ((i64::MIN.into(), i64::MAX.into()), (i32::MIN.into(), i32::MAX.into()));
    let days = (-700_000, 2_900_000);
    let micros = (-60_000_000_000_000_000, 250_000_000_000_000_000);
    let mut decimal = |precision: u8, scale: i8| -> ArrayRef {
        let largest = 10_i128.pow(precision.into()) - 1;
        let values = Decimal128Array::from(numbers(-largest, largest));
        Arc::new(values.with_precision_and_scale(precision, scale).unwrap())
    };
    let (cents, wide) = (decimal(7, 2), decimal(38, 4));
    let columns: [(&str, ArrayRef); 7] = [
        ("n", Arc::new(Int64Array::from_iter(words(numbers(i64s.0, i64s.1))))),
        ("h", Arc::new(Int32Array::from_iter(halves(numbers(i32s.0, i32s.1))))),
        ("day", Arc::new(Date32Array::from_iter(halves(numbers(days.0, days.1))))),
        ("at", Arc::new(TimestampMicrosecondArray::from_iter(words(numbers(micros.0, micros.1))))),
        ("cents", cents),
        ("wide", wide),
        ("text", Arc::new(StringArray::from_iter((0..rows).map(|row| Some(row.to_string()))))),
    ];
    let with_nulls = columns.into_iter().map(|(name, column)| (name, column, true));
    // A slice, as selections that begin within a word are.
    let batch = RecordBatch::try_from_iter_with_nullable(with_nulls).unwrap();
    let first = draw.below(rows.min(70) + 1);
    batch.slice(first, rows - first)
}

/// A comparison of a column with a constant that is near its values, between them or far beyond them.
fn comparison(draw: &mut Draw) -> String {
    let small = draw.below(61) as i64 - 30;
    let number = match draw.below(7) {
        0 => format!("{small}.{}", draw.below(100)),
        1 => ["9223372036854775807", "-9223372036854775808", "9223372036854775808"][draw.below(3)].to_owned(),
        2 => {
            ["2147483647", "-2147483648", "99999999999999999999999999999999999999"][draw.below(3)].to_owned()
        }
        3 => format!("CAST({small} AS DECIMAL(9,3))"),
        _ => small.to_string(),
    };
    let (column, constant) = match draw.below(6) {
        0 => ("day", format!("DATE '1970-01-{:02}'", 1 + draw.below(28))),
        1 => ("at", format!("TIMESTAMP '1970-01-01T00:00:00.0000{:02}'", draw.below(30))),
        _ => (["n", "h", "cents", "wide"][draw.below(4)], number),
    };
    let op = ["=", "<", "<=", ">", ">="][draw.below(5)];
    match draw.below(3) {
        0 => format!("{constant} {op} {column}"),
        1 => format!("{column} BETWEEN {constant} AND {constant}"),
        _ => format!("{column} {op} {constant}"),
    }
}

fn condition(draw: &mut Draw, depth: usize) -> String {
    if depth == 0 || draw.below(3) == 0 {
        return comparison(draw);
    }
    let op = ["AND", "OR"][draw.below(2)];
    format!("({} {op} {})", condition(draw, depth - 1), condition(draw, depth - 1))
}

/// The condition's ranges, if it has any, beside what the query engine evaluates.
fn read(batch: &RecordBatch, sql: &str) -> Option<(Option<Ranges>, Arc<dyn PhysicalExpr>)> {
    let session = Session::new(1 << 20).unwrap();
    let schema = DFSchema::try_from(batch.schema().as_ref().clone()).unwrap();
    let stop = Stop::never();
    let scope = Scope { state: session.state(), schema: &schema, stop: &stop };
    let expr = scope.predicate(ExpressionRole::Predicate, &Predicate::clear(sql)).ok()?;
    let columns = UsedColumns::of(&scope, [&expr]).unwrap();
    assert!(columns.compile(scope.state, ExpressionRole::Predicate, &expr).is_ok());
    let physical = scope.state.create_physical_expr(expr, &schema).unwrap();
    let ranges = Ranges::of(&physical, schema.as_arrow());
    Some((ranges, physical))
}

#[test]
fn ranges_hold_where_the_query_engine_has_them_hold() {
    let mut draw = Draw::new();
    let (mut compared, mut held) = (0, 0);
    for _ in 0..1500 {
        let rows = [1, 63, 64, 65, 300][draw.below(5)];
        let (batch, sql) = (batch(&mut draw, rows), condition(&mut draw, 2));
        let Some((Some(ranges), engine)) = read(&batch, &sql) else { continue };
        let expected = engine.evaluate(&batch).unwrap().into_array(batch.num_rows()).unwrap();
        let expected: Vec<bool> = expected.as_boolean().iter().map(|holds| holds == Some(true)).collect();
        for cpu in Cpu::available() {
            let found: Vec<bool> = ranges.rows(cpu, &batch).unwrap().iter().collect();
            assert_eq!(found, expected, "{cpu}, {sql}");
        }
        compared += 1;
        held += usize::from(expected.contains(&true));
    }
    assert!(compared > 600 && held > 300, "{compared} of 1500 are ranges, and {held} hold somewhere");
}

#[test]
fn forms_that_are_ranges_and_forms_that_are_not() {
    let batch = batch(&mut Draw::new(), 70);
    for sql in [
        "n > 5",
        "5 >= n AND h = 3",
        "n BETWEEN 1 AND 9 OR cents < 2.5",
        "cents <= 7",
        "h < 3000000000",
        "day >= DATE '1970-01-05'",
        "at < TIMESTAMP '1970-01-01T00:00:00'",
    ] {
        let (ranges, engine) = read(&batch, sql).unwrap();
        assert!(ranges.is_some(), "{sql}, which is {engine}");
    }
    for sql in [
        "n <> 5",
        "n > h",
        "text > 'a'",
        "n + 1 > 5",
        "n > 5 AND text = '1'",
        "NOT n > 5",
        "n > NULL",
        "n IN (1, 2)",
        "CAST(n AS DOUBLE) > 5.0",
        // The conversion fails for some values.
        "CAST(cents AS DECIMAL(3,2)) > 5",
        "CAST(text AS BIGINT) > 5",
    ] {
        assert!(read(&batch, sql).unwrap().0.is_none(), "{sql}");
    }
}
