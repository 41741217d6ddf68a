// SPDX-License-Identifier: Apache-2.0
//! Jobs: a bounded queue of plans, a fixed number of workers, results kept for a while.
//!
//! Running a plan is a pure function of the plan and of content-addressed files, so a job that a crash
//! interrupted is run again, once: one that was running at two crashes is given up, so that it cannot take the
//! service down for ever. A job ends early by its deadline, or when it is deleted: at its next chunk. State is in
//! memory and, by job, in a small record that survives a crash of the process.
//!
//! *Invariant.* An accepted job's answer, or the reason why it has none, stays collectable until it is fetched, deleted
//! or expired: its record is written before the job is acknowledged; only what was collected makes room for new jobs
//! (`JobTable::make_room`); and whoever collects has places that new work cannot take ([`crate::admission`]).

#[cfg(test)]
pub(crate) mod mutations;
mod record;
mod service;
mod table;
#[cfg(test)]
mod tests;
mod worker;

use std::collections::HashSet;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hush_protocol::job::{JobState, ResultFacts};
use hush_table::store::files::make_directory;
use hush_table::{Digest, TableError};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::clock::unix_seconds;
use crate::config::Limits;
use crate::error::{ApiError, Code};
use crate::names::{JobId, TableName};
use crate::runner::RunPlan;

pub use record::JobFailure;
use record::{JobFiles, Record};
pub use service::{JobService, LocalJobs};
use table::JobTable;

/// How often a job may be begun: it is tried again once after a crash.
const MAX_ATTEMPTS: u32 = 2;

/// The queue, its workers' state and the results.
pub struct Jobs {
    root: PathBuf,
    limits: Limits,
    runner: Arc<dyn RunPlan>,
    table: Mutex<JobTable>,
    /// One permit per queued job (and stale ones of jobs deleted while queued).
    waiting: Semaphore,
}

/// What is submitted.
pub struct Submission {
    /// The table that the plan names.
    pub table: TableName,
    /// Parts of the version that the plan names.
    pub parts: u32,
    /// Digest of that version's manifest.
    pub version: Digest,
    /// The plan's bytes, checked to be a plan.
    pub plan: Vec<u8>,
    /// The `Idempotency-Key`.
    pub key: Option<Vec<u8>>,
}

/// A job as its submitter sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobView {
    /// Its id.
    pub id: JobId,
    /// Its state.
    pub state: JobState,
    /// Jobs that run or wait before it.
    pub ahead: usize,
    /// How often it was begun.
    pub attempts: u32,
    /// Seconds since it was begun the last time, until now or its end.
    pub running_s: u64,
    /// Why it failed.
    pub failure: Option<JobFailure>,
    /// Its result.
    pub result: Option<ResultFacts>,
}

impl Jobs {
    /// Reads what an earlier process left below `root`: finished jobs keep their results, others are queued again.
    ///
    /// # Errors
    /// From the file system.
    pub fn open(root: PathBuf, limits: Limits, runner: Arc<dyn RunPlan>) -> io::Result<Arc<Self>> {
        make_directory(&root).map_err(TableError::into_io)?;
        let table = restore(&root, limits.max_plan_bytes)?;
        let waiting = Semaphore::new(table.queued());
        Ok(Arc::new(Self { root, limits, runner, table: Mutex::new(table), waiting }))
    }

    /// Queues a job; with an `Idempotency-Key` that was seen before, returns the job of that time. Jobs that were collected
    /// some time ago, the oldest first, make room for it.
    ///
    /// # Errors
    /// [`Code::KeyReused`] for another body under the same key; [`Code::Busy`] if the queue or the list of
    /// jobs is full; [`Code::ResultsFull`] if no answer could be kept; [`Code::StorageFull`].
    pub fn submit(&self, submission: Submission) -> Result<JobId, ApiError> {
        let body = blake3::hash(&submission.plan).to_hex().to_string();
        let key = submission.key.map(|key| blake3::hash(&key).to_hex().to_string());
        let mut table = self.lock();
        if let Some(known) = key.as_ref().and_then(|key| table.job_of_key(key)) {
            return if known.body == body { Ok(known.id.clone()) } else { Err(Code::KeyReused.into()) };
        }
        if table.queued() >= self.limits.max_queued_jobs {
            return Err(Code::Busy.into());
        }
        let room = table.make_room(&self.limits, 1, 1, Instant::now());
        room.forgotten.iter().for_each(|id| self.files(id).remove());
        room.found?;
        let id = JobId::fresh()?;
        let record = Record::new(id.clone(), submission.table, submission.version, body, key);
        let files = self.files(&id);
        // Under the lock: a second submission under the same key is told of a job that is there.
        files.create(&record, &submission.plan).inspect_err(|_| files.remove())?;
        table.enqueue(record);
        drop(table);
        self.waiting.add_permits(1);
        tracing::info!(job = id.as_str(), plan_bytes = submission.plan.len(), "job queued");
        Ok(id)
    }

    /// A job now.
    ///
    /// # Errors
    /// [`Code::NoJob`].
    pub fn view(&self, id: &JobId) -> Result<JobView, ApiError> {
        self.lock().view(id).ok_or_else(|| Code::NoJob.into())
    }

    /// A job as soon as it is finished, or as it is after `patience`. Woken by its own end alone.
    ///
    /// # Errors
    /// [`Code::NoJob`].
    pub async fn wait(&self, id: &JobId, patience: Duration) -> Result<JobView, ApiError> {
        let ended = if patience.is_zero() { None } else { self.lock().end_of(id) };
        if let Some(mut ended) = ended {
            // Either way the job is looked at: in time, or not; ended, or deleted, which drops the sender.
            let _ = timeout(patience, ended.changed()).await;
        }
        self.view(id)
    }

    /// Where a finished job's result lies.
    ///
    /// # Errors
    /// [`Code::NoJob`], [`Code::NotDone`].
    pub fn result_path(&self, id: &JobId) -> Result<PathBuf, ApiError> {
        match self.view(id)?.state {
            JobState::Done => Ok(self.files(id).result()),
            _ => Err(Code::NotDone.into()),
        }
    }

    /// Notes that bytes of a job's answer were handed over. Once all were, the job may make room for others.
    pub fn handed_over(&self, id: &JobId, bytes: Range<u64>) {
        self.lock().handed_over(id, bytes, Instant::now());
    }

    /// Notes that the submitter was told that the job failed, and why: there is nothing else to collect.
    pub fn failure_told(&self, id: &JobId) {
        self.lock().failure_told(id, Instant::now());
    }

    /// Forgets a job and its result. One that is running ends at its next chunk, unseen.
    ///
    /// # Errors
    /// [`Code::NoJob`].
    pub fn delete(&self, id: &JobId) -> Result<(), ApiError> {
        let removed = self.lock().remove(id);
        removed.ok_or(Code::NoJob)?;
        self.files(id).remove();
        Ok(())
    }

    /// Forgets the jobs of a table that ask another version than `present`, with their answers. Those that run end at their next chunk,
    /// unseen.
    pub fn forget_old(&self, table: &TableName, present: &Digest) {
        let old = self.lock().remove_old(table, present);
        old.iter().for_each(|id| self.files(id).remove());
    }

    /// Ends what runs and leaves it to the next start, which does not take it for a crash.
    pub fn suspend(&self) {
        // If a record cannot be written, the next start takes it for a crash: one try fewer.
        self.lock().suspend(|record| self.save(record));
    }

    /// Removes finished jobs whose time is over.
    pub fn sweep(&self) {
        let expired = self.lock().remove_expired(self.limits.result_ttl_s, unix_seconds());
        expired.iter().for_each(|id| self.files(id).remove());
    }

    /// Tables with jobs that are not finished.
    pub fn tables_in_use(&self) -> HashSet<TableName> {
        self.lock().tables_in_use()
    }

    fn lock(&self) -> MutexGuard<'_, JobTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn files(&self, id: &JobId) -> JobFiles {
        JobFiles::of(&self.root, id)
    }
}

fn restore(root: &std::path::Path, max_plan_bytes: u64) -> io::Result<JobTable> {
    let now = unix_seconds();
    let mut table = JobTable::default();
    let mut open = Vec::new();
    for entry in std::fs::read_dir(root)?.flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| JobId::parse(name).ok()) else { continue };
        let files = JobFiles::of(root, &id);
        let mut record = match files.load(&id, max_plan_bytes) {
            Ok(record) => record,
            Err(fault) => {
                tracing::warn!(job = id.as_str(), %fault, "a job could not be read back");
                if fault.is_final() {
                    // Begun but never acknowledged, or lost with the machine: its owner submits it again.
                    files.remove();
                }
                continue;
            }
        };
        // A clock that was set back must not keep a result for ever.
        record.finished_s = record.finished_s.map(|end| end.min(now));
        if !record.state.is_final() {
            if record.attempts >= MAX_ATTEMPTS {
                record.finish(Err(crate::runner::Failure::from(Code::Quarantined).into()));
            } else {
                record.state = JobState::Queued;
                open.push((record.created_s, id.clone()));
            }
            files.save(&record)?;
        }
        table.insert(record);
    }
    open.sort_by(|one, other| (one.0, one.1.as_str()).cmp(&(other.0, other.1.as_str())));
    open.into_iter().for_each(|(_, id)| table.queue_again(id));
    Ok(table)
}
