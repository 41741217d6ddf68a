// SPDX-License-Identifier: Apache-2.0
//! Values to coefficients: Gentleman–Sande butterflies with few corrections.
//!
//! # Ranges
//! A butterfly `(x, y) ← (x + y, w·(x − y))` adds the bounds of its rows for the first and makes the second lazy. Only rows that were
//! first again and again grow: [`Schedule`] follows the bound of each row, and a row above the path's `layer` is reduced
//! before it enters a layer. Between passes every row is within `pass`.

use super::{
    super::{Butterflies, Vector},
    BLOCK, ROWS, Transform, lane_factors, rows, store_transposed,
};
use crate::ntt::{
    schedule::Schedule,
    tables::{BlockTwiddles, Pass, Twiddle},
};

impl<const L: usize, S: Vector<L>> Transform<'_, L, S> {
    pub(super) fn inverse(&self, data: &mut [u64]) {
        if let Some((last, rest)) = self.tables.inverse.passes.split_first() {
            let part_len = data.len() / last.radix;
            for (part, data) in data.chunks_exact_mut(part_len).enumerate() {
                self.walk_back(rest, part, data);
            }
            self.inverse_pass::<true>(last, 0, data);
        }
    }

    /// Undoes the passes on one block, which is block number `index` of the first of them: the last pass first.
    fn walk_back(&self, passes: &[Pass<S::Word>], index: usize, data: &mut [u64]) {
        let blocks = &self.tables.inverse.blocks;
        let Some((pass, rest)) = passes.split_first() else {
            return self.start(&blocks[index..], data);
        };
        if rest.is_empty() {
            self.start(&blocks[index * pass.radix..], data);
        } else {
            let part_len = data.len() / pass.radix;
            for (part, data) in data.chunks_exact_mut(part_len).enumerate() {
                self.walk_back(rest, index * pass.radix + part, data);
            }
        }
        self.inverse_pass::<false>(pass, index, data);
    }

    /// A pass on its block number `index`. The pass that ends the transform also multiplies by `N⁻¹` and gives canonical words.
    fn inverse_pass<const LAST: bool>(&self, pass: &Pass<S::Word>, index: usize, data: &mut [u64]) {
        match (pass.radix, S::Butterflies::PAIRS) {
            (2, false) => self.inverse_columns::<2, 1, LAST>(pass, index, data),
            (2, true) => self.inverse_columns::<2, 2, LAST>(pass, index, data),
            (4, false) => self.inverse_columns::<4, 1, LAST>(pass, index, data),
            (4, true) => self.inverse_columns::<4, 2, LAST>(pass, index, data),
            (8, false) => self.inverse_columns::<8, 1, LAST>(pass, index, data),
            (8, true) => self.inverse_columns::<8, 2, LAST>(pass, index, data),
            _ => self.inverse_columns::<16, 1, LAST>(pass, index, data),
        }
    }

    /// `log2 R` layers on one block, `C` columns at a time.
    fn inverse_columns<const R: usize, const C: usize, const LAST: bool>(
        &self,
        pass: &Pass<S::Word>,
        index: usize,
        data: &mut [u64],
    ) {
        let (b, twiddles) = (self.b, &pass.twiddles.as_chunks::<R>().0[index]);
        let [scale, scaled_last] = &self.tables.scale;
        self.simd.run(
            data,
            #[inline(always)]
            |data| {
                let schedule =
                    const { Schedule::new::<R>(S::Butterflies::LIMITS.pass, S::Butterflies::LIMITS) };
                let (scale, scaled_last) = (b.splat(scale), b.splat(scaled_last));
                let mut rows = rows::<L, R, C>(data);
                for group in 0..rows[0].len() {
                    let mut x = [[b.zero(); R]; C];
                    for (row, words) in rows.iter().enumerate() {
                        for (column, words) in words[group].iter().enumerate() {
                            x[column][row] = b.load(words);
                        }
                    }
                    // Written out, because the compiler must know the number of parts before it unrolls a layer.
                    if R >= 16 {
                        row_layer(&b, &mut x, 8, schedule.before[3], [twiddles; C]);
                    }
                    if R >= 8 {
                        row_layer(&b, &mut x, 4, schedule.before[2], [twiddles; C]);
                    }
                    if R >= 4 {
                        row_layer(&b, &mut x, 2, schedule.before[1], [twiddles; C]);
                    }
                    if LAST {
                        last_layer(&b, &mut x, schedule.before[0], [scale, scaled_last]);
                    } else {
                        row_layer(&b, &mut x, 1, schedule.before[0], [twiddles; C]);
                        reduce_rows(&b, &mut x, schedule.end);
                    }
                    for (row, words) in rows.iter_mut().enumerate() {
                        for (column, words) in words[group].iter_mut().enumerate() {
                            if LAST {
                                b.store_words(words, x[column][row])
                            } else {
                                b.store(words, x[column][row])
                            };
                        }
                    }
                }
            },
        );
    }

    /// The first six layers of consecutive blocks.
    fn start(&self, mut twiddles: &[BlockTwiddles<S::Word>], data: &mut [u64]) {
        let b = self.b;
        self.simd.run(
            data,
            #[inline(always)]
            |data| {
                let mut blocks = data.as_chunks_mut::<BLOCK>().0;
                if S::Butterflies::PAIRS {
                    let (pairs, single) = blocks.as_chunks_mut::<2>();
                    for (pair, twiddles) in pairs.iter_mut().zip(twiddles.as_chunks::<2>().0) {
                        start_blocks(&b, pair, twiddles.each_ref());
                    }
                    (blocks, twiddles) = (single, &twiddles[2 * pairs.len()..]);
                }
                for (block, twiddles) in blocks.iter_mut().zip(twiddles) {
                    start_blocks(&b, std::array::from_mut(block), [twiddles]);
                }
            },
        );
    }
}

/// The first six layers of `C` blocks.
#[inline(always)]
fn start_blocks<const L: usize, const C: usize, B: Butterflies<L>>(
    b: &B,
    blocks: &mut [[u64; BLOCK]; C],
    twiddles: [&BlockTwiddles<B::Word>; C],
) {
    let parts = const { ROWS / L };
    let mut transposed = [[0; BLOCK]; C];
    for part in 0..parts {
        let mut x = [[b.zero(); ROWS]; C];
        for (x, block) in x.iter_mut().zip(&*blocks) {
            for (row, x) in x.iter_mut().enumerate() {
                *x = b.load_words(&block.as_chunks::<L>().0[parts * row + part]);
            }
        }
        // Canonical words: three layers reach 8q at most.
        const { assert!(B::LIMITS.layer >= 4) };
        lane_layer(b, &mut x, 4, twiddles, part);
        lane_layer(b, &mut x, 2, twiddles, part);
        lane_layer(b, &mut x, 1, twiddles, part);
        for (x, transposed) in x.into_iter().zip(&mut transposed) {
            store_transposed(b, transposed, part, x);
        }
    }
    let schedule = const { Schedule::new::<ROWS>(8, B::LIMITS) };
    for part in 0..parts {
        let mut x = [[b.zero(); ROWS]; C];
        for (x, block) in x.iter_mut().zip(&transposed) {
            for (row, x) in x.iter_mut().enumerate() {
                *x = b.load(&block.as_chunks::<L>().0[parts * row + part]);
            }
        }
        let rows = twiddles.map(|twiddles| &twiddles.rows);
        row_layer(b, &mut x, 4, schedule.before[2], rows);
        row_layer(b, &mut x, 2, schedule.before[1], rows);
        row_layer(b, &mut x, 1, schedule.before[0], rows);
        reduce_rows(b, &mut x, schedule.end);
        for (x, block) in x.into_iter().zip(&mut *blocks) {
            for (row, x) in x.into_iter().enumerate() {
                b.store(&mut block.as_chunks_mut::<L>().0[parts * row + part], x);
            }
        }
    }
}

/// A layer with one twiddle for all lanes. Marked rows are reduced first.
#[inline(always)]
fn row_layer<const L: usize, const R: usize, const C: usize, B: Butterflies<L>>(
    b: &B,
    x: &mut [[B::V; R]; C],
    parts: usize,
    marks: u32,
    twiddles: [&[Twiddle<B::Word>; R]; C],
) {
    layer(
        b,
        x,
        parts,
        marks,
        #[inline(always)]
        |column, entry| b.splat(&twiddles[column][entry]),
    );
}

/// A layer with one twiddle for each lane, on rows that need no reduction.
#[inline(always)]
fn lane_layer<const L: usize, const R: usize, const C: usize, B: Butterflies<L>>(
    b: &B,
    x: &mut [[B::V; R]; C],
    parts: usize,
    twiddles: [&BlockTwiddles<B::Word>; C],
    part: usize,
) {
    layer(
        b,
        x,
        parts,
        0,
        #[inline(always)]
        |column, entry| lane_factors(b, twiddles[column], part, entry),
    );
}

/// One layer between `R` rows, cut in `parts` parts, for `C` independent columns. Marked rows are reduced first.
#[inline(always)]
fn layer<const L: usize, const R: usize, const C: usize, B: Butterflies<L>>(
    b: &B,
    x: &mut [[B::V; R]; C],
    parts: usize,
    marks: u32,
    factor: impl Fn(usize, usize) -> B::Factor,
) {
    let half = R / (2 * parts);
    for (column, x) in x.iter_mut().enumerate() {
        for part in 0..parts {
            let w = factor(column, parts + part);
            for low in 2 * half * part..2 * half * part + half {
                let (sum, difference) = sum_difference(b, x, marks, low, low + half);
                x[low] = sum;
                x[low + half] = b.mul(difference, w);
            }
        }
    }
}

/// The layer that ends the transform, with the factor `N⁻¹` for sums and that times the twiddle for differences; canonical.
#[inline(always)]
fn last_layer<const L: usize, const R: usize, const C: usize, B: Butterflies<L>>(
    b: &B,
    x: &mut [[B::V; R]; C],
    marks: u32,
    scale: [B::Factor; 2],
) {
    for x in x {
        for low in 0..R / 2 {
            let (sum, difference) = sum_difference(b, x, marks, low, low + R / 2);
            x[low] = b.canonical(b.mul(sum, scale[0]));
            x[low + R / 2] = b.canonical(b.mul(difference, scale[1]));
        }
    }
}

/// `(x + y, x − y)` for two rows, which are reduced first if they are marked.
#[inline(always)]
fn sum_difference<const L: usize, const R: usize, B: Butterflies<L>>(
    b: &B,
    x: &[B::V; R],
    marks: u32,
    low: usize,
    high: usize,
) -> (B::V, B::V) {
    b.sum_difference(reduce_marked(b, x[low], marks, low), reduce_marked(b, x[high], marks, high))
}

/// Makes the marked rows lazy.
#[inline(always)]
fn reduce_rows<const L: usize, const R: usize, const C: usize, B: Butterflies<L>>(
    b: &B,
    x: &mut [[B::V; R]; C],
    marks: u32,
) {
    for x in x {
        for (row, x) in x.iter_mut().enumerate() {
            *x = reduce_marked(b, *x, marks, row);
        }
    }
}

/// Makes a row lazy if it is marked.
#[inline(always)]
fn reduce_marked<const L: usize, B: Butterflies<L>>(b: &B, x: B::V, marks: u32, row: usize) -> B::V {
    if marks >> row & 1 == 1 { b.reduce(x) } else { x }
}
