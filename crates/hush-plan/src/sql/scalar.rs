// SPDX-License-Identifier: Apache-2.0
//! The structure that every expression must have: a list of what is allowed, so that a part of SQL that this
//! version does not know cannot slip through to a query engine.

use std::ops::ControlFlow;

use sqlparser::ast::{BinaryOperator, CastKind, Expr, UnaryOperator, Value, Visitor};

use super::expression::{is_comparison, shown};
use super::{Query, functions, similar};
use crate::aggregates::Aggregate;
use crate::error::{Clause, Feature, PlanError};
use crate::sql::walk::walk;

/// Checks all clauses of a resolved query.
pub(super) fn check_structure(query: &Query) -> Result<(), PlanError> {
    for item in &query.items {
        check(&item.expr, Clause::Select, true)?;
    }
    if let Some(filter) = &query.filter {
        check(filter, Clause::Where, false)?;
    }
    for key in &query.keys {
        check(key, Clause::GroupBy, false)?;
    }
    if let Some(having) = &query.having {
        check(having, Clause::Having, true)?;
    }
    query.order.iter().try_for_each(|key| check(&key.expr, Clause::OrderBy, true))
}

fn check(expr: &Expr, clause: Clause, aggregates_allowed: bool) -> Result<(), PlanError> {
    let mut visitor = Walk { clause, aggregates_allowed, inside: 0 };
    match walk(expr, &mut visitor) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(*error),
    }
}

struct Walk {
    clause: Clause,
    aggregates_allowed: bool,
    /// Aggregates that are open around the current expression.
    inside: u32,
}

impl Visitor for Walk {
    type Break = Box<PlanError>;

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Self::Break> {
        let checked = match functions::aggregate(expr) {
            Some(_) if !self.aggregates_allowed || self.inside > 0 => {
                Err(PlanError::MisplacedAggregate { clause: self.clause, text: shown(expr) })
            }
            Some(call) => {
                self.inside += 1;
                call.and_then(|call| match call.aggregate {
                    Aggregate::Rows(_) => {
                        let feature = Feature::RowAggregate;
                        Err(PlanError::UnsupportedCall { text: shown(expr), feature })
                    }
                    _ => Ok(()),
                })
            }
            None => node(expr, self.clause),
        };
        match checked {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(Box::new(error)),
        }
    }

    fn post_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Self::Break> {
        if functions::aggregate(expr).is_some() {
            self.inside = self.inside.saturating_sub(1);
        }
        ControlFlow::Continue(())
    }
}

/// Whether an expression holds a query.
pub(super) fn is_subquery(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::Exists { .. }
            | Expr::InSubquery { .. }
            | Expr::Subquery(_)
            | Expr::AnyOp { .. }
            | Expr::AllOp { .. }
    )
}

/// Checks one node; its children are visited by themselves.
pub(super) fn node(expr: &Expr, clause: Clause) -> Result<(), PlanError> {
    let refuse = |feature| Err(PlanError::Unsupported { clause, feature });
    match expr {
        Expr::Identifier(_)
        | Expr::Nested(_)
        | Expr::TypedString(_)
        | Expr::Interval(_)
        | Expr::IsFalse(_)
        | Expr::IsNotFalse(_)
        | Expr::IsTrue(_)
        | Expr::IsNotTrue(_)
        | Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::IsUnknown(_)
        | Expr::IsNotUnknown(_)
        | Expr::IsDistinctFrom(..)
        | Expr::IsNotDistinctFrom(..)
        | Expr::InList { .. }
        | Expr::Between { .. }
        | Expr::Case { .. }
        | Expr::Extract { .. }
        | Expr::Ceil { .. }
        | Expr::Floor { .. }
        | Expr::Position { .. }
        | Expr::Substring { .. }
        | Expr::Trim { .. }
        | Expr::Like { any: false, .. }
        | Expr::ILike { any: false, .. }
        | Expr::UnaryOp { op: UnaryOperator::Plus | UnaryOperator::Minus | UnaryOperator::Not, .. } => Ok(()),
        Expr::Cast {
            kind: CastKind::Cast | CastKind::TryCast | CastKind::DoubleColon,
            array: false,
            format: None,
            ..
        } => Ok(()),
        Expr::SimilarTo { pattern, .. } => similar::check(pattern, clause),
        Expr::BinaryOp { op, .. } if is_known(op) => Ok(()),
        Expr::Value(value) => match &value.value {
            Value::Number(..) | Value::SingleQuotedString(_) | Value::Boolean(_) | Value::Null => Ok(()),
            Value::Placeholder(_) => refuse(Feature::Placeholder),
            _ => refuse(Feature::Dialect),
        },
        Expr::Function(function) => functions::check_scalar(function, clause),
        other if is_subquery(other) => refuse(Feature::Subquery),
        Expr::GroupingSets(_) | Expr::Cube(_) | Expr::Rollup(_) => refuse(Feature::GroupingSets),
        _ => refuse(Feature::Dialect),
    }
}

fn is_known(op: &BinaryOperator) -> bool {
    use BinaryOperator as B;
    is_comparison(op)
        || matches!(
            op,
            B::Plus | B::Minus | B::Multiply | B::Divide | B::Modulo | B::StringConcat | B::And | B::Or
        )
}
