// SPDX-License-Identifier: Apache-2.0
//! Element by element arithmetic: products in double precision, four at a time; the rest is the scalar code, compiled
//! for wider registers.

use hush_arith::Modulus;

use super::{
    reduce::Reducer,
    vector::{Avx2, Words},
};
use crate::{operands::Pair, scalar::pointwise as scalar};

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

#[target_feature(enable = "avx2,fma")]
pub(crate) fn tensor(q: Modulus, out: [&mut [u64]; 3], a: Pair<'_>, b: Pair<'_>) {
    let [low, middle, high] = out;
    mul_into(q, low, a.0, b.0);
    mul_into(q, middle, a.0, b.1);
    mul_add_assign(q, middle, a.1, b.0);
    mul_into(q, high, a.1, b.1);
}

#[target_feature(enable = "avx2,fma")]
pub(crate) fn tensor_add_assign(
    q: Modulus,
    acc: (&mut [u64], &mut [u64]),
    a: Pair<'_>,
    b: Pair<'_>,
    scalar: u64,
) {
    let reducer = Reducer::new(Avx2::new(), q);
    let simd = reducer.simd;
    let factor = simd.splat(scalar as f64);
    let load = |row: &[u64], vector: usize| simd.load_integers(&row.as_chunks::<4>().0[vector]);
    let vectors = acc.0.len() / 4;
    for vector in 0..vectors {
        let [a0, a1, b0, b1] = [a.0, a.1, b.0, b.1].map(|row| load(row, vector));
        // In [−1.5q, 1.5q], far below 2^51.
        let middle = reducer.reduce(simd.add(reducer.mul(a0, b1), reducer.mul(a1, b0)));
        for (acc, product) in [(&mut *acc.0, reducer.mul(a0, b0)), (&mut *acc.1, middle)] {
            let acc = &mut acc.as_chunks_mut::<4>().0[vector];
            // In [−0.75q, 1.75q).
            let sum = simd.add(simd.load_integers(acc), reducer.mul(product, factor));
            simd.store_integers(acc, reducer.canonical_sum(sum));
        }
    }
    let done = 4 * vectors;
    let acc = (&mut acc.0[done..], &mut acc.1[done..]);
    scalar::tensor_add_assign(q, acc, (&a.0[done..], &a.1[done..]), (&b.0[done..], &b.1[done..]), scalar);
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
