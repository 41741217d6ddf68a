// SPDX-License-Identifier: Apache-2.0
//! `date_trunc` and `date_bin` in microseconds, from the year 1 to 9999.
//!
//! The query engine's own functions work in nanoseconds, which end in the year 2262; beyond it they fail or give NULL.

use std::sync::Arc;

use datafusion::arrow::array::{AsArray, TimestampMicrosecondArray};
use datafusion::arrow::datatypes::{DataType, IntervalUnit, TimeUnit, TimestampMicrosecondType};
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use hush_plan::schema::units::{civil_from_days, days_from_civil};

/// Timestamps as tables have them.
pub(super) const MICROS: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);

const SECOND: i64 = 1_000_000;
const HOUR: i64 = 3600 * SECOND;
const DAY: i64 = 24 * HOUR;

/// The two functions, in place of the query engine's of the same names.
pub fn functions() -> Vec<Arc<ScalarUDF>> {
    let signature = || Signature::user_defined(Volatility::Immutable);
    vec![
        Arc::new(ScalarUDF::from(DateTrunc {
            signature: signature(),
            aliases: vec!["datetrunc".to_owned()],
        })),
        Arc::new(ScalarUDF::from(DateBin { signature: signature() })),
    ]
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct DateTrunc {
    signature: Signature,
    aliases: Vec<String>,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct DateBin {
    signature: Signature,
}

impl ScalarUDFImpl for DateTrunc {
    fn name(&self) -> &str {
        "date_trunc"
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(MICROS)
    }

    fn coerce_types(&self, kinds: &[DataType]) -> Result<Vec<DataType>> {
        match kinds {
            [unit, time] if is_text(unit) && is_time(time) => Ok(vec![DataType::Utf8, MICROS]),
            _ => Err(refused("date_trunc takes a unit and a date or a timestamp")),
        }
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [ColumnarValue::Scalar(unit), times] = arguments.args.as_slice() else {
            return Err(refused("the unit of date_trunc is a literal"));
        };
        let unit = unit.try_as_str().flatten().and_then(Unit::named);
        let unit = unit.ok_or_else(|| refused("date_trunc has no such unit"))?;
        each(times, |micros| unit.truncate(micros))
    }
}

impl ScalarUDFImpl for DateBin {
    fn name(&self) -> &str {
        "date_bin"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(MICROS)
    }

    fn coerce_types(&self, kinds: &[DataType]) -> Result<Vec<DataType>> {
        match kinds {
            [DataType::Interval(_), times @ ..]
                if matches!(times.len(), 1 | 2) && times.iter().all(is_time) =>
            {
                let mut wanted = vec![DataType::Interval(IntervalUnit::MonthDayNano)];
                wanted.resize(kinds.len(), MICROS);
                Ok(wanted)
            }
            _ => Err(refused("date_bin takes an interval, a date or a timestamp, and an origin")),
        }
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let (stride, times, origin) = match arguments.args.as_slice() {
            [stride, times] => (stride, times, Some(0)),
            [stride, times, ColumnarValue::Scalar(ScalarValue::TimestampMicrosecond(origin, _))] => {
                (stride, times, *origin)
            }
            _ => return Err(refused("the origin of date_bin is a literal")),
        };
        let ColumnarValue::Scalar(ScalarValue::IntervalMonthDayNano(stride)) = stride else {
            return Err(refused("the interval of date_bin is a literal"));
        };
        let (Some(stride), Some(origin)) = (stride, origin) else {
            return Ok(ColumnarValue::Scalar(ScalarValue::TimestampMicrosecond(None, None)));
        };
        let nanos = i128::from(stride.days) * i128::from(DAY) * 1000 + i128::from(stride.nanoseconds);
        match (stride.months, nanos) {
            (0, 1..) => each(times, |micros| bin_of(nanos, origin, micros)),
            (1.., 0) => each(times, |micros| bin_of_months(i64::from(stride.months), origin, micros)),
            _ => {
                Err(refused("the interval of date_bin is of months alone, or of days and less, and above 0"))
            }
        }
    }
}

/// The unit to which `date_trunc` truncates.
#[derive(Clone, Copy)]
enum Unit {
    /// A number of microseconds that divides a day.
    Clock(i64),
    Week,
    /// A number of months that divides a year.
    Months(i64),
}

impl Unit {
    fn named(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "microsecond" => Self::Clock(1),
            "millisecond" => Self::Clock(1000),
            "second" => Self::Clock(SECOND),
            "minute" => Self::Clock(60 * SECOND),
            "hour" => Self::Clock(HOUR),
            "day" => Self::Clock(DAY),
            "week" => Self::Week,
            "month" => Self::Months(1),
            "quarter" => Self::Months(3),
            "year" => Self::Months(12),
            _ => return None,
        })
    }

    /// The beginning of the unit that holds an instant; `None` if it lies before the year 1.
    fn truncate(self, micros: i64) -> Option<i64> {
        let day = micros.div_euclid(DAY);
        match self {
            Self::Clock(unit) => micros.checked_sub(micros.rem_euclid(unit)),
            // 1970 began on a Thursday.
            Self::Week => (day - (day + 3).rem_euclid(7)).checked_mul(DAY),
            Self::Months(months) => {
                let (year, month, _) = civil_from_days(day);
                days_from_civil(year, (month - 1) / months * months + 1, 1)?.checked_mul(DAY)
            }
        }
    }
}

/// The beginning of the bin that holds an instant. Bins last `stride_nanos` and are counted from `origin`.
fn bin_of(stride_nanos: i128, origin: i64, micros: i64) -> Option<i64> {
    let since = 1000 * (i128::from(micros) - i128::from(origin));
    let start = 1000 * i128::from(origin) + since.div_euclid(stride_nanos) * stride_nanos;
    i64::try_from(start.div_euclid(1000)).ok()
}

/// [`bin_of`] for bins of months.
fn bin_of_months(stride: i64, origin: i64, micros: i64) -> Option<i64> {
    let months = |micros: i64| {
        let (year, month, _) = civil_from_days(micros.div_euclid(DAY));
        12 * year + month - 1
    };
    let bins = (months(micros) - months(origin)).div_euclid(stride);
    let start = later(origin, bins.checked_mul(stride)?)?;
    // Within its first month an instant may stand before the origin's day and time.
    if start > micros { later(origin, (bins - 1).checked_mul(stride)?) } else { Some(start) }
}

/// An instant so many months later: on the same day, or the last one of a shorter month.
fn later(origin: i64, months: i64) -> Option<i64> {
    let (year, month, day) = civil_from_days(origin.div_euclid(DAY));
    let month = (12 * year + month - 1).checked_add(months)?;
    let (year, month) = (month.div_euclid(12), month.rem_euclid(12) + 1);
    let day = (28..=day).rev().chain([day.min(28)]).find_map(|day| days_from_civil(year, month, day))?;
    day.checked_mul(DAY)?.checked_add(origin.rem_euclid(DAY))
}

/// A function of every instant. An instant without a value is an error and not NULL.
fn each(times: &ColumnarValue, value: impl Fn(i64) -> Option<i64>) -> Result<ColumnarValue> {
    let beyond = || DataFusionError::Execution("an instant beyond the years 1 to 9999".to_owned());
    let value = |micros| value(micros).ok_or_else(beyond);
    Ok(match times {
        ColumnarValue::Scalar(ScalarValue::TimestampMicrosecond(time, _)) => {
            ColumnarValue::Scalar(ScalarValue::TimestampMicrosecond(time.map(value).transpose()?, None))
        }
        ColumnarValue::Array(array) => {
            let times = array.as_primitive_opt::<TimestampMicrosecondType>();
            let times = times.ok_or_else(|| refused("dates and timestamps alone are truncated"))?;
            let values: TimestampMicrosecondArray = times.try_unary(value)?;
            ColumnarValue::Array(Arc::new(values))
        }
        ColumnarValue::Scalar(_) => return Err(refused("dates and timestamps alone are truncated")),
    })
}

fn is_text(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

fn is_time(kind: &DataType) -> bool {
    let is_instant = matches!(kind, DataType::Date32 | DataType::Date64 | DataType::Timestamp(..));
    is_instant || is_text(kind) || kind.is_null()
}

fn refused(what: &str) -> DataFusionError {
    DataFusionError::Plan(what.to_owned())
}

#[cfg(test)]
mod tests {
    use hush_plan::schema::units::{format_timestamp, parse_timestamp};

    use super::*;

    fn at(text: &str) -> i64 {
        parse_timestamp(text.as_bytes(), None).unwrap()
    }

    #[test]
    fn instants_are_truncated_in_all_years() {
        for (unit, time, expected) in [
            ("year", "9999-12-31T23:59:59.999999", "9999-01-01T00:00:00"),
            ("quarter", "9999-12-31T23:59:59", "9999-10-01T00:00:00"),
            ("month", "0001-02-28T01:02:03", "0001-02-01T00:00:00"),
            ("week", "2024-02-29T01:02:03", "2024-02-26T00:00:00"),
            ("week", "1969-12-28T00:00:00", "1969-12-22T00:00:00"),
            ("DAY", "1969-12-31T23:00:00", "1969-12-31T00:00:00"),
            ("hour", "2300-05-05T05:59:59.5", "2300-05-05T05:00:00"),
            ("millisecond", "0001-01-01T00:00:00.123456", "0001-01-01T00:00:00.123"),
        ] {
            let found = Unit::named(unit).unwrap().truncate(at(time)).unwrap();
            assert_eq!(format_timestamp(i128::from(found)), format_timestamp(i128::from(at(expected))));
        }
        assert!(Unit::named("decade").is_none());
    }

    #[test]
    fn bins_are_counted_from_their_origin() {
        let minutes = 15 * 60 * 1_000_000_000;
        assert_eq!(bin_of(minutes, 0, at("9999-12-31T23:59:00")), Some(at("9999-12-31T23:45:00")));
        assert_eq!(bin_of(minutes, 0, at("1900-01-01T00:14:59")), Some(at("1900-01-01T00:00:00")));
        let origin = at("2020-01-31T12:00:00");
        for (time, expected) in [
            ("2020-03-31T11:59:59", "2020-02-29T12:00:00"),
            ("2020-03-31T12:00:00", "2020-03-31T12:00:00"),
            ("2020-01-31T11:00:00", "2019-12-31T12:00:00"),
            ("9999-02-28T13:00:00", "9999-02-28T12:00:00"),
        ] {
            assert_eq!(bin_of_months(1, origin, at(time)), Some(at(expected)), "{time}");
        }
        assert_eq!(bin_of_months(7, 0, at("1970-12-01T00:00:00")), Some(at("1970-08-01T00:00:00")));
    }
}
