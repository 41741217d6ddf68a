// SPDX-License-Identifier: Apache-2.0
//! Why a table gets no new key or secrets.

use hush_table::error::ErrorKind;

/// A rotation that is refused. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RotateError {
    /// The secrets of some rows are derived from the owner's seed, which no other owner may have.
    #[error(
        "{place}: the secrets of its rows are derived from this owner's key itself, as versions of Hushtable before 0.2 did, so that no other key can have them\n  Way out: rotate once without a new key, which writes all rows anew under secrets of their own; then rotate to the new key."
    )]
    Derived {
        /// The place.
        place: String,
    },
    /// Deliveries that nobody could take in after the rotation.
    #[error(
        "{place}: {count} deliveries of devices wait, and could not be accepted any more\n  Ways out: accept them first; or discard them."
    )]
    Waiting {
        /// The place.
        place: String,
        /// How many.
        count: u64,
    },
    /// As many sets of secrets as a table can have.
    #[error(
        "{place}: its rows are under {found} sets of secrets, as many as a table can have\n  Way out: write the rows of earlier ones anew: rotate without --new-rows, or compact --all."
    )]
    Domains {
        /// The place.
        place: String,
        /// How many.
        found: usize,
    },
    /// The key at hand is the one that is to come.
    #[error("the new key is the one that the table has: {id}\n  Way out: make a new one with keygen.")]
    SameKey {
        /// Its name.
        id: String,
    },
    /// Rows under the secrets that are to be forgotten would be lost.
    #[error(
        "secrets are forgotten once no row is under them, and this rotation leaves rows as they are\n  Way out: forget them in a rotation of everything."
    )]
    NotForgotten,
    /// The roots of the table's secrets are in its versions.
    #[error(
        "{place}: the roots of its secrets are sealed in its versions, so that whoever has the key and a copy of a version has them\n  Way out: erasable = true in the schema, and encrypt again; from then on they can be forgotten."
    )]
    NotErasable {
        /// The place.
        place: String,
    },
    /// The tokens of join keys are of the owner's key, whatever the secrets of the rows.
    #[error(
        "{place}: the tokens of {column} are made with this owner's key, so that another key could not read them\n  Way out: encrypt again with the new key."
    )]
    JoinKey {
        /// The place.
        place: String,
        /// A join key.
        column: String,
    },
    /// Nothing would change without a new key.
    #[error("a table whose secrets stay needs a new owner's key\n  Way out: name the file of one.")]
    NoKey,
}

impl RotateError {
    /// A stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Derived { .. } => "HUSH-C110",
            Self::Waiting { .. } => "HUSH-C111",
            Self::Domains { .. } => "HUSH-C112",
            Self::SameKey { .. } => "HUSH-C113",
            Self::NoKey => "HUSH-C114",
            Self::NotForgotten => "HUSH-C115",
            Self::NotErasable { .. } => "HUSH-C116",
            Self::JoinKey { .. } => "HUSH-C117",
        }
    }

    /// The kind, by who can mend it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::SameKey { .. } | Self::NoKey | Self::NotForgotten => ErrorKind::Usage,
            Self::Derived { .. }
            | Self::JoinKey { .. }
            | Self::NotErasable { .. }
            | Self::Waiting { .. }
            | Self::Domains { .. } => ErrorKind::Refused,
        }
    }
}
