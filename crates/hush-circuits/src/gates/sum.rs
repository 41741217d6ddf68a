// SPDX-License-Identifier: Apache-2.0
//! Sums of steps in a unit: what pieces of an expression are until something else than sums is done to them.

use std::collections::BTreeMap;

use hush_expr::Ratio;
use num_bigint::BigInt;
use num_integer::Integer as _;
use num_traits::{One, Zero};

/// What a piece of an expression is.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// The same for every element.
    Constant(Ratio),
    /// `unit·(constant + Σ factor·step)`.
    Sum(Sum),
}

/// `unit·(constant + Σ factor·step)`; at least one term, no factor zero, the unit positive.
#[derive(Clone, Debug)]
pub(super) struct Sum {
    pub(super) unit: Ratio,
    pub(super) constant: BigInt,
    pub(super) terms: BTreeMap<usize, BigInt>,
}

impl Sum {
    pub(super) fn of_step(step: usize, unit: Ratio) -> Self {
        Self { unit, constant: BigInt::zero(), terms: BTreeMap::from([(step, BigInt::one())]) }
    }

    /// What the owner adds to each result.
    pub(super) fn constant(&self) -> Ratio {
        &self.unit * &Ratio::from(self.constant.clone())
    }

    /// What an integer of the result is a multiple of.
    pub(super) fn output_unit(&self) -> Ratio {
        &self.unit * &Ratio::from(self.common_factor())
    }

    /// The largest number that divides all factors.
    pub(super) fn common_factor(&self) -> BigInt {
        let common = self.terms.values().fold(BigInt::zero(), |common, factor| common.gcd(factor));
        // A single step is its own result.
        match self.terms.values().next() {
            Some(factor) if self.terms.len() == 1 => factor.clone(),
            _ => common,
        }
    }

    pub(super) fn scaled(self, factor: &Ratio) -> Value {
        if factor.is_zero() {
            return Value::Constant(Ratio::zero());
        }
        let unit = &self.unit * &factor.abs();
        let negated = |number: BigInt| if factor.is_negative() { -number } else { number };
        let terms = self.terms.into_iter().map(|(step, factor)| (step, negated(factor))).collect();
        Value::Sum(Self { unit, constant: negated(self.constant), terms })
    }

    /// The same in a unit that divides its own.
    pub(super) fn in_unit(self, unit: &Ratio) -> Option<Self> {
        let times = (&self.unit * &unit.recip()?).to_integer()?.clone();
        let terms = self.terms.into_iter().map(|(step, factor)| (step, factor * &times)).collect();
        Some(Self { unit: unit.clone(), constant: self.constant * &times, terms })
    }
}

/// The largest unit that divides two.
pub(super) fn common_unit(a: &Ratio, b: &Ratio) -> Ratio {
    let denominator = a.denominator().lcm(b.denominator());
    let whole = |unit: &Ratio| unit.numerator() * (&denominator / unit.denominator());
    Ratio::new(whole(a).gcd(&whole(b)), denominator).unwrap_or_else(Ratio::one)
}

/// Numbers as multiples of the largest unit that divides all; of zeros alone, of 1.
pub(super) fn in_common_unit(numbers: &[Ratio]) -> (Ratio, Vec<BigInt>) {
    let unit = numbers.iter().fold(Ratio::zero(), |unit, number| common_unit(&unit, number));
    let share = unit.recip().unwrap_or_else(Ratio::one);
    let multiple = |number: &Ratio| (number * &share).numerator().clone();
    let multiples = numbers.iter().map(multiple).collect();
    (if unit.is_zero() { Ratio::one() } else { unit }, multiples)
}

/// Bounds of a step, both included.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bounds {
    pub(super) low: BigInt,
    pub(super) high: BigInt,
}

impl Bounds {
    pub(super) fn bit() -> Self {
        Self { low: BigInt::zero(), high: BigInt::one() }
    }
    pub(super) fn around(&self, other: &Self) -> Self {
        Self { low: self.low.clone().min(other.low.clone()), high: self.high.clone().max(other.high.clone()) }
    }
}

impl Sum {
    /// The same with whatever divides all of it in its unit.
    pub(super) fn reduced(mut self) -> Self {
        let common = self.terms.values().fold(self.constant.clone(), |common, factor| common.gcd(factor));
        if !common.is_zero() {
            self.unit = &self.unit * &Ratio::from(common.clone());
            self.constant /= &common;
            self.terms.values_mut().for_each(|factor| *factor /= &common);
        }
        self
    }
}

impl Value {
    pub(super) fn negated(self) -> Self {
        self.scaled(&-Ratio::one())
    }

    pub(super) fn scaled(self, factor: &Ratio) -> Self {
        match self {
            Self::Constant(number) => Self::Constant(&number * factor),
            Self::Sum(sum) => sum.scaled(factor),
        }
    }
}

pub(super) fn truth_value(holds: bool) -> Value {
    Value::Constant(if holds { Ratio::one() } else { Ratio::zero() })
}

/// Digits of numbers up to one, and the largest value of the last of them.
pub(super) fn digits_up_to(most: &BigInt) -> (usize, u64) {
    let digits = (most.bits().div_ceil(2) as usize).max(1);
    let last = (most >> (2 * (digits - 1))).try_into().unwrap_or(3_u64);
    (digits, last.clamp(1, 3))
}
