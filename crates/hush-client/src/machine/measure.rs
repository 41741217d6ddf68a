// SPDX-License-Identifier: Apache-2.0
//! Measuring the unit costs: medians of several runs on one thread, about two seconds in all.
//!
//! Inner loops are measured by themselves. What the query engine and the reading of files cost is measured on a small
//! table in memory, as what is left of a query's time when the inner loops are taken away.

use std::hint::black_box;
use std::io::Write;
use std::time::Instant;

use hush_exec::noop::Scheme;
use hush_keys::{OwnerSeed, decrypt_sum};
use hush_params::preset;
use hush_plan::predict::{MachineProfile, PROFILE_FORMAT, UnitCosts};
use hush_plan::sql::parse_workload;
use hush_plan::{Protection, Schema, needs_of};
use hush_ring::{Cpu, ExpandLabel, LazyMac, Ring, UniformSeed};
use hush_schemes::bgv::sum::SumAccumulator;
use hush_table::TableStore;
use hush_table::source::{OpenOptions, Source};

use super::now;
use crate::account::peak_resident_bytes;
use crate::columns::kernels;
use crate::encrypt::{Encryption, plan_encodings};
use crate::error::ClientError;
use crate::pins::Pins;
use crate::policy::{Policy, propose_schema};
use crate::private::PrivateHalf;
use crate::progress::Silent;
use crate::rehearse::thread_pool;
use crate::table::OwnedTable;

/// Runs behind each median.
const RUNS: usize = 7;
/// Repetitions within a run of an inner loop, so that it is long beside the clock's step.
const LOOPS: usize = 32;
/// Ring of the inner loops: that of most sums.
const RING: &str = "n12_q2x46_sec128_v1";
/// Rows of the table: several full chunks.
const ROWS: u64 = 16 * 8192;
/// Bytes whose digest is taken.
const DIGEST_BYTES: usize = 4 << 20;
/// A query that uses every part of the server.
const QUERY: &str = "SELECT k, SUM(x) AS s FROM t WHERE y >= 0 GROUP BY k";
/// The same without encrypted columns.
const CLEAR_QUERY: &str = "SELECT k, SUM(y) AS s FROM t WHERE y >= 0 GROUP BY k";

/// Measures this machine.
///
/// # Errors
/// Those of making a table in memory and asking it.
pub fn calibrate() -> Result<MachineProfile, ClientError> {
    let directory = tempfile::tempdir()?;
    let table = |rows: u64| -> Result<OwnedTable, ClientError> {
        let path = directory.path().join(format!("{rows}/t.csv"));
        example(&path, rows)
    };
    let (small, large) = (table(1)?, table(ROWS)?);
    let (query, owner_query) = asked(&small, CLEAR_QUERY)?;
    let base_memory_bytes = peak_resident_bytes().unwrap_or(MachineProfile::built_in().base_memory_bytes);
    let mut units = loops()?;
    (units.query, units.owner_query) = (query, owner_query);
    let profile = |units| MachineProfile {
        format: PROFILE_FORMAT,
        measured_at: Some(now()),
        kernels: String::new(),
        units,
        base_memory_bytes,
    };
    // With the cost of a cell at nothing, the prediction is what all else takes.
    let (whole, _) = asked(&large, QUERY)?;
    let prediction = large.predict(&large.plan(QUERY)?, 8, 1)?;
    let others = profile(units).times(&prediction).server_s;
    let cells = prediction.work.clear_cells.max(1) as f64;
    let (clear, _) = asked(&large, CLEAR_QUERY)?;
    let clear_cells = large.predict(&large.plan(CLEAR_QUERY)?, 8, 1)?.work.clear_cells.max(1) as f64;
    // Noise can make either difference negative; the larger is the better witness.
    units.clear_cell = ((whole - others) / cells).max((clear - query) / clear_cells).max(1e-12);
    Ok(MachineProfile { kernels: kernels()?.0, ..profile(units) })
}

/// A table in memory: `k` and `y` clear, `x` encrypted.
fn example(path: &std::path::Path, rows: u64) -> Result<OwnedTable, ClientError> {
    std::fs::create_dir_all(path.parent().unwrap_or(path))?;
    let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
    writeln!(file, "k,y,x")?;
    for row in 0..rows {
        writeln!(file, "{},{},{}", row % 8, row % 1000, row * 7919 % 100_000)?;
    }
    file.into_inner().map_err(std::io::IntoInnerError::into_error)?;
    let source = Source::open(path, &OpenOptions::default())?;
    let policy = Policy { sensitive: Some(vec!["x".to_owned()]), clear: Vec::new() };
    let mut schema: Schema = propose_schema(&source, &policy)?.schema;
    schema.columns.iter_mut().for_each(|column| {
        if column.name != "x" {
            column.protect = Protection::Clear;
        }
    });
    (schema.max_rows, schema.approved) = (rows, true);
    let needs = needs_of(&schema, &parse_workload(&schema, QUERY)?)?;
    let encodings = plan_encodings(&schema, &needs, rows)?;
    let half = PrivateHalf { schema, encodings };
    let (owner, store, pool) = (OwnerSeed::generate()?, TableStore::memory(), thread_pool(2)?);
    Encryption {
        source: &source,
        half: &half,
        owner: &owner,
        store: &store,
        pool: &pool,
        scheme: Scheme::Lattice,
    }
    .run(&Silent)?;
    OwnedTable::open_store(&store, &owner, &Pins::forgetful(), 1)
}

/// Medians of the server's and the owner's time for a query.
fn asked(table: &OwnedTable, sql: &str) -> Result<(f64, f64), ClientError> {
    let (mut server, mut owner) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let outcome = table.ask(sql, &Silent)?;
        server.push(outcome.phases.of("server"));
        owner.push(outcome.phases.of("decrypt"));
    }
    Ok((median(server), median(owner)))
}

/// The inner loops.
fn loops() -> Result<UnitCosts, ClientError> {
    let cpu = Cpu::detect().map_err(|source| ClientError::Cpu { source })?;
    let ring = Ring::new(preset(RING)?, cpu)?;
    let (degree, limbs) = (ring.degree(), ring.limb_count());
    let residues = (degree * limbs) as f64;
    let seed = UniformSeed::from_bytes([7; 32]);
    let mut a = vec![0; ring.poly_words()];
    let expanded = timed(|| seed.expand_into(&ring, ExpandLabel::sum(0), &mut a)) / residues;
    let mut b = a.clone();
    let butterflies = residues / 2.0 * f64::from(degree.ilog2());
    let butterfly = timed(|| {
        for (limb, words) in ring.limbs().iter().zip(b.chunks_exact_mut(degree)) {
            limb.forward(words);
        }
    }) / butterflies;
    let mut sum = LazyMac::new(&ring);
    let product = timed(|| sum.mul_add(&a, &b)) / residues;
    black_box(sum.finish());
    let unpacked = {
        let mut packed = vec![0; ring.limb_bytes()];
        let mut words = vec![0; degree];
        let limbs_timed = timed(|| {
            for (limb, row) in ring.limbs().iter().zip(a.chunks_exact(degree)) {
                limb.pack(row, &mut packed);
                limb.unpack(&packed, &mut words);
            }
        });
        black_box(&words);
        // Packing costs about as much as unpacking.
        limbs_timed / 2.0 / residues
    };
    let secret = OwnerSeed::generate()?.column_secret(&ring, [1; 16]);
    let answers = SumAccumulator::new(&ring, 1, 1).finish();
    let answers = answers.map_err(|_| ClientError::Internal { what: "an empty sum does not end" })?;
    let answer = answers.first().ok_or(ClientError::Internal { what: "an empty sum has no answer" })?;
    let owner_product = timed(|| black_box(decrypt_sum(&secret, answer, 0, 40)).is_ok()) / residues;
    let mut lifted = vec![0; limbs];
    let owner_decoded = timed(|| {
        for place in 0..degree {
            for (residue, row) in lifted.iter_mut().zip(a.chunks_exact(degree)) {
                *residue = row[place];
            }
            black_box(ring.crt().lift_centered(&lifted));
        }
    }) / degree as f64;
    let bytes = vec![7_u8; DIGEST_BYTES];
    let started = |_| {
        let start = Instant::now();
        black_box(blake3::hash(&bytes));
        start.elapsed().as_secs_f64()
    };
    let byte_read = median((0..RUNS).map(started).collect()) / DIGEST_BYTES as f64;
    Ok(UnitCosts {
        query: 0.0,
        clear_cell: 0.0,
        byte_read,
        expanded,
        butterfly,
        product,
        unpacked,
        owner_product,
        owner_decoded,
        owner_query: 0.0,
    })
}

/// Median seconds of one call.
fn timed<T>(mut work: impl FnMut() -> T) -> f64 {
    let mut run = || {
        let start = Instant::now();
        for _ in 0..LOOPS {
            black_box(work());
        }
        start.elapsed().as_secs_f64() / LOOPS as f64
    };
    run();
    median((0..RUNS).map(|_| run()).collect())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
