// SPDX-License-Identifier: Apache-2.0
//! What a plan adds up of one table, as SQL on this table.

use arrow::datatypes::DataType;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::expr::{Case, Cast};
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, Operator};

use super::super::conditions::{Described, constant, keeps, quoted, render};
use crate::tokens::Tokens;

/// An exact number of every row: a polynomial in the columns, or one of several by a condition; `None` if it is another expression. A table knows its
/// value exactly, whatever types the plan gives to its parts.
pub(super) fn measure(expr: &Expr, columns: &DFSchema, tokens: &Tokens) -> Option<String> {
    let table = Described { columns: columns.as_arrow(), tokens };
    let measured = Measured { columns, table };
    let (text, scale) = measured.text(expr)?;
    (scale <= scale_of(&expr.get_type(columns).ok()?)?).then_some(text)
}

/// Decimal places of an exact number.
pub(super) fn scale_of(kind: &DataType) -> Option<i8> {
    match kind {
        kind if kind.is_integer() => Some(0),
        DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) if *scale >= 0 => Some(*scale),
        _ => None,
    }
}

struct Measured<'a> {
    columns: &'a DFSchema,
    table: Described<'a>,
}

impl Measured<'_> {
    /// SQL with its decimal places.
    fn text(&self, expr: &Expr) -> Option<(String, i8)> {
        match expr {
            Expr::Column(column) => {
                // Nobody adds tokens up.
                if self.table.tokens.column(&column.name).is_some() {
                    return None;
                }
                let kind = self.table.columns.field_with_name(&column.name).ok()?.data_type();
                Some((quoted(&column.name), scale_of(kind)?))
            }
            Expr::Literal(value, _) => {
                let kind = value.data_type();
                Some((constant(expr, &kind).filter(|_| !value.is_null())?, scale_of(&kind)?))
            }
            Expr::Cast(Cast { expr: inner, field }) => {
                let kind = inner.get_type(self.columns).ok()?;
                scale_of(&kind).filter(|_| keeps(&kind, field.data_type()))?;
                self.text(inner)
            }
            Expr::Negative(inner) => self.text(inner).map(|(text, scale)| (format!("(-{text})"), scale)),
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
                let ((left, a), (right, b)) = (self.text(left)?, self.text(right)?);
                let scale = match op {
                    Operator::Plus | Operator::Minus => a.max(b),
                    Operator::Multiply => a.checked_add(b)?,
                    _ => return None,
                };
                Some((format!("({left} {op} {right})"), scale))
            }
            Expr::Case(Case { expr: None, when_then_expr, else_expr }) => {
                let mut text = "CASE".to_owned();
                let mut places = 0;
                for (when, then) in when_then_expr {
                    let (then, scale) = self.or_null(then)?;
                    places = places.max(scale);
                    text.push_str(&format!(" WHEN {} THEN {then}", render(when, self.table)?));
                }
                if let Some(otherwise) = else_expr {
                    let (otherwise, scale) = self.or_null(otherwise)?;
                    places = places.max(scale);
                    text.push_str(&format!(" ELSE {otherwise}"));
                }
                Some((format!("({text} END)"), places))
            }
            _ => None,
        }
    }

    fn or_null(&self, expr: &Expr) -> Option<(String, i8)> {
        let mut bare = expr;
        while let Expr::Cast(Cast { expr: inner, .. }) = bare {
            bare = inner;
        }
        match bare {
            Expr::Literal(value, _) if value.is_null() || matches!(value, ScalarValue::Null) => {
                Some(("NULL".to_owned(), 0))
            }
            _ => self.text(expr),
        }
    }
}
