// SPDX-License-Identifier: Apache-2.0
//! The Fourier transform between slots and coefficients, in factors with few diagonals.
//!
//! # Math
//! Slot `j` of a polynomial `m` is `m(ζ^(5^j))`, a transform of the `n = N/2` complex numbers `m_k + i·m_(k+n)`. It is the product of `log2 n` stages after a reversal of the bits of
//! `k`. The stage with half length `h` works on blocks of `2h` slots, with `t_r = exp(2πi·5^r/8h)`:
//!
//! `(x_r, x_(r+h)) ↦ (x_r + t_r·x_(r+h), x_r − t_r·x_(r+h))`,
//!
//! three diagonals. A product of `k` stages in a row has `2^(k+1) − 1`, and `2^k` with the last one, whose blocks are the whole row. The reversal is left out: slots
//! become coefficients in reversed order, and then slots again.
//!
//! A polynomial in `X^g` has the slots of a smaller ring, `g` times one after the other. Its transform is that of the smaller ring.

use std::collections::BTreeMap;
use std::f64::consts::TAU;

use hush_schemes::ckks::Complex;

use crate::CircuitError;
use crate::linear::Diagonals;

/// Diagonals by their offsets: `d_k[i]` multiplies slot `i + k` and adds to slot `i`.
type Matrix = BTreeMap<usize, Vec<Complex>>;

/// From slots to coefficients, in `count` factors, first to last, on rows where the slots repeat.
pub(super) fn to_coefficients(
    (slots, row): (usize, usize),
    count: usize,
) -> Result<Vec<Diagonals<Complex>>, CircuitError> {
    // The short blocks first. The factor with the longest has fewer diagonals, and takes more stages.
    let mut sizes = sizes(slots, count);
    sizes.reverse();
    let mut halves = (0..slots.trailing_zeros()).map(|log2| 1_usize << log2);
    let factors = sizes.into_iter().map(|size| product((slots, row), halves.by_ref().take(size), stage, 1.0));
    factors.collect()
}

/// From coefficients to slots times a number, in `count` factors, first to last, on rows where the slots repeat.
pub(super) fn to_slots(
    (slots, row): (usize, usize),
    count: usize,
    factor: f64,
) -> Result<Vec<Diagonals<Complex>>, CircuitError> {
    let mut halves = (0..slots.trailing_zeros()).rev().map(|log2| 1_usize << log2);
    let share = factor.powf((count as f64).recip());
    let factors = sizes(slots, count).into_iter();
    factors.map(|size| product((slots, row), halves.by_ref().take(size), inverse_stage, share)).collect()
}

/// Stages of each factor: as even as can be, the larger ones first.
fn sizes(slots: usize, count: usize) -> Vec<usize> {
    let stages = slots.trailing_zeros() as usize;
    (0..count).map(|index| stages / count + usize::from(index < stages % count)).collect()
}

fn product(
    (slots, row): (usize, usize),
    halves: impl Iterator<Item = usize>,
    stage: impl Fn(usize, usize) -> Matrix,
    factor: f64,
) -> Result<Diagonals<Complex>, CircuitError> {
    let scaled = Matrix::from([(0, vec![Complex { re: factor, im: 0.0 }; slots])]);
    let matrix = halves.fold(scaled, |matrix, half| composed(slots, &stage(slots, half), &matrix));
    // A rotation of a row in which the slots repeat rotates them.
    let repeated = |diagonal: Vec<Complex>| diagonal.into_iter().cycle().take(row).collect();
    Diagonals::new(row, matrix.into_iter().map(|(offset, diagonal)| (offset as i64, repeated(diagonal))))
}

/// The matrix of `first`, and then `second`.
fn composed(slots: usize, second: &Matrix, first: &Matrix) -> Matrix {
    let mut out = Matrix::new();
    for (&outer, left) in second {
        for (&inner, right) in first {
            let sum = out.entry((outer + inner) % slots).or_insert_with(|| vec![Complex::default(); slots]);
            for (index, value) in sum.iter_mut().enumerate() {
                *value = *value + left[index] * right[(index + outer) % slots];
            }
        }
    }
    out
}

/// A stage by what it does to slot `r` of a block: the factors of this slot and of its partner, for the lower half and for the upper.
fn butterflies(
    slots: usize,
    half: usize,
    lower: impl Fn(Complex) -> [Complex; 2],
    upper: impl Fn(Complex) -> [Complex; 2],
) -> Matrix {
    let order = 8 * half;
    let roots: Vec<Complex> = std::iter::successors(Some(1), |&power| Some(power * 5 % order))
        .take(half)
        .map(|power| {
            let (im, re) = (TAU * power as f64 / order as f64).sin_cos();
            Complex { re, im }
        })
        .collect();
    let mut matrix = Matrix::new();
    let mut add = |offset: usize, index: usize, value: Complex| {
        let diagonal = matrix.entry(offset % slots).or_insert_with(|| vec![Complex::default(); slots]);
        diagonal[index] = diagonal[index] + value;
    };
    for index in 0..slots {
        let place = index % (2 * half);
        let root = roots[place % half];
        let ([own, partner], offset) =
            if place < half { (lower(root), half) } else { (upper(root), slots - half) };
        add(0, index, own);
        add(offset, index, partner);
    }
    matrix
}

const ONE: Complex = Complex { re: 1.0, im: 0.0 };

fn stage(slots: usize, half: usize) -> Matrix {
    let negated = |root: Complex| Complex::default() - root;
    butterflies(slots, half, |root| [ONE, root], |root| [negated(root), ONE])
}

fn inverse_stage(slots: usize, half: usize) -> Matrix {
    let halved = |z: Complex| Complex { re: z.re / 2.0, im: z.im / 2.0 };
    let upper = |root: Complex| [halved(Complex::default() - root.conj()), halved(root.conj())];
    butterflies(slots, half, |_| [halved(ONE); 2], upper)
}

#[cfg(test)]
mod tests {
    use hush_testkit::Draw;

    use super::*;
    use crate::testing::{Inputs, assert_close};

    /// By the diagonals, directly.
    fn apply(factors: &[Diagonals<Complex>], x: &[Complex]) -> Vec<Complex> {
        let n = x.len();
        factors.iter().fold(x.to_vec(), |x, factor| {
            let slot = |i: usize| {
                let terms = factor.iter().map(|(offset, diagonal)| diagonal[i] * x[(i + offset) % n]);
                terms.fold(Complex::default(), |sum, term| sum + term)
            };
            (0..n).map(slot).collect()
        })
    }

    fn reversed(x: &[Complex]) -> Vec<Complex> {
        let bits = x.len().trailing_zeros();
        (0..x.len()).map(|i| x[i.reverse_bits() >> (usize::BITS - bits)]).collect()
    }

    #[test]
    fn the_factors_are_the_transform_of_the_definition_and_its_inverse() {
        for (slots, counts) in [(4, [1, 2]), (64, [2, 3]), (256, [3, 4])] {
            let mut draw = Draw::new();
            let x = draw.complex(slots);
            let root = |j: usize, k: usize| {
                let power = (0..j).fold(1, |power, _| power * 5 % (4 * slots));
                let (im, re) = (TAU * (power * k % (4 * slots)) as f64 / (4 * slots) as f64).sin_cos();
                Complex { re, im }
            };
            let slot = |j: usize| (0..slots).fold(Complex::default(), |sum, k| sum + x[k] * root(j, k));
            let expected: Vec<Complex> = (0..slots).map(slot).collect();
            for count in counts {
                let there = to_coefficients((slots, slots), count).unwrap();
                assert_close(&apply(&there, &reversed(&x)), &expected, -40.0);
                let back = to_slots((slots, slots), count, 1.0).unwrap();
                assert_close(&reversed(&apply(&back, &expected)), &x, -40.0);
                assert_eq!((there.len(), back.len()), (count, count));
                let stages = slots.trailing_zeros() as usize;
                let size = stages.div_ceil(count);
                // Slots that repeat stay repeated.
                let row: Vec<Complex> = reversed(&x).into_iter().cycle().take(4 * slots).collect();
                let found = apply(&to_coefficients((slots, 4 * slots), count).unwrap(), &row);
                let repeated: Vec<Complex> = expected.iter().copied().cycle().take(4 * slots).collect();
                assert_close(&found, &repeated, -40.0);
                assert_eq!(back[0].offsets().len(), 1 << size, "the longest blocks come first");
                assert_eq!(there[count - 1].offsets().len(), 1 << size);
            }
        }
    }

    #[test]
    fn numbers_pass_through() {
        let x = Draw::new().complex(32);
        let [once, thrice] = [1.0, 3.0].map(|factor| apply(&to_slots((32, 32), 2, factor).unwrap(), &x));
        let expected: Vec<Complex> = once.iter().map(|&z| Complex { re: 3.0, im: 0.0 } * z).collect();
        assert_close(&thrice, &expected, -45.0);
    }
}
