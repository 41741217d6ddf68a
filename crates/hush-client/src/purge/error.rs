// SPDX-License-Identifier: Apache-2.0
//! Refusals to purge, and statements that do not hold.

use std::path::PathBuf;

use hush_table::error::ErrorKind;

/// A refusal to purge, or a statement that does not hold.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PurgeError {
    /// A file has the name that the statement was to have.
    #[error(
        "{path} exists already, and no statement goes over a file\n  Way out: another path. Nothing was deleted.",
        path = path.display()
    )]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// Another version came between the look at a place and the purge.
    #[error(
        "{place} got another version of the table while old ones were about to be purged\n  Way out: once more. Nothing was deleted."
    )]
    Overtaken {
        /// The place.
        place: String,
    },
    /// Files were said to be deleted, and are there.
    #[error(
        "{place} still gives {count} of the files that were purged, {first} among them\n  Ways out: purge once more, a day later if they were put back today; ask the server's operator, or who can write there. Do not say that these rows are erased."
    )]
    StillThere {
        /// The place.
        place: String,
        /// How many.
        count: usize,
        /// One of them.
        first: String,
    },
    /// A server has deleted what the present version needs, or says so.
    #[error(
        "{place} says that it has deleted {file}, which the present version needs\n  Ways out: push the table again; ask the server's operator. No statement was written."
    )]
    Needed {
        /// The place.
        place: String,
        /// The file.
        file: String,
    },
    /// A file that is no statement as a purge writes it.
    #[error("{path}: {fault}\n  Way out: the file as hush purge wrote it; do not rely on this one.", path = path.display())]
    Statement {
        /// The file.
        path: PathBuf,
        /// The fault.
        fault: StatementFault,
    },
    /// A statement about another table than the one at the place.
    #[error(
        "{path} is about {what} than the one at {place}\n  Way out: the statement of that table; or name the place that it is about.",
        path = path.display()
    )]
    OtherTable {
        /// The file.
        path: PathBuf,
        /// What differs.
        what: &'static str,
        /// The place.
        place: String,
    },
    /// The place has a version from before the purge.
    #[error(
        "{place} has version {found} of the table, from before the purge, after which it was version {expected}\n  Ways out: ask who can write there: old versions were put back; purge once more."
    )]
    PutBack {
        /// The place.
        place: String,
        /// Its version.
        found: u64,
        /// The version that the purge kept.
        expected: u64,
    },
}

/// Why a file is no statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StatementFault {
    /// Not the JSON of a statement, of another format, or with other blanks.
    #[error("not a statement of a purge, or changed since")]
    Form,
    /// Too long.
    #[error("longer than any statement of a purge")]
    Length,
    /// The signature is not that of the key in it.
    #[error("its signature is not valid: it was changed after its owner signed it")]
    Signature,
}

impl PurgeError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Overtaken { .. } => "HUSH-C100",
            Self::StillThere { .. } => "HUSH-C101",
            Self::Needed { .. } => "HUSH-C102",
            Self::Statement { .. } => "HUSH-C103",
            Self::OtherTable { .. } => "HUSH-C104",
            Self::PutBack { .. } => "HUSH-C105",
            Self::Exists { .. } => "HUSH-C106",
        }
    }

    /// The kind, by who can mend it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Overtaken { .. } => ErrorKind::Refused,
            Self::OtherTable { .. } | Self::Exists { .. } => ErrorKind::Usage,
            Self::StillThere { .. } | Self::Needed { .. } | Self::Statement { .. } | Self::PutBack { .. } => {
                ErrorKind::Damaged
            }
        }
    }
}
