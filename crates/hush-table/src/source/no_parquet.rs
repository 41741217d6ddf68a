// SPDX-License-Identifier: Apache-2.0
//! What stands for `parquet_file` in programs that read no Parquet: every file of that kind is refused as it is opened.

use arrow::error::ArrowError;

use super::batches::BatchReader;
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
pub(super) fn read(_: &Source, _: &[usize]) -> Result<BatchReader, SourceError> {
    Err(refusal())
}

/// The refusal.
pub(super) fn fault(_: Option<ArrowError>) -> SourceError {
    refusal()
}

fn refusal() -> SourceError {
    SourceError::NotATable { found: NotATable::ParquetNotBuilt }
}
