// SPDX-License-Identifier: Apache-2.0
//! Arrow batches that somebody holds: every type, passes, and holders that do not keep their word.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, AsArray, BinaryArray, Decimal256Array, DictionaryArray, Float16Array, Int32Array, Int64Array,
    ListArray, RecordBatch, StringArray, StringViewArray,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Int32Type, Int64Type, Schema as ArrowSchema, UInt32Type, i256};
use arrow::error::ArrowError;

use super::*;

fn source(columns: Vec<(&str, ArrayRef)>) -> Source {
    let columns = columns.into_iter().map(|(name, array)| (name, array, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    Source::from_batches("t.x", batch.schema(), &[batch]).unwrap()
}

fn read(array: ArrayRef, kind: ColumnType) -> Vec<Option<i128>> {
    let all = batches(&source(vec![("x", array)]), &schema(vec![column("x", kind, Protection::Encrypt)]));
    units(&all.unwrap(), 0)
}

#[test]
fn types_that_files_have_not_read_as_units() {
    let texts = [Some("3"), None, Some("-70")];
    let wanted = [Some(3), None, Some(-70)];
    assert_eq!(read(Arc::new(StringViewArray::from_iter(texts)), INT), wanted);
    // What polars calls a category: texts by number, and texts as views.
    let dictionary: DictionaryArray<UInt32Type> = texts.into_iter().collect();
    let views = DataType::Dictionary(Box::new(DataType::UInt32), Box::new(DataType::Utf8View));
    assert_eq!(read(cast(&dictionary, &views).unwrap(), INT), wanted);
    let numbers = DictionaryArray::<Int32Type>::new(
        Int32Array::from(vec![Some(1), None, Some(0)]),
        Arc::new(Int64Array::from(vec![-70, 3])),
    );
    assert_eq!(read(Arc::new(numbers), INT), wanted);
    let halves = Float16Array::from_iter(
        [3.0_f32, -70.0]
            .map(|value| {
                cast(&arrow::array::Float32Array::from(vec![value]), &DataType::Float16)
                    .unwrap()
                    .as_primitive::<arrow::datatypes::Float16Type>()
                    .value(0)
            })
            .map(Some),
    );
    assert_eq!(read(Arc::new(halves), INT), [Some(3), Some(-70)]);
    let wide = Decimal256Array::from(vec![Some(i256::from(-12_345)), None]).with_precision_and_scale(38, 3);
    let money = ColumnType::Decimal { precision: 12, scale: 3 };
    assert_eq!(read(Arc::new(wide.unwrap()), money), [Some(-12_345), None]);
}

/// A value that does not fit the type that it is unpacked to is an error, and never a missing value.
#[test]
fn a_value_that_cannot_be_unpacked_is_no_missing_value() {
    let beyond = i256::from(i128::MAX).checked_mul(i256::from(1000)).unwrap();
    let array = Decimal256Array::from(vec![i256::from(1), beyond]).with_precision_and_scale(38, 0).unwrap();
    let all = schema(vec![column("x", ColumnType::Decimal { precision: 38, scale: 0 }, Protection::Encrypt)]);
    assert_eq!(batches(&source(vec![("x", Arc::new(array))]), &all).unwrap_err().code(), "HUSH-D027");
}

#[test]
fn unsuitable_types_are_named_and_may_be_dropped() {
    let list = ListArray::from_iter_primitive::<Int64Type, _, _>([Some(vec![Some(1)]), None]);
    let bytes = BinaryArray::from_iter_values([b"a", b"b"]);
    let columns: Vec<(&str, ArrayRef)> =
        vec![("l", Arc::new(list)), ("b", Arc::new(bytes)), ("x", Arc::new(Int64Array::from(vec![1, 2])))];
    let source = source(columns);
    let named: Vec<_> = source.columns().iter().map(|column| column.unsupported.as_deref()).collect();
    assert_eq!(named, [Some("list"), Some("binary"), None]);
    let of = |protect| {
        let columns =
            vec![column("l", ColumnType::Text, protect), column("b", ColumnType::Text, Protection::Drop)];
        schema(columns.into_iter().chain([column("x", INT, Protection::Encrypt)]).collect())
    };
    assert_eq!(units(&batches(&source, &of(Protection::Drop)).unwrap(), 2), [Some(1), Some(2)]);
    let error = batches(&source, &of(Protection::Seal)).unwrap_err().to_string();
    assert_eq!(error, "column l: tables cannot hold the type list");
}

/// Batches of many sizes, some of them empty, are cut into chunks; every pass begins anew.
#[test]
fn chunks_span_batches() {
    let rows = 2 * CHUNK_ROWS + 77;
    let numbers = Int64Array::from_iter_values(0..rows as i64);
    let texts = StringArray::from_iter_values((0..rows).map(|row| row.to_string()));
    let whole = RecordBatch::try_from_iter([
        ("n", Arc::new(numbers) as ArrayRef),
        ("t", Arc::new(texts) as ArrayRef),
    ])
    .unwrap();
    let cuts = [0, 1, 1, 5000, CHUNK_ROWS, CHUNK_ROWS + 1, rows];
    let pieces: Vec<_> = cuts.windows(2).map(|cut| whole.slice(cut[0], cut[1] - cut[0])).collect();
    let source = Source::from_batches("my data.csv", whole.schema(), &pieces).unwrap();
    assert_eq!((source.table_name().as_str(), source.rows()), ("my_data", Some(rows as u64)));
    assert_eq!(source.format(), Format::Arrow);
    let schema =
        schema(vec![column("t", ColumnType::Text, Protection::Clear), column("n", INT, Protection::Encrypt)]);
    for _ in 0..2 {
        let all = batches(&source, &schema).unwrap();
        assert_eq!(units(&all, 1), (0..rows as i128).map(Some).collect::<Vec<_>>());
    }
    let none = source.typed_with(&schema, |_| ReadAs::Skip).unwrap();
    assert_eq!(none.map(|batch| batch.unwrap().rows).sum::<usize>(), rows);
    assert_eq!(source.text_of(&[1]).unwrap()[0][rows - 1].as_deref(), Some((rows - 1).to_string().as_str()));
}

#[test]
fn what_is_no_table_is_refused() {
    let empty = ArrowSchema::empty();
    assert_eq!(Source::from_batches("t", empty.into(), &[]).unwrap_err().code(), "HUSH-D010");
    let twice = ArrowSchema::new(vec![Field::new("a", DataType::Int64, true); 2]);
    assert_eq!(Source::from_batches("t", twice.into(), &[]).unwrap_err().code(), "HUSH-D012");
    let one = ArrowSchema::new(vec![Field::new("a", DataType::Int64, true)]);
    assert_eq!(Source::from_batches("t", one.into(), &[]).unwrap_err().code(), "HUSH-D011");
}

/// A holder that announces one thing and gives another.
struct Liar {
    gives: fn() -> Result<RecordBatch, ArrowError>,
    rows: Option<u64>,
}

impl BatchSource for Liar {
    fn columns(&self) -> Vec<BatchColumn> {
        let unknown = BatchColumn { name: "u".to_owned(), kind: Err("riddle".to_owned()) };
        vec![BatchColumn { name: "x".to_owned(), kind: Ok(DataType::Int64) }, unknown]
    }

    fn rows(&self) -> Option<u64> {
        self.rows
    }

    fn batch_bytes(&self) -> u64 {
        0
    }

    fn read(&self, _: &[usize]) -> Result<BatchReader, SourceError> {
        Ok(Box::new(std::iter::once_with(self.gives)))
    }
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> Result<RecordBatch, ArrowError> {
    RecordBatch::try_from_iter(columns)
}

#[test]
fn holders_are_not_believed() {
    let liars: [fn() -> Result<RecordBatch, ArrowError>; 5] = [
        || batch(vec![("x", Arc::new(Int32Array::from(vec![1])))]),
        || {
            batch(vec![
                ("y", Arc::new(Int64Array::from(vec![1]))),
                ("x", Arc::new(Int64Array::from(vec![2]))),
            ])
        },
        || Ok(RecordBatch::new_empty(ArrowSchema::empty().into())),
        || Err(ArrowError::CastError("71 is SECRET".to_owned())),
        || panic!("71 is SECRET"),
    ];
    let of =
        |protect| schema(vec![column("x", INT, Protection::Encrypt), column("u", ColumnType::Text, protect)]);
    for gives in liars {
        let source = Source::from_batch_source("t", Arc::new(Liar { gives, rows: None })).unwrap();
        let error = batches(&source, &of(Protection::Drop)).unwrap_err();
        assert_eq!(error.code(), "HUSH-D027");
        assert!(!error.to_string().contains("SECRET"), "{error}");
    }
    let source = Source::from_batch_source("t", Arc::new(Liar { gives: liars[0], rows: None })).unwrap();
    let error = batches(&source, &of(Protection::Seal)).unwrap_err();
    assert_eq!((error.code(), error.to_string().contains("type riddle")), ("HUSH-D005", true), "{error}");
    // Rows that nobody knows beforehand are counted; none at all is no table.
    let source = Source::from_batch_source(
        "t",
        Arc::new(Liar { gives: || batch(vec![("x", Arc::new(Int64Array::from(vec![4, 5])))]), rows: None }),
    );
    assert_eq!(units(&batches(&source.unwrap(), &of(Protection::Drop)).unwrap(), 0), [Some(4), Some(5)]);
    let empty =
        Liar { gives: || batch(vec![("x", Arc::new(Int64Array::from(Vec::<i64>::new())))]), rows: None };
    let source = Source::from_batch_source("t", Arc::new(empty)).unwrap();
    assert_eq!(batches(&source, &of(Protection::Drop)).unwrap_err().code(), "HUSH-D011");
}
