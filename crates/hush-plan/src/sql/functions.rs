// SPDX-License-Identifier: Apache-2.0
//! The functions: which are aggregates, and which scalar ones an expression may use.

use sqlparser::ast::{
    DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause,
    FunctionArguments,
};

use super::expression::{expressions, holds, plain_name};
use super::joint;
use super::order;
use super::windows::check_window;
use crate::aggregates::{self, Aggregate, Arguments, Entry, FitPart, JointFunction, Jointly, RowFunction};
use crate::error::{Clause, Feature, PlanError};
use crate::nearest::nearest;

/// One call of an aggregate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    /// Lower-case name as typed.
    pub(crate) name: String,
    /// The function of that name.
    pub(crate) entry: &'static Entry,
    /// The computation, with the number of a slope.
    pub(crate) aggregate: Aggregate,
    /// None for `*`; several for [`Aggregate::Jointly`] and [`Aggregate::Fitted`], the dependent variable first.
    pub(crate) arguments: Vec<Expr>,
    pub(crate) distinct: bool,
    pub(crate) filter: Option<Expr>,
}

/// Reads `expr` as a call of an aggregate; `None` if it is something else.
pub(crate) fn aggregate(expr: &Expr) -> Option<Result<Call, PlanError>> {
    let Expr::Function(function) = expr else { return None };
    if function.over.is_some() {
        return None;
    }
    let name = plain_name(function)?;
    if joint::REGRESSIONS.contains(&name.as_str()) {
        let feature = Feature::SeveralOutputs;
        return Some(Err(PlanError::Unsupported { clause: Clause::Select, feature }));
    }
    let entry = aggregates::named(&name)?;
    Some(read_call(function, name, entry))
}

fn read_call(function: &Function, name: String, entry: &'static Entry) -> Result<Call, PlanError> {
    let refuse = |feature| PlanError::Unsupported { clause: Clause::Select, feature };
    let FunctionArguments::List(list) = &function.args else { return Err(refuse(Feature::Subquery)) };
    let takes_order = match entry.computes {
        Aggregate::Rows(RowFunction::First | RowFunction::Last) => list.clauses.iter().all(is_order),
        Aggregate::Rows(RowFunction::Joined) => {
            list.clauses.iter().all(is_order) && (list.clauses.is_empty() || function.within_group.is_empty())
        }
        _ => list.clauses.is_empty(),
    };
    let takes_group = matches!(entry.arguments, Arguments::OneOrSeparator | Arguments::PartWithinGroup);
    let plain = matches!(function.parameters, FunctionArguments::None)
        && function.null_treatment.is_none()
        && (function.within_group.is_empty() || takes_group)
        && !function.uses_odbc_syntax
        && takes_order;
    if !plain {
        return Err(refuse(Feature::Dialect));
    }
    let distinct = matches!(list.duplicate_treatment, Some(DuplicateTreatment::Distinct));
    let takes_rows = entry.arguments == Arguments::OneOrRows && !distinct;
    let filter = function.filter.as_deref().cloned();
    if let Aggregate::Fitted(_) | Aggregate::Jointly(_) = entry.computes {
        if distinct {
            return Err(refuse(Feature::JointDistinct));
        }
        let (slope, arguments) = joint::arguments(&name, entry.arguments, expressions(&list.args)?)?;
        let aggregate = match (entry.computes, slope) {
            (Aggregate::Fitted(_), Some(index)) => Aggregate::Fitted(FitPart::Slope(index)),
            (Aggregate::Jointly(_), Some(index)) => {
                Aggregate::Jointly(Jointly::Function(JointFunction::Slope(index)))
            }
            (other, _) => other,
        };
        return Ok(Call { name, entry, aggregate, arguments, distinct, filter });
    }
    if let Aggregate::Ordered(of) = entry.computes {
        if distinct {
            return Err(refuse(Feature::Dialect));
        }
        let arguments = expressions(&list.args)?;
        let (of, argument) = order::read(function, entry.arguments, of, arguments)?;
        let (aggregate, arguments) = (Aggregate::Ordered(of), vec![argument]);
        return Ok(Call { name, entry, aggregate, arguments, distinct, filter });
    }
    if let Aggregate::Rows(_) = entry.computes {
        let arguments = expressions(&list.args)?;
        let fits = match entry.arguments {
            Arguments::Pair => arguments.len() == 2,
            Arguments::OneOrSeparator => (1..=2).contains(&arguments.len()),
            _ => arguments.len() == 1,
        };
        if distinct || !fits {
            return Err(refuse(Feature::Dialect));
        }
        return Ok(Call { name, entry, aggregate: entry.computes, arguments, distinct, filter });
    }
    let arguments = match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))] => vec![argument.clone()],
        [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)] if takes_rows => Vec::new(),
        [] if takes_rows => Vec::new(),
        _ => return Err(refuse(Feature::Dialect)),
    };
    Ok(Call { name, entry, aggregate: entry.computes, arguments, distinct, filter })
}

/// Whether a clause inside a call is the order of its rows.
fn is_order(clause: &FunctionArgumentClause) -> bool {
    matches!(clause, FunctionArgumentClause::OrderBy(keys) if keys.iter().all(|key| key.with_fill.is_none()))
}

/// Whether a call tells sets of keys apart.
pub(super) fn is_grouping(function: &Function) -> bool {
    function.over.is_none() && plain_name(function).as_deref() == Some("grouping")
}

/// Whether an aggregate stands anywhere in `expr`.
pub(crate) fn has_aggregate(expr: &Expr) -> bool {
    holds(expr, |part| aggregate(part).is_some())
}

/// Checks that `function` is a window function, or a deterministic scalar function on the list, plainly called.
pub(super) fn check_scalar(function: &Function, clause: Clause) -> Result<(), PlanError> {
    let refuse = |feature| PlanError::Unsupported { clause, feature };
    if function.over.is_some() {
        return check_window(function, clause);
    }
    if is_grouping(function) {
        return Err(refuse(Feature::GroupingSets));
    }
    let name = plain_name(function);
    if !name.as_ref().is_some_and(|name| SCALAR.contains(&name.as_str())) {
        let known = SCALAR.iter().copied().chain(aggregates::suggestions()).chain(joint::REGRESSIONS);
        let nearest = name.and_then(|name| nearest(&name, known));
        return Err(PlanError::UnknownFunction { clause, name: function.name.to_string(), nearest });
    }
    let FunctionArguments::List(list) = &function.args else { return Err(refuse(Feature::Subquery)) };
    if list.args.iter().any(|arg| !matches!(arg, FunctionArg::Unnamed(FunctionArgExpr::Expr(_)))) {
        return Err(refuse(Feature::NamedArgument));
    }
    let plain = matches!(function.parameters, FunctionArguments::None)
        && function.filter.is_none()
        && function.null_treatment.is_none()
        && function.within_group.is_empty()
        && !function.uses_odbc_syntax
        && list.duplicate_treatment.is_none()
        && list.clauses.is_empty();
    if plain { Ok(()) } else { Err(refuse(Feature::Dialect)) }
}

/// Scalar functions of the query engine that depend on their arguments alone.
const SCALAR: &[&str] = &[
    "abs",
    "ascii",
    "bit_length",
    "btrim",
    "cbrt",
    "ceil",
    "char_length",
    "character_length",
    "chr",
    "coalesce",
    "concat",
    "concat_ws",
    "contains",
    "date_bin",
    "date_part",
    "date_trunc",
    "datepart",
    "datetrunc",
    "ends_with",
    "exp",
    "floor",
    "greatest",
    "ifnull",
    "initcap",
    "isnan",
    "least",
    "left",
    "length",
    "levenshtein",
    "ln",
    "log",
    "log10",
    "log2",
    "lower",
    "ltrim",
    "make_date",
    "nullif",
    "nvl",
    "nvl2",
    "octet_length",
    "pow",
    "power",
    "regexp_count",
    "regexp_like",
    "regexp_replace",
    "replace",
    "reverse",
    "right",
    "round",
    "rtrim",
    "signum",
    "split_part",
    "sqrt",
    "starts_with",
    "strpos",
    "substr",
    "to_char",
    "to_date",
    "to_timestamp",
    "translate",
    "trunc",
    "upper",
];
