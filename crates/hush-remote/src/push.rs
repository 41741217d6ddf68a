// SPDX-License-Identifier: Apache-2.0
//! Uploading a table: the parts that the server lacks or has damaged, each from its present offset, and the manifest last.
//!
//! The server reads every part that it claims to have (`verify=true`), and writes its manifest again if that is damaged. So
//! a push mends files that a disk lost. Requests: one about the table, at most two for each part (one for a small part of a
//! table that the server does not know), one for the manifest.

use std::collections::HashSet;
use std::path::Path;

use hush_protocol::code;
use hush_protocol::table::Present;
use hush_table::part::PartKind;
use hush_table::{PartFile, SignedManifest, TableStore, to_hex};

use super::deliver::commit;
use super::transport::{Call, Transport};
use super::upload::Upload;
use super::{RemoteError, SHORT_MAX_BYTES, table_path};
use crate::progress::Progress;

/// The outcome of a push.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PushReport {
    /// Part files that were uploaded.
    pub parts_sent: u64,
    /// Of these: part files that the server had, but damaged.
    pub parts_replaced: u64,
    /// Part files that the server had already, by its word after it read them.
    pub parts_present: u64,
    /// Bytes of parts that were sent.
    pub bytes_sent: u64,
    /// Version that the server has now.
    pub version: u64,
}

pub(super) fn push(
    transport: &Transport,
    directory: &Path,
    progress: &dyn Progress,
) -> Result<PushReport, RemoteError> {
    // The whole table is read anyway, so lost hash trees of its parts are made again.
    let store = TableStore::local_existing(directory)?.mending_trees();
    let manifest = store.load()?;
    let body = manifest.manifest();
    let base = table_path(&body.table)?;
    let mut report = PushReport { version: body.version, ..PushReport::default() };
    let parts = part_files(&manifest);
    let known = check_place(transport, &base, &manifest)?;
    let total = parts.iter().map(|(_, file)| file.bytes).sum();
    progress.begin("push", Some(total), "bytes");
    for (kind, file) in parts {
        let upload = Upload {
            transport,
            store: &store,
            directory,
            base: &base,
            kind,
            file,
            expected: known,
            progress,
        };
        let uploaded = upload.run()?;
        if uploaded.sent == 0 {
            report.parts_present += 1;
        } else {
            report.parts_sent += 1;
            report.parts_replaced += u64::from(uploaded.replaced);
            report.bytes_sent += uploaded.sent;
        }
    }
    commit(transport, &manifest)?;
    progress.end();
    Ok(report)
}

/// Whether the server knows the table. Refuses another owner's table, another one of this owner, or a newer version, before
/// bytes move. The server would refuse it after.
fn check_place(transport: &Transport, base: &str, manifest: &SignedManifest) -> Result<bool, RemoteError> {
    let present: Present = match transport.json(&Call::get(base, 16 * SHORT_MAX_BYTES)) {
        Err(error) if error.server_code() == Some(code::NO_TABLE) => return Ok(false),
        known => known?,
    };
    let body = manifest.manifest();
    let (url, table) = (transport.url().to_owned(), body.table.clone());
    if present.verifying_key != to_hex(manifest.key()) {
        return Err(RemoteError::OtherOwner { url, table });
    }
    if present.table_id != body.table_id.to_string() {
        return Err(RemoteError::OtherTable { url, table });
    }
    if present.version >= body.version && present.manifest != manifest.digest().to_string() {
        return Err(RemoteError::Newer { url, table, found: present.version, pushed: body.version });
    }
    Ok(true)
}

/// Each file of parts and keys once. Encrypted ones first: a push that breaks off has sent clear columns only if all
/// encrypted ones are there.
pub(super) fn part_files(manifest: &SignedManifest) -> Vec<(PartKind, PartFile)> {
    let parts = &manifest.manifest().parts;
    let encrypted = parts.iter().filter_map(|part| Some((PartKind::Encrypted, part.encrypted?)));
    let clear = parts.iter().filter_map(|part| Some((PartKind::Clear, part.clear?)));
    let keys = manifest.manifest().keys.iter().map(|entry| (PartKind::Key, entry.file));
    let mut seen = HashSet::new();
    encrypted.chain(keys).chain(clear).filter(|part| seen.insert(*part)).collect()
}
