// SPDX-License-Identifier: Apache-2.0
//! Sums of products in two words: the scalar code. Double precision does not pay for them: exact 52-bit halves would need
//! corrections.

use hush_arith::Modulus;

use super::vector::Avx2;
use crate::scalar::lazy as scalar;

#[inline(always)]
pub(crate) fn reduce_assign(_: Avx2, q: Modulus, data: &mut [u64]) {
    scalar::reduce_assign(q, data);
}

#[inline(always)]
pub(crate) fn mul_accumulate(_: Avx2, lo: &mut [u64], hi: &mut [u64], a: &[u64], b: &[u64]) {
    scalar::mul_accumulate(lo, hi, a, b);
}

#[inline(always)]
pub(crate) fn reduce_wide(_: Avx2, q: Modulus, out: &mut [u64], lo: &[u64], hi: &[u64]) {
    scalar::reduce_wide(q, out, lo, hi);
}
