// SPDX-License-Identifier: Apache-2.0
//! What a typed pass gives.

use arrow::array::{Array, ArrayRef, AsArray};

use crate::digest::Digest;

/// Consecutive rows of a typed pass. `Debug` shows sizes, never values.
pub struct RowBatch {
    /// Number of its first row, from 0.
    pub first_row: u64,
    /// Rows: [`CHUNK_ROWS`](crate::part::CHUNK_ROWS), fewer in the last batch, never 0.
    pub rows: usize,
    /// One entry per column of the schema, `None` where it was [`ReadAs::Skip`](super::ReadAs::Skip).
    pub columns: Vec<Option<ColumnData>>,
}

impl RowBatch {
    /// A digest of the values, the missing ones and the order of all columns that were read. Equal batches have equal digests,
    /// whatever kind of file they come from.
    ///
    /// # Cost
    /// One pass over the values, some nanoseconds each.
    pub fn digest(&self) -> Digest {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&(self.rows as u64).to_le_bytes());
        let mut buffer = Vec::new();
        for column in &self.columns {
            buffer.clear();
            match column {
                None => buffer.push(0),
                Some(ColumnData::Units(column)) => column.write(&mut buffer),
                Some(ColumnData::Array(array)) => write_array(array, &mut buffer),
            }
            hasher.update(&(buffer.len() as u64).to_le_bytes()).update(&buffer);
        }
        Digest::from_bytes(*hasher.finalize().as_bytes())
    }
}

/// An array's type, missing values and values.
fn write_array(array: &ArrayRef, out: &mut Vec<u8>) {
    out.push(1);
    out.extend(array.data_type().to_string().bytes().chain([0]));
    out.extend((0..array.len()).map(|row| u8::from(array.is_valid(row))));
    if let Some(texts) = array.as_string_opt::<i32>() {
        for text in texts.iter().flatten() {
            out.extend((text.len() as u64).to_le_bytes());
            out.extend(text.bytes());
        }
        return;
    }
    if let Some(bits) = array.as_boolean_opt() {
        out.extend(bits.iter().map(|bit| u8::from(bit == Some(true))));
        return;
    }
    // Numbers: what stands for a missing one is 0.
    let data = array.to_data();
    data.buffers().iter().for_each(|buffer| out.extend(buffer.iter()));
}

/// A column of a batch.
pub enum ColumnData {
    /// Arrow's Boolean, Date32, Decimal128, Float64, Int64, Timestamp(µs) or Utf8, by the column's type.
    Array(ArrayRef),
    /// To be encrypted.
    Units(TypedColumn),
}

/// Values to be encrypted: 0 where missing.
pub struct TypedColumn {
    /// One value per row.
    pub values: Values,
    /// Which rows have a value; `None` if all do.
    pub valid: Option<Vec<bool>>,
}

/// The values of a column in units.
pub enum Values {
    /// Floats without a range.
    F64(Vec<f64>),
    /// Units of columns whose bounds exceed 64 bits.
    I128(Vec<i128>),
    /// Units.
    I64(Vec<i64>),
}

impl std::fmt::Debug for RowBatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "RowBatch {{ first_row: {}, rows: {}, columns: {} }}",
            self.first_row,
            self.rows,
            self.columns.len()
        )
    }
}

impl TypedColumn {
    /// Its kind, missing values and values.
    fn write(&self, out: &mut Vec<u8>) {
        out.push(2);
        match &self.valid {
            None => out.resize(out.len() + self.values.len(), 1),
            Some(valid) => out.extend(valid.iter().map(|is_there| u8::from(*is_there))),
        }
        match &self.values {
            Values::F64(values) => out.extend(values.iter().flat_map(|value| value.to_bits().to_le_bytes())),
            Values::I128(values) => out.extend(values.iter().flat_map(|value| value.to_le_bytes())),
            Values::I64(values) => out.extend(values.iter().flat_map(|value| value.to_le_bytes())),
        }
    }
}

impl Values {
    /// Rows.
    pub fn len(&self) -> usize {
        match self {
            Self::F64(values) => values.len(),
            Self::I128(values) => values.len(),
            Self::I64(values) => values.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl std::fmt::Debug for Values {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self {
            Self::F64(_) => "F64",
            Self::I128(_) => "I128",
            Self::I64(_) => "I64",
        };
        write!(f, "{kind}({} values)", self.len())
    }
}

impl std::fmt::Debug for TypedColumn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TypedColumn {{ {:?}, nullable: {} }}", self.values, self.valid.is_some())
    }
}

impl std::fmt::Debug for ColumnData {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Array(array) => write!(f, "Array({}, {} values)", array.data_type(), array.len()),
            Self::Units(column) => column.fmt(f),
        }
    }
}
