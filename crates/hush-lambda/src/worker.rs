// SPDX-License-Identifier: Apache-2.0
//! The worker: what becomes of one event.
//!
//! A task over more parts than a leaf invokes its children and ends. A leaf leaves its partial answer in the job's folder, and then looks
//! whether all of its parent's children are there. Whoever sees them all combines them, and so on up to the root, which leaves the
//! answer. The store is strongly consistent: of the children of a node at least the last to write sees all. Nothing waits, nothing polls.
//!
//! *Any event may come late, twice, or never.* Whoever does the same again writes the same bytes, and loses to what is there. What comes
//! after the end of a job, or after its deletion, ends quietly; what it wrote meanwhile it takes away. What never comes is invoked
//! again by a front ([`crate::front`]).

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::{try_join, try_join_all};
use futures_util::{StreamExt, stream};
use hush_exec::{Engine, ErrorKind, ExecError, Limits, PartSet, Stop};
use hush_protocol::job::ResultFacts;
use hush_server::jobs::JobFailure;
use hush_server::names::{JobId, TableName};
use hush_server::runner::Failure;
use hush_table::{Catalog, TableError};
use tokio::task::spawn_blocking;

use crate::event::{Event, EventFault};
use crate::invoke::{Invoke, InvokeError};
use crate::objects::{JobObjects, ObjectFault};
use crate::record::{Record, digest};
use crate::tree::{Cut, Node};

/// Bytes that a worker is expected to evaluate in a second, with reading them: a careful guess, which only decides how patient fronts are, and
/// how much is given to a worker with little time.
const BYTES_PER_S: u64 = 20 << 20;
/// Time that a task takes in any case: a fresh worker, a few requests.
pub const BASE_MS: u64 = 5000;
/// Partial answers that are asked for before they can be combined.
const FETCHED_AHEAD: usize = 4;

/// How a worker works.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Threads.
    pub threads: usize,
    /// Limits of the engine.
    pub limits: Limits,
    /// Most bytes that one leaf reads.
    pub leaf_bytes: u64,
}

/// What an event came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It came after the end of its job, or there is no such job.
    Late,
    /// Its children were invoked.
    Invoked,
    /// A partial answer is there; others are missing.
    Wrote,
    /// The answer is there.
    Done,
    /// The engine refused the plan, and the job's record says why.
    Failed,
}

impl Ended {
    /// In a log, and in the answer that nobody reads.
    pub fn name(self) -> &'static str {
        match self {
            Self::Late => "late",
            Self::Invoked => "invoked",
            Self::Wrote => "wrote",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }
}

/// Why an event was not worked off. Trying again may help, but for refused events.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    /// The event is refused.
    #[error(transparent)]
    Event(#[from] EventFault),
    /// The store failed.
    #[error(transparent)]
    Object(#[from] ObjectFault),
    /// A child was not invoked.
    #[error(transparent)]
    Invoke(#[from] InvokeError),
    /// The engine refused or failed.
    #[error(transparent)]
    Exec(#[from] ExecError),
}

impl From<TableError> for WorkError {
    fn from(error: TableError) -> Self {
        Self::Object(error.into())
    }
}

impl WorkError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Event(fault) => fault.code(),
            Self::Object(ObjectFault::Store(error)) => error.code(),
            Self::Object(ObjectFault::Record(_)) => "HUSH-L003",
            Self::Invoke(_) => "HUSH-L004",
            Self::Exec(error) => error.code(),
        }
    }
}

/// A worker. Engines stay between events, for as long as the process is kept.
pub struct Worker {
    jobs: JobObjects,
    tables: Catalog,
    invoke: Arc<dyn Invoke>,
    settings: Settings,
    engines: Mutex<HashMap<TableName, Engine>>,
}

/// One job at work.
struct Task<'a> {
    worker: &'a Worker,
    job: &'a JobId,
    engine: Engine,
    plan: Arc<[u8]>,
    digest: &'a str,
    cut: Cut,
    stop: Arc<Stop>,
}

impl Worker {
    /// A worker on the jobs and the tables of a place.
    pub fn new(jobs: JobObjects, tables: Catalog, invoke: Arc<dyn Invoke>, settings: Settings) -> Self {
        Self { jobs, tables, invoke, settings, engines: Mutex::default() }
    }

    /// Works an event off, in at most `time`.
    ///
    /// # Errors
    /// [`WorkError`]. Nothing is left that is not right.
    pub async fn work(&self, event: &Event, time: Duration) -> Result<Ended, WorkError> {
        let stop = Arc::new(Stop::after(time));
        let plan = async { Ok(self.jobs.plan(&event.job).await?) };
        let (record, plan) = try_join(self.jobs.record(&event.job), plan).await?;
        let Some((record, _)) = record else { return Ok(Ended::Late) };
        if record.state.is_final() {
            return Ok(Ended::Late);
        }
        let refused = EventFault::Parts { first: event.first, end: event.end, parts: record.parts };
        let parts = (event.first, event.end);
        let known = record.cut();
        match &known {
            Some(cut) if cut.path(parts).is_none() => return Err(refused.into()),
            None if parts != (0, record.parts) => return Err(refused.into()),
            _ => {}
        }
        // Without its plan, a job is just being deleted.
        let Some(plan) = plan else { return Ok(Ended::Late) };
        let done = self.work_on(event, &record, known, plan.to_vec().into(), stop).await;
        match done {
            // Reading may succeed the next time. All else is as it is.
            Err(WorkError::Exec(error)) if error.kind() != ErrorKind::Io => {
                self.fail(&record, Failure::from(error).into()).await?;
                Ok(Ended::Failed)
            }
            done => done,
        }
    }

    async fn work_on(
        &self,
        event: &Event,
        record: &Record,
        known: Option<Cut>,
        plan: Arc<[u8]>,
        stop: Arc<Stop>,
    ) -> Result<Ended, WorkError> {
        let engine = self.engine(&record.table)?;
        let cut = match known {
            Some(cut) => cut,
            None => match self.begin(record, &engine, &plan).await? {
                Some(cut) => cut,
                None => return Ok(Ended::Late),
            },
        };
        let Some(path) = cut.path((event.first, event.end)) else { return Ok(Ended::Late) };
        let (worker, job, digest) = (self, &event.job, record.plan.as_str());
        Task { worker, job, engine, plan, digest, cut, stop }.advance(path).await
    }

    /// Cuts the parts into leaves, if nobody else has; `None` if the job is over.
    async fn begin(
        &self,
        record: &Record,
        engine: &Engine,
        plan: &Arc<[u8]>,
    ) -> Result<Option<Cut>, WorkError> {
        let (engine, plan) = (engine.clone(), Arc::clone(plan));
        let sizes = blocking(move || engine.part_sizes(&plan)).await?;
        let cut = Cut::by_size(&sizes, self.settings.leaf_bytes);
        let predicted_ms = BASE_MS + cut.largest(&sizes) / (BYTES_PER_S / 1000);
        let begun = self.jobs.change(&record.id, |record| {
            let is_new = record.cut.is_none() && !record.state.is_final();
            if is_new {
                record.begin(&cut, predicted_ms);
            }
            is_new
        });
        if let Some(begun) = begun.await? {
            return Ok(begun.cut());
        }
        // Another worker was first: its cut holds.
        Ok(self.jobs.record(&record.id).await?.and_then(|(record, _)| record.cut()))
    }

    async fn fail(&self, record: &Record, failure: JobFailure) -> Result<(), WorkError> {
        tracing::info!(job = record.id.as_str(), code = failure.code.as_str(), "job failed");
        let failed = self.jobs.change(&record.id, |now| {
            let concerns = !now.state.is_final() && now.plan == record.plan;
            if concerns {
                now.finish(Err(failure.clone()));
            }
            concerns
        });
        Ok(failed.await.map(drop)?)
    }

    fn engine(&self, table: &TableName) -> Result<Engine, WorkError> {
        let mut engines = self.engines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(engine) = engines.get(table) {
            return Ok(engine.clone());
        }
        let store = self.tables.table(table.as_str())?;
        let engine = Engine::for_table(store, self.settings.threads, self.settings.limits.clone())?;
        engines.insert(table.clone(), engine.clone());
        Ok(engine)
    }
}

impl Task<'_> {
    /// Does the work of the last node of a path from the root, and of those above it that it completes.
    async fn advance(&self, mut path: Vec<Node>) -> Result<Ended, WorkError> {
        let Some(node) = path.pop() else { return Ok(Ended::Late) };
        let (parts, children) = (self.cut.parts(&node), self.cut.children(&node));
        if path.is_empty() && children.is_empty() {
            let (engine, plan, stop) = self.shared();
            let answer = blocking(move || engine.run_until(&plan, &stop)).await?;
            return self.finish(answer).await;
        }
        let present = self.worker.jobs.partials(self.job).await?;
        if !present.contains(&parts) {
            if children.is_empty() {
                let (engine, plan, stop) = self.shared();
                let set = PartSet::from(parts.0..parts.1);
                let partial = blocking(move || engine.run_parts(&plan, &set, &stop)).await?;
                if !self.leave(parts, partial).await? {
                    return Ok(Ended::Late);
                }
            } else {
                let absent: Vec<_> = children
                    .iter()
                    .map(|child| self.cut.parts(child))
                    .filter(|child| !present.contains(child))
                    .collect();
                if !absent.is_empty() {
                    return self.invoke(absent).await;
                }
                path.push(node);
            }
        }
        self.climb(path).await
    }

    /// Combines what is complete, from the last node of a path up to the root.
    async fn climb(&self, mut path: Vec<Node>) -> Result<Ended, WorkError> {
        while let Some(node) = path.pop() {
            let present = self.worker.jobs.partials(self.job).await?;
            let children: Vec<_> =
                self.cut.children(&node).iter().map(|child| self.cut.parts(child)).collect();
            if !children.iter().all(|child| present.contains(child)) {
                return Ok(Ended::Wrote);
            }
            let Some(bytes) = self.combine(children, path.is_empty()).await? else { return Ok(Ended::Late) };
            if path.is_empty() {
                return self.finish(bytes).await;
            }
            if !self.leave(self.cut.parts(&node), bytes).await? {
                return Ok(Ended::Late);
            }
        }
        Ok(Ended::Wrote)
    }

    async fn invoke(&self, tasks: Vec<(u32, u32)>) -> Result<Ended, WorkError> {
        let invoked = tasks.into_iter().map(|(first, end)| async move {
            let event = Event { job: self.job.clone(), first, end };
            self.worker.invoke.invoke(&event).await
        });
        try_join_all(invoked).await?;
        Ok(Ended::Invoked)
    }

    /// The partial answer of some nodes together, or the answer; `None` if one is there no longer.
    async fn combine(&self, children: Vec<(u32, u32)>, is_root: bool) -> Result<Option<Vec<u8>>, WorkError> {
        let (engine, plan, stop) = self.shared();
        let mut combiner = blocking(move || engine.combiner(&plan, &stop)).await?;
        let fetched = stream::iter(children).map(|parts| self.worker.jobs.partial(self.job, parts));
        let mut fetched = pin!(fetched.buffered(FETCHED_AHEAD));
        while let Some(partial) = fetched.next().await {
            let Some(partial) = partial? else { return Ok(None) };
            combiner = blocking(move || combiner.push(&partial).map(|()| combiner)).await?;
        }
        blocking(move || if is_root { combiner.finish() } else { combiner.partial() }).await.map(Some)
    }

    /// Leaves a partial answer, if its job is still there; else takes it away again.
    async fn leave(&self, parts: (u32, u32), bytes: Vec<u8>) -> Result<bool, WorkError> {
        let jobs = &self.worker.jobs;
        tracing::info!(
            job = self.job.as_str(),
            first = parts.0,
            end = parts.1,
            bytes = bytes.len(),
            "partial answer"
        );
        if self.is_over().await? {
            return Ok(false);
        }
        jobs.put_partial(self.job, parts, bytes.into()).await?;
        // Deleted while it was written: whoever deletes could not see it, and so it is taken away here.
        let is_over = self.is_over().await?;
        if is_over {
            jobs.remove_partial(self.job, parts).await?;
        }
        Ok(!is_over)
    }

    /// Leaves the answer and notes it in the record.
    async fn finish(&self, answer: Vec<u8>) -> Result<Ended, WorkError> {
        let jobs = &self.worker.jobs;
        let facts = ResultFacts { bytes: answer.len() as u64, blake3: digest(&answer) };
        tracing::info!(job = self.job.as_str(), bytes = facts.bytes, "answer");
        if self.is_over().await? {
            return Ok(Ended::Late);
        }
        jobs.put_result(self.job, answer.into()).await?;
        let done = jobs.change(self.job, |record| {
            let concerns = !record.state.is_final() && record.plan == self.digest;
            if concerns {
                record.finish(Ok(facts.clone()));
            }
            concerns
        });
        if done.await?.is_some() {
            return Ok(Ended::Done);
        }
        if jobs.record(self.job).await?.is_none() {
            jobs.remove_rest(self.job).await?;
        }
        Ok(Ended::Late)
    }

    /// Whether the job was deleted, has ended, or is another one by now.
    async fn is_over(&self) -> Result<bool, WorkError> {
        let record = self.worker.jobs.record(self.job).await?;
        Ok(record.is_none_or(|(record, _)| record.state.is_final() || record.plan != self.digest))
    }

    fn shared(&self) -> (Engine, Arc<[u8]>, Arc<Stop>) {
        (self.engine.clone(), Arc::clone(&self.plan), Arc::clone(&self.stop))
    }
}

/// Runs what blocks, on a thread made for that. A panic is an error of the plan: it would come again.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ExecError> + Send + 'static,
) -> Result<T, WorkError> {
    let done = spawn_blocking(work).await;
    Ok(done.unwrap_or(Err(ExecError::Internal { place: "worker" }))?)
}
