// SPDX-License-Identifier: Apache-2.0
//! Barrett reductions with 52-bit products: exact, canonical, the same ones as [`hush_arith::Modulus`] gives.

use hush_arith::Modulus;

use super::vector::{Avx512, V};

/// The bit length from which [`Reducer::reduce_word`] and all that uses it are exact.
pub(super) const MIN_WORD_BITS: u32 = 16;

/// A modulus of `b` bits in the forms that the reductions use.
#[derive(Clone, Copy)]
pub(super) struct Reducer {
    pub(super) simd: Avx512,
    pub(super) q: V,
    /// `2q`.
    twice_q: V,
    /// `2^52 − q`.
    minus_q: V,
    low_52: V,
    /// `⌊2^(50+b)/q⌋`, at most `2^51`.
    product_reciprocal: V,
    /// `b − 2`.
    product_shift: V,
    /// `54 − b`.
    product_shift_left: V,
    /// `⌊2^(51+b)/q⌋`, below `2^52` for odd `q`.
    word_reciprocal: V,
    /// `b − 13`; unused below [`MIN_WORD_BITS`].
    word_shift: V,
}

impl Reducer {
    #[inline(always)]
    pub(super) fn new(simd: Avx512, modulus: Modulus) -> Self {
        let (q, bits) = (modulus.value(), modulus.bits());
        // Both quotients are at most 2^52, so the casts keep them whole.
        let reciprocal = |exponent: u32| simd.splat(((1u128 << exponent) / u128::from(q)) as u64);
        Self {
            simd,
            q: simd.splat(q),
            twice_q: simd.splat(2 * q),
            minus_q: simd.splat((1 << 52) - q),
            low_52: simd.splat((1 << 52) - 1),
            product_reciprocal: reciprocal(50 + bits),
            product_shift: simd.splat(u64::from(bits - 2)),
            product_shift_left: simd.splat(u64::from(54 - bits)),
            word_reciprocal: reciprocal(51 + bits),
            word_shift: simd.splat(u64::from(bits.saturating_sub(13))),
        }
    }

    /// `acc + a·b mod q` for canonical words; canonical.
    ///
    /// With `P = acc + a·b < q²` and `c = ⌊P/2^(b−2)⌋ < 2^(b+2)`, the estimate `⌊c·reciprocal/2^52⌋` lies above
    /// `P/q − 1/2 − 1/8 − 1`: the rest is below `2q`.
    #[inline(always)]
    pub(super) fn mul_add(&self, acc: V, a: V, b: V) -> V {
        let simd = self.simd;
        // P = 2^52·high + low; low may have a 53rd bit.
        let low = simd.mul_add_low(acc, a, b);
        let high = simd.mul_add_high(simd.zero(), a, b);
        let cut = simd
            .add(simd.shift_left(high, self.product_shift_left), simd.shift_right(low, self.product_shift));
        let quotient = simd.mul_add_high(simd.zero(), cut, self.product_reciprocal);
        self.subtract_multiple(low, quotient)
    }

    /// `low + 2^52·high mod q` for words with a value below `2^(50+b)`; canonical.
    ///
    /// As in [`Reducer::mul_add`], with `c < 2^52`: the estimate lies above `P/q − 1/2 − 1 − 1`, so that the rest is below
    /// `2.5q`, which is less than `2^52`.
    #[inline(always)]
    pub(super) fn reduce_sum(&self, low: V, high: V) -> V {
        let simd = self.simd;
        let cut = simd
            .add(simd.shift_left(high, self.product_shift_left), simd.shift_right(low, self.product_shift));
        let quotient = simd.mul_add_high(simd.zero(), cut, self.product_reciprocal);
        let rest = simd.and(simd.mul_add_low(low, quotient, self.minus_q), self.low_52);
        let rest = simd.min(rest, simd.sub(rest, self.twice_q));
        simd.min(rest, simd.sub(rest, self.q))
    }

    /// `a·b mod q` for canonical words; canonical.
    #[inline(always)]
    pub(super) fn mul(&self, a: V, b: V) -> V {
        self.mul_add(self.simd.zero(), a, b)
    }

    /// `x mod q` for any words, if `q` has at least [`MIN_WORD_BITS`] bits; canonical.
    ///
    /// `⌊⌊x/2^12⌋·reciprocal/2^52⌋` lies above `x·2^(b−13)/q − 3`; the shift by `b − 13 ≥ 3` makes that `x/q − 3/8 − 1`: the
    /// rest is below `2q`, and the quotient below `2^64/2^(b−1) ≤ 2^49`.
    #[inline(always)]
    pub(super) fn reduce_word(&self, x: V) -> V {
        let simd = self.simd;
        let scaled =
            simd.mul_add_high(simd.zero(), simd.shift_right(x, simd.splat(12)), self.word_reciprocal);
        self.subtract_multiple(x, simd.shift_right(scaled, self.word_shift))
    }

    /// `a + b mod q` for canonical words; canonical.
    #[inline(always)]
    pub(super) fn add(&self, a: V, b: V) -> V {
        let sum = self.simd.add(a, b);
        // As unsigned words, sum − q wraps above sum exactly where sum < q.
        self.simd.min(sum, self.simd.sub(sum, self.q))
    }

    /// `a − b mod q` for canonical words; canonical.
    #[inline(always)]
    pub(super) fn sub(&self, a: V, b: V) -> V {
        let difference = self.simd.sub(a, b);
        // Where a < b the difference wraps to a huge word and adding q gives the small one.
        self.simd.min(difference, self.simd.add(difference, self.q))
    }

    /// `x − quotient·q`, known to lie in `[0, 2q)`, made canonical. Only the low 52 bits of the operands count.
    #[inline(always)]
    fn subtract_multiple(&self, x: V, quotient: V) -> V {
        let rest = self.simd.and(self.simd.mul_add_low(x, quotient, self.minus_q), self.low_52);
        self.simd.min(rest, self.simd.sub(rest, self.q))
    }
}
