// SPDX-License-Identifier: Apache-2.0
//! What stands for `parquet_file` in programs that read no Parquet: every file of that kind is refused as it is opened.

use arrow::array::RecordBatch;

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

/// Nothing: it cannot be opened.
pub(super) enum ParquetColumns {}

impl ParquetColumns {
    /// Refuses.
    pub(super) fn open(_: &Source, _: &[usize]) -> Result<Self, SourceError> {
        Err(refusal())
    }

    /// Never called.
    pub(super) fn is_bare(&self) -> bool {
        match *self {}
    }

    /// Never called.
    pub(super) fn rows(&self, _: u64) -> usize {
        match *self {}
    }

    /// Never called.
    pub(super) fn read(&self, _: u64) -> Result<RecordBatch, SourceError> {
        match *self {}
    }
}

fn refusal() -> SourceError {
    SourceError::NotATable { found: NotATable::ParquetNotBuilt }
}
