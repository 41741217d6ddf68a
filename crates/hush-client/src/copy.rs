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

mod bits;

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int64Array, TimestampMicrosecondArray,
};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow::util::bit_chunk_iterator::UnalignedBitChunk;
use hush_plan::ColumnType;
use hush_plan::predict::CopyShape;
use hush_plan::schema::Column;
use hush_plan::schema::units::column_bounds;
use hush_table::source::{TypedColumn, Values};

use self::bits::{SHORT_BITS, mask, pack_short, pack_wide, unpack_short, unpack_wide};
use crate::error::ClientError;

/// Bytes before the values.
const HEAD: usize = 19;
const INTEGERS: u8 = 1;
const DOUBLES: u8 = 2;

/// How the copy of a column is packed.
pub(crate) fn shape(column: &Column) -> CopyShape {
    CopyShape::of(column)
}

/// Bits of the numbers up to `largest`.
fn width(largest: u128) -> u32 {
    u128::BITS - largest.leading_zeros()
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
    let is_missing =
        |row: usize| data.valid.as_ref().is_some_and(|valid| !valid.get(row).copied().unwrap_or(false));
    let offset = |row: usize, value: i128| {
        let offset = if is_missing(row) { Some(0) } else { (value >= low).then(|| value.abs_diff(low)) };
        let offset = offset.filter(|offset| width(*offset) <= bits);
        offset.ok_or(ClientError::Internal { what: "a value outside its column's range" })
    };
    let of_row = |(row, value): (usize, &i64)| offset(row, i128::from(*value));
    match &data.values {
        Values::F64(values) => out.extend(values.iter().flat_map(|value| value.to_bits().to_le_bytes())),
        Values::I64(values) if bits <= SHORT_BITS => {
            let offsets = values.iter().enumerate().map(|row| of_row(row).map(|offset| offset as u64));
            pack_short(&offsets.collect::<Result<Vec<_>, _>>()?, bits, &mut out)?;
        }
        Values::I64(values) => pack_wide(values.iter().enumerate().map(of_row), bits, &mut out)?,
        Values::I128(values) => {
            pack_wide(values.iter().enumerate().map(|(row, value)| offset(row, *value)), bits, &mut out)?;
        }
    }
    if nullable {
        let bit = |(place, row): (usize, usize)| u8::from(!is_missing(row)) << place;
        let rows: Vec<usize> = (0..data.values.len()).collect();
        out.extend(rows.chunks(8).map(|rows| rows.iter().copied().enumerate().map(bit).sum::<u8>()));
    }
    Ok(out)
}

/// A packed chunk.
struct Packed<'a> {
    width: Width,
    /// What is added to each number of integers.
    low: i128,
    bits: u32,
    values: &'a [u8],
    /// A bit for each row, lowest first: whether it has a value; `None` where all have.
    valid: Option<&'a [u8]>,
    rows: usize,
}

/// What a copy's numbers are, by their width.
#[derive(Clone, Copy)]
enum Width {
    Doubles,
    /// That fit 64 bits, in at most [`SHORT_BITS`] bits.
    Short,
    /// That fit 64 bits.
    Long,
    Wide,
}

impl<'a> Packed<'a> {
    /// # Errors
    /// [`ClientError::Internal`] for bytes that [`pack`] did not make: they were sealed by the owner's key.
    fn read(plain: &'a [u8], rows: usize) -> Result<Self, ClientError> {
        let damaged = || ClientError::Internal { what: "a copy of a column is not of its chunk" };
        let (head, body) = plain.split_at_checked(HEAD).ok_or_else(damaged)?;
        let (form, nullable, bits) = (head[0], head[1] == 1, u32::from(head[HEAD - 1]));
        let low = i128::from_le_bytes(head[2..18].try_into().map_err(|_| damaged())?);
        if bits > u128::BITS {
            return Err(damaged());
        }
        let bytes = rows.checked_mul(bits as usize).ok_or_else(damaged)?.div_ceil(8);
        let (values, valid) = body.split_at_checked(bytes).ok_or_else(damaged)?;
        if valid.len() != if nullable { rows.div_ceil(8) } else { 0 } {
            return Err(damaged());
        }
        let fits = |number: i128| i64::try_from(number).is_ok();
        let is_short = fits(low) && low.checked_add_unsigned(mask(bits)).is_some_and(fits);
        let width = match form {
            DOUBLES if bits == 64 => Width::Doubles,
            INTEGERS if is_short && bits <= SHORT_BITS => Width::Short,
            INTEGERS if is_short => Width::Long,
            INTEGERS => Width::Wide,
            _ => return Err(damaged()),
        };
        let has_missing = |valid: &&[u8]| UnalignedBitChunk::new(valid, 0, rows).count_ones() < rows;
        Ok(Self {
            width,
            low,
            bits,
            values,
            valid: Some(valid).filter(|_| nullable).filter(has_missing),
            rows,
        })
    }

    /// Each number as `of` has it, and what stands for a missing one.
    fn integers<T: Copy>(&self, missing: T, of: impl Fn(i64) -> T) -> Result<Vec<T>, ClientError> {
        // Of numbers that fit 64 bits the lowest does.
        let low = self.low as i64;
        let number = |offset| of(low.wrapping_add_unsigned(offset));
        let mut out: Vec<T> = match self.width {
            Width::Short => unpack_short(self.values, self.bits, self.rows, number)?,
            Width::Long => {
                unpack_wide(self.values, self.bits, self.rows).map(|offset| number(offset as u64)).collect()
            }
            Width::Wide | Width::Doubles => return Err(ClientError::Overflow),
        };
        self.blank(&mut out, missing);
        Ok(out)
    }

    /// The numbers in 128 bits, 0 for missing ones.
    fn wide_integers(&self) -> Result<Vec<i128>, ClientError> {
        match self.width {
            Width::Short | Width::Long => self.integers(0, i128::from),
            Width::Wide => {
                let offsets = unpack_wide(self.values, self.bits, self.rows);
                let mut out =
                    offsets.map(|offset| self.low.wrapping_add_unsigned(offset)).collect::<Vec<_>>();
                self.blank(&mut out, 0);
                Ok(out)
            }
            Width::Doubles => Err(ClientError::Internal { what: "an approximate exact column" }),
        }
    }

    /// Whether all numbers that it could hold fit a type.
    fn holds<T: TryFrom<i128>>(&self) -> bool {
        let highest = self.low.checked_add_unsigned(mask(self.bits));
        T::try_from(self.low).is_ok() && highest.is_some_and(|highest| T::try_from(highest).is_ok())
    }

    fn doubles(&self) -> Vec<f64> {
        let (numbers, _) = self.values.as_chunks::<8>();
        numbers.iter().map(|bits| f64::from_bits(u64::from_le_bytes(*bits))).collect()
    }

    /// Overwrites what stands for missing values.
    fn blank<T: Copy>(&self, values: &mut [T], missing: T) {
        for (group, bits) in values.chunks_mut(8).zip(self.valid.unwrap_or_default()) {
            if *bits != u8::MAX {
                let rows = group.iter_mut().enumerate();
                rows.filter(|(row, _)| bits >> row & 1 == 0).for_each(|(_, value)| *value = missing);
            }
        }
    }

    fn nulls(&self) -> Option<NullBuffer> {
        self.valid.map(|valid| NullBuffer::new(BooleanBuffer::new(Buffer::from(valid), 0, self.rows)))
    }
}

/// The values of a chunk of so many rows.
///
/// # Errors
/// [`ClientError::Internal`] for bytes that [`pack`] did not make: they were sealed by the owner's key.
pub(crate) fn unpack(plain: &[u8], rows: usize) -> Result<TypedColumn, ClientError> {
    let packed = Packed::read(plain, rows)?;
    let values = match packed.width {
        Width::Doubles => Values::F64(packed.doubles()),
        Width::Short | Width::Long => Values::I64(packed.integers(0, |value| value)?),
        Width::Wide => Values::I128(packed.wide_integers()?),
    };
    let valid = packed.valid.map(|valid| (0..rows).map(|row| valid[row / 8] >> (row % 8) & 1 == 1).collect());
    Ok(TypedColumn { values, valid })
}

/// The values of a chunk as the array of a clear column of this type: [`array`] of [`unpack`], without numbers of other widths between.
///
/// # Errors
/// Those of both.
pub(crate) fn opened(column: &Column, plain: &[u8], rows: usize) -> Result<ArrayRef, ClientError> {
    let packed = Packed::read(plain, rows)?;
    let nulls = packed.nulls();
    let as_64_bits = || match packed.width {
        Width::Short | Width::Long => packed.integers(0, |value| value),
        Width::Wide | Width::Doubles => {
            let short = |value: i128| i64::try_from(value).map_err(|_| ClientError::Overflow);
            packed.wide_integers()?.into_iter().map(short).collect()
        }
    };
    Ok(match (column.kind, packed.width) {
        (ColumnType::Int { .. }, _) => Arc::new(Int64Array::new(as_64_bits()?.into(), nulls)),
        (ColumnType::Timestamp, _) => Arc::new(TimestampMicrosecondArray::new(as_64_bits()?.into(), nulls)),
        (ColumnType::Decimal { precision, scale }, _) => {
            let units = Decimal128Array::new(packed.wide_integers()?.into(), nulls);
            Arc::new(units.with_precision_and_scale(precision, scale as i8)?)
        }
        (ColumnType::Date, Width::Short) if packed.holds::<i32>() => {
            // As all of them fit.
            Arc::new(Date32Array::new(packed.integers(0, |day| day as i32)?.into(), nulls))
        }
        _ => return array(column, unpack(plain, rows)?),
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
