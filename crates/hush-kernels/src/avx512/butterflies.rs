// SPDX-License-Identifier: Apache-2.0
//! Lazy modular arithmetic by 52-bit integer FMA.
//!
//! # Ranges
//! `madd52` reads the low 52 bits of its factors, so words are kept modulo `2^52` and bits above are ignored until a mask at
//! the very end. The *true* value of a word stays below `33·q ≤ 2^52` throughout.

use hush_arith::Modulus;

use super::vector::{Avx512, V, Words};
use crate::{
    ntt::{schedule::Limits, tables::Twiddle},
    vector::Butterflies,
};

/// The modulus in the forms that the butterflies use.
#[derive(Clone, Copy)]
pub(crate) struct Constants {
    simd: Avx512,
    q: V,
    /// `2q`.
    twice_q: V,
    /// The bound of a layer, which makes differences positive.
    layer_q: V,
    /// `2^52 − q`: adding a multiple of it subtracts one of `q` modulo `2^52`.
    minus_q: V,
    /// `⌊2^52/q⌋`.
    one_companion: V,
    low_52: V,
}

/// A constant in every lane, or one per lane: `w` and `⌊w·2^52/q⌋`.
#[derive(Clone, Copy)]
pub(crate) struct Factor {
    pub(super) value: V,
    pub(super) companion: V,
}

impl Constants {
    #[inline(always)]
    pub(super) fn new(simd: Avx512, modulus: Modulus) -> Self {
        let q = modulus.value();
        Self {
            simd,
            q: simd.splat(q),
            twice_q: simd.splat(2 * q),
            layer_q: simd.splat(u64::from(Self::LIMITS.layer) * q),
            minus_q: simd.splat((1 << 52) - q),
            one_companion: simd.splat((1 << 52) / q),
            low_52: simd.splat((1 << 52) - 1),
        }
    }

    /// `x + (w·y mod q)` modulo `2^52`, where the true value of the second term is in `[0, 2q)`, for a true value of `y`
    /// below `2^52` \[Har14, section 2\].
    #[inline(always)]
    fn mul_add_lazy2(&self, x: V, y: V, w: Factor) -> V {
        let quotient = self.simd.mul_add_high(self.simd.zero(), w.companion, y);
        self.simd.mul_add_low(self.simd.mul_add_low(x, w.value, y), quotient, self.minus_q)
    }
}

impl Butterflies<8> for Constants {
    type V = V;
    type Factor = Factor;
    type Word = u64;

    /// Products and reductions stay below `2q`. Sums stay below `32q`, differences plus `16q` inside `(0, 32q)`.
    const LIMITS: Limits = Limits { growth_quarters: 8, forward_quarters: 132, reset: 2, layer: 16, pass: 4 };
    const MAX_RADIX: usize = 16;
    const PAIRS: bool = true;

    #[inline(always)]
    fn splat(&self, w: &Twiddle<u64>) -> Factor {
        Factor { value: self.simd.splat(w.value), companion: self.simd.splat(w.companion) }
    }

    #[inline(always)]
    fn load_factors(&self, values: &Words, companions: &Words) -> Factor {
        Factor { value: self.simd.load(values), companion: self.simd.load(companions) }
    }

    #[inline(always)]
    fn zero(&self) -> V {
        self.simd.zero()
    }

    #[inline(always)]
    fn load_words(&self, words: &Words) -> V {
        self.simd.load(words)
    }

    #[inline(always)]
    fn store_words(&self, words: &mut Words, x: V) {
        self.simd.store(words, x);
    }

    #[inline(always)]
    fn load(&self, words: &Words) -> V {
        self.simd.load(words)
    }

    #[inline(always)]
    fn store(&self, words: &mut Words, x: V) {
        self.simd.store(words, x);
    }

    /// `(x + t, x − t + 2q)` with `t = w·y mod q ∈ [0, 2q)`.
    #[inline(always)]
    fn butterfly(&self, x: V, y: V, w: Factor) -> (V, V) {
        let raised = self.simd.add(x, self.simd.add(x, self.twice_q));
        let sum = self.mul_add_lazy2(x, y, w);
        (sum, self.simd.sub(raised, sum))
    }

    /// `(x + y, x − y + 16q)`.
    #[inline(always)]
    fn sum_difference(&self, x: V, y: V) -> (V, V) {
        (self.simd.add(x, y), self.simd.sub(self.simd.add(x, self.layer_q), y))
    }

    #[inline(always)]
    fn mul(&self, y: V, w: Factor) -> V {
        self.mul_add_lazy2(self.simd.zero(), y, w)
    }

    #[inline(always)]
    fn reduce(&self, x: V) -> V {
        let quotient = self.simd.mul_add_high(self.simd.zero(), self.one_companion, x);
        self.simd.mul_add_low(x, quotient, self.minus_q)
    }

    #[inline(always)]
    fn canonical(&self, x: V) -> V {
        let x = self.simd.and(x, self.low_52);
        // As unsigned words, x − q wraps above x exactly where x < q.
        self.simd.min(x, self.simd.sub(x, self.q))
    }

    #[inline(always)]
    fn transpose(&self, rows: [V; 8]) -> [V; 8] {
        self.simd.transpose(rows)
    }
}
