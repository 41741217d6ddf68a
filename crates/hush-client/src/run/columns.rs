// SPDX-License-Identifier: Apache-2.0
//! Columns of sorted runs: values in their order, packed in as many bits as a range needs.
//!
//! ```text
//! numbers   column after column, row after row with the column's bits each; of a column that may have missing values one bit more for
//!           each row behind it, 1 where there is one (as the sums of a cube, CubeSums)
//! texts     column after column, for each row its length (u32, FFFFFFFF where missing) and its bytes
//! ```

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, StringArray};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use hush_encode::units_of;
use hush_plan::plan::Key;
use hush_plan::run::{RunColumn, RunForm};
use hush_plan::schema::Column;
use hush_ring::wipe;
use hush_table::CubeSums;
use hush_table::source::{ColumnData, TypedColumn, Values};
use zeroize::Zeroize;

use crate::copy;
use crate::error::ClientError;

/// Stands in the place of the length of a missing text.
const MISSING: u32 = u32::MAX;

/// Values of a column of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunValues {
    data: Data,
    /// Whether each row has a value; empty where all have.
    valid: Vec<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Data {
    /// What each is above the lowest; 0 where missing.
    Numbers(Vec<u128>),
    Texts(Vec<String>),
}

impl Drop for RunValues {
    fn drop(&mut self) {
        match &mut self.data {
            Data::Numbers(numbers) => wipe(numbers),
            Data::Texts(texts) => texts.zeroize(),
        }
    }
}

/// The number that stands for 0, and the bits of a number.
fn number_form(form: RunForm) -> Option<(i128, u8)> {
    match form {
        RunForm::Doubles => Some((i64::MIN.into(), 64)),
        RunForm::Texts => None,
        RunForm::Units { low, bits } => Some((low, bits.max(1))),
    }
}

impl RunValues {
    /// Of no rows.
    pub(crate) fn empty(column: &RunColumn) -> Self {
        let data = match number_form(column.form) {
            Some(_) => Data::Numbers(Vec::new()),
            None => Data::Texts(Vec::new()),
        };
        Self { data, valid: Vec::new() }
    }

    /// Of so many rows without a value.
    pub(crate) fn missing(column: &RunColumn, rows: usize) -> Self {
        let data = match number_form(column.form) {
            Some(_) => Data::Numbers(vec![0; rows]),
            None => Data::Texts(vec![String::new(); rows]),
        };
        Self { data, valid: vec![false; rows] }
    }

    /// Numbers that nobody misses.
    pub(crate) fn numbers(numbers: Vec<u128>) -> Self {
        Self { data: Data::Numbers(numbers), valid: Vec::new() }
    }

    /// The values of a column of rows; `None` for such as the column's bits do not hold, so that they cannot be packed.
    ///
    /// # Errors
    /// [`ClientError::Internal`] for data of another type.
    pub(crate) fn packable(column: &RunColumn, data: &ColumnData) -> Result<Option<Self>, ClientError> {
        let values = Self::of(column, data)?;
        let fit = match (column.form, &values.data) {
            (RunForm::Units { bits, .. }, Data::Numbers(numbers)) => {
                numbers.iter().all(|above| fits(*above, bits))
            }
            _ => true,
        };
        Ok(fit.then_some(values))
    }

    /// The values of a column of rows, also those beyond its bounds.
    ///
    /// # Errors
    /// [`ClientError::Internal`] for data of another type.
    pub(crate) fn of(column: &RunColumn, data: &ColumnData) -> Result<Self, ClientError> {
        let other = || ClientError::Internal { what: "a column of a run is of another type" };
        let RunForm::Units { low, .. } = column.form else {
            return Ok(match (column.form, data) {
                (RunForm::Texts, ColumnData::Array(array)) => {
                    let texts = array.as_string_opt::<i32>().ok_or_else(other)?;
                    let data = texts.iter().map(|text| text.unwrap_or_default().to_owned()).collect();
                    Self { data: Data::Texts(data), valid: valid(texts) }
                }
                (_, ColumnData::Units(TypedColumn { values: Values::F64(values), valid })) => {
                    let valid = valid.clone().unwrap_or_default();
                    Self { data: Data::Numbers(places(values.iter().copied(), &valid)), valid }
                }
                (RunForm::Doubles, ColumnData::Array(array)) => {
                    let array = cast(array, &DataType::Float64)?;
                    let (doubles, valid) = (array.as_primitive::<Float64Type>(), valid(&array));
                    let values = doubles.iter().map(Option::unwrap_or_default);
                    Self { data: Data::Numbers(places(values, &valid)), valid }
                }
                _ => return Err(other()),
            });
        };
        let TypedColumn { values, valid } = units_of(data)?;
        let valid = valid.unwrap_or_default();
        let has = |row: usize| valid.is_empty() || valid.get(row) == Some(&true);
        // What is below the lowest has more bits than any range.
        let above = |(row, value): (usize, i128)| if has(row) { value.wrapping_sub(low) as u128 } else { 0 };
        let numbers: Vec<u128> = match &values {
            Values::I64(values) => {
                values.iter().map(|value| i128::from(*value)).enumerate().map(above).collect()
            }
            Values::I128(values) => values.iter().copied().enumerate().map(above).collect(),
            Values::F64(_) => return Err(other()),
        };
        Ok(Self { data: Data::Numbers(numbers), valid })
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        match &self.data {
            Data::Numbers(numbers) => numbers.len(),
            Data::Texts(texts) => texts.len(),
        }
    }

    /// Whether a row has a value.
    pub(crate) fn has(&self, row: usize) -> bool {
        self.valid.is_empty() || self.valid.get(row) == Some(&true)
    }

    /// Whether all have.
    pub(crate) fn is_whole(&self) -> bool {
        self.valid.iter().all(|valid| *valid)
    }

    /// The numbers, if they are some.
    pub(crate) fn as_numbers(&self) -> Option<&[u128]> {
        match &self.data {
            Data::Numbers(numbers) => Some(numbers),
            Data::Texts(_) => None,
        }
    }

    /// The value of a row; `None` where it has none.
    pub(crate) fn key(&self, form: RunForm, row: usize) -> Option<Key> {
        if !self.has(row) {
            return None;
        }
        match &self.data {
            Data::Numbers(numbers) => {
                let (low, _) = number_form(form)?;
                Some(Key::Number(low.wrapping_add_unsigned(*numbers.get(row)?)))
            }
            Data::Texts(texts) => texts.get(row).cloned().map(Key::Text),
        }
    }

    /// The order of two rows: missing values stand last.
    pub(crate) fn compare(&self, one: usize, other: usize) -> Ordering {
        match (self.has(one), self.has(other)) {
            (true, true) => match &self.data {
                Data::Numbers(numbers) => numbers.get(one).cmp(&numbers.get(other)),
                Data::Texts(texts) => texts.get(one).cmp(&texts.get(other)),
            },
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => Ordering::Equal,
        }
    }

    /// Adds those of further rows.
    pub(crate) fn append(&mut self, mut more: Self) {
        let (before, added) = (self.len(), more.len());
        if !(self.valid.is_empty() && more.valid.is_empty()) {
            self.valid.resize(before, true);
            more.valid.resize(added, true);
            self.valid.append(&mut more.valid);
        }
        match (&mut self.data, &mut more.data) {
            (Data::Numbers(numbers), Data::Numbers(more)) => numbers.append(more),
            (Data::Texts(texts), Data::Texts(more)) => texts.append(more),
            // Columns have one form.
            _ => {}
        }
    }

    /// Adds those of further rows once more.
    pub(crate) fn extend(&mut self, more: &Self) {
        if !(self.valid.is_empty() && more.valid.is_empty()) {
            self.valid.resize(self.len(), true);
            self.valid.extend((0..more.len()).map(|row| more.has(row)));
        }
        match (&mut self.data, &more.data) {
            (Data::Numbers(numbers), Data::Numbers(more)) => numbers.extend_from_slice(more),
            (Data::Texts(texts), Data::Texts(more)) => texts.extend_from_slice(more),
            // Columns have one form.
            _ => {}
        }
    }

    /// Adds a value of this form, or none.
    pub(crate) fn push(&mut self, form: RunForm, key: Option<&Key>) {
        if key.is_none() && self.valid.is_empty() {
            self.valid = vec![true; self.len()];
        }
        if !self.valid.is_empty() || key.is_none() {
            self.valid.push(key.is_some());
        }
        match (&mut self.data, key) {
            (Data::Numbers(numbers), Some(Key::Number(number))) => {
                let low = number_form(form).map_or(0, |(low, _)| low);
                numbers.push(number.wrapping_sub(low) as u128);
            }
            (Data::Texts(texts), Some(Key::Text(text))) => texts.push(text.clone()),
            (Data::Numbers(numbers), _) => numbers.push(0),
            (Data::Texts(texts), _) => texts.push(String::new()),
        }
    }

    /// Those of some rows.
    pub(crate) fn at(&self, rows: impl Iterator<Item = usize> + Clone) -> Self {
        let valid = match self.valid.is_empty() {
            true => Vec::new(),
            false => rows.clone().map(|row| self.has(row)).collect(),
        };
        let data = match &self.data {
            Data::Numbers(numbers) => {
                Data::Numbers(rows.map(|row| numbers.get(row).copied().unwrap_or(0)).collect())
            }
            Data::Texts(texts) => {
                Data::Texts(rows.map(|row| texts.get(row).cloned().unwrap_or_default()).collect())
            }
        };
        Self { data, valid }
    }

    /// They as an array of a clear column of this description.
    ///
    /// # Errors
    /// [`ClientError::Overflow`] for numbers that its type does not hold.
    pub(crate) fn array(&self, column: &Column, form: RunForm) -> Result<ArrayRef, ClientError> {
        let valid = (!self.is_whole()).then(|| self.valid.clone());
        let numbers = match &self.data {
            Data::Texts(texts) => {
                let texts = texts.iter().enumerate().map(|(row, text)| self.has(row).then_some(text));
                return Ok(Arc::new(texts.collect::<StringArray>()));
            }
            Data::Numbers(numbers) => numbers,
        };
        let low = number_form(form).map_or(0, |(low, _)| low);
        let units = numbers.iter().map(|above| low.wrapping_add_unsigned(*above));
        if form == RunForm::Doubles {
            let doubles: Vec<f64> = units.map(Key::double).collect();
            return Ok(Arc::new(Float64Array::new(doubles.into(), valid.map(NullBuffer::from))));
        }
        // What stands for a missing value is 0.
        let has = |row: usize| valid.as_ref().is_none_or(|valid| valid.get(row) == Some(&true));
        let units = units.enumerate().map(|(row, value)| if has(row) { value } else { 0 });
        copy::array(column, TypedColumn { values: Values::I128(units.collect()), valid })
    }
}

/// Places of doubles in their order, above the lowest; 0 where missing.
fn places(values: impl Iterator<Item = f64>, valid: &[bool]) -> Vec<u128> {
    let place = |(row, value): (usize, f64)| match Key::of_double(value) {
        Key::Number(place) if valid.is_empty() || valid.get(row) == Some(&true) => {
            place.abs_diff(i64::MIN.into())
        }
        _ => 0,
    };
    values.enumerate().map(place).collect()
}

fn valid(array: &dyn Array) -> Vec<bool> {
    array.logical_nulls().map(|nulls| nulls.iter().collect()).unwrap_or_default()
}

fn fits(above: u128, bits: u8) -> bool {
    u128::BITS - above.leading_zeros() <= u32::from(bits)
}

/// Bits of the packed numbers of some columns.
fn lanes(columns: &[&RunColumn]) -> Vec<u8> {
    let of_column = |column: &&RunColumn| {
        let (_, bits) = number_form(column.form)?;
        Some(std::iter::once(bits).chain(column.nullable.then_some(1)))
    };
    columns.iter().filter_map(of_column).flatten().collect()
}

/// Packs some rows of some columns.
pub(crate) fn pack(columns: &[(&RunColumn, &RunValues)], rows: &[u32]) -> Vec<u8> {
    let described: Vec<&RunColumn> = columns.iter().map(|(column, _)| *column).collect();
    let bits = lanes(&described);
    let mut packed = Vec::new();
    if !bits.is_empty() {
        let mut numbers = CubeSums::zeros(rows.len() as u32, &bits);
        let mut lane = 0;
        for (column, values) in columns {
            let Some(of_column) = values.as_numbers() else { continue };
            for (place, row) in rows.iter().enumerate() {
                let row = *row as usize;
                numbers.set(lane, place, of_column.get(row).copied().unwrap_or(0));
                if column.nullable {
                    numbers.set(lane + 1, place, u128::from(values.has(row)));
                }
            }
            lane += 1 + usize::from(column.nullable);
        }
        packed = numbers.pack();
    }
    for (_, values) in columns {
        let Data::Texts(texts) = &values.data else { continue };
        for row in rows {
            let row = *row as usize;
            match texts.get(row).filter(|_| values.has(row)) {
                None => packed.extend_from_slice(&MISSING.to_le_bytes()),
                Some(text) => {
                    packed.extend_from_slice(&(text.len() as u32).to_le_bytes());
                    packed.extend_from_slice(text.as_bytes());
                }
            }
        }
    }
    packed
}

/// The values of so many rows of some columns, which [`pack`] has written; what stands behind them is left in `bytes`. `None` for other bytes.
pub(crate) fn unpack(columns: &[&RunColumn], rows: u32, bytes: &mut &[u8]) -> Option<Vec<RunValues>> {
    let bits = lanes(columns);
    let packed = usize::try_from(CubeSums::packed_bytes(rows, &bits)).ok()?;
    let (packed, mut rest) = bytes.split_at_checked(packed)?;
    let numbers =
        if bits.is_empty() { CubeSums::zeros(rows, &[]) } else { CubeSums::unpack(packed, rows, &bits)? };
    let mut lane = 0;
    let mut values = Vec::with_capacity(columns.len());
    for column in columns {
        if number_form(column.form).is_none() {
            let (mut texts, mut valid) =
                (Vec::with_capacity(rows as usize), Vec::with_capacity(rows as usize));
            for _ in 0..rows {
                let (length, behind) = rest.split_first_chunk::<4>()?;
                let length = u32::from_le_bytes(*length);
                let is_there = length != MISSING;
                let (text, behind) = behind.split_at_checked(if is_there { length as usize } else { 0 })?;
                rest = behind;
                texts.push(std::str::from_utf8(text).ok()?.to_owned());
                valid.push(is_there);
            }
            let valid = if valid.iter().all(|valid| *valid) { Vec::new() } else { valid };
            values.push(RunValues { data: Data::Texts(texts), valid });
            continue;
        }
        let of_column: Vec<u128> = numbers.lane(lane)?.collect();
        let valid: Vec<bool> = match column.nullable {
            true => numbers.lane(lane + 1)?.map(|valid| valid == 1).collect(),
            false => Vec::new(),
        };
        let valid = if valid.iter().all(|valid| *valid) { Vec::new() } else { valid };
        lane += 1 + usize::from(column.nullable);
        values.push(RunValues { data: Data::Numbers(of_column), valid });
    }
    *bytes = rest;
    Some(values)
}
