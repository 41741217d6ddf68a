// SPDX-License-Identifier: Apache-2.0
//! `NOT IN (SELECT …)` where the engine would forget missing values.
//!
//! `x NOT IN (1, NULL)` is NULL for x = 2, and true for nothing. By itself in a condition the engine knows that. Inside OR it asks whether there is an
//! equal value, and takes "none" for true (DataFusion 55.2).

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator};

/// Checks the conditions of a plan before anything in it is moved.
///
/// # Errors
/// [`DataFusionError::Plan`] for one whose missing values would be forgotten.
pub(super) fn check_not_in(plan: &LogicalPlan) -> Result<()> {
    plan.apply_with_subqueries(|node| {
        let conditions: Vec<&Expr> = match node {
            LogicalPlan::Filter(filter) => split_conjunction(&filter.predicate),
            LogicalPlan::Join(join) => join.filter.iter().flat_map(split_conjunction).collect(),
            _ => return Ok(TreeNodeRecursion::Continue),
        };
        match conditions.into_iter().all(|condition| is_alone(condition) || keeps_nulls(condition)) {
            true => Ok(TreeNodeRecursion::Continue),
            false => Err(DataFusionError::Plan(
                "NOT IN (SELECT …) inside OR, NOT or CASE: its missing values would be forgotten\n  Ways out: NOT EXISTS (SELECT … WHERE …); \
                 NOT IN as a condition by itself."
                    .to_owned(),
            )),
        }
    })?;
    Ok(())
}

fn is_alone(condition: &Expr) -> bool {
    match condition {
        Expr::Not(inner) => matches!(**inner, Expr::InSubquery(_)),
        other => matches!(other, Expr::InSubquery(_)),
    }
}

/// Whether a condition is as true with FALSE as with NULL in the places of its `IN (SELECT …)`.
fn keeps_nulls(condition: &Expr) -> bool {
    match condition {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And | Operator::Or, right }) => {
            keeps_nulls(left) && keeps_nulls(right)
        }
        Expr::InSubquery(within) => !within.negated,
        // Never fails, because the closure does not.
        other => !other.exists(|part| Ok(matches!(part, Expr::InSubquery(_)))).unwrap_or(true),
    }
}
