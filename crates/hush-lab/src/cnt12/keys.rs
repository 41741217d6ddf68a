// SPDX-License-Identifier: Apache-2.0
//! What key generation makes.

use hush_kernels::Cpu;
use num_bigint::{BigInt, BigUint};
use num_integer::Integer;

use super::{
    Cnt12Error, InsecureCnt12Ciphertext, InsecureCnt12Parameters, InsecureCnt12Random, random::Expansion,
};
use crate::integer::{modulus::LongModulus, remainder::ShortModulus, words};

/// The prime `p` and the squashed key.
///
/// *Secrecy.* Secret, as far as anything here is; `Debug` prints the parameters alone.
#[derive(Clone)]
pub struct InsecureCnt12SecretKey {
    pub(crate) parameters: InsecureCnt12Parameters,
    pub(crate) prime: ShortModulus,
    /// The place of the one in each box, counted from the start of all boxes; the first is 0.
    pub(crate) ones: Vec<usize>,
}

/// What evaluates and encrypts.
///
/// # Memory
/// The stored size of [`InsecureCnt12Parameters::public_key_bytes`], and the tables that products modulo `x_0` need: 0.6, 3,
/// 20 and 160 MB for the named sets. No long integer of the seeds is kept.
#[derive(Clone)]
pub struct InsecureCnt12PublicKey {
    pub(crate) parameters: InsecureCnt12Parameters,
    pub(crate) cpu: Cpu,
    /// `x_0`.
    pub(crate) modulus: LongModulus,
    /// Of the `χ_i`: those of the zeros, then those of the key bits.
    pub(crate) masks: Expansion,
    /// `δ_i` with `x_i = χ_i + δ_i` an encryption of zero, for `i < τ`.
    pub(crate) zeros: Vec<Vec<u64>>,
    /// The same for encryptions of the squashed key, for `τ ≤ i < τ + Θ`.
    pub(crate) secret_bits: Vec<Vec<u64>>,
    /// Of the `y_i` from `y_1` on.
    pub(crate) multiples: Expansion,
    /// `y_0`.
    pub(crate) first_multiple: Vec<u64>,
}

impl InsecureCnt12SecretKey {
    /// The parameters.
    pub fn parameters(&self) -> &InsecureCnt12Parameters {
        &self.parameters
    }

    /// The bit: `(c mods p) mod 2`, the remainder taken next to zero.
    ///
    /// # Cost
    /// `γ·η/64²` word products: 2 million in the medium set.
    ///
    /// # Errors
    /// [`Cnt12Error::CiphertextSize`].
    pub fn decrypt(&self, ct: &InsecureCnt12Ciphertext) -> Result<bool, Cnt12Error> {
        Ok(self.centered(ct)?.is_odd())
    }

    /// The bits of the noise `|2r + m|`: 0 for none at all. Decryption is right while they are at most `η − 2`, unless the
    /// noise has wrapped around `p` already, which this cannot see.
    ///
    /// # Errors
    /// [`Cnt12Error::CiphertextSize`].
    pub fn noise_bits(&self, ct: &InsecureCnt12Ciphertext) -> Result<u64, Cnt12Error> {
        Ok(self.centered(ct)?.bits())
    }

    /// A ciphertext with the noise of the public key, `ρ + 1` bits; only the owner can make one.
    ///
    /// # Errors
    /// [`Cnt12Error::CiphertextSize`] if the public key belongs to other parameters.
    pub fn encrypt(
        &self,
        pk: &InsecureCnt12PublicKey,
        bit: bool,
        random: &mut InsecureCnt12Random,
    ) -> Result<InsecureCnt12Ciphertext, Cnt12Error> {
        let mut mask = vec![0; pk.modulus.word_count()];
        random.fill(&mut mask);
        pk.modulus.normalize(&mut mask);
        self.check(&mask)?;
        let p = self.prime.value();
        let correction = correction(p, &self.prime.remainder(&mask), self.noise(bit, random));
        let words = words::from_big(&correction, mask.len());
        Ok(InsecureCnt12Ciphertext { words: pk.modulus.add(&mask, &words) })
    }

    /// `2r + m` with `|r| < 2^ρ`.
    pub(crate) fn noise(&self, bit: bool, random: &mut InsecureCnt12Random) -> BigInt {
        signed_noise(self.parameters.literal().noise_bits, bit, random)
    }

    fn centered(&self, ct: &InsecureCnt12Ciphertext) -> Result<BigInt, Cnt12Error> {
        self.check(&ct.words)?;
        let p = self.prime.value();
        let rest = self.prime.remainder(&ct.words);
        let twice = &rest << 1u8;
        Ok(if twice > *p { BigInt::from(rest) - BigInt::from(p.clone()) } else { rest.into() })
    }

    fn check(&self, words: &[u64]) -> Result<(), Cnt12Error> {
        let expected = self.parameters.word_count();
        match words.len() == expected {
            true => Ok(()),
            false => Err(Cnt12Error::CiphertextSize { found: words.len(), expected }),
        }
    }
}

/// `2r + m` for a random `|r| < 2^bits`. **Twice** the noise, so that the bit stays: the program that the comparison of 2013 ran added
/// `r` alone in encryptions with the public key, which made the plaintext random.
pub(crate) fn signed_noise(bits: u64, bit: bool, random: &mut InsecureCnt12Random) -> BigInt {
    let sign = random.bits(1)[0];
    let magnitude = BigInt::from(words::to_big(&random.bits(bits)));
    let r = if sign == 1 { -magnitude } else { magnitude };
    (r << 1u8) + i32::from(bit)
}

/// The smallest `δ ≥ 0` with `mask + δ = noise` modulo `p`, given the mask modulo `p`.
pub(crate) fn correction(p: &BigUint, mask: &BigUint, noise: BigInt) -> BigUint {
    let difference = noise - BigInt::from(mask.clone());
    difference.mod_floor(&BigInt::from(p.clone())).magnitude().clone()
}

impl InsecureCnt12PublicKey {
    /// The parameters.
    pub fn parameters(&self) -> &InsecureCnt12Parameters {
        &self.parameters
    }

    /// Refuses ciphertexts of other parameters.
    pub(crate) fn check(&self, ct: &InsecureCnt12Ciphertext) -> Result<(), Cnt12Error> {
        let expected = self.modulus.word_count();
        match ct.words.len() == expected {
            true => Ok(()),
            false => Err(Cnt12Error::CiphertextSize { found: ct.words.len(), expected }),
        }
    }
}

impl std::fmt::Debug for InsecureCnt12SecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InsecureCnt12SecretKey").field("parameters", &self.parameters).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for InsecureCnt12PublicKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InsecureCnt12PublicKey").field("parameters", &self.parameters).finish_non_exhaustive()
    }
}
