// SPDX-License-Identifier: Apache-2.0
//! Every type of Arrow as a column: read as one that tables hold, or named as one that they do not; never a panic, never a
//! value in an error.

use std::sync::Arc;

use ::arrow::array::{
    Array, DictionaryArray, Int8Array, Int16Array, Int32Array, RecordBatch, RunArray, StringArray,
    StringViewArray, new_null_array,
};
use ::arrow::compute::cast;
use ::arrow::datatypes::{
    DataType, Field, Fields, Int16Type, IntervalUnit, TimeUnit, UInt8Type, UInt32Type, UnionFields, UnionMode,
};

use super::*;

fn one(array: ArrayRef) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable([("x", array, true)]).unwrap()
}

/// The column's cells as text.
#[track_caller]
fn texts(array: ArrayRef) -> Vec<Option<String>> {
    let batch = one(array);
    let source = Source::from_batches("t", batch.schema(), &[batch.clone(), batch]).unwrap();
    assert_eq!(source.columns()[0].unsupported, None);
    let mut cells = source.text_of(&[0]).unwrap().remove(0);
    let second = cells.split_off(cells.len() / 2);
    assert_eq!(cells, second);
    cells
}

fn units() -> [TimeUnit; 4] {
    [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond]
}

/// Types that hold the numbers 7 and 9.
fn numbers() -> Vec<DataType> {
    use DataType as T;
    vec![
        T::Int8,
        T::Int16,
        T::Int32,
        T::Int64,
        T::UInt8,
        T::UInt16,
        T::UInt32,
        T::UInt64,
        T::Float16,
        T::Float32,
        T::Float64,
        T::Decimal32(5, 0),
        T::Decimal64(9, 0),
        T::Decimal128(20, 0),
        T::Decimal256(38, 0),
        T::Utf8,
        T::LargeUtf8,
        T::Utf8View,
    ]
}

#[test]
fn numbers_and_texts_of_every_width_packed_in_every_way() {
    let expected = [Some("7".to_owned()), None, Some("9".to_owned()), Some("7".to_owned())];
    let plain: ArrayRef = Arc::new(Int8Array::from(vec![Some(7), None, Some(9), Some(7)]));
    for kind in numbers() {
        let array = cast(&plain, &kind).unwrap();
        assert_eq!(texts(array.clone()), expected, "{kind}");
        // As the values of a dictionary, by hand: Arrow casts to few dictionaries.
        let values = cast(&Int8Array::from(vec![9, 7]), &kind).unwrap();
        let keys = Int16Array::from(vec![Some(1), None, Some(0), Some(1)]);
        let packed: ArrayRef = Arc::new(DictionaryArray::<Int16Type>::new(keys, values));
        assert_eq!(texts(packed.clone()), expected, "dictionary of {kind}");
        let ends = Int32Array::from(vec![1, 2, 3, 4]);
        let runs: ArrayRef = Arc::new(RunArray::try_new(&ends, &array).unwrap());
        assert_eq!(texts(runs), expected, "runs of {kind}");
        let runs: ArrayRef = Arc::new(RunArray::try_new(&ends, &packed).unwrap());
        assert_eq!(texts(runs), expected, "runs of a dictionary of {kind}");
    }
    let negative = DataType::Decimal128(3, -2);
    assert_eq!(texts(cast(&Int32Array::from(vec![700]), &negative).unwrap()), [Some("700".to_owned())]);
}

/// Categories as polars gives them: dictionaries of views with keys without a sign.
#[test]
fn categories_of_other_libraries() {
    let values: ArrayRef =
        Arc::new(StringViewArray::from(vec!["cardiology, and much more than twelve bytes", "er"]));
    let keys = vec![Some(1), Some(0), None, Some(1)];
    let wide: ArrayRef = Arc::new(DictionaryArray::<UInt32Type>::new(keys.clone().into(), values.clone()));
    let small = keys.iter().map(|key| key.map(|key| key as u8)).collect::<Vec<_>>();
    let narrow: ArrayRef = Arc::new(DictionaryArray::<UInt8Type>::new(small.into(), values));
    let expected = [Some("er"), Some("cardiology, and much more than twelve bytes"), None, Some("er")];
    for array in [wide, narrow] {
        assert_eq!(texts(array), expected.map(|text| text.map(str::to_owned)));
    }
}

#[test]
fn times_in_every_unit() {
    let day: ArrayRef = Arc::new(StringArray::from(vec!["9999-12-31"]));
    for kind in [DataType::Date32, DataType::Date64] {
        assert_eq!(texts(cast(&day, &kind).unwrap()), [Some("9999-12-31".to_owned())], "{kind}");
    }
    let instant: ArrayRef = Arc::new(StringArray::from(vec!["2024-02-29T12:00:01"]));
    for unit in units() {
        for zone in [None, Some("+00:00".into())] {
            let kind = DataType::Timestamp(unit, zone);
            assert_eq!(
                texts(cast(&instant, &kind).unwrap()),
                [Some("2024-02-29T12:00:01".to_owned())],
                "{kind}"
            );
        }
    }
    let clock: ArrayRef = Arc::new(StringArray::from(vec!["12:00:01"]));
    for kind in [
        DataType::Time32(TimeUnit::Second),
        DataType::Time32(TimeUnit::Millisecond),
        DataType::Time64(TimeUnit::Microsecond),
        DataType::Time64(TimeUnit::Nanosecond),
    ] {
        assert_eq!(texts(cast(&clock, &kind).unwrap()), [Some("12:00:01".to_owned())], "{kind}");
    }
}

/// What no table holds, with the name that a person reads.
fn foreign() -> Vec<(DataType, &'static str)> {
    use DataType as T;
    let item = || Arc::new(Field::new("item", T::Int32, true));
    let fields = Fields::from(vec![Field::new("a", T::Int32, true)]);
    let entries = Field::new(
        "entries",
        T::Struct(vec![Field::new("k", T::Utf8, false), Field::new("v", T::Int32, true)].into()),
        false,
    );
    let union = UnionFields::try_new([0], [Field::new("a", T::Int32, true)]).unwrap();
    let mut found = vec![
        (T::Binary, "binary"),
        (T::LargeBinary, "binary"),
        (T::BinaryView, "binary"),
        (T::FixedSizeBinary(3), "binary"),
        (T::List(item()), "list"),
        (T::LargeList(item()), "list"),
        (T::FixedSizeList(item(), 2), "list"),
        (T::ListView(item()), "list"),
        (T::LargeListView(item()), "list"),
        (T::Struct(fields), "struct"),
        (T::Map(Arc::new(entries), false), "map"),
        (T::Union(union.clone(), UnionMode::Sparse), "union"),
        (T::Union(union, UnionMode::Dense), "union"),
        (T::Decimal256(50, 2), "Decimal256(50, 2)"),
        (T::Dictionary(Box::new(T::Int8), Box::new(T::Binary)), "binary"),
    ];
    found.extend(units().map(|unit| (T::Duration(unit), "duration")));
    let intervals = [IntervalUnit::YearMonth, IntervalUnit::DayTime, IntervalUnit::MonthDayNano];
    found.extend(intervals.map(|unit| (T::Interval(unit), "interval")));
    found
}

#[test]
fn types_that_no_table_holds_are_named_and_refused_where_they_are_wanted() {
    for (kind, name) in foreign() {
        let array = new_null_array(&kind, 3);
        let batch =
            RecordBatch::try_from_iter([("x", array), ("y", Arc::new(Int8Array::from(vec![1, 2, 3])) as _)]);
        let batch = batch.unwrap_or_else(|_| panic!("{kind}"));
        let source = Source::from_batches("t", batch.schema(), &[batch]).unwrap();
        assert_eq!(source.columns()[0].unsupported.as_deref(), Some(name), "{kind}");
        let wanted = |protect| {
            schema(vec![column("x", ColumnType::Text, protect), column("y", INT, Protection::Encrypt)])
        };
        let refused = batches(&source, &wanted(Protection::Seal)).unwrap_err();
        assert_eq!(refused.code(), "HUSH-D005", "{kind}");
        assert_eq!(super::units(&batches(&source, &wanted(Protection::Drop)).unwrap(), 1).len(), 3, "{kind}");
    }
}

#[test]
fn a_number_too_wide_for_its_type_is_an_error_that_hides_it() {
    let digits = "1234567890".repeat(5);
    let wide = cast(&StringArray::from(vec![digits.as_str()]), &DataType::Decimal256(76, 0)).unwrap();
    // A type that promises 38 digits, and a value that has 50.
    let lying = wide.to_data().into_builder().data_type(DataType::Decimal256(38, 0)).build().unwrap();
    let batch = one(::arrow::array::make_array(lying));
    let source = Source::from_batches("t", batch.schema(), &[batch]).unwrap();
    let error = source.text_of(&[0]).unwrap_err();
    assert_eq!(error.code(), "HUSH-D027");
    assert!(!format!("{error}{error:?}").contains("12345"), "{error:?}");
}

/// A chunk may begin in the middle of a batch.
#[test]
fn packed_columns_are_read_from_any_row_on() {
    let values: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", "c"]));
    let ends = Int32Array::from(vec![2, 5, 6]);
    let runs: ArrayRef = Arc::new(RunArray::try_new(&ends, &values).unwrap());
    let keys = Int16Array::from(vec![Some(0), Some(0), Some(1), None, Some(1), Some(2)]);
    let packed: ArrayRef = Arc::new(DictionaryArray::<Int16Type>::new(keys, values));
    for (array, expected) in [(runs, "aabbbc"), (packed, "aab.bc")] {
        for from in 0..6 {
            let mut found = String::new();
            let is_read = cells::visit(&array, from, 6, &mut |cell| match cell {
                Some(cells::Cell::Text(text)) => found.push_str(text),
                _ => found.push('.'),
            });
            assert!(is_read && found == expected[from..], "{} from {from}: {found}", array.data_type());
        }
    }
}
