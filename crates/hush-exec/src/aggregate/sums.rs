// SPDX-License-Identifier: Apache-2.0
//! Running sums of some groups on every thread.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use hush_plan::{EncodingId, Layout};
use hush_ring::UniformSeed;
use hush_rlwe::{Body, BodyId, BodyKind};
use hush_schemes::bgv::sum::{NOT_SELECTED, SumAccumulator};
use hush_table::ChunkRow;
use rayon::prelude::*;

use super::Block;
use crate::clear::groups::Groups;
use crate::clear::masks::{MaskSet, RowMask};
use crate::engine::Job;
use crate::error::ExecError;
use crate::program;
use crate::table::{PartRef, StoredBody};

/// The sums of a range of groups.
pub(super) struct GroupSums<'a> {
    job: &'a Job<'a>,
    blocks: &'a [Block],
    range: Range<usize>,
    /// Every encoded column of the blocks, once.
    columns: Vec<EncodingId>,
    /// For each thread one accumulator per block, made when the thread adds its first chunk.
    threads: Vec<Mutex<Option<Vec<SumAccumulator>>>>,
}

/// A chunk with rows that count, its masks, and the columns read.
pub(super) struct Chunk<'a> {
    part: PartRef<'a>,
    row: ChunkRow,
    masks: Vec<RowMask>,
}

impl<'a> GroupSums<'a> {
    pub(super) fn new(job: &'a Job<'a>, blocks: &'a [Block], range: Range<usize>) -> Self {
        let mut columns: Vec<EncodingId> =
            blocks.iter().flat_map(|block| &block.block.columns).copied().collect();
        columns.sort_unstable();
        columns.dedup();
        let threads = std::iter::repeat_with(Mutex::default).take(job.workers.threads()).collect();
        Self { job, blocks, range, columns, threads }
    }

    /// Evaluates the masks of a part and reads the chunks in which rows count.
    ///
    /// # Errors
    /// Any [`ExecError`] of the clear half or of reading.
    pub(super) fn load<'p>(
        &self,
        part: PartRef<'p>,
        masks: &MaskSet,
        groups: &Groups,
    ) -> Result<Vec<Chunk<'p>>, ExecError> {
        self.job.stop.check()?;
        let snapshot = self.job.snapshot;
        let per_chunk: Vec<Vec<RowMask>> = if masks.takes_all() {
            vec![vec![RowMask::All; masks.len()]; part.entry.chunks as usize]
        } else {
            let clear = snapshot.clear_part(part)?;
            let batches = masks.read(clear.as_ref(), part.entry.rows)?;
            let evaluate = |batch| Ok(self.restrict(masks.evaluate(batch, groups)?, groups.count()));
            batches.par_iter().map(evaluate).collect::<Result<_, ExecError>>()?
        };
        let used = |masks: &Vec<RowMask>| {
            self.blocks.iter().any(|block| masks.get(block.block.mask) != Some(&RowMask::Nothing))
        };
        let mut wanted = Vec::new();
        let mut kept = Vec::new();
        for (chunk, masks) in (part.place.first_chunk..).zip(per_chunk).filter(|(_, masks)| used(masks)) {
            wanted.push(chunk);
            kept.push(masks);
        }
        let rows = snapshot.read_chunks(part, &self.columns, wanted)?;
        Ok(rows.into_iter().zip(kept).map(|(row, masks)| Chunk { part, row, masks }).collect())
    }

    /// Adds a chunk to this thread's sums.
    ///
    /// # Errors
    /// [`ExecError::Corrupt`] if a column of the chunk is not what the manifest says.
    pub(super) fn absorb(&self, chunk: &Chunk<'_>) -> Result<(), ExecError> {
        self.job.stop.check()?;
        let seed = chunk.row.seed.ok_or(ExecError::Corrupt { code: "HUSH-T033" })?;
        let seed = UniformSeed::from_bytes(seed);
        let thread = self.job.workers.thread_index();
        let slot = self.threads.get(thread).ok_or(ExecError::Internal { place: "thread index" })?;
        let mut sums = slot.lock().unwrap_or_else(PoisonError::into_inner);
        let sums =
            sums.get_or_insert_with(|| self.blocks.iter().map(|block| self.accumulator(block)).collect());
        for (block, sum) in self.blocks.iter().zip(sums) {
            let internal = |_| ExecError::Internal { place: "masked sum" };
            match chunk.masks.get(block.block.mask) {
                Some(RowMask::Nothing) | None => {}
                Some(RowMask::All) => {
                    let bodies = self.bodies(chunk, block)?;
                    sum.absorb_unfiltered(seed, chunk.row.rows as usize, &bodies).map_err(internal)?;
                }
                Some(RowMask::Rows { groups, weights }) => {
                    let bodies = self.bodies(chunk, block)?;
                    sum.absorb_masked(seed, groups, weights.as_deref(), &bodies).map_err(internal)?;
                }
            }
        }
        Ok(())
    }

    /// Puts the threads' sums together: for each block the encoded answers of the groups.
    ///
    /// # Errors
    /// [`ExecError::Internal`].
    pub(super) fn finish(self) -> Result<Vec<Vec<Vec<u8>>>, ExecError> {
        let internal = |_| ExecError::Internal { place: "finished sums" };
        let mut total: Option<Vec<SumAccumulator>> = None;
        for sums in self.threads {
            let sums = sums.into_inner().unwrap_or_else(PoisonError::into_inner);
            match (&mut total, sums) {
                (None, sums) => total = sums,
                (Some(total), Some(sums)) => {
                    let pairs: Vec<_> = total.iter_mut().zip(sums).collect();
                    pairs
                        .into_par_iter()
                        .try_for_each(|(mine, theirs)| mine.merge(theirs))
                        .map_err(internal)?;
                }
                (Some(_), None) => {}
            }
        }
        let count = self.range.len();
        let empty = |block: &Block| SumAccumulator::new(&block.ring, count, block.block.columns.len());
        let total = total.unwrap_or_else(|| self.blocks.iter().map(empty).collect());
        let first = self.range.start;
        let encode = |sum: SumAccumulator| -> Result<Vec<Vec<u8>>, ExecError> {
            let answers = sum.finish().map_err(internal)?;
            let encoded = answers.into_par_iter().enumerate().map(|(index, answer)| {
                let group = (first + index) as u32;
                answer.encode(group).map_err(|_| ExecError::Internal { place: "encoded sum" })
            });
            encoded.collect()
        };
        total.into_par_iter().map(encode).collect()
    }

    fn accumulator(&self, block: &Block) -> SumAccumulator {
        SumAccumulator::new(&block.ring, self.range.len(), block.block.columns.len())
    }

    /// The bodies of a block's columns in a chunk.
    fn bodies<'c>(&self, chunk: &'c Chunk<'_>, block: &Block) -> Result<Vec<Body<'c>>, ExecError> {
        let damaged = || ExecError::Corrupt { code: "HUSH-T033" };
        let elements = program::element_count(Layout::Sum, block.block.set, chunk.row.rows);
        let body = |column: &EncodingId| {
            let place = self.columns.binary_search(column).map_err(|_| damaged())?;
            let blob = chunk.row.encoded.get(place).ok_or_else(damaged)?;
            let id = BodyId { column: column.0, chunk: chunk.row.index, element_count: elements, lanes: 1 };
            let stored = StoredBody { blob, kind: BodyKind::Sum, id };
            self.job.snapshot.body(chunk.part, &block.ring, stored)
        };
        block.block.columns.iter().map(body).collect()
    }

    /// Renumbers the groups of this pass from 0 and deselects all others.
    fn restrict(&self, mut masks: Vec<RowMask>, group_count: usize) -> Vec<RowMask> {
        if self.range.len() == group_count {
            return masks;
        }
        let (first, count) = (self.range.start as u32, self.range.len() as u32);
        for mask in &mut masks {
            if let RowMask::Rows { groups, .. } = mask {
                for group in groups.iter_mut().filter(|group| **group != NOT_SELECTED) {
                    let here = group.wrapping_sub(first);
                    *group = if here < count { here } else { NOT_SELECTED };
                }
                if groups.iter().all(|group| *group == NOT_SELECTED) {
                    *mask = RowMask::Nothing;
                }
            }
        }
        masks
    }
}
