// SPDX-License-Identifier: Apache-2.0
//! Pseudo-random integers: AES-128 in counter mode.

use aes::{
    Aes128, Block,
    cipher::{BlockCipherEncrypt, KeyInit},
};

use super::Cnt12Error;
use crate::integer::words;

/// The long public integers of a seed: integer `i` is the stream with nonce `i`; any part can be expanded alone.
#[derive(Clone)]
pub(crate) struct Expansion(Aes128);

/// A source of secret random bits. Two of one seed give the same bits: for tests and repeatable measurements.
#[derive(Clone)]
pub struct InsecureCnt12Random {
    stream: Expansion,
    position: u64,
}

const BLOCK_BYTES: usize = 16;

impl Expansion {
    pub(crate) fn new(seed: [u8; BLOCK_BYTES]) -> Self {
        Self(Aes128::new(&seed.into()))
    }

    /// Bytes `first …` of integer `index`, where `first` is a multiple of 16.
    pub(crate) fn fill(&self, index: u64, first: u64, out: &mut [u8]) {
        debug_assert_eq!(first % BLOCK_BYTES as u64, 0);
        let number = |at: usize| u128::from(index) << 64 | u128::from(first / BLOCK_BYTES as u64 + at as u64);
        for (at, block) in out.as_chunks_mut().0.iter_mut().enumerate() {
            *block = number(at).to_le_bytes();
        }
        let (blocks, tail) = Block::slice_as_chunks_mut(out);
        self.0.encrypt_blocks(blocks);
        if !tail.is_empty() {
            let mut block: Block = number(blocks.len()).to_le_bytes().into();
            self.0.encrypt_block(&mut block);
            tail.copy_from_slice(&block[..tail.len()]);
        }
    }

    /// The words of integer `index`, the lowest `bits` bits of as many as fit.
    pub(crate) fn fill_words(&self, index: u64, bits: u64, out: &mut [u64]) {
        let mut bytes = [0; 4096];
        for (chunk, out) in out.chunks_mut(bytes.len() / 8).enumerate() {
            let bytes = &mut bytes[..8 * out.len()];
            self.fill(index, chunk as u64 * 4096, bytes);
            for (word, bytes) in out.iter_mut().zip(bytes.as_chunks().0) {
                *word = u64::from_le_bytes(*bytes);
            }
        }
        words::mask_assign(out, bits);
    }
}

impl InsecureCnt12Random {
    /// Everything follows from the seed.
    pub fn from_seed(seed: [u8; BLOCK_BYTES]) -> Self {
        Self { stream: Expansion::new(seed), position: 0 }
    }

    /// A seed from the system.
    ///
    /// # Errors
    /// [`Cnt12Error::Randomness`].
    pub fn from_system() -> Result<Self, Cnt12Error> {
        let mut seed = [0; BLOCK_BYTES];
        getrandom::fill(&mut seed).map_err(Cnt12Error::Randomness)?;
        Ok(Self::from_seed(seed))
    }

    pub(crate) fn fill(&mut self, out: &mut [u64]) {
        self.stream.fill_words(self.position, 64 * out.len() as u64, out);
        self.position += 1;
    }

    /// As many words as `bits` take, masked.
    pub(crate) fn bits(&mut self, bits: u64) -> Vec<u64> {
        let mut out = vec![0; bits.div_ceil(64) as usize];
        self.fill(&mut out);
        words::mask_assign(&mut out, bits);
        out
    }

    /// A number below the bound, which is not zero; the bias is below `bound/2^64`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let mut word = [0];
        self.fill(&mut word);
        ((u128::from(word[0]) * bound as u128) >> 64) as usize
    }

    pub(crate) fn seed(&mut self) -> [u8; BLOCK_BYTES] {
        let mut words = [0; 2];
        self.fill(&mut words);
        (u128::from(words[1]) << 64 | u128::from(words[0])).to_le_bytes()
    }
}

impl std::fmt::Debug for InsecureCnt12Random {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InsecureCnt12Random").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_part_is_the_same_as_in_the_whole() {
        let stream = Expansion::new([3; 16]);
        let mut whole = vec![0; 10_007];
        stream.fill(5, 0, &mut whole);
        for (first, len) in [(0, 1), (16, 16), (4096, 5911), (9_984, 23)] {
            let mut part = vec![0; len];
            stream.fill(5, first as u64, &mut part);
            assert_eq!(part, whole[first..][..len]);
        }
        let mut words = vec![0; 1250];
        stream.fill_words(5, 80_000 - 7, &mut words);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(bytes[..9_999], whole[..9_999]);
        assert_eq!(bytes[9_999], whole[9_999] & 1);
        let mut other = vec![0; 16];
        stream.fill(6, 0, &mut other);
        assert_ne!(other, whole[..16]);
    }
}
