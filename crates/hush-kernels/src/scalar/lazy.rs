// SPDX-License-Identifier: Apache-2.0
//! Unreduced sums, and the reduction at their end.

use hush_arith::Modulus;

use crate::operands::LOW_52;

#[inline(always)]
pub(crate) fn accumulate(acc: &mut [u64], x: &[u64]) {
    for (acc, &x) in acc.iter_mut().zip(x) {
        *acc = acc.wrapping_add(x);
    }
}

#[inline(always)]
pub(crate) fn reduce_assign(q: Modulus, data: &mut [u64]) {
    for x in data {
        *x = q.reduce_u64(*x);
    }
}

#[inline(always)]
pub(crate) fn mul_accumulate(lo: &mut [u64], hi: &mut [u64], a: &[u64], b: &[u64]) {
    for (((lo, hi), &a), &b) in lo.iter_mut().zip(hi).zip(a).zip(b) {
        let product = u128::from(a) * u128::from(b);
        *lo = lo.wrapping_add(product as u64 & LOW_52);
        *hi = hi.wrapping_add((product >> 52) as u64);
    }
}

#[inline(always)]
pub(crate) fn reduce_wide(q: Modulus, out: &mut [u64], lo: &[u64], hi: &[u64]) {
    let two_to_52 = q.reduce_u64(1 << 52);
    for ((out, &lo), &hi) in out.iter_mut().zip(lo).zip(hi) {
        *out = q.add(q.mul(q.reduce_u64(hi), two_to_52), q.reduce_u64(lo));
    }
}
