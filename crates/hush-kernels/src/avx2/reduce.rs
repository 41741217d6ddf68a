// SPDX-License-Identifier: Apache-2.0
//! Modular products in double precision.
//!
//! Residues are doubles that hold integers. A product of two is split exactly in a rounded high part and, by FMA, the error of
//! that rounding; the quotient is estimated in floating point; a second FMA takes the multiple of `q` away without error.
//!
//! # References
//! van der Hoeven, Lecerf and Quintin, "Modular SIMD arithmetic in Mathemagix" (2016), section 3.

use hush_arith::Modulus;

use super::vector::{Avx2, V};

/// A modulus in the forms that the reductions use.
#[derive(Clone, Copy)]
pub(super) struct Reducer {
    pub(super) simd: Avx2,
    pub(super) q: V,
    /// `1/q`, rounded.
    reciprocal: V,
}

/// A constant factor `w`, `|w| ≤ q/2`, with `w/q` rounded.
#[derive(Clone, Copy)]
pub(super) struct Factor {
    pub(super) value: V,
    pub(super) quotient: V,
}

/// A canonical `w` centred in `[−q/2, q/2]`, and that over `q`, rounded: the two numbers of a [`Factor`].
pub(super) fn centred(modulus: Modulus, w: u64) -> [f64; 2] {
    let q = modulus.value();
    let centred = if w > q / 2 { -((q - w) as f64) } else { w as f64 };
    [centred, centred / q as f64]
}

impl Reducer {
    #[inline(always)]
    pub(super) fn new(simd: Avx2, modulus: Modulus) -> Self {
        // q < 2^47 is exact as a double.
        let q = modulus.value() as f64;
        Self { simd, q: simd.splat(q), reciprocal: simd.splat(1.0 / q) }
    }

    /// The canonical `w` as a factor.
    #[inline(always)]
    pub(super) fn factor(&self, modulus: Modulus, w: u64) -> Factor {
        let [value, quotient] = centred(modulus, w).map(|number| self.simd.splat(number));
        Factor { value, quotient }
    }

    /// `w·y mod q` in `[−0.75q, 0.75q]`, exactly, for an integer `|y| ≤ 2^51`.
    ///
    /// The true quotient is at most `|y|/2 ≤ 2^50`; the two roundings of its estimate move it by less than
    /// `2^50·2^−52 = 1/4`, so the rounded integer `c` leaves a rest of at most `(1/2 + 1/4)·q`. With `h = w·y − l`, `|l| ≤ 2^44`,
    /// `h − c·q` is an integer below `2^48`, which the FMA gives exactly; so is its sum with `l`.
    #[inline(always)]
    pub(super) fn mul_constant(&self, y: V, w: Factor) -> V {
        let quotient = self.simd.round(self.simd.mul(y, w.quotient));
        self.subtract_multiple(y, w.value, quotient)
    }

    /// `a·b mod q` in `[−0.75q, 0.75q]`, exactly, for integers `|a|, |b| ≤ q`.
    ///
    /// The quotient is at most `2^47`, and the three roundings of its estimate move it by less than `2^47·2^−51 = 1/16`.
    #[inline(always)]
    pub(super) fn mul(&self, a: V, b: V) -> V {
        let quotient = self.simd.round(self.simd.mul(self.simd.mul(a, b), self.reciprocal));
        self.subtract_multiple(a, b, quotient)
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
    pub(super) fn reduce(&self, x: V) -> V {
        let quotient = self.simd.round(self.simd.mul(x, self.reciprocal));
        self.simd.negative_mul_add(quotient, self.q, x)
    }

    /// The canonical number for `−q ≤ x < q`.
    #[inline(always)]
    pub(super) fn canonical(&self, x: V) -> V {
        let negative = self.simd.less(x, self.simd.zero());
        self.simd.add(x, self.simd.and(negative, self.q))
    }

    /// The canonical number for `−q ≤ x < 2q`.
    #[inline(always)]
    pub(super) fn canonical_sum(&self, x: V) -> V {
        self.canonical(self.simd.sub(x, self.simd.and(self.simd.less(self.largest(), x), self.q)))
    }

    /// `q − 1`.
    #[inline(always)]
    fn largest(&self) -> V {
        self.simd.sub(self.q, self.simd.splat(1.0))
    }
}
