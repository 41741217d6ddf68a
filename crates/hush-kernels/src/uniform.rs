// SPDX-License-Identifier: Apache-2.0
//! Uniform residues from AES-128 in counter mode: **public data only**.
//!
//! # Definition
//! With `E` the AES-128 encryption under the key, the block `B(c) = E(nonce ‖ c)` where the nonce and the 64-bit
//! counter `c` are written little-endian. `B(c)` gives two little-endian 64-bit words, `W(2c)` and `W(2c + 1)`.
//! With `w = bits(q)`, coefficient `i` is the first candidate below `q` in the list
//!
//! - attempt 0: `W(i) mod 2^w`;
//! - attempt `a`, `1 ≤ a ≤ 255`: the first word of `B(a·2^56 + i)`, mod `2^w`;
//! - at last: the candidate of attempt 255 minus `q`, which is below `q` too (reached with probability below `2^−255`).
//!
//! So coefficient `i` depends on the key, the nonce, `q` and `i` alone: every length and every path gives the same.
//! The counters of attempt 0 stay below `2^56` because a slice has fewer than `2^57` words.
//!
//! # Timing
//! Depends on the data (rejections) and is not meant for secrets: expand public seeds only.

pub(crate) mod rejection;

use std::fmt;

use hush_arith::Modulus;

use crate::{
    Cpu,
    cpu::{states, with_state},
    scalar,
};

/// An AES-128 key schedule and its stream. The key is a public seed.
#[derive(Clone)]
pub struct AesCtr128 {
    cpu: Cpu,
    schedule: Schedule,
}

states! {
    enum Schedule {
        scalar: scalar::uniform::Schedule,
        avx2: crate::avx2::uniform::Schedule,
        avx512: crate::avx2::uniform::Schedule,
    }
}

impl AesCtr128 {
    /// Expands the key.
    pub fn new(cpu: Cpu, key: &[u8; 16]) -> Self {
        let schedule = with_state!(Schedule::new(cpu), uniform::new_schedule(key));
        Self { cpu, schedule }
    }

    /// Fills `out` with the uniform residues mod `q` that the key and the nonce determine.
    ///
    /// # Ranges
    /// Out: canonical.
    ///
    /// # Cost
    /// Half an AES block per word, plus one block per rejected word: next to none for `q` just below a power of two.
    pub fn fill_uniform(&self, nonce: u64, modulus: Modulus, out: &mut [u64]) {
        self.fill_uniform_from(nonce, modulus, 0, out);
    }

    /// As [`AesCtr128::fill_uniform`], from coefficient `2·first_block` on.
    pub fn fill_uniform_from(&self, nonce: u64, modulus: Modulus, first_block: u64, out: &mut [u64]) {
        with_state!(Schedule::at(&self.schedule), uniform::fill_uniform(nonce, modulus, first_block, out));
    }

    /// Fills `out` with the words `W(2c), W(2c + 1), …` where `c` is `first_block`.
    pub fn fill_words(&self, nonce: u64, first_block: u64, out: &mut [u64]) {
        with_state!(Schedule::at(&self.schedule), uniform::fill_words(nonce, first_block, out));
    }

    /// Adds the residues of [`AesCtr128::fill_uniform`] to their accumulators, unreduced, as
    /// [`crate::lazy::accumulate`] would.
    pub fn accumulate_uniform(&self, nonce: u64, modulus: Modulus, acc: &mut [u64]) {
        with_state!(Schedule::at(&self.schedule), uniform::accumulate_uniform(nonce, modulus, acc));
    }

    /// The path that runs.
    pub fn cpu(&self) -> Cpu {
        self.cpu
    }
}

impl fmt::Debug for AesCtr128 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AesCtr128").field("cpu", &self.cpu).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
