// SPDX-License-Identifier: Apache-2.0
//! Why there can be no such run.

use super::super::cube::CubeFault;

/// A fault of a sorted run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunFault {
    /// An approximate column, whose values change a little when a part is written anew.
    #[error(
        "{column} is approximate, and rows that are written anew would be others: give it a copy, for = [\"fetch\"]"
    )]
    Approximate {
        /// The column.
        column: String,
    },
    /// A column that there is not.
    #[error("there is no column {column}")]
    NoColumn {
        /// Its name.
        column: String,
    },
    /// A term without a column.
    #[error("{text} has no column that could be added up")]
    NoSum {
        /// The term.
        text: String,
    },
    /// A column that is not in the table.
    #[error("{column} is not stored so that it can be used")]
    NotStored {
        /// The column.
        column: String,
    },
    /// Sums that there cannot be.
    #[error(transparent)]
    Sum(CubeFault),
    /// More columns, or sums, than a run may have.
    #[error("it would have {found} {what}, and {limit} are the most")]
    TooMany {
        /// Columns or sums.
        what: &'static str,
        /// Found.
        found: usize,
        /// Most of them.
        limit: usize,
    },
    /// More runs than a table may have.
    #[error("with those of columns for \"order\" there would be {found}, and {limit} are the most")]
    TooManyRuns {
        /// Found.
        found: usize,
        /// Most of them.
        limit: usize,
    },
    /// Sums of too many bits.
    #[error("sums of {text} over a block have more than 126 bits")]
    TooWide {
        /// What is added up.
        text: String,
    },
    /// A column that it is parted or ordered by twice.
    #[error("{column} stands twice in it")]
    Twice {
        /// The column.
        column: String,
    },
}

impl From<CubeFault> for RunFault {
    /// Cubes name their dimensions and the rows of the table, which runs have not.
    fn from(fault: CubeFault) -> Self {
        match fault {
            CubeFault::OfDimensions { text } => Self::NoSum { text },
            CubeFault::TooWide { text } => Self::TooWide { text },
            fault => Self::Sum(fault),
        }
    }
}
