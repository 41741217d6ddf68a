// SPDX-License-Identifier: Apache-2.0
//! Products without keys: a question like TPC-H's sixth, with every condition and the measure encrypted, by sums of products of stored ciphertexts.
//!
//! This measures what the server and the owner do with ring elements, not a query: tables cannot be asked so yet. The rows are drawn as TPC-H
//! draws them. Of each column there are the ciphertexts that the question names, of the many that a table would have.

use std::fmt::Write as _;
use std::time::Instant;

use ethnum::I256;
use hush_keys::{Encryptor, OwnerSeed, PhaseLimit, SecretKey, SecretKind, SlotColumn, decrypt_product};
use hush_params::{noise, preset};
use hush_ring::{Cpu, Ring, UniformSeed};
use hush_rlwe::{
    BlockMemory, Body, BodyId, BodyKind, Factor, Operands, ProductSum, ProductSums, ProductTask,
    StoredElement, UncheckedBody,
};
use hush_schemes::Values;
use hush_schemes::bgv::slots::SlotEncoder;
use rayon::prelude::*;
use serde::Serialize;

use crate::BenchError;
use crate::aligned::figure_text;
pub use crate::prepared::Options;
use crate::split_table::median;
use crate::synthetic::mix;
use crate::usage::ProcessUsage;

const SET: &str = "n13_q3x46_sec128_v1";
/// The plaintext prime.
const T: u64 = 65_537;
/// Ciphertexts of conditions: two ends of a year, two of a range of discounts, one of quantities.
const CONDITIONS: usize = 5;
/// Bits of a revenue in hundredths of cents.
const REVENUE_BITS: u32 = 26;

/// What was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The parameter set.
    pub params: &'static str,
    /// The plaintext prime.
    pub plaintext: u64,
    /// Rows in whole ring elements.
    pub rows: u64,
    /// Rows that match.
    pub matches: u64,
    /// Ciphertexts of a value of the measure.
    pub limbs: usize,
    /// Bytes a row of all ciphertexts that the question names.
    pub stored_bytes_a_row: f64,
    /// CPU microseconds a row to encrypt them.
    pub encrypt_us_a_row: f64,
    /// Median milliseconds of the server.
    pub server_ms: f64,
    /// Nanoseconds a row of that.
    pub server_ns_a_row: f64,
    /// Megabytes of the sums, before they are rounded.
    pub answer_mb: f64,
    /// Median milliseconds of the owner.
    pub owner_ms: f64,
    /// Bits between the bound on a phase and half of the modulus.
    pub margin_bits: f64,
    /// Whether count and sum are those of the rows.
    pub is_exact: bool,
}

/// The columns of a ring element, by row.
struct Drawn {
    columns: Vec<Vec<i64>>,
    matches: u64,
    revenue: u64,
}

/// Encrypts the rows, asks, and compares.
///
/// # Errors
/// A ring or an encryption refuses.
pub fn run(options: &Options) -> Result<Report, BenchError> {
    let set = preset(SET)?;
    let ring = Ring::new(set, Cpu::detect()?)?;
    let encoder = SlotEncoder::new(&ring, &[T])?;
    let (degree, rows) = (ring.degree() as u64, options.rows.max(1));
    let count = rows.div_ceil(degree);
    // The limbs of all rows that share a slot add up below the prime.
    let limb_bits = ((T - 1) / count + 1).ilog2();
    let limbs = REVENUE_BITS.div_ceil(limb_bits.max(1)) as usize;
    let owner = OwnerSeed::generate()?;
    let secret = owner.of_table([0; 16], [0; 16]).secret(SecretKind::Slots, &ring, [1; 16]);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(options.threads).build();
    let pool = pool.map_err(std::io::Error::other)?;
    let drawn: Vec<Drawn> =
        (0..count).map(|element| draw(options.seed, element, degree, limb_bits, limbs)).collect();
    let before = ProcessUsage::now();
    let encrypt = |(chunk, drawn): (u32, &Drawn)| encrypt(chunk, &drawn.columns, &secret, &encoder);
    let chunks = pool.install(|| {
        let numbered: Vec<(u32, &Drawn)> = (0..).zip(&drawn).collect();
        numbered.into_par_iter().map(encrypt).collect::<Result<Vec<_>, BenchError>>()
    })?;
    let encrypt_s = ProcessUsage::now().since(before).cpu_s;
    let bodies: Vec<Vec<Body<'_>>> = (0..)
        .zip(&chunks)
        .map(|(chunk, (_, bytes))| {
            (0..).zip(bytes).map(|(column, bytes)| body(&ring, chunk, column, bytes)).collect()
        })
        .collect::<Result<_, _>>()?;
    let elements: Vec<StoredElement<'_>> = chunks
        .iter()
        .zip(&bodies)
        .map(|((seed, _), bodies)| StoredElement {
            seed: *seed,
            element: 0,
            bodies,
            mask: None,
            masks: &[],
            integers: &[],
            computed: &[],
        })
        .collect();
    let task = task(limbs)?;
    let fresh = noise::bgv_fresh_phase_log2((T as f64).log2());
    let (pair, product) = (fresh + 1.0, |a, b| noise::product_phase_log2(degree as usize, a, b));
    // One factor is taken from a constant, which adds less than another ciphertext would.
    let bound = product(product(product(pair, pair), pair), fresh) + (count as f64).log2();
    let (mut server, mut owner) = (Vec::new(), Vec::new());
    let (mut answer_mb, mut is_exact) = (0.0, true);
    let (matches, revenue) =
        drawn.iter().fold((0, 0), |(rows, sum), drawn| (rows + drawn.matches, sum + drawn.revenue));
    for _ in 0..options.repeat.max(1) {
        let start = Instant::now();
        let sums = ProductSums::new(&ring, &task, &elements)?;
        let add = |memory: &mut BlockMemory, block| {
            let mut totals = sums.zeros();
            sums.add_block(block, memory, &mut totals);
            totals
        };
        let blocks: Vec<_> =
            pool.install(|| (0..sums.blocks()).into_par_iter().map_init(|| sums.memory(), add).collect());
        let found = (0..task.sums().len())
            .map(|number| sums.assemble(number, &blocks))
            .collect::<Result<Vec<_>, _>>()?;
        server.push(start.elapsed().as_secs_f64() * 1e3);
        answer_mb =
            found.iter().flatten().map(|poly| poly.words().len() * 46 / 8).sum::<usize>() as f64 / 1e6;
        let start = Instant::now();
        let totals = found.iter().map(|components| {
            let slots = decrypt_product(&secret, &encoder, components, PhaseLimit::from_log2(bound))?;
            Ok(slots.iter().sum::<u64>())
        });
        let totals = totals.collect::<Result<Vec<u64>, BenchError>>()?;
        owner.push(start.elapsed().as_secs_f64() * 1e3);
        let (counted, limbs) = totals.split_first().ok_or(BenchError::Empty)?;
        let total = limbs.iter().rev().fold(0_u64, |sum, limb| (sum << limb_bits) + limb);
        is_exact &= (*counted, total) == (matches, revenue);
    }
    let rows = count * degree;
    let stored: usize = chunks.iter().flat_map(|(_, bodies)| bodies).map(Vec::len).sum();
    Ok(Report {
        params: SET,
        plaintext: T,
        rows,
        matches,
        limbs,
        stored_bytes_a_row: stored as f64 / rows as f64,
        encrypt_us_a_row: encrypt_s * 1e6 / rows as f64,
        server_ms: median(&server),
        server_ns_a_row: median(&server) * 1e6 / rows as f64,
        answer_mb,
        owner_ms: median(&owner),
        margin_bits: set.log_q() - 1.0 - bound,
        is_exact,
    })
}

/// Rows as TPC-H draws them: a revenue is that of a part times quantity times discount.
fn draw(seed: u64, element: u64, rows: u64, limb_bits: u32, limbs: usize) -> Drawn {
    let mut drawn = Drawn { columns: vec![Vec::new(); CONDITIONS + limbs], matches: 0, revenue: 0 };
    for row in element * rows..(element + 1) * rows {
        let of = |column: u64, bound: u64| mix(seed ^ mix(row << 8 | column)) % bound;
        let (year, discount, quantity) = (of(1, 7), of(2, 11), 1 + of(3, 50));
        let revenue = (90_000 + of(4, 120_000) / 10) * quantity * discount;
        let conditions = [year >= 2, year >= 3, discount >= 5, discount >= 8, quantity >= 24];
        let limb = |limb: usize| revenue >> (limb_bits as usize * limb) & ((1 << limb_bits) - 1);
        let values = conditions.into_iter().map(u64::from).chain((0..limbs).map(limb));
        for (column, value) in drawn.columns.iter_mut().zip(values) {
            column.push(value as i64);
        }
        if year == 2 && (5..8).contains(&discount) && quantity < 24 {
            drawn.matches += 1;
            drawn.revenue += revenue;
        }
    }
    drawn
}

/// A chunk of one ring element: its seed, and a body for each column.
fn encrypt(
    chunk: u32,
    columns: &[Vec<i64>],
    secret: &SecretKey,
    encoder: &SlotEncoder,
) -> Result<(UniformSeed, Vec<Vec<u8>>), BenchError> {
    let mut encryptor = Encryptor::new();
    let mut encryption = encryptor.begin_chunk(chunk, columns.first().map_or(0, Vec::len))?;
    let bodies = (0..).zip(columns).map(|(column, values)| {
        let (max_abs, values) = (I256::from(T / 2), Values::I64(values));
        encryption.encrypt_slots(&SlotColumn { column, secret, encoder, max_abs, shared: false, values })
    });
    let bodies = bodies.collect::<Result<_, _>>()?;
    Ok((encryption.seed(), bodies))
}

fn body<'a>(ring: &Ring, chunk: u32, column: u32, bytes: &'a [u8]) -> Result<Body<'a>, BenchError> {
    let id = BodyId { column, chunk, element_count: 1, lanes: 1 };
    Ok(UncheckedBody::decode(bytes)?.conform(ring, BodyKind::Slot, id)?)
}

/// The rows that match, and the limbs of their revenue.
fn task(limbs: usize) -> Result<ProductTask, BenchError> {
    let stored = |body| Box::new(Factor::Stored(body));
    let year = Factor::Sub(stored(0), stored(1));
    let discount = Factor::Sub(stored(2), stored(3));
    let quantity = Factor::Sub(Box::new(Factor::Constant(1)), stored(4));
    let both = Factor::Mul(Box::new(year), Box::new(discount));
    let factors = [Factor::Mul(Box::new(both), Box::new(quantity))];
    let measures = std::iter::once(None).chain((CONDITIONS..CONDITIONS + limbs).map(Some));
    let sums = measures.map(|measure| ProductSum { factor: 0, measure }).collect();
    Ok(ProductTask::new(&factors, sums, Operands { bodies: CONDITIONS + limbs, ..Operands::default() })?)
}

/// The report as text.
pub fn text(options: &Options, report: &Report) -> String {
    let mut out = format!(
        "Products: {} rows like TPC-H Q6, three conditions and the measure encrypted, no keys, {} threads, seed {}\n\n",
        report.rows, options.threads, options.seed
    );
    let _ = writeln!(
        out,
        "server      {} ms, {} ns a row\n\
         down        {} MB, not rounded\n\
         you         {} ms\n\
         stored      {} bytes a row in {} ciphertexts, {} CPU microseconds a row to make\n\
         result      {} rows match; count and sum {}\n\
         parameters  {}, t = {}, degree 4, the measure in {} limbs; phases stay {} bits below half of the modulus, whatever the noise\n\n\
         Times: medians of {}. The server's are from bytes in memory to sums.",
        figure_text(report.server_ms),
        figure_text(report.server_ns_a_row),
        figure_text(report.answer_mb),
        figure_text(report.owner_ms),
        figure_text(report.stored_bytes_a_row),
        CONDITIONS + report.limbs,
        figure_text(report.encrypt_us_a_row),
        report.matches,
        if report.is_exact { "are exact" } else { "are WRONG" },
        report.params,
        report.plaintext,
        report.limbs,
        figure_text(report.margin_bits),
        options.repeat,
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_like_the_sixth_is_exact() {
        let options = Options { rows: 20_000, seed: 7, repeat: 1, threads: 2 };
        let report = run(&options).unwrap();
        assert!(report.is_exact && report.matches > 100 && report.margin_bits > 0.0, "{report:?}");
        assert!(text(&options, &report).contains("are exact"));
    }
}
