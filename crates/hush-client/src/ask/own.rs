// SPDX-License-Identifier: Apache-2.0
//! Queries that the owner answers: the columns have come back, and the whole question is put to a table of his own in which nothing is
//! encrypted. It is planned and evaluated as for any table, so that functions, types and refusals are those of clear columns.

use arrow::array::ArrayRef;
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use hush_encode::clear_schema;
use hush_exec::answer::{Answer, RowsChunk};
use hush_plan::plan::{OwnQuery, RowsTask};
use hush_plan::{Limits, Protection, Schema, plan_query};
use hush_remote::Silent;

use super::{Asked, local, rows};
use crate::account::Phases;
use crate::decrypt::typed;
use crate::error::ClientError;
use crate::private::PrivateHalf;
use crate::table::OwnedTable;

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
    let (described, batches) = opened_batches(&schema, own, columns)?;
    let half = PrivateHalf::new(schema, Vec::new());
    let chunks = local::in_chunks(&described, batches)?;
    on_table(own, &local::table_of(half, (&described, chunks), &[], asked.table.costs.threads)?)
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
    on_table(own, &local::table(half, clear, &[], asked.table.costs.threads)?)
}

fn on_table(own: &OwnQuery, table: &OwnedTable) -> Result<Vec<RecordBatch>, ClientError> {
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
///
/// # Errors
/// [`ClientError::Internal`] for columns that did not come back.
pub(super) fn opened(
    schema: &Schema,
    own: &OwnQuery,
    found: &rows::Fetched,
) -> Result<RecordBatch, ClientError> {
    let (described, batches) = opened_batches(schema, own, found)?;
    Ok(concat_batches(&described, &batches)?)
}

/// They in the batches in which sealed columns came, one for each chunk of the answer.
fn opened_batches(
    schema: &Schema,
    own: &OwnQuery,
    found: &rows::Fetched,
) -> Result<(SchemaRef, Vec<RecordBatch>), ClientError> {
    let missing = || ClientError::Internal { what: "the plan does not fetch a column that it reads" };
    let place = |names: &[String], name: &str| names.iter().position(|other| other == name);
    let described = clear_schema(schema);
    let whole = found.numbers.len();
    // Without sealed columns one batch; of no rows, none.
    let pieces = own.sealed.iter().enumerate().find_map(|(place, _)| found.sealed.get(place));
    let counts: Vec<usize> = match pieces {
        Some(pieces) => pieces.iter().map(|piece| piece.len()).collect(),
        None => vec![whole],
    };
    let counts: Vec<usize> = counts.into_iter().filter(|count| *count > 0).collect();
    let cut = |array: &ArrayRef| {
        let slice = |first: &mut usize, count: &usize| {
            let piece = (array.len() >= *first + count).then(|| array.slice(*first, *count));
            *first += count;
            Some(piece.ok_or_else(missing))
        };
        counts.iter().scan(0, slice).collect::<Result<Vec<ArrayRef>, _>>()
    };
    let columns = described.fields().iter().map(|field| {
        let (name, kind) = (field.name().as_str(), field.data_type());
        let column = schema.column(name).ok_or_else(missing)?;
        let pieces = if let Some(place) = place(&own.clear, name) {
            cut(&cast(found.clear.columns().get(place).ok_or_else(missing)?, kind)?)?
        } else if let Some(place) = place(&own.sealed, name) {
            let pieces = found.sealed.get(place).ok_or_else(missing)?.iter();
            let pieces = pieces.filter(|piece| !piece.is_empty()).map(|piece| cast(piece, kind));
            pieces.collect::<Result<_, _>>()?
        } else {
            let place = own.encrypted.iter().find(|column| column.name == name).ok_or_else(missing)?;
            let values = found.quantities.get(place.value).ok_or_else(missing)?;
            let valid = place.valid.map(|valid| found.quantities.get(valid).ok_or_else(missing));
            cut(&cast(&typed(column, values, valid.transpose()?)?, kind)?)?
        };
        Ok(pieces.into_iter())
    });
    let mut columns = columns.collect::<Result<Vec<_>, ClientError>>()?;
    let batch = |count: &usize| {
        let arrays = columns.iter_mut().map(|pieces| pieces.next().ok_or_else(missing));
        let arrays = arrays.collect::<Result<Vec<ArrayRef>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(*count));
        Ok(RecordBatch::try_new_with_options(described.clone(), arrays, &options)?)
    };
    let batches = counts.iter().map(batch).collect::<Result<Vec<_>, ClientError>>()?;
    Ok((described, batches))
}
