// SPDX-License-Identifier: Apache-2.0
//! Parquet files: what they say of themselves, and their columns, each decoded by whoever asks for its next rows.

use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{Schema as ArrowSchema, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};

use super::object::{ObjectFile, PIECE_BYTES};
use super::record::COLUMN_LIMIT;
use super::window::{ColumnBytes, WINDOW_BYTES, Window};
use super::{CHUNK_ROWS, Origin, Source, SourceColumn, SourceError, cells, guarded, named};
use crate::part::PartSource;

/// What a Parquet file says of itself.
pub(super) struct Described {
    pub(super) columns: Vec<SourceColumn>,
    pub(super) rows: u64,
    /// About what reading it takes: of every column a page, packed and unpacked, and a dictionary.
    pub(super) decode_bytes: u64,
}

/// Most that a column is taken to need while it is read: writers close pages and dictionaries at a megabyte.
const COLUMN_DECODE_BYTES: u64 = 3 << 20;

/// Columns of an object whose first bytes are asked for together.
const BEGUN_COLUMNS: usize = 16;

/// What a panic of the decoder means.
const DAMAGED: &str = "a damaged page";
const OTHER_ROWS: &str = "a column has other rows than the file says";

/// Columns and number of rows of a Parquet file.
pub(super) fn describe(source: &Source) -> Result<Described, SourceError> {
    let metadata = metadata(source, &bytes(source)?)?;
    let rows = u64::try_from(metadata.metadata().file_metadata().num_rows()).unwrap_or(0);
    let fields = metadata.schema().fields();
    if fields.len() > COLUMN_LIMIT {
        return Err(SourceError::TooManyColumns { limit: COLUMN_LIMIT });
    }
    let column = |(i, field): (usize, &arrow::datatypes::FieldRef)| SourceColumn {
        name: named(field.name(), i),
        unsupported: cells::unsupported(field.data_type()),
        declared: cells::declared(field.data_type()),
        kind: Some(field.data_type().clone()),
    };
    let columns = fields.iter().enumerate().map(column).collect();
    // A window of an object, the one before it, of which a page is unpacked, and the one that is on its way.
    let windows = if object_of(source).is_some() { 3 * WINDOW_BYTES } else { 0 };
    let of_column = |chunk: &ColumnChunkMetaData| {
        let packed = u64::try_from(chunk.compressed_size()).unwrap_or(0);
        let bytes = u64::try_from(chunk.uncompressed_size()).unwrap_or(0).saturating_add(packed);
        bytes.min(COLUMN_DECODE_BYTES) + packed.min(windows)
    };
    let of_group = |group: &RowGroupMetaData| group.columns().iter().map(of_column).sum::<u64>();
    let decode_bytes = metadata.metadata().row_groups().iter().map(of_group).max().unwrap_or(0);
    Ok(Described { columns, rows, decode_bytes: decode_bytes + if windows > 0 { PIECE_BYTES } else { 0 } })
}

/// Some columns of a file, chunk by chunk. Any thread may ask for any chunk, once.
///
/// *Invariant.* Rows of a column are decoded in order, by one thread at a time; threads that work on chunks that follow one another
/// decode different columns.
pub(super) struct ParquetColumns {
    rows: u64,
    schema: SchemaRef,
    columns: Vec<Mutex<ColumnRows>>,
    object: Option<Arc<ObjectFile>>,
    /// Of an object, through which its columns are read.
    windows: Vec<Arc<Mutex<Window>>>,
}

/// The rows of a column.
struct ColumnRows {
    /// `None` behind an error.
    reader: Option<ParquetRecordBatchReader>,
    /// Number of the chunk that the reader stands before.
    next: u64,
    /// Chunks before it that nobody has asked for yet, and the error that ended it.
    decoded: BTreeMap<u64, Result<ArrayRef, ParquetError>>,
}

impl ParquetColumns {
    /// Opens the columns at positions `columns`, and gives them in this order.
    pub(super) fn open(source: &Source, columns: &[usize]) -> Result<Self, SourceError> {
        let bytes = bytes(source)?;
        let metadata = metadata(source, &bytes)?;
        let object = object_of(source).cloned();
        let refusal = |error| refusal(object.as_ref(), error);
        let rows = u64::try_from(metadata.metadata().file_metadata().num_rows()).unwrap_or(0);
        let schema = metadata.schema().project(columns).map_err(|error| refusal(error.into()))?;
        let nullable = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
        let schema = Arc::new(ArrowSchema::new(nullable.collect::<Vec<_>>()));
        let places = columns.iter().map(|position| step(|| Ok(chunks_of(&metadata, *position))));
        let places = places.collect::<Result<Vec<_>, _>>().map_err(refusal)?;
        let whole = object.as_ref().map(|object| end_of(object, &places)).transpose()?.flatten();
        let mut windows = Vec::new();
        let column = |(position, chunks): (&usize, Vec<Range<u64>>)| {
            let bytes = match (&object, &whole) {
                (Some(object), None) => {
                    let window = Arc::new(Mutex::new(Window::new(object.clone(), chunks)));
                    windows.push(window.clone());
                    ColumnBytes::There(window)
                }
                (_, whole) => ColumnBytes::Here(whole.as_ref().unwrap_or(&bytes).clone()),
            };
            let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(bytes, metadata.clone());
            let mask = ProjectionMask::roots(builder.parquet_schema(), [*position]);
            let reader = step(|| builder.with_projection(mask).with_batch_size(CHUNK_ROWS).build());
            let reader = Some(reader.map_err(refusal)?);
            Ok(Mutex::new(ColumnRows { reader, next: 0, decoded: BTreeMap::new() }))
        };
        let columns = columns.iter().zip(places).map(column).collect::<Result<_, SourceError>>()?;
        Ok(Self { rows, schema, columns, object, windows })
    }

    /// The same columns of a file that says that it has so many rows.
    #[cfg(test)]
    pub(super) fn with_rows(self, rows: u64) -> Self {
        Self { rows, ..self }
    }

    /// Whether it has no columns, which cannot be read.
    pub(super) fn is_bare(&self) -> bool {
        self.columns.is_empty()
    }

    /// Rows of chunk `number`; 0 behind the last.
    pub(super) fn rows(&self, number: u64) -> usize {
        let before = number.saturating_mul(CHUNK_ROWS as u64);
        self.rows.saturating_sub(before).min(CHUNK_ROWS as u64) as usize
    }

    /// Chunk `number`.
    ///
    /// # Errors
    /// [`SourceError::Parquet`] for a damaged column, of the first that is.
    pub(super) fn read(&self, number: u64) -> Result<RecordBatch, SourceError> {
        let array = |(position, column): (usize, &Mutex<ColumnRows>)| {
            if number == 0 {
                self.begin(position);
            }
            column.lock().unwrap_or_else(PoisonError::into_inner).read(number, |chunk| self.rows(chunk))
        };
        let refusal = |error| refusal(self.object.as_ref(), error);
        let arrays = self.columns.iter().enumerate().map(array);
        let arrays = arrays.collect::<Result<Vec<_>, _>>().map_err(refusal)?;
        let batch = RecordBatch::try_new(self.schema.clone(), arrays);
        batch.map_err(|error| refusal(error.into()))
    }

    /// Asks for the first bytes of a column and of those behind it, all together.
    fn begin(&self, column: usize) {
        for window in self.windows.iter().skip(column).take(BEGUN_COLUMNS) {
            // Whoever reads through it has asked.
            if let Ok(mut window) = window.try_lock() {
                window.begin();
            }
        }
    }
}

impl ColumnRows {
    /// Chunk `number`, after the chunks before it. `rows` tells how many a chunk has.
    fn read(&mut self, number: u64, rows: impl Fn(u64) -> usize) -> Result<ArrayRef, ParquetError> {
        while self.next <= number && self.reader.is_some() {
            let array = self.decode(rows(self.next), rows(self.next + 1) == 0);
            if array.is_err() {
                self.reader = None;
            }
            self.decoded.insert(self.next, array);
            self.next += 1;
        }
        // Nobody sees this one: whoever got the error is before it.
        self.decoded.remove(&number).unwrap_or_else(|| Err(damaged()))
    }

    /// The next rows: as many as are expected, and none behind the last.
    fn decode(&mut self, expected: usize, is_last: bool) -> Result<ArrayRef, ParquetError> {
        let reader = self.reader.as_mut().ok_or_else(damaged)?;
        let mut next = || step(|| reader.next().transpose().map_err(ParquetError::from));
        let array = next()?.and_then(|batch| batch.columns().first().cloned());
        let array = array.filter(|array| array.len() == expected);
        let array = array.ok_or_else(|| ParquetError::General(OTHER_ROWS.to_owned()))?;
        if is_last && next()?.is_some() {
            return Err(ParquetError::General(OTHER_ROWS.to_owned()));
        }
        Ok(array)
    }
}

/// The file, read by ranges: columns do not wait for each other.
fn bytes(source: &Source) -> Result<PartSource, SourceError> {
    match &source.origin {
        Origin::File(path) => {
            let file = File::open(path).and_then(PartSource::from_file);
            file.map_err(|source| SourceError::Open { path: path.clone(), source })
        }
        Origin::Memory(bytes) => Ok(PartSource::from_memory(bytes.clone())),
        Origin::Object(object) => object.ranges().map_err(SourceError::reading),
        Origin::Batches(_) | Origin::Dataset(_) | Origin::Joined(_) | Origin::Stream { .. } => {
            Err(SourceError::ReadOnce)
        }
    }
}

fn object_of(source: &Source) -> Option<&Arc<ObjectFile>> {
    match &source.origin {
        Origin::Object(object) => Some(object),
        _ => None,
    }
}

fn metadata(source: &Source, bytes: &PartSource) -> Result<ArrowReaderMetadata, SourceError> {
    let metadata = step(|| ArrowReaderMetadata::load(bytes, ArrowReaderOptions::default()));
    metadata.map_err(|error| refusal(object_of(source), error))
}

/// Where the chunks of a column lie, nested ones with all their leaves. Panics if the file says that one has a negative length.
fn chunks_of(metadata: &ArrowReaderMetadata, position: usize) -> Vec<Range<u64>> {
    let mask = ProjectionMask::roots(metadata.parquet_schema(), [position]);
    let groups = metadata.metadata().row_groups().iter();
    let of_group = |group: &RowGroupMetaData| {
        let leaves = group.columns().iter().enumerate().filter(|(leaf, _)| mask.leaf_included(*leaf));
        let ranges = leaves.map(|(_, chunk)| chunk.byte_range());
        ranges.map(|(start, length)| start..start.saturating_add(length)).collect::<Vec<_>>()
    };
    groups.flat_map(of_group).collect()
}

/// An object from the first of some chunks to its end, in memory, if that is a piece: small files take one request, however many columns
/// they have.
fn end_of(object: &Arc<ObjectFile>, columns: &[Vec<Range<u64>>]) -> Result<Option<PartSource>, SourceError> {
    let first = columns.iter().flatten().map(|chunk| chunk.start).min().unwrap_or(object.bytes());
    if object.bytes().saturating_sub(first) > PIECE_BYTES {
        return Ok(None);
    }
    let ranges = object.ranges().map_err(SourceError::reading)?;
    let whole = ranges.with_ranges(std::slice::from_ref(&(first..object.bytes())));
    whole.map(Some).map_err(SourceError::reading)
}

/// Runs a step of the decoder, whose panics are errors.
fn step<T>(step: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    guarded::guarded(step).unwrap_or_else(|| Err(damaged()))
}

fn damaged() -> ParquetError {
    ParquetError::General(DAMAGED.to_owned())
}

/// What an error of the decoder means: what the store failed to do, if it failed.
fn refusal(object: Option<&Arc<ObjectFile>>, source: ParquetError) -> SourceError {
    object.and_then(|object| object.trouble()).unwrap_or(SourceError::Parquet { source })
}
