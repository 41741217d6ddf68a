// SPDX-License-Identifier: Apache-2.0
//! Polynomials with real coefficients, for CKKS.

use hush_rlwe::EvaluationKeys;
use hush_schemes::ckks::{Ckks, CkksCiphertext, Complex};

use super::MAX_DEGREE;
use super::approximation::{chebyshev_interpolation, chebyshev_value, check_interval};
use super::arithmetic::RealArithmetic;
use super::together::{Together, check_together};
use super::tree::{Arithmetic, Basis, PolynomialCost, Tree, cheapest, degree_of};
use crate::CircuitError;
use crate::error::check_depth;
use crate::noise::{CkksNoise, SlotNoise};
use crate::scheme::check_own_scale;

/// `Σ c_i·B_i(u)` for powers or Chebyshev polynomials `B_i`, with its evaluation planned.
///
/// *Invariants.* Degree from 1 to [`MAX_DEGREE`], finite coefficients; `u = x` for powers, and `u = (2·x − low − high)/(high −
/// low)` for a Chebyshev series on `[low, high]`. *Secrecy.* Public.
#[derive(Clone, PartialEq, Debug)]
pub struct RealPolynomial {
    coefficients: Vec<f64>,
    basis: Basis,
    low: f64,
    high: f64,
    baby_log2: u32,
    cost: PolynomialCost,
}

impl RealPolynomial {
    /// `Σ c_i·x^i`. Large degrees want the Chebyshev basis: powers lose a bit of precision or more for each degree.
    ///
    /// # Errors
    /// [`CircuitError::NotFinite`]; [`CircuitError::Degree`] unless the degree is 1 to [`MAX_DEGREE`].
    pub fn power(coefficients: &[f64]) -> Result<Self, CircuitError> {
        Self::new(coefficients, Basis::Power, -1.0, 1.0)
    }

    /// `Σ c_i·T_i(u)`, where `u` runs from −1 to 1 as `x` runs from `low` to `high`.
    ///
    /// # Errors
    /// As [`RealPolynomial::power`]; [`CircuitError::Interval`].
    pub fn chebyshev(coefficients: &[f64], low: f64, high: f64) -> Result<Self, CircuitError> {
        Self::new(coefficients, Basis::Chebyshev, low, high)
    }

    /// The polynomial that agrees with a function at the Chebyshev nodes of `[low, high]`.
    ///
    /// # Errors
    /// As [`chebyshev_interpolation`] and [`RealPolynomial::chebyshev`].
    pub fn interpolation(
        function: impl Fn(f64) -> f64,
        degree: usize,
        low: f64,
        high: f64,
    ) -> Result<Self, CircuitError> {
        Self::chebyshev(&chebyshev_interpolation(function, degree, low, high)?, low, high)
    }

    fn new(coefficients: &[f64], basis: Basis, low: f64, high: f64) -> Result<Self, CircuitError> {
        check_interval(low, high)?;
        if let Some(index) = coefficients.iter().position(|c| !c.is_finite()) {
            return Err(CircuitError::NotFinite { index });
        }
        let degree = degree_of(coefficients);
        if !(1..=MAX_DEGREE).contains(&degree) {
            return Err(CircuitError::Degree { found: degree, max: MAX_DEGREE });
        }
        let coefficients = coefficients[..=degree].to_vec();
        let (baby_log2, cost) = cheapest(&coefficients, basis, 1.0)?;
        Ok(Self { coefficients, basis, low, high, baby_log2, cost })
    }

    /// The polynomial times a number, and another number added.
    ///
    /// # Errors
    /// As [`RealPolynomial::power`], if that makes it constant or not finite.
    pub fn affine(&self, factor: f64, summand: f64) -> Result<Self, CircuitError> {
        let mut coefficients: Vec<f64> = self.coefficients.iter().map(|c| c * factor).collect();
        coefficients[0] += summand;
        Self::new(&coefficients, self.basis, self.low, self.high)
    }

    /// The coefficients, from degree 0.
    pub fn coefficients(&self) -> &[f64] {
        &self.coefficients
    }
    /// The degree.
    pub fn degree(&self) -> usize {
        self.coefficients.len() - 1
    }
    /// Levels that an evaluation uses: `⌈log2(degree + 1)⌉`, and one more for an interval whose length is not 2 divided by an
    /// integer.
    pub fn depth(&self) -> u32 {
        self.cost.depth + u32::from(self.integer_slope().is_none())
    }
    /// The cost of an evaluation, without mapping the interval to `[−1, 1]`.
    pub fn cost(&self) -> PolynomialCost {
        self.cost
    }

    /// `p(x)` of a clear number.
    pub fn value(&self, x: f64) -> f64 {
        match self.basis {
            Basis::Chebyshev => chebyshev_value(&self.coefficients, self.slope() * x + self.shift()),
            Basis::Power => self.coefficients.iter().rev().fold(0.0, |value, c| value * x + c),
        }
    }

    /// `p(a)`, slot by slot. In the Chebyshev basis the slots must lie in the interval: outside the result grows without
    /// bound, and the modulus may overflow.
    ///
    /// # Level
    /// [`RealPolynomial::depth`] lower.
    ///
    /// # Scale
    /// From a level's own to a level's own.
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
        self.check(scheme, a)?;
        let argument = self.argument(scheme, a)?;
        let arithmetic = RealArithmetic { scheme, keys };
        Tree::new(&arithmetic, self.basis, self.baby_log2, argument)
            .value(&self.coefficients, self.cost.depth)
    }

    /// [`RealPolynomial::evaluate`] of several ciphertexts of one level, with one pass over the key for all.
    ///
    /// # Errors
    /// As there; [`CircuitError::Scheme`] if the levels differ.
    pub fn evaluate_all(
        &self,
        scheme: &Ckks,
        ciphertexts: &[CkksCiphertext],
        keys: &EvaluationKeys,
    ) -> Result<Vec<CkksCiphertext>, CircuitError> {
        check_together(ciphertexts)?;
        let argument = |a: &CkksCiphertext| self.check(scheme, a).and_then(|()| self.argument(scheme, a));
        let arguments = ciphertexts.iter().map(argument).collect::<Result<Vec<_>, _>>()?;
        if arguments.is_empty() {
            return Ok(arguments);
        }
        let arithmetic = Together(RealArithmetic { scheme, keys });
        Tree::new(&arithmetic, self.basis, self.baby_log2, arguments)
            .value(&self.coefficients, self.cost.depth)
    }

    fn check(&self, scheme: &Ckks, a: &CkksCiphertext) -> Result<(), CircuitError> {
        check_depth(a.level(), self.depth())?;
        check_own_scale(scheme, a)
    }

    /// Bounds on `p(a)`: the noise of the evaluation itself, and the argument's noise times the largest slope.
    ///
    /// # Math
    /// An evaluation gives `p(x + δ)` and noise of its own. `|p(x + δ) − p(x)| ≤ |δ|·max|p'|` on the interval, or for powers of a slot
    /// up to `v` at most `|δ|·Σ i·|c_i|·v^(i−1)`. Its own noise follows from running the evaluation with bounds in place of
    /// ciphertexts.
    ///
    /// # Errors
    /// As [`RealPolynomial::evaluate`], except for errors of scales and keys.
    pub fn noise(&self, model: &CkksNoise<'_>, a: SlotNoise) -> Result<SlotNoise, CircuitError> {
        check_depth(a.level(), self.depth())?;
        let exact = a.without_error();
        let mapped = match self.integer_slope() {
            Some(slope) => exact.times(slope as f64),
            None => model.divide(&model.scaled(&exact, self.slope(), a.level())?)?,
        };
        let mapped = if self.shift() == 0.0 { mapped } else { model.add_scalar(&mapped, self.shift())? };
        let argument = match self.basis {
            Basis::Chebyshev => model.bounded(mapped, 0.0),
            Basis::Power => mapped,
        };
        let own = Tree::new(model, self.basis, self.baby_log2, argument)
            .value(&self.coefficients, self.cost.depth)?;
        let (value, slope) = self.value_and_slope(a.value_log2().exp2());
        Ok(model.bounded(own.with_error(a.deviation_log2() + slope.log2()), value.log2()))
    }

    /// Bounds of `|p|` and `|p'|` on the interval, or for powers up to `limit`.
    fn value_and_slope(&self, limit: f64) -> (f64, f64) {
        if self.basis == Basis::Power {
            let terms = || self.coefficients.iter().map(|c| c.abs()).enumerate().skip(1);
            let power = |i: usize| limit.powi(i as i32);
            let value: f64 = terms().map(|(i, c)| c * power(i)).sum();
            let slope = terms().map(|(i, c)| i as f64 * c * power(i - 1)).sum();
            return (value + self.coefficients.first().map_or(0.0, |c| c.abs()), slope);
        }
        // Points as dense at the ends as the nodes of the largest degree; the margin covers what lies between them.
        let point = |k: usize| (std::f64::consts::PI * k as f64 / POINTS as f64).cos();
        let mut bounds = (0.0_f64, 0.0_f64);
        for u in (0..=POINTS).map(point) {
            // T_i and T_i' by their recurrences.
            let (mut t, mut d) = ([1.0, u], [0.0, 1.0]);
            let (mut value, mut slope) = (self.coefficients[0], 0.0);
            for &c in &self.coefficients[1..] {
                value += c * t[1];
                slope += c * d[1];
                (t, d) = ([t[1], 2.0 * u * t[1] - t[0]], [d[1], 2.0 * t[1] + 2.0 * u * d[1] - d[0]]);
            }
            bounds = (bounds.0.max(value.abs()), bounds.1.max(slope.abs()));
        }
        (bounds.0 * POINTS_MARGIN, bounds.1 * self.slope() * POINTS_MARGIN)
    }

    /// `u` for `x`.
    fn argument(&self, scheme: &Ckks, a: &CkksCiphertext) -> Result<CkksCiphertext, CircuitError> {
        let mapped = match self.integer_slope() {
            Some(1) => a.clone(),
            Some(slope) => scheme.mul_integer(a, slope),
            None => scheme.rescale(&scheme.mul_constant(a, Complex { re: self.slope(), im: 0.0 })?)?,
        };
        if self.shift() == 0.0 {
            return Ok(mapped);
        }
        Ok(scheme.add_constant(&mapped, Complex { re: self.shift(), im: 0.0 })?)
    }

    fn slope(&self) -> f64 {
        2.0 / (self.high - self.low)
    }

    fn shift(&self) -> f64 {
        if self.basis == Basis::Power { 0.0 } else { -(self.low + self.high) / (self.high - self.low) }
    }

    /// The slope as a small integer, by which a product is exact and needs no level.
    fn integer_slope(&self) -> Option<i64> {
        let slope = self.slope();
        (slope.fract() == 0.0 && (1.0..=MAX_INTEGER_SLOPE).contains(&slope)).then_some(slope as i64)
    }
}

/// Where a series is looked at for its largest value and slope.
const POINTS: usize = 1 << 12;
const POINTS_MARGIN: f64 = 1.01;
/// A product by more would magnify the error of the argument beyond use.
const MAX_INTEGER_SLOPE: f64 = 1024.0;
