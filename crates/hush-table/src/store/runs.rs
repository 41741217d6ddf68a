// SPDX-License-Identifier: Apache-2.0
//! The sorted runs of parts. What is read of them are a few blocks of a large file.
// Bytes from outside are cut by pattern and `get`, numbers from outside added with care.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

use std::ops::Range;

use bytes::Bytes;

use super::TableStore;
use super::open::failed;
use crate::error::{PartFault, TableError};
use crate::manifest::{PartEntry, PartFile, PlacedRun, Runs};
use crate::part::{FileKind, PartRuns, Recheck, WrittenPart};

impl TableStore {
    /// Stores the sorted runs of a part, and says where they are for the manifest. Storing them again changes nothing.
    ///
    /// # Errors
    /// As [`TableStore::put_part`]; [`TableError::BadPart`] for runs that no file can hold; then nothing is stored.
    pub fn put_runs(&self, runs: &PartRuns) -> Result<Runs, TableError> {
        let written = WrittenPart::new(FileKind::Runs, runs.encode(), 0, 0);
        let stored = runs.stored().map(|list| Runs { id: runs.id, runs: list, file: written.file });
        let stored = stored.filter(Runs::is_possible);
        let stored =
            stored.ok_or(TableError::BadPart { part: written.file.digest, fault: PartFault::Runs })?;
        self.put_part(&written)?;
        Ok(stored)
    }

    /// The sealed index of a sorted run of a part.
    ///
    /// # Errors
    /// [`TableError::PartMissing`] for a run that the part does not have or that stands no more for its rows ([`PartEntry::run`]);
    /// [`TableError::PartSize`], [`TableError::PartAltered`], [`TableError::RangeAltered`], [`TableError::Io`].
    ///
    /// # Cost
    /// Its bytes and those around them that are hashed together, once the hash tree is known; a small file is read whole the first time.
    pub fn run_index(&self, entry: &PartEntry, number: u32) -> Result<Bytes, TableError> {
        let (run, file) = placed(entry, number)?;
        self.cut_runs(&file, &[run.index()])
    }

    /// Blocks of a sorted run of a part, one behind the other, by their places, which rise.
    ///
    /// # Errors
    /// As [`TableStore::run_index`]; [`TableError::BadPart`] for places that do not rise, or that the run does not have.
    ///
    /// # Cost
    /// That of [`TableStore::run_index`] for each block, or for several that follow each other.
    pub fn run_blocks(&self, entry: &PartEntry, number: u32, places: &[u32]) -> Result<Bytes, TableError> {
        let (run, file) = placed(entry, number)?;
        let blocks = run.run.blocks;
        if !places.is_sorted_by(|before, after| before < after) || places.last() >= Some(&blocks) {
            let fault = PartFault::RunBlocks { number, blocks };
            return Err(TableError::BadPart { part: file.digest, fault });
        }
        let mut together: Vec<Range<u32>> = Vec::new();
        for place in places {
            match together.last_mut().filter(|range| range.end == *place) {
                Some(range) => range.end = place.saturating_add(1),
                None => together.push(*place..place.saturating_add(1)),
            }
        }
        let ranges: Vec<_> = together.into_iter().map(|places| run.blocks(places)).collect();
        self.cut_runs(&file, &ranges)
    }

    /// The bytes of some ranges of a file of runs, one behind the other.
    fn cut_runs(&self, file: &PartFile, ranges: &[Range<u64>]) -> Result<Bytes, TableError> {
        let source = self.open_checked(FileKind::Runs, file, Recheck::Unseen)?;
        let found = source.read_ranges(ranges);
        let mut found = found.map_err(|cause| failed(&source, FileKind::Runs, file, cause))?;
        Ok(match found.as_mut_slice() {
            [whole] => std::mem::take(whole),
            pieces => pieces.concat().into(),
        })
    }
}

/// A run of a part that stands for its rows, and its file.
fn placed(entry: &PartEntry, number: u32) -> Result<(PlacedRun, PartFile), TableError> {
    let found = entry.run(number).zip(entry.runs.as_ref().map(|runs| runs.file));
    found.ok_or_else(|| TableError::PartMissing { name: format!("run {number}") })
}
