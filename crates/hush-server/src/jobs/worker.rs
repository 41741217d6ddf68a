// SPDX-License-Identifier: Apache-2.0
//! Taking jobs off the queue and running them on threads that may block.

use std::sync::Arc;
use std::time::Instant;

use tokio::task::spawn_blocking;

use super::record::{JobFailure, ResultFacts};
use super::{JobState, Jobs};
use crate::error::Code;
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
        let Some((id, table)) = self.take() else { return };
        let started = Instant::now();
        let runs = Arc::clone(self);
        let (job, on) = (id.clone(), table.clone());
        let outcome = spawn_blocking(move || runs.run(&job, &on)).await;
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

    fn take(&self) -> Option<(JobId, TableName)> {
        let mut table = self.lock();
        let id = table.queue.pop_front()?;
        let record = table.records.get_mut(&id)?;
        record.begin();
        if self.files(&id).save(record).is_err() {
            // The attempt goes uncounted; running it is still right.
            tracing::warn!(job = id.as_str(), "a job's record could not be written");
        }
        let name = record.table.clone();
        drop(table);
        self.changed.send_replace(());
        Some((id, name))
    }

    fn run(&self, id: &JobId, table: &TableName) -> Result<ResultFacts, JobFailure> {
        let internal = |error: std::io::Error| {
            JobFailure::from(Failure::from(crate::error::ApiError::from_io(&error).code))
        };
        let files = self.files(id);
        let plan = files.plan().map_err(internal)?;
        let answer = self.runner.run(table, &plan)?;
        files.save_result(&answer).map_err(internal)
    }

    fn finish(&self, id: &JobId, outcome: Result<ResultFacts, JobFailure>) {
        let mut table = self.lock();
        let files = self.files(id);
        match table.records.get_mut(id) {
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
