// SPDX-License-Identifier: Apache-2.0
//! Checks that expressions are clear where they must be. A refusal names the smallest expression that explains it.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Visitor};

use super::expression::{column_name, columns_of, is_comparison, shown};
use crate::error::{Clause, PlanError};
use crate::schema::{Column, Protection, Schema};
use crate::sql::walk::walk;

/// The column that a resolved name means, if queries can use it.
///
/// # Errors
/// [`PlanError::NotQueryable`] for sealed, dropped and undecided columns; [`PlanError::UnknownColumn`] if the
/// query was resolved against another schema.
pub(crate) fn usable<'a>(schema: &'a Schema, name: &str, clause: Clause) -> Result<&'a Column, PlanError> {
    let column = schema.columns.iter().find(|column| column.name == name).ok_or_else(|| {
        let (found, table) = (name.to_owned(), schema.table.clone());
        PlanError::UnknownColumn { clause, found, quoted: false, nearest: None, table }
    })?;
    match column.protect {
        Protection::Clear | Protection::Encrypt => Ok(column),
        protect => {
            let (kind, reason) = (column.kind, column.reason.clone());
            Err(PlanError::NotQueryable { clause, column: name.to_owned(), protect, kind, reason })
        }
    }
}

/// The first encrypted column in `expr`, if there is one.
///
/// # Errors
/// Those of [`usable`].
pub(crate) fn encrypted_in<'a>(
    schema: &'a Schema,
    expr: &Expr,
    clause: Clause,
) -> Result<Option<&'a Column>, PlanError> {
    for name in columns_of(expr) {
        let column = usable(schema, &name, clause)?;
        if column.protect == Protection::Encrypt {
            return Ok(Some(column));
        }
    }
    Ok(None)
}

/// Checks that a resolved expression uses clear columns only.
///
/// # Errors
/// [`PlanError::EncryptedComparison`] with the innermost comparison around the first encrypted column, else
/// [`PlanError::EncryptedOperand`]; those of [`usable`].
pub(crate) fn check_clear(schema: &Schema, expr: &Expr, clause: Clause) -> Result<(), PlanError> {
    let mut visitor = Walk { schema, clause, whole: expr, comparisons: Vec::new() };
    match walk(expr, &mut visitor) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(*error),
    }
}

struct Walk<'a> {
    schema: &'a Schema,
    clause: Clause,
    whole: &'a Expr,
    /// The comparisons open around the current node.
    comparisons: Vec<Expr>,
}

impl Walk<'_> {
    fn column(&self, name: &str) -> Result<(), PlanError> {
        if usable(self.schema, name, self.clause)?.protect == Protection::Clear {
            return Ok(());
        }
        let (clause, column) = (self.clause, name.to_owned());
        Err(match self.comparisons.last() {
            Some(comparison) => PlanError::EncryptedComparison { clause, text: shown(comparison), column },
            None => PlanError::EncryptedOperand { clause, text: shown(self.whole), column },
        })
    }
}

impl Visitor for Walk<'_> {
    type Break = Box<PlanError>;

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Self::Break> {
        if is_test(expr) {
            self.comparisons.push(expr.clone());
        }
        match column_name(expr).map(|name| self.column(name)) {
            Some(Err(error)) => ControlFlow::Break(Box::new(error)),
            _ => ControlFlow::Continue(()),
        }
    }

    fn post_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Self::Break> {
        if is_test(expr) {
            self.comparisons.pop();
        }
        ControlFlow::Continue(())
    }
}

/// Whether `expr` asks something of its operands' values.
fn is_test(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryOp { op, .. } => is_comparison(op),
        Expr::IsFalse(_)
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
        | Expr::Like { .. }
        | Expr::ILike { .. }
        | Expr::SimilarTo { .. } => true,
        _ => false,
    }
}
