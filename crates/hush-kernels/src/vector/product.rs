// SPDX-License-Identifier: Apache-2.0
//! Products of polynomials, a vector of places at a time: the products of all pairs that fall on one coefficient are one sum.

use hush_arith::Modulus;

use super::{MIN_WORD_BITS, Sums, Vector};
use crate::{
    operands::{Pair, Rows},
    scalar::product as scalar,
};

#[inline(always)]
pub(crate) fn multiply_add<const L: usize>(
    simd: impl Vector<L>,
    q: Modulus,
    rows: Rows,
    acc: &mut [u64],
    pairs: &[Pair<'_>],
) {
    if q.bits() < MIN_WORD_BITS {
        return scalar::multiply_add(q, rows, acc, pairs);
    }
    let (m, most) = (simd.residues(q), most_products(simd.residues(q), q.bits()));
    match (rows.left, rows.right) {
        (1, 2) => by_one::<L, 2>((m, most), rows, acc, pairs),
        (1, 3) => by_one::<L, 3>((m, most), rows, acc, pairs),
        (1, 4) => by_one::<L, 4>((m, most), rows, acc, pairs),
        (2, 2) => by_linear::<L, 2, 3>((m, most), rows, acc, pairs),
        (3, 2) => by_linear::<L, 3, 4>((m, most), rows, acc, pairs),
        (4, 2) => by_linear::<L, 4, 5>((m, most), rows, acc, pairs),
        (5, 2) => by_linear::<L, 5, 6>((m, most), rows, acc, pairs),
        (6, 2) => by_linear::<L, 6, 7>((m, most), rows, acc, pairs),
        (7, 2) => by_linear::<L, 7, 8>((m, most), rows, acc, pairs),
        _ => of_any((m, most), rows, acc, pairs),
    }
}

/// Products of `LEFT` rows with stored ciphertexts, which are linear: all `OUT = LEFT + 1` sums are in registers, and every row is read once.
#[inline(always)]
fn by_linear<const L: usize, const LEFT: usize, const OUT: usize>(
    (m, most): (impl Sums<L>, usize),
    rows: Rows,
    acc: &mut [u64],
    pairs: &[Pair<'_>],
) {
    let (acc, vectors) = (acc.as_chunks_mut::<L>().0, rows.places / L);
    for column in rows.within.0 / L..rows.within.1 / L {
        let mut sums = [m.start(m.zero()); OUT];
        for (row, sum) in sums.iter_mut().enumerate() {
            if rows.adds {
                *sum = m.start(m.load(&acc[row * vectors + column]));
            }
        }
        let mut products = 0;
        for (a, b) in pairs {
            // Most rows take two.
            if products + 2 > most {
                for sum in &mut sums {
                    *sum = m.start(m.reduce_sum(*sum));
                }
                products = 0;
            }
            products += 2;
            let (a, b) = (a.as_chunks::<L>().0, b.as_chunks::<L>().0);
            let (body, mask) = (m.load(&b[column]), m.load(&b[vectors + column]));
            for left in 0..LEFT {
                let x = m.load(&a[left * vectors + column]);
                sums[left] = m.add_product(sums[left], x, body);
                sums[left + 1] = m.add_product(sums[left + 1], x, mask);
            }
        }
        for (row, sum) in sums.into_iter().enumerate() {
            m.store(&mut acc[row * vectors + column], m.canonical(m.reduce_sum(sum)));
        }
    }
}

/// Products of one row with `OUT`: all sums are in registers, and every row is read once.
#[inline(always)]
fn by_one<const L: usize, const OUT: usize>(
    (m, most): (impl Sums<L>, usize),
    rows: Rows,
    acc: &mut [u64],
    pairs: &[Pair<'_>],
) {
    let (acc, vectors) = (acc.as_chunks_mut::<L>().0, rows.places / L);
    for column in rows.within.0 / L..rows.within.1 / L {
        let mut sums = [m.start(m.zero()); OUT];
        for (row, sum) in sums.iter_mut().enumerate() {
            if rows.adds {
                *sum = m.start(m.load(&acc[row * vectors + column]));
            }
        }
        let mut products = 0;
        for (a, b) in pairs {
            if products == most {
                for sum in &mut sums {
                    *sum = m.start(m.reduce_sum(*sum));
                }
                products = 0;
            }
            products += 1;
            let (a, b) = (a.as_chunks::<L>().0, b.as_chunks::<L>().0);
            let x = m.load(&a[column]);
            for (row, sum) in sums.iter_mut().enumerate() {
                *sum = m.add_product(*sum, x, m.load(&b[row * vectors + column]));
            }
        }
        for (row, sum) in sums.into_iter().enumerate() {
            m.store(&mut acc[row * vectors + column], m.canonical(m.reduce_sum(sum)));
        }
    }
}

/// Products of any degrees.
#[inline(always)]
fn of_any<const L: usize>((m, most): (impl Sums<L>, usize), rows: Rows, acc: &mut [u64], pairs: &[Pair<'_>]) {
    let vectors = rows.places / L;
    for (power, row) in acc.chunks_exact_mut(rows.places).enumerate() {
        let within = row[rows.within.0..rows.within.1].as_chunks_mut::<L>().0;
        for (column, words) in (rows.within.0 / L..).zip(within) {
            let mut sum = m.start(if rows.adds { m.load(words) } else { m.zero() });
            let mut products = 0;
            for (a, b) in pairs {
                let (a, b) = (a.as_chunks::<L>().0, b.as_chunks::<L>().0);
                for left in rows.terms(power) {
                    if products == most {
                        sum = m.start(m.reduce_sum(sum));
                        products = 0;
                    }
                    let at = |row: usize| row * vectors + column;
                    sum = m.add_product(sum, m.load(&a[at(left)]), m.load(&b[at(power - left)]));
                    products += 1;
                }
            }
            m.store(words, m.canonical(m.reduce_sum(sum)));
        }
    }
}

/// Products that a sum takes.
#[inline(always)]
fn most_products<const L: usize, A: Sums<L>>(_: A, bits: u32) -> usize {
    A::most_products(bits)
}
