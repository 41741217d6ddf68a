// SPDX-License-Identifier: Apache-2.0
//! Evaluation keys that may serve lower levels alone, each with its highest level.
//!
//! # Payload
//! Relinearisation (element 0) first, then by rising Galois element: for each key its element (4 bytes), its level (1 byte), its seed
//! (32 bytes), and digit after digit the body over the primes of the key ring that a key of this level has: the first of the
//! ciphertext primes, then the special ones.

use std::collections::BTreeMap;

use hush_params::size::{self, ELEMENT_BYTES, LEVEL_BYTES, SEED_BYTES, leveled_key_bytes};
use hush_ring::{Chain, Level, UniformSeed};

use super::ciphertexts::payload_of;
use super::keys::{append_bodies, check_element, read_key};
use super::{Payload, chain_header};
use crate::header::{self, CHAIN_OVERHEAD_BYTES, Header};
use crate::{CodecError, EvaluationKeys, KeySwitchKey, ObjectKind, RlweError};

impl EvaluationKeys {
    /// The binary object of keys that may serve lower levels alone: only the keys that are there, each with its highest level. The
    /// identity, element 1, needs no key, and none is written.
    ///
    /// # Cost
    /// One packing of the bodies, into an object of [`leveled_keys_bytes`]: some third of [`EvaluationKeys::memory_bytes`].
    ///
    /// # Errors
    /// [`CodecError::Object`] if a key is of another chain, or for an element that does not exist.
    pub fn encode_up_to(&self, chain: &Chain) -> Result<Vec<u8>, CodecError> {
        let keys = || self.iter().filter(|key| key.element() != IDENTITY);
        if keys().any(|key| key.chain() != chain) {
            return Err(RlweError::ChainMismatch.into());
        }
        let places = places(chain, keys().map(|key| (key.element() as usize, key.level())))?;
        let mut bytes = leveled_header(chain, &places)?.begin()?;
        for key in keys() {
            append_key(&mut bytes, key);
        }
        header::seal(&mut bytes);
        Ok(bytes)
    }
}

fn append_key(bytes: &mut Vec<u8>, key: &KeySwitchKey) {
    bytes.extend_from_slice(&key.element().to_le_bytes());
    bytes.push(key.level().0);
    bytes.extend_from_slice(&key.seed().to_bytes());
    append_bodies(bytes, key);
}

/// Bytes of [`EvaluationKeys::encode_up_to`]'s object, for keys with these highest levels.
///
/// # Errors
/// [`CodecError::Object`] for an element or a level that does not exist; [`CodecError::Length`] beyond what a computer can address.
pub fn leveled_keys_bytes(chain: &Chain, levels: &BTreeMap<usize, Level>) -> Result<usize, CodecError> {
    let places = places(chain, levels.iter().map(|(&element, &level)| (element, level)))?;
    Ok(leveled_payload_bytes(chain, &places)? + CHAIN_OVERHEAD_BYTES)
}

/// Bytes that decoded as evaluation keys with levels; not yet compared with the keys that a program needs.
#[derive(Clone, Copy, Debug)]
pub struct UncheckedLeveledKeys<'a> {
    header: Header,
    payload: &'a [u8],
}

impl<'a> UncheckedLeveledKeys<'a> {
    /// Checks lengths, header and checksum; allocates nothing, and copies nothing.
    ///
    /// # Errors
    /// A [`CodecError`] that names the first thing wrong.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, CodecError> {
        let (header, payload) = Header::decode(bytes)?;
        Ok(Self { header, payload })
    }

    /// Checks that these are the keys for exactly these Galois elements (0 for relinearisation; 1, the identity, is passed over),
    /// each with exactly this highest level, and every residue.
    ///
    /// # Cost
    /// The masks are expanded: some three times the object's size in memory. One key is made after the other.
    ///
    /// # Errors
    /// A [`CodecError`] that names the difference; [`CodecError::Object`] for an element or a level that does not exist, or a chain
    /// without special primes.
    pub fn conform(
        self,
        chain: &Chain,
        levels: &BTreeMap<usize, Level>,
    ) -> Result<EvaluationKeys, CodecError> {
        let places = places(chain, levels.iter().map(|(&element, &level)| (element, level)))?;
        let expected = leveled_header(chain, &places)?;
        let payload_bytes = self.header.payload_bytes;
        self.header.expect(&Header { payload_bytes, ..expected })?;
        // Before the length: that a key serves another level says more than another number of bytes.
        self.check_places(chain, &places)?;
        self.header.expect(&expected)?;
        let (mut payload, mut keys) = (Payload(self.payload), EvaluationKeys::new());
        for (index, &place) in places.iter().enumerate() {
            payload.take(PLACE_BYTES)?;
            let seed = UniformSeed::from_bytes(payload.take_chunk::<SEED_BYTES>()?);
            keys.insert(read_key(chain, place, seed, index as u32, &mut payload)?);
        }
        Ok(keys)
    }

    /// Compares element and level of every key that is there.
    fn check_places(&self, chain: &Chain, places: &[(u32, Level)]) -> Result<(), CodecError> {
        let mut rest = self.payload;
        for &(element, level) in places {
            let Some(([a, b, c, d, found_level], _)) = rest.split_first_chunk::<PLACE_BYTES>() else {
                break;
            };
            let found = u32::from_le_bytes([*a, *b, *c, *d]);
            if found != element {
                return Err(CodecError::GaloisElement { found, expected: element });
            }
            let found = Level(*found_level);
            if found != level {
                return Err(CodecError::KeyLevel { element, found, expected: level });
            }
            rest = rest.get(leveled_key_bytes(chain.params(), level)..).unwrap_or(&[]);
        }
        Ok(())
    }
}

/// Elements and highest levels that the chain has, but for the identity.
fn places(
    chain: &Chain,
    levels: impl Iterator<Item = (usize, Level)>,
) -> Result<Vec<(u32, Level)>, CodecError> {
    let place = |(element, level): (usize, Level)| {
        chain.level(level)?;
        Ok((check_element(chain, element)?, level))
    };
    levels.filter(|&(element, _)| element != IDENTITY as usize).map(place).collect()
}

fn leveled_header(chain: &Chain, places: &[(u32, Level)]) -> Result<Header, CodecError> {
    let payload_bytes = leveled_payload_bytes(chain, places)?;
    let count = places.len() as u32;
    Ok(chain_header(chain, (ObjectKind::LeveledKeys, chain.top()), (1, count), payload_bytes))
}

fn leveled_payload_bytes(chain: &Chain, places: &[(u32, Level)]) -> Result<usize, CodecError> {
    let total = size::leveled_keys_bytes(chain.params(), places.iter().map(|&(_, level)| level));
    payload_of(u128::from(total) - CHAIN_OVERHEAD_BYTES as u128)
}

/// The Galois element of the identity.
const IDENTITY: u32 = 1;
/// Bytes of an element and a level.
const PLACE_BYTES: usize = ELEMENT_BYTES + LEVEL_BYTES;
