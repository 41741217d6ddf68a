// SPDX-License-Identifier: Apache-2.0
//! A query in two halves that need not meet: the owner plans, others evaluate wherever they are, the owner opens the answer.

use hush_exec::answer::Answer;
use hush_plan::plan::Task;
use hush_plan::{Limits, QueryPlan};
use hush_remote::{Progress, Silent};
use hush_table::Digest;

use super::{Asked, Outcome, answer_error, constants, counts, require_rows, runs, serialised};
use crate::account::{Moved, Phases};
use crate::error::ClientError;
use crate::finish::finish;
use crate::release::{Release, Releases};
use crate::table::OwnedTable;

/// A planned query. Its request is what those who evaluate it see: no key, and no value of a protected column.
#[derive(Clone, Debug)]
pub struct PreparedQuery {
    plan: QueryPlan,
    /// The plan that is asked if this one meets too many groups.
    gathered: Option<Box<QueryPlan>>,
    request: Vec<u8>,
    phases: Phases,
    /// Bytes that have crossed before it is sent.
    moved: Moved,
}

impl PreparedQuery {
    pub(super) fn new(mut plan: QueryPlan, phases: Phases) -> Result<Self, ClientError> {
        let gathered = plan.gathered.take();
        Ok(Self { request: serialised(&plan.server)?, plan, gathered, phases, moved: Moved::default() })
    }

    /// The plan's bytes, for an engine or for workers.
    pub fn request(&self) -> &[u8] {
        &self.request
    }

    /// The plan.
    pub fn plan(&self) -> &QueryPlan {
        &self.plan
    }

    /// The query of more groups than this one adds up (HUSH-E040): the rows that match come back, and are grouped by the owner. `None`
    /// if it cannot be answered so.
    ///
    /// # Errors
    /// [`ClientError::Internal`].
    pub fn gathered(&self) -> Result<Option<Self>, ClientError> {
        let gathered = self.gathered.as_deref().cloned();
        gathered.map(|plan| Self::new(plan, self.phases.clone())).transpose()
    }

    /// The query after others of which so many bytes have crossed.
    pub(super) fn after(self, moved: Moved) -> Self {
        Self { moved: self.moved + moved, ..self }
    }

    /// What was booked, and the bytes that have crossed with an answer.
    pub(super) fn so_far(self, answer: &[u8]) -> (Phases, Moved) {
        let moved = self.moved + Moved::of(&self.request, answer);
        (self.phases, moved)
    }

    /// Does a step of the query, and books its time.
    pub(super) fn time<T>(&mut self, phase: &'static str, step: impl FnOnce(&[u8]) -> T) -> T {
        self.phases.time(phase, || step(&self.request))
    }
}

impl OwnedTable {
    /// Plans `sql` against this version of the table, for evaluation elsewhere.
    ///
    /// # Errors
    /// As [`OwnedTable::plan`].
    pub fn prepare(&self, sql: &str) -> Result<PreparedQuery, ClientError> {
        let mut phases = Phases::default();
        let limits = Limits { at_once: true, ..self.limits };
        let plan = phases.time("plan", || self.plan_within(sql, &limits))?;
        self.prepared(plan, phases, &Silent)
    }

    /// A plan made ready to be sent: with the blocks that it needs of a run, or the flags of ranks that it multiplies in each chunk; an index may have to come
    /// before.
    pub(super) fn prepared(
        &self,
        mut plan: QueryPlan,
        mut phases: Phases,
        progress: &dyn Progress,
    ) -> Result<PreparedQuery, ClientError> {
        if !plan.owner.constants.is_empty() {
            phases.time("encrypt", || constants::encrypt(self, &mut plan))?;
        }
        if !plan.owner.ranks.is_empty() {
            let moved = phases.time("index", || self.choose_flags(&mut plan, progress))?;
            return Ok(PreparedQuery::new(plan, phases)?.after(moved));
        }
        if plan.owner.run.is_none() {
            return PreparedQuery::new(plan, phases);
        }
        let located = phases.time("index", || self.locate(&mut plan, progress))?;
        let Some(moved) = located else {
            let own =
                plan.owner.own.ok_or(ClientError::Internal { what: "a run is asked without a query" })?;
            // Without runs, so that this ends.
            let plan = self.plan_query(&own.query, &self.limits, false)?;
            return self.prepared(plan, phases, progress);
        };
        Ok(PreparedQuery { moved, ..PreparedQuery::new(plan, phases)? })
    }

    /// Opens the answer to a query that this table has prepared: decrypts, merges, finishes.
    ///
    /// # Errors
    /// An answer that does not belong to the query, or that no honest evaluation gives.
    pub fn finish(&self, query: &PreparedQuery, answer: &[u8]) -> Result<Outcome, ClientError> {
        self.finish_for(query.clone(), answer, None)
    }

    /// [`OwnedTable::finish`] for a result that will leave the owner; see [`OwnedTable::ask_released`].
    ///
    /// # Errors
    /// As [`OwnedTable::finish`] and [`OwnedTable::ask_released`].
    pub fn finish_released(
        &self,
        query: &PreparedQuery,
        answer: &[u8],
        digits: i32,
    ) -> Result<Outcome, ClientError> {
        Releases::require_own_rows(self.manifest.manifest())?;
        let release = self.releases.release(digits);
        let outcome = self.finish_for(query.clone(), answer, Some(&release))?;
        Ok(outcome.counted(release.count()?))
    }

    pub(super) fn finish_for(
        &self,
        mut query: PreparedQuery,
        bytes: &[u8],
        release: Option<&Release<'_>>,
    ) -> Result<Outcome, ClientError> {
        let PreparedQuery { plan, request, phases, moved: before, .. } = &mut query;
        let moved = *before + Moved::of(request, bytes);
        let (batches, counts) = phases.time("decrypt", || {
            let answer = Answer::decode(bytes, plan.server.max_answer_bytes).map_err(answer_error)?;
            answer.expect(self.manifest.digest(), Digest::of(request)).map_err(answer_error)?;
            let manifest = self.manifest.manifest();
            let mut counts = counts(&answer, manifest)?;
            require_rows(&plan.server, &counts, manifest)?;
            if let (Some(run), Some(own)) = (&plan.owner.run, &plan.owner.own) {
                let asked = &Asked { table: self, owner: &plan.owner, release: None };
                return Ok((runs::answer(asked, (run, own), plan, &answer)?, counts));
            }
            if let (Some(cells), Some(own)) = (&plan.owner.cells, &plan.owner.own) {
                return Ok((self.answer_on_cells((cells, own), plan, &answer)?, counts));
            }
            if let Some(own) = &plan.owner.own {
                return Ok((self.answer_own(own, plan, &answer, release)?, counts));
            }
            let merged = self.merge(plan, &answer, release)?;
            if matches!(plan.server.task, Task::Rows(_)) {
                counts.regrouped = merged.num_rows() as u64;
            }
            Ok::<_, ClientError>((finish(merged, &plan.owner.final_sql)?, counts))
        })?;
        let exposed = self.approximate_columns(plan);
        let PreparedQuery { plan, phases, .. } = query;
        Ok(Outcome { batches, plan, phases, moved, exposed, released: None, counts })
    }
}
