// SPDX-License-Identifier: Apache-2.0
//! Operations on several ciphertexts with one pass over the key.

use hush_rlwe::{EvaluationKeys, RlweCiphertext, rotation_element};

use super::{Ckks, CkksCiphertext, check_levels};
use crate::SchemeError;

impl Ckks {
    /// [`Ckks::mul_rescale`] of several pairs of one level. The key, which is larger than the second cache, is read once for
    /// all of them.
    ///
    /// # Errors
    /// As [`Ckks::mul_rescale`]; [`SchemeError::Rlwe`] if the levels of the pairs differ.
    pub fn mul_rescale_all(
        &self,
        pairs: &[(&CkksCiphertext, &CkksCiphertext)],
        keys: &EvaluationKeys,
    ) -> Result<Vec<CkksCiphertext>, SchemeError> {
        pairs.iter().try_for_each(|(a, b)| check_levels(a, b))?;
        let inner: Vec<_> = pairs.iter().map(|(a, b)| (&a.inner, &b.inner)).collect();
        let products = RlweCiphertext::mul_relinearize_and_mod_switch_all(&inner, keys)?;
        let divided = products.into_iter().zip(pairs);
        divided.map(|(product, (a, b))| self.divided(product, a.level, a.scale.times(b.scale))).collect()
    }

    /// [`Ckks::relinearize_rescale`] of several ciphertexts of one level, likewise.
    ///
    /// # Errors
    /// As [`Ckks::relinearize_rescale`]; [`SchemeError::Rlwe`] if the levels differ.
    pub fn relinearize_rescale_all(
        &self,
        ciphertexts: &[CkksCiphertext],
        keys: &EvaluationKeys,
    ) -> Result<Vec<CkksCiphertext>, SchemeError> {
        let inner: Vec<_> = ciphertexts.iter().map(|a| &a.inner).collect();
        let divided = RlweCiphertext::relinearize_and_mod_switch_all(&inner, keys)?;
        divided.into_iter().zip(ciphertexts).map(|(inner, a)| self.divided(inner, a.level, a.scale)).collect()
    }

    /// [`Ckks::rotate`] of several ciphertexts of one level by the same number of places, likewise.
    ///
    /// # Errors
    /// As [`Ckks::rotate`]; [`SchemeError::Rlwe`] if the levels differ.
    pub fn rotate_all(
        &self,
        ciphertexts: &[&CkksCiphertext],
        steps: i64,
        keys: &EvaluationKeys,
    ) -> Result<Vec<CkksCiphertext>, SchemeError> {
        let element = rotation_element(self.chain.degree(), steps);
        if element == 1 {
            return Ok(ciphertexts.iter().map(|&a| a.clone()).collect());
        }
        let inner: Vec<_> = ciphertexts.iter().map(|a| &a.inner).collect();
        let rotated = RlweCiphertext::automorphism_all(&inner, keys, element)?;
        Ok(rotated.into_iter().zip(ciphertexts).map(|(inner, a)| CkksCiphertext { inner, ..**a }).collect())
    }
}
