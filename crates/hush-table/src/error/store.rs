// SPDX-License-Identifier: Apache-2.0
//! Why an object store did not do what it was asked, in words of this crate: what stores and their clients say may hold addresses,
//! names of keys and signed requests, of which nothing is repeated.

use std::fmt;

use super::{ErrorKind, Operation, TableError};

/// Why an object store did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreFault {
    /// The bucket or container does not exist.
    #[error("there is no such bucket")]
    NoBucket,
    /// Nothing in the environment says who asks.
    #[error("the environment has no credentials for the store")]
    NoCredentials,
    /// The credentials are unknown, wrong or expired.
    #[error("the store does not take the credentials{said}")]
    Credentials {
        /// The store's own code.
        said: Said,
    },
    /// Whoever asks may not do this.
    #[error("the store does not allow it{said}")]
    Forbidden {
        /// The store's own code.
        said: Said,
    },
    /// No connection.
    #[error("the store cannot be reached ({tries} tries)")]
    Unreachable {
        /// Requests that were sent.
        tries: u32,
    },
    /// No answer in time, or the request to come back later, until the tries were used up.
    #[error("the store is too slow or has too much to do{said} ({tries} tries)")]
    Slow {
        /// Requests that were sent.
        tries: u32,
        /// The store's own code.
        said: Said,
    },
    /// The connection ended before the answer did.
    #[error("its answers break off")]
    Cut,
    /// Another refusal.
    #[error("the store refuses with status {status}{said}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The store's own code.
        said: Said,
    },
    /// The store, or what stands in its place, does not answer as one does.
    #[error("the answer is not that of an object store")]
    Answer,
    /// Settings of the environment contradict each other or cannot be read.
    #[error("the environment does not say how to reach the store: {what}")]
    Settings {
        /// Which, without values.
        what: &'static str,
    },
    /// A prefix that no object can have.
    #[error("a prefix has no empty segment, and none that is . or ..")]
    Prefix,
}

/// The code by which a store explains a refusal, if it gave one: letters and digits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said(Option<String>);

impl Said {
    /// Longest code that is repeated.
    const MAX_BYTES: usize = 48;

    /// A code, if it looks like one.
    pub fn of(code: &str) -> Self {
        let is_code = (1..=Self::MAX_BYTES).contains(&code.len())
            && code.bytes().all(|byte| byte.is_ascii_alphanumeric());
        Self(is_code.then(|| code.to_owned()))
    }

    /// The code.
    pub fn code(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |code| write!(f, " ({code})"))
    }
}

impl StoreFault {
    /// Who can mend it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::NoBucket | Self::Settings { .. } | Self::Prefix => ErrorKind::Usage,
            Self::NoCredentials | Self::Credentials { .. } | Self::Forbidden { .. } => ErrorKind::Key,
            _ => ErrorKind::Remote,
        }
    }

    /// Whether the same request may succeed later.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Slow { .. } | Self::Cut)
    }

    /// What a person can do about it.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::NoBucket => {
                "make the bucket, or correct its name; tables make objects, no buckets. If it exists, check region and endpoint"
            }
            Self::NoCredentials => {
                "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, GOOGLE_SERVICE_ACCOUNT, or AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY"
            }
            Self::Credentials { .. } => {
                "correct or renew the credentials in the environment, and run the same command again"
            }
            Self::Forbidden { .. } => {
                "let these credentials read, write, list and delete objects below the table's prefix; reading takes the right to read and to list"
            }
            Self::Unreachable { .. } => {
                "check the network and the endpoint of the environment, and run the same command again"
            }
            Self::Slow { .. } | Self::Cut => {
                "run the same command again later; nothing half-written is visible"
            }
            Self::Refused { .. } | Self::Answer => "check region and endpoint in the environment",
            Self::Settings { .. } => "correct the settings in the environment",
            Self::Prefix => "write SCHEME://BUCKET/PREFIX",
        }
    }

    /// The kind of error of the operating system that is most like it.
    pub fn io_kind(&self) -> std::io::ErrorKind {
        use std::io::ErrorKind;
        match self {
            Self::NoCredentials | Self::Credentials { .. } | Self::Forbidden { .. } => {
                ErrorKind::PermissionDenied
            }
            Self::NoBucket => ErrorKind::NotFound,
            Self::Unreachable { .. } => ErrorKind::NotConnected,
            Self::Slow { .. } => ErrorKind::TimedOut,
            Self::Cut => ErrorKind::UnexpectedEof,
            _ => ErrorKind::Other,
        }
    }
}

/// A fault and its place, as the error below errors of other crates.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{place}: {fault}")]
pub(crate) struct StoreTrouble {
    /// `SCHEME://BUCKET/PATH`.
    pub(crate) place: String,
    pub(crate) fault: StoreFault,
}

impl StoreTrouble {
    /// The trouble as the error of an operation.
    pub(crate) fn during(&self, operation: Operation) -> TableError {
        TableError::Store { operation, place: self.place.clone(), fault: self.fault.clone() }
    }

    /// The trouble that an error, or one below it, is.
    pub(crate) fn below<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a Self> {
        let mut below = Some(error);
        while let Some(error) = below {
            // What an error of the operating system wraps is not its source, but itself.
            let inner = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
            let inner = inner.map(|inner| inner as &(dyn std::error::Error + 'static));
            if let Some(found) = error.downcast_ref().or_else(|| inner.and_then(Self::below)) {
                return Some(found);
            }
            below = error.source();
        }
        None
    }
}
