// SPDX-License-Identifier: Apache-2.0
//! Checks a server's copy of a table by download, for owners who do not take the server's word.

use hush_table::{Digest, SignedManifest};

use super::job::stream;
use super::push::part_files;
use super::upload::part_path;
use super::{RemoteError, RemoteServer, table_path};
use crate::progress::Progress;

/// Fetches the manifest and every part, in constant memory, and compares them with `manifest`. Returns the bytes of parts.
pub(super) fn check(
    server: &RemoteServer,
    manifest: &SignedManifest,
    progress: &dyn Progress,
) -> Result<u64, RemoteError> {
    let table = &manifest.manifest().table;
    let base = table_path(table)?;
    let same = |found: Digest, expected: Digest| {
        if found == expected { Ok(()) } else { Err(RemoteError::Altered { found, expected }) }
    };
    same(server.manifest(table)?.digest(), manifest.digest())?;
    let mut bytes = 0;
    for (kind, file) in part_files(manifest).into_iter().flatten() {
        let mut hasher = blake3::Hasher::new();
        let path = part_path(&base, kind, &file);
        stream(&server.transport, &path, file.bytes, progress, &mut |piece| {
            hasher.update(piece);
        })?;
        same(Digest::from_bytes(*hasher.finalize().as_bytes()), file.digest)?;
        bytes += file.bytes;
    }
    Ok(bytes)
}
