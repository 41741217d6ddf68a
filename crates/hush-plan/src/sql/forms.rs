// SPDX-License-Identifier: Apache-2.0
//! Forms that stand for others, written out as these, so that whatever comes after knows one form of each question.
//!
//! | written | read as |
//! |---|---|
//! | `(a, b) = (c, d)`, `(a, b) IN ((c, d), …)` | `a = c AND b = d`, and OR of these |
//! | `(a, b) < (c, d)` | `a < c OR a = c AND b < d` |
//! | `(a, b) IN (SELECT …)` in WHERE | `EXISTS (SELECT … WHERE …)` |
//! | `x = ANY (ARRAY[…])`, `x > ALL (ARRAY[…])` | `x IN (…)`, `x > … AND x > …` |
//! | `x = ANY (SELECT …)`, `x <> ALL (SELECT …)` | `x IN (SELECT …)`, `x NOT IN (SELECT …)` |
//! | `FETCH FIRST 3 ROWS ONLY` | `LIMIT 3` |
//! | `COUNT_IF(c)`, `SUM(c)` of a condition | `COUNT(*) FILTER (WHERE c)`, `SUM(CASE WHEN c THEN 1 WHEN NOT c THEN 0 END)` |
//! | `MOD(a, b)`, `SIGN(x)`, `IF(c, a, b)`, `EVERY(c)` | `a % b`, `CASE …`, `CASE …`, `BOOL_AND(c)` |
//! | `APPROX_COUNT_DISTINCT(x)`, `APPROX_QUANTILE(x, p)` | `COUNT(DISTINCT x)`, `QUANTILE_CONT(x, p)`: exact |
//!
//! Outputs are named after what was written.

mod functions;
mod rows;

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Fetch, Ident, LimitClause, Query, Select, SelectItem, Value, VisitorMut};

use super::bounds;
use super::output;
use crate::error::{Clause, Feature, Measure, PlanError};
use crate::sql::walk::walk_mut;

/// Most bytes that are written out in a query. A form is short, and what it stands for need not be.
const MAX_BYTES: usize = 64 << 10;

/// Writes out every form of a query.
///
/// # Errors
/// P005 for forms that stand for nothing here, P012 for a query that becomes too long.
pub(super) fn write_out(query: &mut Query) -> Result<(), PlanError> {
    let mut forms = Forms { bytes: 0, names: Vec::new() };
    if let ControlFlow::Break(error) = walk_mut(query, &mut forms) {
        return Err(*error);
    }
    if forms.bytes > 0 {
        // The bounds of what is read hold for what it stands for.
        bounds::tokens(&query.to_string(), &bounds::QUERY)?;
    }
    Ok(())
}

struct Forms {
    /// Written out so far.
    bytes: usize,
    /// Of each SELECT that is open, the names that its outputs have as they were written.
    names: Vec<Vec<Option<String>>>,
}

impl Forms {
    /// Takes account of a text of this length before it is made.
    fn take(&mut self, bytes: usize) -> Result<(), PlanError> {
        self.bytes = self.bytes.saturating_add(bytes.max(1));
        let (what, limit) = (Measure::Bytes, MAX_BYTES as u64);
        if self.bytes > MAX_BYTES { Err(PlanError::TooComplex { what, limit }) } else { Ok(()) }
    }

    fn written(&mut self, expr: &Expr) -> Result<Option<Expr>, PlanError> {
        match expr {
            Expr::Function(function) => functions::written(function, &mut |bytes| self.take(bytes)),
            _ => rows::written(expr, &mut |bytes| self.take(bytes)),
        }
    }
}

impl VisitorMut for Forms {
    type Break = Box<PlanError>;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        flow(fetch_as_limit(query))
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Self::Break> {
        let name = |item: &SelectItem| match item {
            SelectItem::UnnamedExpr(expr) => Some(output::default_name(expr)),
            _ => None,
        };
        self.names.push(select.projection.iter().map(name).collect());
        match &mut select.selection {
            Some(condition) => flow(rows::sought_rows(condition, &mut |bytes| self.take(bytes))),
            None => ControlFlow::Continue(()),
        }
    }

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<Self::Break> {
        let names = self.names.pop().unwrap_or_default();
        for (item, name) in select.projection.iter_mut().zip(names) {
            if let (SelectItem::UnnamedExpr(expr), Some(name)) = (&*item, name)
                && output::default_name(expr) != name
            {
                let (expr, alias) = (expr.clone(), Ident::with_quote('"', name));
                *item = SelectItem::ExprWithAlias { expr, alias };
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        match self.written(expr) {
            Ok(None) => ControlFlow::Continue(()),
            Ok(Some(written)) => {
                *expr = written;
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(Box::new(error)),
        }
    }
}

fn flow(result: Result<(), PlanError>) -> ControlFlow<Box<PlanError>> {
    result.map_or_else(|error| ControlFlow::Break(Box::new(error)), ControlFlow::Continue)
}

/// `FETCH FIRST n ROWS ONLY` as LIMIT. With ties, or of a percentage, it stays, and is refused.
fn fetch_as_limit(query: &mut Query) -> Result<(), PlanError> {
    let Some(Fetch { with_ties: false, percent: false, quantity }) = &query.fetch else { return Ok(()) };
    let one = || Expr::Value(Value::Number("1".to_owned(), false).into());
    let limit = Some(quantity.clone().unwrap_or_else(one));
    query.limit_clause = Some(match query.limit_clause.take() {
        None => LimitClause::LimitOffset { limit, offset: None, limit_by: Vec::new() },
        Some(LimitClause::LimitOffset { limit: None, offset, limit_by }) => {
            LimitClause::LimitOffset { limit, offset, limit_by }
        }
        // Both at once.
        Some(_) => {
            let (clause, feature) = (Clause::Limit, Feature::Dialect);
            return Err(PlanError::Unsupported { clause, feature });
        }
    });
    query.fetch = None;
    Ok(())
}

/// Brackets around an expression.
fn nested(expr: Expr) -> Expr {
    Expr::Nested(Box::new(expr))
}

/// The length of an expression as text.
fn length(expr: &Expr) -> usize {
    expr.to_string().len()
}

#[cfg(test)]
mod tests;
