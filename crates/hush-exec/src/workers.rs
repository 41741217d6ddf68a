// SPDX-License-Identifier: Apache-2.0
//! Threads: one pool for encrypted work and one runtime for the query engine, shared by all engines of a process
//! that have the same budget. The workers that were asked for last stay when their engines go, because starting threads
//! takes longer than a small query.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError, Weak, mpsc};

use tokio::runtime::Runtime;

use crate::ExecError;

/// A thread budget.
#[derive(Debug)]
pub(crate) struct Workers {
    threads: usize,
    pool: rayon::ThreadPool,
    runtime: Option<Runtime>,
}

impl Workers {
    /// The workers for this many threads (at least one), started if no engine has them yet.
    ///
    /// # Errors
    /// [`ExecError::Internal`] if the operating system starts no threads.
    pub(crate) fn shared(threads: usize) -> Result<Arc<Self>, ExecError> {
        let threads = threads.clamp(1, MAX_THREADS);
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.alive.iter().filter_map(Weak::upgrade).find(|workers| workers.threads == threads);
        let workers = match found {
            Some(workers) => workers,
            None => {
                let workers = Arc::new(Self::start(threads)?);
                known.alive.retain(|workers| workers.strong_count() > 0);
                known.alive.push(Arc::downgrade(&workers));
                workers
            }
        };
        known.last = Some(workers.clone());
        Ok(workers)
    }

    fn start(threads: usize) -> Result<Self, ExecError> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|index| format!("hush-exec-{index}"))
            .stack_size(STACK_BYTES)
            .build()
            .map_err(|_| ExecError::Internal { place: "thread pool" })?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads)
            .thread_name("hush-query")
            .thread_stack_size(STACK_BYTES)
            // Each running plan holds one thread, and may wait for a second one that reads.
            .max_blocking_threads(MAX_BLOCKING_THREADS)
            .enable_all()
            .build()
            .map_err(|_| ExecError::Internal { place: "query runtime" })?;
        Ok(Self { threads, pool, runtime: Some(runtime) })
    }

    /// The thread budget.
    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// Runs `work` with all parallel iterators inside on this pool.
    pub(crate) fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.pool.install(work)
    }

    /// The calling thread's number within the pool; 0 for any other thread.
    pub(crate) fn thread_index(&self) -> usize {
        self.pool.current_thread_index().unwrap_or(0)
    }

    /// Runs a plan on a thread of its own, which may block. Its stack is as large as those of the pool, because the caller's may
    /// be small. Such threads are kept for a while, because starting one takes longer than a small plan.
    ///
    /// # Errors
    /// Those of `work`; [`ExecError::Internal`] if it panicked.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, ExecError> + Send + 'static,
    ) -> Result<T, ExecError> {
        let gone = ExecError::Internal { place: "plan thread" };
        let Some(runtime) = &self.runtime else { return Err(gone) };
        let (done, wait) = mpsc::sync_channel(1);
        runtime.spawn_blocking(move || {
            // The receiver waits below.
            let _ = done.send(work());
        });
        wait.recv().unwrap_or(Err(gone))
    }

    /// Drives a future of the query engine to its end, on a thread that [`Workers::run`] has given.
    ///
    /// # Errors
    /// Those of the future; [`ExecError::Internal`] without a runtime.
    pub(crate) fn wait<T>(&self, future: impl Future<Output = Result<T, ExecError>>) -> Result<T, ExecError> {
        let gone = ExecError::Internal { place: "query task" };
        self.runtime.as_ref().map_or(Err(gone), |runtime| runtime.block_on(future))
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        // The last engine may go inside an asynchronous context, where waiting for the threads is not allowed.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Runs `work` on a thread of its own. Its stack is as large as those of the pool, because the caller's may be small.
///
/// # Errors
/// Those of `work`; [`ExecError::Internal`] if it panicked or the operating system starts no thread.
pub(crate) fn with_stack<T: Send>(
    work: impl FnOnce() -> Result<T, ExecError> + Send,
) -> Result<T, ExecError> {
    let failed = |_| ExecError::Internal { place: "plan thread" };
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().name("hush-plan".to_owned()).stack_size(STACK_BYTES);
        let thread = builder.spawn_scoped(scope, work).map_err(failed)?;
        thread.join().unwrap_or(Err(ExecError::Internal { place: "plan thread" }))
    })
}

/// The workers of all engines alive, and the last that an engine asked for.
struct Known {
    alive: Vec<Weak<Workers>>,
    last: Option<Arc<Workers>>,
}

static KNOWN: Mutex<Known> = Mutex::new(Known { alive: Vec::new(), last: None });

const MAX_THREADS: usize = 1024;
const MAX_BLOCKING_THREADS: usize = 1 << 14;
/// Expressions in plans may be a thousand levels deep, and the query engine walks them recursively.
const STACK_BYTES: usize = 16 << 20;
