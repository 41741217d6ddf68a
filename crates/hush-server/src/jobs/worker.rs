// SPDX-License-Identifier: Apache-2.0
//! Taking jobs off the queue and running them on threads that may block.

use std::sync::Arc;
use std::time::Instant;

use hush_exec::Stop;
use hush_protocol::job::ResultFacts;
use tokio::task::spawn_blocking;

use super::Jobs;
use super::record::{JobFailure, Record};
use super::table::Begun;
use crate::error::{ApiError, Code};
use crate::names::{JobId, TableName};
use crate::runner::Failure;

impl Jobs {
    /// Starts the workers. They end with the process: an interrupted job is run again at the next start.
    pub fn start(self: &Arc<Self>) {
        for _ in 0..self.limits.parallel_jobs.get() {
            let jobs = Arc::clone(self);
            tokio::spawn(async move {
                while let Ok(permit) = jobs.waiting.acquire().await {
                    permit.forget();
                    jobs.run_next().await;
                }
            });
        }
    }

    async fn run_next(self: &Arc<Self>) {
        // Nothing, if the job that the permit stood for was deleted while it waited.
        let Some(Begun { id, table, stop }) = self.take() else { return };
        let started = Instant::now();
        let runs = Arc::clone(self);
        let (job, on) = (id.clone(), table.clone());
        let outcome = spawn_blocking(move || runs.run(&job, &on, &stop)).await;
        let outcome = outcome.unwrap_or_else(|_| {
            tracing::error!(job = id.as_str(), "a job panicked");
            Err(Failure::from(Code::Internal).into())
        });
        tracing::info!(
            job = id.as_str(),
            code = outcome.as_ref().err().map_or("-", |failure| failure.code.as_str()),
            answer_bytes = outcome.as_ref().map_or(0, |facts| facts.bytes),
            ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            "job finished"
        );
        self.finish(&id, outcome);
    }

    pub(super) fn take(&self) -> Option<Begun> {
        // If the record cannot be written, the attempt goes uncounted; running it is still right.
        self.lock().begin(&self.limits, |record| self.save(record))
    }

    pub(super) fn save(&self, record: &Record) {
        if self.files(&record.id).save(record).is_err() {
            tracing::warn!(job = record.id.as_str(), "a job's record could not be written");
        }
    }

    pub(super) fn run(
        &self,
        id: &JobId,
        table: &TableName,
        stop: &Arc<Stop>,
    ) -> Result<ResultFacts, JobFailure> {
        let internal = |error: std::io::Error| {
            JobFailure::from(Failure::from(crate::error::ApiError::from_io(&error).code))
        };
        let files = self.files(id);
        let plan = files.plan(self.limits.max_plan_bytes).map_err(internal)?;
        let answer = self.runner.run(table, &plan, stop)?;
        self.reserve(id, answer.len() as u64).map_err(Failure::from)?;
        files.save_result(&answer).map_err(internal)
    }

    /// Counts an answer before it is written, and makes room for it.
    fn reserve(&self, id: &JobId, bytes: u64) -> Result<(), ApiError> {
        let mut table = self.lock();
        let room = table.make_room(&self.limits, 0, bytes, Instant::now());
        if room.found.is_ok() {
            table.count_answer(id, bytes);
        }
        drop(table);
        room.forgotten.iter().for_each(|id| self.files(id).remove());
        room.found
    }

    pub(super) fn finish(&self, id: &JobId, outcome: Result<ResultFacts, JobFailure>) {
        // If the record cannot be written, the job is served from memory now, and run once more after a restart.
        let known = self.lock().finish(id, outcome, |record| self.save(record));
        if !known {
            self.files(id).remove();
        }
    }
}
