// SPDX-License-Identifier: Apache-2.0
//! Operations on several ciphertexts with one pass over the key.

use hush_rlwe::{EvaluationKeys, RlweCiphertext, rotation_element};

use super::{Bgv, BgvCiphertext, check_levels};
use crate::SchemeError;

impl Bgv {
    /// [`Bgv::mul_mod_switch`] of several pairs of one level. The key, which is larger than the second cache, is read once for
    /// all of them.
    ///
    /// # Errors
    /// As [`Bgv::mul_mod_switch`]; [`SchemeError::Rlwe`] if the levels of the pairs differ.
    pub fn mul_mod_switch_all(
        &self,
        pairs: &[(&BgvCiphertext, &BgvCiphertext)],
        keys: &EvaluationKeys,
    ) -> Result<Vec<BgvCiphertext>, SchemeError> {
        pairs.iter().try_for_each(|(a, b)| check_levels(a, b))?;
        let inner: Vec<_> = pairs.iter().map(|(a, b)| (&a.inner, &b.inner)).collect();
        let products = RlweCiphertext::mul_relinearize_and_mod_switch_all(&inner, keys)?;
        let factor = |a: &BgvCiphertext, b: &BgvCiphertext| self.t().mul(a.factor, b.factor);
        let divided = products.into_iter().zip(pairs);
        divided.map(|(product, (a, b))| self.divided(product, a.level, factor(a, b))).collect()
    }

    /// [`Bgv::rotate_rows`] of several ciphertexts of one level by the same number of places, likewise.
    ///
    /// # Errors
    /// As [`Bgv::rotate_rows`]; [`SchemeError::Rlwe`] if the levels differ.
    pub fn rotate_rows_all(
        &self,
        ciphertexts: &[&BgvCiphertext],
        steps: i64,
        keys: &EvaluationKeys,
    ) -> Result<Vec<BgvCiphertext>, SchemeError> {
        let element = rotation_element(self.chain.degree(), steps);
        if element == 1 {
            return Ok(ciphertexts.iter().map(|&a| a.clone()).collect());
        }
        let inner: Vec<_> = ciphertexts.iter().map(|a| &a.inner).collect();
        let rotated = RlweCiphertext::automorphism_all(&inner, keys, element)?;
        Ok(rotated.into_iter().zip(ciphertexts).map(|(inner, a)| BgvCiphertext { inner, ..**a }).collect())
    }
}
