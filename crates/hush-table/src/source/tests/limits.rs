// SPDX-License-Identifier: Apache-2.0
//! What can be read once, limits on texts, and what is known of a file before it is read.

use std::io::Read;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};

use super::*;

fn stream(text: impl Into<Vec<u8>>) -> Result<Source, SourceError> {
    Source::from_stream(Box::new(std::io::Cursor::new(text.into())), &OpenOptions::default())
}

/// Gives one byte at a time, as a slow pipe does.
struct Drops(std::io::Cursor<Vec<u8>>);

impl Read for Drops {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let one = buffer.len().min(1);
        self.0.read(&mut buffer[..one])
    }
}

fn numbers() -> Schema {
    let column = |name| column(name, ColumnType::Int { bits: 64 }, Protection::Clear);
    schema(vec![column("a"), column("b")])
}

fn texts() -> Schema {
    schema(vec![
        column("a", ColumnType::Text, Protection::Clear),
        column("b", ColumnType::Text, Protection::Seal),
    ])
}

fn rows(batches: &[RowBatch]) -> usize {
    batches.iter().map(|batch| batch.rows).sum()
}

#[test]
fn a_stream_is_read_as_a_file_is_and_only_once() {
    // Longer than what is looked at beforehand.
    let text: String = std::iter::once("a;b\n".to_owned())
        .chain((0..200_000).map(|row| format!("{row};{}\n", row * 7)))
        .collect();
    assert!(text.len() as u64 > 2 * STREAM_START_BYTES);
    let source = stream(text.clone()).unwrap();
    assert_eq!((source.rows(), source.estimated_rows()), (None, None));
    assert_eq!(source.format(), Format::Csv { delimiter: b';' });
    let (found, expected) =
        (batches(&source, &numbers()).unwrap(), batches(&open(&text).unwrap(), &numbers()).unwrap());
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        for (found, expected) in found.columns.iter().zip(&expected.columns) {
            let (Some(ColumnData::Array(found)), Some(ColumnData::Array(expected))) = (found, expected)
            else {
                panic!("clear columns are arrays")
            };
            assert_eq!(found, expected);
        }
    }
    assert_eq!(source.typed(&numbers()).err().unwrap().code(), "HUSH-D026");
}

#[test]
fn a_stream_in_drops_is_the_same_stream() {
    let text = "a,b\n1,2\n3,4";
    let input = Drops(std::io::Cursor::new(text.into()));
    let source = Source::from_stream(Box::new(input), &OpenOptions::default()).unwrap();
    assert_eq!(rows(&batches(&source, &numbers()).unwrap()), 2);
}

#[test]
fn what_is_no_csv_is_no_stream() {
    let parquet = parquet::write(vec![("a", Arc::new(Int64Array::from(vec![1])))], 1);
    for (bytes, code) in [(&parquet[..], "HUSH-D002"), (b"", "HUSH-D010"), (b"\x1f\x8b12", "HUSH-D002")] {
        assert_eq!(stream(bytes).unwrap_err().code(), code);
    }
}

#[test]
fn texts_of_a_chunk_are_limited_together_and_per_record() {
    let row = |length: usize| format!("{},{}\n", "x".repeat(length), "y".repeat(length));
    let file = |lengths: &[usize]| {
        open("a,b\n".to_owned() + &lengths.iter().map(|l| row(*l)).collect::<String>()).unwrap()
    };
    let read = |source: &Source, limit: usize| {
        let read: Result<Vec<_>, _> = source.typed(&texts()).unwrap().with_text_limit(limit).collect();
        read.map(|batches| rows(&batches))
    };
    let source = file(&[100; 500]);
    assert_eq!(read(&source, 100_000).unwrap(), 500);
    match read(&source, 99_999).unwrap_err() {
        SourceError::ChunkTooLarge { place: Place::Line(501), rows: 500, limit_bytes: 99_999 } => {}
        other => panic!("{other}"),
    }
    // A new chunk begins anew.
    assert_eq!(read(&file(&[10; 3 * CHUNK_ROWS]), 20 * CHUNK_ROWS).unwrap(), 3 * CHUNK_ROWS);
    let long = file(&[10, 80_000]);
    assert_eq!(read(&long, usize::MAX).unwrap(), 2);
    assert_eq!(read(&long, 70_000).unwrap_err().code(), "HUSH-D017");
}

#[test]
fn texts_of_parquet_are_limited_too() {
    let texts_of = |length: usize| Arc::new(StringArray::from(vec!["x".repeat(length); 300])) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("a", texts_of(50)), ("b", texts_of(50))]).unwrap();
    let source = Source::from_batches("t", batch.schema(), &[batch]).unwrap();
    let read = |limit| -> Result<Vec<RowBatch>, SourceError> {
        source.typed(&texts()).unwrap().with_text_limit(limit).collect()
    };
    assert_eq!(rows(&read(30_000).unwrap()), 300);
    assert_eq!(read(29_999).unwrap_err().code(), "HUSH-D025");
}

#[test]
fn rows_are_estimated_from_the_first_lines() {
    let count = 40_000;
    let text: String = std::iter::once("a,b\n".to_owned())
        .chain((0..count).map(|row| format!("{row:06},{row:06}\n")))
        .collect();
    let estimated = open(&text).unwrap().estimated_rows().unwrap();
    assert!(estimated.abs_diff(count) < count / 100, "{estimated}");
    assert_eq!(open("a,b\n1,2\n").unwrap().estimated_rows(), Some(2));
}
