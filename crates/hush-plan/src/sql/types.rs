// SPDX-License-Identifier: Apache-2.0
//! Types of resolved expressions, as far as columns, literals and operators tell them: what cannot be compared or added is
//! refused here, by name, where a query engine would fail on a row of the table.

use std::ops::ControlFlow;

use sqlparser::ast::{BinaryOperator, DataType, Expr, UnaryOperator, Value, Visitor};

use super::Query;
use super::expression::{bare, column_name, is_comparison, plain_name, shown};
use super::functions::{Call, aggregate};
use crate::aggregates::Aggregate;
use crate::error::{Clause, PlanError};
use crate::schema::file::type_name;
use crate::schema::units::{
    DecimalPoint, days_from_civil, parse_bool, parse_timestamp, parse_units, scan_number,
};
use crate::schema::{ColumnType, Schema};
use crate::sql::walk::walk;

/// The kind of an expression's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Bool,
    Number,
    Text,
    /// A date or a timestamp.
    Time,
}

impl Family {
    fn describe(self) -> &'static str {
        match self {
            Self::Bool => "a truth value",
            Self::Number => "a number",
            Self::Text => "a text",
            Self::Time => "a date or a time",
        }
    }

    fn of(kind: ColumnType) -> Self {
        match kind {
            ColumnType::Bool => Self::Bool,
            ColumnType::Category | ColumnType::Text => Self::Text,
            ColumnType::Date | ColumnType::Timestamp => Self::Time,
            ColumnType::Decimal { .. } | ColumnType::Float { .. } | ColumnType::Int { .. } => Self::Number,
        }
    }
}

/// Checks all clauses.
///
/// # Errors
/// [`PlanError::Mismatch`].
pub(super) fn check_types(schema: &Schema, query: &Query) -> Result<(), PlanError> {
    let items = query.items.iter().map(|item| (&item.expr, Clause::Select));
    let keys = query.keys.iter().map(|key| (key, Clause::GroupBy));
    let order = query.order.iter().map(|key| (&key.expr, Clause::OrderBy));
    let conditions = [(&query.filter, Clause::Where), (&query.having, Clause::Having)];
    let conditions = conditions.into_iter().filter_map(|(expr, clause)| Some((expr.as_ref()?, clause)));
    for (expr, clause) in conditions.clone() {
        match family(schema, expr) {
            None | Some(Family::Bool) => {}
            Some(found) => {
                let why = format!("it is {}, and a condition is due", found.describe());
                return Err(PlanError::Mismatch { clause, text: shown(expr), why });
            }
        }
    }
    items.chain(keys).chain(order).chain(conditions).try_for_each(|(expr, clause)| {
        match walk(expr, &mut Walk { schema, clause }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(error) => Err(*error),
        }
    })
}

struct Walk<'a> {
    schema: &'a Schema,
    clause: Clause,
}

impl Visitor for Walk<'_> {
    type Break = Box<PlanError>;

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Self::Break> {
        match self.fault(expr) {
            None => ControlFlow::Continue(()),
            Some(why) => {
                let (clause, text) = (self.clause, shown(expr));
                ControlFlow::Break(Box::new(PlanError::Mismatch { clause, text, why }))
            }
        }
    }
}

impl Walk<'_> {
    /// Why the parts of an expression do not go together.
    fn fault(&self, expr: &Expr) -> Option<String> {
        use BinaryOperator::{Divide, Minus, Modulo, Multiply, Plus};
        match expr {
            Expr::BinaryOp { left, op, right } if is_comparison(op) => self.compared(left, right),
            Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => {
                self.compared(left, right)
            }
            Expr::InList { expr, list, .. } => list.iter().find_map(|value| self.compared(expr, value)),
            Expr::Between { expr, low, high, .. } => {
                self.compared(expr, low).or_else(|| self.compared(expr, high))
            }
            Expr::BinaryOp { left, op: Plus | Minus | Multiply | Divide | Modulo, right } => {
                let text = [left, right].into_iter().find(|side| self.is_text_column(side))?;
                Some(format!("{} is a text, and no number", shown(text)))
            }
            Expr::TypedString(typed) => {
                let Value::SingleQuotedString(text) = &typed.value.value else { return None };
                let kind = match typed.data_type {
                    DataType::Date => ColumnType::Date,
                    DataType::Timestamp(..) => ColumnType::Timestamp,
                    _ => return None,
                };
                (!reads_as(kind, text)).then(|| format!("'{text}' is no {}", type_name(kind)))
            }
            _ => None,
        }
    }

    fn is_text_column(&self, expr: &Expr) -> bool {
        self.column(expr).is_some_and(|(_, kind)| Family::of(kind) == Family::Text)
    }

    fn column(&self, expr: &Expr) -> Option<(String, ColumnType)> {
        let name = column_name(bare(expr))?;
        let column = self.schema.columns.iter().find(|column| column.name == name)?;
        Some((name.to_owned(), column.kind))
    }

    /// Why two expressions cannot be compared.
    fn compared(&self, left: &Expr, right: &Expr) -> Option<String> {
        for (expr, other) in [(left, right), (right, left)] {
            let Some(text) = text_literal(other) else { continue };
            let Some((name, kind)) = self.column(expr) else {
                let is_number = family(self.schema, expr) == Some(Family::Number);
                return (is_number && scan_number(text.trim().as_bytes(), DecimalPoint::Dot).is_none())
                    .then(|| format!("{} is a number, and '{text}' is none", shown(expr)));
            };
            return (!reads_as(kind, text))
                .then(|| format!("{name} is {}, and '{text}' is none", with_article(&type_name(kind))));
        }
        let (a, b) = (family(self.schema, left)?, family(self.schema, right)?);
        let fits = a == b;
        (!fits).then(|| format!("{} is {}, {} is {}", shown(left), a.describe(), shown(right), b.describe()))
    }
}

/// Whether a text that is compared with a column of a type can be read as a value of it. The query engine compares texts with
/// numbers and times by reading them.
fn reads_as(kind: ColumnType, text: &str) -> bool {
    let text = text.trim().as_bytes();
    match kind {
        ColumnType::Bool => parse_bool(text).is_some(),
        ColumnType::Category | ColumnType::Text => true,
        ColumnType::Date => is_date(text),
        ColumnType::Decimal { .. } | ColumnType::Int { .. } => {
            parse_units(kind, text, DecimalPoint::Dot).is_some()
        }
        ColumnType::Float { .. } => scan_number(text, DecimalPoint::Dot).is_some(),
        ColumnType::Timestamp => {
            is_date(text) || text.get(4) == Some(&b'-') && parse_timestamp(text, None).is_some()
        }
    }
}

/// `2024-3-1`: year, month and day, which other orders of them are not.
fn is_date(text: &[u8]) -> bool {
    let number = |part: &[u8], most: usize| -> Option<i64> {
        let is_number = (1..=most).contains(&part.len()) && part.iter().all(u8::is_ascii_digit);
        std::str::from_utf8(part).ok().filter(|_| is_number)?.parse().ok()
    };
    match text.split(|byte| *byte == b'-').collect::<Vec<_>>().as_slice() {
        [year, month, day] if year.len() == 4 => {
            let date = (number(year, 4), number(month, 2), number(day, 2));
            matches!(date, (Some(y), Some(m), Some(d)) if days_from_civil(y, m, d).is_some())
        }
        _ => false,
    }
}

fn with_article(kind: &str) -> String {
    let article = if kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {kind}")
}

fn text_literal(expr: &Expr) -> Option<&str> {
    match bare(expr) {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// The kind of an expression's values, where it is plain. Texts that a query engine would read as something else have none.
pub(crate) fn family(schema: &Schema, expr: &Expr) -> Option<Family> {
    use BinaryOperator as B;
    Some(match bare(expr) {
        Expr::Value(value) => match &value.value {
            Value::Number(..) => Family::Number,
            Value::Boolean(_) => Family::Bool,
            _ => return None,
        },
        Expr::TypedString(typed) if matches!(typed.data_type, DataType::Date | DataType::Timestamp(..)) => {
            Family::Time
        }
        Expr::UnaryOp { op: UnaryOperator::Not, .. } => Family::Bool,
        Expr::UnaryOp { expr, .. } => family(schema, expr)?,
        Expr::BinaryOp { op: B::StringConcat, .. } => Family::Text,
        Expr::BinaryOp { op: B::And | B::Or, .. } => Family::Bool,
        Expr::BinaryOp { op, .. } if is_comparison(op) => Family::Bool,
        Expr::BinaryOp { left, op: B::Plus | B::Minus | B::Multiply | B::Divide | B::Modulo, right } => {
            let sides = [family(schema, left)?, family(schema, right)?];
            (sides == [Family::Number; 2]).then_some(Family::Number)?
        }
        Expr::Like { .. }
        | Expr::ILike { .. }
        | Expr::SimilarTo { .. }
        | Expr::InList { .. }
        | Expr::Between { .. }
        | Expr::IsNull(_)
        | Expr::IsNotNull(_) => Family::Bool,
        Expr::Function(call) if call.over.is_none() => match aggregate(bare(expr)) {
            Some(Ok(Call { aggregate: Aggregate::Engine(name), arguments, .. })) => match (name, &*arguments)
            {
                ("max" | "min", [argument]) => family(schema, argument)?,
                ("bool_and" | "bool_or", _) => Family::Bool,
                _ => return None,
            },
            // A value, or one between two.
            Some(Ok(Call { aggregate: Aggregate::Ordered(_), arguments, .. })) => {
                family(schema, arguments.first()?)?
            }
            Some(Ok(Call { aggregate: Aggregate::Rows(_), .. })) => return None,
            Some(Ok(_)) => Family::Number,
            Some(Err(_)) => return None,
            None if TEXTS.contains(&plain_name(call)?.as_str()) => Family::Text,
            None => return None,
        },
        other => {
            let name = column_name(other)?;
            Family::of(schema.columns.iter().find(|column| column.name == name)?.kind)
        }
    })
}

/// Functions with texts for values.
const TEXTS: &[&str] = &[
    "btrim",
    "concat",
    "concat_ws",
    "initcap",
    "left",
    "lower",
    "ltrim",
    "replace",
    "reverse",
    "right",
    "rtrim",
    "split_part",
    "substr",
    "to_char",
    "translate",
    "upper",
];

#[cfg(test)]
mod tests {
    use crate::sql::parse;
    use crate::tables::patients;

    fn why(filter: &str) -> String {
        let text = format!("SELECT COUNT(*) FROM patients WHERE {filter}");
        parse(&patients(), &text).map_or_else(|error| error.to_string(), |_| String::new())
    }

    #[test]
    fn what_cannot_be_compared_is_said() {
        for (filter, expected) in [
            ("year = 'abc'", "year is an int(16), and 'abc' is none"),
            ("'2023.5' < year", "year is an int(16), and '2023.5' is none"),
            ("disc IN (0.5, 'x')", "disc is a decimal(3,2), and 'x' is none"),
            ("disc = '0.555'", "disc is a decimal(3,2), and '0.555' is none"),
            (
                "admitted BETWEEN '2024-01-01' AND '31.12.2024'",
                "admitted is a date, and '31.12.2024' is none",
            ),
            ("admitted > '2024-02-30'", "admitted is a date, and '2024-02-30' is none"),
            ("DATE '2024-13-01' < admitted", "'2024-13-01' is no date"),
            ("ward = 5", "ward is a text, 5 is a number"),
            ("upper(ward) = year", "upper(ward) is a text, year is a number"),
            ("admitted = year", "admitted is a date or a time, year is a number"),
            ("ward + 1 > 2", "ward is a text, and no number"),
            ("ward", "it is a text, and a condition is due"),
            ("NOT (year = 'abc')", "year is an int(16), and 'abc' is none"),
        ] {
            let found = why(filter);
            assert!(found.ends_with(expected), "{filter}: {found}");
        }
    }

    #[test]
    fn aggregates_have_types_too() {
        let having = |text: &str| {
            let text = format!("SELECT ward, SUM(age) AS s FROM patients GROUP BY ward HAVING {text}");
            parse(&patients(), &text).map_or_else(|error| error.to_string(), |_| String::new())
        };
        for text in ["s > 'many'", "MAX(ward) = 5", "MIN(admitted) > 5", "MEDIAN(admitted) > 5", "COUNT(*)"] {
            assert!(having(text).starts_with("HAVING"), "{text}: {}", having(text));
        }
        let date = "> DATE '2024-01-01'";
        for text in ["s > '5'", "MAX(ward) = '5'", "BOOL_OR(year > 3)", "MODE(ward) = 'a'"]
            .map(str::to_owned)
            .into_iter()
            .chain(["MIN(admitted)", "MEDIAN(admitted)"].map(|call| format!("{call} {date}")))
        {
            assert_eq!(having(&text), "", "{text}");
        }
    }

    #[test]
    fn what_can_be_compared_is() {
        for filter in [
            "year = '2023'",
            "year = ' 2023 '",
            "rate < '1e3'",
            "admitted >= '2024-3-1'",
            "seen IS NOT NULL OR TRUE",
            "ward = '5' AND ward < upper('x')",
            "year IN (1, NULL, '7')",
            "NULL",
            "admitted = CAST(ward AS DATE)",
            "weight > 1.5",
        ] {
            let found = why(filter);
            assert!(!found.contains(" is "), "{filter}: {found}");
        }
    }
}
