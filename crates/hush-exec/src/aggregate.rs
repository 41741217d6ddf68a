// SPDX-License-Identifier: Apache-2.0
//! Aggregate tasks: groups from the clear half, masked sums of encoded columns, one pass over the chunks.
//!
//! Parts are worked off a few at a time, their chunks spread over the threads. A chunk is read just before it is added: it
//! is still in the thread's cache then, and memory holds one chunk for each thread. Each thread adds to accumulators of
//! its own, which are merged at the end: sums modulo `Q` do not depend on the order. If the accumulators of all groups
//! do not fit the memory limit, groups are worked off in batches with one pass over the table each.
//!
//! Parts of different domains are under different secrets, so each domain has blocks of its own, and a part adds to those of its domain.
//! Columns that some parts lack have blocks of their own, to which these parts add nothing.
//!
//! A job over some of the parts gives a partial answer by the same way; [`combine`] adds them up.
//!
//! If every row of a part counts once in a block, the part is summed apart and its sum is kept ([`crate::kept`]). The next
//! plan that needs the sum reads nothing of the part.

mod combine;
mod sums;

use arrow::array::RecordBatch;
use hush_plan::plan::AggregateTask;
use hush_ring::Ring;
use rayon::prelude::*;

pub(crate) use self::combine::combine;
use self::sums::{GroupSums, WholeParts};
use crate::answer::{self, SumBlock};
use crate::clear::groups::{GroupQuery, Groups};
use crate::clear::masks::MaskSet;
use crate::clear::scalar::Scope;
use crate::clear::{counts, totals};
use crate::conform::{self, Strata};
use crate::error::ExecError;
use crate::job::{Extent, Job};
use crate::scheme::{RunningSums, Scheme};
use crate::table::{self, PartRef};

/// A block of the answer with its ring.
pub(crate) struct Block {
    pub(crate) block: SumBlock,
    pub(crate) ring: Ring,
}

/// Runs an aggregate task over the parts of a job.
///
/// # Errors
/// Any [`ExecError`].
pub(crate) fn run<S: Scheme>(job: &Job, task: &AggregateTask) -> Result<Vec<u8>, ExecError> {
    let blocks = blocks(job, task)?;
    let scope = job.scope();
    let predicate = job.predicate(&scope)?;
    let query = GroupQuery::parse(&scope, predicate.as_ref(), task, job.workers.threads())?;
    let masks = MaskSet::parse(&scope, predicate.as_ref(), task)?;
    let query = match job.extent {
        Extent::Whole => query,
        Extent::Partial => query.over_parts(&job.clear)?.query,
    };
    let max_groups = max_groups(job, task);
    let groups = groups(job, &scope, &masks, &query, max_groups)?;
    let clear = clear_half(job, &query, job.extent, &groups.batch)?;
    check_answer_size(job, &blocks, groups.count(), clear.len())?;
    let sums = job.workers.install(|| sum::<S>(job, &masks, &groups, &blocks))?;
    let answered: Vec<_> = blocks.into_iter().map(|block| block.block).zip(sums).collect();
    answer::encode_aggregate(&job.head(job.extent, &job.parts), &clear, groups.count(), &answered)
}

/// The blocks of a task.
///
/// # Errors
/// [`ExecError::Plan`] if the table has no such encoded columns.
fn blocks(job: &Job, task: &AggregateTask) -> Result<Vec<Block>, ExecError> {
    let manifest = job.snapshot.manifest();
    let shape = conform::aggregate(task, &manifest.encodings, &Strata::of(manifest))?;
    shape.blocks.into_iter().map(|block| Ok(Block { ring: table::ring(block.set)?, block })).collect()
}

/// Most groups of an answer.
pub(crate) fn max_groups(job: &Job, task: &AggregateTask) -> u64 {
    task.max_groups.min(job.limits.max_groups)
}

/// The groups: by one pass of our own where that does, else by the query engine.
///
/// # Errors
/// Any [`ExecError`] of the clear half.
pub(crate) fn groups(
    job: &Job,
    scope: &Scope<'_>,
    masks: &MaskSet,
    query: &GroupQuery,
    max_groups: u64,
) -> Result<Groups, ExecError> {
    if let Some(groups) = totals::group(job, scope, query, max_groups)? {
        return Ok(groups);
    }
    match counts::groups(job, masks, query, max_groups)? {
        Some(groups) => Ok(groups),
        None => group(job, query, max_groups),
    }
}

fn group(job: &Job, query: &GroupQuery, max_groups: u64) -> Result<Groups, ExecError> {
    job.workers.wait(job.stop.guard(query.run(&job.session, &job.clear, max_groups)))
}

/// The clear half: of an answer the plan's outputs for each group, of a partial answer the groups.
///
/// # Errors
/// Any [`ExecError`] of the query engine.
pub(crate) fn clear_half(
    job: &Job,
    query: &GroupQuery,
    extent: Extent,
    groups: &RecordBatch,
) -> Result<Vec<u8>, ExecError> {
    match extent {
        Extent::Whole => {
            let outputs = query.outputs(&job.session, groups);
            answer::write_clear(&job.workers.wait(job.stop.guard(outputs))?)
        }
        Extent::Partial => answer::write_clear(groups),
    }
}

/// Refuses an answer that would be too large, before the encrypted work.
fn check_answer_size(
    job: &Job,
    blocks: &[Block],
    group_count: usize,
    clear_bytes: usize,
) -> Result<(), ExecError> {
    let object = |block: &Block| hush_rlwe::sum_answer_bytes(&block.ring, block.block.columns.len()) as u64;
    let each: u64 = blocks.iter().map(object).sum();
    let encrypted = each.saturating_mul(group_count as u64);
    // The clear half of a partial answer is not that of the answer, which has at least as many groups.
    let clear_bytes = if job.extent == Extent::Whole { clear_bytes as u64 } else { 0 };
    let found =
        encrypted.saturating_add(answer::aggregate_overhead(blocks.len())).saturating_add(clear_bytes);
    let limit = job.max_answer_bytes();
    if found > limit { Err(ExecError::AnswerLimit { found, limit }) } else { Ok(()) }
}

/// For each block the encoded answers of all groups.
fn sum<S: Scheme>(
    job: &Job,
    masks: &MaskSet,
    groups: &Groups,
    blocks: &[Block],
) -> Result<Vec<Vec<Vec<u8>>>, ExecError> {
    let mut answers: Vec<Vec<Vec<u8>>> = vec![Vec::with_capacity(groups.count()); blocks.len()];
    if blocks.is_empty() {
        return Ok(answers);
    }
    let parts = job.placed_parts();
    let batch = groups_per_pass::<S>(job, blocks)?;
    let whole = whole_parts::<S>(job, groups, blocks);
    for first in (0..groups.count()).step_by(batch) {
        let range = first..groups.count().min(first + batch);
        let sums = GroupSums::<S>::new(job, blocks, range, whole);
        for window in parts.chunks(job.workers.threads()) {
            pass(&sums, masks, groups, window)?;
        }
        for (all, some) in answers.iter_mut().zip(sums.finish()?) {
            all.extend(some);
        }
    }
    Ok(answers)
}

/// Adds all chunks of a few parts.
fn pass<S: Scheme>(
    sums: &GroupSums<'_, S>,
    masks: &MaskSet,
    groups: &Groups,
    window: &[PartRef<'_>],
) -> Result<(), ExecError> {
    let parts: Vec<_> =
        window.par_iter().map(|part| sums.load(*part, masks, groups)).collect::<Result<_, _>>()?;
    sums.add(&parts)
}

/// Kept sums of whole parts are used only if there are no group keys, and if a second accumulator for every thread fits.
fn whole_parts<S: Scheme>(job: &Job, groups: &Groups, blocks: &[Block]) -> WholeParts {
    let fits = accumulator_bytes::<S>(job, blocks, 1).saturating_mul(2) <= job.limits.memory_bytes / 2;
    if S::Sums::CAN_BE_KEPT && !groups.has_keys() && fits { WholeParts::Kept } else { WholeParts::Summed }
}

/// Number of groups whose accumulators fit half of the memory limit, on all threads together.
fn groups_per_pass<S: Scheme>(job: &Job, blocks: &[Block]) -> Result<usize, ExecError> {
    let bytes = |groups: usize| accumulator_bytes::<S>(job, blocks, groups);
    let limit = job.limits.memory_bytes / 2;
    let fixed = bytes(1);
    if fixed > limit {
        return Err(ExecError::MemoryLimit);
    }
    // Bytes grow linearly, but for the buffers of a single group, which `fixed` contains. So the step is an upper bound.
    let step = (bytes(3) - bytes(2)).max(1);
    Ok(1 + usize::try_from((limit - fixed) / step).unwrap_or(usize::MAX / 2))
}

/// Bytes of the accumulators of so many groups, on all threads.
fn accumulator_bytes<S: Scheme>(job: &Job, blocks: &[Block], groups: usize) -> u64 {
    let bytes = |block: &Block| S::Sums::memory_bytes(&block.ring, groups, block.block.columns.len()) as u64;
    blocks.iter().map(bytes).sum::<u64>().saturating_mul(job.workers.threads() as u64)
}
