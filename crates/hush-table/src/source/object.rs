// SPDX-License-Identifier: Apache-2.0
//! A file in an object store, read in ranges.
//!
//! *Invariants.* Every request asks for the object as it was found: its tag and its length, or its time where the store gives no tags. What
//! has changed since is [`ObjectFault::Changed`], in every pass. Of a file that is read in order at most three pieces are in memory.

use std::fmt;
use std::io::{self, Cursor, Read};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use object_store::path::Path as ObjectPath;
use object_store::{
    Error as StoreError, GetOptions, GetRange, OBJECT_STORE_COALESCE_DEFAULT, ObjectMeta, ObjectStore,
    ObjectStoreExt, coalesce_ranges,
};

use super::fault::ObjectFault;
use super::records::SNIFF_BYTES;
use super::{Format, Input, PARQUET_MAGIC, SourceError};
use crate::error::StoreTrouble;
use crate::part::{PartSource, ReadRanges, Run};
use crate::store::{Pending, as_io, block, start};

/// Bytes that are asked for at once where a file is read in order. The piece behind them is on its way meanwhile.
pub(super) const PIECE_BYTES: u64 = 2 << 20;
/// Bytes in which the format, the names of CSV and as a rule the index of Parquet are found.
const END_BYTES: u64 = SNIFF_BYTES as u64;
/// How files of Parquet are called as a rule. Their content decides; the name saves a request.
const PARQUET_ENDING: &str = ".parquet";

/// A store, and how its objects are called in messages.
#[derive(Clone)]
pub(super) struct Objects {
    pub(super) store: Arc<dyn ObjectStore>,
    /// What stands before a path: `SCHEME://BUCKET`.
    pub(super) root: Arc<str>,
}

/// A prefix, and the files below it.
#[derive(Clone)]
pub(super) struct ObjectFolder {
    pub(super) objects: Objects,
    pub(super) prefix: ObjectPath,
}

/// What tells a changed object from the one that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// Its tag.
    Tag(Box<str>),
    /// Nanoseconds since 1970 when it was written, where the store gives no tags.
    Written(i128),
}

/// A file.
pub(super) struct ObjectFile {
    objects: Objects,
    path: ObjectPath,
    bytes: u64,
    version: Version,
    /// What is known of its format, so that nothing is asked for twice.
    format: Option<Format>,
    ends: Mutex<EndsState>,
    /// Why the last read failed: decoders do not hand errors on as they are.
    trouble: Mutex<Option<ObjectFault>>,
}

/// The first bytes of a file, and the last ones of Parquet.
#[derive(Clone, Default)]
struct Ends {
    start: Option<Bytes>,
    tail: Option<Bytes>,
}

enum EndsState {
    Unread,
    Asked(Pending<Ends>),
    Here(Ends),
}

impl Objects {
    /// The address of an object.
    pub(super) fn place(&self, path: &ObjectPath) -> String {
        if path.as_ref().is_empty() { self.root.to_string() } else { format!("{}/{path}", self.root) }
    }

    /// What an error means that came while an object, or those below a prefix, were asked for.
    pub(super) fn fault(&self, path: &ObjectPath, error: StoreError) -> ObjectFault {
        let error = as_io(error);
        match StoreTrouble::below(&error) {
            Some(trouble) => ObjectFault::Store(trouble.clone()),
            None => ObjectFault::Other { place: self.place(path), what: error.to_string() },
        }
    }

    /// The object of this name; `None` if there is none.
    pub(super) fn look(&self, path: &ObjectPath) -> Result<Option<ObjectMeta>, ObjectFault> {
        let (store, asked) = (self.store.clone(), path.clone());
        match block(async move { store.head(&asked).await }) {
            Ok(meta) => Ok(Some(meta)),
            Err(StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.fault(path, error)),
        }
    }
}

impl Version {
    pub(super) fn of(meta: &ObjectMeta) -> Self {
        match &meta.e_tag {
            // Azure's lists give without quotes what its other answers, and the conditions of requests, have in them.
            Some(tag) if tag.starts_with("0x") => Self::Tag(format!("\"{tag}\"").into()),
            Some(tag) => Self::Tag(tag.as_str().into()),
            None => Self::Written(meta.last_modified.timestamp_nanos_opt().unwrap_or_default().into()),
        }
    }
}

impl ObjectFile {
    /// A file as it was found. `format` is what an earlier look at it has told.
    pub(super) fn new(
        objects: Objects,
        path: ObjectPath,
        bytes: u64,
        version: Version,
        format: Option<Format>,
    ) -> Self {
        let ends = Mutex::new(EndsState::Unread);
        Self { objects, path, bytes, version, format, ends, trouble: Mutex::default() }
    }

    /// Length.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What tells it from another of its name.
    pub(super) fn version(&self) -> &Version {
        &self.version
    }

    /// Its address.
    pub(super) fn place(&self) -> String {
        self.objects.place(&self.path)
    }

    /// Its name, without those of its folders.
    pub(super) fn name(&self) -> &str {
        self.path.filename().unwrap_or_default()
    }

    /// Asks for the ends of the file, and does not wait for them.
    pub(super) fn begin(self: &Arc<Self>) {
        let mut ends = self.lock_ends();
        if matches!(*ends, EndsState::Unread) {
            let file = self.clone();
            *ends = EndsState::Asked(start(async move { file.find_ends().await }));
        }
    }

    /// A reader of the first bytes: of Parquet those that tell it, of CSV as many as are asked for.
    pub(super) fn beginning(self: &Arc<Self>) -> io::Result<Input> {
        let ends = self.ends()?;
        if ends.tail.is_some() {
            return Ok(Box::new(Cursor::new(PARQUET_MAGIC)));
        }
        let start = ends.start.unwrap_or_default();
        let next = start.len() as u64;
        Ok(Box::new(Cursor::new(start).chain(ObjectReader::new(self.clone(), next))))
    }

    /// A reader of all bytes, in order.
    pub(super) fn reader(self: &Arc<Self>) -> io::Result<impl Read + Send + use<>> {
        let asked = !matches!(*self.lock_ends(), EndsState::Unread);
        // What the file's beginning was needed for is known by now: its memory goes to the first pass.
        let start = if asked { self.ends()?.start.unwrap_or_default() } else { Bytes::new() };
        *self.lock_ends() = EndsState::Unread;
        let next = start.len() as u64;
        Ok(Cursor::new(start).chain(ObjectReader::new(self.clone(), next)))
    }

    /// Its bytes for a reader of ranges. Each read is a request, but for those of the ends that are here.
    pub(super) fn ranges(self: &Arc<Self>) -> io::Result<PartSource> {
        let Ends { start, tail } = self.ends()?;
        let tail = tail.map(|tail| Run::new(self.bytes.saturating_sub(tail.len() as u64), tail));
        let runs: Vec<Run> = start.map(|start| Run::new(0, start)).into_iter().chain(tail).collect();
        Ok(PartSource::from_object(Arc::new(Ranges(self.clone())), self.bytes, runs))
    }

    /// Asks for a range by one request, and does not wait for its bytes.
    pub(super) fn ask(self: &Arc<Self>, range: Range<u64>) -> Pending<Bytes> {
        let file = self.clone();
        start(async move { file.fetch(range).await })
    }

    /// Waits for the bytes of a range.
    pub(super) fn wait(&self, asked: Pending<Bytes>) -> io::Result<Bytes> {
        self.noted(asked.wait())
    }

    /// Why the last read failed, told once.
    pub(super) fn trouble(&self) -> Option<SourceError> {
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner).take();
        trouble.map(SourceError::from)
    }

    /// The ends, which are asked for if nobody has.
    fn ends(self: &Arc<Self>) -> io::Result<Ends> {
        self.begin();
        let mut state = self.lock_ends();
        match std::mem::replace(&mut *state, EndsState::Unread) {
            EndsState::Here(ends) => {
                *state = EndsState::Here(ends.clone());
                Ok(ends)
            }
            EndsState::Asked(pending) => {
                let ends = self.noted(pending.wait())?;
                *state = EndsState::Here(ends.clone());
                Ok(ends)
            }
            EndsState::Unread => Ok(Ends::default()),
        }
    }

    fn lock_ends(&self) -> MutexGuard<'_, EndsState> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds the ends: one request for CSV, and for Parquet of that name or of which it is known.
    async fn find_ends(&self) -> Result<Ends, StoreError> {
        let tail = self.bytes.saturating_sub(END_BYTES)..self.bytes;
        let is_short = tail.start == 0;
        let looks_like_parquet = self.path.as_ref().ends_with(PARQUET_ENDING);
        if self.format == Some(Format::Parquet) || (self.format.is_none() && looks_like_parquet) {
            let bytes = self.fetch(tail.clone()).await?;
            if bytes.ends_with(PARQUET_MAGIC) {
                return Ok(Ends { start: is_short.then(|| bytes.clone()), tail: Some(bytes) });
            }
        }
        let first = if self.format.is_some() { PIECE_BYTES } else { END_BYTES };
        let start = self.fetch(0..first.min(self.bytes)).await?;
        let is_parquet = start.starts_with(PARQUET_MAGIC);
        let tail = match (is_parquet, is_short) {
            (false, _) => None,
            (true, true) => Some(start.clone()),
            (true, false) => Some(self.fetch(tail).await?),
        };
        Ok(Ends { start: Some(start), tail })
    }

    /// Asks for a range of the object as it was found.
    async fn fetch(&self, range: Range<u64>) -> Result<Bytes, StoreError> {
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        let changed = || StoreError::Precondition { path: self.place(), source: "it has changed".into() };
        let if_match = match &self.version {
            Version::Tag(tag) => Some(tag.to_string()),
            Version::Written(_) => None,
        };
        let (length, range) = (range.end - range.start, Some(GetRange::Bounded(range)));
        let options = GetOptions { range, if_match, ..GetOptions::default() };
        let found = self.objects.store.get_opts(&self.path, options).await?;
        if found.meta.size != self.bytes || Version::of(&found.meta) != self.version {
            return Err(changed());
        }
        let bytes = found.bytes().await?;
        if bytes.len() as u64 == length { Ok(bytes) } else { Err(changed()) }
    }

    /// A result with an error of ours, of which a note is kept.
    fn noted<T>(&self, result: Result<T, StoreError>) -> io::Result<T> {
        result.map_err(|error| {
            let fault = match error {
                StoreError::Precondition { .. } | StoreError::NotFound { .. } => {
                    ObjectFault::Changed { place: self.place() }
                }
                error => self.objects.fault(&self.path, error),
            };
            *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(fault.clone());
            fault.into()
        })
    }
}

/// The file's parts for whoever asks for several at a time.
#[derive(Debug)]
struct Ranges(Arc<ObjectFile>);

impl ReadRanges for Ranges {
    fn read_ranges(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        let (file, ranges) = (self.0.clone(), ranges.to_vec());
        let fetched = block(async move {
            coalesce_ranges(&ranges, |range| file.fetch(range), OBJECT_STORE_COALESCE_DEFAULT).await
        });
        self.0.noted(fetched)
    }
}

impl fmt::Debug for ObjectFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObjectFile({})", self.place())
    }
}

impl fmt::Debug for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Objects({})", self.root)
    }
}

impl fmt::Debug for ObjectFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObjectFolder({})", self.objects.place(&self.prefix))
    }
}

/// Reads a file in order, one piece ahead.
struct ObjectReader {
    file: Arc<ObjectFile>,
    piece: Bytes,
    /// Where the piece begins that was not asked for yet.
    next: u64,
    ahead: Option<Pending<Bytes>>,
}

impl ObjectReader {
    fn new(file: Arc<ObjectFile>, next: u64) -> Self {
        Self { file, piece: Bytes::new(), next, ahead: None }
    }

    /// Asks for the next piece; `None` behind the last.
    fn ask(&mut self) -> Option<Pending<Bytes>> {
        let range = self.next..self.next.saturating_add(PIECE_BYTES).min(self.file.bytes);
        self.next = range.end;
        (range.start < range.end).then(|| self.file.ask(range))
    }
}

impl Read for ObjectReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.piece.is_empty() {
            let Some(asked) = self.ahead.take().or_else(|| self.ask()) else { return Ok(0) };
            self.ahead = self.ask();
            self.piece = self.file.wait(asked)?;
        }
        let taken = self.piece.split_to(buffer.len().min(self.piece.len()));
        buffer.get_mut(..taken.len()).unwrap_or_default().copy_from_slice(&taken);
        Ok(taken.len())
    }
}
