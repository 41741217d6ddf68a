// SPDX-License-Identifier: Apache-2.0
//! All jobs in memory: which wait, which run, which were collected, and who makes room for whom.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use hush_exec::Stop;
use hush_protocol::job::{JobState, ResultFacts};
use hush_table::Digest;
use tokio::sync::watch;

use super::JobView;
use super::record::{JobFailure, Record};
use crate::clock::unix_seconds;
use crate::config::Limits;
use crate::error::{ApiError, Code};
use crate::names::{JobId, TableName};

/// The jobs, by id.
#[derive(Default)]
pub(super) struct JobTable {
    jobs: HashMap<JobId, Job>,
    queue: VecDeque<JobId>,
    /// Hash of an `Idempotency-Key` to its job.
    keys: HashMap<String, JobId>,
    /// Jobs on the workers, deleted ones included.
    running: HashMap<JobId, Running>,
    /// The service is ending: nothing is begun, what runs is left for the next start.
    suspended: bool,
}

/// A job and what is not written down of it.
struct Job {
    record: Record,
    /// Bytes of the answer, from its start, that were handed over.
    handed_over: u64,
    /// Since when nothing of its end is left to be told. Not known after a restart: then it is kept until it expires.
    collected: Option<Instant>,
    /// Wakes those who wait for this job, when it ends; dropped with the job.
    ended: watch::Sender<()>,
}

/// A job on a worker.
struct Running {
    stop: Arc<Stop>,
    /// Of its answer, once it is known and until the record counts it.
    answer_bytes: u64,
}

/// The outcome of [`JobTable::make_room`].
pub(super) struct Room {
    /// Jobs that were forgotten for it. Their files are to be removed.
    pub(super) forgotten: Vec<JobId>,
    /// [`Code::Busy`] or [`Code::ResultsFull`] if it is not enough.
    pub(super) found: Result<(), ApiError>,
}

/// The state of a job that was begun.
pub(super) struct Begun {
    pub(super) id: JobId,
    pub(super) table: TableName,
    pub(super) stop: Arc<Stop>,
}

impl JobTable {
    /// Jobs that wait.
    pub(super) fn queued(&self) -> usize {
        self.queue.len()
    }

    /// The job that was submitted under a key, given by its hash.
    pub(super) fn job_of_key(&self, key: &str) -> Option<&Record> {
        self.jobs.get(self.keys.get(key)?).map(|job| &job.record)
    }

    /// Adds a job, which is not queued by this.
    pub(super) fn insert(&mut self, record: Record) {
        if let Some(key) = &record.key {
            self.keys.insert(key.clone(), record.id.clone());
        }
        let id = record.id.clone();
        let (ended, _) = watch::channel(());
        self.jobs.insert(id, Job { record, handed_over: 0, collected: None, ended });
    }

    /// Adds a job as the last of the queue.
    pub(super) fn enqueue(&mut self, record: Record) {
        self.queue.push_back(record.id.clone());
        self.insert(record);
    }

    /// Puts a job that was added before at the end of the queue.
    pub(super) fn queue_again(&mut self, id: JobId) {
        self.queue.push_back(id);
    }

    /// A job as its submitter sees it.
    pub(super) fn view(&self, id: &JobId) -> Option<JobView> {
        let record = &self.jobs.get(id)?.record;
        let place = self.queue.iter().position(|queued| queued == id);
        let end = record.finished_s.unwrap_or_else(unix_seconds);
        Some(JobView {
            id: id.clone(),
            state: record.state,
            ahead: place.map_or(0, |place| place + self.running.len()),
            attempts: record.attempts,
            running_s: record.started_s.map_or(0, |start| end.saturating_sub(start)),
            failure: record.failure.clone(),
            result: record.result.clone(),
        })
    }

    /// Tells the end of a job that is still to come.
    pub(super) fn end_of(&self, id: &JobId) -> Option<watch::Receiver<()>> {
        let job = self.jobs.get(id).filter(|job| !job.record.state.is_final())?;
        Some(job.ended.subscribe())
    }

    /// Takes the first job of the queue for a worker; `save` writes its record down.
    pub(super) fn begin(&mut self, limits: &Limits, save: impl FnOnce(&Record)) -> Option<Begun> {
        if self.suspended {
            return None;
        }
        let id = self.queue.pop_front()?;
        let record = &mut self.jobs.get_mut(&id)?.record;
        record.begin();
        save(record);
        let stop = Arc::new(Stop::after(limits.job()));
        self.running.insert(id.clone(), Running { stop: Arc::clone(&stop), answer_bytes: 0 });
        Some(Begun { id, table: record.table.clone(), stop })
    }

    /// Counts the answer of a job that runs, before it is written.
    pub(super) fn count_answer(&mut self, id: &JobId, bytes: u64) {
        if let Some(running) = self.running.get_mut(id) {
            running.answer_bytes = bytes;
        }
    }

    /// Ends a job that ran and wakes those who wait for it; `save` writes its record down. Gives whether there is still such a job.
    pub(super) fn finish(
        &mut self,
        id: &JobId,
        outcome: Result<ResultFacts, JobFailure>,
        save: impl FnOnce(&Record),
    ) -> bool {
        self.running.remove(id);
        let Some(job) = self.jobs.get_mut(id) else { return false };
        // Where the service is ending, the record says already that the job is to be begun again.
        if !self.suspended {
            debug_assert_eq!(job.record.state, JobState::Running);
            job.record.finish(outcome);
            save(&job.record);
            job.ended.send_replace(());
        }
        true
    }

    /// Ends what runs and begins nothing more; `save` writes the records down as of jobs that wait.
    pub(super) fn suspend(&mut self, save: impl Fn(&Record)) {
        self.suspended = true;
        for (id, running) in &self.running {
            running.stop.cancel();
            if let Some(job) = self.jobs.get_mut(id) {
                job.record.suspend();
                save(&job.record);
            }
        }
    }

    /// Forgets a job; one that runs is ended.
    pub(super) fn remove(&mut self, id: &JobId) -> Option<Record> {
        let Job { record, .. } = self.jobs.remove(id)?;
        self.queue.retain(|queued| queued != id);
        if let Some(key) = &record.key {
            self.keys.remove(key);
        }
        if let Some(running) = self.running.get(id) {
            running.stop.cancel();
        }
        Some(record)
    }

    /// Forgets the jobs that ended `ttl_s` seconds before `now_s` or earlier; gives which.
    pub(super) fn remove_expired(&mut self, ttl_s: u64, now_s: u64) -> Vec<JobId> {
        let over = |job: &&Job| job.record.expired(ttl_s, now_s);
        let expired: Vec<JobId> = self.jobs.values().filter(over).map(|job| job.record.id.clone()).collect();
        expired.iter().for_each(|id| drop(self.remove(id)));
        expired
    }

    /// Forgets the jobs of a table that ask another version than `present`; gives which.
    pub(super) fn remove_old(&mut self, table: &TableName, present: &Digest) -> Vec<JobId> {
        let is_old = |record: &&Record| record.table == *table && record.version != Some(*present);
        let old: Vec<JobId> = self.records().filter(is_old).map(|record| record.id.clone()).collect();
        old.iter().for_each(|id| drop(self.remove(id)));
        old
    }

    /// Notes that these bytes of a job's answer were handed over. The last of them, without a gap before, make it a collected job.
    pub(super) fn handed_over(&mut self, id: &JobId, bytes: Range<u64>, now: Instant) {
        let Some(job) = self.jobs.get_mut(id) else { return };
        if bytes.start <= job.handed_over {
            job.handed_over = job.handed_over.max(bytes.end);
        }
        if job.record.result.as_ref().is_some_and(|facts| facts.bytes <= job.handed_over) {
            job.collected = Some(now);
        }
    }

    /// Notes that a job's failure was told, if it failed.
    pub(super) fn failure_told(&mut self, id: &JobId, now: Instant) {
        if let Some(job) = self.jobs.get_mut(id)
            && job.record.state == JobState::Failed
        {
            job.collected.get_or_insert(now);
        }
    }

    /// Makes room for `jobs` more jobs and `bytes` more bytes of answers, by forgetting jobs that were collected: those of longest ago
    /// first, and none before [`Limits::idle`] has passed, in which a client whose connection broke comes back. What was not
    /// collected makes room for nothing.
    ///
    /// # Cost
    /// One pass over the jobs, and one for each that is forgotten.
    pub(super) fn make_room(&mut self, limits: &Limits, jobs: usize, bytes: u64, now: Instant) -> Room {
        let mut forgotten = Vec::new();
        loop {
            let found = self.room(limits, jobs, bytes);
            if found.is_ok() {
                return Room { forgotten, found };
            }
            let Some(oldest) = self.oldest_collected(limits, now) else { return Room { forgotten, found } };
            self.remove(&oldest);
            forgotten.push(oldest);
        }
    }

    fn room(&self, limits: &Limits, jobs: usize, bytes: u64) -> Result<(), ApiError> {
        if self.jobs.len().saturating_add(jobs) > limits.max_jobs {
            return Err(Code::Busy.into());
        }
        let (found, limit) = (self.kept_bytes().saturating_add(bytes), limits.max_results_bytes);
        if found > limit { Err(ApiError::over(Code::ResultsFull, found, limit)) } else { Ok(()) }
    }

    fn oldest_collected(&self, limits: &Limits, now: Instant) -> Option<JobId> {
        let collected = self.jobs.values().filter_map(|job| Some((job.collected?, &job.record.id)));
        let (since, id) = collected.min_by_key(|(since, _)| *since)?;
        (now.saturating_duration_since(since) >= limits.idle()).then(|| id.clone())
    }

    /// Bytes of the answers that are kept or about to be.
    pub(super) fn kept_bytes(&self) -> u64 {
        let kept = self.jobs.values().filter_map(|job| job.record.result.as_ref()).map(|facts| facts.bytes);
        kept.chain(self.running.values().map(|running| running.answer_bytes)).fold(0, u64::saturating_add)
    }

    /// Tables with jobs that are not finished.
    pub(super) fn tables_in_use(&self) -> HashSet<TableName> {
        let open = self.records().filter(|record| !record.state.is_final());
        open.map(|record| record.table.clone()).collect()
    }

    /// The records, in no order.
    pub(super) fn records(&self) -> impl Iterator<Item = &Record> {
        self.jobs.values().map(|job| &job.record)
    }
}
