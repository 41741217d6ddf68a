// SPDX-License-Identifier: Apache-2.0
//! The binary form of BGV ciphertexts, with their factors.

use hush_rlwe::{
    CodecError, LeveledSetId, PhaseMeaning, RlweCiphertext, UncheckedLeveledSet, encode_leveled_with_meaning,
};

use super::{Bgv, BgvCiphertext};
use crate::SchemeError;

impl Bgv {
    /// The binary object of ciphertexts of one level and one number of components (`docs/formats/chain.md`, kind 7 with meanings).
    ///
    /// # Errors
    /// [`SchemeError::Codec`] if `id` does not describe them, or for one without a mask.
    pub fn to_bytes(&self, id: LeveledSetId, ciphertexts: &[BgvCiphertext]) -> Result<Vec<u8>, SchemeError> {
        let meaning = |a: &BgvCiphertext| PhaseMeaning::Factor(a.factor());
        let pairs: Vec<(&RlweCiphertext, PhaseMeaning)> =
            ciphertexts.iter().map(|a| (a.inner(), meaning(a))).collect();
        Ok(encode_leveled_with_meaning(self.chain(), id, &pairs)?)
    }

    /// The ciphertexts of [`Bgv::to_bytes`], factors included.
    ///
    /// # Errors
    /// [`SchemeError::Codec`] for anything else.
    pub fn from_bytes(&self, bytes: &[u8], id: LeveledSetId) -> Result<Vec<BgvCiphertext>, SchemeError> {
        let set = UncheckedLeveledSet::decode(bytes)?.conform_with_meaning(self.chain(), id)?;
        let ciphertext = |(inner, meaning)| match meaning {
            PhaseMeaning::Factor(factor) => self.ciphertext_at(inner, factor),
            // The chain's unit rules it out.
            PhaseMeaning::Scale(_) => Err(CodecError::Meaning { found: 2, expected: 1 }.into()),
        };
        set.into_iter().map(ciphertext).collect()
    }
}
