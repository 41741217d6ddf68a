// SPDX-License-Identifier: Apache-2.0
//! Uploading a table: what the server lacks or has damaged, from where it stands, and the manifest last.
//!
//! The server reads every part that it says it has (`verify=true`), and writes its manifest again if that is damaged, so
//! a push mends what a disk lost. Requests: one about the table, at most two for each part, one for the manifest.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use hush_table::part::PartKind;
use hush_table::store::PARTS_NAME;
use hush_table::{PartFile, SignedManifest, TableStore, to_hex};
use serde::Deserialize;

use super::deliver::commit;
use super::transport::{Call, Method, Transport};
use super::{RemoteError, SHORT_MAX_BYTES, table_path};
use crate::progress::Progress;

/// What a push did.
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

/// What a server says about a table that it has.
#[derive(Deserialize)]
struct Present {
    table_id: String,
    version: u64,
    manifest: String,
    verifying_key: String,
}

pub(super) fn push(
    transport: &Transport,
    directory: &Path,
    progress: &dyn Progress,
) -> Result<PushReport, RemoteError> {
    let store = TableStore::local_existing(directory)?;
    let manifest = store.load()?;
    let body = manifest.manifest();
    let base = table_path(&body.table)?;
    let mut report = PushReport { version: body.version, ..PushReport::default() };
    let parts = part_files(&manifest);
    check_place(transport, &base, &manifest)?;
    let total = parts.iter().map(|(_, file)| file.bytes).sum();
    progress.begin("push", Some(total), "bytes");
    for (kind, file) in parts {
        let upload = Upload { transport, store: &store, directory, base: &base, kind, file, progress };
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

/// Refuses another owner's table, another one of this owner, or a newer version, before bytes move; the server would refuse it after.
fn check_place(transport: &Transport, base: &str, manifest: &SignedManifest) -> Result<(), RemoteError> {
    let present: Present = match transport.json(&Call::get(base, 16 * SHORT_MAX_BYTES)) {
        Err(error) if error.server_code() == Some("HUSH-V014") => return Ok(()),
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
    Ok(())
}

/// Each part file once. Encrypted ones first: a push that breaks off has sent clear columns only if all
/// encrypted ones are there.
pub(super) fn part_files(manifest: &SignedManifest) -> Vec<(PartKind, PartFile)> {
    let parts = &manifest.manifest().parts;
    let encrypted = parts.iter().filter_map(|part| Some((PartKind::Encrypted, part.encrypted?)));
    let clear = parts.iter().filter_map(|part| Some((PartKind::Clear, part.clear?)));
    let mut seen = HashSet::new();
    encrypted.chain(clear).filter(|part| seen.insert(*part)).collect()
}

/// A part's path below a table's.
pub(super) fn part_path(base: &str, kind: PartKind, file: &PartFile) -> String {
    let half = match kind {
        PartKind::Clear => "clear",
        PartKind::Encrypted => "enc",
    };
    format!("{base}/parts/{}.{half}", file.digest)
}

/// With this header a refusal arrives before the bytes leave, instead of breaking the connection under them.
pub(super) fn expect() -> (&'static str, String) {
    ("expect", "100-continue".to_owned())
}

pub(super) struct Upload<'a> {
    pub(super) transport: &'a Transport,
    pub(super) store: &'a TableStore,
    pub(super) directory: &'a Path,
    pub(super) base: &'a str,
    pub(super) kind: PartKind,
    pub(super) file: PartFile,
    pub(super) progress: &'a dyn Progress,
}

/// What an upload came to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Uploaded {
    /// Bytes that were sent, 0 if the server had the part.
    pub(super) sent: u64,
    /// Whether the server had it, but damaged.
    pub(super) replaced: bool,
}

/// What a server has of a part.
enum Standing {
    Whole,
    /// Bytes up to here, from a broken upload; perhaps beside a damaged file.
    UpTo {
        offset: u64,
        damaged: bool,
    },
}

/// What one try came to.
enum Step {
    Complete,
    Again,
}

impl Upload<'_> {
    /// Uploads the part, unless the server has read it and found it sound.
    pub(super) fn run(&self) -> Result<Uploaded, RemoteError> {
        let path = part_path(self.base, self.kind, &self.file);
        let mut backoff = self.transport.backoff();
        let (mut uploaded, mut shown, mut reached) = (Uploaded::default(), 0, 0);
        let mut rejected = false;
        loop {
            let offset = match self.standing(&path) {
                Ok(Standing::Whole) => break,
                Ok(Standing::UpTo { offset, damaged }) => {
                    uploaded.replaced |= damaged;
                    offset
                }
                Err(error) => {
                    backoff.after(error)?;
                    continue;
                }
            };
            if offset > reached {
                backoff.progressed();
                reached = offset;
            }
            match self.send_from(&path, offset, &mut uploaded.sent, &mut shown) {
                Ok(Step::Complete) => break,
                // Everything that was left is sent: what the server still lacks may be lost again.
                Ok(Step::Again) => backoff.after(self.transport.broken("the upload is not complete"))?,
                // What the server had before may be what is wrong: once more from the start, where it now stands.
                Err(error) if error.server_code() == Some("HUSH-V013") && !rejected && offset > 0 => {
                    rejected = true
                }
                Err(error) => backoff.after(error)?,
            }
        }
        self.progress.advance(self.file.bytes.saturating_sub(shown));
        Ok(uploaded)
    }

    /// Where the upload stands, once the server has read what it has.
    fn standing(&self, path: &str) -> Result<Standing, RemoteError> {
        let path = format!("{path}?verify=true");
        let call = Call::new(Method::Head, &path);
        let response = self.transport.begin(&call, 0, &mut io::empty())?;
        let status = response.status().as_u16();
        if status == 200 {
            return Ok(Standing::Whole);
        }
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        let stands = header("upload-offset").and_then(|value| value.parse().ok());
        let damaged = header("part-damaged") == Some("?1");
        match (status, stands) {
            (404, Some(offset)) if offset < self.file.bytes => Ok(Standing::UpTo { offset, damaged }),
            // Complete but never checked, or of another length: begin anew.
            (404, Some(_)) => Ok(Standing::UpTo { offset: 0, damaged }),
            (404, None) => Err(self.transport.protocol("the state of an upload is missing")),
            _ => Err(self
                .transport
                .reply(&call, response)
                .err()
                .unwrap_or_else(|| self.transport.protocol("the state of an upload has an unknown form"))),
        }
    }

    fn send_from(
        &self,
        path: &str,
        offset: u64,
        sent: &mut u64,
        shown: &mut u64,
    ) -> Result<Step, RemoteError> {
        // Checks the digest the first time, so that a damaged local file is named here and not by the server.
        drop(self.store.open_part(self.kind, &self.file)?);
        let local = self.local_path();
        let opened = File::open(&local).and_then(|mut file| file.seek(SeekFrom::Start(offset)).map(|_| file));
        let file = opened.map_err(|source| RemoteError::File { path: local, source })?;
        let left = self.file.bytes - offset;
        let range = format!("bytes {offset}-{}/{}", self.file.bytes - 1, self.file.bytes);
        let headers = vec![("content-range", range), expect()];
        let call = Call { headers, ..Call::new(Method::Put, path) };
        let mut source = Watched { inner: file.take(left), at: offset, sent, shown, progress: self.progress };
        let response = self.transport.begin(&call, left, &mut source)?;
        match self.transport.reply(&call, response) {
            Ok(reply) if reply.headers.get("upload-complete").is_some_and(|value| value == "?1") => {
                Ok(Step::Complete)
            }
            Ok(_) => Ok(Step::Again),
            Err(error) if error.server_code() == Some("HUSH-V011") => {
                // Somebody else moved the upload; its new place is asked for after a pause.
                let url = self.transport.url().to_owned();
                Err(RemoteError::Busy { url, code: "HUSH-V011".into(), retry_after: None })
            }
            Err(error) => Err(error),
        }
    }

    fn local_path(&self) -> PathBuf {
        self.directory.join(PARTS_NAME).join(self.kind.file_name(&self.file.digest))
    }
}

/// Counts bytes as they leave; shows only those that were not shown before a resumption.
struct Watched<'a, R> {
    inner: R,
    at: u64,
    sent: &'a mut u64,
    shown: &'a mut u64,
    progress: &'a dyn Progress,
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.at += read as u64;
        *self.sent += read as u64;
        if self.at > *self.shown {
            self.progress.advance(self.at - *self.shown);
            *self.shown = self.at;
        }
        Ok(read)
    }
}
