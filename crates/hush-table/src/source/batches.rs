// SPDX-License-Identifier: Apache-2.0
//! Arrow batches that somebody else holds, read as a file would be.

use std::sync::Arc;

use arrow::array::{ArrayRef, NullArray, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Field, Schema as ArrowSchema, SchemaRef};
use arrow::error::ArrowError;

use super::guarded::guarded;
use super::{BatchFault, SourceError, cells};

/// A pass over batches.
pub type BatchReader = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

/// Arrow batches of one schema that somebody else holds, such as a DataFrame of another language. They are read batch by
/// batch and never gathered here.
pub trait BatchSource: Send + Sync {
    /// Their columns, in order.
    fn columns(&self) -> Vec<BatchColumn>;

    /// Rows, where that is known before they are read.
    fn rows(&self) -> Option<u64>;

    /// About how many bytes of memory a batch takes while it is read.
    fn batch_bytes(&self) -> u64;

    /// Starts a pass over the columns at positions `columns`, ascending. Every batch has these columns in this order and
    /// nothing else.
    ///
    /// # Errors
    /// [`SourceError::ReadOnce`] for what can be read once and has been; [`SourceError::Batches`].
    fn read(&self, columns: &[usize]) -> Result<BatchReader, SourceError>;
}

/// A column of batches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchColumn {
    /// Its name.
    pub name: String,
    /// Its type; the type's name where it is one that Rust's Arrow does not know.
    pub kind: Result<DataType, String>,
}

/// Batches in memory.
pub(super) struct MemoryBatches {
    schema: SchemaRef,
    batches: Arc<[RecordBatch]>,
}

impl MemoryBatches {
    pub(super) fn new(schema: SchemaRef, batches: &[RecordBatch]) -> Self {
        Self { schema, batches: batches.into() }
    }
}

impl BatchSource for MemoryBatches {
    fn columns(&self) -> Vec<BatchColumn> {
        let fields = self.schema.fields().iter();
        fields
            .map(|field| BatchColumn { name: field.name().clone(), kind: Ok(field.data_type().clone()) })
            .collect()
    }

    fn rows(&self) -> Option<u64> {
        Some(self.batches.iter().map(|batch| batch.num_rows() as u64).sum())
    }

    fn batch_bytes(&self) -> u64 {
        0
    }

    fn read(&self, columns: &[usize]) -> Result<BatchReader, SourceError> {
        let (batches, columns) = (self.batches.clone(), columns.to_vec());
        Ok(Box::new((0..batches.len()).filter_map(move |i| Some(batches.get(i)?.project(&columns)))))
    }
}

/// Refuses batches that do not have the columns that were announced, which would put values beside the wrong rows.
pub(super) struct Checked {
    reader: BatchReader,
    expected: Vec<DataType>,
}

impl Checked {
    pub(super) fn open(source: &dyn BatchSource, columns: &[usize]) -> Result<Self, SourceError> {
        let known = source.columns();
        let kind = |i: &usize| known.get(*i).and_then(|column| column.kind.clone().ok());
        let expected: Option<Vec<DataType>> = columns.iter().map(kind).collect();
        let expected = expected.ok_or(SourceError::Batches { what: BatchFault::Columns })?;
        let broken = || Err(SourceError::Batches { what: BatchFault::Broken });
        let reader = guarded(|| source.read(columns)).unwrap_or_else(broken)?;
        Ok(Self { reader, expected })
    }

    fn is_announced(&self, batch: &RecordBatch) -> bool {
        let found = batch.schema_ref().fields().iter().map(|field| field.data_type());
        found.eq(self.expected.iter())
    }
}

impl Iterator for Checked {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.reader.next()?;
        Some(batch.and_then(|batch| {
            if self.is_announced(&batch) {
                return Ok(batch);
            }
            Err(ArrowError::SchemaError("other columns than announced".to_owned()))
        }))
    }
}

/// A batch of `width` columns: column `i` stands at `positions[i]`, and the places between hold columns without values.
pub(super) fn widened(
    batch: &RecordBatch,
    positions: &[usize],
    width: usize,
) -> Result<RecordBatch, SourceError> {
    let rows = batch.num_rows();
    let nothing: ArrayRef = Arc::new(NullArray::new(rows));
    let mut columns = vec![nothing; width];
    for (position, column) in positions.iter().zip(batch.columns()) {
        if let Some(place) = columns.get_mut(*position) {
            *place = column.clone();
        }
    }
    let field = |column: &ArrayRef| Field::new("", column.data_type().clone(), true);
    let schema = ArrowSchema::new(columns.iter().map(field).collect::<Vec<_>>());
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let batch = RecordBatch::try_new_with_options(schema.into(), columns, &options);
    batch.map_err(|_| SourceError::Batches { what: BatchFault::Broken })
}

/// The schema of a batch without columns.
pub(super) fn bare() -> SchemaRef {
    Arc::new(ArrowSchema::empty())
}

impl BatchColumn {
    /// The name of its type, if it is one that tables cannot hold.
    pub(super) fn unsupported(&self) -> Option<String> {
        match &self.kind {
            Ok(kind) => cells::unsupported(kind),
            Err(name) => Some(name.clone()),
        }
    }
}
