// SPDX-License-Identifier: Apache-2.0
//! Sums of a few products per element, and the integer quotients of base conversion.
//!
//! With `y_i` the digits of `x = Σ y_i·Q̂_i − v·Q` \[HPS18, section 2.2\], `v = ⌊Σ y_i/q_i⌉` and `x mod p` is a weighted sum of the
//! `y_i` and of `v`. Digits have 47 bits, so `v` travels in the bits from 52 of the first one: a row that need not be read.
//! Both are loops over a short column of residues, kept in registers and reduced once.
//!
//! # Timing
//! Constant-time in the data.
//!
//! # Panics
//! All functions panic if a matrix has not the rows that its weights ask for, or has over [`MAX_ROWS`] rows.

use hush_arith::Modulus;

pub use crate::operands::{MAX_ROWS, TAG_SHIFT};
use crate::{Cpu, cpu::dispatch};

/// `out[c] ← Σ_i weights[i]·y_i[c] + last·v[c] mod q`, canonical, where `weights` ends with `last`, `rows` holds row after row,
/// and `v` stands in the bits from [`TAG_SHIFT`] of the first row. Without rows `out` is zero.
///
/// # Ranges
/// Digits `y_i`: below `2^47`, canonical for any modulus; `v` below [`MAX_ROWS`]. Weights: canonical for `modulus`.
pub fn tagged_sum(cpu: Cpu, modulus: Modulus, out: &mut [u64], rows: &[u64], weights: &[u64]) {
    assert!(!weights.is_empty(), "a weight for the tag");
    check(out.len(), rows, weights.len() - 1);
    debug_assert!(weights.iter().all(|&w| w < modulus.value()), "weights must be canonical");
    if rows.is_empty() {
        return out.fill(0);
    }
    dispatch!(cpu, convert::tagged_sum(modulus: Modulus, out: &mut [u64], rows: &[u64], weights: &[u64]));
}

/// `out.k[c] ← Σ_i a[i][c]·b.k[i][c] mod q`, canonical: two sums that share a factor, which is read once. Rows may lie
/// anywhere.
///
/// # Ranges
/// Canonical for `modulus`.
pub fn dot_pair(
    cpu: Cpu,
    modulus: Modulus,
    out: (&mut [u64], &mut [u64]),
    a: &[&[u64]],
    b: (&[&[u64]], &[&[u64]]),
) {
    assert!(a.len() <= MAX_ROWS, "at most {MAX_ROWS} rows");
    assert!(a.len() == b.0.len() && a.len() == b.1.len(), "as many rows on both sides");
    let mut rows = a.iter().chain(b.0).chain(b.1);
    assert!(rows.clone().all(|row| row.len() == out.0.len()), "rows of the output's length");
    assert_eq!(out.0.len(), out.1.len(), "both outputs must have one length");
    debug_assert!(rows.all(|row| row.iter().all(|&x| x < modulus.value())), "operands must be canonical");
    dispatch!(cpu, convert::dot_pair(modulus: Modulus, out: (&mut [u64], &mut [u64]), a: &[&[u64]], b: (&[&[u64]], &[&[u64]])));
}

/// Adds the tag `v[c] = ⌊Σ_i reciprocals[i]·rows[i][c]⌉`, ties to even, to the first of the rows, each of `columns` words: how many
/// times the digits wrap around the modulus, to nearest.
///
/// The sum is taken in row order with two roundings per term on every path, so that all paths agree even where
/// the fraction is next to one half.
///
/// # Ranges
/// Rows: below `2^52`. Reciprocals: the rounded `1/q_i`, so that each term is below 1 and `v` at most the row count.
pub fn tag_quotients(cpu: Cpu, rows: &mut [u64], columns: usize, reciprocals: &[f64]) {
    check(columns, rows, reciprocals.len());
    if !rows.is_empty() {
        dispatch!(cpu, plain convert::tag_quotients(rows: &mut [u64], columns: usize, reciprocals: &[f64]));
    }
}

/// `out[c] ← (out[c] − x[c])·factor mod q`: the last step of a division by dropped primes.
///
/// # Ranges
/// Canonical in and out.
pub fn sub_scale_assign(cpu: Cpu, modulus: Modulus, out: &mut [u64], x: &[u64], factor: u64) {
    assert_eq!(out.len(), x.len(), "operands must have one length");
    debug_assert!(out.iter().chain(x).all(|&x| x < modulus.value()), "operands must be canonical");
    debug_assert!(factor < modulus.value(), "the factor must be canonical");
    dispatch!(cpu, convert::sub_scale_assign(modulus: Modulus, out: &mut [u64], x: &[u64], factor: u64));
}

/// `out[c] ← alpha·out[c] + beta·x[c] mod q`: the same with a factor for each operand.
///
/// # Ranges
/// Canonical in and out.
pub fn combine_assign(cpu: Cpu, modulus: Modulus, out: &mut [u64], alpha: u64, x: &[u64], beta: u64) {
    assert_eq!(out.len(), x.len(), "operands must have one length");
    debug_assert!(out.iter().chain(x).all(|&x| x < modulus.value()), "operands must be canonical");
    debug_assert!(alpha < modulus.value() && beta < modulus.value(), "the factors must be canonical");
    dispatch!(cpu, convert::combine_assign(modulus: Modulus, out: &mut [u64], alpha: u64, x: &[u64], beta: u64));
}

/// `out[c]` ← the integer nearest to zero that is `x[c]` modulo `source`, modulo `target`.
///
/// # Ranges
/// `x` canonical for `source`, `out` canonical for `target`; `source` is at most twice `target`.
pub fn recenter(cpu: Cpu, source: Modulus, target: Modulus, out: &mut [u64], x: &[u64]) {
    assert_eq!(out.len(), x.len(), "operands must have one length");
    assert!(source.value() / 2 < target.value(), "the integers must be smaller than the target");
    debug_assert!(x.iter().all(|&x| x < source.value()), "operands must be canonical");
    dispatch!(cpu, plain convert::recenter(source: Modulus, target: Modulus, out: &mut [u64], x: &[u64]));
}

fn check(columns: usize, rows: &[u64], count: usize) {
    assert!(count <= MAX_ROWS, "at most {MAX_ROWS} rows");
    assert_eq!(rows.len(), count * columns, "one row of the output's length per weight");
}

#[cfg(test)]
mod tests;
