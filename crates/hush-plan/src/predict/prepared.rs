// SPDX-License-Identifier: Apache-2.0
//! What parts send in the place of rows, because it was prepared when they were written: cells of cubes, pieces of sorted runs.

use hush_params::size::CHUNK_ROWS;

use super::Work;
use crate::plan::RunRead;
use crate::quantity::{Quantity, RANK_FLAGS};
use crate::run::{NumberedRun, RunColumn, RunForm, RunShape};

/// Number of cells and of lanes before the cells of an answer.
const CELLS_HEAD_BYTES: u64 = 5;
/// Number of parts before the pieces of a sorted run in an answer.
const PIECES_HEAD_BYTES: u64 = 4;
/// Entry of a part in the directory of these pieces.
const PIECE_ENTRY_BYTES: u64 = 12;

/// Bits of a segment's block, rows and group in an index, and of the number of a row.
const SEGMENT_BITS: u64 = 46;
const ROW_BITS: u64 = 19;
/// Bytes of the seed that an order of a chunk has.
const RANK_SEED_BYTES: u64 = 32;
/// Bits of the place of a block in the order of a chunk.
const BLOCK_PLACE_BITS: u64 = 16;
/// Bits of a text of usual length and of its length.
const TEXT_BITS: u64 = 8 * (4 + 16);
/// Bytes of nonce and authentication of a seal.
pub(super) const SEAL_BYTES: u64 = 24 + 16;

/// A sorted run of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunSpread {
    /// Its place in the schema.
    pub place: usize,
    /// Its number, and what its columns and lanes are.
    pub numbered: NumberedRun,
    /// The run of each part that answers by it, in row order.
    pub parts: Vec<Option<RunSize>>,
}

/// The sorted run of a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunSize {
    /// Bytes of the sealed index.
    pub index_bytes: u32,
    /// Blocks.
    pub blocks: u32,
    /// Bytes of each, sealed.
    pub block_bytes: u32,
}

impl RunSize {
    /// The run of a part of so many rows, as it is expected with so many groups of `within` values; texts are taken for some of usual length.
    pub(crate) fn expected(shape: &RunShape, rows: u64, groups: u64) -> Self {
        let groups = groups.clamp(1, rows.max(1));
        let bits = |columns: &[RunColumn]| columns.iter().map(expected_bits).sum::<u64>();
        let (within, held) = shape.columns.split_at(shape.within.min(shape.columns.len()));
        let by = shape.by().map_or(0, expected_bits);
        let row_bits = bits(held) + if shape.has_numbers { ROW_BITS } else { 0 };
        let blocks = rows.div_ceil(shape.block_rows().into());
        let sums: u64 = shape.lanes.iter().skip(1).map(|lane| u64::from(lane.bits)).sum();
        let index_bits = match shape.by_chunk {
            true => {
                blocks * (by + BLOCK_PLACE_BITS)
                    + rows.div_ceil(CHUNK_ROWS.into()) * 8 * (RANK_SEED_BYTES + u64::from(RANK_FLAGS))
            }
            false => (blocks + groups) * (by + SEGMENT_BITS + sums) + groups * (bits(within) + by),
        };
        let bytes = |bits: u64| u32::try_from(bits.div_ceil(8) + SEAL_BYTES).unwrap_or(u32::MAX);
        let block_bytes = bytes(row_bits * rows.min(shape.block_rows().into()));
        let blocks = u32::try_from(blocks).unwrap_or(u32::MAX);
        Self { index_bytes: bytes(index_bits), blocks, block_bytes }
    }

    /// Bytes of index and blocks.
    pub(crate) fn bytes(&self) -> u64 {
        u64::from(self.index_bytes) + u64::from(self.blocks) * u64::from(self.block_bytes)
    }
}

/// Bits of a value.
fn expected_bits(column: &RunColumn) -> u64 {
    let bits = match column.form {
        RunForm::Doubles => 64,
        RunForm::Texts => TEXT_BITS,
        RunForm::Units { bits, .. } => u64::from(bits.max(1)),
    };
    bits + u64::from(column.nullable)
}

impl RunSpread {
    /// Whether each part answers by it, in row order.
    pub(super) fn covers(&self) -> impl Iterator<Item = bool> {
        self.parts.iter().map(Option::is_some)
    }

    /// Bytes of what is read of it in an answer; with blocks that are not chosen yet, of the directory alone.
    pub fn answer_bytes(&self, read: &RunRead) -> u64 {
        let parts = self.covers().filter(|covers| *covers).count() as u64;
        if parts == 0 { 0 } else { PIECES_HEAD_BYTES + parts * PIECE_ENTRY_BYTES + self.bytes(read) }
    }

    /// Bytes of what is read of it.
    fn bytes(&self, read: &RunRead) -> u64 {
        let sizes = self.parts.iter().flatten();
        match read {
            RunRead::Index => sizes.map(|size| u64::from(size.index_bytes)).sum(),
            RunRead::Blocks { of_parts, .. } => {
                let blocks = |(size, places): (&RunSize, &Vec<u32>)| {
                    u64::from(size.block_bytes).saturating_mul(places.len() as u64)
                };
                sizes.zip(of_parts).map(blocks).fold(0, u64::saturating_add)
            }
        }
    }
}

/// A cube of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CubeSpread {
    /// Its place in the schema.
    pub place: usize,
    /// Cells.
    pub cells: u32,
    /// Bits of each lane.
    pub bits: Vec<u8>,
    /// What the lanes are, behind the number of rows.
    pub lanes: Vec<Quantity>,
    /// Whether each part answers by it, in row order.
    pub covers: Vec<bool>,
}

impl CubeSpread {
    /// Bytes of its cells in an answer.
    pub fn answer_bytes(&self) -> u64 {
        CELLS_HEAD_BYTES + self.bits.len() as u64 + self.bytes()
    }

    /// Bytes of its sums.
    fn bytes(&self) -> u64 {
        let lane = |bits: &u8| (u64::from(self.cells) * u64::from(*bits)).div_ceil(8);
        self.bits.iter().map(lane).sum()
    }

    /// The work of adding it up, and of taking off its pads.
    fn work(&self) -> Work {
        let parts = self.covers.iter().filter(|covers| **covers).count() as u64;
        let sums = parts * u64::from(self.cells) * self.bits.len() as u64;
        Work { bytes_read: parts * self.bytes(), unpacked: sums, owner_unpacked: sums, ..Work::default() }
    }
}

/// What a task asks for of what is prepared, in the place of rows.
#[derive(Clone, Copy)]
pub(super) enum Asked<'a> {
    Cube(&'a CubeSpread),
    Run(&'a RunSpread, &'a RunRead),
}

impl Asked<'_> {
    /// Its bytes in an answer.
    pub(super) fn answer_bytes(self) -> u64 {
        match self {
            Self::Cube(spread) => spread.answer_bytes(),
            Self::Run(spread, read) => spread.answer_bytes(read),
        }
    }

    /// The work of reading it, adding it up, and taking off its pads.
    pub(super) fn work(self) -> Work {
        match self {
            Self::Cube(spread) => spread.work(),
            Self::Run(spread, read) => Work { bytes_read: spread.bytes(read), ..Work::default() },
        }
    }

    /// Whether its bytes are certain: which blocks a question needs only the index knows.
    pub(super) fn is_certain(self) -> bool {
        !matches!(self, Self::Run(_, RunRead::Blocks { .. }))
    }
}
