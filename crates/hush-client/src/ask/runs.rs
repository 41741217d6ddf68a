// SPDX-License-Identifier: Apache-2.0
//! Questions of sorted runs: the index of every part is opened once for a version, it says which blocks a question needs, and these come back in one
//! answer with the rows of the parts without the run.

mod choose;
mod first;
mod rising;
mod units;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatchOptions, UInt64Array};
use arrow::compute::{cast, concat_batches, sort_to_indices, take_record_batch};
use arrow::datatypes::{Field, Schema as ArrowSchema};
use arrow::record_batch::RecordBatch;
use hush_encode::arrow_type;
use hush_exec::answer::{Answer, EncryptedHalf, RowsChunk};
use hush_plan::plan::{CellsQuery, OwnQuery, PLAN_FORMAT, RowsTask, RunQuery, RunRead, RunTask, Task};
use hush_plan::run::{RunColumn, RunShape};
use hush_plan::schema::Column;
use hush_plan::{QueryPlan, Schema, ServerPlan, WayName};
use hush_remote::{Progress, Silent};
use hush_table::manifest::{PartPlace, StoredRun};
use hush_table::source::ColumnData;
use hush_table::{Digest, Manifest, PartEntry, RunsId};
use rayon::prelude::*;

use self::choose::Choice;
use self::units::{Counting, Place};
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
pub(super) const MAX_BLOCKS: usize = 100_000;

/// What an answer has of the run of a part.
pub(super) struct Sealed<'a> {
    place: PartPlace,
    pub(super) part: &'a PartEntry,
    /// The name of the part's runs.
    pub(super) id: RunsId,
    pub(super) run: StoredRun,
    pub(super) bytes: &'a [u8],
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
            (&mut plan.owner.run, &mut plan.server.task)
        else {
            return Ok(Some(Moved::default()));
        };
        let shape = self.run_shape(query.place, task.number)?;
        let (runs, moved) = self.open_runs(task.number, &shape, progress)?;
        let beside = self.manifest.manifest().parts.iter().filter(|part| !part.has_run(task.number));
        let beside = beside.map(PartEntry::living_rows).sum();
        let (needed, blocks) = Choice { table: self, shape: &shape, runs: &runs, beside }.blocks(query)?;
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
            query.needed = needed;
        }
        Ok(Some(moved))
    }

    /// The shape of the run at a place of the schema, which has this number.
    ///
    /// # Errors
    /// [`ClientError::Internal`] if it has another one.
    pub(super) fn run_shape(&self, place: usize, number: u32) -> Result<RunShape, ClientError> {
        let shape = shape_of(&self.half, place).filter(|(numbered, _)| numbered.number == number);
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
        let index = RunTask { number, read: RunRead::Index };
        let (opened, moved) = self.pieces_of_run(index, progress, |pieces| {
            let opened = pieces.into_par_iter().map(|Sealed { place, part, id, run, bytes }| {
                let key = &self.keys.of(manifest, part.domain)?.runs;
                let open = OpenRun::open((id, number, run.blocks), shape, key, bytes)?;
                if open.index.segments.iter().map(|segment| u64::from(segment.rows)).sum::<u64>() != part.rows
                {
                    return Err(ClientError::Answer {
                        what: "the index of a run is not that of its part".into(),
                    });
                }
                let (first_row, domain) = (place.first_row, part.domain);
                Ok(PartRun { first_row, block_bytes: run.block_bytes, domain, open })
            });
            on_threads(self.costs.threads, || opened.collect::<Result<Vec<_>, _>>())
        })?;
        let opened = Arc::new(opened);
        self.runs.keep(number, &opened);
        Ok((opened, moved))
    }

    /// Asks for what is wanted of a run, reads what comes of each part that has it, in row order, and tells the bytes that crossed.
    ///
    /// # Errors
    /// As [`OwnedTable::ask`]; those of `read`.
    pub(super) fn pieces_of_run<T>(
        &self,
        run: RunTask,
        progress: &dyn Progress,
        read: impl FnOnce(Vec<Sealed<'_>>) -> Result<T, ClientError>,
    ) -> Result<(T, Moved), ClientError> {
        let number = run.number;
        let plan = ServerPlan {
            format: PLAN_FORMAT,
            table: self.half.schema.table.clone(),
            manifest: self.manifest.digest().to_string(),
            predicate: None,
            task: Task::Rows(RowsTask { run: Some(run), ..RowsTask::default() }),
            max_answer_bytes: self.limits.max_answer_bytes,
        };
        let request = serialised(&plan)?;
        let bytes = self.evaluate(&request, progress)?;
        let moved = Moved::of(&request, &bytes);
        let answer = Answer::decode(&bytes, plan.max_answer_bytes).map_err(answer_error)?;
        answer.expect(self.manifest.digest(), Digest::of(&request)).map_err(answer_error)?;
        Ok((read(pieces_of(&answer, self.manifest.manifest(), number)?)?, moved))
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
    let parts = (0..).zip(manifest.placed_parts()).filter_map(|(index, (place, part))| {
        Some((index, place, part, part.runs.as_ref()?.id, part.run(number)?.run))
    });
    let pieces = parts.map(|(index, place, part, id, run)| match found.next() {
        Some((known, bytes)) if known == index => Ok(Sealed { place, part, id, run, bytes }),
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
    let shape = asked.table.run_shape(query.place, run.number)?;
    let (runs, _) = asked.table.open_runs(run.number, &shape, &Silent)?;
    let mut blocks = blocks(asked, (&shape, &runs), (query, run), answer)?;
    first::keep_first(shape.by().ok_or_else(missing)?, &mut blocks, query);
    let schema = own::opened_schema(&asked.table.half.schema, own);
    let (beside, more) = rows_beside(asked, (&schema, own), (task, run.number), answer, chunks)?;
    if let Some(cells) = &plan.owner.cells {
        let merged = on_cells(asked, (&shape, &runs, &blocks), (query, cells), (&schema, &beside))?;
        return finish(merged, &plan.owner.final_sql);
    }
    let batch = opened(&schema, (&shape, &runs), &blocks)?;
    let batch = concat_batches(&batch.schema(), [&batch, &beside])?;
    let mut numbers = Vec::with_capacity(batch.num_rows());
    for (run, blocks) in runs.iter().zip(&blocks) {
        let of_run = blocks.values().flat_map(|block| &block.numbers);
        numbers.extend(of_run.map(|number| run.first_row + u64::from(*number)));
    }
    numbers.extend(more);
    // In the order of the table, which settles ties.
    let order = sort_to_indices(&UInt64Array::from(numbers), None, None)?;
    own::on_batch(asked, own, schema, &take_record_batch(&batch, &order)?)
}

/// Blocks of each run, by their places.
type Blocks = Vec<BTreeMap<u32, BlockRows>>;

/// Opens the blocks of an answer, and gives the rows of those that the question needs.
fn blocks(
    asked: &Asked<'_>,
    (shape, runs): (&RunShape, &[PartRun]),
    (query, run): (&RunQuery, &RunTask),
    answer: &Answer<'_>,
) -> Result<Blocks, ClientError> {
    let other = || ClientError::Answer { what: "it does not have the blocks that were asked for".into() };
    let RunRead::Blocks { of_parts, .. } = &run.read else { return Err(other()) };
    let manifest = asked.table.manifest.manifest();
    let pieces = pieces_of(answer, manifest, run.number)?;
    if [pieces.len(), of_parts.len(), query.needed.len()] != [runs.len(); 3] {
        return Err(other());
    }
    let of_parts = of_parts.par_iter().zip(&query.needed);
    let opened = pieces.into_par_iter().zip(runs).zip(of_parts).map(|((sealed, part), (places, needed))| {
        let size = part.block_bytes as usize;
        if sealed.bytes.len() != places.len() * size {
            return Err(other());
        }
        let key = &asked.table.keys.of(manifest, part.domain)?.runs;
        let mut rows = BTreeMap::new();
        for (place, block) in places.iter().zip(sealed.bytes.chunks_exact(size.max(1))) {
            // Those that fill up have to be those of their places, too.
            let plain = part.open.block(key, *place, block)?;
            if needed.binary_search(place).is_ok() {
                rows.insert(*place, part.open.rows(shape, *place, &plain)?);
            }
        }
        Ok(rows)
    });
    on_threads(asked.table.costs.threads, || opened.collect())
}

/// The columns of a schema, of all rows of some blocks.
fn opened(
    schema: &Schema,
    (shape, runs): (&RunShape, &[PartRun]),
    blocks: &Blocks,
) -> Result<RecordBatch, ClientError> {
    let (mut fields, mut columns): (Vec<Field>, Vec<ArrayRef>) = (Vec::new(), Vec::new());
    for field in hush_encode::clear_schema(schema).fields() {
        let column = schema.column(field.name()).ok_or_else(missing)?;
        let (place, described) = column_of(shape, &column.name)?;
        let values = values_of((shape, place), runs, blocks)?;
        columns.push(cast(&values.array(column, described.form)?, &arrow_type(column.kind))?);
        fields.push(Field::new(field.name(), field.data_type().clone(), true));
    }
    let rows = blocks.iter().flat_map(BTreeMap::values).map(|block| block.numbers.len()).sum();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(Arc::new(ArrowSchema::new(fields)), columns, &options)?)
}

fn missing() -> ClientError {
    ClientError::Internal { what: "a run lacks a column that it is asked for" }
}

/// A column of a run, and its place.
fn column_of<'s>(shape: &'s RunShape, name: &str) -> Result<(usize, &'s RunColumn), ClientError> {
    let mut columns = shape.columns.iter().enumerate();
    columns.find(|(_, column)| column.name == name).ok_or_else(missing)
}

/// The values of a column, of all rows of some blocks.
fn values_of(
    (shape, place): (&RunShape, usize),
    runs: &[PartRun],
    blocks: &Blocks,
) -> Result<RunValues, ClientError> {
    let mut values = RunValues::empty(shape.columns.get(place).ok_or_else(missing)?);
    for (run, blocks) in runs.iter().zip(blocks) {
        for rows in blocks.values() {
            match place.checked_sub(shape.within) {
                Some(place) => values.extend(rows.columns.get(place).ok_or_else(missing)?),
                None => {
                    let groups = rows.groups.iter().map(|group| *group as usize);
                    values.append(run.open.index.within.get(place).ok_or_else(missing)?.at(groups));
                }
            }
        }
    }
    Ok(values)
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

/// Builds `merged`, as for sums of a server, from the segments that stayed closed, the rows of the others, and those of parts without the run.
fn on_cells(
    asked: &Asked<'_>,
    (shape, runs, blocks): (&RunShape, &[PartRun], &Blocks),
    (query, cells): (&RunQuery, &CellsQuery),
    (schema, beside): (&Schema, &RecordBatch),
) -> Result<RecordBatch, ClientError> {
    // A column of all rows, the opened ones first; of a column that is not read all rows are alike.
    let values = |name: &str| {
        let (place, described) = column_of(shape, name)?;
        let mut values = values_of((shape, place), runs, blocks)?;
        let more = match beside.column_by_name(name) {
            Some(more) => RunValues::of(described, &ColumnData::Array(more.clone()))?,
            None => RunValues::missing(described, beside.num_rows()),
        };
        values.append(more);
        Ok::<_, ClientError>(values)
    };
    let by = shape.by().ok_or_else(missing)?;
    let order = values(&by.name)?;
    let mut described = vec![shape.lanes.first().ok_or_else(missing)?.clone()];
    for lane in &cells.lanes {
        described.push(shape.lanes.get(*lane).ok_or_else(missing)?.clone());
    }
    let narrow = RunShape { lanes: described, ..shape.clone() };
    let mut lanes = Vec::new();
    if !cells.lanes.is_empty() {
        let batch = opened(schema, (shape, runs), blocks)?;
        let batch = concat_batches(&batch.schema(), [&batch, beside])?;
        let of_rows = lanes_of(&narrow, schema, &cells::row_batch(schema, &batch))?;
        // The first lane of a shape is the number of rows.
        lanes = cells.lanes.iter().map(|lane| lane.saturating_sub(1)).zip(of_rows).collect();
    }
    let units = Counting { by, runs, blocks, values: &order, lanes: &lanes }.units(query);
    let read = |column: &&Column| cells.clear.contains(&column.name);
    let mut columns = Vec::new();
    for column in schema.columns.iter().filter(read) {
        let (place, described) = column_of(shape, &column.name)?;
        let other = if column.name == by.name { None } else { Some(values(&column.name)?) };
        let of_rows = other.as_ref().unwrap_or(&order);
        let mut picked = RunValues::empty(described);
        for unit in &units.places {
            let key = match *unit {
                Place::Row(row) => of_rows.key(described.form, row),
                Place::Segment(run, segment) => {
                    let index = &runs.get(run).ok_or_else(missing)?.open.index;
                    let group = index.segments.get(segment).ok_or_else(missing)?.group as usize;
                    match index.within.get(place).filter(|_| place < shape.within) {
                        Some(of_groups) => of_groups.key(described.form, group),
                        None => index.firsts.key(described.form, segment),
                    }
                }
            };
            picked.push(described.form, key.as_ref());
        }
        columns
            .push((column.clone(), cast(&picked.array(column, described.form)?, &arrow_type(column.kind))?));
    }
    let quantities = narrow.quantities().into_iter().zip(units.sums).collect();
    let local = cells::counted(asked, columns, (&cells.count, units.rows), quantities)?;
    gathered::grouped_here(&local, asked.owner, cells.predicate.as_ref(), &cells.task)
}
