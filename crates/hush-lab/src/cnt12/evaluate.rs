// SPDX-License-Identifier: Apache-2.0
//! Sums and products of encrypted bits.

use super::{Cnt12Error, InsecureCnt12Ciphertext, InsecureCnt12PublicKey};

impl InsecureCnt12PublicKey {
    /// Encrypts `a XOR b`.
    ///
    /// # Noise
    /// The sum of both.
    ///
    /// # Errors
    /// [`Cnt12Error::CiphertextSize`].
    pub fn add(
        &self,
        a: &InsecureCnt12Ciphertext,
        b: &InsecureCnt12Ciphertext,
    ) -> Result<InsecureCnt12Ciphertext, Cnt12Error> {
        self.check(a)?;
        self.check(b)?;
        Ok(InsecureCnt12Ciphertext { words: self.modulus.add(&a.words, &b.words) })
    }

    /// Encrypts `a AND b`. Not refreshed: see [`InsecureCnt12PublicKey::recrypt`].
    ///
    /// # Noise
    /// The product of both: its bits add up, so fresh ciphertexts must be refreshed before.
    ///
    /// # Cost
    /// One product modulo `x_0`.
    ///
    /// # Errors
    /// [`Cnt12Error::CiphertextSize`].
    pub fn mul(
        &self,
        a: &InsecureCnt12Ciphertext,
        b: &InsecureCnt12Ciphertext,
    ) -> Result<InsecureCnt12Ciphertext, Cnt12Error> {
        self.check(a)?;
        self.check(b)?;
        Ok(InsecureCnt12Ciphertext { words: self.modulus.mul(&a.words, &b.words) })
    }

    /// The ciphertext of a bit without any noise but the bit, which hides nothing: for constants.
    pub fn constant(&self, bit: bool) -> InsecureCnt12Ciphertext {
        let mut words = vec![0; self.modulus.word_count()];
        words[0] = u64::from(bit);
        InsecureCnt12Ciphertext { words }
    }
}
