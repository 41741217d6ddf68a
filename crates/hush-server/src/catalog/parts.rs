// SPDX-License-Identifier: Apache-2.0
//! The complete parts of tables: where they lie, whether they are sound, and how many bytes they take.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::PoisonError;

use hush_table::store::{KEYS_NAME, PARTS_NAME};

use super::Catalog;
use crate::durable;
use crate::names::{PartName, TableName};

/// What lies under a part's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredPart {
    /// Nothing.
    Absent,
    /// A file that does not have the digest of its name, or cannot be read to its end.
    Damaged {
        /// Its length.
        bytes: u64,
    },
    /// The part.
    Sound {
        /// Its length.
        bytes: u64,
    },
}

impl Catalog {
    /// Where a complete part lies.
    pub fn part_path(&self, table: &TableName, part: &PartName) -> PathBuf {
        self.root.join(table.as_str()).join(part.kind().folder()).join(part.file_name())
    }

    /// Reads a part and says whether it is what its name says.
    ///
    /// # Cost
    /// One pass over the file. Nothing is remembered: a disk may lose at any time what it had.
    pub fn stored(&self, table: &TableName, part: &PartName) -> StoredPart {
        let path = self.part_path(table, part);
        let bytes = match fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return StoredPart::Absent,
            facts => facts.map_or(0, |facts| facts.len()),
        };
        match durable::tree(&path) {
            Ok(found) if found.digest() == part.digest() => StoredPart::Sound { bytes },
            found => {
                let kind = found.err().map(|error| error.kind());
                tracing::warn!(?kind, "a stored part is damaged");
                StoredPart::Damaged { bytes }
            }
        }
    }

    /// Bytes of a table's complete parts, committed or not. Listed once, counted on by [`Catalog::published`].
    pub fn stored_bytes(&self, table: &TableName) -> u64 {
        let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        *stored.entry(table.clone()).or_insert_with(|| {
            let is_part = |file: &fs::DirEntry| {
                file.file_name().to_str().is_some_and(|name| PartName::from_file_name(name).is_some())
            };
            let parts = self.part_files(table).filter(is_part);
            parts.filter_map(|file| file.metadata().ok()).map(|facts| facts.len()).sum()
        })
    }

    /// Counts a part that is complete now, in place of one of `replaced` bytes.
    pub fn published(&self, table: &TableName, bytes: u64, replaced: u64) {
        let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stored) = stored.get_mut(table) {
            *stored = stored.saturating_sub(replaced).saturating_add(bytes);
        }
    }

    /// Lists a table's parts again when they are asked for the next time, because some were removed.
    pub(super) fn count_anew(&self, table: &TableName) {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner).remove(table);
    }

    pub(super) fn part_files(&self, table: &TableName) -> impl Iterator<Item = fs::DirEntry> {
        let folders = [PARTS_NAME, KEYS_NAME].map(|folder| self.root.join(table.as_str()).join(folder));
        folders.into_iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten())
    }
}
