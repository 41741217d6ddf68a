// SPDX-License-Identifier: Apache-2.0
//! Tools for the tests of other crates: inputs that a seed in a failure message draws again, corpora that decoders read
//! and refuse, damaged copies of good inputs, and a search of memory for leftovers of secrets.
//!
//! *Non-goals.* Nothing here is linked into a program, and nothing here knows what another crate does.

mod corpus;
mod json;
#[cfg(target_os = "linux")]
mod memory;
mod mutator;

use std::hash::{BuildHasher, Hasher, RandomState};

pub use corpus::{Accepted, Corpus, CorpusFile};
pub use json::damaged_json;
#[cfg(target_os = "linux")]
pub use memory::Wanted;
pub use mutator::{damaged, damaged_by};

/// A small generator of test inputs (splitmix64). It is no source of secrets.
///
/// Its `Display` is the seed: an assertion on drawn values prints it, and [`Draw::of`] repeats the run.
#[derive(Debug)]
pub struct Draw {
    seed: u64,
    state: u64,
}

impl Draw {
    /// From a seed that differs from run to run.
    #[expect(clippy::new_without_default, reason = "a default that is never the same would mislead")]
    pub fn new() -> Self {
        Self::of(RandomState::new().build_hasher().finish())
    }

    /// From a seed.
    pub fn of(seed: u64) -> Self {
        Self { seed, state: seed }
    }

    /// From the seed in an environment variable, or a fresh one.
    pub fn of_environment(variable: &str) -> Self {
        std::env::var(variable).ok().and_then(|seed| seed.parse().ok()).map_or_else(Self::new, Self::of)
    }

    /// 64 bits.
    pub fn word(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.state ^ self.state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `bound`, or 0; its bias of `bound/2^64` does not matter to a test.
    pub fn below(&mut self, bound: usize) -> usize {
        self.word().checked_rem(bound as u64).unwrap_or(0) as usize
    }

    /// A number from 0 up to 1, without 1.
    pub fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 / 53_f64.exp2()
    }

    /// Numbers from `low` up to `high`.
    pub fn reals(&mut self, count: usize, low: f64, high: f64) -> Vec<f64> {
        (0..count).map(|_| low + (high - low) * self.unit()).collect()
    }

    /// Residues modulo an odd `modulus`, the representatives nearest to zero.
    pub fn residues(&mut self, modulus: u64, count: usize) -> Vec<i64> {
        (0..count).map(|_| (self.word() % modulus) as i64 - (modulus / 2) as i64).collect()
    }
}

impl std::fmt::Display for Draw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "seed {}", self.seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs of splitmix64 from 1234567, as its author's C program prints them.
    #[test]
    fn the_generator_is_splitmix64() {
        let mut draw = Draw::of(1_234_567);
        let words = [(); 3].map(|()| draw.word());
        assert_eq!(words, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
        assert_eq!(draw.to_string(), "seed 1234567");
    }

    #[test]
    fn numbers_lie_where_they_should() {
        let mut draw = Draw::new();
        for _ in 0..1000 {
            assert!(draw.below(7) < 7 && (0.0..1.0).contains(&draw.unit()), "{draw}");
        }
        assert_eq!(draw.below(0), 0);
        assert!(draw.residues(5, 200).iter().all(|residue| (-2..=2).contains(residue)), "{draw}");
    }
}
