// SPDX-License-Identifier: Apache-2.0
//! Gives the owner the data back: clear, decrypted and unsealed columns, chunk by chunk, in file order.

mod parts;

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::datatypes::Schema as ArrowSchema;
use arrow::record_batch::RecordBatch;
use hush_plan::Protection;
use hush_remote::Progress;
use hush_table::{CHUNK_ROWS, PartEntry, TableStore};
use tempfile::TempDir;

pub(crate) use self::parts::{ChunkRows, PartReader, check_declared, typed};
use crate::cells::decrypt::body_of;
use crate::error::ClientError;
use crate::owner::OwnerKey;
use crate::packing::ColumnKey;
use crate::pins::Pins;
use crate::place::{Opened, TablePlace};
use crate::release::{Counted, Releases, approximate, is_approximate};

/// A stored table being decrypted. An iterator of batches, one a chunk.
pub struct TableDecryption {
    parts: PartReader,
    /// The fetched files, kept while they are read.
    _fetched: Option<TempDir>,
    releases: Releases,
    /// Digits of approximate values that are to leave the owner.
    digits: Option<i32>,
    next_part: usize,
    pending: std::vec::IntoIter<RecordBatch>,
}

impl TableDecryption {
    /// Begins to decrypt a table; `columns` picks some, in the order given. A table on a server is fetched into a temporary
    /// directory first, which holds ciphertext and clear columns alone.
    ///
    /// # Errors
    /// Another key, table or name, a rollback, damage, unknown columns. Items can also be [`ClientError::Beyond`].
    pub fn open(
        place: TablePlace<'_>,
        key: &OwnerKey,
        pins: &Pins,
        columns: Option<&[String]>,
        progress: &dyn Progress,
    ) -> Result<Self, ClientError> {
        let Opened { manifest, half, keys, releases, .. } = place.open(key.seed(), pins)?;
        let (store, fetched) = match place {
            TablePlace::Directory(_) | TablePlace::Bucket(_) => (place.files()?, None),
            TablePlace::Server(server, _) => {
                let directory = tempfile::tempdir()?;
                server.pull(&manifest, directory.path(), progress)?;
                (TableStore::local_existing(directory.path())?, Some(directory))
            }
        };
        let parts = PartReader::new(store, manifest.manifest(), (half, keys), columns)?;
        let pending = Vec::new().into_iter();
        Ok(Self { parts, _fetched: fetched, releases, digits: None, next_part: 0, pending })
    }

    /// Arrow schema of the batches.
    pub fn schema(&self) -> Arc<ArrowSchema> {
        self.parts.schema()
    }

    /// Columns of the schema that the table does not have.
    pub fn dropped(&self) -> Vec<&str> {
        self.parts.half.schema.protected(Protection::Drop).map(|column| column.name.as_str()).collect()
    }

    /// The data in a form that may leave their owner. Values of approximate columns get noise that hides the errors of encryption,
    /// and are rounded to `digits` after the point (negative: whole tens, hundreds, …). Each part is counted before it is given out.
    /// Every ring element of an approximate column is one number of the budget.
    ///
    /// # Errors
    /// [`ClientError::Release`] for a table with rows of devices, and for more numbers than the whole budget has. Items can also be
    /// that error, for more numbers than the budget has left.
    pub fn released(mut self, digits: i32) -> Result<Self, ClientError> {
        Releases::require_own_rows(&self.parts.manifest)?;
        let of_column = |key: &ColumnKey, entry: &PartEntry| -> Result<u64, ClientError> {
            let full = u64::from(body_of(key, 0, CHUNK_ROWS)?.1.element_count);
            let rest = entry.rows - u64::from(entry.chunks - 1) * u64::from(CHUNK_ROWS);
            let last = u64::from(body_of(key, 0, rest as u32)?.1.element_count);
            Ok(u64::from(entry.chunks - 1) * full + last)
        };
        let of_part = |entry: &PartEntry| {
            let keys = self.parts.needed_keys(entry.generation).filter(|key| is_approximate(key));
            keys.map(|key| of_column(key, entry)).sum::<Result<u64, _>>()
        };
        let numbers = self.parts.manifest.parts.iter().map(of_part);
        self.releases.require_budget(numbers.sum::<Result<u64, _>>()?)?;
        self.digits = Some(digits);
        Ok(self)
    }

    /// Approximate columns that the data open to everyone with the table's ciphertexts; none once [`TableDecryption::released`].
    pub fn exposed(&self) -> Vec<String> {
        match self.digits {
            Some(_) => Vec::new(),
            None => {
                let parts = &self.parts.manifest.parts;
                let generations: BTreeSet<u32> = parts.iter().map(|part| part.generation).collect();
                approximate(generations.into_iter().flat_map(|number| self.parts.needed_keys(number)))
            }
        }
    }

    /// Rows of the table.
    pub fn rows(&self) -> u64 {
        self.parts.manifest.living_rows()
    }

    fn part(&self, index: usize) -> Result<Vec<RecordBatch>, ClientError> {
        let release = self.digits.map(|digits| self.releases.release(digits));
        let chunks = self.parts.read(index, None, release.as_ref())?;
        let batches = chunks.into_iter().map(ChunkRows::into_living).collect::<Result<Vec<_>, _>>()?;
        // Counted before anything leaves.
        release.map_or(Ok(Counted::default()), |release| release.count())?;
        Ok(batches)
    }
}

impl Iterator for TableDecryption {
    type Item = Result<RecordBatch, ClientError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = self.pending.next() {
                return Some(Ok(batch));
            }
            if self.next_part >= self.parts.manifest.parts.len() {
                return None;
            }
            let part = self.part(self.next_part);
            self.next_part += 1;
            match part {
                Ok(batches) => self.pending = batches.into_iter(),
                Err(error) => {
                    self.next_part = usize::MAX;
                    return Some(Err(error));
                }
            }
        }
    }
}
