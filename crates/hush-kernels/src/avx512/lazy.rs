// SPDX-License-Identifier: Apache-2.0
//! Unreduced sums and the reduction at their end, eight words at a time.

use hush_arith::Modulus;

use super::{
    reduce::{MIN_WORD_BITS, Reducer},
    vector::Avx512,
};
use crate::scalar::lazy as scalar;

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
pub(crate) fn accumulate(acc: &mut [u64], x: &[u64]) {
    let simd = Avx512::new();
    let (acc, acc_tail) = acc.as_chunks_mut::<8>();
    let (x, x_tail) = x.as_chunks::<8>();
    for (acc, x) in acc.iter_mut().zip(x) {
        simd.store(acc, simd.add(simd.load(acc), simd.load(x)));
    }
    scalar::accumulate(acc_tail, x_tail);
}

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
pub(crate) fn reduce_assign(q: Modulus, data: &mut [u64]) {
    if q.bits() < MIN_WORD_BITS {
        return scalar::reduce_assign(q, data);
    }
    let reducer = Reducer::new(Avx512::new(), q);
    let (vectors, tail) = data.as_chunks_mut::<8>();
    for words in vectors {
        reducer.simd.store(words, reducer.reduce_word(reducer.simd.load(words)));
    }
    scalar::reduce_assign(q, tail);
}

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
pub(crate) fn mul_accumulate(lo: &mut [u64], hi: &mut [u64], a: &[u64], b: &[u64]) {
    let simd = Avx512::new();
    let (lo, lo_tail) = lo.as_chunks_mut::<8>();
    let (hi, hi_tail) = hi.as_chunks_mut::<8>();
    let (a, a_tail) = a.as_chunks::<8>();
    let (b, b_tail) = b.as_chunks::<8>();
    for (((lo, hi), a), b) in lo.iter_mut().zip(hi).zip(a).zip(b) {
        let (a, b) = (simd.load(a), simd.load(b));
        simd.store(lo, simd.mul_add_low(simd.load(lo), a, b));
        simd.store(hi, simd.mul_add_high(simd.load(hi), a, b));
    }
    scalar::mul_accumulate(lo_tail, hi_tail, a_tail, b_tail);
}

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
pub(crate) fn reduce_wide(q: Modulus, out: &mut [u64], lo: &[u64], hi: &[u64]) {
    if q.bits() < MIN_WORD_BITS {
        return scalar::reduce_wide(q, out, lo, hi);
    }
    let reducer = Reducer::new(Avx512::new(), q);
    let simd = reducer.simd;
    let two_to_52 = simd.splat(q.reduce_u64(1 << 52));
    let (out, out_tail) = out.as_chunks_mut::<8>();
    let (lo, lo_tail) = lo.as_chunks::<8>();
    let (hi, hi_tail) = hi.as_chunks::<8>();
    for ((out, lo), hi) in out.iter_mut().zip(lo).zip(hi) {
        let (lo, hi) = (reducer.reduce_word(simd.load(lo)), reducer.reduce_word(simd.load(hi)));
        simd.store(out, reducer.mul_add(lo, hi, two_to_52));
    }
    scalar::reduce_wide(q, out_tail, lo_tail, hi_tail);
}
