// SPDX-License-Identifier: Apache-2.0
//! Rows tasks: the clear columns of matching rows, and for every chunk with matches the programs' ciphertexts and the
//! fetched columns.
//!
//! A ciphertext covers a whole ring element, so the answer also holds the slots of rows that do not match; the owner
//! passes over them. Parts are read a few at a time, in order, until the limit is reached. A job over
//! some of the parts gives a partial answer by the same way; [`combine`] adds them up. Parts whose cube or sorted run a task
//! names send its cells, or pieces of the run, in the place of rows.

mod combine;
mod cube;
mod fetch;
mod run;

use arrow::array::RecordBatch;
use hush_plan::EncodingId;
use hush_plan::plan::RowsTask;
use hush_table::ChunkRow;
use rayon::prelude::*;

pub(crate) use self::combine::combine;
use self::fetch::Fetcher;
pub(crate) use self::run::asked as asked_of_run;
use crate::answer::{self, RowsChunkParts, Section};
use crate::clear::select::{Operand, RowSelector};
use crate::conform::{self, RowsShape};
use crate::error::ExecError;
use crate::job::Job;
use crate::scheme::{ChunkInput, Program, Scheme};
use crate::table::{self, PartRef};

/// Whether a part answers a task by what is prepared of it, and sends no rows.
pub(crate) fn is_covered(task: &RowsTask, part: PartRef<'_>) -> bool {
    cube::is_covered(task, part) || run::is_covered(task, part)
}

/// Runs a rows task.
///
/// # Errors
/// Any [`ExecError`].
pub(crate) fn run<S: Scheme>(job: &Job, task: &RowsTask) -> Result<Vec<u8>, ExecError> {
    let shape = conform::rows(task, &job.snapshot.manifest().encodings)?;
    let scope = job.scope();
    let predicate = job.predicate(&scope)?;
    let selector = RowSelector::parse(&scope, predicate.as_ref(), task, &shape.approximate_operands)?;
    let programs = task.programs.iter().zip(&shape.programs).enumerate();
    let programs =
        programs.map(|(index, (expr, shape))| Program::new::<S>(expr, shape, task.bits_of_program(index)));
    let programs = programs.collect::<Result<Vec<_>, _>>()?;
    conform::sealed(task, &job.snapshot.manifest().sealed_numbers())?;
    conform::prepared(task, job.snapshot.manifest())?;
    let fetchers = shape.fetch.iter().map(Fetcher::new::<S>).collect::<Result<Vec<_>, _>>()?;
    let head = job.head(job.extent, &job.parts);
    let max_bytes = if task.limit.is_some() { head.max_bytes } else { job.max_answer_bytes() };
    let section = job.workers.install(|| prepared(job, task, max_bytes))?;
    let plan = RowsPlan {
        job,
        parts: job.placed_parts().into_iter().filter(|part| !is_covered(task, *part)).collect(),
        section_bytes: section.len() as u64,
        max_bytes,
        shape: &shape,
        selector: &selector,
        programs: &programs,
        evaluate: S::evaluate,
        fetchers: &fetchers,
        sealed: &task.sealed,
    };
    let (batches, chunks) = job.workers.install(|| plan.run(task.limit.unwrap_or(u64::MAX)))?;
    let clear = answer::write_matching(&selector.concat(&batches)?)?;
    let counts = (shape.programs.len(), shape.fetch.len() + task.sealed.len());
    answer::encode_rows(&head, &clear, counts, &chunks, &section)
}

/// What the parts of a job send in the place of rows.
fn prepared(job: &Job, task: &RowsTask, max_bytes: u64) -> Result<Section, ExecError> {
    if let Some(run) = &task.run {
        return Ok(Section::of_pieces(run::pieces(job, run, max_bytes)?));
    }
    Ok(Section::of_cells(cube::sums(job, task, max_bytes)?.as_ref()))
}

/// A checked task, ready to run.
struct RowsPlan<'a> {
    job: &'a Job,
    /// Those that send rows, in order.
    parts: Vec<PartRef<'a>>,
    /// Of what other parts send in the place of rows.
    section_bytes: u64,
    /// Of the answer. With a limit, of the partial answer: it does not know of the rows before, and may be the larger one.
    max_bytes: u64,
    shape: &'a RowsShape,
    selector: &'a RowSelector,
    programs: &'a [Program<'a>],
    evaluate: Evaluate,
    fetchers: &'a [Fetcher<'a>],
    /// Numbers of sealed columns.
    sealed: &'a [u32],
}

/// Evaluates a program on a chunk, by the scheme of the engine ([`Scheme::evaluate`]).
type Evaluate = fn(&Program<'_>, &ChunkInput<'_>, &[Operand]) -> Result<Vec<u8>, ExecError>;

/// A chunk with matching rows.
struct Match {
    chunk: u32,
    matching: RecordBatch,
    operands: Vec<Operand>,
}

impl RowsPlan<'_> {
    /// The clear halves of the chunks with matches, in order, and their encrypted halves.
    fn run(&self, limit: u64) -> Result<(Vec<RecordBatch>, Vec<RowsChunkParts>), ExecError> {
        let (mut batches, mut chunks) = (Vec::new(), Vec::new());
        let (mut left, mut bytes) = (limit, self.section_bytes);
        for window in self.parts.chunks(self.job.workers.threads()) {
            if left == 0 {
                break;
            }
            let mut found: Vec<Vec<Match>> =
                window.par_iter().map(|part| self.find(*part)).collect::<Result<_, _>>()?;
            for (part, matches) in window.iter().zip(&mut found) {
                cut(matches, &mut left);
                bytes = bytes.saturating_add(self.predict(*part, matches));
            }
            self.check_bytes(bytes)?;
            let answer = |(part, matches): (&PartRef<'_>, &Vec<Match>)| self.answer(*part, matches);
            let answered: Vec<_> =
                window.par_iter().zip(&found).map(answer).collect::<Result<_, ExecError>>()?;
            let answered: Vec<RowsChunkParts> = answered.into_iter().flatten().collect();
            let sealed = answered.iter().flat_map(|chunk| chunk.objects.iter().rev().take(self.sealed.len()));
            bytes = bytes.saturating_add(sealed.map(|object| object.len() as u64).sum());
            self.check_bytes(bytes)?;
            chunks.extend(answered);
            batches.extend(found.into_iter().flatten().map(|found| found.matching));
        }
        Ok((batches, chunks))
    }

    fn check_bytes(&self, found: u64) -> Result<(), ExecError> {
        let limit = self.max_bytes;
        if found > limit { Err(ExecError::AnswerLimit { found, limit }) } else { Ok(()) }
    }

    /// Objects that go back for each chunk.
    fn object_count(&self) -> usize {
        self.shape.programs.len() + self.shape.fetch.len() + self.sealed.len()
    }

    /// The chunks of a part in which rows match.
    fn find(&self, part: PartRef<'_>) -> Result<Vec<Match>, ExecError> {
        let clear = self.job.snapshot.clear_part(part)?;
        if clear.as_ref().is_some_and(|clear| self.selector.excludes(clear)) {
            return Ok(Vec::new());
        }
        let chunks = self.selector.read(clear.as_ref(), part.entry.rows)?;
        let living = self.job.snapshot.living(part)?;
        let chunks: Vec<_> = (part.place.first_chunk..).zip(chunks).enumerate().collect();
        let find = |(at, (chunk, batch)): (usize, (u32, RecordBatch))| {
            self.job.stop.check()?;
            let living = living.of_chunk(at);
            let matching = self.selector.matching(&batch, living.as_ref(), part.first_row_of(chunk))?;
            if matching.num_rows() == 0 {
                return Ok(None);
            }
            Ok(Some(Match { chunk, matching, operands: self.selector.operands(&batch, living.as_ref())? }))
        };
        chunks.into_par_iter().filter_map(|chunk| find(chunk).transpose()).collect()
    }

    /// Whether a part has values of all of some columns. What it lacks is 0 in it, and so is every product with it: nothing is sent.
    fn has(&self, part: PartRef<'_>, columns: &[EncodingId]) -> bool {
        let manifest = self.job.snapshot.manifest();
        !columns.iter().any(|id| manifest.lacks(part.entry.generation, *id))
    }

    /// Bytes that some chunks will take in the answer, but for sealed columns, whose blobs have whatever size they have.
    fn predict(&self, part: PartRef<'_>, matches: &[Match]) -> u64 {
        let objects = self.object_count();
        let each = |found: &Match| {
            let clear = found.matching.get_array_memory_size() as u64;
            if objects == 0 {
                return clear;
            }
            let rows = part.rows_of(found.chunk);
            let from_device = part.entry.delivery.is_some();
            let programs = self.programs.iter().zip(&self.shape.programs);
            let programs = programs.filter(|(_, shape)| self.has(part, &shape.columns));
            let programs = programs.map(|(program, _)| program.object_bytes(rows));
            let fetched = self.fetchers.iter().zip(&self.shape.fetch);
            let fetched = fetched.filter(|(_, shape)| self.has(part, &[shape.id]));
            let fetched = fetched.map(|(fetcher, _)| fetcher.object_bytes(rows, from_device));
            clear + answer::chunk_overhead(objects) + programs.chain(fetched).sum::<u64>()
        };
        matches.iter().map(each).sum()
    }

    /// A chunk of a part that lacks every column which the task asks for.
    fn without(&self, part: PartRef<'_>, found: &Match) -> RowsChunkParts {
        let objects = vec![Vec::new(); self.object_count()];
        RowsChunkParts { chunk: found.chunk, rows: part.rows_of(found.chunk), seed: [0; 32], objects }
    }

    /// The encrypted halves of some chunks of a part.
    fn answer(&self, part: PartRef<'_>, matches: &[Match]) -> Result<Vec<RowsChunkParts>, ExecError> {
        if self.object_count() == 0 {
            return Ok(Vec::new());
        }
        let mut columns: Vec<EncodingId> = self.shape.fetch.iter().map(|fetch| fetch.id).collect();
        columns.extend(self.shape.programs.iter().flat_map(|program| &program.columns));
        columns.sort_unstable();
        columns.dedup();
        columns.retain(|id| self.has(part, &[*id]));
        if matches.is_empty() {
            return Ok(Vec::new());
        }
        let stored = self.job.snapshot.manifest().columns_of(part.entry.generation).sealed;
        let sealed: Vec<u32> = self.sealed.iter().copied().filter(|number| stored.contains(number)).collect();
        if columns.is_empty() && sealed.is_empty() {
            return Ok(matches.iter().map(|found| self.without(part, found)).collect());
        }
        let encrypted = self.job.snapshot.encrypted_part(part)?.fetched(&columns, &sealed)?;
        let answer = |row: ChunkRow, found: &Match| {
            self.job.stop.check()?;
            let seed = row.seed.ok_or(ExecError::Corrupt { code: "HUSH-T033" })?;
            let input = ChunkInput { snapshot: &self.job.snapshot, part, columns: &columns, row: &row };
            let mut objects = Vec::with_capacity(self.object_count());
            for (program, shape) in self.programs.iter().zip(&self.shape.programs) {
                let has = self.has(part, &shape.columns);
                let object = has.then(|| (self.evaluate)(program, &input, &found.operands)).transpose()?;
                objects.push(object.unwrap_or_default());
            }
            for (fetcher, shape) in self.fetchers.iter().zip(&self.shape.fetch) {
                let object = self.has(part, &[shape.id]).then(|| fetcher.fetch(&input)).transpose()?;
                objects.push(object.unwrap_or_default());
            }
            let mut blobs = row.sealed.iter();
            for number in self.sealed {
                let blob = sealed.contains(number).then(|| blobs.next()).flatten();
                objects.push(blob.map_or_else(Vec::new, |blob| blob.to_vec()));
            }
            Ok(RowsChunkParts { chunk: row.index, rows: row.rows, seed, objects })
        };
        let answers = |matches: &[Match]| {
            let projection = table::projection((&columns, &sealed), matches.iter().map(|found| found.chunk));
            let rows = encrypted.chunks(&projection)?.zip(matches);
            rows.map(|(row, found)| answer(row?, found)).collect::<Result<Vec<_>, ExecError>>()
        };
        let at_once = table::chunks_at_once(matches.len(), self.job.workers.threads());
        let answered: Vec<_> = matches.par_chunks(at_once).map(answers).collect::<Result<_, _>>()?;
        encrypted.expect_unchanged()?;
        Ok(answered.into_iter().flatten().collect())
    }
}

/// Keeps the first `left` matching rows.
fn cut(matches: &mut Vec<Match>, left: &mut u64) {
    matches.retain_mut(|found| {
        let take = (found.matching.num_rows() as u64).min(*left);
        *left -= take;
        found.matching = found.matching.slice(0, take as usize);
        take > 0
    });
}
