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
use crate::noop::{self, PlainSums, PlainValues, Scheme};
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
    threads: Vec<Mutex<Option<Vec<Sums>>>>,
}

/// The sums of one block on one thread.
enum Sums {
    Encrypted(SumAccumulator),
    Plain(PlainSums),
}

/// The columns of one block in one chunk.
enum Bodies<'a> {
    Encrypted(UniformSeed, Vec<Body<'a>>),
    Plain(Vec<PlainValues>),
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
        let thread = self.job.workers.thread_index();
        let slot = self.threads.get(thread).ok_or(ExecError::Internal { place: "thread index" })?;
        let mut sums = slot.lock().unwrap_or_else(PoisonError::into_inner);
        let sums =
            sums.get_or_insert_with(|| self.blocks.iter().map(|block| self.accumulator(block)).collect());
        for (block, sum) in self.blocks.iter().zip(sums) {
            match chunk.masks.get(block.block.mask) {
                Some(RowMask::Nothing) | None => {}
                Some(mask) => sum.absorb(mask, chunk.row.rows as usize, &self.bodies(chunk, block)?)?,
            }
        }
        Ok(())
    }

    /// Puts the threads' sums together: for each block the encoded answers of the groups.
    ///
    /// # Errors
    /// [`ExecError::Internal`].
    pub(super) fn finish(self) -> Result<Vec<Vec<Vec<u8>>>, ExecError> {
        let mut total: Option<Vec<Sums>> = None;
        let first = self.range.start;
        let empty: Vec<Sums> = self.blocks.iter().map(|block| self.accumulator(block)).collect();
        for sums in self.threads {
            let sums = sums.into_inner().unwrap_or_else(PoisonError::into_inner);
            match (&mut total, sums) {
                (None, sums) => total = sums,
                (Some(total), Some(sums)) => {
                    let pairs: Vec<_> = total.iter_mut().zip(sums).collect();
                    pairs.into_par_iter().try_for_each(|(mine, theirs)| mine.merge(theirs))?;
                }
                (Some(_), None) => {}
            }
        }
        total.unwrap_or(empty).into_par_iter().map(|sums| sums.encode(first)).collect()
    }

    fn accumulator(&self, block: &Block) -> Sums {
        let (groups, columns) = (self.range.len(), block.block.columns.len());
        match self.job.scheme {
            Scheme::Lattice => Sums::Encrypted(SumAccumulator::new(&block.ring, groups, columns)),
            Scheme::NoOp => Sums::Plain(PlainSums::new(groups, columns)),
        }
    }

    /// The bodies of a block's columns in a chunk.
    fn bodies<'c>(&self, chunk: &'c Chunk<'_>, block: &Block) -> Result<Bodies<'c>, ExecError> {
        let damaged = || ExecError::Corrupt { code: "HUSH-T033" };
        let blob = |column: &EncodingId| {
            let place = self.columns.binary_search(column).ok();
            place.and_then(|place| chunk.row.encoded.get(place)).ok_or_else(damaged)
        };
        let columns = block.block.columns.iter();
        if self.job.scheme == Scheme::NoOp {
            let plain = columns.map(|column| noop::column(blob(column)?));
            return Ok(Bodies::Plain(plain.collect::<Result<_, _>>()?));
        }
        let elements = program::element_count(Layout::Sum, block.block.set, chunk.row.rows);
        let body = |column: &EncodingId| {
            let id = BodyId { column: column.0, chunk: chunk.row.index, element_count: elements, lanes: 1 };
            let stored = StoredBody { blob: blob(column)?, kind: BodyKind::Sum, id };
            self.job.snapshot.body(chunk.part, &block.ring, stored)
        };
        let seed = UniformSeed::from_bytes(chunk.row.seed.ok_or_else(damaged)?);
        Ok(Bodies::Encrypted(seed, columns.map(body).collect::<Result<_, _>>()?))
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

impl Sums {
    /// Adds the rows of a chunk that a mask selects.
    fn absorb(&mut self, mask: &RowMask, rows: usize, bodies: &Bodies<'_>) -> Result<(), ExecError> {
        let internal = |_| ExecError::Internal { place: "masked sum" };
        match (self, bodies, mask) {
            (_, _, RowMask::Nothing) => Ok(()),
            (Self::Encrypted(sums), Bodies::Encrypted(seed, bodies), RowMask::All) => {
                sums.absorb_unfiltered(*seed, rows, bodies).map_err(internal)
            }
            (Self::Encrypted(sums), Bodies::Encrypted(seed, bodies), RowMask::Rows { groups, weights }) => {
                sums.absorb_masked(*seed, groups, weights.as_deref(), bodies).map_err(internal)
            }
            (Self::Plain(sums), Bodies::Plain(bodies), RowMask::All) => sums.absorb_unfiltered(rows, bodies),
            (Self::Plain(sums), Bodies::Plain(bodies), RowMask::Rows { groups, weights }) => {
                sums.absorb_masked(groups, weights.as_deref(), bodies)
            }
            _ => Err(ExecError::Internal { place: "scheme of a sum" }),
        }
    }

    /// Adds what another thread has.
    fn merge(&mut self, other: Self) -> Result<(), ExecError> {
        match (self, other) {
            (Self::Encrypted(mine), Self::Encrypted(theirs)) => {
                mine.merge(theirs).map_err(|_| ExecError::Internal { place: "finished sums" })
            }
            (Self::Plain(mine), Self::Plain(theirs)) => mine.merge(theirs),
            _ => Err(ExecError::Internal { place: "scheme of a sum" }),
        }
    }

    /// The encoded answer of every group; the first has number `first`.
    fn encode(self, first: usize) -> Result<Vec<Vec<u8>>, ExecError> {
        let sums = match self {
            Self::Encrypted(sums) => sums,
            Self::Plain(sums) => return Ok(sums.finish()),
        };
        let answers = sums.finish().map_err(|_| ExecError::Internal { place: "finished sums" })?;
        let encoded = answers.into_par_iter().enumerate().map(|(index, answer)| {
            let group = (first + index) as u32;
            answer.encode(group).map_err(|_| ExecError::Internal { place: "encoded sum" })
        });
        encoded.collect()
    }
}
