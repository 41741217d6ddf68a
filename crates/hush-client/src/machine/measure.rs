// SPDX-License-Identifier: Apache-2.0
//! Measuring the unit costs on one thread, some ten seconds in all.
//!
//! Inner loops are measured by themselves. The cost of the query engine and of the owner's work on rows is the rest of a query's time
//! after all known costs are subtracted. The queries run on a small table in a directory, opened anew each time.

use std::hint::black_box;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use ethnum::I256;
use hush_exec::Limits;
use hush_keys::{OwnerSeed, PhaseLimit, SecretKind, decrypt_sum};
use hush_params::preset;
use hush_plan::predict::{MachineProfile, Times, UnitCosts, Work};
use hush_plan::sql::parse_workload;
use hush_plan::{ColumnType, Protection, QueryPlan, Schema, needs_of};
use hush_ring::{Cpu, ExpandLabel, LazyMac, Ring, UniformSeed};
use hush_schemes::bgv::sum::SumAccumulator;
use hush_table::source::{OpenOptions, Source};
use hush_table::{Projection, TableStore};

use super::now;
use crate::account::AnswerCounts;
use crate::account::Phases;
use crate::columns::kernels;
use crate::encrypt::{Encryption, plan_encodings};
use crate::error::ClientError;
use crate::policy::{Policy, propose_schema};
use crate::private::PrivateHalf;
use crate::scheme::Lattice;
use crate::table::OwnedTable;
use crate::threads::thread_pool;
use hush_remote::Silent;
use hush_system::memory::peak_resident_bytes;

/// Runs behind each median.
const RUNS: usize = 7;
/// Rounds of queries.
const ROUNDS: usize = 12;
/// Repetitions within a run of an inner loop, so that it is long beside the clock's step.
const LOOPS: usize = 32;
/// Ring of the inner loops: that of most sums.
const RING: &str = "n12_q2x46_sec128_v1";
/// Rows of the table: several full chunks.
const ROWS: u64 = 16 * 8192;
/// The queries that the table is made for.
const WORKLOAD: &str = "SELECT SUM(x) AS s FROM t";
/// A filter on one number.
const FILTERED: &str = "SELECT COUNT(*) AS n FROM t WHERE y >= 500";
/// A filter on one text.
const FILTERED_TEXT: &str = "SELECT COUNT(*) AS n FROM t WHERE s >= 'n5'";
/// Groups, in the engine and in masks.
const GROUPED: &str = "SELECT k, SUM(x) AS s FROM t GROUP BY k";
/// Many groups.
const MANY: &str = "SELECT s, SUM(x) AS n FROM t GROUP BY s";
/// All rows.
const BY_ROW: &str = "SELECT y, x FROM t";
/// Few rows of every chunk.
const FEW: &str = "SELECT x FROM t WHERE y = 500";
/// A window over rows.
const WINDOW: &str = "SELECT SUM(x) OVER (ORDER BY y ROWS 3 PRECEDING) AS s FROM t";

/// Measures this machine.
///
/// # Errors
/// Those of making a table in a temporary directory and asking it.
pub fn calibrate() -> Result<MachineProfile, ClientError> {
    let directory = tempfile::tempdir()?;
    let threads = hush_system::processors::count();
    let small = Example::new(directory.path(), 1)?;
    let mut first = Asked::new(&small, FILTERED, 0)?;
    let mut decrypted = Asked::new(&small, GROUPED, 0)?;
    first.once()?;
    decrypted.once()?;
    // The peak so far, before there are many rows.
    let base_memory_bytes = peak_resident_bytes().unwrap_or(MachineProfile::built_in().base_memory_bytes);
    let large = Example::new(directory.path(), ROWS)?;
    // In turns, so that other work of the machine meets all of them.
    let mut filtered = Asked::new(&large, FILTERED, 0)?;
    let mut filtered_text = Asked::new(&large, FILTERED_TEXT, 0)?;
    let mut grouped = Asked::new(&large, GROUPED, 0)?;
    let mut few = Asked::new(&large, FEW, 0)?;
    let mut by_row = Asked::new(&large, BY_ROW, 0)?;
    let mut window = Asked::new(&large, WINDOW, 0)?;
    let mut regrouped = Asked::new(&large, GROUPED, u64::MAX)?;
    let mut many = Asked::new(&large, MANY, u64::MAX)?;
    for _ in 0..ROUNDS {
        first.once()?;
        decrypted.once()?;
        filtered.once()?;
        filtered_text.once()?;
        grouped.once()?;
        few.once()?;
        by_row.once()?;
        window.once()?;
        regrouped.once()?;
        many.once()?;
    }
    let mut units = loops()?;
    (units.query, units.owner_query) = (slower(&first.server), slower(&first.owner));
    (units.byte_read, units.byte_loaded) = large.read()?;
    units.clear_cell = filtered.server_left(units, |work| work.clear_cells)?;
    units.text_cell = filtered_text.server_left(units, |work| work.text_cells)?;
    units.grouped_row = grouped.server_left(units, |work| work.grouped_rows)?;
    units.owner_decoded = few.owner_left(units, |work| work.owner_decoded)?;
    units.selected_row = by_row.server_left(units, |work| work.selected_rows)?;
    units.owner_cell = by_row.owner_left(units, |work| work.owner_cells)?;
    units.owner_windowed = window.owner_left(units, |work| work.owner_windowed)?;
    units.owner_regrouped = regrouped.owner_left(units, |work| work.owner_regrouped)?;
    units.owner_group = many.owner_left(units, |work| work.owner_groups)?;
    // The first run, as a command that has just been started makes it.
    (units.query, units.owner_query) = (earliest(&first.server), earliest(&decrypted.owner));
    let crowding = crowding(threads)?;
    let kernels = kernels()?.0;
    let threads = threads as u64;
    Ok(MachineProfile { kernels, threads, crowding, base_memory_bytes, ..alone(units) })
}

/// A profile of one thread.
fn alone(units: UnitCosts) -> MachineProfile {
    let kernels = String::new();
    MachineProfile { measured_at: Some(now()), kernels, units, ..MachineProfile::built_in() }
}

/// A table in a directory: `k`, `y` and the text `s` clear, `x` encrypted.
struct Example {
    directory: PathBuf,
    owner: OwnerSeed,
    pool: Arc<rayon::ThreadPool>,
}

impl Example {
    fn new(parent: &Path, rows: u64) -> Result<Self, ClientError> {
        let path = parent.join(format!("{rows}.csv"));
        let mut file = std::io::BufWriter::new(std::fs::File::create(&path)?);
        writeln!(file, "k,y,s,x")?;
        for row in 0..rows {
            let scattered = row * 7919 % 100_000;
            writeln!(file, "{},{},n{scattered},{scattered}", row % 8, row % 1000)?;
        }
        file.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        let source = Source::open(&path, &OpenOptions::default())?;
        let policy = Policy { sensitive: vec!["x".to_owned()], clear: Vec::new() };
        let mut schema: Schema = propose_schema(&source, &policy)?.schema;
        for column in schema.columns.iter_mut().filter(|column| column.name != "x") {
            column.protect = Protection::Clear;
            if column.name == "s" {
                column.kind = ColumnType::Text;
            }
        }
        (schema.table, schema.max_rows, schema.approved) = ("t".to_owned(), rows, true);
        let needs = needs_of(&schema, &parse_workload(&schema, WORKLOAD)?)?;
        let encodings = plan_encodings(&schema, &needs, rows)?;
        let half = PrivateHalf::new(schema, encodings);
        let directory = parent.join(format!("{rows}"));
        let (owner, store) = (OwnerSeed::generate()?, TableStore::local(&directory)?);
        let (source, half, pool) = (&source, &half, thread_pool(1)?);
        Encryption {
            source,
            half,
            owner: &owner,
            store: &store,
            pool: &pool,
            memory_limit: None,
            scheme: &Lattice,
            replaces: None,
            pins: None,
        }
        .run(&Silent)?;
        Ok(Self { directory, owner, pool })
    }

    fn store(&self) -> Result<TableStore, ClientError> {
        Ok(TableStore::local_existing(&self.directory)?)
    }

    fn open(&self) -> Result<OwnedTable, ClientError> {
        OwnedTable::open_store(&self.store()?, &self.owner, &Lattice, 1, Limits::default())
    }

    /// Seconds for each byte of the encrypted file: to compare its digest, and to take the columns out.
    fn read(&self) -> Result<(f64, f64), ClientError> {
        let (mut digest, mut load) = (Vec::new(), Vec::new());
        let signed = self.store()?.load()?;
        let manifest = signed.manifest();
        let columns = || manifest.encodings.iter().map(|encoding| encoding.id);
        for _ in 0..RUNS {
            let store = self.store()?;
            for (place, entry) in manifest.placed_parts() {
                let start = Instant::now();
                let part = store.open_encrypted(manifest, place, entry)?;
                let opened = start.elapsed().as_secs_f64();
                let rows = part.read(&Projection::encodings(columns()))?;
                let loaded = start.elapsed().as_secs_f64() - opened;
                let bytes: usize = rows.iter().flat_map(|row| &row.encoded).map(|blob| blob.len()).sum();
                let file = entry.encrypted.map_or(1, |file| file.bytes.max(1));
                digest.push(opened / file as f64);
                load.push(loaded / bytes.max(1) as f64);
            }
        }
        Ok((slower(&digest), slower(&load)))
    }
}

/// A query that is asked several times; the table is opened anew each time.
struct Asked<'a> {
    example: &'a Example,
    plan: QueryPlan,
    counts: AnswerCounts,
    /// Seconds of the server.
    server: Vec<f64>,
    /// Seconds of the owner.
    owner: Vec<f64>,
}

impl<'a> Asked<'a> {
    /// The query as it would be answered for so many groups.
    fn new(example: &'a Example, sql: &str, groups: u64) -> Result<Self, ClientError> {
        let plan = example.open()?.plan(sql)?.for_groups(groups);
        Ok(Self { example, plan, counts: AnswerCounts::default(), server: Vec::new(), owner: Vec::new() })
    }

    fn once(&mut self) -> Result<(), ClientError> {
        let table = self.example.open()?;
        let ask = || table.run(self.plan.clone(), Phases::default(), &Silent);
        let outcome = self.example.pool.install(ask)?;
        self.server.push(outcome.phases.of("server"));
        self.owner.push(outcome.phases.of("decrypt"));
        self.counts = outcome.counts;
        Ok(())
    }

    fn server_left(&self, units: UnitCosts, count: fn(&Work) -> u64) -> Result<f64, ClientError> {
        self.left(slower(&self.server), units, |times| times.server_s, count)
    }

    fn owner_left(&self, units: UnitCosts, count: fn(&Work) -> u64) -> Result<f64, ClientError> {
        self.left(slower(&self.owner), units, |times| times.owner_s, count)
    }

    /// The seconds that the units do not explain, divided by `count`.
    fn left(
        &self,
        measured: f64,
        units: UnitCosts,
        explained: fn(&Times) -> f64,
        count: fn(&Work) -> u64,
    ) -> Result<f64, ClientError> {
        let prediction = self.example.open()?.predict_counted(&self.plan, self.counts.clone(), 1)?;
        let explained = explained(&alone(units).times(&prediction));
        // Noise can make the difference negative.
        Ok(((measured - explained) / count(&prediction.work).max(1) as f64).max(1e-12))
    }
}

/// Factor by which a transform takes longer while every other thread transforms too.
fn crowding(threads: usize) -> Result<f64, ClientError> {
    let ring = ring()?;
    let mut words = vec![0; ring.poly_words()];
    let alone = timed(|| transform(&ring, &mut words));
    let done = AtomicBool::new(false);
    let crowded = std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|| {
                let mut words = vec![0; ring.poly_words()];
                while !done.load(Ordering::Relaxed) {
                    transform(&ring, black_box(&mut words));
                }
            });
        }
        let crowded = timed(|| transform(&ring, &mut words));
        done.store(true, Ordering::Relaxed);
        crowded
    });
    Ok((crowded / alone).max(1.0))
}

/// The ring of the inner loops.
fn ring() -> Result<Ring, ClientError> {
    let cpu = Cpu::detect().map_err(|source| ClientError::Cpu { source })?;
    Ok(Ring::new(preset(RING)?, cpu)?)
}

/// Transforms a polynomial modulo each prime.
fn transform(ring: &Ring, words: &mut [u64]) {
    for (limb, words) in ring.limbs().iter().zip(words.chunks_exact_mut(ring.degree())) {
        limb.forward(words);
    }
}

/// The inner loops.
fn loops() -> Result<UnitCosts, ClientError> {
    let ring = ring()?;
    let (degree, limbs) = (ring.degree(), ring.limb_count());
    let residues = (degree * limbs) as f64;
    let seed = UniformSeed::from_bytes([7; 32]);
    let mut a = vec![0; ring.poly_words()];
    let expanded = timed(|| seed.expand_into(&ring, ExpandLabel::sum(0), &mut a)) / residues;
    let mut b = a.clone();
    let butterflies = residues / 2.0 * f64::from(degree.ilog2());
    let butterfly = timed(|| transform(&ring, &mut b)) / butterflies;
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
    let secret = OwnerSeed::generate()?.of_table([0; 16], [0; 16]).secret(SecretKind::Sum, &ring, [1; 16]);
    let answers = SumAccumulator::new(&ring, 1, 1).finish();
    let answers = answers.map_err(|_| ClientError::Internal { what: "an empty sum does not end" })?;
    let answer = answers.first().ok_or(ClientError::Internal { what: "an empty sum has no answer" })?;
    let owner_product =
        timed(|| black_box(decrypt_sum(&secret, answer, 0, 40, PhaseLimit::NONE)).is_ok()) / residues;
    let mut wide = vec![I256::from(i64::MAX); degree];
    let owner_operation = timed(|| {
        let terms: Vec<I256> = wide.iter().map(|value| value.wrapping_mul(*value)).collect();
        wide.iter_mut().zip(terms).for_each(|(value, term)| *value = value.wrapping_add(term));
    });
    black_box(&wide);
    // Two operations on each.
    let owner_operation = owner_operation / 2.0 / degree as f64;
    Ok(UnitCosts {
        query: 0.0,
        clear_cell: 0.0,
        text_cell: 0.0,
        grouped_row: 0.0,
        selected_row: 0.0,
        byte_read: 0.0,
        byte_loaded: 0.0,
        expanded,
        butterfly,
        product,
        unpacked,
        owner_product,
        owner_decoded: 0.0,
        owner_operation,
        owner_cell: 0.0,
        owner_windowed: 0.0,
        owner_regrouped: 0.0,
        owner_group: 0.0,
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

/// The upper quartile, because a command that has just been started takes longer than one that repeats itself.
fn slower(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get(values.len() * 3 / 4).copied().unwrap_or(0.0)
}

fn earliest(values: &[f64]) -> f64 {
    values.first().copied().unwrap_or(0.0)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
