// SPDX-License-Identifier: Apache-2.0
//! Polynomials in encrypted quantities, and how large the phase of their ciphertexts can be.

use hush_params::noise::{add_phase_log2, bgv_fresh_phase_log2, product_phase_log2};

use crate::plan::{ChosenFlag, Factor};
use crate::quantity::Quantity;

/// A polynomial in quantities.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Term {
    /// A flag of a rank, which is another one in each chunk.
    Chosen(ChosenFlag),
    /// Whether the clear condition with this number is true.
    Clear(usize),
    /// The condition that a server computes on encrypted constants, with its value where all quantities are 0.
    Computed(i64),
    Constant(i64),
    Stored(Quantity),
    Add(Box<Term>, Box<Term>),
    Mul(Box<Term>, Box<Term>),
    Sub(Box<Term>, Box<Term>),
}

/// What a polynomial is of, as a table has it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operand<'a> {
    Chosen(&'a ChosenFlag),
    Stored(&'a Quantity),
}

/// The ring and the plaintext modulus of quantities.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Space {
    pub(crate) degree: usize,
    pub(crate) t_log2: f64,
    /// log2 of a bound on the phase of a condition that is computed on encrypted constants.
    pub(crate) computed_log2: f64,
}

impl Term {
    pub(crate) fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Constant(0), one) | (one, Self::Constant(0)) => one,
            (Self::Constant(one), Self::Constant(other)) => Self::Constant(one + other),
            (one, other) => Self::Add(Box::new(one), Box::new(other)),
        }
    }

    pub(crate) fn minus(self, other: Self) -> Self {
        match (self, other) {
            (one, Self::Constant(0)) => one,
            (Self::Constant(one), Self::Constant(other)) => Self::Constant(one - other),
            (one, other) if one == other => Self::Constant(0),
            (one, other) => Self::Sub(Box::new(one), Box::new(other)),
        }
    }

    pub(crate) fn times(self, other: Self) -> Self {
        match (self, other) {
            (Self::Constant(0), _) | (_, Self::Constant(0)) => Self::Constant(0),
            (Self::Constant(1), one) | (one, Self::Constant(1)) => one,
            (one, other) => Self::Mul(Box::new(one), Box::new(other)),
        }
    }

    pub(crate) fn sum(terms: impl IntoIterator<Item = Self>) -> Self {
        Self::balanced(terms.into_iter().collect())
    }

    /// A sum as shallow as it can be: plans are not read beyond some depth.
    fn balanced(mut terms: Vec<Self>) -> Self {
        if terms.len() < 3 {
            return terms.into_iter().fold(Self::Constant(0), Self::plus);
        }
        let rest = terms.split_off(terms.len() / 2);
        Self::balanced(terms).plus(Self::balanced(rest))
    }

    pub(crate) fn product(terms: impl IntoIterator<Item = Self>) -> Self {
        terms.into_iter().fold(Self::Constant(1), Self::times)
    }

    /// The degree in the secret.
    pub(crate) fn degree(&self) -> usize {
        match self {
            Self::Clear(_) | Self::Constant(_) => 0,
            Self::Chosen(_) | Self::Computed(_) | Self::Stored(_) => 1,
            Self::Add(one, other) | Self::Sub(one, other) => one.degree().max(other.degree()),
            Self::Mul(one, other) => one.degree() + other.degree(),
        }
    }

    /// Whether it is the same in every slot, and so has one coefficient.
    fn is_constant(&self) -> bool {
        match self {
            Self::Constant(_) => true,
            Self::Chosen(_) | Self::Clear(_) | Self::Computed(_) | Self::Stored(_) => false,
            Self::Add(one, other) | Self::Mul(one, other) | Self::Sub(one, other) => {
                one.is_constant() && other.is_constant()
            }
        }
    }

    /// What it is for some values of its quantities, where no clear condition is true and no flag of a rank is set.
    pub(crate) fn evaluate(&self, value: &dyn Fn(&Quantity) -> i64) -> i64 {
        match self {
            Self::Chosen(_) | Self::Clear(_) => 0,
            Self::Computed(integer) | Self::Constant(integer) => *integer,
            Self::Stored(quantity) => value(quantity),
            Self::Add(one, other) => one.evaluate(value) + other.evaluate(value),
            Self::Mul(one, other) => one.evaluate(value) * other.evaluate(value),
            Self::Sub(one, other) => one.evaluate(value) - other.evaluate(value),
        }
    }

    /// log2 of a bound on the phase of its ciphertext that nothing exceeds: docs/math/products.md.
    pub(crate) fn phase_log2(&self, space: Space) -> f64 {
        match self {
            // Its message is centred, and it has no error.
            Self::Clear(_) => space.t_log2 - 1.0,
            Self::Computed(_) => space.computed_log2,
            Self::Constant(integer) => (integer.unsigned_abs() as f64).log2(),
            Self::Chosen(_) | Self::Stored(_) => bgv_fresh_phase_log2(space.t_log2),
            Self::Add(one, other) | Self::Sub(one, other) => {
                add_phase_log2(one.phase_log2(space), other.phase_log2(space))
            }
            Self::Mul(one, other) => {
                let (left, right) = (one.phase_log2(space), other.phase_log2(space));
                if one.is_constant() || other.is_constant() {
                    left + right
                } else {
                    product_phase_log2(space.degree, left, right)
                }
            }
        }
    }

    /// The factor that a server evaluates, made of what `operand` gives for its quantities and flags of ranks; `None` if one of them is not there.
    pub(crate) fn bind(&self, operand: &mut dyn FnMut(Operand<'_>) -> Option<Factor>) -> Option<Factor> {
        let mut both =
            |one: &Self, other: &Self| Some((Box::new(one.bind(operand)?), Box::new(other.bind(operand)?)));
        Some(match self {
            Self::Chosen(flag) => operand(Operand::Chosen(flag))?,
            Self::Clear(number) => Factor::Mask(*number),
            Self::Computed(_) => Factor::Computed,
            Self::Constant(integer) => Factor::Constant(*integer),
            Self::Stored(quantity) => operand(Operand::Stored(quantity))?,
            Self::Add(one, other) => both(one, other).map(|(one, other)| Factor::Add(one, other))?,
            Self::Mul(one, other) => both(one, other).map(|(one, other)| Factor::Mul(one, other))?,
            Self::Sub(one, other) => both(one, other).map(|(one, other)| Factor::Sub(one, other))?,
        })
    }
}
