// SPDX-License-Identifier: Apache-2.0
//! Cells of Arrow arrays, as Parquet and DataFrames give them, without their many physical types.

use std::io::Write as _;

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Date64Type, Decimal128Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use hush_plan::schema::units::{format_date, format_timestamp};

use super::Declared;
use super::guarded::guarded;

/// A cell that is present.
#[derive(Clone, Copy)]
pub(crate) enum Cell<'a> {
    /// Truth value.
    Bool(bool),
    /// Days since 1970.
    Date(i64),
    /// `value * 10^-scale`.
    Decimal {
        /// Unscaled value.
        value: i128,
        /// Digits after the point.
        scale: u8,
    },
    /// Double precision, finite or infinite (not-a-number is a missing value).
    Double(f64),
    /// Integer.
    Integer(i128),
    /// Single precision.
    Single(f32),
    /// UTF-8.
    Text(&'a str),
    /// Microseconds since 1970.
    Timestamp(i64),
}

impl Cell<'_> {
    /// Appends the cell as text: the shortest digits that give the same number back.
    pub(crate) fn render(&self, out: &mut Vec<u8>) {
        // Writing to a vector cannot fail.
        let _ = match self {
            Self::Bool(value) => write!(out, "{value}"),
            Self::Date(days) => write!(out, "{}", format_date(i128::from(*days))),
            Self::Decimal { value, scale: 0 } | Self::Integer(value) => write!(out, "{value}"),
            Self::Decimal { value, scale } => render_decimal(*value, *scale, out),
            Self::Double(value) if extreme(value.abs()) => write!(out, "{value:e}"),
            Self::Double(value) => write!(out, "{value}"),
            Self::Single(value) if extreme(f64::from(value.abs())) => write!(out, "{value:e}"),
            Self::Single(value) => write!(out, "{value}"),
            Self::Text(text) => out.write_all(text.as_bytes()),
            Self::Timestamp(micros) => write!(out, "{}", format_timestamp(i128::from(*micros))),
        };
    }
}

/// Numbers that people write with an exponent.
fn extreme(magnitude: f64) -> bool {
    magnitude >= 1e18 || (magnitude > 0.0 && magnitude < 1e-9)
}

fn render_decimal(value: i128, scale: u8, out: &mut Vec<u8>) -> std::io::Result<()> {
    let digits = format!("{:0>width$}", value.unsigned_abs(), width = usize::from(scale) + 1);
    let (whole, fraction) = digits.split_at(digits.len() - usize::from(scale));
    write!(out, "{}{whole}.{fraction}", if value < 0 { "-" } else { "" })
}

/// The name of a type that tables cannot hold, `None` for those that they can.
pub(crate) fn unsupported(kind: &DataType) -> Option<String> {
    match plain(kind) {
        Some(_) => None,
        None => Some(match kind {
            DataType::Struct(_) => "struct".to_owned(),
            DataType::List(_)
            | DataType::LargeList(_)
            | DataType::FixedSizeList(..)
            | DataType::ListView(_)
            | DataType::LargeListView(_) => "list".to_owned(),
            DataType::Map(..) => "map".to_owned(),
            DataType::Union(..) => "union".to_owned(),
            DataType::Duration(_) => "duration".to_owned(),
            DataType::Interval(_) => "interval".to_owned(),
            DataType::Dictionary(_, value) => return unsupported(value),
            DataType::RunEndEncoded(_, values) => return unsupported(values.data_type()),
            DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(_) => "binary".to_owned(),
            other => other.to_string(),
        }),
    }
}

/// The type that a type is read as: dictionaries, runs and views unpacked, decimals of 128 bits, times of day as text.
pub(super) fn plain(kind: &DataType) -> Option<DataType> {
    use DataType as T;
    Some(match kind {
        T::Boolean | T::Date32 | T::Date64 | T::Float32 | T::Float64 | T::Null | T::Utf8 => kind.clone(),
        T::Int8 | T::Int16 | T::Int32 | T::Int64 | T::UInt8 | T::UInt16 | T::UInt32 | T::UInt64 => {
            kind.clone()
        }
        T::Float16 => T::Float32,
        T::LargeUtf8 | T::Utf8View | T::Time32(_) | T::Time64(_) => T::Utf8,
        T::Timestamp(..) => kind.clone(),
        T::Decimal32(precision, scale)
        | T::Decimal64(precision, scale)
        | T::Decimal128(precision, scale)
        | T::Decimal256(precision, scale) => decimal(*precision, *scale)?,
        T::Dictionary(_, value) => plain(value)?,
        T::RunEndEncoded(_, values) => plain(values.data_type())?,
        _ => return None,
    })
}

/// The decimal of 128 bits, with no digit after the point or more, that holds one of any width; `None` where it needs more
/// than 38 digits.
fn decimal(precision: u8, scale: i8) -> Option<DataType> {
    let precision = precision.checked_add(scale.min(0).unsigned_abs())?;
    let scale = scale.max(0);
    (precision <= 38 && scale.unsigned_abs() <= precision).then_some(DataType::Decimal128(precision, scale))
}

/// An array in the type that its own is read as; `None` if a value does not fit, which must not make it a missing one.
pub(super) fn unpacked(array: &ArrayRef, kind: &DataType) -> Option<ArrayRef> {
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    let cast = |to: &DataType| guarded(|| cast_with_options(array, to, &strict))?.ok();
    // Arrow unpacks one layer at a time.
    let inner = match array.data_type() {
        DataType::Dictionary(_, value) => Some(value.as_ref()),
        DataType::RunEndEncoded(_, values) => Some(values.data_type()),
        _ => None,
    };
    match inner.filter(|inner| matches!(inner, DataType::Dictionary(..) | DataType::RunEndEncoded(..))) {
        Some(inner) => unpacked(&cast(inner)?, kind),
        None => cast(kind),
    }
}

/// What a supported type says of its numbers or instants.
pub(crate) fn declared(kind: &DataType) -> Option<Declared> {
    match plain(kind)? {
        DataType::Decimal128(precision, scale) => {
            Some(Declared::Decimal { precision, scale: scale.unsigned_abs() })
        }
        DataType::Float32 => Some(Declared::Single),
        DataType::Float64 => Some(Declared::Float),
        DataType::Timestamp(_, Some(_)) => Some(Declared::Zoned),
        _ => None,
    }
}

/// Rows `from..to` of an array in the type that its own is read as; `None` if the type is unsupported or a value cannot be unpacked.
pub(crate) fn plain_rows(array: &ArrayRef, from: usize, to: usize) -> Option<ArrayRef> {
    let kind = plain(array.data_type())?;
    let rows = array.slice(from, to - from);
    if kind == *rows.data_type() { Some(rows) } else { unpacked(&rows, &kind) }
}

/// Calls `sink` with every cell of rows `from..to`, `None` for missing ones, in order. Returns `false`, and calls
/// nothing, if the type is unsupported or a value cannot be unpacked.
pub(crate) fn visit(
    array: &ArrayRef,
    from: usize,
    to: usize,
    sink: &mut dyn FnMut(Option<Cell<'_>>),
) -> bool {
    use DataType as T;
    if plain(array.data_type()).is_none_or(|kind| kind != *array.data_type()) {
        let plain = plain_rows(array, from, to);
        return plain.is_some_and(|plain| visit(&plain, 0, to - from, sink));
    }
    match array.data_type() {
        T::Boolean => {
            let values = array.as_boolean();
            (from..to).for_each(|i| sink(values.is_valid(i).then(|| Cell::Bool(values.value(i)))));
        }
        T::Date32 => primitive::<Date32Type>(array, from, to, sink, |v| Some(Cell::Date(i64::from(v)))),
        T::Date64 => {
            primitive::<Date64Type>(array, from, to, sink, |v| Some(Cell::Date(v.div_euclid(86_400_000))))
        }
        T::Decimal128(_, scale) => {
            let scale = scale.unsigned_abs();
            primitive::<Decimal128Type>(array, from, to, sink, |value| Some(Cell::Decimal { value, scale }));
        }
        T::Float32 => {
            primitive::<Float32Type>(array, from, to, sink, |v| (!v.is_nan()).then_some(Cell::Single(v)))
        }
        T::Float64 => {
            primitive::<Float64Type>(array, from, to, sink, |v| (!v.is_nan()).then_some(Cell::Double(v)))
        }
        T::Int8 => integers::<Int8Type>(array, from, to, sink),
        T::Int16 => integers::<Int16Type>(array, from, to, sink),
        T::Int32 => integers::<Int32Type>(array, from, to, sink),
        T::Int64 => integers::<Int64Type>(array, from, to, sink),
        T::Null => (from..to).for_each(|_| sink(None)),
        T::Timestamp(unit, _) => timestamps(array, *unit, from, to, sink),
        T::UInt8 => integers::<UInt8Type>(array, from, to, sink),
        T::UInt16 => integers::<UInt16Type>(array, from, to, sink),
        T::UInt32 => integers::<UInt32Type>(array, from, to, sink),
        T::UInt64 => integers::<UInt64Type>(array, from, to, sink),
        T::Utf8 => {
            let values = array.as_string::<i32>();
            (from..to).for_each(|i| sink(values.is_valid(i).then(|| Cell::Text(values.value(i)))));
        }
        _ => return false,
    }
    true
}

fn integers<T>(array: &ArrayRef, from: usize, to: usize, sink: &mut dyn FnMut(Option<Cell<'_>>))
where
    T: ArrowPrimitiveType,
    T::Native: Into<i128>,
{
    primitive::<T>(array, from, to, sink, |value| Some(Cell::Integer(value.into())));
}

/// Instants in microseconds; finer ones are cut towards the past, ones out of reach become infinite floats,
/// which no timestamp column accepts.
fn timestamps(
    array: &ArrayRef,
    unit: TimeUnit,
    from: usize,
    to: usize,
    sink: &mut dyn FnMut(Option<Cell<'_>>),
) {
    let scaled = |value: i64, factor| {
        Some(value.checked_mul(factor).map_or(Cell::Double(f64::INFINITY), Cell::Timestamp))
    };
    match unit {
        TimeUnit::Second => primitive::<TimestampSecondType>(array, from, to, sink, |v| scaled(v, 1_000_000)),
        TimeUnit::Millisecond => {
            primitive::<TimestampMillisecondType>(array, from, to, sink, |v| scaled(v, 1000))
        }
        TimeUnit::Microsecond => {
            primitive::<TimestampMicrosecondType>(array, from, to, sink, |v| scaled(v, 1))
        }
        TimeUnit::Nanosecond => {
            primitive::<TimestampNanosecondType>(array, from, to, sink, |v| {
                Some(Cell::Timestamp(v.div_euclid(1000)))
            });
        }
    }
}

fn primitive<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    from: usize,
    to: usize,
    sink: &mut dyn FnMut(Option<Cell<'_>>),
    cell: impl Fn(T::Native) -> Option<Cell<'static>>,
) {
    let array: &PrimitiveArray<T> = array.as_primitive();
    let values = array.values().get(from..to).unwrap_or_default();
    match array.nulls().filter(|nulls| nulls.null_count() > 0) {
        None => values.iter().for_each(|value| sink(cell(*value))),
        Some(nulls) => values
            .iter()
            .enumerate()
            .for_each(|(i, value)| sink(if nulls.is_valid(from + i) { cell(*value) } else { None })),
    }
}
