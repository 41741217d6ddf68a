// SPDX-License-Identifier: Apache-2.0
//! The keys to a sparse secret and back, with which the modulus of ciphertexts is raised.
//!
//! # Payload
//! Seed (32 bytes) and bodies of the key to the sparse secret, over the key ring of [`ChainParams::sparse_chain`]; then seed and bodies
//! of the key back, for all levels of the chain. Bodies are digit after digit, as in evaluation keys. The header names the large chain;
//! a reader computes the small one from it.

use hush_params::size::{self, SEED_BYTES};
use hush_params::{ChainError, ChainParams};
use hush_ring::{Chain, Level, UniformSeed};

use super::ciphertexts::payload_of;
use super::keys::{append_bodies, read_key};
use super::{Payload, chain_header};
use crate::header::{self, CHAIN_OVERHEAD_BYTES, Header};
use crate::{CodecError, EncapsulationKeys, ObjectKind, RlweError};

impl EncapsulationKeys {
    /// The binary object.
    ///
    /// # Cost
    /// One packing of the bodies, into an object of [`encapsulation_keys_bytes`].
    ///
    /// # Errors
    /// [`CodecError::Object`] if no estimate covers a sparse secret on the chain, or the first key is not over the chain for it;
    /// [`CodecError::GaloisElement`] unless both keys are for element 0, as those of a secret's owner are.
    pub fn encode(&self) -> Result<Vec<u8>, CodecError> {
        let (chain, small) = (self.chain(), self.to_sparse().chain());
        if small.params() != &sparse_params(chain)? || small.unit() != chain.unit() {
            return Err(RlweError::ChainMismatch.into());
        }
        let keys = [self.to_sparse(), self.to_dense()];
        if let Some(key) = keys.iter().find(|key| key.element() != ELEMENT) {
            return Err(CodecError::GaloisElement { found: key.element(), expected: ELEMENT });
        }
        let mut bytes = encapsulation_header(chain)?.begin()?;
        for key in keys {
            bytes.extend_from_slice(&key.seed().to_bytes());
            append_bodies(&mut bytes, key);
        }
        header::seal(&mut bytes);
        Ok(bytes)
    }
}

/// Bytes of the object of keys to a sparse secret and back.
///
/// # Errors
/// [`CodecError::Object`] if no estimate covers a sparse secret on the chain.
pub fn encapsulation_keys_bytes(chain: &Chain) -> Result<usize, CodecError> {
    Ok(encapsulation_payload_bytes(chain)? + CHAIN_OVERHEAD_BYTES)
}

/// Bytes that decoded as keys to a sparse secret and back; not yet compared with the chain that they should be of.
#[derive(Clone, Copy, Debug)]
pub struct UncheckedEncapsulationKeys<'a> {
    header: Header,
    payload: &'a [u8],
}

impl<'a> UncheckedEncapsulationKeys<'a> {
    /// Checks lengths, header and checksum; allocates nothing, and copies nothing.
    ///
    /// # Errors
    /// A [`CodecError`] that names the first thing wrong.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, CodecError> {
        let (header, payload) = Header::decode(bytes)?;
        Ok(Self { header, payload })
    }

    /// Checks that these are keys of the chain, and every residue. In [`CodecError::Residue`] the key to the sparse secret is element
    /// 0, and the key back element 1.
    ///
    /// # Cost
    /// The masks are expanded: some three times the object's size in memory. The tables of the small chain are computed.
    ///
    /// # Errors
    /// A [`CodecError`] that names the difference; [`CodecError::Object`] if no estimate covers a sparse secret on the chain, or it has no
    /// special primes.
    pub fn conform(self, chain: &Chain) -> Result<EncapsulationKeys, CodecError> {
        self.header.expect(&encapsulation_header(chain)?)?;
        let small = Chain::new(&sparse_params(chain)?, chain.unit(), chain.cpu())?;
        let mut payload = Payload(self.payload);
        let mut key = |(chain, index): (&Chain, u32), level: Level| {
            let seed = UniformSeed::from_bytes(payload.take_chunk::<SEED_BYTES>()?);
            read_key(chain, (ELEMENT, level), seed, index, &mut payload)
        };
        let to_sparse = key((&small, 0), small.top())?;
        let to_dense = key((chain, 1), chain.top())?;
        Ok(EncapsulationKeys::new(to_sparse, to_dense)?)
    }
}

/// The reader's own chain for the sparse secret; no object says what it is.
fn sparse_params(chain: &Chain) -> Result<ChainParams, CodecError> {
    chain.params().sparse_chain().map_err(no_sparse_chain)
}

fn no_sparse_chain(error: ChainError) -> CodecError {
    RlweError::NoSparseChain { reason: error.to_string() }.into()
}

fn encapsulation_header(chain: &Chain) -> Result<Header, CodecError> {
    let payload_bytes = encapsulation_payload_bytes(chain)?;
    Ok(chain_header(chain, (ObjectKind::EncapsulationKeys, chain.top()), (1, 2), payload_bytes))
}

fn encapsulation_payload_bytes(chain: &Chain) -> Result<usize, CodecError> {
    let total = size::encapsulation_keys_bytes(chain.params()).map_err(no_sparse_chain)?;
    payload_of(u128::from(total) - CHAIN_OVERHEAD_BYTES as u128)
}

/// What the masks of both keys are expanded for: no Galois element.
const ELEMENT: u32 = 0;
