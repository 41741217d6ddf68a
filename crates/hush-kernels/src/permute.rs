// SPDX-License-Identifier: Apache-2.0
//! Permutations that move blocks of 64 words and shuffle each block, as an automorphism does to a transform.
//!
//! The order of a transform is bit-reversed up to the places within a block ([`crate::ntt`]), so the block that an entry
//! lies in fixes the low bits of its exponent, and a multiplication of all exponents keeps blocks together. A word's place
//! within its block then fits a byte, and a block is read while it is in the nearest cache.
//!
//! # Timing
//! The permutation is public.

use crate::operands::{BLOCK, Block};
use crate::{Cpu, cpu::dispatch};

/// A permutation, ready to be applied many times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permutation(Indices);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Indices {
    Blocks(Vec<Block>),
    /// Any indices: transforms of fewer than 64 points have no blocks.
    Words(Vec<u32>),
}

impl Permutation {
    /// The one with `out[i] = source[index[i]]`.
    ///
    /// # Panics
    /// If an index is not below the length.
    pub fn new(index: &[u32]) -> Self {
        assert!(index.iter().all(|&from| (from as usize) < index.len()), "indices below the length");
        let (chunks, rest) = index.as_chunks::<BLOCK>();
        let block = |chunk: &[u32; BLOCK]| {
            let source = chunk[0] / BLOCK as u32;
            let is_block = chunk.iter().all(|from| from / BLOCK as u32 == source);
            is_block.then(|| Block { source, places: chunk.map(|from| (from % BLOCK as u32) as u8) })
        };
        let blocks: Option<Vec<Block>> = chunks.iter().map(block).collect();
        match blocks.filter(|_| rest.is_empty()) {
            Some(blocks) => Self(Indices::Blocks(blocks)),
            None => Self(Indices::Words(index.to_vec())),
        }
    }

    /// The number of words that it permutes.
    #[expect(clippy::len_without_is_empty, reason = "the length of what it acts on, not of a collection")]
    pub fn len(&self) -> usize {
        match &self.0 {
            Indices::Blocks(blocks) => blocks.len() * BLOCK,
            Indices::Words(index) => index.len(),
        }
    }

    /// `out[i] ← source[index[i]]`.
    ///
    /// # Panics
    /// If a length is not [`Permutation::len`].
    pub fn apply(&self, cpu: Cpu, out: &mut [u64], source: &[u64]) {
        assert!(out.len() == self.len() && source.len() == self.len(), "words that the permutation is for");
        match &self.0 {
            Indices::Blocks(blocks) => {
                let (out, source) = (out.as_chunks_mut().0, source.as_chunks().0);
                dispatch!(cpu, permute::blocks(out: &mut [[u64; BLOCK]], source: &[[u64; BLOCK]], blocks: &[Block]));
            }
            Indices::Words(index) => {
                for (out, &from) in out.iter_mut().zip(index) {
                    *out = source[from as usize];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    /// A random permutation that keeps blocks together.
    fn of_blocks(random: &mut Random, blocks: usize) -> Vec<u32> {
        let mut shuffled = |len: usize| {
            let mut order: Vec<u32> = (0..len as u32).collect();
            (1..len).rev().for_each(|i| order.swap(i, random.word() as usize % (i + 1)));
            order
        };
        let sources = shuffled(blocks);
        sources
            .iter()
            .flat_map(|source| shuffled(BLOCK).into_iter().map(move |at| 64 * source + at))
            .collect()
    }

    #[test]
    fn every_path_moves_every_word() {
        let mut random = Random::new(41);
        let mut cases: Vec<Vec<u32>> = [0, 1, 2, 16].map(|blocks| of_blocks(&mut random, blocks)).into();
        cases.push(vec![2, 0, 3, 1]);
        cases.push((0..128).rev().map(|i| i ^ 65).collect());
        cases.push((0..128).map(|i| i * 77 % 128).collect());
        for index in cases {
            let source = random.words(index.len());
            let expected: Vec<u64> = index.iter().map(|&from| source[from as usize]).collect();
            let permutation = Permutation::new(&index);
            assert_eq!(permutation.len(), index.len());
            for cpu in Cpu::available() {
                let mut out = vec![0; index.len()];
                permutation.apply(cpu, &mut out, &source);
                assert_eq!(out, expected, "{cpu}, {} words", index.len());
            }
        }
    }

    #[test]
    #[should_panic(expected = "indices below the length")]
    fn indices_beyond_the_words_are_refused() {
        Permutation::new(&[0, 2]);
    }
}
