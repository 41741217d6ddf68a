// SPDX-License-Identifier: Apache-2.0
//! Copies of encrypted columns, to which the owner puts questions: packed in as many bits as a range needs, and sealed as a sealed column is.
//!
//! ```text
//! form (1 byte)  1: integers   2: doubles
//! missing (1)    1 if a bit for each row, lowest first, stands at the end: whether it has a value
//! low (16)       integers: what is added to each; two's complement, lowest byte first
//! bits (1)       integers: of each value
//! values         one after another, lowest bit first; doubles of 64 bits
//! ```
//!
//! A blob tells its own width, so that rows of a narrower range keep their copy when the range is widened.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int64Array, TimestampMicrosecondArray,
};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use hush_plan::ColumnType;
use hush_plan::predict::CopyShape;
use hush_plan::schema::Column;
use hush_plan::schema::units::column_bounds;
use hush_table::source::{TypedColumn, Values};

use crate::error::ClientError;

/// Bytes before the values.
const HEAD: usize = 19;
const INTEGERS: u8 = 1;
const DOUBLES: u8 = 2;

/// How the copy of a column is packed.
pub(crate) fn shape(column: &Column) -> CopyShape {
    let bits = column_bounds(column).map_or(64, |bounds| width(bounds.high.abs_diff(bounds.low)));
    CopyShape { bits, nullable: column.nullable }
}

/// Bits of the numbers up to `largest`.
fn width(largest: u128) -> u32 {
    u128::BITS - largest.leading_zeros()
}

/// The lowest bits.
fn mask(bits: u32) -> u128 {
    u128::MAX.checked_shr(u128::BITS - bits).unwrap_or(0)
}

/// Packs the values of a column of the schema.
///
/// # Errors
/// [`ClientError::Internal`] for a value outside the column's bounds: sources are held to them.
pub(crate) fn pack(column: &Column, data: &TypedColumn) -> Result<Vec<u8>, ClientError> {
    let CopyShape { bits, nullable } = shape(column);
    let low = column_bounds(column).map_or(0, |bounds| bounds.low);
    let form = if matches!(data.values, Values::F64(_)) { DOUBLES } else { INTEGERS };
    let mut out = vec![form, u8::from(nullable)];
    out.extend_from_slice(&low.to_le_bytes());
    out.push(bits as u8);
    let mut packer = Packer { out, held: 0, count: 0 };
    let is_missing =
        |row: usize| data.valid.as_ref().is_some_and(|valid| !valid.get(row).copied().unwrap_or(false));
    let mut put = |row: usize, value: i128| {
        let offset = if is_missing(row) { Some(0) } else { (value >= low).then(|| value.abs_diff(low)) };
        let offset = offset.filter(|offset| width(*offset) <= bits);
        packer.put(offset.ok_or(ClientError::Internal { what: "a value outside its column's range" })?, bits);
        Ok::<_, ClientError>(())
    };
    match &data.values {
        Values::F64(values) => values.iter().for_each(|value| packer.put(u128::from(value.to_bits()), 64)),
        Values::I64(values) => {
            values.iter().enumerate().try_for_each(|(row, value)| put(row, i128::from(*value)))?;
        }
        Values::I128(values) => values.iter().enumerate().try_for_each(|(row, value)| put(row, *value))?,
    }
    if nullable {
        packer.flush();
        (0..data.values.len()).for_each(|row| packer.put(u128::from(!is_missing(row)), 1));
    }
    packer.flush();
    Ok(packer.out)
}

/// Bits on their way into bytes.
struct Packer {
    out: Vec<u8>,
    held: u128,
    /// Bits held: fewer than eight between calls.
    count: u32,
}

impl Packer {
    fn put(&mut self, value: u128, bits: u32) {
        // In two, so that what is held fits.
        for (part, bits) in
            [(value & u128::from(u64::MAX), bits.min(64)), (value >> 64, bits.saturating_sub(64))]
        {
            self.held |= part << self.count;
            self.count += bits;
            while self.count >= 8 {
                self.out.push(self.held as u8);
                self.held >>= 8;
                self.count -= 8;
            }
        }
    }

    fn flush(&mut self) {
        if self.count > 0 {
            self.out.push(self.held as u8);
            (self.held, self.count) = (0, 0);
        }
    }
}

/// The values of a chunk of so many rows.
///
/// # Errors
/// [`ClientError::Internal`] for bytes that [`pack`] did not make: they were sealed by the owner's key.
pub(crate) fn unpack(plain: &[u8], rows: usize) -> Result<TypedColumn, ClientError> {
    let damaged = || ClientError::Internal { what: "a copy of a column is not of its chunk" };
    let (head, body) = plain.split_at_checked(HEAD).ok_or_else(damaged)?;
    let (form, nullable, bits) = (head[0], head[1] == 1, u32::from(head[HEAD - 1]));
    let low = i128::from_le_bytes(head[2..18].try_into().map_err(|_| damaged())?);
    if bits > u128::BITS {
        return Err(damaged());
    }
    let bytes = (rows * bits as usize).div_ceil(8);
    let (values, missing) = body.split_at_checked(bytes).ok_or_else(damaged)?;
    if missing.len() != if nullable { rows.div_ceil(8) } else { 0 } {
        return Err(damaged());
    }
    let valid =
        nullable.then(|| (0..rows).map(|row| missing[row / 8] >> (row % 8) & 1 == 1).collect::<Vec<bool>>());
    let valid = valid.filter(|valid| !valid.iter().all(|valid| *valid));
    let highest = low.checked_add_unsigned(mask(bits));
    let short = i64::try_from(low).ok().zip(highest.and_then(|highest| i64::try_from(highest).ok()));
    let mut values = match (form, short) {
        (DOUBLES, _) if bits == 64 => {
            Values::F64(wide_offsets(values, bits, rows).map(|bits| f64::from_bits(bits as u64)).collect())
        }
        (INTEGERS, Some((low, _))) if bits <= SHORT_BITS => {
            let padded = [values, &[0; 8]].concat();
            let offsets = short_offsets(&padded, bits, rows);
            Values::I64(offsets.map(|offset| low.wrapping_add_unsigned(offset)).collect())
        }
        (INTEGERS, Some((low, _))) => {
            let offsets = wide_offsets(values, bits, rows);
            Values::I64(offsets.map(|offset| low.wrapping_add_unsigned(offset as u64)).collect())
        }
        (INTEGERS, None) => {
            let offsets = wide_offsets(values, bits, rows);
            Values::I128(offsets.map(|offset| low.wrapping_add_unsigned(offset)).collect())
        }
        _ => return Err(damaged()),
    };
    // What stands for a missing value is 0.
    if let Some(valid) = &valid {
        match &mut values {
            Values::I64(values) => zero_missing(values, valid),
            Values::I128(values) => zero_missing(values, valid),
            Values::F64(_) => {}
        }
    }
    Ok(TypedColumn { values, valid })
}

fn zero_missing<T: Default>(values: &mut [T], valid: &[bool]) {
    values.iter_mut().zip(valid).filter(|(_, valid)| !**valid).for_each(|(value, _)| *value = T::default());
}

/// Most bits of numbers that lie in eight bytes wherever they begin.
const SHORT_BITS: u32 = 57;

/// Packed numbers of at most [`SHORT_BITS`] bits, behind which there are eight bytes more.
fn short_offsets(padded: &[u8], bits: u32, rows: usize) -> impl Iterator<Item = u64> + '_ {
    let mask = mask(bits) as u64;
    (0..rows).map(move |row| {
        let first = row * bits as usize;
        let word = padded.get(first / 8..first / 8 + 8).and_then(|word| word.try_into().ok());
        word.map_or(0, u64::from_le_bytes) >> (first % 8) & mask
    })
}

/// Packed numbers of any width.
fn wide_offsets(bytes: &[u8], bits: u32, rows: usize) -> impl Iterator<Item = u128> + '_ {
    (0..rows).map(move |row| {
        let first = row * bits as usize;
        let (byte, shift) = (first / 8, (first % 8) as u32);
        let end = (first + bits as usize).div_ceil(8).min(bytes.len());
        // At most 17 bytes: the first may have bits of the number before.
        let (low, high) = bytes.get(byte..end).unwrap_or_default().split_at(1.min(end - byte));
        let high = high.iter().rev().fold(0_u128, |word, byte| word << 8 | u128::from(*byte));
        let low = u128::from(low.first().copied().unwrap_or(0) >> shift);
        (low | high << (8 - shift)) & mask(bits)
    })
}

/// The values as a source of this column has them: in the width of its bounds.
///
/// # Errors
/// [`ClientError::Overflow`] for values beyond it.
pub(crate) fn within(column: &Column, data: TypedColumn) -> Result<TypedColumn, ClientError> {
    let fits = |value: i128| i64::try_from(value).is_ok();
    let is_short = column_bounds(column).is_none_or(|bounds| fits(bounds.low) && fits(bounds.high));
    let values = match data.values {
        Values::I64(values) if !is_short => Values::I128(values.into_iter().map(i128::from).collect()),
        Values::I128(values) if is_short => {
            let short =
                values.into_iter().map(|value| i64::try_from(value).map_err(|_| ClientError::Overflow));
            Values::I64(short.collect::<Result<_, _>>()?)
        }
        values => values,
    };
    Ok(TypedColumn { values, ..data })
}

/// The values as the array of a clear column of this type.
///
/// # Errors
/// [`ClientError::Overflow`] for values that the type does not hold.
pub(crate) fn array(column: &Column, data: TypedColumn) -> Result<ArrayRef, ClientError> {
    let nulls = data.valid.map(NullBuffer::from);
    let wide = |values: Values| match values {
        Values::I128(values) => Ok(values),
        Values::I64(values) => Ok(values.into_iter().map(i128::from).collect()),
        Values::F64(_) => Err(ClientError::Internal { what: "an approximate exact column" }),
    };
    let short = |values: Values| match values {
        Values::I64(values) => Ok(values),
        other => wide(other)?
            .into_iter()
            .map(|value| value.try_into().map_err(|_| ClientError::Overflow))
            .collect(),
    };
    Ok(match (column.kind, data.values) {
        (ColumnType::Float { .. }, Values::F64(values)) => Arc::new(Float64Array::new(values.into(), nulls)),
        (ColumnType::Bool, values) => {
            let bits: BooleanBuffer = short(values)?.into_iter().map(|value| value != 0).collect();
            Arc::new(BooleanArray::new(bits, nulls))
        }
        (ColumnType::Date, values) => {
            let days =
                short(values)?.into_iter().map(|days| i32::try_from(days).map_err(|_| ClientError::Overflow));
            Arc::new(Date32Array::new(days.collect::<Result<Vec<_>, _>>()?.into(), nulls))
        }
        (ColumnType::Timestamp, values) => {
            Arc::new(TimestampMicrosecondArray::new(short(values)?.into(), nulls))
        }
        (ColumnType::Int { .. }, values) => Arc::new(Int64Array::new(short(values)?.into(), nulls)),
        (ColumnType::Decimal { precision, scale }, values) => {
            let units = Decimal128Array::new(wide(values)?.into(), nulls);
            Arc::new(units.with_precision_and_scale(precision, scale as i8)?)
        }
        _ => return Err(ClientError::Internal { what: "a column of this type has no copy" }),
    })
}

#[cfg(test)]
mod tests;
