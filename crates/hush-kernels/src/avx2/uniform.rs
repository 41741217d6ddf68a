// SPDX-License-Identifier: Apache-2.0
//! AES-CTR by the AES instructions, eight blocks in flight.

use std::arch::x86_64::*;

use hush_arith::Modulus;

use crate::{scalar::uniform::accept, uniform::retry};

/// Blocks computed together: enough to hide the latency of a round.
const LANES: usize = 8;

/// The eleven round keys of AES-128, as in FIPS 197, section 5.2.
#[derive(Clone)]
pub(crate) struct Schedule([__m128i; 11]);

impl Schedule {
    #[target_feature(enable = "avx2,aes")]
    pub(crate) fn new(key: &[u8; 16]) -> Self {
        let mut keys = [words_to_block(bytes_to_words(key)); 11];
        keys[1] = next_key(keys[0], _mm_aeskeygenassist_si128::<0x01>(keys[0]));
        keys[2] = next_key(keys[1], _mm_aeskeygenassist_si128::<0x02>(keys[1]));
        keys[3] = next_key(keys[2], _mm_aeskeygenassist_si128::<0x04>(keys[2]));
        keys[4] = next_key(keys[3], _mm_aeskeygenassist_si128::<0x08>(keys[3]));
        keys[5] = next_key(keys[4], _mm_aeskeygenassist_si128::<0x10>(keys[4]));
        keys[6] = next_key(keys[5], _mm_aeskeygenassist_si128::<0x20>(keys[5]));
        keys[7] = next_key(keys[6], _mm_aeskeygenassist_si128::<0x40>(keys[6]));
        keys[8] = next_key(keys[7], _mm_aeskeygenassist_si128::<0x80>(keys[7]));
        keys[9] = next_key(keys[8], _mm_aeskeygenassist_si128::<0x1b>(keys[8]));
        keys[10] = next_key(keys[9], _mm_aeskeygenassist_si128::<0x36>(keys[9]));
        Self(keys)
    }

    pub(crate) fn round_keys(&self) -> &[__m128i; 11] {
        &self.0
    }

    #[target_feature(enable = "avx2,aes")]
    pub(crate) fn fill_uniform(&self, nonce: u64, modulus: Modulus, out: &mut [u64]) {
        self.fill_from(0, nonce, modulus, out);
    }

    /// Fills the coefficients from number `2·first_counter` on.
    #[target_feature(enable = "avx2,aes")]
    pub(crate) fn fill_from(&self, first_counter: u64, nonce: u64, modulus: Modulus, out: &mut [u64]) {
        for (group, words) in out.chunks_mut(2 * LANES).enumerate() {
            let counter = first_counter + (LANES * group) as u64;
            let blocks = self.blocks(nonce, counter);
            let stream = blocks.iter().flat_map(|&block| block_to_words(block));
            for (lane, (out, word)) in words.iter_mut().zip(stream).enumerate() {
                let index = 2 * counter as usize + lane;
                *out = accept(modulus, word).unwrap_or_else(|| self.retry(nonce, modulus, index));
            }
        }
    }

    /// The coefficient whose first candidate was refused.
    #[cold]
    #[target_feature(enable = "avx2,aes")]
    pub(crate) fn retry(&self, nonce: u64, modulus: Modulus, index: usize) -> u64 {
        retry(modulus, index, |counter| {
            let [first_word, _] = block_to_words(self.blocks(nonce, counter)[0]);
            first_word
        })
    }

    /// The blocks `B(counter) … B(counter + 7)`.
    #[inline]
    #[target_feature(enable = "avx2,aes")]
    fn blocks(&self, nonce: u64, counter: u64) -> [__m128i; LANES] {
        let mut blocks = [_mm_setzero_si128(); LANES];
        for (lane, block) in blocks.iter_mut().enumerate() {
            *block = _mm_xor_si128(words_to_block([nonce, counter.wrapping_add(lane as u64)]), self.0[0]);
        }
        for key in &self.0[1..10] {
            for block in &mut blocks {
                *block = _mm_aesenc_si128(*block, *key);
            }
        }
        for block in &mut blocks {
            *block = _mm_aesenclast_si128(*block, self.0[10]);
        }
        blocks
    }
}

/// Four words of the key expansion: `assist` holds `SubWord(RotWord(w3)) ⊕ Rcon` in its top word.
#[inline]
#[target_feature(enable = "avx2,aes")]
fn next_key(key: __m128i, assist: __m128i) -> __m128i {
    let head = _mm_shuffle_epi32::<0xff>(assist);
    // (w0, w0+w1, w0+w1+w2, w0+w1+w2+w3) by two shifted sums.
    let key = _mm_xor_si128(key, _mm_slli_si128::<4>(key));
    let key = _mm_xor_si128(key, _mm_slli_si128::<8>(key));
    _mm_xor_si128(key, head)
}

fn bytes_to_words(bytes: &[u8; 16]) -> [u64; 2] {
    let whole = u128::from_le_bytes(*bytes);
    [whole as u64, (whole >> 64) as u64]
}

#[inline]
#[target_feature(enable = "avx2")]
fn words_to_block([low, high]: [u64; 2]) -> __m128i {
    _mm_set_epi64x(high as i64, low as i64)
}

#[inline]
#[target_feature(enable = "avx2")]
fn block_to_words(block: __m128i) -> [u64; 2] {
    [_mm_extract_epi64::<0>(block) as u64, _mm_extract_epi64::<1>(block) as u64]
}
