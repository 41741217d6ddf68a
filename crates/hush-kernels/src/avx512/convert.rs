// SPDX-License-Identifier: Apache-2.0
//! Sums of products per element, four vectors of eight columns at a time, in integer-FMA accumulators.

use hush_arith::Modulus;

use super::{
    reduce::{MIN_WORD_BITS, Reducer},
    vector::{Avx512, V, Words},
};
use crate::{
    operands::TAG_SHIFT,
    scalar::convert::{self as scalar, TWO_TO_52},
};

/// Vectors in flight: as many chains of dependent multiplications as hide their latency.
const TILE: usize = 4;
const COLUMNS: usize = 8 * TILE;

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
pub(crate) fn tagged_sum(q: Modulus, out: &mut [u64], rows: &[u64], weights: &[u64]) {
    let columns = out.len();
    if q.bits() < MIN_WORD_BITS || !columns.is_multiple_of(COLUMNS) {
        return scalar::tagged_sum(q, out, rows, weights);
    }
    let reducer = Reducer::new(Avx512::new(), q);
    let simd = reducer.simd;
    let shift = simd.splat(TAG_SHIFT.into());
    let tag_row = weights.len() - 1;
    for (tile, out) in tiles_mut(out).iter_mut().enumerate() {
        sum(&reducer, out, weights.len(), |row| {
            // The products take the low 52 bits of a word, which leaves out the tag.
            let words = match row == tag_row {
                true => load(simd, rows, tile * COLUMNS).map(|words| simd.shift_right(words, shift)),
                false => load(simd, rows, row * columns + tile * COLUMNS),
            };
            (words, [simd.splat(weights[row]); TILE])
        });
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
pub(crate) fn dot_pair(q: Modulus, out: (&mut [u64], &mut [u64]), a: &[&[u64]], b: (&[&[u64]], &[&[u64]])) {
    let columns = out.0.len();
    if q.bits() < MIN_WORD_BITS || !columns.is_multiple_of(COLUMNS) {
        return scalar::dot_pair(q, out, a, b);
    }
    let reducer = Reducer::new(Avx512::new(), q);
    let simd = reducer.simd;
    for (tile, (left, right)) in tiles_mut(out.0).iter_mut().zip(tiles_mut(out.1)).enumerate() {
        // The second pass finds its column of `a` in the first cache.
        for (out, b) in [(left, b.0), (right, b.1)] {
            sum(&reducer, out, a.len(), |row| {
                (load(simd, a[row], tile * COLUMNS), load(simd, b[row], tile * COLUMNS))
            });
        }
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
pub(crate) fn tag_quotients(rows: &mut [u64], columns: usize, reciprocals: &[f64]) {
    if !columns.is_multiple_of(COLUMNS) {
        return scalar::tag_quotients(rows, columns, reciprocals);
    }
    let simd = Avx512::new();
    let (magic, shift) = (simd.splat(TWO_TO_52.to_bits()), simd.splat(TAG_SHIFT.into()));
    for tile in 0..columns / COLUMNS {
        let mut sums = [simd.zero(); TILE];
        for (row, &reciprocal) in reciprocals.iter().enumerate() {
            let reciprocal = simd.splat(reciprocal.to_bits());
            for (sum, words) in sums.iter_mut().zip(load(simd, rows, row * columns + tile * COLUMNS)) {
                let number = simd.sub_doubles(simd.or(words, magic), magic);
                *sum = simd.add_doubles(*sum, simd.mul_doubles(number, reciprocal));
            }
        }
        let words = &mut tiles_mut(&mut rows[tile * COLUMNS..][..COLUMNS])[0];
        for (words, sum) in words.iter_mut().zip(sums) {
            // The addition rounds to an integer; the shift drops the bits above it.
            let tag = simd.shift_left(simd.add_doubles(sum, magic), shift);
            simd.store(words, simd.or(simd.load(words), tag));
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

/// `out ← Σ factors.0·factors.1`, for factors with low 52 bits below `2^47`; the second factor is canonical.
#[inline(always)]
fn sum(
    reducer: &Reducer,
    out: &mut [Words; TILE],
    count: usize,
    factors: impl Fn(usize) -> ([V; TILE], [V; TILE]),
) {
    let simd = reducer.simd;
    let mut rest = [simd.zero(); TILE];
    let mut first = 0;
    while first < count {
        let (mut low, mut high) = (rest, [simd.zero(); TILE]);
        for row in first..count.min(first + BATCH) {
            let (a, b) = factors(row);
            for vector in 0..TILE {
                low[vector] = simd.mul_add_low(low[vector], a[vector], b[vector]);
                high[vector] = simd.mul_add_high(high[vector], a[vector], b[vector]);
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
fn tiles_mut(words: &mut [u64]) -> &mut [[Words; TILE]] {
    words.as_chunks_mut::<8>().0.as_chunks_mut::<TILE>().0
}

/// The tile that begins at a word.
#[inline(always)]
fn load(simd: Avx512, words: &[u64], at: usize) -> [V; TILE] {
    let (vectors, _): (&[Words], _) = words[at..at + COLUMNS].as_chunks();
    let mut tile = [simd.zero(); TILE];
    for (vector, words) in tile.iter_mut().zip(vectors) {
        *vector = simd.load(words);
    }
    tile
}
