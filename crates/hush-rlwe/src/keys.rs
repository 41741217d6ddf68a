// SPDX-License-Identifier: Apache-2.0
//! Public keys and evaluation keys, which the owner gives away.

use std::collections::BTreeMap;

use hush_ring::{Chain, Eval, ExpandLabel, Poly, UniformSeed};

use crate::{KeySwitchKey, RlweError};

/// An encryption of zero, with which anyone encrypts and nobody decrypts: `b = −a·s + u·e` over the universe.
///
/// *Secrecy.* Public.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PublicKey {
    chain: Chain,
    seed: UniformSeed,
    body: Poly<Eval>,
    mask: Poly<Eval>,
}

impl PublicKey {
    /// The public key with this body and the mask of `seed`.
    ///
    /// # Errors
    /// [`RlweError::Ring`] unless the body is over the chain's top level.
    pub fn new(chain: &Chain, seed: UniformSeed, body: Poly<Eval>) -> Result<Self, RlweError> {
        let ring = chain.ring(chain.top())?;
        ring.check_same(body.ring())?;
        let mask = seed.expand(ring, ExpandLabel::public_key());
        Ok(Self { chain: chain.clone(), seed, body, mask })
    }

    /// The chain.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }
    /// The seed of the mask.
    pub fn seed(&self) -> UniformSeed {
        self.seed
    }
    /// `b`.
    pub fn body(&self) -> &Poly<Eval> {
        &self.body
    }
    /// `a`.
    pub fn mask(&self) -> &Poly<Eval> {
        &self.mask
    }
}

/// The key-switching keys that a plan needs, and no others.
///
/// *Secrecy.* Public, under the usual assumption that encryptions of a secret under itself reveal nothing (circular
/// security).
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct EvaluationKeys {
    keys: BTreeMap<u32, KeySwitchKey>,
}

impl EvaluationKeys {
    /// No keys.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a key; one for the same element is replaced.
    pub fn insert(&mut self, key: KeySwitchKey) {
        self.keys.insert(key.element(), key);
    }

    /// The relinearisation key.
    ///
    /// # Errors
    /// [`RlweError::MissingKey`].
    pub fn relinearisation(&self) -> Result<&KeySwitchKey, RlweError> {
        self.keys.get(&0).ok_or(RlweError::MissingKey { element: 0 })
    }

    /// The key for `X ↦ X^element`.
    ///
    /// # Errors
    /// [`RlweError::MissingKey`].
    pub fn galois(&self, element: usize) -> Result<&KeySwitchKey, RlweError> {
        let found = u32::try_from(element).ok().filter(|&element| element != 0);
        found.and_then(|element| self.keys.get(&element)).ok_or(RlweError::MissingKey { element })
    }

    /// All keys, relinearisation first.
    pub fn iter(&self) -> impl Iterator<Item = &KeySwitchKey> {
        self.keys.values()
    }

    /// Bytes in memory, masks included.
    pub fn memory_bytes(&self) -> usize {
        self.iter().map(KeySwitchKey::memory_bytes).sum()
    }
}
