// SPDX-License-Identifier: Apache-2.0
//! Sums of products per element in 128 bits: `64·2^94 < 2^128`.

use hush_arith::Modulus;

#[inline]
pub(crate) fn weighted_sum(q: Modulus, out: &mut [u64], rows: &[u64], weights: &[u64]) {
    let columns = out.len();
    for (c, out) in out.iter_mut().enumerate() {
        let terms = weights.iter().enumerate();
        *out = q.reduce_u128(terms.map(|(i, &w)| u128::from(w) * u128::from(rows[i * columns + c])).sum());
    }
}

#[inline]
pub(crate) fn dot(q: Modulus, out: &mut [u64], a: &[u64], b: &[u64], count: usize) {
    let columns = out.len();
    for (c, out) in out.iter_mut().enumerate() {
        let term = |i: usize| u128::from(a[i * columns + c]) * u128::from(b[i * columns + c]);
        *out = q.reduce_u128((0..count).map(term).sum());
    }
}

#[inline]
pub(crate) fn quotients(out: &mut [u64], rows: &[u64], reciprocals: &[f64]) {
    let columns = out.len();
    for (c, out) in out.iter_mut().enumerate() {
        let terms = reciprocals.iter().enumerate();
        let sum = terms.fold(0.5, |sum, (i, reciprocal)| sum + rows[i * columns + c] as f64 * reciprocal);
        *out = sum as u64;
    }
}

#[inline]
pub(crate) fn sub_scale_assign(q: Modulus, out: &mut [u64], x: &[u64], factor: u64) {
    for (out, &x) in out.iter_mut().zip(x) {
        *out = q.mul(q.sub(*out, x), factor);
    }
}
