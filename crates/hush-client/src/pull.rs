// SPDX-License-Identifier: Apache-2.0
//! Tables from a server, held to what the owner remembers of them.

use std::path::Path;

use hush_remote::{Progress, RemoteServer};
use hush_table::SignedManifest;
use hush_table::store::files::LOCK_NAME;
use hush_table::store::{MANIFEST_NAME, PARTS_NAME};

use crate::error::ClientError;
use crate::owner::OwnerKey;
use crate::pins::Pins;
use crate::table::open_private;

/// Downloads the newest version of the table `name` on a server into a directory: ciphertext and clear columns, byte by byte
/// what the server has. Before anything is written, the manifest is this key's, no older than what was seen of the table, and
/// of the table that was seen under the name; every part is held to the digest that the manifest names. Called again, it
/// continues, mends damaged parts, or goes on to a newer version.
///
/// # Errors
/// [`ClientError::Usage`] for a directory that holds anything but an earlier version of the table; another key, another table
/// under the name, a rollback; [`ClientError::Remote`].
pub fn pull(
    server: &RemoteServer,
    name: &str,
    directory: &Path,
    key: &OwnerKey,
    pins: &Pins,
    progress: &dyn Progress,
) -> Result<SignedManifest, ClientError> {
    let manifest = server.manifest(name)?;
    pins.check_place(&server.place(name), &manifest)?;
    open_private(&manifest, key.seed(), pins)?;
    let found = &manifest.manifest().table;
    if !found.eq_ignore_ascii_case(name) {
        let what = format!(
            "the server shows the table {found:?} under the name {name:?}\n  Way out: ask the server's operator."
        );
        return Err(ClientError::Usage { what });
    }
    require_room(directory)?;
    server.pull(&manifest, directory, progress)?;
    Ok(manifest)
}

/// Refuses a directory that holds something else than a table, finished or not.
fn require_room(directory: &Path) -> Result<(), ClientError> {
    let file_error = |source| ClientError::File { path: directory.to_owned(), source };
    let entries = match std::fs::read_dir(directory) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(file_error)?,
    };
    let names = entries.map(|entry| entry.map(|entry| entry.file_name()));
    let names = names.collect::<Result<Vec<_>, _>>().map_err(file_error)?;
    let is_table = names.iter().any(|name| name == MANIFEST_NAME);
    // A download that broke off leaves parts, and the lock of its writer.
    if is_table || names.iter().all(|name| name == PARTS_NAME || name == LOCK_NAME) {
        return Ok(());
    }
    let what = format!(
        "{} holds files that are not a table's\n  Way out: an empty directory, or a new one.",
        directory.display()
    );
    Err(ClientError::Usage { what })
}
