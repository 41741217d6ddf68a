// SPDX-License-Identifier: Apache-2.0
//! Downloads tables from a server, and compares them with the owner's pins.

use std::path::Path;

use hush_remote::{Progress, RemoteServer};
use hush_table::SignedManifest;

use crate::error::ClientError;
use crate::owner::OwnerKey;
use crate::pins::Pins;
use crate::place::TablePlace;
use crate::replace::present_in;

/// Downloads the newest version of the table `name` on a server into a directory: ciphertext and clear columns, byte by byte as
/// the server has them. Before anything is written, it checks that the manifest is this key's, no older than the version seen,
/// and of the table that was seen under the name. Every part must have the digest that the manifest names. Called again, it
/// continues, mends damaged parts, or goes on to a newer version.
///
/// # Errors
/// [`ClientError::Occupied`] for a directory that holds anything but a table, [`ClientError::Table`] for one that holds another
/// table; another key, another table under the name, a rollback; [`ClientError::Remote`].
pub fn pull(
    server: &RemoteServer,
    name: &str,
    directory: &Path,
    key: &OwnerKey,
    pins: &Pins,
    progress: &dyn Progress,
) -> Result<SignedManifest, ClientError> {
    let opened = TablePlace::Server(server, name).open(key.seed(), pins)?;
    present_in(directory)?;
    server.pull(&opened.manifest, directory, progress)?;
    TablePlace::Directory(directory).remember(&opened.manifest, pins)?;
    Ok(opened.manifest)
}
