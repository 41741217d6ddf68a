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
//! So coefficient `i` depends on the key, the nonce, `q` and `i` alone, whatever the length asked for and whatever the path.
//! The counters of attempt 0 stay below `2^56` because a slice has fewer than `2^57` words.
//!
//! # Timing
//! Depends on the data (rejections) and is not meant for secrets: expand public seeds only.

pub(crate) mod rejection;

use std::fmt;

use hush_arith::Modulus;

use crate::{Cpu, Path, lazy::accumulate, scalar};
#[cfg(target_arch = "x86_64")]
use crate::{avx2, avx512};

/// An AES-128 key schedule and its stream. The key is a public seed.
#[derive(Clone)]
pub struct AesCtr128 {
    cpu: Cpu,
    schedule: Schedule,
}

#[derive(Clone)]
enum Schedule {
    #[cfg(target_arch = "x86_64")]
    Avx2(avx2::uniform::Schedule),
    #[cfg(target_arch = "x86_64")]
    Avx2Wide(avx2::uniform::Schedule),
    #[cfg(target_arch = "x86_64")]
    Avx512(avx2::uniform::Schedule),
    Scalar(scalar::uniform::Schedule),
}

impl AesCtr128 {
    /// Expands the key.
    pub fn new(cpu: Cpu, key: &[u8; 16]) -> Self {
        let schedule = match cpu.path() {
            Path::Scalar => Schedule::Scalar(scalar::uniform::Schedule::new(key)),
            #[cfg(target_arch = "x86_64")]
            Path::Avx2 => {
                // SAFETY: this `Cpu` proves AVX2 and the AES instructions.
                let schedule = unsafe { avx2::uniform::Schedule::new(key) };
                if avx2::uniform::is_wide() { Schedule::Avx2Wide(schedule) } else { Schedule::Avx2(schedule) }
            }
            #[cfg(target_arch = "x86_64")]
            // SAFETY: this `Cpu` proves AVX-512, which here includes AVX2 and the AES instructions.
            Path::Avx512 => Schedule::Avx512(unsafe { avx2::uniform::Schedule::new(key) }),
            #[cfg(not(target_arch = "x86_64"))]
            _ => Schedule::Scalar(scalar::uniform::Schedule::new(key)),
        };
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
        match &self.schedule {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `new` builds this variant only with a `Cpu` that proves AVX2, FMA and the AES instructions.
            Schedule::Avx2(schedule) => unsafe { schedule.expand::<false>(0, nonce, Some(modulus), out) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above, and only where the machine has the vector AES instructions.
            Schedule::Avx2Wide(schedule) => unsafe {
                schedule.expand_wide::<false>(0, nonce, Some(modulus), out)
            },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `new` builds this variant only with a `Cpu` that proves AVX-512 and the vector AES instructions.
            Schedule::Avx512(schedule) => unsafe {
                avx512::uniform::expand::<false>(schedule, 0, nonce, Some(modulus), out)
            },
            Schedule::Scalar(schedule) => schedule.fill_uniform(nonce, modulus, out),
        }
    }

    /// Fills `out` with the words `W(2c), W(2c + 1), …` where `c` is `first_block`.
    pub fn fill_words(&self, nonce: u64, first_block: u64, out: &mut [u64]) {
        match &self.schedule {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as in `fill_uniform`.
            Schedule::Avx2(schedule) => unsafe { schedule.expand::<false>(first_block, nonce, None, out) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as in `fill_uniform`.
            Schedule::Avx2Wide(schedule) => unsafe {
                schedule.expand_wide::<false>(first_block, nonce, None, out)
            },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as in `fill_uniform`.
            Schedule::Avx512(schedule) => unsafe {
                avx512::uniform::expand::<false>(schedule, first_block, nonce, None, out)
            },
            Schedule::Scalar(schedule) => schedule.fill_words(first_block, nonce, out),
        }
    }

    /// Adds the residues of [`AesCtr128::fill_uniform`] to their accumulators, unreduced, as
    /// [`crate::lazy::accumulate`] would.
    pub fn accumulate_uniform(&self, nonce: u64, modulus: Modulus, acc: &mut [u64]) {
        match &self.schedule {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `new` builds this variant only with a `Cpu` that proves AVX-512 and the vector AES instructions.
            Schedule::Avx512(schedule) => unsafe {
                avx512::uniform::expand::<true>(schedule, 0, nonce, Some(modulus), acc)
            },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as in `fill_uniform`.
            Schedule::Avx2(schedule) => unsafe { schedule.expand::<true>(0, nonce, Some(modulus), acc) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as in `fill_uniform`.
            Schedule::Avx2Wide(schedule) => unsafe {
                schedule.expand_wide::<true>(0, nonce, Some(modulus), acc)
            },
            Schedule::Scalar(_) => {
                let mut residues = vec![0; acc.len()];
                self.fill_uniform(nonce, modulus, &mut residues);
                accumulate(self.cpu, acc, &residues);
            }
        }
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
