// SPDX-License-Identifier: Apache-2.0
//! Rows of a source on their way through reading, typing and encrypting, in bounded memory.

use std::collections::VecDeque;

use hush_encode::clear_schema;
use hush_plan::Schema;
use hush_remote::Progress;
use hush_system::memory::{memory_limit, peak_resident_bytes};
use hush_table::source::Source;

use super::line::{Line, Made};
use super::memory::{Flow, Need};
use crate::chunk::ChunkPlan;
use crate::error::ClientError;

/// The rows of a source, as a schema reads them, and what encrypting them may take.
pub(crate) struct Rows<'a> {
    /// The data.
    pub(crate) source: &'a Source,
    /// The schema that types them.
    pub(crate) schema: &'a Schema,
    /// Threads.
    pub(crate) pool: &'a rayon::ThreadPool,
    /// Most bytes that the process may take; `None` for as many as the system allows.
    pub(crate) memory_limit: Option<u64>,
}

impl Rows<'_> {
    /// How chunks will pass through the memory.
    ///
    /// # Errors
    /// [`ClientError::MemoryLimit`] if the memory cannot suffice.
    pub(crate) fn flow(&self, plan: &ChunkPlan<'_>) -> Result<Flow, ClientError> {
        flow_of(self.schema, plan, self.pool, self.memory_limit, self.source.decode_bytes())
    }

    /// Encrypts the rows, chunk by chunk, and gives each to `take`, in their order. With `stored`, chunks get fingerprints, and the first
    /// `stored` ones no encryption.
    ///
    /// # Errors
    /// Faults of the rows; those of `take`; too much memory.
    pub(crate) fn encrypt(
        &self,
        plan: &ChunkPlan<'_>,
        flow: Flow,
        stored: Option<u32>,
        progress: &dyn Progress,
        take: impl FnMut(Made) -> Result<(), ClientError>,
    ) -> Result<(), ClientError> {
        progress.begin("encrypt", self.source.rows(), "rows");
        let passed = self.pass(plan, flow, stored, progress, take);
        progress.end();
        passed
    }

    fn pass(
        &self,
        plan: &ChunkPlan<'_>,
        flow: Flow,
        stored: Option<u32>,
        progress: &dyn Progress,
        mut take: impl FnMut(Made) -> Result<(), ClientError>,
    ) -> Result<(), ClientError> {
        let before = peak_resident_bytes();
        let reader = self.source.typed(self.schema)?.with_text_limit(flow.text_bytes);
        let (mut raw_chunks, typer) = reader.chunks_ahead(flow.window, flow.raw_bytes);
        let clear = clear_schema(self.schema);
        let line = Line::new(plan, self.schema, &clear, typer, stored);
        self.pool.in_place_scope(|scope| {
            let (mut under_way, mut next_chunk) = (VecDeque::with_capacity(flow.window), 0_u32);
            loop {
                check_memory(self.memory_limit, before)?;
                while under_way.is_empty() || under_way.len() + plan.together() <= flow.window {
                    let together: Vec<_> = raw_chunks.by_ref().take(plan.together()).collect();
                    let count = together.len();
                    under_way.extend(line.begin(scope, next_chunk, together));
                    next_chunk += count as u32;
                    if count < plan.together() {
                        break;
                    }
                }
                // The oldest first: errors come in the order of rows too.
                let Some(oldest) = under_way.pop_front() else { return Ok(()) };
                let made = oldest.wait()?;
                let rows = made.rows as u64;
                take(made)?;
                progress.advance(rows);
            }
        })
    }
}

/// How chunks will pass through the memory, beside the `read` bytes that reading them takes.
///
/// # Errors
/// [`ClientError::MemoryLimit`] if the memory cannot suffice.
pub(crate) fn flow_of(
    schema: &Schema,
    plan: &ChunkPlan<'_>,
    pool: &rayon::ThreadPool,
    limit: Option<u64>,
    read: u64,
) -> Result<Flow, ClientError> {
    let threads = pool.current_num_threads();
    let limits = [limit, memory_limit(threads)];
    let Some(limit) = limits.into_iter().flatten().min() else { return Ok(Flow::unlimited(threads)) };
    Flow::within(limit, threads, &Need::of(schema, plan, read))
}

/// Refuses an encryption that has taken more memory than its limit, by the system's own count. The model should have kept it
/// below, but does not know files with unusual pages.
///
/// `before` is the peak of the process before this encryption, which is not its fault.
///
/// # Errors
/// [`ClientError::MemoryPassed`].
pub(crate) fn check_memory(limit: Option<u64>, before: Option<u64>) -> Result<(), ClientError> {
    let Some(limit) = limit else { return Ok(()) };
    match peak_resident_bytes() {
        Some(found) if found > limit && before.is_none_or(|before| found > before) => {
            Err(ClientError::MemoryPassed { limit, found })
        }
        _ => Ok(()),
    }
}
