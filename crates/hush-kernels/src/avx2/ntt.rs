// SPDX-License-Identifier: Apache-2.0
//! Transforms in double precision: radix-4 or -8 passes over the block, then 64 points in two steps.
//!
//! # Structure
//! As on the AVX-512 path: outer passes walked depth first, then three layers between the rows of a 64-point block, a
//! transposition and three layers with one twiddle per lane. Words are converted to doubles by the first pass and back
//! by the last; in between the slice holds the bits of doubles.
//!
//! # Ranges
//! All numbers are integers below `2^51 ≥ 16q` in absolute value, hence exact: see [`forward`] and [`inverse`].

pub(crate) mod forward;
pub(crate) mod inverse;

use hush_arith::Modulus;

use super::{
    reduce::{Factor, Reducer, centred},
    vector::V,
};
use crate::ntt::tables::{self, TwiddleWord};

/// The smallest transform of this path: two blocks and one pass that joins them.
pub(crate) const MIN_DEGREE: usize = 128;

pub(crate) type Tables = tables::Tables<f64>;
type BlockTwiddles = tables::BlockTwiddles<f64>;
type Pass = tables::Pass<f64>;
type Twiddle = tables::Twiddle<f64>;

impl TwiddleWord for f64 {
    fn value_and_companion(modulus: Modulus, w: u64) -> [f64; 2] {
        centred(modulus, w)
    }
}

pub(crate) fn new_tables(modulus: Modulus, degree: usize, psi: u64) -> Tables {
    Tables::new(modulus, degree, psi, radices(degree))
}

/// The outer passes of a transform: their product is `degree/64`.
fn radices(degree: usize) -> &'static [usize] {
    match degree {
        128 => &[2],
        256 => &[4],
        512 => &[8],
        1024 => &[4, 4],
        2048 => &[4, 8],
        4096 => &[8, 8],
        8192 => &[4, 4, 8],
        16384 => &[4, 8, 8],
        32768 => &[8, 8, 8],
        _ => &[4, 4, 8, 8],
    }
}

#[inline(always)]
fn splat_twiddle(reducer: &Reducer, twiddle: &Twiddle) -> Factor {
    Factor { value: reducer.simd.splat(twiddle.value), quotient: reducer.simd.splat(twiddle.companion) }
}

/// Heap entry `entry` of the lanes `4·half … 4·half + 3` of a block.
#[inline(always)]
fn lane_twiddle(reducer: &Reducer, twiddles: &BlockTwiddles, half: usize, entry: usize) -> Factor {
    let [value, companion] = &twiddles.lanes[entry - 1];
    let load = |numbers: &[f64; 8]| reducer.simd.load_doubles(&numbers.as_chunks::<4>().0[half]);
    Factor { value: load(value), quotient: load(companion) }
}

/// Transposes a block as an 8 × 8 matrix. Vector `2r + h` holds the columns `4h … 4h + 3` of row `r`.
#[inline(always)]
fn transpose_block(reducer: &Reducer, block: [V; 16]) -> [V; 16] {
    let mut out = [reducer.simd.zero(); 16];
    for row_half in 0..2 {
        for column_half in 0..2 {
            let corner: [V; 4] = std::array::from_fn(|row| block[2 * (4 * row_half + row) + column_half]);
            for (column, vector) in reducer.simd.transpose(corner).into_iter().enumerate() {
                out[2 * (4 * column_half + column) + row_half] = vector;
            }
        }
    }
    out
}
