// SPDX-License-Identifier: Apache-2.0
//! Grouped queries of many groups: the matching rows have come back, and are grouped here.
//!
//! Their clear columns and decrypted quantities become a table in memory in which nothing is encrypted. An engine that encrypts
//! nothing runs the same task on it that a server would have run. So groups, masks and ranges are the same code, and so are the
//! steps that follow.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatchOptions};
use arrow::compute::cast;
use arrow::datatypes::{Field, Schema as ArrowSchema};
use arrow::record_batch::RecordBatch;
use hush_encode::arrow_type;
use hush_exec::answer::{Answer, EncryptedHalf, RowsChunk};
use hush_plan::plan::{AggregateTask, PLAN_FORMAT, Predicate, Regroup, RowsTask, Task};
use hush_plan::{EncodingId, OwnerPlan, PrivateEncoding, ServerPlan};
use hush_table::Digest;

use super::{Asked, answer_error, groups, local, rows, serialised};
use crate::cells::Cells;
use crate::error::ClientError;
use crate::private::PrivateHalf;
use crate::table::OwnedTable;
use hush_remote::Silent;

/// Builds `merged`, as [`groups::merge`] does, from the matching rows.
///
/// # Cost
/// Memory: 32 bytes for each row and quantity, several times, and the clear columns.
///
/// # Errors
/// [`ClientError::Answer`] if the answer is not one to this task.
pub(super) fn merge(
    asked: &Asked<'_>,
    regroup: &Regroup,
    task: &RowsTask,
    answer: &Answer<'_>,
    chunks: &[RowsChunk<'_>],
) -> Result<RecordBatch, ClientError> {
    let rows::Fetched { clear, quantities, .. } = rows::fetched(asked, task, answer, chunks)?;
    let Asked { table, owner, .. } = *asked;
    let clear = named(table, regroup, &clear)?;
    let local = local_table(table, task, &clear, &quantities)?;
    let task = renumbered(&regroup.task, &task.fetch)?;
    // Only rows that match have come back.
    grouped_here(&local, owner, None, &task)
}

/// Evaluates a task on a table of the owner's own, and builds `merged`.
///
/// # Errors
/// None but bugs.
pub(super) fn grouped_here(
    local: &OwnedTable,
    owner: &OwnerPlan,
    predicate: Option<&Predicate>,
    task: &AggregateTask,
) -> Result<RecordBatch, ClientError> {
    let plan = ServerPlan {
        format: PLAN_FORMAT,
        table: local.half.schema.table.clone(),
        manifest: local.manifest.digest().to_string(),
        predicate: predicate.cloned(),
        task: Task::Aggregate(task.clone()),
        max_answer_bytes: u64::MAX,
    };
    let request = serialised(&plan)?;
    let bytes = local.evaluate(&request, &Silent)?;
    let answer = Answer::decode(&bytes, u64::MAX).map_err(answer_error)?;
    answer.expect(local.manifest.digest(), Digest::of(&request)).map_err(answer_error)?;
    match &answer.encrypted {
        EncryptedHalf::Aggregate(sums) => {
            groups::merge(&Asked { table: local, owner, release: None }, task, &answer, sums, &[])
        }
        EncryptedHalf::Products(_) | EncryptedHalf::Rows(_) => {
            Err(ClientError::Internal { what: "no groups where they were asked for" })
        }
    }
}

/// The clear columns under their names, in the types that the table stores them in.
fn named(table: &OwnedTable, regroup: &Regroup, clear: &RecordBatch) -> Result<RecordBatch, ClientError> {
    let unknown = ClientError::Internal { what: "the plan groups by a column that the schema lacks" };
    let mut fields = Vec::new();
    let mut columns: Vec<ArrayRef> = Vec::new();
    for (name, column) in regroup.clear.iter().zip(clear.columns()) {
        let Some(described) = table.half.schema.column(name) else { return Err(unknown) };
        let kind = arrow_type(described.kind);
        columns.push(cast(column, &kind)?);
        fields.push(Field::new(name, kind, true));
    }
    let options = RecordBatchOptions::new().with_row_count(Some(clear.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::new(ArrowSchema::new(fields)), columns, &options)?)
}

/// A table in memory of these rows, with plain values for encoded columns.
fn local_table(
    table: &OwnedTable,
    task: &RowsTask,
    clear: &RecordBatch,
    quantities: &[Cells],
) -> Result<OwnedTable, ClientError> {
    let encodings = task.fetch.iter().zip(0..).map(|(id, place)| {
        let key = table.keys.present().columns.get(*id)?;
        let mut encoding: PrivateEncoding = key.encoding.clone();
        encoding.public.id = EncodingId(place);
        Ok(encoding)
    });
    let encodings = encodings.collect::<Result<Vec<_>, ClientError>>()?;
    let half = PrivateHalf { encodings, sealed: Vec::new(), pending: None, ..table.half.clone() };
    local::table(half, clear, quantities, table.costs.threads)
}

/// The task over columns that are numbered by their places among the fetched ones.
fn renumbered(task: &AggregateTask, fetch: &[EncodingId]) -> Result<AggregateTask, ClientError> {
    let mut task = task.clone();
    for sum in &mut task.sums {
        let place = (0..).zip(fetch).find(|(_, id)| **id == sum.column).map(|(place, _)| place);
        let missing = ClientError::Internal { what: "the plan adds up a column that it does not fetch" };
        sum.column = EncodingId(place.ok_or(missing)?);
    }
    Ok(task)
}
