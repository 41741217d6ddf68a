// SPDX-License-Identifier: Apache-2.0
//! One error for users of the facade: a kind, a stable code, a sentence and the ways out.

use std::io;

use hush_client::{ClientError, ErrorKind};
use hush_plan::error::Front;

/// What went wrong, for people and programs. Carries no value of a protected column.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    code: &'static str,
    message: String,
    source: Option<Box<ClientError>>,
}

impl Error {
    /// An error of usage: what is wrong and how to mend it.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Usage, code: "HUSH-U001", message: message.into(), source: None }
    }

    /// The output could not be written.
    pub fn output(error: io::Error) -> Self {
        Self {
            kind: ErrorKind::Resource,
            code: "HUSH-C040",
            message: format!("output: {error}"),
            source: None,
        }
    }

    /// A key or passphrase is missing or wrong.
    pub fn key(code: &'static str, message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Key, code, message: message.into(), source: None }
    }

    /// A bug of ours, found at `place` of the source.
    pub fn bug(place: &str) -> Self {
        let message = format!("internal: it failed at {place}\n  This is a bug: please report it.");
        Self { kind: ErrorKind::Internal, code: "HUSH-C099", message, source: None }
    }

    /// Who can mend it.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The stable code.
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// The sentence and the ways out, as the command line words them.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The sentence and the ways out, in the words of a front.
    pub fn message_for(&self, front: Front) -> String {
        self.source.as_ref().map_or_else(|| self.message.clone(), |source| source.report(front))
    }

    /// Exit status of the command line.
    pub fn exit_status(&self) -> u8 {
        self.kind.exit_status()
    }
}

impl From<ClientError> for Error {
    fn from(error: ClientError) -> Self {
        Self {
            kind: error.kind(),
            code: error.code(),
            message: error.report(Front::CommandLine),
            source: Some(Box::new(error)),
        }
    }
}

impl From<hush_client::ModelError> for Error {
    fn from(error: hush_client::ModelError) -> Self {
        ClientError::from(error).into()
    }
}

impl From<hush_client::KeyFileError> for Error {
    fn from(error: hush_client::KeyFileError) -> Self {
        ClientError::from(error).into()
    }
}

impl From<hush_table::TableError> for Error {
    fn from(error: hush_table::TableError) -> Self {
        ClientError::from(error).into()
    }
}

impl From<hush_table::source::SourceError> for Error {
    fn from(error: hush_table::source::SourceError) -> Self {
        ClientError::from(error).into()
    }
}

impl From<hush_edge::EdgeError> for Error {
    fn from(error: hush_edge::EdgeError) -> Self {
        ClientError::from(error).into()
    }
}

impl From<hush_client::remote::RemoteError> for Error {
    fn from(error: hush_client::remote::RemoteError) -> Self {
        ClientError::from(error).into()
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.code, self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
