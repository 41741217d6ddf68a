// SPDX-License-Identifier: Apache-2.0
//! The threads of an encryption or an evaluation.

use std::sync::{Arc, Mutex, PoisonError};

use crate::error::ClientError;

/// A rayon pool with the thread budget. The last pool is used again if it has the same, because starting threads takes longer
/// than encrypting a small table.
pub(crate) fn thread_pool(threads: usize) -> Result<Arc<rayon::ThreadPool>, ClientError> {
    // Kept with the process that made it, because a forked process has none of its threads.
    static LAST: Mutex<Option<(u32, Arc<rayon::ThreadPool>)>> = Mutex::new(None);
    let (threads, process) = (threads.max(1), std::process::id());
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((maker, pool)) = last.as_ref()
        && *maker == process
        && pool.current_num_threads() == threads
    {
        return Ok(Arc::clone(pool));
    }
    let built = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = Arc::new(built.map_err(|_| ClientError::Internal { what: "no threads can be started" })?);
    *last = Some((process, Arc::clone(&pool)));
    Ok(pool)
}

/// Runs what works in parallel on so many threads.
///
/// # Errors
/// Those of the work; [`ClientError::Internal`] if no threads can be started.
pub(crate) fn on_threads<T: Send>(
    threads: usize,
    work: impl FnOnce() -> Result<T, ClientError> + Send,
) -> Result<T, ClientError> {
    thread_pool(threads)?.install(work)
}
