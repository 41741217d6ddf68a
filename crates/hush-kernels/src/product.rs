// SPDX-License-Identifier: Apache-2.0
//! Products of ciphertexts without evaluation keys. In the evaluation domain a ciphertext of degree `d` in the secret `s` is the polynomial
//! `c_0 + c_1·s + … + c_d·s^d` in every place, and products are products of polynomials.
//!
//! *Layout.* A polynomial of degree `d` with coefficients for `n` places is `d + 1` rows of `n` residues, one after another.
//!
//! # Ranges
//! Every residue goes in canonical and comes out canonical.
//!
//! # Timing
//! Constant-time in the residues.
//!
//! # Cost
//! Two loads, and a product that waits for its reduction, for every pair of coefficients in every place; a reduction for every coefficient that
//! comes out, and one more for every few pairs.

use std::ops::Range;

use hush_arith::Modulus;

pub use crate::operands::{MAX_COMPONENTS, PLACES};
use crate::operands::{Pair, Rows};
use crate::{Cpu, cpu::dispatch};

/// `out ← a·b`, in `places` places.
///
/// # Panics
/// If `places` is no multiple of [`PLACES`]; if an operand is no polynomial of at most [`MAX_COMPONENTS`] rows, or `out` has not the rows of
/// the product.
pub fn multiply(cpu: Cpu, modulus: Modulus, places: usize, out: &mut [u64], operands: Pair<'_>) {
    evaluate(cpu, modulus, (places, 0..places, false), out, &[operands]);
}

/// `out ← Σ a·b` over pairs, as [`multiply_add`].
///
/// # Panics
/// As [`multiply_add`].
pub fn multiply_sum(cpu: Cpu, modulus: Modulus, places: usize, out: &mut [u64], pairs: &[Pair<'_>]) {
    evaluate(cpu, modulus, (places, 0..places, false), out, pairs);
}

/// `acc ← acc + Σ a·b` over pairs `(a, b)`, in `places` places. The degrees are those of the first pair. One pass over `acc` for all pairs: ciphertexts of several
/// chunks, added up.
///
/// # Panics
/// As [`multiply`]; if the pairs differ in their degrees.
pub fn multiply_add(cpu: Cpu, modulus: Modulus, places: usize, acc: &mut [u64], pairs: &[Pair<'_>]) {
    multiply_add_within(cpu, modulus, (places, 0..places), acc, pairs);
}

/// The same in some of the places, of whose operands the first cache may hold several: those of one factor for many sums.
///
/// # Panics
/// As [`multiply_add`]; if the places are not among all, or begin or end within [`PLACES`].
pub fn multiply_add_within(
    cpu: Cpu,
    modulus: Modulus,
    (places, within): (usize, Range<usize>),
    acc: &mut [u64],
    pairs: &[Pair<'_>],
) {
    evaluate(cpu, modulus, (places, within, true), acc, pairs);
}

/// Both: `adds` says whether what `acc` holds counts.
fn evaluate(
    cpu: Cpu,
    modulus: Modulus,
    (places, within, adds): (usize, Range<usize>, bool),
    acc: &mut [u64],
    pairs: &[Pair<'_>],
) {
    let Some((a, b)) = pairs.first() else { return };
    assert!(places > 0 && places.is_multiple_of(PLACES), "places must fill whole vectors");
    let is_whole = |place: usize| place <= places && place.is_multiple_of(PLACES);
    assert!(is_whole(within.start) && is_whole(within.end), "places must be whole vectors among all");
    let within = (within.start, within.end);
    let rows = Rows { places, within, left: a.len() / places, right: b.len() / places, adds };
    let is_polynomial = |count: usize| (1..=MAX_COMPONENTS).contains(&count);
    assert!(is_polynomial(rows.left) && is_polynomial(rows.right), "operands must have 1 to 8 rows");
    for (a, b) in pairs {
        assert_eq!(
            (a.len(), b.len()),
            (rows.left * places, rows.right * places),
            "pairs must have the degrees of the first"
        );
        debug_assert!(a.iter().chain(*b).all(|x| *x < modulus.value()), "operands must be canonical");
    }
    assert_eq!(acc.len(), rows.product() * places, "the accumulator must have the rows of the product");
    dispatch!(cpu, product::multiply_add(modulus: Modulus, rows: Rows, acc: &mut [u64], pairs: &[Pair<'_>]));
}

#[cfg(test)]
mod tests;
