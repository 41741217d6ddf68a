// SPDX-License-Identifier: Apache-2.0
//! Errors of encryption and decryption. None of them carries a value, a key byte or noise.

use hush_ring::{RandomnessError, RingError};
use hush_rlwe::CodecError;
use hush_schemes::SchemeError;
use hush_tfhe::TfheError;

/// Why something was not encrypted. No output exists then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncryptError {
    /// A modulus chain refused.
    #[error(transparent)]
    Chain(#[from] hush_params::ChainError),
    /// The binary form could not be written.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// No entropy.
    #[error(transparent)]
    Randomness(#[from] RandomnessError),
    /// The same secret or column twice in one chunk would reveal the difference of two messages.
    #[error("encoded column {column} is encrypted twice in one chunk, or shares its secret with another")]
    Repeated {
        /// The column refused.
        column: u32,
    },
    /// Ring arithmetic refused; a secret of another ring, for one.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// Containers do not fit.
    #[error(transparent)]
    Rlwe(#[from] hush_rlwe::RlweError),
    /// Number of values.
    #[error("column {column} has {found} values, the chunk has {expected} rows")]
    RowCount {
        /// Encoded column.
        column: u32,
        /// Values found.
        found: usize,
        /// Rows of the chunk.
        expected: usize,
    },
    /// A chunk needs rows.
    #[error("a chunk of {found} rows, expected 1 to {max}")]
    ChunkRows {
        /// Rows found.
        found: usize,
        /// Most rows of a chunk.
        max: usize,
    },
    /// A value does not fit the encoding.
    #[error("column {column}")]
    Scheme {
        /// Encoded column.
        column: u32,
        /// What does not fit.
        source: SchemeError,
    },
    /// A message that a set of TFHE does not have.
    #[error(transparent)]
    Tfhe(#[from] TfheError),
    /// The plaintext modulus leaves no room for noise.
    #[error("plaintext modulus 2^{found} in a ciphertext modulus of {log_q} bits")]
    TooNarrow {
        /// log2 of the plaintext modulus.
        found: u32,
        /// ⌊log2 Q⌋.
        log_q: u32,
    },
}

/// Why something was not decrypted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecryptError {
    /// It decrypts to a value that no honest ciphertext holds. The distance is a secret.
    #[error("it decrypts to what no honest ciphertext holds: it was falsified, or is damaged")]
    Beyond,
    /// The answer has no such column.
    #[error("the answer has {body_count} columns, no column {found}")]
    Body {
        /// Column asked for.
        found: usize,
        /// Columns present.
        body_count: usize,
    },
    /// A cut body of fewer rows.
    #[error("a body of {found} coefficients for {expected} rows")]
    Coefficients {
        /// Coefficients found.
        found: usize,
        /// Rows of the chunk.
        expected: usize,
    },
    /// The masks of a body cannot be expanded or read.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// A body of another layout or size than asked for.
    #[error("{found} ring elements, expected {expected}")]
    ElementCount {
        /// Elements found.
        found: u32,
        /// Elements expected.
        expected: u32,
    },
    /// A power of the secret is larger than roundings are planned with. By how much is a secret.
    #[error(
        "power {power} of the secret is larger than rounded answers allow for; ask in another way, or rotate the table's secrets"
    )]
    PowerNorm {
        /// The power.
        power: u32,
    },
    /// A power of the secret that the modulus cannot tell from another polynomial.
    #[error(
        "power {power} of the secret may be beyond a modulus of {log_q} bits, so that no rounded answer can be relied on"
    )]
    PowerWraps {
        /// The power.
        power: u32,
        /// ⌊log2 Q⌋.
        log_q: u32,
    },
    /// The secret belongs to another ring.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// Containers do not fit.
    #[error(transparent)]
    Rlwe(#[from] hush_rlwe::RlweError),
    /// The encoding does not fit.
    #[error(transparent)]
    Scheme(#[from] SchemeError),
    /// Bytes that are no answers of TFHE, or that decrypt to no message.
    #[error(transparent)]
    Tfhe(#[from] TfheError),
}
