// SPDX-License-Identifier: Apache-2.0
//! The bytes that define a chain: what its fingerprint is the hash of, and what a file has of a chain that is no preset.

use super::{ChainError, ChainParams, ChainSpec};
use crate::Fingerprint;

/// Largest definition in bytes: far above any secure chain's.
pub const MAX_DEFINITION_BYTES: usize = 1 << 17;

impl ChainParams {
    /// The one encoding of these parameters: what their fingerprint is the hash of, and what a file stores that defines a
    /// chain of its own.
    ///
    /// # Layout
    /// Little-endian: 16 bytes `hush chain v1` padded with zeros; `N` (4); 1 for a toy, else 0 (1); primes per digit (1);
    /// counts of ciphertext primes, special primes and levels (2 each); the primes (8 each); for each level from 0 up the number
    /// of its primes (1) and their places (1 each).
    pub fn canonical_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&self.degree.to_le_bytes());
        // No more than 256 places exist, and a digit is no longer than the universe.
        bytes.extend_from_slice(&[u8::from(self.is_insecure_toy), self.digit_limbs as u8]);
        for count in [self.universe.len(), self.special.len(), self.levels.len()] {
            bytes.extend_from_slice(&(count as u16).to_le_bytes());
        }
        self.universe.iter().chain(&self.special).for_each(|q| bytes.extend_from_slice(&q.to_le_bytes()));
        for places in &self.levels {
            bytes.push(places.len() as u8);
            bytes.extend_from_slice(places);
        }
        bytes
    }

    /// What identifies the chain, whether or not it has a name.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.canonical_bytes())
    }

    /// Reads a definition that a file brings, and checks it as [`ChainParams::new`] does: well-formed, within the security table at
    /// 128 bits. One chain has one definition: what is read has these very bytes.
    ///
    /// # Cost
    /// Nothing is allocated before the number of bytes has been compared with [`MAX_DEFINITION_BYTES`] and with the counts.
    ///
    /// # Errors
    /// A [`DefinitionFault`].
    pub fn from_canonical_bytes(bytes: &[u8]) -> Result<Self, DefinitionFault> {
        let form = DefinitionFault::Form { found: bytes.len() };
        if bytes.len() > MAX_DEFINITION_BYTES {
            return Err(form);
        }
        let (spec, is_insecure_toy) = read(bytes).ok_or(form)?;
        if is_insecure_toy {
            return Err(DefinitionFault::InsecureToy);
        }
        Ok(Self::new(spec)?)
    }
}

/// Takes a definition apart; `None` if it is too short, too long or begins otherwise.
fn read(bytes: &[u8]) -> Option<(ChainSpec, bool)> {
    let mut rest = Rest(bytes);
    if rest.take::<16>()? != *MAGIC {
        return None;
    }
    let degree = u32::from_le_bytes(rest.take()?);
    let [toy, digit_limbs] = rest.take()?;
    let mut count = || Some(usize::from(u16::from_le_bytes(rest.take()?)));
    let (universe_count, special_count, level_count) = (count()?, count()?, count()?);
    let places_bytes = rest.0.len().checked_sub(8 * (universe_count + special_count))?;
    if toy > 1 || level_count > places_bytes {
        return None;
    }
    let mut primes =
        |count: usize| (0..count).map(|_| rest.take().map(u64::from_le_bytes)).collect::<Option<Vec<_>>>();
    let (universe, special) = (primes(universe_count)?, primes(special_count)?);
    let level = |_| {
        let [count] = rest.take()?;
        rest.take_slice(usize::from(count)).map(<[u8]>::to_vec)
    };
    let levels = (0..level_count).map(level).collect::<Option<_>>()?;
    let spec = ChainSpec { degree, universe, special, levels, digit_limbs: usize::from(digit_limbs) };
    rest.0.is_empty().then_some((spec, toy == 1))
}

/// What has not been read yet.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take<const BYTES: usize>(&mut self) -> Option<[u8; BYTES]> {
        let (field, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*field)
    }

    fn take_slice(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (slice, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(slice)
    }
}

/// Why the bytes of a definition are refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DefinitionFault {
    /// The numbers are there and make no secure chain.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// Not the bytes of a definition: another beginning, too few or too many bytes.
    #[error("{found} bytes that are not the definition of a modulus chain")]
    Form {
        /// Bytes found.
        found: usize,
    },
    /// Made for tests.
    #[error("a chain that is insecure by construction")]
    InsecureToy,
}

const MAGIC: &[u8; 16] = b"hush chain v1\0\0\0";
