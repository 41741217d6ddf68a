// SPDX-License-Identifier: Apache-2.0
//! Where a part's bytes are: in memory or in a file. Reads outside the part are errors, never panics.

// Bytes from outside are cut by pattern and `get`, numbers from outside added with care.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};

use crate::digest::Digest;

/// Bytes of a part file. Cheap to clone; clones may be read at the same time.
#[derive(Clone, Debug)]
pub enum PartSource {
    /// A file, read where asked.
    File(FileSource),
    /// Bytes in memory: reading is slicing.
    Memory(Bytes),
}

/// A file of known length. Every read says where it begins, so threads do not wait for each other.
#[derive(Clone, Debug)]
pub struct FileSource {
    file: Arc<File>,
    length: u64,
}

impl PartSource {
    /// Reads from an open file, whose length is taken now.
    ///
    /// # Errors
    /// The file's metadata cannot be read.
    pub fn from_file(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(Self::File(FileSource { file: Arc::new(file), length }))
    }

    /// Length in bytes.
    pub fn length(&self) -> u64 {
        match self {
            Self::File(file) => file.length,
            Self::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// BLAKE3 of the whole.
    ///
    /// # Errors
    /// The file cannot be read.
    ///
    /// # Cost
    /// One pass over the bytes; 64 KiB of memory for a file.
    pub fn digest(&self) -> io::Result<Digest> {
        match self {
            Self::Memory(bytes) => Ok(Digest::of(bytes)),
            Self::File(source) => Digest::of_reader(Cursor { source: source.clone(), position: 0 }),
        }
    }

    /// Everything, in memory.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read_all(&self) -> io::Result<Bytes> {
        match self {
            Self::Memory(bytes) => Ok(bytes.clone()),
            Self::File(file) => file.read(0, file.length),
        }
    }
}

impl FileSource {
    fn read(&self, start: u64, length: u64) -> io::Result<Bytes> {
        let mut bytes = Vec::new();
        let length = usize::try_from(length).map_err(|_| io::ErrorKind::OutOfMemory)?;
        bytes.try_reserve_exact(length).map_err(|_| io::ErrorKind::OutOfMemory)?;
        bytes.resize(length, 0);
        self.file.read_exact_at(&mut bytes, start)?;
        Ok(bytes.into())
    }
}

/// Sequential reader for page headers. Headers take some 30 bytes, so it buffers little.
#[derive(Debug)]
pub struct HeaderReader(Inner);

#[derive(Debug)]
enum Inner {
    File(BufReader<Cursor>),
    Memory(bytes::buf::Reader<Bytes>),
}

#[derive(Debug)]
struct Cursor {
    source: FileSource,
    position: u64,
}

impl Read for Cursor {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.file.read_at(buffer, self.position)?;
        self.position = self.position.saturating_add(read as u64);
        Ok(read)
    }
}

impl Read for HeaderReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Inner::File(file) => file.read(buffer),
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
        let inner = match self {
            Self::File(source) => {
                Inner::File(BufReader::with_capacity(512, Cursor { source: source.clone(), position: start }))
            }
            Self::Memory(bytes) => Inner::Memory(slice(bytes, start, None)?.reader()),
        };
        Ok(HeaderReader(inner))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        match self {
            Self::Memory(bytes) => slice(bytes, start, Some(length)),
            Self::File(file) => {
                let length = length as u64;
                // Checked before anything is allocated for it.
                if start.checked_add(length).is_none_or(|end| end > file.length) {
                    return Err(outside());
                }
                file.read(start, length).map_err(|cause| ParquetError::External(Box::new(cause)))
            }
        }
    }
}

/// `length` bytes (or all that follow) from `start` on, as a view.
fn slice(bytes: &Bytes, start: u64, length: Option<usize>) -> Result<Bytes, ParquetError> {
    let start = usize::try_from(start).map_err(|_| outside())?;
    let end = length.map_or(Some(bytes.len()), |length| start.checked_add(length)).ok_or_else(outside)?;
    if start > end || end > bytes.len() {
        return Err(outside());
    }
    Ok(bytes.slice(start..end))
}

fn outside() -> ParquetError {
    ParquetError::EOF("a read goes past the end of the part".to_owned())
}
