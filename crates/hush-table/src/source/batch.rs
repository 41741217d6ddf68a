// SPDX-License-Identifier: Apache-2.0
//! What a typed pass gives.

use arrow::array::{Array, ArrayRef};

/// Consecutive rows of a typed pass. `Debug` shows sizes, never values.
pub struct RowBatch {
    /// Number of its first row, from 0.
    pub first_row: u64,
    /// Rows: [`CHUNK_ROWS`](crate::part::CHUNK_ROWS), fewer in the last batch, never 0.
    pub rows: usize,
    /// One entry per column of the schema, `None` where it was [`ReadAs::Skip`](super::ReadAs::Skip).
    pub columns: Vec<Option<ColumnData>>,
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
