// SPDX-License-Identifier: Apache-2.0
//! Why there can be no such run.

use super::super::cube::CubeFault;

/// A fault of a sorted run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunFault {
    /// A column that there is not.
    #[error("there is no column {column}")]
    NoColumn {
        /// Its name.
        column: String,
    },
    /// A column that is not in the table.
    #[error("{column} is not stored")]
    NotStored {
        /// The column.
        column: String,
    },
    /// Sums that there cannot be.
    #[error(transparent)]
    Sum(#[from] CubeFault),
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
    /// A column that it is parted or ordered by twice.
    #[error("{column} stands twice in it")]
    Twice {
        /// The column.
        column: String,
    },
}
