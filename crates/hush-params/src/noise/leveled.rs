// SPDX-License-Identifier: Apache-2.0
//! Noise of the leveled schemes, one method per operation.
//!
//! # Model
//! A phase is `M + E`: a message part and an error. [`NoiseModel`] follows two numbers for each ([`PhaseNoise`]) and reads
//! them in one of two ways ([`View`]):
//!
//! * [`View::Expected`]: root mean square of `M`, variance of `E` for each coefficient, under the usual heuristic that
//!   different polynomials are independent. It is what tests compare measurements with.
//! * [`View::Bound`]: largest coefficient of `M`, sub-Gaussian variance proxy of `E`. Then `k·σ` with [`tail`] of `N`
//!   coefficients is exceeded with a chance below 2^-128 for a whole ciphertext. It is what plans rely on.
//!
//! The bound differs from the expectation in three places. A message may be chosen badly, so that products with it take its
//! largest coefficient. The secret counts with the norm that it cannot exceed (`‖s‖² ≤ N`, mean `2N/3`). And a product of two
//! random polynomials is sub-Gaussian only given one of them, whose squared norm is taken to be at most twice its mean: for
//! the squares of `N` normal variables the chance of more is at most `e^(−N·(1 − ln 2)/2)` (Chernoff), which is 2^-226 at
//! `N = 1024` and less above. Roundings and digits are uniform on an interval, and thus sub-Gaussian with their own variance,
//! as the binomial errors are.
//!
//! Moving to fewer primes without a division ("modulus drop") changes no phase and has no method.

use super::{ERROR_VARIANCE, add_phase_log2, tail};
use crate::{ChainParams, Level};

/// How the numbers of a [`PhaseNoise`] are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Largest message coefficient, variance proxy of the error.
    Bound,
    /// Root mean square of the message, variance of the error.
    Expected,
}

/// Whether two operands have errors in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operands {
    /// One may be the other, or a sum that contains it: deviations add up instead of variances.
    Dependent,
    /// Encrypted apart, and not computed from one another.
    Independent,
}

/// What is known of a phase: see [`View`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PhaseNoise {
    /// log2 of the message part (BGV: `f·m` before reduction; CKKS: `Δ·m`; BFV: at most `Q/2`, and of no consequence).
    pub message_log2: f64,
    /// log2 of the error's variance for each coefficient.
    pub variance_log2: f64,
}

/// The formulas for one ring degree and unit `u` (the plaintext modulus in BGV, 1 in BFV and CKKS).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoiseModel {
    degree: f64,
    unit_log2: f64,
    view: View,
}

impl NoiseModel {
    /// The model of a ring and a unit.
    pub fn new(degree: usize, unit: u64, view: View) -> Self {
        Self { degree: degree as f64, unit_log2: (unit as f64).log2(), view }
    }

    /// A symmetric encryption of a message: error `u·e`.
    pub fn fresh(&self, message_log2: f64) -> PhaseNoise {
        PhaseNoise { message_log2, variance_log2: 2.0 * self.unit_log2 + ERROR_VARIANCE.log2() }
    }

    /// An encryption under a public key: error `u·(e·v + e_0 + e_1·s)`.
    pub fn fresh_public(&self, message_log2: f64) -> PhaseNoise {
        let terms = 1.0 + 2.0 * self.degree * self.secret();
        PhaseNoise { message_log2, variance_log2: 2.0 * self.unit_log2 + (ERROR_VARIANCE * terms).log2() }
    }

    /// The rounding of each coefficient to an integer, which CKKS and BFV encodings add to a fresh error.
    pub fn encoded(&self, a: PhaseNoise) -> PhaseNoise {
        a.with_error(ROUNDING_VARIANCE.log2())
    }

    /// `a + b`.
    pub fn add(&self, a: PhaseNoise, b: PhaseNoise, operands: Operands) -> PhaseNoise {
        let variance_log2 = add_phase_log2(a.variance_log2, b.variance_log2) + common_log2(operands);
        PhaseNoise { message_log2: self.add_messages(a.message_log2, b.message_log2), variance_log2 }
    }

    /// The sum of `2^terms_log2` phases like `a` that may all be one.
    pub fn sum(&self, a: PhaseNoise, terms_log2: f64) -> PhaseNoise {
        PhaseNoise {
            message_log2: a.message_log2 + terms_log2,
            variance_log2: a.variance_log2 + 2.0 * terms_log2,
        }
    }

    /// `a` times a clear polynomial whose coefficients are `2^clear_log2` (largest, or root mean square).
    pub fn mul_clear(&self, a: PhaseNoise, clear_log2: f64) -> PhaseNoise {
        PhaseNoise {
            message_log2: self.multiply_messages(a.message_log2, clear_log2),
            variance_log2: a.variance_log2 + self.degree.log2() + 2.0 * clear_log2,
        }
    }

    /// The tensor product of BGV and CKKS: `(M + E)·(M' + E')`, of which `M·M'` is the message.
    pub fn tensor(&self, a: PhaseNoise, b: PhaseNoise, operands: Operands) -> PhaseNoise {
        let cross =
            add_phase_log2(2.0 * a.message_log2 + b.variance_log2, 2.0 * b.message_log2 + a.variance_log2);
        let own = a.variance_log2 + b.variance_log2 + self.random_product_log2();
        let variance_log2 = add_phase_log2(cross, own) + self.degree.log2() + common_log2(operands);
        PhaseNoise { message_log2: self.multiply_messages(a.message_log2, b.message_log2), variance_log2 }
    }

    /// The BFV product `round(t/Q·…)` of two ciphertexts modulo `Q`, not yet relinearised.
    ///
    /// # Math
    /// With `X = (c_0 + c_1·s)/Q` over the integers (not reduced) the error is `t·(E·X' + E'·X) − t/Q·E·E'` and the rounding
    /// `r_0 + r_1·s + r_2·s²`. A coefficient of `X` has variance `(1 + N·E[s²])/12`; one of `s²` has `2N·E[s²]²`, because each
    /// of its products of two coefficients occurs twice.
    pub fn tensor_scaled(
        &self,
        a: PhaseNoise,
        b: PhaseNoise,
        t_log2: f64,
        log_q: f64,
        operands: Operands,
    ) -> PhaseNoise {
        let quotient_log2 = (ROUNDING_VARIANCE * (1.0 + self.degree * self.secret())).log2();
        let cross = add_phase_log2(a.variance_log2, b.variance_log2) + quotient_log2;
        let own = a.variance_log2 + b.variance_log2 - 2.0 * log_q;
        let product = add_phase_log2(cross, own) + self.random_product_log2();
        let product = product + 2.0 * t_log2 + self.degree.log2() + common_log2(operands);
        let square = 2.0 * self.degree * MEAN_SECRET * MEAN_SECRET * self.random_product_log2().exp2();
        let rounding = ROUNDING_VARIANCE * (1.0 + self.degree * (self.secret() + square));
        PhaseNoise { message_log2: log_q - 1.0, variance_log2: add_phase_log2(product, rounding.log2()) }
    }

    /// The rounding of a division, `r_0 + r_1·s` with `r` uniform up to `u/2`, as log2 of its variance.
    pub fn rounding_log2(&self) -> f64 {
        2.0 * self.unit_log2 + (ROUNDING_VARIANCE * (1.0 + self.degree * self.secret())).log2()
    }

    /// A division that multiplies phases by `2^ratio_log2`.
    pub fn rescale(&self, a: PhaseNoise, ratio_log2: f64) -> PhaseNoise {
        a.scaled(ratio_log2).with_error(self.rounding_log2())
    }

    /// log2 of the variance that a key switch at `level` adds, the division by `P` included.
    ///
    /// # Math
    /// `Σ_d c_d·u·e_d / P + r_0 + r_1·s`, where `c_d` is uniform modulo the primes of digit `d` that the level has.
    pub fn key_switch_log2(&self, chain: &ChainParams, level: Level) -> f64 {
        add_phase_log2(self.digits_log2(chain, level), self.rounding_log2())
    }

    /// Relinearisation or an automorphism.
    pub fn key_switched(&self, a: PhaseNoise, chain: &ChainParams, level: Level) -> PhaseNoise {
        a.with_error(self.key_switch_log2(chain, level))
    }

    /// Relinearisation and the division to the level below in one: a single rounding. `None` at level 0.
    pub fn relinearized_and_rescaled(
        &self,
        a: PhaseNoise,
        chain: &ChainParams,
        level: Level,
    ) -> Option<PhaseNoise> {
        let ratio_log2 = chain.log_q(level.below()?)? - chain.log_q(level)?;
        let switched = a.with_error(self.digits_log2(chain, level));
        Some(self.rescale(switched, ratio_log2))
    }

    /// log2 of the error that no coefficient exceeds, but for one ciphertext in 2^128 ([`View::Bound`]).
    pub fn error_log2(&self, a: PhaseNoise) -> f64 {
        tail(self.degree).log2() + a.variance_log2 / 2.0
    }

    /// log2 of what message and error together do not exceed, as [`NoiseModel::error_log2`].
    ///
    /// BGV decrypts where this is at most `log2 Q − 1`; BFV where [`NoiseModel::error_log2`] is at most `log2 (Q/t) − 1`.
    pub fn phase_log2(&self, a: PhaseNoise) -> f64 {
        add_phase_log2(a.message_log2, self.error_log2(a))
    }

    /// log2 of the error of a CKKS slot in units of the value: every coefficient's error seen through the embedding.
    pub fn slot_error_log2(&self, a: PhaseNoise, scale_log2: f64) -> f64 {
        self.error_log2(a) + self.degree.log2() / 2.0 - scale_log2
    }

    /// `Σ_d c_d·u·e_d / P`, as log2 of its variance.
    fn digits_log2(&self, chain: &ChainParams, level: Level) -> f64 {
        let mut digits = vec![f64::NEG_INFINITY; chain.digit_count()];
        for &place in chain.levels().get(level.index()).map_or(&[][..], Vec::as_slice) {
            let place = usize::from(place);
            let (Some(&log2), Some(digit)) =
                (chain.universe_log2().get(place), digits.get_mut(place / chain.digit_limbs()))
            else {
                continue;
            };
            *digit = digit.max(0.0) + log2;
        }
        let squares = digits.iter().fold(f64::NEG_INFINITY, |sum, digit| add_phase_log2(sum, 2.0 * digit));
        squares + (self.degree * ROUNDING_VARIANCE * ERROR_VARIANCE).log2() + 2.0 * self.unit_log2
            - 2.0 * chain.log_p()
            + self.random_product_log2()
    }

    /// Mean square of a secret coefficient.
    fn secret(&self) -> f64 {
        match self.view {
            View::Bound => 1.0,
            View::Expected => MEAN_SECRET,
        }
    }

    /// What the second factor of a product of random polynomials may have beyond its mean.
    fn random_product_log2(&self) -> f64 {
        match self.view {
            View::Bound => 1.0,
            View::Expected => 0.0,
        }
    }

    fn add_messages(&self, a: f64, b: f64) -> f64 {
        match self.view {
            View::Bound => add_phase_log2(a, b),
            View::Expected => add_phase_log2(2.0 * a, 2.0 * b) / 2.0,
        }
    }

    fn multiply_messages(&self, a: f64, b: f64) -> f64 {
        match self.view {
            View::Bound => self.degree.log2() + a + b,
            View::Expected => self.degree.log2() / 2.0 + a + b,
        }
    }
}

impl PhaseNoise {
    /// The phase times `2^ratio_log2`.
    fn scaled(self, ratio_log2: f64) -> Self {
        Self {
            message_log2: self.message_log2 + ratio_log2,
            variance_log2: self.variance_log2 + 2.0 * ratio_log2,
        }
    }

    /// With an independent error added.
    fn with_error(self, variance_log2: f64) -> Self {
        Self { variance_log2: add_phase_log2(self.variance_log2, variance_log2), ..self }
    }
}

/// log2 bound on the error that a key switch at `level` adds, as [`NoiseModel::error_log2`]; `unit` as there.
pub fn key_switch_log2(chain: &ChainParams, level: Level, unit: u64) -> f64 {
    let model = NoiseModel::new(chain.degree(), unit, View::Bound);
    tail(chain.degree() as f64).log2() + model.key_switch_log2(chain, level) / 2.0
}

/// log2 bound on the error of an encryption under a public key, as [`NoiseModel::error_log2`].
pub fn public_encryption_log2(degree: usize, unit: u64) -> f64 {
    let model = NoiseModel::new(degree, unit, View::Bound);
    model.error_log2(model.fresh_public(0.0))
}

/// Deviations of dependent operands add: `(x + y)² ≤ 2·(x² + y²)`.
fn common_log2(operands: Operands) -> f64 {
    match operands {
        Operands::Dependent => 1.0,
        Operands::Independent => 0.0,
    }
}

/// Mean square of a uniform ternary coefficient.
const MEAN_SECRET: f64 = 2.0 / 3.0;
/// Variance of a number uniform between −1/2 and 1/2.
const ROUNDING_VARIANCE: f64 = 1.0 / 12.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn chain() -> ChainParams {
        ChainParams::uniform(8192, 46, 1, 3, 1, 1).unwrap()
    }

    #[test]
    fn by_hand() {
        let model = NoiseModel::new(8192, 1, View::Expected);
        let near = |found: f64, expected: f64| assert!((found.exp2() / expected - 1.0).abs() < 1e-9);
        near(model.fresh(0.0).variance_log2, 10.5);
        near(model.fresh_public(0.0).variance_log2, 10.5 * (1.0 + 4.0 * 8192.0 / 3.0));
        near(model.rounding_log2(), (1.0 + 8192.0 * 2.0 / 3.0) / 12.0);
        // Digits as large as P: N·3·10.5/12 and the rounding.
        let near_hand = model.key_switch_log2(&chain(), Level(2)).exp2();
        let hand = 8192.0 * (3.0 * 10.5 / 12.0 + 2.0 / 36.0);
        assert!((near_hand / hand - 1.0).abs() < 1e-3, "{near_hand} {hand}");
    }

    #[test]
    fn the_bound_is_above_the_expectation_and_grows_with_the_unit() {
        let [bound, expected] = [View::Bound, View::Expected].map(|view| NoiseModel::new(8192, 65537, view));
        let level = Level(1);
        let walk = |model: &NoiseModel| {
            let fresh = model.fresh_public(15.0);
            let product = model.tensor(fresh, fresh, Operands::Dependent);
            model.relinearized_and_rescaled(product, &chain(), level).unwrap()
        };
        let (high, low) = (walk(&bound), walk(&expected));
        assert!(high.message_log2 > low.message_log2 && high.variance_log2 > low.variance_log2);
        assert!(model_spread(high, low) < 12.0);
        let gap = key_switch_log2(&chain(), level, 65537) - key_switch_log2(&chain(), level, 1);
        assert!((gap - 65537_f64.log2()).abs() < 1e-9);
        assert!(public_encryption_log2(8192, 1) < 14.0);
        assert_eq!(bound.relinearized_and_rescaled(high, &chain(), Level(0)), None);
    }

    /// Bits between two variances, as deviations.
    fn model_spread(high: PhaseNoise, low: PhaseNoise) -> f64 {
        (high.variance_log2 - low.variance_log2) / 2.0
    }
}
