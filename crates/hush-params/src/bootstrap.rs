// SPDX-License-Identifier: Apache-2.0
//! Parameter sets with which CKKS ciphertexts are bootstrapped: chains in segments, and what happens on each.
//!
//! ```text
//!   top ─ to slots ─▶ reduction modulo q0 ─▶ output ─ levels of the program ─▶ input ─ to coefficients ─▶ level 0
//!    ▲                                                                                                      │
//!    └──────────────── switch to a sparse secret, raise the modulus, switch back ◀─────────────────────────┘
//! ```
//!
//! *Sizes.* Those of levels are counted in thirds of a prime of 46 bits, 15.33 bits each: 46, 61.33 or, with 30.67, two thirds. A modulus of `3m` thirds is `m`
//! large primes; one of `3m + 2` has a filler of 30.67 bits besides, one of `3m + 1` two fillers and a large prime less. The top level has no bit that another
//! prime could have taken.
//!
//! *Few slots.* A message that stands in the slots again and again is a polynomial in a power of X. The ways to its coefficients and back are shorter, and what they leave of keys
//! and levels is the program's.
//!
//! *Secrets.* Keys and ciphertexts have the uniform ternary secret of every other chain. Between two key switches around the raising of the modulus,
//! ciphertexts are under an ephemeral secret with [`SPARSE_WEIGHT`] coefficients that are not zero, at the smallest modulus there is: of the multiples of `q0` that
//! raising adds to a coefficient none then exceeds [`BootstrapShape::RANGE`]. The 2024 guideline covers no sparse secrets; [`SPARSE_ESTIMATES`] holds what the
//! attacks on this one cost.
//!
//! *References.* Slots to coefficients first, and the encapsulated secret: Bossuat, Troncoso-Pastoriza and Hubaux, ePrint 2022/024. Levels of any size: \[SS24\].

use crate::chain::ChainSpec;
use crate::primes::primes_of;
use crate::{ChainError, ChainParams, Level, ParamsError};

/// Coefficients of the ephemeral secret that are not zero.
pub const SPARSE_WEIGHT: usize = 32;

/// How a chain is divided between the phases of a bootstrapping and the program.
///
/// *Units.* `base`, `low` and `high` are thirds of a large prime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BootstrapShape {
    /// Ring degree `N`.
    pub degree: u32,
    /// The modulus of level 0, `q0`.
    pub base: u32,
    /// A division of the program and of the way to coefficients.
    pub low: u32,
    /// A division of the reduction and of the way to slots.
    pub high: u32,
    /// Levels of the way to coefficients, all at the bottom.
    pub to_coefficients: u32,
    /// Levels of the program.
    pub program: u32,
    /// Levels of the way to slots, all at the top.
    pub to_slots: u32,
    /// log2 of the integer that messages are multiplied with before the modulus is raised.
    pub gain_log2: u32,
    /// log2 of how often a message stands in the slots: with 0 all of them differ.
    pub repeats_log2: u32,
    /// Primes of a key-switching digit, and special primes.
    pub digit_limbs: usize,
}

impl BootstrapShape {
    /// No multiple of `q0` beyond `±(RANGE − 1)` is expected: for each coefficient with a chance of `2^-148.6`.
    ///
    /// # Math
    /// Under a sparse secret the multiple is the sum of `h = 32` numbers that are uniform between `−1/2` and `1/2`, rounded. Such a sum is at least `16 − 1/2` with the
    /// chance `(1/2)^32/32!`: the corner of a cube (Irwin and Hall).
    pub const RANGE: u32 = 16;
    /// Degree of the polynomial that is a cosine near integers: it meets the cosine at every integer within the range.
    pub const COSINE_DEGREE: u32 = 2 * (Self::RANGE - 1);
    /// Levels of that polynomial.
    pub const COSINE_LEVELS: u32 = 5;
    /// How often the angle is doubled afterwards.
    pub const DOUBLINGS: u32 = 3;

    /// Complex slots that may differ: the others repeat them.
    pub fn slots(&self) -> usize {
        (self.degree as usize / 2).checked_shr(self.repeats_log2).unwrap_or(0)
    }
    /// The level from which a ciphertext is bootstrapped: higher ones are brought down to it.
    pub fn input(&self) -> Level {
        level(self.to_coefficients)
    }
    /// The level of bootstrapped ciphertexts.
    pub fn output(&self) -> Level {
        level(self.to_coefficients.saturating_add(self.program))
    }
    /// The level at which the reduction modulo `q0` starts.
    pub fn reduction(&self) -> Level {
        level(u32::from(self.output().0) + Self::COSINE_LEVELS + Self::DOUBLINGS)
    }
    /// The level to which the modulus is raised.
    pub fn top(&self) -> Level {
        level(u32::from(self.reduction().0).saturating_add(self.to_slots))
    }

    /// log2 of a value in units of `q0`, after it has been multiplied.
    pub fn epsilon_log2(&self) -> f64 {
        f64::from(self.gain_log2) - (f64::from(self.base) - f64::from(self.low)) * THIRD
    }

    /// What rules a shape out.
    fn check(&self) -> Result<(), ChainError> {
        let most = u32::from(u8::MAX) - Self::COSINE_LEVELS - Self::DOUBLINGS;
        let levels = self.to_coefficients.saturating_add(self.program).saturating_add(self.to_slots);
        let sizes = [self.base, self.low, self.high];
        let what = if self.to_coefficients == 0 || self.to_slots == 0 {
            "a way to coefficients and one to slots, of a level at least"
        } else if levels > most {
            "at most 255 levels"
        } else if !sizes.iter().all(|size| (2..=9).contains(size)) {
            "levels of 2 to 9 thirds of a prime"
        } else if self.base > self.high {
            "a level 0 that is no larger than a level of the reduction"
        } else if self.slots() == 0 {
            "a slot at least"
        } else if self.gain_log2 > 40 || self.epsilon_log2() > LARGEST_EPSILON_LOG2 {
            "messages that are small beside the modulus of level 0"
        } else {
            return Ok(());
        };
        Err(ChainError::Bootstrap { what })
    }

    /// The primes and levels of the chain.
    ///
    /// # Errors
    /// [`ChainError::Bootstrap`] for numbers that cannot be bootstrapped with; [`ChainError::Unreachable`] for more primes than are known.
    pub fn chain_spec(&self) -> Result<ChainSpec, ChainError> {
        self.check()?;
        let thirds = |level: u8| {
            let low = u32::from(level.min(self.output().0));
            self.base + low * self.low + (u32::from(level) - low) * self.high
        };
        let all: Vec<(u32, u32)> = (0..=self.top().0).map(|level| parts(thirds(level))).collect();
        let fillers = all.iter().map(|&(fillers, _)| fillers).max().unwrap_or(0) as usize;
        let large = all.iter().map(|&(_, large)| large).max().unwrap_or(0) as usize;
        let unreachable = ChainError::Unreachable { depth: u32::from(self.top().0), bits: LARGE_BITS };
        let large = primes_of(LARGE_BITS).get(..large).ok_or(unreachable)?;
        let places = |&(of_fillers, of_large): &(u32, u32)| {
            let large = fillers..fillers + of_large as usize;
            (0..of_fillers as usize).chain(large).map(|place| place as u8).collect()
        };
        Ok(ChainSpec {
            degree: self.degree,
            universe: FILLERS[..fillers].iter().chain(large).copied().collect(),
            special: primes_of(47).iter().take(self.digit_limbs).copied().collect(),
            levels: all.iter().map(places).collect(),
            digit_limbs: self.digit_limbs,
        })
    }

    /// Whether a chain is of this shape.
    pub fn is_of(&self, chain: &ChainParams) -> bool {
        self.chain_spec().is_ok_and(|spec| {
            spec.degree as usize == chain.degree()
                && spec.universe == chain.universe()
                && spec.special == chain.special()
                && spec.levels == chain.levels()
                && spec.digit_limbs == chain.digit_limbs()
        })
    }

    /// For each segment, from the bottom, its highest level and log2 of the scale there: every level's own scale then stays near the size of its division.
    pub fn scales_log2(&self, chain: &ChainParams) -> [(Level, f64); 2] {
        let scale = |from: Level, to: Level| (to, chain.steady_scale_log2_between(from, to));
        [scale(Level(0), self.output()), scale(self.output(), self.top())]
    }
}

/// Fillers and large primes of a modulus of so many thirds.
fn parts(thirds: u32) -> (u32, u32) {
    let fillers = match thirds % 3 {
        0 => 0,
        1 => 2,
        _ => 1,
    };
    (fillers, (thirds.saturating_sub(2 * fillers)) / 3)
}

/// The level of this number, or the highest that there can be.
fn level(number: u32) -> Level {
    Level(u8::try_from(number).unwrap_or(u8::MAX))
}

/// Bits of large primes.
const LARGE_BITS: u32 = 46;
/// Bits of a third of one.
const THIRD: f64 = LARGE_BITS as f64 / 3.0;
/// At an eighth of `q0` the sine is a tenth off, and little more lets a value pass for another.
const LARGEST_EPSILON_LOG2: f64 = -3.0;
/// The primes nearest to `2^30.67` that are `1 mod 2^17`.
const FILLERS: [u64; 2] = [0x65ce_0001, 0x65d4_0001];

/// A named parameter set.
#[derive(Debug, PartialEq, Eq)]
pub struct BootstrapSet {
    name: &'static str,
    code: u16,
    shape: BootstrapShape,
    memory_mb: u64,
}

impl BootstrapSet {
    /// Its name, of which the last part is the version.
    pub fn name(&self) -> &'static str {
        self.name
    }
    /// Its number.
    pub fn code(&self) -> u16 {
        self.code
    }
    /// What its levels are for.
    pub fn shape(&self) -> &BootstrapShape {
        &self.shape
    }
    /// About how many bytes keys, matrices and bootstrappings on two threads take together: a peak of `hush bench bootstraps`, and a little more.
    pub fn memory_bytes(&self) -> u64 {
        self.memory_mb * 1_000_000
    }
    /// Its chain.
    ///
    /// # Errors
    /// None: a test makes each.
    pub fn chain(&self) -> Result<ChainParams, ChainError> {
        ChainParams::new(self.shape.chain_spec()?)
    }
}

impl ChainParams {
    /// The chain on which ciphertexts at level 0 are switched to a sparse secret: its primes, each a digit, and one special prime.
    ///
    /// # Errors
    /// [`ChainError::Sparse`] where no estimate covers the sparse secret at this degree and modulus; toys are let pass.
    pub fn sparse_chain(&self) -> Result<Self, ChainError> {
        let places = self.levels().first().ok_or(ChainError::Level { level: 0 })?;
        let universe: Vec<u64> =
            places.iter().filter_map(|&place| self.universe().get(usize::from(place)).copied()).collect();
        let special: Vec<u64> = self.special().iter().take(1).copied().collect();
        let found: f64 = universe.iter().chain(&special).map(|&q| (q as f64).log2()).sum();
        let levels = vec![(0..universe.len() as u8).collect()];
        let degree = self.degree() as u32;
        let spec = ChainSpec { degree, universe, special, levels, digit_limbs: 1 };
        if self.is_insecure_toy() {
            return self.toy_like(spec);
        }
        let covers = |&(of, log_q, bits): &(u32, f64, f64)| of == degree && found <= log_q && bits >= 128.0;
        if !SPARSE_ESTIMATES.iter().any(covers) {
            return Err(ChainError::Sparse { degree, found: found.ceil() as u32 });
        }
        Self::new(spec)
    }
}

/// 2^15 complex slots, 9 levels of 46 bits.
pub const N16: BootstrapSet = BootstrapSet {
    name: "n16_boot9x46_q30p7_sec128_v1",
    code: 1,
    shape: BootstrapShape {
        degree: 1 << 16,
        base: 4,
        low: 3,
        high: 4,
        to_coefficients: 3,
        program: 9,
        to_slots: 4,
        gain_log2: 0,
        repeats_log2: 0,
        digit_limbs: 7,
    },
    memory_mb: 15_000,
};

/// 2^8 complex slots, 13 levels of 46 bits: two thirds of the keys, and levels that the shorter ways to coefficients and back leave.
pub const N16_FEW: BootstrapSet = BootstrapSet {
    name: "n16_boot13x46_s8_q30p7_sec128_v1",
    code: 3,
    shape: BootstrapShape { to_coefficients: 1, program: 13, to_slots: 2, repeats_log2: 7, ..N16.shape },
    memory_mb: 9_500,
};

/// 2^14 complex slots, 3 levels of 30.67 bits: half the memory and less than half the time, to half as many bits.
pub const N15: BootstrapSet = BootstrapSet {
    name: "n15_boot3x31_q15p4_sec128_v1",
    code: 2,
    shape: BootstrapShape {
        degree: 1 << 15,
        base: 3,
        low: 2,
        high: 3,
        to_coefficients: 2,
        program: 3,
        to_slots: 2,
        gain_log2: 6,
        repeats_log2: 0,
        digit_limbs: 4,
    },
    memory_mb: 5_500,
};

/// 2^8 complex slots, 4 levels of 30.67 bits: half the keys.
pub const N15_FEW: BootstrapSet = BootstrapSet {
    name: "n15_boot4x31_s8_q15p4_sec128_v1",
    code: 4,
    shape: BootstrapShape { to_coefficients: 1, program: 4, repeats_log2: 6, ..N15.shape },
    memory_mb: 2_300,
};

/// All sets, by their codes.
pub const SETS: [&BootstrapSet; 4] = [&N16, &N15, &N16_FEW, &N15_FEW];

/// The set with this name.
///
/// # Errors
/// [`ParamsError::UnknownBootstrap`].
pub fn named(name: &str) -> Result<&'static BootstrapSet, ParamsError> {
    let unknown = || ParamsError::UnknownBootstrap { found: name.chars().take(64).collect() };
    SETS.into_iter().find(|set| set.name == name).ok_or_else(unknown)
}

pub(crate) fn known_names() -> String {
    SETS.map(|set| set.name).join(", ")
}

/// log2 of the chance that one of `2^16` coefficients leaves the range, and a ciphertext its sense.
pub const FAILURE_LOG2: f64 = -132.6;

/// What attacks on a secret of [`SPARSE_WEIGHT`] cost: degree, log2 of the largest modulus, bits of the cheapest. Lattice Estimator, cost model RC.MATZOV: primal hybrid with and
/// without meet-in-the-middle, dual hybrid with and without (with it: the cheapest), each over all that it guesses; docs/security/parameters.md.
pub const SPARSE_ESTIMATES: [(u32, f64, f64); 2] = [(1 << 16, 108.3, 165.7), (1 << 15, 93.0, 146.9)];

/// What attacks on the dense secret cost at the modulus of all primes: the cheapest of primal uSVP, primal BDD and dual hybrid. Sets for few slots have the primes of those for many.
pub const DENSE_ESTIMATES: [(&str, f64); 4] =
    [(N16.name, 133.4), (N15.name, 131.3), (N16_FEW.name, 133.4), (N15_FEW.name, 131.3)];

#[cfg(test)]
mod tests;
