// SPDX-License-Identifier: Apache-2.0
//! Downloading a table: the parts that are missing or damaged here, then the manifest into place.

use std::time::Duration;

use hush_table::{SignedManifest, TableStore};

use super::job::download;
use super::push::part_files;
use super::upload::part_path;
use super::{RemoteError, RemoteServer, table_path};
use crate::progress::Progress;

/// Time for which a download waits for other writers to a directory.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) fn pull(
    server: &RemoteServer,
    manifest: &SignedManifest,
    store: &TableStore,
    progress: &dyn Progress,
) -> Result<(), RemoteError> {
    let base = table_path(&manifest.manifest().table)?;
    // Nobody sweeps or purges what no version names yet.
    let access = store.wait_for_writers(PATIENCE)?;
    for (kind, file) in part_files(manifest).into_iter().flatten() {
        // Opening checks the digest, so a part of an earlier download is kept only if it is whole.
        if store.open_part(kind, &file).is_ok() {
            continue;
        }
        let path = part_path(&base, kind, &file);
        let bytes = download(&server.transport, &path, file.bytes, file.bytes, progress, &file.digest)?;
        store.put_received(kind, file, bytes.into())?;
    }
    Ok(access.commit(manifest)?)
}
