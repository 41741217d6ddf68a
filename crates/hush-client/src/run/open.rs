// SPDX-License-Identifier: Apache-2.0
//! Sorted runs that are read: indexes and blocks as they come from a server, opened with the owner's key.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use hush_keys::{Opened, SealKey};
use hush_plan::run::{RunColumn, RunShape};
use hush_table::{Digest, RunsId};

use super::columns::{RunValues, unpack};
use super::index::{RunIndex, Segment};
use super::{place_of, row_number};
use crate::error::ClientError;

/// A run of a part, whose index its owner has opened.
pub(crate) struct OpenRun {
    /// Of the part's file.
    id: [u8; 16],
    number: u32,
    pub(crate) index: RunIndex,
    /// Where the segments of each block are in the index, by its place in the file.
    pub(crate) blocks: BTreeMap<u32, Range<usize>>,
    /// The digest of the order of its blocks, which nobody else knows.
    pub(crate) order: Digest,
    /// The groups of its segments, as they stand in the index.
    pub(crate) groups: Vec<GroupSegments>,
    /// How many rows stand before each segment, and all of them at the end.
    rows_before: Vec<u64>,
}

impl BlockRows {
    /// Drops all rows but these.
    pub(crate) fn keep(&mut self, rows: &[usize]) {
        let some = |of: &[u32]| rows.iter().filter_map(|row| of.get(*row)).copied().collect();
        (self.numbers, self.groups) = (some(&self.numbers), some(&self.groups));
        self.columns.iter_mut().for_each(|values| *values = values.at(rows.iter().copied()));
    }
}

/// The segments of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GroupSegments {
    /// Its number.
    pub(crate) group: u32,
    /// Those with values of `by`, which rise.
    pub(crate) rising: Range<usize>,
    /// Those without, behind them.
    pub(crate) missing: Range<usize>,
}

/// Rows of a block.
pub(crate) struct BlockRows {
    /// The number of each in its part, 0 where the run does not have it.
    pub(crate) numbers: Vec<u32>,
    /// The group of each.
    pub(crate) groups: Vec<u32>,
    /// `by` and the columns behind it.
    pub(crate) columns: Vec<RunValues>,
}

impl OpenRun {
    /// Opens an index.
    ///
    /// # Errors
    /// [`ClientError::Answer`] for bytes that were not sealed for it.
    pub(crate) fn open(
        (id, number, blocks): (RunsId, u32, u32),
        shape: &RunShape,
        key: &SealKey,
        sealed: &[u8],
    ) -> Result<Self, ClientError> {
        let other = || ClientError::Answer { what: "the index of a run is not that of its part".into() };
        let id = *id.as_bytes();
        let plain = key.open(&place_of((&id, number), None), sealed).map_err(|_| other())?;
        let index = RunIndex::decode(shape, blocks, &plain).ok_or_else(other)?;
        let mut blocks: BTreeMap<u32, Range<usize>> = BTreeMap::new();
        for (place, segment) in index.segments.iter().enumerate() {
            let range = blocks.entry(segment.block).or_insert(place..place);
            // They follow one another.
            if range.end != place {
                return Err(other());
            }
            range.end = place + 1;
        }
        let order: Vec<u8> = index.segments.iter().flat_map(|segment| segment.block.to_le_bytes()).collect();
        let before = |before: &mut u64, segment: &Segment| {
            let rows = u64::from(segment.rows);
            Some(std::mem::replace(before, *before + rows) + rows)
        };
        let rows_before = std::iter::once(0).chain(index.segments.iter().scan(0, before)).collect();
        let groups = groups_of(&index);
        Ok(Self { id, number, index, blocks, order: Digest::of(&order), groups, rows_before })
    }

    /// Rows of some segments.
    pub(crate) fn rows_of(&self, segments: &Range<usize>) -> u64 {
        let before = |place: usize| self.rows_before.get(place).copied().unwrap_or_default();
        before(segments.end.max(segments.start)) - before(segments.start)
    }

    /// The segments of the block at a place.
    pub(crate) fn segments_of(&self, block: u32) -> &[Segment] {
        let range = self.blocks.get(&block).cloned().unwrap_or_default();
        self.index.segments.get(range).unwrap_or_default()
    }

    /// Opens the block at a place.
    ///
    /// # Errors
    /// [`ClientError::Answer`] for bytes that were not sealed for it.
    pub(crate) fn block(&self, key: &SealKey, place: u32, sealed: &[u8]) -> Result<Opened, ClientError> {
        key.open(&place_of((&self.id, self.number), Some(place)), sealed).map_err(|_| other_block())
    }

    /// The rows of the block at a place, of its bytes.
    ///
    /// # Errors
    /// [`ClientError::Answer`] for bytes that are no such rows.
    pub(crate) fn rows(&self, shape: &RunShape, place: u32, plain: &[u8]) -> Result<BlockRows, ClientError> {
        let rows = self.segments_of(place).iter().map(|segment| segment.rows).sum();
        let number = row_number();
        let numbered = shape.has_numbers.then_some(&number);
        let columns: Vec<&RunColumn> =
            numbered.into_iter().chain(shape.columns.iter().skip(shape.within)).collect();
        let mut values = unpack(&columns, rows, &mut &*plain).ok_or_else(other_block)?;
        let columns = values.split_off(usize::from(shape.has_numbers));
        let numbers = match values.first().and_then(RunValues::as_numbers) {
            Some(numbers) => numbers.iter().map(|number| *number as u32).collect(),
            None => vec![0; rows as usize],
        };
        let groups = self.segments_of(place).iter();
        let groups = groups.flat_map(|segment| std::iter::repeat_n(segment.group, segment.rows as usize));
        Ok(BlockRows { numbers, groups: groups.collect(), columns })
    }
}

fn other_block() -> ClientError {
    ClientError::Answer { what: "a block of a run is not that of its place".into() }
}

/// The groups of an index. Missing values stand behind the others.
fn groups_of(index: &RunIndex) -> Vec<GroupSegments> {
    let mut groups: Vec<GroupSegments> = Vec::new();
    for (place, segment) in index.segments.iter().enumerate() {
        let has_values = index.firsts.has(place);
        match groups.last_mut() {
            Some(last) if last.group == segment.group && (!has_values || last.missing.is_empty()) => {
                let end = if has_values { &mut last.rising.end } else { &mut last.missing.end };
                *end = place + 1;
                if has_values {
                    last.missing = place + 1..place + 1;
                }
            }
            _ => {
                let end = place + usize::from(has_values);
                groups.push(GroupSegments {
                    group: segment.group,
                    rising: place..end,
                    missing: end..place + 1,
                });
            }
        }
    }
    groups
}

/// The run of a part of a table.
pub(crate) struct PartRun {
    /// Number of the part's first row in the table.
    pub(crate) first_row: u64,
    /// Bytes of a block.
    pub(crate) block_bytes: u32,
    /// The part's domain.
    pub(crate) domain: u32,
    /// Its index, opened.
    pub(crate) open: OpenRun,
}

/// The runs of a version of a table whose indexes its owner has opened, by their numbers.
#[derive(Default)]
pub(crate) struct OpenRuns(Mutex<BTreeMap<u32, Arc<Vec<PartRun>>>>);

impl OpenRuns {
    /// The run of each part that has it, in row order, if they are opened.
    pub(crate) fn get(&self, number: u32) -> Option<Arc<Vec<PartRun>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&number).cloned()
    }

    /// Keeps them.
    pub(crate) fn keep(&self, number: u32, runs: &Arc<Vec<PartRun>>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(number, Arc::clone(runs));
    }
}
