// SPDX-License-Identifier: Apache-2.0
//! Approximate results that may leave their owner: phases with enough noise on them to drown the error of encryption.
//!
//! A decrypted approximate number is message and error together, and with the ciphertext a linear equation in the secret. Noise of
//! deviation `σ` hides the error; how large it must be, [`hush_params::noise::release`] says. The noise of a number follows from
//! the number's ciphertext and the owner's seed, so that releasing it again gives the same value and averaging gains nothing.
//!
//! # Timing
//! Independent of secrets, phases and noise.

mod table;

use ethnum::I256;
use hush_params::noise::release::MAX_LEVELS;
use hush_ring::{SecretRng, UniformSeed};
use hush_rlwe::{Body, RlweCiphertext, SumAnswer};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::decrypt::{Phases, StoredElements, phase, sum_phase};
use crate::{DecryptError, SecretKey};

use table::CUMULATIVE;

/// Identifies a released number: its ciphertext, its secret, and the amount of noise. Public.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NumberId([u8; 16]);

impl NumberId {
    /// Length in a ledger.
    pub const BYTES: usize = 16;

    /// The bytes, as a ledger keeps them.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        self.0
    }

    /// An id that a ledger has kept.
    pub fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }
}

/// Phases with noise: they may leave the owner once the ledger has counted `number`.
///
/// *Secrecy.* Public from then on.
#[derive(Clone, Debug)]
pub struct Flooded {
    /// The number under which the ledger counts it.
    pub number: NumberId,
    /// One phase of a sum, or the `N` of a ring element.
    pub phases: Vec<I256>,
}

/// The key from which the noise of one encryption's released numbers is derived.
///
/// *Secrecy.* Secret, wiped on drop, no `Debug`: its holder can take the noise off again.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct ReleaseKey(Box<[u8; 32]>);

impl ReleaseKey {
    pub(crate) fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(Box::new(bytes))
    }

    fn noise(&self, number: &[u8; 32]) -> SecretRng {
        let mut material = Zeroizing::new([0; 64]);
        material[..32].copy_from_slice(self.0.as_slice());
        material[32..].copy_from_slice(number);
        SecretRng::derive(CONTEXT_NOISE, material.as_slice())
    }
}

/// Adds noise of a fixed number of levels to decrypted phases of one table.
#[derive(Clone, Copy)]
pub struct Flood<'a> {
    key: &'a ReleaseKey,
    levels: u32,
}

impl<'a> Flood<'a> {
    /// Noise of `levels` levels, at most [`MAX_LEVELS`]; [`hush_params::noise::release::levels`] says how many are needed.
    ///
    /// # Panics
    /// For no levels, or more than [`MAX_LEVELS`]: numbers of the caller's own.
    pub fn new(key: &'a ReleaseKey, levels: u32) -> Self {
        assert!((1..=MAX_LEVELS).contains(&levels), "levels of noise");
        Self { key, levels }
    }

    /// The sum of column `body` of an answer.
    ///
    /// # Errors
    /// As [`crate::decrypt_approx_sum`].
    pub fn sum(&self, secret: &SecretKey, answer: &SumAnswer, body: usize) -> Result<Flooded, DecryptError> {
        let phase = sum_phase(secret, answer, body)?;
        let mask = answer.a.limbs().flat_map(|(_, words)| words);
        let words = mask.chain(answer.body(body).into_iter().flatten()).copied();
        Ok(self.flooded(secret, words, phase.into()))
    }

    /// The ring elements of a stored column in one chunk of `row_count` rows: each is one number, of `N` phases.
    ///
    /// # Errors
    /// As [`crate::decrypt_approx_sum_chunk`].
    pub fn chunk(
        &self,
        secret: &SecretKey,
        seed: UniformSeed,
        body: &Body<'_>,
        row_count: usize,
    ) -> Result<Vec<Flooded>, DecryptError> {
        let elements = StoredElements::new(secret, seed, body, row_count)?;
        let element = |index| {
            let stored = elements.read(index);
            Ok(self.flooded(secret, stored.words(), stored.phases()))
        };
        (0..elements.count()).map(element).collect()
    }

    /// The `N` phases of a ciphertext of slots: one number.
    ///
    /// # Errors
    /// As [`crate::decrypt_approx_slots`].
    pub fn element(&self, secret: &SecretKey, ciphertext: &RlweCiphertext) -> Result<Flooded, DecryptError> {
        let phases = phase(secret, ciphertext)?;
        let components = ciphertext.components().iter();
        let words = components.flat_map(|component| component.limbs()).flat_map(|(_, words)| words).copied();
        Ok(self.flooded(secret, words, phases))
    }

    fn flooded(&self, secret: &SecretKey, ciphertext: impl Iterator<Item = u64>, phases: Phases) -> Flooded {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.levels.to_le_bytes());
        hasher.update(&secret.ring().param_code().to_le_bytes());
        hasher.update(&secret.label());
        let mut block = Vec::with_capacity(HASHED_WORDS * 8);
        for word in ciphertext {
            block.extend_from_slice(&word.to_le_bytes());
            if block.len() == block.capacity() {
                hasher.update(&block);
                block.clear();
            }
        }
        hasher.update(&block);
        let digest = hasher.finalize();
        let mut noise = self.key.noise(digest.as_bytes());
        let phases = phases.flooded(|phases| add_noise(&mut noise, self.levels, phases));
        let mut number = [0; NumberId::BYTES];
        number.copy_from_slice(&digest.as_bytes()[..NumberId::BYTES]);
        Flooded { number: NumberId(number), phases }
    }
}

impl std::fmt::Debug for Flood<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Flood(.., {} levels)", self.levels)
    }
}

const CONTEXT_NOISE: &str = "hushtable v2 noise of a released number";
/// Words that are hashed at a time.
const HASHED_WORDS: usize = 1024;

/// Random bytes of one level: a uniform 128-bit number, and one for the sign.
const LEVEL_BYTES: usize = 17;

/// Adds a discrete Gaussian of `levels` levels to each phase: `Σ 2^i·x_i`, below `2^117` in absolute value.
fn add_noise(rng: &mut SecretRng, levels: u32, phases: &mut [I256]) {
    let mut random = Zeroizing::new(vec![0_u8; LEVEL_BYTES * levels as usize]);
    for phase in phases {
        rng.fill(&mut random);
        let noise = random
            .as_chunks::<LEVEL_BYTES>()
            .0
            .iter()
            .rev()
            .fold(0_i128, |noise, bytes| (noise << 1) + i128::from(small_gaussian(bytes)));
        *phase += I256::from(noise);
    }
}

/// A discrete Gaussian of deviation 5: how many entries of the table a uniform number reaches, with a random sign.
///
/// All entries are compared, whatever the number is.
fn small_gaussian(random: &[u8; LEVEL_BYTES]) -> i64 {
    let [number @ .., sign] = random;
    let number = u128::from_le_bytes(*number);
    let size = CUMULATIVE.iter().map(|&entry| 1 - i64::from(number.overflowing_sub(entry).1)).sum::<i64>();
    let sign = -i64::from(sign & 1);
    (size ^ sign) - sign
}

#[cfg(test)]
mod tests;
