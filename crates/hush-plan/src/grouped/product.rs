// SPDX-License-Identifier: Apache-2.0
//! PRODUCT and GEOMEAN by way of logarithms: a sum of any number of rows, where a product of ciphertexts would need a
//! depth of `log2 rows` and a plaintext of as many bits as all rows have together.
//!
//! `Π x = (−1)^{#negative} · 0^{#zero} · exp(Σ ln |x|)`. The owner encrypts logarithms with more digits than a double has.

use num_traits::One;

use super::Builder;
use crate::aggregates::ProductFunction;
use crate::error::{PlanError, Unfit};
use crate::expr::{Kind, Monomial, Piece, Weight};
use crate::plan::{LinearForm, OwnerAggregate, ProductMoments};
use crate::quantity::Quantity;
use crate::schema::units::column_bounds;

/// Plans `function` of an argument whose pieces are products of encrypted columns and constants; `text` is the call as
/// typed.
///
/// # Errors
/// [`PlanError::WrongType`] for other pieces, dates and approximate columns.
pub(super) fn aggregate(
    builder: &mut Builder<'_>,
    function: ProductFunction,
    pieces: &[Piece],
    text: &str,
) -> Result<OwnerAggregate, PlanError> {
    let unfit = |reason| PlanError::WrongType { text: text.to_owned(), reason };
    let count = builder.count(pieces, text)?.linear;
    let mut moments = ProductMoments::default();
    for piece in pieces {
        if piece.kind != Kind::Number {
            return Err(unfit(Unfit::DateArithmetic));
        }
        let (monomial, weight) = match piece.terms.iter().collect::<Vec<_>>().as_slice() {
            // A constant 0.
            [] => (Monomial::one(), Weight::constant(0.into(), 0)),
            [(monomial, weight)] if weight.units.is_none() => ((*monomial).clone(), (*weight).clone()),
            _ => return Err(unfit(Unfit::NotAProduct)),
        };
        if builder.is_approximate(&monomial) {
            return Err(unfit(Unfit::Approximate));
        }
        if !weight.factor.is_one() || weight.scale > 0 {
            let rows = builder.count(std::slice::from_ref(piece), text)?.linear;
            moments.constants.push((weight.factor.to_string(), weight.scale, rows));
        }
        let factors = monomial.factors();
        if factors.is_empty() {
            continue;
        }
        let (can_be_negative, can_be_zero) = signs(builder, factors);
        let mut add = |form: &mut LinearForm, quantity| {
            form.terms.push(("1".to_owned(), builder.quantity_moment(piece, &monomial, quantity, text)?));
            Ok::<_, PlanError>(())
        };
        add(&mut moments.logs, Quantity::Log(factors.to_vec()))?;
        if can_be_negative {
            add(&mut moments.negatives, Quantity::Negative(factors.to_vec()))?;
        }
        if can_be_zero {
            add(&mut moments.zeros, Quantity::Zero(factors.to_vec()))?;
        }
    }
    Ok(OwnerAggregate::Product { function, count, moments })
}

/// Whether a product can be negative, and whether it can be 0, by the declared ranges.
fn signs(builder: &Builder<'_>, factors: &[String]) -> (bool, bool) {
    let low = |name: &String| {
        builder.schema.column(name).and_then(column_bounds).map_or(i128::MIN, |range| range.low)
    };
    let is_odd = |name: &&String| factors.iter().filter(|other| other == name).count() % 2 == 1;
    let has_zero = |name: &String| {
        let range = builder.schema.column(name).and_then(column_bounds);
        range.is_none_or(|range| range.low <= 0 && range.high >= 0)
    };
    (factors.iter().filter(is_odd).any(|name| low(name) < 0), factors.iter().any(has_zero))
}
