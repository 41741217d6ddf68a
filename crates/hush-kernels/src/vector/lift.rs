// SPDX-License-Identifier: Apache-2.0
//! Signed integers into residues.

use hush_arith::Modulus;

use super::{MIN_WORD_BITS, Residues, Vector, zip::zip};
use crate::scalar::lift as scalar;

#[inline(always)]
pub(crate) fn lift_signed<const L: usize>(simd: impl Vector<L>, q: Modulus, src: &[i64], out: &mut [u64]) {
    if q.bits() < MIN_WORD_BITS {
        return scalar::lift_signed(q, src, out);
    }
    let m = simd.residues(q);
    let shift = m.word_shift(q);
    zip(
        [out],
        [src],
        #[inline(always)]
        |[out], [src]| m.store(out, m.load_signed(src, shift)),
    );
}

#[inline(always)]
pub(crate) fn add_scaled_error<const L: usize>(
    simd: impl Vector<L>,
    q: Modulus,
    out: &mut [u64],
    error: &[i32],
    scale: u64,
) {
    let m = simd.residues(q);
    let factor = m.factor(q, scale);
    zip(
        [out],
        [error],
        #[inline(always)]
        |[out], [error]| {
            m.store(out, m.mul_add_factor(m.load(out), m.load_small(error), factor));
        },
    );
}
