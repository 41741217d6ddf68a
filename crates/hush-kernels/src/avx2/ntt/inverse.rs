// SPDX-License-Identifier: Apache-2.0
//! Values to coefficients: Gentleman–Sande butterflies with few corrections.
//!
//! # Ranges
//! A butterfly `(x, y) ← (x + y, w·(x − y) mod q)` doubles the range of the first row and brings the second back to
//! `[−0.75q, 0.75q]`. A row that may exceed `8q` is reduced before it enters a layer, so that sums and differences stay within
//! `16q < 2^51`; [`Schedule`] knows which.

use super::{
    super::vector::{Avx2, BlockColumns, V, Words},
    BlockTwiddles, Pass, Reducer, Tables, lane_twiddle, splat_twiddle, transpose_block,
};
use crate::{
    avx2::reduce::Factor,
    ntt::schedule::{Limits, Schedule},
};

/// The inverse transform of `4·data.len()` values.
#[target_feature(enable = "avx2,fma")]
pub(crate) fn inverse(tables: &Tables, data: &mut [Words]) {
    let base = Reducer::new(Avx2::new(), tables.modulus);
    let [scale, scaled_last] = tables.scale.each_ref().map(|twiddle| splat_twiddle(&base, twiddle));
    let c = Inverse { base, scale, scaled_last };
    let direction = &tables.inverse;
    if let Some((last, rest)) = direction.passes.split_first() {
        let part_len = data.len() / last.radix;
        for (part, data) in data.chunks_exact_mut(part_len).enumerate() {
            walk(&c, rest, &direction.blocks, part, data);
        }
        match last.radix {
            2 => run_pass::<2, true>(&c, last, 0, data),
            4 => run_pass::<4, true>(&c, last, 0, data),
            _ => run_pass::<8, true>(&c, last, 0, data),
        }
    }
}

struct Inverse {
    base: Reducer,
    scale: Factor,
    scaled_last: Factor,
}

/// Undoes the passes on one block, which is block number `index` of the first of them: the last pass first.
#[target_feature(enable = "avx2,fma")]
fn walk(c: &Inverse, passes: &[Pass], blocks: &[BlockTwiddles], index: usize, data: &mut [Words]) {
    let Some((pass, rest)) = passes.split_first() else {
        return start(c, &blocks[index..], data);
    };
    if rest.is_empty() {
        start(c, &blocks[index * pass.radix..], data);
    } else {
        let part_len = data.len() / pass.radix;
        for (part, data) in data.chunks_exact_mut(part_len).enumerate() {
            walk(c, rest, blocks, index * pass.radix + part, data);
        }
    }
    match pass.radix {
        2 => run_pass::<2, false>(c, pass, index, data),
        4 => run_pass::<4, false>(c, pass, index, data),
        _ => run_pass::<8, false>(c, pass, index, data),
    }
}

/// `log2 R` layers on one block. The pass that ends the transform also multiplies by `N⁻¹` and gives canonical integers.
#[target_feature(enable = "avx2,fma")]
fn run_pass<const R: usize, const LAST: bool>(c: &Inverse, pass: &Pass, index: usize, data: &mut [Words]) {
    let twiddles = &pass.twiddles.as_chunks::<R>().0[index];
    let schedule = const { Schedule::new::<R>(LIMITS.pass, LIMITS) };
    let simd = c.base.simd;
    let mut columns = BlockColumns::<R>::new(data);
    for column in 0..columns.width() {
        let mut rows = columns.rows(column);
        let mut x = [simd.zero(); R];
        for (x, words) in x.iter_mut().zip(&rows) {
            *x = simd.load(words);
        }
        // Written out, because the compiler must know the number of parts before it unrolls a layer.
        let twiddle = |entry: usize| splat_twiddle(&c.base, &twiddles[entry]);
        if R >= 8 {
            c.layer(&mut x, 4, schedule.before[2], twiddle);
        }
        if R >= 4 {
            c.layer(&mut x, 2, schedule.before[1], twiddle);
        }
        if LAST {
            c.finish(&mut x, schedule.before[0]);
        } else {
            c.layer(&mut x, 1, schedule.before[0], twiddle);
        }
        for (row, (x, words)) in x.into_iter().zip(&mut rows).enumerate() {
            if LAST {
                simd.store_integers(words, x);
            } else {
                simd.store(words, c.reduce_marked(x, schedule.end, row));
            }
        }
    }
}

/// The first six layers of consecutive 64-point blocks.
#[target_feature(enable = "avx2,fma")]
fn start(c: &Inverse, twiddles: &[BlockTwiddles], data: &mut [Words]) {
    let simd = c.base.simd;
    for (block, twiddles) in data.as_chunks_mut::<16>().0.iter_mut().zip(twiddles) {
        let mut x = [simd.zero(); 16];
        for half in 0..2 {
            let mut lanes: [V; 8] = std::array::from_fn(|row| simd.load_integers(&block[2 * row + half]));
            // Canonical integers: three layers reach 8q at most.
            let twiddle = |entry| lane_twiddle(&c.base, twiddles, half, entry);
            c.layer(&mut lanes, 4, 0, twiddle);
            c.layer(&mut lanes, 2, 0, twiddle);
            c.layer(&mut lanes, 1, 0, twiddle);
            for (row, vector) in lanes.into_iter().enumerate() {
                x[2 * row + half] = vector;
            }
        }
        let x = transpose_block(&c.base, x);
        let schedule = const { Schedule::new::<8>(8, LIMITS) };
        for half in 0..2 {
            let mut columns: [V; 8] = std::array::from_fn(|row| x[2 * row + half]);
            let twiddle = |entry: usize| splat_twiddle(&c.base, &twiddles.rows[entry]);
            c.layer(&mut columns, 4, schedule.before[2], twiddle);
            c.layer(&mut columns, 2, schedule.before[1], twiddle);
            c.layer(&mut columns, 1, schedule.before[0], twiddle);
            for (row, vector) in columns.into_iter().enumerate() {
                simd.store(&mut block[2 * row + half], c.reduce_marked(vector, schedule.end, row));
            }
        }
    }
}

/// Sums and differences stay within `16q`.
const LIMITS: Limits = Limits { reset: 1, layer: 8, pass: 2 };

impl Inverse {
    /// One layer between `R` rows, cut in `parts` parts. Marked rows are reduced first.
    #[inline(always)]
    fn layer<const R: usize>(
        &self,
        x: &mut [V; R],
        parts: usize,
        marks: u32,
        twiddle: impl Fn(usize) -> Factor,
    ) {
        let half = R / (2 * parts);
        for part in 0..parts {
            let w = twiddle(parts + part);
            for low in 2 * half * part..2 * half * part + half {
                let (sum, difference) = self.butterfly(x, marks, low, low + half);
                x[low] = sum;
                x[low + half] = self.base.mul_constant(difference, w);
            }
        }
    }

    /// The layer that ends the transform, with the factor `N⁻¹`; canonical.
    #[inline(always)]
    fn finish<const R: usize>(&self, x: &mut [V; R], marks: u32) {
        let half = R / 2;
        for low in 0..half {
            let (sum, difference) = self.butterfly(x, marks, low, low + half);
            x[low] = self.base.canonical(self.base.mul_constant(sum, self.scale));
            x[low + half] = self.base.canonical(self.base.mul_constant(difference, self.scaled_last));
        }
    }

    /// `(x + y, x − y)` for the rows `low` and `high`.
    #[inline(always)]
    fn butterfly<const R: usize>(&self, x: &[V; R], marks: u32, low: usize, high: usize) -> (V, V) {
        let (x, y) = (self.reduce_marked(x[low], marks, low), self.reduce_marked(x[high], marks, high));
        (self.base.simd.add(x, y), self.base.simd.sub(x, y))
    }

    /// Brings a row within `q` if it is marked.
    #[inline(always)]
    fn reduce_marked(&self, x: V, marks: u32, row: usize) -> V {
        if marks >> row & 1 == 1 { self.base.reduce(x) } else { x }
    }
}
