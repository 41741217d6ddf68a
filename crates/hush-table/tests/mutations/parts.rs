// SPDX-License-Identifier: Apache-2.0
//! Parquet files of the corpus: the two halves of parts, halves of parts of another shape, and files of a person with types that
//! CSV has not.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, Decimal128Array, Float64Array, Int32Array, Int64Array, ListArray, RecordBatch, StringArray,
    TimestampMicrosecondArray,
};
use arrow::datatypes::Int32Type;
use bytes::Bytes;
use hush_plan::EncodingId;
use hush_table::part::EncryptedPartWriter;
use hush_table::{CHUNK_ROWS, EncodedChunk};
use hush_testkit::CorpusFile;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::readers::{THREE_CHUNKS_ROWS, golden_part};

/// Of the golden table.
const ENCODINGS: [u32; 3] = [0, 3, 7];

pub(crate) fn made() -> Vec<CorpusFile> {
    let mut files = encrypted();
    files.extend(clear());
    files.extend(of_persons());
    // Without the first bytes, without the last ones, with a footer that is longer than the file.
    for (reader, half, codes) in [
        ("clear", "clear", ["HUSH-T034"; 3]),
        ("encrypted", "enc", ["HUSH-T033", "HUSH-T034", "HUSH-T034"]),
        ("parquet", "clear", ["HUSH-D002", "HUSH-D003", "HUSH-D003"]),
    ] {
        let good = golden_part(half);
        let (end, mut huge) = (good.len(), good.clone());
        huge[end - 8..end - 4].copy_from_slice(&u32::MAX.to_le_bytes());
        files.push(refused(reader, "without-head", codes[0], good[end / 2..].to_vec()));
        files.push(refused(reader, "without-foot", codes[1], good[..end - 9].to_vec()));
        files.push(refused(reader, "huge-footer", codes[2], huge));
    }
    files.push(refused("encrypted", "clear-half", "HUSH-T033", golden_part("clear")));
    files.push(refused("clear", "encrypted-half", "HUSH-T033", golden_part("enc")));
    files
}

fn refused(reader: &str, name: &str, code: &str, bytes: Vec<u8>) -> CorpusFile {
    CorpusFile::refused(&format!("{reader}-{name}"), code, "parquet", bytes)
}

/// A part from chunk `first` on, each chunk with as many rows as said and blobs of so many bytes.
fn encrypted_part(first: u32, rows: &[u32], encodings: &[u32], blob_bytes: usize) -> Vec<u8> {
    let ids: Vec<_> = encodings.iter().copied().map(EncodingId).collect();
    let mut writer = EncryptedPartWriter::new(&ids, &[0], first);
    for (index, &rows) in (first..).zip(rows) {
        let blob = |number: usize| Bytes::from(vec![number as u8; blob_bytes + number.min(blob_bytes)]);
        let (encoded, sealed) = ((0..ids.len()).map(blob).collect(), vec![blob(9)]);
        writer.push(EncodedChunk { index, rows, seed: [index as u8; 32], encoded, sealed }).unwrap();
    }
    writer.finish().unwrap().bytes.to_vec()
}

fn encrypted() -> Vec<CorpusFile> {
    let read = |name: &str, bytes| CorpusFile::read(&format!("encrypted-{name}"), "parquet", bytes);
    let cases = [
        ("chunk-of-another-place", encrypted_part(1, &[5], &ENCODINGS, 9)),
        ("fewer-rows", encrypted_part(0, &[4], &ENCODINGS, 9)),
        ("more-chunks", encrypted_part(0, &[CHUNK_ROWS, 5], &ENCODINGS, 9)),
        ("other-encodings", encrypted_part(0, &[5], &[0, 3, 8], 9)),
        ("fewer-encodings", encrypted_part(0, &[5], &[0, 3], 9)),
        ("more-encodings", encrypted_part(0, &[5], &[0, 3, 7, 8], 9)),
    ];
    let full = CHUNK_ROWS;
    let good = [
        read("golden", golden_part("enc")),
        read("empty-blobs", encrypted_part(0, &[5], &ENCODINGS, 0)),
        read("three-chunks", encrypted_part(64, &[full, full, 5], &ENCODINGS, 5000)),
    ];
    good.into_iter()
        .chain(cases.map(|(name, bytes)| refused("encrypted", name, "HUSH-T033", bytes)))
        .collect()
}

fn clear() -> Vec<CorpusFile> {
    let batch = |names: [&str; 2], rows: i64| {
        let wards = (0..rows).map(|row| (row % 3 != 0).then_some("a")).collect::<StringArray>();
        let years = (0..rows).map(|row| (row % 5 != 0).then_some(2020 + row % 2)).collect::<Int64Array>();
        let columns: [(&str, ArrayRef); 2] = [(names[0], Arc::new(wards)), (names[1], Arc::new(years))];
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap()
    };
    let zstd = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default()));
    let groups =
        WriterProperties::builder().set_max_row_group_row_count(Some(2)).set_dictionary_enabled(false);
    let one = |names, rows| file(&batch(names, rows), None);
    let wide = batch(["ward", "year"], 5);
    let kinds: ArrayRef = Arc::new(Int32Array::from(vec![1; 5]));
    let of_kind =
        RecordBatch::try_from_iter([("ward", wide.column(0).clone()), ("year", kinds.clone())]).unwrap();
    let columns = [("ward", wide.column(0).clone()), ("year", wide.column(1).clone()), ("more", kinds)];
    let more = RecordBatch::try_from_iter(columns).unwrap();
    let read = |name: &str, bytes| CorpusFile::read(&format!("clear-{name}"), "parquet", bytes);
    let cases = [
        ("fewer-rows", one(["ward", "year"], 4)),
        ("other-name", one(["ward", "yeax"], 5)),
        ("other-order", one(["year", "ward"], 5)),
        ("other-type", file(&of_kind, None)),
        ("more-columns", file(&more, None)),
    ];
    let good = [
        read("golden", golden_part("clear")),
        read("row-groups-of-two", file(&wide, Some(groups.build()))),
        read("three-chunks", file(&batch(["ward", "year"], THREE_CHUNKS_ROWS as i64), Some(zstd.build()))),
    ];
    good.into_iter().chain(cases.map(|(name, bytes)| refused("clear", name, "HUSH-T033", bytes))).collect()
}

/// Parts that the owner of a table may give.
fn of_persons() -> Vec<CorpusFile> {
    let decimals = Decimal128Array::from(vec![Some(-5), None, Some(10_i128.pow(37))]);
    let columns: [(&str, ArrayRef); 4] = [
        ("price", Arc::new(decimals.with_precision_and_scale(38, 10).unwrap())),
        ("rate", Arc::new(Float64Array::from(vec![Some(0.5), Some(-1e-300), None]))),
        ("name", Arc::new(StringArray::from(vec![Some(""), Some("日本\n"), None]))),
        ("seen", Arc::new(TimestampMicrosecondArray::from(vec![0, -1, 1_700_000_000_000_000]))),
    ];
    let types = RecordBatch::try_from_iter(columns).unwrap();
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1)]), None, Some(vec![])]);
    let lists = RecordBatch::try_from_iter([("list", Arc::new(lists) as ArrayRef)]).unwrap();
    let infinite: ArrayRef = Arc::new(Float64Array::from(vec![f64::INFINITY, f64::NAN, f64::MIN_POSITIVE]));
    let infinite = RecordBatch::try_from_iter([("x", infinite)]).unwrap();
    let empty: ArrayRef = Arc::new(Int64Array::from(Vec::<i64>::new()));
    let empty = RecordBatch::try_from_iter([("x", empty)]).unwrap();
    let read = |name: &str, bytes| CorpusFile::read(&format!("parquet-{name}"), "parquet", bytes);
    vec![
        read("types", file(&types, None)),
        read("infinite", file(&infinite, None)),
        refused("parquet", "list", "HUSH-D005", file(&lists, None)),
        refused("parquet", "no-rows", "HUSH-D011", file(&empty, None)),
        refused("parquet", "magic-alone", "HUSH-D003", b"PAR1".to_vec()),
    ]
}

fn file(batch: &RecordBatch, properties: Option<WriterProperties>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), properties).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}
