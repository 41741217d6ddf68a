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
            match column {
                None => {
                    hasher.update(&[0]);
                }
                Some(ColumnData::Array(array)) => hash_array(array, &mut hasher, &mut buffer),
                Some(ColumnData::Units(column)) => column.hash(&mut hasher, &mut buffer),
            }
        }
        Digest::from_bytes(*hasher.finalize().as_bytes())
    }
}

/// An array's type, missing values and values, each of a known length.
fn hash_array(array: &ArrayRef, hasher: &mut blake3::Hasher, buffer: &mut Vec<u8>) {
    let kind = array.data_type().to_string();
    hasher.update(&[1, kind.len() as u8]).update(kind.as_bytes());
    hash_valid((0..array.len()).map(|row| array.is_valid(row)), array.null_count() == 0, hasher);
    if let Some(texts) = array.as_string_opt::<i32>() {
        buffer.clear();
        for text in texts.iter().flatten() {
            buffer.extend_from_slice(&(text.len() as u64).to_le_bytes());
            buffer.extend_from_slice(text.as_bytes());
        }
        hasher.update(buffer);
    } else if let Some(bits) = array.as_boolean_opt() {
        buffer.clear();
        buffer.extend(bits.iter().map(|bit| u8::from(bit == Some(true))));
        hasher.update(buffer);
    } else {
        // Numbers: what stands for a missing one is 0.
        for bytes in array.to_data().buffers() {
            hasher.update(bytes);
        }
    }
}

/// Which rows have a value; one byte if all do.
fn hash_valid(valid: impl Iterator<Item = bool>, all: bool, hasher: &mut blake3::Hasher) {
    hasher.update(&[u8::from(all)]);
    if !all {
        hasher.update(&valid.map(u8::from).collect::<Vec<_>>());
    }
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
    fn hash(&self, hasher: &mut blake3::Hasher, buffer: &mut Vec<u8>) {
        hasher.update(&[2]);
        let valid = self.valid.iter().flatten().copied();
        hash_valid(valid.clone(), valid.clone().all(|is_there| is_there), hasher);
        match &self.values {
            Values::F64(values) => hash_words(values, |value| value.to_le_bytes(), hasher, buffer),
            Values::I128(values) => hash_words(values, |value| value.to_le_bytes(), hasher, buffer),
            Values::I64(values) => hash_words(values, |value| value.to_le_bytes(), hasher, buffer),
        }
    }
}

/// Numbers by their bytes. The loop over slices of one length is a copy.
fn hash_words<T: Copy, const N: usize>(
    values: &[T],
    bytes: impl Fn(T) -> [u8; N],
    hasher: &mut blake3::Hasher,
    buffer: &mut Vec<u8>,
) {
    buffer.resize(values.len() * N, 0);
    for (place, value) in buffer.chunks_exact_mut(N).zip(values) {
        place.copy_from_slice(&bytes(*value));
    }
    hasher.update(&[N as u8]).update(buffer);
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
