// SPDX-License-Identifier: Apache-2.0
//! Errors on the way to a server and back. Each front words the ways out that differ between fronts.

use std::path::PathBuf;
use std::time::Duration;

use hush_table::{Digest, TableError};

use hush_table::error::ErrorKind;

/// A failed exchange with a server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// No connection, after several tries.
    #[error(
        "{url} cannot be reached: {cause}\n  Ways out: check the address and that hush-server runs there; run the same command again, it continues."
    )]
    Unreachable {
        /// The server's address.
        url: String,
        /// The system's message.
        cause: String,
    },
    /// Too slow, after several tries.
    #[error("{url} does not answer in time\n  Way out: run the same command again later, it continues.")]
    Timeout {
        /// The server's address.
        url: String,
    },
    /// The server is at its limit: after several tries, or as long as it asked for patience, until the deadline.
    #[error("{url} is busy ({code})\n  Way out: run the same command again later, it continues.")]
    Busy {
        /// The server's address.
        url: String,
        /// The server's code.
        code: String,
        /// The time after which it asks for another try.
        retry_after: Option<Duration>,
    },
    /// No token or the wrong one.
    #[error("{url} {}", if *given { "refuses the API token" } else { "asks for an API token, and none was given" })]
    Unauthorised {
        /// The server's address.
        url: String,
        /// Whether a token was given.
        given: bool,
    },
    /// The server refused, with its own code and sentence.
    #[error("the server refuses ({code}): {message}")]
    Refused {
        /// HTTP status; 0 for a job that failed after it was accepted.
        status: u16,
        /// The server's code, `HUSH-V…` or `HUSH-E…`.
        code: String,
        /// The server's sentence, cleaned and cut.
        message: String,
    },
    /// The server has no such table.
    #[error(
        "{url} has no table {table:?} ({code})\n  Ways out: check the name against the list of the server's tables; push the table first."
    )]
    NoTable {
        /// The server's address.
        url: String,
        /// The name asked for.
        table: String,
        /// The server's code.
        code: String,
    },
    /// Not what a hush-server says.
    #[error(
        "{url} does not speak the protocol of hush-server: {what}\n  Ways out: check the address; use the same version on both sides."
    )]
    Protocol {
        /// The server's address.
        url: String,
        /// The fault.
        what: &'static str,
    },
    /// A response above its limit.
    #[error(
        "the server's response is larger than the limit of {limit} bytes\n  Way out: ask for fewer groups, rows or columns."
    )]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// Bytes that do not have their digest.
    #[error(
        "bytes from the server were altered on the way (found digest {found}, expected {expected})\n  Way out: run the same command again; if it stays, the server's storage is damaged."
    )]
    Altered {
        /// Digest found.
        found: Digest,
        /// Digest expected.
        expected: Digest,
    },
    /// Malformed address.
    #[error("{found} is not the address of a server: expected http(s)://host[:port]")]
    Url {
        /// The text found.
        found: String,
    },
    /// The token would cross a network unprotected.
    #[error(
        "{url} is another machine and http is not encrypted: the API token would be visible on the way\n  Ways out: use https (a proxy in front of hush-server); tunnel the port and use 127.0.0.1."
    )]
    PlainHttp {
        /// The server's address.
        url: String,
    },
    /// A server without TLS.
    #[error(
        "{url} answers without TLS: it speaks http and not https\n  Ways out: http:// in the address, for a server on this machine; a proxy with a certificate in front of hush-server."
    )]
    NotTls {
        /// The server's address.
        url: String,
    },
    /// TLS failed.
    #[error("no secure connection to {url}: {cause}\n  Way out: check the server's certificate.")]
    Tls {
        /// The server's address.
        url: String,
        /// The TLS library's message.
        cause: String,
    },
    /// Given certificates do not parse.
    #[error("the certificates given are not PEM certificates")]
    Certificate,
    /// A name that no server can have.
    #[error(
        "table name {found:?} cannot be used on a server: 1 to 64 letters, digits, _ and -\n  Way out: encrypt the table under such a name."
    )]
    TableName {
        /// The name.
        found: String,
    },
    /// Another key signed the server's table.
    #[error("{url} has a table {table} that was signed with another key")]
    OtherOwner {
        /// The server's address.
        url: String,
        /// The table.
        table: String,
    },
    /// The name is taken by another table of the same owner, which no version of this one replaces.
    #[error("{url} has another table under the name {table}: it is no version of this one")]
    OtherTable {
        /// The server's address.
        url: String,
        /// The name of both.
        table: String,
    },
    /// The server's table is as new or newer.
    #[error(
        "{url} has version {found} of table {table}, which does not come before this one, version {pushed}: the two were written apart"
    )]
    Newer {
        /// The server's address.
        url: String,
        /// The table.
        table: String,
        /// The server's version.
        found: u64,
        /// The local version.
        pushed: u64,
    },
    /// A token file.
    #[error("token file {path}: {fault}")]
    TokenFile {
        /// The file.
        path: PathBuf,
        /// The fault.
        fault: TokenFault,
    },
    /// The local table, or a manifest from the server.
    #[error(transparent)]
    Table(#[from] TableError),
    /// No randomness.
    #[error(transparent)]
    Randomness(#[from] hush_ring::RandomnessError),
    /// A plan of ours does not parse.
    #[error("internal: the plan to send is not a plan")]
    Plan,
}

/// The fault of a token file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenFault {
    /// Others can read it.
    #[error("other users can read it (mode {mode:o}); run chmod 600 on it")]
    Exposed {
        /// Its permission bits.
        mode: u32,
    },
    /// Not a token.
    #[error("does not hold a token (32 to 1024 printable characters on one line)")]
    Malformed,
    /// Cannot be read.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl RemoteError {
    /// A stable code. A server's own code is in the text, and in [`RemoteError::Refused`].
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } => "HUSH-R001",
            Self::Timeout { .. } => "HUSH-R002",
            Self::Busy { .. } => "HUSH-R003",
            Self::Unauthorised { .. } => "HUSH-R004",
            Self::Refused { .. } | Self::NoTable { .. } => "HUSH-R005",
            Self::Protocol { .. } => "HUSH-R006",
            Self::TooLarge { .. } => "HUSH-R007",
            Self::Altered { .. } => "HUSH-R008",
            Self::Url { .. } => "HUSH-R010",
            Self::PlainHttp { .. } => "HUSH-R011",
            Self::NotTls { .. } | Self::Tls { .. } => "HUSH-R012",
            Self::Certificate => "HUSH-R013",
            Self::TableName { .. } => "HUSH-R014",
            Self::TokenFile { .. } => "HUSH-R015",
            Self::OtherOwner { .. } => "HUSH-R020",
            Self::Newer { .. } => "HUSH-R021",
            Self::OtherTable { .. } => "HUSH-R025",
            Self::Table(source) => source.code(),
            Self::Randomness(_) => "HUSH-R031",
            Self::Plan => "HUSH-R099",
        }
    }

    /// The kind, by the person who can mend it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Unreachable { .. }
            | Self::Timeout { .. }
            | Self::Busy { .. }
            | Self::NoTable { .. }
            | Self::NotTls { .. }
            | Self::Refused { .. }
            | Self::Protocol { .. }
            | Self::Tls { .. } => ErrorKind::Remote,
            Self::Unauthorised { .. } | Self::TokenFile { .. } => ErrorKind::Key,
            Self::TooLarge { .. } | Self::Randomness(_) => ErrorKind::Resource,
            Self::Altered { .. } => ErrorKind::Damaged,
            Self::Table(source) => source.kind(),
            Self::OtherOwner { .. } | Self::OtherTable { .. } | Self::Newer { .. } => ErrorKind::Refused,
            Self::Url { .. } | Self::PlainHttp { .. } | Self::Certificate | Self::TableName { .. } => {
                ErrorKind::Usage
            }
            Self::Plan => ErrorKind::Internal,
        }
    }

    /// Whether the same request may succeed if it is sent again.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Timeout { .. } | Self::Busy { .. })
    }

    /// The time after which a server at its limit asks for another try.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Busy { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// The server's code, if it refused.
    pub fn server_code(&self) -> Option<&str> {
        match self {
            Self::Refused { code, .. } | Self::Busy { code, .. } | Self::NoTable { code, .. } => Some(code),
            _ => None,
        }
    }
}
