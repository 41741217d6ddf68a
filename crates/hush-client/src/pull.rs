// SPDX-License-Identifier: Apache-2.0
//! Takes tables over from a server or an object store, and compares them with the owner's pins.

use hush_remote::Progress;
use hush_table::SignedManifest;

use crate::error::ClientError;
use crate::owner::OwnerKey;
use crate::pins::Pins;
use crate::place::TablePlace;
use crate::replace::{copy_to, present_at};

/// Downloads the newest version of a table into a directory or an object store: ciphertext and clear columns, byte by byte as
/// they are there. Before anything is written, it checks that the manifest is this key's, no older than the version seen,
/// and of the table that was seen at the place. Every part must have the digest that the manifest names. Called again, it
/// continues, mends damaged parts, or goes on to a newer version.
///
/// # Errors
/// [`ClientError::Occupied`] for a place that holds anything but a table, [`ClientError::Table`] for one that holds another
/// table; another key, another table under the name, a rollback; [`ClientError::Remote`].
pub fn pull(
    table: TablePlace<'_>,
    to: TablePlace<'_>,
    key: &OwnerKey,
    pins: &Pins,
    progress: &dyn Progress,
) -> Result<SignedManifest, ClientError> {
    let opened = table.open(key.seed(), pins)?;
    match table {
        TablePlace::Server(server, _) => {
            present_at(to)?;
            server.pull_files(&opened.manifest, &to.made()?, progress)?;
        }
        TablePlace::Directory(_) | TablePlace::Bucket(_) => {
            copy_to(&opened.manifest, &table.files()?, to, None, progress)?;
        }
    }
    to.remember(&opened.manifest, pins)?;
    Ok(opened.manifest)
}

#[cfg(test)]
mod tests;
