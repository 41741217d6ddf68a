// SPDX-License-Identifier: Apache-2.0
//! Element by element arithmetic, eight residues at a time.

use hush_arith::Modulus;

use super::{
    reduce::Reducer,
    vector::{Avx512, V},
};
use crate::{operands::Pair, scalar::pointwise as scalar};

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

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
pub(crate) fn tensor(q: Modulus, out: [&mut [u64]; 3], a: Pair<'_>, b: Pair<'_>) {
    let reducer = Reducer::new(Avx512::new(), q);
    let simd = reducer.simd;
    let vectors = a.0.len() / 8;
    let [low, middle, high] = out;
    for vector in 0..vectors {
        let [a0, a1, b0, b1] = [a.0, a.1, b.0, b.1].map(|row| simd.load(&row.as_chunks().0[vector]));
        simd.store(&mut low.as_chunks_mut().0[vector], reducer.mul(a0, b0));
        simd.store(&mut middle.as_chunks_mut().0[vector], cross(&reducer, a0, a1, b0, b1));
        simd.store(&mut high.as_chunks_mut().0[vector], reducer.mul(a1, b1));
    }
    let done = 8 * vectors;
    let out = [&mut low[done..], &mut middle[done..], &mut high[done..]];
    scalar::tensor(q, out, (&a.0[done..], &a.1[done..]), (&b.0[done..], &b.1[done..]));
}

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
pub(crate) fn tensor_add_assign(
    q: Modulus,
    acc: (&mut [u64], &mut [u64]),
    a: Pair<'_>,
    b: Pair<'_>,
    scalar: u64,
) {
    let reducer = Reducer::new(Avx512::new(), q);
    let simd = reducer.simd;
    let factor = simd.splat(scalar);
    let vectors = a.0.len() / 8;
    for vector in 0..vectors {
        let [a0, a1, b0, b1] = [a.0, a.1, b.0, b.1].map(|row| simd.load(&row.as_chunks().0[vector]));
        let (body, mask) = (reducer.mul(a0, b0), cross(&reducer, a0, a1, b0, b1));
        for (acc, product) in [(&mut *acc.0, body), (&mut *acc.1, mask)] {
            let acc = &mut acc.as_chunks_mut().0[vector];
            simd.store(acc, reducer.mul_add(simd.load(acc), product, factor));
        }
    }
    let done = 8 * vectors;
    let acc = (&mut acc.0[done..], &mut acc.1[done..]);
    scalar::tensor_add_assign(q, acc, (&a.0[done..], &a.1[done..]), (&b.0[done..], &b.1[done..]), scalar);
}

/// `a0·b1 + a1·b0 mod q`, canonical.
#[inline(always)]
fn cross(reducer: &Reducer, a0: V, a1: V, b0: V, b1: V) -> V {
    let simd = reducer.simd;
    let low = simd.mul_add_low(simd.mul_add_low(simd.zero(), a0, b1), a1, b0);
    let high = simd.mul_add_high(simd.mul_add_high(simd.zero(), a0, b1), a1, b0);
    reducer.reduce_sum(low, high)
}
