// SPDX-License-Identifier: Apache-2.0
//! One worker of many on one table. It has the table's place, evaluates a plan over some parts, and combines partial answers.
//!
//! ```text
//!   owner                     workers, without a key                         owner
//!   SQL, key ─▶ plan ──┬─▶ Worker::run_parts(0..4)  ─▶ partial ─┐
//!                      ├─▶ Worker::run_parts(4..9)  ─▶ partial ─┼─▶ Combination::finish ─▶ answer ─▶ result
//!                      └─▶ Worker::run_parts(9..12) ─▶ partial ─┘
//! ```
//!
//! What carries plan and partial answers between the processes is the caller's: Spark, a queue, threads.
//!
//! *Invariants.* This crate cannot reach `hush-keys`. The place is read again for each plan, so that a plan of another version of the
//! table is refused. Errors name the place and have a stable code; they hold no value of the table and no text of the plan.
//!
//! *Non-goals.* Planning and decrypting (`hush-client`), evaluation itself (`hush-exec`), scheduling.

mod error;
mod place;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

pub use error::{WorkerError, WorkerFault};
pub use hush_exec::{Limits, PartSize, Stop};
pub use hush_table::error::ErrorKind;

use hush_exec::{Combiner, Engine, PartSet};

/// An engine at a table's place. Cheap to clone: clones share what has been verified and the sums of whole parts.
#[derive(Clone, Debug)]
pub struct Worker {
    place: Arc<str>,
    engine: Engine,
}

impl Worker {
    /// A worker for the table at `place`: a directory, or a prefix in an object store, as people write it.
    ///
    /// # Errors
    /// [`WorkerError`] if no table can be there.
    pub fn open(place: &str, threads: usize, limits: Limits) -> Result<Self, WorkerError> {
        let store = place::store(place).map_err(|fault| WorkerError::at(place, fault))?;
        let engine = Engine::for_table(store, threads, limits);
        Ok(Self { engine: engine.map_err(|fault| WorkerError::at(place, fault))?, place: place.into() })
    }

    /// What a plan reads of each part, in order: for cutting the parts into runs of like size.
    ///
    /// # Errors
    /// The plan is not of this version of the table; as [`Engine::part_sizes`].
    pub fn part_sizes(&self, plan: &[u8]) -> Result<Vec<PartSize>, WorkerError> {
        self.at(self.engine.part_sizes(plan))
    }

    /// The partial answer of some parts, counted from 0. Blocks.
    ///
    /// # Errors
    /// As [`Engine::run_parts`].
    pub fn run_parts(
        &self,
        plan: &[u8],
        parts: Range<u32>,
        stop: &Arc<Stop>,
    ) -> Result<Vec<u8>, WorkerError> {
        self.at(self.engine.run_parts(plan, &PartSet::from(parts), stop))
    }

    /// A combination of partial answers to a plan.
    ///
    /// # Errors
    /// As [`Engine::combiner`].
    pub fn combination(&self, plan: &[u8], stop: &Arc<Stop>) -> Result<Combination, WorkerError> {
        let combiner = self.at(self.engine.combiner(plan, stop))?;
        Ok(Combination { place: Arc::clone(&self.place), combiner })
    }

    fn at<T>(&self, result: Result<T, hush_exec::ExecError>) -> Result<T, WorkerError> {
        result.map_err(|fault| WorkerError::at(&self.place, fault))
    }
}

/// Partial answers that are being combined, one at a time and in any order; see [`Combiner`].
#[derive(Debug)]
pub struct Combination {
    place: Arc<str>,
    combiner: Combiner,
}

impl Combination {
    /// Adds a partial answer; one that has been added before changes nothing.
    ///
    /// # Errors
    /// As [`Combiner::push`].
    pub fn push(&mut self, partial: &[u8]) -> Result<(), WorkerError> {
        self.combiner.push(partial).map_err(|fault| WorkerError::at(&self.place, fault))
    }

    /// The partial answer that covers all parts which have been added.
    ///
    /// # Errors
    /// As [`Combiner::partial`].
    pub fn partial(self) -> Result<Vec<u8>, WorkerError> {
        let Self { place, combiner } = self;
        combiner.partial().map_err(|fault| WorkerError::at(&place, fault))
    }

    /// The answer.
    ///
    /// # Errors
    /// As [`Combiner::finish`]: parts are missing.
    pub fn finish(self) -> Result<Vec<u8>, WorkerError> {
        let Self { place, combiner } = self;
        combiner.finish().map_err(|fault| WorkerError::at(&place, fault))
    }
}
