// SPDX-License-Identifier: Apache-2.0
//! Which rows meet a condition: as WHERE has it in every question, whatever of the columns is encrypted.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatchOptions};
use arrow::compute::cast;
use arrow::datatypes::{Field, Schema as ArrowSchema};
use arrow::record_batch::RecordBatch;
use hush_encode::arrow_type;
use hush_plan::Schema;
use hush_plan::plan::Predicate;

use crate::error::ClientError;

/// The places of the rows of a batch that meet a condition, ascending. The batch has the condition's columns under their names; `schema` is that of
/// their table with nothing encrypted.
///
/// # Errors
/// What the condition refuses on a row, such as a division by zero.
pub(crate) fn rows_where(
    schema: &Schema,
    rows: &RecordBatch,
    condition: &Predicate,
) -> Result<Vec<usize>, ClientError> {
    let missing = || ClientError::Internal { what: "a condition's column is not in the table" };
    let given = rows.schema();
    let opened = given.fields().iter().zip(rows.columns()).map(|(field, array)| {
        let column = schema.columns.iter().find(|column| column.name == *field.name());
        let kind = arrow_type(column.ok_or_else(missing)?.kind);
        Ok((Field::new(field.name(), kind.clone(), true), cast(array, &kind)?))
    });
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) =
        opened.collect::<Result<Vec<_>, ClientError>>()?.into_iter().unzip();
    let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    let opened = RecordBatch::try_new_with_options(Arc::new(ArrowSchema::new(fields)), arrays, &options)?;
    Ok(hush_exec::rows_where(&opened, condition)?.set_indices().collect())
}
