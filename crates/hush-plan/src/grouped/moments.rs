// SPDX-License-Identifier: Apache-2.0
//! Linear forms in moments: each term of a polynomial becomes a clear aggregate or a masked sum.

use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigInt;
use num_traits::{One, Signed, Zero};

use super::{BoundedMask, Builder, QuantitySum};
use crate::error::{PlanError, Unfit};
use crate::expr::{Leaf, Monomial, Piece, Units, Weight, Width};
use crate::plan::{LinearForm, Mask, Moment, Predicate};
use crate::quantity::Quantity;
use crate::range::{Interval, largest_sum, power_of_ten};
use crate::schema::Column;
use crate::sql::quoted;

/// A linear form and a bound on its absolute value.
pub(super) struct BoundedForm {
    pub(super) linear: LinearForm,
    pub(super) bound: BigInt,
}

impl Builder<'_> {
    /// `Σ piece` over the rows, in units of `10^-scale`.
    pub(super) fn form(
        &mut self,
        pieces: &[Piece],
        scale: u32,
        text: &str,
    ) -> Result<BoundedForm, PlanError> {
        let mut coefficients: BTreeMap<(u8, usize), BigInt> = BTreeMap::new();
        let mut bound = BigInt::zero();
        for piece in pieces {
            for (monomial, weight) in &piece.terms {
                let quantity = quantity_of(monomial, &piece.may_miss);
                let (moment, row_max) = self.moment(piece, quantity, weight, text)?;
                let coefficient = &weight.factor * power_of_ten(scale.saturating_sub(weight.scale));
                bound += largest_sum(self.rows, &row_max, &coefficient.abs());
                let key = match moment {
                    Moment::Clear(index) => (0, index),
                    Moment::Encrypted(index) => (1, index),
                };
                *coefficients.entry(key).or_default() += coefficient;
            }
        }
        let terms = coefficients.into_iter().filter(|(_, coefficient)| !coefficient.is_zero());
        let terms = terms.map(|((kind, index), coefficient)| {
            let moment = if kind == 0 { Moment::Clear(index) } else { Moment::Encrypted(index) };
            (coefficient.to_string(), moment)
        });
        Ok(BoundedForm { linear: LinearForm { terms: terms.collect() }, bound })
    }

    /// Whether a factor of a monomial is approximate.
    pub(super) fn is_approximate(&self, monomial: &Monomial) -> bool {
        monomial.factors().iter().any(|name| {
            let column = self.schema.columns.iter().find(|column| column.name == *name);
            column.is_some_and(Column::is_approximate)
        })
    }

    /// The number of rows on which some piece is defined.
    pub(super) fn count(&mut self, pieces: &[Piece], text: &str) -> Result<BoundedForm, PlanError> {
        let ones: Vec<Piece> = pieces.iter().map(Piece::support).collect();
        self.form(&ones, 0, text)
    }

    /// The moment of one term without its constant factor, and a bound on one row's contribution to it.
    fn moment(
        &mut self,
        piece: &Piece,
        quantity: Option<Quantity>,
        weight: &Weight,
        text: &str,
    ) -> Result<(Moment, BigInt), PlanError> {
        // A NULL weight already counts as 0; only what the weight does not show needs a condition.
        let shown_by_weight =
            |sql: &String| weight.units.as_ref().is_some_and(|units| units.is_null_with(sql));
        let others = piece.not_null.iter().filter(|sql| !shown_by_weight(sql));
        let present = others.map(|sql| Predicate::clear(format!("{sql} IS NOT NULL")));
        let condition = Predicate::all(piece.guard.iter().cloned().chain(present));
        let weight_max = weight.units_range().max_abs();
        match quantity {
            None => {
                let index = self.clear(self.clear_sum(condition, weight, &weight_max, text)?);
                Ok((Moment::Clear(index), weight_max))
            }
            Some(quantity) => {
                let row_max = quantity.bound(self.schema) * &weight_max;
                let mask = self.mask(condition, weight, text)?;
                Ok((
                    self.sum(QuantitySum {
                        mask,
                        quantity,
                        text: text.to_owned(),
                        together: self.together.clone(),
                    }),
                    row_max,
                ))
            }
        }
    }

    /// The sum of a quantity of the factors of a monomial over the rows of a piece.
    pub(super) fn quantity_moment(
        &mut self,
        piece: &Piece,
        monomial: &Monomial,
        quantity: Quantity,
        text: &str,
    ) -> Result<Moment, PlanError> {
        let quantity = where_present(quantity, &others_of(monomial, &piece.may_miss));
        Ok(self.moment(piece, Some(quantity), &Weight::constant(BigInt::one(), 0), text)?.0)
    }

    /// SQL that sums the clear units over the rows that satisfy `condition`.
    fn clear_sum(
        &self,
        condition: Option<Predicate>,
        weight: &Weight,
        weight_max: &BigInt,
        text: &str,
    ) -> Result<String, PlanError> {
        let Some(units) = &weight.units else { return Ok(self.counted(condition.as_ref())) };
        let units = &self.for_rows(units);
        let total = Width::holding(&largest_sum(self.rows, weight_max, &BigInt::one()));
        let (Some(total), Some(inner)) = (total, units.width()) else {
            return Err(PlanError::WrongType { text: text.to_owned(), reason: Unfit::TooWide });
        };
        let value = units.render(total.max(inner));
        Ok(match condition {
            None => format!("SUM({value})"),
            Some(condition) => format!("SUM(CASE WHEN {condition} THEN {value} END)"),
        })
    }

    /// The index of the clear aggregate that counts rows.
    pub(super) fn count_where(&mut self, condition: Option<&Predicate>) -> usize {
        self.clear(self.counted(condition))
    }

    /// SQL that counts the rows that satisfy `condition`.
    fn counted(&self, condition: Option<&Predicate>) -> String {
        let count = self.count.map(quoted);
        match (condition, &count) {
            (None, None) => "COUNT(*)".to_owned(),
            (Some(condition), None) => format!("COUNT(CASE WHEN {condition} THEN 1 END)"),
            (None, Some(count)) => format!("SUM({count})"),
            (Some(condition), Some(count)) => format!("SUM(CASE WHEN {condition} THEN {count} END)"),
        }
    }

    /// Units once for each row for which a row stands.
    fn for_rows(&self, units: &Units) -> Units {
        let Some(count) = self.count else { return units.clone() };
        let range = Interval::point(BigInt::zero()).hull(&Interval::point(self.rows.into()));
        let count = Units::Leaf { sql: quoted(count), leaf: Leaf::Integer, range };
        units.clone().times(count)
    }

    fn mask(
        &mut self,
        condition: Option<Predicate>,
        weight: &Weight,
        text: &str,
    ) -> Result<usize, PlanError> {
        let weights = weight.units_range();
        let weight = match &weight.units {
            None => None,
            Some(units) => match units.width() {
                Some(Width::Narrow) => Some(units.render(Width::Narrow)),
                // Far beyond what any parameter set could take.
                _ => return Err(PlanError::WrongType { text: text.to_owned(), reason: Unfit::TooWide }),
            },
        };
        let mask = Mask { condition, weight };
        let masks = &mut self.grouped.masks;
        if let Some(index) = masks.iter().position(|present| present.mask == mask) {
            return Ok(index);
        }
        masks.push(BoundedMask { mask, weights });
        Ok(masks.len() - 1)
    }

    fn sum(&mut self, sum: QuantitySum) -> Moment {
        let sums = &mut self.grouped.sums;
        let same = |present: &QuantitySum| present.mask == sum.mask && present.quantity == sum.quantity;
        let index = sums.iter().position(same).unwrap_or_else(|| {
            sums.push(sum);
            sums.len() - 1
        });
        Moment::Encrypted(index)
    }

    /// The index of the clear aggregate `sql`, which is added if it is new.
    pub(super) fn clear(&mut self, sql: String) -> usize {
        let clear = &mut self.grouped.clear;
        clear.iter().position(|present| *present == sql).unwrap_or_else(|| {
            clear.push(sql);
            clear.len() - 1
        })
    }
}

/// The quantity to sum for a monomial on rows where none of `may_miss` is missing; `None` for a clear one.
///
/// An encoded value is 0 where its column is missing, so a monomial takes care of its own columns only.
fn quantity_of(monomial: &Monomial, may_miss: &BTreeSet<String>) -> Option<Quantity> {
    let factors = monomial.factors();
    let mut present = others_of(monomial, may_miss);
    let quantity = match factors {
        [] => match present.as_slice() {
            [] => return None,
            [a, b] => return Some(Quantity::BothValid(a.clone(), b.clone())),
            _ => Quantity::Valid(present.remove(0)),
        },
        [name] => Quantity::Value(name.clone()),
        [a, b] if a == b => Quantity::Square(a.clone()),
        [a, b] => Quantity::Product(a.clone(), b.clone()),
        _ => Quantity::Monomial(factors.to_vec()),
    };
    Some(where_present(quantity, &present))
}

/// Columns that may be missing beside those of a monomial.
fn others_of(monomial: &Monomial, may_miss: &BTreeSet<String>) -> Vec<String> {
    may_miss.iter().filter(|name| !monomial.factors().contains(name)).cloned().collect()
}

/// The quantity on rows where all of `present` have a value.
fn where_present(quantity: Quantity, present: &[String]) -> Quantity {
    if present.is_empty() {
        return quantity;
    }
    Quantity::Where { quantity: Box::new(quantity), present: present.to_vec() }
}
