// SPDX-License-Identifier: Apache-2.0
//! `1/x` on a positive interval.

use hush_rlwe::EvaluationKeys;
use hush_schemes::ckks::{Ckks, CkksCiphertext, Complex};

use super::{check_positive, check_precision};
use crate::CircuitError;
use crate::error::check_depth;
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
        let c = 2.0 / (self.low + self.high);
        let affine = |slope: f64, constant: f64| {
            let scaled = scheme.rescale(&scheme.mul_constant(a, real(slope))?)?;
            scheme.add_constant(&scaled, real(constant))
        };
        // c·(1 + y) = 2·c − c²·x.
        let mut product = affine(-c * c, 2.0 * c)?;
        let mut power = if self.factors > 1 { affine(-c, 1.0)? } else { product.clone() };
        for _ in 1..self.factors {
            power = scheme.mul_rescale(&power, &power, keys)?;
            let factor = scheme.add_constant(&power, real(1.0))?;
            product = scheme.level_down(&product, power.level())?;
            product = scheme.mul_rescale(&product, &factor, keys)?;
        }
        Ok(product)
    }
}

fn real(re: f64) -> Complex {
    Complex { re, im: 0.0 }
}

/// The largest number of factors: enough for `high/low = 2^20`.
pub const MAX_FACTORS: u32 = 26;
