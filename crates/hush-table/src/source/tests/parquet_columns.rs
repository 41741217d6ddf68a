// SPDX-License-Identifier: Apache-2.0
//! Columns of Parquet that several threads decode, against Arrow's own reading of the same files; damaged copies of them.

use ::parquet::arrow::ArrowWriter;
use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use ::parquet::basic::Compression;
use ::parquet::file::properties::{WriterProperties, WriterVersion};
use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::{DataType, TimeUnit};

use super::super::parquet_file::ParquetColumns;
use super::ahead::{ahead, in_turn};
use super::*;

fn kinds() -> Vec<DataType> {
    use DataType as T;
    let dictionary = T::Dictionary(Box::new(T::Int32), Box::new(T::Utf8));
    vec![
        T::Int8,
        T::Int16,
        T::Int32,
        T::Int64,
        T::UInt8,
        T::UInt32,
        T::UInt64,
        T::Float32,
        T::Float64,
        T::Boolean,
        T::Date32,
        T::Timestamp(TimeUnit::Millisecond, None),
        T::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
        T::Decimal128(9, 2),
        T::Decimal128(18, 2),
        T::Decimal128(38, 2),
        T::Utf8,
        T::LargeUtf8,
        T::Utf8View,
        dictionary,
    ]
}

/// Numbers of few or many different values, some of them missing.
fn column_of(kind: &DataType, rows: usize, random: &mut Random) -> ArrayRef {
    let (most, missing) = ([3, 100][random.below(2) as usize], random.below(3) * 5);
    let value = |random: &mut Random| (random.below(20) >= missing).then(|| random.below(most) as i64);
    let plain: ArrayRef = Arc::new((0..rows).map(|_| value(random)).collect::<Int64Array>());
    match kind {
        DataType::Date32 => cast(&cast(&plain, &DataType::Int32).unwrap(), kind).unwrap(),
        DataType::Dictionary(..) => cast(&cast(&plain, &DataType::Utf8).unwrap(), kind).unwrap(),
        _ => cast(&plain, kind).unwrap(),
    }
}

/// A file with a column of every kind, written in one way of many.
fn file_of(random: &mut Random) -> Vec<u8> {
    let rows = 1 + random.below(3 * CHUNK_ROWS as u64) as usize;
    let columns = kinds().into_iter().enumerate();
    let columns = columns.map(|(i, kind)| (format!("c{i}"), column_of(&kind, rows, random), true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let version = [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0][random.below(2) as usize];
    let zstd = Compression::ZSTD(Default::default());
    let properties = WriterProperties::builder()
        .set_writer_version(version)
        .set_compression([Compression::UNCOMPRESSED, Compression::SNAPPY, zstd][random.below(3) as usize])
        .set_dictionary_enabled(random.below(2) == 0)
        .set_max_row_group_row_count(Some(1 + random.below(12_000) as usize))
        .set_data_page_row_count_limit(1 + random.below(5000) as usize)
        .set_write_batch_size(1 + random.below(1000) as usize)
        .build();
    written(&batch, properties)
}

fn written(batch: &RecordBatch, properties: WriterProperties) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}

/// Every chunk, asked for in any order by three threads.
fn by_threads(columns: &ParquetColumns, random: &mut Random) -> Vec<Result<RecordBatch, SourceError>> {
    let count = (0..).take_while(|number| columns.rows(*number) > 0).count();
    let mut order: Vec<usize> = (0..count).collect();
    for i in 0..count {
        order.swap(i, random.below(count as u64) as usize);
    }
    let mut read: Vec<_> = std::thread::scope(|scope| {
        let shares = (0..3).map(|thread| order.iter().copied().skip(thread).step_by(3));
        let threads: Vec<_> = shares
            .map(|share| {
                scope.spawn(move || {
                    share.map(|number| (number, columns.read(number as u64))).collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    read.sort_by_key(|(number, _)| *number);
    read.into_iter().map(|(_, batch)| batch).collect()
}

#[test]
fn columns_are_what_arrow_reads() {
    for seed in 1..=12 {
        let mut random = Random(seed * 0x1234_5677);
        let bytes = Bytes::from(file_of(&mut random));
        let source = open(&bytes).unwrap();
        let builder = ParquetRecordBatchReaderBuilder::try_new(bytes.clone()).unwrap();
        let schema = builder.schema().clone();
        let whole: Vec<_> =
            builder.with_batch_size(CHUNK_ROWS).build().unwrap().map(Result::unwrap).collect();
        let whole = concat_batches(&schema, &whole).unwrap();
        let kept: Vec<usize> = (0..kinds().len()).filter(|_| random.below(3) > 0).collect();
        if kept.is_empty() {
            continue;
        }
        let read = by_threads(&ParquetColumns::open(&source, &kept).unwrap(), &mut random);
        let read: Vec<RecordBatch> = read.into_iter().map(Result::unwrap).collect();
        let (last, others) = read.split_last().unwrap();
        assert!(others.iter().all(|batch| batch.num_rows() == CHUNK_ROWS) && last.num_rows() > 0);
        let read = concat_batches(&read[0].schema(), &read).unwrap();
        let expected = whole.project(&kept).unwrap();
        assert_eq!(read.columns(), expected.columns(), "seed {seed}");
    }
}

/// A damaged file is refused or read, in turn and ahead alike, and nothing panics.
#[test]
fn damaged_columns_are_refused_alike() {
    let numbers = |bound: u64| {
        let mut random = Random(bound);
        Arc::new((0..20_000).map(|_| random.below(bound) as i64).collect::<Int64Array>()) as ArrayRef
    };
    let columns = [("a", numbers(50)), ("b", numbers(1 << 40)), ("c", numbers(1000))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    // What is compressed cannot be damaged without a trace, as a rule.
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(Default::default()))
        .set_max_row_group_row_count(Some(7000))
        .build();
    let good = written(&batch, properties);
    let schema = schema(["a", "b", "c"].map(|name| column(name, INT, Protection::Encrypt)).to_vec());
    let (mut random, mut refused) = (Random(0x6c07_8965), 0);
    for round in 0..300 {
        let mut bad = good.clone();
        for _ in 0..1 + random.below(3) {
            // Page headers, sizes in the footer, levels: what a decoder trusts.
            let at = random.below(bad.len() as u64) as usize;
            bad[at] ^= 1 << random.below(8);
        }
        let Ok(source) = open(&bad) else { continue };
        let Ok(reader) = source.typed(&schema) else { continue };
        let expected = in_turn(reader);
        let found = ahead(source.typed(&schema).unwrap(), 1 << 20, &mut random);
        assert_eq!(found.1, expected.1, "round {round}");
        assert_eq!(found.0.len(), expected.0.len(), "round {round}");
        refused += usize::from(expected.1.is_some_and(|(code, _)| code == "HUSH-D003"));
    }
    assert!(refused > 20, "{refused} copies were refused");
}

/// A file that says that it has other rows than its columns have is refused, however many they are.
#[test]
fn columns_of_other_lengths_are_refused() {
    let numbers = |count: i64| Arc::new(Int64Array::from_iter_values(0..count)) as ArrayRef;
    let schema = schema(vec![column("a", INT, Protection::Encrypt)]);
    let source = open(parquet::write(vec![("a", numbers(9000))], 100_000)).unwrap();
    for rows in [8999, 9001] {
        let other = open(parquet::write(vec![("a", numbers(rows))], 100_000)).unwrap();
        // The columns of one file under the rows of another.
        let columns = ParquetColumns::open(&other, &[0]).unwrap().with_rows(9000);
        assert!(columns.read(0).is_ok());
        let refused = columns.read(1).unwrap_err();
        assert_eq!(refused.code(), "HUSH-D003", "{refused}");
    }
    assert_eq!(batches(&source, &schema).unwrap().len(), 2);
}
