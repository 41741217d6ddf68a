// SPDX-License-Identifier: Apache-2.0
//! Bit streams by byte shuffles: eight values of `w` bits are `w` bytes.
//!
//! Two neighbours span at most 16 bytes from the first one's first byte on: a shuffle moves the bytes of each into its lane, and
//! shifts do the rest. Groups move through loads of 16 bytes while the stream has them, then value by value.

use super::vector::{Avx2, I, Words};
use crate::{BitWidth, operands::CACHE_LINE, scalar::bits as scalar};

/// Values in a group.
const GROUP: usize = 8;

/// How the four pairs of a group lie in its bytes.
struct Layout {
    /// The first byte of each pair.
    starts: [usize; GROUP / 2],
    /// For the pairs 0 and 1, then 2 and 3: where the eight bytes of each value lie in the 16 of its pair.
    gather: [I; 2],
    /// How many bits before each value.
    shift: [I; 2],
    mask: I,
}

impl Layout {
    #[inline(always)]
    fn new(simd: Avx2, width: BitWidth) -> Self {
        let first_bit = |value: usize| value * width.bits() as usize;
        let start = |value: usize| first_bit(value / 2 * 2) / 8;
        let gather = |byte: usize| {
            let value = byte / 8;
            // Beyond the 16 bytes lies no bit of the value.
            (first_bit(value) / 8 - start(value) + byte % 8).min(15) as u8
        };
        let [low_gather, high_gather] =
            [0, 1].map(|half| std::array::from_fn(|byte| gather(32 * half + byte)));
        let shift = |value: usize| (first_bit(value) % 8) as u64;
        let [low_shift, high_shift] = [0, 1].map(|half| std::array::from_fn(|lane| shift(4 * half + lane)));
        Self {
            starts: std::array::from_fn(|pair| start(2 * pair)),
            gather: [simd.load_bytes(&low_gather), simd.load_bytes(&high_gather)],
            shift: [simd.load_words(&low_shift), simd.load_words(&high_shift)],
            mask: simd.load_words(&[width.mask(); 4]),
        }
    }

    /// The values of the group that `bytes` start with; `None` if there are too few for whole loads.
    #[inline(always)]
    fn values(&self, simd: Avx2, bytes: &[u8]) -> Option<[I; 2]> {
        let pair = |index: usize| bytes.get(self.starts[index]..)?.first_chunk::<16>();
        let pairs = [[pair(0)?, pair(1)?], [pair(2)?, pair(3)?]];
        Some([self.half(simd, pairs[0], 0), self.half(simd, pairs[1], 1)])
    }

    /// The four values in the two pairs of one half.
    #[inline(always)]
    fn half(&self, simd: Avx2, pairs: [&[u8; 16]; 2], half: usize) -> I {
        let lanes = simd.shuffle_bytes(simd.load_pair(pairs), self.gather[half]);
        simd.and_words(simd.shift_right(lanes, self.shift[half]), self.mask)
    }
}

#[inline(always)]
pub(crate) fn unpack(simd: Avx2, width: BitWidth, packed: &[u8], values: &mut [u64]) {
    let layout = Layout::new(simd, width);
    let (mut stream, mut done) = (packed, 0);
    for words in values.as_chunks_mut::<GROUP>().0 {
        let Some(group) = layout.values(simd, stream) else { break };
        for (words, group) in words.as_chunks_mut::<4>().0.iter_mut().zip(group) {
            simd.store_words(words, group);
        }
        stream = &stream[width.bits() as usize..];
        done += GROUP;
    }
    scalar::unpack(width, stream, &mut values[done..]);
}

#[inline(always)]
pub(crate) fn unpack_sum(simd: Avx2, width: BitWidth, packed: &[u8], count: usize) -> u64 {
    let layout = Layout::new(simd, width);
    let mut sums = [simd.load_words(&[0; 4]); 2];
    let (mut stream, mut left) = (packed, count);
    while left >= GROUP {
        let Some(group) = layout.values(simd, stream) else { break };
        for (sum, group) in sums.iter_mut().zip(group) {
            *sum = simd.add_words(*sum, group);
        }
        stream = &stream[width.bits() as usize..];
        left -= GROUP;
    }
    let mut lanes: Words = [0; 4];
    simd.store_words(&mut lanes, simd.add_words(sums[0], sums[1]));
    let sum = lanes.iter().fold(0, |sum: u64, lane| sum.wrapping_add(*lane));
    sum.wrapping_add(scalar::unpack_sum(width, stream, left))
}

/// The scalar code, compiled with the bit-manipulation instructions that come with AVX2.
#[inline(always)]
pub(crate) fn pack(_: Avx2, width: BitWidth, values: &[u64], packed: &mut [u8]) {
    scalar::pack(width, values, packed);
}

#[inline(always)]
pub(crate) fn prefetch(simd: Avx2, packed: &[u8]) {
    for line in (0..packed.len()).step_by(CACHE_LINE) {
        simd.prefetch(packed, line);
    }
}

#[inline(always)]
pub(crate) fn all_below(_: Avx2, values: &[u64], bound: u64) -> bool {
    scalar::all_below(values, bound)
}
