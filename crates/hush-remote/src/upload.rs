// SPDX-License-Identifier: Apache-2.0
//! Uploads one part from its offset on the server, for pushes and deliveries alike.

use std::io::{self, Read};

use hush_protocol::header::{PART_DAMAGED, UPLOAD_COMPLETE, UPLOAD_OFFSET, YES};
use hush_protocol::{code, path};
use hush_table::part::FileKind;
use hush_table::{PartFile, TableStore};

use super::RemoteError;
use super::transport::{Call, Method, Transport};
use crate::progress::Progress;

/// A part's path below a table's.
pub(super) fn part_path(base: &str, kind: FileKind, file: &PartFile) -> String {
    let ending = match kind {
        FileKind::Clear => path::CLEAR,
        FileKind::Encrypted => path::ENCRYPTED,
        FileKind::Key => path::KEY,
        FileKind::Zones => path::ZONES,
        FileKind::Dead => path::DEAD,
        FileKind::Cubes => path::CUBES,
        FileKind::Runs => path::RUNS,
    };
    path::part(base, &path::part_name(&file.digest.to_string(), ending))
}

/// Bodies up to this length are sent without waiting for leave. Parts up to this length that a server cannot have are sent
/// without asking for their offset. Asking takes longer than sending. A server that refuses such a body reads past it.
const UNASKED_BYTES: u64 = 1 << 20;

/// With this header a refusal arrives before the bytes of a long body leave, instead of breaking the connection under them.
pub(super) fn expect(length: u64) -> Option<(&'static str, String)> {
    (length > UNASKED_BYTES).then(|| ("expect", "100-continue".to_owned()))
}

pub(super) struct Upload<'a> {
    pub(super) transport: &'a Transport,
    pub(super) store: &'a TableStore,
    pub(super) base: &'a str,
    pub(super) kind: FileKind,
    pub(super) file: PartFile,
    /// Whether the server may have the part, or some of it.
    pub(super) expected: bool,
    pub(super) progress: &'a dyn Progress,
}

/// The outcome of an upload.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Uploaded {
    /// Bytes that were sent, 0 if the server had the part.
    pub(super) sent: u64,
    /// Whether the server had it, but damaged.
    pub(super) replaced: bool,
}

/// The bytes of a part that a server has.
enum Standing {
    Whole,
    /// Bytes up to here, from a broken upload; perhaps beside a damaged file.
    UpTo {
        offset: u64,
        damaged: bool,
    },
}

/// The outcome of one try.
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
        let mut unasked = !self.expected && self.file.bytes <= UNASKED_BYTES;
        loop {
            let standing = match std::mem::take(&mut unasked) {
                true => Ok(Standing::UpTo { offset: 0, damaged: false }),
                false => self.standing(&path),
            };
            let offset = match standing {
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
            match self.send_from(&path, offset, &mut uploaded, &mut shown) {
                Ok(Step::Complete) => break,
                // All bytes that were left have been sent. Those that the server still lacks may be lost again.
                Ok(Step::Again) => backoff.after(self.transport.broken("the upload is not complete"))?,
                // The bytes that the server had may be wrong: try once more from the start.
                Err(error) if error.server_code() == Some(code::WRONG_DIGEST) && !rejected && offset > 0 => {
                    rejected = true
                }
                Err(error) => backoff.after(error)?,
            }
        }
        self.progress.advance(self.file.bytes.saturating_sub(shown));
        Ok(uploaded)
    }

    /// The offset of the upload, once the server has verified its bytes.
    fn standing(&self, path: &str) -> Result<Standing, RemoteError> {
        let path = format!("{path}?verify=true");
        let call = Call::new(Method::Head, &path);
        let response = self.transport.begin(&call, 0, &mut io::empty())?;
        let status = response.status().as_u16();
        if status == 200 {
            return Ok(Standing::Whole);
        }
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        let stands = header(UPLOAD_OFFSET).and_then(|value| value.parse().ok());
        let damaged = header(PART_DAMAGED) == Some(YES);
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
        uploaded: &mut Uploaded,
        shown: &mut u64,
    ) -> Result<Step, RemoteError> {
        // Checks the digest the first time, so that a damaged local file is named here and not by the server.
        let local = self.store.part_at_hand(self.kind, &self.file)?;
        let left = self.file.bytes - offset;
        let range = format!("bytes {offset}-{}/{}", self.file.bytes - 1, self.file.bytes);
        let headers = [("content-range", range)].into_iter().chain(expect(left)).collect();
        let call = Call { headers, ..Call::new(Method::Put, path) };
        let before = uploaded.sent;
        let sent = &mut uploaded.sent;
        let mut source =
            Watched { inner: local.reader(offset), at: offset, sent, shown, progress: self.progress };
        let response = self.transport.begin(&call, left, &mut source)?;
        let was_there = response.status().as_u16() == 200;
        match self.transport.reply(&call, response) {
            Ok(reply) => {
                let says = |name: &str| reply.headers.get(name).is_some_and(|value| value == YES);
                uploaded.replaced |= says(PART_DAMAGED);
                if was_there {
                    // The server had the part, and read past the bytes.
                    uploaded.sent = before;
                }
                Ok(if says(UPLOAD_COMPLETE) { Step::Complete } else { Step::Again })
            }
            Err(error) if error.server_code() == Some(code::WRONG_OFFSET) => {
                // Somebody else moved the upload; its new offset is asked for after a pause.
                let url = self.transport.url().to_owned();
                Err(RemoteError::Busy { url, code: code::WRONG_OFFSET.into(), retry_after: None })
            }
            Err(error) => Err(error),
        }
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
