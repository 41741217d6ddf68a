// SPDX-License-Identifier: Apache-2.0
//! What a worker refuses or fails at, with the place: errors travel from one machine to another.

use hush_exec::ExecError;
use hush_table::error::ErrorKind;
use hush_table::{TableError, TableUriError};

/// A fault at a place.
#[derive(Debug, thiserror::Error)]
#[error("{place}: {fault}")]
pub struct WorkerError {
    /// The table's place.
    pub place: String,
    /// What is wrong there.
    #[source]
    pub fault: WorkerFault,
}

/// What is wrong at a place.
#[derive(Debug, thiserror::Error)]
pub enum WorkerFault {
    /// The engine refused or failed.
    #[error(transparent)]
    Exec(#[from] ExecError),
    /// There is no table, or it cannot be reached.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The text names no place.
    #[error(transparent)]
    Uri(#[from] TableUriError),
}

impl WorkerError {
    pub(crate) fn at(place: &str, fault: impl Into<WorkerFault>) -> Self {
        Self { place: place.to_owned(), fault: fault.into() }
    }

    /// The stable code.
    pub fn code(&self) -> &'static str {
        match &self.fault {
            WorkerFault::Exec(source) => source.code(),
            WorkerFault::Table(source) => source.code(),
            WorkerFault::Uri(_) => "HUSH-U001",
        }
    }

    /// Who can mend it.
    pub fn kind(&self) -> ErrorKind {
        match &self.fault {
            WorkerFault::Exec(source) => match source.kind() {
                hush_exec::ErrorKind::Limit | hush_exec::ErrorKind::Io => ErrorKind::Resource,
                hush_exec::ErrorKind::Corrupt => ErrorKind::Damaged,
                hush_exec::ErrorKind::Internal => ErrorKind::Internal,
                _ => ErrorKind::Refused,
            },
            WorkerFault::Table(source) => source.kind(),
            WorkerFault::Uri(_) => ErrorKind::Usage,
        }
    }
}
