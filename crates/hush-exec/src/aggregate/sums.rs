// SPDX-License-Identifier: Apache-2.0
//! Running sums of some groups on every thread.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use hush_plan::EncodingId;
use hush_schemes::bgv::sum::NOT_SELECTED;
use hush_table::{ChunkRow, EncryptedPart};
use rayon::prelude::*;

use super::Block;
use crate::answer::SumBlock;
use crate::clear::groups::Groups;
use crate::clear::masks::{MaskSet, RowMask};
use crate::error::ExecError;
use crate::job::Job;
use crate::kept::{KeptSum, Key};
use crate::scheme::{BlockInput, ChunkInput, RunningSums, Scheme};
use crate::table::{self, PartRef};

/// The sums of a range of groups.
pub(super) struct GroupSums<'a, S: Scheme> {
    job: &'a Job,
    blocks: &'a [Block],
    range: Range<usize>,
    whole: WholeParts,
    running: ThreadSums<S>,
}

/// Treatment of parts in which every living row counts once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WholeParts {
    /// A kept sum is used, and a new sum is kept.
    Kept,
    /// Like any other part.
    Summed,
}

/// For each thread one accumulator per block, made when the thread adds its first chunk.
struct ThreadSums<S: Scheme>(Vec<Mutex<Option<BlockSums<S>>>>);

/// `None` for blocks that are summed elsewhere.
type BlockSums<S> = Vec<Option<<S as Scheme>::Sums>>;

/// The work on one part: its chunks with rows that count, and the source of each block's sum.
pub(super) struct PartWork<'a> {
    part: PartRef<'a>,
    /// The part's file; `None` if nothing of it is needed.
    encrypted: Option<EncryptedPart>,
    /// The encoded columns that are read, in ascending order.
    columns: Vec<EncodingId>,
    sources: Vec<SumSource>,
    chunks: Vec<Chunk>,
}

/// The source of a block's sum over a part.
enum SumSource {
    /// Chunk by chunk, under their masks.
    Masked,
    /// A kept sum; nothing is read.
    Kept(KeptSum),
    /// All living rows; the sum is then kept under this key.
    Whole(Key),
    /// Other parts: this one is of another domain, or lacks the columns.
    Elsewhere,
}

/// A chunk with rows that count, and its masks.
struct Chunk {
    index: u32,
    masks: Vec<RowMask>,
    /// The mask that takes every living row.
    all: RowMask,
}

impl<'a, S: Scheme> GroupSums<'a, S> {
    pub(super) fn new(job: &'a Job, blocks: &'a [Block], range: Range<usize>, whole: WholeParts) -> Self {
        Self { job, blocks, range, whole, running: ThreadSums::new(job) }
    }

    /// Evaluates the masks of a part. Finds the chunks with rows that count, and the columns whose sums are not kept.
    ///
    /// # Errors
    /// Any [`ExecError`] of the clear half or of reading.
    pub(super) fn load<'p>(
        &self,
        part: PartRef<'p>,
        masks: &MaskSet,
        groups: &Groups,
    ) -> Result<PartWork<'p>, ExecError> {
        self.job.stop.check()?;
        let snapshot = &self.job.snapshot;
        let living = snapshot.living(part)?;
        let everywhere = |mask: RowMask| vec![vec![mask; masks.len()]; part.entry.chunks as usize];
        let clear = if masks.takes_all() { None } else { snapshot.clear_part(part)? };
        let per_chunk: Vec<Vec<RowMask>> = if masks.takes_all() {
            everywhere(RowMask::All)
        } else if clear.as_ref().is_some_and(|clear| masks.excludes(clear)) {
            everywhere(RowMask::Nothing)
        } else {
            let batches = living.rows_of(masks.read(clear.as_ref(), part.entry.rows)?)?;
            let evaluate = |batch| Ok(self.restrict(masks.evaluate(batch, groups)?, groups.count()));
            batches.par_iter().map(evaluate).collect::<Result<_, ExecError>>()?
        };
        let sources: Vec<SumSource> =
            self.blocks.iter().map(|block| self.source(part, block, &per_chunk)).collect();
        let read: Vec<&SumBlock> =
            self.blocks.iter().zip(&sources).filter_map(|(block, source)| source.reads(block)).collect();
        let mut columns: Vec<EncodingId> = read.iter().flat_map(|block| &block.columns).copied().collect();
        columns.sort_unstable();
        columns.dedup();
        let used =
            |masks: &Vec<RowMask>| read.iter().any(|block| masks.get(block.mask) != Some(&RowMask::Nothing));
        let chunks = (part.place.first_chunk..).zip(per_chunk).enumerate().map(|(at, (index, masks))| {
            let living = living.of_chunk(at);
            let masks = masks.into_iter().map(|mask| mask.spread(living.as_ref())).collect();
            Chunk { index, masks, all: RowMask::All.spread(living.as_ref()) }
        });
        let chunks: Vec<_> = chunks.filter(|chunk| used(&chunk.masks)).collect();
        let open = || Ok::<_, ExecError>(snapshot.encrypted_part(part)?.fetched(&columns, &[])?);
        let encrypted = (!chunks.is_empty()).then(open).transpose()?;
        Ok(PartWork { part, encrypted, columns, sources, chunks })
    }

    /// Adds some parts.
    ///
    /// # Errors
    /// [`ExecError::Corrupt`] if a column of a chunk does not fit the manifest.
    pub(super) fn add(&self, parts: &[PartWork<'_>]) -> Result<(), ExecError> {
        parts.par_iter().try_for_each(|work| self.add_kept(work))?;
        let masked = parts
            .par_iter()
            .filter(|work| work.sources.iter().any(|source| matches!(source, SumSource::Masked)));
        masked.try_for_each(|work| {
            self.read(work, |chunk, row| {
                let running = self.running.of_thread(self.job)?;
                let mut sums = running.lock().unwrap_or_else(PoisonError::into_inner);
                self.add_masked(work, chunk, row, sums.get_or_insert_with(|| self.accumulators(|_| true)))
            })
        })?;
        // One part after the other, because there is memory for only one more accumulator on each thread.
        parts.iter().try_for_each(|work| self.add_whole(work))
    }

    /// Merges the threads' sums: for each block the encoded answers of the groups.
    ///
    /// # Errors
    /// [`ExecError::Internal`].
    pub(super) fn finish(self) -> Result<Vec<Vec<Vec<u8>>>, ExecError> {
        let first = self.range.start;
        let empty = self.accumulators(|_| true);
        let total = self.running.merge()?.unwrap_or(empty);
        total.into_par_iter().flatten().map(|sums| sums.encode(first)).collect()
    }

    fn source(&self, part: PartRef<'_>, block: &Block, per_chunk: &[Vec<RowMask>]) -> SumSource {
        let SumBlock { domain, without, .. } = &block.block;
        if *domain != part.entry.domain || without.contains(&part.entry.generation) {
            return SumSource::Elsewhere;
        }
        let all = |masks: &Vec<RowMask>| masks.get(block.block.mask) == Some(&RowMask::All);
        if self.whole == WholeParts::Summed || !per_chunk.iter().all(all) {
            return SumSource::Masked;
        }
        let Some(key) = Key::new(part, &block.ring) else { return SumSource::Masked };
        self.job.sums.find(&key, &block.block.columns).map_or(SumSource::Whole(key), SumSource::Kept)
    }

    fn add_kept(&self, work: &PartWork<'_>) -> Result<(), ExecError> {
        for (index, source) in work.sources.iter().enumerate() {
            if let SumSource::Kept(sum) = source {
                self.add_sum(index, sum)?;
            }
        }
        Ok(())
    }

    /// Reads the chunks of a part and gives each to `take`, on all threads.
    fn read(
        &self,
        work: &PartWork<'_>,
        take: impl Fn(&Chunk, &ChunkRow) -> Result<(), ExecError> + Sync,
    ) -> Result<(), ExecError> {
        let Some(encrypted) = &work.encrypted else { return Ok(()) };
        let at_once = table::chunks_at_once(work.chunks.len(), self.job.workers.threads());
        work.chunks.par_chunks(at_once).try_for_each(|chunks| -> Result<(), ExecError> {
            let projection = table::projection((&work.columns, &[]), chunks.iter().map(|chunk| chunk.index));
            encrypted.chunks(&projection)?.zip(chunks).try_for_each(|(row, chunk)| {
                self.job.stop.check()?;
                take(chunk, &row?)
            })
        })?;
        Ok(encrypted.expect_unchanged()?)
    }

    fn add_masked(
        &self,
        work: &PartWork<'_>,
        chunk: &Chunk,
        row: &ChunkRow,
        sums: &mut BlockSums<S>,
    ) -> Result<(), ExecError> {
        for ((block, source), sum) in self.blocks.iter().zip(&work.sources).zip(sums) {
            match (source, sum, chunk.masks.get(block.block.mask)) {
                (_, _, Some(RowMask::Nothing) | None) => {}
                (SumSource::Masked, Some(sum), Some(mask)) => {
                    sum.absorb(mask, &self.input(work, row, block))?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Sums a part in the blocks that will keep its sum.
    fn add_whole(&self, work: &PartWork<'_>) -> Result<(), ExecError> {
        let is_whole = |index: usize| matches!(work.sources.get(index), Some(SumSource::Whole(_)));
        if !(0..work.sources.len()).any(is_whole) {
            return Ok(());
        }
        let here = ThreadSums::<S>::new(self.job);
        self.read(work, |chunk, row| {
            let mut sums = here.of_thread(self.job)?.lock().unwrap_or_else(PoisonError::into_inner);
            let sums = sums.get_or_insert_with(|| self.accumulators(is_whole));
            for (block, sum) in self.blocks.iter().zip(sums) {
                if let Some(sum) = sum {
                    sum.absorb(&chunk.all, &self.input(work, row, block))?;
                }
            }
            Ok(())
        })?;
        let unchanged = self.job.snapshot.encrypted_looks_unchanged(work.part);
        let sums = here.merge()?.unwrap_or_else(|| self.accumulators(is_whole));
        for (index, (source, sum)) in work.sources.iter().zip(sums).enumerate() {
            let (SumSource::Whole(key), Some(sum), Some(block)) = (source, sum, self.blocks.get(index))
            else {
                continue;
            };
            let sum = sum.into_kept()?;
            self.add_sum(index, &sum)?;
            if unchanged {
                self.job.sums.keep(*key, &block.block.columns, sum);
            }
        }
        Ok(())
    }

    /// Adds a finished sum to one block of this thread.
    fn add_sum(&self, block: usize, sum: &KeptSum) -> Result<(), ExecError> {
        let running = self.running.of_thread(self.job)?;
        let mut sums = running.lock().unwrap_or_else(PoisonError::into_inner);
        let sums = sums.get_or_insert_with(|| self.accumulators(|_| true));
        match sums.get_mut(block) {
            Some(Some(running)) => running.absorb_kept(sum),
            _ => Err(ExecError::Internal { place: "block of a kept sum" }),
        }
    }

    fn accumulators(&self, wanted: impl Fn(usize) -> bool) -> BlockSums<S> {
        let blocks = self.blocks.iter().enumerate();
        blocks.map(|(index, block)| wanted(index).then(|| self.accumulator(block))).collect()
    }

    fn accumulator(&self, block: &Block) -> S::Sums {
        S::Sums::new(&block.ring, self.range.len(), block.block.columns.len())
    }

    /// A block's columns in a chunk.
    fn input<'c>(&'c self, work: &'c PartWork<'_>, row: &'c ChunkRow, block: &'c Block) -> BlockInput<'c> {
        let (snapshot, part) = (self.job.snapshot.as_ref(), work.part);
        let chunk = ChunkInput { snapshot, part, columns: &work.columns, row };
        BlockInput { ring: &block.ring, columns: &block.block.columns, chunk }
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

impl SumSource {
    /// The block, if it needs the part's chunks.
    fn reads<'b>(&self, block: &'b Block) -> Option<&'b SumBlock> {
        match self {
            Self::Masked | Self::Whole(_) => Some(&block.block),
            Self::Kept(_) | Self::Elsewhere => None,
        }
    }
}

impl<S: Scheme> ThreadSums<S> {
    fn new(job: &Job) -> Self {
        Self(std::iter::repeat_with(Mutex::default).take(job.workers.threads()).collect())
    }

    fn of_thread(&self, job: &Job) -> Result<&Mutex<Option<BlockSums<S>>>, ExecError> {
        self.0.get(job.workers.thread_index()).ok_or(ExecError::Internal { place: "thread index" })
    }

    /// The sums of all threads; `None` if none has added anything.
    fn merge(self) -> Result<Option<BlockSums<S>>, ExecError> {
        let mut total: Option<BlockSums<S>> = None;
        for sums in self.0 {
            let sums = sums.into_inner().unwrap_or_else(PoisonError::into_inner);
            match (&mut total, sums) {
                (None, sums) => total = sums,
                (Some(total), Some(sums)) => {
                    let pairs: Vec<_> = total.iter_mut().flatten().zip(sums.into_iter().flatten()).collect();
                    pairs.into_par_iter().try_for_each(|(mine, theirs)| mine.merge(theirs))?;
                }
                (Some(_), None) => {}
            }
        }
        Ok(total)
    }
}
