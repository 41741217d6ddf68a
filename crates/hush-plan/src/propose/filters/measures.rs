// SPDX-License-Identifier: Apache-2.0
//! What a query adds up, expression by expression.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Value, VisitorMut};

use crate::aggregates::{Aggregate, FromSums, MomentFunction};
use crate::sql::functions::{self, Call};
use crate::sql::walk::walk_mut;
use crate::sql::{Query, bare, column_name, columns_of, shown};

/// The expressions that a query adds up, as SQL, each as it stands and within CASE; `None` for a query that takes other sums of them, such as squares.
pub(super) fn summed(query: &Query) -> Option<BTreeSet<String>> {
    let mut finder = Finder { found: BTreeSet::new(), takes_others: false };
    for expr in query.expressions() {
        let _ = walk_mut(&mut expr.clone(), &mut finder);
    }
    (!finder.takes_others).then_some(finder.found)
}

struct Finder {
    found: BTreeSet<String>,
    takes_others: bool,
}

impl Finder {
    fn read(&mut self, call: &Call) {
        let Some(argument) = call.arguments.first() else { return };
        match call.aggregate {
            _ if call.distinct => self.takes_others = true,
            Aggregate::FromSums(FromSums::Moments(MomentFunction::Avg | MomentFunction::Sum)) => {
                let parts = parts(argument).into_iter().filter(|part| !columns_of(part).is_empty());
                self.found.extend(parts.map(text_of));
            }
            Aggregate::FromSums(FromSums::Count) if column_name(bare(argument)).is_some() => {
                self.found.insert(text_of(argument));
            }
            _ => self.takes_others = true,
        }
    }
}

impl VisitorMut for Finder {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Some(Ok(call)) = functions::aggregate(expr) {
            self.read(&call);
            *expr = Expr::Value(Value::Null.into());
        }
        ControlFlow::Continue(())
    }
}

/// What a CASE may be, or the expression itself.
fn parts(expr: &Expr) -> Vec<&Expr> {
    match bare(expr) {
        Expr::Case { conditions, else_result, .. } => {
            let results = conditions.iter().map(|when| &when.result).chain(else_result.as_deref());
            results.flat_map(parts).collect()
        }
        other => vec![other],
    }
}

/// The name of a column, or SQL.
fn text_of(expr: &Expr) -> String {
    let expr = bare(expr);
    column_name(expr).map_or_else(|| shown(expr), str::to_owned)
}
