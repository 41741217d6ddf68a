// SPDX-License-Identifier: Apache-2.0
//! Aggregates of the values in their order: MODE, medians and other quantiles, also as `PERCENTILE_CONT(p) WITHIN GROUP (ORDER BY x)`.

use sqlparser::ast::{Expr, Function};

use super::number::numeric_literal;
use crate::aggregates::{Arguments, Fraction, OrderFunction};
use crate::error::{Clause, Feature, PlanError};

/// Most digits after the point of a part of the rows.
const MAX_DIGITS: u32 = 18;

/// The function with its part of the rows, and the argument.
///
/// # Errors
/// [`PlanError::Unsupported`] for other arguments, and for a part that is no number from 0 to 1 of at most [`MAX_DIGITS`] digits.
pub(super) fn read(
    function: &Function,
    kind: Arguments,
    of: OrderFunction,
    arguments: Vec<Expr>,
) -> Result<(OrderFunction, Expr), PlanError> {
    let refused = |feature| PlanError::Unsupported { clause: Clause::Select, feature };
    let mut arguments = arguments.into_iter();
    let (argument, part, descending) = match (kind, arguments.next(), arguments.next(), arguments.next()) {
        (Arguments::One, Some(argument), None, None) => return Ok((of, argument)),
        (Arguments::OneAndPart, Some(argument), Some(part), None) => (argument, part, false),
        (Arguments::PartWithinGroup, Some(part), None, None) => {
            let [order] = function.within_group.as_slice() else { return Err(refused(Feature::Dialect)) };
            if order.options.nulls_first.is_some() || order.with_fill.is_some() {
                return Err(refused(Feature::Dialect));
            }
            (order.expr.clone(), part, order.options.asc == Some(false))
        }
        _ => return Err(refused(Feature::Dialect)),
    };
    let part = fraction(&part).ok_or(refused(Feature::Part))?;
    let of = match of {
        OrderFunction::QuantileDisc { .. } => OrderFunction::QuantileDisc { part, descending },
        // From the other end it is the same place.
        _ if descending => {
            let numerator = part.denominator - part.numerator;
            OrderFunction::QuantileCont(Fraction { numerator, ..part })
        }
        _ => OrderFunction::QuantileCont(part),
    };
    Ok((of, argument))
}

/// A literal from 0 to 1.
fn fraction(literal: &Expr) -> Option<Fraction> {
    let (units, digits) = numeric_literal(literal)?;
    let denominator = 10_u64.checked_pow(digits).filter(|_| digits <= MAX_DIGITS)?;
    let numerator = u64::try_from(units).ok().filter(|numerator| *numerator <= denominator)?;
    Some(Fraction { numerator, denominator })
}
