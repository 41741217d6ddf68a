// SPDX-License-Identifier: Apache-2.0
//! Aggregates of clear values in their order. The query engine finds the values at two places next to one another; between exact ones the owner
//! takes the value in proportion, rounded once.

use sqlparser::ast::Expr;

use super::Builder;
use crate::aggregates::{Fraction, OrderFunction};
use crate::error::{PlanError, Unfit};
use crate::expr::{Kind, normalise};
use crate::plan::{LinearForm, Moment, OwnerAggregate, Predicate};
use crate::sql::quoted;
use crate::sql::types::{Family, family};

/// Plans the function; `text` is the call as typed.
///
/// # Errors
/// [`PlanError::WrongType`] for values between texts or truth values.
pub(super) fn aggregate(
    builder: &mut Builder<'_>,
    of: OrderFunction,
    argument: &Expr,
    condition: Option<&Predicate>,
    text: &str,
) -> Result<OwnerAggregate, PlanError> {
    let only = |sql: String| match condition {
        None => sql,
        Some(condition) => format!("CASE WHEN {condition} THEN {sql} END"),
    };
    // Where a row stands for several, the functions take their number too.
    let counted = builder.count.map_or(String::new(), |count| format!(", {}", quoted(count)));
    let call = match of {
        OrderFunction::Mode => format!("mode({}{counted})", only(argument.to_string())),
        OrderFunction::QuantileDisc { part, descending } => {
            let (argument, from_end) = (only(argument.to_string()), u8::from(descending));
            format!("quantile_disc({argument}, {}, {from_end}{counted})", terms(part))
        }
        OrderFunction::QuantileCont(part) => match family(builder.schema, argument) {
            Some(Family::Text | Family::Bool) => {
                return Err(PlanError::WrongType { text: text.to_owned(), reason: Unfit::NotANumber });
            }
            Some(Family::Time) => {
                let argument = only(format!("CAST({argument} AS TIMESTAMP(6))"));
                format!("quantile_cont({argument}, {}{counted})", terms(part))
            }
            Some(Family::Number) | None => match exact(builder, argument) {
                Some((units, scale)) => return Ok(in_proportion(builder, part, &only(units), scale)),
                None => {
                    let argument = only(format!("CAST({argument} AS DOUBLE)"));
                    format!("quantile_cont({argument}, {}{counted})", terms(part))
                }
            },
        },
    };
    Ok(OwnerAggregate::ClearOutput { index: builder.clear(call) })
}

/// The value between two exact ones, by the owner.
fn in_proportion(builder: &mut Builder<'_>, part: Fraction, units: &str, scale: u8) -> OwnerAggregate {
    let counted = builder.count.map_or(String::new(), |count| format!(", {}", quoted(count)));
    let count = match builder.count {
        None => builder.clear(format!("COUNT({units})")),
        Some(_) => builder.count_where(Some(&Predicate::clear(format!("{units} IS NOT NULL")))),
    };
    let mut moment = |call: String| LinearForm::of(Moment::Clear(builder.clear(call)));
    OwnerAggregate::Quantile {
        part,
        count: LinearForm::of(Moment::Clear(count)),
        low: moment(format!("quantile_at({units}, {}, 0{counted})", terms(part))),
        high: moment(format!("quantile_at({units}, {}, 1{counted})", terms(part))),
        scale,
    }
}

/// The two arguments that stand for a part of the rows.
fn terms(part: Fraction) -> String {
    format!("{}, {}", part.numerator, part.denominator)
}

/// An exact number as SQL of integer units, and their scale; `None` for floats and functions.
fn exact(builder: &Builder<'_>, argument: &Expr) -> Option<(String, u8)> {
    let pieces = normalise(builder.schema, argument).ok()?;
    let [piece] = pieces.as_slice() else { return None };
    let weight = piece.clear_weight().filter(|_| piece.kind == Kind::Number)?;
    let scale = u8::try_from(weight.scale).ok()?;
    let units = weight.into_units();
    let width = units.width()?;
    Some((units.render(width), scale))
}
