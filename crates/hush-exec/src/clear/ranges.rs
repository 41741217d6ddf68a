// SPDX-License-Identifier: Apache-2.0
//! Conditions that compare columns with constants, joined by AND and OR. Each comparison selects the values in a range, which a kernel does in
//! a small part of the query engine's time.
//!
//! *Invariant.* A condition of this form cannot fail, and holds in the same rows as for the query engine. Any other is the engine's.

use std::sync::Arc;

use arrow::array::{Array, ArrowNativeTypeOp, ArrowPrimitiveType, AsArray, RecordBatch};
use arrow::buffer::{BooleanBuffer, Buffer};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Int32Type, Int64Type, Schema, TimeUnit, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{ColumnarValue, Operator};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, CastExpr, Column};
use hush_ring::Cpu;
use hush_ring::select::{selection_words, within_i32, within_i64, within_i128};

use super::zones::is_literal;

/// Digits of decimals of 128 bits.
const MAX_DIGITS: i32 = 38;

/// A condition on the columns of a batch.
#[derive(Debug)]
pub(super) enum Ranges {
    /// The column's number is there, and lies in the range: integers, days, ticks, or the digits of decimals. Nothing lies in a range that ends
    /// before it begins.
    Within {
        column: usize,
        low: i128,
        high: i128,
    },
    Both(Box<[Ranges; 2]>),
    Either(Box<[Ranges; 2]>),
}

/// What is compared with a constant: the numbers of a column, times a power of ten.
struct Scaled {
    column: usize,
    factor: i128,
}

impl Ranges {
    /// The ranges of a condition on columns of a schema; `None` if it has another form.
    pub(super) fn of(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<Self> {
        let binary = expr.downcast_ref::<BinaryExpr>()?;
        let both = || Some(Box::new([Self::of(binary.left(), schema)?, Self::of(binary.right(), schema)?]));
        match binary.op() {
            Operator::And => both().map(Self::Both),
            Operator::Or => both().map(Self::Either),
            op if is_literal(binary.right()) => comparison(binary.left(), *op, binary.right(), schema),
            op => comparison(binary.right(), op.swap()?, binary.left(), schema),
        }
    }

    /// The rows of a batch in which the condition holds; `None` if the batch has columns of other types than the schema.
    pub(super) fn rows(&self, cpu: Cpu, batch: &RecordBatch) -> Option<BooleanBuffer> {
        match self {
            Self::Within { column, low, high } => {
                let column = batch.columns().get(*column)?;
                let inside = selection(cpu, column, *low, *high)?;
                let inside = BooleanBuffer::new(Buffer::from_vec(inside), 0, column.len());
                Some(column.nulls().map_or(inside.clone(), |present| &inside & present.inner()))
            }
            Self::Both(sides) => {
                let [left, right] = sides.each_ref().map(|side| side.rows(cpu, batch));
                Some(&left? & &right?)
            }
            Self::Either(sides) => {
                let [left, right] = sides.each_ref().map(|side| side.rows(cpu, batch));
                Some(&left? | &right?)
            }
        }
    }
}

/// A comparison with a constant on its right.
fn comparison(
    compared: &Arc<dyn PhysicalExpr>,
    op: Operator,
    constant: &Arc<dyn PhysicalExpr>,
    schema: &Schema,
) -> Option<Ranges> {
    let Scaled { column, factor } = scaled(compared, schema)?;
    let (kind, other) = (compared.data_type(schema).ok()?, constant.data_type(schema).ok()?);
    let has_same_units = match (&kind, &other) {
        (DataType::Decimal128(_, scale), DataType::Decimal128(_, other)) => scale == other,
        _ => kind == other,
    };
    let empty = RecordBatch::new_empty(Arc::new(schema.clone()));
    let ColumnarValue::Scalar(value) = constant.evaluate(&empty).ok()? else { return None };
    let constant = number(&value).filter(|_| is_literal(constant) && has_same_units)?;
    let (low, high) = match op {
        Operator::Eq => (constant, constant),
        Operator::Lt => (i128::MIN, constant.checked_sub(1)?),
        Operator::LtEq => (i128::MIN, constant),
        Operator::Gt => (constant.checked_add(1)?, i128::MAX),
        Operator::GtEq => (constant, i128::MAX),
        _ => return None,
    };
    let rounded_up = low.div_euclid(factor) + i128::from(low.rem_euclid(factor) != 0);
    Some(Ranges::Within { column, low: rounded_up, high: high.div_euclid(factor) })
}

/// A column, or one that is converted to a type with room for all its values.
fn scaled(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<Scaled> {
    let Some(cast) = expr.downcast_ref::<CastExpr>() else {
        let column = expr.downcast_ref::<Column>()?.index();
        is_selectable(schema.fields().get(column)?.data_type()).then_some(())?;
        return Some(Scaled { column, factor: 1 });
    };
    let column = cast.expr().downcast_ref::<Column>()?.index();
    let (from, to) = (schema.fields().get(column)?.data_type(), expr.data_type(schema).ok()?);
    if (from, &to) == (&DataType::Int32, &DataType::Int64) {
        return Some(Scaled { column, factor: 1 });
    }
    let (whole, scale) = match *from {
        DataType::Int32 => (10, 0),
        DataType::Int64 => (19, 0),
        DataType::Decimal128(precision, scale) => (i32::from(precision) - i32::from(scale), i32::from(scale)),
        _ => return None,
    };
    let DataType::Decimal128(precision, to_scale) = to else { return None };
    let (room, to_scale) = (i32::from(precision) - i32::from(to_scale), i32::from(to_scale));
    let more = u32::try_from(to_scale - scale).ok()?;
    // So all values times the factor have at most 38 digits.
    (whole <= room && room + to_scale <= MAX_DIGITS).then_some(())?;
    Some(Scaled { column, factor: 10_i128.checked_pow(more)? })
}

/// Whether [`selection`] takes columns of a type.
fn is_selectable(kind: &DataType) -> bool {
    let is_integer = matches!(kind, DataType::Int32 | DataType::Int64);
    is_integer || matches!(kind, DataType::Date32 | DataType::Timestamp(..) | DataType::Decimal128(..))
}

/// The number that a constant of such a type is; `None` for NULL.
fn number(value: &ScalarValue) -> Option<i128> {
    match value {
        ScalarValue::Int32(number) | ScalarValue::Date32(number) => number.map(i128::from),
        ScalarValue::Int64(number)
        | ScalarValue::TimestampSecond(number, _)
        | ScalarValue::TimestampMillisecond(number, _)
        | ScalarValue::TimestampMicrosecond(number, _)
        | ScalarValue::TimestampNanosecond(number, _) => number.map(i128::from),
        ScalarValue::Decimal128(number, ..) => *number,
        _ => None,
    }
}

/// The values of a column in a range, whatever stands under its NULLs.
fn selection(cpu: Cpu, column: &dyn Array, low: i128, high: i128) -> Option<Vec<u64>> {
    let mut selection = vec![0; selection_words(column.len())];
    let (range, out) = ((low, high), &mut selection[..]);
    let halves = |values: &[i32], low, high, out: &mut [u64]| within_i32(cpu, values, low, high, out);
    let words = |values: &[i64], low, high, out: &mut [u64]| within_i64(cpu, values, low, high, out);
    match column.data_type() {
        DataType::Int32 => select::<Int32Type>(column, range, out, halves)?,
        DataType::Date32 => select::<Date32Type>(column, range, out, halves)?,
        DataType::Int64 => select::<Int64Type>(column, range, out, words)?,
        DataType::Timestamp(unit, _) => match unit {
            TimeUnit::Second => select::<TimestampSecondType>(column, range, out, words)?,
            TimeUnit::Millisecond => select::<TimestampMillisecondType>(column, range, out, words)?,
            TimeUnit::Microsecond => select::<TimestampMicrosecondType>(column, range, out, words)?,
            TimeUnit::Nanosecond => select::<TimestampNanosecondType>(column, range, out, words)?,
        },
        _ => within_i128(cpu, column.as_primitive_opt::<Decimal128Type>()?.values(), low, high, out),
    }
    Some(selection)
}

/// Selects by a kernel for the column's type, of which the range may be beyond; nothing is selected before.
fn select<T>(
    column: &dyn Array,
    (low, high): (i128, i128),
    out: &mut [u64],
    kernel: impl Fn(&[T::Native], T::Native, T::Native, &mut [u64]),
) -> Option<()>
where
    T: ArrowPrimitiveType,
    T::Native: TryFrom<i128> + Into<i128>,
{
    let values = column.as_primitive_opt::<T>()?.values();
    let (least, largest) = (T::Native::MIN_TOTAL_ORDER.into(), T::Native::MAX_TOTAL_ORDER.into());
    // No number of the type is above `low`, or below `high`, where that does not fit.
    if let (Ok(low), Ok(high)) = (low.max(least).try_into(), high.min(largest).try_into()) {
        kernel(values, low, high, out);
    }
    Some(())
}

#[cfg(test)]
mod tests;
