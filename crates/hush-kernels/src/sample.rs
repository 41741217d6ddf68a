// SPDX-License-Identifier: Apache-2.0
//! Small secret integers from uniform random bytes, without a branch.
//!
//! # Timing
//! Constant-time in the bytes.

pub use crate::operands::{CBD21_BYTES, TERNARY_BYTES};
use crate::{Cpu, cpu::dispatch};

/// Centred binomial samples of parameter 21: the number of ones among 21 bits minus that among 21 others.
///
/// The variance is `21/2` (standard deviation 3.24) and `|out[i]| ≤ 21`. Sample `i` takes bytes `6i … 6i+5` as a
/// little-endian integer: bits 0 to 20 count up, bits 21 to 41 count down, the rest is unused.
///
/// # Panics
/// If `random` is not [`CBD21_BYTES`]` · out.len()` long.
pub fn cbd21_into(cpu: Cpu, random: &[u8], out: &mut [i32]) {
    assert_eq!(random.len(), CBD21_BYTES * out.len(), "six random bytes per sample");
    dispatch!(cpu, sample::cbd21_into(random: &[u8], out: &mut [i32]));
}

/// Uniform samples from `{−1, 0, 1}`.
///
/// Sample `i` takes bytes `8i … 8i+7` as a little-endian integer `u`: `out[i] = ⌊3u/2^64⌋ − 1`. As 3 does not divide
/// `2^64`, each probability is off from 1/3 by less than `2^−64`.
///
/// # Panics
/// If `random` is not [`TERNARY_BYTES`]` · out.len()` long.
pub fn ternary_into(cpu: Cpu, random: &[u8], out: &mut [i8]) {
    assert_eq!(random.len(), TERNARY_BYTES * out.len(), "eight random bytes per sample");
    dispatch!(cpu, plain sample::ternary_into(random: &[u8], out: &mut [i8]));
}

#[cfg(test)]
mod tests;
