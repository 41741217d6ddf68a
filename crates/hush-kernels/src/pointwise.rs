// SPDX-License-Identifier: Apache-2.0
//! Element by element arithmetic mod `q` on vectors of residues.
//!
//! # Ranges
//! Every residue goes in canonical and comes out canonical.
//!
//! # Timing
//! Constant-time in the residues.
//!
//! # Panics
//! All functions panic if their slices differ in length.

use hush_arith::Modulus;

use crate::{Cpu, cpu::dispatch};

/// `acc[i] ← acc[i] + x[i] mod q`.
pub fn add_assign(cpu: Cpu, modulus: Modulus, acc: &mut [u64], x: &[u64]) {
    check(modulus, acc, x);
    dispatch!(cpu, pointwise::add_assign(modulus, acc, x));
}

/// `acc[i] ← acc[i] − x[i] mod q`.
pub fn sub_assign(cpu: Cpu, modulus: Modulus, acc: &mut [u64], x: &[u64]) {
    check(modulus, acc, x);
    dispatch!(cpu, pointwise::sub_assign(modulus, acc, x));
}

/// `data[i] ← −data[i] mod q`.
pub fn neg_assign(cpu: Cpu, modulus: Modulus, data: &mut [u64]) {
    check(modulus, data, data);
    dispatch!(cpu, pointwise::neg_assign(modulus, data));
}

/// `acc[i] ← acc[i]·x[i] mod q`.
pub fn mul_assign(cpu: Cpu, modulus: Modulus, acc: &mut [u64], x: &[u64]) {
    check(modulus, acc, x);
    dispatch!(cpu, pointwise::mul_assign(modulus, acc, x));
}

/// `out[i] ← a[i]·b[i] mod q`.
pub fn mul_into(cpu: Cpu, modulus: Modulus, out: &mut [u64], a: &[u64], b: &[u64]) {
    check(modulus, a, b);
    assert_eq!(out.len(), a.len(), "output and operands must have one length");
    dispatch!(cpu, pointwise::mul_into(modulus, out, a, b));
}

/// `acc[i] ← acc[i] + a[i]·b[i] mod q`.
pub fn mul_add_assign(cpu: Cpu, modulus: Modulus, acc: &mut [u64], a: &[u64], b: &[u64]) {
    check(modulus, a, b);
    check(modulus, acc, a);
    dispatch!(cpu, pointwise::mul_add_assign(modulus, acc, a, b));
}

/// `data[i] ← scalar·data[i] mod q`, for a canonical scalar.
pub fn mul_scalar_assign(cpu: Cpu, modulus: Modulus, data: &mut [u64], scalar: u64) {
    check(modulus, data, data);
    debug_assert!(scalar < modulus.value(), "the scalar must be canonical");
    dispatch!(cpu, pointwise::mul_scalar_assign(modulus, data, scalar));
}

/// `acc[i] ← acc[i] + scalar·x[i] mod q`, for a canonical scalar.
pub fn mul_scalar_add_assign(cpu: Cpu, modulus: Modulus, acc: &mut [u64], x: &[u64], scalar: u64) {
    check(modulus, acc, x);
    debug_assert!(scalar < modulus.value(), "the scalar must be canonical");
    dispatch!(cpu, pointwise::mul_scalar_add_assign(modulus, acc, x, scalar));
}

fn check(modulus: Modulus, a: &[u64], b: &[u64]) {
    assert_eq!(a.len(), b.len(), "operands must have one length");
    debug_assert!(a.iter().chain(b).all(|&x| x < modulus.value()), "operands must be canonical");
}

#[cfg(test)]
mod tests;
