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
use hush_keys::OwnerSeed;
use hush_plan::plan::{AggregateTask, PLAN_FORMAT, Regroup, RowsTask, Task};
use hush_plan::{EncodingId, PrivateEncoding, Schema, ServerPlan};
use hush_table::{CHUNK_ROWS, Digest, EncodedChunk, TableLayout, TableStore, TableWriter};

use super::{Asked, answer_error, groups, rows, serialised};
use crate::cells::Cells;
use crate::encrypt::new_identity;
use crate::error::ClientError;
use crate::private::PrivateHalf;
use crate::scheme::NoOp;
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
    let (clear, quantities) = rows::fetched(asked, task, answer, chunks)?;
    let Asked { table, owner, .. } = *asked;
    let clear = named(table, regroup, &clear)?;
    let local = local_table(table, task, &clear, &quantities)?;
    let task = renumbered(&regroup.task, &task.fetch)?;
    let plan = ServerPlan {
        format: PLAN_FORMAT,
        table: local.half.schema.table.clone(),
        manifest: local.manifest.digest().to_string(),
        predicate: None,
        task: Task::Aggregate(task.clone()),
        max_answer_bytes: u64::MAX,
    };
    let request = serialised(&plan)?;
    let bytes = local.evaluate(&request, &Silent)?;
    let answer = Answer::decode(&bytes, u64::MAX).map_err(answer_error)?;
    answer.expect(local.manifest.digest(), Digest::of(&request)).map_err(answer_error)?;
    match &answer.encrypted {
        EncryptedHalf::Aggregate(sums) => {
            groups::merge(&Asked { table: &local, owner, release: None }, &task, &answer, sums, &[])
        }
        EncryptedHalf::Rows(_) => Err(ClientError::Internal { what: "rows where groups were asked for" }),
    }
}

/// The clear columns under their names, in the types that the table stores them in.
fn named(table: &OwnedTable, regroup: &Regroup, clear: &RecordBatch) -> Result<RecordBatch, ClientError> {
    let unknown = ClientError::Internal { what: "the plan groups by a column that the schema lacks" };
    let mut fields = Vec::new();
    let mut columns: Vec<ArrayRef> = Vec::new();
    for (name, column) in regroup.clear.iter().zip(clear.columns().iter().skip(1)) {
        let Some(described) = table.half.schema.column(name) else { return Err(unknown) };
        let kind = arrow_type(described.kind);
        columns.push(cast(column, &kind)?);
        fields.push(Field::new(name, kind, true));
    }
    let options = RecordBatchOptions::new().with_row_count(Some(clear.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::new(ArrowSchema::new(fields)), columns, &options)?)
}

/// A table in memory of these rows, with plain values for encoded columns, under a key that nobody keeps.
fn local_table(
    table: &OwnedTable,
    task: &RowsTask,
    clear: &RecordBatch,
    quantities: &[Cells],
) -> Result<OwnedTable, ClientError> {
    let owner = OwnerSeed::generate()?;
    let store = TableStore::memory();
    let encodings = task.fetch.iter().zip(0..).map(|(id, place)| {
        let key = table.keys.present().columns.get(*id)?;
        let mut encoding: PrivateEncoding = key.encoding.clone();
        encoding.public.id = EncodingId(place);
        Ok(encoding)
    });
    let encodings = encodings.collect::<Result<Vec<_>, ClientError>>()?;
    // Its key ends here, and nothing has to be forgotten.
    let schema = Schema { erasable: false, ..table.half.schema.clone() };
    let half = PrivateHalf { schema, encodings, pending: None };
    let identity = new_identity(&owner, half.schema.table.clone())?;
    let keys = owner.of_table(*identity.table_id.as_bytes(), *identity.encryption.as_bytes());
    let layout = TableLayout {
        clear: clear.schema(),
        encodings: half.encodings.iter().map(|encoding| encoding.public.clone()).collect(),
        sealed_columns: 0,
    };
    let mut writer = TableWriter::begin(&store, identity, layout)?;
    let rows = clear.num_rows();
    for (index, first) in (0..rows).step_by(CHUNK_ROWS as usize).enumerate() {
        let count = (rows - first).min(CHUNK_ROWS as usize);
        let encoded = quantities.iter().map(|cells| cells.to_plain(first..first + count).encode().into());
        let mut seed = [0_u8; 32];
        hush_ring::os_random(&mut seed)?;
        let chunk = EncodedChunk {
            index: index as u32,
            rows: count as u32,
            seed,
            encoded: encoded.collect(),
            sealed: Vec::new(),
        };
        writer.push(&clear.slice(first, count), chunk)?;
    }
    let sealed_schema = half.seal(keys)?;
    writer.finish(sealed_schema, |bytes| owner.sign(bytes))?;
    let limits = hush_exec::Limits {
        max_groups: rows as u64,
        max_answer_bytes: u64::MAX,
        ..hush_exec::Limits::default()
    };
    OwnedTable::open_store(&store, &owner, &NoOp, table.costs.threads, limits)
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
