// SPDX-License-Identifier: Apache-2.0
//! Where the bytes of a part are: in memory, in a file, in an object store. Every read is of a range; ranges of files and objects are
//! checked against the part's digest as they are read. Reads outside the part are errors, never panics.
//!
//! *Invariants.* A checked source hands out only bytes that the digest stands for: the very bytes that were hashed, or, where
//! [`Recheck::Unseen`] allows it, bytes of a group that was hashed before while the file has looked the same. After a read has failed,
//! [`PartSource::trouble`] tells why, however the reader above reports the error.

// Bytes from outside are cut by pattern and `get`, numbers from outside added with care.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::{Buf, Bytes};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};
use rustix::buffer::spare_capacity;
use rustix::io::{Errno, pread};

use super::memory::{RangeMemory, Run};
use super::tree::{DigestTree, GROUP_BYTES, TreeHasher};
use crate::digest::Digest;
use crate::error::{Operation, StoreTrouble, TableError};

/// Bytes that are asked for at once where a whole object is read piece by piece: whole groups.
pub(crate) const PIECE_BYTES: u64 = 8 << 20;
/// Bytes that are asked for at once where a part is read in order.
const SEQUENTIAL_BYTES: usize = GROUP_BYTES as usize;

/// Bytes of a part file. Cheap to clone; clones may be read at the same time.
#[derive(Clone, Debug)]
pub struct PartSource {
    place: Place,
    length: u64,
    check: Option<Check>,
}

#[derive(Clone, Debug)]
enum Place {
    /// Reading is slicing.
    Memory(Bytes),
    /// Every read says where it begins, so threads do not wait for each other.
    File { file: Arc<File>, written: Written },
    /// Each read is a request, but for the runs that are in memory.
    Object { reader: Arc<dyn ReadRanges>, runs: Arc<[Run]> },
}

/// When a file's content was changed last, and how long it is.
type Written = (u64, i64, i64);

/// An object of which ranges can be asked for.
pub(crate) trait ReadRanges: std::fmt::Debug + Send + Sync {
    /// The bytes of some ranges, all together.
    ///
    /// # Errors
    /// The object cannot be read, or is shorter.
    fn read_ranges(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>>;
}

/// The hashes against which ranges are checked.
#[derive(Clone, Debug)]
struct Check {
    groups: Arc<GroupChecks>,
    recheck: Recheck,
    /// Takes what was read of an object and found right.
    memory: Option<Arc<RangeMemory>>,
    trouble: Arc<Trouble>,
}

/// Why reads have failed.
#[derive(Debug, Default)]
struct Trouble {
    /// First byte of the first altered group that was found.
    altered: OnceLock<u64>,
    /// The last time that the file system or the store did not read.
    unread: Mutex<Option<Unread>>,
}

/// The file system or the store did not read.
#[derive(Clone, Debug, thiserror::Error)]
#[error(transparent)]
struct Unread(Arc<io::Error>);

impl From<Unread> for io::Error {
    fn from(unread: Unread) -> Self {
        Self::new(unread.0.kind(), unread)
    }
}

/// Which groups of a file are hashed when they are read again. Groups of objects are hashed whenever they come over the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recheck {
    /// Groups that were not hashed since the file last changed.
    Unseen,
    /// All of them, so that nothing lies between check and use.
    Always,
}

/// The tree of a part, and which of its groups have been hashed.
#[derive(Debug)]
pub(crate) struct GroupChecks {
    tree: DigestTree,
    seen: Box<[AtomicBool]>,
}

impl GroupChecks {
    /// No group has been hashed yet, or all have.
    pub(crate) fn new(tree: DigestTree, seen: bool) -> Self {
        let seen = (0..tree.group_count()).map(|_| AtomicBool::new(seen)).collect();
        Self { tree, seen }
    }

    /// Number of groups.
    pub(crate) fn group_count(&self) -> usize {
        self.seen.len()
    }

    fn is_seen(&self, group: usize) -> bool {
        self.seen.get(group).is_some_and(|seen| seen.load(Ordering::Acquire))
    }

    /// Hashes the groups that `bytes`, which begin with group `first`, consist of.
    fn check(&self, first: usize, bytes: &[u8]) -> Result<(), AlteredGroup> {
        for (group, bytes) in (first..).zip(bytes.chunks(GROUP_BYTES as usize)) {
            if !self.tree.agrees(group, bytes) {
                return Err(AlteredGroup { start: self.tree.range(group).start });
            }
            if let Some(seen) = self.seen.get(group) {
                seen.store(true, Ordering::Release);
            }
        }
        Ok(())
    }
}

/// A group of a part does not hash to its value.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
#[error("the bytes from {start} on were altered")]
struct AlteredGroup {
    start: u64,
}

impl PartSource {
    /// Bytes in memory, as they are.
    pub fn from_memory(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        Self { length: bytes.len() as u64, place: Place::Memory(bytes), check: None }
    }

    /// An open file, whose length is taken now. Nothing is checked.
    ///
    /// # Errors
    /// The file's metadata cannot be read.
    pub fn from_file(file: File) -> io::Result<Self> {
        let written = written(&file)?;
        Ok(Self { place: Place::File { file: Arc::new(file), written }, length: written.0, check: None })
    }

    /// An object of known length, of which some runs are in memory. Nothing is checked.
    pub(crate) fn from_object(reader: Arc<dyn ReadRanges>, length: u64, runs: impl Into<Arc<[Run]>>) -> Self {
        Self { place: Place::Object { reader, runs: runs.into() }, length, check: None }
    }

    /// The same bytes, checked as they are read.
    ///
    /// # Errors
    /// What is in memory already was altered.
    pub(crate) fn checked(self, groups: Arc<GroupChecks>, recheck: Recheck) -> io::Result<Self> {
        let source = self.trusted(groups, recheck, None);
        if let (Place::Object { runs, .. }, Some(check)) = (&source.place, &source.check) {
            for run in runs.iter() {
                check.check(run.start, &run.bytes)?;
            }
        }
        Ok(source)
    }

    /// As [`PartSource::checked`], where what is in memory already was checked before. What is read of an object is kept in `memory`.
    pub(crate) fn trusted(
        self,
        groups: Arc<GroupChecks>,
        recheck: Recheck,
        memory: Option<Arc<RangeMemory>>,
    ) -> Self {
        Self { check: Some(Check { groups, recheck, memory, trouble: Arc::default() }), ..self }
    }

    /// Lets what is in memory of a checked object, and what will be read of it, be kept.
    pub(crate) fn kept_in(mut self, memory: &Arc<RangeMemory>) -> Self {
        if let Some(check) = &mut self.check {
            let digest = check.groups.tree.digest();
            match &self.place {
                Place::Object { runs, .. } => runs.iter().for_each(|run| memory.keep(digest, run.clone())),
                Place::Memory(bytes) => memory.keep(digest, Run::new(0, bytes.clone())),
                Place::File { .. } => return self,
            }
            check.memory = Some(memory.clone());
        }
        self
    }

    /// Length in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The bytes of an object in memory, all of them; anything else as it is.
    ///
    /// # Errors
    /// As [`PartSource::read`].
    pub(crate) fn at_hand(&self) -> io::Result<Self> {
        match &self.place {
            Place::Object { .. } => self.read_all().map(Self::from_memory),
            _ => Ok(self.clone()),
        }
    }

    /// Where the bytes begin that made a read fail because they were altered.
    pub(crate) fn altered_in(cause: &io::Error) -> Option<u64> {
        cause.get_ref()?.downcast_ref::<AlteredGroup>().map(|altered| altered.start)
    }

    /// What made a read of part `part` fail: altered bytes, or else the file system or the store. The latter is told once, since the
    /// next read may succeed. `None` if there was neither, or if nothing is checked.
    pub(crate) fn trouble(&self, part: Digest) -> Option<TableError> {
        let trouble = &self.check.as_ref()?.trouble;
        if let Some(start) = trouble.altered.get() {
            return Some(TableError::RangeAltered { part, start: *start });
        }
        let unread = trouble.unread.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(match StoreTrouble::below(&*unread.0) {
            Some(trouble) => trouble.during(Operation::Read),
            None => {
                TableError::Io { operation: Operation::Read, place: part.to_string(), source: unread.into() }
            }
        })
    }

    /// Notes that the file system or the store did not read.
    fn unread(&self, cause: io::Error) -> io::Error {
        let Some(check) = &self.check else { return cause };
        let unread = Unread(Arc::new(cause));
        *check.trouble.unread.lock().unwrap_or_else(PoisonError::into_inner) = Some(unread.clone());
        unread.into()
    }

    /// Whether the content of a file has not been changed since it was opened, as far as the system tells. What is in memory does not
    /// change, and what comes from an object store is hashed whenever it comes.
    pub(crate) fn looks_unchanged(&self) -> bool {
        match &self.place {
            Place::File { file, written: opened } => written(file).is_ok_and(|now| now == *opened),
            Place::Memory(_) | Place::Object { .. } => true,
        }
    }

    /// The hash tree of the bytes as they are.
    ///
    /// # Errors
    /// The bytes cannot be read.
    ///
    /// # Cost
    /// One pass; 64 KiB of memory for a file, 8 MiB and a request for each 8 MiB for an object.
    pub fn tree(&self) -> io::Result<DigestTree> {
        match &self.place {
            Place::Memory(bytes) => Ok(DigestTree::of(bytes)),
            Place::File { .. } => DigestTree::of_reader(Cursor::new(self.clone(), 0), self.length),
            Place::Object { .. } => {
                let mut hasher = TreeHasher::new(self.length);
                self.for_each_piece(|piece| {
                    hasher.update(&piece);
                    Ok(())
                })?;
                Ok(hasher.finish())
            }
        }
    }

    /// Hands all bytes over in order, in pieces of at most 8 MiB.
    ///
    /// # Errors
    /// As [`PartSource::read`]; those of `take`.
    pub(crate) fn for_each_piece(&self, mut take: impl FnMut(Bytes) -> io::Result<()>) -> io::Result<()> {
        let mut start = 0;
        while start < self.length {
            let end = start.saturating_add(PIECE_BYTES).min(self.length);
            take(self.read(start..end)?)?;
            start = end;
        }
        Ok(())
    }

    /// Whether each read is a request.
    pub fn is_remote(&self) -> bool {
        matches!(self.place, Place::Object { .. })
    }

    /// Everything, in memory.
    ///
    /// # Errors
    /// As [`PartSource::read`].
    pub fn read_all(&self) -> io::Result<Bytes> {
        self.read(0..self.length)
    }

    /// Reads from `position` on, in order.
    pub fn reader(self, position: u64) -> impl Read {
        BufReader::with_capacity(SEQUENTIAL_BYTES, Cursor::new(self, position))
    }

    /// Reads everything once, if it is checked as it is read.
    ///
    /// # Errors
    /// As [`PartSource::read`].
    ///
    /// # Cost
    /// One pass over the groups that must still be hashed.
    pub(crate) fn check_all(&self) -> io::Result<()> {
        let Some(check) = &self.check else { return Ok(()) };
        if self.is_remote() {
            // A request for each group would be dear.
            return self.for_each_piece(|_| Ok(()));
        }
        for group in 0..check.groups.tree.group_count() {
            if check.asks_for(group) {
                self.read(check.groups.tree.range(group))?;
            }
        }
        Ok(())
    }

    /// The bytes of a range.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] for a range that is not inside the part; the bytes cannot be read, or were altered.
    ///
    /// # Cost
    /// Where groups must be hashed, up to 128 KiB more are read.
    pub fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        if range.start > range.end || range.end > self.length {
            return Err(outside());
        }
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        match &self.place {
            Place::Memory(bytes) => cut(bytes, 0, range),
            Place::File { file, .. } => {
                let read = |range: &Range<u64>| {
                    // A file that is shorter than it was has been changed; nothing is wrong with the disk.
                    read_file(file, range).map_err(|cause| match cause.kind() {
                        io::ErrorKind::UnexpectedEof => cause,
                        _ => self.unread(cause),
                    })
                };
                match self.check.as_ref().and_then(|check| check.widened(&range, self.length)) {
                    None => read(&range),
                    Some(whole) => {
                        let bytes = read(&whole)?;
                        self.check.as_ref().map_or(Ok(()), |check| check.check(whole.start, &bytes))?;
                        cut(&bytes, whole.start, range)
                    }
                }
            }
            Place::Object { runs, .. } if runs.iter().any(|run| run.holds(&range)) => {
                let run = runs.iter().find(|run| run.holds(&range)).ok_or_else(outside)?;
                cut(&run.bytes, run.start, range)
            }
            Place::Object { .. } => self.with_ranges(std::slice::from_ref(&range))?.read(range),
        }
    }

    /// The bytes of some ranges; of an object in one go.
    ///
    /// # Errors
    /// As [`PartSource::read`].
    pub fn read_ranges(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        let here = self.with_ranges(ranges)?;
        ranges.iter().map(|range| here.read(range.clone())).collect()
    }

    /// Fetches some ranges into memory, if each read would otherwise be a request.
    ///
    /// # Errors
    /// As [`PartSource::read`].
    pub(crate) fn with_ranges(&self, ranges: &[Range<u64>]) -> io::Result<Self> {
        let Place::Object { reader, runs } = &self.place else { return Ok(self.clone()) };
        if ranges.iter().any(|range| range.start > range.end || range.end > self.length) {
            return Err(outside());
        }
        let absent = ranges.iter().filter(|range| !runs.iter().any(|run| run.holds(range)));
        let asked = joined(absent.map(|range| groups_around(range, self.length)).collect());
        if asked.is_empty() {
            return Ok(self.clone());
        }
        let found = reader.read_ranges(&asked).map_err(|cause| self.unread(cause))?;
        let mut all = runs.to_vec();
        for (range, bytes) in asked.iter().zip(found) {
            if bytes.len() as u64 != range.end.saturating_sub(range.start) {
                return Err(outside());
            }
            let run = Run::new(range.start, bytes);
            if let Some(check) = &self.check {
                check.check(run.start, &run.bytes)?;
                check.memory.iter().for_each(|memory| memory.keep(check.groups.tree.digest(), run.clone()));
            }
            all.push(run);
        }
        let place = Place::Object { reader: reader.clone(), runs: all.into() };
        Ok(Self { place, ..self.clone() })
    }
}

impl Check {
    /// Whether a group must be hashed when it is read.
    fn asks_for(&self, group: usize) -> bool {
        self.recheck == Recheck::Always || !self.groups.is_seen(group)
    }

    /// The whole groups around a range of which one must be hashed.
    fn widened(&self, range: &Range<u64>, length: u64) -> Option<Range<u64>> {
        let whole = groups_around(range, length);
        let (first, last) = (group_of(whole.start), group_of(whole.end.saturating_sub(1)));
        let asks = range.start < range.end && (first..=last).any(|group| self.asks_for(group));
        asks.then_some(whole)
    }

    /// Hashes whole groups, the first of which begins at `start`.
    fn check(&self, start: u64, bytes: &[u8]) -> io::Result<()> {
        self.groups.check(group_of(start), bytes).map_err(|altered| {
            // The first that was found is the one that is told.
            let _ = self.trouble.altered.set(altered.start);
            io::Error::new(io::ErrorKind::InvalidData, altered)
        })
    }
}

/// The group in which a byte lies.
fn group_of(byte: u64) -> usize {
    usize::try_from(byte / GROUP_BYTES).unwrap_or(usize::MAX)
}

/// The smallest run of whole groups that covers a range.
pub(crate) fn groups_around(range: &Range<u64>, length: u64) -> Range<u64> {
    let start = (range.start / GROUP_BYTES).saturating_mul(GROUP_BYTES);
    let end = range.end.div_ceil(GROUP_BYTES).saturating_mul(GROUP_BYTES).min(length);
    start..end.max(start)
}

/// Ranges in order, those that touch or overlap put together.
fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut joined: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges.into_iter().filter(|range| range.start < range.end) {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

fn written(file: &File) -> io::Result<Written> {
    let metadata = file.metadata()?;
    Ok((metadata.len(), metadata.mtime(), metadata.mtime_nsec()))
}

fn read_file(file: &File, range: &Range<u64>) -> io::Result<Bytes> {
    let mut bytes = Vec::new();
    let length = usize::try_from(range.end.saturating_sub(range.start));
    let length = length.map_err(|_| io::ErrorKind::OutOfMemory)?;
    bytes.try_reserve_exact(length).map_err(|_| io::ErrorKind::OutOfMemory)?;
    // Into memory as it was allocated: no zeros are written first.
    while bytes.len() < length {
        let place = range.start.saturating_add(bytes.len() as u64);
        match pread(file, spare_capacity(&mut bytes), place) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    // The allocator may have given more, and the file had more.
    bytes.truncate(length);
    Ok(bytes.into())
}

/// A range of bytes that begin at `start`, as a view.
fn cut(bytes: &Bytes, start: u64, range: Range<u64>) -> io::Result<Bytes> {
    let place = |at: u64| at.checked_sub(start).and_then(|at| usize::try_from(at).ok()).ok_or_else(outside);
    let (from, to) = (place(range.start)?, place(range.end)?);
    if from > to || to > bytes.len() {
        return Err(outside());
    }
    Ok(bytes.slice(from..to))
}

fn outside() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "a read goes past the end of the part")
}

/// Sequential reader for page headers. Headers take some 30 bytes, so it buffers little.
#[derive(Debug)]
pub struct HeaderReader(Inner);

#[derive(Debug)]
enum Inner {
    Ranges(BufReader<Cursor>),
    Memory(bytes::buf::Reader<Bytes>),
}

#[derive(Debug)]
struct Cursor {
    source: PartSource,
    position: u64,
}

impl Cursor {
    fn new(source: PartSource, position: u64) -> Self {
        Self { source, position }
    }
}

impl Read for Cursor {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let end = self.position.saturating_add(buffer.len() as u64).min(self.source.length);
        let bytes = self.source.read(self.position.min(end)..end)?;
        let (head, _) = buffer.split_at_mut_checked(bytes.len()).ok_or_else(outside)?;
        head.copy_from_slice(&bytes);
        self.position = end;
        Ok(bytes.len())
    }
}

impl Read for HeaderReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Inner::Ranges(ranges) => ranges.read(buffer),
            Inner::Memory(bytes) => bytes.read(buffer),
        }
    }
}

impl Length for PartSource {
    fn len(&self) -> u64 {
        self.length()
    }
}

impl ChunkReader for PartSource {
    type T = HeaderReader;

    fn get_read(&self, start: u64) -> Result<HeaderReader, ParquetError> {
        if start > self.length {
            return Err(as_parquet(outside()));
        }
        let inner = match &self.place {
            Place::Memory(bytes) => {
                Inner::Memory(cut(bytes, 0, start..self.length).map_err(as_parquet)?.reader())
            }
            _ => Inner::Ranges(BufReader::with_capacity(512, Cursor::new(self.clone(), start))),
        };
        Ok(HeaderReader(inner))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        // Checked before anything is allocated for it.
        let end = start.checked_add(length as u64).ok_or_else(|| as_parquet(outside()))?;
        self.read(start..end).map_err(as_parquet)
    }
}

fn as_parquet(cause: io::Error) -> ParquetError {
    match cause.kind() {
        io::ErrorKind::UnexpectedEof => ParquetError::EOF(cause.to_string()),
        _ => ParquetError::External(Box::new(cause)),
    }
}
