// SPDX-License-Identifier: Apache-2.0
//! Modular arithmetic in double precision.
//!
//! Residues are doubles that hold integers. A product of two is split exactly in a rounded high part and, by FMA, the error of
//! that rounding; the quotient is estimated in floating point; a second FMA takes the multiple of `q` away without error.
//!
//! # References
//! van der Hoeven, Lecerf and Quintin, "Modular SIMD arithmetic in Mathemagix" (2016), section 3.

use std::borrow::Cow;

use hush_arith::Modulus;

use super::vector::{Avx2, V, Words};
use crate::{
    ntt::{
        schedule::Limits,
        tables::{Twiddle, TwiddleWord},
    },
    operands::{LOW_52, TAG_SHIFT},
    vector::{Butterflies, Residues, Sums, Vector},
};

/// A modulus in the forms that the reductions use.
#[derive(Clone, Copy)]
pub(crate) struct Reducer {
    simd: Avx2,
    q: V,
    /// `1/q`, rounded.
    reciprocal: V,
}

/// A constant factor `w`, `|w| ≤ q/2`, with `w/q` rounded.
#[derive(Clone, Copy)]
pub(crate) struct Factor {
    value: V,
    quotient: V,
}

impl Vector<4> for Avx2 {
    type Word = f64;
    type Sums = Reducer;
    type Butterflies = Reducer;

    #[inline(always)]
    fn residues(self, modulus: Modulus) -> Reducer {
        Reducer::new(self, modulus)
    }

    #[inline(always)]
    fn butterflies(self, modulus: Modulus) -> Reducer {
        Reducer::new(self, modulus)
    }
}

impl Reducer {
    #[inline(always)]
    fn new(simd: Avx2, modulus: Modulus) -> Self {
        // q < 2^47 is exact as a double.
        let q = modulus.value() as f64;
        Self { simd, q: simd.splat(q), reciprocal: simd.splat(1.0 / q) }
    }

    /// `w·y mod q` in `[−0.75q, 0.75q]`, exactly, for an integer `|y| ≤ 2^51`.
    ///
    /// The true quotient is at most `|y|/2 ≤ 2^50`; the two roundings of its estimate move it by less than
    /// `2^50·2^−52 = 1/4`, so the rounded integer `c` leaves a rest of at most `(1/2 + 1/4)·q`. With `h = w·y − l`, `|l| ≤ 2^44`,
    /// `h − c·q` is an integer below `2^48`, which the FMA gives exactly; so is its sum with `l`.
    #[inline(always)]
    fn mul_constant(&self, y: V, w: Factor) -> V {
        let quotient = self.simd.round(self.simd.mul(y, w.quotient));
        self.subtract_multiple(y, w.value, quotient)
    }

    /// `a·b − quotient·q`, known to be below `q`.
    #[inline(always)]
    fn subtract_multiple(&self, a: V, b: V, quotient: V) -> V {
        let high = self.simd.mul(a, b);
        let low = self.simd.mul_sub(a, b, high);
        self.simd.add(self.simd.negative_mul_add(quotient, self.q, high), low)
    }

    /// `x mod q` in `[−0.75q, 0.75q]`, exactly, for an integer `|x| ≤ 2^51`.
    #[inline(always)]
    fn nearest(&self, x: V) -> V {
        let quotient = self.simd.round(self.simd.mul(x, self.reciprocal));
        self.simd.negative_mul_add(quotient, self.q, x)
    }

    /// The canonical number for `−q ≤ x < q`.
    #[inline(always)]
    fn canonical_signed(&self, x: V) -> V {
        let negative = self.simd.less(x, self.simd.zero());
        self.simd.add(x, self.simd.and(negative, self.q))
    }

    /// The canonical number for `−q ≤ x < 2q`.
    #[inline(always)]
    fn canonical_sum(&self, x: V) -> V {
        let largest = self.simd.sub(self.q, self.simd.splat(1.0));
        self.canonical_signed(self.simd.sub(x, self.simd.and(self.simd.less(largest, x), self.q)))
    }
}

impl Residues<4> for Reducer {
    type V = V;
    type Factor = Factor;

    #[inline(always)]
    fn load(&self, words: &Words) -> V {
        self.simd.load_integers(words)
    }

    #[inline(always)]
    fn store(&self, words: &mut Words, x: V) {
        self.simd.store_integers(words, x);
    }

    #[inline(always)]
    fn canonical(&self, x: V) -> V {
        self.canonical_signed(x)
    }

    #[inline(always)]
    fn sub(&self, a: V, b: V) -> V {
        self.simd.sub(a, b)
    }

    /// In `[−0.75q, 0.75q]`, exactly: the quotient is at most `2^47`, and the three roundings of its estimate move it by less than
    /// `2^47·2^−51 = 1/16`.
    #[inline(always)]
    fn mul(&self, a: V, b: V) -> V {
        let quotient = self.simd.round(self.simd.mul(self.simd.mul(a, b), self.reciprocal));
        self.subtract_multiple(a, b, quotient)
    }

    #[inline(always)]
    fn mul_pairs(&self, a: (V, V), b: (V, V)) -> V {
        // In [−1.5q, 1.5q], far below 2^51.
        self.nearest(self.simd.add(Residues::mul(self, a.0, b.0), Residues::mul(self, a.1, b.1)))
    }

    #[inline(always)]
    fn mul_add(&self, acc: V, a: V, b: V) -> V {
        // In [−0.75q, 1.75q).
        self.canonical_sum(self.simd.add(acc, Residues::mul(self, a, b)))
    }

    #[inline(always)]
    fn factor(&self, modulus: Modulus, w: u64) -> Factor {
        let [value, quotient] = f64::value_and_companion(modulus, w);
        Factor { value: self.simd.splat(value), quotient: self.simd.splat(quotient) }
    }

    #[inline(always)]
    fn mul_factor(&self, y: V, w: Factor) -> V {
        self.canonical_signed(self.mul_constant(y, w))
    }

    #[inline(always)]
    fn mul_add_factor(&self, acc: V, y: V, w: Factor) -> V {
        // In [−0.75q, 1.75q).
        self.canonical_sum(self.simd.add(acc, self.mul_constant(y, w)))
    }

    #[inline(always)]
    fn load_small(&self, integers: &[i32; 4]) -> V {
        self.simd.load_signed_32(integers)
    }

    /// `2^32`.
    #[inline(always)]
    fn word_shift(&self, modulus: Modulus) -> Factor {
        self.factor(modulus, modulus.reduce_u64(1 << 32))
    }

    #[inline(always)]
    fn load_signed(&self, integers: &[i64; 4], shift: Factor) -> V {
        let (high, low) = self.simd.load_signed_halves(integers);
        // Below 2^47 + 2^32 in absolute value.
        self.canonical_signed(self.nearest(self.simd.add(self.mul_constant(high, shift), low)))
    }
}

/// A sum of products is one of reduced residues: it stays exact for 16 of them.
impl Sums<4> for Reducer {
    /// `(16 + 1)·0.75·2^47 < 2^51`.
    const BATCH: usize = 16;
    type Sum = V;
    type Number = [f64; 2];
    type Weight = Factor;

    #[inline(always)]
    fn zero(&self) -> V {
        self.simd.zero()
    }

    #[inline(always)]
    fn start(&self, x: V) -> V {
        x
    }

    #[inline(always)]
    fn add_product(&self, sum: V, a: V, b: V) -> V {
        self.simd.add(sum, Residues::mul(self, a, b))
    }

    fn numbers<'w>(&self, modulus: Modulus, words: &'w [u64]) -> Cow<'w, [[f64; 2]]> {
        words.iter().map(|&w| f64::value_and_companion(modulus, w)).collect()
    }

    #[inline(always)]
    fn weight(&self, number: &[f64; 2]) -> Factor {
        Factor { value: self.simd.splat(number[0]), quotient: self.simd.splat(number[1]) }
    }

    #[inline(always)]
    fn load_digits(&self, words: &Words) -> V {
        self.simd.load_integers(&words.map(|word| word & LOW_52))
    }

    #[inline(always)]
    fn load_tags(&self, words: &Words) -> V {
        self.simd.load_integers(&words.map(|word| word >> TAG_SHIFT))
    }

    /// Digits may exceed `q`, which a product with a constant allows.
    #[inline(always)]
    fn add_weighted(&self, sum: V, y: V, w: Factor) -> V {
        self.simd.add(sum, self.mul_constant(y, w))
    }

    #[inline(always)]
    fn reduce_sum(&self, sum: V) -> V {
        self.nearest(sum)
    }
}

/// Between passes the words of a transform hold the bits of doubles. All numbers are integers below `2^51 ≥ 16q` in
/// absolute value, hence exact.
impl Butterflies<4> for Reducer {
    type V = V;
    type Factor = Factor;
    type Word = f64;

    /// Products and reductions stay within `0.75q`, sums and differences within `16q`.
    const LIMITS: Limits = Limits { growth_quarters: 3, forward_quarters: 64, reset: 1, layer: 8, pass: 2 };
    /// Sixteen registers hold eight rows and the operands of a butterfly.
    const MAX_RADIX: usize = 8;
    const PAIRS: bool = false;

    #[inline(always)]
    fn splat(&self, w: &Twiddle<f64>) -> Factor {
        Factor { value: self.simd.splat(w.value), quotient: self.simd.splat(w.companion) }
    }

    #[inline(always)]
    fn load_factors(&self, values: &[f64; 4], companions: &[f64; 4]) -> Factor {
        Factor { value: self.simd.load_doubles(values), quotient: self.simd.load_doubles(companions) }
    }

    #[inline(always)]
    fn zero(&self) -> V {
        self.simd.zero()
    }

    #[inline(always)]
    fn load_words(&self, words: &Words) -> V {
        self.simd.load_integers(words)
    }

    #[inline(always)]
    fn store_words(&self, words: &mut Words, x: V) {
        self.simd.store_integers(words, x);
    }

    #[inline(always)]
    fn load(&self, words: &Words) -> V {
        self.simd.load(words)
    }

    #[inline(always)]
    fn store(&self, words: &mut Words, x: V) {
        self.simd.store(words, x);
    }

    #[inline(always)]
    fn butterfly(&self, x: V, y: V, w: Factor) -> (V, V) {
        let product = self.mul_constant(y, w);
        (self.simd.add(x, product), self.simd.sub(x, product))
    }

    #[inline(always)]
    fn sum_difference(&self, x: V, y: V) -> (V, V) {
        (self.simd.add(x, y), self.simd.sub(x, y))
    }

    #[inline(always)]
    fn mul(&self, y: V, w: Factor) -> V {
        self.mul_constant(y, w)
    }

    #[inline(always)]
    fn reduce(&self, x: V) -> V {
        self.nearest(x)
    }

    #[inline(always)]
    fn canonical(&self, x: V) -> V {
        self.canonical_signed(x)
    }

    #[inline(always)]
    fn transpose(&self, rows: [V; 4]) -> [V; 4] {
        self.simd.transpose(rows)
    }
}
