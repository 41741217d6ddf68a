// SPDX-License-Identifier: Apache-2.0
//! One run over a table beside runs over some of its parts each, whose partial answers are combined:
//! `cargo bench -p hush-exec --bench partial`.
//!
//! A table of 2^24 rows in 32 parts, with one encrypted column of 64 bits in the layout `sum`, in a directory. Both ways take turns
//! on the same threads. A row says the medians of their time, of the processor time of all threads, and the ratio of the
//! latter, which other programs on the machine disturb less. Sums of whole parts are not kept. Each combined answer is compared with that
//! of the one run, byte by byte. `ROWS`, `TURNS` and `THREADS` in the environment change the sizes.

#![allow(clippy::print_stdout, reason = "the report")]
#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use std::sync::Arc;
use std::time::Instant;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use bytes::Bytes;
use hush_exec::{Engine, Limits, PartSet, Stop, SumCache};
use hush_keys::{Encryptor, OwnerSeed, SecretKind, SumColumn};
use hush_params::preset;
use hush_plan::packing::{Packing, Sum};
use hush_plan::plan::{
    AggregateTask, EncryptedSum, Mask, PLAN_FORMAT, Predicate, RowsTask, ServerPlan, Task,
};
use hush_plan::{Encoding, EncodingId};
use hush_ring::{Cpu, Ring};
use hush_schemes::Values;
use hush_table::manifest::{BODY_FORMAT, DeviceRules, Lengths};
use hush_table::part::{ClearPartWriter, EncryptedPartWriter};
use hush_table::{
    CHUNK_ROWS, ClearColumn, EncodedChunk, EncryptionId, Manifest, PartEntry, SignedManifest, TableId,
    TableStore,
};
use rayon::prelude::*;

const PARTS: usize = 32;
const SET: &str = "n12_q2x46_sec128_v1";
const T_LOG2: u32 = 71;

fn main() {
    let number = |name: &str, default: usize| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (rows, turns) = (number("ROWS", 1 << 24), number("TURNS", 5));
    let threads = number("THREADS", std::thread::available_parallelism().map_or(1, usize::from));
    let directory = tempfile::tempdir().unwrap();
    let (store, signed) = encrypt(directory.path(), rows);
    let engine = Engine::for_table(store, threads, Limits::default()).unwrap().with_sums(SumCache::new(0));
    println!("{rows} rows, {PARTS} parts, {threads} threads, medians of {turns} turns");
    println!(
        "{:<26} {:>5} {:>19} {:>19} {:>7}",
        "task", "runs", "one run: ms, cpu ms", "combined: ms, cpu", "cpu"
    );
    for (name, predicate, task) in tasks() {
        let plan = ServerPlan {
            format: PLAN_FORMAT,
            table: "t".to_owned(),
            manifest: signed.digest().to_string(),
            predicate: predicate.map(Predicate::clear),
            task,
            max_answer_bytes: 1 << 30,
        };
        let plan = serde_json::to_vec(&plan).unwrap();
        let expected = engine.run(&plan).unwrap();
        for runs in [2, 4, 8] {
            let (mut one, mut many) = (Vec::new(), Vec::new());
            for _ in 0..turns {
                one.push(timed(|| assert!(engine.run(&plan).unwrap() == expected)));
                many.push(timed(|| assert!(combined(&engine, &plan, runs) == expected)));
            }
            let [(one_ms, one_cpu), (many_ms, many_cpu)] = [one, many].map(medians);
            let ratio = many_cpu / one_cpu;
            println!(
                "{name:<26} {runs:>5} {one_ms:>9.1} {one_cpu:>9.1} {many_ms:>9.1} {many_cpu:>9.1} {ratio:>7.3}"
            );
        }
    }
}

/// The answer from so many runs over neighbouring parts.
fn combined(engine: &Engine, plan: &[u8], runs: usize) -> Vec<u8> {
    let stop = Arc::new(Stop::never());
    let mut combiner = engine.combiner(plan, &stop).unwrap();
    for run in 0..runs {
        let parts = (run * PARTS / runs) as u32..((run + 1) * PARTS / runs) as u32;
        combiner.push(&engine.run_parts(plan, &PartSet::from(parts), &stop).unwrap()).unwrap();
    }
    combiner.finish().unwrap()
}

/// Milliseconds that some work takes, and those of the processor on all threads.
fn timed(work: impl FnOnce()) -> (f64, f64) {
    let (begun, cpu) = (Instant::now(), cpu_ms());
    work();
    (begun.elapsed().as_secs_f64() * 1e3, cpu_ms() - cpu)
}

/// Milliseconds that the threads of this process have run; 0 on systems that do not tell.
fn cpu_ms() -> f64 {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let ran = |path: std::path::PathBuf| -> Option<f64> {
        std::fs::read_to_string(path).ok()?.split_whitespace().next()?.parse().ok()
    };
    threads.filter_map(|thread| ran(thread.path().join("schedstat"))).sum::<f64>() / 1e6
}

fn medians(times: Vec<(f64, f64)>) -> (f64, f64) {
    let median = |of: fn(&(f64, f64)) -> f64| {
        let mut times: Vec<f64> = times.iter().map(of).collect();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    (median(|time| time.0), median(|time| time.1))
}

fn tasks() -> [(&'static str, Option<&'static str>, Task); 4] {
    let sum = |keys: &[&str], clear: &[&str]| {
        Task::Aggregate(AggregateTask {
            keys: keys.iter().map(|key| (*key).to_owned()).collect(),
            clear: ["COUNT(*)"].iter().chain(clear).map(|text| (*text).to_owned()).collect(),
            masks: vec![Mask { condition: None, weight: None }],
            sums: vec![EncryptedSum { mask: 0, column: EncodingId(0) }],
            max_groups: 1000,
        })
    };
    let rows = Task::Rows(RowsTask {
        clear: vec!["\"n\"".to_owned()],
        operands: Vec::new(),
        programs: Vec::new(),
        fetch: vec![EncodingId(0)],
        program_bits: Vec::new(),
        fetch_bits: vec![Some(40)],
        sealed: vec![],
        operand_limit_log2: 0,
        cube: None,
        run: None,
        limit: None,
    });
    [
        ("sum of those that match", Some("\"n\" % 7 < 3"), sum(&[], &[])),
        (
            "sum by 10 groups",
            None,
            sum(&["\"n\" % 10"], &["SUM(CAST(\"n\" AS DECIMAL(38,0)))", "MIN(\"n\")"]),
        ),
        ("sum by 100 groups", None, sum(&["\"n\" % 100"], &[])),
        ("rows that match", Some("\"n\" % 7 < 3"), rows),
    ]
}

fn encrypt(directory: &std::path::Path, rows: usize) -> (TableStore, SignedManifest) {
    let seed = OwnerSeed::generate().unwrap();
    let store = TableStore::local(directory).unwrap();
    let (table_id, encryption) = (TableId::from_bytes([7; 16]), EncryptionId::from_bytes([8; 16]));
    let ring = Ring::new(preset(SET).unwrap(), Cpu::detect().unwrap()).unwrap();
    let secret = seed.of_table([7; 16], [8; 16]).secret(SecretKind::Sum, &ring, [1; 16]);
    let encode = |index: u32, numbers: &[i64]| {
        let mut encryptor = Encryptor::new();
        let mut chunk = encryptor.begin_chunk(index, numbers.len()).unwrap();
        let column = SumColumn { column: 0, secret: &secret, t_log2: T_LOG2, values: Values::I64(numbers) };
        let encoded = chunk.encrypt_sum(&ring, &[column]).unwrap();
        EncodedChunk {
            index,
            rows: numbers.len() as u32,
            seed: chunk.seed().to_bytes(),
            encoded: encoded.into_iter().map(Bytes::from).collect(),
            sealed: Vec::new(),
        }
    };
    let batch = |numbers: &[i64]| {
        let column: ArrayRef = Arc::new(Int64Array::from(numbers.to_vec()));
        RecordBatch::try_from_iter_with_nullable([("n", column, true)]).unwrap()
    };
    let numbers: Vec<i64> = (0..rows as i64).map(|row| row.wrapping_mul(0x9e37_79b9) % 1_000_003).collect();
    let (mut parts, mut first) = (Vec::new(), 0_u32);
    for numbers in numbers.chunks(rows.div_ceil(PARTS).next_multiple_of(CHUNK_ROWS as usize)) {
        let mut encrypted = EncryptedPartWriter::new(&[EncodingId(0)], &[], first);
        let mut clear = ClearPartWriter::new(&batch(&[]).schema()).unwrap();
        let chunks = numbers.par_chunks(CHUNK_ROWS as usize).enumerate();
        let encoded: Vec<_> = chunks.map(|(index, numbers)| encode(first + index as u32, numbers)).collect();
        let count = encoded.len() as u32;
        for (chunk, numbers) in encoded.into_iter().zip(numbers.chunks(CHUNK_ROWS as usize)) {
            encrypted.push(chunk).unwrap();
            clear.push(&batch(numbers)).unwrap();
        }
        let (encrypted, clear) = (encrypted.finish().unwrap(), clear.finish().unwrap());
        store.put_part(&encrypted).unwrap();
        store.put_part(&clear).unwrap();
        parts.push(PartEntry {
            rows: numbers.len() as u64,
            chunks: count,
            clear: Some(clear.file),
            encrypted: Some(encrypted.file),
            delivery: None,
            append: None,
            first_chunk: None,
            dead: None,
            cubes: None,
            runs: None,
            domain: 0,
            generation: 0,
        });
        first += count;
    }
    let packing = Packing::Sum(Sum { t_log2: T_LOG2 });
    let schema = batch(&[]).schema();
    let manifest = Manifest {
        format: BODY_FORMAT,
        table: "t".to_owned(),
        table_id,
        encryption,
        domain: 0,
        earlier: Vec::new(),
        rotating: false,
        version: 1,
        key_id: seed.key_id().to_string(),
        predecessors: Vec::new(),
        rows: rows as u64,
        chunk_rows: CHUNK_ROWS,
        clear_columns: vec![ClearColumn::new("n", schema.field(0).data_type()).unwrap()],
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
