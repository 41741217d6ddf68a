// SPDX-License-Identifier: Apache-2.0
//! Refusals of evaluations. No message carries a value.

use hush_circuits::CircuitError;
use hush_circuits::program::{ProgramError, ServeError};
use hush_expr::ExprError;
use hush_table::error::ErrorKind;

/// Faults of an expression, its vectors or its options.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvalError {
    /// A precision that is not positive.
    #[error("the precision must be a positive number")]
    BadPrecision,
    /// A vector without values.
    #[error("vector {name} has no values")]
    Empty {
        /// Its name.
        name: String,
    },
    /// Vectors of different lengths.
    #[error("vector {name} has {found} values, {other} has {expected}")]
    Lengths {
        /// Its name.
        name: String,
        /// Its length.
        found: usize,
        /// The vector before it.
        other: String,
        /// Its length.
        expected: usize,
    },
    /// Too little memory for the keys of bootstrapping.
    #[error(
        "bootstrapping takes {:.1} GB of memory, and {:.1} GB are free",
        *.needed as f64 / 1e9,
        *.found as f64 / 1e9
    )]
    Memory {
        /// Bytes that are free.
        found: u64,
        /// Bytes that are needed.
        needed: u64,
    },
    /// A missing value.
    #[error("vector {name}: value {position} is missing")]
    Missing {
        /// Its name.
        name: String,
        /// Position, from 1.
        position: usize,
    },
    /// A column that a file lacks.
    #[error("vector {name}: the file has no column {column}")]
    NoColumn {
        /// The vector.
        name: String,
        /// The column.
        column: String,
    },
    /// A name without a vector.
    #[error("no vector is given for {name}")]
    NoVector {
        /// The name.
        name: String,
    },
    /// A value that is no finite number.
    #[error("vector {name}: value {position} is not a finite number (value hidden)")]
    NotANumber {
        /// Its name.
        name: String,
        /// Position, from 1.
        position: usize,
    },
    /// No scheme and parameters serve.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The server's half refused.
    #[error("the server's half refused: {0}")]
    Serve(#[from] ServeError),
    /// More bootstrappings than anyone waits for.
    #[error("{found} bootstrappings, and {limit} at most: one takes {each}")]
    Slow {
        /// Bootstrappings of this evaluation.
        found: u64,
        /// The limit.
        limit: u64,
        /// About how long one takes.
        each: &'static str,
    },
    /// A vector that the expression does not use, or twice.
    #[error("vector {name} is given twice, or is not in the expression")]
    Unused {
        /// Its name.
        name: String,
    },
}

impl EvalError {
    /// A stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::BadPrecision => "HUSH-X030",
            Self::Empty { .. } => "HUSH-X031",
            Self::Lengths { .. } => "HUSH-X032",
            Self::Missing { .. } => "HUSH-X033",
            Self::NoColumn { .. } => "HUSH-X034",
            Self::NoVector { .. } => "HUSH-X035",
            Self::NotANumber { .. } => "HUSH-X036",
            Self::Unused { .. } => "HUSH-X037",
            Self::Slow { .. } => "HUSH-X038",
            Self::Program(source) => source.code(),
            Self::Serve(_) => "HUSH-X039",
            Self::Memory { .. } => "HUSH-X040",
        }
    }

    /// The kind, by who can mend it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::BadPrecision | Self::NoColumn { .. } | Self::NoVector { .. } | Self::Unused { .. } => {
                ErrorKind::Usage
            }
            Self::Empty { .. } | Self::Lengths { .. } | Self::Missing { .. } | Self::NotANumber { .. } => {
                ErrorKind::Data
            }
            Self::Program(ProgramError::Circuit(_) | ProgramError::Tfhe(_)) | Self::Serve(_) => {
                ErrorKind::Internal
            }
            Self::Program(
                ProgramError::Precision { .. } | ProgramError::Wide { .. } | ProgramError::WideInteger { .. },
            ) => ErrorKind::Precision,
            Self::Memory { .. } => ErrorKind::Resource,
            Self::Program(_) | Self::Slow { .. } => ErrorKind::Refused,
        }
    }
}

impl From<ExprError> for EvalError {
    fn from(error: ExprError) -> Self {
        Self::Program(error.into())
    }
}

impl From<CircuitError> for EvalError {
    fn from(error: CircuitError) -> Self {
        Self::Program(error.into())
    }
}
