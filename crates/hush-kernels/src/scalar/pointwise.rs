// SPDX-License-Identifier: Apache-2.0
//! One [`Modulus`] operation per element.

use hush_arith::Modulus;

#[inline]
pub(crate) fn add_assign(q: Modulus, acc: &mut [u64], x: &[u64]) {
    for (acc, &x) in acc.iter_mut().zip(x) {
        *acc = q.add(*acc, x);
    }
}

#[inline]
pub(crate) fn sub_assign(q: Modulus, acc: &mut [u64], x: &[u64]) {
    for (acc, &x) in acc.iter_mut().zip(x) {
        *acc = q.sub(*acc, x);
    }
}

#[inline]
pub(crate) fn neg_assign(q: Modulus, data: &mut [u64]) {
    for x in data {
        *x = q.neg(*x);
    }
}

#[inline]
pub(crate) fn mul_assign(q: Modulus, acc: &mut [u64], x: &[u64]) {
    for (acc, &x) in acc.iter_mut().zip(x) {
        *acc = q.mul(*acc, x);
    }
}

#[inline]
pub(crate) fn mul_into(q: Modulus, out: &mut [u64], a: &[u64], b: &[u64]) {
    for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
        *out = q.mul(a, b);
    }
}

#[inline]
pub(crate) fn mul_add_assign(q: Modulus, acc: &mut [u64], a: &[u64], b: &[u64]) {
    for ((acc, &a), &b) in acc.iter_mut().zip(a).zip(b) {
        *acc = q.add(*acc, q.mul(a, b));
    }
}

#[inline]
pub(crate) fn mul_scalar_assign(q: Modulus, data: &mut [u64], scalar: u64) {
    for x in data {
        *x = q.mul(*x, scalar);
    }
}

#[inline]
pub(crate) fn mul_scalar_add_assign(q: Modulus, acc: &mut [u64], x: &[u64], scalar: u64) {
    for (acc, &x) in acc.iter_mut().zip(x) {
        *acc = q.add(*acc, q.mul(x, scalar));
    }
}
