// SPDX-License-Identifier: Apache-2.0
//! The engine: it has one table's place, a thread budget and limits; it takes plans and gives answers.

use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::RecordBatch;
use hush_plan::plan::Task;
use hush_table::{Digest, SignedManifest, TableStore};
use object_store::ObjectStore;
use object_store::path::Path;

use crate::clear::session::Session;
use crate::combiner::Combiner;
use crate::error::{ExecError, PartialFault};
use crate::job::{Combine, Extent, Job, Limits};
use crate::kept::SumCache;
use crate::keys::{KeySet, LoadedKeys};
use crate::parts::PartSet;
use crate::scheme::{Lattice, NoOp, Scheme};
use crate::sizes::{self, PartSize};
use crate::stop::Stop;
use crate::table::Snapshot;
use crate::workers::Workers;
use crate::{aggregate, conform, products, rows};

/// Runs plans on one table.
///
/// Cheap to clone. Engines with the same number of threads share their threads. Clones also share the sums of whole
/// parts ([`SumCache`]) and the memory of verified files. Any number of plans may run at the same time.
#[derive(Clone)]
pub struct Engine {
    table: TableStore,
    tasks: Tasks,
    limits: Limits,
    workers: Arc<Workers>,
    session: Session,
    snapshot: Arc<Mutex<Option<Arc<Snapshot>>>>,
    sums: SumCache,
}

/// The functions for tasks, with the scheme of an engine.
#[derive(Clone, Copy)]
struct Tasks {
    /// Gives an answer or a partial answer, as the job says.
    run: fn(&Job) -> Result<Vec<u8>, ExecError>,
    combine: fn(&Job) -> Result<Box<dyn Combine>, ExecError>,
}

impl Engine {
    /// An engine for the table at `prefix` of a store.
    ///
    /// # Errors
    /// [`ExecError::Internal`] if no threads can be started.
    pub fn new(
        store: Arc<dyn ObjectStore>,
        prefix: impl Into<Path>,
        threads: usize,
        limits: Limits,
    ) -> Result<Self, ExecError> {
        Self::for_table(TableStore::new(store, prefix.into()), threads, limits)
    }

    /// An engine for a table whose place is known already. It shares the memory of verified parts with `table`.
    ///
    /// # Errors
    /// [`ExecError::Internal`] if no threads can be started.
    pub fn for_table(table: TableStore, threads: usize, limits: Limits) -> Result<Self, ExecError> {
        Self::with_scheme::<Lattice>(table, threads, limits)
    }

    /// An engine for a dry run, on a table that holds plain values where others have ciphertexts ([`crate::plain`]).
    ///
    /// # Errors
    /// As [`Engine::for_table`].
    pub fn dry_run(table: TableStore, threads: usize, limits: Limits) -> Result<Self, ExecError> {
        Self::with_scheme::<NoOp>(table, threads, limits)
    }

    fn with_scheme<S: Scheme>(table: TableStore, threads: usize, limits: Limits) -> Result<Self, ExecError> {
        let workers = Workers::shared(threads)?;
        let memory = usize::try_from(limits.memory_bytes / 2).unwrap_or(usize::MAX);
        let session = Session::new(memory)?;
        Ok(Self {
            table,
            tasks: Tasks { run: run_task::<S>, combine: combine_task::<S> },
            limits,
            workers,
            session,
            snapshot: Arc::default(),
            sums: SumCache::default(),
        })
    }

    /// The engine, with sums of whole parts kept in `sums`. So several engines can keep them together, for longer than an
    /// engine lives, or within another bound.
    #[must_use]
    pub fn with_sums(self, sums: SumCache) -> Self {
        Self { sums, ..self }
    }

    /// The engine, with a version of the table that its caller has read already, so that it is not read again.
    ///
    /// # Errors
    /// As [`Engine::run`] for a table that cannot be opened.
    pub fn with_version(self, version: SignedManifest) -> Result<Self, ExecError> {
        self.keep(version)?;
        Ok(self)
    }

    /// The engine, with a version of the table whose clear columns are in memory: `chunks` has a batch for each chunk, in order. No clear
    /// file is read. For tables that live as long as this engine, as a directory's manifest is read for each plan.
    ///
    /// # Errors
    /// [`ExecError::Internal`] for other columns or rows than the manifest has.
    pub fn with_version_in_memory(
        self,
        version: SignedManifest,
        chunks: Vec<RecordBatch>,
    ) -> Result<Self, ExecError> {
        let snapshot = Arc::new(Snapshot::held(self.table.clone(), version, chunks)?);
        *self.snapshot.lock().unwrap_or_else(PoisonError::into_inner) = Some(snapshot);
        Ok(self)
    }

    /// Runs a plan: the bytes of an answer ([`crate::answer::Answer`]).
    ///
    /// Blocks the calling thread; use [`Engine::run_async`] inside a runtime. The answer is a pure function of the
    /// plan and the table's version.
    ///
    /// # Errors
    /// An [`ExecError`]. The table is unchanged, and nothing is left behind.
    pub fn run(&self, plan: &[u8]) -> Result<Vec<u8>, ExecError> {
        self.run_until(plan, &Arc::new(Stop::never()))
    }

    /// [`Engine::run`], for as long as `stop` lets it.
    ///
    /// # Errors
    /// As [`Engine::run`]; [`ExecError::Cancelled`], [`ExecError::Deadline`] at the next chunk after the stop.
    pub fn run_until(&self, plan: &[u8], stop: &Arc<Stop>) -> Result<Vec<u8>, ExecError> {
        self.evaluate(plan, None, stop)
    }

    /// Runs a plan over some parts of the table, counted from 0 in the order of its manifest: the bytes of a partial answer
    /// ([`crate::answer::PartialAnswer`]). [`Engine::combiner`] adds up those of all parts.
    ///
    /// Blocks. A partial answer is a pure function of the plan, the table's version and the parts. A rows task with a limit stops after
    /// so many rows of these parts.
    ///
    /// # Errors
    /// As [`Engine::run_until`]; [`PartialFault::UnknownParts`].
    pub fn run_parts(&self, plan: &[u8], parts: &PartSet, stop: &Arc<Stop>) -> Result<Vec<u8>, ExecError> {
        self.evaluate(plan, Some(parts.clone()), stop)
    }

    /// A combiner for partial answers to a plan. Its work ends with `stop`. Blocks.
    ///
    /// # Errors
    /// As [`Engine::run_until`], without reading any part.
    pub fn combiner(&self, plan: &[u8], stop: &Arc<Stop>) -> Result<Combiner, ExecError> {
        stop.check()?;
        let (engine, plan, stop) = (self.clone(), plan.to_vec(), Arc::clone(stop));
        self.workers.run(move || {
            let job = engine.job(&plan, None, stop)?;
            let combine = (engine.tasks.combine)(&job)?;
            Ok(Combiner::new(job, combine))
        })
    }

    /// What a plan reads of each part, in the order of the manifest: for cutting the parts into runs of like size. Nothing of a part in which
    /// the table's zones show that no row can match. Blocks.
    ///
    /// # Errors
    /// As [`Engine::run_until`], without reading any part.
    pub fn part_sizes(&self, plan: &[u8]) -> Result<Vec<PartSize>, ExecError> {
        let (engine, plan) = (self.clone(), plan.to_vec());
        self.workers.run(move || {
            let mut job = engine.job(&plan, None, Arc::new(Stop::never()))?;
            job.prune()?;
            sizes::of_parts(&job)
        })
    }

    /// The answer, or the partial answer of some parts.
    fn evaluate(&self, plan: &[u8], parts: Option<PartSet>, stop: &Arc<Stop>) -> Result<Vec<u8>, ExecError> {
        stop.check()?;
        let (engine, plan, stop) = (self.clone(), plan.to_vec(), Arc::clone(stop));
        self.workers.run(move || {
            let mut job = engine.job(&plan, parts, stop)?;
            job.prune()?;
            let answer = (engine.tasks.run)(&job)?;
            job.stop.check()?;
            Ok(answer)
        })
    }

    /// A plan's work over some parts, or over all of them for an answer.
    fn job(&self, plan: &[u8], parts: Option<PartSet>, stop: Arc<Stop>) -> Result<Job, ExecError> {
        let plan = conform::parse(plan)?;
        let snapshot = self.snapshot_of(&plan.manifest)?;
        if snapshot.manifest().table != plan.plan.table {
            return Err(ExecError::StaleManifest);
        }
        let extent = if parts.is_some() { Extent::Partial } else { Extent::Whole };
        let all = snapshot.all_parts();
        let parts = parts.unwrap_or_else(|| all.clone());
        if parts.end() > all.end() {
            return Err(PartialFault::UnknownParts { found: parts, expected: all.end() }.into());
        }
        Ok(Job {
            clear: snapshot.clear(&parts)?,
            snapshot,
            needed: parts.clone(),
            parts,
            session: self.session.clone(),
            workers: self.workers.clone(),
            limits: self.limits.clone(),
            sums: self.sums.clone(),
            plan,
            extent,
            stop,
        })
    }

    /// Evaluation keys of the table's present version. They are loaded once, and dropped with the version. Blocks.
    ///
    /// # Errors
    /// [`ExecError::NoKeys`] if the manifest names none; [`ExecError::MemoryLimit`] before anything is read;
    /// [`ExecError::BadKey`] for a file with other keys than the manifest says; [`ExecError::Corrupt`] and [`ExecError::Io`]
    /// for a file that is missing, altered or of another size.
    pub fn evaluation_keys(&self, set: &KeySet) -> Result<Arc<LoadedKeys>, ExecError> {
        self.keep(self.table.load()?)?.keys(set, self.limits.memory_bytes)
    }

    /// [`Engine::run`] on a thread made for blocking.
    ///
    /// # Errors
    /// As [`Engine::run`].
    ///
    /// # Panics
    /// Outside a Tokio runtime.
    pub async fn run_async(&self, plan: Vec<u8>) -> Result<Vec<u8>, ExecError> {
        let engine = self.clone();
        let done = tokio::task::spawn_blocking(move || engine.run(&plan)).await;
        done.unwrap_or(Err(ExecError::Internal { place: "job" }))
    }

    /// The version of the table that a plan is for: the present one, or one that its store keeps for plans like this.
    ///
    /// A version in an object store stays for a day after it was replaced, and is not asked for again. In a directory the manifest is
    /// read each time.
    fn snapshot_of(&self, digest: &Digest) -> Result<Arc<Snapshot>, ExecError> {
        if !self.table.is_directory() {
            let kept = self.snapshot.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(snapshot) = kept.as_ref().filter(|snapshot| snapshot.digest() == *digest) {
                return Ok(snapshot.clone());
            }
        }
        self.keep(self.table.load_version(digest)?.ok_or(ExecError::StaleManifest)?)
    }

    /// The snapshot of a version, kept until that of another takes its place.
    fn keep(&self, signed: SignedManifest) -> Result<Arc<Snapshot>, ExecError> {
        let mut kept = self.snapshot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(snapshot) = kept.as_ref().filter(|snapshot| snapshot.digest() == signed.digest()) {
            return Ok(snapshot.clone());
        }
        let snapshot = Arc::new(Snapshot::new(self.table.clone(), signed)?);
        *kept = Some(snapshot.clone());
        Ok(snapshot)
    }
}

fn run_task<S: Scheme>(job: &Job) -> Result<Vec<u8>, ExecError> {
    match &job.plan.plan.task {
        Task::Aggregate(task) => aggregate::run::<S>(job, task),
        Task::Products(task) => products::run::<S>(job, task),
        Task::Rows(task) => rows::run::<S>(job, task),
    }
}

fn combine_task<S: Scheme>(job: &Job) -> Result<Box<dyn Combine>, ExecError> {
    match &job.plan.plan.task {
        Task::Aggregate(task) => aggregate::combine::<S>(job, task),
        Task::Products(task) => products::combine::<S>(job, task),
        Task::Rows(task) => rows::combine(job, task),
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Engine({}, {} threads)", self.table.prefix(), self.workers.threads())
    }
}
