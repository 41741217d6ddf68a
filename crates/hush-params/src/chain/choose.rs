// SPDX-License-Identifier: Apache-2.0
//! Finds the smallest chain that serves a computation.
//!
//! # Method
//! Rings are tried from the smallest up. In each ring, for every number and size of primes in each role, the noise of the
//! deepest circuit that the request describes is bounded step by step ([`crate::noise::NoiseModel`]). Among the chains that hold it
//! and lie within the security table, the search takes the one with the fewest bytes in a fresh ciphertext and evaluation key,
//! then the one with the fewest primes, then the one with the smallest modulus.
//!
//! *Roles.* Level 0 has primes of its own size, since it holds a message and not only its noise; the primes that leave at divisions
//! are of the size that a division is worth; the special primes are as large as the table leaves room for, which makes the noise of
//! key switching least. Where no scale of a CKKS request fits levels of whole primes, levels of any size are tried
//! ([`ChainParams::rational_spec`]).
//!
//! *The circuit.* An encryption under the public key; on every level a key switch of each operand, the sum of `2^sums_log2`
//! operands that may all be one, their product with itself, relinearisation and division; on level 0 once more a key switch and
//! a sum. In BFV the same without divisions. Exact sums are of ciphertexts with one factor (others cost `√t` more, see `hush_schemes::bgv::Bgv::add`).

mod circuit;
mod layouts;

use std::collections::BTreeMap;

use super::{ChainError, ChainParams, ChainSpec, MAX_PRIME};
use crate::primes::{LARGEST_BITS, SMALLEST_BITS};
use crate::security::{SecurityLevel, max_log_q};
use circuit::Run;
use layouts::{MAX_LIMBS_PER_LEVEL, Shape, Sizes, rational_specs, rows};

/// What values are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Plaintexts {
    /// Reals or complex numbers, by CKKS.
    Approximate {
        /// log2 of the scale, which is then the size of each level; `None` for the one that suits the chain.
        scale_log2: Option<f64>,
        /// log2 of the largest value, sums included.
        value_log2: f64,
        /// log2 of the error that a result may have.
        error_log2: f64,
    },
    /// Integers modulo a prime, by BGV: a division after every product.
    Exact {
        /// The plaintext modulus.
        t: u64,
    },
    /// Integers modulo a prime, by BFV: one level, whatever the depth.
    ExactScaled {
        /// The plaintext modulus.
        t: u64,
    },
}

impl Plaintexts {
    /// The plaintext modulus of exact schemes.
    fn modulus(self) -> Option<u64> {
        match self {
            Self::Approximate { .. } => None,
            Self::Exact { t } | Self::ExactScaled { t } => Some(t),
        }
    }
}

/// Whether anything is relinearised or rotated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeySwitching {
    /// Nothing: no special primes, and at most one product, decrypted from its three components.
    Never,
    /// On every level.
    Used,
}

/// The demands of a computation on a chain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChainRequest {
    /// What values are.
    pub plaintexts: Plaintexts,
    /// Products one after the other.
    pub depth: u32,
    /// Values in one ciphertext: at most `N` exact ones, `N/2` approximate ones.
    pub slots: usize,
    /// log2 of the number of terms that are summed between products.
    pub sums_log2: f64,
    /// Whether keys are needed.
    pub key_switching: KeySwitching,
    /// Security.
    pub security: SecurityLevel,
}

/// A chain, and what the request's circuit does on it.
#[derive(Clone, Debug, PartialEq)]
pub struct ChosenChain {
    params: ChainParams,
    run: Run,
}

impl ChosenChain {
    /// The chain.
    pub fn params(&self) -> &ChainParams {
        &self.params
    }
    /// The chain, by value.
    pub fn into_params(self) -> ChainParams {
        self.params
    }
    /// Bits between the tightest bound of the circuit and what it must not exceed; at least 0.
    pub fn margin_bits(&self) -> f64 {
        self.run.margin_bits
    }
    /// log2 of the chance that one ciphertext, all the way through the circuit, exceeds a bound: that an exact result is wrong, or an
    /// approximate one further off than was asked for.
    pub fn failure_log2(&self) -> f64 {
        self.run.failure_log2
    }
    /// log2 of the bound on the error of an approximate result.
    pub fn error_log2(&self) -> Option<f64> {
        self.run.error_log2.is_finite().then_some(self.run.error_log2)
    }
    /// log2 of the scale for encrypting approximate values.
    pub fn scale_log2(&self) -> Option<f64> {
        self.error_log2().map(|_| self.run.scale_log2)
    }
}

impl ChainParams {
    /// The smallest ring that serves a request, and the chain in it with the fewest bytes.
    ///
    /// # Cost
    /// Up to a second, most of it where a ring just fails to serve or a scale is no prime's size; a refusal, which looks for what would
    /// serve, some seconds. Choices are worth keeping.
    ///
    /// # Errors
    /// [`ChainError::PlaintextModulus`] if `t` has no such slots; [`ChainError::Slots`] for more than any ring has;
    /// [`ChainError::TooLarge`] if the table forbids whatever serves; [`ChainError::Imprecise`] if noise alone is larger than the error
    /// allowed; [`ChainError::Unreachable`] if no number of primes serves.
    pub fn choose(request: &ChainRequest) -> Result<ChosenChain, ChainError> {
        let degrees: Vec<u32> = degrees().filter(|&degree| request.has_slots(degree)).collect();
        if degrees.is_empty() {
            return Err(match request.plaintexts.modulus() {
                Some(found) => ChainError::PlaintextModulus { found, slots: request.slots },
                None => ChainError::Slots { found: request.slots, max: 1 << (LARGEST_DEGREE_LOG2 - 1) },
            });
        }
        request.smallest(&degrees).ok_or_else(|| request.refusal(&degrees))
    }
}

/// The bounds of a search.
struct Table {
    degree: u32,
    /// `None`: not a secure one.
    level: Option<SecurityLevel>,
    max: f64,
}

impl ChainRequest {
    fn has_slots(&self, degree: u32) -> bool {
        match self.plaintexts {
            Plaintexts::Approximate { .. } => self.slots <= degree as usize / 2,
            Plaintexts::Exact { t } | Plaintexts::ExactScaled { t } => {
                let in_range = (2..=MAX_PRIME).contains(&t);
                self.slots <= degree as usize && in_range && t % (2 * u64::from(degree)) == 1
            }
        }
    }

    /// Divisions on the way: a product that is never relinearised is not divided either, and one of BFV need not be.
    fn divisions(&self) -> usize {
        match (self.key_switching, self.plaintexts) {
            (KeySwitching::Never, _) | (_, Plaintexts::ExactScaled { .. }) => 0,
            (KeySwitching::Used, _) => self.depth as usize,
        }
    }

    /// The best chain of the smallest of these rings that serves.
    fn smallest(&self, degrees: &[u32]) -> Option<ChosenChain> {
        let rational = std::cell::LazyCell::new(|| self.rational_layouts());
        degrees.iter().find_map(|&degree| {
            let max = max_log_q(degree, self.security)?;
            let table = Table { degree, level: Some(self.security), max: max.into() };
            self.of_whole_primes(&table).or_else(|| {
                let is_hopeless =
                    self.least_rational_bits() > table.max || self.levels_of_one_prime_do(degree);
                if is_hopeless { None } else { self.of_any_size(&table, &rational) }
            })
        })
    }

    /// The chain of fewest bytes with whole primes as levels.
    fn of_whole_primes(&self, table: &Table) -> Option<ChosenChain> {
        // Levels that are worth more than they need to be do not help.
        let max_per_level = if self.levels_of_one_prime_do(table.degree) { 1 } else { MAX_LIMBS_PER_LEVEL };
        let mut held: BTreeMap<(usize, usize), Vec<Sizes>> = BTreeMap::new();
        self.shapes(max_per_level).into_iter().find_map(|shape| {
            let held = held
                .entry((shape.base, shape.per_level))
                .or_insert_with(|| self.held_without_switching(shape, table));
            let sizes = held.iter().filter_map(|&sizes| shape.with_special(sizes, table.max));
            sizes.filter_map(|sizes| shape.spec(table.degree, sizes)).find_map(|spec| self.held(spec, table))
        })
    }

    /// For each size of the leaving primes, the smallest primes of level 0 that hold the circuit without the noise of key
    /// switching; the smallest modulus first. No others need special primes: a chain that fails without that noise fails with it, and a
    /// larger level 0 only takes room.
    fn held_without_switching(&self, shape: Shape, table: &Table) -> Vec<Sizes> {
        let shape = Shape { special: 0, ..shape };
        let chain_of = |sizes| ChainParams::well_formed(shape.spec(table.degree, sizes)?).ok();
        let is_held = |chain: &ChainParams| self.run(chain).is_some();
        let least_base = |level: u32| {
            let bases = SMALLEST_BITS..=LARGEST_BITS;
            let sizes = bases.map(|base| Sizes { base, level, special: LARGEST_BITS });
            let chains: Vec<_> = sizes.filter_map(|sizes| Some((sizes, chain_of(sizes)?))).collect();
            let first = chains.partition_point(|(_, chain)| !is_held(chain));
            // One that is held in general may have the plaintext modulus for a prime.
            chains[first..].iter().find(|(_, chain)| is_held(chain)).map(|(sizes, _)| *sizes)
        };
        let mut held: Vec<Sizes> = self.level_sizes(shape).filter_map(least_base).collect();
        held.sort_by(|a, b| shape.ciphertext_bits(*a).total_cmp(&shape.ciphertext_bits(*b)));
        held
    }

    fn held(&self, spec: ChainSpec, table: &Table) -> Option<ChosenChain> {
        let params = match table.level {
            Some(level) => ChainParams::with_security(spec, level),
            None => ChainParams::well_formed(spec),
        }
        .ok()?;
        let run = self.run(&params)?;
        Some(ChosenChain { params, run })
    }

    /// Whether levels of one prime are precise enough, were there room for them. Then levels that are worth more do not help.
    fn levels_of_one_prime_do(&self, degree: u32) -> bool {
        let anything = Table { degree, level: None, max: f64::INFINITY };
        let limbs = ROOMY_BASE + self.divisions();
        let shape = Shape { base: ROOMY_BASE, per_level: 1, limbs, special: 0, digit_limbs: 1 };
        !self.held_without_switching(shape, &anything).is_empty()
    }

    /// The chain of fewest bytes with levels of a scale that is not the size of a prime.
    fn of_any_size(&self, table: &Table, layouts: &[(Self, ChainSpec)]) -> Option<ChosenChain> {
        let chains = layouts.iter().flat_map(|(request, layout)| {
            let specs = rational_specs(request, table.degree, layout);
            specs.filter_map(|spec| request.held(spec, table))
        });
        chains.min_by_key(|chosen| rows(chosen.params()))
    }

    /// No chain with levels of any size has a smaller modulus.
    fn least_rational_bits(&self) -> f64 {
        let Plaintexts::Approximate { scale_log2, .. } = self.plaintexts else { return f64::INFINITY };
        scale_log2.unwrap_or(RATIONAL_SCALES_LOG2[0]) * (self.divisions() + 1) as f64
    }

    /// Levels of a scale's own size, with the request at that scale.
    fn rational_layouts(&self) -> Vec<(Self, ChainSpec)> {
        let Plaintexts::Approximate { scale_log2, value_log2, error_log2 } = self.plaintexts else {
            return Vec::new();
        };
        if self.divisions() == 0 {
            return Vec::new();
        }
        let scales = scale_log2.map_or(RATIONAL_SCALES_LOG2.to_vec(), |scale_log2| vec![scale_log2]);
        let layout = |scale: f64| {
            let base = scale + 2.0 * value_log2.max(0.0) + BASE_MARGIN_BITS;
            let divisions = self.divisions() as u32;
            let spec =
                ChainParams::rational_spec(1 << LARGEST_DEGREE_LOG2, scale, divisions, base, 1).ok()?;
            let plaintexts = Plaintexts::Approximate { scale_log2: Some(scale), value_log2, error_log2 };
            Some((Self { plaintexts, ..*self }, spec))
        };
        scales.into_iter().filter_map(layout).collect()
    }

    /// Why nothing served: what would, were there no bound on the error, or no table.
    fn refusal(&self, degrees: &[u32]) -> ChainError {
        let depth = self.depth;
        let bits = match self.plaintexts {
            Plaintexts::Approximate { scale_log2, value_log2, error_log2: expected } => {
                let with_error = |error_log2: f64| {
                    let plaintexts = Plaintexts::Approximate { scale_log2, value_log2, error_log2 };
                    Self { plaintexts, ..*self }
                };
                let error_of = |error_log2| with_error(error_log2).smallest(degrees)?.error_log2();
                if let Some(found) = error_of(f64::INFINITY) {
                    return ChainError::Imprecise { found: least_error(expected, found, error_of), expected };
                }
                let anything = with_error(f64::INFINITY);
                if let Some(error) = anything.beyond_the_table(degrees) {
                    return error;
                }
                scale_log2.unwrap_or(value_log2 - expected) as u32
            }
            Plaintexts::Exact { t } | Plaintexts::ExactScaled { t } => t.max(1).ilog2() + 1,
        };
        self.beyond_the_table(degrees).unwrap_or(ChainError::Unreachable { depth, bits })
    }

    fn beyond_the_table(&self, degrees: &[u32]) -> Option<ChainError> {
        let (degree, level, depth) = (*degrees.last()?, self.security, self.depth);
        let chosen = self.of_whole_primes(&Table { degree, level: None, max: f64::INFINITY })?;
        let (found, max) = (chosen.params.log_qp_ceil(), max_log_q(degree, level)?);
        Some(ChainError::TooLarge { level, found, degree, max, depth })
    }
}

/// The least error that some chain has, to within a bit or so, by halving what lies between one that is too small and one found.
fn least_error(too_small: f64, found: f64, error_of: impl Fn(f64) -> Option<f64>) -> f64 {
    let (mut low, mut high) = (too_small.max(MIN_ERROR_LOG2), found);
    while high - low > 1.0 {
        let middle = f64::midpoint(low, high);
        match error_of(middle) {
            Some(found) => high = found.min(middle),
            None => low = middle,
        }
    }
    high
}

/// The ring degrees that chains may have.
fn degrees() -> impl Iterator<Item = u32> {
    (SMALLEST_DEGREE_LOG2..=LARGEST_DEGREE_LOG2).map(|log2| 1 << log2)
}

const SMALLEST_DEGREE_LOG2: u32 = 10;
const LARGEST_DEGREE_LOG2: u32 = 16;
/// Primes of level 0 that leave any value room.
const ROOMY_BASE: usize = 2;
/// An error that no double is precise enough for.
const MIN_ERROR_LOG2: f64 = -200.0;
/// Scales between those of levels of one prime and of two.
const RATIONAL_SCALES_LOG2: [f64; 2] = [50.0, 55.0];
/// Level 0 of a rational chain beyond scale and values: sign, noise, and the tolerance of its layout.
const BASE_MARGIN_BITS: f64 = 6.0;

#[cfg(test)]
mod sweep;
#[cfg(test)]
mod tests;
