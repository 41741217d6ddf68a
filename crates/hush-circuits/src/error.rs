// SPDX-License-Identifier: Apache-2.0
//! Errors of circuits. None of them carries a value of a message.

use hush_ring::{Level, RingError};
use hush_rlwe::RlweError;
use hush_schemes::SchemeError;

/// Why a circuit cannot be built or run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CircuitError {
    /// A clear coefficient, bound or table entry is infinite or not a number.
    #[error("number {index} of the circuit is not finite")]
    NotFinite {
        /// Position, from 0.
        index: usize,
    },
    /// A polynomial without a variable.
    #[error("a polynomial of degree {found}, expected 1 to {max}")]
    Degree {
        /// Degree found.
        found: usize,
        /// The largest supported.
        max: usize,
    },
    /// A diagonal of the wrong length.
    #[error("diagonal {offset} has {found} entries, expected {expected}")]
    DiagonalLength {
        /// Its offset.
        offset: usize,
        /// Entries found.
        found: usize,
        /// Entries expected.
        expected: usize,
    },
    /// A transform without a non-zero diagonal.
    #[error("a linear transform without a non-zero diagonal; its result is zero and needs no circuit")]
    NoDiagonals,
    /// An interval that is empty, not finite, or not positive where it must be.
    #[error("the interval from {low} to {high} does not suit this function")]
    Interval {
        /// Lower end.
        low: f64,
        /// Upper end.
        high: f64,
    },
    /// The ciphertext has fewer levels than the circuit is deep.
    #[error(
        "the circuit needs {expected} levels, but the ciphertext is at level {found}; take a deeper chain"
    )]
    Levels {
        /// Level found.
        found: Level,
        /// Levels needed.
        expected: u32,
    },
    /// A scheme over another chain, or with other scales, than bootstrapping was prepared for.
    #[error("the scheme is not that of the shape of bootstrapping; make both of one shape")]
    Shape,
    /// Slots that bootstrapping would make something else of.
    #[error(
        "slots may be as large as 2^{found_log2:.2}, and bootstrapping needs real and imaginary parts between -1 and 1; divide them first"
    )]
    Magnitude {
        /// log2 of the bound on slots.
        found_log2: f64,
    },
    /// The circuit was prepared for another level.
    #[error("a ciphertext at level {found}, but the circuit was prepared for level {expected}")]
    PreparedLevel {
        /// Level found.
        found: Level,
        /// Level expected.
        expected: Level,
    },
    /// No approximation of the supported sizes is as precise as asked for.
    #[error(
        "no circuit of at most {max_depth} levels is precise to 2^-{precision_log2}; widen the margin or lower the precision"
    )]
    Precision {
        /// Bits asked for.
        precision_log2: u32,
        /// The largest depth tried.
        max_depth: u32,
    },
    /// The scheme refused.
    #[error(transparent)]
    Scheme(#[from] SchemeError),
    /// No such slot, or a block that is no part of a row.
    #[error("slot or slot count {found}, expected at most {max}")]
    Slot {
        /// Found.
        found: usize,
        /// The largest allowed.
        max: usize,
    },
}

impl From<RlweError> for CircuitError {
    fn from(error: RlweError) -> Self {
        Self::Scheme(error.into())
    }
}

impl From<RingError> for CircuitError {
    fn from(error: RingError) -> Self {
        Self::Scheme(error.into())
    }
}

/// Refuses a ciphertext that is not `depth` levels above the last.
pub(crate) fn check_depth(found: Level, depth: u32) -> Result<(), CircuitError> {
    if u32::from(found.0) >= depth {
        return Ok(());
    }
    Err(CircuitError::Levels { found, expected: depth })
}
