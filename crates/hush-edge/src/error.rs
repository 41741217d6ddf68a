// SPDX-License-Identifier: Apache-2.0
//! What can go wrong on a device. No message carries a value of a row or a key byte.

use std::path::PathBuf;

use arrow::error::ArrowError;
use hush_remote::RemoteError;
use hush_schemes::PublicKeyError;
use hush_table::TableError;
use hush_table::error::ErrorKind;
use hush_table::source::SourceError;

/// Everything that can go wrong on a device.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EdgeError {
    /// Arrow refused.
    #[error("arrays do not fit their schema")]
    Arrow(#[from] ArrowError),
    /// A file or stream that cannot be read or written.
    #[error("cannot {what} {path}: {source}")]
    File {
        /// What was tried.
        what: &'static str,
        /// Which.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A bug of ours.
    #[error("internal error: {what}")]
    Internal {
        /// What should not have happened.
        what: &'static str,
    },
    /// A line that is no object or list of objects, or has a name that the header has not.
    #[error("message {number} is not a JSON object of columns of the table, or a list of such: {what}")]
    Json {
        /// Which message, from 1.
        number: u64,
        /// What is wrong; no value.
        what: &'static str,
    },
    /// Not a device's key file, or one that others can read.
    #[error("{path} is not the key file of a device: {what}")]
    KeyFile {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// A record without an end.
    #[error("a record of over {limit} bytes; is a quote missing?")]
    LongRecord {
        /// Most bytes of a record.
        limit: usize,
    },
    /// The keys do not suit.
    #[error("a device cannot encrypt for this table")]
    PublicKey(#[from] PublicKeyError),
    /// A value that the column's encoding does not hold.
    #[error("a value of {column} is outside its range in the schema (row {row} of the chunk)")]
    Range {
        /// The column.
        column: String,
        /// Which row of the chunk, from 1.
        row: usize,
    },
    /// The network, or the server.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// The spool's own files say something impossible.
    #[error("the spool at {path} is not one of this device's key: {what}")]
    Spool {
        /// Its directory.
        path: PathBuf,
        /// What is wrong.
        what: &'static str,
    },
    /// The input data.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The table, or parts of it.
    #[error(transparent)]
    Table(#[from] TableError),
    /// What was asked for.
    #[error("{what}")]
    Usage {
        /// What is wrong, and the way out.
        what: String,
    },
}

impl EdgeError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Arrow(_) | Self::Internal { .. } => "HUSH-G099",
            Self::File { .. } => "HUSH-G001",
            Self::Json { .. } => "HUSH-G002",
            Self::KeyFile { .. } => "HUSH-G003",
            Self::LongRecord { .. } => "HUSH-G004",
            Self::PublicKey(_) => "HUSH-G005",
            Self::Range { .. } => "HUSH-G006",
            Self::Spool { .. } => "HUSH-G007",
            Self::Usage { .. } => "HUSH-U001",
            Self::Remote(source) => source.code(),
            Self::Source(source) => source.code(),
            Self::Table(source) => source.code(),
        }
    }

    /// Who can mend it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Arrow(_) | Self::Internal { .. } => ErrorKind::Internal,
            Self::File { .. } => ErrorKind::Resource,
            Self::Json { .. } | Self::LongRecord { .. } | Self::Range { .. } | Self::Source(_) => {
                ErrorKind::Data
            }
            Self::KeyFile { .. } => ErrorKind::Key,
            Self::PublicKey(_) => ErrorKind::Refused,
            Self::Remote(source) => source.kind(),
            Self::Spool { .. } | Self::Usage { .. } => ErrorKind::Usage,
            Self::Table(source) => source.kind(),
        }
    }

    /// What a person can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::KeyFile { .. } => {
                Some("make one with `hush edge key TABLE -o FILE`; only its user may read it: chmod 600")
            }
            Self::PublicKey(_) => Some("`edge = true` in the schema, and encrypt the table again"),
            Self::Range { .. } => {
                Some("a wider range in the schema, and encrypt the table again; or correct the value")
            }
            Self::Spool { .. } => Some(
                "another --spool for this key; deliveries of the old one can still be sent with the old key",
            ),
            Self::Table(source) => source.hint(),
            Self::Arrow(_) | Self::File { .. } | Self::Internal { .. } | Self::Json { .. } => None,
            Self::LongRecord { .. } | Self::Remote(_) | Self::Source(_) | Self::Usage { .. } => None,
        }
    }

    /// Code, sentence and way out, as a terminal shows them.
    pub fn report(&self) -> String {
        let sentence = self.to_string();
        let stop = if sentence.ends_with('.') { "" } else { "." };
        match self.hint() {
            None => format!("{} {sentence}", self.code()),
            Some(way) => format!("{} {sentence}{stop}\n  Way out: {way}.", self.code()),
        }
    }
}
