// SPDX-License-Identifier: Apache-2.0
//! Fresh ciphertexts as the owner makes them: a body, and a seed in place of the mask.

use hush_ring::{Eval, ExpandLabel, Poly, UniformSeed};

use crate::{RlweCiphertext, RlweError};

/// A fresh symmetric ciphertext, half the size of one with its mask.
///
/// *Secrecy.* Public.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SeededCiphertext {
    seed: UniformSeed,
    body: Poly<Eval>,
}

impl SeededCiphertext {
    /// The ciphertext with this body and the mask of `seed`; no two ciphertexts share a seed.
    pub fn new(seed: UniformSeed, body: Poly<Eval>) -> Self {
        Self { seed, body }
    }

    /// The seed of the mask.
    pub fn seed(&self) -> UniformSeed {
        self.seed
    }
    /// The body.
    pub fn body(&self) -> &Poly<Eval> {
        &self.body
    }

    /// The ciphertext with its mask expanded.
    ///
    /// # Cost
    /// `limbs·N` residues of AES-CTR, no NTT.
    ///
    /// # Errors
    /// None in practice: body and mask are of one ring.
    pub fn expand(self) -> Result<RlweCiphertext, RlweError> {
        let mask = self.seed.expand(self.body.ring(), ExpandLabel::ciphertext());
        RlweCiphertext::new(vec![self.body, mask])
    }
}
