// SPDX-License-Identifier: Apache-2.0
//! Whole arrays into a column: one check of their bounds and one copy, where cell by cell nothing else would come of them.

use std::ops::RangeInclusive;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{
    DataType, Date32Type, Date64Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use hush_plan::schema::ColumnType;

use super::{ColumnBuilder, NO_UNITS, Store};

impl ColumnBuilder {
    /// Adds all rows of an array, if each of its values is there or may be missing, is of this column's type and lies inside its
    /// bounds. Returns `false`, and adds nothing, for any other array: cell by cell, its faults are found.
    pub(in super::super) fn push_array(&mut self, array: &ArrayRef) -> bool {
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
        if nulls.is_some() && !self.column.nullable {
            return false;
        }
        let is_pushed = match self.read_as {
            ColumnType::Bool => self.extend_bools(array),
            ColumnType::Category | ColumnType::Text => self.extend_texts(array),
            ColumnType::Date => self.extend_days(array),
            ColumnType::Decimal { scale, .. } => self.extend_decimals(array, scale),
            ColumnType::Float { .. } => self.extend_floats(array),
            ColumnType::Int { .. } => self.extend_integers(array),
            ColumnType::Timestamp => self.extend_instants(array),
        };
        if is_pushed {
            self.extend_valid(array.len(), nulls);
        }
        is_pushed
    }

    fn extend_integers(&mut self, array: &ArrayRef) -> bool {
        match array.data_type() {
            DataType::Int8 => self.extend::<Int8Type>(array, i64::from),
            DataType::Int16 => self.extend::<Int16Type>(array, i64::from),
            DataType::Int32 => self.extend::<Int32Type>(array, i64::from),
            DataType::Int64 => self.extend::<Int64Type>(array, |value| value),
            DataType::UInt8 => self.extend::<UInt8Type>(array, i64::from),
            DataType::UInt16 => self.extend::<UInt16Type>(array, i64::from),
            DataType::UInt32 => self.extend::<UInt32Type>(array, i64::from),
            DataType::UInt64 => {
                self.extend::<UInt64Type>(array, |value| i64::try_from(value).unwrap_or(NO_UNITS))
            }
            _ => false,
        }
    }

    fn extend_days(&mut self, array: &ArrayRef) -> bool {
        match array.data_type() {
            DataType::Date32 => self.extend::<Date32Type>(array, i64::from),
            DataType::Date64 => self.extend::<Date64Type>(array, |millis| millis.div_euclid(86_400_000)),
            _ => false,
        }
    }

    /// Adds instants in microseconds. Finer ones are cut towards the past.
    fn extend_instants(&mut self, array: &ArrayRef) -> bool {
        let DataType::Timestamp(unit, _) = array.data_type() else { return false };
        match unit {
            TimeUnit::Second => self.extend::<TimestampSecondType>(array, |v| scaled(v, 1_000_000)),
            TimeUnit::Millisecond => self.extend::<TimestampMillisecondType>(array, |v| scaled(v, 1000)),
            TimeUnit::Microsecond => self.extend::<TimestampMicrosecondType>(array, |value| value),
            TimeUnit::Nanosecond => self.extend::<TimestampNanosecondType>(array, |v| v.div_euclid(1000)),
        }
    }

    /// Adds decimals of the column's own scale.
    fn extend_decimals(&mut self, array: &ArrayRef, scale: u8) -> bool {
        match array.data_type() {
            DataType::Decimal128(_, of_array) if *of_array == scale.cast_signed() => {}
            _ => return false,
        }
        if let Store::I64(_) = self.store {
            return self.extend::<Decimal128Type>(array, |value| i64::try_from(value).unwrap_or(NO_UNITS));
        }
        let bounds = self.bounds.low.max(self.of_type.low)..=self.bounds.high.min(self.of_type.high);
        let Store::I128(units) = &mut self.store else { return false };
        extend_bounded::<Decimal128Type, _>(units, array.as_primitive(), bounds, |value| value)
    }

    /// Adds finite floats.
    fn extend_floats(&mut self, array: &ArrayRef) -> bool {
        let Store::F64(floats) = &mut self.store else { return false };
        let finite = f64::MIN..=f64::MAX;
        match array.data_type() {
            DataType::Float32 => {
                extend_bounded::<Float32Type, _>(floats, array.as_primitive(), finite, f64::from)
            }
            DataType::Float64 => {
                extend_bounded::<Float64Type, _>(floats, array.as_primitive(), finite, |value| value)
            }
            _ => false,
        }
    }

    fn extend_bools(&mut self, array: &ArrayRef) -> bool {
        let (0, 1) = (self.bounds.low, self.bounds.high) else { return false };
        let (Some(bits), Store::I64(units)) = (array.as_boolean_opt(), &mut self.store) else { return false };
        units.extend(bits.iter().map(|bit| i64::from(bit == Some(true))));
        true
    }

    /// Adds texts none of which can mean a missing value.
    fn extend_texts(&mut self, array: &ArrayRef) -> bool {
        let (Some(texts), Store::Text(builder)) = (array.as_string_opt::<i32>(), &mut self.store) else {
            return false;
        };
        self.nulls.is_empty() && builder.append_array(texts).is_ok()
    }

    /// Adds what are units of 64 bits, by `units`.
    fn extend<T: ArrowPrimitiveType>(&mut self, array: &ArrayRef, units: impl Fn(T::Native) -> i64) -> bool {
        let Store::I64(out) = &mut self.store else { return false };
        extend_bounded::<T, _>(out, array.as_primitive(), self.inside.0..=self.inside.1, units)
    }

    /// Notes which of `length` rows that were added are missing.
    fn extend_valid(&mut self, length: usize, nulls: Option<&NullBuffer>) {
        match (nulls, &mut self.valid) {
            (None, None) => {}
            (None, Some(valid)) => valid.resize(valid.len() + length, true),
            (Some(nulls), valid) => valid.get_or_insert_with(|| vec![true; self.rows]).extend(nulls.iter()),
        }
        self.rows += length;
    }
}

/// Appends values as `convert` has them, 0 where they are missing; nothing, and `false`, if one that is there lies outside the bounds.
fn extend_bounded<T: ArrowPrimitiveType, V: Copy + Default + PartialOrd>(
    out: &mut Vec<V>,
    array: &PrimitiveArray<T>,
    bounds: RangeInclusive<V>,
    convert: impl Fn(T::Native) -> V,
) -> bool {
    let start = out.len();
    let values = array.values().iter().map(|value| convert(*value));
    // Without a branch in the loops, the compiler makes them as wide as the processor is.
    let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
    match nulls {
        None => out.extend(values),
        Some(nulls) => {
            out.extend(values.zip(nulls.iter()).map(|(v, is_there)| if is_there { v } else { V::default() }));
        }
    }
    let added = out.get(start..).unwrap_or_default();
    let is_inside = |value: &V| (*bounds.start() <= *value) & (*value <= *bounds.end());
    let are_inside = match nulls {
        None => added.iter().fold(true, |all, value| all & is_inside(value)),
        // What stands for a missing value may lie outside.
        Some(nulls) => {
            added.iter().zip(nulls.iter()).fold(true, |all, (v, is_there)| all & (is_inside(v) | !is_there))
        }
    };
    if !are_inside {
        out.truncate(start);
    }
    are_inside
}

/// `value · factor`.
fn scaled(value: i64, factor: i64) -> i64 {
    value.checked_mul(factor).unwrap_or(NO_UNITS)
}
