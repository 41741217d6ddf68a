// SPDX-License-Identifier: Apache-2.0
//! The sign by a composite of minimax polynomials; comparison, maximum and absolute value from it.

use hush_rlwe::EvaluationKeys;
use hush_schemes::ckks::{Ckks, CkksCiphertext, Complex};

use super::check_precision;
use super::minimax::minimax_sign;
use crate::CircuitError;
use crate::error::check_depth;
use crate::noise::{CircuitNoise, CkksNoise, SlotNoise};
use crate::polynomial::{Arithmetic, RealArithmetic, RealOperations, RealPolynomial};
use crate::scheme::check_own_scale;

/// The sign of slots from −1 to 1, to a precision where `|x| ≥ ε`.
///
/// # Math
/// A part takes `[a, b]` and `[−b, −a]` near to 1 and −1, to within its minimax error `τ`, and so the next part works on
/// `[1 − τ, 1 + τ]`, and so on: the error shrinks faster with each. Parts have degree `2^k − 1`, all that `k` levels allow. For
/// each depth the least error over all composites of that depth is found from the smaller depths, since a part's error falls
/// with the error that it starts from \[LLNK22, section 4\]. The result of a part is divided by `1 + τ`, in its
/// coefficients, so that the next part's argument is from −1 to 1 and its Chebyshev series needs no level for the interval.
///
/// For `|x| < ε` the result is somewhere from `−1 − 2^-α` to `1 + 2^-α`.
#[derive(Clone, PartialEq, Debug)]
pub struct Sign {
    parts: Vec<RealPolynomial>,
    epsilon: f64,
    error: f64,
}

impl Sign {
    /// The composite of least depth with `|sign(x) − p(x)| ≤ 2^-precision_log2` for `2^-epsilon_log2 ≤ |x| ≤ 1`.
    ///
    /// # Cost
    /// Some ten to hundred exchanges, milliseconds each.
    ///
    /// # Errors
    /// [`CircuitError::Precision`] for more bits than [`super::MAX_PRECISION_LOG2`], or if [`MAX_SIGN_DEPTH`] levels are too few;
    /// [`CircuitError::Interval`] unless `ε` is between 0 and 1.
    pub fn new(epsilon_log2: u32, precision_log2: u32) -> Result<Self, CircuitError> {
        check_precision(precision_log2, MAX_SIGN_DEPTH)?;
        let epsilon = (-f64::from(epsilon_log2)).exp2();
        check_epsilon(epsilon)?;
        let wanted = (-f64::from(precision_log2)).exp2();
        // The best composite of each depth.
        let mut best: Vec<Option<Self>> = vec![Some(Self { parts: Vec::new(), epsilon, error: 1.0 })];
        for depth in 1..=MAX_SIGN_DEPTH {
            let mut found: Option<Self> = None;
            for last in MIN_PART_DEPTH..=MAX_PART_DEPTH.min(depth) {
                let Some(Some(first)) = best.get((depth - last) as usize) else { continue };
                let Ok(candidate) = first.followed_by((1 << last) - 1) else { continue };
                if found.as_ref().is_none_or(|found| candidate.error < found.error) {
                    found = Some(candidate);
                }
            }
            if let Some(found) = found.take_if(|found| found.error <= wanted) {
                return Ok(found);
            }
            best.push(found);
        }
        Err(CircuitError::Precision { precision_log2, max_depth: MAX_SIGN_DEPTH })
    }

    /// The composite of parts of these odd degrees, for `epsilon ≤ |x| ≤ 1`.
    ///
    /// # Errors
    /// [`CircuitError::Degree`] for an even degree, or none; [`CircuitError::Interval`] unless `0 < epsilon < 1`.
    pub fn of_degrees(degrees: &[usize], epsilon: f64) -> Result<Self, CircuitError> {
        check_epsilon(epsilon)?;
        if degrees.is_empty() {
            return Err(CircuitError::Degree { found: 0, max: crate::polynomial::MAX_DEGREE });
        }
        let start = Self { parts: Vec::new(), epsilon, error: 1.0 };
        degrees.iter().try_fold(start, |sign, &degree| sign.followed_by(degree))
    }

    /// The composite with one part more.
    fn followed_by(&self, degree: usize) -> Result<Self, CircuitError> {
        let mut parts = self.parts.clone();
        let (low, high) = match parts.last_mut() {
            None => (self.epsilon, 1.0),
            Some(last) => {
                // Room for the noise of the argument; it costs next to nothing.
                let (low, high) = (1.0 - self.error - MARGIN, 1.0 + self.error + MARGIN);
                *last = last.affine(1.0 / high, 0.0)?;
                (low, high)
            }
        };
        let best = minimax_sign(degree, low, high)?;
        parts.push(RealPolynomial::chebyshev(&best.coefficients, -1.0, 1.0)?);
        Ok(Self { parts, epsilon: self.epsilon, error: best.error })
    }

    /// The degrees of the parts.
    pub fn degrees(&self) -> Vec<usize> {
        self.parts.iter().map(RealPolynomial::degree).collect()
    }
    /// `ε`: arguments closer to zero have no sign.
    pub fn epsilon(&self) -> f64 {
        self.epsilon
    }
    /// log2 of the largest error where `|x| ≥ ε`, in exact arithmetic.
    pub fn error_log2(&self) -> f64 {
        self.error.log2()
    }
    /// Levels that [`Sign::evaluate`] and [`Sign::compare`] use; the others use one more.
    pub fn depth(&self) -> u32 {
        self.parts.iter().map(RealPolynomial::depth).sum()
    }
    /// The composite of a clear number.
    pub fn value(&self, x: f64) -> f64 {
        self.parts.iter().fold(x, |x, part| part.value(x))
    }

    /// The sign of `a`, slot by slot, for slots from −1 to 1.
    ///
    /// # Level
    /// [`Sign::depth`] lower.
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
        self.affine(scheme, a, keys, 1.0, 0.0)
    }

    /// 1 where `a > b`, 0 where `a < b` and 1/2 where they are equal, for slots that differ by at most 1; where they differ by
    /// less than `ε` anything from 0 to 1 (up to the error).
    ///
    /// # Level
    /// [`Sign::depth`] lower.
    ///
    /// # Errors
    /// As [`Sign::evaluate`]; [`CircuitError::Scheme`] if the levels differ.
    pub fn compare(
        &self,
        scheme: &Ckks,
        a: &CkksCiphertext,
        b: &CkksCiphertext,
        keys: &EvaluationKeys,
    ) -> Result<CkksCiphertext, CircuitError> {
        self.affine(scheme, &scheme.sub(a, b)?, keys, 0.5, 0.5)
    }

    /// The larger of `a` and `b`, for slots that differ by at most 1: `(a + b)/2 + (a − b)·sign(a − b)/2`.
    ///
    /// # Precision
    /// Errs by at most half the sign's error, or by `ε` where the slots differ by less than that.
    ///
    /// # Level
    /// [`Sign::depth`] and one lower.
    ///
    /// # Errors
    /// As [`Sign::compare`].
    pub fn maximum(
        &self,
        scheme: &Ckks,
        a: &CkksCiphertext,
        b: &CkksCiphertext,
        keys: &EvaluationKeys,
    ) -> Result<CkksCiphertext, CircuitError> {
        check_depth(a.level(), self.depth() + 1)?;
        let difference = scheme.sub(a, b)?;
        let half_sign = self.affine(scheme, &difference, keys, 0.5, 0.0)?;
        let lowered = scheme.level_down(&difference, half_sign.level())?;
        let sum = scheme.level_down(&scheme.add(a, b)?, half_sign.level())?;
        // Both terms are divided together.
        let mut maximum = scheme.mul(&lowered, &half_sign)?;
        scheme.add_assign(&mut maximum, &scheme.mul_constant(&sum, Complex { re: 0.5, im: 0.0 })?)?;
        Ok(scheme.relinearize_rescale(&maximum, keys)?)
    }

    /// `|a|`, for slots from −1 to 1.
    ///
    /// # Precision
    /// Errs by at most the sign's error times `|a|`, or by `2·ε` where `|a| < ε`.
    ///
    /// # Level
    /// [`Sign::depth`] and one lower.
    ///
    /// # Errors
    /// As [`Sign::evaluate`].
    pub fn abs(
        &self,
        scheme: &Ckks,
        a: &CkksCiphertext,
        keys: &EvaluationKeys,
    ) -> Result<CkksCiphertext, CircuitError> {
        check_depth(a.level(), self.depth() + 1)?;
        let sign = self.evaluate(scheme, a, keys)?;
        let lowered = scheme.level_down(a, sign.level())?;
        Ok(scheme.mul_rescale(&lowered, &sign, keys)?)
    }

    /// `factor·sign(a) + summand`, both in the coefficients of the last part.
    fn affine(
        &self,
        scheme: &Ckks,
        a: &CkksCiphertext,
        keys: &EvaluationKeys,
        factor: f64,
        summand: f64,
    ) -> Result<CkksCiphertext, CircuitError> {
        check_depth(a.level(), self.depth())?;
        check_own_scale(scheme, a)?;
        self.run(&RealArithmetic { scheme, keys }, a, factor, summand)
    }

    fn run<A: RealOperations>(
        &self,
        arithmetic: &A,
        a: &A::Value,
        factor: f64,
        summand: f64,
    ) -> Result<A::Value, CircuitError> {
        let Some((last, parts)) = self.parts.split_last() else { return Ok(a.clone()) };
        let mut value = a.clone();
        for part in parts {
            // Divided by the largest value that it has.
            value = arithmetic.bounded(arithmetic.polynomial(part, &value)?, 0.0);
        }
        arithmetic.polynomial(&last.affine(factor, summand)?, &value)
    }

    /// The noise of [`Sign::evaluate`], by running it with bounds in place of ciphertexts: how far a result may be from
    /// [`Sign::value`]. Parts magnify it by their largest slope, which they have near zero.
    ///
    /// # Errors
    /// [`CircuitError::Levels`].
    pub fn noise(&self, model: &CkksNoise<'_>, a: SlotNoise) -> Result<SlotNoise, CircuitError> {
        check_depth(a.level(), self.depth())?;
        self.run(model, &a, 1.0, 0.0)
    }

    /// The noise of [`Sign::compare`], for operands like `a`.
    ///
    /// # Errors
    /// [`CircuitError::Levels`].
    pub fn compare_noise(&self, model: &CkksNoise<'_>, a: SlotNoise) -> Result<SlotNoise, CircuitError> {
        check_depth(a.level(), self.depth())?;
        self.run(model, &model.bounded(model.sum(a, a), 0.0), 0.5, 0.5)
    }

    /// The noise of [`Sign::maximum`], for operands like `a`.
    ///
    /// # Errors
    /// [`CircuitError::Levels`].
    pub fn maximum_noise(&self, model: &CkksNoise<'_>, a: SlotNoise) -> Result<SlotNoise, CircuitError> {
        check_depth(a.level(), self.depth() + 1)?;
        let sum = model.sum(a, a);
        let difference = model.bounded(sum, 0.0);
        let half_sign = self.run(model, &difference, 0.5, 0.0)?;
        let level = half_sign.level();
        let lowered = model.lowered(&difference, level)?;
        let mut maximum = model.product(&lowered, &half_sign)?;
        model.add(&mut maximum, &model.scaled(&model.lowered(&sum, level)?, 0.5, level)?)?;
        model.divide(&maximum)
    }

    /// The noise of [`Sign::abs`].
    ///
    /// # Errors
    /// [`CircuitError::Levels`].
    pub fn abs_noise(&self, model: &CkksNoise<'_>, a: SlotNoise) -> Result<SlotNoise, CircuitError> {
        check_depth(a.level(), self.depth() + 1)?;
        let sign = self.run(model, &a, 1.0, 0.0)?;
        model.times(&model.lowered(&a, sign.level())?, &sign)
    }
}

fn check_epsilon(epsilon: f64) -> Result<(), CircuitError> {
    if epsilon > 0.0 && epsilon < 1.0 {
        return Ok(());
    }
    Err(CircuitError::Interval { low: epsilon, high: 1.0 })
}

/// The deepest composite that is looked for.
pub const MAX_SIGN_DEPTH: u32 = 30;
/// Parts of degree 3 to 31: larger ones are no better for their depth.
const MIN_PART_DEPTH: u32 = 2;
const MAX_PART_DEPTH: u32 = 5;
/// The noise that an argument may carry.
const MARGIN: f64 = 1.0 / (1_u32 << 30) as f64;
