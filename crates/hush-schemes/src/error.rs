// SPDX-License-Identifier: Apache-2.0
//! Errors of encodings and evaluation. None of them carries a value.

use hush_ring::RingError;
use hush_rlwe::{CodecError, RlweError};

use crate::RealScale;

/// Why something was not encrypted with public keys, or no such keys were made. No output exists then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PublicKeyError {
    /// The binary form could not be written.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// Not as many columns as keys, or columns of different lengths, or without rows.
    #[error("{found} columns for {expected} public keys, or columns that are empty or of different lengths")]
    Columns {
        /// Columns found.
        found: usize,
        /// Keys.
        expected: usize,
    },
    /// No entropy.
    #[error("the operating system provides no randomness")]
    Randomness,
    /// Ring arithmetic refused; a key of another ring, for one.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// A value does not fit the encoding.
    #[error("column {column}")]
    Scheme {
        /// Encoded column.
        column: u32,
        /// The cause.
        source: SchemeError,
    },
    /// A secret with a slot so large that sums over a device's rows would not be safe; one in 2^18 is like that.
    #[error("the secret of column {column} does not suit a public key")]
    Secret {
        /// Encoded column.
        column: u32,
    },
    /// The plaintext modulus leaves no room for the noise of public keys.
    #[error("plaintext modulus 2^{found} in a ciphertext modulus of {log_q} bits, with public keys")]
    TooNarrow {
        /// log2 of the plaintext modulus.
        found: u32,
        /// ⌊log2 Q⌋.
        log_q: u32,
    },
}

/// Why a chunk or an accumulator does not fit a masked sum.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SumError {
    /// Number of bodies.
    #[error("{found} bodies, expected {expected}")]
    BodyCount {
        /// Bodies found.
        found: usize,
        /// Bodies expected.
        expected: usize,
    },
    /// An answer that does not hold together.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// Bodies of one chunk that differ in length.
    #[error("a body of {found} ring elements beside one of {expected}")]
    ElementCount {
        /// Elements found.
        found: u32,
        /// Elements of the first body.
        expected: u32,
    },
    /// A row's group does not exist.
    #[error("group {found}, but there are {group_count}")]
    Group {
        /// Group found.
        found: u32,
        /// Number of groups.
        group_count: usize,
    },
    /// A body of another parameter set.
    #[error("a body of parameter set {found}, expected {expected}")]
    Params {
        /// Code found.
        found: u16,
        /// Code expected.
        expected: u16,
    },
    /// A residue of a partial sum that is not below its prime.
    #[error("a residue is not below its prime")]
    Residue,
    /// Ring arithmetic refused.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// More rows than the chunk holds, or not one weight per row.
    #[error("{found} rows or weights, expected at most {expected}")]
    RowCount {
        /// Rows found.
        found: usize,
        /// Rows that fit.
        expected: usize,
    },
    /// Accumulators of different rings, groups or bodies cannot be merged.
    #[error("accumulators of different shapes cannot be merged")]
    Shape,
}

/// Why values cannot be encoded, or a ciphertext expression cannot be evaluated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemeError {
    /// Bytes that are not the ciphertexts that they should be.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// Not a prime that has a transform of this length, or a modulus outside the supported range.
    #[error("plaintext modulus {found} does not suit ring degree {degree}")]
    PlaintextModulus {
        /// The modulus found.
        found: u64,
        /// The ring degree.
        degree: usize,
    },
    /// A float is infinite or not a number.
    #[error("value {index} is not finite")]
    NotFinite {
        /// Position, from 0.
        index: usize,
    },
    /// Ring arithmetic refused.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// Ciphertext arithmetic refused.
    #[error(transparent)]
    Rlwe(#[from] RlweError),
    /// Operands at different scales.
    #[error("operands at scales 2^{left} and 2^{right}")]
    ScaleMismatch {
        /// log2 of the scale on the left.
        left: u32,
        /// log2 of the scale on the right.
        right: u32,
    },
    /// A scale that no parameter set supports.
    #[error("scale 2^{found} is outside 2^1 to 2^{max}")]
    ScaleRange {
        /// log2 of the scale found.
        found: u32,
        /// log2 of the largest.
        max: u32,
    },
    /// A chain that does not keep the scale.
    #[error(
        "a level of {modulus_log2} bits would have scale {found}; choose a chain whose divisions match the scale"
    )]
    RealScale {
        /// The scale that the level would have.
        found: RealScale,
        /// log2 of the level's modulus.
        modulus_log2: u32,
    },
    /// Operands at different scales, over a chain.
    #[error("operands at scales {left} and {right}; bring both to their level's own scale")]
    RealScales {
        /// The scale on the left.
        left: RealScale,
        /// The scale on the right.
        right: RealScale,
    },
    /// More values than slots or coefficients.
    #[error("{found} values, at most {max} fit")]
    TooManyValues {
        /// Values found.
        found: usize,
        /// Values that fit.
        max: usize,
    },
    /// A value is too large for the modulus or the scale.
    #[error("value {index} does not fit: its magnitude must be below 2^{limit_log2}")]
    ValueRange {
        /// Position, from 0.
        index: usize,
        /// log2 of the bound.
        limit_log2: u32,
    },
}
