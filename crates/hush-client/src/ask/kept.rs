// SPDX-License-Identifier: Apache-2.0
//! Questions that the owner answers on columns that are kept here. What is missing comes back column by column, all rows of it, so that the next
//! question finds what it shares with this one.

use arrow::array::ArrayRef;
use arrow::datatypes::{Field, Schema as ArrowSchema};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use hush_exec::answer::{Answer, EncryptedHalf};
use hush_plan::bounds::Bounds;
use hush_plan::plan::{RowsTask, Task};
use hush_plan::{OwnerPlan, QueryPlan, ServerPlan};
use hush_remote::Progress;
use hush_table::Digest;

use super::rows::Fetched;
use super::{Asked, Outcome, answer_error, counts, own, require_rows, rows, serialised};
use crate::account::{AnswerCounts, Moved, Phases};
use crate::column_cache::{ColumnCache, Kept};
use crate::error::ClientError;
use crate::table::OwnedTable;

/// The columns of a task, each in a task of its own, with its place among the fetched ones.
pub(super) fn columns(task: &RowsTask) -> Vec<(RowsTask, Option<usize>)> {
    let clear = task.clear.iter();
    let clear = clear.map(|text| (RowsTask { clear: vec![text.clone()], ..RowsTask::default() }, None));
    let fetch = task.fetch.iter().enumerate().map(|(index, id)| {
        let bits = task.bits_of_fetch(index);
        let fetch_bits = if bits.is_some() { vec![bits] } else { Vec::new() };
        (RowsTask { fetch: vec![*id], fetch_bits, ..RowsTask::default() }, Some(index))
    });
    let sealed = task.sealed.iter();
    let sealed = sealed.map(|number| (RowsTask { sealed: vec![*number], ..RowsTask::default() }, None));
    clear.chain(fetch).chain(sealed).collect()
}

impl OwnedTable {
    /// Answers a plan on columns that are kept, and keeps those that were not. A column that cannot be kept is named in the plan's notes.
    ///
    /// # Errors
    /// As [`OwnedTable::ask`].
    pub(super) fn run_on_kept(
        &self,
        cache: &ColumnCache,
        (mut plan, columns): (QueryPlan, Vec<(RowsTask, Option<usize>)>),
        mut phases: Phases,
        progress: &dyn Progress,
    ) -> Result<Outcome, ClientError> {
        let missing = || ClientError::Internal { what: "a plan for the owner without a question" };
        let own = plan.owner.own.as_ref().ok_or_else(missing)?;
        let (mut moved, mut counts) = (Moved::default(), AnswerCounts::default());
        let (mut all, mut unkept): (Option<Fetched>, Option<ClientError>) = (None, None);
        for (task, fetched) in columns {
            let bound = fetched.and_then(|index| plan.owner.bounds.fetched.get(index)).cloned();
            let bounds = Bounds { fetched: bound.into_iter().collect(), ..Bounds::default() };
            let asked =
                &Asked { table: self, owner: &OwnerPlan { bounds, ..OwnerPlan::default() }, release: None };
            let server =
                ServerPlan { predicate: None, task: Task::Rows(task.clone()), ..plan.server.clone() };
            let request = serialised(&server)?;
            let (table, version) = (self.manifest.manifest().table_id, self.manifest.digest());
            let kept = Kept { table, version, plan: Digest::of(&request) };
            let open = |bytes: &[u8]| self.open_column(asked, (&server, &task), kept, bytes);
            let known = phases.time("decrypt", || open(&cache.get(kept)?).ok());
            let (column, of_column) = match known {
                Some(known) => known,
                None => {
                    let bytes = phases.time("server", || self.evaluate(&request, progress))?;
                    moved.up += request.len() as u64;
                    moved.down += bytes.len() as u64;
                    let opened = phases.time("decrypt", || open(&bytes))?;
                    unkept = unkept.or(cache.put(kept, &bytes).err());
                    opened
                }
            };
            let clear_bytes = counts.clear_bytes + of_column.clear_bytes;
            counts = AnswerCounts { clear_bytes, ..of_column };
            all = Some(match all {
                Some(before) => beside(before, column)?,
                None => column,
            });
        }
        let all = all.ok_or_else(missing)?;
        let asked = &Asked { table: self, owner: &plan.owner, release: None };
        let batches = phases.time("decrypt", || own::on_columns(asked, own, &all))?;
        plan.notes.extend(unkept.map(|error| format!("columns are not kept: {error}")));
        Ok(Outcome { batches, plan, phases, moved, exposed: Vec::new(), released: None, counts })
    }

    /// One column of an answer.
    fn open_column(
        &self,
        asked: &Asked<'_>,
        (server, task): (&ServerPlan, &RowsTask),
        kept: Kept,
        bytes: &[u8],
    ) -> Result<(Fetched, AnswerCounts), ClientError> {
        let answer = Answer::decode(bytes, server.max_answer_bytes).map_err(answer_error)?;
        answer.expect(kept.version, kept.plan).map_err(answer_error)?;
        let EncryptedHalf::Rows(chunks) = &answer.encrypted else {
            return Err(ClientError::Answer { what: "it is of another kind than the plan".into() });
        };
        let manifest = self.manifest.manifest();
        let counts = counts(&answer, manifest)?;
        require_rows(server, &counts, manifest)?;
        let fetched = rows::fetched(asked, task, &answer, chunks)?;
        Ok((fetched, counts))
    }
}

/// The columns of two answers of the same rows.
///
/// # Errors
/// [`ClientError::Answer`] if they are of other rows.
fn beside(one: Fetched, other: Fetched) -> Result<Fetched, ClientError> {
    if one.numbers != other.numbers {
        return Err(ClientError::Answer { what: "columns of one version have other rows".into() });
    }
    let columns: Vec<ArrayRef> = one.clear.columns().iter().chain(other.clear.columns()).cloned().collect();
    let fields = columns
        .iter()
        .enumerate()
        .map(|(place, column)| Field::new(format!("c{place}"), column.data_type().clone(), true));
    let schema = ArrowSchema::new(fields.collect::<Vec<_>>());
    let options = RecordBatchOptions::new().with_row_count(Some(one.numbers.len()));
    let clear = RecordBatch::try_new_with_options(schema.into(), columns, &options)?;
    let quantities = one.quantities.into_iter().chain(other.quantities).collect();
    let sealed = one.sealed.into_iter().chain(other.sealed).collect();
    Ok(Fetched { numbers: one.numbers, clear, quantities, sealed })
}
