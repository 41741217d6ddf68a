// SPDX-License-Identifier: Apache-2.0
//! Ranks of values in their chunks: the flags that rows have of them, and the order of each chunk, by which their owner knows how many rows lie below a
//! constant.
//!
//! ```text
//! encrypt:  chunk ─ ChunkRanks::of ─▶ flags of its rows, in an order of its own │ rows in the order of their values ─▶ blocks, index
//! ask:      index, blocks ─ OpenRanks::rows_below ─▶ how many rows of each chunk lie below a cut ─▶ which flags a condition multiplies
//! ```
//!
//! The index:
//!
//! ```text
//! chunks: u32
//! for each chunk its rows: u32, a seed: 32 bytes, and for each place of a flag the number of the one that stands there: u8
//! for each block, in the order of chunks and values, its place in the file: u32
//! first values of the blocks (columns::pack of `by`)
//! zeros
//! ```

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use hush_keys::SealKey;
use hush_plan::plan::Cut;
use hush_plan::quantity::{RANK_FLAGS, RankFlag};
use hush_plan::run::{RANK_BLOCK_ROWS, RunColumn, RunShape};
use hush_table::{CHUNK_ROWS, Digest, RunsId};
use zeroize::Zeroize;

use super::columns::{RunValues, pack, unpack};
use super::{in_order, place_of, shuffled};
use crate::error::ClientError;

/// The ranks of a column's values in a chunk.
pub(crate) struct ChunkRanks {
    pub(super) column: String,
    /// The code of each row's rank; `None` without a value.
    codes: Vec<Option<u32>>,
    /// The rows in the order of their values.
    pub(super) rows: Vec<u32>,
    pub(super) order: ChunkOrder,
}

/// What an index says of a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChunkOrder {
    rows: u32,
    /// Of what is drawn for each rank.
    seed: [u8; SEED_BYTES],
    /// The number of the flag that stands at each place.
    flags: Vec<u8>,
}

impl Drop for ChunkRanks {
    fn drop(&mut self) {
        self.codes.zeroize();
        self.rows.zeroize();
    }
}

impl ChunkRanks {
    /// Those of some values, with flags in an order that is drawn now.
    ///
    /// # Errors
    /// [`ClientError::Internal`] without randomness.
    ///
    /// # Cost
    /// The rows are sorted.
    pub(super) fn of(column: &RunColumn, values: &RunValues) -> Result<Self, ClientError> {
        let rows = in_order(std::slice::from_ref(values));
        let mut seed = [0; SEED_BYTES];
        hush_ring::os_random(&mut seed)?;
        let drawn: Vec<[u8; 32]> =
            (0..=CHUNK_ROWS / DRAWN_TOGETHER).map(|block| drawn_of(&seed, block)).collect();
        let mut codes = vec![None; rows.len()];
        let (mut rank, mut last) = (0, None);
        for (place, row) in (0..).zip(&rows) {
            let row = *row as usize;
            if last.is_none_or(|last| values.compare(last, row).is_ne()) {
                rank = place;
            }
            last = Some(row);
            if let Some(of_row) = codes.get_mut(row).filter(|_| values.has(row)) {
                let block = drawn.get((rank / DRAWN_TOGETHER) as usize);
                *of_row = block.map(|block| code_of(block, rank));
            }
        }
        let flags =
            shuffled(RANK_FLAGS.into()).ok_or(ClientError::Internal { what: "there is no randomness" })?;
        let flags = flags.into_iter().map(|flag| flag as u8).collect();
        let order = ChunkOrder { rows: rows.len() as u32, seed, flags };
        Ok(Self { column: column.name.clone(), codes, rows, order })
    }

    /// The flag of each row that stands at a place.
    ///
    /// # Errors
    /// [`ClientError::Internal`] for a place without one.
    pub(crate) fn flags(&self, place: u8) -> Result<Vec<i64>, ClientError> {
        let number = self.order.flags.get(usize::from(place)).copied();
        let flag = number.and_then(|number| RankFlag::all().nth(number.into()));
        let flag = flag.ok_or(ClientError::Internal { what: "a rank has fewer flags" })?;
        Ok(self.codes.iter().map(|code| i64::from(flag.is_set(*code))).collect())
    }

    /// The ranks of this column, among those of others.
    ///
    /// # Errors
    /// [`ClientError::Internal`] if there are none.
    pub(crate) fn find<'r>(all: &'r [Self], column: &str) -> Result<&'r Self, ClientError> {
        let found = all.iter().find(|ranks| ranks.column == column);
        found.ok_or(ClientError::Internal { what: "a column has no ranks" })
    }
}

/// Bytes of a seed.
const SEED_BYTES: usize = 32;
/// Ranks for which a digest draws.
const DRAWN_TOGETHER: u32 = 256;

/// What a seed draws for the ranks of a block: a bit for each.
fn drawn_of(seed: &[u8; SEED_BYTES], block: u32) -> [u8; 32] {
    *Digest::of(&[seed.as_slice(), b"code", &block.to_le_bytes()].concat()).as_bytes()
}

/// The code of a rank, for whose block this was drawn.
fn code_of(drawn: &[u8; 32], rank: u32) -> u32 {
    let bit = rank % DRAWN_TOGETHER;
    let byte = drawn.get((bit / 8) as usize).copied().unwrap_or_default();
    2 * rank + u32::from(byte >> (bit % 8) & 1)
}

impl ChunkOrder {
    /// The code of the rows of a rank.
    pub(crate) fn code(&self, rank: u32) -> u32 {
        code_of(&drawn_of(&self.seed, rank / DRAWN_TOGETHER), rank)
    }

    /// The code of a value of this rank that no row has.
    pub(crate) fn spare_code(&self, rank: u32) -> u32 {
        self.code(rank) ^ 1
    }

    /// The place of the flag with a number.
    pub(crate) fn place_of(&self, number: u8) -> Option<u8> {
        self.flags.iter().position(|flag| *flag == number).map(|place| place as u8)
    }

    /// Blocks of its rows.
    fn block_count(&self) -> usize {
        self.rows.div_ceil(RANK_BLOCK_ROWS) as usize
    }
}

/// Blocks of the rows of some chunks, which stand in the order of their values.
pub(super) fn blocks(chunks: &[ChunkOrder]) -> Vec<Vec<u32>> {
    let mut first = 0;
    let of_chunk = chunks.iter().flat_map(|chunk| {
        let end = first + chunk.rows;
        let starts = (first..end).step_by(RANK_BLOCK_ROWS as usize);
        first = end;
        starts.map(move |start| (start..end.min(start + RANK_BLOCK_ROWS)).collect())
    });
    of_chunk.collect()
}

/// The index of a part's chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RankIndex {
    pub(super) chunks: Vec<ChunkOrder>,
    /// The place of each block in the file.
    pub(super) places: Vec<u32>,
    /// The first value of each.
    pub(super) firsts: RunValues,
}

impl RankIndex {
    pub(super) fn encode(&self, by: &RunColumn) -> Vec<u8> {
        let mut bytes = (self.chunks.len() as u32).to_le_bytes().to_vec();
        for chunk in &self.chunks {
            bytes.extend(chunk.rows.to_le_bytes());
            bytes.extend(chunk.seed);
            bytes.extend(&chunk.flags);
        }
        bytes.extend(self.places.iter().flat_map(|place| place.to_le_bytes()));
        let all: Vec<u32> = (0..self.places.len() as u32).collect();
        bytes.extend(pack(&[(by, &self.firsts)], &all));
        bytes
    }

    /// The index that some bytes are, of so many blocks; `None` if they are none.
    pub(super) fn decode(by: &RunColumn, blocks: u32, mut bytes: &[u8]) -> Option<Self> {
        let number = |bytes: &mut &[u8]| {
            let (number, rest) = bytes.split_first_chunk::<4>()?;
            *bytes = rest;
            Some(u32::from_le_bytes(*number))
        };
        let count = number(&mut bytes)?;
        let mut chunks = Vec::new();
        for _ in 0..count {
            let rows = number(&mut bytes).filter(|rows| (1..=CHUNK_ROWS).contains(rows))?;
            let (seed, rest) = bytes.split_first_chunk::<SEED_BYTES>()?;
            let (flags, rest) = rest.split_at_checked(RANK_FLAGS.into())?;
            bytes = rest;
            let flags = flags.to_vec();
            is_order(flags.iter().map(|flag| u32::from(*flag)), RANK_FLAGS.into()).then_some(())?;
            chunks.push(ChunkOrder { rows, seed: *seed, flags });
        }
        let found: usize = chunks.iter().map(ChunkOrder::block_count).sum();
        (found == blocks as usize).then_some(())?;
        let places: Vec<u32> = (0..blocks).map(|_| number(&mut bytes)).collect::<Option<_>>()?;
        is_order(places.iter().copied(), blocks).then_some(())?;
        let [firsts] = <[RunValues; 1]>::try_from(unpack(&[by], blocks, &mut bytes)?).ok()?;
        bytes.iter().all(|byte| *byte == 0).then_some(Self { chunks, places, firsts })
    }
}

/// Whether these are the first so many numbers, each once.
fn is_order(numbers: impl Iterator<Item = u32>, count: u32) -> bool {
    let mut numbers: Vec<u32> = numbers.collect();
    numbers.sort_unstable();
    numbers.into_iter().eq(0..count)
}

/// The order of the chunks of a part, whose index its owner has opened.
pub(crate) struct OpenRanks {
    id: [u8; 16],
    number: u32,
    by: RunColumn,
    index: RankIndex,
    /// The blocks of each chunk, in the order of their values.
    of_chunks: Vec<Range<usize>>,
}

impl OpenRanks {
    /// Opens an index of the chunks of a part with so many rows.
    ///
    /// # Errors
    /// [`ClientError::Answer`] for bytes that were not sealed for it.
    pub(crate) fn open(
        (id, number, blocks): (RunsId, u32, u32),
        (shape, rows): (&RunShape, u64),
        key: &SealKey,
        sealed: &[u8],
    ) -> Result<Self, ClientError> {
        let other = || ClientError::Answer { what: "the index of a run is not that of its part".into() };
        let id = *id.as_bytes();
        let plain = key.open(&place_of((&id, number), None), sealed).map_err(|_| other())?;
        let by = shape.by().ok_or_else(other)?.clone();
        let index = RankIndex::decode(&by, blocks, &plain).ok_or_else(other)?;
        let found = index.chunks.iter().map(|chunk| u64::from(chunk.rows)).sum::<u64>();
        let (last, full) = index.chunks.split_last().ok_or_else(other)?;
        if found != rows || full.iter().any(|chunk| chunk.rows != CHUNK_ROWS) || last.rows > CHUNK_ROWS {
            return Err(other());
        }
        let mut first = 0;
        let blocks_of = |chunk: &ChunkOrder| {
            let blocks = first..first + chunk.block_count();
            first = blocks.end;
            blocks
        };
        let of_chunks = index.chunks.iter().map(blocks_of).collect();
        Ok(Self { id, number, by, index, of_chunks })
    }

    /// The order of each chunk.
    pub(crate) fn chunks(&self) -> &[ChunkOrder] {
        &self.index.chunks
    }

    /// The places in the file of the blocks that some cuts need, rising: of each chunk as many as there are cuts, if it has so many.
    pub(crate) fn places(&self, cuts: &[Cut]) -> Vec<u32> {
        let of_chunk = |(blocks, chunk): (&Range<usize>, &ChunkOrder)| {
            let mut needed: Vec<usize> = cuts.iter().map(|cut| self.block_of(blocks, cut)).collect();
            needed.sort_unstable();
            needed.dedup();
            // Others fill up, so that their number does not hang on the cuts: any others, but the same ones each time.
            let first = needed.first().copied().unwrap_or(blocks.start);
            let mut others: Vec<usize> = blocks.clone().filter(|block| !needed.contains(block)).collect();
            others.sort_by_cached_key(|block| {
                let place = [first, *block].map(usize::to_le_bytes).concat();
                *Digest::of(&[chunk.seed.as_slice(), b"fill", &place].concat()).as_bytes()
            });
            let missing = cuts.len().saturating_sub(needed.len());
            needed.extend(others.into_iter().take(missing));
            needed
        };
        let needed = self.of_chunks.iter().zip(&self.index.chunks).flat_map(of_chunk);
        let mut places: Vec<u32> = needed.filter_map(|block| self.index.places.get(block)).copied().collect();
        places.sort_unstable();
        places
    }

    /// The block in which the last value below a cut lies, or the first of the chunk's if there is none.
    fn block_of(&self, blocks: &Range<usize>, cut: &Cut) -> usize {
        let begins_below =
            |block: &usize| self.index.firsts.key(self.by.form, *block).is_some_and(|key| cut.is_above(&key));
        blocks.clone().take_while(begins_below).last().unwrap_or(blocks.start)
    }

    /// How many rows of each chunk lie below each of some cuts, from blocks that were read at these places.
    ///
    /// # Errors
    /// [`ClientError::Answer`] for bytes that were not sealed for their places.
    pub(crate) fn rows_below(
        &self,
        cuts: &[Cut],
        key: &SealKey,
        read: &[(u32, &[u8])],
    ) -> Result<Vec<Vec<u32>>, ClientError> {
        let other = || ClientError::Answer { what: "a block of a run is not that of its place".into() };
        let mut opened = BTreeMap::new();
        for (place, sealed) in read {
            let plain = key.open(&place_of((&self.id, self.number), Some(*place)), sealed);
            opened.insert(*place, plain.map_err(|_| other())?);
        }
        let of_cut = |cut: &Cut| {
            let of_chunk = |(blocks, chunk): (&Range<usize>, &ChunkOrder)| {
                let block = self.block_of(blocks, cut);
                let before = (block - blocks.start) as u32 * RANK_BLOCK_ROWS;
                let rows = RANK_BLOCK_ROWS.min(chunk.rows.saturating_sub(before));
                let plain =
                    self.index.places.get(block).and_then(|place| opened.get(place)).ok_or_else(other)?;
                let values = unpack(&[&self.by], rows, &mut &**plain).ok_or_else(other)?;
                let values = values.first().ok_or_else(other)?;
                let is_below =
                    |row: &usize| values.key(self.by.form, *row).is_some_and(|key| cut.is_above(&key));
                Ok(before + (0..rows as usize).take_while(is_below).count() as u32)
            };
            self.of_chunks.iter().zip(&self.index.chunks).map(of_chunk).collect()
        };
        cuts.iter().map(of_cut).collect()
    }
}

/// Most cuts of a run that are remembered.
const MAX_KNOWN: usize = 1000;

/// The order of the chunks of a part.
pub(crate) struct PartRanks {
    pub(crate) domain: u32,
    pub(crate) block_bytes: u32,
    pub(crate) open: OpenRanks,
}

/// What is known of the runs by chunks of a version, by their numbers.
#[derive(Default)]
pub(crate) struct KnownRanks(Mutex<BTreeMap<u32, KnownRun>>);

/// What is known of one of them.
#[derive(Clone, Default)]
pub(crate) struct KnownRun {
    /// Of each part, in row order.
    pub(crate) parts: Arc<Vec<PartRanks>>,
    /// How many rows of each chunk lie below a cut.
    pub(crate) below: BTreeMap<Cut, Arc<Vec<u32>>>,
}

impl KnownRanks {
    /// What is known of a run.
    pub(crate) fn get(&self, number: u32) -> Option<KnownRun> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&number).cloned()
    }

    /// Keeps what is known of a run now.
    pub(crate) fn keep(&self, number: u32, mut known: KnownRun) {
        if known.below.len() > MAX_KNOWN {
            known.below.clear();
        }
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(number, known);
    }
}

#[cfg(test)]
mod tests;
