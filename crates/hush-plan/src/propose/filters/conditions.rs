// SPDX-License-Identifier: Apache-2.0
//! Which conditions of a query no flags of values decide, so that they have to be derived.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator, Value, VisitorMut};

use crate::fetch::conjuncts;
use crate::filter::{Code, decide};
use crate::propose::reads::is_condition;
use crate::schema::{Protection, Schema};
use crate::sql::functions::has_aggregate;
use crate::sql::walk::walk_mut;
use crate::sql::{Query, bare, column_name, columns_of, shown};

/// The conditions that are to be derived, as SQL, each as small as flags of values allow.
///
/// Those of WHERE are products of whatever flags there are. Behind it, in CASE, FILTER and groups, each is a question for cells of its own: a condition
/// then makes two or three, and the values of its columns would make many.
pub(super) fn lacking(schema: &Schema, codes: &[Code], query: &Query) -> Vec<String> {
    let is_hidden = |name: &String| !schema.protected(Protection::Clear).any(|clear| clear.name == *name);
    let mut found: Vec<Expr> = Vec::new();
    for member in query.filter.iter().flat_map(conjuncts) {
        if columns_of(member).iter().any(is_hidden) {
            let parts = parts((schema, codes), &is_hidden, member);
            found.extend(parts.unwrap_or_else(|| vec![member.clone()]));
        }
    }
    let keys = query.keys.iter().filter_map(|key| column_name(bare(key))).map(str::to_owned).collect();
    let mut finder = Finder { is_hidden: &is_hidden, keys, found };
    let rest = Query { filter: None, ..query.clone() };
    for expr in rest.expressions() {
        let _ = walk_mut(&mut expr.clone(), &mut finder);
    }
    finder.found.iter().map(|condition| shown(bare(condition))).collect()
}

/// The parts of a condition that flags do not decide; `None` where one of them hides nothing, so that the whole condition is to be derived.
fn parts(
    (schema, codes): (&Schema, &[Code]),
    is_hidden: &dyn Fn(&String) -> bool,
    condition: &Expr,
) -> Option<Vec<Expr>> {
    if decide(schema, codes, condition) {
        return Some(Vec::new());
    }
    match bare(condition) {
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => parts((schema, codes), is_hidden, expr),
        Expr::BinaryOp { left, op: BinaryOperator::And | BinaryOperator::Or, right } => {
            let part = |side| parts((schema, codes), is_hidden, side);
            Some([part(left)?, part(right)?].concat())
        }
        part => columns_of(part).iter().any(is_hidden).then(|| vec![part.clone()]),
    }
}

/// Finds conditions behind WHERE, but those on columns that rows are grouped by: these have cells anyway.
struct Finder<'a> {
    is_hidden: &'a dyn Fn(&String) -> bool,
    keys: BTreeSet<String>,
    found: Vec<Expr>,
}

impl VisitorMut for Finder<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let is_one = is_condition(expr)
            || matches!(
                expr,
                Expr::ILike { .. }
                    | Expr::IsNotFalse(_)
                    | Expr::IsNotTrue(_)
                    | Expr::UnaryOp { op: UnaryOperator::Not, .. }
            );
        let columns = columns_of(expr);
        if !is_one || has_aggregate(expr) || !columns.iter().any(self.is_hidden) {
            return ControlFlow::Continue(());
        }
        let whole = std::mem::replace(expr, Expr::Value(Value::Null.into()));
        if !columns.iter().all(|name| self.keys.contains(name)) {
            self.found.push(whole);
        }
        ControlFlow::Continue(())
    }
}
