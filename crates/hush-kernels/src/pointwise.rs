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

pub use crate::operands::Pair;
use crate::{Cpu, cpu::dispatch};

/// `acc[i] ← acc[i] + x[i] mod q`.
pub fn add_assign(cpu: Cpu, modulus: Modulus, acc: &mut [u64], x: &[u64]) {
    check(modulus, acc, x);
    dispatch!(cpu, plain pointwise::add_assign(modulus: Modulus, acc: &mut [u64], x: &[u64]));
}

/// `acc[i] ← acc[i] − x[i] mod q`.
pub fn sub_assign(cpu: Cpu, modulus: Modulus, acc: &mut [u64], x: &[u64]) {
    check(modulus, acc, x);
    dispatch!(cpu, plain pointwise::sub_assign(modulus: Modulus, acc: &mut [u64], x: &[u64]));
}

/// `out[i] ← a[i] + b[i] mod q`.
pub fn add_into(cpu: Cpu, modulus: Modulus, out: &mut [u64], a: &[u64], b: &[u64]) {
    check(modulus, a, b);
    assert_eq!(out.len(), a.len(), "output and operands must have one length");
    dispatch!(cpu, plain pointwise::add_into(modulus: Modulus, out: &mut [u64], a: &[u64], b: &[u64]));
}

/// `out[i] ← a[i] − b[i] mod q`.
pub fn sub_into(cpu: Cpu, modulus: Modulus, out: &mut [u64], a: &[u64], b: &[u64]) {
    check(modulus, a, b);
    assert_eq!(out.len(), a.len(), "output and operands must have one length");
    dispatch!(cpu, plain pointwise::sub_into(modulus: Modulus, out: &mut [u64], a: &[u64], b: &[u64]));
}

/// `data[i] ← −data[i] mod q`.
pub fn neg_assign(cpu: Cpu, modulus: Modulus, data: &mut [u64]) {
    check(modulus, data, data);
    dispatch!(cpu, plain pointwise::neg_assign(modulus: Modulus, data: &mut [u64]));
}

/// `acc[i] ← acc[i]·x[i] mod q`.
pub fn mul_assign(cpu: Cpu, modulus: Modulus, acc: &mut [u64], x: &[u64]) {
    check(modulus, acc, x);
    dispatch!(cpu, pointwise::mul_assign(modulus: Modulus, acc: &mut [u64], x: &[u64]));
}

/// `out[i] ← a[i]·b[i] mod q`.
pub fn mul_into(cpu: Cpu, modulus: Modulus, out: &mut [u64], a: &[u64], b: &[u64]) {
    check(modulus, a, b);
    assert_eq!(out.len(), a.len(), "output and operands must have one length");
    dispatch!(cpu, pointwise::mul_into(modulus: Modulus, out: &mut [u64], a: &[u64], b: &[u64]));
}

/// `acc[i] ← acc[i] + a[i]·b[i] mod q`.
pub fn mul_add_assign(cpu: Cpu, modulus: Modulus, acc: &mut [u64], a: &[u64], b: &[u64]) {
    check(modulus, a, b);
    check(modulus, acc, a);
    dispatch!(cpu, pointwise::mul_add_assign(modulus: Modulus, acc: &mut [u64], a: &[u64], b: &[u64]));
}

/// `data[i] ← scalar·data[i] mod q`, for a canonical scalar.
pub fn mul_scalar_assign(cpu: Cpu, modulus: Modulus, data: &mut [u64], scalar: u64) {
    check(modulus, data, data);
    debug_assert!(scalar < modulus.value(), "the scalar must be canonical");
    dispatch!(cpu, pointwise::mul_scalar_assign(modulus: Modulus, data: &mut [u64], scalar: u64));
}

/// `acc[i] ← acc[i] + scalar·x[i] mod q`, for a canonical scalar.
pub fn mul_scalar_add_assign(cpu: Cpu, modulus: Modulus, acc: &mut [u64], x: &[u64], scalar: u64) {
    check(modulus, acc, x);
    debug_assert!(scalar < modulus.value(), "the scalar must be canonical");
    dispatch!(cpu, pointwise::mul_scalar_add_assign(modulus: Modulus, acc: &mut [u64], x: &[u64], scalar: u64));
}

/// `out ← (a_0·b_0, a_0·b_1 + a_1·b_0, a_1·b_1) mod q`, element by element: one limb of the product of two pairs.
pub fn tensor(cpu: Cpu, modulus: Modulus, out: [&mut [u64]; 3], a: Pair<'_>, b: Pair<'_>) {
    [a.0, a.1, b.0, b.1].iter().for_each(|row| check(modulus, a.0, row));
    assert!(out.iter().all(|out| out.len() == a.0.len()), "output and operands must have one length");
    dispatch!(cpu, pointwise::tensor(modulus: Modulus, out: [&mut [u64]; 3], a: Pair<'_>, b: Pair<'_>));
}

/// `acc ← acc + scalar·(a_0·b_0, a_0·b_1 + a_1·b_0) mod q`, element by element, for a canonical scalar: the part of a
/// product that needs no relinearisation.
pub fn tensor_add_assign(
    cpu: Cpu,
    modulus: Modulus,
    acc: (&mut [u64], &mut [u64]),
    a: Pair<'_>,
    b: Pair<'_>,
    scalar: u64,
) {
    [a.1, b.0, b.1, &*acc.0, &*acc.1].iter().for_each(|row| check(modulus, a.0, row));
    debug_assert!(scalar < modulus.value(), "the scalar must be canonical");
    dispatch!(cpu, pointwise::tensor_add_assign(modulus: Modulus, acc: (&mut [u64], &mut [u64]), a: Pair<'_>, b: Pair<'_>, scalar: u64));
}

fn check(modulus: Modulus, a: &[u64], b: &[u64]) {
    assert_eq!(a.len(), b.len(), "operands must have one length");
    debug_assert!(a.iter().chain(b).all(|&x| x < modulus.value()), "operands must be canonical");
}

#[cfg(test)]
mod tests;
