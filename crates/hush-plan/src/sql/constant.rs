// SPDX-License-Identifier: Apache-2.0
//! Constants in units of a type: literals, and what is worked out from them before a query is planned, so that `DATE '1994-01-01' + INTERVAL '1' YEAR`
//! and `0.06 - 0.01` are as good as the literals that they are equal to.

use num_bigint::BigInt;
use sqlparser::ast::{BinaryOperator, DataType, DateTimeField, Expr, Interval, Value};

use super::expression::bare;
use super::number::{MAX_SCALE, numeric_literal};
use crate::range::power_of_ten;
use crate::schema::ColumnType;
use crate::schema::units::{
    DecimalPoint, POWERS_OF_TEN, civil_from_days, days_from_civil, month_length, parse_units,
};

/// Microseconds of a day.
const DAY_MICROS: i128 = 86_400_000_000;

/// A constant in units of a type, if it is exactly a value of it.
pub(crate) fn constant_units(kind: ColumnType, expr: &Expr) -> Option<i128> {
    let exact = match kind {
        ColumnType::Float { digits } => ColumnType::Decimal { precision: 38, scale: digits },
        other => other,
    };
    if let Some((value, scale)) = constant_number(expr) {
        let own = match kind {
            ColumnType::Decimal { scale, .. } => u32::from(scale),
            ColumnType::Float { digits } => u32::from(digits),
            ColumnType::Int { .. } => 0,
            _ => return None,
        };
        let value = i128::try_from(&value).ok()?;
        let power = |digits: u32| i128::try_from(*POWERS_OF_TEN.get(digits as usize)?).ok();
        return match own.checked_sub(scale) {
            Some(more) => value.checked_mul(power(more)?),
            None => {
                let less = power(scale - own)?;
                (value % less == 0).then_some(value / less)
            }
        };
    }
    match (bare(expr), kind) {
        (Expr::Value(value), _) => match &value.value {
            Value::SingleQuotedString(text) => parsed(exact, text),
            _ => None,
        },
        // Of fewer digits an engine cuts some of the literal off.
        (Expr::TypedString(typed), ColumnType::Timestamp)
            if matches!(typed.data_type, DataType::Timestamp(None | Some(6), _)) =>
        {
            parsed(kind, text_of(&typed.value.value)?)
        }
        (date, ColumnType::Date) => constant_date(date).map(i128::from),
        (date, ColumnType::Timestamp) => Some(i128::from(constant_date(date)?) * DAY_MICROS),
        _ => None,
    }
}

/// A number as `value · 10^-scale`: a literal, or a sum, a difference or a product of numbers.
pub(crate) fn constant_number(expr: &Expr) -> Option<(BigInt, u32)> {
    use BinaryOperator::{Minus, Multiply, Plus};
    let Expr::BinaryOp { left, op: op @ (Plus | Minus | Multiply), right } = bare(expr) else {
        return numeric_literal(expr);
    };
    let ((left, digits), (right, others)) = (constant_number(left)?, constant_number(right)?);
    if *op == Multiply {
        let scale = digits.checked_add(others).filter(|scale| *scale <= MAX_SCALE)?;
        return Some((left * right, scale));
    }
    let scale = digits.max(others);
    let left = left * power_of_ten(scale - digits);
    let right = right * power_of_ten(scale - others);
    Some((if *op == Plus { left + right } else { left - right }, scale))
}

/// A date in days since 1970: a literal, or one some intervals before or after another.
fn constant_date(expr: &Expr) -> Option<i64> {
    use BinaryOperator::{Minus, Plus};
    let read = |text: &str| i64::try_from(parsed(ColumnType::Date, text)?).ok();
    match bare(expr) {
        Expr::TypedString(typed) if typed.data_type == DataType::Date => read(text_of(&typed.value.value)?),
        Expr::Cast { expr, data_type: DataType::Date, .. } => match bare(expr) {
            Expr::Value(value) => read(text_of(&value.value)?),
            _ => None,
        },
        Expr::BinaryOp { left, op: Plus, right } => match bare(right) {
            Expr::Interval(interval) => Moved::by(interval)?.after(constant_date(left)?),
            _ => match bare(left) {
                Expr::Interval(interval) => Moved::by(interval)?.after(constant_date(right)?),
                _ => None,
            },
        },
        Expr::BinaryOp { left, op: Minus, right } => match bare(right) {
            Expr::Interval(interval) => Moved::by(interval)?.back()?.after(constant_date(left)?),
            _ => None,
        },
        _ => None,
    }
}

/// How far a date is moved: months first, to the last day of a month where it has no such day, and then days.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Moved {
    months: i64,
    days: i64,
}

impl Moved {
    /// `INTERVAL '3' MONTH`, `INTERVAL '3 months'`, `INTERVAL 3 MONTH`; `None` for what is no whole number of days, and for several units.
    fn by(interval: &Interval) -> Option<Self> {
        if interval.last_field.is_some() || interval.leading_precision.is_some() {
            return None;
        }
        let text = match bare(&interval.value) {
            Expr::Value(value) => match &value.value {
                Value::Number(text, _) => text,
                other => text_of(other)?,
            },
            _ => return None,
        };
        let (number, unit) = match &interval.leading_field {
            Some(field) => (text.trim(), unit_of(field)?),
            None => {
                let (number, word) = text.trim().split_once(char::is_whitespace)?;
                (number, unit_of_word(word.trim())?)
            }
        };
        let number: i64 = number.parse().ok()?;
        Some(Self { months: number.checked_mul(unit.months)?, days: number.checked_mul(unit.days)? })
    }

    fn back(self) -> Option<Self> {
        Some(Self { months: self.months.checked_neg()?, days: self.days.checked_neg()? })
    }

    /// The date so far after another; `None` beyond the years 1 to 9999.
    fn after(self, date: i64) -> Option<i64> {
        let (year, month, day) = civil_from_days(date);
        let months = year.checked_mul(12)?.checked_add(month - 1)?.checked_add(self.months)?;
        let (year, month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
        let moved = days_from_civil(year, month, day.min(month_length(year, month)))?;
        let found = moved.checked_add(self.days)?;
        let bounds = (days_from_civil(1, 1, 1)?, days_from_civil(9999, 12, 31)?);
        (bounds.0..=bounds.1).contains(&found).then_some(found)
    }
}

fn unit_of(field: &DateTimeField) -> Option<Moved> {
    unit_of_word(&field.to_string())
}

fn unit_of_word(word: &str) -> Option<Moved> {
    let (months, days) = match word.to_ascii_lowercase().as_str() {
        "year" | "years" => (12, 0),
        "month" | "months" => (1, 0),
        "week" | "weeks" => (0, 7),
        "day" | "days" => (0, 1),
        _ => return None,
    };
    Some(Moved { months, days })
}

fn text_of(value: &Value) -> Option<&String> {
    match value {
        Value::SingleQuotedString(text) => Some(text),
        _ => None,
    }
}

fn parsed(kind: ColumnType, text: &str) -> Option<i128> {
    parse_units(kind, text.trim().as_bytes(), DecimalPoint::Dot)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql;
    use crate::tables::patients;

    /// The constant that the column `day` of a condition is compared with.
    fn constant(text: &str) -> Expr {
        let query = sql::parse(&patients(), &format!("SELECT COUNT(*) FROM patients WHERE {text} IS NULL"));
        match query.unwrap().filter.unwrap() {
            Expr::IsNull(inner) => *inner,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn dates_and_intervals_are_days() {
        let day = |text: &str| constant_units(ColumnType::Date, &constant(text));
        let of = |text: &str| parsed(ColumnType::Date, text);
        for (text, date) in [
            ("DATE '1994-01-01'", "1994-01-01"),
            ("DATE '1994-01-01' + INTERVAL '1' YEAR", "1995-01-01"),
            ("(DATE '1994-01-31' + INTERVAL '1' MONTH)", "1994-02-28"),
            ("DATE '1996-01-31' + INTERVAL '1 month'", "1996-02-29"),
            ("DATE '1996-03-31' - INTERVAL '1' MONTH", "1996-02-29"),
            ("DATE '1998-12-01' - INTERVAL '90' DAY", "1998-09-02"),
            ("DATE '1998-12-01' - INTERVAL '-2 weeks'", "1998-12-15"),
            ("INTERVAL '3' MONTH + DATE '1993-10-01'", "1994-01-01"),
            ("DATE '1994-01-01' + INTERVAL '1' YEAR - INTERVAL '1' DAY", "1994-12-31"),
            ("CAST('1995-03-15' AS DATE)", "1995-03-15"),
        ] {
            assert_eq!((day(text), text), (of(date), text));
            let micros = constant_units(ColumnType::Timestamp, &constant(text));
            assert_eq!(micros, of(date).map(|days| days * DAY_MICROS), "{text}");
        }
        for text in [
            "DATE '1994-01-01' + INTERVAL '1' HOUR",
            "DATE '1994-01-01' + INTERVAL '1.5' DAY",
            "DATE '1994-01-01' + INTERVAL '1 year 2 days'",
            "DATE '9999-12-01' + INTERVAL '1' MONTH",
            "DATE '1994-01-01' + INTERVAL '999999999999999999' YEAR",
            "DATE '1994-01-01' - INTERVAL '-9223372036854775808' DAY",
        ] {
            assert_eq!(day(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_are_worked_out_exactly() {
        let money = ColumnType::Decimal { precision: 12, scale: 2 };
        let units = |text: &str| constant_units(money, &constant(text));
        for (text, found) in [
            ("0.06 - 0.01", Some(5)),
            ("(0.06 + 0.01)", Some(7)),
            ("3 * (0.5 - -1) + 1", Some(550)),
            ("0.06 - 0.001", None),
            ("1 / 2", None),
            ("99999999999999999999 * 99999999999999999999", None),
        ] {
            assert_eq!(units(text), found, "{text}");
        }
    }
}
