// SPDX-License-Identifier: Apache-2.0
//! Sums that are reduced once, at the end.
//!
//! [`accumulate`] adds residues as plain words. [`mul_accumulate`] adds products as two words, the low and the high 52
//! bits of each product, which is what the integer-FMA instructions give. Neither can tell when it overflows: the
//! caller counts terms and reduces in time ([`MAX_SUM_TERMS`], [`MAX_PRODUCT_TERMS`]).
//!
//! # Timing
//! Constant-time in the data.
//!
//! # Panics
//! All functions panic if their slices differ in length.

use hush_arith::Modulus;

use crate::{Cpu, cpu::dispatch};

/// Canonical residues that a zero accumulator takes before it may overflow: `2^17 · 2^46.95 < 2^64`.
pub const MAX_SUM_TERMS: usize = 1 << 17;

/// Products of canonical residues that zero accumulators take before the low words may overflow:
/// `2^12 · (2^52 − 1) < 2^64`. The high words, each below `q²/2^52 < 2^42`, are further away.
pub const MAX_PRODUCT_TERMS: usize = 1 << 12;

/// `acc[i] ← acc[i] + x[i]`, unreduced. At most [`MAX_SUM_TERMS`] calls on an accumulator that starts at zero.
pub fn accumulate(cpu: Cpu, acc: &mut [u64], x: &[u64]) {
    assert_eq!(acc.len(), x.len(), "accumulator and operand must have one length");
    dispatch!(cpu, plain lazy::accumulate(acc: &mut [u64], x: &[u64]));
}

/// `data[i] ← data[i] mod q`, for any words; canonical out.
pub fn reduce_assign(cpu: Cpu, modulus: Modulus, data: &mut [u64]) {
    dispatch!(cpu, lazy::reduce_assign(modulus: Modulus, data: &mut [u64]));
}

/// Adds the 52 low bits of `a[i]·b[i]` to `lo[i]` and the bits above to `hi[i]`.
///
/// # Ranges
/// `a`, `b`: canonical for one modulus, hence below `2^47`. At most [`MAX_PRODUCT_TERMS`] calls on accumulators that
/// start at zero.
pub fn mul_accumulate(cpu: Cpu, lo: &mut [u64], hi: &mut [u64], a: &[u64], b: &[u64]) {
    assert_eq!(a.len(), b.len(), "operands must have one length");
    assert_eq!(lo.len(), a.len(), "low words and operands must have one length");
    assert_eq!(hi.len(), a.len(), "high words and operands must have one length");
    debug_assert!(a.iter().chain(b).all(|&x| x <= hush_arith::MAX_MODULUS), "operands must be canonical");
    dispatch!(cpu, lazy::mul_accumulate(lo: &mut [u64], hi: &mut [u64], a: &[u64], b: &[u64]));
}

/// `out[i] ← lo[i] + 2^52·hi[i] mod q`, for any words; canonical out.
pub fn reduce_wide(cpu: Cpu, modulus: Modulus, out: &mut [u64], lo: &[u64], hi: &[u64]) {
    assert_eq!(lo.len(), hi.len(), "low and high words must have one length");
    assert_eq!(out.len(), lo.len(), "output and accumulators must have one length");
    dispatch!(cpu, lazy::reduce_wide(modulus: Modulus, out: &mut [u64], lo: &[u64], hi: &[u64]));
}

#[cfg(test)]
mod tests;
