// SPDX-License-Identifier: Apache-2.0
//! Sums as linear combinations of the sums that there are.
//!
//! A query asks for sums of monomials of columns. Where what is added up is an expression, the sums that there are have several monomials each:
//!
//! ```text
//! lanes    price        100 price − discount·price
//! asked    discount·price  =  100 × the first − the second
//! ```
//!
//! *Source.* Elimination over the integers without fractions (Bareiss, Mathematics of Computation 22, 1968), with the common factor of a row taken out
//! instead of the pivot before.

use std::collections::BTreeMap;

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, Zero};

use crate::grouped::{Grouped, QuantitySum};
use crate::plan::{LinearForm, Moment};
use crate::quantity::Quantity;

/// A sum of multiples.
type SumOfMultiples<K> = BTreeMap<K, BigInt>;

/// A grouped query whose sums are of lanes, and the lane of each sum; `None` where some sum is no combination of lanes with whole weights. A lane
/// without a quantity counts rows.
pub(super) fn on_lanes(grouped: Grouped, lanes: &[Option<&Quantity>]) -> Option<(Grouped, Vec<usize>)> {
    let lane = |sum: &QuantitySum| lanes.iter().position(|lane| *lane == Some(&sum.quantity));
    if let Some(found) = grouped.sums.iter().map(lane).collect() {
        return Some((grouped, found));
    }
    let span = Span::of(lanes.iter().enumerate().filter_map(|(place, lane)| Some((place, (*lane)?))));
    let Grouped { mut outputs, sums: asked, .. } = grouped.clone();
    let mut sums: Vec<QuantitySum> = Vec::new();
    let mut found: Vec<usize> = Vec::new();
    for form in outputs.iter_mut().flat_map(|output| output.forms_mut()) {
        let (clear, encrypted): (Vec<_>, Vec<_>) =
            form.terms.iter().cloned().partition(|(_, moment)| matches!(moment, Moment::Clear(_)));
        let mut by_mask: BTreeMap<usize, (&QuantitySum, SumOfMultiples<&Quantity>)> = BTreeMap::new();
        for (coefficient, moment) in &encrypted {
            let Moment::Encrypted(index) = moment else { continue };
            let sum = asked.get(*index)?;
            let (_, form) = by_mask.entry(sum.mask).or_insert((sum, SumOfMultiples::new()));
            *form.entry(&sum.quantity).or_default() += coefficient.parse::<BigInt>().ok()?;
        }
        let mut terms = clear;
        for (first, form) in by_mask.into_values() {
            for (lane, weight) in span.express(form)? {
                let quantity = (*lanes.get(lane)?)?.clone();
                let known =
                    sums.iter().zip(&found).position(|(sum, known)| (sum.mask, *known) == (first.mask, lane));
                let index = known.unwrap_or_else(|| {
                    sums.push(QuantitySum { quantity, ..first.clone() });
                    found.push(lane);
                    sums.len() - 1
                });
                terms.push((weight.to_string(), Moment::Encrypted(index)));
            }
        }
        *form = LinearForm { terms };
    }
    Some((Grouped { outputs, sums, ..grouped }, found))
}

/// Whether sums of a quantity are combinations of those of others, with whole weights.
pub(crate) fn is_spanned(quantity: &Quantity, others: &[Quantity]) -> bool {
    let span = Span::of(others.iter().enumerate());
    span.express(SumOfMultiples::from([(quantity, BigInt::one())])).is_some()
}

/// What some lanes span, in echelon form.
struct Span<'a> {
    rows: Vec<Row<'a>>,
}

/// A combination of lanes, and what it is of monomials. Its pivot is the first of them, and is in no later row.
struct Row<'a> {
    monomials: SumOfMultiples<&'a Quantity>,
    lanes: SumOfMultiples<usize>,
}

impl<'a> Span<'a> {
    fn of(lanes: impl Iterator<Item = (usize, &'a Quantity)>) -> Self {
        let mut span = Self { rows: Vec::new() };
        for (place, quantity) in lanes {
            let mut monomials = SumOfMultiples::new();
            add_monomials(&mut monomials, quantity, &BigInt::one());
            let row = Row { monomials, lanes: SumOfMultiples::from([(place, BigInt::one())]) };
            let row = span.reduced(row);
            if !row.monomials.is_empty() {
                span.rows.push(row);
            }
        }
        span
    }

    /// A row without the pivots of those that there are.
    fn reduced<'b>(&self, row: Row<'b>) -> Row<'b>
    where
        'a: 'b,
    {
        self.rows.iter().fold(row, |row, with| {
            let Some((pivot, of_pivot)) = with.monomials.first_key_value() else { return row };
            let Some(here) = row.monomials.get(pivot).cloned() else { return row };
            let (monomials, lanes) = (
                eliminated(row.monomials, of_pivot, &with.monomials, &here),
                eliminated(row.lanes, of_pivot, &with.lanes, &here),
            );
            Row { monomials, lanes }.without_common_factor()
        })
    }

    /// The lanes whose combination a form is, with their weights; `None` where there is none with whole ones.
    fn express(&self, form: SumOfMultiples<&Quantity>) -> Option<Vec<(usize, BigInt)>> {
        /// Stands for the form itself among lanes.
        const FORM: usize = usize::MAX;
        let mut monomials = SumOfMultiples::new();
        form.iter().for_each(|(quantity, weight)| add_monomials(&mut monomials, quantity, weight));
        let row = self.reduced(Row { monomials, lanes: SumOfMultiples::from([(FORM, BigInt::one())]) });
        let Row { monomials, mut lanes } = row;
        // A multiple of the form and a combination of lanes are 0 together.
        let multiple = lanes.remove(&FORM).filter(|multiple| !multiple.is_zero())?;
        if !monomials.is_empty() {
            return None;
        }
        let weight = |(lane, weight): (usize, BigInt)| {
            let (weight, rest) = (-weight).div_rem(&multiple);
            rest.is_zero().then_some((lane, weight))
        };
        lanes.into_iter().map(weight).collect()
    }
}

impl Row<'_> {
    fn without_common_factor(mut self) -> Self {
        let weights = self.monomials.values().chain(self.lanes.values());
        let common = weights.fold(BigInt::zero(), |common, weight| common.gcd(weight));
        if common > BigInt::one() {
            let all = self.monomials.values_mut().chain(self.lanes.values_mut());
            all.for_each(|weight| *weight /= &common);
        }
        self
    }
}

/// `times · one − taken · other`, without terms that are 0.
fn eliminated<K: Ord + Copy>(
    one: SumOfMultiples<K>,
    times: &BigInt,
    other: &SumOfMultiples<K>,
    taken: &BigInt,
) -> SumOfMultiples<K> {
    let mut found: SumOfMultiples<K> = one.into_iter().map(|(key, weight)| (key, weight * times)).collect();
    for (key, weight) in other {
        *found.entry(*key).or_default() -= weight * taken;
    }
    found.retain(|_, weight| !weight.is_zero());
    found
}

/// Adds a multiple of a quantity as monomials.
fn add_monomials<'a>(form: &mut SumOfMultiples<&'a Quantity>, quantity: &'a Quantity, weight: &BigInt) {
    match quantity {
        Quantity::Combination(terms) => {
            terms.iter().for_each(|(factor, quantity)| add_monomials(form, quantity, &(weight * factor)));
        }
        monomial => *form.entry(monomial).or_default() += weight,
    }
    form.retain(|_, weight| !weight.is_zero());
}

#[cfg(test)]
mod tests;
