// SPDX-License-Identifier: Apache-2.0
//! The sums of a cube in memory: added modulo powers of two, packed and unpacked.
// Bytes from outside are cut by pattern and `get`, numbers from outside added with care.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

use std::fmt;

use hush_kernels::bits::{pack_bits, unpack_bits};
use hush_kernels::{BitWidth, Cpu};

use super::{MAX_LANE_BITS, put_shape, take_shape};

/// Most bits of numbers that are added in one word.
const SHORT_BITS: u8 = 64;
/// Most bits of numbers that lie in sixteen bytes wherever they begin.
const LONG_BITS: u8 = 121;

/// Sums of a cube: lanes (a count, sums, …), each with a number for each cell, modulo 2^bits of the lane.
///
/// The owner's sums without pads are secret, so that `Debug` shows the shape alone.
#[derive(Clone, PartialEq, Eq)]
pub struct CubeSums {
    cells: u32,
    bits: Vec<u8>,
    lanes: Vec<Lane>,
}

/// Sums as [`CubeSums::encode`] has written them, checked and not yet unpacked: whoever reads them from others compares the shape with the one
/// that it expects, before memory is taken for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackedSums<'a> {
    cells: u32,
    bits: &'a [u8],
    packed: &'a [u8],
}

/// Numbers of a lane, in the narrower form that holds them.
#[derive(Clone, PartialEq, Eq)]
enum Lane {
    Short(Vec<u64>),
    Wide(Vec<u128>),
}

impl fmt::Debug for CubeSums {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CubeSums")
            .field("cells", &self.cells)
            .field("bits", &self.bits)
            .finish_non_exhaustive()
    }
}

impl CubeSums {
    /// Zeros in all cells of lanes of these bits, of which numbers outside 1 to 128 count as the nearest of these.
    pub fn zeros(cells: u32, bits: &[u8]) -> Self {
        let bits: Vec<u8> = bits.iter().map(|bits| (*bits).clamp(1, MAX_LANE_BITS)).collect();
        let zeros = |bits: &u8| match *bits <= SHORT_BITS {
            true => Lane::Short(vec![0; cells as usize]),
            false => Lane::Wide(vec![0; cells as usize]),
        };
        Self { cells, lanes: bits.iter().map(zeros).collect(), bits }
    }

    /// How many cells it has.
    pub fn cells(&self) -> u32 {
        self.cells
    }

    /// Bits of each lane.
    pub fn bits(&self) -> &[u8] {
        &self.bits
    }

    /// The numbers of a lane, cell by cell; `None` if there is no such lane.
    pub fn lane(&self, index: usize) -> Option<impl ExactSizeIterator<Item = u128> + '_> {
        let lane = self.lanes.get(index)?;
        Some((0..self.cells as usize).map(|cell| lane.get(cell).unwrap_or(0)))
    }

    /// Sets a cell of a lane to a number modulo 2^bits; a cell that is not there stays so.
    pub fn set(&mut self, lane: usize, cell: usize, value: u128) {
        let (Some(lane), Some(bits)) = (self.lanes.get_mut(lane), self.bits.get(lane)) else { return };
        match lane {
            Lane::Short(cells) => {
                cells.get_mut(cell).into_iter().for_each(|at| *at = value as u64 & short(*bits))
            }
            Lane::Wide(cells) => cells.get_mut(cell).into_iter().for_each(|at| *at = value & mask(*bits)),
        }
    }

    /// Adds the sums of another cube of the same shape, modulo 2^bits of each lane. `None`, and nothing is added, if the shape is another one.
    pub fn add(&mut self, other: &Self) -> Option<()> {
        if (self.cells, &self.bits) != (other.cells, &other.bits) {
            return None;
        }
        for ((lane, more), bits) in self.lanes.iter_mut().zip(&other.lanes).zip(&self.bits) {
            match (lane, more) {
                (Lane::Short(lane), Lane::Short(more)) => add_short(lane, more.iter().copied(), *bits),
                (Lane::Wide(lane), Lane::Wide(more)) => add_wide(lane, more.iter().copied(), *bits),
                // The form follows from the bits.
                _ => return None,
            }
        }
        Some(())
    }

    /// As [`CubeSums::add`], of packed sums of this shape. `None`, and nothing is added, for bytes that are none.
    pub fn add_packed(&mut self, bytes: &[u8]) -> Option<()> {
        is_packed(bytes, self.cells, &self.bits).then_some(())?;
        self.add_lanes(bytes)
    }

    /// Numbers of any bytes that are as many as packed sums: those of a stream of pads. What fills a lane's last byte is left out.
    pub fn of_stream(bytes: &[u8], cells: u32, bits: &[u8]) -> Self {
        let mut sums = Self::zeros(cells, bits);
        // Fewer bytes make zeros.
        let _ = sums.add_lanes(bytes);
        sums
    }

    fn add_lanes(&mut self, bytes: &[u8]) -> Option<()> {
        let mut rest = bytes;
        for (lane, bits) in self.lanes.iter_mut().zip(&self.bits) {
            let (packed, behind) = rest.split_at_checked(lane_bytes(self.cells, *bits))?;
            rest = behind;
            match lane {
                Lane::Short(lane) => match BitWidth::new(u32::from(*bits)) {
                    Ok(width) => add_narrow(lane, packed, width),
                    Err(_) => add_short(lane, numbers(packed, *bits).map(|number| number as u64), *bits),
                },
                Lane::Wide(lane) => add_wide(lane, numbers(packed, *bits), *bits),
            }
        }
        Some(())
    }

    /// The sums as bytes, lane after lane. In a lane the numbers of the cells follow one another with the lane's bits each, lowest bit first;
    /// its last byte is filled with zeros.
    pub fn pack(&self) -> Vec<u8> {
        let mut bytes =
            Vec::with_capacity(usize::try_from(Self::packed_bytes(self.cells, &self.bits)).unwrap_or(0));
        for (lane, bits) in self.lanes.iter().zip(&self.bits) {
            match lane {
                Lane::Short(cells) => match BitWidth::new(u32::from(*bits)) {
                    Ok(width) => pack_narrow(&mut bytes, cells, width),
                    Err(_) => pack_lane(&mut bytes, cells.iter().map(|cell| u128::from(*cell)), *bits),
                },
                Lane::Wide(cells) => pack_lane(&mut bytes, cells.iter().copied(), *bits),
            }
        }
        bytes
    }

    /// The sums that some bytes are; `None` if they are not exactly those of lanes of these bits.
    pub fn unpack(bytes: &[u8], cells: u32, bits: &[u8]) -> Option<Self> {
        let are_bits = bits.iter().all(|bits| (1..=MAX_LANE_BITS).contains(bits));
        // Before memory is taken.
        if !are_bits || bytes.len() as u64 != Self::packed_bytes(cells, bits) {
            return None;
        }
        let mut sums = Self::zeros(cells, bits);
        sums.add_packed(bytes)?;
        Some(sums)
    }

    /// Bytes of packed sums.
    pub fn packed_bytes(cells: u32, bits: &[u8]) -> u64 {
        bits.iter().fold(0, |sum, bits| sum.saturating_add(lane_bytes(cells, *bits) as u64))
    }

    /// Its shape (`cells: u32`, `lanes: u8`, bits of each lane) and the packed sums. [`PackedSums::decode`] reads them.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_shape(&mut bytes, self.cells, &self.bits);
        bytes.extend_from_slice(&self.pack());
        bytes
    }

    /// Bytes that [`CubeSums::encode`] writes.
    pub fn encoded_bytes(cells: u32, bits: &[u8]) -> u64 {
        Self::packed_bytes(cells, bits).saturating_add(bits.len() as u64).saturating_add(5)
    }
}

impl<'a> PackedSums<'a> {
    /// What [`CubeSums::encode`] has written; `None` for all other bytes.
    pub fn decode(mut bytes: &'a [u8]) -> Option<Self> {
        let (cells, bits) = take_shape(&mut bytes)?;
        is_packed(bytes, cells, bits).then_some(Self { cells, bits, packed: bytes })
    }

    /// How many cells they have.
    pub fn cells(&self) -> u32 {
        self.cells
    }

    /// Bits of each lane.
    pub fn bits(&self) -> &'a [u8] {
        self.bits
    }

    /// Lane after lane, as [`CubeSums::pack`] writes them and [`CubeSums::add_packed`] reads them.
    pub fn packed(&self) -> &'a [u8] {
        self.packed
    }

    /// The sums.
    pub fn unpack(&self) -> CubeSums {
        let mut sums = CubeSums::zeros(self.cells, self.bits);
        // They have been checked.
        let _ = sums.add_packed(self.packed);
        sums
    }
}

impl Lane {
    fn get(&self, cell: usize) -> Option<u128> {
        match self {
            Self::Short(cells) => cells.get(cell).map(|cell| u128::from(*cell)),
            Self::Wide(cells) => cells.get(cell).copied(),
        }
    }
}

/// Whether some bytes have the length of packed sums, and zeros behind the last number of each lane.
pub(super) fn is_packed(bytes: &[u8], cells: u32, bits: &[u8]) -> bool {
    let mut rest = bytes;
    let is_filled = bits.iter().all(|bits| {
        let Some((lane, behind)) = rest.split_at_checked(lane_bytes(cells, *bits)) else { return false };
        rest = behind;
        let used = u64::from(cells).saturating_mul(u64::from(*bits)) % 8;
        used == 0 || lane.last().is_none_or(|last| last.checked_shr(used as u32) == Some(0))
    });
    is_filled && rest.is_empty()
}

/// Bytes of a packed lane.
fn lane_bytes(cells: u32, bits: u8) -> usize {
    u64::from(cells).saturating_mul(u64::from(bits)).div_ceil(8) as usize
}

fn mask(bits: u8) -> u128 {
    u128::MAX.checked_shr(u32::from(MAX_LANE_BITS.saturating_sub(bits))).unwrap_or(0)
}

fn short(bits: u8) -> u64 {
    mask(bits) as u64
}

/// Numbers that are unpacked together: of any width they take whole bytes.
const TILE: usize = 512;

/// Any path gives the same numbers.
fn cpu() -> Cpu {
    Cpu::detect().unwrap_or(Cpu::scalar())
}

/// Writes numbers of this width.
fn pack_narrow(bytes: &mut Vec<u8>, cells: &[u64], width: BitWidth) {
    let start = bytes.len();
    bytes.resize(start.saturating_add(width.packed_bytes(cells.len())), 0);
    if let Some(packed) = bytes.get_mut(start..) {
        pack_bits(cpu(), width, cells, packed);
    }
}

/// Adds packed numbers of this width.
fn add_narrow(lane: &mut [u64], packed: &[u8], width: BitWidth) {
    let cpu = cpu();
    let mut tile = [0; TILE];
    for (cells, packed) in lane.chunks_mut(TILE).zip(packed.chunks(width.packed_bytes(TILE))) {
        let Some(numbers) = tile.get_mut(..cells.len()) else { return };
        unpack_bits(cpu, width, packed, numbers);
        for (cell, number) in cells.iter_mut().zip(numbers) {
            *cell = cell.wrapping_add(*number) & width.mask();
        }
    }
}

fn add_short(lane: &mut [u64], more: impl Iterator<Item = u64>, bits: u8) {
    let mask = short(bits);
    lane.iter_mut().zip(more).for_each(|(cell, more)| *cell = cell.wrapping_add(more) & mask);
}

fn add_wide(lane: &mut [u128], more: impl Iterator<Item = u128>, bits: u8) {
    let mask = mask(bits);
    lane.iter_mut().zip(more).for_each(|(cell, more)| *cell = cell.wrapping_add(more) & mask);
}

/// The packed numbers, and zeros behind.
fn numbers(packed: &[u8], bits: u8) -> impl Iterator<Item = u128> + '_ {
    let mask = mask(bits);
    (0_usize..).map(move |cell| {
        let first = cell.wrapping_mul(usize::from(bits));
        let (byte, shift) = (first / 8, (first % 8) as u32);
        let low = window(packed, byte).wrapping_shr(shift);
        if bits <= LONG_BITS || shift == 0 {
            return low & mask;
        }
        // Seventeen bytes: the first has bits of the number before.
        let last = u128::from(packed.get(byte.saturating_add(16)).copied().unwrap_or(0));
        (low | last.wrapping_shl(128_u32.wrapping_sub(shift))) & mask
    })
}

/// Sixteen bytes from here on, zeros beyond the end.
fn window(packed: &[u8], byte: usize) -> u128 {
    let rest = packed.get(byte..).unwrap_or_default();
    let word = rest.first_chunk().copied();
    u128::from_le_bytes(word.unwrap_or_else(|| {
        let mut word = [0; 16];
        word.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        word
    }))
}

/// Writes the numbers of a lane, which are below 2^bits.
fn pack_lane(bytes: &mut Vec<u8>, cells: impl Iterator<Item = u128>, bits: u8) {
    // Fewer than eight bits wait for the next number.
    let (mut waiting, mut count) = (0_u128, 0_u32);
    for cell in cells {
        let low = waiting | cell.wrapping_shl(count);
        let filled = count.saturating_add(u32::from(bits));
        let whole = filled / 8;
        bytes.extend_from_slice(low.to_le_bytes().get(..whole as usize).unwrap_or_default());
        waiting = match (whole, count) {
            (..16, _) => low.wrapping_shr(whole.wrapping_mul(8)),
            (_, 0) => 0,
            // Bits of the number that went beyond the sixteen bytes.
            _ => cell.wrapping_shr(128_u32.wrapping_sub(count)),
        };
        count = filled % 8;
    }
    if count > 0 {
        bytes.push(waiting as u8);
    }
}
