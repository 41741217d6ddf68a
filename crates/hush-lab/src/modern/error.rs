// SPDX-License-Identifier: Apache-2.0
//! Errors of Hushtable's own scheme.

use hush_keys::{DecryptError, EncryptError};
use hush_params::ChainError;
use hush_ring::{KernelError, RandomnessError, RingError};
use hush_schemes::SchemeError;

/// Errors of the schemes below.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModernError {
    /// No chain.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// Decryption.
    #[error(transparent)]
    Decrypt(#[from] DecryptError),
    /// Encryption, or a key.
    #[error(transparent)]
    Encrypt(#[from] EncryptError),
    /// The processor.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// Integers in place of bits grow with every gate.
    #[error("integers up to {found} in place of bits: the plaintext modulus takes {max}")]
    Magnitude {
        /// The largest absolute value of an integer.
        found: u64,
        /// The most.
        max: u64,
    },
    /// No entropy.
    #[error(transparent)]
    Randomness(#[from] RandomnessError),
    /// A ring.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// Evaluation.
    #[error(transparent)]
    Scheme(#[from] SchemeError),
}
