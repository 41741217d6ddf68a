// SPDX-License-Identifier: Apache-2.0
//! One [`Modulus`] operation per element.

use hush_arith::Modulus;

use crate::operands::Pair;

#[inline(always)]
pub(crate) fn add_assign(q: Modulus, acc: &mut [u64], x: &[u64]) {
    for (acc, &x) in acc.iter_mut().zip(x) {
        *acc = q.add(*acc, x);
    }
}

#[inline(always)]
pub(crate) fn sub_assign(q: Modulus, acc: &mut [u64], x: &[u64]) {
    for (acc, &x) in acc.iter_mut().zip(x) {
        *acc = q.sub(*acc, x);
    }
}

#[inline(always)]
pub(crate) fn add_into(q: Modulus, out: &mut [u64], a: &[u64], b: &[u64]) {
    for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
        *out = q.add(a, b);
    }
}

#[inline(always)]
pub(crate) fn sub_into(q: Modulus, out: &mut [u64], a: &[u64], b: &[u64]) {
    for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
        *out = q.sub(a, b);
    }
}

#[inline(always)]
pub(crate) fn neg_assign(q: Modulus, data: &mut [u64]) {
    for x in data {
        *x = q.neg(*x);
    }
}

#[inline(always)]
pub(crate) fn mul_assign(q: Modulus, acc: &mut [u64], x: &[u64]) {
    for (acc, &x) in acc.iter_mut().zip(x) {
        *acc = q.mul(*acc, x);
    }
}

#[inline(always)]
pub(crate) fn mul_into(q: Modulus, out: &mut [u64], a: &[u64], b: &[u64]) {
    for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
        *out = q.mul(a, b);
    }
}

#[inline(always)]
pub(crate) fn mul_add_assign(q: Modulus, acc: &mut [u64], a: &[u64], b: &[u64]) {
    for ((acc, &a), &b) in acc.iter_mut().zip(a).zip(b) {
        *acc = q.add(*acc, q.mul(a, b));
    }
}

#[inline(always)]
pub(crate) fn mul_scalar_assign(q: Modulus, data: &mut [u64], scalar: u64) {
    for x in data {
        *x = q.mul(*x, scalar);
    }
}

#[inline(always)]
pub(crate) fn mul_scalar_add_assign(q: Modulus, acc: &mut [u64], x: &[u64], scalar: u64) {
    for (acc, &x) in acc.iter_mut().zip(x) {
        *acc = q.add(*acc, q.mul(x, scalar));
    }
}

#[inline(always)]
pub(crate) fn tensor(q: Modulus, out: [&mut [u64]; 3], a: Pair<'_>, b: Pair<'_>) {
    let [low, middle, high] = out;
    for i in 0..low.len() {
        low[i] = q.mul(a.0[i], b.0[i]);
        middle[i] = q.add(q.mul(a.0[i], b.1[i]), q.mul(a.1[i], b.0[i]));
        high[i] = q.mul(a.1[i], b.1[i]);
    }
}

#[inline(always)]
pub(crate) fn tensor_add_assign(
    q: Modulus,
    acc: (&mut [u64], &mut [u64]),
    a: Pair<'_>,
    b: Pair<'_>,
    scalar: u64,
) {
    for i in 0..acc.0.len() {
        acc.0[i] = q.add(acc.0[i], q.mul(scalar, q.mul(a.0[i], b.0[i])));
        let middle = q.add(q.mul(a.0[i], b.1[i]), q.mul(a.1[i], b.0[i]));
        acc.1[i] = q.add(acc.1[i], q.mul(scalar, middle));
    }
}
