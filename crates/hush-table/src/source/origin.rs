// SPDX-License-Identifier: Apache-2.0
//! The bytes of data, wherever they are.

use std::fs::File;
use std::io::{Cursor, Read};
use std::sync::PoisonError;

use super::object::PIECE_BYTES;
use super::{Input, NotATable, Origin, SourceError};

impl std::fmt::Debug for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Batches(_) => f.write_str("Batches"),
            Self::Dataset(dataset) => f.debug_tuple("Dataset").field(&dataset.folder()).finish(),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Joined(joined) => joined.fmt(f),
            Self::Memory(bytes) => write!(f, "Memory({} bytes)", bytes.len()),
            Self::Object(object) => f.debug_tuple("Object").field(&object.place()).finish(),
            Self::Stream { .. } => f.write_str("Stream"),
        }
    }
}

impl Origin {
    /// Asks for what a look at it needs, where that takes a request, and does not wait.
    pub(super) fn begin(&self) {
        if let Self::Object(object) = self {
            object.begin();
        }
    }

    /// A reader of the first bytes: at least as many as names and delimiter are found in.
    pub(super) fn beginning(&self) -> Result<Input, SourceError> {
        match self {
            Self::Batches(_) | Self::Dataset(_) | Self::File(_) | Self::Joined(_) | Self::Memory(_) => {
                self.reader()
            }
            Self::Object(object) => object.beginning().map_err(SourceError::reading),
            Self::Stream { start, .. } => Ok(Box::new(Cursor::new(start.clone()))),
        }
    }

    /// Bytes, where that is known before they are read.
    pub(super) fn bytes(&self) -> Option<u64> {
        match self {
            Self::File(path) => {
                path.metadata().ok().filter(std::fs::Metadata::is_file).map(|meta| meta.len())
            }
            Self::Memory(bytes) => Some(bytes.len() as u64),
            Self::Object(object) => Some(object.bytes()),
            Self::Batches(_) | Self::Dataset(_) | Self::Joined(_) | Self::Stream { .. } => None,
        }
    }

    /// Bytes in memory that a pass over all bytes asks for before they are needed.
    pub(super) fn ahead_bytes(&self) -> u64 {
        match self {
            // The piece that is read, the one behind it, and the first one of the next file.
            Self::Object(_) => 3 * PIECE_BYTES,
            _ => 0,
        }
    }

    /// All bytes, in order.
    pub(super) fn reader(&self) -> Result<Input, SourceError> {
        Ok(match self {
            // Batches, folders and several files together have no bytes that stand for them.
            Self::Batches(_) | Self::Dataset(_) | Self::Joined(_) => return Err(SourceError::ReadOnce),
            Self::File(path) => {
                let failed = |source| SourceError::Open { path: path.clone(), source };
                let file = File::open(path).map_err(failed)?;
                if file.metadata().map_err(failed)?.is_dir() {
                    return Err(SourceError::NotATable { found: NotATable::Directory });
                }
                Box::new(file)
            }
            Self::Memory(bytes) => Box::new(Cursor::new(bytes.clone())),
            Self::Object(object) => Box::new(object.reader().map_err(SourceError::reading)?),
            Self::Stream { start, rest } => {
                let rest = rest.lock().unwrap_or_else(PoisonError::into_inner).take();
                let rest = rest.ok_or(SourceError::ReadOnce)?;
                Box::new(Cursor::new(start.clone()).chain(rest))
            }
        })
    }
}
