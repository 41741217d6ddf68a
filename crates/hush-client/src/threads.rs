// SPDX-License-Identifier: Apache-2.0
//! The threads of an encryption or an evaluation.

use crate::error::ClientError;

/// A rayon pool with the thread budget.
pub(crate) fn thread_pool(threads: usize) -> Result<rayon::ThreadPool, ClientError> {
    let built = rayon::ThreadPoolBuilder::new().num_threads(threads.max(1)).build();
    built.map_err(|_| ClientError::Internal { what: "no threads can be started" })
}
