// SPDX-License-Identifier: Apache-2.0
//! One plan's work over some parts, and its limits.

use std::sync::Arc;

use datafusion::logical_expr::Expr;

use crate::answer::{AnswerHead, PartialAnswer};
use crate::clear::ClearTable;
use crate::clear::compiled::UsedColumns;
use crate::clear::scalar::Scope;
use crate::clear::session::Session;
use crate::conform::ParsedPlan;
use crate::error::{ExecError, ExpressionRole};
use crate::kept::SumCache;
use crate::parts::PartSet;
use crate::stop::Stop;
use crate::table::{PartRef, Snapshot};
use crate::workers::Workers;

/// Limits on the cost of one plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Largest number of groups; the smaller of this and the plan's own limit holds.
    pub max_groups: u64,
    /// Largest answer in bytes; the smaller of this and the plan's own limit holds. Of a partial answer this alone.
    pub max_answer_bytes: u64,
    /// Memory for running sums and for the query engine's hash tables, half each. Parts being read (some 32 MiB
    /// for each thread) come on top.
    pub memory_bytes: u64,
}

impl Default for Limits {
    /// 100 000 groups, 256 MiB of answer, 1 GiB of memory.
    fn default() -> Self {
        Self { max_groups: 100_000, max_answer_bytes: 256 << 20, memory_bytes: 1 << 30 }
    }
}

/// The two results that a job can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The answer, over all parts of the table.
    Whole,
    /// The share of the job's parts in it.
    Partial,
}

/// One plan on some parts of one table version, with everything that the steps need.
pub(crate) struct Job {
    pub(crate) snapshot: Arc<Snapshot>,
    /// The parts that its answer is about.
    pub(crate) parts: PartSet,
    /// Those of them that have to be read.
    pub(crate) needed: PartSet,
    /// The clear columns of the needed parts.
    pub(crate) clear: Arc<ClearTable>,
    pub(crate) session: Session,
    pub(crate) workers: Arc<Workers>,
    pub(crate) limits: Limits,
    pub(crate) sums: SumCache,
    pub(crate) plan: ParsedPlan,
    pub(crate) extent: Extent,
    pub(crate) stop: Arc<Stop>,
}

impl Job {
    /// The needed parts in row order.
    pub(crate) fn placed_parts(&self) -> Vec<PartRef<'_>> {
        let of_job = self.snapshot.parts().into_iter().zip(0..);
        of_job.filter(|(_, part)| self.needed.contains(*part)).map(|(part, _)| part).collect()
    }

    /// Leaves out the parts in which no row can match the predicate, as the table's zones tell. The answer is the same.
    ///
    /// # Errors
    /// Those of [`Job::predicate`] and [`Snapshot::zones`].
    pub(crate) fn prune(&mut self) -> Result<(), ExecError> {
        if self.plan.plan.predicate.is_none() || self.snapshot.manifest().zones.is_none() {
            return Ok(());
        }
        let scope = self.scope();
        let Some(predicate) = self.predicate(&scope)? else { return Ok(()) };
        let columns = UsedColumns::of(&scope, [&predicate])?;
        let compiled = columns.compile(scope.state, ExpressionRole::Predicate, &predicate)?;
        // Without a condition that bounds can decide, the zones are not read.
        let Some(filter) = columns.zones(&compiled) else { return Ok(()) };
        let Some(zones) = self.snapshot.zones()? else { return Ok(()) };
        let left = filter.ruled_out(zones).complement(self.snapshot.all_parts().end());
        self.needed = self.parts.intersection(&left);
        self.clear = self.snapshot.clear(&self.needed)?;
        Ok(())
    }

    /// The names and functions that expressions may use.
    pub(crate) fn scope(&self) -> Scope<'_> {
        Scope { state: self.session.state(), schema: self.clear.df_schema(), stop: &self.stop }
    }

    /// The plan's predicate.
    ///
    /// # Errors
    /// [`ExecError::Expression`].
    pub(crate) fn predicate(&self, scope: &Scope<'_>) -> Result<Option<Expr>, ExecError> {
        let parse = |predicate| scope.predicate(ExpressionRole::Predicate, predicate);
        self.plan.plan.predicate.as_ref().map(parse).transpose()
    }

    /// The largest answer that somebody takes.
    pub(crate) fn max_answer_bytes(&self) -> u64 {
        self.plan.plan.max_answer_bytes.min(self.limits.max_answer_bytes)
    }

    /// The head of an answer, or of a partial one that covers `parts`.
    pub(crate) fn head(&self, extent: Extent, parts: &PartSet) -> AnswerHead {
        let (manifest, plan) = (self.plan.manifest, self.plan.digest);
        match extent {
            Extent::Whole => AnswerHead { manifest, plan, max_bytes: self.max_answer_bytes(), parts: None },
            Extent::Partial => {
                let (max_bytes, parts) = (self.limits.max_answer_bytes, Some(parts.clone()));
                AnswerHead { manifest, plan, max_bytes, parts }
            }
        }
    }
}

/// A combination of partial answers to one task, which come one at a time. Plan, table and parts have been checked before.
pub(crate) trait Combine: Send {
    /// Adds a partial answer.
    ///
    /// # Errors
    /// [`PartialFault::OtherTask`](crate::PartialFault::OtherTask) if it is none to the task; [`ExecError::GroupLimit`],
    /// [`ExecError::AnswerLimit`], [`ExecError::MemoryLimit`]; [`ExecError::Evaluation`] for sums beyond their type; those of
    /// [`Stop::check`].
    fn add(&mut self, job: &Job, partial: &PartialAnswer<'_>) -> Result<(), ExecError>;

    /// Whether an error came after something had been added, so that nothing can follow.
    fn is_spent(&self) -> bool;

    /// Whether the parts that `covered` begins with decide the answer alone: a task that stops after so many rows has found them.
    fn is_decided(&self, job: &Job, covered: &PartSet) -> bool;

    /// The answer, or the partial answer that covers `covered`.
    ///
    /// # Errors
    /// Any [`ExecError`].
    fn finish(self: Box<Self>, job: &Job, extent: Extent, covered: &PartSet) -> Result<Vec<u8>, ExecError>;
}
