// SPDX-License-Identifier: Apache-2.0
//! Combination of partial answers to rows tasks, as they come: chunk after chunk in the order of the table, whatever the order of
//! arrival.
//!
//! A task with a limit wants the first rows of the table that match. The first rows of some parts hold all of them that these
//! parts have, so no more are ever kept.
//!
//! *Memory.* The rows that are kept, as large as the answer.

use std::collections::BTreeMap;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::UInt64Type;
use bytes::Bytes;
use hush_plan::plan::RowsTask;
use hush_table::CubeSums;

use super::{cube, is_covered, run};
use crate::answer::{
    self, EncryptedHalf, PartialAnswer, RowsChunk, RowsChunkParts, RunPieces, Section, pieces_bytes,
};
use crate::clear::select::RowSelector;
use crate::conform;
use crate::error::{ExecError, PartialFault};
use crate::job::{Combine, Extent, Job};
use crate::parts::PartSet;
use crate::table::PartRef;

/// Begins a combination for a rows task.
///
/// # Errors
/// Any [`ExecError`] of a plan that does not fit its table.
pub(crate) fn combine(job: &Job, task: &RowsTask) -> Result<Box<dyn Combine>, ExecError> {
    let shape = conform::rows(task, &job.snapshot.manifest().encodings)?;
    let scope = job.scope();
    let predicate = job.predicate(&scope)?;
    let selector = RowSelector::parse(&scope, predicate.as_ref(), task, &shape.approximate_operands)?;
    conform::sealed(task, &job.snapshot.manifest().sealed_numbers())?;
    conform::prepared(task, job.snapshot.manifest())?;
    let (program_count, fetch_count) = (shape.programs.len(), shape.fetch.len() + task.sealed.len());
    Ok(Box::new(Combined {
        task: task.clone(),
        selector,
        program_count,
        fetch_count,
        pieces: BTreeMap::new(),
        cells: None,
        of_run: BTreeMap::new(),
        rows: 0,
        bytes: 0,
    }))
}

struct Combined {
    task: RowsTask,
    selector: RowSelector,
    program_count: usize,
    /// Of fetched columns and sealed ones.
    fetch_count: usize,
    /// By the number of the chunk in the table.
    pieces: BTreeMap<u32, Piece>,
    /// The sums of the task's cube over those parts that came and have it.
    cells: Option<CubeSums>,
    /// The pieces of the task's sorted run, by the numbers of the parts that have it.
    of_run: BTreeMap<u32, Bytes>,
    rows: u64,
    /// Of the clear rows, the objects, and the cells or the pieces of a run.
    bytes: u64,
}

/// The matching rows of a chunk.
struct Piece {
    matching: RecordBatch,
    /// `None` if the plan asks for no ciphertexts.
    encrypted: Option<RowsChunkParts>,
}

impl Combine for Combined {
    fn add(&mut self, job: &Job, partial: &PartialAnswer<'_>) -> Result<(), ExecError> {
        job.stop.check()?;
        let pieces = self.pieces_of(job, partial)?;
        self.add_cells(job, partial)?;
        self.add_of_run(job, partial)?;
        for (chunk, piece) in pieces {
            self.rows += piece.rows();
            self.bytes += piece.bytes();
            self.pieces.insert(chunk, piece);
        }
        self.cut();
        // With a limit, rows that are kept now may give way to earlier ones.
        let limit =
            if self.task.limit.is_some() { job.limits.max_answer_bytes } else { job.max_answer_bytes() };
        if self.bytes > limit { Err(ExecError::AnswerLimit { found: self.bytes, limit }) } else { Ok(()) }
    }

    fn is_spent(&self) -> bool {
        false
    }

    fn is_decided(&self, job: &Job, covered: &PartSet) -> bool {
        let Some(limit) = self.task.limit else { return false };
        let first_missing =
            job.snapshot.parts().get(covered.prefix() as usize).map(|part| part.place.first_chunk);
        let before =
            self.pieces.iter().take_while(|(chunk, _)| first_missing.is_none_or(|missing| **chunk < missing));
        before.map(|(_, piece)| piece.rows()).sum::<u64>() >= limit
    }

    fn finish(self: Box<Self>, job: &Job, extent: Extent, covered: &PartSet) -> Result<Vec<u8>, ExecError> {
        let (program_count, fetch_count) = (self.program_count, self.fetch_count);
        let section = match &self.task.run {
            Some(_) => Section::of_pieces(self.of_run),
            None => Section::of_cells(self.cells.as_ref()),
        };
        let (batches, chunks): (Vec<_>, Vec<_>) =
            self.pieces.into_values().map(|piece| (piece.matching, piece.encrypted)).unzip();
        let clear = answer::write_matching(&self.selector.concat(&batches)?)?;
        let chunks: Vec<_> = chunks.into_iter().flatten().collect();
        answer::encode_rows(
            &job.head(extent, covered),
            &clear,
            (program_count, fetch_count),
            &chunks,
            &section,
        )
    }
}

impl Combined {
    /// The chunks of a partial answer, with the columns and objects that the plan asks for, in parts that it covers.
    fn pieces_of(&self, job: &Job, partial: &PartialAnswer<'_>) -> Result<Vec<(u32, Piece)>, ExecError> {
        let differ = |what| ExecError::from(PartialFault::OtherTask { what });
        let EncryptedHalf::Rows(chunks) = &partial.answer.encrypted else {
            return Err(differ("kinds of task"));
        };
        let batch = partial.answer.clear(job.snapshot.manifest().rows).map_err(PartialFault::from)?;
        if batch.schema() != *self.selector.schema() {
            return Err(differ("clear columns"));
        }
        let numbers =
            batch.column(0).as_primitive_opt::<UInt64Type>().filter(|numbers| numbers.null_count() == 0);
        let numbers = numbers.ok_or(differ("clear columns"))?.values();
        let in_order = numbers.is_sorted_by(|one, other| one < other);
        if !in_order || self.task.limit.is_some_and(|limit| numbers.len() as u64 > limit) {
            return Err(differ("row numbers"));
        }
        let parts = job.snapshot.parts();
        let mut encrypted = chunks.iter();
        let (mut pieces, mut first) = (Vec::new(), 0);
        while let Some(row) = numbers.get(first) {
            let (part, chunk) = place_of(&parts, *row).ok_or(differ("row numbers"))?;
            if !partial.parts.contains(part) {
                return Err(differ("row numbers"));
            }
            let here = parts.get(part as usize).ok_or(differ("row numbers"))?;
            if is_covered(&self.task, *here) {
                return Err(differ("row numbers"));
            }
            let (start, rows) = (here.first_row_of(chunk), here.rows_of(chunk));
            let end = start + u64::from(rows);
            let count = numbers.get(first..).unwrap_or_default().partition_point(|row| *row < end);
            let matching = batch.slice(first, count);
            first += count;
            let expected = (chunk, rows);
            let encrypted =
                self.has_objects().then(|| self.encrypted(encrypted.next(), expected)).transpose()?;
            pieces.push((chunk, Piece { matching, encrypted }));
        }
        if encrypted.next().is_some() { Err(differ("chunks")) } else { Ok(pieces) }
    }

    /// Adds the cells of a partial answer, which has some if it covers a part that has the task's cube.
    fn add_cells(&mut self, job: &Job, partial: &PartialAnswer<'_>) -> Result<(), ExecError> {
        let differ = ExecError::from(PartialFault::OtherTask { what: "cells" });
        let parts = job.snapshot.parts().into_iter().zip(0..);
        let mut parts = parts.filter(|(_, number)| partial.parts.contains(*number));
        let is_due = parts.any(|(part, _)| cube::is_covered(&self.task, part));
        let Some(more) = partial.answer.cells.filter(|_| is_due) else {
            return if partial.answer.cells.is_some() == is_due { Ok(()) } else { Err(differ) };
        };
        if let Some(cells) = &mut self.cells {
            let is_same = (cells.cells(), cells.bits()) == (more.cells(), more.bits());
            return is_same.then(|| cells.add_packed(more.packed())).flatten().ok_or(differ);
        }
        cube::check_size(job, (more.cells(), more.bits()), job.max_answer_bytes(), 1)?;
        self.bytes += CubeSums::encoded_bytes(more.cells(), more.bits());
        self.cells = Some(more.unpack());
        Ok(())
    }

    /// Adds the pieces of the task's run in a partial answer, which has one of each part that it covers and that has the run.
    fn add_of_run(&mut self, job: &Job, partial: &PartialAnswer<'_>) -> Result<(), ExecError> {
        let asked = self.task.run.iter().flat_map(|task| run::asked(job.snapshot.parts(), task));
        let asked = asked.filter(|asked| partial.parts.contains(asked.number));
        let found = || partial.answer.pieces.iter().flat_map(RunPieces::iter);
        if !asked
            .map(|asked| (asked.number, asked.bytes))
            .eq(found().map(|(part, piece)| (part, piece.len() as u64)))
        {
            return Err(PartialFault::OtherTask { what: "pieces of a run" }.into());
        }
        self.bytes += pieces_bytes(found().map(|(_, piece)| piece.len() as u64));
        self.of_run.extend(found().map(|(part, piece)| (part, Bytes::copy_from_slice(piece))));
        Ok(())
    }

    fn has_objects(&self) -> bool {
        self.program_count + self.fetch_count > 0
    }

    fn encrypted(
        &self,
        found: Option<&RowsChunk<'_>>,
        (chunk, rows): (u32, u32),
    ) -> Result<RowsChunkParts, ExecError> {
        let fits = |found: &&RowsChunk<'_>| {
            let counts = (found.programs.len(), found.fetched.len());
            (found.chunk, found.rows) == (chunk, rows) && counts == (self.program_count, self.fetch_count)
        };
        let found = found.filter(fits).ok_or(PartialFault::OtherTask { what: "chunks" })?;
        let objects = found.programs.iter().chain(&found.fetched).map(|object| object.to_vec()).collect();
        Ok(RowsChunkParts { chunk, rows, seed: found.seed, objects })
    }

    /// Drops rows after the limit.
    fn cut(&mut self) {
        let Some(limit) = self.task.limit else { return };
        while self.rows > limit
            && let Some(mut last) = self.pieces.last_entry()
        {
            let (rows, excess) = (last.get().rows(), self.rows - limit);
            self.bytes -= last.get().bytes();
            if excess >= rows {
                last.remove();
                self.rows -= rows;
            } else {
                let piece = last.get_mut();
                piece.matching = piece.matching.slice(0, (rows - excess) as usize);
                self.bytes += piece.bytes();
                self.rows -= excess;
            }
        }
    }
}

impl Piece {
    fn rows(&self) -> u64 {
        self.matching.num_rows() as u64
    }

    /// Bytes of the objects, and eight for each value.
    fn bytes(&self) -> u64 {
        let objects = self.encrypted.iter().flat_map(|encrypted| &encrypted.objects);
        let clear = self.rows() * self.matching.num_columns() as u64 * 8;
        clear + objects.map(|object| object.len() as u64).sum::<u64>()
    }
}

/// The part that holds a row of the table, and its chunk.
fn place_of(parts: &[PartRef<'_>], row: u64) -> Option<(u32, u32)> {
    let part = parts.partition_point(|part| part.place.first_row + part.entry.rows <= row);
    let found = parts.get(part)?;
    let chunk = (row - found.place.first_row) / u64::from(hush_table::CHUNK_ROWS);
    Some((u32::try_from(part).ok()?, found.place.first_chunk + u32::try_from(chunk).ok()?))
}
