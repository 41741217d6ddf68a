// SPDX-License-Identifier: Apache-2.0
//! Questions that are answered in rounds: each but the last asks how many rows are in runs of a column's values, and says in which runs the next one
//! looks for places of the order ([`hush_plan::plan::Search`]).

use hush_exec::answer::{Answer, EncryptedHalf};
use hush_plan::plan::{Round, Search, Task};
use hush_plan::sql::Query;
use hush_plan::{Limits, QueryPlan, plan_round};
use hush_remote::Progress;
use hush_table::Digest;

use super::{Asked, Outcome, answer_error, filtered};
use crate::account::{Moved, Phases};
use crate::error::ClientError;
use crate::release::Release;
use crate::table::OwnedTable;

impl OwnedTable {
    /// Asks one round after another; the last one answers, or says up to which value rows are wanted, and then these are asked for.
    ///
    /// # Errors
    /// As [`OwnedTable::ask`]; [`ClientError::Plan`] where a round has more cells, or multiplies more, than a question may.
    pub(super) fn run_in_rounds(
        &self,
        (plan, search): (&QueryPlan, &Search),
        mut phases: Phases,
        release: Option<&Release<'_>>,
        progress: &dyn Progress,
    ) -> Result<Outcome, ClientError> {
        let missing = || ClientError::Internal { what: "a search is in no column of the schema" };
        let schema = self.half.schema.with_derived();
        let own = plan.owner.own.as_ref();
        let own = own.ok_or(ClientError::Internal { what: "a search is of no question" })?;
        let of_rows = search.is_of_rows().then(|| search.counting(&self.half.schema, &own.query));
        let counting = of_rows.map(|found| found.ok_or_else(missing)).transpose()?;
        let asked = counting.as_ref().unwrap_or(&own.query);
        let mut round = search.first(&schema).ok_or_else(missing)?;
        let mut moved = Moved::default();
        loop {
            let of_round = phases.time("plan", || self.plan_round(asked, &round))?;
            let mut query = self.prepared(of_round.clone(), phases, progress)?.after(moved);
            let answer = query.time("server", |request| self.evaluate(request, progress))?;
            if round.is_last && search.is_of_rows() {
                let read = |request: &[u8]| {
                    let found = self.rows_of_round((&of_round, request), &answer)?;
                    let rows = found.rows().first().copied().unwrap_or_default();
                    let last = search.last_wanted(&found.shape, rows);
                    last.ok_or_else(|| ClientError::Answer {
                        what: "its rounds do not agree with each other".into(),
                    })
                };
                let last = query.time("decrypt", read)?;
                let asked = search.up_to(&self.half.schema, &own.query, last).ok_or_else(missing)?;
                let before = query.so_far(&answer);
                return self.run_matching((&asked, own), before, release, progress);
            }
            if round.is_last {
                return Ok(Outcome { plan: plan.clone(), ..self.finish_for(query, &answer, release)? });
            }
            let read = |request: &[u8]| self.next_round((search, &round), (&of_round, request), &answer);
            round = query.time("decrypt", read)?.ok_or_else(missing)?;
            (phases, moved) = query.so_far(&answer);
        }
    }

    fn plan_round(&self, query: &Query, round: &Round) -> Result<QueryPlan, ClientError> {
        let (schema, encodings) = (&self.half.schema, self.half.usable(self.manifest.manifest()));
        let digest = self.manifest.digest().to_string();
        let limits = Limits { compares: false, ..self.limits };
        let asked = (digest.as_str(), query, Some(round));
        Ok(plan_round(schema, &encodings, &self.site(), asked, &limits)?)
    }

    /// The round after one with this answer.
    fn next_round(
        &self,
        (search, round): (&Search, &Round),
        asked: (&QueryPlan, &[u8]),
        bytes: &[u8],
    ) -> Result<Option<Round>, ClientError> {
        let groups = self.rows_of_round(asked, bytes)?;
        Ok(search.next(&self.half.schema.with_derived(), round, &groups.shape, &groups.rows()))
    }

    /// What a round has counted.
    fn rows_of_round(
        &self,
        (plan, request): (&QueryPlan, &[u8]),
        bytes: &[u8],
    ) -> Result<filtered::Groups, ClientError> {
        let answer = Answer::decode(bytes, plan.server.max_answer_bytes).map_err(answer_error)?;
        answer.expect(self.manifest.digest(), Digest::of(request)).map_err(answer_error)?;
        let owner = &plan.owner;
        let other = || ClientError::Answer { what: "it is of another kind than the plan".into() };
        let (EncryptedHalf::Products(found), Task::Products(task)) = (&answer.encrypted, &plan.server.task)
        else {
            return Err(other());
        };
        let (cells, sums) = owner.cells.as_ref().zip(owner.filtered.as_ref()).ok_or_else(other)?;
        let asked = &Asked { table: self, owner, release: None };
        filtered::groups(asked, (cells, sums), task, (&answer, found))
    }
}
