// SPDX-License-Identifier: Apache-2.0
//! What a query reads of each column: its values, or sums of them; and the constants that it compares values with.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use sqlparser::ast::{BinaryOperator, Expr, Value, VisitorMut};

use crate::aggregates::Aggregate;
use crate::filter::text_of;
use crate::schema::{ColumnType, Schema};
use crate::sql::functions::{self, Call};
use crate::sql::walk::walk_mut;
use crate::sql::{Change, Query, changes, column_name, constant_units};

/// The reads of a query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reads {
    /// Columns whose values it asks for: in conditions, groups, orders.
    pub(super) compared: BTreeSet<String>,
    /// Columns that it adds up.
    pub(super) summed: BTreeSet<String>,
    /// Numbers, in units, at which a comparison changes: the first value behind the change.
    pub(super) changes: BTreeMap<String, BTreeSet<i128>>,
    /// Texts that a column is compared with.
    pub(super) texts: BTreeMap<String, BTreeSet<String>>,
}

impl Reads {
    pub(super) fn of(schema: &Schema, query: &Query) -> Self {
        let mut reader = Reader { schema, reads: Self::default(), adds_up: false };
        query.expressions().for_each(|expr| reader.read(expr, false));
        reader.reads
    }
}

struct Reader<'a> {
    schema: &'a Schema,
    reads: Reads,
    /// Whether values are added up where it stands.
    adds_up: bool,
}

impl Reader<'_> {
    fn read(&mut self, expr: &Expr, adds_up: bool) {
        let before = std::mem::replace(&mut self.adds_up, adds_up);
        let _ = walk_mut(&mut expr.clone(), self);
        self.adds_up = before;
    }

    /// Notes where a comparison of a column with constants changes.
    fn note(&mut self, expr: &Expr) {
        for Change { column, at, behind } in changes(expr) {
            let kind = self.schema.columns.iter().find(|known| known.name == column).map(|known| known.kind);
            let Some(kind) = kind else { continue };
            if let Some(units) = constant_units(kind, at) {
                let change = units.saturating_add(i128::from(behind));
                self.reads.changes.entry(column.to_owned()).or_default().insert(change);
            } else if let (ColumnType::Category | ColumnType::Text, Some(text)) = (kind, text_of(at)) {
                self.reads.texts.entry(column.to_owned()).or_default().insert(text.to_owned());
            }
        }
    }
}

/// A call that adds its arguments up.
fn adds_up(call: &Call) -> bool {
    !call.distinct && matches!(call.aggregate, Aggregate::FromSums(_) | Aggregate::Jointly(_))
}

/// Whether an expression is a truth value made of others.
pub(super) fn is_condition(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryOp { op, .. } => {
            use BinaryOperator::{And, Eq, Gt, GtEq, Lt, LtEq, NotEq, Or};
            matches!(op, And | Eq | Gt | GtEq | Lt | LtEq | NotEq | Or)
        }
        Expr::Between { .. }
        | Expr::InList { .. }
        | Expr::IsFalse(_)
        | Expr::IsNotNull(_)
        | Expr::IsNull(_)
        | Expr::IsTrue(_)
        | Expr::Like { .. } => true,
        _ => false,
    }
}

impl VisitorMut for Reader<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Some(Ok(call)) = functions::aggregate(expr) {
            let sums = adds_up(&call);
            call.arguments.iter().for_each(|argument| self.read(argument, sums));
            call.filter.iter().for_each(|filter| self.read(filter, false));
        } else if self.adds_up && is_condition(expr) {
            self.read(expr, false);
        } else if let (true, Expr::Case { operand, conditions, else_result, .. }) = (self.adds_up, &*expr) {
            operand.iter().for_each(|operand| self.read(operand, false));
            for when in conditions {
                self.read(&when.condition, false);
                self.read(&when.result, true);
            }
            else_result.iter().for_each(|result| self.read(result, true));
        } else if let Some(name) = column_name(expr) {
            let reads = if self.adds_up { &mut self.reads.summed } else { &mut self.reads.compared };
            reads.insert(name.to_owned());
            return ControlFlow::Continue(());
        } else {
            self.note(expr);
            return ControlFlow::Continue(());
        }
        // What stands in it has been read.
        *expr = Expr::Value(Value::Null.into());
        ControlFlow::Continue(())
    }
}
