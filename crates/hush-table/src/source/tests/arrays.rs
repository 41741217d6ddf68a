// SPDX-License-Identifier: Apache-2.0
//! Whole arrays into columns: the values of every type that is taken so, from any row on; faults where they stand.

use arrow::array::{Array, BooleanArray, Int64Array, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, TimeUnit};

use super::super::column::{ColumnBuilder, NullTokens};
use super::ahead::{ahead, assert_same, in_turn};
use super::*;

const DAY_MILLIS: i64 = 86_400_000;

/// A type of arrays, the type of column that takes them whole, and what an array of a number holds in units.
type Kind = (DataType, ColumnType, fn(i64) -> i128);

fn kinds() -> Vec<Kind> {
    use DataType as T;
    let plain: fn(i64) -> i128 = i128::from;
    let mut kinds: Vec<Kind> =
        [T::Int8, T::Int16, T::Int32, T::Int64, T::UInt8, T::UInt16, T::UInt32, T::UInt64]
            .map(|kind| (kind, INT, plain))
            .to_vec();
    kinds.push((T::Date32, ColumnType::Date, plain));
    kinds.push((T::Date64, ColumnType::Date, |v| i128::from(v.div_euclid(DAY_MILLIS))));
    for (unit, units) in [
        (TimeUnit::Second, (|v| i128::from(v) * 1_000_000) as fn(i64) -> i128),
        (TimeUnit::Millisecond, |v| i128::from(v) * 1000),
        (TimeUnit::Microsecond, plain),
        (TimeUnit::Nanosecond, |v| i128::from(v.div_euclid(1000))),
    ] {
        kinds.push((T::Timestamp(unit, None), ColumnType::Timestamp, units));
        kinds.push((T::Timestamp(unit, Some("UTC".into())), ColumnType::Timestamp, units));
    }
    kinds.push((T::Decimal128(12, 2), MONEY, |v| i128::from(v) * 100));
    kinds.push((T::Decimal128(30, 2), ColumnType::Decimal { precision: 30, scale: 2 }, |v| {
        i128::from(v) * 100
    }));
    kinds.push((T::Boolean, ColumnType::Bool, |v| i128::from(v & 1)));
    kinds
}

fn array_of(kind: &DataType, values: &[Option<i64>]) -> ArrayRef {
    let plain = Int64Array::from(values.to_vec());
    match kind {
        DataType::Boolean => {
            Arc::new(values.iter().map(|value| value.map(|v| v & 1 == 1)).collect::<BooleanArray>())
        }
        DataType::Date32 => cast(&cast(&plain, &DataType::Int32).unwrap(), kind).unwrap(),
        _ => cast(&plain, kind).unwrap(),
    }
}

/// Rows in batches of random lengths, some of them without a row.
fn batches_of(x: &ArrayRef, random: &mut Random) -> Source {
    let rows: ArrayRef = Arc::new((0..x.len() as i64).collect::<Int64Array>());
    let batch =
        RecordBatch::try_from_iter_with_nullable([("x", x.clone(), true), ("row", rows, true)]).unwrap();
    let (mut batches, mut from) = (Vec::new(), 0);
    while from < x.len() {
        let length = (random.below(6000) as usize).min(x.len() - from);
        batches.push(batch.slice(from, length));
        from += length;
    }
    Source::from_batches("t", batch.schema(), &batches).unwrap()
}

fn values_of(random: &mut Random, has_nulls: bool, low: i64) -> Vec<Option<i64>> {
    let count = 1 + random.below(20_000);
    let value = |random: &mut Random| low + random.below((100 - low) as u64 + 1) as i64;
    (0..count).map(|_| (!has_nulls || random.below(9) != 0).then(|| value(random))).collect()
}

#[test]
fn arrays_of_every_type_are_taken_whole_and_right() {
    for (number, (kind, read_as, in_units)) in kinds().into_iter().enumerate() {
        let low = if kind.is_unsigned_integer() || kind == DataType::Boolean { 0 } else { -100 };
        for seed in 1..=6 {
            let mut random = Random(seed * 1000 + number as u64);
            let values = values_of(&mut random, seed % 3 != 0, low);
            let array = array_of(&kind, &values);
            let x = column("x", read_as, Protection::Encrypt);
            let mut builder =
                ColumnBuilder::new(&x, ReadAs::Units, DecimalPoint::Dot, NullTokens::new(&[])).unwrap();
            let from = random.below(values.len() as u64) as usize;
            assert!(builder.push_array(&array.slice(from, values.len() - from)), "{kind}, seed {seed}");
            assert_eq!(builder.rows(), values.len() - from);

            let source = batches_of(&array, &mut random);
            let schema = schema(vec![x, column("row", INT, Protection::Encrypt)]);
            let read = batches(&source, &schema).unwrap();
            let expected: Vec<_> = values.iter().map(|value| value.map(in_units)).collect();
            assert_eq!(units(&read, 0), expected, "{kind}, seed {seed}");
            let rows: Vec<_> = (0..values.len()).map(|row| Some(row as i128)).collect();
            assert_eq!(units(&read, 1), rows, "{kind}, seed {seed}");
        }
    }
}

/// A value outside its range, or missing where it must not be, is found at its row, in turn and ahead.
#[test]
fn faults_of_arrays_are_told_with_their_rows() {
    for (number, (kind, read_as, in_units)) in kinds().into_iter().enumerate() {
        if read_as == ColumnType::Bool {
            continue;
        }
        for seed in 1..=6 {
            let mut random = Random(seed * 1000 + 17 * number as u64);
            let is_missing = seed % 2 == 0;
            let mut values = values_of(&mut random, !is_missing, 1);
            let bad = random.below(values.len() as u64) as usize;
            values[bad] = if is_missing { None } else { Some(101) };
            let mut x = column("x", read_as, Protection::Encrypt);
            // Zero, which stands for what is missing, is outside too.
            x.range = Some(UnitRange { low: in_units(1), high: in_units(100) });
            x.nullable = !is_missing;
            // Days and microseconds, of which these values are less than one.
            if in_units(1) == in_units(101) {
                continue;
            }
            let source = batches_of(&array_of(&kind, &values), &mut random);
            let schema = schema(vec![x, column("row", INT, Protection::Encrypt)]);
            let expected = in_turn(source.typed(&schema).unwrap());
            let code = if is_missing { "HUSH-D020" } else { "HUSH-D022" };
            let refused = expected.1.clone().unwrap_or_default();
            assert_eq!(refused.0, code, "{kind}, seed {seed}");
            assert!(
                refused.1.starts_with(&format!("row {},", bad + 1)),
                "{kind}, seed {seed}: {}",
                refused.1
            );
            let chunk_bytes = [0, 1, 40_000, 1 << 26][random.below(4) as usize];
            let found = ahead(source.typed(&schema).unwrap(), chunk_bytes, &mut random);
            assert_same(&found, &expected, &format!("{kind}, seed {seed}, {chunk_bytes} bytes a chunk"));
        }
    }
}

#[test]
fn floats_are_taken_whole_unless_one_is_none() {
    let numbers: Vec<Option<f64>> = (0..9000).map(|i| (i % 7 != 0).then_some(f64::from(i) / 8.0)).collect();
    let mut with_nan = numbers.clone();
    with_nan[8000] = Some(f64::NAN);
    let schema = schema(vec![column("x", ColumnType::Float { digits: 3 }, Protection::Encrypt)]);
    for (numbers, is_whole) in [(numbers, true), (with_nan, false)] {
        for kind in [DataType::Float32, DataType::Float64] {
            let array = cast(&arrow::array::Float64Array::from(numbers.clone()), &kind).unwrap();
            let point = DecimalPoint::Dot;
            let mut builder =
                ColumnBuilder::new(&schema.columns[0], ReadAs::Units, point, NullTokens::new(&[])).unwrap();
            assert_eq!(builder.push_array(&array), is_whole);
            assert_eq!(builder.rows(), if is_whole { 9000 } else { 0 });
            let source = batches_of(&array, &mut Random(5));
            let mut all = schema.clone();
            all.columns.push(column("row", INT, Protection::Drop));
            let read = batches(&source, &all).unwrap();
            let mut found = Vec::new();
            for batch in &read {
                let Some(ColumnData::Units(column)) = &batch.columns[0] else { panic!("not units") };
                let Values::F64(values) = &column.values else { panic!("not floats") };
                let is_there = |row: usize| column.valid.as_ref().is_none_or(|valid| valid[row]);
                found.extend(values.iter().enumerate().map(|(row, value)| is_there(row).then_some(*value)));
            }
            let expected: Vec<_> = numbers.iter().map(|n| n.filter(|n| !n.is_nan())).collect();
            assert_eq!(found, expected, "{kind}");
        }
    }
}

/// Texts packed in any way; with a text that means a missing value they go one by one.
#[test]
fn texts_are_taken_whole_unless_one_may_mean_a_missing_value() {
    let words = ["", "a", "NA", "\u{e9}t\u{e9}", "long enough not to be inlined by anybody"];
    let mut random = Random(9);
    let texts: Vec<Option<&str>> =
        (0..20_000).map(|_| words.get(random.below(6) as usize).copied()).collect();
    let plain = StringArray::from(texts.clone());
    for tokens in [vec![], vec!["NA".to_owned()]] {
        let mut x = column("x", ColumnType::Text, Protection::Seal);
        x.written.null_tokens = Some(tokens.clone());
        let nulls = NullTokens::new(&tokens);
        let mut builder = ColumnBuilder::new(&x, ReadAs::Array, DecimalPoint::Dot, nulls).unwrap();
        let whole: ArrayRef = Arc::new(plain.clone());
        assert_eq!(builder.push_array(&whole), tokens.is_empty());
        let schema = schema(vec![x, column("row", INT, Protection::Encrypt)]);
        let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        for kind in [DataType::Utf8, DataType::LargeUtf8, DataType::Utf8View, dictionary] {
            let source = batches_of(&cast(&plain, &kind).unwrap(), &mut random);
            let expected = in_turn(source.typed(&schema).unwrap());
            let mut row = 0;
            for batch in &expected.0 {
                let Some(ColumnData::Array(array)) = &batch.columns[0] else { panic!("not an array") };
                let array: &StringArray = array.as_any().downcast_ref().unwrap();
                for found in array.iter() {
                    let is_missing = texts[row].is_some_and(|text| tokens.iter().any(|token| token == text));
                    assert_eq!(found, texts[row].filter(|_| !is_missing), "{kind}, row {row}");
                    row += 1;
                }
            }
            assert_eq!((row, &expected.1), (texts.len(), &None), "{kind}");
            let found = ahead(source.typed(&schema).unwrap(), 1 << 20, &mut random);
            assert_same(&found, &expected, &kind.to_string());
        }
    }
}

/// Parquet of many row groups whose ends are no ends of chunks.
#[test]
fn random_parquet_is_the_same_ahead() {
    for seed in 1..=12 {
        let mut random = Random(seed);
        let values = values_of(&mut random, seed % 2 == 0, -100);
        let texts: StringArray =
            values.iter().map(|value| value.map(|v| "x".repeat(v.unsigned_abs() as usize))).collect();
        let floats = cast(&Int64Array::from(values.clone()), &DataType::Float64).unwrap();
        let money = array_of(&DataType::Decimal128(12, 2), &values);
        let group_rows = 1 + random.below(9000) as usize;
        let columns = vec![("x", array_of(&DataType::Int64, &values)), ("t", Arc::new(texts) as ArrayRef)];
        let columns = [columns, vec![("f", floats), ("m", money)]].concat();
        let source = open(parquet::write(columns, group_rows)).unwrap();
        let mut x = column("x", INT, Protection::Encrypt);
        if random.below(3) == 0 {
            x.range = Some(UnitRange { low: -99, high: 99 });
        }
        let schema = schema(vec![
            x,
            column("t", ColumnType::Text, Protection::Seal),
            column("f", ColumnType::Float { digits: 2 }, Protection::Encrypt),
            column("m", MONEY, Protection::Clear),
        ]);
        let limit = [usize::MAX, 100_000][random.below(2) as usize];
        let reader = || source.typed(&schema).unwrap().with_text_limit(limit);
        let expected = in_turn(reader());
        if expected.1.is_none() {
            let values: Vec<_> = values.iter().map(|value| value.map(i128::from)).collect();
            assert_eq!(units(&expected.0, 0), values, "seed {seed}");
        }
        for chunk_bytes in [0, 1 + random.below(200_000) as usize, 1 << 26] {
            let found = ahead(reader(), chunk_bytes, &mut random);
            assert_same(&found, &expected, &format!("seed {seed}, {chunk_bytes} bytes a chunk"));
        }
    }
}
