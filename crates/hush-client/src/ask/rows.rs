// SPDX-License-Identifier: Apache-2.0
//! Element-wise answers: chunk by chunk the programs and fetched columns are decrypted, and the matching rows
//! picked into the table `merged`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, UInt64Array, new_null_array};
use arrow::buffer::NullBuffer;
use arrow::compute::{cast, concat, take};
use arrow::datatypes::{DataType, Date32Type, Field, Schema as ArrowSchema, TimestampMicrosecondType};
use arrow::record_batch::RecordBatch;
use hush_encode::arrow_type;
use hush_exec::answer::{Answer, RowNumbers, RowsChunk};
use hush_exec::packing;
use hush_exec::program::shape;
use hush_plan::plan::{OwnerProgram, ProgramOutput, ProgramSource, RowsTask};
use hush_plan::schema::Column;
use hush_plan::{EncodingId, OwnerPlan};
use hush_rlwe::ObjectRounding;
use hush_table::manifest::PartPlace;
use hush_table::{CHUNK_ROWS, Manifest, PartEntry};
use rayon::prelude::*;

use super::clear::{clear_column, clear_units};
use super::owned::{self, Input};
use super::{Asked, answer_error};
use crate::arrays::{booleans, floats, integers, numbers};
use crate::bounds::check_rows;
use crate::cells::Cells;
use crate::chunk::{Seal, from_ipc, sealed_place};
use crate::copy;
use crate::error::ClientError;
use crate::finish::ROW;
use crate::packing::ColumnKey;
use crate::precision::rounded;
use crate::release::Release;
use crate::roots::DomainKeys;
use crate::scheme::{self, Computed, Scheme};
use crate::table::OwnedTable;
use crate::threads::on_threads;

/// Builds `merged`: clear columns `c0…` and programs `p0…`, one row per matching row. `errors` bounds the errors of the task's
/// programs and fetched columns.
///
/// # Errors
/// [`ClientError::Answer`] if the answer is not one to this task.
pub(super) fn merge(
    asked: &Asked<'_>,
    task: &RowsTask,
    answer: &Answer<'_>,
    chunks: &[RowsChunk<'_>],
    errors: &[f64],
) -> Result<RecordBatch, ClientError> {
    let Asked { table, owner, .. } = *asked;
    let matching = Matching::of(table, task, answer)?;
    let clear = &matching.numbers.before(&matching.clear)?;
    let outputs = Outputs { owner, task, clear, programs: Programs::new(asked, task)?, errors };
    let places = matching.places(chunks)?;
    let covered = places.last().map_or(0, |(range, _)| range.end);
    // A query of clear columns alone has no chunks.
    let is_clear = task.object_count() == 0;
    let is_accompanied = !is_clear || !chunks.is_empty();
    if is_accompanied && covered != clear.num_rows() && !owner.programs.is_empty() {
        return Err(unaccompanied());
    }
    let pieces = if chunks.is_empty() {
        vec![outputs.of_clear()?]
    } else {
        let of_chunk = |(chunk, (range, rows)): (_, Place)| outputs.of_chunk(chunk, range, &rows.numbers());
        let pieces = chunks.par_iter().zip(places).map(of_chunk);
        on_threads(table.costs.threads, || pieces.collect::<Result<Vec<_>, _>>())?
    };
    let row_numbers = cast(clear.column(0), &DataType::Int64)?;
    let mut fields = vec![Field::new(ROW, DataType::Int64, false)];
    let mut columns: Vec<ArrayRef> = vec![row_numbers];
    for (index, column) in clear.columns().iter().skip(1).enumerate() {
        fields.push(Field::new(format!("c{index}"), column.data_type().clone(), true));
        columns.push(column.clone());
    }
    for index in 0..owner.programs.len() {
        let arrays: Vec<&dyn Array> =
            pieces.iter().filter_map(|piece| piece.get(index)).map(|a| &**a).collect();
        let column = concat(&arrays)?;
        fields.push(Field::new(format!("p{index}"), column.data_type().clone(), true));
        columns.push(column);
    }
    Ok(RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), columns)?)
}

/// The matching rows of an answer.
pub(super) struct Fetched {
    /// Numbers of the rows in the table.
    pub(super) numbers: RowNumbers,
    /// The clear columns of the task.
    pub(super) clear: RecordBatch,
    /// The fetched quantities.
    pub(super) quantities: Vec<Cells>,
    /// The sealed columns, each in an array for every chunk of the answer.
    pub(super) sealed: Vec<Vec<ArrayRef>>,
}

/// The columns of a rows answer at the matching rows.
///
/// # Errors
/// [`ClientError::Answer`] if the answer is not one to this task.
pub(super) fn fetched(
    asked: &Asked<'_>,
    task: &RowsTask,
    answer: &Answer<'_>,
    chunks: &[RowsChunk<'_>],
) -> Result<Fetched, ClientError> {
    let matching = Matching::of(asked.table, task, answer)?;
    let programs = Programs::new(asked, task)?;
    let places = matching.places(chunks)?;
    let covered = places.last().map_or(0, |(range, _)| range.end);
    // Clear columns alone have no chunks.
    if task.object_count() > 0 && covered != matching.numbers.len() {
        return Err(unaccompanied());
    }
    let pieces = chunks.par_iter().zip(&places).map(|(chunk, (_, rows))| {
        let columns = programs.fetched(chunk)?;
        let cells = columns.into_iter().map(|cells| rows.of(cells).ok_or_else(too_short));
        Ok::<_, ClientError>((cells.collect::<Result<Vec<_>, _>>()?, programs.sealed(chunk, rows)?))
    });
    let pieces = on_threads(asked.table.costs.threads, || pieces.collect::<Result<Vec<_>, _>>())?;
    let (pieces, sealed): (Vec<Vec<Cells>>, Vec<Vec<ArrayRef>>) = pieces.into_iter().unzip();
    let mut pieces = pieces.into_iter();
    let mut quantities =
        pieces.next().unwrap_or_else(|| task.fetch.iter().map(|_| Cells::Exact(Vec::new())).collect());
    for piece in pieces {
        for (all, cells) in quantities.iter_mut().zip(piece) {
            all.append(cells)?;
        }
    }
    let mut columns: Vec<Vec<ArrayRef>> = task.sealed.iter().map(|_| Vec::new()).collect();
    for piece in sealed {
        columns.iter_mut().zip(piece).for_each(|(column, array)| column.push(array));
    }
    let sealed = columns;
    Ok(Fetched { numbers: matching.numbers, clear: matching.clear, quantities, sealed })
}

fn unaccompanied() -> ClientError {
    ClientError::Answer { what: "matching rows without their ciphertexts".into() }
}

fn too_short() -> ClientError {
    ClientError::Internal { what: "a decrypted chunk is shorter than its rows" }
}

/// The rows of the answer that lie in one chunk, and their places in it.
type Place = (Range<usize>, Places);

/// Places of rows in a chunk, ascending.
enum Places {
    /// All of so many.
    All(usize),
    /// These.
    Some(Vec<usize>),
}

impl Places {
    fn len(&self) -> usize {
        match self {
            Self::All(rows) => *rows,
            Self::Some(rows) => rows.len(),
        }
    }

    fn numbers(&self) -> Cow<'_, [usize]> {
        match self {
            Self::All(rows) => (0..*rows).collect(),
            Self::Some(rows) => Cow::Borrowed(rows),
        }
    }

    /// The values of these rows; `None` where there are too few.
    fn of(&self, cells: Cells) -> Option<Cells> {
        match self {
            Self::All(rows) if cells.len() == *rows => Some(cells),
            _ => cells.at(&self.numbers()),
        }
    }
}

/// The matching rows.
struct Matching {
    /// Their numbers in the table.
    numbers: RowNumbers,
    /// The clear columns of the task.
    clear: RecordBatch,
    /// The parts of the table.
    parts: Vec<PartPlace>,
}

impl Matching {
    fn of(table: &OwnedTable, task: &RowsTask, answer: &Answer<'_>) -> Result<Self, ClientError> {
        let manifest = table.manifest.manifest();
        let (numbers, clear) = answer.matching(manifest.rows).map_err(answer_error)?;
        if clear.num_columns() != task.clear.len() {
            return Err(ClientError::Answer { what: "its clear half has another number of columns".into() });
        }
        let parts = manifest.placed_parts().map(|(place, _)| place).collect();
        Ok(Self { numbers, clear, parts })
    }

    /// How many rows from `at` on lie below the row `end`.
    fn below(&self, at: usize, end: u64) -> usize {
        match &self.numbers {
            RowNumbers::All(rows) => (end.min(*rows) as usize).saturating_sub(at),
            RowNumbers::Some(numbers) => {
                let left = numbers.values().get(at..).unwrap_or_default();
                left.partition_point(|number| *number < end)
            }
        }
    }

    /// The numbers of so many rows from `at` on, less `first`.
    fn places_from(&self, (at, count): (usize, usize), first: u64) -> Vec<usize> {
        match &self.numbers {
            RowNumbers::All(_) => (at..at + count).map(|row| row - first as usize).collect(),
            RowNumbers::Some(numbers) => {
                let own = numbers.values().get(at..at + count).unwrap_or_default();
                own.iter().map(|number| (number - first) as usize).collect()
            }
        }
    }

    /// For each chunk of the answer the rows of `clear` that lie in it, and their places in the chunk.
    fn places(&self, chunks: &[RowsChunk<'_>]) -> Result<Vec<Place>, ClientError> {
        let mut at = 0;
        let mut places = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            let part = self.parts.partition_point(|part| part.first_chunk <= chunk.chunk).checked_sub(1);
            let part = part.and_then(|part| self.parts.get(part));
            let part =
                part.ok_or(ClientError::Answer { what: "it has a chunk that the table lacks".into() })?;
            let first = part.first_row + u64::from(chunk.chunk - part.first_chunk) * u64::from(CHUNK_ROWS);
            // None of the chunk's rows, if the next one lies before it.
            let begins = self.below(at, first) == 0;
            let end = first.saturating_add(chunk.rows.into());
            let count = if begins { self.below(at, end) } else { 0 };
            // Numbers ascend, so that as many as there are rows are all rows.
            let rows = if count as u64 == u64::from(chunk.rows) {
                Places::All(count)
            } else {
                Places::Some(self.places_from((at, count), first))
            };
            places.push((at..at + count, rows));
            at += count;
        }
        Ok(places)
    }
}

/// Chunk and place in the chunk of every matching row.
///
/// # Errors
/// [`ClientError::Answer`] unless these are numbers of rows of the table, ascending.
pub(crate) fn positions(numbers: &RowNumbers, manifest: &Manifest) -> Result<Vec<(u32, usize)>, ClientError> {
    let malformed = || ClientError::Answer { what: "its row numbers are malformed".into() };
    let parts: Vec<PartPlace> = manifest.placed_parts().map(|(place, _)| place).collect();
    let position = |row: &u64| {
        // Every part begins with a chunk of its own.
        let part = parts.partition_point(|part| part.first_row <= *row).checked_sub(1);
        let part = part.and_then(|part| parts.get(part)).ok_or_else(malformed)?;
        let (row, chunk_rows) = (row - part.first_row, u64::from(CHUNK_ROWS));
        Ok((part.first_chunk + (row / chunk_rows) as u32, (row % chunk_rows) as usize))
    };
    numbers.to_array().values().iter().map(position).collect()
}

/// The task's programs and fetched columns with their keys.
struct Programs<'a> {
    scheme: &'static dyn Scheme,
    release: Option<&'a Release<'a>>,
    manifest: &'a Manifest,
    parts: Vec<(PartPlace, &'a PartEntry)>,
    domains: BTreeMap<u32, OfDomain<'a>>,
}

/// They, with the keys of one domain.
struct OfDomain<'a> {
    shapes: Vec<Computed<'a>>,
    fetch: Vec<scheme::Fetched<'a>>,
    /// The keys of the columns under a seal, with these as if nothing were encrypted, and whether each is a copy.
    sealed: Vec<(&'a Seal, Column, bool)>,
}

impl<'a> OfDomain<'a> {
    fn new(asked: &Asked<'a>, task: &RowsTask, keys: &'a DomainKeys) -> Result<Self, ClientError> {
        let Asked { table, owner, .. } = *asked;
        let (schema, open) = (&table.half.schema, table.half.schema.all_clear());
        let sealed = task.sealed.iter().map(|number| {
            let missing =
                || ClientError::Internal { what: "the plan asks for a sealed column that the schema lacks" };
            let seal = keys.seals.iter().find(|seal| seal.number == *number).ok_or_else(missing)?;
            let column = open.columns.iter().find(|column| column.name == seal.name).ok_or_else(missing)?;
            let is_copy = schema.columns.iter().any(|known| known.name == seal.name && known.has_copy());
            Ok::<_, ClientError>((seal, column.clone(), is_copy))
        });
        let sealed = sealed.collect::<Result<_, _>>()?;
        let keys = &keys.columns;
        let (encodings, bounds) = (&table.manifest.manifest().encodings, &owner.bounds);
        let shapes =
            task.programs.iter().zip(&bounds.programs).enumerate().map(|(index, (program, bound))| {
                let shape = shape(index, program, task.operands.len(), encodings).map_err(|_| {
                    ClientError::Internal { what: "the plan has a program that no server takes" }
                })?;
                let first = shape.columns.first().copied();
                let first = first.ok_or(ClientError::Internal { what: "a program without columns" })?;
                let key = keys.get(first)?;
                for other in &shape.columns {
                    if keys.get(*other)?.encoding.secret_id != key.encoding.secret_id {
                        let what = "a program of columns under different secrets";
                        return Err(ClientError::Internal { what });
                    }
                }
                let rounding = rounding(key, task.bits_of_program(index))?;
                Ok::<_, ClientError>(Computed { shape, key, rounding, bound })
            });
        let fetch = task.fetch.iter().zip(&bounds.fetched).enumerate().map(|(index, (id, bound))| {
            let key = keys.get(*id)?;
            let rounding = rounding(key, task.bits_of_fetch(index))?;
            Ok::<_, ClientError>(scheme::Fetched { key, rounding, bound })
        });
        let (shapes, fetch) = (shapes.collect::<Result<_, _>>()?, fetch.collect::<Result<_, _>>()?);
        Ok(Self { shapes, fetch, sealed })
    }
}

impl<'a> Programs<'a> {
    fn new(asked: &Asked<'a>, task: &RowsTask) -> Result<Self, ClientError> {
        let Asked { table, owner, release } = *asked;
        let (manifest, bounds) = (table.manifest.manifest(), &owner.bounds);
        if (bounds.programs.len(), bounds.fetched.len()) != (task.programs.len(), task.fetch.len()) {
            return Err(ClientError::Internal { what: "the plan bounds less than it asks for" });
        }
        let of_domain = |domain: u32| {
            let keys = table.keys.of(manifest, domain)?;
            Ok((domain, OfDomain::new(asked, task, keys)?))
        };
        let domains = manifest.domains().into_iter().map(of_domain).collect::<Result<_, ClientError>>()?;
        let parts = manifest.placed_parts().collect();
        Ok(Self { scheme: table.scheme, release, manifest, parts, domains })
    }

    /// The part of a chunk, and the programs with its keys.
    fn of(&self, chunk: &RowsChunk<'_>) -> Result<((PartPlace, &'a PartEntry), &OfDomain<'a>), ClientError> {
        let after = self.parts.partition_point(|(place, _)| place.first_chunk <= chunk.chunk);
        let part = after.checked_sub(1).and_then(|index| self.parts.get(index)).copied();
        let part = part.filter(|(place, entry)| chunk.chunk - place.first_chunk < entry.chunks);
        let part = part.ok_or(ClientError::Answer { what: "it has a chunk that the table lacks".into() })?;
        let before = u64::from(chunk.chunk - part.0.first_chunk) * u64::from(CHUNK_ROWS);
        if u64::from(chunk.rows) != part.1.rows.saturating_sub(before).min(CHUNK_ROWS.into()) {
            return Err(ClientError::Answer { what: "a chunk has another number of rows".into() });
        }
        let of_domain = self.domains.get(&part.1.domain);
        Ok((part, of_domain.ok_or(ClientError::Internal { what: "a part is of no domain of its table" })?))
    }

    /// What a chunk has of columns, one of which its part lacks: 0 throughout, and no object.
    fn lacking(
        &self,
        entry: &PartEntry,
        columns: &[EncodingId],
        (is_approximate, rows, object): (bool, u32, &[u8]),
    ) -> Result<Option<Cells>, ClientError> {
        if !columns.iter().any(|id| self.manifest.lacks(entry.generation, *id)) {
            return Ok(None);
        }
        if !object.is_empty() {
            return Err(ClientError::Answer { what: "it has values that the table lacks".into() });
        }
        Ok(Some(Cells::zeros(is_approximate, rows as usize)))
    }

    fn fetched(&self, chunk: &RowsChunk<'_>) -> Result<Vec<Cells>, ClientError> {
        let ((place, entry), OfDomain { fetch, sealed, .. }) = self.of(chunk)?;
        if chunk.fetched.len() != fetch.len() + sealed.len() {
            return Err(ClientError::Answer { what: "a chunk has another number of columns".into() });
        }
        let written = entry.first_written(place).saturating_add(chunk.chunk - place.first_chunk);
        let column = |(column, blob): (&scheme::Fetched<'_>, &&[u8])| {
            let form = (column.key.encoding.public.packing.is_approximate(), chunk.rows, *blob);
            match self.lacking(entry, &[column.key.id()], form)? {
                Some(zeros) => Ok(zeros),
                None => self.scheme.fetched(column, (chunk, written), blob, self.release),
            }
        };
        fetch.iter().zip(&chunk.fetched).map(column).collect()
    }

    /// The sealed columns of a chunk at some rows. A column that came later is missing there.
    fn sealed(&self, chunk: &RowsChunk<'_>, rows: &Places) -> Result<Vec<ArrayRef>, ClientError> {
        let ((place, entry), OfDomain { fetch, sealed, .. }) = self.of(chunk)?;
        let written = entry.first_written(place).saturating_add(chunk.chunk - place.first_chunk);
        let stored = self.manifest.columns_of(entry.generation).sealed;
        let picked = match rows {
            Places::All(_) => None,
            Places::Some(rows) => Some(rows.iter().map(|row| *row as u64).collect::<UInt64Array>()),
        };
        let column = |((seal, column, is_copy), blob): (&(&Seal, Column, bool), &&[u8])| {
            let kind = &arrow_type(column.kind);
            if !stored.contains(&seal.number) {
                return match blob.is_empty() {
                    true => Ok(new_null_array(kind, rows.len())),
                    false => Err(ClientError::Answer { what: "it has values that the table lacks".into() }),
                };
            }
            let append = entry.append.map(|append| append.id);
            let plain = seal.key.open(&sealed_place(seal.number, append, written), blob)?;
            let array = match is_copy {
                true => copy::opened(column, &plain, chunk.rows as usize)?,
                false => from_ipc(&plain)?,
            };
            if array.len() != chunk.rows as usize {
                return Err(ClientError::Internal { what: "a sealed column has other rows than its chunk" });
            }
            let array = match &picked {
                None => array,
                Some(picked) => take(&array, picked, None)?,
            };
            Ok(cast(&array, kind)?)
        };
        sealed.iter().zip(chunk.fetched.iter().skip(fetch.len())).map(column).collect()
    }

    fn computed(&self, chunk: &RowsChunk<'_>, index: usize) -> Result<Cells, ClientError> {
        let ((_, entry), OfDomain { shapes, .. }) = self.of(chunk)?;
        let (computed, object) = shapes
            .get(index)
            .zip(chunk.programs.get(index))
            .ok_or(ClientError::Answer { what: "a chunk lacks a program's result".into() })?;
        let form = (computed.shape.packing.is_approximate(), chunk.rows, *object);
        if let Some(zeros) = self.lacking(entry, &computed.shape.columns, form)? {
            return Ok(zeros);
        }
        let cells = self.scheme.computed(computed, chunk, object, None)?;
        check_rows("a computed column", &cells, computed.bound)?;
        match (self.release, &cells) {
            // Only values within their bounds get noise.
            (Some(release), Cells::Approx(_)) => self.scheme.computed(computed, chunk, object, Some(release)),
            _ => Ok(cells),
        }
    }
}

/// The rounding of a column's objects, if any.
fn rounding(key: &ColumnKey, bits: Option<u32>) -> Result<Option<ObjectRounding>, ClientError> {
    let rounding = bits.map(|bits| packing::rounding(key.ring(), &key.encoding.public.packing, bits));
    Ok(rounding.transpose()?.flatten())
}

/// The sources of the columns `p0…`.
struct Outputs<'a> {
    owner: &'a OwnerPlan,
    task: &'a RowsTask,
    clear: &'a RecordBatch,
    programs: Programs<'a>,
    /// Error bounds of the task's programs and fetched columns.
    errors: &'a [f64],
}

impl Outputs<'_> {
    /// All columns at the matching rows `range`, which lie in one chunk at the places `rows`.
    fn of_chunk(
        &self,
        chunk: &RowsChunk<'_>,
        range: Range<usize>,
        rows: &[usize],
    ) -> Result<Vec<ArrayRef>, ClientError> {
        let fetched = self.programs.fetched(chunk)?;
        let input = Input { task: self.task, clear: self.clear, range, fetched: &fetched, rows };
        let column = |program: &OwnerProgram| {
            let computed = match program.source {
                ProgramSource::Program(index) => Some(self.programs.computed(chunk, index)?),
                ProgramSource::Clear(_) | ProgramSource::Fetched(_) | ProgramSource::Owned(_) => None,
            };
            self.column(program, computed.as_ref(), &input)
        };
        self.owner.programs.iter().map(column).collect()
    }

    /// All columns of an answer without ciphertexts.
    fn of_clear(&self) -> Result<Vec<ArrayRef>, ClientError> {
        let range = 0..self.clear.num_rows();
        let input = Input { task: self.task, clear: self.clear, range, fetched: &[], rows: &[] };
        self.owner.programs.iter().map(|program| self.column(program, None, &input)).collect()
    }

    fn column(
        &self,
        program: &OwnerProgram,
        computed: Option<&Cells>,
        input: &Input<'_>,
    ) -> Result<ArrayRef, ClientError> {
        let missing = || ClientError::Internal { what: "the plan reads a column that it does not fetch" };
        let at_rows = |cells: &Cells| cells.at(input.rows).ok_or_else(too_short);
        let fetched = |index: usize| input.fetched.get(index).ok_or_else(missing);
        let mut nulls = None;
        let error = match program.source {
            ProgramSource::Program(index) => self.errors.get(index),
            ProgramSource::Fetched(index) => self.errors.get(self.task.programs.len() + index),
            ProgramSource::Clear(_) | ProgramSource::Owned(_) => None,
        };
        let values = match program.source {
            ProgramSource::Clear(index) => {
                let (units, unknown) = clear_units(input.clear, index, input.range.clone())?;
                nulls = unknown;
                Cells::Exact(units)
            }
            // An answer without rows has no chunks to fetch from.
            _ if input.rows.is_empty() => Cells::Exact(Vec::new()),
            ProgramSource::Fetched(index) => at_rows(fetched(index)?)?,
            ProgramSource::Owned(index) => {
                let expr = self.owner.owned.get(index);
                let expr = expr.ok_or(ClientError::Internal { what: "the plan lacks an expression" })?;
                Cells::Exact(owned::evaluate(expr, input)?)
            }
            ProgramSource::Program(_) => at_rows(computed.ok_or_else(missing)?)?,
        };
        for index in program.valid_if.iter().filter(|_| !input.rows.is_empty()) {
            nulls = NullBuffer::union(nulls.as_ref(), Some(&at_rows(fetched(*index)?)?.nulls()?));
        }
        for index in &program.not_null {
            let operand = clear_column(input.clear, *index)?.slice(input.range.start, input.range.len());
            nulls = NullBuffer::union(nulls.as_ref(), operand.logical_nulls().as_ref());
        }
        let values = match values {
            Cells::Approx(values) => {
                let error = error.copied().unwrap_or(0.0);
                Cells::Approx(values.into_iter().map(|value| rounded(value, error)).collect())
            }
            exact => exact,
        };
        output_array(program.output, values, nulls)
    }
}

fn output_array(
    output: ProgramOutput,
    values: Cells,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, ClientError> {
    let values = match values {
        Cells::Exact(values) => values,
        Cells::Approx(values) => return floats(values, nulls),
    };
    Ok(match output {
        ProgramOutput::Bool => booleans(&values, nulls),
        ProgramOutput::Date => Arc::new(integers::<Date32Type>(&values, nulls)?),
        ProgramOutput::Timestamp => Arc::new(integers::<TimestampMicrosecondType>(&values, nulls)?),
        ProgramOutput::Number(output) => numbers(&values, nulls, output)?,
    })
}
