// SPDX-License-Identifier: Apache-2.0
//! AES-CTR by the `aes` crate.

use aes::{
    Aes128, Block,
    cipher::{BlockCipherEncrypt, KeyInit},
};
use hush_arith::Modulus;

use crate::{
    scalar::lazy::accumulate,
    uniform::rejection::{accept, retry},
};

/// Blocks computed together: processors with AES instructions, those of Arm too, hide the latency of a round so.
const BLOCKS: usize = 8;

#[derive(Clone)]
pub(crate) struct Schedule(Aes128);

pub(crate) fn new_schedule(key: &[u8; 16]) -> Schedule {
    Schedule(Aes128::new(key.into()))
}

pub(crate) fn fill_uniform(
    schedule: &Schedule,
    nonce: u64,
    modulus: Modulus,
    first_block: u64,
    out: &mut [u64],
) {
    for (group, words) in out.chunks_mut(2 * BLOCKS).enumerate() {
        let counter = first_block.wrapping_add((BLOCKS * group) as u64);
        let stream = schedule.blocks(nonce, counter);
        for (lane, (out, &word)) in words.iter_mut().zip(stream.as_flattened()).enumerate() {
            let index = 2 * counter as usize + lane;
            let first_word = |retry_counter| schedule.blocks(nonce, retry_counter)[0][0];
            *out = accept(modulus, word).unwrap_or_else(|| retry(modulus, index, first_word));
        }
    }
}

pub(crate) fn fill_words(schedule: &Schedule, nonce: u64, first_block: u64, out: &mut [u64]) {
    for (group, words) in out.chunks_mut(2 * BLOCKS).enumerate() {
        let stream = schedule.blocks(nonce, first_block.wrapping_add((BLOCKS * group) as u64));
        words.copy_from_slice(&stream.as_flattened()[..words.len()]);
    }
}

pub(crate) fn accumulate_uniform(schedule: &Schedule, nonce: u64, modulus: Modulus, acc: &mut [u64]) {
    let mut residues = vec![0; acc.len()];
    fill_uniform(schedule, nonce, modulus, 0, &mut residues);
    accumulate(acc, &residues);
}

impl Schedule {
    /// The words of the blocks from `B(counter)` on.
    fn blocks(&self, nonce: u64, counter: u64) -> [[u64; 2]; BLOCKS] {
        let number = |lane| u128::from(counter.wrapping_add(lane as u64)) << 64 | u128::from(nonce);
        let mut blocks: [Block; BLOCKS] = std::array::from_fn(|lane| number(lane).to_le_bytes().into());
        self.0.encrypt_blocks(&mut blocks);
        blocks.map(|block| {
            let words = u128::from_le_bytes(block.into());
            [words as u64, (words >> 64) as u64]
        })
    }
}
