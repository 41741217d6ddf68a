// SPDX-License-Identifier: Apache-2.0
//! Signed integers into residues; errors are scaled in double precision, four at a time.

use hush_arith::Modulus;

use super::{reduce::Reducer, vector::Avx2};
use crate::scalar::lift as scalar;
pub(crate) use crate::scalar::lift::lift_signed;

#[target_feature(enable = "avx2,fma")]
pub(crate) fn add_scaled_error(q: Modulus, out: &mut [u64], error: &[i32], scale: u64) {
    // From 2^31 on, an error is at most q in absolute value.
    if q.value() < 1 << 31 {
        return scalar::add_scaled_error(q, out, error, scale);
    }
    let reducer = Reducer::new(Avx2::new(), q);
    let simd = reducer.simd;
    let factor = simd.load_integers(&[scale; 4]);
    let (error, error_tail) = error.as_chunks::<4>();
    let (out, out_tail) = out.as_chunks_mut::<4>();
    for (error, out) in error.iter().zip(out) {
        // In [−0.75q, 1.75q).
        let sum = simd.add(simd.load_integers(out), reducer.mul(simd.load_signed_32(error), factor));
        simd.store_integers(out, reducer.canonical_sum(sum));
    }
    scalar::add_scaled_error(q, out_tail, error_tail, scale);
}
