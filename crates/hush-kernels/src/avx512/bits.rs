// SPDX-License-Identifier: Apache-2.0
//! Bit streams by byte permutes: eight values of `w` bits are `w` bytes.
//!
//! Value `j` of a group starts at bit `j·w` of it, that is `j·w mod 8` bits into byte `⌊j·w/8⌋`, and spans at most
//! eight bytes. A permute gathers each value's bytes in its lane, or the other way round; shifts do the rest. Groups move
//! through 64-byte loads and stores while 64 bytes are left in the stream, then through masked ones: nothing outside
//! the slices is touched.

use super::vector::{Avx512, V, Words};
use crate::{BitWidth, operands::CACHE_LINE, scalar::bits as scalar};

/// Values in a group.
const GROUP: usize = 8;
/// Running sums, so that no addition waits for the one before.
const SUMS: usize = 4;
/// How far ahead of the sum its stream is fetched: bodies come from memory, and pages end the hardware's own look-ahead.
const PREFETCH_BYTES: usize = 8192;

#[inline(always)]
pub(crate) fn unpack(simd: Avx512, width: BitWidth, packed: &[u8], values: &mut [u64]) {
    let layout = Layout::new(simd, width);
    let group_bytes = width.bits() as usize;
    let (groups, tail) = values.as_chunks_mut::<GROUP>();
    let (mut stream, mut groups) = (packed, groups.iter_mut());
    while let Some(bytes) = stream.first_chunk() {
        let Some(words) = groups.next() else { break };
        simd.store(words, layout.values(simd, simd.load_bytes(bytes)));
        stream = &stream[group_bytes..];
    }
    for words in groups {
        simd.store(words, layout.values(simd, simd.load_first_bytes(stream)));
        stream = &stream[group_bytes..];
    }
    scalar::unpack(width, stream, tail);
}

#[inline(always)]
pub(crate) fn unpack_sum(simd: Avx512, width: BitWidth, packed: &[u8], count: usize) -> u64 {
    let layout = Layout::new(simd, width);
    let group_bytes = width.bits() as usize;
    let mut sums = [simd.zero(); SUMS];
    let (mut stream, mut left) = (packed, count);
    while left >= SUMS * GROUP && stream.len() >= (SUMS - 1) * group_bytes + 64 {
        simd.prefetch(stream, PREFETCH_BYTES);
        simd.prefetch(stream, PREFETCH_BYTES + 64);
        simd.prefetch(stream, PREFETCH_BYTES + 128);
        for (index, sum) in sums.iter_mut().enumerate() {
            if let Some(bytes) = stream[index * group_bytes..].first_chunk::<64>() {
                *sum = simd.add(*sum, layout.values(simd, simd.load_bytes(bytes)));
            }
        }
        stream = &stream[SUMS * group_bytes..];
        left -= SUMS * GROUP;
    }
    let mut total = simd.zero();
    for sum in sums {
        total = simd.add(total, sum);
    }
    let mut lanes: Words = [0; 8];
    simd.store(&mut lanes, total);
    let sum = lanes.iter().fold(0, |sum: u64, lane| sum.wrapping_add(*lane));
    sum.wrapping_add(scalar::unpack_sum(width, stream, left))
}

#[inline(always)]
pub(crate) fn prefetch(simd: Avx512, packed: &[u8]) {
    for line in (0..packed.len()).step_by(CACHE_LINE) {
        simd.prefetch(packed, line);
    }
}

#[inline(always)]
pub(crate) fn all_below(simd: Avx512, values: &[u64], bound: u64) -> bool {
    let limit = simd.splat(bound);
    let (vectors, tail) = values.as_chunks::<8>();
    let mut outside = 0;
    for words in vectors {
        outside |= simd.not_below(simd.load(words), limit);
    }
    (outside == 0) & scalar::all_below(tail, bound)
}

#[inline(always)]
pub(crate) fn pack(simd: Avx512, width: BitWidth, values: &[u64], packed: &mut [u8]) {
    // From 8 bits on, a byte of the stream belongs to two neighbours at most: one even and one odd lane.
    if width.bits() < 8 {
        return scalar::pack(width, values, packed);
    }
    let layout = Layout::new(simd, width);
    let (even, odd) = (Scatter::new(simd, width, 0), Scatter::new(simd, width, 1));
    let group_bytes = width.bits() as usize;
    let (groups, tail) = values.as_chunks::<GROUP>();
    let (mut stream, tail_bytes) = packed.split_at_mut(groups.len() * group_bytes);
    for words in groups {
        let shifted = simd.shift_left(simd.and(simd.load(words), layout.mask), layout.shift);
        let bytes = simd.or(even.apply(simd, shifted), odd.apply(simd, shifted));
        // A whole store writes zeros after the group, where the next groups write later.
        match stream.first_chunk_mut::<64>() {
            Some(chunk) => simd.store_bytes(chunk, bytes),
            None => simd.store_first_bytes(&mut stream[..group_bytes], bytes),
        }
        stream = &mut stream[group_bytes..];
    }
    scalar::pack(width, tail, tail_bytes);
}

/// Where the values of a group stand.
struct Layout {
    /// For byte `i` of lane `j`: the byte of the group that it reads, `⌊j·w/8⌋ + i`, at most `49 + 7`.
    gather: V,
    /// For lane `j`: `j·w mod 8`.
    shift: V,
    /// `2^w − 1`.
    mask: V,
}

impl Layout {
    #[inline(always)]
    fn new(simd: Avx512, width: BitWidth) -> Self {
        let bits = width.bits() as usize;
        let gather: [u8; 64] = std::array::from_fn(|i| (i / 8 * bits / 8 + i % 8) as u8);
        let shift: Words = std::array::from_fn(|lane| (lane * bits % 8) as u64);
        Self { gather: simd.load_bytes(&gather), shift: simd.load(&shift), mask: simd.splat(width.mask()) }
    }

    /// The values of the group that the bytes start with.
    #[inline(always)]
    fn values(&self, simd: Avx512, bytes: V) -> V {
        let lanes = simd.permute_bytes(self.gather, bytes);
        simd.and(simd.shift_right(lanes, self.shift), self.mask)
    }
}

/// Moves the bytes of every second lane to their place in the group.
struct Scatter {
    index: V,
    /// One bit per byte of the group that such a lane covers.
    covered: u64,
}

impl Scatter {
    #[inline(always)]
    fn new(simd: Avx512, width: BitWidth, first_lane: usize) -> Self {
        let bits = width.bits() as usize;
        let (mut index, mut covered) = ([0; 64], 0);
        for lane in (first_lane..GROUP).step_by(2) {
            let (first, last) = (lane * bits / 8, (lane * bits + bits - 1) / 8);
            for (source, index) in index[first..=last].iter_mut().enumerate() {
                *index = (8 * lane + source) as u8;
            }
            covered |= (1u64 << (last + 1)) - (1 << first);
        }
        Self { index: simd.load_bytes(&index), covered }
    }

    #[inline(always)]
    fn apply(&self, simd: Avx512, lanes: V) -> V {
        simd.permute_covered_bytes(self.covered, self.index, lanes)
    }
}
