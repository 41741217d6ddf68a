// SPDX-License-Identifier: Apache-2.0
//! The cubes of a part: joint histograms of its rows over small dimensions, under one-time pads of the owner.
//!
//! ```text
//! "HUSHCUBE"  id: 16 bytes   cubes: u16
//! for each cube   number: u32   cells: u32   lanes: u8   for each lane, its bits: u8
//! then, cube after cube, the packed sums (see CubeSums::pack)
//! ```
//!
//! Numbers are little-endian, and the cubes' own numbers rise. Whoever has no key learns of a cell nothing but the sum modulo a power of two
//! with a pad that it does not know; all that it does is to add cells of parts.
// Bytes from outside are cut by pattern and `get`, numbers from outside added with care.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

mod sums;
#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests;

use std::ops::Range;

use bytes::Bytes;

pub use sums::{CubeSums, PackedSums};

use crate::digest::CubesId;

/// Most cells of a cube.
pub const MAX_CUBE_CELLS: u32 = 1 << 20;
/// Most lanes of a cube.
pub const MAX_CUBE_LANES: usize = 64;
/// Most cubes of a part.
pub const MAX_CUBES: usize = 64;
/// Most bits of a lane.
pub const MAX_LANE_BITS: u8 = 128;

/// First bytes of a file of cubes.
const MAGIC: &[u8; 8] = b"HUSHCUBE";

/// The cubes of a part as its file holds them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartCubes {
    /// Random, drawn for this file: the owner derives the pads from it.
    pub id: CubesId,
    /// The cubes, numbers rising.
    pub cubes: Vec<StoredCube>,
}

/// A cube of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredCube {
    /// Its number in the table.
    pub number: u32,
    /// Its cells, at least one.
    pub cells: u32,
    /// Bits of each of its lanes, of which there is one at least.
    pub bits: Vec<u8>,
    /// The sums, packed, with the owner's pads in them.
    pub sums: Bytes,
}

impl StoredCube {
    /// A cube of these sums.
    pub fn new(number: u32, sums: &CubeSums) -> Self {
        Self { number, cells: sums.cells(), bits: sums.bits().to_vec(), sums: sums.pack().into() }
    }

    /// The sums; `None` if the bytes are not those of this shape.
    pub fn unpack(&self) -> Option<CubeSums> {
        CubeSums::unpack(&self.sums, self.cells, &self.bits)
    }

    /// Whether another cube has as many cells, and lanes of the same bits.
    pub fn has_shape_of(&self, other: &Self) -> bool {
        (self.cells, &self.bits) == (other.cells, &other.bits)
    }
}

impl PartCubes {
    /// Numbers of the cubes, in order.
    pub fn numbers(&self) -> Vec<u32> {
        self.cubes.iter().map(|cube| cube.number).collect()
    }

    /// The cube of this number.
    pub fn cube(&self, number: u32) -> Option<&StoredCube> {
        self.cubes.iter().find(|cube| cube.number == number)
    }

    /// The bytes of the file.
    pub fn encode(&self) -> Vec<u8> {
        let mut file = [MAGIC.as_slice(), self.id.as_bytes()].concat();
        file.extend_from_slice(&u16::try_from(self.cubes.len()).unwrap_or(u16::MAX).to_le_bytes());
        for cube in &self.cubes {
            file.extend_from_slice(&cube.number.to_le_bytes());
            put_shape(&mut file, cube.cells, &cube.bits);
        }
        self.cubes.iter().for_each(|cube| file.extend_from_slice(&cube.sums));
        file
    }

    /// The cubes that some bytes are; `None` if they are none. Nothing is copied.
    pub fn decode(bytes: Bytes) -> Option<Self> {
        let CubesHead { id, cubes } = CubesHead::decode(&bytes, bytes.len() as u64)?;
        let cube = |head: CubeHead| {
            let place = usize::try_from(head.sums.start).ok()?..usize::try_from(head.sums.end).ok()?;
            let sums = bytes.get(place).map(|sums| bytes.slice_ref(sums))?;
            head.with_sums(sums)
        };
        Some(Self { id, cubes: cubes.into_iter().map(cube).collect::<Option<_>>()? })
    }
}

/// What a file of cubes says before the sums.
pub(crate) struct CubesHead {
    pub(crate) id: CubesId,
    /// Numbers rising.
    pub(crate) cubes: Vec<CubeHead>,
}

/// The shape of a cube, and where in the file its sums are.
pub(crate) struct CubeHead {
    pub(crate) number: u32,
    cells: u32,
    bits: Vec<u8>,
    /// Bytes of the file.
    pub(crate) sums: Range<u64>,
}

impl CubesHead {
    /// Bytes in which every head ends.
    pub(crate) const MAX_BYTES: u64 = 26 + MAX_CUBES as u64 * (9 + MAX_CUBE_LANES as u64);

    /// The head of a file of `length` bytes that begins with `front`; `None` if the file is none of cubes.
    pub(crate) fn decode(front: &[u8], length: u64) -> Option<Self> {
        let (id, rest) = front.strip_prefix(MAGIC)?.split_first_chunk::<16>()?;
        let (count, mut rest) = rest.split_first_chunk::<2>()?;
        let count = usize::from(u16::from_le_bytes(*count));
        if !(1..=MAX_CUBES).contains(&count) {
            return None;
        }
        let mut cubes: Vec<CubeHead> = Vec::with_capacity(count);
        for _ in 0..count {
            let number = u32::from_le_bytes(*take(&mut rest)?);
            let (cells, bits) = take_shape(&mut rest)?;
            cubes.push(CubeHead { number, cells, bits: bits.to_vec(), sums: 0..0 });
        }
        if !cubes.is_sorted_by(|before, after| before.number < after.number) {
            return None;
        }
        let mut end = front.len().checked_sub(rest.len())? as u64;
        for cube in &mut cubes {
            let start = end;
            end = end.checked_add(CubeSums::packed_bytes(cube.cells, &cube.bits))?;
            cube.sums = start..end;
        }
        (end == length).then_some(Self { id: CubesId::from_bytes(*id), cubes })
    }

    /// Numbers of the cubes, in order.
    pub(crate) fn numbers(&self) -> Vec<u32> {
        self.cubes.iter().map(|cube| cube.number).collect()
    }
}

impl CubeHead {
    /// The cube with these sums; `None` if they are not those of this shape.
    pub(crate) fn with_sums(self, sums: Bytes) -> Option<StoredCube> {
        let Self { number, cells, bits, .. } = self;
        sums::is_packed(&sums, cells, &bits).then_some(StoredCube { number, cells, bits, sums })
    }
}

/// The form in which a cube's shape stands before its sums, here and in answers: `cells: u32`, `lanes: u8`, bits of each.
fn put_shape(bytes: &mut Vec<u8>, cells: u32, bits: &[u8]) {
    bytes.extend_from_slice(&cells.to_le_bytes());
    bytes.push(u8::try_from(bits.len()).unwrap_or(u8::MAX));
    bytes.extend_from_slice(bits);
}

/// The shape at the front, if a cube can have it.
fn take_shape<'a>(bytes: &mut &'a [u8]) -> Option<(u32, &'a [u8])> {
    let cells = u32::from_le_bytes(*take(bytes)?);
    let [lanes] = *take(bytes)?;
    let (bits, rest) = bytes.split_at_checked(usize::from(lanes))?;
    *bytes = rest;
    let is_possible = (1..=MAX_CUBE_CELLS).contains(&cells)
        && (1..=MAX_CUBE_LANES).contains(&bits.len())
        && bits.iter().all(|bits| (1..=MAX_LANE_BITS).contains(bits));
    is_possible.then_some((cells, bits))
}

fn take<'a, const N: usize>(bytes: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (front, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(front)
}
