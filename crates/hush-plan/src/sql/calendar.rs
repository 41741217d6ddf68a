// SPDX-License-Identifier: Apache-2.0
//! Parts of dates that a query asks for: the year, the quarter, the month, the day, and the first day of the year, the quarter or the month.

use sqlparser::ast::{DateTimeField, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Value};

use super::expression::{bare, column_name};
use crate::schema::units::{civil_from_days, days_from_civil};

/// A part of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CalendarPart {
    Year,
    /// Of its year, from 1 on.
    Quarter,
    /// Of its year, from 1 on.
    Month,
    /// Of its month, from 1 on.
    Day,
    /// The first day of the so many months that it is in, counted from January.
    StartOf {
        months: i64,
    },
}

impl CalendarPart {
    /// The part of a column's date that an expression is, and the column's name.
    pub(crate) fn of_column(expr: &Expr) -> Option<(Self, &str)> {
        let (part, of) = match bare(expr) {
            Expr::Extract { field, expr, .. } => (Self::extracted(&field_name(field)?)?, &**expr),
            Expr::Function(call) => {
                let FunctionArguments::List(list) = &call.args else { return None };
                let arguments = list.args.iter().map(|argument| match argument {
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
                    _ => None,
                });
                let arguments = arguments.collect::<Option<Vec<_>>>()?;
                let [Expr::Value(unit), of] = arguments.as_slice() else { return None };
                let Value::SingleQuotedString(unit) = &unit.value else { return None };
                match call.name.to_string().to_ascii_lowercase().as_str() {
                    "date_part" => (Self::extracted(unit)?, *of),
                    "date_trunc" => (Self::truncated(unit)?, *of),
                    _ => return None,
                }
            }
            _ => return None,
        };
        Some((part, column_name(bare(of))?))
    }

    fn extracted(unit: &str) -> Option<Self> {
        Some(match unit.to_ascii_lowercase().as_str() {
            "year" => Self::Year,
            "quarter" => Self::Quarter,
            "month" => Self::Month,
            "day" => Self::Day,
            _ => return None,
        })
    }

    fn truncated(unit: &str) -> Option<Self> {
        let months = match unit.to_ascii_lowercase().as_str() {
            "year" => 12,
            "quarter" => 3,
            "month" => 1,
            _ => return None,
        };
        Some(Self::StartOf { months })
    }

    /// The months, from January on, whose days all have the same part; `None` where those of a month do not.
    pub(crate) fn months(self) -> Option<i64> {
        match self {
            Self::Year => Some(12),
            Self::Quarter => Some(3),
            Self::Month => Some(1),
            Self::Day => None,
            Self::StartOf { months } => Some(months),
        }
    }

    /// It of a date in days since 1970; of [`CalendarPart::StartOf`] such days as well.
    pub(crate) fn of(self, days: i64) -> i64 {
        let (year, month, day) = civil_from_days(days);
        match self {
            Self::Year => year,
            Self::Quarter => (month - 1) / 3 + 1,
            Self::Month => month,
            Self::Day => day,
            Self::StartOf { months } => {
                let first = (month - 1) / months * months + 1;
                days_from_civil(year, first, 1).unwrap_or(days)
            }
        }
    }
}

fn field_name(field: &DateTimeField) -> Option<String> {
    use DateTimeField::{Day, Month, Quarter, Year};
    matches!(field, Day | Month | Quarter | Year).then(|| field.to_string())
}
