// SPDX-License-Identifier: Apache-2.0
//! Noise: bits counted by nibbles, four samples at a time.

use std::arch::x86_64::*;

use super::vector::Avx2;
pub(crate) use crate::scalar::sample::ternary_into;
use crate::{
    operands::CBD21_BYTES,
    scalar::sample::{self as scalar, DOWN, LOW_42},
};

/// Samples at a time.
const GROUP: usize = 4;
/// Bytes that they are read with: two from the first byte on, two from theirs.
const WINDOW: usize = 2 * CBD21_BYTES + 16;

#[target_feature(enable = "avx2,fma,popcnt")]
pub(crate) fn cbd21_into(random: &[u8], out: &mut [i32]) {
    let simd = Avx2::new();
    // The six bytes of a sample, then none.
    let lane = |byte: usize| {
        if byte % 8 < CBD21_BYTES { (byte / 8 % 2 * CBD21_BYTES + byte % 8) as u8 } else { 0x80 }
    };
    let lanes = simd.load_bytes(&std::array::from_fn(lane));
    let ones = simd.load_bytes(&std::array::from_fn(|nibble| (nibble % 16).count_ones() as u8));
    let (down, mask) = (_mm256_set1_epi64x(DOWN as i64), _mm256_set1_epi64x(LOW_42 as i64));
    let (low_nibbles, offset) = (_mm256_set1_epi8(0x0F), _mm256_set1_epi64x(21));
    let (mut stream, mut done) = (random, 0);
    for out in out.as_chunks_mut::<GROUP>().0 {
        let Some(window) = stream.first_chunk::<WINDOW>() else { break };
        let (Some(low), Some(high)) = (window.first_chunk(), window.last_chunk()) else { break };
        let bits = simd.shuffle_bytes(simd.load_pair([low, high]), lanes);
        // As in the scalar code: bits that count down are counted where they are 0.
        let bits = simd.and_words(_mm256_xor_si256(bits, down), mask);
        let low = simd.shuffle_bytes(ones, simd.and_words(bits, low_nibbles));
        let high = simd.shuffle_bytes(ones, simd.and_words(_mm256_srli_epi64::<4>(bits), low_nibbles));
        let counts = _mm256_sad_epu8(_mm256_add_epi8(low, high), _mm256_setzero_si256());
        simd.store_low_halves(out, _mm256_sub_epi64(counts, offset));
        stream = &stream[GROUP * CBD21_BYTES..];
        done += GROUP;
    }
    scalar::cbd21_into(stream, &mut out[done..]);
}
