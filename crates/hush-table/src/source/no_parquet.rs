// SPDX-License-Identifier: Apache-2.0
//! What stands for `parquet_rows` in programs that read no Parquet: every file of that kind is refused as it is opened.

use std::convert::Infallible;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::SchemaRef;
use bytes::Bytes;

use super::{NotATable, Source, SourceColumn, SourceError};

/// What a Parquet file says of itself.
pub(super) struct Described {
    pub(super) columns: Vec<SourceColumn>,
    pub(super) rows: u64,
    pub(super) decode_bytes: u64,
}

/// Refuses.
pub(super) fn describe(_: &Source) -> Result<Described, SourceError> {
    Err(refusal())
}

/// Refuses.
pub(super) fn encode(_: SchemaRef, _: &[RecordBatch]) -> Result<Bytes, SourceError> {
    Err(refusal())
}

fn refusal() -> SourceError {
    SourceError::NotATable { found: NotATable::ParquetNotBuilt }
}

/// Rows of a file that cannot be opened: there are none.
pub(crate) struct ParquetRows(Infallible);

/// A slice of such rows.
pub(crate) struct Slice {
    never: Infallible,
    /// First row.
    pub(crate) from: usize,
    /// Row after the last.
    pub(crate) to: usize,
}

impl Slice {
    /// Its rows.
    pub(crate) fn batch(&self) -> RecordBatch {
        match self.never {}
    }

    /// Positions in the file and arrays of the columns read.
    pub(crate) fn columns(&self) -> std::iter::Empty<(usize, &ArrayRef)> {
        match self.never {}
    }
}

impl ParquetRows {
    /// Refuses.
    pub(super) fn open(_: &Source, _: &[usize]) -> Result<Self, SourceError> {
        Err(refusal())
    }

    /// The next rows.
    pub(crate) fn next_slice(&mut self, _: usize) -> Result<Option<Slice>, SourceError> {
        match self.0 {}
    }
}
