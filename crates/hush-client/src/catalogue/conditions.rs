// SPDX-License-Identifier: Apache-2.0
//! Conditions of the engine's plan as the SQL of a question about one table. Only those are written whose meaning is the same in both: comparisons
//! of exact numbers, dates, timestamps, texts and booleans with constants and with each other, and AND, OR and NOT of them.

use arrow::array::Array;
use arrow::datatypes::{DataType, Schema as ArrowSchema, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::{Between, Cast, InList, Like};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use hush_plan::ColumnType;
use hush_plan::schema::units::format_units;
pub(super) use hush_plan::sql::quoted;

use crate::tokens::Tokens;

/// Constants of one IN; more are left to the engine.
const MAX_LISTED: usize = 200;
/// The days of the years 1 to 9999, from 1970.
const DAYS: std::ops::RangeInclusive<i64> = -719_162..=2_932_896;
const MICROS_OF_DAY: i64 = 86_400_000_000;

/// What conditions are on.
#[derive(Clone, Copy)]
pub(super) struct Described<'a> {
    /// The columns, with their types.
    pub(super) columns: &'a ArrowSchema,
    /// The join keys among them: the question is put with tokens in the places of their values.
    pub(super) tokens: &'a Tokens,
}

/// A condition over columns of `table` as SQL; `None` if it is another one.
pub(super) fn render(condition: &Expr, table: Described<'_>) -> Option<String> {
    if condition.column_refs().into_iter().any(|column| table.tokens.column(&column.name).is_some()) {
        return render_tokens(condition, table);
    }
    let part = |expr: &Expr| render(expr, table);
    match condition {
        Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::And | Operator::Or), right }) => {
            Some(format!("({} {op} {})", part(left)?, part(right)?))
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(*op) => {
            let (left, right) = sides(left, right, table)?;
            Some(format!("({left} {op} {right})"))
        }
        Expr::Not(inner) => Some(format!("(NOT {})", part(inner)?)),
        Expr::IsNull(inner) => Some(format!("({} IS NULL)", column(inner, table)?.0)),
        Expr::IsNotNull(inner) => Some(format!("({} IS NOT NULL)", column(inner, table)?.0)),
        Expr::Column(_) => column(condition, table)
            .filter(|(_, kind)| *kind == DataType::Boolean)
            .map(|(name, _)| format!("({name} = TRUE)")),
        Expr::Between(Between { expr, negated, low, high }) => {
            let (name, kind) = column(expr, table)?;
            let (low, high) = (constant(low, &kind)?, constant(high, &kind)?);
            Some(format!("({name} {}BETWEEN {low} AND {high})", not(*negated)))
        }
        Expr::InList(InList { expr, list, negated }) if (1..=MAX_LISTED).contains(&list.len()) => {
            let (name, kind) = column(expr, table)?;
            let list: Option<Vec<String>> = list.iter().map(|item| constant(item, &kind)).collect();
            Some(format!("({name} {}IN ({}))", not(*negated), list?.join(", ")))
        }
        Expr::Like(Like { negated, expr, pattern, escape_char: None, case_insensitive }) => {
            let (name, kind) = column(expr, table)?;
            let pattern = constant(pattern, &kind).filter(|_| kind == DataType::Utf8)?;
            let like = if *case_insensitive { "ILIKE" } else { "LIKE" };
            Some(format!("({name} {}{like} {pattern})", not(*negated)))
        }
        _ => None,
    }
}

/// A condition with join keys: they are equal to something or not, and nothing else.
fn render_tokens(condition: &Expr, table: Described<'_>) -> Option<String> {
    let part = |expr: &Expr| render(expr, table);
    let key = |expr: &Expr| {
        let (name, kind) = column(expr, table)?;
        let bare = unquoted(expr)?;
        table.tokens.column(bare).map(|_| (name, bare.to_owned(), kind))
    };
    match condition {
        Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::And | Operator::Or), right }) => {
            Some(format!("({} {op} {})", part(left)?, part(right)?))
        }
        Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::Eq | Operator::NotEq), right }) => {
            match (key(left), key(right)) {
                (Some((left, one, _)), Some((right, other, _))) => {
                    table.tokens.are_alike(&one, &other).then(|| format!("({left} {op} {right})"))
                }
                (Some((name, bare, kind)), None) => {
                    Some(format!("({name} {op} {})", token(right, (&bare, &kind), table)?))
                }
                (None, Some((name, bare, kind))) => {
                    Some(format!("({name} {op} {})", token(left, (&bare, &kind), table)?))
                }
                (None, None) => None,
            }
        }
        Expr::Not(inner) => Some(format!("(NOT {})", part(inner)?)),
        Expr::IsNull(inner) => Some(format!("({} IS NULL)", key(inner)?.0)),
        Expr::IsNotNull(inner) => Some(format!("({} IS NOT NULL)", key(inner)?.0)),
        Expr::InList(InList { expr, list, negated }) if (1..=MAX_LISTED).contains(&list.len()) => {
            let (name, bare, kind) = key(expr)?;
            let list: Option<Vec<String>> =
                list.iter().map(|item| token(item, (&bare, &kind), table)).collect();
            Some(format!("({name} {}IN ({}))", not(*negated), list?.join(", ")))
        }
        _ => None,
    }
}

/// Constants as a column is compared with; `None` if one of them cannot be.
pub(super) fn listed(name: &str, values: &[ScalarValue], table: Described<'_>) -> Option<Vec<String>> {
    let kind = table.columns.field_with_name(name).ok()?.data_type();
    let is_key = table.tokens.column(name).is_some();
    let text = |value: &ScalarValue| {
        let literal = Expr::Literal(value.clone(), None);
        if is_key { token(&literal, (name, kind), table) } else { constant(&literal, kind) }
    };
    values.iter().map(text).collect()
}

/// The token of a constant that a join key is compared with; `None` if no value of the column is equal to it.
fn token(expr: &Expr, (name, kind): (&str, &DataType), table: Described<'_>) -> Option<String> {
    let constant = folded(expr).filter(|constant| !constant.is_null())?;
    let value = constant.cast_to(kind).ok()?;
    let is_exact = value.cast_to(&constant.data_type()).is_ok_and(|back| back == constant);
    let values = value.to_array().ok().filter(|_| is_exact)?;
    let tokens = table.tokens.tokens(name, &values).ok()?;
    tokens.is_valid(0).then(|| format!("'{}'", tokens.value(0)))
}

/// The column under casts.
fn unquoted(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Column(column) => Some(&column.name),
        Expr::Cast(Cast { expr, .. }) => unquoted(expr),
        _ => None,
    }
}

fn not(negated: bool) -> &'static str {
    if negated { "NOT " } else { "" }
}

fn is_comparison(op: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}

/// Both sides of a comparison.
fn sides(left: &Expr, right: &Expr, table: Described<'_>) -> Option<(String, String)> {
    match (column(left, table), column(right, table)) {
        (Some((a, kind)), Some((b, other))) => (family(&kind) == family(&other)).then_some((a, b)),
        (Some((name, kind)), None) => Some((name, constant(right, &kind)?)),
        (None, Some((name, kind))) => Some((constant(left, &kind)?, name)),
        (None, None) => None,
    }
}

/// Kinds that are compared by their values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Date,
    Instant,
    Number,
    Text,
    Truth,
}

fn family(kind: &DataType) -> Option<Family> {
    Some(match kind {
        DataType::Boolean => Family::Truth,
        DataType::Date32 => Family::Date,
        DataType::Int64 | DataType::Decimal128(..) => Family::Number,
        DataType::Timestamp(TimeUnit::Microsecond, None) => Family::Instant,
        DataType::Utf8 => Family::Text,
        _ => return None,
    })
}

/// A column, under casts that keep all of its values; with its own type.
fn column(expr: &Expr, table: Described<'_>) -> Option<(String, DataType)> {
    match expr {
        Expr::Column(column) => {
            let kind = table.columns.field_with_name(&column.name).ok()?.data_type().clone();
            family(&kind).map(|_| (quoted(&column.name), kind))
        }
        Expr::Cast(Cast { expr, field }) => {
            let Expr::Column(_) = &**expr else { return None };
            column(expr, table).filter(|(_, kind)| keeps(kind, field.data_type()))
        }
        _ => None,
    }
}

/// Whether every value of one type is one of the other.
pub(super) fn keeps(from: &DataType, to: &DataType) -> bool {
    use DataType::{Decimal128, Decimal256, Int64, LargeUtf8, Utf8, Utf8View};
    let digits = |kind: &DataType| match kind {
        Int64 => Some((19, 0)),
        Decimal128(precision, scale) | Decimal256(precision, scale) => {
            Some((i32::from(*precision) - i32::from(*scale), i32::from(*scale)))
        }
        _ => None,
    };
    match (digits(from), digits(to)) {
        (Some(from), Some(to)) => to.0 >= from.0 && to.1 >= from.1,
        _ => from == to || matches!((from, to), (Utf8, LargeUtf8 | Utf8View)),
    }
}

/// A constant as a column of this type is compared with.
pub(super) fn constant(expr: &Expr, kind: &DataType) -> Option<String> {
    use ScalarValue as S;
    Some(match (family(kind)?, folded(expr)?) {
        (Family::Truth, S::Boolean(Some(truth))) => truth.to_string().to_uppercase(),
        (Family::Date, S::Date32(Some(days))) if DAYS.contains(&i64::from(days)) => {
            format!("DATE '{}'", format_units(ColumnType::Date, days.into()))
        }
        (Family::Instant, S::TimestampMicrosecond(Some(micros), None))
            if DAYS.contains(&micros.div_euclid(MICROS_OF_DAY)) =>
        {
            format!("TIMESTAMP '{}'", format_units(ColumnType::Timestamp, micros.into()))
        }
        (Family::Text, S::Utf8(Some(text)) | S::LargeUtf8(Some(text)) | S::Utf8View(Some(text))) => {
            format!("'{}'", text.replace('\'', "''"))
        }
        (Family::Number, S::Int64(Some(number))) => number.to_string(),
        (Family::Number, number @ (S::Decimal128(Some(_), ..) | S::Decimal256(Some(_), ..))) => {
            let S::Utf8(Some(digits)) = number.cast_to(&DataType::Utf8).ok()? else { return None };
            digits
        }
        _ => return None,
    })
}

/// The value of an expression without columns.
fn folded(expr: &Expr) -> Option<ScalarValue> {
    match expr {
        Expr::Literal(value, _) => Some(value.clone()),
        Expr::Cast(Cast { expr, field }) => folded(expr)?.cast_to(field.data_type()).ok(),
        Expr::Negative(inner) => folded(inner)?.arithmetic_negate().ok(),
        _ => None,
    }
}
