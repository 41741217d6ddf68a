// SPDX-License-Identifier: Apache-2.0
//! Questions of a cube: its cells have come back, added up over parts, and rows of the parts without it. The rows are put into cells as well;
//! the cells become a table in memory in which nothing is encrypted, and a row of which stands for many.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatchOptions, StringArray, UInt64Array};
use arrow::compute::take;
use arrow::datatypes::{DataType, Field, Schema as ArrowSchema};
use arrow::record_batch::RecordBatch;
use ethnum::I256;
use hush_encode::arrow_type;
use hush_exec::answer::{Answer, RowsChunk};
use hush_plan::cube::{Axis, CubeShape, Place, plain_encoding};
use hush_plan::plan::{CellsQuery, OwnQuery, RowsTask};
use hush_plan::schema::{Column, Written};
use hush_plan::{ColumnType, Protection, Quantity, Schema};
use hush_table::source::{ColumnData, RowBatch, TypedColumn, Values};
use hush_table::{CubeSums, Manifest, PackedSums, PartEntry};

use num_traits::ToPrimitive;

use super::{Asked, gathered, local, own, rows};
use crate::cells::Cells;
use crate::copy;
use crate::cube::{self, Sums, rows_of};
use crate::error::ClientError;
use crate::private::PrivateHalf;
use crate::roots::RowKeys;
use crate::table::OwnedTable;

/// Builds `merged`, as for sums of a server, from cells.
///
/// # Errors
/// [`ClientError::Answer`] if the answer is not one to this task.
///
/// # Cost
/// A pad for each part and number of the cube; 32 bytes of memory for each number.
pub(super) fn merge(
    asked: &Asked<'_>,
    (cells, own): (&CellsQuery, &OwnQuery),
    task: &RowsTask,
    answer: &Answer<'_>,
    chunks: &[RowsChunk<'_>],
) -> Result<RecordBatch, ClientError> {
    let missing = || ClientError::Internal { what: "the plan asks for a cube that the schema lacks" };
    let Asked { table, .. } = *asked;
    let (schema, manifest) = (&table.half.schema, table.manifest.manifest());
    let number = task.cube.ok_or_else(missing)?;
    let declared = schema.cubes.get(cells.place).ok_or_else(missing)?;
    let numbered = table.half.cubes.get(cells.place).filter(|numbered| numbered.number == number);
    let whole = CubeShape::of(schema, declared).ok().zip(numbered);
    let whole = whole.and_then(|(shape, numbered)| shape.in_order(&numbered.lanes)).ok_or_else(missing)?;
    let found = sums_of((number, &whole), answer.cells, manifest, &table.keys)?;
    let shape = read_part(&whole, cells);
    let mut sums = narrowed((&whole, &found), &shape, cells);
    let left = rows::fetched(asked, task, answer, chunks)?;
    require_beside(&left.numbers.to_array(), manifest, |part| part.has_cube(number))?;
    if !left.numbers.is_empty() {
        let opened = own::opened_schema(schema, own);
        let batch = row_batch(&opened, &own::opened(&opened, own, &left)?);
        sums.add(&rows_of(&shape, &opened, &batch)?);
    }
    drop(found);
    let table_of_cells = of_cells(asked, (&shape, &[sums]), &[], cells)?;
    gathered::grouped_here(&table_of_cells, asked.owner, cells.predicate.as_ref(), &cells.task)
}

/// Refuses rows that are not all rows of the parts that have no cube or run, and no others: those of other parts are in it.
///
/// # Errors
/// [`ClientError::Answer`].
pub(super) fn require_beside(
    numbers: &UInt64Array,
    manifest: &Manifest,
    is_covered: impl Fn(&PartEntry) -> bool,
) -> Result<(), ClientError> {
    let other = || ClientError::Answer { what: "its rows are not those of the parts that send rows".into() };
    let mut left = numbers.values().as_ref();
    for (place, part) in manifest.placed_parts().filter(|(_, part)| !is_covered(part)) {
        // Numbers rise.
        let end = place.first_row.saturating_add(part.rows);
        let count = left.partition_point(|row| *row < end);
        let (here, rest) = left.split_at_checked(count).ok_or_else(other)?;
        if here.first().is_some_and(|row| *row < place.first_row) || count as u64 != part.living_rows() {
            return Err(other());
        }
        left = rest;
    }
    if left.is_empty() { Ok(()) } else { Err(other()) }
}

/// The sums over the parts that have a cube, of what a server has added up.
///
/// # Errors
/// [`ClientError::Answer`] for cells that cannot be those of these parts.
///
/// # Cost
/// A pad for each part and number.
fn sums_of(
    (number, shape): (u32, &CubeShape),
    found: Option<PackedSums<'_>>,
    manifest: &Manifest,
    keys: &RowKeys,
) -> Result<Sums, ClientError> {
    let other = || ClientError::Answer { what: "its cells are not those of the table".into() };
    let mut sums = Sums::zeros(shape);
    let covered: Vec<_> = manifest.parts.iter().filter(|part| part.has_cube(number)).collect();
    let Some(found) = found else {
        return if covered.is_empty() { Ok(sums) } else { Err(other()) };
    };
    if (found.cells(), found.bits()) != (shape.cells(), &*shape.bits()) || covered.is_empty() {
        return Err(other());
    }
    let found = found.unpack();
    let mut all_pads = CubeSums::zeros(shape.cells(), &shape.bits());
    for part in &covered {
        let cubes = part.cubes.as_ref().ok_or_else(other)?;
        let key = &keys.of(manifest, part.domain)?.pads;
        all_pads.add(&cube::pads(key, cubes.id.as_bytes(), (number, shape))).ok_or_else(other)?;
    }
    for (place, lane) in std::iter::once(&mut sums.rows).chain(&mut sums.lanes).enumerate() {
        let described = shape.lanes.get(place).ok_or_else(other)?;
        let numbers = found.lane(place).zip(all_pads.lane(place)).ok_or_else(other)?;
        for (sum, (found, pad)) in lane.iter_mut().zip(numbers.0.zip(numbers.1)) {
            *sum = described.sum(found.wrapping_sub(pad));
        }
    }
    let rows = cube::rows_of_cube(manifest, number);
    match are_of_rows(shape, &sums, rows) {
        true => Ok(sums),
        false if has_full_cell(shape, &sums, rows) => Err(ClientError::FullCell { cube: number }),
        false => Err(other()),
    }
}

/// Whether the numbers of rows are those of so many rows but for cells that have passed their bits. Each such cell lacks a multiple of what these
/// hold, so that no other cell makes up for it: where the numbers add up to all rows, none has.
pub(crate) fn has_full_cell(shape: &CubeShape, sums: &Sums, rows: u64) -> bool {
    let bits = shape.lanes.first().map_or(0, |lane| u32::from(lane.bits));
    let lacking = i128::from(rows) - sums.rows.iter().sum::<i128>();
    lacking > 0 && lacking.trailing_zeros() >= bits
}

/// Whether cells can be those of so many rows.
pub(crate) fn are_of_rows(shape: &CubeShape, sums: &Sums, rows: u64) -> bool {
    sums.rows.iter().sum::<i128>() == i128::from(rows) && are_of_some_rows(shape, sums, rows)
}

/// Whether cells can be those of some of so many rows.
pub(super) fn are_of_some_rows(shape: &CubeShape, sums: &Sums, rows: u64) -> bool {
    let rows = i128::from(rows);
    sums.rows.iter().all(|count| (0..=rows).contains(count))
        && sums.rows.iter().sum::<i128>() <= rows
        && shape.lanes.iter().skip(1).zip(&sums.lanes).all(|(lane, found)| {
            let (low, high) = (lane.row.low().to_i128(), lane.row.high().to_i128());
            let Some((low, high)) = low.zip(high) else { return false };
            let within = |(count, sum): (&i128, &i128)| {
                let bounds = count.checked_mul(low).zip(count.checked_mul(high));
                bounds.is_some_and(|(low, high)| (low..=high).contains(sum))
            };
            sums.rows.iter().zip(found).all(within)
        })
}

/// The dimensions and lanes that a query reads.
pub(super) fn read_part(whole: &CubeShape, cells: &CellsQuery) -> CubeShape {
    let axes = whole.axes.iter().filter(|axis| cells.clear.contains(&axis.column));
    let lanes = std::iter::once(&0).chain(&cells.lanes).filter_map(|lane| whole.lanes.get(*lane));
    CubeShape { axes: axes.cloned().collect(), lanes: lanes.cloned().collect() }
}

/// Sums over the dimensions that are not read.
pub(super) fn narrowed((whole, found): (&CubeShape, &Sums), shape: &CubeShape, cells: &CellsQuery) -> Sums {
    let mut sums = Sums::zeros(shape);
    let is_read = |axis: &Axis| cells.clear.contains(&axis.column);
    let sizes: Vec<(usize, bool)> = whole.axes.iter().map(|axis| (axis.len(), is_read(axis))).collect();
    for (cell, rows) in found.rows.iter().enumerate().filter(|(_, rows)| **rows > 0) {
        let (mut rest, mut place, mut stride) = (cell, 0, 1);
        for (size, is_read) in sizes.iter().rev() {
            if *is_read {
                place += rest % size * stride;
                stride *= size;
            }
            rest /= size;
        }
        sums.rows.get_mut(place).into_iter().for_each(|sum| *sum += rows);
        for (sums, lane) in sums.lanes.iter_mut().zip(&cells.lanes) {
            // The first lane is that of rows.
            let more = lane.checked_sub(1).and_then(|lane| found.lanes.get(lane)?.get(cell)).copied();
            sums.get_mut(place).into_iter().for_each(|sum| *sum += more.unwrap_or_default());
        }
    }
    sums
}

/// Columns that came back, as rows of a source.
pub(super) fn row_batch(schema: &Schema, clear: &RecordBatch) -> RowBatch {
    let column = |column: &Column| Some(ColumnData::Array(clear.column_by_name(&column.name)?.clone()));
    let columns = schema.columns.iter().map(column).collect();
    RowBatch { first_row: 0, rows: clear.num_rows(), columns }
}

/// A table in memory with a row for each cell that has rows, in each of some groups with these keys.
pub(super) fn of_cells(
    asked: &Asked<'_>,
    (shape, groups): (&CubeShape, &[Sums]),
    keys: &[(Column, ArrayRef)],
    cells: &CellsQuery,
) -> Result<OwnedTable, ClientError> {
    let missing = || ClientError::Internal { what: "a cube lacks a column that it is made of" };
    let schema = asked.table.half.schema.with_derived().all_clear();
    let filled = groups.iter().enumerate().flat_map(|(group, sums)| {
        let has_rows = |cell: &usize| sums.rows.get(*cell) > Some(&0);
        (0..sums.rows.len()).filter(has_rows).map(move |cell| (group, cell))
    });
    let filled: Vec<(usize, usize)> = filled.collect();
    let mut columns = Vec::new();
    let of_groups = UInt64Array::from_iter_values(filled.iter().map(|(group, _)| *group as u64));
    for (column, key) in keys {
        columns.push((column.clone(), take(key, &of_groups, None)?));
    }
    let mut stride = shape.cells() as usize;
    for axis in &shape.axes {
        stride /= axis.len().max(1);
        let column = schema.columns.iter().find(|column| column.name == axis.column).ok_or_else(missing)?;
        let places: Vec<Place<'_>> =
            filled.iter().map(|(_, cell)| axis.place(cell / stride.max(1) % axis.len())).collect();
        columns.push((column.clone(), array(column, &places)?));
    }
    let at = |of: &dyn Fn(&Sums) -> Option<&Vec<i128>>, (group, cell): &(usize, usize)| {
        groups.get(*group).and_then(of).and_then(|lane| lane.get(*cell)).copied()
    };
    let counts = filled.iter().map(|place| i64::try_from(at(&|sums| Some(&sums.rows), place)?).ok());
    let counts = counts.collect::<Option<_>>().ok_or(ClientError::Overflow)?;
    let mut lanes = Vec::new();
    for (number, lane) in shape.lanes.iter().skip(1).enumerate() {
        let sums = filled.iter().map(|place| at(&|sums| sums.lanes.get(number), place));
        let sums = sums.collect::<Option<Vec<i128>>>().ok_or_else(missing)?;
        lanes.push((lane.quantity.clone().ok_or_else(missing)?, sums));
    }
    counted(asked, columns, (&cells.count, counts), lanes)
}

/// A table in memory whose rows stand for several each: clear columns, how many rows each stands for, and sums over these.
///
/// # Errors
/// None but bugs.
pub(super) fn counted(
    asked: &Asked<'_>,
    columns: Vec<(Column, ArrayRef)>,
    (count, counts): (&str, Vec<i64>),
    sums: Vec<(Quantity, Vec<i128>)>,
) -> Result<OwnedTable, ClientError> {
    let mut schema = asked.table.half.schema.all_clear();
    let rows = counts.len();
    let mut fields: Vec<Field> =
        columns.iter().map(|(column, _)| Field::new(&column.name, arrow_type(column.kind), true)).collect();
    fields.push(Field::new(count, DataType::Int64, true));
    let (described, mut arrays): (Vec<Column>, Vec<ArrayRef>) = columns.into_iter().unzip();
    arrays.push(Arc::new(Int64Array::from(counts)));
    schema.columns = described.into_iter().chain([counting(count)]).collect();
    let encodings = sums.iter().enumerate().map(|(place, (quantity, _))| plain_encoding(place, quantity));
    let half = PrivateHalf::new(schema, encodings.collect());
    let cells = |sums: &Vec<i128>| Cells::Exact(sums.iter().map(|sum| I256::from(*sum)).collect());
    let quantities: Vec<Cells> = sums.iter().map(|(_, sums)| cells(sums)).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let clear = RecordBatch::try_new_with_options(Arc::new(ArrowSchema::new(fields)), arrays, &options)?;
    local::table(half, &clear, &quantities, asked.table.costs.threads)
}

/// The clear column with the number of rows of each cell.
pub(super) fn counting(name: &str) -> Column {
    Column {
        name: name.to_owned(),
        kind: ColumnType::Int { bits: 64 },
        nullable: false,
        range: None,
        protect: Protection::Clear,
        purposes: Vec::new(),
        reason: String::new(),
        written: Written::default(),
        join: None,
    }
}

/// The values that stand for cells, as a clear column.
fn array(column: &Column, places: &[Place<'_>]) -> Result<ArrayRef, ClientError> {
    if matches!(column.kind, ColumnType::Category | ColumnType::Text) {
        let text = |place: &Place<'_>| match place {
            Place::Text(text) => Some((*text).to_owned()),
            Place::Missing | Place::Units(_) => None,
        };
        return Ok(Arc::new(places.iter().map(text).collect::<StringArray>()));
    }
    let units = |place: &Place<'_>| match place {
        Place::Units(units) => *units,
        Place::Missing | Place::Text(_) => 0,
    };
    let valid = places.iter().map(|place| matches!(place, Place::Units(_))).collect();
    let values = Values::I128(places.iter().map(units).collect());
    copy::array(column, TypedColumn { values, valid: Some(valid) })
}
