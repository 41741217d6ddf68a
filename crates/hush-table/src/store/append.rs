// SPDX-License-Identifier: Apache-2.0
//! Adding rows to a table: parts behind those that are there, and a version that has both.

use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;

use super::TableStore;
use super::cutter::{PartCutter, PreparedOfPart};
use super::files::{self, Lock};
use crate::digest::AppendId;
use crate::error::TableError;
use crate::manifest::{Lengths, Manifest, PartEntry, SignedManifest};
use crate::part::{EncodedChunk, ZonesWriter};

/// Bounds of the clear columns of new parts, in their order.
#[derive(Clone, Debug)]
pub struct PartBounds(pub(super) ZonesWriter);

impl PartBounds {
    /// Of no part yet, of a table with these clear columns.
    pub fn none(clear: &Schema) -> Self {
        Self(ZonesWriter::new(clear))
    }

    /// Takes the bounds of the parts behind these.
    ///
    /// # Errors
    /// [`TableError::Parquet`] for those of other columns.
    pub fn append(&mut self, behind: Self) -> Result<(), TableError> {
        self.0.append(behind.0)
    }
}

/// Time between two looks at a lock that another writer has.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// The right to write to a table. In a directory no other writer is at work meanwhile; other stores know no locks, and a commit fails where
/// somebody else was faster.
#[derive(Debug)]
pub struct WriteAccess {
    pub(super) store: TableStore,
    _lock: Option<Lock>,
}

impl TableStore {
    /// Waits up to `patience` for other writers of the directory.
    ///
    /// # Errors
    /// [`TableError::Busy`] if one is still at work then; [`TableError::Io`].
    pub fn wait_for_writers(&self, patience: Duration) -> Result<WriteAccess, TableError> {
        let lock = wait_for(patience, || self.lock())?;
        Ok(WriteAccess { store: self.clone(), _lock: lock })
    }
}

/// Tries to take a lock again and again, for up to `patience`.
pub(super) fn wait_for<T>(
    patience: Duration,
    take: impl Fn() -> Result<T, TableError>,
) -> Result<T, TableError> {
    let begun = Instant::now();
    loop {
        match take() {
            Err(TableError::Busy { .. }) if begun.elapsed() < patience => std::thread::sleep(LOOK_AGAIN),
            taken => return taken,
        }
    }
}

impl WriteAccess {
    /// As [`TableStore::commit`].
    ///
    /// # Errors
    /// As [`TableStore::commit`].
    pub fn commit(&self, manifest: &SignedManifest) -> Result<(), TableError> {
        self.store.commit_locked(manifest)
    }

    /// Removes files that writers left in a directory who were interrupted more than [`super::KEPT`] ago. Elsewhere each commit does.
    ///
    /// # Errors
    /// As [`TableStore::sweep`].
    pub fn tidy(&self) -> Result<usize, TableError> {
        if !self.store.is_directory() {
            return Ok(0);
        }
        self.store.sweep_where(None, |listed| files::is_older(listed.modified, super::KEPT))
    }
}

/// Takes the chunks of rows to be added, cuts parts and stores them. They are rows of the table once a committed manifest names them
/// ([`WriteAccess::commit`]). Memory is bounded as that of [`super::TableWriter`].
///
/// Dropped without [`Appender::keep`] it removes the parts again, where no other writer can rely on them. Killed, it leaves files that a
/// later writer removes.
#[derive(Debug)]
pub struct Appender {
    store: TableStore,
    /// The table, without its parts.
    table: Manifest,
    cutter: PartCutter,
    kept: bool,
}

impl Appender {
    /// Begins an append to `table` whose parts are stored in `store`. Chunks are numbered from 0.
    ///
    /// # Errors
    /// [`TableError::BadManifest`] for a table whose clear columns have no types.
    pub fn new(store: &TableStore, table: &Manifest, id: AppendId) -> Result<Self, TableError> {
        let (parts, zones) = (Vec::new(), None);
        let table = Manifest { parts, zones, keys: Vec::new(), ..table.clone() };
        let cutter = PartCutter::for_append(store, &table, id)?;
        Ok(Self { store: store.clone(), table, cutter, kept: false })
    }

    /// As [`super::TableWriter::with_part_bytes`].
    #[must_use]
    pub fn with_part_bytes(mut self, bytes: u64) -> Self {
        self.cutter.set_part_bytes(bytes);
        self
    }

    /// As [`super::TableWriter::with_parts_in_flight`].
    #[must_use]
    pub fn with_parts_in_flight(mut self, parts: usize) -> Self {
        self.cutter.set_parts_in_flight(parts);
        self
    }

    /// Stores with each part what `prepared` gives for it.
    #[must_use]
    pub fn with_prepared(mut self, prepared: PreparedOfPart) -> Self {
        self.cutter.set_prepared(prepared);
        self
    }

    /// Takes the next chunk.
    ///
    /// # Errors
    /// As [`super::TableWriter::push`].
    pub fn push(&mut self, clear: &RecordBatch, chunk: EncodedChunk) -> Result<(), TableError> {
        self.cutter.push(clear, chunk)
    }

    /// The parts that are stored, in order.
    pub fn stored(&self) -> &[PartEntry] {
        self.cutter.stored()
    }

    /// Bytes of the columns that it has taken, for the version that gets its parts.
    pub fn lengths(&self) -> &Lengths {
        self.cutter.lengths()
    }

    /// Stores the last part. [`Appender::stored`] has all of them then.
    ///
    /// # Errors
    /// Those of storing parts.
    pub fn finish(&mut self) -> Result<(), TableError> {
        self.cutter.finish()
    }

    /// The bounds of the clear columns of the parts that it has stored, for the zone file of a version.
    pub fn take_bounds(&mut self) -> PartBounds {
        PartBounds(self.cutter.take_bounds())
    }

    /// Keeps the parts: a version has them.
    pub fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Appender {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        self.cutter.settle();
        self.table.parts = self.cutter.stored().to_vec();
        // What cannot be removed now, a later writer's sweep removes.
        let _ = self.store.forget_parts(&self.table);
    }
}
