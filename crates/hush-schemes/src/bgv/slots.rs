// SPDX-License-Identifier: Apache-2.0
//! Element-wise arithmetic on encrypted vectors: one value per slot, modulo several plaintext primes.
//!
//! # Math
//! For a prime `t ≡ 1 mod 2N` the ring `Z_t[X]/(X^N + 1)` is `N` copies of `Z_t`: an NTT modulo `t` leads there. Sums
//! and products of polynomials act on each slot by itself. A column uses primes `t_0, t_1, …` (its **lanes**), one
//! ciphertext each, and the owner puts residues together by the Chinese remainder theorem, so integers wider
//! than a prime work. Slots stand in the order of the NTT: nothing here rotates.
//!
//! # Noise
//! A fresh phase is at most `hush_params::noise::bgv_fresh_phase_log2`; sums add bounds, products multiply them
//! and the degree (`product_phase_log2`). One product of two ciphertexts is possible (three components).

use ethnum::I256;
use hush_arith::CrtBasis;
use hush_ring::{Cpu, Eval, Poly, Ring, RingLimb, UniformSeed};
use hush_rlwe::{Body, RlweCiphertext};

use crate::{SchemeError, Values};

/// Encodes and decodes vectors for a list of plaintext primes over one ring. Public tables; share it.
#[derive(Clone, Debug)]
pub struct SlotEncoder {
    ring: Ring,
    lanes: Vec<RingLimb>,
    basis: CrtBasis,
}

impl SlotEncoder {
    /// Tables for plaintext moduli `primes`, in lane order.
    ///
    /// # Errors
    /// [`SchemeError::PlaintextModulus`] for a modulus that is not a prime `≡ 1 mod 2N` within range, or that
    /// stands twice or divides the ciphertext modulus.
    pub fn new(ring: &Ring, primes: &[u64]) -> Result<Self, SchemeError> {
        let degree = ring.degree();
        let bad = |found: u64| SchemeError::PlaintextModulus { found, degree };
        let cpu: Cpu = ring.cpu();
        let lane = |&t: &u64| RingLimb::plaintext(degree, t, cpu).map_err(|_| bad(t));
        let lanes: Vec<RingLimb> = primes.iter().map(lane).collect::<Result<_, _>>()?;
        let divides = |lane: &&RingLimb| ring.limbs().iter().any(|limb| limb.modulus() == lane.modulus());
        if let Some(lane) = lanes.iter().find(divides) {
            return Err(bad(lane.modulus().value()));
        }
        let moduli: Vec<_> = lanes.iter().map(RingLimb::modulus).collect();
        let basis = CrtBasis::new(&moduli).map_err(|_| bad(primes.last().copied().unwrap_or(0)))?;
        Ok(Self { ring: ring.clone(), lanes, basis })
    }

    /// The ciphertext ring.
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// Number of plaintext primes.
    pub fn lane_count(&self) -> usize {
        self.lanes.len()
    }

    /// The plaintext primes.
    pub fn primes(&self) -> impl Iterator<Item = u64> + '_ {
        self.lanes.iter().map(|lane| lane.modulus().value())
    }

    /// Largest magnitude of a value that decodes to itself.
    pub fn max_abs(&self) -> I256 {
        self.basis.lift_limit()
    }

    /// The coefficients, signed and at most `t/2` in size, of the polynomial with these slots modulo prime
    /// `lane`. Missing slots are zero.
    ///
    /// # Timing
    /// Independent of the values.
    ///
    /// # Errors
    /// [`SchemeError::TooManyValues`] for more than `N`; [`SchemeError::PlaintextModulus`] if there is no such lane.
    pub fn coefficients(&self, lane: usize, values: Values<'_>) -> Result<Vec<i64>, SchemeError> {
        let degree = self.ring.degree();
        if values.len() > degree {
            return Err(SchemeError::TooManyValues { found: values.len(), max: degree });
        }
        let limb = self.lane(lane)?;
        let mut words = vec![0; degree];
        values.residues_into(limb, &mut words);
        limb.inverse(&mut words);
        let t = limb.modulus().value() as i64;
        // Canonical residues are below 2^47: the comparison becomes a mask.
        let centered = |word: u64| word as i64 - (t & -i64::from(word as i64 > t / 2));
        Ok(words.into_iter().map(centered).collect())
    }

    /// A clear vector, ready to be added to ciphertexts of one lane or multiplied with them.
    ///
    /// # Errors
    /// As [`SlotEncoder::coefficients`].
    pub fn encode_clear(&self, lane: usize, values: Values<'_>) -> Result<Poly<Eval>, SchemeError> {
        let coefficients = self.coefficients(lane, values)?;
        let degree = self.ring.degree();
        let mut words = vec![0; self.ring.poly_words()];
        for (limb, out) in self.ring.limbs().iter().zip(words.chunks_exact_mut(degree)) {
            limb.lift_signed(&coefficients, out);
            limb.forward(out);
        }
        Ok(Poly::from_words(&self.ring, words)?)
    }

    /// The slots modulo prime `lane` of a phase that has been lifted to integers.
    ///
    /// # Errors
    /// [`SchemeError::TooManyValues`] unless there are `N`; [`SchemeError::PlaintextModulus`] if there is no such lane.
    pub fn slots(&self, lane: usize, phase: &[I256]) -> Result<Vec<u64>, SchemeError> {
        let degree = self.ring.degree();
        if phase.len() != degree {
            return Err(SchemeError::TooManyValues { found: phase.len(), max: degree });
        }
        let limb = self.lane(lane)?;
        let mut words = vec![0; degree];
        Values::I256(phase).residues_into(limb, &mut words);
        limb.forward(&mut words);
        Ok(words)
    }

    /// The signed integers with these residues, lane after lane.
    ///
    /// # Ranges
    /// Exact for integers up to [`SlotEncoder::max_abs`] in size.
    ///
    /// # Errors
    /// [`SchemeError::TooManyValues`] if a lane is missing or too short.
    pub fn combine(&self, lanes: &[Vec<u64>]) -> Result<Vec<I256>, SchemeError> {
        let degree = self.ring.degree();
        if lanes.len() != self.lanes.len() || lanes.iter().any(|lane| lane.len() != degree) {
            return Err(SchemeError::TooManyValues { found: lanes.len(), max: self.lanes.len() });
        }
        let mut residues = vec![0; lanes.len()];
        let slot = |slot: usize| {
            for (residue, lane) in residues.iter_mut().zip(lanes) {
                *residue = lane[slot];
            }
            self.basis.lift_centered(&residues)
        };
        Ok((0..degree).map(slot).collect())
    }

    fn lane(&self, lane: usize) -> Result<&RingLimb, SchemeError> {
        let degree = self.ring.degree();
        self.lanes.get(lane).ok_or(SchemeError::PlaintextModulus { found: 0, degree })
    }
}

/// An encrypted vector: one ciphertext per lane. The operand of a server's slot expressions.
///
/// *Secrecy.* Public.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotCiphertext {
    lanes: Vec<RlweCiphertext>,
}

impl SlotCiphertext {
    /// Takes over one ciphertext per lane.
    pub fn new(lanes: Vec<RlweCiphertext>) -> Self {
        Self { lanes }
    }

    /// Ring element `element` of a stored slot column: masks from the seed, bodies as stored.
    ///
    /// # Errors
    /// [`SchemeError::Rlwe`] if the body belongs to another parameter set or has no such element.
    pub fn load(ring: &Ring, seed: UniformSeed, body: &Body<'_>, element: u32) -> Result<Self, SchemeError> {
        let lane = |lane: u8| RlweCiphertext::load(ring, seed, body, element, lane);
        Ok(Self { lanes: (0..body.id().lanes).map(lane).collect::<Result<_, _>>()? })
    }

    /// The ciphertexts, lane after lane.
    pub fn lanes(&self) -> &[RlweCiphertext] {
        &self.lanes
    }

    /// The ciphertexts, lane after lane.
    pub fn into_lanes(self) -> Vec<RlweCiphertext> {
        self.lanes
    }

    /// `self += other`, slot by slot.
    ///
    /// # Errors
    /// [`SchemeError`] if lanes or rings differ.
    pub fn add_assign(&mut self, other: &Self) -> Result<(), SchemeError> {
        self.check_lanes(other.lanes.len())?;
        let mut pairs = self.lanes.iter_mut().zip(&other.lanes);
        Ok(pairs.try_for_each(|(left, right)| left.add_assign(right))?)
    }

    /// `self −= other`, slot by slot.
    ///
    /// # Errors
    /// [`SchemeError`] if lanes or rings differ.
    pub fn sub_assign(&mut self, other: &Self) -> Result<(), SchemeError> {
        self.check_lanes(other.lanes.len())?;
        let mut pairs = self.lanes.iter_mut().zip(&other.lanes);
        Ok(pairs.try_for_each(|(left, right)| left.sub_assign(right))?)
    }

    /// `self = −self`.
    pub fn neg_assign(&mut self) {
        self.lanes.iter_mut().for_each(RlweCiphertext::neg_assign);
    }

    /// The product, slot by slot: three components, not relinearised.
    ///
    /// # Errors
    /// [`SchemeError::Rlwe`] if an operand is a product already; also if lanes or rings differ.
    pub fn mul(&self, other: &Self) -> Result<Self, SchemeError> {
        self.check_lanes(other.lanes.len())?;
        let products = self.lanes.iter().zip(&other.lanes).map(|(left, right)| left.mul(right));
        Ok(Self { lanes: products.collect::<Result<_, _>>()? })
    }

    /// Adds a clear vector.
    ///
    /// # Errors
    /// [`SchemeError`] if it is longer than the slots, or lanes or rings differ.
    pub fn add_clear_assign(&mut self, encoder: &SlotEncoder, values: Values<'_>) -> Result<(), SchemeError> {
        self.check_lanes(encoder.lane_count())?;
        for (lane, ciphertext) in self.lanes.iter_mut().enumerate() {
            ciphertext.add_clear_assign(&encoder.encode_clear(lane, values)?)?;
        }
        Ok(())
    }

    /// Multiplies by a clear vector, slot by slot; a vector of zeros and ones is a mask.
    ///
    /// # Errors
    /// [`SchemeError`] if it is longer than the slots, or lanes or rings differ.
    pub fn mul_clear_assign(&mut self, encoder: &SlotEncoder, values: Values<'_>) -> Result<(), SchemeError> {
        self.check_lanes(encoder.lane_count())?;
        for (lane, ciphertext) in self.lanes.iter_mut().enumerate() {
            ciphertext.mul_clear_assign(&encoder.encode_clear(lane, values)?)?;
        }
        Ok(())
    }

    /// Adds the same clear integer to every slot: the constant polynomial has this value everywhere.
    ///
    /// # Errors
    /// [`SchemeError`] if lanes or rings differ.
    pub fn add_integer_assign(&mut self, encoder: &SlotEncoder, integer: I256) -> Result<(), SchemeError> {
        self.check_lanes(encoder.lane_count())?;
        for (ciphertext, t) in self.lanes.iter_mut().zip(encoder.primes()) {
            let constant = Poly::from_signed(encoder.ring(), &[nearest_residue(integer, t)])?;
            ciphertext.add_clear_assign(&constant.into_eval())?;
        }
        Ok(())
    }

    /// Multiplies every slot by a clear integer. Its residue nearest to zero modulo each prime is what the
    /// noise grows by.
    ///
    /// # Errors
    /// [`SchemeError`] if lanes differ.
    pub fn mul_integer_assign(&mut self, encoder: &SlotEncoder, integer: I256) -> Result<(), SchemeError> {
        self.check_lanes(encoder.lane_count())?;
        for (ciphertext, t) in self.lanes.iter_mut().zip(encoder.primes()) {
            ciphertext.mul_integer_assign(nearest_residue(integer, t));
        }
        Ok(())
    }

    fn check_lanes(&self, found: usize) -> Result<(), SchemeError> {
        let max = self.lanes.len();
        if found == max { Ok(()) } else { Err(SchemeError::TooManyValues { found, max }) }
    }
}

/// The residue of a clear integer modulo `t` that is nearest to zero.
fn nearest_residue(integer: I256, t: u64) -> i128 {
    let t = I256::from(t);
    let residue = integer.rem_euclid(t);
    if residue > t / 2 { (residue - t).as_i128() } else { residue.as_i128() }
}

#[cfg(test)]
mod tests;
