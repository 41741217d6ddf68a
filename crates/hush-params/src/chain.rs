// SPDX-License-Identifier: Apache-2.0
//! Modulus chains: the primes of every level, the special primes of key switching, and how limbs form digits.
//!
//! *Words used.* The **universe** holds every ciphertext prime; a **level** is a subset of it, and level 0 is the last.
//! Going down divides the modulus by the primes that leave and multiplies it by those that come, so that a level
//! can be worth any number of bits whatever the primes' own size is \[rational rescaling\]. The **special** primes with
//! product `P` exist during key switching only. A **digit** is a run of consecutive primes of the universe.
//!
//! What every key and ciphertext under one secret is secure under is the largest modulus in use: the whole
//! universe times `P`.

mod choose;
mod definition;
pub mod presets;
mod rational;

pub use choose::{ChainRequest, ChosenChain, KeySwitching, Plaintexts};
pub use definition::{DefinitionFault, MAX_DEFINITION_BYTES};

use crate::primes::{LARGEST_BITS, SMALLEST_CHAIN_BITS, primes_of};
use crate::security::{self, SecurityLevel, max_log_q};

/// How many divisions a ciphertext still has before it; grows with budget, 0 is the last usable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Level(pub u8);

impl Level {
    /// The level after one division; `None` at the last.
    pub fn below(self) -> Option<Self> {
        self.0.checked_sub(1).map(Self)
    }
    /// As an index.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl std::fmt::Display for Level {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// A validated modulus chain.
///
/// *Invariants* (by [`ChainParams::new`]): a power-of-two degree of the security table; distinct primes of 26 to 46.95
/// bits, `1 mod 2N`; `⌈log2(Q·P)⌉` within the table at 128 bits or the level asked for; every level a non-empty, rising list of places in the
/// universe; moduli that grow with the level; `P` no smaller than any digit. (That the numbers are prime is checked when a
/// ring is built from them.) *Secrecy.* Public.
#[derive(Clone, Debug, PartialEq)]
pub struct ChainParams {
    degree: u32,
    universe: Vec<u64>,
    special: Vec<u64>,
    levels: Vec<Vec<u8>>,
    digit_limbs: usize,
    is_insecure_toy: bool,
    /// log2 of each ciphertext prime, and of each level's modulus: searches ask for them all the time.
    universe_log2: Vec<f64>,
    levels_log2: Vec<f64>,
}

/// The numbers of a chain, before they are checked.
#[derive(Clone, Debug, PartialEq)]
pub struct ChainSpec {
    /// Ring degree `N`.
    pub degree: u32,
    /// Every ciphertext prime.
    pub universe: Vec<u64>,
    /// Special primes; none if nothing is ever key-switched.
    pub special: Vec<u64>,
    /// Per level, from level 0 up, the places of its primes in the universe.
    pub levels: Vec<Vec<u8>>,
    /// Primes per key-switching digit, `α`.
    pub digit_limbs: usize,
}

/// Why a chain is refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ChainError {
    /// Numbers that cannot be bootstrapped with.
    #[error("no chain for bootstrapping: expected {what}")]
    Bootstrap {
        /// What was expected.
        what: &'static str,
    },
    /// A sparse secret that no estimate covers.
    #[error(
        "a sparse secret at ring degree {degree} and {found} bits is covered by no estimate; take a named set for bootstrapping"
    )]
    Sparse {
        /// Ring degree.
        degree: u32,
        /// Bits of the modulus, rounded up.
        found: u32,
    },
    /// The ring degree is not in the security table.
    #[error("ring degree {found}; use a power of two from 1024 to 131072")]
    Degree {
        /// Degree found.
        found: u32,
    },
    /// Primes per digit.
    #[error("{found} primes per key-switching digit, expected 1 to {max}")]
    DigitLimbs {
        /// Found.
        found: usize,
        /// The number of primes.
        max: usize,
    },
    /// More modulus than the table allows.
    #[error(
        "log2(QP) = {found} at ring degree {degree}, but {}-bit security allows {max}; take a larger ring or fewer primes",
        level.bits()
    )]
    Insecure {
        /// Security asked for.
        level: SecurityLevel,
        /// Bits found, rounded up.
        found: u32,
        /// Ring degree.
        degree: u32,
        /// Bits allowed.
        max: u32,
    },
    /// A level that is not a rising list of places, or no level, or a modulus that does not grow.
    #[error("level {level} is no set of primes of the chain larger than the one below")]
    Level {
        /// The level.
        level: usize,
    },
    /// A plaintext modulus without slots in any ring that the request allows.
    #[error(
        "plaintext modulus {found} has no {slots} slots: it must be 1 mod twice a ring degree of at least that"
    )]
    PlaintextModulus {
        /// The modulus.
        found: u64,
        /// Slots asked for.
        slots: usize,
    },
    /// A prime that occurs twice, has the wrong size or has no root of unity.
    #[error("modulus {found}: expected distinct primes of 26 to 46.95 bits that are 1 mod {order}")]
    Prime {
        /// The number found.
        found: u64,
        /// `2N`.
        order: u64,
    },
    /// The special primes are smaller than a digit, so that key switching would drown the message.
    #[error(
        "the special primes have {found} bits, but digit {digit} has {expected}; add a special prime or shorten the digits"
    )]
    Special {
        /// Bits of `P`.
        found: u32,
        /// The digit.
        digit: usize,
        /// Its bits.
        expected: u32,
    },
    /// More values than any ring has slots.
    #[error("{found} values, but a ciphertext has at most {max} slots; split them over several ciphertexts")]
    Slots {
        /// Values asked for.
        found: usize,
        /// Slots of the largest ring.
        max: usize,
    },
    /// Whatever holds the computation is beyond the table for the largest ring.
    #[error(
        "{depth} products need log2(QP) = {found} at ring degree {degree}, but {}-bit security allows {max}; lower the depth, the sums, the precision or the security",
        level.bits()
    )]
    TooLarge {
        /// Security asked for.
        level: SecurityLevel,
        /// Bits of the smallest chain found.
        found: u32,
        /// The largest ring degree that suits the request.
        degree: u32,
        /// Bits allowed.
        max: u32,
        /// Products one after the other.
        depth: u32,
    },
    /// Noise alone exceeds the error that a result may have.
    #[error(
        "results have errors up to 2^{found:.1} at best, but 2^{expected:.1} was asked for; leave the scale open, lower the depth, or allow larger errors"
    )]
    Imprecise {
        /// log2 of the error found.
        found: f64,
        /// log2 of the error allowed.
        expected: f64,
    },
    /// No chain serves the request.
    #[error(
        "no number of primes holds {depth} products of {bits}-bit values at any ring degree; lower depth, sums or values"
    )]
    Unreachable {
        /// Levels asked for.
        depth: u32,
        /// Bits of the scale, of the precision where the scale is left open, or of the plaintext modulus.
        bits: u32,
    },
}

impl ChainParams {
    /// Checks a chain at 128 bits.
    ///
    /// # Errors
    /// A [`ChainError`] that names the first thing wrong.
    pub fn new(spec: ChainSpec) -> Result<Self, ChainError> {
        Self::with_security(spec, SecurityLevel::Bits128)
    }

    /// Checks a chain at any level of the security table.
    ///
    /// # Errors
    /// As [`ChainParams::new`].
    pub fn with_security(spec: ChainSpec, level: SecurityLevel) -> Result<Self, ChainError> {
        let params = Self::well_formed(spec)?;
        let (degree, found) = (params.degree, params.log_qp_ceil());
        let max = max_log_q(degree, level).ok_or(ChainError::Degree { found: degree })?;
        if found > max {
            return Err(ChainError::Insecure { level, found, degree, max });
        }
        Ok(params)
    }

    /// A chain that is far from secure, for tests on small rings: everything is checked but the table.
    ///
    /// # Errors
    /// A [`ChainError`].
    #[cfg(any(test, feature = "insecure-toy"))]
    pub fn insecure_toy(spec: ChainSpec) -> Result<Self, ChainError> {
        Ok(Self { is_insecure_toy: true, ..Self::well_formed(spec)? })
    }

    /// A chain of a toy's own, which is as insecure as it.
    pub(crate) fn toy_like(&self, spec: ChainSpec) -> Result<Self, ChainError> {
        Ok(Self { is_insecure_toy: self.is_insecure_toy, ..Self::well_formed(spec)? })
    }

    /// One prime per level, `level_count` of them; the first `base_count` make up level 0; the largest primes of
    /// `bits` bits. The special primes come from the same list.
    ///
    /// # Errors
    /// A [`ChainError`].
    pub fn uniform(
        degree: u32,
        bits: u32,
        base_count: usize,
        limb_count: usize,
        special_count: usize,
        digit_limbs: usize,
    ) -> Result<Self, ChainError> {
        Self::new(uniform_spec(degree, bits, base_count, limb_count, special_count, digit_limbs))
    }

    fn well_formed(spec: ChainSpec) -> Result<Self, ChainError> {
        let ChainSpec { degree, universe, special, levels, digit_limbs } = spec;
        if !degree.is_power_of_two() || !(16..=1 << 16).contains(&degree) {
            return Err(ChainError::Degree { found: degree });
        }
        let order = 2 * u64::from(degree);
        let all: Vec<u64> = universe.iter().chain(&special).copied().collect();
        for (index, &found) in all.iter().enumerate() {
            let sized = (1 << (SMALLEST_CHAIN_BITS - 1)..=MAX_PRIME).contains(&found);
            if !sized || found % order != 1 || all[..index].contains(&found) {
                return Err(ChainError::Prime { found, order });
            }
        }
        // Counts have one byte in the canonical encoding.
        if digit_limbs == 0 || digit_limbs > universe.len().max(1) || all.len() > usize::from(u8::MAX) {
            return Err(ChainError::DigitLimbs { found: digit_limbs, max: universe.len() });
        }
        let universe_log2: Vec<f64> = universe.iter().map(|&q| (q as f64).log2()).collect();
        // Places that do not exist are refused below.
        let log2_of = |&place: &u8| universe_log2.get(usize::from(place));
        let levels_log2 = levels.iter().map(|places| places.iter().filter_map(log2_of).sum()).collect();
        let is_insecure_toy = false;
        let params = Self {
            degree,
            universe,
            special,
            levels,
            digit_limbs,
            is_insecure_toy,
            universe_log2,
            levels_log2,
        };
        params.check_levels()?;
        params.check_special()?;
        Ok(params)
    }

    fn check_levels(&self) -> Result<(), ChainError> {
        let mut below = 0.0;
        for (level, (places, &bits)) in self.levels.iter().zip(&self.levels_log2).enumerate() {
            let rising = places.is_sorted_by(|a, b| a < b);
            let known = places.last().is_some_and(|&last| usize::from(last) < self.universe.len());
            if !rising || !known || bits <= below || level > usize::from(u8::MAX) {
                return Err(ChainError::Level { level });
            }
            below = bits;
        }
        if self.levels.is_empty() { Err(ChainError::Level { level: 0 }) } else { Ok(()) }
    }

    fn check_special(&self) -> Result<(), ChainError> {
        let found = log2_product(&self.special);
        if self.special.is_empty() {
            return Ok(());
        }
        for (digit, primes) in self.universe_log2.chunks(self.digit_limbs).enumerate() {
            let expected: f64 = primes.iter().sum();
            // Half a bit: primes of one size differ a little, and that costs nothing.
            if found + 0.5 < expected {
                let (found, expected) = (found as u32, expected.ceil() as u32);
                return Err(ChainError::Special { found, digit, expected });
            }
        }
        Ok(())
    }

    /// Ring degree `N`.
    pub fn degree(&self) -> usize {
        self.degree as usize
    }
    /// Every ciphertext prime.
    pub fn universe(&self) -> &[u64] {
        &self.universe
    }
    /// The special primes.
    pub fn special(&self) -> &[u64] {
        &self.special
    }
    /// Primes per digit, `α`.
    pub fn digit_limbs(&self) -> usize {
        self.digit_limbs
    }
    /// Digits of the whole universe, `dnum`.
    pub fn digit_count(&self) -> usize {
        self.universe.len().div_ceil(self.digit_limbs)
    }
    /// log2 of each ciphertext prime.
    pub(crate) fn universe_log2(&self) -> &[f64] {
        &self.universe_log2
    }
    /// Places of the primes of each level, from level 0 up.
    pub fn levels(&self) -> &[Vec<u8>] {
        &self.levels
    }
    /// How many primes of the universe, the first ones, hold every prime of this level and those below; above the top level those of
    /// the top. Keys that serve lower levels alone have these.
    pub fn primes_up_to(&self, level: Level) -> usize {
        let places = self.levels.iter().take(level.index() + 1).flatten();
        places.max().map_or(0, |&last| usize::from(last) + 1)
    }
    /// Whether every prime of a lower level is one of a higher, so that going there costs nothing.
    pub fn includes(&self, higher: Level, lower: Level) -> bool {
        match (self.levels.get(higher.index()), self.levels.get(lower.index())) {
            (Some(higher), Some(lower)) => lower.iter().all(|place| higher.contains(place)),
            _ => false,
        }
    }
    /// The level of fresh ciphertexts.
    pub fn top(&self) -> Level {
        Level((self.levels.len() - 1) as u8)
    }
    /// log2 of the modulus at a level; `None` if there is no such level.
    pub fn log_q(&self, level: Level) -> Option<f64> {
        self.levels_log2.get(level.index()).copied()
    }
    /// log2 of the scale of fresh ciphertexts with which every level's own scale stays near the size of its division; 0 for a
    /// chain of one level.
    ///
    /// # Math
    /// `Δ_(ℓ−1) = Δ_ℓ²·Q_(ℓ−1)/Q_ℓ`, so that a deviation at the top doubles with every level. Upwards it halves: the scale of
    /// level 0 is the size of the last division, and `log2 Δ_ℓ = (log2 Δ_(ℓ−1) + log2(Q_ℓ/Q_(ℓ−1)))/2`.
    pub fn steady_scale_log2(&self) -> f64 {
        self.steady_scale_log2_between(Level(0), self.top())
    }
    /// [`ChainParams::steady_scale_log2`] at level `to`, with respect to the divisions from there down to `from` alone; 0 without any.
    pub fn steady_scale_log2_between(&self, from: Level, to: Level) -> f64 {
        let levels = self.levels_log2.get(from.index()..=to.index()).unwrap_or(&[]);
        let mut divisions = levels.windows(2).map(|pair| pair[1] - pair[0]);
        let Some(first) = divisions.next() else { return 0.0 };
        // Level 1 is at the scale of level 0: its division is of that very size.
        divisions.fold(first, |scale, division| 0.5 * (scale + division))
    }
    /// log2 `P`.
    pub fn log_p(&self) -> f64 {
        log2_product(&self.special)
    }
    /// `⌈log2(Q·P)⌉` over the whole universe, with which the security table is asked.
    pub fn log_qp_ceil(&self) -> u32 {
        (self.universe_log2.iter().sum::<f64>() + self.log_p()).ceil() as u32
    }
    /// Labelled security in bits; 0 for a toy.
    pub fn security_bits(&self) -> u32 {
        if self.is_insecure_toy {
            return 0;
        }
        security::security_bits(self.degree, self.log_qp_ceil()).unwrap_or(0)
    }

    /// Whether it was made without the security table, for tests.
    pub fn is_insecure_toy(&self) -> bool {
        self.is_insecure_toy
    }
}

pub(crate) fn uniform_spec(
    degree: u32,
    bits: u32,
    base_count: usize,
    limb_count: usize,
    special_count: usize,
    digit_limbs: usize,
) -> ChainSpec {
    // A table that is too short gives too few primes, which the checks refuse as a level without primes.
    let mut primes = primes_of(bits.min(LARGEST_BITS)).iter().copied();
    let special = primes.by_ref().take(special_count).collect();
    let universe = primes.take(limb_count).collect();
    let levels = (base_count.max(1)..=limb_count).map(|count| (0..count as u8).collect()).collect();
    ChainSpec { degree, universe, special, levels, digit_limbs }
}

fn log2_product(primes: &[u64]) -> f64 {
    primes.iter().map(|&q| (q as f64).log2()).sum()
}

/// `⌊2^52/33⌋`: the largest modulus of the lazy 52-bit arithmetic.
const MAX_PRIME: u64 = (1 << 52) / 33;

#[cfg(test)]
mod tests;
