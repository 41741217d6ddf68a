// SPDX-License-Identifier: Apache-2.0
//! Signed integers into residues.
//!
//! # Timing
//! Constant-time in the integers and residues.

use hush_arith::Modulus;

use crate::{Cpu, cpu::dispatch};

/// `out[i] ← src[i] mod q`, canonical, for any signed word.
///
/// # Panics
/// If the lengths differ.
pub fn lift_signed(cpu: Cpu, modulus: Modulus, src: &[i64], out: &mut [u64]) {
    assert_eq!(src.len(), out.len(), "integers and residues must have one length");
    dispatch!(cpu, lift::lift_signed(modulus: Modulus, src: &[i64], out: &mut [u64]));
}

/// `out[i] ← out[i] + scale·error[i] mod q`: the BGV noise `t·e` added to canonical residues, canonical out.
///
/// `scale` is a canonical residue, such as `t mod q`.
///
/// # Panics
/// If the lengths differ.
pub fn add_scaled_error(cpu: Cpu, modulus: Modulus, out: &mut [u64], error: &[i32], scale: u64) {
    assert_eq!(out.len(), error.len(), "residues and errors must have one length");
    debug_assert!(out.iter().all(|&x| x < modulus.value()), "residues must be canonical");
    debug_assert!(scale < modulus.value(), "the scale must be canonical");
    dispatch!(cpu, lift::add_scaled_error(modulus: Modulus, out: &mut [u64], error: &[i32], scale: u64));
}

#[cfg(test)]
mod tests;
