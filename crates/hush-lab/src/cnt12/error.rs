// SPDX-License-Identifier: Apache-2.0
//! Why the scheme cannot do something.

use crate::integer::IntegerError;

/// What is wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Cnt12Error {
    /// A ciphertext of other parameters.
    #[error("a ciphertext of {found} words, where the key has {expected}")]
    CiphertextSize {
        /// Its words.
        found: usize,
        /// Those of the modulus.
        expected: usize,
    },
    /// Arithmetic on long integers.
    #[error(transparent)]
    Integer(#[from] IntegerError),
    /// A number among the parameters.
    #[error("parameter {name} is {found}, and must lie in {min}..={max}")]
    ParameterOutOfRange {
        /// Which.
        name: &'static str,
        /// Its value.
        found: u64,
        /// The smallest allowed.
        min: u64,
        /// The largest allowed.
        max: u64,
    },
    /// The boxes have different sizes.
    #[error("Theta = {secret_bits} must be a multiple of theta = {boxes}, the boxes of the squashed key")]
    Boxes {
        /// `Θ`.
        secret_bits: usize,
        /// `θ`.
        boxes: usize,
    },
    /// A ciphertext that Recrypt cannot take, or a product that cannot be decrypted.
    #[error("{stage} may have {found} bits of noise; {max} are possible")]
    Noise {
        /// Where.
        stage: Stage,
        /// The bound on the bits.
        found: u64,
        /// The most that works.
        max: u64,
    },
    /// No entropy.
    #[error("the system gives no random bytes")]
    Randomness(#[source] getrandom::Error),
}

/// A kind of ciphertext.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// From the public key.
    Fresh,
    /// A product of two refreshed ones.
    Product,
}

impl std::fmt::Display for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Fresh => "a fresh ciphertext",
            Self::Product => "a product of refreshed ciphertexts",
        })
    }
}
