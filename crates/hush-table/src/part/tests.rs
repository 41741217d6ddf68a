// SPDX-License-Identifier: Apache-2.0
//! Parts against the Arrow reader as an independent one, projections, and damage with the digest left out of it.

use arrow::array::{Array, BinaryArray, FixedSizeBinaryArray, RecordBatch, UInt32Array};
use bytes::Bytes;
use hush_plan::EncodingId;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::*;
use crate::error::{PartFault, TableError};
use crate::fixture::{Random, chunk, clear_rows, clear_schema, encoding, manifest};
use crate::manifest::{ClearColumn, Manifest, PartEntry, PartPlace};

const PLACE: PartPlace = PartPlace { first_chunk: 10, first_row: 81_920 };

/// Chunks 10, 11, … of the fixture's layout; the last has `last_rows` rows.
fn chunks(random: &mut Random, count: u32, last_rows: u32) -> Vec<EncodedChunk> {
    let rows = |offset| if offset + 1 == count { last_rows } else { CHUNK_ROWS };
    (0..count).map(|offset| chunk(random, 10 + offset, rows(offset), 5000)).collect()
}

fn write(chunks: &[EncodedChunk]) -> WrittenPart {
    let mut writer = EncryptedPartWriter::new(&[EncodingId(1), EncodingId(4)], &[0], 10);
    chunks.iter().cloned().for_each(|chunk| writer.push(chunk).unwrap());
    writer.finish().unwrap()
}

fn entry(part: &WrittenPart) -> PartEntry {
    PartEntry {
        rows: part.rows,
        chunks: part.chunks,
        clear: None,
        encrypted: Some(part.file),
        delivery: None,
        append: None,
        first_chunk: None,
        dead: None,
        cubes: None,
        runs: None,
        domain: 0,
        generation: 0,
    }
}

fn open(part: &WrittenPart) -> EncryptedPart {
    EncryptedPart::open(PartSource::from_memory(part.bytes.clone()), &manifest(), PLACE, &entry(part))
        .unwrap()
}

fn everything() -> Projection {
    Projection { seed: true, encodings: vec![EncodingId(1), EncodingId(4)], sealed: vec![0], chunks: None }
}

fn assert_same(found: &ChunkRow, expected: &EncodedChunk) {
    assert_eq!((found.index, found.rows, found.seed), (expected.index, expected.rows, Some(expected.seed)));
    assert_eq!(found.encoded, expected.encoded);
    assert_eq!(found.sealed, expected.sealed);
}

fn file_source(bytes: &Bytes) -> PartSource {
    let mut file = tempfile::tempfile().unwrap();
    std::io::Write::write_all(&mut file, bytes).unwrap();
    PartSource::from_file(file).unwrap()
}

#[test]
fn what_is_written_is_read_from_memory_and_from_files() {
    let mut random = Random::fresh();
    for (count, last_rows) in [(1, 1), (1, CHUNK_ROWS), (2, 8191), (64, 5)] {
        let written = chunks(&mut random, count, last_rows);
        let part = write(&written);
        assert_eq!(part.rows, u64::from(count - 1) * 8192 + u64::from(last_rows));
        assert_eq!(part.file.digest, Digest::of(&part.bytes));
        for source in [PartSource::from_memory(part.bytes.clone()), file_source(&part.bytes)] {
            assert_eq!(source.tree().unwrap(), part.tree);
            let read = EncryptedPart::open(source, &manifest(), PLACE, &entry(&part)).unwrap();
            let rows = read.read(&everything()).unwrap();
            assert_eq!(rows.len(), written.len(), "seed {}", random.seed);
            rows.iter().zip(&written).for_each(|(found, expected)| assert_same(found, expected));
        }
    }
}

#[test]
fn any_parquet_reader_reads_an_encrypted_part() {
    let written = chunks(&mut Random::fresh(), 3, 17);
    let reader = ParquetRecordBatchReaderBuilder::try_new(write(&written).bytes).unwrap().build().unwrap();
    let batches: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
    let [batch] = batches.as_slice() else { panic!("one batch") };
    let names: Vec<_> = batch.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["chunk", "rows", "seed", "e1", "e4", "s0"]);
    let column = |name: &str| batch.column_by_name(name).unwrap();
    let numbers = |name: &str| column(name).as_any().downcast_ref::<UInt32Array>().unwrap().values().to_vec();
    assert_eq!(numbers("chunk"), [10, 11, 12]);
    assert_eq!(numbers("rows"), [8192, 8192, 17]);
    let seeds = column("seed").as_any().downcast_ref::<FixedSizeBinaryArray>().unwrap();
    let blobs = column("e4").as_any().downcast_ref::<BinaryArray>().unwrap();
    for (row, chunk) in written.iter().enumerate() {
        assert_eq!(seeds.value(row), chunk.seed);
        assert_eq!(blobs.value(row), chunk.encoded[1]);
    }
}

#[test]
fn one_column_of_some_chunks_alone() {
    let written = chunks(&mut Random::fresh(), 9, 100);
    let part = write(&written);
    let projection = Projection {
        encodings: vec![EncodingId(4)],
        chunks: Some(vec![17, 10, 13, 13]),
        ..Projection::default()
    };
    let rows = open(&part).read(&projection).unwrap();
    assert_eq!(rows.iter().map(|row| row.index).collect::<Vec<_>>(), [10, 13, 17]);
    for row in rows {
        assert_eq!(row.encoded, [written[row.index as usize - 10].encoded[1].clone()]);
        assert!(row.seed.is_none() && row.sealed.is_empty());
        // A view of the part, not a copy.
        assert!(part.bytes.as_ptr_range().contains(&row.encoded[0].as_ptr()));
    }
    let none = Projection { chunks: Some(vec![]), ..everything() };
    assert!(open(&part).read(&none).unwrap().is_empty());
}

#[test]
fn chunks_are_read_one_by_one_until_one_is_damaged() {
    let written = chunks(&mut Random::fresh(), 4, 100);
    let part = write(&written);
    let mut bytes = part.bytes.to_vec();
    let blob = &written[2].encoded[1];
    let place = bytes.windows(blob.len()).position(|window| window == blob).unwrap();
    // The length before the blob.
    bytes[place - 4] ^= 1;
    for source in [PartSource::from_memory(bytes.clone()), file_source(&bytes.into())] {
        let opened = EncryptedPart::open(source, &manifest(), PLACE, &entry(&part)).unwrap();
        let mut rows = opened.chunks(&everything()).unwrap();
        for expected in &written[..2] {
            assert_same(&rows.next().unwrap().unwrap(), expected);
        }
        assert_eq!(rows.next().unwrap().unwrap_err().code(), "HUSH-T033");
        assert!(rows.next().is_none());
        let others = Projection { chunks: Some(vec![11, 13]), ..everything() };
        let read = opened.read(&others).unwrap();
        assert_eq!(read.iter().map(|row| row.index).collect::<Vec<_>>(), [11, 13]);
    }
}

#[test]
fn what_a_part_does_not_have_is_refused() {
    let part = write(&chunks(&mut Random::fresh(), 2, 1));
    let wrong = [
        Projection { encodings: vec![EncodingId(2)], ..Projection::default() },
        Projection { sealed: vec![1], ..Projection::default() },
        Projection { chunks: Some(vec![9]), ..Projection::default() },
        Projection { chunks: Some(vec![12]), ..Projection::default() },
        Projection { chunks: Some(vec![u32::MAX]), ..Projection::default() },
    ];
    for projection in wrong {
        assert_eq!(open(&part).read(&projection).unwrap_err().code(), "HUSH-T033", "{projection:?}");
    }
}

#[test]
fn a_writer_takes_only_chunks_that_fit() {
    let mut random = Random::fresh();
    let mut writer = EncryptedPartWriter::new(&[EncodingId(1), EncodingId(4)], &[0], 10);
    let first = chunk(&mut random, 10, CHUNK_ROWS, 10);
    writer.push(first.clone()).unwrap();
    let mut next = |change: fn(&mut EncodedChunk)| {
        let mut next = chunk(&mut random, 11, CHUNK_ROWS, 10);
        change(&mut next);
        next
    };
    let refused = [
        (next(|c| c.index = 10), PartFault::ChunkIndex { found: 10, expected: 11 }),
        (next(|c| c.index = 12), PartFault::ChunkIndex { found: 12, expected: 11 }),
        (next(|c| c.rows = 0), PartFault::Rows { found: 0, expected: 8192 }),
        (next(|c| c.rows = 8193), PartFault::Rows { found: 8193, expected: 8192 }),
        (next(|c| c.encoded.truncate(1)), PartFault::EncodedBlobs { found: 1, expected: 2 }),
        (next(|c| c.sealed.clear()), PartFault::SealedBlobs { found: 0, expected: 1 }),
        (EncodedChunk { index: 11, ..first }, PartFault::RepeatedSeed { first: 10, second: 11 }),
    ];
    let short = next(|c| c.rows = 7);
    for (chunk, expected) in refused {
        let found = writer.push(chunk).unwrap_err();
        assert!(matches!(&found, TableError::BadChunk { fault, .. } if *fault == expected), "{found}");
    }
    writer.push(short).unwrap();
    assert!(writer.is_full());
    assert_eq!(writer.push(chunk(&mut Random::fresh(), 12, 1, 10)).unwrap_err().code(), "HUSH-T040");
    assert_eq!(EncryptedPartWriter::new(&[], &[0], 0).finish().unwrap_err().code(), "HUSH-T033");
}

#[test]
fn another_place_or_entry_or_manifest_is_refused() {
    let part = write(&chunks(&mut Random::fresh(), 3, 100));
    let good = entry(&part);
    let check = |manifest: &Manifest, place, entry: &PartEntry| {
        EncryptedPart::open(PartSource::from_memory(part.bytes.clone()), manifest, place, entry).map(|_| ())
    };
    check(&manifest(), PLACE, &good).unwrap();
    let elsewhere = PartPlace { first_chunk: 11, ..PLACE };
    let mut fewer = manifest();
    fewer.encodings.pop();
    let mut other = manifest();
    other.encodings[1] = encoding(5);
    let wrong = [
        check(&manifest(), elsewhere, &good),
        check(&manifest(), PLACE, &PartEntry { rows: good.rows + 1, ..good.clone() }),
        check(&manifest(), PLACE, &PartEntry { chunks: 2, ..good.clone() }),
        check(&manifest(), PLACE, &PartEntry { chunks: 4, ..good.clone() }),
        check(&Manifest { sealed_columns: 0, ..manifest() }, PLACE, &good),
        check(&Manifest { sealed_columns: 2, ..manifest() }, PLACE, &good),
        check(&fewer, PLACE, &good),
        check(&other, PLACE, &good),
    ];
    for (case, result) in wrong.into_iter().enumerate() {
        assert_eq!(result.unwrap_err().code(), "HUSH-T033", "case {case}");
    }
    // Clear Parquet in the place of an encrypted part.
    let mut writer = ClearPartWriter::new(&clear_schema()).unwrap();
    writer.push(&clear_rows(0, 100)).unwrap();
    let clear = PartSource::from_memory(writer.finish().unwrap().bytes);
    assert_eq!(EncryptedPart::open(clear, &manifest(), PLACE, &good).unwrap_err().code(), "HUSH-T033");
}

thread_local! {
    static QUIET: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Silences panics of the Parquet reader in `test`: they are expected, the code under test contains them, and thousands of
/// backtraces would only cost time. Panics of other threads are reported as usual.
/// Columns and digest are right, the version is not.
#[test]
fn parts_of_another_version_are_refused_by_name() {
    let part = write(&chunks(&mut Random::fresh(), 2, 100));
    assert_eq!(open(&part).chunk_count(), 2);
    let key = FORMAT_KEY.as_bytes();
    let place = part.bytes.windows(key.len()).rposition(|window| window == key).unwrap() + key.len();
    // The key, a byte of type and one of length, the value.
    assert_eq!(part.bytes[place + 2..place + 3], *PART_FORMAT.as_bytes());
    let mut bytes = part.bytes.to_vec();
    bytes[place + 2] = b'9';
    let (length, digest) = (bytes.len() as u64, crate::Digest::of(&bytes));
    let file = crate::manifest::PartFile { digest, bytes: length };
    let entry = PartEntry { encrypted: Some(file), ..entry(&part) };
    let refused = EncryptedPart::open(PartSource::from_memory(bytes), &manifest(), PLACE, &entry);
    assert!(
        matches!(refused, Err(TableError::BadPart { fault: PartFault::Version, .. })),
        "{:?}",
        refused.err()
    );
}

fn quietly(test: impl FnOnce()) {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let contained = panic.location().is_some_and(|place| !place.file().contains("tests.rs"));
            if !(QUIET.get() && contained) {
                report(panic);
            }
        }));
    });
    QUIET.set(true);
    test();
    QUIET.set(false);
}

/// A malicious owner can sign the digest of anything: damage must end in an error or in blobs, never in a panic or a
/// read outside the part.
#[test]
fn damage_behind_a_good_digest_never_panics() {
    quietly(damage_behind_a_good_digest);
}

fn damage_behind_a_good_digest() {
    let mut random = Random::fresh();
    let part = write(&chunks(&mut random, 2, 100));
    let length = part.bytes.len();
    let footer = 8 + u32::from_le_bytes(part.bytes[length - 8..length - 4].try_into().unwrap()) as usize;
    let read = |bytes: Vec<u8>| {
        let source = PartSource::from_memory(bytes);
        EncryptedPart::open(source, &manifest(), PLACE, &entry(&part))
            .and_then(|part| part.read(&everything()))
    };
    for cut in 0..200.min(length) {
        assert!(read(part.bytes[..length - 1 - cut].to_vec()).is_err(), "cut {cut}");
        assert!(read(part.bytes[..cut].to_vec()).is_err());
    }
    for _ in 0..4000 {
        let mut bytes = part.bytes.to_vec();
        // Mostly the footer and page headers, where numbers are.
        let at = if random.below(4) == 0 { random.below(length) } else { length - 1 - random.below(footer) };
        bytes[at] ^= 1 << random.below(8);
        if let Ok(rows) = read(bytes) {
            assert!(rows.len() == 2 && rows.iter().all(|row| row.encoded.len() == 2), "seed {}", random.seed);
        }
    }
}

#[test]
fn clear_parts_are_ordinary_parquet() {
    let mut writer = ClearPartWriter::new(&clear_schema()).unwrap();
    for first in [0, 8192] {
        writer.push(&clear_rows(first, 8192)).unwrap();
    }
    writer.push(&clear_rows(16_384, 9)).unwrap();
    assert!(writer.bytes() > 16_393 * 8);
    let part = writer.finish().unwrap();
    assert_eq!((part.rows, part.chunks), (16_393, 3));
    let reader = ParquetRecordBatchReaderBuilder::try_new(part.bytes.clone()).unwrap();
    let rows: usize = reader.build().unwrap().map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(rows, 16_393);

    let column = |name: &str, kind: &str| ClearColumn { name: name.to_owned(), arrow_type: kind.to_owned() };
    let with = |columns: Vec<ClearColumn>| Manifest { clear_columns: columns, ..manifest() };
    let good = with(vec![column("ward", "Utf8"), column("year", "Int64")]);
    let place = PartEntry { clear: Some(part.file), encrypted: None, ..entry(&part) };
    let open = |manifest: &Manifest, rows| {
        let entry = PartEntry { rows, ..place.clone() };
        ClearPart::open(PartSource::from_memory(part.bytes.clone()), manifest, &entry)
    };
    let clear = open(&good, 16_393).unwrap();
    let batches = clear.read(&[1]).unwrap();
    assert_eq!(batches.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [8192, 8192, 9]);
    assert_eq!(batches[1].column(0).to_data(), clear_rows(8192, 8192).column(1).to_data());
    let all = clear.read(&[0, 1]).unwrap();
    assert_eq!(all[2], clear_rows(16_384, 9));
    assert_eq!(clear.read(&[2]).unwrap_err().code(), "HUSH-T033");

    let wrong = [
        open(&good, 16_392),
        open(&with(vec![column("ward", "Utf8")]), 16_393),
        open(&with(vec![column("year", "Int64"), column("ward", "Utf8")]), 16_393),
        open(&with(vec![column("ward", "Utf8"), column("year", "Int32")]), 16_393),
    ];
    for (case, result) in wrong.into_iter().enumerate() {
        assert_eq!(result.unwrap_err().code(), "HUSH-T033", "case {case}");
    }
}

#[test]
fn damaged_clear_parts_never_panic() {
    quietly(damaged_clear_parts);
}

fn damaged_clear_parts() {
    let mut random = Random::fresh();
    let mut writer = ClearPartWriter::new(&clear_schema()).unwrap();
    writer.push(&clear_rows(0, 50)).unwrap();
    let part = writer.finish().unwrap();
    let column = |name: &str, kind: &str| ClearColumn { name: name.to_owned(), arrow_type: kind.to_owned() };
    let manifest =
        Manifest { clear_columns: vec![column("ward", "Utf8"), column("year", "Int64")], ..manifest() };
    let entry = PartEntry { clear: Some(part.file), encrypted: None, ..entry(&part) };
    let mut refused = 0;
    for _ in 0..4000 {
        let mut bytes = part.bytes.to_vec();
        let at = random.below(bytes.len());
        bytes[at] ^= 1 << random.below(8);
        let source = PartSource::from_memory(bytes);
        let result = ClearPart::open(source, &manifest, &entry).and_then(|part| part.read(&[0, 1]));
        refused += usize::from(result.is_err());
    }
    assert!(refused > 1000, "{refused} refused, seed {}", random.seed);
}
