// SPDX-License-Identifier: Apache-2.0
//! Where comparisons of columns with constants change, from one value to the next.

use sqlparser::ast::{BinaryOperator, Expr};

use super::expression::{bare, column_name};

/// A comparison has one truth value up to a constant, and another from there on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Change<'a> {
    pub(crate) column: &'a str,
    /// What the column is compared with, constant or not.
    pub(crate) at: &'a Expr,
    /// Whether values that are equal to the constant are before the change.
    pub(crate) behind: bool,
}

/// The changes of one comparison; none where an expression is no comparison of a column, whatever its parts are.
pub(crate) fn changes(expr: &Expr) -> Vec<Change<'_>> {
    use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    match expr {
        // `x < c` and `x >= c` change before c, `x <= c` and `x > c` behind it.
        Expr::BinaryOp { left, op: Lt | GtEq, right } => sides(left, right, &[false], &[true]),
        Expr::BinaryOp { left, op: LtEq | Gt, right } => sides(left, right, &[true], &[false]),
        Expr::BinaryOp { left, op: Eq | NotEq, right } => sides(left, right, &[false, true], &[false, true]),
        Expr::Between { expr, low, high, .. } => {
            [around(expr, low, &[false]), around(expr, high, &[true])].concat()
        }
        Expr::InList { expr, list, .. } => {
            list.iter().flat_map(|constant| around(expr, constant, &[false, true])).collect()
        }
        _ => Vec::new(),
    }
}

/// A comparison of two sides, the first of which changes at the second so, and the other way round.
fn sides<'a>(left: &'a Expr, right: &'a Expr, first: &[bool], second: &[bool]) -> Vec<Change<'a>> {
    [around(left, right, first), around(right, left, second)].concat()
}

fn around<'a>(side: &'a Expr, at: &'a Expr, behind: &[bool]) -> Vec<Change<'a>> {
    let column = column_name(bare(side));
    column
        .into_iter()
        .flat_map(|column| behind.iter().map(move |behind| Change { column, at, behind: *behind }))
        .collect()
}
