// SPDX-License-Identifier: Apache-2.0
//! Jobs: a bounded queue of plans, a fixed number of workers, results kept for a while.
//!
//! Running a plan is a pure function of the plan and of content-addressed files, so a job that a crash
//! interrupted is run again, once: one that was running at two crashes is given up, so that it cannot take the
//! service down for ever. A job ends early by its deadline, or when it is deleted: at its next chunk. State is in
//! memory and, by job, in a small record that survives a crash of the process.

#[cfg(test)]
pub(crate) mod mutations;
mod record;
#[cfg(test)]
mod tests;
mod worker;

use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hush_exec::Stop;
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;

use crate::clock::unix_seconds;
use crate::config::Limits;
use crate::durable;
use crate::error::{ApiError, Code};
use crate::names::{JobId, TableName};
use crate::runner::RunPlan;

pub use record::{JobFailure, JobState, ResultFacts};
use record::{JobFiles, Record};

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
    /// Changes whenever a job does.
    changed: watch::Sender<()>,
}

#[derive(Default)]
struct JobTable {
    records: HashMap<JobId, Record>,
    queue: VecDeque<JobId>,
    /// Hash of an `Idempotency-Key` to its job.
    keys: HashMap<String, JobId>,
    /// Jobs on the workers, deleted ones included.
    running: HashMap<JobId, Running>,
    /// The service is ending: nothing is begun, what runs is left for the next start.
    suspended: bool,
}

/// A job on a worker.
struct Running {
    stop: Arc<Stop>,
    /// Of its answer, once it is known and until the record counts it.
    answer_bytes: u64,
}

/// What is submitted.
pub struct Submission {
    /// The table that the plan names.
    pub table: TableName,
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
        durable::private_directory(&root)?;
        let table = restore(&root, limits.max_plan_bytes)?;
        let waiting = Semaphore::new(table.queue.len());
        let (changed, _) = watch::channel(());
        Ok(Arc::new(Self { root, limits, runner, table: Mutex::new(table), waiting, changed }))
    }

    /// Queues a job; with an `Idempotency-Key` that was seen before, returns the job of that time.
    ///
    /// # Errors
    /// [`Code::KeyReused`] for another body under the same key; [`Code::Busy`] if the queue or the list of
    /// jobs is full; [`Code::ResultsFull`] if no answer could be kept; [`Code::StorageFull`].
    pub fn submit(&self, submission: Submission) -> Result<JobId, ApiError> {
        let body = blake3::hash(&submission.plan).to_hex().to_string();
        let key = submission.key.map(|key| blake3::hash(&key).to_hex().to_string());
        let mut table = self.lock();
        if let Some(known) = key.as_ref().and_then(|key| table.keys.get(key)) {
            let same = table.records.get(known).is_some_and(|record| record.body == body);
            return if same { Ok(known.clone()) } else { Err(Code::KeyReused.into()) };
        }
        if table.queue.len() >= self.limits.max_queued_jobs || table.records.len() >= self.limits.max_jobs {
            return Err(Code::Busy.into());
        }
        let (kept, limit) = (table.kept_bytes(), self.limits.max_results_bytes);
        if kept >= limit {
            return Err(ApiError::over(Code::ResultsFull, kept, limit));
        }
        let id = JobId::fresh()?;
        let record = Record::new(id.clone(), submission.table, body, key.clone());
        let files = self.files(&id);
        files.create(&record, &submission.plan).inspect_err(|_| files.remove())?;
        if let Some(key) = key {
            table.keys.insert(key, id.clone());
        }
        table.queue.push_back(id.clone());
        table.records.insert(id.clone(), record);
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
        let table = self.lock();
        let record = table.records.get(id).ok_or(Code::NoJob)?;
        let running = table.records.values().filter(|other| other.state == JobState::Running).count();
        let place = table.queue.iter().position(|queued| queued == id);
        let end = record.finished_s.unwrap_or_else(unix_seconds);
        Ok(JobView {
            id: id.clone(),
            state: record.state,
            ahead: place.map_or(0, |place| place + running),
            attempts: record.attempts,
            running_s: record.started_s.map_or(0, |start| end.saturating_sub(start)),
            failure: record.failure.clone(),
            result: record.result.clone(),
        })
    }

    /// A job as soon as it is finished, or as it is after `patience`.
    ///
    /// # Errors
    /// [`Code::NoJob`].
    pub async fn wait(&self, id: &JobId, patience: Duration) -> Result<JobView, ApiError> {
        let mut changes = self.changed.subscribe();
        let finished = async {
            loop {
                let view = self.view(id)?;
                if view.state.is_final() || changes.changed().await.is_err() {
                    return Ok(view);
                }
            }
        };
        match timeout(patience, finished).await {
            Ok(view) => view,
            Err(_) => self.view(id),
        }
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

    /// Forgets a job and its result. One that is running ends at its next chunk, unseen.
    ///
    /// # Errors
    /// [`Code::NoJob`].
    pub fn delete(&self, id: &JobId) -> Result<(), ApiError> {
        let mut table = self.lock();
        table.remove(id).ok_or(Code::NoJob)?;
        self.files(id).remove();
        if let Some(running) = table.running.get(id) {
            running.stop.cancel();
        }
        drop(table);
        self.changed.send_replace(());
        Ok(())
    }

    /// Ends what runs and leaves it to the next start, which does not take it for a crash.
    pub fn suspend(&self) {
        let mut table = self.lock();
        table.suspended = true;
        let JobTable { records, running, .. } = &mut *table;
        for (id, running) in running {
            running.stop.cancel();
            let Some(record) = records.get_mut(id) else { continue };
            record.suspend();
            if self.files(id).save(record).is_err() {
                // The next start takes it for a crash: one try fewer.
                tracing::warn!(job = id.as_str(), "a job's record could not be written");
            }
        }
    }

    /// Removes finished jobs whose time is over.
    pub fn sweep(&self) {
        let now = unix_seconds();
        let mut table = self.lock();
        let over = |record: &&Record| record.expired(self.limits.result_ttl_s, now);
        let expired: Vec<JobId> =
            table.records.values().filter(over).map(|record| record.id.clone()).collect();
        for id in expired {
            table.remove(&id);
            self.files(&id).remove();
        }
    }

    /// Tables with jobs that are not finished.
    pub fn tables_in_use(&self) -> HashSet<TableName> {
        let table = self.lock();
        let open = table.records.values().filter(|record| !record.state.is_final());
        open.map(|record| record.table.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, JobTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn files(&self, id: &JobId) -> JobFiles {
        JobFiles::of(&self.root, id)
    }
}

impl JobTable {
    /// Bytes of the answers that are kept or about to be.
    fn kept_bytes(&self) -> u64 {
        let kept = self.records.values().filter_map(|record| record.result.as_ref()).map(|facts| facts.bytes);
        kept.chain(self.running.values().map(|running| running.answer_bytes)).fold(0, u64::saturating_add)
    }

    fn remove(&mut self, id: &JobId) -> Option<Record> {
        let record = self.records.remove(id)?;
        self.queue.retain(|queued| queued != id);
        if let Some(key) = &record.key {
            self.keys.remove(key);
        }
        Some(record)
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
        if let Some(key) = &record.key {
            table.keys.insert(key.clone(), id.clone());
        }
        table.records.insert(id, record);
    }
    open.sort_by(|one, other| (one.0, one.1.as_str()).cmp(&(other.0, other.1.as_str())));
    table.queue = open.into_iter().map(|(_, id)| id).collect();
    Ok(table)
}
