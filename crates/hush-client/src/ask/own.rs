// SPDX-License-Identifier: Apache-2.0
//! Queries that the owner answers: the columns have come back, and the whole question is put to a table of his own in which nothing is
//! encrypted. It is planned and evaluated as for any table, so that functions, types and refusals are those of clear columns.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::compute::cast;
use arrow::datatypes::{Field, Schema as ArrowSchema};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use hush_encode::{arrow_type, clear_schema};
use hush_exec::answer::{Answer, RowsChunk};
use hush_plan::plan::{OwnQuery, RowsTask};
use hush_plan::{Limits, Protection, Schema, plan_query};
use hush_remote::Silent;

use super::{Asked, local, rows};
use crate::account::Phases;
use crate::decrypt::typed;
use crate::error::ClientError;
use crate::private::PrivateHalf;

/// The result of the query on the rows of an answer.
///
/// # Cost
/// Memory: 32 bytes for each row and quantity, and all columns once more.
///
/// # Errors
/// [`ClientError::Answer`] if the answer is not one to this task; whatever the query refuses on clear columns.
pub(super) fn answer(
    asked: &Asked<'_>,
    own: &OwnQuery,
    task: &RowsTask,
    answer: &Answer<'_>,
    chunks: &[RowsChunk<'_>],
) -> Result<Vec<RecordBatch>, ClientError> {
    on_columns(asked, own, &rows::fetched(asked, task, answer, chunks)?)
}

/// The result of the query on columns that are opened.
///
/// # Errors
/// Whatever the query refuses on clear columns.
pub(super) fn on_columns(
    asked: &Asked<'_>,
    own: &OwnQuery,
    columns: &rows::Fetched,
) -> Result<Vec<RecordBatch>, ClientError> {
    let schema = opened_schema(&asked.table.half.schema, own);
    let clear = opened(&schema, own, columns)?;
    on_batch(asked, own, schema, &clear)
}

/// The result of the query on clear columns of this schema.
///
/// # Errors
/// Whatever the query refuses on clear columns.
pub(super) fn on_batch(
    asked: &Asked<'_>,
    own: &OwnQuery,
    schema: Schema,
    clear: &RecordBatch,
) -> Result<Vec<RecordBatch>, ClientError> {
    let half = PrivateHalf::new(schema, Vec::new());
    let table = local::table(half, clear, &[], asked.table.costs.threads)?;
    let limits = Limits { max_groups: u64::MAX, max_answer_bytes: u64::MAX, ..Limits::default() };
    let digest = table.manifest.digest().to_string();
    let plan = plan_query(&table.half.schema, &[], &table.site(), &digest, &own.query, &limits)?;
    Ok(table.run(plan, Phases::default(), &Silent)?.batches)
}

/// The schema of what came back, with nothing encrypted.
pub(super) fn opened_schema(schema: &Schema, own: &OwnQuery) -> Schema {
    let mut schema = schema.all_clear();
    let used = own.query.columns();
    for column in schema.columns.iter_mut().filter(|column| !used.contains(&column.name)) {
        column.protect = Protection::Drop;
    }
    schema
}

/// The columns under their names, as clear columns are stored.
pub(super) fn opened(
    schema: &Schema,
    own: &OwnQuery,
    found: &rows::Fetched,
) -> Result<RecordBatch, ClientError> {
    let missing = || ClientError::Internal { what: "the plan does not fetch a column that it reads" };
    let place = |names: &[String], name: &str| names.iter().position(|other| other == name);
    let described = clear_schema(schema);
    let arrays = described.fields().iter().map(|field| {
        let name = field.name().as_str();
        let column = schema.column(name).ok_or_else(missing)?;
        let array: ArrayRef = if let Some(place) = place(&own.clear, name) {
            // Before them stands the number of the row.
            found.clear.columns().get(place + 1).ok_or_else(missing)?.clone()
        } else if let Some(place) = place(&own.sealed, name) {
            found.sealed.get(place).ok_or_else(missing)?.clone()
        } else {
            let place = own.encrypted.iter().find(|column| column.name == name).ok_or_else(missing)?;
            let values = found.quantities.get(place.value).ok_or_else(missing)?;
            let valid = place.valid.map(|valid| found.quantities.get(valid).ok_or_else(missing));
            typed(column, values, valid.transpose()?)?
        };
        let kind = arrow_type(column.kind);
        Ok((Field::new(name, kind.clone(), true), cast(&array, &kind)?))
    });
    let (fields, columns): (Vec<Field>, Vec<ArrayRef>) =
        arrays.collect::<Result<Vec<_>, ClientError>>()?.into_iter().unzip();
    let options = RecordBatchOptions::new().with_row_count(Some(found.clear.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::new(ArrowSchema::new(fields)), columns, &options)?)
}
