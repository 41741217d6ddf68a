// SPDX-License-Identifier: Apache-2.0

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema};
use hush_params::preset;
use hush_plan::EncodingId;

use super::*;

fn head() -> AnswerHead {
    let (manifest, plan) = (Digest::of(b"manifest"), Digest::of(b"plan"));
    AnswerHead { manifest, plan, max_bytes: 1 << 20, parts: None }
}

/// The head of a partial answer over two ranges of parts.
fn partial_head() -> AnswerHead {
    AnswerHead { parts: Some(PartSet::from_iter([2..5, 7..8])), ..head() }
}

fn batch(rows: usize) -> RecordBatch {
    let numbers = Int64Array::from_iter_values(0..rows as i64);
    RecordBatch::try_from_iter([("c0", Arc::new(numbers) as ArrayRef)]).unwrap()
}

/// Four matching rows.
fn matching() -> RecordBatch {
    let numbers = UInt64Array::from(vec![1, 4, 5, 9]);
    let row = Field::new("row", DataType::UInt64, false);
    let fields: Vec<_> =
        std::iter::once(Arc::new(row)).chain(batch(4).schema().fields().iter().cloned()).collect();
    let others = batch(4);
    let columns = std::iter::once(Arc::new(numbers) as ArrayRef).chain(others.columns().iter().cloned());
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.collect()).unwrap()
}

fn aggregate_answer() -> Vec<u8> {
    aggregate_under(&head())
}

fn aggregate_under(head: &AnswerHead) -> Vec<u8> {
    let block = |mask, columns: &[u32]| SumBlock {
        without: Vec::new(),
        domain: 0,
        mask,
        set: preset("n11_q1x46_sec128_v1").unwrap(),
        columns: columns.iter().copied().map(EncodingId).collect(),
    };
    let objects = |byte: u8, length: usize| (0..3).map(|group| vec![byte + group; length]).collect();
    let blocks = [(block(0, &[1, 2]), objects(10, 20)), (block(1, &[5]), objects(40, 7))];
    encode_aggregate(head, &write_clear(&batch(3)).unwrap(), 3, &blocks).unwrap()
}

fn rows_answer() -> Vec<u8> {
    rows_under(&head())
}

fn rows_under(head: &AnswerHead) -> Vec<u8> {
    let chunk = |chunk: u32| RowsChunkParts {
        chunk,
        rows: 100 + chunk,
        seed: [chunk as u8; 32],
        objects: vec![vec![1; 5], vec![2; 6], vec![3; 7]],
    };
    encode_rows(
        head,
        &write_matching(&matching()).unwrap(),
        (2, 1),
        &[chunk(2), chunk(9)],
        &Section::default(),
    )
    .unwrap()
}

fn products_under(head: &AnswerHead) -> Vec<u8> {
    let runs = [(0, vec![vec![1; 5], vec![2; 6]]), (3, vec![vec![3; 5], vec![4; 6]])];
    encode_products(head, 2, None, &runs).unwrap()
}

/// Repairs the checksum, so that the bytes behind it are parsed.
fn resealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = bytes.len() - CHECKSUM_BYTES;
    let checksum = Digest::of(&bytes[..end]);
    bytes[end..].copy_from_slice(checksum.as_bytes());
    bytes
}

#[test]
fn aggregate_answers_round_trip() {
    let bytes = aggregate_answer();
    let answer = Answer::decode(&bytes, 1 << 20).unwrap();
    answer.expect(Digest::of(b"manifest"), Digest::of(b"plan")).unwrap();
    assert_eq!(answer.clear(1 << 20).unwrap(), batch(3));
    let EncryptedHalf::Aggregate(sums) = &answer.encrypted else { panic!() };
    assert_eq!((sums.group_count, sums.blocks.len()), (3, 2));
    let [first, second] = sums.blocks[..] else { panic!() };
    assert_eq!((first.mask, first.param_code, first.body_count), (0, 1, 2));
    assert_eq!((first.object(1), second.object(2)), (Some([11; 20].as_slice()), Some([42; 7].as_slice())));
    assert_eq!(second.object(3), None);
}

#[test]
fn rows_answers_round_trip() {
    let bytes = rows_answer();
    let answer = Answer::decode(&bytes, 1 << 20).unwrap();
    let EncryptedHalf::Rows(chunks) = &answer.encrypted else { panic!() };
    assert_eq!(
        chunks.iter().map(|chunk| (chunk.chunk, chunk.rows)).collect::<Vec<_>>(),
        [(2, 102), (9, 109)]
    );
    assert_eq!(chunks[1].seed, [9; 32]);
    assert_eq!(chunks[1].programs, [[1; 5].as_slice(), &[2; 6]]);
    assert_eq!(chunks[1].fetched, [[3; 7].as_slice()]);
    assert_eq!((answer.clear(10).unwrap(), answer.clear_rows(10)), (matching(), Ok(4)));
    // Rows 1, 4, 5 and 9.
    assert_eq!(answer.clear(9), Err(AnswerError::Clear));
}

#[test]
fn products_answers_round_trip_and_have_no_clear_half() {
    let bytes = products_under(&head());
    assert_eq!(bytes.len() as u64, products_overhead(2, 2, 0) + 22);
    assert_eq!(products_under(&partial_head()).len() as u64, products_overhead(2, 2, 2) + 22);
    let answer = Answer::decode(&bytes, 1 << 20).unwrap();
    let EncryptedHalf::Products(found) = &answer.encrypted else { panic!() };
    assert_eq!(found.runs.iter().map(|run| run.number).collect::<Vec<_>>(), [0, 3]);
    assert_eq!(found.runs[1].objects, [[3; 5].as_slice(), &[4; 6]]);
    assert_eq!((answer.clear(9).unwrap().num_columns(), answer.clear_rows(9)), (0, Ok(0)));
    assert_eq!(answer.matching(9).map(drop), Err(AnswerError::Clear));
    let with = |at: usize, new: &[u8]| {
        let mut bytes = bytes.clone();
        bytes[at..at + new.len()].copy_from_slice(new);
        Answer::decode(&resealed(bytes), 1 << 20).map(drop)
    };
    // An earlier version, a second count, runs that do not rise, other lengths; then other counts.
    for (at, new) in [(8, 1), (20, 1), (128, 3), (140, 0)] {
        assert_eq!(with(at, &[new]), Err(AnswerError::Field), "byte {at}");
    }
    for (at, new) in [(132, 6), (144, 4), (12, 1), (12, 3), (16, 1), (16, 3)] {
        assert!(matches!(with(at, &[new]), Err(AnswerError::Length { .. })), "byte {at}");
    }
    assert!(with(12, &[0xff; 8]).is_err());
    // A clear half says that there are groups: this one has none, and what stands there are not their keys.
    let clear = assembled_with_clear();
    assert_eq!(Answer::decode(&clear, 1 << 20).unwrap().clear(1 << 20), Err(AnswerError::Clear));
    let error = encode_products(&head(), 1, None, &[(0, Vec::new())]).unwrap_err();
    assert_eq!(error.code(), "HUSH-E099");
}

/// A rows answer without chunks that says it is of products.
fn assembled_with_clear() -> Vec<u8> {
    let clear = write_matching(&matching()).unwrap();
    let mut bytes = encode_rows(&head(), &clear, (0, 0), &[], &Section::default()).unwrap();
    bytes[10] = 5;
    resealed(bytes)
}

/// An answer, or a partial one.
fn decode_either(bytes: &[u8]) -> Result<Answer<'_>, AnswerError> {
    let partial = || PartialAnswer::decode(bytes, 1 << 20).map(|partial| partial.answer);
    Answer::decode(bytes, 1 << 20).or_else(|_| partial())
}

#[test]
fn partial_answers_round_trip_and_are_told_from_whole_ones() {
    for (whole, partial) in
        [(aggregate_answer(), aggregate_under(&partial_head())), (rows_answer(), rows_under(&partial_head()))]
    {
        let read = PartialAnswer::decode(&partial, 1 << 20).unwrap();
        assert_eq!(read.parts.ranges(), [2..5, 7..8]);
        // All but head, ranges and checksum is that of the whole answer.
        assert_eq!(partial[128 + 2 * RANGE_BYTES..partial.len() - 32], whole[128..whole.len() - 32]);
        assert_eq!(
            read.answer.clear(1 << 20).unwrap(),
            Answer::decode(&whole, 1 << 20).unwrap().clear(1 << 20).unwrap()
        );
        let code = |error: AnswerError| error.code();
        assert_eq!(Answer::decode(&partial, 1 << 20).map_err(code).err(), Some("HUSH-E089"));
        assert_eq!(PartialAnswer::decode(&whole, 1 << 20).map_err(code).err(), Some("HUSH-E089"));
        let nothing = AnswerHead { parts: Some(PartSet::default()), ..head() };
        let bytes = rows_under(&nothing);
        assert!(PartialAnswer::decode(&bytes, 1 << 20).unwrap().parts.is_empty());
        // Another spelling of the same parts, and parts that are none.
        for ranges in [[2, 4, 4, 5], [2, 5, 2, 8], [7, 8, 2, 5], [2, 2, 7, 8], [5, 2, 7, 8]] {
            let mut bad = partial.clone();
            for (place, value) in ranges.iter().enumerate() {
                bad[128 + 4 * place..][..4].copy_from_slice(&u32::to_le_bytes(*value));
            }
            let bad = resealed(bad);
            assert_eq!(PartialAnswer::decode(&bad, 1 << 20).map_err(code).err(), Some("HUSH-E090"));
        }
    }
}

#[test]
fn other_digests_are_noticed() {
    let bytes = rows_answer();
    let answer = Answer::decode(&bytes, 1 << 20).unwrap();
    let (manifest, plan) = (Digest::of(b"manifest"), Digest::of(b"plan"));
    assert_eq!(answer.expect(plan, plan), Err(AnswerError::OtherManifest { found: manifest }));
    assert_eq!(answer.expect(manifest, manifest), Err(AnswerError::OtherPlan));
}

#[test]
fn the_limit_holds_for_writing_and_reading() {
    let clear = write_clear(&batch(1)).unwrap();
    let tight = AnswerHead { max_bytes: 200, ..head() };
    let error = encode_aggregate(&tight, &clear, 1, &[]).unwrap_err();
    assert_eq!(error.code(), "HUSH-E041");
    let bytes = aggregate_answer();
    let limit = bytes.len() as u64 - 1;
    assert_eq!(Answer::decode(&bytes, limit).unwrap_err(), AnswerError::TooLarge { found: limit + 1, limit });
}

#[test]
fn every_truncation_and_every_flipped_byte_is_refused() {
    let products = [products_under(&head()), products_under(&partial_head())];
    let others = [aggregate_answer(), rows_answer(), aggregate_under(&partial_head())];
    for bytes in others.into_iter().chain(products) {
        let refused = |bytes: &[u8]| decode_either(bytes).is_err();
        for length in 0..bytes.len() {
            assert!(refused(&bytes[..length]), "{length} bytes");
        }
        for at in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[at] ^= 0x40;
            assert!(refused(&bad), "byte {at}");
        }
    }
}

#[test]
fn lying_heads_and_directories_neither_panic_nor_pass() {
    let partial =
        [aggregate_under(&partial_head()), rows_under(&partial_head()), products_under(&partial_head())];
    for bytes in [aggregate_answer(), rows_answer(), products_under(&head())].into_iter().chain(partial) {
        let directory = 128..128 + u64::from_le_bytes(bytes[40..48].try_into().unwrap()) as usize;
        for at in (8..48).chain(112..128).chain(directory) {
            for flip in [1, 0x80, 0xff] {
                let mut bad = bytes.clone();
                bad[at] ^= flip;
                let bad = resealed(bad);
                // Counts, lengths and reserved fields are caught here; masks, codes, rows and seeds are compared
                // with the plan and the manifest by the owner.
                if let Ok(answer) = decode_either(&bad) {
                    assert!(at >= 128, "head byte {at}");
                    let _ = answer.clear(1 << 20);
                }
            }
        }
    }
}

#[test]
fn damaged_clear_halves_are_errors() {
    let bytes = aggregate_answer();
    let start = 128 + u64::from_le_bytes(bytes[40..48].try_into().unwrap()) as usize;
    let length = u64::from_le_bytes(bytes[32..40].try_into().unwrap()) as usize;
    let mut refused = 0;
    for at in start..start + length {
        for flip in [1, 0x80, 0xff] {
            let mut bad = bytes.clone();
            bad[at] ^= flip;
            let bad = resealed(bad);
            match Answer::decode(&bad, 1 << 20).unwrap().clear(1 << 20) {
                Ok(batch) => assert_eq!(batch.num_rows(), 3),
                Err(error) => {
                    assert_eq!(error, AnswerError::Clear);
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > length / 2, "{refused} of {length}");
}

/// Values under a NULL and behind the last bit are not written: batches of equal values have equal bytes.
#[test]
fn equal_values_have_equal_bytes() {
    use arrow::array::{BooleanArray, StringArray};
    use arrow::buffer::NullBuffer;
    let nulls = || Some(NullBuffer::from(vec![true, false, true]));
    let written = |values: Vec<i64>, texts: &[&str], bits: Vec<bool>| {
        let texts = StringArray::from(texts.to_vec());
        let texts = StringArray::new(texts.offsets().clone(), texts.values().clone(), nulls());
        // Three bits of a longer buffer.
        let bits = BooleanArray::from(bits).slice(1, 3);
        let columns: [(&str, ArrayRef, bool); 3] = [
            ("c0", Arc::new(Int64Array::new(values.into(), nulls())), true),
            ("c1", Arc::new(texts), true),
            ("c2", Arc::new(bits), false),
        ];
        write_clear(&RecordBatch::try_from_iter_with_nullable(columns).unwrap()).unwrap()
    };
    let first = written(vec![1, 2, 3], &["a", "b", "c"], vec![false, true, false, true, true, false]);
    let second = written(vec![1, -9, 3], &["a", "other", "c"], vec![true, true, false, true, false, true]);
    assert_eq!(first, second);
    assert_ne!(first, written(vec![1, 2, 4], &["a", "b", "c"], vec![false, true, false, true]));
}

/// A clear half from a hostile server: buffers that claim sizes of their own, rows that take no bytes.
#[test]
fn clear_halves_that_claim_more_than_they_hold_are_refused() {
    use arrow::array::NullArray;
    use arrow::ipc::CompressionType;
    use arrow::ipc::writer::{IpcWriteOptions, StreamWriter};
    let written = |batch: &RecordBatch, compression| {
        let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
        let mut writer = StreamWriter::try_new_with_options(Vec::new(), &batch.schema(), options).unwrap();
        writer.write(batch).unwrap();
        writer.into_inner().unwrap()
    };
    assert_eq!(clear::read_clear(&written(&batch(1000), None), 1000).unwrap(), batch(1000));
    // Numbers that do not shrink, so that there are bytes enough for the rows.
    let mixed = Int64Array::from_iter_values((1..1000_i64).map(|n| n.wrapping_mul(0x1e37_79b9_7f4a_7c15)));
    let mixed = RecordBatch::try_from_iter([("c0", Arc::new(mixed) as ArrayRef)]).unwrap();
    assert_eq!(clear::read_clear(&written(&mixed, None), 1000).unwrap(), mixed);
    let compressed = written(&mixed, Some(CompressionType::LZ4_FRAME));
    assert!(compressed.len() / 8 > mixed.num_rows());
    assert_eq!(clear::read_clear(&compressed, 1000).unwrap_err(), AnswerError::Clear);
    let nulls: ArrayRef = Arc::new(NullArray::new(1 << 40));
    let nothing = RecordBatch::try_from_iter([("c0", nulls)]).unwrap();
    assert_eq!(clear::read_clear(&written(&nothing, None), 1000).unwrap_err(), AnswerError::Clear);
    let good = written(&batch(10), None);
    for length in 0..good.len() {
        drop(clear::read_clear(&good[..length], 1000));
    }
}
