// SPDX-License-Identifier: Apache-2.0
//! Taking jobs off the queue and running them on threads that may block.

use std::sync::Arc;
use std::time::Instant;

use hush_exec::Stop;
use tokio::task::spawn_blocking;

use super::record::{JobFailure, ResultFacts};
use super::{JobState, Jobs, Running};
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
        let Some((id, table, stop)) = self.take() else { return };
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

    pub(super) fn take(&self) -> Option<(JobId, TableName, Arc<Stop>)> {
        let mut table = self.lock();
        if table.suspended {
            return None;
        }
        let id = table.queue.pop_front()?;
        let record = table.records.get_mut(&id)?;
        record.begin();
        if self.files(&id).save(record).is_err() {
            // The attempt goes uncounted; running it is still right.
            tracing::warn!(job = id.as_str(), "a job's record could not be written");
        }
        let name = record.table.clone();
        let stop = Arc::new(Stop::after(self.limits.job()));
        table.running.insert(id.clone(), Running { stop: Arc::clone(&stop), answer_bytes: 0 });
        drop(table);
        self.changed.send_replace(());
        Some((id, name, stop))
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

    /// Counts an answer before it is written.
    fn reserve(&self, id: &JobId, bytes: u64) -> Result<(), ApiError> {
        let mut table = self.lock();
        let (found, limit) = (table.kept_bytes().saturating_add(bytes), self.limits.max_results_bytes);
        if found > limit {
            return Err(ApiError::over(Code::ResultsFull, found, limit));
        }
        if let Some(running) = table.running.get_mut(id) {
            running.answer_bytes = bytes;
        }
        Ok(())
    }

    pub(super) fn finish(&self, id: &JobId, outcome: Result<ResultFacts, JobFailure>) {
        let mut table = self.lock();
        let files = self.files(id);
        table.running.remove(id);
        let suspended = table.suspended;
        match table.records.get_mut(id) {
            // Its record says already that it is to be begun again.
            Some(_) if suspended => {}
            Some(record) => {
                debug_assert_eq!(record.state, JobState::Running);
                record.finish(outcome);
                if files.save(record).is_err() {
                    // Served from memory now, run once more after a restart.
                    tracing::warn!(job = id.as_str(), "a job's record could not be written");
                }
            }
            None => files.remove(),
        }
        drop(table);
        self.changed.send_replace(());
    }
}
