// SPDX-License-Identifier: Apache-2.0
//! Conditions of a query as predicates of its plan.

use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator, Value};

use crate::plan::Predicate;
use crate::sql::bare;

/// A resolved condition over clear columns as a predicate: its AND, OR and NOT become those of the predicate, all else its atoms.
pub(crate) fn predicate(condition: &Expr) -> Predicate {
    match bare(condition) {
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => predicate(left).and(predicate(right)),
        Expr::BinaryOp { left, op: BinaryOperator::Or, right } => predicate(left).or(predicate(right)),
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => predicate(expr).negated(),
        // An engine takes no untyped NULL for a condition.
        Expr::Value(value) if value.value == Value::Null => Predicate::clear("CAST(NULL AS BOOLEAN)"),
        atom => Predicate::clear(atom.to_string()),
    }
}

#[cfg(test)]
mod tests;
