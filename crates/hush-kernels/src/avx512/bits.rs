// SPDX-License-Identifier: Apache-2.0
//! Bit streams by byte permutes: eight values of `w` bits are `w` bytes.
//!
//! Value `j` of a group starts at bit `j·w` of it, that is `j·w mod 8` bits into byte `⌊j·w/8⌋`, and spans at most
//! eight bytes. A permute gathers each value's bytes in its lane, or the other way round; shifts do the rest. Groups move
//! through 64-byte loads and stores while 64 bytes are left in the stream, then through a buffer: nothing outside
//! the slices is touched.

use super::vector::{Avx512, V, Words};
use crate::{BitWidth, scalar::bits as scalar};

/// Values in a group.
const GROUP: usize = 8;
/// Running sums, so that no addition waits for the one before.
const SUMS: usize = 4;
/// How far ahead of the sum its stream is fetched: bodies come from memory, and pages end the hardware's own look-ahead.
const PREFETCH_BYTES: usize = 8192;

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
pub(crate) fn unpack(width: BitWidth, packed: &[u8], values: &mut [u64]) {
    let simd = Avx512::new();
    let (tail, values) = for_each_group(simd, width, packed, values, |words, group| simd.store(words, group));
    scalar::unpack(width, tail, values);
}

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
pub(crate) fn unpack_sum(width: BitWidth, packed: &[u8], count: usize) -> u64 {
    let simd = Avx512::new();
    let layout = Layout::new(simd, width);
    let group_bytes = width.bits() as usize;
    let values = |bytes: &[u8; 64]| {
        let lanes = simd.permute_bytes(layout.gather, simd.load_bytes(bytes));
        simd.and(simd.shift_right(lanes, layout.shift), layout.mask)
    };
    let mut sums = [simd.zero(); SUMS];
    let (mut stream, mut left) = (packed, count);
    while left >= SUMS * GROUP && stream.len() >= (SUMS - 1) * group_bytes + 64 {
        simd.prefetch(stream, PREFETCH_BYTES);
        simd.prefetch(stream, PREFETCH_BYTES + 64);
        simd.prefetch(stream, PREFETCH_BYTES + 128);
        for (index, sum) in sums.iter_mut().enumerate() {
            if let Some(bytes) = stream[index * group_bytes..].first_chunk::<64>() {
                *sum = simd.add(*sum, values(bytes));
            }
        }
        stream = &stream[SUMS * group_bytes..];
        left -= SUMS * GROUP;
    }
    let total = sums.into_iter().fold(simd.zero(), |total, sum| simd.add(total, sum));
    let mut lanes: Words = [0; 8];
    simd.store(&mut lanes, total);
    let sum = lanes.iter().fold(0, |sum: u64, lane| sum.wrapping_add(*lane));
    sum.wrapping_add(scalar::unpack_sum(width, stream, left))
}

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
pub(crate) fn all_below(values: &[u64], bound: u64) -> bool {
    let simd = Avx512::new();
    let limit = simd.splat(bound);
    let (vectors, tail) = values.as_chunks::<8>();
    let outside = vectors.iter().fold(0, |outside, words| outside | simd.not_below(simd.load(words), limit));
    (outside == 0) & scalar::all_below(tail, bound)
}

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
pub(crate) fn pack(width: BitWidth, values: &[u64], packed: &mut [u8]) {
    // From 8 bits on, a byte of the stream belongs to two neighbours at most: one even and one odd lane.
    if width.bits() < 8 {
        return scalar::pack(width, values, packed);
    }
    let simd = Avx512::new();
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
            None => {
                let mut buffer = [0; 64];
                simd.store_bytes(&mut buffer, bytes);
                stream[..group_bytes].copy_from_slice(&buffer[..group_bytes]);
            }
        }
        stream = &mut stream[group_bytes..];
    }
    scalar::pack(width, tail, tail_bytes);
}

/// Calls `f` with each whole group of the stream; returns what remains of both slices.
#[inline(always)]
fn for_each_group<'a>(
    simd: Avx512,
    width: BitWidth,
    packed: &'a [u8],
    values: &'a mut [u64],
    f: impl Fn(&mut Words, V),
) -> (&'a [u8], &'a mut [u64]) {
    let layout = Layout::new(simd, width);
    let group_bytes = width.bits() as usize;
    let (groups, tail) = values.as_chunks_mut::<GROUP>();
    let mut stream = packed;
    for words in groups {
        let bytes = match stream.first_chunk::<64>() {
            Some(chunk) => simd.load_bytes(chunk),
            None => {
                let mut buffer = [0; 64];
                buffer[..stream.len()].copy_from_slice(stream);
                simd.load_bytes(&buffer)
            }
        };
        let lanes = simd.permute_bytes(layout.gather, bytes);
        f(words, simd.and(simd.shift_right(lanes, layout.shift), layout.mask));
        stream = &stream[group_bytes..];
    }
    (stream, tail)
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
