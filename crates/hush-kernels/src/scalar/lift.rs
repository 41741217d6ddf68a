// SPDX-License-Identifier: Apache-2.0
//! Signed integers into residues, one at a time.

use hush_arith::Modulus;

#[inline]
pub(crate) fn lift_signed(q: Modulus, src: &[i64], out: &mut [u64]) {
    for (out, &x) in out.iter_mut().zip(src) {
        *out = q.reduce_i64(x);
    }
}

#[inline]
pub(crate) fn add_scaled_error(q: Modulus, out: &mut [u64], error: &[i32], scale: u64) {
    for (out, &e) in out.iter_mut().zip(error) {
        *out = q.add(*out, q.mul(q.reduce_i64(i64::from(e)), scale));
    }
}
