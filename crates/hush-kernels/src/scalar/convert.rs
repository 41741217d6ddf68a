// SPDX-License-Identifier: Apache-2.0
//! Sums of products per element in 128 bits: `64·2^94 < 2^128`.

use hush_arith::Modulus;

use crate::operands::{LOW_52, TAG_SHIFT};

#[inline]
pub(crate) fn tagged_sum(q: Modulus, out: &mut [u64], rows: &[u64], weights: &[u64]) {
    let columns = out.len();
    for (c, out) in out.iter_mut().enumerate() {
        *out = tagged_term(q, rows, columns, c, weights);
    }
}

/// One entry of [`tagged_sum`].
#[inline]
fn tagged_term(q: Modulus, rows: &[u64], columns: usize, c: usize, weights: &[u64]) -> u64 {
    let words = rows.iter().skip(c).step_by(columns).map(|word| word & LOW_52);
    let factors = words.chain([rows[c] >> TAG_SHIFT]);
    q.reduce_u128(weights.iter().zip(factors).map(|(&w, y)| u128::from(w) * u128::from(y)).sum())
}

#[inline]
pub(crate) fn dot_pair(q: Modulus, out: (&mut [u64], &mut [u64]), a: &[&[u64]], b: (&[&[u64]], &[&[u64]])) {
    dot(q, out.0, a, b.0);
    dot(q, out.1, a, b.1);
}

fn dot(q: Modulus, out: &mut [u64], a: &[&[u64]], b: &[&[u64]]) {
    for (c, out) in out.iter_mut().enumerate() {
        let term = |(a, b): (&&[u64], &&[u64])| u128::from(a[c]) * u128::from(b[c]);
        *out = q.reduce_u128(a.iter().zip(b).map(term).sum());
    }
}

/// Numbers below `2^52` become doubles and back by their bits, which compilers make wide where a cast would not be.
#[inline(always)]
pub(crate) fn tag_quotients(rows: &mut [u64], columns: usize, reciprocals: &[f64]) {
    let done = columns / BLOCK * BLOCK;
    for first in (0..done).step_by(BLOCK) {
        tag_columns::<BLOCK>(rows, columns, first, reciprocals);
    }
    for column in done..columns {
        tag_columns::<1>(rows, columns, column, reciprocals);
    }
}

/// Columns with sums that stay in registers.
const BLOCK: usize = 32;
/// The bits of `2^52 + x` as a double are those of `2^52` plus the integer `x`, for `0 ≤ x < 2^52`.
const TWO_TO_52: f64 = (1_u64 << 52) as f64;

/// [`tag_quotients`] for `C` columns.
#[inline(always)]
fn tag_columns<const C: usize>(rows: &mut [u64], columns: usize, first: usize, reciprocals: &[f64]) {
    let mut sums = [0.0; C];
    for (row, &reciprocal) in rows.chunks_exact(columns).zip(reciprocals) {
        let words = &row[first..first + C];
        for (sum, &word) in sums.iter_mut().zip(words) {
            *sum += (f64::from_bits(TWO_TO_52.to_bits() | word) - TWO_TO_52) * reciprocal;
        }
    }
    for (word, sum) in rows[first..first + C].iter_mut().zip(sums) {
        // The addition rounds to an integer; the shift drops the bits above it.
        *word |= (sum + TWO_TO_52).to_bits() << TAG_SHIFT;
    }
}

#[inline(always)]
pub(crate) fn sub_scale_assign(q: Modulus, out: &mut [u64], x: &[u64], factor: u64) {
    for (out, &x) in out.iter_mut().zip(x) {
        *out = q.mul(q.sub(*out, x), factor);
    }
}

#[inline(always)]
pub(crate) fn combine_assign(q: Modulus, out: &mut [u64], alpha: u64, x: &[u64], beta: u64) {
    for (out, &x) in out.iter_mut().zip(x) {
        *out = q.add(q.mul(*out, alpha), q.mul(x, beta));
    }
}

/// Words and masks alone, so that the compiler makes it wide.
#[inline(always)]
pub(crate) fn recenter(source: Modulus, target: Modulus, out: &mut [u64], x: &[u64]) {
    let half = source.value() / 2;
    // From the upper half of the source to the upper half of the target.
    let shift = target.value().wrapping_sub(source.value());
    for (out, &x) in out.iter_mut().zip(x) {
        let is_negative = (half.wrapping_sub(x) >> 63).wrapping_neg();
        *out = x.wrapping_add(shift & is_negative);
    }
}
