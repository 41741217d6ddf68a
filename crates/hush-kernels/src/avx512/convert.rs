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
    let wide = Wide::new(q);
    let simd = wide.reducer.simd;
    for (tile, out) in out.as_chunks_mut::<8>().0.as_chunks_mut::<TILE>().0.iter_mut().enumerate() {
        wide.sum(out, weights.len(), |row, vector| {
            let at = row * columns + tile * COLUMNS + 8 * vector;
            (load(simd, rows, at), simd.splat(weights[row]))
        });
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
pub(crate) fn dot(q: Modulus, out: &mut [u64], a: &[u64], b: &[u64], count: usize) {
    let columns = out.len();
    if q.bits() < MIN_WORD_BITS || !columns.is_multiple_of(COLUMNS) {
        return scalar::dot(q, out, a, b, count);
    }
    let wide = Wide::new(q);
    let simd = wide.reducer.simd;
    for (tile, out) in out.as_chunks_mut::<8>().0.as_chunks_mut::<TILE>().0.iter_mut().enumerate() {
        wide.sum(out, count, |row, vector| {
            let at = row * columns + tile * COLUMNS + 8 * vector;
            (load(simd, a, at), load(simd, b, at))
        });
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
pub(crate) fn quotients(out: &mut [u64], rows: &[u64], reciprocals: &[f64]) {
    // The scalar loop: multiplications, additions and conversions that the compiler makes wide, and may not fuse.
    let columns = out.len();
    let mut sums = [0.0_f64; 64];
    for (block, out) in out.chunks_mut(sums.len()).enumerate() {
        let sums = &mut sums[..out.len()];
        sums.fill(0.5);
        for (row, &reciprocal) in rows.chunks_exact(columns).zip(reciprocals) {
            for (sum, &word) in sums.iter_mut().zip(&row[block * 64..]) {
                *sum += word as f64 * reciprocal;
            }
        }
        for (out, &sum) in out.iter_mut().zip(&*sums) {
            *out = sum as u64;
        }
    }
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

/// A modulus with what folds a two-word accumulator.
struct Wide {
    reducer: Reducer,
    /// `2^52 mod q`.
    two_to_52: V,
}

impl Wide {
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
    fn new(q: Modulus) -> Self {
        let simd = Avx512::new();
        Self { reducer: Reducer::new(simd, q), two_to_52: simd.splat(q.reduce_u64(1 << 52)) }
    }

    /// `out ← Σ factors.0·factors.1`, with `factors(row, vector)` below `2^47`.
    #[inline(always)]
    fn sum(&self, out: &mut [Words; TILE], count: usize, factors: impl Fn(usize, usize) -> (V, V)) {
        let simd = self.reducer.simd;
        let (mut low, mut high) = ([simd.zero(); TILE], [simd.zero(); TILE]);
        for row in 0..count {
            for vector in 0..TILE {
                let (a, b) = factors(row, vector);
                low[vector] = simd.mul_add_low(low[vector], a, b);
                high[vector] = simd.mul_add_high(high[vector], a, b);
            }
        }
        for (out, (low, high)) in out.iter_mut().zip(low.into_iter().zip(high)) {
            let (low, high) = (self.reducer.reduce_word(low), self.reducer.reduce_word(high));
            simd.store(out, self.reducer.mul_add(low, high, self.two_to_52));
        }
    }
}

#[inline(always)]
fn load(simd: Avx512, words: &[u64], at: usize) -> V {
    let (chunk, _): (&[Words], _) = words[at..at + 8].as_chunks();
    simd.load(&chunk[0])
}
