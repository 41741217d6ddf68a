// SPDX-License-Identifier: Apache-2.0
//! Sizes of answers and the tightest bounds, from the encodings in use.

use std::collections::{BTreeMap, BTreeSet};

use hush_params::{ParamSet, size};

use super::bind::{BoundProgram, Found};
use crate::encoding::{Layout, Plaintext};
use crate::plan::{Cost, EncryptedSum};
use crate::program::Program;

/// Rows of a chunk.
const CHUNK_ROWS: usize = 8192;
/// Bytes of a chunk's seed.
const SEED_BYTES: usize = 32;

/// Cost of masked sums: per group one `a` for each pair of mask and parameter set, shared by its columns.
pub(super) fn of_sums(sums: &[EncryptedSum], found: &[Found<'_>]) -> Cost {
    let mut blocks: BTreeMap<(usize, u16), (&ParamSet, usize)> = BTreeMap::new();
    let mut distinct = BTreeSet::new();
    for (sum, found) in sums.iter().zip(found) {
        if distinct.insert((sum.mask, sum.column)) {
            blocks.entry((sum.mask, found.set.code())).or_insert((found.set, 0)).1 += 1;
        }
    }
    let bytes = blocks.values().map(|(set, bodies)| size::sum_answer_bytes(set, *bodies) as u64).sum();
    let used = found.iter().map(|found| (found.set, found.margin, found.error));
    bounds(used, bytes, 0)
}

/// Cost of one chunk of element-wise results: `degree + 1` polynomials per program and lane, one per fetched column.
pub(super) fn of_rows(fetched: &[Found<'_>], bound: &[BoundProgram], programs: &[Program]) -> Cost {
    // CKKS slots hold half as many values as the ring has coefficients.
    let rings = |set: &ParamSet, layout: Layout| {
        let values = if layout == Layout::ApproxSlots { set.degree() / 2 } else { set.degree() };
        CHUNK_ROWS.div_ceil(values)
    };
    let fetched_bytes: usize = fetched
        .iter()
        .map(|found| {
            let lanes = match &found.encoding.public.plaintext {
                Plaintext::Primes { primes } => primes.len(),
                _ => 1,
            };
            lanes * size::poly_bytes(found.set) * rings(found.set, found.encoding.public.layout)
        })
        .sum();
    let program_bytes: usize = bound
        .iter()
        .zip(programs)
        .map(|(bound, program)| {
            let polynomials = usize::from(program.degree) + 1;
            let layout = if program.approximate { Layout::ApproxSlots } else { Layout::Slots };
            bound.lanes * polynomials * size::poly_bytes(bound.set) * rings(bound.set, layout)
        })
        .sum();
    let seed = if fetched.is_empty() { 0 } else { SEED_BYTES };
    let used = fetched.iter().map(|found| (found.set, found.margin, found.error));
    let used = used.chain(bound.iter().map(|bound| (bound.set, bound.margin, bound.error)));
    let depth = programs.iter().any(|program| program.degree == 2);
    bounds(used, (fetched_bytes + program_bytes + seed) as u64, u32::from(depth))
}

fn bounds(
    used: impl Iterator<Item = (&'static ParamSet, f64, Option<f64>)>,
    answer_bytes_each: u64,
    depth: u32,
) -> Cost {
    let mut cost = Cost { answer_bytes_each, depth, margin_bits: f64::INFINITY, ..Cost::default() };
    let mut params = BTreeSet::new();
    let mut security = None::<u32>;
    for (set, margin, error) in used {
        params.insert((set.code(), set.name()));
        security = Some(security.map_or(set.security_bits(), |least| least.min(set.security_bits())));
        cost.margin_bits = cost.margin_bits.min(margin);
        cost.precision = match (cost.precision, error) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        };
    }
    cost.params = params.into_iter().map(|(_, name)| name.to_owned()).collect();
    cost.security_bits = security.unwrap_or(0);
    cost
}
