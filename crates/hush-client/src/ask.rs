// SPDX-License-Identifier: Apache-2.0
//! One query: plan, send, decrypt, merge, finish.

// Answers come from an untrusted server, so items that may be absent are read with `get`.
#![warn(clippy::indexing_slicing)]

mod cells;
mod clear;
mod constants;
mod filtered;
mod gathered;
mod groups;
mod kept;
mod local;
mod matching;
mod one_hot;
mod own;
mod owned;
mod prepared;
mod ranks;
mod rows;
mod runs;
mod search;

#[cfg(test)]
pub(crate) use cells::{are_of_rows, has_full_cell};
#[cfg(test)]
pub(crate) use local::table as table_in_memory;
pub use prepared::PreparedQuery;
pub(crate) use rows::positions;

use arrow::record_batch::RecordBatch;
use hush_exec::answer::{Answer, AnswerError, EncryptedHalf, RowsChunk};
use hush_plan::error::Clause;
use hush_plan::plan::{CellsQuery, OwnQuery, Search, SlotExpr, Task};
use hush_plan::predict::ChunkShape;
use hush_plan::schema::Column;
use hush_plan::{
    EncodingId, Limits, OwnerPlan, PlanError, Protection, Query, QueryPlan, ServerPlan, Shown, WayName,
    plan_query,
};
use hush_remote::Progress;
use hush_table::manifest::PartPlace;
use hush_table::{CHUNK_ROWS, Manifest, PartEntry};

use crate::account::{AnswerCounts, Moved, Phases};
use crate::error::ClientError;
use crate::finish::finish;
use crate::precision::errors;
use crate::release::{Counted, Release, Releases, approximate};
use crate::table::OwnedTable;

/// A result with its costs.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The result; at least one batch, possibly empty.
    pub batches: Vec<RecordBatch>,
    /// The plan that was run.
    pub plan: QueryPlan,
    /// Time: plan, server (and the way there and back), decrypt.
    pub phases: Phases,
    /// Bytes of plan and answer.
    pub moved: Moved,
    /// Approximate columns that the result opens to everyone with the table's ciphertexts; none if it was released.
    pub exposed: Vec<String>,
    /// The release, if there was one.
    pub released: Option<Counted>,
    /// Counts that decide the answer's size.
    pub(crate) counts: AnswerCounts,
}

impl Outcome {
    /// The outcome of a release.
    fn counted(self, counted: Counted) -> Self {
        Self { exposed: Vec::new(), released: Some(counted), ..self }
    }
}

impl OwnedTable {
    /// Plans `sql` against this version of the table, without running it.
    ///
    /// # Errors
    /// [`ClientError::Plan`] with the reason and the ways out.
    pub fn plan(&self, sql: &str) -> Result<QueryPlan, ClientError> {
        self.plan_within(sql, &self.limits)
    }

    /// Plans `sql`, and finds where other ways become quicker.
    pub(crate) fn plan_and_compare(&self, sql: &str) -> Result<QueryPlan, ClientError> {
        self.plan_within(sql, &Limits { compares: true, ..self.limits })
    }

    fn plan_within(&self, sql: &str, limits: &Limits) -> Result<QueryPlan, ClientError> {
        let query = hush_plan::sql::parse(self.schema(), sql)?;
        if let Some(column) =
            self.schema().protected(Protection::JoinKey).find(|c| query.columns().contains(&c.name))
        {
            let Column { name, protect, kind, reason, .. } = column.clone();
            let clause = Clause::Select;
            return Err(PlanError::NotQueryable { clause, column: name, protect, kind, reason }.into());
        }
        self.plan_query(&query, limits, true)
    }

    /// Plans a question whose join keys are texts, their tokens, and its constants too; for so many groups, if that is known.
    ///
    /// # Errors
    /// As [`OwnedTable::plan`].
    pub(crate) fn plan_on_tokens(
        &self,
        sql: &str,
        known_groups: Option<u64>,
    ) -> Result<QueryPlan, ClientError> {
        self.plan_on_tokens_within(sql, &Limits { known_groups, ..self.limits })
    }

    /// As [`OwnedTable::plan_on_tokens`], and finds where other ways become quicker.
    pub(crate) fn plan_and_compare_on_tokens(&self, sql: &str) -> Result<QueryPlan, ClientError> {
        self.plan_on_tokens_within(sql, &Limits { compares: true, ..self.limits })
    }

    fn plan_on_tokens_within(&self, sql: &str, limits: &Limits) -> Result<QueryPlan, ClientError> {
        let query = hush_plan::sql::parse(&self.half.schema, sql)?;
        self.plan_query(&query, limits, true)
    }

    /// Plans a query, with cubes and runs or with neither: where one of them does not answer after all, no other is tried, so that this ends.
    fn plan_query(
        &self,
        query: &Query,
        limits: &Limits,
        with_prepared: bool,
    ) -> Result<QueryPlan, ClientError> {
        let digest = self.manifest.digest().to_string();
        // Columns that are kept are whole, and nothing of a question is in what is asked of them. Where nothing is protected, a server answers.
        let whole = || Limits { way: Some(WayName::Fetch), hide: Shown::ALL, ..*limits };
        let limits = if self.kept.is_some() && self.reads_protected(query) { &whole() } else { limits };
        let (schema, encodings) = (&self.half.schema, self.half.usable(self.manifest.manifest()));
        let mut site = self.site();
        if !with_prepared {
            site.shape.cubes.clear();
            site.shape.runs.clear();
        }
        let mut plan = plan_query(schema, &encodings, &site, &digest, query, limits)?;
        if self.schema.protected(Protection::JoinKey).next().is_some() {
            // The plan knows of texts; its owner of what they stand for.
            let told = |schema| hush_plan::leakage::of_table(schema, &encodings, site.shape.rows());
            let (stored, owned) = (told(schema), told(&self.schema));
            plan.leakage.table = owned.table;
            plan.leakage.hidden.splice(..stored.hidden.len(), owned.hidden);
        }
        if !self.manifest.manifest().generations.is_empty() {
            let told = "which of these quantities each part has, and by that which rows are from before a column was added or dropped";
            plan.leakage.table.push(told.to_owned());
        }
        Ok(plan)
    }

    /// Whether a query reads an encrypted or a sealed column.
    fn reads_protected(&self, query: &Query) -> bool {
        let used = query.columns();
        let is_protected = |column: &Column| matches!(column.protect, Protection::Encrypt | Protection::Seal);
        self.half.schema.columns.iter().any(|column| is_protected(column) && used.contains(&column.name))
    }

    /// Asks a question.
    ///
    /// # Errors
    /// Refusals before anything is sent; failures of the server; an answer that does not belong to the plan.
    pub fn ask(&self, sql: &str, progress: &dyn Progress) -> Result<Outcome, ClientError> {
        let mut phases = Phases::default();
        let plan = phases.time("plan", || self.plan(sql))?;
        self.run(plan, phases, progress)
    }

    /// Asks a query with a result that will leave the owner. Approximate numbers get noise that hides the errors of encryption. They
    /// are rounded to `digits` after the point (negative: whole tens, hundreds, …), and counted before this returns.
    ///
    /// # Errors
    /// As [`OwnedTable::ask`], and [`ClientError::Release`] if digits or budget do not suffice; then nothing was released.
    pub fn ask_released(
        &self,
        sql: &str,
        digits: i32,
        progress: &dyn Progress,
    ) -> Result<Outcome, ClientError> {
        let mut phases = Phases::default();
        let plan = phases.time("plan", || self.plan(sql))?;
        Releases::require_own_rows(self.manifest.manifest())?;
        let release = self.releases.release(digits);
        let outcome = self.run_for(plan, phases, Some(&release), progress)?;
        Ok(outcome.counted(release.count()?))
    }

    /// Runs a plan that was made for this version of the table. If there are more groups than the plan adds up, it asks for the
    /// rows instead and groups them here.
    ///
    /// # Errors
    /// As [`OwnedTable::ask`].
    pub(crate) fn run(
        &self,
        plan: QueryPlan,
        phases: Phases,
        progress: &dyn Progress,
    ) -> Result<Outcome, ClientError> {
        self.run_for(plan, phases, None, progress)
    }

    fn run_for(
        &self,
        plan: QueryPlan,
        phases: Phases,
        release: Option<&Release<'_>>,
        progress: &dyn Progress,
    ) -> Result<Outcome, ClientError> {
        if let (Some(cache), Some(_), Task::Rows(task), None) =
            (&self.kept, &plan.owner.own, &plan.server.task, release)
        {
            let columns = kept::columns(task);
            if !columns.is_empty() {
                return self.run_on_kept(cache, (plan, columns), phases, progress);
            }
        }
        if let (Some(search @ Search { round: None, .. }), Some(own)) = (&plan.owner.search, &plan.owner.own)
        {
            return match self.run_in_rounds((&plan, search), phases, release, progress) {
                // A round would have been too large: some other way answers at once.
                Err(error)
                    if self.limits.way.is_none()
                        && (error.is_too_many_groups() || matches!(error, ClientError::Plan(_))) =>
                {
                    let plan = self.plan_query(&own.query, &Limits { at_once: true, ..self.limits }, true)?;
                    self.run_for(plan, Phases::default(), release, progress)
                }
                finished => finished,
            };
        }
        if let (Some(_), Some(own)) = (&plan.owner.matching, &plan.owner.own) {
            return self.run_matching((&own.query, own), (phases, Moved::default()), release, progress);
        }
        let mut query = self.prepared(plan, phases, progress)?;
        let mut answered = query.time("server", |request| self.evaluate(request, progress));
        if let Err(error) = &answered
            && error.is_too_many_groups()
            && let Some(gathered) = query.gathered()?
        {
            query = gathered;
            answered = query.time("server", |request| self.evaluate(request, progress));
        }
        let owner = &query.plan().owner;
        let cube = owner.own.clone().filter(|_| owner.cells.is_some() && owner.run.is_none());
        match (self.finish_for(query, &answered?, release), cube) {
            // A device has sent a value that no cell is for, or a cell is too full: the columns themselves answer.
            (Err(ClientError::NoCell { .. } | ClientError::FullCell { .. }), Some(own))
                if self.limits.way.is_none() =>
            {
                let plan = self.plan_query(&own.query, &self.limits, false)?;
                self.run_for(plan, Phases::default(), release, progress)
            }
            (finished, _) => finished,
        }
    }

    /// Columns that give the owner approximate numbers.
    pub(crate) fn approximate_columns(&self, plan: &QueryPlan) -> Vec<String> {
        let ids: Vec<EncodingId> = match &plan.server.task {
            Task::Aggregate(task) => task.sums.iter().map(|sum| sum.column).collect(),
            // Their columns are exact.
            Task::Products(_) => Vec::new(),
            Task::Rows(task) => {
                let programs = task.programs.iter().flat_map(SlotExpr::columns);
                task.fetch.iter().copied().chain(programs).collect()
            }
        };
        let used = self.keys.present().columns.iter().filter(|key| ids.contains(&key.id()));
        approximate(used)
    }

    /// The result of a query that the owner answers on an answer's rows.
    fn answer_own(
        &self,
        own: &OwnQuery,
        plan: &QueryPlan,
        answer: &Answer<'_>,
        release: Option<&Release<'_>>,
    ) -> Result<Vec<RecordBatch>, ClientError> {
        let asked = &Asked { table: self, owner: &plan.owner, release };
        match (&answer.encrypted, &plan.server.task) {
            (EncryptedHalf::Rows(chunks), Task::Rows(task)) => own::answer(asked, own, task, answer, chunks),
            (EncryptedHalf::Products(found), Task::Products(task)) => {
                let matching = plan.owner.matching.as_ref();
                let matching =
                    matching.ok_or(ClientError::Internal { what: "sums of products have no rows" })?;
                matching::answer(asked, (own, matching), task, (answer, found))
            }
            _ => Err(ClientError::Answer { what: "it is of another kind than the plan".into() }),
        }
    }

    /// The result of a grouped query on the cells of a cube, or on sums by hidden values.
    fn answer_on_cells(
        &self,
        (cells, own): (&CellsQuery, &OwnQuery),
        plan: &QueryPlan,
        answer: &Answer<'_>,
    ) -> Result<Vec<RecordBatch>, ClientError> {
        let asked = &Asked { table: self, owner: &plan.owner, release: None };
        let merged = match (&answer.encrypted, &plan.server.task) {
            (EncryptedHalf::Rows(chunks), Task::Rows(task)) => {
                cells::merge(asked, (cells, own), task, answer, chunks)?
            }
            (EncryptedHalf::Aggregate(sums), Task::Aggregate(task)) => {
                let hidden = plan.owner.hidden.as_ref();
                let hidden =
                    hidden.ok_or(ClientError::Internal { what: "sums of a server have no cells" })?;
                one_hot::merge(asked, (cells, hidden), task, answer, sums)?
            }
            (EncryptedHalf::Products(found), Task::Products(task)) => {
                let filtered = plan.owner.filtered.as_ref();
                let filtered =
                    filtered.ok_or(ClientError::Internal { what: "sums of products have no cells" })?;
                filtered::merge(asked, (cells, filtered), task, (answer, found))?
            }
            _ => return Err(ClientError::Answer { what: "it is of another kind than the plan".into() }),
        };
        finish(merged, &plan.owner.final_sql)
    }

    /// The table `merged` of a plan, from its answer.
    fn merge(
        &self,
        plan: &QueryPlan,
        answer: &Answer<'_>,
        release: Option<&Release<'_>>,
    ) -> Result<RecordBatch, ClientError> {
        let asked = &Asked { table: self, owner: &plan.owner, release };
        // Released numbers are rounded already.
        let errors = if release.is_some() { Vec::new() } else { errors(plan) };
        match (&answer.encrypted, &plan.server.task, &plan.owner.regroup) {
            (EncryptedHalf::Aggregate(sums), Task::Aggregate(task), None) => {
                groups::merge(asked, task, answer, sums, &errors)
            }
            (EncryptedHalf::Rows(chunks), Task::Rows(task), None) => {
                rows::merge(asked, task, answer, chunks, &errors)
            }
            (EncryptedHalf::Rows(chunks), Task::Rows(task), Some(regroup)) => {
                gathered::merge(asked, regroup, task, answer, chunks)
            }
            _ => Err(ClientError::Answer { what: "it is of another kind than the plan".into() }),
        }
    }
}

/// The context for reading an answer.
struct Asked<'a> {
    table: &'a OwnedTable,
    owner: &'a OwnerPlan,
    /// Set if the result is to leave the owner.
    release: Option<&'a Release<'a>>,
}

pub(crate) fn serialised(plan: &ServerPlan) -> Result<Vec<u8>, ClientError> {
    serde_json::to_vec(plan).map_err(|_| ClientError::Internal { what: "the plan does not serialise" })
}

/// Refuses an answer that leaves rows out, where none can be left out: nothing but the signed manifest says how many there are. Refuses more rows
/// than were asked for, or than there are chunks for.
///
/// # Errors
/// [`ClientError::Answer`].
fn require_rows(plan: &ServerPlan, counts: &AnswerCounts, manifest: &Manifest) -> Result<(), ClientError> {
    let Task::Rows(task) = &plan.task else { return Ok(()) };
    let in_chunks: u64 = counts.chunks.iter().map(|chunk| chunk.rows.min(CHUNK_ROWS.into())).sum();
    let most = task.limit.unwrap_or(u64::MAX).min(if task.object_count() > 0 { in_chunks } else { u64::MAX });
    let sends_rows = |part: &&PartEntry| {
        let has_cube = task.cube.is_some_and(|number| part.has_cube(number));
        !has_cube && !task.run.as_ref().is_some_and(|run| part.has_run(run.number))
    };
    let all = manifest.parts.iter().filter(sends_rows).map(PartEntry::living_rows).sum::<u64>();
    if plan.predicate.is_none() && task.limit.is_none() && counts.rows != all {
        return Err(ClientError::Answer { what: "it does not have all rows of the table".into() });
    }
    if counts.rows > most {
        return Err(ClientError::Answer { what: "it has more rows than it may have".into() });
    }
    Ok(())
}

/// What an answer of a table holds.
fn counts(answer: &Answer<'_>, manifest: &Manifest) -> Result<AnswerCounts, ClientError> {
    let parts: Vec<(PartPlace, &PartEntry)> = manifest.placed_parts().collect();
    let shape = |chunk: &RowsChunk<'_>| {
        let after = parts.partition_point(|(place, _)| place.first_chunk <= chunk.chunk);
        let part = after.checked_sub(1).and_then(|index| parts.get(index));
        ChunkShape { rows: chunk.rows.into(), is_cut: part.is_some_and(|(_, part)| part.append.is_some()) }
    };
    Ok(match &answer.encrypted {
        EncryptedHalf::Aggregate(sums) => AnswerCounts {
            rows: u64::from(sums.group_count),
            clear_bytes: answer.clear_len(),
            ..AnswerCounts::default()
        },
        EncryptedHalf::Products(sums) => AnswerCounts {
            rows: sums.group_count.map_or(1, u64::from),
            clear_bytes: answer.clear_len(),
            ..AnswerCounts::default()
        },
        EncryptedHalf::Rows(chunks) => AnswerCounts {
            rows: answer.clear_rows(manifest.rows).map_err(answer_error)?,
            regrouped: 0,
            chunks: chunks.iter().map(shape).collect(),
            clear_bytes: answer.clear_len(),
        },
    })
}

/// The refusal of a whole answer for a fault, which has no code of its own.
pub(crate) fn answer_error(error: AnswerError) -> ClientError {
    ClientError::Answer { what: error.to_string() }
}
