// SPDX-License-Identifier: Apache-2.0
//! Tables from a server, held to what the owner remembers of them.

use std::path::Path;

use hush_remote::{Progress, RemoteServer};
use hush_table::SignedManifest;

use crate::error::ClientError;
use crate::owner::OwnerKey;
use crate::pins::Pins;
use crate::replace::present_in;
use crate::table::open_private;

/// Downloads the newest version of the table `name` on a server into a directory: ciphertext and clear columns, byte by byte
/// what the server has. Before anything is written, the manifest is this key's, no older than what was seen of the table, and
/// of the table that was seen under the name; every part is held to the digest that the manifest names. Called again, it
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
    present_in(directory)?;
    server.pull(&manifest, directory, progress)?;
    Ok(manifest)
}
