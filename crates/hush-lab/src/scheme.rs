// SPDX-License-Identifier: Apache-2.0
//! What every scheme of the lab offers.

use std::fmt;

use crate::{LabError, Seed, Stream};

/// A scheme for single bits, with all its keys, the secret one too: this is a laboratory.
///
/// Addition is XOR, multiplication AND. Implementations regenerate from seeds what they can.
pub trait InsecureScheme: Sized {
    /// Validated parameters.
    type Params: Clone;
    /// An encrypted bit.
    type Ciphertext: Clone;

    /// As on the command line.
    const NAME: &'static str;

    /// Makes all keys.
    ///
    /// `progress` is told the share done, in `[0, 1]`, now and then: at most some hundred times.
    ///
    /// # Errors
    /// Of the scheme.
    fn generate(params: &Self::Params, seed: &Seed, progress: &mut dyn FnMut(f64)) -> Result<Self, LabError>;

    /// Encrypts a bit with the public key.
    ///
    /// # Errors
    /// Of the scheme.
    fn encrypt(&self, bit: bool, randomness: &mut Stream) -> Result<Self::Ciphertext, LabError>;

    /// Encrypts bits together; a scheme may share work among them.
    ///
    /// # Errors
    /// As [`InsecureScheme::encrypt`].
    fn encrypt_all(&self, bits: &[bool], randomness: &mut Stream) -> Result<Vec<Self::Ciphertext>, LabError> {
        bits.iter().map(|&bit| self.encrypt(bit, randomness)).collect()
    }

    /// The XOR of two bits. Operands may differ in level: the lower one is raised.
    ///
    /// # Errors
    /// Of the scheme.
    fn add(&self, a: &Self::Ciphertext, b: &Self::Ciphertext) -> Result<Self::Ciphertext, LabError>;

    /// The AND of two bits, with all that belongs to a product: relinearisation, reduction or bootstrapping.
    ///
    /// # Errors
    /// [`LabError::Depth`] if no product is left.
    fn multiply(&self, a: &Self::Ciphertext, b: &Self::Ciphertext) -> Result<Self::Ciphertext, LabError>;

    /// Products that do not depend on one another; a scheme may share work among them.
    ///
    /// # Errors
    /// As [`InsecureScheme::multiply`].
    fn multiply_all(
        &self,
        pairs: &[(&Self::Ciphertext, &Self::Ciphertext)],
    ) -> Result<Vec<Self::Ciphertext>, LabError> {
        pairs.iter().map(|(a, b)| self.multiply(a, b)).collect()
    }

    /// Reduces the size of a result once, before it is sent back. Does nothing unless a scheme has such a step.
    ///
    /// # Errors
    /// Of the scheme.
    fn finish(&self, ct: &Self::Ciphertext) -> Result<Self::Ciphertext, LabError> {
        Ok(ct.clone())
    }

    /// The bit, by the secret key. It is wrong, without notice, where the noise is over its limit.
    ///
    /// # Errors
    /// Of the scheme.
    fn decrypt(&self, ct: &Self::Ciphertext) -> Result<bool, LabError>;

    /// How large the noise is, by the secret key, and what was predicted.
    ///
    /// # Errors
    /// Of the scheme.
    fn noise(&self, ct: &Self::Ciphertext) -> Result<Noise, LabError>;

    /// The noise of the product that a ciphertext was refreshed from, with the limit of the refresh; `None` if it was not.
    ///
    /// # Errors
    /// Of the scheme.
    fn noise_before_refresh(&self, _ct: &Self::Ciphertext) -> Result<Option<Noise>, LabError> {
        Ok(None)
    }

    /// The most products one after the other; `None` where bootstrapping leaves no limit.
    fn depth_limit(&self) -> Option<u32>;

    /// The parameters: names and values, for people.
    fn description(&self) -> Vec<(&'static str, String)>;

    /// Bytes of the keys and of a fresh ciphertext.
    fn sizes(&self) -> Sizes;
}

/// The noise of one ciphertext, as base-2 logarithms of `|e|` for a phase `m + 2e`; 0 stands for 1 and less.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// Measured with the secret key. It means nothing once the noise is over its limit.
    pub measured_log2: f64,
    /// Never exceeded, but with a chance below 2^-40; computed from public values. Behind Recrypt it is an estimate with a margin,
    /// as the parameters of its authors have no room for a bound: now and then one exceeds it by a few bits.
    pub bound_log2: f64,
    /// Decryption is right below this.
    pub limit_log2: f64,
}

impl Noise {
    /// Whether the bound promises a right decryption.
    pub fn is_safe(&self) -> bool {
        self.bound_log2 < self.limit_log2
    }
}

impl fmt::Display for Noise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "2^{:.1}, bound 2^{:.1}, limit 2^{:.1}",
            self.measured_log2, self.bound_log2, self.limit_log2
        )
    }
}

/// Bytes, as stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Secret key.
    pub secret: u64,
    /// Public key.
    pub public: u64,
    /// Evaluation keys, as stored.
    pub evaluation: u64,
    /// Evaluation keys with everything written out that is regenerated from seeds.
    pub evaluation_expanded: u64,
    /// A fresh ciphertext.
    pub ciphertext: u64,
}
