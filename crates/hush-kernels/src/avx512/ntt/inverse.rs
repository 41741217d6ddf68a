// SPDX-License-Identifier: Apache-2.0
//! Values to coefficients: Gentleman–Sande butterflies with few corrections.
//!
//! # Ranges
//! A butterfly `(x, y) ← (x + y, w·(x − y + 16q) mod q)` doubles the true range of the first row and brings the second back
//! to `[0, 2q)`. Only rows that were first again and again grow: [`Schedule`] follows the bound of each row, and a row
//! above `16q` is reduced before it enters a layer, so that sums stay below `32q` and differences inside `(0, 32q)`, both
//! within the 52 bits. Between passes every row is below `4q`, the bound that costs the fewest reductions.

use super::{
    super::vector::{Avx512, BlockColumns, V, Words},
    BlockTwiddles, Constants, Pass, Tables, TwiddleVector,
};
use crate::ntt::schedule::{Limits, Schedule};

/// The inverse transform of `8·data.len()` values.
#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
pub(crate) fn inverse(tables: &Tables, data: &mut [Words]) {
    let constants = Inverse::new(Avx512::new(), tables);
    let direction = &tables.inverse;
    if let Some((last, rest)) = direction.passes.split_first() {
        let part_len = data.len() / last.radix;
        for (part, data) in data.chunks_exact_mut(part_len).enumerate() {
            walk(&constants, rest, &direction.blocks, part, data);
        }
        match last.radix {
            2 => run_pass::<2, 2, true>(&constants, last, 0, data),
            4 => run_pass::<4, 2, true>(&constants, last, 0, data),
            8 => run_pass::<8, 2, true>(&constants, last, 0, data),
            _ => run_pass::<16, 1, true>(&constants, last, 0, data),
        }
    }
}

struct Inverse {
    base: Constants,
    sixteen_q: V,
    scale: TwiddleVector,
    scaled_last: TwiddleVector,
}

/// Undoes the passes on one block, which is block number `index` of the first of them: the last pass first.
#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
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
        2 => run_pass::<2, 2, false>(c, pass, index, data),
        4 => run_pass::<4, 2, false>(c, pass, index, data),
        8 => run_pass::<8, 2, false>(c, pass, index, data),
        _ => run_pass::<16, 1, false>(c, pass, index, data),
    }
}

/// `log2 R` layers on one block, `C` columns at a time. The pass that ends the transform also multiplies by `N⁻¹`
/// and gives canonical words.
#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
fn run_pass<const R: usize, const C: usize, const LAST: bool>(
    c: &Inverse,
    pass: &Pass,
    index: usize,
    data: &mut [Words],
) {
    let twiddles = &pass.twiddles.as_chunks::<R>().0[index];
    let mut columns = BlockColumns::<R>::new(data);
    for first in (0..columns.width()).step_by(C) {
        let mut x = [[c.base.simd.zero(); R]; C];
        for (column, x) in x.iter_mut().enumerate() {
            *x = columns.load(c.base.simd, first + column);
        }
        let schedule = const { Schedule::new::<R>(LIMITS.pass, LIMITS) };
        // Written out, because the compiler must know the number of parts before it unrolls a layer.
        let twiddle = |_, entry: usize| c.base.splat_twiddle(&twiddles[entry]);
        if R >= 16 {
            c.layer(&mut x, 8, schedule.before[3], twiddle);
        }
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
            c.reduce_rows(&mut x, schedule.end);
        }
        for (column, x) in x.into_iter().enumerate() {
            columns.store(c.base.simd, first + column, x);
        }
    }
}

/// The first six layers of consecutive 64-point blocks, two blocks at a time, so that one fills the waits of the other.
#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
fn start(c: &Inverse, twiddles: &[BlockTwiddles], data: &mut [Words]) {
    let (pairs, single) = data.as_chunks_mut::<16>();
    for (pair, twiddles) in pairs.iter_mut().zip(twiddles.as_chunks::<2>().0) {
        start_blocks(c, pair.as_chunks_mut().0, twiddles.each_ref());
    }
    if let (Some(twiddles), [block]) = (twiddles.get(2 * pairs.len()), single.as_chunks_mut().0) {
        start_blocks(c, std::array::from_mut(block), [twiddles]);
    }
}

/// The first six layers, on registers.
#[inline(always)]
fn start_blocks<const C: usize>(c: &Inverse, blocks: &mut [[Words; 8]], twiddles: [&BlockTwiddles; C]) {
    let mut x = [[c.base.simd.zero(); 8]; C];
    for (x, block) in x.iter_mut().zip(blocks.iter()) {
        for (x, words) in x.iter_mut().zip(block) {
            *x = c.base.simd.load(words);
        }
    }
    let lane = |block: usize, entry: usize| c.base.lane_twiddle(twiddles[block], entry);
    // Canonical words: three layers reach 8q at most.
    c.layer(&mut x, 4, 0, lane);
    c.layer(&mut x, 2, 0, lane);
    c.layer(&mut x, 1, 0, lane);
    for x in &mut x {
        *x = c.base.simd.transpose(*x);
    }
    let schedule = const { Schedule::new::<8>(8, LIMITS) };
    let row = |block: usize, entry: usize| c.base.splat_twiddle(&twiddles[block].rows[entry]);
    c.layer(&mut x, 4, schedule.before[2], row);
    c.layer(&mut x, 2, schedule.before[1], row);
    c.layer(&mut x, 1, schedule.before[0], row);
    c.reduce_rows(&mut x, schedule.end);
    for (x, block) in x.into_iter().zip(blocks) {
        for (x, words) in x.into_iter().zip(block) {
            c.base.simd.store(words, x);
        }
    }
}

/// Sums stay below `32q`, differences plus `16q` inside `(0, 32q)`.
const LIMITS: Limits = Limits { reset: 2, layer: 16, pass: 4 };

impl Inverse {
    #[inline(always)]
    fn new(simd: Avx512, tables: &Tables) -> Self {
        let base = Constants::new(simd, tables.modulus);
        let [scale, scaled_last] = &tables.scale;
        Self {
            base,
            sixteen_q: simd.splat(16 * tables.modulus.value()),
            scale: base.splat_twiddle(scale),
            scaled_last: base.splat_twiddle(scaled_last),
        }
    }

    /// One layer between `R` rows, cut in `parts` parts, for `C` independent columns. Marked rows are reduced first.
    #[inline(always)]
    fn layer<const R: usize, const C: usize>(
        &self,
        x: &mut [[V; R]; C],
        parts: usize,
        marks: u32,
        twiddle: impl Fn(usize, usize) -> TwiddleVector,
    ) {
        let half = R / (2 * parts);
        for (column, x) in x.iter_mut().enumerate() {
            for part in 0..parts {
                let w = twiddle(column, parts + part);
                for low in 2 * half * part..2 * half * part + half {
                    let high = low + half;
                    let (sum, difference) = self.butterfly(x[low], x[high], marks, low, high);
                    x[low] = sum;
                    x[high] = self.base.mul_lazy2(difference, w);
                }
            }
        }
    }

    /// The layer that ends the transform, with the factor `N⁻¹`; canonical.
    #[inline(always)]
    fn finish<const R: usize, const C: usize>(&self, x: &mut [[V; R]; C], marks: u32) {
        let half = R / 2;
        for x in x {
            for low in 0..half {
                let high = low + half;
                let (sum, difference) = self.butterfly(x[low], x[high], marks, low, high);
                x[low] = self.base.canonical(self.base.mul_lazy2(sum, self.scale));
                x[high] = self.base.canonical(self.base.mul_lazy2(difference, self.scaled_last));
            }
        }
    }

    /// `(x + y, x − y + 16q)` for the rows `low` and `high`.
    #[inline(always)]
    fn butterfly(&self, x: V, y: V, marks: u32, low: usize, high: usize) -> (V, V) {
        let (x, y) = (self.reduce_marked(x, marks, low), self.reduce_marked(y, marks, high));
        (self.base.simd.add(x, y), self.base.simd.sub(self.base.simd.add(x, self.sixteen_q), y))
    }

    /// Brings the marked rows below `2q`.
    #[inline(always)]
    fn reduce_rows<const R: usize, const C: usize>(&self, x: &mut [[V; R]; C], marks: u32) {
        for x in x {
            for (row, x) in x.iter_mut().enumerate() {
                *x = self.reduce_marked(*x, marks, row);
            }
        }
    }

    /// Brings a row below `2q` if it is marked.
    #[inline(always)]
    fn reduce_marked(&self, x: V, marks: u32, row: usize) -> V {
        if marks >> row & 1 == 1 { self.base.reduce_lazy2(x) } else { x }
    }
}
