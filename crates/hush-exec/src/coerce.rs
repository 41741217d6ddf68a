// SPDX-License-Identifier: Apache-2.0
//! Settles the meaning of parsed expressions before the query engine gives them types.
//!
//! The engine's own coercions change values: it compares doubles with decimals as decimals of 15 places, gives a CASE the
//! type of its first branch, wraps integers around, and fails on a division by zero. Here numbers beside doubles become
//! doubles, branches get a common type, integers are added as decimals, a quotient by zero is NULL, times have
//! microseconds, and SIMILAR TO matches a whole text. The server reads its expressions through [`settle`]. The owner's last
//! step is a whole query; it goes through [`SettleTypes`], and so agrees.

mod exact;
mod instants;
mod times;

use std::cell::Cell;
use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::{DataFusionError, Result};
use datafusion::functions_aggregate::count::count_udaf;
use datafusion::functions_aggregate::sum::sum_udaf;
use datafusion::logical_expr::expr::{AggregateFunction, Case, Like, ScalarFunction, WindowFunction};
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::type_coercion::other::get_coerce_type_for_case_expression;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    AggregateUDF, BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator, WindowFunctionDefinition, cast,
    lit, not,
};
use datafusion::optimizer::utils::NamePreserver;
use datafusion::optimizer::{Analyzer, AnalyzerRule, Optimizer, OptimizerRule};
use hush_plan::error::Measure;
use hush_plan::sql::{TextFault, similar_regex};

pub use exact::MixedWidths;
pub use instants::functions;

/// Settles the types of an expression over the columns of `schema`.
///
/// # Errors
/// Those of the query engine, if types do not go together; a [`TextFault`] (as an external error of the engine) if the
/// expression would grow too large.
pub fn settle(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    settle_for(expr, schema, Settled::Columns)
}

/// [`settle`] for such expressions.
fn settle_for(expr: Expr, schema: &DFSchema, of: Settled) -> Result<Expr> {
    let settled = Settler { schema, of, copied: Cell::new(0) }.expand(expr)?;
    expect_few_evaluations(&settled)?;
    Ok(settled)
}

/// What expressions are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Settled {
    /// Columns of the table: the negative of an integer is one.
    Columns,
    /// Results, whose integers become decimals where they are computed with.
    Results,
}

/// Limits the work of a settled expression for one row. Subexpressions that the engine evaluates twice count twice.
///
/// # Errors
/// A [`TextFault`], as an external error of the engine.
pub(crate) fn expect_few_evaluations(settled: &Expr) -> Result<()> {
    at_most(evaluations(settled), MAX_EVALUATIONS)
}

/// [`settle`] for every expression of a query, its sub-queries included. It must run before the engine's own coercion.
#[derive(Debug)]
pub struct SettleTypes;

impl SettleTypes {
    /// The engine's analyzer rules with this one before them.
    pub fn first() -> Vec<Arc<dyn AnalyzerRule + Send + Sync>> {
        let mut rules: Vec<Arc<dyn AnalyzerRule + Send + Sync>> = vec![Arc::new(Self)];
        rules.extend(Analyzer::new().rules);
        rules
    }
}

impl AnalyzerRule for SettleTypes {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let settled = plan.transform_up_with_subqueries(|node| {
            let schema = merge_schema(&node.inputs());
            let names = NamePreserver::new(&node);
            let settled = node.map_expressions(|expr| {
                let name = names.save(&expr);
                Ok(Transformed::yes(name.restore(settle_for(expr, &schema, Settled::Results)?)))
            })?;
            settled.map_data(LogicalPlan::recompute_schema)
        })?;
        Ok(settled.data)
    }

    fn name(&self) -> &'static str {
        "settle_types"
    }
}

/// The engine's optimizer rules without its simplifier. That takes `x NOT IN (1) OR x NOT IN (2)` for true where x is
/// NULL, and `0 * x` for 0. So a condition would count other rows in a query than in masks, which are not simplified.
pub fn faithful_rules() -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    Optimizer::new().rules.into_iter().filter(|rule| rule.name() != "simplify_expressions").collect()
}

struct Settler<'a> {
    schema: &'a DFSchema,
    of: Settled,
    /// Nodes added to those of the text. A divisor is copied, so `1 / (1 / (1 / …))` doubles with each level.
    copied: Cell<usize>,
}

impl Settler<'_> {
    /// Replaces functions that other expressions define (COALESCE, NVL) by these, as the query engine's simplifier would.
    /// Settles types where the engine's rules would change values.
    ///
    /// # Errors
    /// Those of the query engine, if types do not go together.
    fn expand(&self, expr: Expr) -> Result<Expr> {
        let context = SimplifyContext::builder().with_schema(Arc::new(self.schema.clone())).build();
        let expanded = expr.transform_up(|node| match node {
            // The engine's logarithm of a decimal is a whole number for a whole base, and it has no power of an integer to a
            // decimal.
            Expr::ScalarFunction(ScalarFunction { func, args }) if matches!(func.name(), "log" | "power") => {
                let is_power = func.name() == "power";
                let args =
                    args.into_iter().map(|arg| if is_power { as_double(arg) } else { self.as_real(arg) });
                let args = args.collect();
                Ok(Transformed::yes(Expr::ScalarFunction(ScalarFunction { func, args })))
            }
            Expr::ScalarFunction(ScalarFunction { func, args })
                if func.name() == "to_timestamp" && args.len() == 1 =>
            {
                let instant = args.first().and_then(|argument| self.to_timestamp(argument));
                let call = || Expr::ScalarFunction(ScalarFunction { func, args });
                Ok(Transformed::yes(instant.unwrap_or_else(call)))
            }
            Expr::ScalarFunction(ScalarFunction { func, mut args }) => {
                self.time_arguments(func.name(), &mut args);
                let before = args.iter().map(nodes).sum();
                Ok(match func.simplify(args, &context)? {
                    ExprSimplifyResult::Simplified(expr) => {
                        self.count_copied(nodes(&expr).saturating_sub(before))?;
                        match expr {
                            Expr::Case(case) => Transformed::yes(self.case(case)?),
                            expr => Transformed::yes(expr),
                        }
                    }
                    ExprSimplifyResult::Original(args) => {
                        Transformed::no(Expr::ScalarFunction(ScalarFunction { func, args }))
                    }
                })
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
                let mut sides = [*left, *right];
                if is_arithmetic(op) {
                    let kinds = self.kinds(&sides).unwrap_or_default();
                    self.align_numbers(&mut sides, &kinds, false);
                    if Self::is_time_difference(op, &kinds) {
                        Self::align_times(&mut sides, &kinds);
                    }
                } else if op.supports_propagation() || is_distinction(op) {
                    self.align(&mut sides, true);
                }
                let [left, right] = sides.map(Box::new);
                Ok(Transformed::yes(self.checked(BinaryExpr { left, op, right })?))
            }
            Expr::Negative(operand) => Ok(Transformed::yes(self.negated(*operand)?)),
            Expr::IsNull(operand) => Ok(Transformed::yes(Expr::IsNull(Box::new(self.widened(*operand))))),
            Expr::IsNotNull(operand) => {
                Ok(Transformed::yes(Expr::IsNotNull(Box::new(self.widened(*operand)))))
            }
            Expr::SimilarTo(like) => Ok(Transformed::yes(similar(like)?)),
            // Written out, because the query engine fails on these tests within a grouped query.
            Expr::IsTrue(truth) => Ok(Transformed::yes(when(*truth, true, false)?)),
            Expr::IsFalse(truth) => Ok(Transformed::yes(when(not(*truth), true, false)?)),
            Expr::IsNotTrue(truth) => Ok(Transformed::yes(when(*truth, false, true)?)),
            Expr::IsNotFalse(truth) => Ok(Transformed::yes(when(not(*truth), false, true)?)),
            Expr::InList(mut list) => {
                let mut compared: Vec<Expr> = std::iter::once(*list.expr).chain(list.list).collect();
                self.align(&mut compared, true);
                list.expr = Box::new(compared.remove(0));
                list.list = compared;
                Ok(Transformed::yes(Expr::InList(list)))
            }
            Expr::Between(mut between) => {
                let mut compared = [*between.expr, *between.low, *between.high];
                self.align(&mut compared, true);
                [between.expr, between.low, between.high] = compared.map(Box::new);
                Ok(Transformed::yes(Expr::Between(between)))
            }
            Expr::Case(case) => Ok(Transformed::yes(self.case(case)?)),
            Expr::AggregateFunction(call) => Ok(Transformed::yes(self.exact_sums(call)?)),
            Expr::WindowFunction(call) => Ok(Transformed::yes(self.exact_window(call)?)),
            other => Ok(Transformed::no(other)),
        })?;
        Ok(expanded.data)
    }

    /// Counts added nodes.
    fn count_copied(&self, nodes: usize) -> Result<()> {
        self.copied.set(self.copied.get().saturating_add(nodes));
        at_most(self.copied.get(), MAX_COPIED)
    }

    /// A decimal as a double.
    fn as_real(&self, expr: Expr) -> Expr {
        if expr.get_type(self.schema).is_ok_and(|kind| kind.is_decimal()) { as_double(expr) } else { expr }
    }

    /// Types of expressions; `None` if the engine must give types to the operands of one first.
    fn kinds<'e>(&self, exprs: impl IntoIterator<Item = &'e Expr>) -> Option<Vec<DataType>> {
        exprs.into_iter().map(|expr| expr.get_type(self.schema).ok()).collect()
    }

    /// Gives numbers or times that meet one type that holds them all; in a comparison, numbers of any size.
    fn align(&self, exprs: &mut [Expr], comparison: bool) {
        if comparison {
            exprs.iter_mut().for_each(|expr| *expr = self.widened(std::mem::take(expr)));
        }
        let Some(kinds) = self.kinds(exprs.iter()) else { return };
        Self::align_times(exprs, &kinds);
        self.align_numbers(exprs, &kinds, comparison);
    }

    /// Casts all numbers to doubles if one is a double. Decimals that need more than 38 digits in a comparison get up to 76.
    fn align_numbers(&self, exprs: &mut [Expr], kinds: &[DataType], comparison: bool) {
        if !kinds.iter().all(|kind| kind.is_numeric() || kind.is_null()) {
            return;
        }
        if kinds.iter().any(DataType::is_floating) {
            for (expr, kind) in exprs.iter_mut().zip(kinds) {
                if !kind.is_floating() && !kind.is_null() {
                    *expr = as_double(std::mem::take(expr));
                }
            }
            return;
        }
        let (whole, scale) = kinds.iter().map(digits).fold((0, 0), |(w, s), (w2, s2)| (w.max(w2), s.max(s2)));
        if comparison
            && kinds.iter().any(|kind| matches!(kind, DataType::Decimal128(..)))
            && whole + scale > 38
        {
            let precision = u8::try_from((whole + scale).min(76)).unwrap_or(76);
            let scale = i8::try_from(scale).unwrap_or(0);
            for expr in exprs.iter_mut() {
                *expr = cast(std::mem::take(expr), DataType::Decimal256(precision, scale));
            }
        }
    }

    /// Gives all branches of a CASE one type; the query engine would take that of the first. Compares the operand as `=`
    /// would.
    fn case(&self, mut case: Case) -> Result<Expr> {
        if let Some(operand) = case.expr.take() {
            let mut compared: Vec<Expr> = vec![*operand];
            compared.extend(case.when_then_expr.iter().map(|(when, _)| (**when).clone()));
            self.align(&mut compared, true);
            let mut compared = compared.into_iter();
            case.expr = compared.next().map(Box::new);
            for ((when, _), aligned) in case.when_then_expr.iter_mut().zip(compared) {
                **when = aligned;
            }
        }
        let mut results: Vec<Expr> = case.when_then_expr.iter().map(|(_, then)| (**then).clone()).collect();
        results.extend(case.else_expr.as_deref().cloned());
        self.align(&mut results, false);
        if let Some(kinds) = self.kinds(&results)
            && let Some(common) = get_coerce_type_for_case_expression(&kinds, None)
        {
            for (result, kind) in results.iter_mut().zip(&kinds) {
                if *kind != common {
                    *result = cast(std::mem::take(result), common.clone());
                }
            }
        }
        let mut results = results.into_iter();
        for ((_, then), result) in case.when_then_expr.iter_mut().zip(&mut results) {
            **then = result;
        }
        case.else_expr = results.next().map(Box::new);
        Ok(Expr::Case(case))
    }

    /// Sums of integers over windows in decimals, as in [`Settler::exact_sums`].
    fn exact_window(&self, mut call: Box<WindowFunction>) -> Result<Expr> {
        if let (WindowFunctionDefinition::AggregateUDF(func), [argument]) =
            (&call.fun, call.params.args.as_slice())
            && func.name() == "sum"
            && let Some(wide) = self.wide(argument)
        {
            call.params.args = vec![cast(self.widened(argument.clone()), wide)];
        }
        Ok(Expr::WindowFunction(call))
    }

    /// The decimals in which sums of an exact number cannot wrap around.
    fn wide(&self, argument: &Expr) -> Option<DataType> {
        match argument.get_type(self.schema).unwrap_or(DataType::Null) {
            kind if kind.is_integer() => Some(DataType::Decimal128(38, 0)),
            DataType::Decimal128(_, scale) => Some(DataType::Decimal128(38, scale)),
            _ => None,
        }
    }

    /// Sums of integers in decimals, which do not wrap around, and averages of exact numbers from exact sums.
    fn exact_sums(&self, mut call: AggregateFunction) -> Result<Expr> {
        let [argument] = call.params.args.as_slice() else { return Ok(Expr::AggregateFunction(call)) };
        let Some(wide) = self.wide(argument) else { return Ok(Expr::AggregateFunction(call)) };
        let with = |call: &AggregateFunction, func: Arc<AggregateUDF>| {
            Expr::AggregateFunction(AggregateFunction { func, params: call.params.clone() })
        };
        let argument = self.widened(argument.clone());
        match call.func.name() {
            "sum" => {
                call.params.args = vec![cast(argument, wide)];
                Ok(Expr::AggregateFunction(call))
            }
            "avg" => {
                let count = with(&call, count_udaf());
                call.params.args = vec![cast(argument, wide)];
                let sum = with(&call, sum_udaf());
                Ok(cast(sum, DataType::Float64) / cast(count, DataType::Float64))
            }
            _ => Ok(Expr::AggregateFunction(call)),
        }
    }
}

fn nodes(expr: &Expr) -> usize {
    let mut count = 0;
    // Never fails, because the closure does not.
    let _ = expr.apply(|_| {
        count += 1;
        Ok(TreeNodeRecursion::Continue)
    });
    count
}

/// Evaluations of nodes that one evaluation of `expr` takes.
fn evaluations(expr: &Expr) -> usize {
    let mut count = 1_usize;
    // Never fails, because the closure does not.
    let _ = expr.apply_children(|child| {
        // `x BETWEEN a AND b` becomes `x >= a AND x <= b`.
        let times =
            if matches!(expr, Expr::Between(between) if std::ptr::eq(&*between.expr, child)) { 2 } else { 1 };
        count = count.saturating_add(evaluations(child).saturating_mul(times));
        Ok(TreeNodeRecursion::Continue)
    });
    count
}

fn at_most(found: usize, limit: usize) -> Result<()> {
    let fault = TextFault::TooMuch { what: Measure::Nodes, found, limit };
    if found <= limit { Ok(()) } else { Err(DataFusionError::External(Box::new(fault))) }
}

/// Nodes that settling may add to one expression. The engine analyses nested CASEs in time that grows with the square of
/// their number: a second for some thousand.
const MAX_COPIED: usize = 1000;
/// Nodes that one evaluation of an expression may evaluate. A text of 64 KiB can be one list of half as many literals.
const MAX_EVALUATIONS: usize = 40_000;

fn is_arithmetic(op: Operator) -> bool {
    matches!(op, Operator::Plus | Operator::Minus | Operator::Multiply | Operator::Divide | Operator::Modulo)
}

/// Digits before and after the point that a type of exact numbers can have.
fn digits(kind: &DataType) -> (i32, i32) {
    match kind {
        DataType::Decimal128(precision, scale) | DataType::Decimal256(precision, scale) => {
            (i32::from(*precision) - i32::from(*scale), i32::from(*scale))
        }
        DataType::Null => (0, 0),
        _ => (20, 0),
    }
}

/// `IS DISTINCT FROM` and its negation.
fn is_distinction(op: Operator) -> bool {
    matches!(op, Operator::IsDistinctFrom | Operator::IsNotDistinctFrom)
}

/// `x SIMILAR TO 'pattern'` as the match of a regular expression with the whole of x.
fn similar(like: Like) -> Result<Expr> {
    let Expr::Literal(pattern, _) = &*like.pattern else { return Err(no_pattern()) };
    let regex = match pattern.try_as_str() {
        Some(Some(text)) => ScalarValue::from(similar_regex(text).ok_or_else(no_pattern)?),
        _ if pattern.is_null() => ScalarValue::Utf8(None),
        _ => return Err(no_pattern()),
    };
    let op = if like.negated { Operator::RegexNotMatch } else { Operator::RegexMatch };
    Ok(Expr::BinaryExpr(BinaryExpr { left: like.expr, op, right: Box::new(lit(regex)) }))
}

fn no_pattern() -> DataFusionError {
    DataFusionError::Plan("the pattern of SIMILAR TO is none".to_owned())
}

/// `CASE WHEN condition THEN yes ELSE no END`.
fn when(condition: Expr, yes: bool, no: bool) -> Result<Expr> {
    datafusion::logical_expr::when(condition, lit(yes)).otherwise(lit(no))
}

/// A decimal literal as the double nearest to it; any other number cast to one.
fn as_double(expr: Expr) -> Expr {
    if let Expr::Literal(value @ (ScalarValue::Decimal128(..) | ScalarValue::Decimal256(..)), _) = &expr {
        let text = value.cast_to(&DataType::Utf8).ok().map(|text| text.to_string());
        if let Some(number) = text.and_then(|text| text.parse::<f64>().ok()) {
            return lit(number);
        }
    }
    cast(expr, DataType::Float64)
}
