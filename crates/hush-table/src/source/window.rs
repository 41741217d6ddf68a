// SPDX-License-Identifier: Apache-2.0
//! The bytes of a column of Parquet, for a decoder that asks for headers of 30 bytes and for pages: of an object they come in windows,
//! each byte once. The window behind the present one is on its way while that one is decoded.

use std::io::{self, BufReader, Read};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::{Buf, Bytes};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};

use super::object::ObjectFile;
use crate::part::PartSource;
use crate::store::Pending;

/// Bytes that are asked for at once. A page that is larger comes by one request, too.
pub(super) const WINDOW_BYTES: u64 = 512 << 10;
/// Bytes of a header as a rule, and some.
const HEADER_BYTES: usize = 512;

/// Where a column is read from.
#[derive(Clone)]
pub(super) enum ColumnBytes {
    /// A file, or what is in memory.
    Here(PartSource),
    /// An object.
    There(Arc<Mutex<Window>>),
}

/// A window into an object, which moves over the chunks of a column.
pub(super) struct Window {
    object: Arc<ObjectFile>,
    /// Where the column's chunks lie: nothing behind one is asked for.
    chunks: Vec<Range<u64>>,
    start: u64,
    bytes: Bytes,
    ahead: Ahead,
}

/// What lies behind a window.
enum Ahead {
    /// Nothing was asked for yet: the first window.
    Unasked,
    /// A range.
    Asked(Range<u64>, Pending<Bytes>),
    /// The end of the column; or it is read out of order, as a nested one is, and nobody can tell what comes next.
    Nothing,
}

impl Window {
    /// A window that is closed.
    pub(super) fn new(object: Arc<ObjectFile>, chunks: Vec<Range<u64>>) -> Self {
        Self { object, chunks, start: 0, bytes: Bytes::new(), ahead: Ahead::Unasked }
    }

    /// Asks for the first window, and does not wait for it. Does nothing later.
    pub(super) fn begin(&mut self) {
        if let (Ahead::Unasked, Some(first)) = (&self.ahead, self.chunks.first()) {
            self.ask(first.start);
        }
    }

    /// What is asked for, or as much as there is of it; the window moves there if it must.
    fn read(&mut self, range: Range<u64>) -> io::Result<Bytes> {
        let chunk = self.chunks.iter().find(|chunk| chunk.contains(&range.start));
        let limit = chunk.map_or(range.end, |chunk| chunk.end).min(self.object.bytes());
        let range = range.start..range.end.min(limit);
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        let skipped = range.start.checked_sub(self.start).and_then(|skipped| usize::try_from(skipped).ok());
        let kept = skipped.filter(|skipped| *skipped < self.bytes.len());
        let kept = kept.map(|skipped| self.bytes.slice(skipped..)).unwrap_or_default();
        if range.start + (kept.len() as u64) < range.end {
            self.bytes = self.window(&range, kept, limit)?;
            self.start = range.start;
        }
        let mut found = self.bytes.clone();
        found.advance((range.start - self.start) as usize);
        found.truncate((range.end - range.start) as usize);
        Ok(found)
    }

    /// A window that begins with a range, of which the first bytes are kept, and ends at `limit` at the latest. All that is missing, and the
    /// window behind it, is asked for before anything is waited for.
    fn window(&mut self, range: &Range<u64>, kept: Bytes, limit: u64) -> io::Result<Bytes> {
        let mut end = range.start + kept.len() as u64;
        let (ahead, is_in_order) = match std::mem::replace(&mut self.ahead, Ahead::Nothing) {
            Ahead::Asked(asked, pending) if asked.start == end => {
                end = asked.end;
                (Some(pending), true)
            }
            Ahead::Unasked => (None, true),
            Ahead::Asked(..) | Ahead::Nothing => (None, false),
        };
        let rest = (end < range.end).then(|| {
            let start = end;
            end = start.saturating_add(WINDOW_BYTES).max(range.end).min(limit);
            self.object.ask(start..end)
        });
        if is_in_order {
            self.ask(end);
        }
        let fetched = [ahead, rest].into_iter().flatten().map(|pending| self.object.wait(pending));
        let fetched = fetched.collect::<io::Result<Vec<_>>>()?;
        let pieces = std::iter::once(kept).chain(fetched).filter(|piece| !piece.is_empty());
        Ok(pieces.reduce(|first, second| [first, second].concat().into()).unwrap_or_default())
    }

    /// Asks for the window that begins at a place, or with the chunk behind the one that ends there.
    fn ask(&mut self, place: u64) {
        let around = self.chunks.iter().find(|chunk| chunk.contains(&place)).map(|chunk| place..chunk.end);
        let behind = || self.chunks.iter().skip_while(|chunk| chunk.end != place).nth(1).cloned();
        let chunk = around.or_else(behind).unwrap_or_default();
        let end = chunk.start.saturating_add(WINDOW_BYTES).min(chunk.end).min(self.object.bytes());
        self.ahead = match chunk.start < end {
            true => Ahead::Asked(chunk.start..end, self.object.ask(chunk.start..end)),
            false => Ahead::Nothing,
        };
    }
}

/// Reads what a window passes over.
struct Cursor {
    window: Arc<Mutex<Window>>,
    position: u64,
}

impl Read for Cursor {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = self.position..self.position.saturating_add(buffer.len() as u64);
        let found = self.window.lock().unwrap_or_else(PoisonError::into_inner).read(wanted)?;
        buffer.get_mut(..found.len()).unwrap_or_default().copy_from_slice(&found);
        self.position += found.len() as u64;
        Ok(found.len())
    }
}

impl Length for ColumnBytes {
    fn len(&self) -> u64 {
        match self {
            Self::Here(source) => source.length(),
            Self::There(window) => window.lock().unwrap_or_else(PoisonError::into_inner).object.bytes(),
        }
    }
}

impl ChunkReader for ColumnBytes {
    type T = Box<dyn Read + Send>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Ok(match self {
            Self::Here(source) => Box::new(source.get_read(start)?),
            Self::There(window) => {
                let cursor = Cursor { window: window.clone(), position: start };
                Box::new(BufReader::with_capacity(HEADER_BYTES, cursor))
            }
        })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        match self {
            Self::Here(source) => source.get_bytes(start, length),
            Self::There(window) => {
                let wanted = start..start.saturating_add(length as u64);
                let found = window.lock().unwrap_or_else(PoisonError::into_inner).read(wanted);
                let found = found.map_err(|error| ParquetError::External(Box::new(error)))?;
                if found.len() == length {
                    Ok(found)
                } else {
                    Err(ParquetError::EOF("a page goes past the end of its column".to_owned()))
                }
            }
        }
    }
}
