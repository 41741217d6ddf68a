// SPDX-License-Identifier: Apache-2.0
//! The binary form of CKKS ciphertexts, with their scales.

use hush_rlwe::{
    CodecError, LeveledSetId, PhaseMeaning, RlweCiphertext, UncheckedLeveledSet, encode_leveled_with_meaning,
};

use super::{Ckks, CkksCiphertext};
use crate::{RealScale, SchemeError};

impl Ckks {
    /// The binary object of ciphertexts of one level and one number of components (`docs/formats/chain.md`, kind 7 with meanings).
    ///
    /// # Errors
    /// [`SchemeError::Codec`] if `id` does not describe them, or for one without a mask.
    pub fn to_bytes(&self, id: LeveledSetId, ciphertexts: &[CkksCiphertext]) -> Result<Vec<u8>, SchemeError> {
        let meaning = |a: &CkksCiphertext| PhaseMeaning::Scale(a.scale().value());
        let pairs: Vec<(&RlweCiphertext, PhaseMeaning)> =
            ciphertexts.iter().map(|a| (a.inner(), meaning(a))).collect();
        Ok(encode_leveled_with_meaning(self.chain(), id, &pairs)?)
    }

    /// The ciphertexts of [`Ckks::to_bytes`], scales included, to the bit. A scale is what its writer says: operations compare it with
    /// what they need.
    ///
    /// # Errors
    /// [`SchemeError::Codec`] for anything else.
    pub fn from_bytes(&self, bytes: &[u8], id: LeveledSetId) -> Result<Vec<CkksCiphertext>, SchemeError> {
        let set = UncheckedLeveledSet::decode(bytes)?.conform_with_meaning(self.chain(), id)?;
        let ciphertext = |(inner, meaning)| match meaning {
            PhaseMeaning::Scale(scale) => self.ciphertext_at(inner, RealScale::new(scale)),
            // The chain's unit rules it out.
            PhaseMeaning::Factor(_) => Err(CodecError::Meaning { found: 1, expected: 2 }.into()),
        };
        set.into_iter().map(ciphertext).collect()
    }
}
