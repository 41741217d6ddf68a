// SPDX-License-Identifier: Apache-2.0
//! Whether a query tells the values of a cell apart: then the cube does not answer it.

use sqlparser::ast::{BinaryOperator, Expr};

use super::Axis;
use crate::aggregates::{Aggregate, FromSums};
use crate::error::{Clause, PlanError};
use crate::final_sql::{self, Replacement};
use crate::plan::RankAt;
use crate::schema::cube::Grain;
use crate::sql::functions::aggregate;
use crate::sql::{CalendarPart, Query, bare, column_name, columns_of, constant_units};

/// Whether every expression of a query has one value for all values of a cell.
pub(crate) fn is_constant_on_cells(axis: &Axis, query: &Query) -> bool {
    axis.is_exact() || query.expressions().all(|expr| is_constant(axis, expr))
}

/// Whether an expression has one value for all values of a cell: what is constant is found on the way down, and the column stands nowhere else.
pub(crate) fn is_constant(axis: &Axis, expr: &Expr) -> bool {
    if !columns_of(expr).contains(&axis.column) {
        return true;
    }
    let stray = || PlanError::NotGrouped { clause: Clause::Select, column: axis.column.clone() };
    let walked = final_sql::rewrite(expr, &mut |part| {
        if is_of_axis(axis, part) {
            return Err(stray());
        }
        let is_whole = is_boundary(axis, part) || is_calendar_part(axis, part) || is_of_order(axis, part);
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
        let units = constant_units(axis.kind(), literal);
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

/// A value at a place of the order, where cells are told apart for these, and the number of values.
fn is_of_order(axis: &Axis, expr: &Expr) -> bool {
    let call = if axis.is_searched { aggregate(expr).and_then(Result::ok) } else { None };
    call.is_some_and(|call| {
        let is_alone = matches!(call.arguments.as_slice(), [only] if is_of_axis(axis, only));
        let is_known = call.aggregate == Aggregate::FromSums(FromSums::Count);
        is_alone
            && !call.distinct
            && call.filter.is_none()
            && (is_known || RankAt::of(call.aggregate).is_some())
    })
}

/// The year, the quarter or the month of a date, where cells are of no more than that.
fn is_calendar_part(axis: &Axis, expr: &Expr) -> bool {
    let months = match axis.grain() {
        Grain::Month | Grain::Quarter | Grain::Year => axis.grain().months(),
        Grain::Bins(_) | Grain::Calendar | Grain::Each | Grain::Equality | Grain::Texts(_) => return false,
    };
    CalendarPart::of_column(expr).is_some_and(|(part, column)| {
        column == axis.column && part.months().is_some_and(|of_part| of_part % months == 0)
    })
}
