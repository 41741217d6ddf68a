// SPDX-License-Identifier: Apache-2.0
//! What the routes ask of jobs, and this server's own jobs as an answer to it.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use hush_table::Digest;
use hush_table::part::PartSource;
use tokio::task::spawn_blocking;

use super::{JobView, Jobs, Submission};
use crate::error::{ApiError, Code};
use crate::files::Stored;
use crate::names::{JobId, TableName};

/// Jobs, wherever they are kept and whoever runs them.
#[async_trait]
pub trait JobService: Send + Sync + 'static {
    /// Accepts a job; with an `Idempotency-Key` that was seen before, gives the job of that time.
    ///
    /// # Errors
    /// [`Code::KeyReused`] for another body under the same key; a refusal for want of room.
    async fn submit(&self, submission: Submission) -> Result<JobId, ApiError>;

    /// A job as soon as it is finished, or as it is after `patience`, or sooner.
    ///
    /// # Errors
    /// [`Code::NoJob`].
    async fn wait(&self, id: &JobId, patience: Duration) -> Result<JobView, ApiError>;

    /// The answer of a job that is done.
    ///
    /// # Errors
    /// [`Code::NoJob`], [`Code::NotDone`].
    async fn answer(&self, id: &JobId) -> Result<Stored, ApiError>;

    /// Notes that bytes of a job's answer were handed over.
    fn handed_over(&self, id: &JobId, bytes: Range<u64>);

    /// Notes that the submitter was told that the job failed, and why.
    fn failure_told(&self, id: &JobId);

    /// Forgets a job and its answer. One that runs ends soon, unseen.
    ///
    /// # Errors
    /// [`Code::NoJob`].
    async fn delete(&self, id: &JobId) -> Result<(), ApiError>;

    /// Forgets the jobs of a table that ask another version than `present`, with their answers. Where no tables are taken in there is
    /// nothing to forget.
    async fn forget_old(&self, table: &TableName, present: Digest) -> Result<(), ApiError> {
        let _ = (table, present);
        Ok(())
    }
}

/// The jobs of this process.
pub struct LocalJobs(pub Arc<Jobs>);

#[async_trait]
impl JobService for LocalJobs {
    async fn submit(&self, submission: Submission) -> Result<JobId, ApiError> {
        let jobs = Arc::clone(&self.0);
        spawn_blocking(move || jobs.submit(submission)).await.map_err(|_| Code::Internal)?
    }

    async fn wait(&self, id: &JobId, patience: Duration) -> Result<JobView, ApiError> {
        self.0.wait(id, patience).await
    }

    async fn answer(&self, id: &JobId) -> Result<Stored, ApiError> {
        let path = self.0.result_path(id)?;
        let opened = spawn_blocking(move || PartSource::from_file(File::open(path)?));
        match opened.await.map_err(|_| Code::Internal)? {
            // Deleted or expired meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Code::NoJob.into()),
            opened => Ok(Stored::Bytes { source: opened?, object: None }),
        }
    }

    fn handed_over(&self, id: &JobId, bytes: Range<u64>) {
        self.0.handed_over(id, bytes);
    }

    fn failure_told(&self, id: &JobId) {
        self.0.failure_told(id);
    }

    async fn delete(&self, id: &JobId) -> Result<(), ApiError> {
        let (jobs, id) = (Arc::clone(&self.0), id.clone());
        spawn_blocking(move || jobs.delete(&id)).await.map_err(|_| Code::Internal)?
    }

    async fn forget_old(&self, table: &TableName, present: Digest) -> Result<(), ApiError> {
        let (jobs, table) = (Arc::clone(&self.0), table.clone());
        spawn_blocking(move || jobs.forget_old(&table, &present)).await.map_err(|_| Code::Internal.into())
    }
}
