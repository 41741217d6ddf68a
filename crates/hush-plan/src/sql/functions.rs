// SPDX-License-Identifier: Apache-2.0
//! The functions: which are aggregates, and which scalar ones an expression may use.

use sqlparser::ast::{
    DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectNamePart,
};

use super::windows::check_window;
use super::{holds, joint};
use crate::error::{Clause, Feature, PlanError};
use crate::nearest::nearest;
use crate::plan::{JointFunction, MomentFunction, ProductFunction};

/// What an aggregate computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aggregate {
    /// By the server's query engine only, under this name.
    Engine(&'static str),
    /// From exact sums; works on encrypted columns.
    FromSums(FromSums),
    /// From exact sums over the rows where several arguments all have a value; works on encrypted columns.
    Jointly(Jointly),
}

/// What exact sums of one argument become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FromSums {
    /// COUNT
    Count,
    Moments(MomentFunction),
    Product(ProductFunction),
}

/// What exact sums of several arguments become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Jointly {
    /// The number of rows where all have a value.
    Count,
    Function(JointFunction),
}

/// One call of an aggregate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    /// Lower-case name as typed.
    pub(crate) name: String,
    pub(crate) aggregate: Aggregate,
    /// None for `*`; several for [`Aggregate::Jointly`], the dependent variable first.
    pub(crate) arguments: Vec<Expr>,
    pub(crate) distinct: bool,
    pub(crate) filter: Option<Expr>,
}

/// The aggregate function that `name` means.
fn aggregate_named(name: &str) -> Option<Aggregate> {
    use MomentFunction::{Avg, StddevPop, StddevSamp, Sum, VarPop, VarSamp};
    use ProductFunction::{Geomean, Product};
    let moments = |function| Aggregate::FromSums(FromSums::Moments(function));
    let product = |function| Aggregate::FromSums(FromSums::Product(function));
    Some(match name {
        "avg" | "mean" => moments(Avg),
        "bool_and" => Aggregate::Engine("bool_and"),
        "bool_or" => Aggregate::Engine("bool_or"),
        "count" => Aggregate::FromSums(FromSums::Count),
        "geomean" | "geometric_mean" => product(Geomean),
        "max" => Aggregate::Engine("max"),
        "min" => Aggregate::Engine("min"),
        "product" => product(Product),
        "stddev" | "stddev_samp" => moments(StddevSamp),
        "stddev_pop" => moments(StddevPop),
        "sum" => moments(Sum),
        "var_pop" | "variance_pop" => moments(VarPop),
        "var" | "var_samp" | "variance" => moments(VarSamp),
        _ => Aggregate::Jointly(joint::named(name)?),
    })
}

/// Reads `expr` as a call of an aggregate; `None` if it is something else.
pub(crate) fn aggregate(expr: &Expr) -> Option<Result<Call, PlanError>> {
    let Expr::Function(function) = expr else { return None };
    if function.over.is_some() {
        return None;
    }
    let name = plain_name(function)?;
    if name == joint::LINREG {
        let feature = Feature::SeveralOutputs;
        return Some(Err(PlanError::Unsupported { clause: Clause::Select, feature }));
    }
    let aggregate = aggregate_named(&name)?;
    Some(read_call(function, name, aggregate))
}

fn read_call(function: &Function, name: String, aggregate: Aggregate) -> Result<Call, PlanError> {
    let refuse = |feature| PlanError::Unsupported { clause: Clause::Select, feature };
    let FunctionArguments::List(list) = &function.args else { return Err(refuse(Feature::Subquery)) };
    let plain = matches!(function.parameters, FunctionArguments::None)
        && function.null_treatment.is_none()
        && function.within_group.is_empty()
        && !function.uses_odbc_syntax
        && list.clauses.is_empty();
    if !plain {
        return Err(refuse(Feature::Dialect));
    }
    let distinct = matches!(list.duplicate_treatment, Some(DuplicateTreatment::Distinct));
    let is_count = aggregate == Aggregate::FromSums(FromSums::Count);
    let filter = function.filter.as_deref().cloned();
    if let Aggregate::Jointly(joint) = aggregate {
        if distinct {
            return Err(refuse(Feature::JointDistinct));
        }
        let (joint, arguments) = joint::arguments(&name, joint, expressions(&list.args)?)?;
        return Ok(Call { name, aggregate: Aggregate::Jointly(joint), arguments, distinct, filter });
    }
    let arguments = match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))] => vec![argument.clone()],
        [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)] if is_count && !distinct => Vec::new(),
        [] if is_count && !distinct => Vec::new(),
        _ => return Err(refuse(Feature::Dialect)),
    };
    Ok(Call { name, aggregate, arguments, distinct, filter })
}

/// Plain arguments.
pub(super) fn expressions(arguments: &[FunctionArg]) -> Result<Vec<Expr>, PlanError> {
    let refuse = || PlanError::Unsupported { clause: Clause::Select, feature: Feature::Dialect };
    let plain = arguments.iter().map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) => Ok(argument.clone()),
        _ => Err(refuse()),
    });
    plain.collect()
}

/// Whether an aggregate stands anywhere in `expr`.
pub(crate) fn has_aggregate(expr: &Expr) -> bool {
    holds(expr, |part| aggregate(part).is_some())
}

/// Lower-case name of a function without qualifier.
pub(super) fn plain_name(function: &Function) -> Option<String> {
    match function.name.0.as_slice() {
        [ObjectNamePart::Identifier(ident)] => Some(ident.value.to_ascii_lowercase()),
        _ => None,
    }
}

/// Checks that `function` is a window function, or a deterministic scalar function on the list, plainly called.
pub(super) fn check_scalar(function: &Function, clause: Clause) -> Result<(), PlanError> {
    let refuse = |feature| PlanError::Unsupported { clause, feature };
    if function.over.is_some() {
        return check_window(function, clause);
    }
    let name = plain_name(function);
    if !name.as_ref().is_some_and(|name| SCALAR.contains(&name.as_str())) {
        let known = SCALAR.iter().chain(AGGREGATES).copied();
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

/// Aggregates, as somebody may have meant them.
const AGGREGATES: &[&str] = &[
    "avg",
    "corr",
    "count",
    "covar_pop",
    "covar_samp",
    "geomean",
    "linreg",
    "max",
    "min",
    "product",
    "stddev",
    "stddev_pop",
    "sum",
    "var_pop",
    "variance",
];

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
