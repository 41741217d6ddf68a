// SPDX-License-Identifier: Apache-2.0
//! Transforms by 52-bit integer FMA: radix-4, -8 or -16 passes over the block, then 64 points in registers.
//!
//! # Structure
//! A transform of `2^L` points is a list of outer passes over ever smaller blocks, walked depth first, so that a block is
//! finished while it is in the nearest cache; each pass does two to four layers per load. The last six layers run on
//! eight registers: three layers between registers, a transposition, three more with one twiddle per lane. The
//! outcome is stored as it stands, which is the order that [`crate::ntt`] fixes.
//!
//! # Ranges
//! `madd52` reads the low 52 bits of its factors, so words are kept modulo `2^52` and bits above are ignored until a mask at
//! the very end. The *true* value of a word stays below `33·q ≤ 2^52` throughout: see [`forward`] and [`inverse`].

pub(crate) mod forward;
pub(crate) mod inverse;

use hush_arith::Modulus;

use super::vector::{Avx512, V};
use crate::ntt::tables::{self, TwiddleWord};

/// The smallest transform of this path: two blocks in registers and one pass that joins them.
pub(crate) const MIN_DEGREE: usize = 128;

pub(crate) type Tables = tables::Tables<u64>;
type BlockTwiddles = tables::BlockTwiddles<u64>;
type Pass = tables::Pass<u64>;
type Twiddle = tables::Twiddle<u64>;

impl TwiddleWord for u64 {
    /// Shoup's pair: `w` and `⌊w·2^52/q⌋`.
    fn value_and_companion(modulus: Modulus, w: u64) -> [u64; 2] {
        [w, modulus.shoup52(w)]
    }
}

pub(crate) fn new_tables(modulus: Modulus, degree: usize, psi: u64) -> Tables {
    Tables::new(modulus, degree, psi, radices(degree))
}

/// The outer passes of a transform: their product is `degree/64`.
///
/// Eight rows, not sixteen, where the rows of a large block would fall in one set of the first cache.
fn radices(degree: usize) -> &'static [usize] {
    match degree {
        128 => &[2],
        256 => &[4],
        512 => &[8],
        1024 => &[4, 4],
        2048 => &[4, 8],
        4096 => &[8, 8],
        8192 => &[8, 16],
        16384 => &[4, 8, 8],
        32768 => &[8, 8, 8],
        _ => &[8, 8, 16],
    }
}

/// The modulus in the forms that the butterflies use.
#[derive(Clone, Copy)]
struct Constants {
    simd: Avx512,
    q: V,
    /// `2^52 − q`: adding a multiple of it subtracts one of `q` modulo `2^52`.
    minus_q: V,
    /// `⌊2^52/q⌋`.
    one_companion: V,
    low_52: V,
}

/// A twiddle in every lane, or one per lane.
#[derive(Clone, Copy)]
struct TwiddleVector {
    value: V,
    companion: V,
}

impl Constants {
    #[inline(always)]
    fn new(simd: Avx512, modulus: Modulus) -> Self {
        let q = modulus.value();
        Self {
            simd,
            q: simd.splat(q),
            minus_q: simd.splat((1 << 52) - q),
            one_companion: simd.splat((1 << 52) / q),
            low_52: simd.splat((1 << 52) - 1),
        }
    }

    #[inline(always)]
    fn splat_twiddle(&self, twiddle: &Twiddle) -> TwiddleVector {
        TwiddleVector { value: self.simd.splat(twiddle.value), companion: self.simd.splat(twiddle.companion) }
    }

    /// Heap entry `entry` of each lane of a block.
    #[inline(always)]
    fn lane_twiddle(&self, twiddles: &BlockTwiddles, entry: usize) -> TwiddleVector {
        let [value, companion] = &twiddles.lanes[entry - 1];
        TwiddleVector { value: self.simd.load(value), companion: self.simd.load(companion) }
    }

    /// `x + (w·y mod q)` modulo `2^52`, where the true value of the second term is in `[0, 2q)`, for a true value of `y`
    /// below `2^52` \[Har14, section 2\].
    #[inline(always)]
    fn mul_add_lazy2(&self, x: V, y: V, w: TwiddleVector) -> V {
        let quotient = self.simd.mul_add_high(self.simd.zero(), w.companion, y);
        self.simd.mul_add_low(self.simd.mul_add_low(x, w.value, y), quotient, self.minus_q)
    }

    /// `w·y mod q` modulo `2^52`, true value in `[0, 2q)`, for a true value of `y` below `2^52`.
    #[inline(always)]
    fn mul_lazy2(&self, y: V, w: TwiddleVector) -> V {
        self.mul_add_lazy2(self.simd.zero(), y, w)
    }

    /// `x mod q` modulo `2^52`, true value in `[0, 2q)`, for a true value of `x` below `2^52`.
    #[inline(always)]
    fn reduce_lazy2(&self, x: V) -> V {
        let quotient = self.simd.mul_add_high(self.simd.zero(), self.one_companion, x);
        self.simd.mul_add_low(x, quotient, self.minus_q)
    }

    /// The canonical word for a true value in `[0, 2q)`.
    #[inline(always)]
    fn canonical(&self, x: V) -> V {
        let x = self.simd.and(x, self.low_52);
        // As unsigned words, x − q wraps above x exactly where x < q.
        self.simd.min(x, self.simd.sub(x, self.q))
    }
}
