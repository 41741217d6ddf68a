// SPDX-License-Identifier: Apache-2.0
//! The engine's aggregates in questions about several tables: as exact as in questions about one.
//!
//! The engine adds up decimals of up to 38 digits in 128 bits, where a sum can wrap around, and divides for a mean after both numbers became
//! doubles. Here sums have up to 76 digits where 38 might not hold them, and means and quantiles are rounded once.

use std::sync::Arc;

use arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::expr::{AggregateFunction, Cast, WindowFunction};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    AggregateUDF, Expr, ExprSchemable, LogicalPlan, WindowFunctionDefinition, cast,
};
use datafusion::optimizer::utils::NamePreserver;
use datafusion::optimizer::{Analyzer, AnalyzerRule};
use hush_exec::coerce::SettleTypes;
use hush_exec::ordered;
use hush_plan::PlanError;
use hush_plan::error::{Clause, Feature, Unfit};

use super::sets::PlainSets;
use crate::finish::moments;

/// Digits of a number whose sum over 10^19 rows has 38.
const SAFE_DIGITS: u8 = 19;

/// The analyzer rules of [`SettleTypes`] with [`PlainSets`] and [`ExactAggregates`] before them and [`WideSums`] behind, and then once more the engine's own: what stands beside
/// a sum has to be of its new type.
pub(super) fn exact_rules() -> Vec<Arc<dyn AnalyzerRule + Send + Sync>> {
    let mut rules: Vec<Arc<dyn AnalyzerRule + Send + Sync>> =
        vec![Arc::new(PlainSets), Arc::new(ExactAggregates)];
    rules.extend(SettleTypes::first());
    rules.push(Arc::new(WideSums));
    rules.extend(Analyzer::new().rules);
    rules
}

/// Sums of products of integers, whose type is known once types are settled: 38 digits hold such a product, and not its sum.
#[derive(Debug)]
struct WideSums;

impl AnalyzerRule for WideSums {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        everywhere(plan, |part, schema| match part {
            Expr::AggregateFunction(mut call) => {
                widen(call.func.name(), &mut call.params.args, schema)?;
                Ok(Transformed::yes(Expr::AggregateFunction(call)))
            }
            Expr::WindowFunction(mut call) => {
                let name = call.fun.name().to_owned();
                widen(&name, &mut call.params.args, schema)?;
                Ok(Transformed::yes(Expr::WindowFunction(call)))
            }
            other => Ok(Transformed::no(other)),
        })
    }

    fn name(&self) -> &'static str {
        "wide_sums"
    }
}

/// Takes a sum in wide decimals, but that of integers and of decimals of few digits: 38 digits hold it.
fn widen(function: &str, arguments: &mut [Expr], schema: &DFSchema) -> Result<()> {
    let [argument] = arguments else { return Ok(()) };
    let mut bare = &*argument;
    while let Expr::Cast(Cast { expr, .. }) = bare {
        bare = expr;
    }
    let is_small = match bare.get_type(schema)? {
        DataType::Decimal128(precision, _) => precision <= SAFE_DIGITS,
        kind => kind.is_integer(),
    };
    if let Some(wide) = wide(function, &argument.get_type(schema)?).filter(|_| !is_small) {
        *argument = cast(argument.clone(), wide);
    }
    Ok(())
}

/// Rewrites every part of every expression of a plan, its sub-queries included. Outputs keep their names.
fn everywhere(
    plan: LogicalPlan,
    rewrite: impl Fn(Expr, &DFSchema) -> Result<Transformed<Expr>>,
) -> Result<LogicalPlan> {
    let rewritten = plan.transform_up_with_subqueries(|node| {
        let schema = merge_schema(&node.inputs());
        let names = NamePreserver::new(&node);
        let rewritten = node.map_expressions(|expr| {
            let name = names.save(&expr);
            let rewritten = expr.transform_up(|part| rewrite(part, &schema))?.data;
            Ok(Transformed::yes(name.restore(rewritten)))
        })?;
        rewritten.map_data(LogicalPlan::recompute_schema)
    })?;
    Ok(rewritten.data)
}

#[derive(Debug)]
struct ExactAggregates;

impl AnalyzerRule for ExactAggregates {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        everywhere(plan, exact)
    }

    fn name(&self) -> &'static str {
        "exact_aggregates"
    }
}

fn exact(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let kind = |argument: &Expr| argument.get_type(schema).unwrap_or(DataType::Null);
    match expr {
        Expr::AggregateFunction(mut call) => {
            if let ("exact_quantile", [argument, ..]) = (call.func.name(), call.params.args.as_mut_slice()) {
                let kind = kind(argument);
                let instant = DataType::Timestamp(TimeUnit::Microsecond, None);
                let wanted = match kind {
                    DataType::Date32 | DataType::Timestamp(..) => Some(instant),
                    _ if kind.is_floating() => Some(DataType::Float64),
                    _ if is_exact(&kind) => None,
                    _ => return Err(no_number(argument)),
                };
                if let Some(wanted) = wanted {
                    *argument = cast(argument.clone(), wanted);
                    call.func = quantile_of_doubles()?;
                }
            } else if let ("exact_joint", [_, variables @ ..]) =
                (call.func.name(), call.params.args.as_slice())
            {
                let inexact = variables.iter().find(|variable| !is_exact(&kind(variable)));
                inexact.map_or(Ok(()), |variable| Err(no_exact_number(variable)))?;
            } else if let [argument] = call.params.args.as_slice() {
                let kind = kind(argument);
                if let Some(wide) = wide(call.func.name(), &kind) {
                    call.params.args = vec![cast(argument.clone(), wide)];
                } else if call.func.name() == "avg" && is_exact(&kind) {
                    call = AggregateFunction { func: moments::average(), ..call };
                }
            }
            Ok(Transformed::yes(Expr::AggregateFunction(call)))
        }
        Expr::WindowFunction(mut call) => {
            let name = call.fun.name().to_owned();
            if let [argument] = call.params.args.as_slice() {
                let kind = kind(argument);
                refuse_moving_doubles(&call, &kind)?;
                if let Some(wide) = wide(&name, &kind) {
                    call.params.args = vec![cast(argument.clone(), wide)];
                } else if name == "avg" && is_exact(&kind) {
                    call.fun = WindowFunctionDefinition::AggregateUDF(moments::average());
                }
            }
            Ok(Transformed::yes(Expr::WindowFunction(call)))
        }
        other => Ok(Transformed::no(other)),
    }
}

/// The type in which sums of long decimals are taken.
fn wide(function: &str, kind: &DataType) -> Option<DataType> {
    match kind {
        DataType::Decimal128(precision, scale) if function == "sum" && *precision > SAFE_DIGITS => {
            Some(DataType::Decimal256(76, *scale))
        }
        _ => None,
    }
}

/// The function between doubles, and between instants.
fn quantile_of_doubles() -> Result<Arc<AggregateUDF>> {
    let found = ordered().into_iter().find(|function| function.name() == "quantile_cont");
    found.ok_or_else(|| DataFusionError::Internal("no function between doubles".to_owned()))
}

/// The refusal of a quantile between texts or truth values.
fn no_number(argument: &Expr) -> DataFusionError {
    unfit(argument, Unfit::NotANumber)
}

/// The refusal of a covariance of floats, or of what is no number.
fn no_exact_number(argument: &Expr) -> DataFusionError {
    unfit(argument, Unfit::Approximate)
}

fn unfit(argument: &Expr, reason: Unfit) -> DataFusionError {
    DataFusionError::External(Box::new(PlanError::WrongType { text: argument.to_string(), reason }))
}

fn is_exact(kind: &DataType) -> bool {
    kind.is_integer() || kind.is_decimal()
}

/// A value that leaves a frame is taken away from a running value, which loses digits of doubles.
fn refuse_moving_doubles(call: &WindowFunction, kind: &DataType) -> Result<()> {
    let WindowFunctionDefinition::AggregateUDF(function) = &call.fun else { return Ok(()) };
    let moves = !call.params.window_frame.start_bound.is_unbounded();
    if kind.is_floating() && moves && !matches!(function.name(), "count" | "min" | "max") {
        let error = PlanError::Unsupported { clause: Clause::Select, feature: Feature::MovingDoubles };
        return Err(DataFusionError::External(Box::new(error)));
    }
    Ok(())
}
