// SPDX-License-Identifier: Apache-2.0
//! Transforms: passes of two to four layers over ever smaller blocks, then 64 points in registers.
//!
//! # Structure
//! A transform of `2^L` points is a list of outer passes, walked depth first, so that a block is finished while it is in
//! the nearest cache; a pass does `log2 R` layers on `R` rows for each load. The last six layers run on blocks of 64 points:
//! three layers between the eight rows of a block, a transposition, three more with one twiddle per lane. The outcome is
//! stored as it stands, which is the order that [`crate::ntt`] fixes. The inverse goes the same way backwards.
//!
//! The first pass turns words into the path's numbers, and the last turns them back.

mod forward;
mod inverse;

use hush_arith::Modulus;

use super::{Butterflies, Vector};
use crate::ntt::tables::{BlockTwiddles, Tables};

/// Words of a block.
const BLOCK: usize = 64;
/// Rows of a block, and words of a row.
const ROWS: usize = 8;

/// The tables of a transform of at least two blocks.
pub(crate) fn new_tables<const L: usize, S: Vector<L>>(
    _: S,
    modulus: Modulus,
    degree: usize,
    psi: u64,
) -> Tables<S::Word> {
    Tables::new(modulus, degree, psi, radices(degree, S::Butterflies::MAX_RADIX))
}

/// Coefficients to values, for the degree of the tables.
pub(crate) fn forward<const L: usize, S: Vector<L>>(simd: S, tables: &Tables<S::Word>, data: &mut [u64]) {
    Transform::new(simd, tables).forward(data);
}

/// Values to coefficients, for the degree of the tables.
pub(crate) fn inverse<const L: usize, S: Vector<L>>(simd: S, tables: &Tables<S::Word>, data: &mut [u64]) {
    Transform::new(simd, tables).inverse(data);
}

/// A transform under way, with the data that its passes share.
///
/// The walk over the passes calls itself, so it cannot be inlined: it is plain code, and each pass is a kernel.
struct Transform<'a, const L: usize, S: Vector<L>> {
    simd: S,
    b: S::Butterflies,
    tables: &'a Tables<S::Word>,
}

impl<'a, const L: usize, S: Vector<L>> Transform<'a, L, S> {
    fn new(simd: S, tables: &'a Tables<S::Word>) -> Self {
        let b = simd.run(
            (),
            #[inline(always)]
            |()| simd.butterflies(tables.modulus),
        );
        Self { simd, b, tables }
    }
}

/// The outer passes of a transform: their product is `degree/64`.
///
/// Eight rows, not sixteen, where the rows of a large block would fall in one set of the first cache.
fn radices(degree: usize, max_radix: usize) -> &'static [usize] {
    match degree {
        128 => &[2],
        256 => &[4],
        512 => &[8],
        1024 => &[4, 4],
        2048 => &[4, 8],
        4096 => &[8, 8],
        8192 if max_radix == 16 => &[8, 16],
        8192 => &[4, 4, 8],
        16384 => &[4, 8, 8],
        32768 => &[8, 8, 8],
        _ if max_radix == 16 => &[8, 8, 16],
        _ => &[4, 4, 8, 8],
    }
}

/// The rows of a block of a pass, cut in groups of `C` columns; a column is one vector of each row.
///
/// # Panics
/// If the block does not have whole rows.
#[inline(always)]
fn rows<const L: usize, const R: usize, const C: usize>(block: &mut [u64]) -> [&mut [[[u64; L]; C]]; R] {
    let vectors = block.as_chunks_mut::<L>().0;
    assert!(vectors.len().is_multiple_of(R * C), "the block must split in {R} rows of {C} columns");
    let width = vectors.len() / R;
    let mut rest = vectors;
    std::array::from_fn(|_| {
        let (row, below) = std::mem::take(&mut rest).split_at_mut(width);
        rest = below;
        row.as_chunks_mut().0
    })
}

/// Heap entry `entry` of the lanes of one part of a block's rows.
#[inline(always)]
fn lane_factors<const L: usize, B: Butterflies<L>>(
    b: &B,
    twiddles: &BlockTwiddles<B::Word>,
    part: usize,
    entry: usize,
) -> B::Factor {
    let [values, companions] = &twiddles.lanes[entry - 1];
    b.load_factors(&values.as_chunks().0[part], &companions.as_chunks().0[part])
}

/// Stores eight rows of one part of a block, transposed: they become the eight entries of `L` rows.
#[inline(always)]
fn store_transposed<const L: usize, B: Butterflies<L>>(
    b: &B,
    block: &mut [u64; BLOCK],
    part: usize,
    x: [B::V; ROWS],
) {
    let parts = const { ROWS / L };
    let block = block.as_chunks_mut::<L>().0;
    for corner in 0..parts {
        let mut square = [b.zero(); L];
        for (row, vector) in square.iter_mut().enumerate() {
            *vector = x[L * corner + row];
        }
        for (column, vector) in b.transpose(square).into_iter().enumerate() {
            b.store(&mut block[parts * (L * part + column) + corner], vector);
        }
    }
}
