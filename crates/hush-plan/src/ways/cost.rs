// SPDX-License-Identifier: Apache-2.0
//! Sizes of answers and the tightest bounds, from the encodings in use.

use std::collections::{BTreeMap, BTreeSet};

use hush_params::{ParamSet, noise, size};

use crate::catalog::{BoundProgram, Rounded, UsableEncoding, fetched_bytes, poly_bytes, rings};
use crate::packing::{Packing, Slots};
use crate::plan::{EncryptedSum, ProductSum};
use crate::program::Program;
use crate::report::{Cost, EncryptedNode};

/// Bytes of a chunk's seed.
const SEED_BYTES: usize = 32;

/// Cost of masked sums over so many domains: per group and domain one `a` for each pair of mask and parameter set, shared by its
/// columns. The owner adds what it decrypts, so errors add up too.
pub(super) fn of_sums(sums: &[EncryptedSum], found: &[UsableEncoding<'_>], domains: usize) -> Cost {
    let mut blocks: BTreeMap<(usize, u16), (&ParamSet, usize)> = BTreeMap::new();
    let mut distinct = BTreeSet::new();
    for (sum, found) in sums.iter().zip(found) {
        if distinct.insert((sum.mask, sum.column)) {
            blocks.entry((sum.mask, found.set.code())).or_insert((found.set, 0)).1 += 1;
        }
    }
    let bytes: u64 = blocks.values().map(|(set, bodies)| size::sum_answer_bytes(set, *bodies) as u64).sum();
    let node = |found: &UsableEncoding<'_>| {
        let node = node_of("sum", found);
        EncryptedNode { error: node.error.map(|error| error * domains as f64), ..node }
    };
    bounds(found.iter().map(node).collect(), bytes.saturating_mul(domains as u64))
}

/// Cost of one chunk of element-wise results: `degree + 1` polynomials per program and lane, one per fetched column.
pub(super) fn of_rows(fetched: &[UsableEncoding<'_>], bound: &[BoundProgram], programs: &[Program]) -> Cost {
    let fetched_bytes: usize = fetched
        .iter()
        .map(|found| fetched_bytes(found.set, &found.encoding.public.packing, found.rounded))
        .sum();
    let program_bytes: usize = bound
        .iter()
        .zip(programs)
        .map(|(bound, program)| {
            let polynomials = bound.packing.lanes() * (usize::from(program.degree) + 1);
            polynomials * poly_bytes(bound.set, bound.rounded) * rings(bound.set, &bound.packing)
        })
        .sum();
    let seed = if fetched.is_empty() { 0 } else { SEED_BYTES };
    let computed = bound.iter().zip(programs).map(|(bound, program)| {
        let margin = bound.rounded.map_or(bound.margin, |rounded| rounded.margin);
        let depth = u32::from(program.degree == 2);
        let packed = (bound.set, &bound.packing);
        let node = node("program", program.text.clone(), packed, margin, bound.error, depth);
        EncryptedNode { answer_bits: bound.rounded.map(|rounded| rounded.bits), ..node }
    });
    let sent_back = fetched.iter().map(|found| match found.rounded {
        None => node_of("fetch", found),
        Some(Rounded { bits, margin }) => {
            EncryptedNode { answer_bits: Some(bits), margin_bits: Some(margin), ..node_of("fetch", found) }
        }
    });
    let nodes = computed.chain(sent_back).collect();
    bounds(nodes, (fetched_bytes + program_bytes + seed) as u64)
}

/// Cost of the sums of one run of chunks, with log2 of the largest phase of each, and what it is.
pub(super) fn of_products(
    set: &'static ParamSet,
    sums: &[ProductSum],
    read: impl Iterator<Item = (f64, String)>,
) -> Cost {
    let bytes: usize = sums.iter().map(|sum| size::product_answer_bytes(set, &sum.rounded())).sum();
    // For words alone, in which sharing makes no difference.
    let packing = Packing::Slots(Slots::of_filters(false));
    let node = |(sum, (phase_log2, what)): (&ProductSum, (f64, String))| {
        let margin = set.log_q() - 1.0 - phase_log2;
        let depth = sum.bits.len().saturating_sub(1) as u32;
        EncryptedNode {
            answer_bits: sum.bits.last().copied(),
            ..node("product", what, (set, &packing), margin, None, depth)
        }
    };
    bounds(sums.iter().zip(read).map(node).collect(), bytes as u64)
}

fn node_of(kind: &'static str, found: &UsableEncoding<'_>) -> EncryptedNode {
    let what = found.encoding.quantity.describe();
    let packed = (found.set, &found.encoding.public.packing);
    EncryptedNode {
        devices: found.writers.cost(found.set),
        ..node(kind, what, packed, found.margin, found.error, 0)
    }
}

fn node(
    kind: &'static str,
    what: String,
    (set, packing): (&'static ParamSet, &Packing),
    margin: f64,
    error: Option<f64>,
    depth: u32,
) -> EncryptedNode {
    EncryptedNode {
        kind,
        what,
        scheme: packing.scheme(),
        params: set.name(),
        degree: set.degree(),
        log_q: set.log_q(),
        security_bits: set.security_bits(),
        plaintext: packing.rules().plaintext_words(),
        depth,
        margin_bits: margin.is_finite().then_some(margin),
        failure_log2: noise::FAILURE_LOG2,
        error,
        answer_bits: None,
        devices: None,
    }
}

fn bounds(nodes: Vec<EncryptedNode>, answer_bytes_each: u64) -> Cost {
    let mut cost = Cost { answer_bytes_each, margin_bits: f64::INFINITY, ..Cost::default() };
    for node in &nodes {
        if !cost.params.iter().any(|name| name == node.params) {
            cost.params.push(node.params.to_owned());
        }
        cost.depth = cost.depth.max(node.depth);
        cost.margin_bits = cost.margin_bits.min(node.margin_bits.unwrap_or(f64::INFINITY));
        cost.precision = match (cost.precision, node.error) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        };
    }
    cost.params.sort();
    cost.security_bits = nodes.iter().map(|node| node.security_bits).min().unwrap_or(0);
    cost.nodes = nodes;
    cost
}
