// SPDX-License-Identifier: Apache-2.0
//! Sums of products per element in double precision, four columns at a time: each product is reduced to
//! `[−0.75q, 0.75q]`, so that 16 of them stay exact before the sum is reduced again.

use hush_arith::Modulus;

use super::{
    reduce::{Factor, Reducer, centred},
    vector::{Avx2, V, Words},
};
use crate::{operands::TAG_SHIFT, scalar::convert as scalar};

/// Products between reductions of the sum: `(16 + 1)·0.75·2^47 < 2^51`.
const BATCH: usize = 16;

#[target_feature(enable = "avx2,fma")]
pub(crate) fn tagged_sum(q: Modulus, out: &mut [u64], rows: &[u64], weights: &[u64]) {
    if q.bits() < MIN_BITS {
        return scalar::tagged_sum(q, out, rows, weights);
    }
    let reducer = Reducer::new(Avx2::new(), q);
    let simd = reducer.simd;
    // Rows may exceed q, so the weight carries its own quotient and lies in [−q/2, q/2].
    let factors: Vec<[f64; 2]> = weights.iter().map(|&weight| centred(q, weight)).collect();
    sums(&reducer, out, factors.len(), |row, column, columns| {
        let [value, quotient] = factors[row].map(|number| simd.splat(number));
        let factor = Factor { value, quotient };
        let y = if row + 1 == factors.len() {
            simd.load_integers(&words(rows, column).map(|word| word >> TAG_SHIFT))
        } else {
            simd.load_integers(&words(rows, row * columns + column).map(|word| word & scalar::LOW_52))
        };
        reducer.mul_constant(y, factor)
    });
    let (columns, done) = (out.len(), out.len() / 4 * 4);
    for (c, out) in out.iter_mut().enumerate().skip(done) {
        *out = scalar::tagged_term(q, rows, columns, c, weights);
    }
}

#[target_feature(enable = "avx2,fma")]
pub(crate) fn dot_pair(q: Modulus, out: (&mut [u64], &mut [u64]), a: &[&[u64]], b: (&[&[u64]], &[&[u64]])) {
    if q.bits() < MIN_BITS || !out.0.len().is_multiple_of(4) {
        return scalar::dot_pair(q, out, a, b);
    }
    let reducer = Reducer::new(Avx2::new(), q);
    for (out, b) in [(out.0, b.0), (out.1, b.1)] {
        sums(&reducer, out, a.len(), |row, column, _| {
            reducer.mul(load(&reducer, a[row], column), load(&reducer, b[row], column))
        });
    }
}

#[target_feature(enable = "avx2,fma")]
pub(crate) fn sub_scale_assign(q: Modulus, out: &mut [u64], x: &[u64], factor: u64) {
    let reducer = Reducer::new(Avx2::new(), q);
    let simd = reducer.simd;
    let (out, out_tail) = out.as_chunks_mut::<4>();
    let (x, x_tail) = x.as_chunks::<4>();
    let factor_vector = simd.splat(factor as f64);
    for (out, x) in out.iter_mut().zip(x) {
        let difference = simd.sub(simd.load_integers(out), simd.load_integers(x));
        simd.store_integers(out, reducer.canonical(reducer.mul(difference, factor_vector)));
    }
    scalar::sub_scale_assign(q, out_tail, x_tail, factor);
}

#[target_feature(enable = "avx2,fma")]
pub(crate) fn combine_assign(q: Modulus, out: &mut [u64], alpha: u64, x: &[u64], beta: u64) {
    let reducer = Reducer::new(Avx2::new(), q);
    let simd = reducer.simd;
    let (out, out_tail) = out.as_chunks_mut::<4>();
    let (x, x_tail) = x.as_chunks::<4>();
    let (alphas, betas) = (simd.splat(alpha as f64), simd.splat(beta as f64));
    for (out, x) in out.iter_mut().zip(x) {
        let left = reducer.mul(simd.load_integers(out), alphas);
        let right = reducer.mul(simd.load_integers(x), betas);
        // In [−1.5q, 1.5q], far below 2^51.
        simd.store_integers(out, reducer.canonical(reducer.reduce(simd.add(left, right))));
    }
    scalar::combine_assign(q, out_tail, alpha, x_tail, beta);
}

#[target_feature(enable = "avx2")]
pub(crate) fn tag_quotients(rows: &mut [u64], columns: usize, reciprocals: &[f64]) {
    scalar::tag_quotients(rows, columns, reciprocals);
}

#[target_feature(enable = "avx2")]
pub(crate) fn recenter(source: Modulus, target: Modulus, out: &mut [u64], x: &[u64]) {
    scalar::recenter(source, target, out, x);
}

/// Whole vectors of columns; `term(row, column, columns)` lies in `[−0.75q, 0.75q]`.
#[inline(always)]
fn sums(reducer: &Reducer, out: &mut [u64], count: usize, term: impl Fn(usize, usize, usize) -> V) {
    let (simd, columns) = (reducer.simd, out.len());
    for (vector, out) in out.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let mut sum = simd.zero();
        for row in 0..count {
            sum = simd.add(sum, term(row, 4 * vector, columns));
            if row % BATCH == BATCH - 1 {
                sum = reducer.reduce(sum);
            }
        }
        simd.store_integers(out, reducer.canonical(reducer.reduce(sum)));
    }
}

#[inline(always)]
fn load(reducer: &Reducer, words: &[u64], at: usize) -> V {
    reducer.simd.load_integers(self::words(words, at))
}

#[inline(always)]
fn words(words: &[u64], at: usize) -> &Words {
    let (chunk, _): (&[Words], _) = words[at..at + 4].as_chunks();
    &chunk[0]
}

/// Below it a row, which may have 47 bits whatever `q` is, has quotients that are no exact doubles.
const MIN_BITS: u32 = 16;
