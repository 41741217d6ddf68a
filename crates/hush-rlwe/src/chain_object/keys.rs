// SPDX-License-Identifier: Apache-2.0
//! Public and evaluation keys: seeds and bodies, half of what they are in memory.
//!
//! # Payload
//! *Evaluation keys*, relinearisation (element 0) first, then by rising Galois element: for each key its element (4 bytes), its seed
//! (32 bytes), and digit after digit the body, a polynomial over the key ring (all ciphertext primes, then the special ones). *Public
//! key*: seed and body over the top level.

use hush_params::size::{ELEMENT_BYTES, SEED_BYTES, evaluation_key_bytes};
use hush_ring::{Chain, Level, RingError, UniformSeed};

use super::ciphertexts::times;
use super::{Payload, append_poly, chain_header, packed_poly_bytes};
use crate::header::{self, CHAIN_OVERHEAD_BYTES, Header};
use crate::{
    CodecError, EvaluationKeys, KeySwitchKey, ObjectKind, PublicKey, RlweError, append_packed, check_residues,
};

impl EvaluationKeys {
    /// The binary object: only the keys that are there.
    ///
    /// # Errors
    /// [`CodecError::Object`] if a key is of another chain, or serves lower levels alone: for these there is
    /// [`EvaluationKeys::encode_up_to`].
    pub fn encode(&self, chain: &Chain) -> Result<Vec<u8>, CodecError> {
        let count = self.iter().count() as u32;
        let mut bytes = keys_header(chain, count)?.begin()?;
        for key in self.iter() {
            if key.chain() != chain {
                return Err(RlweError::ChainMismatch.into());
            }
            if key.level() != chain.top() {
                return Err(RlweError::PartialKey { element: key.element(), found: key.level() }.into());
            }
            bytes.extend_from_slice(&key.element().to_le_bytes());
            bytes.extend_from_slice(&key.seed().to_bytes());
            append_bodies(&mut bytes, key);
        }
        header::seal(&mut bytes);
        Ok(bytes)
    }
}

/// Bytes of an object of `count` evaluation keys.
///
/// # Errors
/// [`CodecError::Length`] beyond what a computer can address.
pub fn evaluation_keys_bytes(chain: &Chain, count: u32) -> Result<usize, CodecError> {
    Ok(times(count, evaluation_key_bytes(chain.params()))? + CHAIN_OVERHEAD_BYTES)
}

/// Bytes that decoded as evaluation keys; not yet compared with the keys that a plan needs.
#[derive(Clone, Copy, Debug)]
pub struct UncheckedEvaluationKeys<'a> {
    header: Header,
    payload: &'a [u8],
}

impl<'a> UncheckedEvaluationKeys<'a> {
    /// Checks lengths, header and checksum; allocates nothing.
    ///
    /// # Errors
    /// A [`CodecError`] that names the first thing wrong.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, CodecError> {
        let (header, payload) = Header::decode(bytes)?;
        Ok(Self { header, payload })
    }

    /// Checks that these are the keys for exactly `elements` (0 for relinearisation; order and repetition do not matter), and
    /// every residue.
    ///
    /// # Cost
    /// The masks are expanded: twice the object's size in memory or more.
    ///
    /// # Errors
    /// A [`CodecError`] that names the difference; [`CodecError::Object`] for an element that does not exist or a chain without
    /// special primes.
    pub fn conform(self, chain: &Chain, elements: &[u32]) -> Result<EvaluationKeys, CodecError> {
        let mut elements = elements.to_vec();
        elements.sort_unstable();
        elements.dedup();
        for &element in &elements {
            check_element(chain, element as usize)?;
        }
        let count = elements.len() as u32;
        self.header.expect(&keys_header(chain, count)?)?;
        let stored = self
            .payload
            .chunks_exact(evaluation_key_bytes(chain.params()))
            .map(|key| Payload(key).take_chunk());
        for (stored, &expected) in stored.zip(&elements) {
            let found = u32::from_le_bytes(stored?);
            if found != expected {
                return Err(CodecError::GaloisElement { found, expected });
            }
        }
        let (mut payload, mut keys) = (Payload(self.payload), EvaluationKeys::new());
        for (index, &element) in elements.iter().enumerate() {
            payload.take(ELEMENT_BYTES)?;
            let seed = UniformSeed::from_bytes(payload.take_chunk::<SEED_BYTES>()?);
            keys.insert(read_key(chain, (element, chain.top()), seed, index as u32, &mut payload)?);
        }
        Ok(keys)
    }
}

impl PublicKey {
    /// The binary object.
    ///
    /// # Errors
    /// None in practice: a key belongs to its chain.
    pub fn encode(&self) -> Result<Vec<u8>, CodecError> {
        let mut bytes = public_header(self.chain())?.begin()?;
        bytes.extend_from_slice(&self.seed().to_bytes());
        append_poly(&mut bytes, self.body());
        header::seal(&mut bytes);
        Ok(bytes)
    }
}

/// Bytes of a public key's object.
///
/// # Errors
/// None in practice: every chain has a top level.
pub fn public_key_bytes(chain: &Chain) -> Result<usize, CodecError> {
    Ok(public_payload_bytes(chain)? + CHAIN_OVERHEAD_BYTES)
}

/// Bytes that decoded as a public key; not yet compared with the chain that it should be of.
#[derive(Clone, Copy, Debug)]
pub struct UncheckedPublicKey<'a> {
    header: Header,
    payload: &'a [u8],
}

impl<'a> UncheckedPublicKey<'a> {
    /// As [`UncheckedEvaluationKeys::decode`].
    ///
    /// # Errors
    /// As there.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, CodecError> {
        let (header, payload) = Header::decode(bytes)?;
        Ok(Self { header, payload })
    }

    /// Checks that this is a public key of the chain, and every residue.
    ///
    /// # Errors
    /// A [`CodecError`] that names the difference.
    pub fn conform(self, chain: &Chain) -> Result<PublicKey, CodecError> {
        self.header.expect(&public_header(chain)?)?;
        let mut payload = Payload(self.payload);
        let seed = UniformSeed::from_bytes(payload.take_chunk::<SEED_BYTES>()?);
        Ok(PublicKey::new(chain, seed, payload.poly(chain.ring(chain.top())?, 0)?)?)
    }
}

/// Digit after digit the bodies of a key, over the primes that it has.
pub(super) fn append_bodies(bytes: &mut Vec<u8>, key: &KeySwitchKey) {
    let limbs = key.chain().key_ring().limbs();
    for digit in 0..key.digit_count() {
        key.primes().for_each(|place| append_packed(bytes, &limbs[place], key.body(digit, place)));
    }
}

/// The other direction: the key for a Galois element and for ciphertexts at a level and below, number `index` of its object.
pub(super) fn read_key(
    chain: &Chain,
    (element, level): (u32, Level),
    seed: UniformSeed,
    index: u32,
    payload: &mut Payload<'_>,
) -> Result<KeySwitchKey, CodecError> {
    let mut key = KeySwitchKey::with_masks_up_to(chain, level, seed, element)?;
    for digit in 0..key.digit_count() {
        for place in key.primes() {
            let limb = &chain.key_ring().limbs()[place];
            let (body, _) = key.body_and_mask(digit, place);
            limb.unpack(payload.take(limb.packed_bytes(chain.degree()))?, body);
            check_residues(limb, body, index, place)?;
        }
    }
    Ok(key)
}

/// Refuses a Galois element that the chain's ring does not have; 0, for relinearisation, is one here.
pub(super) fn check_element(chain: &Chain, found: usize) -> Result<u32, CodecError> {
    let order = 2 * chain.degree();
    if found != 0 && (found.is_multiple_of(2) || found >= order) {
        return Err(RingError::GaloisElement { found, order }.into());
    }
    Ok(found as u32)
}

fn keys_header(chain: &Chain, count: u32) -> Result<Header, CodecError> {
    let payload_bytes = times(count, evaluation_key_bytes(chain.params()))?;
    Ok(chain_header(chain, (ObjectKind::EvaluationKeys, chain.top()), (1, count), payload_bytes))
}

fn public_header(chain: &Chain) -> Result<Header, CodecError> {
    let payload_bytes = public_payload_bytes(chain)?;
    Ok(chain_header(chain, (ObjectKind::PublicKey, chain.top()), (1, 1), payload_bytes))
}

fn public_payload_bytes(chain: &Chain) -> Result<usize, CodecError> {
    Ok(SEED_BYTES + packed_poly_bytes(chain.ring(chain.top())?))
}
