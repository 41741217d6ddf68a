// SPDX-License-Identifier: Apache-2.0
//! Logistic regression of clear columns, by a function of ours in the query engine. All parts of a fit are taken from one.

use sqlparser::ast::Expr;

use super::Builder;
use crate::aggregates::FitPart;
use crate::error::{PlanError, Unfit};
use crate::plan::{LinearForm, Moment, OwnerAggregate, Predicate};
use crate::sql::types::{Family, family};
use crate::sql::{quoted, shown};

/// Plans a part of the fit of `arguments`: the outcome, then the variables.
///
/// # Errors
/// [`PlanError::WrongType`] for texts and times. An outcome outside of 0 to 1 is found when the rows are read.
pub(super) fn aggregate(
    builder: &mut Builder<'_>,
    part: FitPart,
    arguments: &[Expr],
    condition: Option<&Predicate>,
) -> Result<OwnerAggregate, PlanError> {
    for argument in arguments {
        let reason = match family(builder.schema, argument) {
            Some(Family::Text) => Unfit::Text,
            Some(Family::Time) => Unfit::DateArithmetic,
            Some(Family::Bool | Family::Number) | None => continue,
        };
        return Err(PlanError::WrongType { text: shown(argument), reason });
    }
    if part == FitPart::Count {
        let known = arguments.iter().map(|argument| Predicate::clear(format!("({argument}) IS NOT NULL")));
        let counted = Predicate::all(condition.cloned().into_iter().chain(known));
        let index = builder.count_where(counted.as_ref());
        return Ok(OwnerAggregate::Count { count: LinearForm::of(Moment::Clear(index)) });
    }
    let stands_for = builder.count.map_or("1".to_owned(), quoted);
    let doubles = arguments.iter().enumerate().map(|(place, argument)| match condition {
        Some(condition) if place == 0 => format!("CASE WHEN {condition} THEN CAST({argument} AS DOUBLE) END"),
        _ => format!("CAST({argument} AS DOUBLE)"),
    });
    let doubles: Vec<String> = doubles.collect();
    let fit = format!("logreg(CAST({stands_for} AS BIGINT), {})", doubles.join(", "));
    let place = match part {
        FitPart::Count | FitPart::R2 => 0,
        FitPart::Intercept => 1,
        FitPart::Slope(variable) => 1 + variable,
    };
    Ok(OwnerAggregate::ClearOutput { index: builder.clear(format!("logreg_part({fit}, {place})")) })
}
