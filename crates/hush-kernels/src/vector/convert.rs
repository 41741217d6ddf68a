// SPDX-License-Identifier: Apache-2.0
//! Sums of a few products for each column, a tile of vectors at a time.

use hush_arith::Modulus;

use super::{
    MIN_WORD_BITS, Residues, Sums, Vector,
    zip::{padded, zip},
};
use crate::{operands::MAX_ROWS, scalar::convert as scalar};

#[inline(always)]
pub(crate) fn sub_scale_assign<const L: usize>(
    simd: impl Vector<L>,
    q: Modulus,
    out: &mut [u64],
    x: &[u64],
    factor: u64,
) {
    let m = simd.residues(q);
    let factor = m.factor(q, factor);
    zip(
        [out],
        [x],
        #[inline(always)]
        |[out], [x]| m.store(out, m.mul_factor(m.sub(m.load(out), m.load(x)), factor)),
    );
}

#[inline(always)]
pub(crate) fn combine_assign<const L: usize>(
    simd: impl Vector<L>,
    q: Modulus,
    out: &mut [u64],
    alpha: u64,
    x: &[u64],
    beta: u64,
) {
    let m = simd.residues(q);
    let factors = (m.load(&[alpha; L]), m.load(&[beta; L]));
    zip(
        [out],
        [x],
        #[inline(always)]
        |[out], [x]| {
            m.store(out, m.canonical(m.mul_pairs((m.load(out), m.load(x)), factors)));
        },
    );
}

#[inline(always)]
pub(crate) fn tagged_sum<const L: usize>(
    simd: impl Vector<L>,
    q: Modulus,
    out: &mut [u64],
    rows: &[u64],
    weights: &[u64],
) {
    if q.bits() < MIN_WORD_BITS {
        return scalar::tagged_sum(q, out, rows, weights);
    }
    let m = simd.residues(q);
    let numbers = m.numbers(q, weights);
    let columns = out.len();
    let (whole, tail) = out.split_at_mut(columns / L * L);
    let done = whole.len();
    tagged_columns(&m, whole, rows, columns, &numbers);
    if !tail.is_empty() {
        let mut padded_rows = [[0; L]; MAX_ROWS];
        for (padded_row, row) in padded_rows.iter_mut().zip(rows.chunks_exact(columns)) {
            *padded_row = padded(&row[done..]);
        }
        let mut padded_out = [0; L];
        tagged_columns(&m, &mut padded_out, padded_rows.as_flattened(), L, &numbers);
        tail.copy_from_slice(&padded_out[..tail.len()]);
    }
}

/// [`tagged_sum`] for whole vectors: the first `out.len()` of `columns` columns.
#[inline(always)]
fn tagged_columns<const L: usize, A: Sums<L>>(
    m: &A,
    out: &mut [u64],
    rows: &[u64],
    columns: usize,
    numbers: &[A::Number],
) {
    let mut first = 0;
    while first + TILE * L <= out.len() {
        tagged_tile::<L, TILE, A>(m, out, first, rows, columns, numbers);
        first += TILE * L;
    }
    while first < out.len() {
        tagged_tile::<L, 1, A>(m, out, first, rows, columns, numbers);
        first += L;
    }
}

#[inline(always)]
fn tagged_tile<const L: usize, const T: usize, A: Sums<L>>(
    m: &A,
    out: &mut [u64],
    first: usize,
    rows: &[u64],
    columns: usize,
    numbers: &[A::Number],
) {
    let Some((tag_number, numbers)) = numbers.split_last() else { return };
    let mut sums = [m.start(m.zero()); T];
    for (sum, words) in sums.iter_mut().zip(tile::<L, T>(rows, first)) {
        *sum = m.add_weighted(*sum, m.load_tags(words), m.weight(tag_number));
    }
    sum_tile::<L, T, A>(
        m,
        out,
        first,
        numbers.len(),
        (sums, 1),
        #[inline(always)]
        |sums, row| {
            let w = m.weight(&numbers[row]);
            for (sum, words) in sums.iter_mut().zip(tile::<L, T>(rows, row * columns + first)) {
                *sum = m.add_weighted(*sum, m.load_digits(words), w);
            }
        },
    );
}

#[inline(always)]
pub(crate) fn dot_pair<const L: usize>(
    simd: impl Vector<L>,
    q: Modulus,
    out: (&mut [u64], &mut [u64]),
    a: &[&[u64]],
    b: (&[&[u64]], &[&[u64]]),
) {
    if q.bits() < MIN_WORD_BITS {
        return scalar::dot_pair(q, out, a, b);
    }
    let m = simd.residues(q);
    let done = out.0.len() / L * L;
    let (left, left_tail) = out.0.split_at_mut(done);
    let (right, right_tail) = out.1.split_at_mut(done);
    dot_columns(&m, (left, right), a, b);
    if !left_tail.is_empty() {
        let mut padded_rows = [[[0; L]; MAX_ROWS]; 3];
        for (padded_rows, rows) in padded_rows.iter_mut().zip([a, b.0, b.1]) {
            for (padded_row, row) in padded_rows.iter_mut().zip(rows) {
                *padded_row = padded(&row[done..]);
            }
        }
        let slices = padded_rows.each_ref().map(|rows| rows.each_ref().map(<[u64; L]>::as_slice));
        let [a, left_b, right_b] = slices.each_ref().map(|rows| &rows[..a.len()]);
        let (mut left, mut right) = ([0; L], [0; L]);
        dot_columns(&m, (&mut left, &mut right), a, (left_b, right_b));
        left_tail.copy_from_slice(&left[..left_tail.len()]);
        right_tail.copy_from_slice(&right[..right_tail.len()]);
    }
}

/// [`dot_pair`] for whole vectors. Both sums take a tile in turn, so that the second finds its rows of `a` in the nearest cache.
#[inline(always)]
fn dot_columns<const L: usize, A: Sums<L>>(
    m: &A,
    out: (&mut [u64], &mut [u64]),
    a: &[&[u64]],
    b: (&[&[u64]], &[&[u64]]),
) {
    let mut first = 0;
    while first + TILE * L <= out.0.len() {
        dot_tile::<L, TILE, A>(m, out.0, first, a, b.0);
        dot_tile::<L, TILE, A>(m, out.1, first, a, b.1);
        first += TILE * L;
    }
    while first < out.0.len() {
        dot_tile::<L, 1, A>(m, out.0, first, a, b.0);
        dot_tile::<L, 1, A>(m, out.1, first, a, b.1);
        first += L;
    }
}

#[inline(always)]
fn dot_tile<const L: usize, const T: usize, A: Sums<L>>(
    m: &A,
    out: &mut [u64],
    first: usize,
    a: &[&[u64]],
    b: &[&[u64]],
) {
    sum_tile::<L, T, A>(
        m,
        out,
        first,
        a.len(),
        ([m.start(m.zero()); T], 0),
        #[inline(always)]
        |sums, row| {
            let vectors = tile::<L, T>(a[row], first).iter().zip(tile::<L, T>(b[row], first));
            for (sum, (a, b)) in sums.iter_mut().zip(vectors) {
                *sum = m.add_product(*sum, m.load(a), m.load(b));
            }
        },
    );
}

/// Vectors that are summed side by side: as many chains of dependent operations as hide their latency.
const TILE: usize = 4;

/// Sums of `count` rows for `T` vectors of columns from a column on; `add` adds a row. They start with sums of so many products.
#[inline(always)]
fn sum_tile<const L: usize, const T: usize, A: Sums<L>>(
    m: &A,
    out: &mut [u64],
    first: usize,
    count: usize,
    (mut sums, product_count): ([A::Sum; T], usize),
    add: impl Fn(&mut [A::Sum; T], usize),
) {
    let mut row = 0;
    let mut end = count.min(A::BATCH - product_count);
    let mut rests = [m.zero(); T];
    loop {
        while row < end {
            add(&mut sums, row);
            row += 1;
        }
        for (rest, sum) in rests.iter_mut().zip(&mut sums) {
            *rest = m.reduce_sum(*sum);
            *sum = m.start(*rest);
        }
        if row == count {
            break;
        }
        end = count.min(row + A::BATCH);
    }
    let words = out[first..first + T * L].as_chunks_mut::<L>().0;
    for (words, rest) in words.iter_mut().zip(rests) {
        m.store(words, m.canonical(rest));
    }
}

/// `T` vectors of a row from a word on.
#[inline(always)]
fn tile<const L: usize, const T: usize>(row: &[u64], first: usize) -> &[[u64; L]] {
    row[first..first + T * L].as_chunks().0
}
