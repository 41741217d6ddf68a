// SPDX-License-Identifier: Apache-2.0
//! Kinds of errors by the person who can mend them; they decide the exit status of a program.

use super::TableError;

/// Kinds of errors, by who can mend them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A bug of ours.
    Internal,
    /// The command line.
    Usage,
    /// Refused by policy or planner before anything ran.
    Refused,
    /// A key, passphrase or token.
    Key,
    /// Precision or ranges do not suffice.
    Precision,
    /// A limit, memory or disk.
    Resource,
    /// A server.
    Remote,
    /// The input data.
    Data,
    /// Stored bytes are damaged or not what their owner signed.
    Damaged,
}

impl ErrorKind {
    /// The exit status of the command line.
    pub fn exit_status(self) -> u8 {
        match self {
            Self::Internal => 1,
            Self::Usage => 2,
            Self::Refused => 3,
            Self::Key => 4,
            Self::Precision => 5,
            Self::Resource => 6,
            Self::Remote => 7,
            Self::Data => 8,
            Self::Damaged => 9,
        }
    }
}

impl TableError {
    /// Who can mend it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Store { fault, .. } => fault.kind(),
            Self::Io { .. } | Self::TooLarge { .. } => ErrorKind::Resource,
            Self::NoTable { .. } | Self::OtherTable { .. } | Self::BadName { .. } | Self::Server { .. } => {
                ErrorKind::Usage
            }
            Self::StaleVersion { .. } | Self::Busy { .. } | Self::Interrupted { .. } => ErrorKind::Refused,
            _ => ErrorKind::Damaged,
        }
    }
}
