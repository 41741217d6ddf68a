// SPDX-License-Identifier: Apache-2.0
//! Aggregate tasks: groups from the clear half, masked sums of encoded columns, one pass over the chunks.
//!
//! Parts are worked off a few at a time, their chunks spread over the threads. A chunk is read just before it is added: it
//! is still in the thread's cache then, and memory holds one chunk for each thread. Each thread adds to accumulators of
//! its own, which are put together at the end: sums modulo `Q` do not depend on the order. If the accumulators of
//! all groups do not fit the memory limit, groups are worked off in batches with one pass over the table each.
//!
//! If every row of a part counts once, for all of a block's columns, the part is summed apart and its sum kept ([`kept`]): the
//! next plan that needs it reads nothing of the part.

mod kept;
mod sums;

use hush_plan::plan::AggregateTask;
use hush_ring::Ring;
use hush_schemes::bgv::sum::SumAccumulator;
use rayon::prelude::*;

pub use self::kept::SumCache;

use self::sums::{GroupSums, WholeParts};
use crate::answer::{self, SumBlock};
use crate::clear::groups::{GroupQuery, Groups};
use crate::clear::masks::MaskSet;
use crate::clear::scalar::Scope;
use crate::conform;
use crate::error::{ExecError, ExpressionRole};
use crate::job::Job;
use crate::noop::{PlainSums, Scheme};
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
pub(crate) fn run(job: &Job<'_>, task: &AggregateTask) -> Result<Vec<u8>, ExecError> {
    let manifest = job.snapshot.manifest();
    let shape = conform::aggregate(task, &manifest.encodings)?;
    let blocks: Vec<Block> = shape
        .blocks
        .into_iter()
        .map(|block| Ok(Block { ring: table::ring(block.set)?, block }))
        .collect::<Result<_, ExecError>>()?;
    let scope = Scope { state: job.session, schema: job.snapshot.clear().df_schema(), stop: job.stop };
    let parse = |predicate| scope.predicate(ExpressionRole::Predicate, predicate);
    let predicate = job.predicate.map(parse).transpose()?;
    let query = GroupQuery::parse(&scope, predicate.as_ref(), task, job.workers.threads())?;
    let masks = MaskSet::parse(&scope, predicate.as_ref(), task)?;
    let groups = group(job, task, query)?;
    let clear = answer::write_clear(&groups.batch)?;
    check_answer_size(job, &blocks, &groups, clear.len())?;
    let answers = job.workers.install(|| sum(job, &masks, &groups, &blocks))?;
    let answered: Vec<_> = blocks.into_iter().map(|block| block.block).zip(answers).collect();
    answer::encode_aggregate(&job.head, &clear, groups.count(), &answered)
}

fn group(job: &Job<'_>, task: &AggregateTask, query: GroupQuery) -> Result<Groups, ExecError> {
    // Counting all rows needs no file: the manifest knows how many there are.
    let count_alone = query.counts_alone();
    let max_groups = task.max_groups.min(job.limits.max_groups);
    let (session, snapshot, stop) = (job.session.clone(), job.snapshot.clone(), job.stop.clone());
    job.workers.wait(async move {
        let rows = if count_alone { Some(snapshot.manifest().rows) } else { None };
        stop.guard(query.run(&session, snapshot.clear(), rows, max_groups)).await
    })
}

/// Refuses before the encrypted work what would not be sent after it.
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
fn sum(
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
    let batch = groups_per_pass(job, blocks)?;
    let whole = whole_parts(job, groups, blocks);
    for first in (0..groups.count()).step_by(batch) {
        let range = first..groups.count().min(first + batch);
        let sums = GroupSums::new(job, blocks, range, whole);
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
fn pass(
    sums: &GroupSums<'_>,
    masks: &MaskSet,
    groups: &Groups,
    window: &[PartRef<'_>],
) -> Result<(), ExecError> {
    let parts: Vec<_> =
        window.par_iter().map(|part| sums.load(*part, masks, groups)).collect::<Result<_, _>>()?;
    sums.add(&parts)
}

/// Kept sums of whole parts are used only if there are no group keys, and if a second accumulator for every thread fits. A dry
/// run adds plain values, which is as fast as looking sums up.
fn whole_parts(job: &Job<'_>, groups: &Groups, blocks: &[Block]) -> WholeParts {
    let fits = accumulator_bytes(job, blocks, 1).saturating_mul(2) <= job.limits.memory_bytes / 2;
    if job.scheme == Scheme::Lattice && !groups.has_keys() && fits {
        WholeParts::Kept
    } else {
        WholeParts::Summed
    }
}

/// Groups whose accumulators fit half of the memory limit, for every thread at once.
fn groups_per_pass(job: &Job<'_>, blocks: &[Block]) -> Result<usize, ExecError> {
    let bytes = |groups: usize| accumulator_bytes(job, blocks, groups);
    let limit = job.limits.memory_bytes / 2;
    let fixed = bytes(1);
    if fixed > limit {
        return Err(ExecError::MemoryLimit);
    }
    // Linear but for the buffers of a single group, which `fixed` contains: the step is an upper bound.
    let step = (bytes(3) - bytes(2)).max(1);
    Ok(1 + usize::try_from((limit - fixed) / step).unwrap_or(usize::MAX / 2))
}

/// Bytes of the accumulators of so many groups, on all threads.
fn accumulator_bytes(job: &Job<'_>, blocks: &[Block], groups: usize) -> u64 {
    let each = blocks.iter().map(|block| match (job.scheme, block.block.columns.len()) {
        (Scheme::Lattice, columns) => SumAccumulator::memory_bytes(&block.ring, groups, columns) as u64,
        (Scheme::NoOp, columns) => PlainSums::memory_bytes(groups, columns) as u64,
    });
    each.sum::<u64>().saturating_mul(job.workers.threads() as u64)
}
