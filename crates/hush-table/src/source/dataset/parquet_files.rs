// SPDX-License-Identifier: Apache-2.0
//! Chunks of one Parquet file after the other, in the types that all of them fit, with the columns of their paths.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, StringArray};
use arrow::datatypes::{DataType, Field, Schema as ArrowSchema, SchemaRef};

use super::{DataFile, Dataset, FileRow, NextFile};
use crate::source::parquet_file::ParquetColumns;
use crate::source::{BatchFault, CHUNK_ROWS, SourceError, cells};

/// Where a pass over the files stands.
pub(in crate::source) struct ParquetFiles {
    dataset: Arc<Dataset>,
    /// Positions of the columns read: those of files, and behind them those of paths.
    of_files: Vec<usize>,
    of_paths: Vec<usize>,
    schema: SchemaRef,
    /// The file after the one that is read.
    next: usize,
    coming: NextFile,
    open: Option<OpenFile>,
}

/// A file that is read.
struct OpenFile {
    file: DataFile,
    columns: ParquetColumns,
    /// Of each column of the path, a chunk of its value.
    constants: Vec<ArrayRef>,
    /// Number of the next chunk.
    number: u64,
}

impl ParquetFiles {
    /// Starts a pass over the columns at positions `columns`, ascending.
    pub(in crate::source) fn open(dataset: Arc<Dataset>, columns: &[usize]) -> Self {
        let width = dataset.width();
        let (of_files, of_paths): (Vec<usize>, Vec<usize>) =
            columns.iter().partition(|column| **column < width);
        let kind = |position: &usize| {
            let column = dataset.columns.get(*position);
            column.and_then(|column| column.kind.clone()).unwrap_or(DataType::Utf8)
        };
        let fields = columns.iter().map(|position| Field::new("", kind(position), true));
        let schema = Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()));
        Self { dataset, of_files, of_paths, schema, next: 0, coming: NextFile::default(), open: None }
    }

    /// The next rows, and which of which file is the first of them.
    pub(in crate::source) fn next(&mut self) -> Result<Option<(RecordBatch, FileRow)>, SourceError> {
        loop {
            if self.open.is_none() && !self.open_next()? {
                return Ok(None);
            }
            let Some(open) = &mut self.open else { return Ok(None) };
            let rows = open.columns.rows(open.number);
            if rows == 0 {
                self.open = None;
                self.dataset.check(self.next - 1)?;
                continue;
            }
            let row = open.number * CHUNK_ROWS as u64;
            let batch = batch(open, rows, &self.schema).map_err(|error| open.file.error(error))?;
            open.number += 1;
            return Ok(Some((batch, FileRow { file: open.file.clone(), row })));
        }
    }

    /// Opens the next file; `false` behind the last.
    fn open_next(&mut self) -> Result<bool, SourceError> {
        if self.next >= self.dataset.files.len() {
            return Ok(false);
        }
        let (file, source) = self.dataset.open_file(self.next, &mut self.coming)?;
        self.next += 1;
        let positions: Vec<usize> = self.of_files.iter().map(|column| file.position(*column)).collect();
        let columns = ParquetColumns::open(&source, &positions).map_err(|error| file.error(error))?;
        let width = self.dataset.width();
        let value = |column: &usize| file.values.get(column - width).and_then(Option::as_deref);
        let constant =
            |column: &usize| -> ArrayRef { Arc::new(StringArray::from(vec![value(column); CHUNK_ROWS])) };
        let constants = self.of_paths.iter().map(constant).collect();
        self.open = Some(OpenFile { file, columns, constants, number: 0 });
        Ok(true)
    }
}

/// The next chunk of a file.
fn batch(open: &OpenFile, rows: usize, schema: &SchemaRef) -> Result<RecordBatch, SourceError> {
    let broken = || SourceError::Batches { what: BatchFault::Broken };
    let found =
        if open.columns.is_bare() { Vec::new() } else { open.columns.read(open.number)?.columns().to_vec() };
    let constants = open.constants.iter().map(|array| array.slice(0, rows));
    let arrays = found.into_iter().chain(constants).zip(schema.fields()).map(|(array, field)| {
        if array.data_type() == field.data_type() {
            return Ok(array);
        }
        cells::unpacked(&array, field.data_type()).ok_or_else(broken)
    });
    let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema.clone(), arrays, &options).map_err(|_| broken())
}
