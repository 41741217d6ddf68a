// SPDX-License-Identifier: Apache-2.0
//! Covariances, correlations and regressions, as functions of ours in the query engine.

use sqlparser::ast::{
    CastKind, DataType, ExactNumberInfo, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList,
    FunctionArguments, Ident, ObjectName, ObjectNamePart, SelectItem, Value,
};

use super::super::joint::expand;
use super::rows::only_where;
use crate::aggregates::{FitPart, Jointly};
use crate::error::PlanError;

/// The outputs of a SELECT with those that `LINREG` and `LOGREG` stand for.
///
/// # Errors
/// Those of the regressions' arguments.
pub(super) fn regressions(items: Vec<SelectItem>) -> Result<Vec<SelectItem>, PlanError> {
    let mut all = Vec::with_capacity(items.len());
    for item in items {
        let (expanded, prefix) = match &item {
            SelectItem::UnnamedExpr(expr) => (expand(expr), String::new()),
            SelectItem::ExprWithAlias { expr, alias } => (expand(expr), format!("{}_", alias.value)),
            _ => (None, String::new()),
        };
        let Some(outputs) = expanded else {
            all.push(item);
            continue;
        };
        all.extend(outputs?.into_iter().map(|(expr, name)| {
            let alias = Ident::with_quote('"', format!("{prefix}{name}"));
            SelectItem::ExprWithAlias { expr, alias }
        }));
    }
    Ok(all)
}

/// Writes a function of exact sums.
pub(super) fn of_exact_sums(function: &mut Function, of: Jointly, arguments: &[Expr]) {
    match of {
        Jointly::Count => counted(function, arguments),
        Jointly::Function(of) => {
            let code = Expr::Value(Value::SingleQuotedString(of.code()).into());
            set(function, "exact_joint", std::iter::once(code).chain(arguments.iter().cloned()));
        }
    }
}

/// Writes a part of a logistic regression: the fit, and what takes it apart.
pub(super) fn fitted(function: &mut Function, part: FitPart, arguments: &[Expr]) {
    let place = match part {
        FitPart::Count => return counted(function, arguments),
        FitPart::R2 => 0,
        FitPart::Intercept => 1,
        FitPart::Slope(variable) => variable.saturating_add(1),
    };
    let cast = |expr: Expr, data_type| Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(expr),
        data_type,
        array: false,
        format: None,
    };
    let number = |number: usize| Expr::Value(Value::Number(number.to_string(), false).into());
    let rows = cast(number(1), DataType::BigInt(None));
    let doubles = arguments.iter().map(|value| cast(value.clone(), DataType::Double(ExactNumberInfo::None)));
    let mut fit = function.clone();
    set(&mut fit, "logreg", std::iter::once(rows).chain(doubles));
    function.filter = None;
    set(function, "logreg_part", [Expr::Function(fit), number(place)]);
}

/// Writes the number of rows in which all have a value.
fn counted(function: &mut Function, arguments: &[Expr]) {
    only_where(&mut function.filter, arguments);
    set(function, "count", []);
    if let FunctionArguments::List(list) = &mut function.args {
        list.args = vec![FunctionArg::Unnamed(FunctionArgExpr::Wildcard)];
    }
}

fn set(function: &mut Function, name: &str, arguments: impl IntoIterator<Item = Expr>) {
    let args = arguments.into_iter().map(|argument| FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)));
    let list = FunctionArgumentList { duplicate_treatment: None, args: args.collect(), clauses: Vec::new() };
    function.name = ObjectName(vec![ObjectNamePart::Identifier(Ident::new(name))]);
    function.args = FunctionArguments::List(list);
}
