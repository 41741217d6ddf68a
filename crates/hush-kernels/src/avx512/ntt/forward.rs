// SPDX-License-Identifier: Apache-2.0
//! Coefficients to values: Cooley–Tukey butterflies without any correction.
//!
//! # Ranges
//! A butterfly `(x, y) ← (x + t, x − t + 2q)`, `t = w·y mod q ∈ [0, 2q)`, raises the true range by `2q` and takes any `y` below
//! `2^52`. From canonical input, layer `l` ends below `(2l + 1)·q`; 16 layers end below `33·q ≤ 2^52`.

use super::{
    super::vector::{Avx512, BlockColumns, V, Words},
    BlockTwiddles, Constants, Pass, Tables, Twiddle, TwiddleVector,
};

/// The transform of `8·data.len()` coefficients.
#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
pub(crate) fn forward(tables: &Tables, data: &mut [Words]) {
    let constants = Forward::new(Avx512::new(), tables);
    walk(&constants, &tables.forward.passes, &tables.forward.blocks, 0, data);
}

struct Forward {
    base: Constants,
    two_q: V,
}

/// Runs the passes on one block, which is block number `index` of the first of them, and finishes it.
#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
fn walk(c: &Forward, passes: &[Pass], blocks: &[BlockTwiddles], index: usize, data: &mut [Words]) {
    let Some((pass, rest)) = passes.split_first() else {
        return finish(c, &blocks[index..], data);
    };
    match pass.radix {
        2 => run_pass::<2, 1>(c, pass, index, data),
        4 => run_pass::<4, 2>(c, pass, index, data),
        8 => run_pass::<8, 2>(c, pass, index, data),
        _ => run_pass::<16, 1>(c, pass, index, data),
    }
    if rest.is_empty() {
        return finish(c, &blocks[index * pass.radix..], data);
    }
    let part_len = data.len() / pass.radix;
    for (part, data) in data.chunks_exact_mut(part_len).enumerate() {
        walk(c, rest, blocks, index * pass.radix + part, data);
    }
}

/// `log2 R` layers on one block, `C` columns at a time.
#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
fn run_pass<const R: usize, const C: usize>(c: &Forward, pass: &Pass, index: usize, data: &mut [Words]) {
    let twiddles = &pass.twiddles.as_chunks::<R>().0[index];
    let mut columns = BlockColumns::<R>::new(data);
    for first in (0..columns.width()).step_by(C) {
        let mut x = [[c.base.simd.zero(); R]; C];
        for (column, x) in x.iter_mut().enumerate() {
            *x = columns.load(c.base.simd, first + column);
        }
        c.layers(&mut x, [twiddles; C]);
        for (column, x) in x.into_iter().enumerate() {
            columns.store(c.base.simd, first + column, x);
        }
    }
}

/// The last six layers of consecutive 64-point blocks, two blocks at a time, so that one fills the waits of the other.
#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
fn finish(c: &Forward, twiddles: &[BlockTwiddles], data: &mut [Words]) {
    let (pairs, single) = data.as_chunks_mut::<16>();
    for (pair, twiddles) in pairs.iter_mut().zip(twiddles.as_chunks::<2>().0) {
        finish_blocks(c, pair.as_chunks_mut().0, twiddles.each_ref());
    }
    if let (Some(twiddles), [block]) = (twiddles.get(2 * pairs.len()), single.as_chunks_mut().0) {
        finish_blocks(c, std::array::from_mut(block), [twiddles]);
    }
}

/// The last six layers, on registers, and the only reduction.
#[inline(always)]
fn finish_blocks<const C: usize>(c: &Forward, blocks: &mut [[Words; 8]], twiddles: [&BlockTwiddles; C]) {
    let mut x = [[c.base.simd.zero(); 8]; C];
    for (x, block) in x.iter_mut().zip(blocks.iter()) {
        for (x, words) in x.iter_mut().zip(block) {
            *x = c.base.simd.load(words);
        }
    }
    c.layers(&mut x, twiddles.map(|twiddles| &twiddles.rows));
    for x in &mut x {
        *x = c.base.simd.transpose(*x);
    }
    let lane = |block: usize, entry: usize| c.base.lane_twiddle(twiddles[block], entry);
    c.layer(&mut x, 1, lane);
    c.layer(&mut x, 2, lane);
    c.layer(&mut x, 4, lane);
    for (x, block) in x.into_iter().zip(blocks) {
        for (x, words) in x.into_iter().zip(block) {
            c.base.simd.store(words, c.base.canonical(c.base.reduce_lazy2(x)));
        }
    }
}

impl Forward {
    #[inline(always)]
    fn new(simd: Avx512, tables: &Tables) -> Self {
        let base = Constants::new(simd, tables.modulus);
        Self { base, two_q: simd.splat(2 * tables.modulus.value()) }
    }

    /// All layers between `R` rows, for `C` independent columns.
    #[inline(always)]
    fn layers<const R: usize, const C: usize>(&self, x: &mut [[V; R]; C], twiddles: [&[Twiddle; R]; C]) {
        // Written out, because the compiler must know the number of parts before it unrolls a layer.
        let twiddle = |column: usize, entry: usize| self.base.splat_twiddle(&twiddles[column][entry]);
        self.layer(x, 1, twiddle);
        if R >= 4 {
            self.layer(x, 2, twiddle);
        }
        if R >= 8 {
            self.layer(x, 4, twiddle);
        }
        if R >= 16 {
            self.layer(x, 8, twiddle);
        }
    }

    /// One layer between `R` rows, cut in `parts` parts, for `C` independent columns.
    #[inline(always)]
    fn layer<const R: usize, const C: usize>(
        &self,
        x: &mut [[V; R]; C],
        parts: usize,
        twiddle: impl Fn(usize, usize) -> TwiddleVector,
    ) {
        let half = R / (2 * parts);
        for (column, x) in x.iter_mut().enumerate() {
            for part in 0..parts {
                let w = twiddle(column, parts + part);
                for low in 2 * half * part..2 * half * part + half {
                    let high = low + half;
                    let raised = self.base.simd.add(x[low], self.base.simd.add(x[low], self.two_q));
                    x[low] = self.base.mul_add_lazy2(x[low], x[high], w);
                    x[high] = self.base.simd.sub(raised, x[low]);
                }
            }
        }
    }
}
