// SPDX-License-Identifier: Apache-2.0
//! Element by element products.

use hush_arith::Modulus;

use super::{Residues, Vector, zip::zip};
use crate::operands::Pair;

#[inline(always)]
pub(crate) fn mul_assign<const L: usize>(simd: impl Vector<L>, q: Modulus, acc: &mut [u64], x: &[u64]) {
    let m = simd.residues(q);
    zip(
        [acc],
        [x],
        #[inline(always)]
        |[acc], [x]| m.store(acc, m.canonical(m.mul(m.load(acc), m.load(x)))),
    );
}

#[inline(always)]
pub(crate) fn mul_into<const L: usize>(
    simd: impl Vector<L>,
    q: Modulus,
    out: &mut [u64],
    a: &[u64],
    b: &[u64],
) {
    let m = simd.residues(q);
    zip(
        [out],
        [a, b],
        #[inline(always)]
        |[out], [a, b]| m.store(out, m.canonical(m.mul(m.load(a), m.load(b)))),
    );
}

#[inline(always)]
pub(crate) fn mul_add_assign<const L: usize>(
    simd: impl Vector<L>,
    q: Modulus,
    acc: &mut [u64],
    a: &[u64],
    b: &[u64],
) {
    let m = simd.residues(q);
    zip(
        [acc],
        [a, b],
        #[inline(always)]
        |[acc], [a, b]| m.store(acc, m.mul_add(m.load(acc), m.load(a), m.load(b))),
    );
}

#[inline(always)]
pub(crate) fn mul_scalar_assign<const L: usize>(
    simd: impl Vector<L>,
    q: Modulus,
    data: &mut [u64],
    scalar: u64,
) {
    let m = simd.residues(q);
    let factor = m.factor(q, scalar);
    let none: [&[u64]; 0] = [];
    zip(
        [data],
        none,
        #[inline(always)]
        |[x], []| m.store(x, m.mul_factor(m.load(x), factor)),
    );
}

#[inline(always)]
pub(crate) fn mul_scalar_add_assign<const L: usize>(
    simd: impl Vector<L>,
    q: Modulus,
    acc: &mut [u64],
    x: &[u64],
    scalar: u64,
) {
    let m = simd.residues(q);
    let factor = m.factor(q, scalar);
    zip(
        [acc],
        [x],
        #[inline(always)]
        |[acc], [x]| m.store(acc, m.mul_add_factor(m.load(acc), m.load(x), factor)),
    );
}

#[inline(always)]
pub(crate) fn tensor<const L: usize>(
    simd: impl Vector<L>,
    q: Modulus,
    out: [&mut [u64]; 3],
    a: Pair<'_>,
    b: Pair<'_>,
) {
    let m = simd.residues(q);
    zip(
        out,
        [a.0, a.1, b.0, b.1],
        #[inline(always)]
        |[low, middle, high], [a0, a1, b0, b1]| {
            let (a, b) = ((m.load(a0), m.load(a1)), (m.load(b0), m.load(b1)));
            m.store(low, m.canonical(m.mul(a.0, b.0)));
            m.store(middle, m.canonical(m.mul_pairs(a, (b.1, b.0))));
            m.store(high, m.canonical(m.mul(a.1, b.1)));
        },
    );
}

#[inline(always)]
pub(crate) fn tensor_add_assign<const L: usize>(
    simd: impl Vector<L>,
    q: Modulus,
    acc: (&mut [u64], &mut [u64]),
    a: Pair<'_>,
    b: Pair<'_>,
    scalar: u64,
) {
    let m = simd.residues(q);
    let factor = m.factor(q, scalar);
    zip(
        [acc.0, acc.1],
        [a.0, a.1, b.0, b.1],
        #[inline(always)]
        |[body, mask], [a0, a1, b0, b1]| {
            let (a, b) = ((m.load(a0), m.load(a1)), (m.load(b0), m.load(b1)));
            m.store(body, m.mul_add_factor(m.load(body), m.mul(a.0, b.0), factor));
            m.store(mask, m.mul_add_factor(m.load(mask), m.mul_pairs(a, (b.1, b.0)), factor));
        },
    );
}
