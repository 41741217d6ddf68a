// SPDX-License-Identifier: Apache-2.0
//! From the text of a place to the store of the table there. Everything that a worker reads comes through this.

use hush_table::{TableStore, TableUri};

use crate::error::WorkerFault;

/// The store of the table at a place, as people write it: a directory that holds one, or a prefix in an object store, of which nothing is
/// asked yet.
///
/// # Errors
/// [`WorkerFault`] for a text that names no place, for a server, for a directory without a table, and if the environment does not say how
/// to reach the object store.
pub(crate) fn store(place: &str) -> Result<TableStore, WorkerFault> {
    Ok(match place.parse()? {
        TableUri::Directory(directory) => TableStore::local_existing(directory)?,
        elsewhere => TableStore::at(&elsewhere)?,
    })
}
