// SPDX-License-Identifier: Apache-2.0
//! Refusals of models. No message carries a value.

use hush_table::error::ErrorKind;

/// Faults of a model, or of the rows that it shall be fitted to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// Rows of which no row, or only rows without some value, are there.
    #[error("there is no row with a value of {outcome} and of every feature")]
    NoRows {
        /// The outcome as typed.
        outcome: String,
    },
    /// Several sets of coefficients are as good, or ever larger ones are better.
    #[error(
        "no single model fits best: features are linearly dependent or constant, there are too few rows, or the features tell \
         outcomes apart without an error"
    )]
    NoFit,
    /// A value that a tree cannot be grown on.
    #[error("{column} has values that are not finite")]
    NotFinite {
        /// The outcome or feature as typed.
        column: String,
    },
    /// A file that is no model.
    #[error("{place} is no model: {fault}")]
    File {
        /// The file.
        place: String,
        /// What is wrong with it.
        fault: String,
    },
    /// A feature that is no name of a vector.
    #[error("the feature {feature} is an expression, and vectors have names")]
    NotAName {
        /// The feature as typed.
        feature: String,
    },
    /// A request without features, or with a tree that cannot be.
    #[error("{what}")]
    Request {
        /// The fault and its way out.
        what: String,
    },
}

impl ModelError {
    /// Stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoRows { .. } => "HUSH-M001",
            Self::NoFit => "HUSH-M002",
            Self::NotFinite { .. } => "HUSH-M003",
            Self::File { .. } => "HUSH-M004",
            Self::NotAName { .. } => "HUSH-M005",
            Self::Request { .. } => "HUSH-M006",
        }
    }

    /// The kind, by who can mend it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::NoRows { .. } | Self::NoFit | Self::NotFinite { .. } => ErrorKind::Data,
            Self::File { .. } => ErrorKind::Damaged,
            Self::NotAName { .. } | Self::Request { .. } => ErrorKind::Usage,
        }
    }
}
