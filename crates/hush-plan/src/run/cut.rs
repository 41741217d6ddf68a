// SPDX-License-Identifier: Apache-2.0
//! Where a condition on the column of a run changes: values in their order, and cuts between them.

use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator, Value};

use super::{RunColumn, RunForm};
use crate::plan::{Cut, Key};
use crate::sql::{bare, column_name, constant_units};

/// Cuts around a double.
pub(super) const CUTS_OF_A_DOUBLE: usize = 10;

/// Where a condition on a column changes; `None` for what is no comparison of the column with constants. Between two cuts next to one another it
/// is the same for all values.
pub(super) fn cuts_of(column: &RunColumn, expr: &Expr) -> Option<Vec<Cut>> {
    use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    let is_column = |expr: &Expr| column_name(bare(expr)) == Some(column.name.as_str());
    match bare(expr) {
        Expr::IsNull(inner) | Expr::IsNotNull(inner) => is_column(inner).then(Vec::new),
        Expr::BinaryOp { left, op: op @ (Eq | NotEq | Lt | LtEq | Gt | GtEq), right } => {
            let (literal, is_first) = match (is_column(left), is_column(right)) {
                (true, false) => (right, true),
                (false, true) => (left, false),
                _ => return None,
            };
            // `x < c` and `x >= c` part before c, `x <= c` and `x > c` behind it.
            let sides: &[bool] = match op {
                Lt | GtEq => &[!is_first],
                LtEq | Gt => &[is_first],
                _ => &[false, true],
            };
            around(column, literal, sides)
        }
        Expr::Between { expr, low, high, .. } if is_column(expr) => {
            Some([around(column, low, &[false])?, around(column, high, &[true])?].concat())
        }
        Expr::InList { expr, list, .. } if is_column(expr) => {
            let cuts = list.iter().map(|literal| around(column, literal, &[false, true]));
            Some(cuts.collect::<Option<Vec<_>>>()?.concat())
        }
        Expr::Like { any: false, expr, pattern, escape_char: None, .. } if is_column(expr) => {
            if column.form == RunForm::Texts { cuts_of_prefix(pattern) } else { None }
        }
        _ => None,
    }
}

/// These sides of a literal: whether they are behind it.
fn around(column: &RunColumn, literal: &Expr, sides: &[bool]) -> Option<Vec<Cut>> {
    let cuts = |at: &Key, sides: &[bool]| {
        sides.iter().map(|behind| Cut { at: at.clone(), behind: *behind }).collect::<Vec<_>>()
    };
    match column.form {
        RunForm::Units { .. } => Some(cuts(&Key::Number(constant_units(column.kind, literal)?), sides)),
        RunForm::Texts => match bare(literal) {
            Expr::Value(value) => match &value.value {
                Value::SingleQuotedString(text) => Some(cuts(&Key::Text(unescaped(text)), sides)),
                _ => None,
            },
            _ => None,
        },
        RunForm::Doubles => {
            let Key::Number(place) = Key::of_double(double(literal)?) else { return None };
            // Engines may read the literal a little differently, and both zeros are next to one another.
            Some(
                (place - 2..=place + 2).flat_map(|place| cuts(&Key::Number(place), &[false, true])).collect(),
            )
        }
    }
}

/// A text without the quotes that stand doubled in its literal.
fn unescaped(text: &str) -> String {
    text.replace("''", "'")
}

fn double(literal: &Expr) -> Option<f64> {
    match bare(literal) {
        Expr::Value(value) => match &value.value {
            Value::Number(text, _) => text.parse().ok(),
            _ => None,
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => Some(-double(expr)?),
        Expr::UnaryOp { op: UnaryOperator::Plus, expr } => double(expr),
        _ => None,
    }
}

/// The cuts before and behind the texts that begin with the text before a `%` at the end of a pattern, or the first alone where nothing lies behind; all
/// others of LIKE's characters are none of ours.
pub(crate) fn cuts_of_prefix(pattern: &Expr) -> Option<Vec<Cut>> {
    let Expr::Value(pattern) = bare(pattern) else { return None };
    let Value::SingleQuotedString(pattern) = &pattern.value else { return None };
    let pattern = unescaped(pattern);
    let prefix = pattern.strip_suffix('%')?;
    if prefix.is_empty() || prefix.contains(['%', '_', '\\']) {
        return None;
    }
    let before = |text: String| Cut { at: Key::Text(text), behind: false };
    Some(std::iter::once(prefix.to_owned()).chain(above_all_with(prefix)).map(before).collect())
}

/// The least text above all that begin with a prefix; `None` if there is none.
fn above_all_with(prefix: &str) -> Option<String> {
    let mut characters: Vec<char> = prefix.chars().collect();
    while let Some(last) = characters.pop() {
        // Between U+D7FF and U+E000 there are no characters.
        let next = (u32::from(last) + 1..=u32::from(char::MAX)).find_map(char::from_u32);
        if let Some(next) = next {
            return Some(characters.into_iter().chain([next]).collect());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_end_before_the_next_text() {
        let next = |prefix: &str| above_all_with(prefix);
        assert_eq!(next("ab").as_deref(), Some("ac"));
        assert_eq!(next("a\u{D7FF}").as_deref(), Some("a\u{E000}"));
        assert_eq!(next("a\u{10FFFF}").as_deref(), Some("b"));
        assert_eq!(next("\u{10FFFF}"), None);
    }
}
