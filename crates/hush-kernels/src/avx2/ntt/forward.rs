// SPDX-License-Identifier: Apache-2.0
//! Coefficients to values: Cooley–Tukey butterflies without any correction.
//!
//! # Ranges
//! A butterfly `(x, y) ← (x + t, x − t)`, `t = w·y mod q ∈ [−0.75q, 0.75q]`, raises the range by `0.75q` and takes any `y` up to
//! `2^51`. From canonical input, 16 layers end at most at `13q < 2^51`.

use super::{
    super::vector::{Avx2, BlockColumns, V, Words},
    BlockTwiddles, Pass, Reducer, Tables, Twiddle, lane_twiddle, splat_twiddle, transpose_block,
};
use crate::avx2::reduce::Factor;

/// The transform of `4·data.len()` coefficients.
#[target_feature(enable = "avx2,fma")]
pub(crate) fn forward(tables: &Tables, data: &mut [Words]) {
    let reducer = Reducer::new(Avx2::new(), tables.modulus);
    let direction = &tables.forward;
    if let Some((first, rest)) = direction.passes.split_first() {
        match first.radix {
            2 => run_pass::<2, true>(&reducer, first, 0, data),
            4 => run_pass::<4, true>(&reducer, first, 0, data),
            _ => run_pass::<8, true>(&reducer, first, 0, data),
        }
        let part_len = data.len() / first.radix;
        for (part, data) in data.chunks_exact_mut(part_len).enumerate() {
            walk(&reducer, rest, &direction.blocks, part, data);
        }
    }
}

/// Runs the passes on one block, which is block number `index` of the first of them, and finishes it.
#[target_feature(enable = "avx2,fma")]
fn walk(reducer: &Reducer, passes: &[Pass], blocks: &[BlockTwiddles], index: usize, data: &mut [Words]) {
    let Some((pass, rest)) = passes.split_first() else {
        return finish(reducer, &blocks[index..], data);
    };
    match pass.radix {
        2 => run_pass::<2, false>(reducer, pass, index, data),
        4 => run_pass::<4, false>(reducer, pass, index, data),
        _ => run_pass::<8, false>(reducer, pass, index, data),
    }
    if rest.is_empty() {
        return finish(reducer, &blocks[index * pass.radix..], data);
    }
    let part_len = data.len() / pass.radix;
    for (part, data) in data.chunks_exact_mut(part_len).enumerate() {
        walk(reducer, rest, blocks, index * pass.radix + part, data);
    }
}

/// `log2 R` layers on one block. The first pass reads integers.
#[target_feature(enable = "avx2,fma")]
fn run_pass<const R: usize, const FIRST: bool>(
    reducer: &Reducer,
    pass: &Pass,
    index: usize,
    data: &mut [Words],
) {
    let twiddles = &pass.twiddles.as_chunks::<R>().0[index];
    let simd = reducer.simd;
    let mut columns = BlockColumns::<R>::new(data);
    for column in 0..columns.width() {
        let mut x = [simd.zero(); R];
        let mut rows = columns.rows(column);
        for (x, words) in x.iter_mut().zip(&rows) {
            *x = if FIRST { simd.load_integers(words) } else { simd.load(words) };
        }
        layers(reducer, &mut x, twiddles);
        for (x, words) in x.into_iter().zip(&mut rows) {
            simd.store(words, x);
        }
    }
}

/// The last six layers of consecutive 64-point blocks, and the only reduction.
#[target_feature(enable = "avx2,fma")]
fn finish(reducer: &Reducer, twiddles: &[BlockTwiddles], data: &mut [Words]) {
    let simd = reducer.simd;
    for (block, twiddles) in data.as_chunks_mut::<16>().0.iter_mut().zip(twiddles) {
        let mut x = [simd.zero(); 16];
        for half in 0..2 {
            let mut columns: [V; 8] = std::array::from_fn(|row| simd.load(&block[2 * row + half]));
            layers(reducer, &mut columns, &twiddles.rows);
            for (row, vector) in columns.into_iter().enumerate() {
                x[2 * row + half] = vector;
            }
        }
        let x = transpose_block(reducer, x);
        for half in 0..2 {
            let mut lanes: [V; 8] = std::array::from_fn(|row| x[2 * row + half]);
            let twiddle = |entry| lane_twiddle(reducer, twiddles, half, entry);
            layer(reducer, &mut lanes, 1, twiddle);
            layer(reducer, &mut lanes, 2, twiddle);
            layer(reducer, &mut lanes, 4, twiddle);
            for (row, vector) in lanes.into_iter().enumerate() {
                simd.store_integers(&mut block[2 * row + half], reducer.canonical(reducer.reduce(vector)));
            }
        }
    }
}

/// All layers between `R` rows.
#[inline(always)]
fn layers<const R: usize>(reducer: &Reducer, x: &mut [V; R], twiddles: &[Twiddle; R]) {
    // Written out, because the compiler must know the number of parts before it unrolls a layer.
    let twiddle = |entry: usize| splat_twiddle(reducer, &twiddles[entry]);
    layer(reducer, x, 1, twiddle);
    if R >= 4 {
        layer(reducer, x, 2, twiddle);
    }
    if R >= 8 {
        layer(reducer, x, 4, twiddle);
    }
}

/// One layer between `R` rows, cut in `parts` parts.
#[inline(always)]
fn layer<const R: usize>(reducer: &Reducer, x: &mut [V; R], parts: usize, twiddle: impl Fn(usize) -> Factor) {
    let half = R / (2 * parts);
    for part in 0..parts {
        let w = twiddle(parts + part);
        for low in 2 * half * part..2 * half * part + half {
            let t = reducer.mul_constant(x[low + half], w);
            (x[low], x[low + half]) = (reducer.simd.add(x[low], t), reducer.simd.sub(x[low], t));
        }
    }
}
