// SPDX-License-Identifier: Apache-2.0
//! Element-wise answers: chunk by chunk the programs and fetched columns are decrypted, and the matching rows
//! picked into the table `merged`.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Date32Array, Float64Array, TimestampMicrosecondArray,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal256Type, Field, Int64Type, Schema as ArrowSchema};
use arrow::record_batch::RecordBatch;
use hush_exec::answer::{Answer, RowsChunk};
use hush_exec::noop::Scheme;
use hush_exec::program::{self, ProgramShape, element_count, shape};
use hush_keys::{decrypt_approx_slots, decrypt_slots};
use hush_plan::OwnerPlan;
use hush_plan::plan::{OwnerProgram, ProgramOutput, ProgramSource, RowsTask};
use hush_rlwe::{CiphertextSetId, ObjectRounding, UncheckedCiphertextSet};
use hush_schemes::ckks::Scale;
use hush_table::manifest::PartPlace;
use hush_table::{CHUNK_ROWS, Manifest};
use num_traits::{ToPrimitive, Zero};

use super::answer_error;
use super::owned::{self, Input};
use crate::cells::{Cells, body_of, decrypt_chunk};
use crate::columns::{ColumnKey, Space};
use crate::error::ClientError;
use crate::exact::big_of_arrow;
use crate::finish::{checked, number_array};
use crate::merge::Number;
use crate::table::OwnedTable;

/// Builds `merged`: clear columns `c0…` and programs `p0…`, one row per matching row.
///
/// # Errors
/// [`ClientError::Answer`] if the answer is not one to this task.
pub(super) fn merge(
    table: &OwnedTable,
    owner: &OwnerPlan,
    task: &RowsTask,
    answer: &Answer<'_>,
    chunks: &[RowsChunk<'_>],
) -> Result<RecordBatch, ClientError> {
    let matching = Matching::of(table, task, answer)?;
    let Matching { clear, positions } = &matching;
    let programs = Programs::new(table, task)?;
    let mut picked = vec![Vec::new(); owner.programs.len()];
    let mut at = 0;
    if task.programs.is_empty() && task.fetch.is_empty() {
        // Nothing encrypted is asked for, so there are no chunks.
        at = positions.len();
        for (program, column) in owner.programs.iter().zip(&mut picked) {
            let ProgramSource::Clear(index) = program.source else {
                return Err(ClientError::Internal { what: "the plan reads a column that it does not fetch" });
            };
            column.extend(clear_units(clear, index, 0..at)?);
        }
    }
    for chunk in chunks {
        let rows = matching.rows_of(chunk, at)?;
        let end = at + rows.len();
        let fetched = programs.fetched(chunk)?;
        for (program, column) in owner.programs.iter().zip(&mut picked) {
            let computed = match program.source {
                ProgramSource::Program(index) => Some(programs.computed(chunk, index)?),
                ProgramSource::Fetched(_) | ProgramSource::Clear(_) | ProgramSource::Owned(_) => None,
            };
            let input = Input { task, clear, range: at..end, fetched: &fetched, rows: &rows };
            match program.source {
                ProgramSource::Clear(index) => column.extend(clear_units(clear, index, at..end)?),
                ProgramSource::Owned(index) => {
                    let expr = owner.owned.get(index);
                    let expr = expr.ok_or(ClientError::Internal { what: "the plan lacks an expression" })?;
                    column.extend(mark(program, &fetched, &rows, owned::evaluate(expr, &input)?)?);
                }
                _ => column.extend(pick(program, computed.as_ref(), &fetched, &rows)?),
            }
        }
        at = end;
    }
    if at != positions.len() && !owner.programs.is_empty() {
        return Err(ClientError::Answer { what: "matching rows without their ciphertexts".into() });
    }
    let row_numbers = cast(clear.column(0), &DataType::Int64)?;
    let mut fields = vec![Field::new("row", DataType::Int64, false)];
    let mut columns: Vec<ArrayRef> = vec![row_numbers];
    for (index, column) in clear.columns().iter().skip(1).enumerate() {
        fields.push(Field::new(format!("c{index}"), column.data_type().clone(), true));
        columns.push(column.clone());
    }
    for (index, (program, mut values)) in owner.programs.iter().zip(picked).enumerate() {
        blank_nulls(program, clear, &mut values)?;
        let column = output_array(program.output, &values)?;
        fields.push(Field::new(format!("p{index}"), column.data_type().clone(), true));
        columns.push(column);
    }
    Ok(RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), columns)?)
}

/// The clear half of a rows answer, and the fetched columns at the rows that match.
///
/// # Errors
/// [`ClientError::Answer`] if the answer is not one to this task.
pub(super) fn fetched(
    table: &OwnedTable,
    task: &RowsTask,
    answer: &Answer<'_>,
    chunks: &[RowsChunk<'_>],
) -> Result<(RecordBatch, Vec<Cells>), ClientError> {
    let matching = Matching::of(table, task, answer)?;
    let programs = Programs::new(table, task)?;
    let mut gathered: Vec<Option<Cells>> = task.fetch.iter().map(|_| None).collect();
    let mut at = 0;
    for chunk in chunks {
        let rows = matching.rows_of(chunk, at)?;
        at += rows.len();
        for (all, cells) in gathered.iter_mut().zip(programs.fetched(chunk)?) {
            let missing = || ClientError::Internal { what: "a decrypted chunk is shorter than its rows" };
            let picked = cells.at(&rows).ok_or_else(missing)?;
            match all {
                Some(all) => all.append(picked)?,
                None => *all = Some(picked),
            }
        }
    }
    if at != matching.positions.len() {
        return Err(ClientError::Answer { what: "matching rows without their ciphertexts".into() });
    }
    let gathered = gathered.into_iter().map(|cells| cells.unwrap_or_else(|| Cells::Exact(Vec::new())));
    Ok((matching.clear, gathered.collect()))
}

/// The rows that match.
struct Matching {
    /// Their clear half: the row's number in the table, then the columns of the task.
    clear: RecordBatch,
    /// Chunk and place in the chunk of each.
    positions: Vec<(u32, usize)>,
}

impl Matching {
    fn of(table: &OwnedTable, task: &RowsTask, answer: &Answer<'_>) -> Result<Self, ClientError> {
        let clear = answer.clear().map_err(answer_error)?;
        if clear.num_columns() != task.clear.len() + 1 {
            return Err(ClientError::Answer { what: "its clear half has another number of columns".into() });
        }
        let positions = positions(clear.column(0), table.manifest.manifest())?;
        Ok(Self { clear, positions })
    }

    /// The places in `chunk` of the rows that lie in it, from row `at` of the answer on.
    fn rows_of(&self, chunk: &RowsChunk<'_>, at: usize) -> Result<Vec<usize>, ClientError> {
        let own = self.positions.iter().skip(at).take_while(|(index, _)| *index == chunk.chunk);
        let rows: Vec<usize> = own.map(|(_, row)| *row).collect();
        if rows.iter().any(|row| *row >= chunk.rows as usize) {
            return Err(ClientError::Answer { what: "a row lies outside its chunk".into() });
        }
        Ok(rows)
    }
}

/// Chunk and place in the chunk of every matching row.
fn positions(rows: &ArrayRef, manifest: &Manifest) -> Result<Vec<(u32, usize)>, ClientError> {
    let malformed = || ClientError::Answer { what: "its row numbers are malformed".into() };
    let rows = cast(rows, &DataType::Int64).map_err(|_| malformed())?;
    let rows = rows.as_primitive::<Int64Type>();
    let mut positions = Vec::with_capacity(rows.len());
    let mut previous = None;
    let parts: Vec<PartPlace> = manifest.placed_parts().map(|(place, _)| place).collect();
    for row in rows.iter() {
        let row = row
            .and_then(|row| u64::try_from(row).ok())
            .filter(|row| *row < manifest.rows)
            .ok_or_else(malformed)?;
        if previous.is_some_and(|previous| previous >= row) {
            return Err(malformed());
        }
        previous = Some(row);
        // Every part begins with a chunk of its own.
        let part = parts.partition_point(|part| part.first_row <= row).checked_sub(1);
        let part = part.and_then(|part| parts.get(part)).ok_or_else(malformed)?;
        let (row, chunk_rows) = (row - part.first_row, u64::from(CHUNK_ROWS));
        positions.push((part.first_chunk + (row / chunk_rows) as u32, (row % chunk_rows) as usize));
    }
    Ok(positions)
}

/// The task's programs and fetched columns with their keys.
struct Programs<'a> {
    scheme: Scheme,
    shapes: Vec<(ProgramShape, &'a ColumnKey, Option<ObjectRounding>)>,
    fetch: Vec<(&'a ColumnKey, Option<ObjectRounding>)>,
}

impl<'a> Programs<'a> {
    fn new(table: &'a OwnedTable, task: &RowsTask) -> Result<Self, ClientError> {
        let encodings = &table.manifest.manifest().encodings;
        let shapes = task.programs.iter().enumerate().map(|(index, program)| {
            let shape = shape(index, program, task.operands.len(), encodings)
                .map_err(|_| ClientError::Internal { what: "the plan has a program that no server takes" })?;
            let first = shape.columns.first().copied();
            let first = first.ok_or(ClientError::Internal { what: "a program without columns" })?;
            let key = table.keys.get(first)?;
            Ok::<_, ClientError>((shape, key, rounding(key, task.bits_of_program(index))?))
        });
        let fetch = task.fetch.iter().enumerate().map(|(index, id)| {
            let key = table.keys.get(*id)?;
            Ok::<_, ClientError>((key, rounding(key, task.bits_of_fetch(index))?))
        });
        Ok(Self {
            scheme: table.scheme,
            shapes: shapes.collect::<Result<_, _>>()?,
            fetch: fetch.collect::<Result<_, _>>()?,
        })
    }

    fn fetched(&self, chunk: &RowsChunk<'_>) -> Result<Vec<Cells>, ClientError> {
        if chunk.fetched.len() != self.fetch.len() {
            return Err(ClientError::Answer { what: "a chunk has another number of columns".into() });
        }
        let column = |((key, rounding), blob): (&(&ColumnKey, Option<ObjectRounding>), &&[u8])| match (
            self.scheme,
            rounding,
        ) {
            (Scheme::Lattice, None) => decrypt_chunk(key, chunk.seed, chunk.chunk, chunk.rows, blob),
            (Scheme::Lattice, Some(rounding)) => {
                let (kind, id) = body_of(key, chunk.chunk, chunk.rows)?;
                let whole = rounding.restore_body(blob, kind, id)?;
                decrypt_chunk(key, chunk.seed, chunk.chunk, chunk.rows, &whole)
            }
            (Scheme::NoOp, _) => Cells::plain(blob),
        };
        self.fetch.iter().zip(&chunk.fetched).map(column).collect()
    }

    fn computed(&self, chunk: &RowsChunk<'_>, index: usize) -> Result<Cells, ClientError> {
        let program = self.shapes.get(index).zip(chunk.programs.get(index));
        let ((shape, key, rounding), object) =
            program.ok_or(ClientError::Answer { what: "a chunk lacks a program's result".into() })?;
        if self.scheme == Scheme::NoOp {
            return Cells::plain(object);
        }
        let id = CiphertextSetId {
            chunk: chunk.chunk,
            element_count: element_count(shape.layout, shape.set, chunk.rows),
            lanes: shape.lanes(),
            components: shape.components(),
        };
        let set = match rounding {
            Some(rounding) => rounding.restore_ciphertexts(object, id)?,
            None => UncheckedCiphertextSet::decode(object)?.conform(key.ring(), id)?,
        };
        let elements = set.ciphertexts.chunks(usize::from(id.lanes.max(1)));
        Ok(match &key.space {
            Space::Slots { encoder, .. } => {
                let values = elements.map(|lanes| decrypt_slots(&key.secret, encoder, lanes));
                Cells::Exact(values.collect::<Result<Vec<_>, _>>()?.concat())
            }
            Space::ApproxSlots { encoder, scale, .. } => {
                let scale = Scale::from_log2(scale.log2() * shape.scale_power)?;
                let values = elements
                    .flatten()
                    .map(|ciphertext| decrypt_approx_slots(&key.secret, encoder, ciphertext, scale));
                Cells::Approx(values.collect::<Result<Vec<_>, _>>()?.concat())
            }
            Space::Sum { .. } | Space::ApproxSum { .. } => {
                return Err(ClientError::Internal { what: "a program over a column without slots" });
            }
        })
    }
}

/// How objects of a column come rounded, if they do.
fn rounding(key: &ColumnKey, bits: Option<u32>) -> Result<Option<ObjectRounding>, ClientError> {
    let rounding = bits.map(|bits| program::rounding(key.ring(), &key.encoding.public.plaintext, bits));
    Ok(rounding.transpose()?.flatten())
}

/// The values of one program at `rows` of a chunk; `None` where an encrypted validity says so.
fn pick(
    program: &OwnerProgram,
    computed: Option<&Cells>,
    fetched: &[Cells],
    rows: &[usize],
) -> Result<Vec<Option<Number>>, ClientError> {
    let missing = || ClientError::Internal { what: "the plan reads a column that it does not fetch" };
    let values = match (program.source, computed) {
        (ProgramSource::Fetched(index), _) => fetched.get(index).ok_or_else(missing)?,
        (ProgramSource::Program(_), Some(values)) => values,
        (ProgramSource::Program(_) | ProgramSource::Clear(_) | ProgramSource::Owned(_), _) => {
            return Err(missing());
        }
    };
    let numbers = rows.iter().map(|row| values.number(*row).ok_or_else(missing));
    mark(program, fetched, rows, numbers.collect::<Result<Vec<_>, _>>()?)
}

/// The numbers at `rows` of a chunk; `None` where an encrypted validity says so.
fn mark(
    program: &OwnerProgram,
    fetched: &[Cells],
    rows: &[usize],
    numbers: Vec<Number>,
) -> Result<Vec<Option<Number>>, ClientError> {
    let missing = || ClientError::Internal { what: "the plan reads a column that it does not fetch" };
    let valid = program.valid_if.iter().map(|index| fetched.get(*index).ok_or_else(missing));
    let valid = valid.collect::<Result<Vec<_>, _>>()?;
    let marked = rows.iter().zip(numbers).map(|(row, number)| {
        let is_valid = valid.iter().all(|cells| cells.is_one(*row));
        is_valid.then_some(number)
    });
    Ok(marked.collect())
}

/// Clear integer units at the matching rows `range`.
pub(super) fn clear_units(
    clear: &RecordBatch,
    index: usize,
    range: std::ops::Range<usize>,
) -> Result<Vec<Option<Number>>, ClientError> {
    let column = clear.columns().get(index + 1);
    let column =
        column.ok_or(ClientError::Internal { what: "the plan names a clear column that it lacks" })?;
    let wide = cast(&column.slice(range.start, range.len()), &DataType::Decimal256(76, 0))?;
    let wide = wide.as_primitive::<Decimal256Type>();
    Ok(wide.iter().map(|cell| cell.map(|cell| Number::Exact(big_of_arrow(cell)))).collect())
}

/// Applies the clear columns that must not be NULL.
fn blank_nulls(
    program: &OwnerProgram,
    clear: &RecordBatch,
    values: &mut [Option<Number>],
) -> Result<(), ClientError> {
    for index in &program.not_null {
        let column = clear.columns().get(index + 1);
        let column =
            column.ok_or(ClientError::Internal { what: "the plan names a clear column that it lacks" })?;
        for (row, value) in values.iter_mut().enumerate() {
            if column.is_null(row) {
                *value = None;
            }
        }
    }
    Ok(())
}

fn output_array(output: ProgramOutput, values: &[Option<Number>]) -> Result<ArrayRef, ClientError> {
    if values.iter().flatten().any(|value| matches!(value, Number::Approx(_))) {
        let floats = values.iter().map(|value| value.as_ref().map(Number::to_f64));
        return Ok(Arc::new(floats.collect::<Float64Array>()));
    }
    let integers = || {
        values.iter().map(|value| match value {
            Some(Number::Exact(value)) => Some(value),
            _ => None,
        })
    };
    Ok(match output {
        ProgramOutput::Bool => {
            Arc::new(integers().map(|v| v.map(|v| !v.is_zero())).collect::<BooleanArray>())
        }
        ProgramOutput::Date => {
            let days = integers().map(|value| checked(value, ToPrimitive::to_i32));
            Arc::new(days.collect::<Result<Date32Array, _>>()?)
        }
        ProgramOutput::Timestamp => {
            let micros = integers().map(|value| checked(value, ToPrimitive::to_i64));
            Arc::new(micros.collect::<Result<TimestampMicrosecondArray, _>>()?)
        }
        ProgramOutput::Number(output) => {
            number_array(&integers().map(|v| v.cloned()).collect::<Vec<_>>(), output)?
        }
    })
}
