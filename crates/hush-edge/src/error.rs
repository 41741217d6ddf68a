// SPDX-License-Identifier: Apache-2.0
//! Errors of a device. No message carries a value of a row or a key byte.

use std::path::PathBuf;

use hush_encode::EncodeError;
use hush_plan::error::{Front, Remedy};
use hush_remote::RemoteError;
use hush_schemes::PublicKeyError;
use hush_table::TableError;
use hush_table::error::ErrorKind;
use hush_table::source::SourceError;

/// Errors of a device.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EdgeError {
    /// Figures of a device that cannot be read.
    #[error("not what a device can carry: {what}")]
    Capacity {
        /// The fault.
        what: String,
    },
    /// A file with delivered rows that have changed since.
    #[error("the file begins as before, but is another before byte {position}, up to which it was read")]
    Changed {
        /// The place.
        position: u64,
    },
    /// Clear columns of many rows, which the owner would reject.
    #[error(
        "the clear columns of a chunk take a file of {found} bytes, and the owner takes in at most {limit}"
    )]
    ClearFile {
        /// Bytes of the file.
        found: u64,
        /// The limit.
        limit: u64,
    },
    /// A row that the owner would reject.
    #[error(
        "the clear texts of row {row} of the chunk have {found} bytes, and the owner takes in at most {limit} of a row"
    )]
    ClearRow {
        /// The row of the chunk, from 1.
        row: usize,
        /// Bytes of its texts.
        found: usize,
        /// The limit.
        limit: usize,
    },
    /// Rows in another form than their table has them.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// A file or stream that cannot be read or written.
    #[error("cannot {what} {path}: {source}")]
    File {
        /// The attempt.
        what: &'static str,
        /// The file or stream.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A bug of ours.
    #[error("internal error: {what}")]
    Internal {
        /// The impossible finding.
        what: &'static str,
    },
    /// A line that is no object or list of objects, or has a name that the header has not.
    #[error("message {number} is not a JSON object of columns of the table, or a list of such: {what}")]
    Json {
        /// The message, from 1.
        number: u64,
        /// The fault, without a value.
        what: &'static str,
    },
    /// Not a device's key file, or one that others can read.
    #[error("{path} is not the key file of a device: {what}")]
    KeyFile {
        /// The file.
        path: PathBuf,
        /// The fault.
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
        /// The row of the chunk, from 1.
        row: usize,
    },
    /// The network, or the server.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// A row that does not suit; those before it are kept.
    #[error(
        "{source}; lines and rows are counted from byte {position} of the input on{}",
        header_note(source)
    )]
    Row {
        /// The beginning of the row.
        position: u64,
        /// The fault.
        source: Box<EdgeError>,
    },
    /// A directory that cannot be this key's spool.
    #[error("{path} cannot be the spool of this device's key: {fault}")]
    Spool {
        /// The directory.
        path: PathBuf,
        /// The fault.
        fault: SpoolFault,
    },
    /// There is no room, and nowhere to deliver to.
    #[error("the spool has reached its limit of {limit} bytes, and nothing is delivered")]
    SpoolFull {
        /// The limit.
        limit: u64,
    },
    /// The input data.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The table, or parts of it.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A request that cannot be served.
    #[error("{what}")]
    Usage {
        /// The fault, and the way out.
        what: String,
    },
}

/// A reason not to use a directory as a spool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpoolFault {
    /// Another process has it.
    #[error("another process works with it")]
    Busy,
    /// Its state cannot be read.
    #[error("its state file is damaged")]
    Damaged,
    /// It is something else.
    #[error("it holds other files and no spool")]
    NotEmpty,
    /// It is another key's.
    #[error("it holds deliveries of another key")]
    OtherKey,
}

impl SpoolFault {
    fn remedy(self) -> Remedy {
        match self {
            Self::Busy => "wait for its end, or give each process a spool and an input of its own".into(),
            Self::Damaged => Remedy::SpoolOther,
            Self::NotEmpty => "an empty directory, or one that does not exist".into(),
            Self::OtherKey => Remedy::SpoolEach,
        }
    }
}

/// Lines of a text begin with the header.
fn header_note(source: &EdgeError) -> &'static str {
    if matches!(source, EdgeError::Source(_)) { ", the header being line 1" } else { "" }
}

impl EdgeError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Encode(source) => source.code(),
            Self::Internal { .. } => "HUSH-G099",
            Self::File { .. } => "HUSH-G001",
            Self::Json { .. } => "HUSH-G002",
            Self::KeyFile { .. } => "HUSH-G003",
            Self::LongRecord { .. } => "HUSH-G004",
            Self::PublicKey(_) => "HUSH-G005",
            Self::Range { .. } => "HUSH-G006",
            Self::Spool { .. } => "HUSH-G007",
            Self::Changed { .. } => "HUSH-G008",
            Self::SpoolFull { .. } => "HUSH-G009",
            Self::ClearFile { .. } | Self::ClearRow { .. } => "HUSH-G010",
            Self::Row { source, .. } => source.code(),
            Self::Capacity { .. } | Self::Usage { .. } => "HUSH-U001",
            Self::Remote(source) => source.code(),
            Self::Source(source) => source.code(),
            Self::Table(source) => source.code(),
        }
    }

    /// The kind, by who can mend it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Encode(_) | Self::Internal { .. } => ErrorKind::Internal,
            Self::File { .. } | Self::SpoolFull { .. } => ErrorKind::Resource,
            Self::Changed { .. } | Self::Json { .. } | Self::LongRecord { .. } | Self::Range { .. } => {
                ErrorKind::Data
            }
            Self::ClearFile { .. } | Self::ClearRow { .. } | Self::Source(_) => ErrorKind::Data,
            Self::Row { source, .. } => source.kind(),
            Self::KeyFile { .. } => ErrorKind::Key,
            Self::PublicKey(_) => ErrorKind::Refused,
            Self::Remote(source) => source.kind(),
            Self::Capacity { .. } | Self::Spool { .. } | Self::Usage { .. } => ErrorKind::Usage,
            Self::Table(source) => source.kind(),
        }
    }

    /// The way out, if there is one.
    pub fn remedy(&self) -> Option<Remedy> {
        let text = match self {
            Self::KeyFile { .. } => return Some(Remedy::DeviceKey),
            Self::PublicKey(_) => "`edge = true` in the schema, and encrypt the table again",
            Self::Range { .. } => {
                "a wider range in the schema, and encrypt the table again; or correct the value"
            }
            Self::ClearFile { .. } | Self::ClearRow { .. } => {
                "shorter texts; or `protect = \"drop\"` for such a column, and encrypt the table again"
            }
            Self::Row { source, .. } => return source.remedy(),
            Self::Changed { .. } => {
                "rows that were read stay as they are; what is to be read from its beginning is a file of another name, copied and not moved"
            }
            Self::Spool { fault, .. } => return Some(fault.remedy()),
            Self::SpoolFull { .. } => return Some(Remedy::SpoolRoom),
            Self::Capacity { .. } => return Some(Remedy::MeasureDevice),
            Self::Table(source) => return source.remedy(),
            Self::Remote(RemoteError::Unauthorised { .. }) => return Some(Remedy::DeviceToken),
            Self::Encode(_) | Self::File { .. } | Self::Internal { .. } | Self::Json { .. } => return None,
            Self::LongRecord { .. } | Self::Remote(_) | Self::Source(_) | Self::Usage { .. } => return None,
        };
        Some(text.into())
    }

    /// Code, sentence and way out, as the program of a device shows them on a terminal.
    pub fn report(&self) -> String {
        let sentence = self.to_string();
        let stop = if sentence.ends_with('.') { "" } else { "." };
        match self.remedy() {
            None => format!("{} {sentence}", self.code()),
            Some(way) => {
                format!("{} {sentence}{stop}\n  Way out: {}.", self.code(), way.describe(Front::Device))
            }
        }
    }
}
