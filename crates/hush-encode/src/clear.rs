// SPDX-License-Identifier: Apache-2.0
//! The clear half of a chunk as Arrow.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatchOptions, StringArray};
use arrow::datatypes::{DataType, Field, Schema as ArrowSchema, SchemaRef, TimeUnit};
use arrow::record_batch::RecordBatch;
use hush_plan::{ColumnType, Protection, Schema};
use hush_table::source::{ColumnData, RowBatch};

use crate::EncodeError;

/// Most bytes that the clear texts of one row may have: an owner rejects a delivery with longer ones, which would cost memory out of
/// proportion to its file.
pub const MAX_CLEAR_ROW_BYTES: usize = 1 << 20;
/// Largest file of clear columns of a delivery that an owner takes in, in bytes.
pub const MAX_CLEAR_FILE_BYTES: u64 = 256 << 20;

/// The first row with more clear text than a device may send (1 MiB), and its bytes of text.
pub fn oversized_row(rows: &RecordBatch) -> Option<(usize, usize)> {
    let texts: Vec<&StringArray> =
        rows.columns().iter().filter_map(|column| column.as_string_opt()).collect();
    let bytes = |row| texts.iter().map(|text| text.value_length(row).unsigned_abs() as usize).sum();
    (0..rows.num_rows()).map(|row| (row, bytes(row))).find(|(_, bytes)| *bytes > MAX_CLEAR_ROW_BYTES)
}

/// Arrow schema of the columns that a server reads, in file order: the clear ones, and join keys as texts, which their tokens are.
pub fn clear_schema(schema: &Schema) -> SchemaRef {
    let fields = schema.readable().map(|column| Field::new(&column.name, arrow_type(column.kind), true));
    Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()))
}

/// The Arrow type of a clear or sealed column.
pub fn arrow_type(kind: ColumnType) -> DataType {
    match kind {
        ColumnType::Bool => DataType::Boolean,
        ColumnType::Category | ColumnType::Text => DataType::Utf8,
        ColumnType::Date => DataType::Date32,
        ColumnType::Decimal { precision, scale } => DataType::Decimal128(precision, scale as i8),
        ColumnType::Float { .. } => DataType::Float64,
        ColumnType::Int { .. } => DataType::Int64,
        ColumnType::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
    }
}

/// The clear columns of a batch, with those of `tokens` in the places of join keys; without clear columns, a batch of rows without columns.
///
/// # Errors
/// [`EncodeError::Internal`] if the batch was read without one of them, or a join key has no tokens.
pub fn clear_rows(
    schema: &Schema,
    clear: &SchemaRef,
    batch: &RowBatch,
    tokens: &BTreeMap<String, StringArray>,
) -> Result<RecordBatch, EncodeError> {
    let arrays =
        schema.columns.iter().zip(&batch.columns).filter_map(|(column, data)| match (column.protect, data) {
            (Protection::Clear, Some(ColumnData::Array(array))) => Some(Ok(array.clone())),
            (Protection::Clear, _) => {
                Some(Err(EncodeError::Internal { what: "a clear column's data was not read" }))
            }
            (Protection::JoinKey, _) => {
                let tokens = tokens.get(&column.name).map(|tokens| Arc::new(tokens.clone()) as ArrayRef);
                Some(tokens.ok_or(EncodeError::Internal { what: "a join key has no tokens" }))
            }
            _ => None,
        });
    let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.rows));
    Ok(RecordBatch::try_new_with_options(clear.clone(), arrays, &options)?)
}
