// SPDX-License-Identifier: Apache-2.0
//! An encrypted bit.

/// An integer below `x_0`, encrypting one bit.
///
/// *Layout.* [`super::InsecureCnt12Parameters::word_count`] words, lowest first. *Secrecy.* Public.
#[derive(Clone, PartialEq, Eq)]
pub struct InsecureCnt12Ciphertext {
    pub(crate) words: Vec<u64>,
}

impl InsecureCnt12Ciphertext {
    /// The words.
    pub fn words(&self) -> &[u64] {
        &self.words
    }
}

impl std::fmt::Debug for InsecureCnt12Ciphertext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InsecureCnt12Ciphertext")
            .field("word_count", &self.words.len())
            .finish_non_exhaustive()
    }
}
