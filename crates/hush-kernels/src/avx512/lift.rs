// SPDX-License-Identifier: Apache-2.0
//! Signed integers into residues, eight at a time.

use hush_arith::Modulus;

use super::{
    reduce::{MIN_WORD_BITS, Reducer},
    vector::Avx512,
};
use crate::scalar::lift as scalar;

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
pub(crate) fn lift_signed(q: Modulus, src: &[i64], out: &mut [u64]) {
    if q.bits() < MIN_WORD_BITS {
        return scalar::lift_signed(q, src, out);
    }
    let reducer = Reducer::new(Avx512::new(), q);
    let simd = reducer.simd;
    // As an unsigned word, a negative integer is 2^64 too large.
    let two_to_64 = simd.splat(q.reduce_u128(1 << 64));
    let (src, src_tail) = src.as_chunks::<8>();
    let (out, out_tail) = out.as_chunks_mut::<8>();
    for (src, out) in src.iter().zip(out) {
        let x = simd.load_signed(src);
        let excess = simd.and(simd.sign_mask(x), two_to_64);
        simd.store(out, reducer.sub(reducer.reduce_word(x), excess));
    }
    scalar::lift_signed(q, src_tail, out_tail);
}

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
pub(crate) fn add_scaled_error(q: Modulus, out: &mut [u64], error: &[i32], scale: u64) {
    // From 2^31 on, a negative error plus q is a residue.
    if q.value() < 1 << 31 {
        return scalar::add_scaled_error(q, out, error, scale);
    }
    let reducer = Reducer::new(Avx512::new(), q);
    let simd = reducer.simd;
    let factor = simd.splat(scale);
    let (error, error_tail) = error.as_chunks::<8>();
    let (out, out_tail) = out.as_chunks_mut::<8>();
    for (error, out) in error.iter().zip(out) {
        let error = simd.load_signed_32(error);
        // As unsigned words, a negative error is huge and loses against error + q.
        let residue = simd.min(error, simd.add(error, reducer.q));
        simd.store(out, reducer.mul_add(simd.load(out), residue, factor));
    }
    scalar::add_scaled_error(q, out_tail, error_tail, scale);
}
