// SPDX-License-Identifier: Apache-2.0
//! Combination of partial answers to one plan: to a larger one, or to the answer.
//!
//! ```text
//!   parts 0 to 3 ─ run_parts ─▶ partial ─┐
//!   parts 4 to 9 ─ run_parts ─▶ partial ─┴─ Combiner::partial ─▶ partial ─┐
//!   parts 10, 11 ─ run_parts ─▶ partial ──────────────────────────────────┴─ Combiner::finish ─▶ answer
//! ```
//!
//! *Invariants.*
//! - A partial answer is a function of the plan, the table's version and the parts that it covers: however these were cut and in whatever
//!   order they came, its bytes are the same. So are those of the answer, which are those of one machine.
//! - Each part counts once. Parts that are covered twice are refused, unless both partial answers are the same; parts that are missing
//!   are refused at the end. Nothing is made of partial answers to another plan, or of another version.
//! - Partial answers hold clear columns and ciphertexts, as answers do. They are not signed: write access to the place where workers
//!   leave them is the power to change answers, which a server has too.

use std::collections::HashMap;
use std::sync::Arc;

use crate::answer::{CHECKSUM_BYTES, PartialAnswer};
use crate::error::{ExecError, PartialFault};
use crate::job::{Combine, Extent, Job};
use crate::parts::PartSet;

/// Combines partial answers to one plan, one at a time and in any order. Made by [`crate::Engine::combiner`].
///
/// *Memory.* As large as the answer, for aggregates about 1.4 times; nothing of a partial answer is kept beside its sums or rows.
pub struct Combiner {
    job: Job,
    combine: Box<dyn Combine>,
    covered: PartSet,
    /// Checksums of the partial answers that have been added, by the parts that they cover.
    added: HashMap<PartSet, [u8; CHECKSUM_BYTES]>,
}

impl Combiner {
    pub(crate) fn new(job: Job, combine: Box<dyn Combine>) -> Self {
        Self { job, combine, covered: PartSet::default(), added: HashMap::new() }
    }

    /// Adds a partial answer. One that has been added before changes nothing.
    ///
    /// # Errors
    /// [`PartialFault`] if it is damaged, of another plan or table, or covers parts that are covered; the limits of groups, answers and memory;
    /// [`ExecError::Evaluation`] for sums of clear columns beyond 128 bits; those of [`crate::Stop::check`]. Nothing has been added
    /// then, or else all that follows is [`PartialFault::Spent`].
    ///
    /// # Cost
    /// One pass over the bytes.
    pub fn push(&mut self, partial: &[u8]) -> Result<(), ExecError> {
        self.check_usable()?;
        let (found, limit) = (partial.len() as u64, self.job.limits.max_answer_bytes);
        if found > limit {
            return Err(ExecError::AnswerLimit { found, limit });
        }
        let decoded = PartialAnswer::decode(partial, limit).map_err(PartialFault::from)?;
        // Over all bytes before it, and right.
        let checksum = partial.last_chunk::<CHECKSUM_BYTES>().copied().unwrap_or_default();
        if self.added.get(&decoded.parts) == Some(&checksum) {
            return Ok(());
        }
        self.check(&decoded)?;
        let (job, combine) = (&self.job, &mut self.combine);
        job.workers.install(|| combine.add(job, &decoded))?;
        decoded.parts.ranges().iter().cloned().for_each(|range| self.covered.insert(range));
        self.added.insert(decoded.parts, checksum);
        Ok(())
    }

    /// The parts that have been added.
    pub fn covered(&self) -> &PartSet {
        &self.covered
    }

    /// The parts without which there is no answer. Empty as soon as the answer is decided: by all parts, or by the first ones, if the
    /// plan stops after so many rows.
    pub fn missing(&self) -> PartSet {
        if self.combine.is_decided(&self.job, &self.covered) {
            return PartSet::default();
        }
        self.covered.complement(self.job.parts.end())
    }

    /// The partial answer that covers all parts which have been added. Blocks.
    ///
    /// # Errors
    /// [`PartialFault::Spent`]; [`ExecError::AnswerLimit`]; those of [`crate::Stop::check`].
    pub fn partial(self) -> Result<Vec<u8>, ExecError> {
        self.check_usable()?;
        self.end(Extent::Partial)
    }

    /// The answer, with the bytes of [`crate::Engine::run`]. Blocks.
    ///
    /// # Errors
    /// [`PartialFault::Missing`] if parts are missing; [`PartialFault::Groups`]; as [`crate::Engine::run_until`].
    ///
    /// # Cost
    /// That of writing the answer. If the plan asks for aggregates of clear columns that do not merge (averages, deviations, distinct values,
    /// anything of floats), the clear half is computed here, from the clear columns of all parts.
    pub fn finish(self) -> Result<Vec<u8>, ExecError> {
        self.check_usable()?;
        let (found, missing) = (self.covered.clone(), self.missing());
        // Of a table without parts a partial answer too: it has the columns.
        if !missing.is_empty() || self.added.is_empty() {
            return Err(PartialFault::Missing { found, missing }.into());
        }
        self.end(Extent::Whole)
    }

    fn end(self, extent: Extent) -> Result<Vec<u8>, ExecError> {
        let Self { job, combine, covered, .. } = self;
        let workers = Arc::clone(&job.workers);
        workers.run(move || combine.finish(&job, extent, &covered))
    }

    fn check_usable(&self) -> Result<(), ExecError> {
        self.job.stop.check()?;
        if self.combine.is_spent() { Err(PartialFault::Spent.into()) } else { Ok(()) }
    }

    /// That a partial answer belongs to this plan on this table, and covers parts that are not covered.
    fn check(&self, partial: &PartialAnswer<'_>) -> Result<(), PartialFault> {
        let PartialAnswer { parts, answer } = partial;
        let (found, expected) = (answer.manifest, self.job.plan.manifest);
        if found != expected {
            return Err(PartialFault::OtherTable { found, expected });
        }
        let (found, expected) = (answer.plan, self.job.plan.digest);
        if found != expected {
            return Err(PartialFault::OtherPlan { found, expected });
        }
        let expected = self.job.parts.end();
        if parts.end() > expected {
            return Err(PartialFault::UnknownParts { found: parts.clone(), expected });
        }
        let covered = self.covered.intersection(parts);
        if covered.is_empty() { Ok(()) } else { Err(PartialFault::Overlap { found: parts.clone(), covered }) }
    }
}

impl std::fmt::Debug for Combiner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Combiner(parts {} of {})", self.covered, self.job.parts.end())
    }
}

// A program may wait for partial answers on one thread and add them on another.
const _: fn() = || {
    fn is_send<T: Send>() {}
    is_send::<Combiner>();
};
