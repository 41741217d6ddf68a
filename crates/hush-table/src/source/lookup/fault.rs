// SPDX-License-Identifier: Apache-2.0
//! What can be wrong with rows that are looked up.

use thiserror::Error;

use super::KeyKind;

/// What is wrong with data that rows look up, or with what they find there. Never a value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LookupFault {
    /// A column that it gives is there already.
    #[error("column {column} is one of the rows that it is looked up for too")]
    Clash {
        /// The column.
        column: Box<str>,
    },
    /// A column of its key is named twice.
    #[error("its column {column} is named twice as a key")]
    KeyTwice {
        /// The column.
        column: Box<str>,
    },
    /// A column of a key that there is not.
    #[error("{} no column {column}, which is named as a key", if *is_there { "it has" } else { "the rows that look it up have" })]
    NoColumn {
        /// The column.
        column: Box<str>,
        /// Whether it should be one of the data that is looked up.
        is_there: bool,
    },
    /// No column of a key was named.
    #[error("no key is named by which its rows are found")]
    NoKey,
    /// A value that must be there is not.
    #[error(
        "row {row} finds no value for column {column}, which the schema says is never missing{}",
        if *more == 0 { String::new() } else { format!("; {more} more") }
    )]
    NotFound {
        /// The row that looks it up, from 1; the header is none.
        row: u64,
        /// The column.
        column: Box<str>,
        /// Further ones in the same chunk.
        more: u64,
    },
    /// It has its key and no other column.
    #[error("it has no column besides its key")]
    NothingElse,
    /// Keys of two kinds, or of one that does not compare exactly.
    #[error("its key {theirs} has {found}, but {own} has {expected}")]
    OtherKind {
        /// Its column.
        theirs: Box<str>,
        /// What that has.
        found: KeyKind,
        /// The column of the rows that look it up.
        own: Box<str>,
        /// What that has, by the schema.
        expected: KeyKind,
    },
    /// More memory than one may take.
    #[error("its rows and the index of its key take more than {limit_bytes} bytes of memory")]
    TooLarge {
        /// The limit.
        limit_bytes: u64,
    },
    /// A key that stands there twice.
    #[error("rows {first} and {second} have one key (value hidden)")]
    Twice {
        /// The row that has it first, from 1; the header is none.
        first: u64,
        /// The next.
        second: u64,
    },
}

impl LookupFault {
    /// The stable code.
    pub(in super::super) fn code(&self) -> &'static str {
        match self {
            Self::KeyTwice { .. } | Self::NoColumn { .. } | Self::NoKey | Self::NothingElse => "HUSH-D050",
            Self::Clash { .. } => "HUSH-D051",
            Self::OtherKind { .. } => "HUSH-D052",
            Self::Twice { .. } => "HUSH-D053",
            Self::TooLarge { .. } => "HUSH-D054",
            Self::NotFound { .. } => "HUSH-D055",
        }
    }

    /// What to do about it.
    pub(in super::super) fn remedy(&self) -> &'static str {
        match self {
            Self::Clash { .. } => {
                "rename it in one of the files; a key of one name on both sides is no clash"
            }
            Self::KeyTwice { .. } | Self::NoColumn { .. } | Self::NoKey => {
                "name columns that tell its rows apart, each with the column that has the same values here"
            }
            Self::NotFound { .. } => {
                "set nullable = true for the column in the schema, or add the rows that are not found. Nothing was written"
            }
            Self::NothingElse => "name a file with the columns that the rows are to have",
            Self::OtherKind { found: KeyKind::Float, .. }
            | Self::OtherKind { expected: KeyKind::Float, .. } => {
                "floats are no keys: write them as integers or decimals, and give the column that type in the schema"
            }
            Self::OtherKind { .. } => {
                "give the column its type in the schema, or write one of the files with the other's type"
            }
            Self::TooLarge { .. } => {
                "leave out columns that no question needs, or join the files before they are encrypted"
            }
            Self::Twice { .. } => "leave one row for each key, or name more columns that tell rows apart",
        }
    }
}
