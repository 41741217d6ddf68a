// SPDX-License-Identifier: Apache-2.0
//! Columns of rows as cells read them: numbers in units, and texts.

use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Date32Type, Decimal128Type, Int64Type, TimestampMicrosecondType};
use hush_table::source::{ColumnData, TypedColumn, Values};

use crate::EncodeError;

/// A column of a batch, row by row.
///
/// *Secrecy.* Plaintext.
pub enum RowValues<'a> {
    /// Numbers as they stand in the batch.
    Borrowed(&'a TypedColumn),
    /// Texts.
    Texts(&'a arrow::array::StringArray),
    /// Numbers of an array.
    Units(TypedColumn),
}

impl<'a> RowValues<'a> {
    /// The values of a column.
    ///
    /// # Errors
    /// [`EncodeError::Internal`] for floats, and for arrays of types that no schema has.
    pub fn of(data: &'a ColumnData) -> Result<Self, EncodeError> {
        Ok(match data {
            ColumnData::Units(typed) => Self::Borrowed(typed),
            ColumnData::Array(array) => match array.as_string_opt::<i32>() {
                Some(texts) => Self::Texts(texts),
                None => Self::Units(units_of(data)?),
            },
        })
    }

    fn typed(&self) -> Option<&TypedColumn> {
        match self {
            Self::Borrowed(typed) => Some(typed),
            Self::Units(typed) => Some(typed),
            Self::Texts(_) => None,
        }
    }

    /// Whether a row has a value.
    pub fn is_valid(&self, row: usize) -> bool {
        match self {
            Self::Texts(texts) => texts.is_valid(row),
            Self::Borrowed(_) | Self::Units(_) => {
                let valid = self.typed().and_then(|typed| typed.valid.as_ref());
                valid.is_none_or(|valid| valid.get(row) == Some(&true))
            }
        }
    }

    /// The number of a row; `None` for texts.
    pub fn units(&self, row: usize) -> Option<i128> {
        match &self.typed()?.values {
            Values::I64(values) => values.get(row).map(|value| i128::from(*value)),
            Values::I128(values) => values.get(row).copied(),
            Values::F64(_) => None,
        }
    }

    /// The text of a row.
    pub fn text(&self, row: usize) -> Option<&str> {
        match self {
            Self::Texts(texts) => (row < texts.len()).then(|| texts.value(row)),
            Self::Borrowed(_) | Self::Units(_) => None,
        }
    }
}

/// The values of a column in units, 0 where missing.
///
/// # Errors
/// [`EncodeError::Internal`] for texts and floats.
pub fn units_of(data: &ColumnData) -> Result<TypedColumn, EncodeError> {
    let other = || EncodeError::Internal { what: "a column of cells is of another type" };
    let array = match data {
        ColumnData::Units(TypedColumn { values, valid }) => {
            let values = match values {
                Values::I64(values) => Values::I64(values.clone()),
                Values::I128(values) => Values::I128(values.clone()),
                Values::F64(_) => return Err(other()),
            };
            return Ok(TypedColumn { values, valid: valid.clone() });
        }
        ColumnData::Array(array) => array,
    };
    let short =
        |values: &mut dyn Iterator<Item = Option<i64>>| values.map(Option::unwrap_or_default).collect();
    let values = match array.data_type() {
        DataType::Boolean => {
            Values::I64(short(&mut array.as_boolean().iter().map(|value| value.map(i64::from))))
        }
        DataType::Date32 => {
            Values::I64(short(&mut array.as_primitive::<Date32Type>().iter().map(|days| days.map(i64::from))))
        }
        DataType::Int64 => Values::I64(short(&mut array.as_primitive::<Int64Type>().iter())),
        DataType::Timestamp(..) => {
            let micros = array.as_primitive_opt::<TimestampMicrosecondType>().ok_or_else(other)?;
            Values::I64(short(&mut micros.iter()))
        }
        DataType::Decimal128(..) => Values::I128(
            array.as_primitive::<Decimal128Type>().iter().map(Option::unwrap_or_default).collect(),
        ),
        _ => return Err(other()),
    };
    let valid = array.logical_nulls().map(|nulls| nulls.iter().collect());
    Ok(TypedColumn { values, valid })
}
