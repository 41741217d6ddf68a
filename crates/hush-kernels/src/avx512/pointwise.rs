// SPDX-License-Identifier: Apache-2.0
//! Element by element arithmetic, eight residues at a time.

use hush_arith::Modulus;

use super::{
    reduce::Reducer,
    vector::{Avx512, V},
};
use crate::scalar::pointwise as scalar;

/// `acc[i] ← f(acc[i], x[i])` on whole vectors; the remaining ends of both slices are returned.
#[inline(always)]
fn zip_assign<'a>(
    simd: Avx512,
    acc: &'a mut [u64],
    x: &'a [u64],
    f: impl Fn(V, V) -> V,
) -> (&'a mut [u64], &'a [u64]) {
    let (acc, acc_tail) = acc.as_chunks_mut::<8>();
    let (x, x_tail) = x.as_chunks::<8>();
    for (acc, x) in acc.iter_mut().zip(x) {
        simd.store(acc, f(simd.load(acc), simd.load(x)));
    }
    (acc_tail, x_tail)
}

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
pub(crate) fn add_assign(q: Modulus, acc: &mut [u64], x: &[u64]) {
    let reducer = Reducer::new(Avx512::new(), q);
    let (acc, x) = zip_assign(reducer.simd, acc, x, |acc, x| reducer.add(acc, x));
    scalar::add_assign(q, acc, x);
}

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
pub(crate) fn sub_assign(q: Modulus, acc: &mut [u64], x: &[u64]) {
    let reducer = Reducer::new(Avx512::new(), q);
    let (acc, x) = zip_assign(reducer.simd, acc, x, |acc, x| reducer.sub(acc, x));
    scalar::sub_assign(q, acc, x);
}

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
pub(crate) fn neg_assign(q: Modulus, data: &mut [u64]) {
    let reducer = Reducer::new(Avx512::new(), q);
    let simd = reducer.simd;
    let (vectors, tail) = data.as_chunks_mut::<8>();
    for words in vectors {
        simd.store(words, reducer.sub(simd.zero(), simd.load(words)));
    }
    scalar::neg_assign(q, tail);
}

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
pub(crate) fn mul_assign(q: Modulus, acc: &mut [u64], x: &[u64]) {
    let reducer = Reducer::new(Avx512::new(), q);
    let (acc, x) = zip_assign(reducer.simd, acc, x, |acc, x| reducer.mul(acc, x));
    scalar::mul_assign(q, acc, x);
}

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
pub(crate) fn mul_into(q: Modulus, out: &mut [u64], a: &[u64], b: &[u64]) {
    let reducer = Reducer::new(Avx512::new(), q);
    let simd = reducer.simd;
    let (out, out_tail) = out.as_chunks_mut::<8>();
    let (a, a_tail) = a.as_chunks::<8>();
    let (b, b_tail) = b.as_chunks::<8>();
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        simd.store(out, reducer.mul(simd.load(a), simd.load(b)));
    }
    scalar::mul_into(q, out_tail, a_tail, b_tail);
}

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
pub(crate) fn mul_add_assign(q: Modulus, acc: &mut [u64], a: &[u64], b: &[u64]) {
    let reducer = Reducer::new(Avx512::new(), q);
    let simd = reducer.simd;
    let (acc, acc_tail) = acc.as_chunks_mut::<8>();
    let (a, a_tail) = a.as_chunks::<8>();
    let (b, b_tail) = b.as_chunks::<8>();
    for ((acc, a), b) in acc.iter_mut().zip(a).zip(b) {
        simd.store(acc, reducer.mul_add(simd.load(acc), simd.load(a), simd.load(b)));
    }
    scalar::mul_add_assign(q, acc_tail, a_tail, b_tail);
}

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
pub(crate) fn mul_scalar_assign(q: Modulus, data: &mut [u64], factor: u64) {
    let reducer = Reducer::new(Avx512::new(), q);
    let simd = reducer.simd;
    let vector = simd.splat(factor);
    let (vectors, tail) = data.as_chunks_mut::<8>();
    for words in vectors {
        simd.store(words, reducer.mul(simd.load(words), vector));
    }
    scalar::mul_scalar_assign(q, tail, factor);
}

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
pub(crate) fn mul_scalar_add_assign(q: Modulus, acc: &mut [u64], x: &[u64], factor: u64) {
    let reducer = Reducer::new(Avx512::new(), q);
    let simd = reducer.simd;
    let factors = simd.splat(factor);
    let (acc, acc_tail) = acc.as_chunks_mut::<8>();
    let (x, x_tail) = x.as_chunks::<8>();
    for (acc, x) in acc.iter_mut().zip(x) {
        simd.store(acc, reducer.mul_add(simd.load(acc), simd.load(x), factors));
    }
    scalar::mul_scalar_add_assign(q, acc_tail, x_tail, factor);
}
