// SPDX-License-Identifier: Apache-2.0
//! From what a computation needs to the smallest chain that serves it.
//!
//! # Method
//! Rings are tried from the smallest up. In each, for every prime size, number of primes per level and number of special
//! primes, the noise of the deepest circuit that the request describes is bounded step by step ([`crate::noise::NoiseModel`],
//! failure probability 2^-128 for each ciphertext); of the chains that serve and lie within the security table, the one whose key
//! switch costs least is taken.
//!
//! *The circuit.* An encryption under the public key; on every level a key switch of each operand, the sum of `2^sums_log2`
//! operands that may all be one, their product with itself, relinearisation and division; on level 0 once more a key switch and
//! a sum. In BFV the same without divisions. Exact sums are of ciphertexts with one factor (others cost `√t` more, see `hush_schemes::bgv::Bgv::add`).

use super::{ChainError, ChainParams, ChainSpec, MAX_PRIME, uniform_spec};
use crate::Level;
use crate::noise::{NoiseModel, Operands, PhaseNoise, View};
use crate::primes::{LARGEST_BITS, SMALLEST_BITS, primes_of};
use crate::security::{SecurityLevel, max_log_q};

/// What values are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Plaintexts {
    /// Reals or complex numbers at scale `2^scale_log2`.
    Approximate {
        /// log2 of the scale; each level is worth that many bits.
        scale_log2: f64,
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
    /// Nothing: no special primes, and at most one product, of which three components are decrypted.
    Never,
    /// On every level.
    Used,
}

/// What a computation needs of a chain.
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

impl ChainParams {
    /// The smallest ring that serves a request, and the chain in it with the cheapest key switch.
    ///
    /// # Cost
    /// Milliseconds; up to a second for scales that are no prime's size.
    ///
    /// # Errors
    /// [`ChainError::PlaintextModulus`] if `t` has no such slots; [`ChainError::Unreachable`] if no ring is large enough.
    pub fn choose(request: &ChainRequest) -> Result<Self, ChainError> {
        let degrees: Vec<u32> =
            (10..=16).map(|log2| 1 << log2).filter(|&degree| request.has_slots(degree)).collect();
        if let (true, Some(found)) = (degrees.is_empty(), request.plaintexts.modulus()) {
            return Err(ChainError::PlaintextModulus { found, slots: request.slots });
        }
        let bits = match request.plaintexts {
            Plaintexts::Approximate { scale_log2, .. } => scale_log2 as u32,
            Plaintexts::Exact { t } | Plaintexts::ExactScaled { t } => t.max(1).ilog2() + 1,
        };
        let unreachable = ChainError::Unreachable { depth: request.depth, bits };
        let layout = std::cell::LazyCell::new(|| request.rational_layout());
        let smallest = degrees.iter().find_map(|&degree| {
            let uniform = || request.cheapest(request.uniform_specs(degree));
            let rational = || request.cheapest(request.rational_specs(degree, layout.as_ref()?));
            uniform().or_else(rational)
        });
        smallest.ok_or(unreachable)
    }
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

    /// Most primes of level 0.
    fn max_base(&self) -> usize {
        match self.plaintexts {
            Plaintexts::ExactScaled { .. } => primes_of(MOST_PRIMES_BITS).len(),
            _ => MAX_BASE,
        }
    }

    /// The cheapest of these chains that serves.
    fn cheapest(&self, specs: impl Iterator<Item = ChainSpec>) -> Option<ChainParams> {
        let secure = specs.filter_map(|spec| ChainParams::with_security(spec, self.security).ok());
        let serving = secure.filter(|chain| self.is_served_by(chain));
        serving.min_by(|a, b| key_switch_cost(a).total_cmp(&key_switch_cost(b)))
    }

    /// Every chain of one ring with primes of one size that is not far too large.
    fn uniform_specs(&self, degree: u32) -> impl Iterator<Item = ChainSpec> {
        let max = max_log_q(degree, self.security).map_or(0.0, f64::from);
        let max_per_level = if self.divisions() == 0 { 1 } else { MAX_LIMBS_PER_LEVEL };
        let sizes = (SMALLEST_BITS..=LARGEST_BITS)
            .flat_map(move |bits| (1..=max_per_level).map(move |per_level| (bits, per_level)))
            .flat_map(|(bits, per_level)| (1..=self.max_base()).map(move |base| (bits, per_level, base)));
        sizes.flat_map(move |(bits, per_level, base)| {
            let limbs = base + per_level * self.divisions();
            let possible = move |&special: &usize| {
                let count = limbs + special;
                count <= primes_of(bits).len() && count as f64 * f64::from(bits - 1) <= max
            };
            self.special_counts(limbs).take_while(possible).map(move |special| {
                let mut spec = uniform_spec(degree, bits, base, limbs, special, special.max(1));
                spec.levels.retain(|level| (level.len() - base).is_multiple_of(per_level));
                spec
            })
        })
    }

    /// The chains of one ring whose levels have the scale's own size.
    fn rational_specs(&self, degree: u32, layout: &ChainSpec) -> impl Iterator<Item = ChainSpec> {
        let primes = primes_of(LARGEST_BITS);
        self.special_counts(layout.universe.len()).take_while(|&special| special <= primes.len()).map(
            move |special| {
                let digit_limbs = special.max(1);
                let special = primes.iter().take(special).copied().collect();
                ChainSpec { degree, special, digit_limbs, ..layout.clone() }
            },
        )
    }

    /// Numbers of special primes, which are those of primes in a digit.
    fn special_counts(&self, limbs: usize) -> std::ops::RangeInclusive<usize> {
        match self.key_switching {
            KeySwitching::Never => 0..=0,
            KeySwitching::Used => 1..=limbs,
        }
    }

    /// Levels of a scale's own size, for the scales that are no prime's.
    fn rational_layout(&self) -> Option<ChainSpec> {
        let Plaintexts::Approximate { scale_log2, value_log2, .. } = self.plaintexts else { return None };
        let base = scale_log2 + 2.0 * value_log2.max(0.0) + BASE_MARGIN_BITS;
        ChainParams::rational_spec(1 << 16, scale_log2, self.divisions() as u32, base, 1).ok()
    }

    /// Whether the circuit runs on a chain without failure.
    fn is_served_by(&self, chain: &ChainParams) -> bool {
        // Messages modulo a prime of the chain would not survive a division by it.
        let is_prime_of = |t: u64| chain.universe().iter().chain(chain.special()).any(|&q| q == t);
        if self.plaintexts.modulus().is_some_and(is_prime_of) {
            return false;
        }
        usize::from(chain.top().0) == self.divisions()
            && match self.plaintexts {
                Plaintexts::Approximate { scale_log2, value_log2, error_log2 } => self
                    .approximate_error_log2(chain, scale_log2, value_log2)
                    .is_some_and(|found| found <= error_log2),
                Plaintexts::Exact { t } => self.runs_exactly(chain, t),
                Plaintexts::ExactScaled { t } => self.runs_scaled(chain, t),
            }
    }

    fn runs_exactly(&self, chain: &ChainParams, t: u64) -> bool {
        let model = NoiseModel::new(chain.degree(), t, View::Bound);
        let fits =
            |phase, level| chain.log_q(level).is_some_and(|log_q| model.phase_log2(phase) <= log_q - 1.0);
        // A message coefficient is at most t/2.
        let mut phase = model.fresh_public((t as f64).log2() - 1.0);
        let mut level = chain.top();
        loop {
            if self.key_switching == KeySwitching::Used {
                phase = model.key_switched(phase, chain, level);
            }
            let operand = model.sum(phase, self.sums_log2);
            if !fits(operand, level) {
                return false;
            }
            if level == Level(0) && self.divisions() == self.depth as usize {
                return true;
            }
            let product = model.tensor(operand, operand, Operands::Dependent);
            if !fits(product, level) {
                return false;
            }
            match (level.below(), model.relinearized_and_rescaled(product, chain, level)) {
                (Some(below), Some(divided)) => (level, phase) = (below, divided),
                _ => return self.depth == 1,
            }
        }
    }

    fn runs_scaled(&self, chain: &ChainParams, t: u64) -> bool {
        let (model, level) = (NoiseModel::new(chain.degree(), 1, View::Bound), chain.top());
        let (t_log2, log_q) = ((t as f64).log2(), chain.log_q(level).unwrap_or(0.0));
        let switched = |phase| match self.key_switching {
            KeySwitching::Never => phase,
            KeySwitching::Used => model.key_switched(phase, chain, level),
        };
        let operand = |phase| model.sum(switched(phase), self.sums_log2);
        // No request of sense is deeper than a chain has bits.
        let depth = self.depth.min(MAX_DEPTH);
        let fresh = operand(model.encoded(model.fresh_public(log_q - 1.0)));
        let result = (0..depth).fold(fresh, |phase, _| {
            // Relinearised, then rotated.
            operand(switched(model.tensor_scaled(phase, phase, t_log2, log_q, Operands::Dependent)))
        });
        let decrypted = self.key_switching == KeySwitching::Used || self.depth <= 1;
        decrypted && model.error_log2(result) <= log_q - t_log2 - 1.0
    }

    /// log2 of the largest error of a result; `None` if a phase does not fit its modulus on the way.
    ///
    /// # Math
    /// A polynomial with slots up to `v` has no coefficient above `v`, and its squared norm is at most `v²`, as if every
    /// coefficient were `v/√N`: that is what a product multiplies the other error by.
    fn approximate_error_log2(&self, chain: &ChainParams, scale_log2: f64, value_log2: f64) -> Option<f64> {
        let model = NoiseModel::new(chain.degree(), 1, View::Bound);
        let spread_log2 = (chain.degree() as f64).log2() / 2.0;
        let fits = |phase: PhaseNoise, level| {
            chain.log_q(level).filter(|log_q| model.phase_log2(phase) <= log_q - 1.0)
        };
        let (mut scale, mut level) = (scale_log2, chain.top());
        let mut phase = model.encoded(model.fresh_public(scale + value_log2));
        loop {
            if self.key_switching == KeySwitching::Used {
                phase = model.key_switched(phase, chain, level);
            }
            let message_log2 = scale + value_log2;
            let operand = PhaseNoise { message_log2, ..model.sum(phase, self.sums_log2) };
            let log_q = fits(operand, level)?;
            if (scale - scale_log2).abs() > MAX_DRIFT_BITS {
                return None;
            }
            if level == Level(0) && self.divisions() == self.depth as usize {
                return Some(model.slot_error_log2(operand, scale));
            }
            let norm = PhaseNoise { message_log2: message_log2 - spread_log2, ..operand };
            let product = model.tensor(norm, norm, Operands::Dependent);
            let product = PhaseNoise { message_log2: 2.0 * scale + value_log2, ..product };
            fits(product, level)?;
            let Some(divided) = model.relinearized_and_rescaled(product, chain, level) else {
                let error = model.slot_error_log2(product, 2.0 * scale);
                return (self.depth == 1).then_some(error);
            };
            level = level.below()?;
            scale = 2.0 * scale + chain.log_q(level)? - log_q;
            phase = divided;
        }
    }
}

/// Work of a key switch at the top level, in butterflies and products of one prime; of a product where there are no keys.
fn key_switch_cost(chain: &ChainParams) -> f64 {
    let (limbs, special) = (chain.universe().len() as f64, chain.special().len() as f64);
    let (degree, digits) = (chain.degree() as f64, chain.digit_count() as f64);
    let all = limbs + special;
    // Digits to every prime but their own and back; the division by P of two polynomials.
    let transforms = digits * all + 2.0 * all;
    let products = all * (limbs + 3.0 * digits) + 2.0 * limbs * (special + 2.0);
    degree * (transforms * degree.log2() / 2.0 + products)
}

/// The size of which there are most primes.
const MOST_PRIMES_BITS: u32 = 46;
/// A depth that no chain reaches.
const MAX_DEPTH: u32 = 1000;
/// Large plaintext moduli need levels of several primes.
const MAX_LIMBS_PER_LEVEL: usize = 3;
/// Primes of level 0.
const MAX_BASE: usize = 5;
/// How far the scale of a level may be from the one asked for.
const MAX_DRIFT_BITS: f64 = 1.0;
/// Level 0 of a rational chain beyond scale and values: sign, noise, and the tolerance of its layout.
const BASE_MARGIN_BITS: f64 = 6.0;

#[cfg(test)]
mod tests;
