// SPDX-License-Identifier: Apache-2.0
//! Computes `+ - *` of integers and decimals in decimals that hold every value. The query engine's integers wrap around, and
//! its decimals end at 38 digits.
//!
//! The result of integers is an integer again, and one that does not fit is an error. In a comparison it need not fit: there
//! it stays a decimal of up to 76 digits ([`Settler::widened`]).

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::Result;
use datafusion::logical_expr::expr::Cast;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, Operator, cast, lit};

use super::{Settled, Settler, nodes};

/// Most digits of the engine's decimals.
const MAX_DIGITS: i32 = 76;

impl Settler<'_> {
    /// An operation with the meaning above. `/` and `%` of integers and decimals by zero are NULL.
    pub(super) fn checked(&self, operation: BinaryExpr) -> Result<Expr> {
        let BinaryExpr { left, op, right } = operation;
        let kind = |expr: &Expr| expr.get_type(self.schema).unwrap_or(DataType::Null);
        let kinds = (kind(&left), kind(&right));
        match op {
            Operator::Plus | Operator::Minus | Operator::Multiply
                if kinds.0.is_integer() && kinds.1.is_integer() =>
            {
                let wide = |expr: Box<Expr>, kind: &DataType| Box::new(as_decimal(*expr, kind));
                let exact = BinaryExpr { left: wide(left, &kinds.0), op, right: wide(right, &kinds.1) };
                Ok(cast(Expr::BinaryExpr(exact), DataType::Int64))
            }
            Operator::Divide | Operator::Modulo if kinds.1.is_integer() || kinds.1.is_decimal() => {
                self.count_copied(nodes(&right))?;
                let divisor = datafusion::logical_expr::when(right.clone().not_eq(lit(0)), *right).end()?;
                let [left, right] = same_width([*left, divisor], &kinds);
                Ok(Expr::BinaryExpr(BinaryExpr { left, op, right }))
            }
            _ if is_ring(op) => {
                let [left, right] = same_width([*left, *right], &kinds);
                Ok(Expr::BinaryExpr(BinaryExpr { left, op, right }))
            }
            _ => Ok(Expr::BinaryExpr(BinaryExpr { left, op, right })),
        }
    }

    /// `-x`. The query engine's least integer is its own negative, so an integer is taken from zero; literals have their own sign.
    pub(super) fn negated(&self, operand: Expr) -> Result<Expr> {
        let kind = operand.get_type(self.schema).unwrap_or(DataType::Null);
        if !kind.is_integer() || matches!(operand, Expr::Literal(..)) {
            return Ok(Expr::Negative(Box::new(operand)));
        }
        let (left, op, right) = (Box::new(lit(0_i64)), Operator::Minus, Box::new(operand));
        let integer = self.checked(BinaryExpr { left, op, right })?;
        Ok(match self.of {
            Settled::Columns => integer,
            Settled::Results => narrowed(integer).unwrap_or_else(|other| other),
        })
    }

    /// An exact number that is only compared: its `+ - *` get as many digits as their values can have.
    pub(super) fn widened(&self, expr: Expr) -> Expr {
        let kind = |expr: &Expr| expr.get_type(self.schema).unwrap_or(DataType::Null);
        match narrowed(expr) {
            Ok(exact) => self.widened(exact),
            Err(Expr::Negative(operand)) => Expr::Negative(Box::new(self.widened(*operand))),
            Err(Expr::BinaryExpr(BinaryExpr { left, op, right })) if is_ring(op) => {
                let (left, right) = (self.widened(*left), self.widened(*right));
                let kinds = (kind(&left), kind(&right));
                let (Some(a), Some(b)) = (exact_digits(&kinds.0), exact_digits(&kinds.1)) else {
                    return Expr::BinaryExpr(BinaryExpr { left: Box::new(left), op, right: Box::new(right) });
                };
                let (whole, scale) = match op {
                    Operator::Multiply => (a.0 + b.0, a.1 + b.1),
                    _ => (a.0.max(b.0) + 1, a.1.max(b.1)),
                };
                let wide = |expr: Expr, kind: &DataType| {
                    let fits = whole + scale <= 38;
                    Box::new(if fits { as_decimal(expr, kind) } else { as_wide_decimal(expr, kind) })
                };
                let (left, right) = (wide(left, &kinds.0), wide(right, &kinds.1));
                Expr::BinaryExpr(BinaryExpr { left, op, right })
            }
            Err(other) => other,
        }
    }
}

/// Gives both exact operands in a query's text one width. The query engine wants types as soon as it has read the
/// text, before any analyzer rule runs.
#[derive(Debug)]
pub struct MixedWidths;

impl ExprPlanner for MixedWidths {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let RawBinaryExpr { op, left, right } = expr;
        let kind = |expr: &Expr| expr.get_type(schema).unwrap_or(DataType::Null);
        let kinds = (kind(&left), kind(&right));
        let [left, right] = same_width([left, right], &kinds).map(|side| *side);
        Ok(PlannerResult::Original(RawBinaryExpr { op, left, right }))
    }
}

/// Exact operands, both in decimals of 256 bits if one is: the query engine has no operation on decimals of two widths.
fn same_width(operands: [Expr; 2], kinds: &(DataType, DataType)) -> [Box<Expr>; 2] {
    let [left, right] = operands;
    let is_wide = |kind: &DataType| matches!(kind, DataType::Decimal256(..));
    let wide = |expr: Expr, kind: &DataType| {
        let is_exact = exact_digits(kind).is_some();
        Box::new(if is_exact { as_wide_decimal(expr, kind) } else { expr })
    };
    match is_wide(&kinds.0) || is_wide(&kinds.1) {
        true => [wide(left, &kinds.0), wide(right, &kinds.1)],
        false => [Box::new(left), Box::new(right)],
    }
}

fn is_ring(op: Operator) -> bool {
    matches!(op, Operator::Plus | Operator::Minus | Operator::Multiply)
}

/// The decimal that [`Settler::checked`] made an integer again, or the expression as it is.
fn narrowed(expr: Expr) -> std::result::Result<Expr, Expr> {
    match expr {
        Expr::Cast(Cast { expr: inner, field })
            if *field.data_type() == DataType::Int64
                && matches!(&*inner, Expr::BinaryExpr(BinaryExpr { left, op, .. }) if is_ring(*op) && is_whole(left)) =>
        {
            Ok(*inner)
        }
        other => Err(other),
    }
}

/// Whether an operand is an integer that [`as_decimal`] made a decimal, or an operation on such operands.
fn is_whole(operand: &Expr) -> bool {
    match operand {
        Expr::BinaryExpr(BinaryExpr { left, op, .. }) => is_ring(*op) && is_whole(left),
        Expr::Cast(Cast { field, .. }) => matches!(field.data_type(), DataType::Decimal128(_, 0)),
        Expr::Literal(ScalarValue::Decimal128(_, _, 0), _) => true,
        _ => false,
    }
}

/// An integer as a decimal that holds all of its type; decimals as they are.
fn as_decimal(expr: Expr, kind: &DataType) -> Expr {
    if !kind.is_integer() {
        return expr;
    }
    match narrowed(expr) {
        Ok(exact) => exact,
        Err(Expr::Literal(ScalarValue::Int64(Some(value)), _)) => {
            let digits = value.unsigned_abs().checked_ilog10().map_or(1, |log| log as u8 + 1);
            lit(ScalarValue::Decimal128(Some(i128::from(value)), digits, 0))
        }
        Err(expr) => {
            let digits = exact_digits(kind).map_or(20, |(whole, _)| whole);
            cast(expr, DataType::Decimal128(u8::try_from(digits).unwrap_or(20), 0))
        }
    }
}

/// An exact number as a decimal of 256 bits.
fn as_wide_decimal(expr: Expr, kind: &DataType) -> Expr {
    let (whole, scale) = exact_digits(kind).unwrap_or((MAX_DIGITS, 0));
    let precision = u8::try_from((whole + scale).min(MAX_DIGITS)).unwrap_or(76);
    match kind {
        DataType::Decimal256(..) => expr,
        _ => cast(expr, DataType::Decimal256(precision, i8::try_from(scale).unwrap_or(0))),
    }
}

/// Digits before and after the point that a type of exact numbers can have.
fn exact_digits(kind: &DataType) -> Option<(i32, i32)> {
    let whole = match kind {
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => {
            return Some((i32::from(*precision) - i32::from(*scale), i32::from(*scale)));
        }
        DataType::Int8 | DataType::UInt8 => 3,
        DataType::Int16 | DataType::UInt16 => 5,
        DataType::Int32 | DataType::UInt32 => 10,
        DataType::Int64 => 19,
        DataType::UInt64 => 20,
        _ => return None,
    };
    Some((whole, 0))
}
