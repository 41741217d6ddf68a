// SPDX-License-Identifier: Apache-2.0
//! What runs a plan. The queue sees this trait; the service gives it the engine, tests give it something slow.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use hush_exec::{Engine, ExecError, Stop, SumCache};
use hush_table::{Catalog, Digest, Manifest};

use crate::error::{ApiError, Code};
use crate::names::TableName;

/// Why a job has no answer: a stable code and a fixed sentence, both safe to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// `HUSH-E…` or `HUSH-V…`.
    pub code: String,
    /// The sentence.
    pub message: String,
}

impl From<Code> for Failure {
    fn from(code: Code) -> Self {
        Self { code: code.as_str().to_owned(), message: code.sentence().to_owned() }
    }
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        Self { code: error.code.as_str().to_owned(), message: error.text() }
    }
}

impl From<ExecError> for Failure {
    fn from(error: ExecError) -> Self {
        Self { code: error.code().to_owned(), message: error.to_string() }
    }
}

/// Runs plans; called from a thread that may block.
pub trait RunPlan: Send + Sync + 'static {
    /// The answer to `plan` on `table`. A pure function of the plan and the table's version: running it again
    /// gives the same bytes. Ends soon after `stop` says so.
    ///
    /// # Errors
    /// [`Failure`].
    fn run(&self, table: &TableName, plan: &[u8], stop: &Arc<Stop>) -> Result<Vec<u8>, Failure>;

    /// Forgets what is cached of a table that was replaced or deleted.
    fn forget(&self, table: &TableName);

    /// Forgets what was computed from versions before `present`, whose other files are `gone`.
    fn forget_old(&self, table: &TableName, present: &Manifest, gone: &HashSet<Digest>) {
        let _ = (present, gone);
        self.forget(table);
    }
}

/// Runs plans with `hush-exec` on the tables of a catalogue.
pub struct EngineRunner {
    tables: Catalog,
    threads: usize,
    limits: hush_exec::Limits,
    engines: Mutex<HashMap<TableName, Engine>>,
    /// Of all tables together, so that the bound holds for the process. Sums belong to files, not to versions: they stay
    /// when an engine is forgotten because its table has a new version.
    sums: SumCache,
}

impl EngineRunner {
    /// A runner with `threads` threads per job.
    pub fn new(tables: Catalog, threads: usize, limits: hush_exec::Limits) -> Self {
        Self { tables, threads, limits, engines: Mutex::default(), sums: SumCache::default() }
    }

    /// The table's engine; kept, because it remembers the table's version.
    fn engine(&self, table: &TableName) -> Result<Engine, ExecError> {
        let mut engines = self.engines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(engine) = engines.get(table) {
            return Ok(engine.clone());
        }
        let store = self.tables.table(table.as_str())?;
        let engine =
            Engine::for_table(store, self.threads, self.limits.clone())?.with_sums(self.sums.clone());
        engines.insert(table.clone(), engine.clone());
        Ok(engine)
    }
}

impl RunPlan for EngineRunner {
    fn run(&self, table: &TableName, plan: &[u8], stop: &Arc<Stop>) -> Result<Vec<u8>, Failure> {
        Ok(self.engine(table)?.run_until(plan, stop)?)
    }

    fn forget(&self, table: &TableName) {
        self.engines.lock().unwrap_or_else(PoisonError::into_inner).remove(table);
    }

    fn forget_old(&self, table: &TableName, present: &Manifest, gone: &HashSet<Digest>) {
        self.forget(table);
        self.sums.forget_old(present, gone);
    }
}
