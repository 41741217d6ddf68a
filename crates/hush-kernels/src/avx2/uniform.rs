// SPDX-License-Identifier: Apache-2.0
//! AES-CTR by the AES instructions, on one block or, where the machine has that, on two at a time; residues four at a time.

use std::arch::x86_64::*;

use hush_arith::Modulus;

use super::vector::{Avx2, Words};
use crate::{scalar::lazy as scalar, uniform::rejection::retry};

/// Registers of blocks computed together: enough to hide the latency of a round.
const REGISTERS: usize = 8;
/// Words of as many blocks, one in each register.
const GROUP: usize = 2 * REGISTERS;
/// The same of two in each register.
const WIDE_GROUP: usize = 4 * REGISTERS;

/// Proof that the machine has the AES instructions for two blocks, beside those of the path.
#[derive(Debug, Clone, Copy)]
struct Vaes(());

impl Vaes {
    fn detect() -> Option<Self> {
        is_x86_feature_detected!("vaes").then_some(Self(()))
    }
}

/// The eleven round keys of AES-128, as in FIPS 197, section 5.2.
#[derive(Clone)]
pub(crate) struct Schedule {
    keys: [__m128i; 11],
    vaes: Option<Vaes>,
}

/// Expands a key.
pub(crate) fn new_schedule(_: Avx2, key: &[u8; 16]) -> Schedule {
    // SAFETY: the token proves that the machine has the features that the function is compiled with.
    unsafe { Schedule::new(key) }
}

pub(crate) fn fill_uniform(
    simd: Avx2,
    schedule: &Schedule,
    nonce: u64,
    modulus: Modulus,
    first_block: u64,
    out: &mut [u64],
) {
    schedule.expand::<false>(simd, first_block, nonce, Some(modulus), out);
}

pub(crate) fn fill_words(simd: Avx2, schedule: &Schedule, nonce: u64, first_block: u64, out: &mut [u64]) {
    schedule.expand::<false>(simd, first_block, nonce, None, out);
}

pub(crate) fn accumulate_uniform(
    simd: Avx2,
    schedule: &Schedule,
    nonce: u64,
    modulus: Modulus,
    acc: &mut [u64],
) {
    schedule.expand::<true>(simd, 0, nonce, Some(modulus), acc);
}

impl Schedule {
    #[target_feature(enable = "avx2,aes")]
    fn new(key: &[u8; 16]) -> Self {
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
        Self { keys, vaes: Vaes::detect() }
    }

    /// The schedule as on machines that compute one block at a time.
    #[cfg(test)]
    pub(crate) fn narrow(&self) -> Self {
        Self { vaes: None, ..self.clone() }
    }

    /// Writes the coefficients from number `2·counter` on, or adds them; words as they are without a modulus.
    fn expand<const ADD: bool>(
        &self,
        simd: Avx2,
        counter: u64,
        nonce: u64,
        modulus: Option<Modulus>,
        out: &mut [u64],
    ) {
        match self.vaes {
            // SAFETY: the tokens prove that the machine has the features that the function is compiled with.
            Some(Vaes(())) => unsafe { self.expand_wide::<ADD>(simd, counter, nonce, modulus, out) },
            // SAFETY: as above.
            None => unsafe { self.expand_narrow::<ADD>(simd, counter, nonce, modulus, out) },
        }
    }

    pub(crate) fn round_keys(&self) -> &[__m128i; 11] {
        &self.keys
    }

    /// [`Schedule::expand`] by one block in each register.
    #[target_feature(enable = "avx2,fma,aes")]
    pub(crate) fn expand_narrow<const ADD: bool>(
        &self,
        simd: Avx2,
        mut counter: u64,
        nonce: u64,
        modulus: Option<Modulus>,
        out: &mut [u64],
    ) {
        let (groups, tail) = out.as_chunks_mut::<GROUP>();
        for words in groups {
            self.settle::<ADD>(simd, nonce, modulus, counter, &self.blocks(nonce, counter), words);
            counter = counter.wrapping_add(REGISTERS as u64);
        }
        if !tail.is_empty() {
            let mut last = [0; GROUP];
            self.settle::<false>(simd, nonce, modulus, counter, &self.blocks(nonce, counter), &mut last);
            if ADD {
                scalar::accumulate(tail, &last);
            } else {
                tail.copy_from_slice(&last[..tail.len()]);
            }
        }
    }

    /// The same by twice as many blocks at a time.
    #[target_feature(enable = "avx2,fma,aes,vaes")]
    fn expand_wide<const ADD: bool>(
        &self,
        simd: Avx2,
        mut counter: u64,
        nonce: u64,
        modulus: Option<Modulus>,
        out: &mut [u64],
    ) {
        let (groups, tail) = out.as_chunks_mut::<WIDE_GROUP>();
        for words in groups {
            self.settle::<ADD>(simd, nonce, modulus, counter, &self.wide_blocks(nonce, counter), words);
            counter = counter.wrapping_add(2 * REGISTERS as u64);
        }
        self.expand_narrow::<ADD>(simd, counter, nonce, modulus, tail);
    }

    /// Writes or adds the residues in the blocks from `B(counter)` on.
    #[inline]
    #[target_feature(enable = "avx2,fma,aes")]
    fn settle<const ADD: bool>(
        &self,
        simd: Avx2,
        nonce: u64,
        modulus: Option<Modulus>,
        counter: u64,
        blocks: &[__m256i],
        words: &mut [u64],
    ) {
        let range = |q: Modulus| ((1 << q.bits()) - 1, q.value() as i64 - 1);
        let (mask, largest) = modulus.map_or((-1, i64::MAX), range);
        let (mask, largest) = (_mm256_set1_epi64x(mask), _mm256_set1_epi64x(largest));
        for (register, (block, words)) in blocks.iter().zip(words.as_chunks_mut::<4>().0).enumerate() {
            let mut residues = _mm256_and_si256(*block, mask);
            // As signed words: residues have less than 63 bits.
            let refused = _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(residues, largest)));
            if let (1.., Some(modulus)) = (refused, modulus) {
                let mut mended: Words = [0; 4];
                simd.store_words(&mut mended, residues);
                let first = 2 * counter as usize + 4 * register;
                self.replace(nonce, modulus, first, refused as u32, &mut mended);
                residues = simd.load_words(&mended);
            }
            if ADD {
                residues = simd.add_words(residues, simd.load_words(words));
            }
            simd.store_words(words, residues);
        }
    }

    /// Replaces those of the coefficients from number `first` on that are marked, the first by the lowest bit.
    #[cold]
    #[target_feature(enable = "avx2,aes")]
    pub(crate) fn replace(
        &self,
        nonce: u64,
        modulus: Modulus,
        first: usize,
        refused: u32,
        words: &mut [u64],
    ) {
        for (lane, word) in words.iter_mut().enumerate() {
            if refused >> lane & 1 == 1 {
                *word = self.retry(nonce, modulus, first + lane);
            }
        }
    }

    /// The coefficient with a refused first candidate.
    #[cold]
    #[target_feature(enable = "avx2,aes")]
    fn retry(&self, nonce: u64, modulus: Modulus, index: usize) -> u64 {
        retry(modulus, index, |counter| {
            let [first_word, _] = block_to_words(self.encrypt([words_to_block([nonce, counter])])[0]);
            first_word
        })
    }

    /// The blocks `B(counter) … B(counter + 7)`, two in a register.
    #[inline]
    #[target_feature(enable = "avx2,aes")]
    fn blocks(&self, nonce: u64, counter: u64) -> [__m256i; REGISTERS / 2] {
        let mut blocks = [_mm_setzero_si128(); REGISTERS];
        for (lane, block) in blocks.iter_mut().enumerate() {
            *block = words_to_block([nonce, counter.wrapping_add(lane as u64)]);
        }
        let [b0, b1, b2, b3, b4, b5, b6, b7] = self.encrypt(blocks);
        [(b0, b1), (b2, b3), (b4, b5), (b6, b7)].map(|(low, high)| _mm256_set_m128i(high, low))
    }

    #[inline]
    #[target_feature(enable = "avx2,aes")]
    fn encrypt<const R: usize>(&self, mut blocks: [__m128i; R]) -> [__m128i; R] {
        for block in &mut blocks {
            *block = _mm_xor_si128(*block, self.keys[0]);
        }
        for key in &self.keys[1..10] {
            for block in &mut blocks {
                *block = _mm_aesenc_si128(*block, *key);
            }
        }
        for block in &mut blocks {
            *block = _mm_aesenclast_si128(*block, self.keys[10]);
        }
        blocks
    }

    /// The blocks `B(counter) … B(counter + 15)`, two in a register.
    #[inline]
    #[target_feature(enable = "avx2,aes,vaes")]
    fn wide_blocks(&self, nonce: u64, counter: u64) -> [__m256i; REGISTERS] {
        let mut blocks = [_mm256_setzero_si256(); REGISTERS];
        let mut input =
            _mm256_set_epi64x(counter.wrapping_add(1) as i64, nonce as i64, counter as i64, nonce as i64);
        let first_key = _mm256_broadcastsi128_si256(self.keys[0]);
        for block in &mut blocks {
            *block = _mm256_xor_si256(input, first_key);
            input = _mm256_add_epi64(input, _mm256_set_epi64x(2, 0, 2, 0));
        }
        for key in &self.keys[1..10] {
            let key = _mm256_broadcastsi128_si256(*key);
            for block in &mut blocks {
                *block = _mm256_aesenc_epi128(*block, key);
            }
        }
        let last_key = _mm256_broadcastsi128_si256(self.keys[10]);
        for block in &mut blocks {
            *block = _mm256_aesenclast_epi128(*block, last_key);
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
