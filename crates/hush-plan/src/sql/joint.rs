// SPDX-License-Identifier: Apache-2.0
//! Aggregates of several columns: covariance, correlation, regression. The dependent variable comes first, as in SQL.
//!
//! `LINREG(y, x1, …)` in the list of outputs stands for one output per coefficient and two more: `intercept`, the
//! name of each `x`, `r2` and `n`. Each is an aggregate of its own that can stand wherever aggregates can:
//! `LINREG_INTERCEPT(y, x1, …)`, `LINREG_SLOPE(i, y, x1, …)` of `x` number `i`, `LINREG_R2` and `LINREG_COUNT`. So it is with
//! `LOGREG(y, x1, …)`.

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, ObjectNamePart, Value,
};

use super::expression::{bare, column_name, expressions, plain_name, shown};
use super::number::numeric_literal;
use crate::aggregates::Arguments;
use crate::error::{Clause, Feature, Measure, PlanError};

/// Names of the regressions with several outputs.
pub(super) const REGRESSIONS: [&str; 2] = ["linreg", "logreg"];
/// Most `x` of a regression: its plan sums some `k²/2` products.
const MAX_FEATURES: usize = 32;

/// The variables of a call, and the number of its slope if it has one.
///
/// # Errors
/// [`PlanError::UnsupportedCall`] for a wrong number of arguments, [`PlanError::TooComplex`] above [`MAX_FEATURES`],
/// [`PlanError::Position`] for a slope that there is not.
pub(super) fn arguments(
    name: &str,
    kind: Arguments,
    mut arguments: Vec<Expr>,
) -> Result<(Option<usize>, Vec<Expr>), PlanError> {
    let is_numbered = kind == Arguments::NumberedFeatures && !arguments.is_empty();
    let number = is_numbered.then(|| arguments.remove(0));
    match kind {
        Arguments::Features | Arguments::NumberedFeatures => check_features(name, &arguments)?,
        _ if arguments.len() != 2 => return Err(refused(name, &arguments, Feature::NotAPair)),
        _ => {}
    }
    let Some(number) = number else { return Ok((None, arguments)) };
    let features = arguments.len() - 1;
    let position = PlanError::Position { clause: Clause::Select, low: 1, high: features as u64 };
    let index = match numeric_literal(&number) {
        Some((value, 0)) => usize::try_from(value).ok().filter(|index| (1..=features).contains(index)),
        _ => None,
    };
    Ok((Some(index.ok_or(position)?), arguments))
}

/// A refusal of a call, as it may be written.
fn refused(name: &str, arguments: &[Expr], feature: Feature) -> PlanError {
    let arguments: Vec<String> = arguments.iter().map(shown).collect();
    let text = format!("{}({})", name.to_ascii_uppercase(), arguments.join(", "));
    PlanError::UnsupportedCall { text, feature }
}

fn check_features(name: &str, arguments: &[Expr]) -> Result<(), PlanError> {
    if arguments.len() < 2 {
        return Err(refused(name, arguments, Feature::NoFeatures));
    }
    if arguments.len() > MAX_FEATURES + 1 {
        return Err(PlanError::TooComplex { what: Measure::Features, limit: MAX_FEATURES as u64 });
    }
    Ok(())
}

/// The outputs of a regression with their names; `None` if `expr` is something else.
pub(super) fn expand(expr: &Expr) -> Option<Result<Vec<(Expr, String)>, PlanError>> {
    let Expr::Function(function) = bare(expr) else { return None };
    let name = plain_name(function)?;
    REGRESSIONS.contains(&name.as_str()).then(|| outputs(&name, function))
}

fn outputs(regression: &str, function: &Function) -> Result<Vec<(Expr, String)>, PlanError> {
    let FunctionArguments::List(list) = &function.args else {
        return Err(PlanError::Unsupported { clause: Clause::Select, feature: Feature::Subquery });
    };
    let variables = expressions(&list.args)?;
    check_features(regression, &variables)?;
    let call = |part: &str, slope: Option<usize>| {
        let mut call = function.clone();
        let name = format!("{}_{part}", regression.to_ascii_uppercase());
        call.name = ObjectName(vec![ObjectNamePart::Identifier(Ident::new(name))]);
        if let (FunctionArguments::List(list), Some(slope)) = (&mut call.args, slope) {
            let number = Expr::Value(Value::Number(slope.to_string(), false).into());
            list.args.insert(0, FunctionArg::Unnamed(FunctionArgExpr::Expr(number)));
        }
        Expr::Function(call)
    };
    let name_of =
        |variable: &Expr| column_name(bare(variable)).map_or_else(|| shown(variable), str::to_owned);
    let slopes = (1..).zip(&variables[1..]);
    let slopes = slopes.map(|(index, x)| (call("SLOPE", Some(index)), name_of(x)));
    let mut outputs = vec![(call("INTERCEPT", None), "intercept".to_owned())];
    outputs.extend(slopes);
    outputs.push((call("R2", None), "r2".to_owned()));
    outputs.push((call("COUNT", None), "n".to_owned()));
    Ok(outputs)
}
