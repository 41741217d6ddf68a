// SPDX-License-Identifier: Apache-2.0
//! Downloading a table: the manifest, the parts that are missing here, then the manifest into place.

use std::path::Path;

use hush_table::{SignedManifest, TableStore};

use super::job::download;
use super::push::part_path;
use super::{RemoteError, RemoteServer, table_path};
use crate::progress::Progress;

pub(super) fn pull(
    server: &RemoteServer,
    table: &str,
    directory: &Path,
    progress: &dyn Progress,
) -> Result<SignedManifest, RemoteError> {
    let base = table_path(table)?;
    let manifest = server.manifest(table)?;
    let store = TableStore::local(directory)?;
    for (kind, file) in store.missing_parts(manifest.manifest())? {
        let path = part_path(&base, kind, &file);
        let bytes = download(&server.transport, &path, file.bytes, file.bytes, progress, &file.digest)?;
        store.put_received(kind, file, bytes.into())?;
    }
    store.commit(&manifest)?;
    Ok(manifest)
}
