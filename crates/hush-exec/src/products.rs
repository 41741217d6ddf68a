// SPDX-License-Identifier: Apache-2.0
//! Tasks on products: sums over all rows of products of stored ciphertexts, one answer for each run of chunks.
//!
//! Runs are worked off in order ([`conform::product_runs`]), so that only one has sums in memory. As many parts are opened as fill a piece, or some
//! pieces with encrypted constants, and the chunks of these that fit the memory are read together. Then all their ring elements are evaluated block by block, on all threads: sums
//! modulo `Q` do not depend on how they are cut.
//!
//! Rows that do not match the predicate, and deleted ones, are taken out by masks. Ring elements without a row that counts are left out. Clear conditions
//! within a factor are masks too, and so are the groups of a task with keys: the sums of a group are those of all rows with its mask in every factor.
//!
//! A job over some of the parts gives a partial answer by the same way; [`combine`] adds them up.

mod combine;
mod counted;
mod pieces;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use datafusion::logical_expr::Expr;
use hush_plan::plan::{AggregateTask, ProductsTask};
use rayon::prelude::*;

pub(crate) use self::combine::combine;
use self::counted::Counting;
use self::pieces::{Bounds, Piece, Span, pieces};
use crate::aggregate;
use crate::answer;
use crate::clear::groups::{GroupQuery, Groups};
use crate::clear::masks::{MaskSet, clear_task};
use crate::clear::scalar::Scope;
use crate::conform::{self, ProductRun, RunChunks, Strata};
use crate::error::ExecError;
use crate::job::{Extent, Job};
use crate::parts::PartSet;
use crate::scheme::{ProductChunk, ProductTotal, Products, RunningProducts, Scheme};

/// Bytes of bodies that are in memory together, for each thread, unless sums or encrypted constants take more: they are still in a cache when they are used.
const PIECE_BYTES: u64 = 8 << 20;
/// Chunks that are in memory together where a condition has encrypted constants.
const CHUNKS_OF_CONSTANTS: u64 = 8;
/// Pieces whose parts are open together there.
const PIECES_OF_CONSTANTS: u64 = 8;
/// Most parts that are open at a time, if there are not as many threads.
const MAX_OPEN: usize = 64;
/// The largest share of the memory of a job that bodies take.
const PIECE_SHARE: u64 = 8;

/// The sums of one run.
type Running<S> = <S as Scheme>::Products;
/// The finished sums of one run.
type Total<S> = <Running<S> as RunningProducts>::Total;

/// Runs a task on products over the parts of a job.
///
/// # Errors
/// Any [`ExecError`].
pub(crate) fn run<S: Scheme>(job: &Job, task: &ProductsTask) -> Result<Vec<u8>, ExecError> {
    let (products, runs) = prepare(job, task, job.extent)?;
    let scope = job.scope();
    let predicate = job.predicate(&scope)?;
    let asked = clear_task(task);
    let masks = MaskSet::parse(&scope, predicate.as_ref(), &asked)?;
    let grouped =
        (!task.keys.is_empty()).then(|| Grouped::find(job, (&scope, predicate.as_ref()), &masks, &asked));
    let grouped = grouped.transpose()?;
    let products = match &grouped {
        None => products,
        Some(grouped) => products.in_groups(grouped.groups.count())?,
    };
    let covered = covered(&runs, &job.parts);
    let clear_bytes = grouped.as_ref().map_or(0, |grouped| grouped.clear.len());
    check_answer_size::<S>(job, (&products, 1), (covered.len(), clear_bytes), job.extent, &job.parts)?;
    let products = job.workers.install(|| products.with_constants(job))?;
    check_memory::<S>(job, &products, grouped.as_ref().map(|grouped| grouped.groups.count()))?;
    let counting = Counting::new(job, masks, grouped.as_ref().map(|grouped| &grouped.groups));
    let work =
        Work::<S> { job, products: &products, counting: &counting, done: BTreeMap::new(), running: None };
    let mut done = job.workers.install(|| work.run(&runs))?;
    let mut objects = Vec::with_capacity(covered.len());
    for number in covered {
        // Nothing counts in a run that is missing.
        let nothing = || Running::<S>::new(&products).into_objects(&products, job.extent);
        objects.push((number, done.remove(&number).map_or_else(nothing, Ok)?));
    }
    let groups = grouped.as_ref().map(|grouped| (&*grouped.clear, grouped.groups.count()));
    answer::encode_products(&job.head(job.extent, &job.parts), task.sums.len(), groups, &objects)
}

/// The groups of a task with keys, and the clear half of its answer.
struct Grouped {
    groups: Groups,
    clear: Vec<u8>,
}

impl Grouped {
    /// Finds them.
    ///
    /// # Errors
    /// Any [`ExecError`] of the clear half.
    fn find(
        job: &Job,
        (scope, predicate): (&Scope<'_>, Option<&Expr>),
        masks: &MaskSet,
        asked: &AggregateTask,
    ) -> Result<Self, ExecError> {
        let query = GroupQuery::parse(scope, predicate, asked, job.workers.threads())?;
        let query = match job.extent {
            Extent::Whole => query,
            Extent::Partial => query.over_parts(&job.clear)?.query,
        };
        let groups = aggregate::groups(job, scope, masks, &query, aggregate::max_groups(job, asked))?;
        let clear = aggregate::clear_half(job, &query, job.extent, &groups.batch)?;
        Ok(Self { groups, clear })
    }
}

/// Refuses a task whose sums do not fit the memory; of groups those that are too many.
fn check_memory<S: Scheme>(job: &Job, products: &Products, groups: Option<usize>) -> Result<(), ExecError> {
    let threads = job.workers.threads();
    let memory = Running::<S>::memory_bytes(products, threads)?.saturating_add(products.chunk_bytes());
    // What encrypted constants take is there already.
    let condition = products.condition_bytes();
    let room = job.limits.memory_bytes.saturating_sub(condition) / 2;
    match groups {
        _ if memory <= room => Ok(()),
        Some(count) if count > 1 => {
            Err(ExecError::GroupLimit { limit: (room / (memory / count as u64).max(1)).max(1) })
        }
        _ => Err(ExecError::MemoryLimit),
    }
}

/// A task and its runs, for answers of this extent: partial ones are not brought back by keys.
///
/// # Errors
/// [`ExecError::Plan`] if it does not fit the table.
fn prepare(job: &Job, task: &ProductsTask, extent: Extent) -> Result<(Products, Vec<ProductRun>), ExecError> {
    let manifest = job.snapshot.manifest();
    let shape = conform::products(task, &manifest.encodings, &Strata::of(manifest))?;
    let chosen = conform::chosen(task, manifest.chunk_count())?;
    let products = Products::new(task, shape, chosen)?;
    let products = match extent {
        Extent::Whole => products.with_keys(&job.snapshot, job.limits.memory_bytes)?,
        Extent::Partial => products,
    };
    let runs = conform::product_runs(manifest, products.in_ring(), task.elements);
    Ok((products, runs))
}

/// The numbers of the runs that have chunks of some parts.
fn covered(runs: &[ProductRun], parts: &PartSet) -> Vec<u32> {
    let has = |run: &ProductRun| run.chunks.iter().any(|chunks| parts.contains(chunks.part));
    (0..).zip(runs).filter(|(_, run)| has(run)).map(|(number, _)| number).collect()
}

/// Refuses an answer of so many groups and runs, with so many clear bytes, that would be too large, before the encrypted work.
fn check_answer_size<S: Scheme>(
    job: &Job,
    (products, groups): (&Products, usize),
    (runs, clear_bytes): (usize, usize),
    extent: Extent,
    parts: &PartSet,
) -> Result<(), ExecError> {
    let head = job.head(extent, parts);
    let ranges = head.parts.as_ref().map_or(0, |parts| parts.ranges().len());
    let objects = products.run_bytes::<Total<S>>(extent).saturating_mul((runs * groups) as u64);
    let overhead = answer::products_overhead(runs, groups * products.task.sums.len(), ranges);
    // The clear half of a partial answer is not that of the answer.
    let clear_bytes = if extent == Extent::Whole { clear_bytes as u64 } else { 0 };
    let found = objects.saturating_add(overhead).saturating_add(clear_bytes);
    let limit = head.max_bytes;
    if found > limit { Err(ExecError::AnswerLimit { found, limit }) } else { Ok(()) }
}

/// The work on all runs, one after the other.
struct Work<'a, S: Scheme> {
    job: &'a Job,
    products: &'a Products,
    counting: &'a Counting<'a>,
    /// The objects of runs that are finished.
    done: BTreeMap<u32, Vec<Vec<u8>>>,
    /// The number of the present run, and its sums.
    running: Option<(u32, Running<S>)>,
}

impl<S: Scheme> Work<'_, S> {
    /// The objects of the runs in which something counts.
    fn run(mut self, runs: &[ProductRun]) -> Result<BTreeMap<u32, Vec<Vec<u8>>>, ExecError> {
        let (job, counting) = (self.job, self.counting);
        let placed = job.snapshot.parts();
        let threads = job.workers.threads();
        let piece_bytes = self.piece_bytes(threads as u64);
        // Where constants are read once for a piece, few are small because they are the last of a window.
        let of_window = if self.products.condition_bytes() > 0 { PIECES_OF_CONSTANTS } else { 1 };
        let bounds = Bounds {
            threads,
            chunk_bytes: self.products.chunk_bytes().max(1),
            together: u64::from(self.products.in_ring().1),
            piece_bytes,
            window_bytes: piece_bytes.saturating_mul(of_window),
        };
        let parts = parts_of(runs, &job.needed);
        for window in windows(&parts, &bounds) {
            let load = |(part, runs): &PartOfRuns| {
                let missing = ExecError::Internal { place: "part of a run" };
                let part = placed.get(*part as usize).ok_or(missing)?;
                counting.load(*part, runs, self.products)
            };
            let parts: Vec<_> = window.par_iter().map(load).collect::<Result<_, _>>()?;
            for piece in pieces(&parts, &bounds) {
                self.add(&piece)?;
            }
            for part in &parts {
                part.expect_unchanged()?;
            }
        }
        self.finish()?;
        Ok(self.done)
    }

    /// Bytes of a piece. Every sum is read and written once for a piece: one of twice the bytes of all sums keeps that below the reading of bodies.
    fn piece_bytes(&self, threads: u64) -> u64 {
        let sums = Total::<S>::memory_bytes(self.products);
        let limit = self.job.limits.memory_bytes;
        let condition = self.products.condition_bytes();
        if condition > 0 {
            // Constants are read once for a few chunks, and take longer than these if they are fewer.
            let chunks = CHUNKS_OF_CONSTANTS.saturating_mul(self.products.chunk_bytes());
            return chunks.min(limit.saturating_sub(condition) / 2);
        }
        let most = limit / PIECE_SHARE;
        PIECE_BYTES.saturating_mul(threads).max(sums.saturating_mul(2)).min(most)
    }

    /// Reads the chunks of a piece, and adds their products.
    fn add(&mut self, piece: &Piece<'_>) -> Result<(), ExecError> {
        let (job, products) = (self.job, self.products);
        if self.running.as_ref().is_none_or(|(run, _)| *run != piece.run) {
            self.finish()?;
        }
        job.stop.check()?;
        let read = |span: &Span<'_>| span.read(&job.stop);
        let rows: Vec<_> = piece.spans.par_iter().map(read).collect::<Result<_, _>>()?;
        let chunks = piece.spans.iter().zip(&rows).flat_map(|(span, rows)| span.inputs(&job.snapshot, rows));
        let chunks: Vec<ProductChunk<'_>> = chunks.collect();
        let (_, sums) = self.running.get_or_insert_with(|| (piece.run, Running::<S>::new(products)));
        sums.absorb(products, &chunks, &job.stop)
    }

    /// Writes the objects of the present run.
    fn finish(&mut self) -> Result<(), ExecError> {
        if let Some((run, sums)) = self.running.take() {
            let objects = sums.into_objects(self.products, self.job.extent)?;
            self.done.insert(run, objects);
        }
        Ok(())
    }
}

/// Parts that are opened together: as many as fill a window, one for each thread at least, and no more than [`MAX_OPEN`] otherwise.
fn windows<'p>(parts: &'p [PartOfRuns], bounds: &Bounds) -> impl Iterator<Item = &'p [PartOfRuns]> {
    let bytes = |(_, runs): &PartOfRuns| {
        let chunks = runs.iter().map(|run| (run.chunks.chunks.len() as u64).div_ceil(bounds.together));
        let chunks: u64 = chunks.sum();
        chunks.saturating_mul(bounds.chunk_bytes)
    };
    let (threads, window_bytes) = (bounds.threads.max(1), bounds.window_bytes);
    let mut rest = parts;
    std::iter::from_fn(move || {
        let mut together = 0_u64;
        let mut is_filled = |(place, part): (usize, &PartOfRuns)| {
            together = together.saturating_add(bytes(part));
            place + 1 >= threads && (together >= window_bytes || place + 1 >= MAX_OPEN)
        };
        let last = rest.iter().enumerate().position(&mut is_filled);
        let (window, behind) = rest.split_at(last.map_or(rest.len(), |last| last + 1));
        rest = behind;
        Some(window).filter(|window| !window.is_empty())
    })
}

/// A part, with the runs that it has chunks of.
type PartOfRuns = (u32, Vec<RunOfPart>);

/// Chunks of one part that are in one run.
#[derive(Clone, Debug)]
struct RunOfPart {
    run: u32,
    chunks: RunChunks,
}

/// The parts that are needed, in the order of runs, with the runs of each.
fn parts_of(runs: &[ProductRun], needed: &PartSet) -> Vec<PartOfRuns> {
    let mut parts: Vec<PartOfRuns> = Vec::new();
    for (run, of_run) in (0..).zip(runs) {
        for chunks in of_run.chunks.iter().filter(|chunks| needed.contains(chunks.part)) {
            let here = RunOfPart { run, chunks: chunks.clone() };
            match parts.last_mut() {
                Some((part, runs)) if *part == chunks.part => runs.push(here),
                _ => parts.push((chunks.part, vec![here])),
            }
        }
    }
    parts
}
