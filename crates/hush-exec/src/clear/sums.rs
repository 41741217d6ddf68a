// SPDX-License-Identifier: Apache-2.0
//! Sums of integers, and of products of two, in 128 bits without a decimal for each row.
//!
//! Plans ask for exact sums as sums of decimals: `SUM(CAST(x AS DECIMAL(38,0)))`. The query engine then makes a decimal of
//! 128 bits of every row before it adds. This module adds the integers themselves, or the digits of decimals: [`native`]
//! finds the sums whose value is the same then, and [`accumulate`] adds. Results keep their type.
//!
//! *Invariants.* A sum is exact or an error, never wrapped around. Arguments of these forms alone are changed: a column of
//! integers, or of decimals in units of their last digit; a product of two; one of these under a condition.

mod accumulate;
#[cfg(test)]
mod tests;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::Result;
use datafusion::logical_expr::expr::{AggregateFunction, Case, Cast};
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, Operator, cast};

pub(super) use accumulate::total;

/// The name of exact sums.
pub(super) const EXACT: &str = "exact_sum";
/// The type of every exact sum.
pub(super) const TOTAL: DataType = DataType::Decimal128(38, 0);
/// Most digits of a decimal of 128 bits.
const MAX_DIGITS: u8 = 38;

/// The expression with native sums in place of equal sums of decimals.
///
/// # Errors
/// None of its own; those of the query engine's tree.
pub(super) fn native(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    let rewritten = expr.transform_down(|node| {
        let Expr::AggregateFunction(call) = node else { return Ok(Transformed::no(node)) };
        let rewritten = match factors_of(&call, schema) {
            Some(factors) => Transformed::yes(Expr::AggregateFunction(AggregateFunction::new_udf(
                accumulate::function(),
                factors,
                false,
                call.params.filter,
                Vec::new(),
                None,
            ))),
            None => Transformed::no(Expr::AggregateFunction(call)),
        };
        Ok(Transformed { tnr: TreeNodeRecursion::Jump, ..rewritten })
    })?;
    Ok(rewritten.data)
}

/// The one or two factors whose products a call sums.
fn factors_of(call: &AggregateFunction, schema: &DFSchema) -> Option<Vec<Expr>> {
    let [argument] = call.params.args.as_slice() else { return None };
    let is_plain = !call.params.distinct && call.params.order_by.is_empty() && call.func.name() == "sum";
    (is_plain && argument.get_type(schema).ok()? == TOTAL).then(|| factors(argument, schema)).flatten()
}

/// The factors of an integer that is written as a decimal without digits after the point.
fn factors(expr: &Expr, schema: &DFSchema) -> Option<Vec<Expr>> {
    if let Some(factor) = factor(expr, schema) {
        return Some(vec![factor]);
    }
    match expr {
        Expr::Cast(Cast { expr: inner, .. }) if is_widening(inner, expr, schema) => factors(inner, schema),
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Multiply, right }) => {
            Some(vec![factor(left, schema)?, factor(right, schema)?])
        }
        Expr::Case(Case { expr: None, when_then_expr, else_expr: None }) => {
            let [(when, then)] = when_then_expr.as_slice() else { return None };
            let mut factors = factors(then, schema)?;
            // The other factors are then computed in rows that the condition excludes, and must not fail there.
            factors.iter().skip(1).all(|factor| never_fails(factor, schema)).then_some(())?;
            let first = factors.first_mut()?;
            let branch = (when.clone(), Box::new(std::mem::take(first)));
            *first = Expr::Case(Case { expr: None, when_then_expr: vec![branch], else_expr: None });
            Some(factors)
        }
        _ => None,
    }
}

/// One factor in a form that [`accumulate`] takes: a `BIGINT`, or a decimal that stands for its digits.
fn factor(expr: &Expr, schema: &DFSchema) -> Option<Expr> {
    let Expr::Cast(Cast { expr: inner, field }) = expr else { return None };
    let DataType::Decimal128(precision, 0) = *field.data_type() else { return None };
    match inner.get_type(schema).ok()? {
        DataType::Int64 if precision >= 19 => Some(inner.as_ref().clone()),
        DataType::Int8 | DataType::Int16 | DataType::Int32 if precision >= 10 => {
            Some(cast(inner.as_ref().clone(), DataType::Int64))
        }
        _ if precision == MAX_DIGITS => units(inner, schema),
        _ => None,
    }
}

/// The decimal column `d` of `CAST(d AS DECIMAL(38,s)) * CAST('10…0' AS DECIMAL(38,0))`, if there are as many zeros as digits
/// after the point: the digits of `d` are then the integer.
fn units(expr: &Expr, schema: &DFSchema) -> Option<Expr> {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Multiply, right }) = expr else { return None };
    let (Expr::Cast(Cast { expr: column, field }), Expr::Cast(Cast { expr: shift, field: shifted })) =
        (left.as_ref(), right.as_ref())
    else {
        return None;
    };
    let DataType::Decimal128(precision, scale) = column.get_type(schema).ok()? else { return None };
    let zeros = u8::try_from(scale).ok()?;
    let Expr::Literal(ScalarValue::Utf8(Some(text)), _) = shift.as_ref() else { return None };
    let is_shift = text
        .strip_prefix('1')
        .is_some_and(|rest| rest.len() == usize::from(zeros) && rest.bytes().all(|digit| digit == b'0'));
    let is_exact =
        *field.data_type() == DataType::Decimal128(MAX_DIGITS, scale) && *shifted.data_type() == TOTAL;
    (is_shift && is_exact && precision + zeros <= MAX_DIGITS).then(|| column.as_ref().clone())
}

/// Whether a cast only adds room for digits before the point.
fn is_widening(inner: &Expr, whole: &Expr, schema: &DFSchema) -> bool {
    match (inner.get_type(schema), whole.get_type(schema)) {
        (Ok(DataType::Decimal128(from, 0)), Ok(DataType::Decimal128(to, 0))) => from <= to,
        _ => false,
    }
}

/// Whether the expression is a column, or a column of integers cast to more bits.
fn never_fails(expr: &Expr, schema: &DFSchema) -> bool {
    let is_column = |expr: &Expr| matches!(expr, Expr::Column(_));
    match expr {
        Expr::Cast(Cast { expr, field }) if *field.data_type() == DataType::Int64 => {
            let widened = [DataType::Int8, DataType::Int16, DataType::Int32, DataType::Int64];
            is_column(expr) && expr.get_type(schema).is_ok_and(|kind| widened.contains(&kind))
        }
        expr => is_column(expr),
    }
}
