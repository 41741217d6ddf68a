// SPDX-License-Identifier: Apache-2.0
//! `x^(−1/2)` and `x^(1/2)` on a positive interval.

use hush_ring::Level;
use hush_rlwe::EvaluationKeys;
use hush_schemes::ckks::{Ckks, CkksCiphertext};

use super::{check_positive, check_precision};
use crate::CircuitError;
use crate::error::check_depth;
use crate::noise::{CkksNoise, SlotNoise};
use crate::polynomial::{RealArithmetic, RealOperations, RealPolynomial};
use crate::scheme::check_own_scale;

/// `x^(−1/2)` for `low ≤ x ≤ high`, to a relative precision.
///
/// # Math
/// Newton: `y ← y·(3 − x·y²)/2`. From `y = x^(−1/2)·(1 + ε)` one step leads to a relative error of
/// `−ε²·(3 + ε)/2`. The start is the Chebyshev interpolant of some degree `2^k − 1`; the depth is that of the start and two
/// levels a step. Of all starts the one with the least depth is taken, and of those the smallest degree.
#[derive(Clone, PartialEq, Debug)]
pub struct InverseSquareRoot {
    start: RealPolynomial,
    iterations: u32,
    error: f64,
    /// Lower end of the interval.
    low: f64,
}

impl InverseSquareRoot {
    /// The start and the number of steps that make the relative error at most `2^-precision_log2` with the least depth.
    ///
    /// # Cost
    /// Some milliseconds: starts are tried, and measured at `2^12` points.
    ///
    /// # Errors
    /// [`CircuitError::Interval`] unless `0 < low < high`; [`CircuitError::Precision`] for more bits than
    /// [`super::MAX_PRECISION_LOG2`], or if none of the starts leads there in [`MAX_ITERATIONS`] steps.
    pub fn new(low: f64, high: f64, precision_log2: u32) -> Result<Self, CircuitError> {
        check_positive(low, high)?;
        check_precision(precision_log2, MAX_DEPTH)?;
        let wanted = (-f64::from(precision_log2)).exp2();
        let mut best: Option<Self> = None;
        for degree_log2 in 1..=MAX_START_LOG2 {
            let degree = (1 << degree_log2) - 1;
            let start = RealPolynomial::interpolation(|x| 1.0 / x.sqrt(), degree, low, high)?;
            let mut error = start_error(&start, low, high);
            let mut iterations = 0;
            while error > wanted && error < MAX_START_ERROR && iterations < MAX_ITERATIONS {
                error = newton(error);
                iterations += 1;
            }
            if error > wanted {
                continue;
            }
            let candidate = Self { start, iterations, error, low };
            if best.as_ref().is_none_or(|best| candidate.depth() < best.depth()) {
                best = Some(candidate);
            }
        }
        best.ok_or(CircuitError::Precision { precision_log2, max_depth: MAX_DEPTH })
    }

    /// A start of a given degree and a given number of steps.
    ///
    /// # Errors
    /// As [`RealPolynomial::interpolation`]; [`CircuitError::Precision`] if the start errs by more than 1/2, from where the steps
    /// need not converge.
    pub fn from_start(degree: usize, iterations: u32, low: f64, high: f64) -> Result<Self, CircuitError> {
        check_positive(low, high)?;
        let start = RealPolynomial::interpolation(|x| 1.0 / x.sqrt(), degree, low, high)?;
        let mut error = start_error(&start, low, high);
        if error > MAX_START_ERROR {
            return Err(CircuitError::Precision { precision_log2: 1, max_depth: start.depth() });
        }
        for _ in 0..iterations {
            error = newton(error);
        }
        Ok(Self { start, iterations, error, low })
    }

    /// log2 of the largest relative error in exact arithmetic.
    pub fn error_log2(&self) -> f64 {
        self.error.log2()
    }
    /// The degree of the start.
    pub fn start_degree(&self) -> usize {
        self.start.degree()
    }
    /// Steps after it.
    pub fn iterations(&self) -> u32 {
        self.iterations
    }
    /// Levels that an evaluation uses.
    pub fn depth(&self) -> u32 {
        self.start.depth() + 2 * self.iterations
    }

    /// `a^(−1/2)`, slot by slot.
    ///
    /// # Level
    /// [`InverseSquareRoot::depth`] lower.
    ///
    /// # Cost
    /// The start, and three products and key switches a step.
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

    /// The noise of [`InverseSquareRoot::evaluate`], by running it with bounds in place of ciphertexts; the error of the approximation
    /// is not in it.
    ///
    /// # Errors
    /// [`CircuitError::Levels`].
    pub fn noise(&self, model: &CkksNoise<'_>, a: SlotNoise) -> Result<SlotNoise, CircuitError> {
        check_depth(a.level(), self.depth())?;
        self.run(model, &a)
    }

    fn run<A: RealOperations>(&self, arithmetic: &A, a: &A::Value) -> Result<A::Value, CircuitError> {
        // From every start that is taken the results stay near x^(−1/2).
        let limit_log2 = (1.0 + MAX_START_ERROR).log2() - self.low.log2() / 2.0;
        let mut y = arithmetic.bounded(arithmetic.polynomial(&self.start, a)?, limit_log2);
        for _ in 0..self.iterations {
            // y·(3 − x·y²)/2 = (3/2)·y + (−x/2·y)·y², undivided until both terms are there.
            let level = arithmetic.level(&y);
            let half_x = arithmetic.divide(&arithmetic.scaled(a, -0.5, Level(level.0 + 1))?)?;
            let xy = arithmetic.times(&half_x, &y)?;
            let square = arithmetic.times(&y, &y)?;
            let mut sum = arithmetic.product(&xy, &square)?;
            let below = arithmetic.level(&square);
            let low = arithmetic.lowered(&y, below)?;
            arithmetic.add(&mut sum, &arithmetic.scaled(&low, 1.5, below)?)?;
            y = arithmetic.bounded(arithmetic.divide(&sum)?, limit_log2);
        }
        Ok(y)
    }
}

/// `x^(1/2)` for `low ≤ x ≤ high`, to a relative precision: `x·x^(−1/2)`.
#[derive(Clone, PartialEq, Debug)]
pub struct SquareRoot(InverseSquareRoot);

impl SquareRoot {
    /// As [`InverseSquareRoot::new`].
    ///
    /// # Errors
    /// As there.
    pub fn new(low: f64, high: f64, precision_log2: u32) -> Result<Self, CircuitError> {
        Ok(Self(InverseSquareRoot::new(low, high, precision_log2)?))
    }

    /// log2 of the largest relative error in exact arithmetic.
    pub fn error_log2(&self) -> f64 {
        self.0.error_log2()
    }
    /// Levels that an evaluation uses.
    pub fn depth(&self) -> u32 {
        self.0.depth() + 1
    }

    /// `a^(1/2)`, slot by slot.
    ///
    /// # Level
    /// [`SquareRoot::depth`] lower.
    ///
    /// # Errors
    /// As [`InverseSquareRoot::evaluate`].
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

    /// The noise of [`SquareRoot::evaluate`], as [`InverseSquareRoot::noise`].
    ///
    /// # Errors
    /// [`CircuitError::Levels`].
    pub fn noise(&self, model: &CkksNoise<'_>, a: SlotNoise) -> Result<SlotNoise, CircuitError> {
        check_depth(a.level(), self.depth())?;
        self.run(model, &a)
    }

    fn run<A: RealOperations>(&self, arithmetic: &A, a: &A::Value) -> Result<A::Value, CircuitError> {
        let inverse = self.0.run(arithmetic, a)?;
        let x = arithmetic.lowered(a, arithmetic.level(&inverse))?;
        arithmetic.times(&x, &inverse)
    }
}

/// The largest relative error of a start. The error of an interpolant oscillates with the nodes, some hundred at most, so that
/// this many points, dense at the ends as the nodes are, see its peaks; the margin covers what lies between them.
fn start_error(start: &RealPolynomial, low: f64, high: f64) -> f64 {
    let points = 1 << 12;
    let error = |k: i32| {
        let u = (std::f64::consts::PI * f64::from(k) / f64::from(points)).cos();
        let x = f64::midpoint(low, high) + 0.5 * (high - low) * u;
        (start.value(x) * x.sqrt() - 1.0).abs()
    };
    1.01 * (0..=points).map(error).fold(0.0, f64::max)
}

/// The relative error after a step.
fn newton(error: f64) -> f64 {
    error * error * (3.0 + error) / 2.0
}

/// Beyond, a step may leave the region of convergence.
const MAX_START_ERROR: f64 = 0.5;
/// log2 of the largest start's number of coefficients.
const MAX_START_LOG2: u32 = 7;
/// The largest number of Newton steps.
pub const MAX_ITERATIONS: u32 = 10;
/// The depth of the largest start with the most steps.
const MAX_DEPTH: u32 = MAX_START_LOG2 + 1 + 2 * MAX_ITERATIONS;
