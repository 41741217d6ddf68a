// SPDX-License-Identifier: Apache-2.0
//! Parquet files: what they say of themselves, and their rows as Arrow batches.

use std::fs::File;

use arrow::error::ArrowError;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::reader::ChunkReader;

use super::batches::BatchReader;
use super::record::COLUMN_LIMIT;
use super::{CHUNK_ROWS, Origin, Source, SourceColumn, SourceError, cells, named};

/// What a Parquet file says of itself.
pub(super) struct Described {
    pub(super) columns: Vec<SourceColumn>,
    pub(super) rows: u64,
    /// About what reading it takes: of every column a page, packed and unpacked, and a dictionary.
    pub(super) decode_bytes: u64,
}

/// Most that a column is taken to need while it is read: writers close pages and dictionaries at a megabyte.
const COLUMN_DECODE_BYTES: u64 = 3 << 20;

/// What a panic of the reader means.
const DAMAGED: &str = "a damaged page";

/// Columns and number of rows of a Parquet file.
pub(super) fn describe(source: &Source) -> Result<Described, SourceError> {
    match &source.origin {
        Origin::File(path) => {
            let file = File::open(path).map_err(|source| SourceError::Open { path: path.clone(), source })?;
            describe_input(file)
        }
        Origin::Memory(bytes) => describe_input(bytes.clone()),
        Origin::Batches(_) | Origin::Stream { .. } => Err(SourceError::ReadOnce),
    }
}

fn describe_input<T: ChunkReader + 'static>(input: T) -> Result<Described, SourceError> {
    let builder = builder(input)?;
    let rows = u64::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or(0);
    let fields = builder.schema().fields();
    if fields.len() > COLUMN_LIMIT {
        return Err(SourceError::TooManyColumns { limit: COLUMN_LIMIT });
    }
    if rows == 0 {
        return Err(SourceError::NoRows);
    }
    let column = |(i, field): (usize, &arrow::datatypes::FieldRef)| SourceColumn {
        name: named(field.name(), i),
        unsupported: cells::unsupported(field.data_type()),
        declared: cells::declared(field.data_type()),
    };
    let columns = fields.iter().enumerate().map(column).collect();
    let of_column = |chunk: &ColumnChunkMetaData| {
        let bytes = chunk.uncompressed_size().saturating_add(chunk.compressed_size());
        u64::try_from(bytes).unwrap_or(0).min(COLUMN_DECODE_BYTES)
    };
    let of_group = |group: &RowGroupMetaData| group.columns().iter().map(of_column).sum();
    let decode_bytes = builder.metadata().row_groups().iter().map(of_group).max().unwrap_or(0);
    Ok(Described { columns, rows, decode_bytes })
}

/// The batches of the columns at positions `columns`, ascending.
pub(super) fn read(source: &Source, columns: &[usize]) -> Result<BatchReader, SourceError> {
    Ok(match &source.origin {
        Origin::File(path) => {
            let file = File::open(path).map_err(|source| SourceError::Open { path: path.clone(), source })?;
            Box::new(reader(file, columns)?)
        }
        Origin::Memory(bytes) => Box::new(reader(bytes.clone(), columns)?),
        Origin::Batches(_) | Origin::Stream { .. } => return Err(SourceError::ReadOnce),
    })
}

/// What a step of reading batches ended with instead of a batch; `None` if the reader panicked.
pub(super) fn fault(error: Option<ArrowError>) -> SourceError {
    let damaged = || ParquetError::General(DAMAGED.to_owned());
    SourceError::Parquet { source: error.map_or_else(damaged, ParquetError::from) }
}

fn reader<T: ChunkReader + 'static>(
    input: T,
    columns: &[usize],
) -> Result<ParquetRecordBatchReader, SourceError> {
    let builder = builder(input)?;
    let mask = ProjectionMask::roots(builder.parquet_schema(), columns.iter().copied());
    guarded(|| builder.with_projection(mask).with_batch_size(CHUNK_ROWS).build())
}

fn builder<T: ChunkReader + 'static>(input: T) -> Result<ParquetRecordBatchReaderBuilder<T>, SourceError> {
    guarded(|| ParquetRecordBatchReaderBuilder::try_new(input))
}

/// Runs a step of the Parquet reader, whose panics are errors.
fn guarded<T>(step: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, SourceError> {
    let result =
        super::guarded::guarded(step).unwrap_or_else(|| Err(ParquetError::General(DAMAGED.to_owned())));
    result.map_err(|source| SourceError::Parquet { source })
}
