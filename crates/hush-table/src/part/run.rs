// SPDX-License-Identifier: Apache-2.0
//! The sorted runs of a part: its rows once more, sorted, in sealed blocks of one size in secret order, and a sealed index of them.
//!
//! Their file has no head: run after run, the index and then the blocks. The manifest says where each lies ([`crate::manifest::Runs`]), so that a
//! block is read alone. Whoever has no key learns how many runs, rows' blocks and bytes there are; all that it does is to cut bytes out.
// Bytes from outside are cut by pattern and `get`, numbers from outside added with care.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

use bytes::Bytes;

use crate::digest::RunsId;
use crate::manifest::StoredRun;

/// The sorted runs of a part as their file holds them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartRuns {
    /// Random, drawn for this file: the owner binds the seals to it.
    pub id: RunsId,
    /// The runs, numbers rising.
    pub runs: Vec<RunBytes>,
}

/// A sorted run of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunBytes {
    /// Its number in the table.
    pub number: u32,
    /// The index, sealed.
    pub index: Bytes,
    /// Bytes of each block, sealed.
    pub block_bytes: u32,
    /// The blocks, one behind the other.
    pub blocks: Bytes,
}

impl PartRuns {
    /// The bytes of the file.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let pieces: Vec<&[u8]> = self.runs.iter().flat_map(|run| [&*run.index, &*run.blocks]).collect();
        pieces.concat()
    }

    /// What the manifest says of the runs; `None` if one of them has half a block, or more bytes than it can have.
    pub(crate) fn stored(&self) -> Option<Vec<StoredRun>> {
        self.runs.iter().map(RunBytes::stored).collect()
    }
}

impl RunBytes {
    fn stored(&self) -> Option<StoredRun> {
        let [index_bytes, bytes] = [&self.index, &self.blocks].map(|bytes| u32::try_from(bytes.len()).ok());
        let (blocks, rest) = (bytes?.checked_div(self.block_bytes)?, bytes?.checked_rem(self.block_bytes)?);
        let stored = StoredRun {
            number: self.number,
            index_bytes: index_bytes?,
            blocks,
            block_bytes: self.block_bytes,
        };
        (rest == 0).then_some(stored)
    }
}
