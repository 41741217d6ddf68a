// SPDX-License-Identifier: Apache-2.0
//! Questions of sorted runs: the index of every part is opened once for a version, it says which blocks a question needs, and these come back in one
//! answer with the rows of the parts without the run.

mod choose;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatchOptions, UInt64Array};
use arrow::compute::{cast, concat_batches, sort_to_indices, take_record_batch};
use arrow::datatypes::{Field, Schema as ArrowSchema};
use arrow::record_batch::RecordBatch;
use hush_encode::arrow_type;
use hush_exec::answer::{Answer, EncryptedHalf, RowsChunk};
use hush_plan::plan::{CellsQuery, OwnQuery, PLAN_FORMAT, RowsTask, RunQuery, RunRead, RunTask, Task};
use hush_plan::run::RunShape;
use hush_plan::schema::Column;
use hush_plan::{QueryPlan, Schema, ServerPlan, WayName};
use hush_remote::{Progress, Silent};
use hush_table::manifest::PartPlace;
use hush_table::{Digest, Manifest, PartEntry};
use rayon::prelude::*;

use self::choose::Choice;
use super::{Asked, answer_error, cells, gathered, own, rows, serialised};
use crate::account::Moved;
use crate::error::ClientError;
use crate::finish::finish;
use crate::run::{BlockRows, OpenRun, PartRun, RunValues, lanes_of, shape_of};
use crate::table::OwnedTable;
use crate::threads::on_threads;

/// Seconds that an owner takes for the rows of a block, roughly.
const OPENED_BLOCK_S: f64 = 0.5e-3;

/// Blocks that a plan has room for.
const MAX_BLOCKS: usize = 100_000;

/// What an answer has of the run of a part.
struct Sealed<'a> {
    place: PartPlace,
    part: &'a PartEntry,
    bytes: &'a [u8],
}

impl OwnedTable {
    /// Finds the blocks that a plan needs, if it asks a run, and writes them into it. Gives the bytes of the indexes, if they had to come; `None` if
    /// the columns themselves would be quicker.
    ///
    /// # Errors
    /// As [`OwnedTable::ask`].
    pub(super) fn locate(
        &self,
        plan: &mut QueryPlan,
        progress: &dyn Progress,
    ) -> Result<Option<Moved>, ClientError> {
        let (Some(query), Task::Rows(RowsTask { run: Some(task), .. })) =
            (&plan.owner.run, &mut plan.server.task)
        else {
            return Ok(Some(Moved::default()));
        };
        let shape = self.run_shape(query, task)?;
        let (runs, moved) = self.open_runs(task.number, &shape, progress)?;
        let beside = self.manifest.manifest().parts.iter().filter(|part| !part.has_run(task.number));
        let beside = beside.map(PartEntry::living_rows).sum();
        let blocks = Choice { table: self, shape: &shape, runs: &runs, beside }.blocks(query)?;
        let bytes = blocks
            .iter()
            .zip(runs.iter())
            .map(|(blocks, run)| blocks.len() as u64 * u64::from(run.block_bytes));
        let bytes: u64 = bytes.sum();
        let link_s = self.costs.link.map_or(0.0, |speed| bytes as f64 / speed);
        let count: usize = blocks.iter().map(Vec::len).sum();
        let seconds = link_s + count as f64 * OPENED_BLOCK_S;
        let columns = plan.ways.iter().find(|way| way.name == WayName::Fetch).map(|way| way.seconds);
        let is_dear = count > MAX_BLOCKS || columns.is_some_and(|columns| columns < seconds);
        if self.limits.way.is_none() && columns.is_some() && is_dear {
            return Ok(None);
        }
        if let RunRead::Blocks { of_parts, .. } = &mut task.read {
            *of_parts = blocks;
        }
        Ok(Some(moved))
    }

    fn run_shape(&self, query: &RunQuery, task: &RunTask) -> Result<RunShape, ClientError> {
        let shape = shape_of(&self.half, query.place).filter(|(numbered, _)| numbered.number == task.number);
        let shape = shape.map(|(_, shape)| shape);
        shape.ok_or(ClientError::Internal { what: "the plan asks for a run that the schema lacks" })
    }

    /// The opened indexes of a run, one for each part that has it, in row order.
    ///
    /// # Errors
    /// [`ClientError::Answer`] for indexes that are not those of the parts.
    fn open_runs(
        &self,
        number: u32,
        shape: &RunShape,
        progress: &dyn Progress,
    ) -> Result<(Arc<Vec<PartRun>>, Moved), ClientError> {
        if let Some(known) = self.runs.get(number) {
            return Ok((known, Moved::default()));
        }
        let manifest = self.manifest.manifest();
        let task = RowsTask { run: Some(RunTask { number, read: RunRead::Index }), ..RowsTask::default() };
        let plan = ServerPlan {
            format: PLAN_FORMAT,
            table: self.half.schema.table.clone(),
            manifest: self.manifest.digest().to_string(),
            predicate: None,
            task: Task::Rows(task),
            max_answer_bytes: self.limits.max_answer_bytes,
        };
        let request = serialised(&plan)?;
        let bytes = self.evaluate(&request, progress)?;
        let moved = Moved { up: request.len() as u64, down: bytes.len() as u64 };
        let answer = Answer::decode(&bytes, plan.max_answer_bytes).map_err(answer_error)?;
        answer.expect(self.manifest.digest(), Digest::of(&request)).map_err(answer_error)?;
        let pieces = pieces_of(&answer, manifest, number)?;
        let opened = pieces.into_par_iter().map(|Sealed { place, part, bytes }| {
            let missing = || ClientError::Internal { what: "a part lost its run" };
            let (runs, placed) =
                (part.runs.as_ref().ok_or_else(missing)?, part.run(number).ok_or_else(missing)?);
            let key = &self.keys.of(manifest, part.domain)?.runs;
            let open = OpenRun::open((runs.id, number, placed.run.blocks), shape, key, bytes)?;
            if open.index.segments.iter().map(|segment| u64::from(segment.rows)).sum::<u64>() != part.rows {
                return Err(ClientError::Answer {
                    what: "the index of a run is not that of its part".into(),
                });
            }
            let (first_row, domain) = (place.first_row, part.domain);
            Ok(PartRun { first_row, block_bytes: placed.run.block_bytes, domain, open })
        });
        let opened = Arc::new(on_threads(self.costs.threads, || opened.collect::<Result<Vec<_>, _>>())?);
        self.runs.keep(number, &opened);
        Ok((opened, moved))
    }
}

/// What an answer has of each part with a run.
///
/// # Errors
/// [`ClientError::Answer`] for those of other parts.
fn pieces_of<'a>(
    answer: &'a Answer<'_>,
    manifest: &'a Manifest,
    number: u32,
) -> Result<Vec<Sealed<'a>>, ClientError> {
    let other = || ClientError::Answer { what: "it does not have the runs that were asked for".into() };
    let mut found = answer.pieces.iter().flat_map(|pieces| pieces.iter());
    let parts = (0..).zip(manifest.placed_parts()).filter(|(_, (_, part))| part.has_run(number));
    let pieces = parts.map(|(index, (place, part))| match found.next() {
        Some((known, bytes)) if known == index => Ok(Sealed { place, part, bytes }),
        _ => Err(other()),
    });
    let pieces = pieces.collect::<Result<Vec<_>, _>>()?;
    if found.next().is_none() { Ok(pieces) } else { Err(other()) }
}

/// The result of a query on blocks of a run.
///
/// # Errors
/// [`ClientError::Answer`] if the answer is not one to this task.
///
/// # Cost
/// Memory: the rows of the blocks, several times, and for a grouped query a row for each segment.
pub(super) fn answer(
    asked: &Asked<'_>,
    (query, own): (&RunQuery, &OwnQuery),
    plan: &QueryPlan,
    answer: &Answer<'_>,
) -> Result<Vec<RecordBatch>, ClientError> {
    let other = || ClientError::Answer { what: "it is of another kind than the plan".into() };
    let (EncryptedHalf::Rows(chunks), Task::Rows(task)) = (&answer.encrypted, &plan.server.task) else {
        return Err(other());
    };
    let run = task.run.as_ref().ok_or_else(other)?;
    let shape = asked.table.run_shape(query, run)?;
    let (runs, _) = asked.table.open_runs(run.number, &shape, &Silent)?;
    let blocks = blocks(asked, (&shape, &runs), run, answer)?;
    let schema = own::opened_schema(&asked.table.half.schema, own);
    let (mut batch, mut numbers) = opened(&schema, (&shape, &runs), &blocks)?;
    let (beside, more) = rows_beside(asked, (&schema, own), (task, run.number), answer, chunks)?;
    batch = concat_batches(&batch.schema(), [&batch, &beside])?;
    numbers.extend(more);
    let Some(cells) = &plan.owner.cells else {
        // In the order of the table, which settles ties.
        let order = sort_to_indices(&UInt64Array::from(numbers), None, None)?;
        return own::on_batch(asked, own, schema, &take_record_batch(&batch, &order)?);
    };
    let merged = on_cells(asked, (&shape, &runs, &blocks), cells, (&schema, &batch))?;
    finish(merged, &plan.owner.final_sql)
}

/// Blocks of each run, by their places.
type Blocks = Vec<BTreeMap<u32, BlockRows>>;

/// Opens the blocks of an answer.
fn blocks(
    asked: &Asked<'_>,
    (shape, runs): (&RunShape, &[PartRun]),
    run: &RunTask,
    answer: &Answer<'_>,
) -> Result<Blocks, ClientError> {
    let other = || ClientError::Answer { what: "it does not have the blocks that were asked for".into() };
    let RunRead::Blocks { of_parts, .. } = &run.read else { return Err(other()) };
    let manifest = asked.table.manifest.manifest();
    let pieces = pieces_of(answer, manifest, run.number)?;
    let opened = pieces.into_par_iter().zip(runs).zip(of_parts).map(|((sealed, part), places)| {
        let size = part.block_bytes as usize;
        if sealed.bytes.len() != places.len() * size {
            return Err(other());
        }
        let key = &asked.table.keys.of(manifest, part.domain)?.runs;
        let blocks = places.iter().zip(sealed.bytes.chunks_exact(size.max(1)));
        blocks.map(|(place, block)| Ok((*place, part.open.block(shape, key, *place, block)?))).collect()
    });
    on_threads(asked.table.costs.threads, || opened.collect())
}

/// The columns of a schema, of all rows of some blocks, and the numbers of these rows in the table.
fn opened(
    schema: &Schema,
    (shape, runs): (&RunShape, &[PartRun]),
    blocks: &Blocks,
) -> Result<(RecordBatch, Vec<u64>), ClientError> {
    let missing = || ClientError::Internal { what: "a run lacks a column that it is asked for" };
    let mut numbers = Vec::new();
    for (run, blocks) in runs.iter().zip(blocks) {
        let of_run = blocks.values().flat_map(|block| &block.numbers);
        numbers.extend(of_run.map(|number| run.first_row + u64::from(*number)));
    }
    let described = hush_encode::clear_schema(schema);
    let mut columns: Vec<ArrayRef> = Vec::new();
    for field in described.fields() {
        let column = schema.column(field.name()).ok_or_else(missing)?;
        let place = shape.columns.iter().position(|known| known.name == column.name).ok_or_else(missing)?;
        let form = shape.columns.get(place).ok_or_else(missing)?;
        let mut values = RunValues::empty(form);
        for (run, blocks) in runs.iter().zip(blocks) {
            for (block, rows) in blocks {
                match place.checked_sub(shape.within) {
                    Some(place) => values.append(rows.columns.get(place).ok_or_else(missing)?.clone()),
                    None => {
                        let segments = run.open.segments_of(*block).iter();
                        let groups = segments.flat_map(|segment| {
                            std::iter::repeat_n(segment.group as usize, segment.rows as usize)
                        });
                        values.append(run.open.index.within.get(place).ok_or_else(missing)?.at(groups));
                    }
                }
            }
        }
        columns.push(cast(&values.array(column, form.form)?, &arrow_type(column.kind))?);
    }
    let fields: Vec<Field> = described
        .fields()
        .iter()
        .map(|field| Field::new(field.name(), field.data_type().clone(), true))
        .collect();
    let options = RecordBatchOptions::new().with_row_count(Some(numbers.len()));
    let batch = RecordBatch::try_new_with_options(Arc::new(ArrowSchema::new(fields)), columns, &options)?;
    Ok((batch, numbers))
}

/// The rows of the parts without the run, and their numbers in the table.
fn rows_beside(
    asked: &Asked<'_>,
    (schema, own): (&Schema, &OwnQuery),
    (task, number): (&RowsTask, u32),
    answer: &Answer<'_>,
    chunks: &[RowsChunk<'_>],
) -> Result<(RecordBatch, Vec<u64>), ClientError> {
    let left = rows::fetched(asked, task, answer, chunks)?;
    let manifest = asked.table.manifest.manifest();
    let numbers = left.numbers.to_array();
    cells::require_beside(&numbers, manifest, |part| part.has_run(number))?;
    let numbers = numbers.values().to_vec();
    if numbers.is_empty() {
        let fields = hush_encode::clear_schema(schema);
        let fields =
            fields.fields().iter().map(|field| Field::new(field.name(), field.data_type().clone(), true));
        return Ok((RecordBatch::new_empty(Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()))), numbers));
    }
    Ok((own::opened(schema, own, &left)?, numbers))
}

/// Builds `merged`, as for sums of a server, from the segments that stayed closed and the rows of the others.
fn on_cells(
    asked: &Asked<'_>,
    (shape, runs, blocks): (&RunShape, &[PartRun], &Blocks),
    cells: &CellsQuery,
    (schema, batch): (&Schema, &RecordBatch),
) -> Result<RecordBatch, ClientError> {
    let missing = || ClientError::Internal { what: "a run lacks a column that it is asked for" };
    let closed = || {
        runs.iter().zip(blocks).flat_map(|(run, blocks)| {
            let segments = run.open.index.segments.iter().enumerate();
            let closed = segments.filter(|(_, segment)| !blocks.contains_key(&segment.block));
            closed.map(move |(place, segment)| (&run.open.index, place, segment))
        })
    };
    let read = |column: &&Column| cells.clear.contains(&column.name);
    let mut columns = Vec::new();
    for column in schema.columns.iter().filter(read) {
        let place = shape.columns.iter().position(|known| known.name == column.name).ok_or_else(missing)?;
        let form = shape.columns.get(place).ok_or_else(missing)?;
        let mut values = RunValues::empty(form);
        for (index, segment, found) in closed() {
            let key = match index.within.get(place).filter(|_| place < shape.within) {
                Some(of_groups) => of_groups.key(form.form, found.group as usize),
                None => index.firsts.key(form.form, segment),
            };
            values.push(form.form, key.as_ref());
        }
        let of_segments = cast(&values.array(column, form.form)?, &arrow_type(column.kind))?;
        let of_rows = batch.column_by_name(&column.name).ok_or_else(missing)?;
        columns.push((column.clone(), arrow::compute::concat(&[&of_segments, of_rows])?));
    }
    let mut lanes = vec![shape.lanes.first().ok_or_else(missing)?.clone()];
    for lane in &cells.lanes {
        lanes.push(shape.lanes.get(*lane).ok_or_else(missing)?.clone());
    }
    let narrow = RunShape { lanes, ..shape.clone() };
    let of_rows = lanes_of(&narrow, schema, &cells::row_batch(schema, batch))?;
    let mut sums = Vec::new();
    for ((lane, of_rows), described) in cells.lanes.iter().zip(of_rows).zip(narrow.lanes.iter().skip(1)) {
        let of_segment = |(_, _, segment): (_, _, &crate::run::Segment)| {
            lane.checked_sub(1).and_then(|lane| segment.sums.get(lane)).copied().ok_or_else(missing)
        };
        let of_segments = closed().map(of_segment).collect::<Result<Vec<i128>, _>>()?;
        let quantity = described.quantity.clone().ok_or_else(missing)?;
        sums.push((quantity, [of_segments, of_rows].concat()));
    }
    let counts = closed().map(|(_, _, segment)| i64::from(segment.rows));
    let counts = counts.chain(std::iter::repeat_n(1, batch.num_rows())).collect();
    let local = cells::counted(asked, columns, (&cells.count, counts), sums)?;
    gathered::grouped_here(&local, asked.owner, cells.predicate.as_ref(), &cells.task)
}
