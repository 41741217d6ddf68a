// SPDX-License-Identifier: Apache-2.0
//! Coefficients to values: Cooley–Tukey butterflies without any correction.
//!
//! # Ranges
//! A butterfly raises the bounds of both its rows by the path's `growth`. Sixteen layers from canonical input end within
//! `forward`, so that one reduction at the end is enough.

use super::{
    super::{Butterflies, Vector},
    BLOCK, ROWS, Transform, lane_factors, rows, store_transposed,
};
use crate::ntt::{
    MAX_DEGREE,
    tables::{BlockTwiddles, Pass, Twiddle},
};

impl<const L: usize, S: Vector<L>> Transform<'_, L, S> {
    pub(super) fn forward(&self, data: &mut [u64]) {
        const { assert!(S::Butterflies::LIMITS.hold_layers(MAX_DEGREE.ilog2())) };
        if let Some((first, rest)) = self.tables.forward.passes.split_first() {
            self.forward_pass::<true>(first, 0, data);
            let part_len = data.len() / first.radix;
            for (part, data) in data.chunks_exact_mut(part_len).enumerate() {
                self.walk_forward(rest, part, data);
            }
        }
    }

    /// Runs the passes on one block, which is block number `index` of the first of them, and finishes it.
    fn walk_forward(&self, passes: &[Pass<S::Word>], index: usize, data: &mut [u64]) {
        let blocks = &self.tables.forward.blocks;
        let Some((pass, rest)) = passes.split_first() else {
            return self.finish(&blocks[index..], data);
        };
        self.forward_pass::<false>(pass, index, data);
        if rest.is_empty() {
            return self.finish(&blocks[index * pass.radix..], data);
        }
        let part_len = data.len() / pass.radix;
        for (part, data) in data.chunks_exact_mut(part_len).enumerate() {
            self.walk_forward(rest, index * pass.radix + part, data);
        }
    }

    /// A pass on its block number `index`. The first pass of a transform reads words.
    fn forward_pass<const FIRST: bool>(&self, pass: &Pass<S::Word>, index: usize, data: &mut [u64]) {
        match (pass.radix, S::Butterflies::PAIRS) {
            (2, false) => self.forward_columns::<2, 1, FIRST>(pass, index, data),
            (2, true) => self.forward_columns::<2, 2, FIRST>(pass, index, data),
            (4, false) => self.forward_columns::<4, 1, FIRST>(pass, index, data),
            (4, true) => self.forward_columns::<4, 2, FIRST>(pass, index, data),
            (8, false) => self.forward_columns::<8, 1, FIRST>(pass, index, data),
            (8, true) => self.forward_columns::<8, 2, FIRST>(pass, index, data),
            _ => self.forward_columns::<16, 1, FIRST>(pass, index, data),
        }
    }

    /// `log2 R` layers on one block, `C` columns at a time.
    fn forward_columns<const R: usize, const C: usize, const FIRST: bool>(
        &self,
        pass: &Pass<S::Word>,
        index: usize,
        data: &mut [u64],
    ) {
        let (b, twiddles) = (self.b, &pass.twiddles.as_chunks::<R>().0[index]);
        self.simd.run(
            data,
            #[inline(always)]
            |data| {
                let mut rows = rows::<L, R, C>(data);
                for group in 0..rows[0].len() {
                    let mut x = [[b.zero(); R]; C];
                    for (row, words) in rows.iter().enumerate() {
                        for (column, words) in words[group].iter().enumerate() {
                            x[column][row] = if FIRST { b.load_words(words) } else { b.load(words) };
                        }
                    }
                    layers(&b, &mut x, [twiddles; C]);
                    for (row, words) in rows.iter_mut().enumerate() {
                        for (column, words) in words[group].iter_mut().enumerate() {
                            b.store(words, x[column][row]);
                        }
                    }
                }
            },
        );
    }

    /// The last six layers of consecutive blocks, and the only reduction.
    fn finish(&self, mut twiddles: &[BlockTwiddles<S::Word>], data: &mut [u64]) {
        let b = self.b;
        self.simd.run(
            data,
            #[inline(always)]
            |data| {
                let mut blocks = data.as_chunks_mut::<BLOCK>().0;
                if S::Butterflies::PAIRS {
                    let (pairs, single) = blocks.as_chunks_mut::<2>();
                    for (pair, twiddles) in pairs.iter_mut().zip(twiddles.as_chunks::<2>().0) {
                        finish_blocks(&b, pair, twiddles.each_ref());
                    }
                    (blocks, twiddles) = (single, &twiddles[2 * pairs.len()..]);
                }
                for (block, twiddles) in blocks.iter_mut().zip(twiddles) {
                    finish_blocks(&b, std::array::from_mut(block), [twiddles]);
                }
            },
        );
    }
}

/// The last six layers of `C` blocks.
#[inline(always)]
fn finish_blocks<const L: usize, const C: usize, B: Butterflies<L>>(
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
                *x = b.load(&block.as_chunks::<L>().0[parts * row + part]);
            }
        }
        layers(b, &mut x, twiddles.map(|twiddles| &twiddles.rows));
        for (x, transposed) in x.into_iter().zip(&mut transposed) {
            store_transposed(b, transposed, part, x);
        }
    }
    for part in 0..parts {
        let mut x = [[b.zero(); ROWS]; C];
        for (x, block) in x.iter_mut().zip(&transposed) {
            for (row, x) in x.iter_mut().enumerate() {
                *x = b.load(&block.as_chunks::<L>().0[parts * row + part]);
            }
        }
        lane_layer(b, &mut x, 1, twiddles, part);
        lane_layer(b, &mut x, 2, twiddles, part);
        lane_layer(b, &mut x, 4, twiddles, part);
        for (x, block) in x.into_iter().zip(&mut *blocks) {
            for (row, x) in x.into_iter().enumerate() {
                let words = &mut block.as_chunks_mut::<L>().0[parts * row + part];
                b.store_words(words, b.canonical(b.reduce(x)));
            }
        }
    }
}

/// All layers between `R` rows, for `C` independent columns.
#[inline(always)]
fn layers<const L: usize, const R: usize, const C: usize, B: Butterflies<L>>(
    b: &B,
    x: &mut [[B::V; R]; C],
    twiddles: [&[Twiddle<B::Word>; R]; C],
) {
    // Written out, because the compiler must know the number of parts before it unrolls a layer.
    row_layer(b, x, 1, twiddles);
    if R >= 4 {
        row_layer(b, x, 2, twiddles);
    }
    if R >= 8 {
        row_layer(b, x, 4, twiddles);
    }
    if R >= 16 {
        row_layer(b, x, 8, twiddles);
    }
}

/// A layer with one twiddle for all lanes.
#[inline(always)]
fn row_layer<const L: usize, const R: usize, const C: usize, B: Butterflies<L>>(
    b: &B,
    x: &mut [[B::V; R]; C],
    parts: usize,
    twiddles: [&[Twiddle<B::Word>; R]; C],
) {
    layer(
        b,
        x,
        parts,
        #[inline(always)]
        |column, entry| b.splat(&twiddles[column][entry]),
    );
}

/// A layer with one twiddle for each lane.
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
        #[inline(always)]
        |column, entry| lane_factors(b, twiddles[column], part, entry),
    );
}

/// One layer between `R` rows, cut in `parts` parts, for `C` independent columns.
#[inline(always)]
fn layer<const L: usize, const R: usize, const C: usize, B: Butterflies<L>>(
    b: &B,
    x: &mut [[B::V; R]; C],
    parts: usize,
    factor: impl Fn(usize, usize) -> B::Factor,
) {
    let half = R / (2 * parts);
    for (column, x) in x.iter_mut().enumerate() {
        for part in 0..parts {
            let w = factor(column, parts + part);
            for low in 2 * half * part..2 * half * part + half {
                (x[low], x[low + half]) = b.butterfly(x[low], x[low + half], w);
            }
        }
    }
}
