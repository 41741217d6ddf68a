// SPDX-License-Identifier: Apache-2.0
//! Dates, timestamps and texts that meet become microseconds. The query engine's own coercions make nanoseconds of them,
//! which end in the year 2262, but tables hold years from 1 to 9999.

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Expr, Operator, cast, lit};

use super::Settler;
use super::instants::MICROS;

/// The type that the engine gives to integers as seconds.
const SECONDS: DataType = DataType::Timestamp(TimeUnit::Second, None);

impl Settler<'_> {
    /// Casts dates, timestamps and texts to microseconds, if one of them is a timestamp.
    pub(super) fn align_times(exprs: &mut [Expr], kinds: &[DataType]) {
        let is_stamp = |kind: &DataType| matches!(kind, DataType::Timestamp(_, None));
        let meets = |kind: &DataType| is_stamp(kind) || is_date(kind) || is_text(kind) || kind.is_null();
        if !kinds.iter().any(is_stamp) || !kinds.iter().all(meets) {
            return;
        }
        for (expr, kind) in exprs.iter_mut().zip(kinds) {
            if *kind != MICROS && !kind.is_null() {
                *expr = cast(std::mem::take(expr), MICROS);
            }
        }
    }

    /// Whether a difference is one of dates or timestamps.
    pub(super) fn is_time_difference(op: Operator, kinds: &[DataType]) -> bool {
        let is_time = |kind: &DataType| is_date(kind) || matches!(kind, DataType::Timestamp(_, None));
        op == Operator::Minus && kinds.iter().all(is_time)
    }

    /// Casts arguments of a function of times to microseconds, where the function would make nanoseconds of them.
    pub(super) fn time_arguments(&self, name: &str, args: &mut [Expr]) {
        let Some(kinds) = self.kinds(args.iter()) else { return };
        match (name, args, kinds.as_slice()) {
            ("greatest" | "least" | "nullif", args, _) => Self::align_times(args, &kinds),
            ("date_part", [_, time], [_, kind]) if is_text(kind) => {
                *time = cast(std::mem::take(time), MICROS)
            }
            _ => {}
        }
    }

    /// `to_timestamp(x)`: texts, dates and timestamps as instants, numbers as seconds since 1970.
    pub(super) fn to_timestamp(&self, argument: &Expr) -> Option<Expr> {
        let kind = self.kinds([argument])?.pop()?;
        let argument = argument.clone();
        if is_text(&kind) || is_date(&kind) || kind.is_null() || matches!(kind, DataType::Timestamp(..)) {
            return Some(cast(argument, MICROS));
        }
        if kind.is_integer() {
            return Some(cast(cast(argument, SECONDS), MICROS));
        }
        let million = match kind.is_floating() {
            true => lit(1e6),
            false => lit(ScalarValue::Decimal128(Some(1_000_000), 7, 0)),
        };
        Some(cast(cast(argument * million, DataType::Int64), MICROS))
    }
}

fn is_date(kind: &DataType) -> bool {
    matches!(kind, DataType::Date32 | DataType::Date64)
}

fn is_text(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}
