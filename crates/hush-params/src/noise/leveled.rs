// SPDX-License-Identifier: Apache-2.0
//! Noise of the leveled schemes, one method per operation.
//!
//! # Model
//! A phase is a message and an error ([`PhaseNoise`]), read in one of two ways ([`View`]):
//!
//! * [`View::Expected`]: root mean square of message coefficients and of the error's, under the usual heuristic that different
//!   polynomials are independent. It is what tests compare measurements with.
//! * [`View::Bound`]: what is exceeded with a chance below 2^-128 for a whole ciphertext and bound. It is what plans rely on.
//!
//! # The bound
//! *Random part.* Errors, roundings and digits are drawn apart from one another, and reach a phase as `Σ A_j·g_j`: `g_j` has
//! independent sub-Gaussian coefficients (roundings and digits are uniform on an interval, errors binomial: each has its own
//! variance for a proxy), and `A_j` is 1, the secret, a digit, or one of these times messages ([`Deviations`]). A coefficient stays
//! within `k` deviations with [`tail`] of `N`, a slot within [`slot_tail`].
//!
//! *Products of errors.* A square of an error, squared once more, has much heavier tails than a sum of independent terms: its
//! largest slots dominate. So nothing is assumed of a product of two errors but what holds always: a coefficient is at most the
//! product of the Euclidean norms, a slot that of the slots ([`Norms`]).
//!
//! *Norms of what is random.* `‖Σ A_j·g_j‖² ≤ 2·ln 2·N·σ² + 4·ln(2^128)·σ_ζ²`, with the deviations `σ` of a coefficient and `σ_ζ` of
//! a slot: by Chernoff, with the parameter `1/(2·N·σ_ζ²)`, from `E exp(λ·gᵀWg) ≤ Π (1 − 2·λ·w_i)^(−1/2)` for `W` with eigenvalues
//! `w_i ≥ 0` and `−ln(1 − x/2) ≤ x·ln 2`. A secret or a digit for `A_j` has a squared norm of at most `N` or twice its mean: for the
//! squares of `N` normal variables the chance of more is at most `e^(−N·(1 − ln 2)/2)`, which is 2^-226 at `N = 1024` and less above.
//! Messages may be chosen badly, and count with their norms.
//!
//! Moving to fewer primes without a division ("modulus drop") changes no phase and has no method.

use super::phase::{Deviations, Norms, PhaseNoise};
use super::{ERROR_VARIANCE, FAILURE_LOG2, add_phase_log2, slot_tail, tail};
use crate::{ChainParams, Level};

/// How the numbers of a [`PhaseNoise`] are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Norms that are not exceeded, proxies of deviations.
    Bound,
    /// Root mean squares of coefficients; norms and slots have no meaning.
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

    /// log2 of the unit.
    pub fn unit_log2(&self) -> f64 {
        self.unit_log2
    }

    /// A message with coefficients up to `2^log2` (largest, or root mean square), without an error.
    pub fn message(&self, log2: f64) -> PhaseNoise {
        PhaseNoise::clear(Norms::of_coefficients(self.degree, log2))
    }

    /// A symmetric encryption of a message: error `u·e`.
    pub fn fresh(&self, message: PhaseNoise) -> PhaseNoise {
        let log2 = self.unit_log2 + ERROR_VARIANCE.log2() / 2.0;
        message.with_error(Deviations { coefficient_log2: log2, slot_log2: log2 })
    }

    /// An encryption under a public key: error `u·(e·v + e_0 + e_1·s)`, `v` distributed as the secret is.
    pub fn fresh_public(&self, message: PhaseNoise) -> PhaseNoise {
        message.with_error(self.times_secrets(ERROR_VARIANCE, 2.0).scaled(self.unit_log2))
    }

    /// The rounding of each coefficient to an integer, which CKKS and BFV encodings add to a fresh error.
    pub fn encoded(&self, a: PhaseNoise) -> PhaseNoise {
        let log2 = ROUNDING_VARIANCE.log2() / 2.0;
        a.with_error(Deviations { coefficient_log2: log2, slot_log2: log2 })
    }

    /// `a + b`.
    pub fn add(&self, a: PhaseNoise, b: PhaseNoise, operands: Operands) -> PhaseNoise {
        PhaseNoise {
            message: self.add_messages(a.message, b.message),
            random: sum_of(a.random, b.random, operands),
            products: a.products.plus(b.products),
        }
    }

    /// The sum of `2^terms_log2` phases like `a` that may all be one.
    pub fn sum(&self, a: PhaseNoise, terms_log2: f64) -> PhaseNoise {
        a.scaled(terms_log2)
    }

    /// `a` times a clear polynomial with coefficients up to `2^clear_log2` (largest, or root mean square).
    pub fn mul_clear(&self, a: PhaseNoise, clear_log2: f64) -> PhaseNoise {
        let clear = Norms::of_coefficients(self.degree, clear_log2);
        PhaseNoise {
            message: self.multiply(a.message, clear),
            random: self.multiply_random(a.random, clear),
            products: a.products.times(clear),
        }
    }

    /// The tensor product of BGV and CKKS: `(M + E)·(M' + E')`, with the message `M·M'`.
    pub fn tensor(&self, a: PhaseNoise, b: PhaseNoise, operands: Operands) -> PhaseNoise {
        self.multiply_phases(a, b, 0.0, operands)
    }

    /// The BFV product `round(t/Q·…)` of two ciphertexts modulo `Q`, not yet relinearised.
    ///
    /// # Math
    /// With `X = (c_0 + c_1·s)/Q` over the integers (not reduced) the error is `t·(E·X' + E'·X) − t/Q·E·E'` and the rounding
    /// `r_0 + r_1·s + r_2·s²`. `X` takes the place of a message: `c` is uniform, and masks the errors that `X` is multiplied with; its
    /// coefficients have variance `(1 + N·E[s²])/12`. A coefficient of `s²` has `2N·E[s²]²`, because each of its products of two
    /// coefficients occurs twice.
    pub fn tensor_scaled(
        &self,
        a: PhaseNoise,
        b: PhaseNoise,
        t_log2: f64,
        log_q: f64,
        operands: Operands,
    ) -> PhaseNoise {
        let quotient = self.times_secrets(ROUNDING_VARIANCE, 1.0);
        let quotient = match self.view {
            View::Bound => self.norms(quotient),
            View::Expected => Norms::of_coefficients(self.degree, quotient.coefficient_log2),
        };
        let [a, b] = [a, b].map(|phase| phase.with_message(quotient));
        let product = self.multiply_phases(a, b, -log_q, operands).scaled(t_log2);
        product
            .with_message(Norms::of_coefficients(self.degree, log_q - 1.0))
            .with_error(self.rounding_times_square())
            .with_error(self.times_secrets(ROUNDING_VARIANCE, 1.0))
    }

    /// `r·s²` with `r` uniform up to 1/2.
    pub(super) fn rounding_times_square(&self) -> Deviations {
        let square_of_secret =
            2.0 * self.degree * MEAN_SECRET * MEAN_SECRET * self.random_product_log2().exp2();
        Deviations {
            coefficient_log2: (ROUNDING_VARIANCE * self.degree * square_of_secret).log2() / 2.0,
            slot_log2: ROUNDING_VARIANCE.log2() / 2.0 + 2.0 * self.secret_slot_log2(),
        }
    }

    /// The rounding of a division, `r_0 + r_1·s` with `r` uniform up to `u/2`.
    pub fn rounding(&self) -> Deviations {
        self.times_secrets(ROUNDING_VARIANCE, 1.0).scaled(self.unit_log2)
    }

    /// A division that multiplies phases by `2^ratio_log2`.
    pub fn mod_switch(&self, a: PhaseNoise, ratio_log2: f64) -> PhaseNoise {
        a.scaled(ratio_log2).with_error(self.rounding())
    }

    /// The noise that a key switch at `level` adds, including the division by `P`.
    ///
    /// # Math
    /// `Σ_d c_d·u·e_d / P + r_0 + r_1·s`, where `c_d` is uniform modulo the primes of digit `d` that the level has.
    pub fn key_switch(&self, chain: &ChainParams, level: Level) -> Deviations {
        self.digits(chain, level).with(self.rounding())
    }

    /// Relinearisation or an automorphism.
    pub fn key_switched(&self, a: PhaseNoise, chain: &ChainParams, level: Level) -> PhaseNoise {
        a.with_error(self.key_switch(chain, level))
    }

    /// Relinearisation and the division to the level below in one: a single rounding. `None` at level 0.
    pub fn relinearized_and_mod_switched(
        &self,
        a: PhaseNoise,
        chain: &ChainParams,
        level: Level,
    ) -> Option<PhaseNoise> {
        let ratio_log2 = chain.log_q(level.below()?)? - chain.log_q(level)?;
        Some(self.mod_switch(a.with_error(self.digits(chain, level)), ratio_log2))
    }

    /// log2 of the error that no coefficient exceeds ([`View::Bound`]).
    pub fn error_log2(&self, a: PhaseNoise) -> f64 {
        let random = tail(self.degree).log2() + a.random.coefficient_log2;
        add_phase_log2(random, a.products.coefficient_log2)
    }

    /// log2 of what message and error together do not exceed, as [`NoiseModel::error_log2`].
    ///
    /// BGV decrypts where this is at most `log2 Q − 1`; BFV where [`NoiseModel::error_log2`] is at most `log2 (Q/t) − 1`.
    pub fn phase_log2(&self, a: PhaseNoise) -> f64 {
        add_phase_log2(a.message.coefficient_log2, self.error_log2(a))
    }

    /// log2 of the error that no CKKS slot exceeds, in units of the value ([`View::Bound`]).
    pub fn slot_error_log2(&self, a: PhaseNoise, scale_log2: f64) -> f64 {
        add_phase_log2(self.norms(a.random).slot_log2, a.products.slot_log2) - scale_log2
    }

    /// The bound on the random part of an error ([`View::Bound`]).
    pub fn norms(&self, random: Deviations) -> Norms {
        let Deviations { coefficient_log2, slot_log2 } = random;
        let ln_2 = std::f64::consts::LN_2;
        let mean = (2.0 * ln_2 * self.degree).log2() + 2.0 * coefficient_log2;
        let beyond = (-4.0 * FAILURE_LOG2 * ln_2).log2() + 2.0 * slot_log2;
        Norms {
            coefficient_log2: tail(self.degree).log2() + coefficient_log2,
            euclidean_log2: add_phase_log2(mean, beyond) / 2.0,
            slot_log2: (slot_tail(self.degree) * self.degree.sqrt()).log2() + slot_log2,
        }
    }

    /// `Σ_d c_d·u·e_d / P`.
    fn digits(&self, chain: &ChainParams, level: Level) -> Deviations {
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
        let mean = squares + (self.degree * ROUNDING_VARIANCE * ERROR_VARIANCE).log2();
        Deviations {
            coefficient_log2: (mean + self.random_product_log2()) / 2.0,
            slot_log2: mean / 2.0 + slot_tail(self.degree).log2(),
        }
        .scaled(self.unit_log2 - chain.log_p())
    }

    /// `g_0 + Σ g_i·s_i` for `count` polynomials like the secret, coefficients of `g` with this variance.
    fn times_secrets(&self, variance: f64, count: f64) -> Deviations {
        let mean = match self.view {
            View::Bound => 1.0,
            View::Expected => MEAN_SECRET,
        };
        let slot = (2.0 * self.secret_slot_log2()).exp2();
        Deviations {
            coefficient_log2: (variance * (1.0 + count * self.degree * mean)).log2() / 2.0,
            slot_log2: (variance * (1.0 + count * slot)).log2() / 2.0,
        }
    }

    /// log2 of the largest slot of a secret. A uniform ternary coefficient is sub-Gaussian with its variance for a proxy.
    fn secret_slot_log2(&self) -> f64 {
        (slot_tail(self.degree) * (self.degree * MEAN_SECRET).sqrt()).log2()
    }

    /// `(M + E)·(M' + E'·2^own_log2)`, the last factor on products of two errors alone.
    fn multiply_phases(&self, a: PhaseNoise, b: PhaseNoise, own_log2: f64, operands: Operands) -> PhaseNoise {
        let left = self.multiply_random(b.random, a.message);
        let right = self.multiply_random(a.random, b.message);
        let random = sum_of(left, right, operands);
        let message = self.multiply(a.message, b.message);
        match self.view {
            View::Bound => {
                let [e, f] = [a, b].map(|phase| self.norms(phase.random).plus(phase.products));
                let cross = a.message.times(b.products).plus(b.message.times(a.products));
                PhaseNoise { message, random, products: e.times(f).scaled(own_log2).plus(cross) }
            }
            View::Expected => {
                let common = if operands == Operands::Dependent { 0.5 } else { 0.0 };
                let log2 = a.random.coefficient_log2 + b.random.coefficient_log2 + self.degree.log2() / 2.0;
                let own = Deviations { coefficient_log2: log2 + own_log2 + common, ..Deviations::ZERO };
                PhaseNoise { message, random, products: Norms::ZERO }.with_error(own)
            }
        }
    }

    /// How far the second factor of a product of random polynomials may exceed its mean.
    fn random_product_log2(&self) -> f64 {
        match self.view {
            View::Bound => 1.0,
            View::Expected => 0.0,
        }
    }

    fn add_messages(&self, a: Norms, b: Norms) -> Norms {
        match self.view {
            View::Bound => a.plus(b),
            View::Expected => {
                let squares = add_phase_log2(2.0 * a.coefficient_log2, 2.0 * b.coefficient_log2);
                Norms::of_coefficients(self.degree, squares / 2.0)
            }
        }
    }

    fn multiply(&self, a: Norms, b: Norms) -> Norms {
        match self.view {
            View::Bound => a.times(b),
            View::Expected => Norms::of_coefficients(self.degree, a.euclidean_log2 + b.coefficient_log2),
        }
    }

    fn multiply_random(&self, random: Deviations, fixed: Norms) -> Deviations {
        match self.view {
            View::Bound => random.times(fixed),
            View::Expected => random.scaled(fixed.euclidean_log2),
        }
    }
}

/// log2 bound on the error that a key switch at `level` adds, as [`NoiseModel::error_log2`]; `unit` as there.
pub fn key_switch_log2(chain: &ChainParams, level: Level, unit: u64) -> f64 {
    let model = NoiseModel::new(chain.degree(), unit, View::Bound);
    model.norms(model.key_switch(chain, level)).coefficient_log2
}

/// log2 bound on the error of an encryption under a public key, as [`NoiseModel::error_log2`].
pub fn public_encryption_log2(degree: usize, unit: u64) -> f64 {
    let model = NoiseModel::new(degree, unit, View::Bound);
    model.error_log2(model.fresh_public(model.message(0.0)))
}

/// Of errors that may be the same, or not.
fn sum_of(a: Deviations, b: Deviations, operands: Operands) -> Deviations {
    match operands {
        Operands::Dependent => a.plus(b),
        Operands::Independent => a.with(b),
    }
}

/// Mean square of a uniform ternary coefficient.
const MEAN_SECRET: f64 = 2.0 / 3.0;
/// Variance of a number uniform between −1/2 and 1/2.
const ROUNDING_VARIANCE: f64 = 1.0 / 12.0;

#[cfg(test)]
mod tests;
