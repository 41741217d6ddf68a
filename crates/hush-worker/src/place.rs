// SPDX-License-Identifier: Apache-2.0
//! From the text of a place to the store of the table there. Everything that a worker reads comes through this.

use hush_table::{TableStore, TableUri};

use crate::error::WorkerFault;

/// The store of the table at a place, as people write it.
///
/// # Errors
/// [`WorkerFault`] for a place that is none, for a server, and for a directory without table. Of an object store nothing is asked yet.
pub(crate) fn store(place: &str) -> Result<TableStore, WorkerFault> {
    match place.parse()? {
        TableUri::Directory(directory) => Ok(TableStore::local_existing(directory)?),
        TableUri::Server { .. } => Err(WorkerFault::Server),
        object @ TableUri::Object { .. } => Ok(TableStore::at(&object)?),
    }
}
