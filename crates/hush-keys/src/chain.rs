// SPDX-License-Identifier: Apache-2.0
//! Secrets over a modulus chain: evaluation keys, public keys, encryption and decryption.
//!
//! Messages come as polynomials, encoded by a scheme; what they mean is the scheme's business. Errors are multiplied by
//! the chain's unit (the plaintext modulus in BGV, 1 in BFV and CKKS).
//!
//! # Timing
//! Independent of secrets, errors and messages.

use std::collections::BTreeMap;

use hush_params::bootstrap::SPARSE_WEIGHT;
use hush_ring::{
    Chain, Coeff, ERROR_BYTES, Eval, ExpandLabel, Level, Poly, RandomnessError, Ring, RingError, RingLimb,
    SecretRng, TERNARY_BYTES, UniformSeed, Wiped, Words, sample_errors, sample_ternary, wiping_stack,
};
use hush_rlwe::{
    EncapsulationKeys, EvaluationKeys, KeySwitchKey, PublicKey, RlweCiphertext, SeededCiphertext,
    inverse_element,
};
use zeroize::{Zeroize, Zeroizing};

use crate::{DecryptError, EncryptError, SecretKey};

/// An RLWE secret over every prime of a chain.
///
/// *Secrecy.* Secret, as [`SecretKey`].
pub struct ChainSecret {
    chain: Chain,
    secret: SecretKey,
}

impl ChainSecret {
    /// A secret of the operating system's entropy, for keys that live as long as the process.
    ///
    /// # Errors
    /// [`RandomnessError`] if there is none.
    pub fn generate(chain: &Chain) -> Result<Self, RandomnessError> {
        Ok(Self::sample(chain, [0; 16], &mut SecretRng::from_os()?))
    }

    pub(crate) fn sample(chain: &Chain, id: [u8; 16], rng: &mut SecretRng) -> Self {
        Self { chain: chain.clone(), secret: SecretKey::sample(chain.key_ring(), id, rng) }
    }

    /// The secret of a table's stored columns, over the chain whose keys go with their ring: the same polynomial over every prime of the chain. That
    /// the parameter set counts the chain's special primes ([`hush_params::ParamSet::special`]) is for the caller to see to.
    ///
    /// # Errors
    /// [`RingError::RingMismatch`] unless both have one degree.
    pub fn of(secret: &SecretKey, chain: &Chain) -> Result<Self, RingError> {
        Ok(Self { chain: chain.clone(), secret: secret.over(chain.key_ring())? })
    }

    /// `N` coefficients in `{−1, 0, 1}`.
    pub(crate) fn small(&self) -> &[i8] {
        self.secret.small()
    }

    /// The chain.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// The evaluation keys of a plan: relinearisation if asked for, and one for each Galois element.
    ///
    /// # Cost
    /// For each key `digits·primes` NTTs and as many expanded masks.
    ///
    /// # Errors
    /// [`EncryptError::Randomness`]; [`EncryptError::Rlwe`] if the chain has no special primes or an element does not exist.
    pub fn evaluation_keys(
        &self,
        relinearisation: bool,
        elements: &[usize],
    ) -> Result<EvaluationKeys, EncryptError> {
        let mut keys = EvaluationKeys::new();
        if relinearisation {
            keys.insert(self.relinearisation_key()?);
        }
        for &element in elements.iter().filter(|&&element| element != 1) {
            keys.insert(self.galois_key(element)?);
        }
        Ok(keys)
    }

    /// Evaluation keys that serve lower levels alone: for each Galois element, 0 for relinearisation, the highest level.
    ///
    /// # Errors
    /// As [`ChainSecret::evaluation_keys`].
    pub fn evaluation_keys_up_to(
        &self,
        levels: &BTreeMap<usize, Level>,
    ) -> Result<EvaluationKeys, EncryptError> {
        let mut keys = EvaluationKeys::new();
        for (&element, &level) in levels.iter().filter(|(element, _)| **element != 1) {
            keys.insert(match element {
                0 => self.relinearisation_key_up_to(level)?,
                _ => self.galois_key_up_to(element, level)?,
            });
        }
        Ok(keys)
    }

    /// The key from `s²` to `s`.
    ///
    /// # Errors
    /// As [`ChainSecret::evaluation_keys`].
    pub fn relinearisation_key(&self) -> Result<KeySwitchKey, EncryptError> {
        self.relinearisation_key_up_to(self.chain.top())
    }

    /// [`ChainSecret::relinearisation_key`] for ciphertexts at `level` and below.
    ///
    /// # Errors
    /// As there; [`EncryptError::Rlwe`] if there is no such level.
    pub fn relinearisation_key_up_to(&self, level: Level) -> Result<KeySwitchKey, EncryptError> {
        let (mut own, mut square) = (self.eval(), self.eval());
        square.mul_assign(&own)?;
        let key = switching_key(&self.chain, (0, level), &own, &square);
        square.zeroize();
        own.zeroize();
        key
    }

    /// The key for `τ: X ↦ X^element`, from `s` to `τ⁻¹(s)`: the permutation follows the switch.
    ///
    /// # Errors
    /// As [`ChainSecret::evaluation_keys`].
    pub fn galois_key(&self, element: usize) -> Result<KeySwitchKey, EncryptError> {
        self.galois_key_up_to(element, self.chain.top())
    }

    /// [`ChainSecret::galois_key`] for ciphertexts at `level` and below.
    ///
    /// # Errors
    /// As there; [`EncryptError::Rlwe`] if there is no such level.
    pub fn galois_key_up_to(&self, element: usize, level: Level) -> Result<KeySwitchKey, EncryptError> {
        self.chain.automorphism(element)?;
        let inverse = inverse_element(self.chain.degree(), element);
        let mut source = self.eval();
        let mut target = self.chain.automorphism(inverse)?.apply(&source)?;
        let key = switching_key(&self.chain, (element as u32, level), &target, &source);
        source.zeroize();
        target.zeroize();
        key
    }

    /// The keys with which the modulus of ciphertexts is raised: to an ephemeral sparse secret, and back. That secret is forgotten.
    ///
    /// # Security
    /// The key to the sparse secret is what an attack on that secret has. It is modulo level 0 and one special prime, [`hush_params::ChainParams::sparse_chain`], and nothing
    /// makes one at a larger modulus.
    ///
    /// # Errors
    /// [`EncryptError::Chain`] where no estimate covers the sparse secret; [`EncryptError::Randomness`].
    pub fn encapsulation_keys(&self) -> Result<EncapsulationKeys, EncryptError> {
        let chain = Chain::new(&self.chain.params().sparse_chain()?, self.chain.unit(), self.chain.cpu())?;
        let ring = chain.key_ring();
        let mut rng = SecretRng::from_os()?;
        let small = Self { secret: self.secret.over(ring)?, chain: chain.clone() };
        let sample = || SecretKey::sample_sparse(ring, SPARSE_WEIGHT, &mut rng);
        let sparse_small = Self { secret: wiping_stack(sample), chain };
        let secret = sparse_small.secret.over(self.chain.key_ring())?;
        let sparse = Self { secret, chain: self.chain.clone() };
        let to_sparse = between(&small, &sparse_small, Level(0))?;
        let to_dense = between(&sparse, self, self.chain.top())?;
        Ok(EncapsulationKeys::new(to_sparse, to_dense)?)
    }

    /// The public key.
    ///
    /// # Errors
    /// [`EncryptError::Randomness`].
    pub fn public_key(&self) -> Result<PublicKey, EncryptError> {
        let ring = self.chain.ring(self.chain.top())?;
        let seed = UniformSeed::generate()?;
        let body = self.masked(Poly::zero(ring), seed, ExpandLabel::public_key())?;
        Ok(PublicKey::new(&self.chain, seed, body)?)
    }

    /// Encrypts an encoded message, under a fresh seed.
    ///
    /// # Cost
    /// One NTT and one expanded mask for each limb.
    ///
    /// # Memory
    /// The message's `L` rows of `N` words and 3 more; another `L` for the mask of an expanded ciphertext.
    ///
    /// # Errors
    /// [`EncryptError::Randomness`]; [`EncryptError::Ring`] unless the message is over a level of the chain.
    pub fn encrypt(&self, message: Poly<Coeff>) -> Result<SeededCiphertext, EncryptError> {
        let seed = UniformSeed::generate()?;
        Ok(SeededCiphertext::new(seed, self.masked(message, seed, ExpandLabel::ciphertext())?))
    }

    /// The phase `c_0 + c_1·s + …`, which wipes itself.
    ///
    /// # Cost
    /// One product and one inverse NTT for each limb.
    ///
    /// # Memory
    /// `L + 1` rows of `N` words, the result included.
    ///
    /// # Errors
    /// [`DecryptError::Ring`] if the ciphertext is of another chain.
    pub fn phase(&self, ciphertext: &RlweCiphertext) -> Result<Phase, DecryptError> {
        let level = self.chain.level_of(ciphertext.ring())?;
        let (ring, places) = (ciphertext.ring(), self.chain.level(level)?.places());
        let mut phase = Phase(Poly::recycled(ring));
        let degree = ring.degree();
        hush_ring::parallel::for_each_row(phase.0.words_mut(), degree, |index, row| {
            let (limb, secret) = (&ring.limbs()[index], self.secret.eval_limb(places[index]));
            match ciphertext.components() {
                [body, mask] => {
                    row.copy_from_slice(body.limb(index));
                    limb.mul_add_assign(row, mask.limb(index), secret);
                }
                components => {
                    row.fill(0);
                    for component in components.iter().rev() {
                        // Horner: row ← component + row·s.
                        limb.mul_assign(row, secret);
                        limb.add_assign(row, component.limb(index));
                    }
                }
            }
            limb.inverse(row);
        });
        Ok(phase)
    }

    /// The secret over the key ring.
    fn eval(&self) -> Poly<Eval> {
        let mut poly = Poly::recycled(self.chain.key_ring());
        for limb in 0..self.chain.key_ring().limb_count() {
            poly.limb_mut(limb).copy_from_slice(self.secret.eval_limb(limb));
        }
        poly
    }

    /// `message + u·e − a·s`, with fresh errors and the mask `a` that belongs to a seed.
    fn masked(
        &self,
        message: Poly<Coeff>,
        seed: UniformSeed,
        label: ExpandLabel,
    ) -> Result<Poly<Eval>, EncryptError> {
        let ring = message.ring().clone();
        let places = self.chain.level(self.chain.level_of(&ring)?)?.places();
        let errors = Small::errors(&ring, &mut SecretRng::from_os()?);
        let unit = self.chain.unit();
        let add_error = |index: usize, row: &mut [u64]| errors.add_to(&ring.limbs()[index], unit, row);
        let subtract_product = |index: usize, row: &mut [u64]| {
            let limb = &ring.limbs()[index];
            let mut mask = Zeroizing::new(Words::recycled(row.len()));
            seed.expand_limb(&ring, label, index, &mut mask);
            limb.mul_assign(&mut mask, self.secret.eval_limb(places[index]));
            limb.sub_assign(row, &mask);
        };
        Ok(message.into_eval_with(add_error, subtract_product))
    }
}

/// The key from one secret to another of the same chain.
fn between(source: &ChainSecret, target: &ChainSecret, level: Level) -> Result<KeySwitchKey, EncryptError> {
    let (mut from, mut to) = (source.eval(), target.eval());
    let key = switching_key(&target.chain, (0, level), &to, &from);
    from.zeroize();
    to.zeroize();
    key
}

/// The key from `source` to `target`, both over the chain's key ring, for a Galois element and for ciphertexts at a level and below.
fn switching_key(
    chain: &Chain,
    (element, level): (u32, Level),
    target: &Poly<Eval>,
    source: &Poly<Eval>,
) -> Result<KeySwitchKey, EncryptError> {
    let (ring, params) = (chain.key_ring(), chain.params());
    let mut rng = SecretRng::from_os()?;
    let mut key = KeySwitchKey::with_masks_up_to(chain, level, UniformSeed::generate()?, element)?;
    let mut row = Words::recycled(ring.degree());
    for digit in 0..key.digit_count() {
        let errors = Small::errors(ring, &mut rng);
        for index in key.primes() {
            let limb = &ring.limbs()[index];
            let (body, mask) = key.body_and_mask(digit, index);
            body.fill(0);
            errors.add_to(limb, chain.unit(), body);
            limb.forward(body);
            limb.mul_into(&mut row, mask, target.limb(index));
            limb.sub_assign(body, &row);
            if index < params.universe().len() && index / params.digit_limbs() == digit {
                limb.mul_scalar_add_assign(body, source.limb(index), special_product(chain, limb));
            }
        }
    }
    row.zeroize();
    Ok(key)
}

/// `P` modulo a prime.
fn special_product(chain: &Chain, limb: &RingLimb) -> u64 {
    let q = limb.modulus();
    let specials = chain.special().iter();
    specials.fold(q.reduce_u64(1), |p, special| q.mul(p, q.reduce_u64(special.modulus().value())))
}

impl std::fmt::Debug for ChainSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ChainSecret(.., {:?})", self.chain)
    }
}

/// Encrypts an encoded message for the holder of a public key's secret.
///
/// # Math
/// `(b·v + u·e_0 + m, a·v + u·e_1)` with `v` uniform ternary: larger than a symmetric ciphertext, which has a seed in place
/// of its mask, and with more noise (see [`hush_params::noise::public_encryption_log2`]).
///
/// # Errors
/// [`EncryptError::Randomness`]; [`EncryptError::Ring`] unless the message is over the top level of the key's chain.
pub fn encrypt_public(key: &PublicKey, message: Poly<Coeff>) -> Result<RlweCiphertext, EncryptError> {
    let ring = key.body().ring().clone();
    let mut rng = SecretRng::from_os()?;
    let ephemeral = Small::ternary(&ring, &mut rng);
    let errors = [Small::errors(&ring, &mut rng), Small::errors(&ring, &mut rng)];
    let (limbs, unit) = (ring.limbs(), key.chain().unit());
    let add_errors = |index: usize, rows: [&mut [u64]; 2]| {
        rows.into_iter().zip(&errors).for_each(|(row, errors)| errors.add_to(&limbs[index], unit, row));
    };
    // `v` modulo one prime at a time: all of it would leave the nearest cache twice.
    let add_products = |index: usize, [body, mask]: [&mut [u64]; 2]| {
        let limb = &limbs[index];
        let mut product = Zeroizing::new(Words::recycled(body.len()));
        product.fill(0);
        ephemeral.add_to(limb, 1, &mut product);
        limb.forward(&mut product);
        limb.mul_add_assign(body, key.body().limb(index), &product);
        limb.mul_add_assign(mask, key.mask().limb(index), &product);
    };
    let pair = Poly::pair_into_eval_with(message, Poly::zero(&ring), add_errors, add_products)?;
    Ok(RlweCiphertext::new(pair.into())?)
}

/// The coefficients of a decrypted phase: message and error together.
///
/// *Secrecy.* Secret: with the ciphertext it is a linear equation in the key. Wiped on drop; neither `Clone` nor `Debug`.
pub struct Phase(Poly<Coeff>);

impl Phase {
    /// The polynomial, for a scheme to decode.
    pub fn poly(&self) -> &Poly<Coeff> {
        &self.0
    }
}

impl Drop for Phase {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// Small secret coefficients of one ciphertext.
pub(crate) struct Small(Wiped<i32>);

impl Small {
    /// Errors.
    pub(crate) fn errors(ring: &Ring, rng: &mut SecretRng) -> Self {
        let mut random = Wiped::zeroed(ERROR_BYTES * ring.degree());
        rng.fill(&mut random);
        let mut errors = Wiped::zeroed(ring.degree());
        sample_errors(ring.cpu(), &random, &mut errors);
        Self(errors)
    }

    /// Uniform ones from `{−1, 0, 1}`.
    fn ternary(ring: &Ring, rng: &mut SecretRng) -> Self {
        let mut random = Wiped::zeroed(TERNARY_BYTES * ring.degree());
        rng.fill(&mut random);
        let mut ternary = Wiped::<i8>::zeroed(ring.degree());
        sample_ternary(ring.cpu(), &random, &mut ternary);
        let mut wide = Wiped::zeroed(ring.degree());
        wide.iter_mut().zip(ternary.iter()).for_each(|(wide, &v)| *wide = i32::from(v));
        Self(wide)
    }

    /// `row ← row + u·e`.
    pub(crate) fn add_to(&self, limb: &RingLimb, unit: u64, row: &mut [u64]) {
        limb.add_scaled_error(row, &self.0, limb.modulus().reduce_u64(unit));
    }
}

#[cfg(test)]
mod tests;
