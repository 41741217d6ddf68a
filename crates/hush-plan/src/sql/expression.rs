// SPDX-License-Identifier: Apache-2.0
//! Resolved expressions: their columns, their functions, and how they are written for people and for engines.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, Ident, ObjectNamePart, Visitor, VisitorMut,
};

use crate::error::{Clause, Feature, PlanError};
use crate::sql::walk::{walk, walk_mut};

/// The name of a resolved column, if `expr` is one.
pub(crate) fn column_name(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Identifier(ident) if ident.quote_style.is_some() => Some(&ident.value),
        _ => None,
    }
}

/// Without outer parentheses.
pub(crate) fn bare(mut expr: &Expr) -> &Expr {
    while let Expr::Nested(inner) = expr {
        expr = inner;
    }
    expr
}

/// Whether some part of `expr`, or all of it, is of a kind.
pub(crate) fn holds(expr: &Expr, is_wanted: fn(&Expr) -> bool) -> bool {
    struct Search(fn(&Expr) -> bool);
    impl Visitor for Search {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            if (self.0)(expr) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    walk(expr, &mut Search(is_wanted)).is_break()
}

/// Columns in a resolved expression, in order of appearance.
pub(crate) fn columns_of(expr: &Expr) -> Vec<String> {
    struct ColumnNames(Vec<String>);
    impl Visitor for ColumnNames {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            self.0.extend(column_name(expr).map(str::to_owned));
            ControlFlow::Continue(())
        }
    }
    let mut columns = ColumnNames(Vec::new());
    let _ = walk(expr, &mut columns);
    columns.0
}

/// A resolved expression with other names for its columns; `None` if one of them has no name.
pub(crate) fn renamed(expr: &Expr, name: &dyn Fn(&str) -> Option<String>) -> Option<Expr> {
    struct Rename<'a>(&'a dyn Fn(&str) -> Option<String>);
    impl VisitorMut for Rename<'_> {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            let Some(found) = column_name(expr).map(str::to_owned) else { return ControlFlow::Continue(()) };
            let Some(name) = (self.0)(&found) else { return ControlFlow::Break(()) };
            *expr = Expr::Identifier(Ident::with_quote('"', name));
            ControlFlow::Continue(())
        }
    }
    let mut copy = expr.clone();
    walk_mut(&mut copy, &mut Rename(name)).is_continue().then_some(copy)
}

/// A resolved expression as a user would type it: quotes only where a name needs them.
pub(crate) fn shown(expr: &Expr) -> String {
    struct Unquote;
    impl VisitorMut for Unquote {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            if let Expr::Identifier(ident) = expr
                && is_plain(&ident.value)
            {
                ident.quote_style = None;
            }
            ControlFlow::Continue(())
        }
    }
    let mut copy = expr.clone();
    let _ = walk_mut(&mut copy, &mut Unquote);
    copy.to_string()
}

/// A name in double quotes, for SQL that a query engine reads.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn is_plain(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// `=`, `<>`, `<` and their kin.
pub(super) fn is_comparison(op: &BinaryOperator) -> bool {
    use BinaryOperator as B;
    matches!(op, B::Eq | B::NotEq | B::Gt | B::GtEq | B::Lt | B::LtEq)
}

/// Lower-case name of a function without qualifier.
pub(super) fn plain_name(function: &Function) -> Option<String> {
    match function.name.0.as_slice() {
        [ObjectNamePart::Identifier(ident)] => Some(ident.value.to_ascii_lowercase()),
        _ => None,
    }
}

/// Plain arguments.
pub(super) fn expressions(arguments: &[FunctionArg]) -> Result<Vec<Expr>, PlanError> {
    let refuse = || PlanError::Unsupported { clause: Clause::Select, feature: Feature::Dialect };
    let plain = arguments.iter().map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) => Ok(argument.clone()),
        _ => Err(refuse()),
    });
    plain.collect()
}
