// SPDX-License-Identifier: Apache-2.0
//! Combining streams: the memory of a combination is that of the answer, however many partial answers come.
//!
//! The kernel's high water of the process's resident memory is reset before the combination. In a binary of its own, so that no other test
//! is measured. Linux alone; elsewhere it measures nothing.

#![allow(clippy::print_stderr, reason = "says that nothing is measured, and what was")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use bytes::Bytes;
use hush_exec::answer::{Answer, CHECKSUM_BYTES, EncryptedHalf};
use hush_exec::{Engine, Limits, PartSet, Stop};
use hush_keys::{Encryptor, OwnerSeed, SecretKind, SumColumn};
use hush_params::preset;
use hush_plan::packing::{Packing, Sum};
use hush_plan::plan::{AggregateTask, EncryptedSum, Mask, PLAN_FORMAT, ServerPlan, Task};
use hush_plan::{Encoding, EncodingId};
use hush_ring::{Cpu, Ring};
use hush_schemes::Values;
use hush_table::manifest::{BODY_FORMAT, DeviceRules, Lengths};
use hush_table::part::{ClearPartWriter, EncryptedPartWriter};
use hush_table::{
    CHUNK_ROWS, ClearColumn, Digest, EncodedChunk, EncryptionId, Manifest, PartEntry, SignedManifest,
    TableId, TableStore,
};

const PARTS: u32 = 1000;
const GROUPS: i64 = 100;
const LIMIT_BYTES: u64 = 200_000_000;
const SET: &str = "n12_q2x46_sec128_v1";
const T_LOG2: u32 = 71;

/// A kilobyte figure of the kernel about this process, in bytes.
fn status(field: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.trim_start_matches(':').split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1024)
}

/// 1000 partial answers of 100 groups, 4.7 MB each.
#[test]
fn a_thousand_partial_answers_of_a_hundred_groups_take_less_than_200_mb() {
    let (store, signed) = table();
    let engine = Engine::for_table(store, 2, Limits::default()).unwrap();
    let plan = ServerPlan {
        format: PLAN_FORMAT,
        table: "t".to_owned(),
        manifest: signed.digest().to_string(),
        predicate: None,
        task: Task::Aggregate(AggregateTask {
            keys: vec!["\"n\"".to_owned()],
            clear: vec!["COUNT(*)".to_owned(), "MIN(\"n\")".to_owned()],
            masks: vec![Mask { condition: None, weight: None }],
            sums: vec![EncryptedSum { mask: 0, column: EncodingId(0) }],
            max_groups: 1000,
        }),
        max_answer_bytes: 1 << 30,
    };
    let plan = serde_json::to_vec(&plan).unwrap();
    let stop = Arc::new(Stop::never());
    // All parts have the same rows, so that one partial answer stands for all, under the number of each.
    let mut partial = engine.run_parts(&plan, &PartSet::from(0..1), &stop).unwrap();
    assert!(partial.len() > 4_600_000);
    if std::fs::write("/proc/self/clear_refs", "5").is_err() {
        eprintln!("nothing is measured: this system resets no high water");
    }
    let before = status("VmRSS");
    let mut combiner = engine.combiner(&plan, &stop).unwrap();
    for part in 0..PARTS {
        partial[128..132].copy_from_slice(&part.to_le_bytes());
        partial[132..136].copy_from_slice(&(part + 1).to_le_bytes());
        let end = partial.len() - CHECKSUM_BYTES;
        let checksum = Digest::of(&partial[..end]);
        partial[end..].copy_from_slice(checksum.as_bytes());
        combiner.push(&partial).unwrap();
    }
    let answer = combiner.finish().unwrap();
    if let (Some(before), Some(peak)) = (before, status("VmHWM")) {
        let taken = peak.saturating_sub(before);
        eprintln!(
            "{} MB beside {} MB before, an answer of {} MB",
            taken / 1_000_000,
            before / 1_000_000,
            answer.len() / 1_000_000
        );
        assert!(taken < LIMIT_BYTES, "{taken} bytes");
    }
    let answer = Answer::decode(&answer, u64::MAX).unwrap();
    let counts = answer.clear(1 << 20).unwrap().column(1).clone();
    let expected: ArrayRef = Arc::new(Int64Array::from(vec![i64::from(PARTS); GROUPS as usize]));
    assert_eq!(&counts, &expected);
    let EncryptedHalf::Aggregate(sums) = answer.encrypted else { panic!() };
    assert_eq!(sums.group_count, GROUPS as u32);
}

/// A table of a thousand parts of 100 equal rows.
fn table() -> (TableStore, SignedManifest) {
    let seed = OwnerSeed::generate().unwrap();
    let store = TableStore::memory();
    let ring = Ring::new(preset(SET).unwrap(), Cpu::detect().unwrap()).unwrap();
    let secret = seed.of_table([7; 16], [8; 16]).secret(SecretKind::Sum, &ring, [1; 16]);
    let numbers: Vec<i64> = (0..GROUPS).collect();
    let column: ArrayRef = Arc::new(Int64Array::from(numbers.clone()));
    let batch = RecordBatch::try_from_iter_with_nullable([("n", column, true)]).unwrap();
    let mut clear = ClearPartWriter::new(&batch.schema()).unwrap();
    clear.push(&batch).unwrap();
    let clear = clear.finish().unwrap();
    store.put_part(&clear).unwrap();
    let mut encryptor = Encryptor::new();
    let parts = (0..PARTS).map(|index| {
        let mut chunk = encryptor.begin_chunk(index, numbers.len()).unwrap();
        let column = SumColumn { column: 0, secret: &secret, t_log2: T_LOG2, values: Values::I64(&numbers) };
        let encoded = chunk.encrypt_sum(&ring, &[column]).unwrap().into_iter().map(Bytes::from).collect();
        let (rows, seed) = (numbers.len() as u32, chunk.seed().to_bytes());
        let mut encrypted = EncryptedPartWriter::new(&[EncodingId(0)], &[], index);
        encrypted.push(EncodedChunk { index, rows, seed, encoded, sealed: Vec::new() }).unwrap();
        let encrypted = encrypted.finish().unwrap();
        store.put_part(&encrypted).unwrap();
        let (clear, encrypted) = (Some(clear.file), Some(encrypted.file));
        PartEntry {
            rows: u64::from(rows),
            chunks: 1,
            clear,
            encrypted,
            delivery: None,
            append: None,
            first_chunk: None,
            dead: None,
            cubes: None,
            runs: None,
            domain: 0,
            generation: 0,
        }
    });
    let parts = parts.collect();
    let packing = Packing::Sum(Sum { t_log2: T_LOG2 });
    let manifest = Manifest {
        format: BODY_FORMAT,
        table: "t".to_owned(),
        table_id: TableId::from_bytes([7; 16]),
        encryption: EncryptionId::from_bytes([8; 16]),
        domain: 0,
        earlier: Vec::new(),
        rotating: false,
        version: 1,
        key_id: seed.key_id().to_string(),
        predecessors: Vec::new(),
        rows: GROUPS as u64 * u64::from(PARTS),
        chunk_rows: CHUNK_ROWS,
        clear_columns: vec![ClearColumn::new("n", batch.schema().field(0).data_type()).unwrap()],
        encodings: vec![Encoding { id: EncodingId(0), params: SET.to_owned(), packing }],
        sealed_columns: 0,
        unsealed: Vec::new(),
        generation: 0,
        generations: Vec::new(),
        parts,
        devices: DeviceRules::default(),
        chains: Vec::new(),
        keys: Vec::new(),
        zones: None,
        batches: Vec::new(),
        changes: Vec::new(),
        lengths: Lengths::default(),
        sealed_roots: Vec::new(),
        sealed_schema: Vec::new(),
    };
    let key = seed.verifying_key().to_bytes();
    let signed = SignedManifest::sign(manifest, &key, |message| seed.sign(message)).unwrap();
    store.commit(&signed).unwrap();
    (store, signed)
}
