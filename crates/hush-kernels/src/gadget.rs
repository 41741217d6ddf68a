// SPDX-License-Identifier: Apache-2.0
//! Digits of polynomials that are turned, and sums of rows modulo `2^32`: the loops of blind rotations and of key switches in TFHE.
//!
//! # Timing
//! Constant-time in residues and rows. Turns and factors come from public ciphertexts.

use hush_arith::Modulus;

use crate::{Cpu, cpu::dispatch};

/// `out ← ⌊(X^turn·moved − x)/2^shift⌉`, coefficient by coefficient of polynomials modulo `X^N + 1`: the integers nearest to the quotients of the residues nearest to 0,
/// as residues.
///
/// # Ranges
/// In and out: canonical. `turn` is below `2N`.
///
/// # Panics
/// If lengths differ, or `turn` or `shift` is out of range (1 to 62).
pub fn turned_digits(
    cpu: Cpu,
    modulus: Modulus,
    out: &mut [u64],
    (moved, x): (&[u64], &[u64]),
    turn: usize,
    shift: u32,
) {
    let degree = x.len();
    assert!(out.len() == degree && moved.len() == degree, "digits and coefficients must have one length");
    assert!(turn < 2 * degree && (1..=62).contains(&shift), "a turn below 2N, a shift from 1 to 62");
    debug_assert!(x.iter().chain(moved).all(|&x| x < modulus.value()), "coefficients must be canonical");
    let (places, wraps) = (turn % degree, turn >= degree);
    // The last `places` coefficients come to the front with the other sign.
    let (front, back) = out.split_at_mut(places);
    let (stays, moves) = moved.split_at(degree - places);
    let (here, behind) = x.split_at(places);
    for (out, from, x, is_negated) in [(front, moves, here, !wraps), (back, stays, behind, wraps)] {
        dispatch!(cpu, plain gadget::digits(modulus: Modulus, out: &mut [u64], from: &[u64], x: &[u64], is_negated: bool, shift: u32));
    }
}

/// `words ← ⌊words/2^shift⌉`: the integers nearest to the quotients of the residues nearest to 0, as residues.
///
/// # Ranges
/// In and out: canonical.
///
/// # Panics
/// If `shift` is out of range (1 to 62).
pub fn round(cpu: Cpu, modulus: Modulus, words: &mut [u64], shift: u32) {
    assert!((1..=62).contains(&shift), "a shift from 1 to 62");
    debug_assert!(words.iter().all(|&x| x < modulus.value()), "coefficients must be canonical");
    dispatch!(cpu, plain gadget::round(modulus: Modulus, words: &mut [u64], shift: u32));
}

/// Cuts the lowest digit off integers that residues stand for: `rest = low + 2^bits·rest'`, with a balanced `low` from `−2^(bits − 1)` to `2^(bits − 1) − 1`.
///
/// # Ranges
/// In and out: canonical, of the integers nearest to 0.
///
/// # Panics
/// If lengths differ, or `bits` is out of range (1 to 62).
pub fn cut_digits(cpu: Cpu, modulus: Modulus, low: &mut [u64], rest: &mut [u64], bits: u32) {
    assert_eq!(low.len(), rest.len(), "digits and integers must have one length");
    assert!((1..=62).contains(&bits), "digits of 1 to 62 bits");
    debug_assert!(rest.iter().all(|&x| x < modulus.value()), "integers must be canonical");
    dispatch!(cpu, plain gadget::cut(modulus: Modulus, low: &mut [u64], rest: &mut [u64], bits: u32));
}

/// `out[i] ← out[i] + Σ factors[j]·rows[j][i] mod 2^32`, for rows one after another.
///
/// # Panics
/// If there are not as many rows as factors, of the length of `out`.
pub fn add_scaled(cpu: Cpu, out: &mut [u32], rows: &[u32], factors: &[i32]) {
    assert_eq!(rows.len(), out.len() * factors.len(), "a row for each factor, as long as the sum");
    dispatch!(cpu, plain gadget::add_scaled(out: &mut [u32], rows: &[u32], factors: &[i32]));
}

#[cfg(test)]
mod tests;
