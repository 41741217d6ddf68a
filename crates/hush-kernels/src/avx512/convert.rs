// SPDX-License-Identifier: Apache-2.0
//! Sums of products per element, four vectors of eight columns at a time, in integer-FMA accumulators.

use hush_arith::Modulus;

use super::{
    reduce::{MIN_WORD_BITS, Reducer},
    vector::{Avx512, V, Words},
};
use crate::scalar::convert as scalar;

/// Vectors in flight: as many chains of dependent multiplications as hide their latency.
const TILE: usize = 4;
const COLUMNS: usize = 8 * TILE;

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
pub(crate) fn weighted_sum(q: Modulus, out: &mut [u64], rows: &[u64], weights: &[u64]) {
    let columns = out.len();
    if q.bits() < MIN_WORD_BITS || !columns.is_multiple_of(COLUMNS) {
        return scalar::weighted_sum(q, out, rows, weights);
    }
    let reducer = Reducer::new(Avx512::new(), q);
    let simd = reducer.simd;
    for (tile, out) in out.as_chunks_mut::<8>().0.as_chunks_mut::<TILE>().0.iter_mut().enumerate() {
        sum(&reducer, out, weights.len(), |row, vector| {
            let at = row * columns + tile * COLUMNS + 8 * vector;
            (load(simd, rows, at), simd.splat(weights[row]))
        });
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
pub(crate) fn dot_pair(q: Modulus, out: (&mut [u64], &mut [u64]), a: &[&[u64]], b: (&[u64], &[u64])) {
    let columns = out.0.len();
    if q.bits() < MIN_WORD_BITS || !columns.is_multiple_of(COLUMNS) {
        return scalar::dot_pair(q, out, a, b);
    }
    let reducer = Reducer::new(Avx512::new(), q);
    let simd = reducer.simd;
    let tiles = |out| <[u64]>::as_chunks_mut::<8>(out).0.as_chunks_mut::<TILE>().0;
    for (tile, (left, right)) in tiles(out.0).iter_mut().zip(tiles(out.1)).enumerate() {
        let [left, right] = [(left, b.0), (right, b.1)];
        // The second pass finds its column of `a` in the first cache.
        for (out, b) in [left, right] {
            sum(&reducer, out, a.len(), |row, vector| {
                let at = tile * COLUMNS + 8 * vector;
                (load(simd, a[row], at), load(simd, b, row * columns + at))
            });
        }
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
pub(crate) fn quotients(out: &mut [u64], rows: &[u64], reciprocals: &[f64]) {
    scalar::quotients(out, rows, reciprocals);
}

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
pub(crate) fn sub_scale_assign(q: Modulus, out: &mut [u64], x: &[u64], factor: u64) {
    let reducer = Reducer::new(Avx512::new(), q);
    let simd = reducer.simd;
    let factor_vector = simd.splat(factor);
    let (out, out_tail) = out.as_chunks_mut::<8>();
    let (x, x_tail) = x.as_chunks::<8>();
    for (out, x) in out.iter_mut().zip(x) {
        let difference = reducer.sub(simd.load(out), simd.load(x));
        simd.store(out, reducer.mul(difference, factor_vector));
    }
    scalar::sub_scale_assign(q, out_tail, x_tail, factor);
}

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
pub(crate) fn combine_assign(q: Modulus, out: &mut [u64], alpha: u64, x: &[u64], beta: u64) {
    let reducer = Reducer::new(Avx512::new(), q);
    let simd = reducer.simd;
    let (alphas, betas) = (simd.splat(alpha), simd.splat(beta));
    let (out, out_tail) = out.as_chunks_mut::<8>();
    let (x, x_tail) = x.as_chunks::<8>();
    for (out, x) in out.iter_mut().zip(x) {
        let left = reducer.mul(simd.load(out), alphas);
        simd.store(out, reducer.mul_add(left, simd.load(x), betas));
    }
    scalar::combine_assign(q, out_tail, alpha, x_tail, beta);
}

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
pub(crate) fn recenter(source: Modulus, target: Modulus, out: &mut [u64], x: &[u64]) {
    scalar::recenter(source, target, out, x);
}

/// Products between reductions of the sum: with 7 of them, each below `2^(47+b)`, and a canonical rest the value stays below
/// `2^(50+b)`.
const BATCH: usize = 7;

/// `out ← Σ factors.0·factors.1`, for factors below `2^47` of which the second is canonical.
#[inline(always)]
fn sum(reducer: &Reducer, out: &mut [Words; TILE], count: usize, factors: impl Fn(usize, usize) -> (V, V)) {
    let simd = reducer.simd;
    let mut rest = [simd.zero(); TILE];
    let mut first = 0;
    while first < count {
        let (mut low, mut high) = (rest, [simd.zero(); TILE]);
        for row in first..count.min(first + BATCH) {
            for vector in 0..TILE {
                let (a, b) = factors(row, vector);
                low[vector] = simd.mul_add_low(low[vector], a, b);
                high[vector] = simd.mul_add_high(high[vector], a, b);
            }
        }
        for vector in 0..TILE {
            rest[vector] = reducer.reduce_sum(low[vector], high[vector]);
        }
        first += BATCH;
    }
    for (out, rest) in out.iter_mut().zip(rest) {
        simd.store(out, rest);
    }
}

#[inline(always)]
fn load(simd: Avx512, words: &[u64], at: usize) -> V {
    let (chunk, _): (&[Words], _) = words[at..at + 8].as_chunks();
    simd.load(&chunk[0])
}
