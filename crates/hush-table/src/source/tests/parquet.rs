// SPDX-License-Identifier: Apache-2.0
//! Parquet: every physical type to units, slices across row groups, damage.

use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use ::parquet::file::properties::WriterProperties;
use arrow::array::{
    AsArray, BinaryArray, BooleanArray, Date32Array, Date64Array, Decimal128Array, DictionaryArray,
    Float32Array, Float64Array, Int8Array, Int32Array, Int64Array, LargeStringArray, RecordBatch,
    StringArray, TimestampMillisecondArray, TimestampNanosecondArray, UInt64Array,
};
use arrow::datatypes::Int32Type;

use super::*;

pub(super) fn write(columns: Vec<(&str, ArrayRef)>, group_rows: usize) -> Vec<u8> {
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, a)| (n, a, true))).unwrap();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(group_rows)).build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

/// One column of a file as units.
#[track_caller]
fn read(array: ArrayRef, kind: ColumnType) -> Vec<Option<i128>> {
    let source = open(write(vec![("x", array)], 1000)).unwrap();
    assert_eq!(source.format(), Format::Parquet);
    units(&batches(&source, &schema(vec![column("x", kind, Protection::Encrypt)])).unwrap(), 0)
}

#[test]
fn every_type_reads_as_units() {
    let int16 = ColumnType::Int { bits: 16 };
    let money = |precision, scale| ColumnType::Decimal { precision, scale };
    assert_eq!(read(Arc::new(Int8Array::from(vec![Some(-3), None])), int16), [Some(-3), None]);
    assert_eq!(read(Arc::new(UInt64Array::from(vec![7])), MONEY), [Some(700)]);
    assert_eq!(read(Arc::new(BooleanArray::from(vec![Some(true), None])), ColumnType::Bool), [Some(1), None]);
    assert_eq!(read(Arc::new(Date32Array::from(vec![-1])), ColumnType::Date), [Some(-1)]);
    assert_eq!(read(Arc::new(Date64Array::from(vec![86_400_000])), ColumnType::Date), [Some(1)]);
    let decimals = Decimal128Array::from(vec![Some(12_345), None]).with_precision_and_scale(10, 3).unwrap();
    assert_eq!(read(Arc::new(decimals), money(12, 5)), [Some(1_234_500), None]);
    // Doubles mean the shortest digits that give them back: 0.1 is a tenth, 19.99 is 1999 cents.
    assert_eq!(
        read(Arc::new(Float64Array::from(vec![0.1, 19.99, -2.0, f64::NAN])), MONEY),
        [Some(10), Some(1999), Some(-200), None]
    );
    assert_eq!(read(Arc::new(Float32Array::from(vec![0.1])), MONEY), [Some(10)]);
    assert_eq!(read(Arc::new(Float64Array::from(vec![5.0, f64::NAN])), int16), [Some(5), None]);
    assert_eq!(read(Arc::new(Float64Array::from(vec![1e-12])), money(38, 20)), [Some(100_000_000)]);
    assert_eq!(read(Arc::new(TimestampMillisecondArray::from(vec![5])), ColumnType::Timestamp), [Some(5000)]);
    assert_eq!(read(Arc::new(TimestampNanosecondArray::from(vec![-1])), ColumnType::Timestamp), [Some(-1)]);
    assert_eq!(read(Arc::new(StringArray::from(vec![Some("12.5"), None])), MONEY), [Some(1250), None]);
    assert_eq!(read(Arc::new(LargeStringArray::from(vec!["1"])), int16), [Some(1)]);
    let dictionary: DictionaryArray<Int32Type> =
        vec![Some("4"), None, Some("4"), Some("9")].into_iter().collect();
    assert_eq!(read(Arc::new(dictionary), int16), [Some(4), None, Some(4), Some(9)]);
}

/// A typed file has missing values of its own: a text means what it says, unless its column says otherwise.
#[test]
fn texts_are_texts() {
    let countries = || Arc::new(StringArray::from(vec![Some("NA"), Some(""), None, Some("DE")])) as ArrayRef;
    let read = |column: Column| {
        let source = open(write(vec![("x", countries())], 1000)).unwrap();
        let read = batches(&source, &schema(vec![column])).unwrap();
        let Some(ColumnData::Array(array)) = &read[0].columns[0] else { panic!("not an array") };
        array.as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect::<Vec<_>>()
    };
    let text = || column("x", ColumnType::Text, Protection::Seal);
    let all = [Some("NA"), Some(""), None, Some("DE")].map(|text| text.map(str::to_owned));
    // The schema of these tests has "" and NA for CSV.
    assert_eq!(read(text()), all);
    let mut marked = text();
    marked.written.null_tokens = Some(vec!["NA".to_owned()]);
    assert_eq!(read(marked), [None, Some(String::new()), None, Some("DE".to_owned())]);
    let source = open(write(vec![("x", Arc::new(StringArray::from(vec!["5", "NA"])))], 1000)).unwrap();
    let number = || column("x", INT, Protection::Encrypt);
    assert_eq!(batches(&source, &schema(vec![number()])).unwrap_err().code(), "HUSH-D021");
    let mut marked = number();
    marked.written.null_tokens = Some(vec!["NA".to_owned()]);
    assert_eq!(units(&batches(&source, &schema(vec![marked])).unwrap(), 0), [Some(5), None]);
}

/// Every single is a double; its shortest text is another number.
#[test]
fn single_floats_are_exact_doubles() {
    let values = [0.1_f32, 16_777_217.0, 1e-30, -3.402_823_5e38];
    let source = open(write(vec![("x", Arc::new(Float32Array::from(values.to_vec())))], 1000)).unwrap();
    assert_eq!(source.columns()[0].declared, Some(Declared::Single));
    let float = column("x", ColumnType::Float { digits: 6 }, Protection::Encrypt);
    let read = batches(&source, &schema(vec![float])).unwrap();
    let Some(ColumnData::Units(TypedColumn { values: Values::F64(found), .. })) = &read[0].columns[0] else {
        panic!("not floats")
    };
    assert_eq!(*found, values.map(f64::from));
    // Fixed point of more digits than a single has shows the difference.
    let mut ranged = column("x", ColumnType::Float { digits: 12 }, Protection::Encrypt);
    ranged.range = Some(UnitRange { low: 0, high: 10_i128.pow(15) });
    let source = open(write(vec![("x", Arc::new(Float32Array::from(vec![0.1_f32])))], 1000)).unwrap();
    assert_eq!(units(&batches(&source, &schema(vec![ranged])).unwrap(), 0), [Some(100_000_001_490)]);
}

#[test]
fn wrong_values_name_the_row() {
    let text: Vec<String> =
        (0..20_000).map(|i| if i == 12_345 { "SECRET".to_owned() } else { i.to_string() }).collect();
    let refuse = |array: ArrayRef, kind| {
        let source = open(write(vec![("x", array)], 3000)).unwrap();
        batches(&source, &schema(vec![column("x", kind, Protection::Encrypt)])).unwrap_err().to_string()
    };
    let strings: ArrayRef = Arc::new(StringArray::from(text));
    assert_eq!(refuse(strings, INT), "row 12346, column x: not an int(64) (value hidden)");
    let infinite: ArrayRef = Arc::new(Float64Array::from(vec![1.0, f64::INFINITY]));
    assert_eq!(refuse(infinite.clone(), MONEY), "row 2, column x: not a decimal(12,2) (value hidden)");
    assert_eq!(
        refuse(infinite, ColumnType::Float { digits: 3 }),
        "row 2, column x: not a float(3) (value hidden)"
    );
    let third: ArrayRef = Arc::new(Float64Array::from(vec![1.0 / 3.0]));
    assert_eq!(refuse(third, MONEY), "row 1, column x: not a decimal(12,2) (value hidden)");
    let wide: ArrayRef = Arc::new(Int64Array::from(vec![1, 300, 400]));
    assert_eq!(
        refuse(wide, ColumnType::Int { bits: 8 }),
        "row 2, column x: not an int(8) (value hidden); 1 more"
    );
    let dates: ArrayRef = Arc::new(Date32Array::from(vec![1]));
    assert_eq!(refuse(dates, INT), "row 1, column x: not an int(64) (value hidden)");
}

#[test]
fn batches_span_row_groups() {
    for (rows, group) in
        [(1, 10), (CHUNK_ROWS, 1000), (CHUNK_ROWS + 1, CHUNK_ROWS), (3 * CHUNK_ROWS + 5, 7001)]
    {
        let numbers: ArrayRef =
            Arc::new((0..rows as i32).map(|i| (i % 7 != 0).then_some(i)).collect::<Int32Array>());
        let texts: ArrayRef = Arc::new((0..rows).map(|i| Some(i.to_string())).collect::<StringArray>());
        let unused: ArrayRef = Arc::new(BinaryArray::from_iter_values((0..rows).map(|_| b"x")));
        let source = open(write(vec![("t", texts), ("blob", unused), ("n", numbers)], group)).unwrap();
        assert_eq!(source.rows(), Some(rows as u64));
        assert_eq!(source.columns()[1].unsupported.as_deref(), Some("binary"));
        let columns = vec![
            column("n", INT, Protection::Encrypt),
            column("blob", ColumnType::Text, Protection::Drop),
            column("t", ColumnType::Text, Protection::Clear),
        ];
        let read = batches(&source, &schema(columns.clone())).unwrap();
        let expected: Vec<Option<i128>> = (0..rows as i128).map(|i| (i % 7 != 0).then_some(i)).collect();
        assert_eq!(units(&read, 0), expected);
        let mut row = 0;
        for batch in &read {
            let Some(ColumnData::Array(array)) = &batch.columns[2] else { panic!() };
            for value in array.as_string::<i32>().iter() {
                assert_eq!(value, Some(row.to_string().as_str()));
                row += 1;
            }
        }
        // No column wanted at all: the rows still count.
        let none = source.typed_with(&schema(columns.clone()), |_| ReadAs::Skip).unwrap();
        assert_eq!(none.map(|batch| batch.unwrap().rows).sum::<usize>(), rows);
        let mut sealed = columns;
        sealed[1].protect = Protection::Seal;
        assert_eq!(batches(&source, &schema(sealed)).unwrap_err().code(), "HUSH-D005");
    }
}

#[test]
fn empty_and_damaged_files() {
    let empty: ArrayRef = Arc::new(Int64Array::from(Vec::<i64>::new()));
    assert_eq!(open(write(vec![("x", empty)], 10)).unwrap_err().code(), "HUSH-D011");
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..500));
    let good = write(vec![("x", numbers)], 100);
    assert_eq!(open(&good[..good.len() - 9]).unwrap_err().code(), "HUSH-D003");
    assert_eq!(open(b"PAR1").unwrap_err().code(), "HUSH-D003");
    let seed = 0x51ed_2701_93aa_4417u64;
    let mut random = Random(seed);
    let expected: Vec<Option<i128>> = (0..500).map(Some).collect();
    for _ in 0..2000 {
        let mut bad = good.clone();
        let at = random.below(bad.len() as u64) as usize;
        bad[at] ^= 1 << random.below(8);
        let one = schema(vec![column("x", INT, Protection::Encrypt)]);
        // Refused, or read (a flip may hit a value or nothing that matters): never a panic.
        if let Ok(read) = open(&bad).and_then(|source| batches(&source, &one)) {
            assert!(units(&read, 0).len() <= expected.len());
        }
    }
}
