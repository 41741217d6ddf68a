// SPDX-License-Identifier: Apache-2.0
//! Barrett reductions with 52-bit products: exact, canonical, the same ones as [`hush_arith::Modulus`] gives.

use std::borrow::Cow;

use hush_arith::Modulus;

use super::{
    butterflies::{Constants, Factor},
    vector::{Avx512, V, Words},
};
use crate::{
    operands::TAG_SHIFT,
    vector::{Residues, Sums, Vector},
};

/// A modulus of `b` bits in the forms that the reductions use.
#[derive(Clone, Copy)]
pub(crate) struct Reducer {
    simd: Avx512,
    q: V,
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
    /// `b − 13`; unused below [`crate::vector::MIN_WORD_BITS`].
    word_shift: V,
    /// A multiple of `q`, at least `2^31` and below `2^31 + q`.
    small_offset: V,
}

impl Vector<8> for Avx512 {
    type Word = u64;
    type Sums = Reducer;
    type Butterflies = Constants;

    #[inline(always)]
    fn residues(self, modulus: Modulus) -> Reducer {
        Reducer::new(self, modulus)
    }

    #[inline(always)]
    fn butterflies(self, modulus: Modulus) -> Constants {
        Constants::new(self, modulus)
    }
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
            small_offset: simd.splat((1u64 << 31).div_ceil(q) * q),
        }
    }

    /// `low + 2^52·high mod q` for words with a value below `2^(50+b)`; canonical.
    ///
    /// As in [`Residues::mul_add`], with `c < 2^52`: the estimate lies above `P/q − 1/2 − 1 − 1`, so that the rest is below
    /// `2.5q`, which is less than `2^52`.
    #[inline(always)]
    fn reduce_wide(&self, low: V, high: V) -> V {
        let simd = self.simd;
        let cut = simd
            .add(simd.shift_left(high, self.product_shift_left), simd.shift_right(low, self.product_shift));
        let quotient = simd.mul_add_high(simd.zero(), cut, self.product_reciprocal);
        let rest = simd.and(simd.mul_add_low(low, quotient, self.minus_q), self.low_52);
        let rest = simd.min(rest, simd.sub(rest, self.twice_q));
        simd.min(rest, simd.sub(rest, self.q))
    }

    /// `x mod q` for any words, if `q` has at least [`crate::vector::MIN_WORD_BITS`] bits; canonical.
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

    /// `x − quotient·q`, known to lie in `[0, 2q)`, made canonical. Only the low 52 bits of the operands count.
    #[inline(always)]
    fn subtract_multiple(&self, x: V, quotient: V) -> V {
        let rest = self.simd.and(self.simd.mul_add_low(x, quotient, self.minus_q), self.low_52);
        self.simd.min(rest, self.simd.sub(rest, self.q))
    }

    /// `acc + (w·y mod q)` with the second term in `[0, 2q)`, for a canonical `acc` and `y` below `2^52` \[Har14, section 2\].
    #[inline(always)]
    fn add_lazy2(&self, acc: V, y: V, w: Factor) -> V {
        let quotient = self.simd.mul_add_high(self.simd.zero(), w.companion, y);
        let sum = self.simd.mul_add_low(self.simd.mul_add_low(acc, w.value, y), quotient, self.minus_q);
        self.simd.and(sum, self.low_52)
    }
}

impl Residues<8> for Reducer {
    type V = V;
    type Factor = Factor;

    #[inline(always)]
    fn load(&self, words: &Words) -> V {
        self.simd.load(words)
    }

    #[inline(always)]
    fn store(&self, words: &mut Words, x: V) {
        self.simd.store(words, x);
    }

    /// Reduced vectors are canonical on this path.
    #[inline(always)]
    fn canonical(&self, x: V) -> V {
        x
    }

    #[inline(always)]
    fn sub(&self, a: V, b: V) -> V {
        let difference = self.simd.sub(a, b);
        // Where a < b the difference wraps to a huge word and adding q gives the small one.
        self.simd.min(difference, self.simd.add(difference, self.q))
    }

    #[inline(always)]
    fn mul(&self, a: V, b: V) -> V {
        self.mul_add(self.simd.zero(), a, b)
    }

    #[inline(always)]
    fn mul_pairs(&self, a: (V, V), b: (V, V)) -> V {
        self.reduce_sum(self.add_product(self.add_product(self.start(self.simd.zero()), a.0, b.0), a.1, b.1))
    }

    /// With `P = acc + a·b < q²` and `c = ⌊P/2^(b−2)⌋ < 2^(b+2)`, the estimate `⌊c·reciprocal/2^52⌋` lies above
    /// `P/q − 1/2 − 1/8 − 1`: the rest is below `2q`.
    #[inline(always)]
    fn mul_add(&self, acc: V, a: V, b: V) -> V {
        let simd = self.simd;
        // P = 2^52·high + low; low may have a 53rd bit.
        let low = simd.mul_add_low(acc, a, b);
        let high = simd.mul_add_high(simd.zero(), a, b);
        let cut = simd
            .add(simd.shift_left(high, self.product_shift_left), simd.shift_right(low, self.product_shift));
        let quotient = simd.mul_add_high(simd.zero(), cut, self.product_reciprocal);
        self.subtract_multiple(low, quotient)
    }

    #[inline(always)]
    fn factor(&self, modulus: Modulus, w: u64) -> Factor {
        Factor { value: self.simd.splat(w), companion: self.simd.splat(modulus.shoup52(w)) }
    }

    #[inline(always)]
    fn mul_factor(&self, y: V, w: Factor) -> V {
        let product = self.add_lazy2(self.simd.zero(), y, w);
        self.simd.min(product, self.simd.sub(product, self.q))
    }

    #[inline(always)]
    fn mul_add_factor(&self, acc: V, y: V, w: Factor) -> V {
        let sum = self.add_lazy2(acc, y, w);
        let sum = self.simd.min(sum, self.simd.sub(sum, self.twice_q));
        self.simd.min(sum, self.simd.sub(sum, self.q))
    }

    /// Not canonical, but positive and below `2^33`, if not below `q + 2^32`.
    #[inline(always)]
    fn load_small(&self, integers: &[i32; 8]) -> V {
        self.simd.add(self.simd.load_signed_32(integers), self.small_offset)
    }

    /// `2^64`: as an unsigned word, a negative integer is that much too large.
    #[inline(always)]
    fn word_shift(&self, modulus: Modulus) -> Factor {
        self.factor(modulus, modulus.reduce_u128(1 << 64))
    }

    #[inline(always)]
    fn load_signed(&self, integers: &[i64; 8], shift: Factor) -> V {
        let x = self.simd.load_signed(integers);
        let excess = self.simd.and(self.simd.sign_mask(x), shift.value);
        Residues::sub(self, self.reduce_word(x), excess)
    }
}

/// Sums of the low and of the high halves of products. With seven products, each below `2^(47+b)`, and a canonical start
/// the value stays below `2^(50+b)`.
impl Sums<8> for Reducer {
    const BATCH: usize = 7;
    type Sum = (V, V);
    type Number = u64;
    type Weight = V;

    /// `n` products below `2^2b` each, and a start below `2^b`, stay below `2^(50+b)` if `n < 2^(50−b)`.
    #[inline(always)]
    fn most_products(bits: u32) -> usize {
        Self::BATCH.max((1 << 50_u32.saturating_sub(bits).min(11)) - 1)
    }

    #[inline(always)]
    fn zero(&self) -> V {
        self.simd.zero()
    }

    #[inline(always)]
    fn start(&self, x: V) -> (V, V) {
        (x, self.simd.zero())
    }

    #[inline(always)]
    fn add_product(&self, (low, high): (V, V), a: V, b: V) -> (V, V) {
        (self.simd.mul_add_low(low, a, b), self.simd.mul_add_high(high, a, b))
    }

    #[inline(always)]
    fn numbers<'w>(&self, _: Modulus, words: &'w [u64]) -> Cow<'w, [u64]> {
        words.into()
    }

    #[inline(always)]
    fn weight(&self, number: &u64) -> V {
        self.simd.splat(*number)
    }

    /// Products take the low 52 bits of a word, which leaves out the tag.
    #[inline(always)]
    fn load_digits(&self, words: &Words) -> V {
        self.simd.load(words)
    }

    #[inline(always)]
    fn load_tags(&self, words: &Words) -> V {
        self.simd.shift_right(self.simd.load(words), self.simd.splat(TAG_SHIFT.into()))
    }

    #[inline(always)]
    fn add_weighted(&self, sum: (V, V), y: V, w: V) -> (V, V) {
        self.add_product(sum, y, w)
    }

    #[inline(always)]
    fn reduce_sum(&self, (low, high): (V, V)) -> V {
        self.reduce_wide(low, high)
    }
}
