// SPDX-License-Identifier: Apache-2.0
//! The negacyclic number-theoretic transform: polynomials mod `X^N + 1` over `Z_q` to their values and back.
//!
//! # Math
//! With `ψ` the primitive `2N`-th root that [`Modulus::psi`] fixes, the forward transform of `A(X) = Σ a_j·X^j` is
//! `out[k] = A(ψ^e(k))` with `e(k) = 2·brv(τ(k)) + 1`. Here `brv` reverses the `log2 N` bits of an index and `τ` swaps the
//! two lowest octal digits (`k = 64·b + 8·c + r` becomes `64·b + 8·r + c`) if `N ≥ 64`, and nothing otherwise.
//! [`NttPlan::root_exponent`] computes `e`. The swap lets the widest path end each 64-point block after one transposition in
//! registers. The order is part of the stored formats: it never changes.
//!
//! Products of values are values of products mod `X^N + 1`. Most callers use that alone, and not the order.
//!
//! # References
//! \[Har14\] lazy butterflies; Longa and Naehrig (2016) for powers of `ψ` merged in the twiddle factors.

pub(crate) mod order;
#[cfg(any(test, target_arch = "x86_64"))]
pub(crate) mod schedule;
#[cfg(any(test, target_arch = "x86_64"))]
pub(crate) mod tables;

use hush_arith::Modulus;

use self::order::{reverse_bits, transpose_index};
use crate::{
    Cpu, KernelError,
    cpu::{states, with_state},
    scalar,
};

/// The smallest transform.
pub const MIN_DEGREE: usize = 16;
/// The largest transform: one more layer would pass the 33·q bound of the lazy ranges.
pub const MAX_DEGREE: usize = 1 << 16;

/// The smallest transform of the vector paths: two blocks of 64 points, and one pass that joins them.
const MIN_VECTOR_DEGREE: usize = 128;

/// Tables for the transform of one length modulo one prime, on one path.
///
/// *Invariants* (checked by [`NttPlan::new`]): the degree is a power of two in [`MIN_DEGREE`]`..=`[`MAX_DEGREE`]; the
/// prime has a primitive `2N`-th root; the path can run here. Plans are immutable: share them between threads.
#[derive(Debug, Clone)]
pub struct NttPlan {
    modulus: Modulus,
    degree: usize,
    cpu: Cpu,
    tables: Tables,
}

states! {
    #[derive(Debug)]
    enum Tables {
        scalar: scalar::ntt::Tables,
        avx2: tables::Tables<f64>,
        avx512: tables::Tables<u64>,
    }
}

impl NttPlan {
    /// Computes the tables.
    ///
    /// # Cost
    /// About `2N` modular products; `O(N)` words are kept.
    ///
    /// # Errors
    /// [`KernelError::DegreeUnsupported`], or [`KernelError::Arith`] if the prime has no root of order `2·degree`.
    pub fn new(modulus: Modulus, degree: usize, cpu: Cpu) -> Result<Self, KernelError> {
        if !degree.is_power_of_two() || !(MIN_DEGREE..=MAX_DEGREE).contains(&degree) {
            return Err(KernelError::DegreeUnsupported { found: degree, min: MIN_DEGREE, max: MAX_DEGREE });
        }
        let psi = modulus.psi(degree)?;
        let path = if degree < MIN_VECTOR_DEGREE { Cpu::scalar() } else { cpu };
        let tables = with_state!(Tables::new(path), ntt::new_tables(modulus, degree, psi));
        Ok(Self { modulus, degree, cpu, tables })
    }

    /// Coefficients to values, in place.
    ///
    /// # Ranges
    /// In and out: canonical, `N` words.
    ///
    /// # Cost
    /// `N/2·log2 N` butterflies.
    ///
    /// # Timing
    /// Constant-time in the data.
    ///
    /// # Panics
    /// If the length is not the degree.
    pub fn forward(&self, data: &mut [u64]) {
        self.check(data);
        with_state!(Tables::at(&self.tables), ntt::forward(data));
        debug_assert!(data.iter().all(|&x| x < self.modulus.value()));
    }

    /// Values to coefficients, in place: the exact inverse of [`NttPlan::forward`], the factor `1/N` included.
    ///
    /// # Ranges
    /// In and out: canonical, `N` words.
    ///
    /// # Cost
    /// `N/2·log2 N` butterflies.
    ///
    /// # Timing
    /// Constant-time in the data.
    ///
    /// # Panics
    /// If the length is not the degree.
    pub fn inverse(&self, data: &mut [u64]) {
        self.check(data);
        with_state!(Tables::at(&self.tables), ntt::inverse(data));
        debug_assert!(data.iter().all(|&x| x < self.modulus.value()));
    }

    /// The odd exponent `e < 2N` with `out[index] = A(ψ^e)`; the index is taken mod `N`.
    pub fn root_exponent(&self, index: usize) -> usize {
        2 * reverse_bits(transpose_index(index & (self.degree - 1), self.degree), self.degree) + 1
    }

    /// The prime.
    pub fn modulus(&self) -> Modulus {
        self.modulus
    }

    /// The length `N`.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// The path that runs.
    pub fn cpu(&self) -> Cpu {
        self.cpu
    }

    fn check(&self, data: &[u64]) {
        assert_eq!(data.len(), self.degree, "the data must have the length of the plan");
        debug_assert!(data.iter().all(|&x| x < self.modulus.value()), "the data must be canonical");
    }
}

#[cfg(test)]
mod tests;
