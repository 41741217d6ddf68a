// SPDX-License-Identifier: Apache-2.0
//! Rows of a Parquet file in slices of any length, and batches as such a file in memory.

use std::fs::File;
use std::panic::AssertUnwindSafe;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::reader::ChunkReader;

use super::records::COLUMN_LIMIT;
use super::{CHUNK_ROWS, Origin, Source, SourceColumn, SourceError, cells};

/// What a Parquet file says of itself.
pub(super) struct Described {
    pub(super) columns: Vec<SourceColumn>,
    pub(super) rows: u64,
    /// About what reading it takes: of every column a page, packed and unpacked, and a dictionary.
    pub(super) decode_bytes: u64,
}

/// Most that a column is taken to need while it is read: writers close pages and dictionaries at a megabyte.
const COLUMN_DECODE_BYTES: u64 = 3 << 20;

/// Columns and number of rows of a Parquet file.
pub(super) fn describe(source: &Source) -> Result<Described, SourceError> {
    match &source.origin {
        Origin::File(path) => {
            let file = File::open(path).map_err(|source| SourceError::Open { path: path.clone(), source })?;
            describe_input(file)
        }
        Origin::Memory(bytes) => describe_input(bytes.clone()),
        Origin::Stream { .. } => Err(SourceError::ReadOnce),
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
        name: if field.name().trim().is_empty() { format!("column_{}", i + 1) } else { field.name().clone() },
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

/// Batches as a Parquet file in memory.
pub(super) fn encode(schema: SchemaRef, batches: &[RecordBatch]) -> Result<Bytes, SourceError> {
    if schema.fields().is_empty() {
        return Err(SourceError::Empty);
    }
    let bytes = guarded(|| {
        let mut writer = ArrowWriter::try_new(Vec::new(), schema, None)?;
        batches.iter().try_for_each(|batch| writer.write(batch))?;
        writer.into_inner()
    })?;
    Ok(bytes.into())
}

/// The rows of some columns.
pub(crate) struct ParquetRows {
    reader: ParquetRecordBatchReader,
    batch: Option<RecordBatch>,
    used: usize,
    /// Positions in the file of the columns read.
    columns: Vec<usize>,
    /// Rows left in a file of which no column is wanted.
    bare_rows: Option<usize>,
}

/// Rows `from..to` of a record batch.
pub(crate) struct Slice {
    batch: RecordBatch,
    columns: Vec<usize>,
    /// First row.
    pub(crate) from: usize,
    /// Row after the last.
    pub(crate) to: usize,
}

impl Slice {
    /// Its rows.
    pub(crate) fn batch(&self) -> RecordBatch {
        self.batch.slice(self.from, self.to - self.from)
    }

    /// Positions in the file and arrays of the columns read.
    pub(crate) fn columns(&self) -> impl Iterator<Item = (usize, &ArrayRef)> {
        self.columns.iter().copied().zip(self.batch.columns())
    }
}

impl ParquetRows {
    /// Starts reading the columns at positions `columns`, ascending.
    pub(super) fn open(source: &Source, columns: &[usize]) -> Result<Self, SourceError> {
        let reader = match &source.origin {
            Origin::File(path) => {
                let file =
                    File::open(path).map_err(|source| SourceError::Open { path: path.clone(), source })?;
                reader(file, columns)?
            }
            Origin::Memory(bytes) => reader(bytes.clone(), columns)?,
            Origin::Stream { .. } => return Err(SourceError::ReadOnce),
        };
        let rows = source.rows().and_then(|rows| usize::try_from(rows).ok());
        let bare_rows = rows.filter(|_| columns.is_empty());
        Ok(Self { reader, batch: None, used: 0, columns: columns.to_vec(), bare_rows })
    }

    /// The next rows, at least 1 and at most `most`; `None` at the end.
    pub(crate) fn next_slice(&mut self, most: usize) -> Result<Option<Slice>, SourceError> {
        if let Some(left) = &mut self.bare_rows {
            let to = most.min(*left);
            *left -= to;
            let batch = RecordBatch::new_empty(arrow::datatypes::Schema::empty().into());
            return Ok((to > 0).then(|| Slice { batch, columns: Vec::new(), from: 0, to }));
        }
        loop {
            if let Some(batch) = &self.batch
                && self.used < batch.num_rows()
            {
                let (from, to) = (self.used, batch.num_rows().min(self.used + most));
                self.used = to;
                return Ok(Some(Slice { batch: batch.clone(), columns: self.columns.clone(), from, to }));
            }
            let Some(batch) = guarded(|| self.reader.next().transpose().map_err(Into::into))? else {
                return Ok(None);
            };
            self.batch = Some(batch);
            self.used = 0;
        }
    }
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

/// Runs a step of the Parquet reader. That reader panics on some damaged files (an index beyond a page), and the
/// owner's file is not trusted to be sound: such a panic is an error like any other. Nothing is used after it.
fn guarded<T>(step: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, SourceError> {
    let damaged = |_| Err(ParquetError::General("a damaged page".to_owned()));
    let result = std::panic::catch_unwind(AssertUnwindSafe(step)).unwrap_or_else(damaged);
    result.map_err(|source| SourceError::Parquet { source })
}
