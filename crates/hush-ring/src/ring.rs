// SPDX-License-Identifier: Apache-2.0
//! Rings `Z_Q[X]/(X^N + 1)` in residue number system, with everything that is precomputed for them.

use std::sync::{Arc, Mutex, PoisonError};

use hush_arith::{CrtBasis, Modulus};
use hush_kernels::{BitWidth, Cpu, NttPlan};
use hush_params::ParamSet;

use crate::{RingError, RingLimb};

/// A ring, shared and cheap to clone.
///
/// *Invariants* (by the constructors): `N` is a power of two; the primes are distinct, `≡ 1 mod 2N` and within
/// the range that lazy 52-bit arithmetic allows. A ring with a parameter set has exactly its degree and primes.
/// *Secrecy.* Public.
#[derive(Clone)]
pub struct Ring(Arc<Inner>);

struct Inner {
    set: Option<&'static ParamSet>,
    degree: usize,
    residue_bits: u32,
    limbs: Vec<RingLimb>,
    crt: CrtBasis,
    cpu: Cpu,
}

impl Ring {
    /// The ring of a parameter set, with kernels for `cpu`. Tables are computed once per process and shared.
    ///
    /// # Errors
    /// [`RingError::Kernel`] if the set's primes do not suit its degree, which a preset rules out.
    pub fn new(set: &'static ParamSet, cpu: Cpu) -> Result<Self, RingError> {
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.iter().find(|ring| ring.param_code() == set.code() && ring.cpu() == cpu);
        if let Some(ring) = found {
            return Ok(ring.clone());
        }
        let ring = Self::build(Some(set), set.degree(), set.moduli(), cpu)?;
        known.push(ring.clone());
        Ok(ring)
    }

    /// A ring far too small to be secure, for tests that multiply by schoolbook.
    ///
    /// # Errors
    /// A [`RingError`] unless the primes are distinct, in range and `≡ 1 mod 2·degree`.
    #[cfg(any(test, feature = "insecure-toy"))]
    pub fn insecure_toy(degree: usize, moduli: &[u64]) -> Result<Self, RingError> {
        Self::build(None, degree, moduli, Cpu::detect()?)
    }

    fn build(
        set: Option<&'static ParamSet>,
        degree: usize,
        moduli: &[u64],
        cpu: Cpu,
    ) -> Result<Self, RingError> {
        let moduli: Vec<Modulus> = moduli.iter().map(|&q| Modulus::new(q)).collect::<Result<_, _>>()?;
        let residue_bits = moduli.iter().map(|q| q.bits()).max().unwrap_or(0);
        let width = BitWidth::new(residue_bits)?;
        let limb = |&q| Ok::<_, RingError>(RingLimb::new(NttPlan::new(q, degree, cpu)?, width));
        let limbs = moduli.iter().map(limb).collect::<Result<_, _>>()?;
        let crt = CrtBasis::new(&moduli)?;
        Ok(Self(Arc::new(Inner { set, degree, residue_bits, limbs, crt, cpu })))
    }

    /// The ring over primes that have their tables already, all of degree `degree`; the tables are shared.
    ///
    /// # Errors
    /// [`RingError::Arith`] unless there is at least one prime and all differ.
    pub fn of_limbs(limbs: Vec<RingLimb>, degree: usize, cpu: Cpu) -> Result<Self, RingError> {
        let moduli: Vec<Modulus> = limbs.iter().map(RingLimb::modulus).collect();
        let residue_bits = moduli.iter().map(|q| q.bits()).max().unwrap_or(0);
        let crt = CrtBasis::new(&moduli)?;
        Ok(Self(Arc::new(Inner { set: None, degree, residue_bits, limbs, crt, cpu })))
    }

    /// Ring degree `N`.
    pub fn degree(&self) -> usize {
        self.0.degree
    }
    /// Number of primes.
    pub fn limb_count(&self) -> usize {
        self.0.limbs.len()
    }
    /// Words of one polynomial, `limbs·N`.
    pub fn poly_words(&self) -> usize {
        self.limb_count() * self.degree()
    }
    /// Bits of one packed residue: the width of the widest prime.
    pub fn residue_bits(&self) -> u32 {
        self.0.residue_bits
    }
    /// Bytes of one packed limb.
    pub fn limb_bytes(&self) -> usize {
        hush_params::size::packed_bytes(self.degree(), self.residue_bits())
    }
    /// Code of the parameter set; 0 for a toy ring.
    pub fn param_code(&self) -> u16 {
        self.0.set.map_or(0, ParamSet::code)
    }
    /// The parameter set; `None` for a toy ring.
    pub fn set(&self) -> Option<&'static ParamSet> {
        self.0.set
    }
    /// The limbs: one prime each, with its loops.
    pub fn limbs(&self) -> &[RingLimb] {
        &self.0.limbs
    }
    /// The basis that turns residues into integers.
    pub fn crt(&self) -> &CrtBasis {
        &self.0.crt
    }
    /// The kernels that run.
    pub fn cpu(&self) -> Cpu {
        self.0.cpu
    }

    /// Refuses a polynomial of another ring.
    ///
    /// # Errors
    /// [`RingError::RingMismatch`].
    pub fn check_same(&self, other: &Self) -> Result<(), RingError> {
        if self == other {
            return Ok(());
        }
        Err(RingError::RingMismatch { left: self.param_code(), right: other.param_code() })
    }
}

impl PartialEq for Ring {
    /// Same degree and primes in the same order; which kernels compute makes no difference.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || self.degree() == other.degree()
                && self.param_code() == other.param_code()
                && self.crt().moduli().eq(other.crt().moduli())
    }
}

impl Eq for Ring {}

impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = self.0.set.map_or("insecure toy", ParamSet::name);
        write!(f, "Ring({name}, N = {}, {} limbs)", self.degree(), self.limb_count())
    }
}

/// Rings made so far: a handful, since there are few presets and one kind of processor.
static KNOWN: Mutex<Vec<Ring>> = Mutex::new(Vec::new());
