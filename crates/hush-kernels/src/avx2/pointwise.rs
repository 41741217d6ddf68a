// SPDX-License-Identifier: Apache-2.0
//! Element by element arithmetic: products in double precision, four at a time; the rest is the scalar code, compiled
//! for wider registers.

use hush_arith::Modulus;

use super::{
    reduce::Reducer,
    vector::{Avx2, Words},
};
use crate::scalar::pointwise as scalar;

#[target_feature(enable = "avx2")]
pub(crate) fn add_assign(q: Modulus, acc: &mut [u64], x: &[u64]) {
    scalar::add_assign(q, acc, x);
}

#[target_feature(enable = "avx2")]
pub(crate) fn sub_assign(q: Modulus, acc: &mut [u64], x: &[u64]) {
    scalar::sub_assign(q, acc, x);
}

#[target_feature(enable = "avx2")]
pub(crate) fn neg_assign(q: Modulus, data: &mut [u64]) {
    scalar::neg_assign(q, data);
}

#[target_feature(enable = "avx2,fma")]
pub(crate) fn mul_assign(q: Modulus, acc: &mut [u64], x: &[u64]) {
    let reducer = Reducer::new(Avx2::new(), q);
    let (acc, acc_tail) = acc.as_chunks_mut::<4>();
    let (x, x_tail) = x.as_chunks::<4>();
    for (acc, x) in acc.iter_mut().zip(x) {
        let product = mul(&reducer, acc, x);
        *acc = product;
    }
    scalar::mul_assign(q, acc_tail, x_tail);
}

#[target_feature(enable = "avx2,fma")]
pub(crate) fn mul_into(q: Modulus, out: &mut [u64], a: &[u64], b: &[u64]) {
    let reducer = Reducer::new(Avx2::new(), q);
    let (out, out_tail) = out.as_chunks_mut::<4>();
    let (a, a_tail) = a.as_chunks::<4>();
    let (b, b_tail) = b.as_chunks::<4>();
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        *out = mul(&reducer, a, b);
    }
    scalar::mul_into(q, out_tail, a_tail, b_tail);
}

#[target_feature(enable = "avx2,fma")]
pub(crate) fn mul_add_assign(q: Modulus, acc: &mut [u64], a: &[u64], b: &[u64]) {
    let reducer = Reducer::new(Avx2::new(), q);
    let simd = reducer.simd;
    let (acc, acc_tail) = acc.as_chunks_mut::<4>();
    let (a, a_tail) = a.as_chunks::<4>();
    let (b, b_tail) = b.as_chunks::<4>();
    for ((acc, a), b) in acc.iter_mut().zip(a).zip(b) {
        let product = reducer.mul(simd.load_integers(a), simd.load_integers(b));
        // In [−0.75q, 1.75q).
        let sum = simd.add(simd.load_integers(acc), product);
        simd.store_integers(acc, reducer.canonical_sum(sum));
    }
    scalar::mul_add_assign(q, acc_tail, a_tail, b_tail);
}

#[target_feature(enable = "avx2,fma")]
pub(crate) fn mul_scalar_assign(q: Modulus, data: &mut [u64], factor: u64) {
    let reducer = Reducer::new(Avx2::new(), q);
    let (vectors, tail) = data.as_chunks_mut::<4>();
    for words in vectors {
        let product = mul(&reducer, words, &[factor; 4]);
        *words = product;
    }
    scalar::mul_scalar_assign(q, tail, factor);
}

#[target_feature(enable = "avx2,fma")]
pub(crate) fn mul_scalar_add_assign(q: Modulus, acc: &mut [u64], x: &[u64], factor: u64) {
    let reducer = Reducer::new(Avx2::new(), q);
    let simd = reducer.simd;
    let factors = simd.splat(factor as f64);
    let (acc, acc_tail) = acc.as_chunks_mut::<4>();
    let (x, x_tail) = x.as_chunks::<4>();
    for (acc, x) in acc.iter_mut().zip(x) {
        // In [−0.75q, 1.75q).
        let sum = simd.add(simd.load_integers(acc), reducer.mul(simd.load_integers(x), factors));
        simd.store_integers(acc, reducer.canonical_sum(sum));
    }
    scalar::mul_scalar_add_assign(q, acc_tail, x_tail, factor);
}

/// `a·b mod q`, canonical.
#[inline(always)]
fn mul(reducer: &Reducer, a: &Words, b: &Words) -> Words {
    let simd = reducer.simd;
    let mut out = [0; 4];
    let product = reducer.mul(simd.load_integers(a), simd.load_integers(b));
    simd.store_integers(&mut out, reducer.canonical(product));
    out
}
