// SPDX-License-Identifier: Apache-2.0
//! Why parts are not written anew.

use hush_table::error::ErrorKind;

/// A compaction that is refused, or gives up. Steps that were committed before stay, and so does every row.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompactError {
    /// A column that its owner cannot have again from the table.
    #[error(
        "column {column}: {lacking}, so that its rows cannot be encrypted again from the table\n  Way out: hush encrypt --replace from the source. Nothing was changed."
    )]
    Lost {
        /// The owner's column.
        column: String,
        /// What the table does not have.
        lacking: Lacking,
    },
    /// Others changed the parts of a step again and again.
    #[error(
        "{place}: others changed the parts of a step {tries} times while it was encrypted\n  Way out: once more, when fewer write; the steps before are done, and no row is lost."
    )]
    Overtaken {
        /// The place.
        place: String,
        /// How often the step was tried.
        tries: u32,
    },
}

/// What a table does not have of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Lacking {
    /// As many digits as the schema declares.
    #[error("its encryption rounds more coarsely than the digits that its schema declares")]
    Digits,
    /// Which values are missing.
    #[error("the table does not have which of its values are missing")]
    Missing,
    /// The values: only numbers that were computed from them.
    #[error("the table has numbers computed from its values and not the values")]
    Values,
}

impl CompactError {
    /// A stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Lost { .. } => "HUSH-C090",
            Self::Overtaken { .. } => "HUSH-C091",
        }
    }

    /// The kind, by who can mend it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Lost { .. } => ErrorKind::Refused,
            Self::Overtaken { .. } => ErrorKind::Resource,
        }
    }
}
