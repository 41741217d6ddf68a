// SPDX-License-Identifier: Apache-2.0
//! Circuits with real coefficients: what approximate schemes evaluate, repetitions of any length among it.

mod build;
mod enclosure;
mod gather;
mod slopes;
mod turns;

use crate::circuit::Reading;
use crate::{ExprError, Expression, Input};
pub use enclosure::Enclosure;

/// One operation on what is encrypted. Numbers are places of earlier steps.
#[derive(Clone, Debug, PartialEq)]
pub enum RealStep {
    /// An encrypted vector, by its place among the expression's names.
    Input(usize),
    /// `constant + Σ coefficient·step`; at least one term, no coefficient zero.
    Linear {
        /// Added to every element.
        constant: f64,
        /// Places and coefficients.
        terms: Vec<(usize, f64)>,
    },
    /// The product of two steps, or the square of one.
    Product(usize, usize),
    /// The sum of all elements of a step, in every element.
    Total(usize),
}

impl RealStep {
    /// The steps that it refers to.
    pub fn operands(&self) -> Vec<usize> {
        match self {
            Self::Input(_) => Vec::new(),
            Self::Linear { terms, .. } => terms.iter().map(|&(place, _)| place).collect(),
            Self::Product(a, b) => vec![*a, *b],
            Self::Total(of) => vec![*of],
        }
    }
}

/// Whether a multiple needs no division: a whole factor that doubles and integers hold, and noise bears.
pub fn is_whole(coefficient: f64) -> bool {
    coefficient.fract() == 0.0 && coefficient.abs() <= LARGEST_WHOLE
}

/// One turn of a repetition: how the error of its states follows from the error that they, and the vectors, had before.
///
/// # Math
/// The mean value theorem: a function whose derivatives are at most `d_i` on a box changes by at most `Σ d_i·e_i` where its arguments change by `e_i` within the box. What
/// the steps of the turn add comes on top. Bounds that follow the steps alone forget that `z` and `1 − z` err together, and grow where the turn shrinks errors.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// The first step of the turn.
    pub first: usize,
    /// Steps that the turn starts from, and the error up to which the derivatives hold: log2, as encrypted.
    pub starts: Vec<(usize, f64)>,
    /// Steps that are states afterwards, each with the derivatives by what the turn starts from, as encrypted: its error is at most their products with the errors there.
    pub states: Vec<(usize, Vec<(usize, f64)>)>,
}

/// A circuit with real coefficients, in which values are about 1 as they are encrypted.
///
/// *Invariants.* As those of [`Circuit`](crate::Circuit); coefficients are finite.
#[derive(Clone, Debug, PartialEq)]
pub struct RealCircuit {
    steps: Vec<RealStep>,
    ranges: Vec<Enclosure>,
    turns: Vec<Turn>,
    turn_starts: Vec<usize>,
    reading: Reading,
    length: usize,
}

impl RealCircuit {
    /// Builds the circuit of an expression over vectors of `length` in the order of [`Expression::names`], whose units are powers of two. Functions of whole vectors may stand inside.
    ///
    /// # Math
    /// Every part is kept as `constant + Σ coefficient·step` in fractions, which are rounded to doubles where they stand in a step; a sum that is a factor becomes a step of its own, divided by a coefficient that makes those of its
    /// deepest products whole: these are added before they are divided, and no level is lost to a coefficient. What would become larger than 2^6 that way is divided for good.
    /// After every turn of a repetition the range of a state is enclosed by the turn as a whole, which is far narrower than what its steps give one by one.
    ///
    /// # Cost
    /// For each turn of a repetition some thousand evaluations of it.
    ///
    /// # Errors
    /// As [`Circuit::build`](crate::Circuit::build); [`ExprError::TooLarge`] for values beyond doubles, as those of a repetition that has no bounds.
    pub fn build(expression: &Expression, inputs: &[Input], length: usize) -> Result<Self, ExprError> {
        build::build(expression, inputs, length)
    }

    /// The steps; the last is the output.
    pub fn steps(&self) -> &[RealStep] {
        &self.steps
    }
    /// Bounds of every step, as it is encrypted.
    pub fn ranges(&self) -> &[Enclosure] {
        &self.ranges
    }
    /// Turns of repetitions whose errors are followed, in their order.
    pub fn turns(&self) -> &[Turn] {
        &self.turns
    }
    /// The first step of every turn of an outermost repetition.
    pub fn turn_starts(&self) -> &[usize] {
        &self.turn_starts
    }
    /// Elements of a vector.
    pub fn length(&self) -> usize {
        self.length
    }
    /// How results are read from outputs.
    pub fn reading(&self) -> &Reading {
        &self.reading
    }
}

/// The largest factor of a multiple.
const LARGEST_WHOLE: f64 = (1_u64 << 40) as f64;
