// SPDX-License-Identifier: Apache-2.0
//! Aggregate tasks: groups from the clear half, masked sums of encoded columns, one pass over the chunks.
//!
//! Parts are worked off a few at a time, their chunks spread over the threads. A chunk is read just before it is added: it
//! is still in the thread's cache then, and memory holds one chunk for each thread. Each thread adds to accumulators of
//! its own, which are merged at the end: sums modulo `Q` do not depend on the order. If the accumulators of all groups
//! do not fit the memory limit, groups are worked off in batches with one pass over the table each.
//!
//! If every row of a part counts once in a block, the part is summed apart and its sum is kept ([`crate::kept`]). The next
//! plan that needs the sum reads nothing of the part.

mod sums;

use hush_plan::plan::AggregateTask;
use hush_ring::Ring;
use rayon::prelude::*;

use self::sums::{GroupSums, WholeParts};
use crate::answer::{self, SumBlock};
use crate::clear::counts;
use crate::clear::groups::{GroupQuery, Groups};
use crate::clear::masks::MaskSet;
use crate::clear::scalar::Scope;
use crate::conform;
use crate::error::{ExecError, ExpressionRole};
use crate::job::Job;
use crate::scheme::{RunningSums, Scheme};
use crate::table::{self, PartRef};

/// A block of the answer with its ring.
pub(crate) struct Block {
    pub(crate) block: SumBlock,
    pub(crate) ring: Ring,
}

/// Runs an aggregate task.
///
/// # Errors
/// Any [`ExecError`].
pub(crate) fn run<S: Scheme>(job: &Job<'_>, task: &AggregateTask) -> Result<Vec<u8>, ExecError> {
    let manifest = job.snapshot.manifest();
    let shape = conform::aggregate(task, &manifest.encodings)?;
    let blocks: Vec<Block> = shape
        .blocks
        .into_iter()
        .map(|block| Ok(Block { ring: table::ring(block.set)?, block }))
        .collect::<Result<_, ExecError>>()?;
    let scope =
        Scope { state: job.session.state(), schema: job.snapshot.clear().df_schema(), stop: job.stop };
    let parse = |predicate| scope.predicate(ExpressionRole::Predicate, predicate);
    let predicate = job.predicate.map(parse).transpose()?;
    let query = GroupQuery::parse(&scope, predicate.as_ref(), task, job.workers.threads())?;
    let masks = MaskSet::parse(&scope, predicate.as_ref(), task)?;
    let max_groups = task.max_groups.min(job.limits.max_groups);
    let groups = match counts::groups(job, &masks, &query, max_groups)? {
        Some(groups) => groups,
        None => group(job, &query, max_groups)?,
    };
    let clear = answer::write_clear(&groups.batch)?;
    check_answer_size(job, &blocks, &groups, clear.len())?;
    let answers = job.workers.install(|| sum::<S>(job, &masks, &groups, &blocks))?;
    let answered: Vec<_> = blocks.into_iter().map(|block| block.block).zip(answers).collect();
    answer::encode_aggregate(&job.head, &clear, groups.count(), &answered)
}

fn group(job: &Job<'_>, query: &GroupQuery, max_groups: u64) -> Result<Groups, ExecError> {
    // Counting all rows needs no file: the manifest knows how many there are.
    let count_alone = query.counts_alone();
    let rows = count_alone.then_some(job.snapshot.manifest().rows);
    job.workers.wait(job.stop.guard(query.run(job.session, job.snapshot.clear(), rows, max_groups)))
}

/// Refuses an answer that would be too large, before the encrypted work.
fn check_answer_size(
    job: &Job<'_>,
    blocks: &[Block],
    groups: &Groups,
    clear_bytes: usize,
) -> Result<(), ExecError> {
    let object = |block: &Block| hush_rlwe::sum_answer_bytes(&block.ring, block.block.columns.len()) as u64;
    let each: u64 = blocks.iter().map(object).sum();
    let encrypted = each.saturating_mul(groups.count() as u64);
    let found =
        encrypted.saturating_add(answer::aggregate_overhead(blocks.len())).saturating_add(clear_bytes as u64);
    if found > job.head.max_bytes {
        return Err(ExecError::AnswerLimit { found, limit: job.head.max_bytes });
    }
    Ok(())
}

/// For each block the encoded answers of all groups.
fn sum<S: Scheme>(
    job: &Job<'_>,
    masks: &MaskSet,
    groups: &Groups,
    blocks: &[Block],
) -> Result<Vec<Vec<Vec<u8>>>, ExecError> {
    let mut answers: Vec<Vec<Vec<u8>>> = vec![Vec::with_capacity(groups.count()); blocks.len()];
    if blocks.is_empty() {
        return Ok(answers);
    }
    let parts = job.snapshot.parts();
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
fn whole_parts<S: Scheme>(job: &Job<'_>, groups: &Groups, blocks: &[Block]) -> WholeParts {
    let fits = accumulator_bytes::<S>(job, blocks, 1).saturating_mul(2) <= job.limits.memory_bytes / 2;
    if S::Sums::CAN_BE_KEPT && !groups.has_keys() && fits { WholeParts::Kept } else { WholeParts::Summed }
}

/// Number of groups whose accumulators fit half of the memory limit, on all threads together.
fn groups_per_pass<S: Scheme>(job: &Job<'_>, blocks: &[Block]) -> Result<usize, ExecError> {
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
fn accumulator_bytes<S: Scheme>(job: &Job<'_>, blocks: &[Block], groups: usize) -> u64 {
    let bytes = |block: &Block| S::Sums::memory_bytes(&block.ring, groups, block.block.columns.len()) as u64;
    blocks.iter().map(bytes).sum::<u64>().saturating_mul(job.workers.threads() as u64)
}
