// SPDX-License-Identifier: Apache-2.0
//! Whether a query tells the values of a cell apart: then the cube does not answer it.

use sqlparser::ast::{
    BinaryOperator, DataType, DateTimeField, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Value,
};

use super::Axis;
use crate::error::{Clause, PlanError};
use crate::final_sql::{self, Replacement};
use crate::schema::ColumnType;
use crate::schema::cube::Grain;
use crate::schema::units::{DecimalPoint, POWERS_OF_TEN, parse_units};
use crate::sql::number::numeric_literal;
use crate::sql::{Query, bare, column_name, columns_of};

/// Whether every expression of a query has one value for all values of a cell.
pub(crate) fn is_constant_on_cells(axis: &Axis, query: &Query) -> bool {
    axis.is_exact() || query.expressions().all(|expr| is_constant(axis, expr))
}

/// Walks down to what is constant, and fails at a column that stands anywhere else.
fn is_constant(axis: &Axis, expr: &Expr) -> bool {
    if !columns_of(expr).contains(&axis.column) {
        return true;
    }
    let stray = || PlanError::NotGrouped { clause: Clause::Select, column: axis.column.clone() };
    let walked = final_sql::rewrite(expr, &mut |part| {
        if is_of_axis(axis, part) {
            return Err(stray());
        }
        let is_whole = is_boundary(axis, part) || is_calendar_part(axis, part);
        Ok(is_whole.then(|| Replacement { column: "x".to_owned(), is_int: false }))
    });
    walked.is_ok()
}

fn is_of_axis(axis: &Axis, expr: &Expr) -> bool {
    column_name(bare(expr)) == Some(axis.column.as_str())
}

/// A comparison with a constant at which a cell begins or ends, and what asks for missing values.
fn is_boundary(axis: &Axis, expr: &Expr) -> bool {
    use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    let at = |literal: &Expr, is_above: bool| {
        let units = literal_units(axis.kind(), literal);
        units.is_some_and(|units| axis.begins_at(units.saturating_add(i128::from(is_above))))
    };
    // A cell of its own.
    let around = |literal: &Expr| at(literal, false) && at(literal, true);
    match bare(expr) {
        Expr::IsNull(inner) | Expr::IsNotNull(inner) => is_of_axis(axis, inner),
        Expr::BinaryOp { left, op: Eq | NotEq, right } => {
            is_of_axis(axis, left) && around(right) || is_of_axis(axis, right) && around(left)
        }
        Expr::InList { expr, list, .. } => is_of_axis(axis, expr) && list.iter().all(around),
        Expr::BinaryOp { left, op: op @ (GtEq | Lt | Gt | LtEq), right } => {
            // `x > c` and `x <= c` part behind c, `x >= c` and `x < c` before it.
            let is_above = |op: &BinaryOperator| matches!(op, Gt | LtEq);
            let is_below = |op: &BinaryOperator| matches!(op, Lt | GtEq);
            is_of_axis(axis, left) && at(right, is_above(op))
                || is_of_axis(axis, right) && at(left, is_below(op))
        }
        Expr::Between { expr, low, high, .. } => is_of_axis(axis, expr) && at(low, false) && at(high, true),
        _ => false,
    }
}

/// A literal in units of a type, if it is exactly a value of it.
pub(crate) fn literal_units(kind: ColumnType, expr: &Expr) -> Option<i128> {
    let exact = match kind {
        ColumnType::Float { digits } => ColumnType::Decimal { precision: 38, scale: digits },
        other => other,
    };
    let read = |text: &str| parse_units(exact, text.trim().as_bytes(), DecimalPoint::Dot);
    if let Some((value, scale)) = numeric_literal(expr) {
        let own = match kind {
            ColumnType::Decimal { scale, .. } => u32::from(scale),
            ColumnType::Float { digits } => u32::from(digits),
            ColumnType::Int { .. } => 0,
            _ => return None,
        };
        let value = i128::try_from(&value).ok()?;
        let power = |digits: u32| i128::try_from(*POWERS_OF_TEN.get(digits as usize)?).ok();
        return match own.checked_sub(scale) {
            Some(more) => value.checked_mul(power(more)?),
            None => {
                let less = power(scale - own)?;
                (value % less == 0).then_some(value / less)
            }
        };
    }
    match (bare(expr), kind) {
        (Expr::Value(value), _) => match &value.value {
            Value::SingleQuotedString(text) => read(text),
            _ => None,
        },
        (Expr::TypedString(typed), ColumnType::Date) if typed.data_type == DataType::Date => {
            match &typed.value.value {
                Value::SingleQuotedString(text) => read(text),
                _ => None,
            }
        }
        (Expr::TypedString(typed), ColumnType::Timestamp)
            // Of fewer digits an engine cuts some of the literal off.
            if matches!(typed.data_type, DataType::Date | DataType::Timestamp(None | Some(6), _)) =>
        {
            match &typed.value.value {
                Value::SingleQuotedString(text) => read(text),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The year, the quarter or the month of a date, where cells are of no more than that.
fn is_calendar_part(axis: &Axis, expr: &Expr) -> bool {
    let months = match axis.grain() {
        Grain::Month | Grain::Quarter | Grain::Year => axis.grain().months(),
        Grain::Bins(_) | Grain::Calendar | Grain::Each | Grain::Texts(_) => return false,
    };
    let fits = |part: &str| match part.to_ascii_lowercase().as_str() {
        "year" => true,
        "quarter" => months <= 3,
        "month" => months == 1,
        _ => false,
    };
    match bare(expr) {
        Expr::Extract { field, expr, .. } => {
            let part = match field {
                DateTimeField::Year => "year",
                DateTimeField::Quarter => "quarter",
                DateTimeField::Month => "month",
                _ => return false,
            };
            is_of_axis(axis, expr) && fits(part)
        }
        Expr::Function(call) => {
            let name = call.name.to_string().to_ascii_lowercase();
            let FunctionArguments::List(list) = &call.args else { return false };
            let arguments = list.args.iter().map(|argument| match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(bare(expr)),
                _ => None,
            });
            match arguments.collect::<Option<Vec<_>>>().as_deref() {
                Some([Expr::Value(part), column]) if name == "date_trunc" || name == "date_part" => {
                    let Value::SingleQuotedString(part) = &part.value else { return false };
                    is_of_axis(axis, column) && fits(part)
                }
                _ => false,
            }
        }
        _ => false,
    }
}
