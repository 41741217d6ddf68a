// SPDX-License-Identifier: Apache-2.0
//! Numeric expressions as polynomials: `Σ weight · monomial`, exact.
//!
//! *Words.* A **monomial** is a product of encrypted columns. A **weight** is a clear factor: an exact
//! constant, or a constant times clear [`Units`]. A **piece** is a polynomial that holds for the rows of its
//! **guard**; an expression has several where CASE chooses between encrypted branches. Guards of one expression
//! exclude each other, and where none holds the expression is NULL.
//!
//! *Invariants.* Everything is an integer number of units of `10^-scale`, in integers of any width; a division, a
//! float or a function of an encrypted column never gets here. A piece lists what can make it NULL: clear
//! expressions ([`Piece::not_null`]) and encrypted columns ([`Piece::may_miss`]).

mod normal;
mod units;

use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, Zero};

pub(crate) use normal::normalise;
pub(crate) use units::{Leaf, Units, Width};

use crate::error::{Measure, PlanError};
use crate::plan::Predicate;
use crate::range::{Interval, power_of_ten};
use crate::sql::number::MAX_SCALE;

/// Most pieces of one expression.
pub(crate) const MAX_PIECES: usize = 64;
/// Most encrypted factors of a monomial: sixteen of 16 bits fill the widest plaintext.
pub(crate) const MAX_FACTORS: usize = 16;
/// Most terms of a polynomial; each may be a sum of its own.
const MAX_TERMS: usize = 256;
/// A product of encrypted columns: its factors in alphabetical order, a power as repeats; none is 1.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Monomial(Vec<String>);

impl Monomial {
    /// 1.
    pub(crate) fn one() -> Self {
        Self::default()
    }

    /// A column.
    pub(crate) fn value(name: &str) -> Self {
        Self(vec![name.to_owned()])
    }

    /// The product, if it has at most [`MAX_FACTORS`].
    fn times(&self, other: &Self) -> Option<Self> {
        let mut factors = [self.factors(), other.factors()].concat();
        factors.sort_unstable();
        (factors.len() <= MAX_FACTORS).then_some(Self(factors))
    }

    /// Its factors, alphabetically, with repeats.
    pub(crate) fn factors(&self) -> &[String] {
        &self.0
    }
}

/// `factor · units`, in units of `10^-scale` of its term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Weight {
    pub(crate) factor: BigInt,
    /// `None` means 1.
    pub(crate) units: Option<Units>,
    pub(crate) scale: u32,
}

impl Weight {
    pub(crate) fn constant(factor: BigInt, scale: u32) -> Self {
        Self { factor, units: None, scale }
    }

    pub(crate) fn of_units(units: Units, scale: u32) -> Self {
        match units {
            Units::Constant(factor) => Self::constant(factor, scale),
            units => Self { factor: BigInt::one(), units: Some(units), scale },
        }
    }

    /// Bounds of the units alone.
    pub(crate) fn units_range(&self) -> Interval {
        self.units.as_ref().map_or_else(|| Interval::point(BigInt::one()), Units::range)
    }

    /// Bounds of the whole weight.
    pub(crate) fn range(&self) -> Interval {
        self.units_range().mul(&Interval::point(self.factor.clone()))
    }

    /// The whole weight as units.
    pub(crate) fn into_units(self) -> Units {
        match self.units {
            None => Units::Constant(self.factor),
            Some(units) => units.scaled(self.factor),
        }
    }

    /// The same value at a finer scale.
    pub(crate) fn at_scale(mut self, scale: u32) -> Self {
        self.factor *= power_of_ten(scale.saturating_sub(self.scale));
        self.scale = scale.max(self.scale);
        self
    }

    fn times(&self, other: &Self) -> Self {
        let units = match (&self.units, &other.units) {
            (None, units) | (units, None) => units.clone(),
            (Some(a), Some(b)) => Some(a.clone().times(b.clone())),
        };
        Self { factor: &self.factor * &other.factor, units, scale: self.scale + other.scale }
    }

    /// The sum; a common constant factor stays outside, so that masks are small and shared.
    fn plus(self, other: Self) -> Self {
        let scale = self.scale.max(other.scale);
        let (a, b) = (self.at_scale(scale), other.at_scale(scale));
        if a.units == b.units {
            return Self { factor: a.factor + b.factor, ..a };
        }
        let common = a.factor.gcd(&b.factor);
        if common.is_zero() {
            return Self::constant(BigInt::zero(), scale);
        }
        let part = |weight: Self| {
            let factor = weight.factor / &common;
            Self { factor, ..weight }.into_units()
        };
        let units = part(a).plus(part(b));
        Self { factor: common, units: Some(units), scale }
    }
}

/// The kind of thing that a number measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Days since 1970.
    Date,
    /// A plain number.
    Number,
    /// Microseconds since 1970.
    Timestamp,
}

/// A polynomial on the rows of a guard.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Piece {
    /// Clear condition that must be true.
    pub(crate) guard: Option<Predicate>,
    /// Clear expressions that must not be NULL.
    pub(crate) not_null: BTreeSet<String>,
    /// Encrypted columns that may be missing.
    pub(crate) may_miss: BTreeSet<String>,
    /// The polynomial; no weight is zero.
    pub(crate) terms: BTreeMap<Monomial, Weight>,
    pub(crate) kind: Kind,
}

impl Piece {
    pub(crate) fn of(monomial: Monomial, weight: Weight, kind: Kind) -> Self {
        let mut piece = Self {
            guard: None,
            not_null: BTreeSet::new(),
            may_miss: BTreeSet::new(),
            terms: BTreeMap::new(),
            kind,
        };
        piece.add_term(monomial, weight);
        piece
    }

    fn add_term(&mut self, monomial: Monomial, weight: Weight) {
        let sum = match self.terms.remove(&monomial) {
            None => weight,
            Some(present) => present.plus(weight),
        };
        if !sum.factor.is_zero() {
            self.terms.insert(monomial, sum);
        }
    }

    /// Largest scale of a term.
    pub(crate) fn scale(&self) -> u32 {
        self.terms.values().map(|weight| weight.scale).max().unwrap_or(0)
    }

    /// 1 on the rows where this is defined, NULL elsewhere.
    pub(crate) fn support(&self) -> Self {
        let one = Weight::constant(BigInt::one(), 0);
        Self { terms: BTreeMap::from([(Monomial::one(), one)]), kind: Kind::Number, ..self.clone() }
    }

    /// The weight, if this is a purely clear number that is defined on every row but for [`Piece::not_null`].
    pub(crate) fn clear_weight(&self) -> Option<Weight> {
        if self.guard.is_some() || !self.may_miss.is_empty() {
            return None;
        }
        match self.terms.len() {
            0 => Some(Weight::constant(BigInt::zero(), 0)),
            1 => self.terms.get(&Monomial::one()).cloned(),
            _ => None,
        }
    }

    /// Both defined: guards and sources of NULL of the two.
    fn meet(&self, other: &Self, kind: Kind) -> Self {
        Self {
            guard: Predicate::all(self.guard.iter().chain(&other.guard).cloned()),
            not_null: self.not_null.union(&other.not_null).cloned().collect(),
            may_miss: self.may_miss.union(&other.may_miss).cloned().collect(),
            terms: BTreeMap::new(),
            kind,
        }
    }

    /// The same on the rows alone where `condition` is true as well.
    #[must_use]
    pub(crate) fn where_true(mut self, condition: Option<&Predicate>) -> Self {
        self.guard = Predicate::all(self.guard.into_iter().chain(condition.cloned()));
        self
    }

    fn plus(&self, other: &Self, kind: Kind) -> Self {
        let mut sum = self.meet(other, kind);
        for (monomial, weight) in self.terms.iter().chain(&other.terms) {
            sum.add_term(monomial.clone(), weight.clone());
        }
        sum
    }

    /// The product; `text` is the expression as typed.
    ///
    /// # Errors
    /// [`PlanError::TooManyFactors`] where a term would have too many encrypted factors, [`PlanError::TooComplex`] where
    /// there would be too many terms.
    pub(crate) fn times(&self, other: &Self, text: &str) -> Result<Self, PlanError> {
        let too_many = || PlanError::TooManyFactors { text: text.to_owned(), limit: MAX_FACTORS };
        let mut product = self.meet(other, Kind::Number);
        for (left, a) in &self.terms {
            for (right, b) in &other.terms {
                product.add_term(left.times(right).ok_or_else(too_many)?, a.times(b));
                if product.terms.len() > MAX_TERMS {
                    return Err(PlanError::TooComplex { what: Measure::Terms, limit: MAX_TERMS as u64 });
                }
            }
        }
        Ok(product)
    }

    fn negated(mut self) -> Self {
        for weight in self.terms.values_mut() {
            weight.factor = -weight.factor.clone();
        }
        self
    }
}

/// Combines every piece of `left` with every piece of `right`.
fn combine(
    left: &[Piece],
    right: &[Piece],
    mut with: impl FnMut(&Piece, &Piece) -> Result<Piece, PlanError>,
) -> Result<Vec<Piece>, PlanError> {
    let mut pieces = Vec::with_capacity(left.len().saturating_mul(right.len()).min(MAX_PIECES + 1));
    for (a, b) in left.iter().flat_map(|a| right.iter().map(move |b| (a, b))).take(MAX_PIECES + 1) {
        pieces.push(with(a, b)?);
    }
    within_limits(pieces)
}

fn within_limits(pieces: Vec<Piece>) -> Result<Vec<Piece>, PlanError> {
    if pieces.len() > MAX_PIECES {
        return Err(PlanError::TooComplex { what: Measure::Pieces, limit: MAX_PIECES as u64 });
    }
    if pieces.iter().any(|piece| piece.scale() > MAX_SCALE) {
        return Err(PlanError::TooComplex { what: Measure::Digits, limit: u64::from(MAX_SCALE) });
    }
    Ok(pieces)
}
