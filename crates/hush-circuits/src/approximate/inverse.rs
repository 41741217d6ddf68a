// SPDX-License-Identifier: Apache-2.0
//! `1/x` on a positive interval.

use hush_rlwe::EvaluationKeys;
use hush_schemes::ckks::{Ckks, CkksCiphertext};

use super::{check_positive, check_precision};
use crate::CircuitError;
use crate::error::check_depth;
use crate::noise::{CkksNoise, SlotNoise};
use crate::polynomial::{RealArithmetic, RealOperations};
use crate::scheme::check_own_scale;

/// `1/x` for `low ≤ x ≤ high`, to a relative precision.
///
/// # Math
/// With `c = 2/(low + high)` and `y = 1 − c·x`, `|y| ≤ ρ = (high − low)/(high + low) < 1`, and
/// `1/x = c/(1 − y) = c·Π_(i≥0) (1 + y^(2^i))`. The first `n` factors leave a relative error of `y^(2^n)`, at most
/// `ρ^(2^n)`.
///
/// # References
/// \[CKKLL19\] inverses by Goldschmidt's algorithm.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Inverse {
    low: f64,
    high: f64,
    factors: u32,
}

impl Inverse {
    /// As many factors as make the relative error at most `2^-precision_log2`.
    ///
    /// # Errors
    /// [`CircuitError::Interval`] unless `0 < low < high`; [`CircuitError::Precision`] for more bits than
    /// [`super::MAX_PRECISION_LOG2`], or an interval so wide that [`MAX_FACTORS`] are too few.
    pub fn new(low: f64, high: f64, precision_log2: u32) -> Result<Self, CircuitError> {
        check_positive(low, high)?;
        check_precision(precision_log2, MAX_FACTORS + 1)?;
        let contraction = -((high - low) / (high + low)).log2();
        let enough = |&factors: &u32| f64::from(factors).exp2() * contraction >= f64::from(precision_log2);
        let factors = (1..=MAX_FACTORS).find(enough);
        let too_many = CircuitError::Precision { precision_log2, max_depth: MAX_FACTORS + 1 };
        Ok(Self { low, high, factors: factors.ok_or(too_many)? })
    }

    /// log2 of the largest relative error in exact arithmetic.
    pub fn error_log2(&self) -> f64 {
        f64::from(self.factors).exp2() * ((self.high - self.low) / (self.high + self.low)).log2()
    }

    /// Levels that an evaluation uses.
    pub fn depth(&self) -> u32 {
        if self.factors == 1 { 1 } else { self.factors + 1 }
    }

    /// `1/a`, slot by slot.
    ///
    /// # Level
    /// [`Inverse::depth`] lower.
    ///
    /// # Cost
    /// `2·(factors − 1)` products and key switches.
    ///
    /// # Errors
    /// [`CircuitError::Levels`]; [`CircuitError::Scheme`] for a ciphertext at another scale than its level's, or without the
    /// relinearisation key.
    pub fn evaluate(
        &self,
        scheme: &Ckks,
        a: &CkksCiphertext,
        keys: &EvaluationKeys,
    ) -> Result<CkksCiphertext, CircuitError> {
        check_depth(a.level(), self.depth())?;
        check_own_scale(scheme, a)?;
        self.run(&RealArithmetic { scheme, keys }, a)
    }

    /// The noise of [`Inverse::evaluate`], by running it with bounds in place of ciphertexts; the error of the approximation is not
    /// in it.
    ///
    /// # Errors
    /// [`CircuitError::Levels`].
    pub fn noise(&self, model: &CkksNoise<'_>, a: SlotNoise) -> Result<SlotNoise, CircuitError> {
        check_depth(a.level(), self.depth())?;
        self.run(model, &a)
    }

    fn run<A: RealOperations>(&self, arithmetic: &A, a: &A::Value) -> Result<A::Value, CircuitError> {
        let c = 2.0 / (self.low + self.high);
        let contraction = (self.high - self.low) / (self.high + self.low);
        // c·(1 + y) = 2·c − c²·x.
        let mut product = arithmetic.affine(a, -c * c, 2.0 * c)?;
        let mut limit = c * (1.0 + contraction);
        product = arithmetic.bounded(product, limit.log2());
        let mut power = if self.factors > 1 {
            arithmetic.bounded(arithmetic.affine(a, -c, 1.0)?, contraction.log2())
        } else {
            product.clone()
        };
        let mut size = contraction;
        for _ in 1..self.factors {
            power = arithmetic.times(&power, &power)?;
            size *= size;
            let factor = arithmetic.add_scalar(&power, 1.0)?;
            product = arithmetic.lowered(&product, arithmetic.level(&power))?;
            limit *= 1.0 + size;
            product = arithmetic.bounded(arithmetic.times(&product, &factor)?, limit.log2());
        }
        Ok(product)
    }
}

/// The largest number of factors: enough for `high/low = 2^20`.
pub const MAX_FACTORS: u32 = 26;
