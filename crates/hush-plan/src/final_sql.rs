// SPDX-License-Identifier: Apache-2.0
//! The owner's last step as SQL over `merged`: expressions on decrypted results, HAVING, ORDER BY, LIMIT.
//!
//! *Arithmetic.* The engine's 64-bit integers wrap around and its integer division truncates; neither is wanted on
//! results. Integers under `+ - *` therefore become decimals (which report an overflow), and `/` is a division
//! of doubles, NULL where the divisor is zero.
//!
//! *Order.* Rows come in the order of the query's sort keys, then of the group keys or of the table, so that the
//! same query gives the same result each time.

use std::ops::ControlFlow;

use sqlparser::ast::{BinaryOperator, Expr, Ident, OrderByOptions, Value, VisitorMut};

use crate::error::PlanError;
use crate::sql::shown::{is_marked, marked};
use crate::sql::walk::walk_mut;
use crate::sql::windows::{render, window};
use crate::sql::{Query, quoted};

/// The column of `merged` that takes the place of a subexpression.
pub(crate) struct Replacement {
    pub(crate) column: String,
    /// Its type is `Int64`.
    pub(crate) is_int: bool,
}

/// Renders `expr` with its leaves replaced; `leaf` says of each subexpression, outermost first, what it becomes.
///
/// # Errors
/// Whatever `leaf` refuses.
pub(crate) fn rewrite(
    expr: &Expr,
    leaf: &mut dyn FnMut(&Expr) -> Result<Option<Replacement>, PlanError>,
) -> Result<String, PlanError> {
    let mut copy = expr.clone();
    let mut rewriter = Rewriter { leaf, arithmetic: 0, outside: Vec::new() };
    match walk_mut(&mut copy, &mut rewriter) {
        ControlFlow::Continue(()) => Ok(copy.to_string()),
        ControlFlow::Break(error) => Err(*error),
    }
}

struct Rewriter<'a> {
    leaf: &'a mut dyn FnMut(&Expr) -> Result<Option<Replacement>, PlanError>,
    /// Open `+ - *` around the current node.
    arithmetic: u32,
    /// The same outside of the windows that are open: within one, bounds and arguments count anew.
    outside: Vec<u32>,
}

impl VisitorMut for Rewriter<'_> {
    type Break = Box<PlanError>;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        match (self.leaf)(expr) {
            Err(error) => return ControlFlow::Break(Box::new(error)),
            Ok(Some(Replacement { column, is_int: true })) if self.arithmetic > 0 => {
                *expr = verbatim(format!("CAST({column} AS DECIMAL(38,0))"));
            }
            Ok(Some(Replacement { column, .. })) => *expr = verbatim(column),
            Ok(None) if self.arithmetic > 0 && is_integer(expr) => {
                *expr = verbatim(format!("CAST({expr} AS DECIMAL(38,0))"));
            }
            Ok(None) if window(expr).is_some() => self.outside.push(std::mem::take(&mut self.arithmetic)),
            Ok(None) => self.arithmetic += u32::from(is_wrapping(expr)),
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        if is_wrapping(expr) {
            self.arithmetic = self.arithmetic.saturating_sub(1);
        }
        if let Some(call) = window(expr) {
            self.arithmetic = self.outside.pop().unwrap_or_default();
            *expr = verbatim(render(call, self.arithmetic > 0));
        }
        if let Expr::BinaryOp { left, op: BinaryOperator::Divide, right } = expr {
            let quotient =
                format!("(CAST({left} AS DOUBLE) / NULLIF(CAST({right} AS DOUBLE), CAST(0 AS DOUBLE)))");
            *expr = verbatim(quotient);
        } else if let Expr::BinaryOp { left, op: BinaryOperator::Modulo, right } = expr {
            // A comparison of its own type, so that the remainder keeps the type of its operands.
            let remainder = format!("({left} % NULLIF({right}, 0))");
            *expr = verbatim(remainder);
        }
        ControlFlow::Continue(())
    }
}

/// Text that is already SQL: an unquoted identifier is printed as it is.
fn verbatim(sql: String) -> Expr {
    Expr::Identifier(Ident::new(sql))
}

fn is_integer(expr: &Expr) -> bool {
    let Expr::Value(value) = expr else { return false };
    matches!(&value.value, Value::Number(digits, _) if digits.bytes().all(|digit| digit.is_ascii_digit()))
}

fn is_wrapping(expr: &Expr) -> bool {
    use BinaryOperator::{Minus, Multiply, Plus};
    matches!(expr, Expr::BinaryOp { op: Plus | Minus | Multiply, .. })
}

/// The clauses of the final query, already rendered.
pub(crate) struct Clauses {
    /// One per output, in order.
    pub(crate) items: Vec<String>,
    pub(crate) having: Option<String>,
    /// One per sort key of the query, in order.
    pub(crate) order: Vec<String>,
    /// Columns of `merged` that settle ties.
    pub(crate) ties: Vec<String>,
}

/// The name of a result in a final query: ORDER BY would take a result for a column of `merged` with the same name.
fn result_name(name: &str) -> String {
    let digits = name.strip_prefix(['a', 'c', 'k', 'p']);
    let is_numbered = |digits: &str| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    let is_of_merged = name == "row" || digits.is_some_and(is_numbered);
    if is_of_merged || is_marked(name) { marked(name) } else { name.to_owned() }
}

/// Puts the final query together.
pub(crate) fn assemble(query: &Query, clauses: &Clauses) -> String {
    let named = clauses
        .items
        .iter()
        .zip(query.outputs())
        .map(|(item, name)| format!("{item} AS {}", quoted(&result_name(name))));
    let mut sql = format!("SELECT {} FROM merged", named.collect::<Vec<_>>().join(", "));
    if let Some(having) = &clauses.having {
        sql.push_str(&format!(" WHERE {having}"));
    }
    // A number would be taken for the position of a column, and a constant orders nothing.
    let keys = clauses.order.iter().zip(&query.order).filter(|(key, _)| !is_constant(key));
    let keys = keys.map(|(key, order)| format!("{key}{}", direction(order.options)));
    let ties = clauses.ties.iter().filter(|tie| !clauses.order.contains(*tie)).cloned();
    let keys: Vec<String> = keys.chain(ties).collect();
    if !keys.is_empty() {
        sql.push_str(&format!(" ORDER BY {}", keys.join(", ")));
    }
    if let Some(limit) = query.limit {
        sql.push_str(&format!(" LIMIT {limit}"));
    }
    if query.offset > 0 {
        sql.push_str(&format!(" OFFSET {}", query.offset));
    }
    sql
}

/// Whether a rendered sort key is a literal.
fn is_constant(key: &str) -> bool {
    let key = key.trim_matches(['-', '+', '(', ')', ' ']);
    key.parse::<f64>().is_ok()
        || key.starts_with('\'') && key.ends_with('\'') && !key.trim_matches('\'').contains('\'')
        || ["null", "true", "false"].iter().any(|word| key.eq_ignore_ascii_case(word))
}

fn direction(options: OrderByOptions) -> String {
    let direction = match options.asc {
        Some(false) => " DESC",
        Some(true) => " ASC",
        None => "",
    };
    let nulls = match options.nulls_first {
        Some(true) => " NULLS FIRST",
        Some(false) => " NULLS LAST",
        None => "",
    };
    format!("{direction}{nulls}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::shown_name;

    #[test]
    fn results_have_names_that_no_column_of_merged_has() {
        for name in ["row", "c0", "k17", "a1", "p2", "c0\u{1}", "x\u{1}\u{1}"] {
            assert_eq!(result_name(name), format!("{name}\u{1}"));
        }
        for name in ["", "c", "c0x", "rows", "x0", "C0", "total", "a b"] {
            assert_eq!(result_name(name), name);
        }
        for name in ["row", "a1", "total", "", "x\u{1}"] {
            assert_eq!(shown_name(&result_name(name)), name);
        }
    }
}
