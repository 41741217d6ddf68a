// SPDX-License-Identifier: Apache-2.0
//! Sums of products in two words and the reductions at their end.
//!
//! They stand apart from the generic kernels because the API defines the two words by the halves that this path's instructions
//! give. No other path has these, and double precision does not pay for them: exact halves would need corrections.

use hush_arith::Modulus;

use super::{residues::Reducer, vector::Avx512};
use crate::{
    scalar::lazy as scalar,
    vector::{MIN_WORD_BITS, Residues, zip::zip},
};

#[inline(always)]
pub(crate) fn reduce_assign(simd: Avx512, q: Modulus, data: &mut [u64]) {
    if q.bits() < MIN_WORD_BITS {
        return scalar::reduce_assign(q, data);
    }
    let m = Reducer::new(simd, q);
    let none: [&[u64]; 0] = [];
    zip(
        [data],
        none,
        #[inline(always)]
        |[x], []| simd.store(x, m.reduce_word(simd.load(x))),
    );
}

#[inline(always)]
pub(crate) fn mul_accumulate(simd: Avx512, lo: &mut [u64], hi: &mut [u64], a: &[u64], b: &[u64]) {
    zip(
        [lo, hi],
        [a, b],
        #[inline(always)]
        |[lo, hi], [a, b]| {
            let (a, b) = (simd.load(a), simd.load(b));
            simd.store(lo, simd.mul_add_low(simd.load(lo), a, b));
            simd.store(hi, simd.mul_add_high(simd.load(hi), a, b));
        },
    );
}

#[inline(always)]
pub(crate) fn reduce_wide(simd: Avx512, q: Modulus, out: &mut [u64], lo: &[u64], hi: &[u64]) {
    if q.bits() < MIN_WORD_BITS {
        return scalar::reduce_wide(q, out, lo, hi);
    }
    let m = Reducer::new(simd, q);
    let two_to_52 = m.factor(q, q.reduce_u64(1 << 52));
    zip(
        [out],
        [lo, hi],
        #[inline(always)]
        |[out], [lo, hi]| {
            let (lo, hi) = (m.reduce_word(simd.load(lo)), m.reduce_word(simd.load(hi)));
            simd.store(out, m.mul_add_factor(lo, hi, two_to_52));
        },
    );
}
