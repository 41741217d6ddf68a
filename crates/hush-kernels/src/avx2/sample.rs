// SPDX-License-Identifier: Apache-2.0
//! Noise: bits counted by nibbles, four samples at a time.

use super::vector::Avx2;
use crate::{
    operands::CBD21_BYTES,
    scalar::sample::{self as scalar, DOWN, LOW_42},
};

/// Samples at a time.
const GROUP: usize = 4;
/// Bytes that they are read with: two from the first byte on, two from theirs.
const WINDOW: usize = 2 * CBD21_BYTES + 16;

#[inline(always)]
pub(crate) fn cbd21_into(simd: Avx2, random: &[u8], out: &mut [i32]) {
    // The six bytes of a sample, then none.
    let lane = |byte: usize| {
        if byte % 8 < CBD21_BYTES { (byte / 8 % 2 * CBD21_BYTES + byte % 8) as u8 } else { 0x80 }
    };
    let lanes = simd.load_bytes(&std::array::from_fn(lane));
    let ones = simd.load_bytes(&std::array::from_fn(|nibble| (nibble % 16).count_ones() as u8));
    let (down, mask) = (simd.splat_word(DOWN), simd.splat_word(LOW_42));
    let (low_nibbles, four, offset) = (simd.load_bytes(&[0x0F; 32]), simd.splat_word(4), simd.splat_word(21));
    let (mut stream, mut done) = (random, 0);
    for out in out.as_chunks_mut::<GROUP>().0 {
        let Some(window) = stream.first_chunk::<WINDOW>() else { break };
        let (Some(low), Some(high)) = (window.first_chunk(), window.last_chunk()) else { break };
        let bits = simd.shuffle_bytes(simd.load_pair([low, high]), lanes);
        // As in the scalar code: bits that count down are counted where they are 0.
        let bits = simd.and_words(simd.xor_words(bits, down), mask);
        let low = simd.shuffle_bytes(ones, simd.and_words(bits, low_nibbles));
        let high = simd.shuffle_bytes(ones, simd.and_words(simd.shift_right(bits, four), low_nibbles));
        let counts = simd.sum_bytes(simd.add_bytes(low, high));
        simd.store_low_halves(out, simd.sub_words(counts, offset));
        stream = &stream[GROUP * CBD21_BYTES..];
        done += GROUP;
    }
    scalar::cbd21_into(stream, &mut out[done..]);
}
