// SPDX-License-Identifier: Apache-2.0
//! Uploading a table: the parts that the server lacks or has damaged, each from its present offset, and the manifest last.
//!
//! The server reads every part that it claims to have (`verify=true`), and writes its manifest again if that is damaged. So
//! a push mends files that a disk lost. Requests: one about the table, at most two for each part (one for a small part of a
//! table that the server does not know), one for the manifest.
//!
//! Two parts are under way at a time: one is read and sent while the server waits for its disk to have the other.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use hush_protocol::code;
use hush_protocol::table::Present;
use hush_table::part::FileKind;
use hush_table::{PartFile, SignedManifest, TableStore, to_hex};

use super::deliver::commit;
use super::transport::{Call, Transport};
use super::upload::{Upload, Uploaded};
use super::{RemoteError, SHORT_MAX_BYTES, table_path};
use crate::progress::Progress;

/// Uploads that are under way at a time.
const UNDER_WAY: usize = 2;
/// Parts up to this length take less time than the thread that would send another one meanwhile.
const ALONE_BYTES: u64 = 1 << 20;

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
    table: &TableStore,
    progress: &dyn Progress,
) -> Result<PushReport, RemoteError> {
    // The whole table is read anyway, so lost hash trees of its parts are made again.
    let store = table.clone().mending_trees();
    let manifest = store.load()?;
    let body = manifest.manifest();
    let base = table_path(&body.table)?;
    let mut report = PushReport { version: body.version, ..PushReport::default() };
    let [first, last] = part_files(&manifest);
    let known = check_place(transport, &base, &manifest)?;
    let total = first.iter().chain(&last).map(|(_, file)| file.bytes).sum();
    progress.begin("push", Some(total), "bytes");
    for files in [first, last] {
        let upload = |(kind, file)| {
            let (store, base) = (&store, base.as_str());
            Upload { transport, store, base, kind, file, expected: known, progress }.run()
        };
        for uploaded in each_of(files, &upload)? {
            if uploaded.sent == 0 {
                report.parts_present += 1;
            } else {
                report.parts_sent += 1;
                report.parts_replaced += u64::from(uploaded.replaced);
                report.bytes_sent += uploaded.sent;
            }
        }
    }
    commit(transport, &manifest)?;
    progress.end();
    Ok(report)
}

/// Uploads files, [`UNDER_WAY`] at a time where one of them is large. After an error no further upload begins.
fn each_of(
    files: Vec<(FileKind, PartFile)>,
    upload: &(impl Fn((FileKind, PartFile)) -> Result<Uploaded, RemoteError> + Sync),
) -> Result<Vec<Uploaded>, RemoteError> {
    let is_small = |(_, file): &(FileKind, PartFile)| file.bytes <= ALONE_BYTES;
    if files.len() < 2 || files.iter().all(is_small) {
        return files.into_iter().map(upload).collect();
    }
    let left = Mutex::new(files.into_iter());
    let taken = || left.lock().unwrap_or_else(PoisonError::into_inner);
    let work = || {
        let mut uploads = Vec::new();
        loop {
            // The lock is given back before the upload begins.
            let next = taken().next();
            let Some(file) = next else { return Ok(uploads) };
            match upload(file) {
                Ok(uploaded) => uploads.push(uploaded),
                Err(error) => {
                    taken().by_ref().for_each(drop);
                    return Err(error);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..UNDER_WAY).map(|_| scope.spawn(work)).collect();
        let mut uploads = work();
        for other in others {
            let other = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            uploads = uploads.and_then(|mut uploads| {
                uploads.extend(other?);
                Ok(uploads)
            });
        }
        uploads
    })
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
    if present.verifying_key != to_hex(manifest.key_at(present.version)) {
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

/// Each file of parts and keys once, those of clear columns apart: a push that breaks off has sent clear columns only if all
/// encrypted ones are there.
pub(super) fn part_files(manifest: &SignedManifest) -> [Vec<(FileKind, PartFile)>; 2] {
    let parts = &manifest.manifest().parts;
    let encrypted = parts.iter().filter_map(|part| Some((FileKind::Encrypted, part.encrypted?)));
    let clear = parts.iter().filter_map(|part| Some((FileKind::Clear, part.clear?)));
    let keys = manifest.manifest().keys.iter().map(|entry| (FileKind::Key, entry.file));
    let dead = parts.iter().filter_map(|part| Some((FileKind::Dead, part.dead?.file)));
    let cubes = parts.iter().filter_map(|part| Some((FileKind::Cubes, part.cubes.as_ref()?.file)));
    let runs = parts.iter().filter_map(|part| Some((FileKind::Runs, part.runs.as_ref()?.file)));
    let zones = manifest.manifest().zones.map(|file| (FileKind::Zones, file));
    let mut seen = HashSet::new();
    let mut once = |part: &(FileKind, PartFile)| seen.insert(*part);
    let first = encrypted.chain(keys).chain(dead).chain(cubes).chain(runs).filter(&mut once).collect();
    // Bounds are values of clear columns.
    [first, clear.chain(zones).filter(&mut once).collect()]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use hush_table::Digest;

    use super::*;

    fn files(bytes: impl IntoIterator<Item = u64>) -> Vec<(FileKind, PartFile)> {
        let file =
            |(index, bytes): (usize, u64)| PartFile { bytes, digest: Digest::of(&index.to_le_bytes()) };
        bytes.into_iter().enumerate().map(|part| (FileKind::Encrypted, file(part))).collect()
    }

    #[test]
    fn large_files_are_uploaded_once_each_two_at_a_time() {
        let files = files([ALONE_BYTES + 1; 10]);
        let (done, together) = (Mutex::new(Vec::new()), Barrier::new(UNDER_WAY));
        let uploads = each_of(files.clone(), &|file: (FileKind, PartFile)| {
            // Waits for another upload, so this ends only if two are under way at a time.
            together.wait();
            done.lock().unwrap().push(file);
            Ok(Uploaded { sent: file.1.bytes, replaced: false })
        });
        assert_eq!(uploads.unwrap().iter().map(|upload| upload.sent).sum::<u64>(), 10 * (ALONE_BYTES + 1));
        let done = done.into_inner().unwrap();
        let names = |files: &[(FileKind, PartFile)]| -> BTreeSet<String> {
            files.iter().map(|(kind, file)| kind.file_name(&file.digest)).collect()
        };
        assert_eq!((done.len(), names(&done)), (10, names(&files)));
    }

    #[test]
    fn small_files_are_uploaded_in_order() {
        let files = files([ALONE_BYTES, 1, 2, 3]);
        let done = Mutex::new(Vec::new());
        each_of(files.clone(), &|file| {
            done.lock().unwrap().push(file);
            Ok(Uploaded::default())
        })
        .unwrap();
        assert_eq!(done.into_inner().unwrap(), files);
    }

    #[test]
    fn no_upload_begins_after_an_error() {
        for at in [0, 3] {
            let begun = AtomicUsize::new(0);
            let found = each_of(files([ALONE_BYTES + 1; 50]), &|_| {
                let number = begun.fetch_add(1, Ordering::SeqCst);
                if number >= at { Err(RemoteError::Certificate) } else { Ok(Uploaded::default()) }
            });
            assert!(matches!(found, Err(RemoteError::Certificate)));
            // The one that failed, and those that were under way meanwhile.
            assert!(begun.into_inner() <= at + UNDER_WAY, "{at}");
        }
    }
}
