// SPDX-License-Identifier: Apache-2.0
//! What circuits consist of.

use num_bigint::BigInt;

use crate::{Interval, Ratio};

/// A vector of an expression, as it is encrypted: every value is `unit` times a number in `range`.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// The value that an encrypted 1 stands for; not zero.
    pub unit: Ratio,
    /// Bounds of what is encrypted.
    pub range: Interval,
}

/// One operation. Numbers are places of earlier steps.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// An encrypted vector, by its place among the expression's names.
    Input(usize),
    /// `constant + Σ coefficient·step`, of inputs and products; at least one term, no coefficient zero.
    Linear {
        /// Added to every element.
        constant: BigInt,
        /// Places and coefficients.
        terms: Vec<(usize, BigInt)>,
    },
    /// The product of two steps, or the square of one.
    Product(usize, usize),
}

impl Step {
    /// The vector that it is, if it is one.
    pub(crate) fn input(&self) -> Option<usize> {
        match self {
            Self::Input(input) => Some(*input),
            _ => None,
        }
    }

    /// The steps that it refers to.
    pub fn operands(&self) -> Vec<usize> {
        match self {
            Self::Input(_) => Vec::new(),
            Self::Linear { terms, .. } => terms.iter().map(|&(place, _)| place).collect(),
            Self::Product(a, b) => vec![*a, *b],
        }
    }
}
