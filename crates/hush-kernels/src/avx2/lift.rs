// SPDX-License-Identifier: Apache-2.0
//! Signed integers into residues in double precision, four at a time.

use hush_arith::Modulus;

use super::{reduce::Reducer, vector::Avx2};
use crate::scalar::lift as scalar;

#[target_feature(enable = "avx2,fma")]
pub(crate) fn lift_signed(q: Modulus, src: &[i64], out: &mut [u64]) {
    let reducer = Reducer::new(Avx2::new(), q);
    let simd = reducer.simd;
    let two_to_32 = reducer.factor(q, q.reduce_u64(1 << 32));
    let (src, src_tail) = src.as_chunks::<4>();
    let (out, out_tail) = out.as_chunks_mut::<4>();
    for (src, out) in src.iter().zip(out) {
        let (high, low) = simd.load_signed_halves(src);
        // Below 2^47 + 2^32 in absolute value.
        let folded = simd.add(reducer.mul_constant(high, two_to_32), low);
        simd.store_integers(out, reducer.canonical(reducer.reduce(folded)));
    }
    scalar::lift_signed(q, src_tail, out_tail);
}

#[target_feature(enable = "avx2,fma")]
pub(crate) fn add_scaled_error(q: Modulus, out: &mut [u64], error: &[i32], scale: u64) {
    let reducer = Reducer::new(Avx2::new(), q);
    let simd = reducer.simd;
    let factor = reducer.factor(q, scale);
    let (error, error_tail) = error.as_chunks::<4>();
    let (out, out_tail) = out.as_chunks_mut::<4>();
    for (error, out) in error.iter().zip(out) {
        // In [−0.75q, 1.75q).
        let sum = simd.add(simd.load_integers(out), reducer.mul_constant(simd.load_signed_32(error), factor));
        simd.store_integers(out, reducer.canonical_sum(sum));
    }
    scalar::add_scaled_error(q, out_tail, error_tail, scale);
}
