// SPDX-License-Identifier: Apache-2.0
//! A parameter set with the tables of its ring.

use hush_arith::Modulus;
use hush_params::tfhe::{Messages, TfheSet};
use hush_ring::{Cpu, Ring, RingLimb};

use crate::TfheError;

/// A parameter set, ready to compute with; cheap to clone.
#[derive(Clone, Debug)]
pub struct Context {
    set: &'static TfheSet,
    ring: Ring,
    limb: RingLimb,
}

impl Context {
    /// Makes the tables of the set's ring.
    ///
    /// # Errors
    /// [`TfheError::Ring`] if prime and degree do not go together, which the tests of sets rule out.
    pub fn new(set: &'static TfheSet, cpu: Cpu) -> Result<Self, TfheError> {
        let limb = RingLimb::plaintext(set.degree(), set.prime(), cpu)?;
        let ring = Ring::of_limbs(vec![limb.clone()], set.degree(), cpu)?;
        Ok(Self { set, ring, limb })
    }

    /// The parameter set.
    pub fn set(&self) -> &'static TfheSet {
        self.set
    }
    /// Its ring, of one prime.
    pub fn ring(&self) -> &Ring {
        &self.ring
    }
    /// The prime with its loops.
    pub fn limb(&self) -> &RingLimb {
        &self.limb
    }
    /// The prime.
    pub fn modulus(&self) -> Modulus {
        self.limb.modulus()
    }
    /// The kernels that run.
    pub fn cpu(&self) -> Cpu {
        self.ring.cpu()
    }

    /// Messages from 0 on; 0 for a set of signs.
    pub fn message_count(&self) -> u64 {
        match self.set.messages() {
            Messages::Padded { bits } => 1 << bits,
            Messages::Signs => 0,
        }
    }

    /// A message as a residue: `m·q/2^(bits + 1)`, rounded.
    ///
    /// # Errors
    /// [`TfheError::Message`] for one beyond the set's.
    pub fn encode(&self, message: u64) -> Result<u64, TfheError> {
        let limit = self.message_count();
        if message >= limit {
            return Err(TfheError::Message { limit });
        }
        Ok(self.fraction(message, 2 * limit))
    }

    /// `numerator/denominator` of the modulus as a residue, rounded; the denominator is not 0.
    pub fn fraction(&self, numerator: u64, denominator: u64) -> u64 {
        let (numerator, denominator) = (u128::from(numerator), u128::from(denominator.max(1)));
        let scaled = numerator * u128::from(self.modulus().value());
        self.modulus().reduce_u128((scaled + denominator / 2) / denominator)
    }

    /// What `word` of a phase modulo `2^32` stands for: the nearest message, or `None` where that is none (the bit above messages is set).
    pub fn decode_small(&self, word: u32) -> Option<u64> {
        let limit = self.message_count();
        let steps = 2 * limit.max(1);
        let nearest = ((u64::from(word) * steps + (1 << 31)) >> 32) % steps;
        (nearest < limit).then_some(nearest)
    }
}
