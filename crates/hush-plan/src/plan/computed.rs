// SPDX-License-Identifier: Apache-2.0
//! Conditions on encrypted columns whose constants are encrypted too, as a server computes them with a table's keys.

use serde::{Deserialize, Serialize};

/// A condition on encrypted columns with encrypted constants: in every slot 1 where it is true, and 0 elsewhere. What is in it, but for the bytes of the
/// ciphertext, is the same for all constants.
///
/// *Evaluation.* The ciphertext is expanded into one for each constant. A sum of columns times constants is brought back to two polynomials by the
/// relinearisation key and divided to the level below, and so is each product; operands of different levels are brought to the lower one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComputedCondition {
    /// The chain that the table has keys over, by its name.
    pub keys: String,
    /// The object of one fresh ciphertext over that chain, in base64: the constants as they are expanded.
    pub constants: String,
    /// Sums of columns times constants: of each the places of its columns in [`ProductsTask::columns`](super::ProductsTask::columns), and none for the number 1. The
    /// constants are numbered in this order, through all sums.
    pub inner: Vec<Vec<Option<usize>>>,
    /// What the condition is of these.
    pub formula: Formula,
}

/// A polynomial in sums of columns times constants, slot by slot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Formula {
    /// Sum of two.
    Add(Box<Formula>, Box<Formula>),
    /// The sum at this place of [`ComputedCondition::inner`].
    Inner(usize),
    /// Product of two.
    Mul(Box<Formula>, Box<Formula>),
    /// 1 less it.
    Not(Box<Formula>),
}

impl ComputedCondition {
    /// How many constants there are.
    pub fn constant_count(&self) -> usize {
        self.inner.iter().map(Vec::len).sum()
    }
}

impl Formula {
    /// `self + other`.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self::Add(Box::new(self), Box::new(other))
    }

    /// `1 − self`.
    #[must_use]
    pub fn complement(self) -> Self {
        match self {
            Self::Not(inner) => *inner,
            other => Self::Not(Box::new(other)),
        }
    }

    /// `self·other`.
    #[must_use]
    pub fn times(self, other: Self) -> Self {
        Self::Mul(Box::new(self), Box::new(other))
    }

    /// The level of its result in a chain with this top level; `None` if there are too few.
    pub fn level(&self, top: u8) -> Option<u8> {
        match self {
            Self::Inner(_) => top.checked_sub(1),
            Self::Mul(left, right) => left.level(top)?.min(right.level(top)?).checked_sub(1),
            Self::Add(left, right) => Some(left.level(top)?.min(right.level(top)?)),
            Self::Not(inner) => inner.level(top),
        }
    }

    /// Nodes of it.
    pub fn size(&self) -> usize {
        match self {
            Self::Inner(_) => 1,
            Self::Add(left, right) | Self::Mul(left, right) => 1 + left.size() + right.size(),
            Self::Not(inner) => 1 + inner.size(),
        }
    }

    /// Products of two in it.
    pub fn products(&self) -> usize {
        match self {
            Self::Inner(_) => 0,
            Self::Add(left, right) => left.products() + right.products(),
            Self::Not(inner) => inner.products(),
            Self::Mul(left, right) => 1 + left.products() + right.products(),
        }
    }

    /// What it is for some values of the sums.
    pub fn evaluate(&self, inner: &dyn Fn(usize) -> i64) -> i64 {
        match self {
            Self::Inner(place) => inner(*place),
            Self::Add(left, right) => left.evaluate(inner) + right.evaluate(inner),
            Self::Mul(left, right) => left.evaluate(inner) * right.evaluate(inner),
            Self::Not(of) => 1 - of.evaluate(inner),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_go_down_with_products() {
        let inner = Formula::Inner;
        let product = inner(0).times(inner(1));
        let formula = inner(2).plus(product.clone()).plus(product.times(inner(3)).complement());
        assert_eq!((formula.level(4), formula.level(3), formula.level(2)), (Some(1), Some(0), None));
        assert_eq!((formula.size(), formula.products()), (12, 3));
        assert_eq!(formula.evaluate(&|place| [2, 3, 5, 7][place]), 5 + 6 + 1 - 42);
        let text = serde_json::to_string(&formula).unwrap();
        assert_eq!(serde_json::from_str::<Formula>(&text).unwrap(), formula);
    }
}
