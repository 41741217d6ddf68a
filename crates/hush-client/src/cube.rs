// SPDX-License-Identifier: Apache-2.0
//! Cubes at the owner's: the cells of rows that are encrypted, the pads over their sums, and what comes back of them.
//!
//! ```text
//! encrypt:  chunk ─ CubePlan::rows ─▶ cell of each row and what it adds ─ CubeMaker ─▶ sums of a part + pads
//! ask:      Σ (sums + pads) over parts ─ ask::cells ─▶ sums, each within what its rows can add up to
//! ```
//!
//! A sum is hidden by a pad that is as wide as the sum can be, used once, and made of the owner's key, the random name of the part's cubes and
//! the number of the cube ([`PadKey`]). So the server's sums over parts are hidden by the sum of their pads.

pub(crate) use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use hush_encode::{RowValues, View, quantity_values, units_of};
use hush_keys::PadKey;
use hush_plan::cube::{Axis, CubeShape, NumberedCube};
use hush_plan::predict::CubeSpread;
use hush_plan::schema::alter::Alteration;
use hush_plan::schema::{Cube, Schema};
use hush_ring::wipe;
use hush_schemes::Values as Units;
use hush_table::source::{ColumnData, RowBatch};
use hush_table::{CubeSums, CubesId, Manifest, PartCubes, StoredCube};
use zeroize::Zeroizing;

use crate::copy;
use crate::error::ClientError;
use crate::private::PrivateHalf;

/// The cubes of a table, worked out.
#[derive(Default)]
pub(crate) struct CubePlan {
    cubes: Vec<PlannedCube>,
}

struct PlannedCube {
    number: u32,
    shape: CubeShape,
    /// Bits of a row of the columns that it is made of.
    row_bits: u64,
}

/// What the rows of a chunk add to a cube.
pub(crate) struct CubeRows {
    /// The cell of each row.
    cells: Vec<u32>,
    /// What each adds, for all lanes but the first, which counts rows.
    lanes: Vec<LaneRows>,
}

/// What each row adds to a lane, in the narrower form that holds it.
enum LaneRows {
    Short(Vec<i64>),
    Wide(Vec<i128>),
}

impl CubeRows {
    /// What each row adds, for all lanes but the first.
    pub(crate) fn into_lanes(mut self) -> Vec<Vec<i128>> {
        let lanes = std::mem::take(&mut self.lanes).into_iter();
        let wide = lanes.map(|lane| match lane {
            LaneRows::Short(mut values) => {
                let wide = values.iter().map(|value| i128::from(*value)).collect();
                wipe(&mut values);
                wide
            }
            LaneRows::Wide(values) => values,
        });
        wide.collect()
    }
}

impl Drop for CubeRows {
    fn drop(&mut self) {
        wipe(&mut self.cells);
        self.lanes.iter_mut().for_each(|lane| match lane {
            LaneRows::Short(values) => wipe(values),
            LaneRows::Wide(values) => wipe(values),
        });
    }
}

impl CubePlan {
    /// Works out the cubes of a table. One that there cannot be any more is left out: where parts lack it, rows come back.
    pub(crate) fn of(half: &PrivateHalf) -> Self {
        let numbered = half.cubes.iter().zip(&half.schema.cubes);
        let cubes = numbered.filter_map(|(numbered, cube)| {
            let shape = CubeShape::of(&half.schema, cube).ok()?.in_order(&numbered.lanes)?;
            let columns =
                half.schema.columns.iter().filter(|column| shape.columns().contains(&&*column.name));
            let row_bits = columns.map(|column| u64::from(copy::shape(column).row_bits())).sum();
            Some(PlannedCube { number: numbered.number, shape, row_bits })
        });
        Self { cubes: cubes.collect() }
    }

    /// Most bytes of memory that the sums of a part take.
    pub(crate) fn bytes(&self) -> u64 {
        let numbers = |shape: &CubeShape| u64::from(shape.cells()) * shape.lanes.len() as u64;
        // As they are added up, with their pads, and packed.
        self.cubes.iter().map(|cube| numbers(&cube.shape) * 48).sum()
    }

    /// What the rows of a batch of this schema add to each cube. Rows that are stored already may have values without a cell, which devices
    /// have sent: `None` of a cube that such a row cannot be in.
    ///
    /// # Errors
    /// [`ClientError::NoCell`] for such a value of new rows.
    pub(crate) fn rows(
        &self,
        schema: &Schema,
        batch: &RowBatch,
        is_stored: bool,
    ) -> Result<Vec<Option<CubeRows>>, ClientError> {
        let rows = self.cubes.iter().map(|cube| match rows_of(&cube.shape, schema, batch) {
            Err(ClientError::NoCell { .. }) if is_stored => Ok(None),
            rows => rows.map(Some),
        });
        rows.collect()
    }

    /// Makes the cubes of parts, with pads of this key.
    pub(crate) fn maker(self: &Arc<Self>, pads: PadKey) -> CubeMaker {
        let open = self.cubes.iter().map(|cube| (Sums::zeros(&cube.shape), true)).collect();
        let state = State { plan: Arc::clone(self), pads, open };
        CubeMaker((!self.cubes.is_empty()).then(|| Arc::new(Mutex::new(state))))
    }
}

/// What the rows of a batch add to the cells of a shape.
///
/// # Errors
/// [`ClientError::NoCell`].
pub(crate) fn rows_of(shape: &CubeShape, schema: &Schema, batch: &RowBatch) -> Result<CubeRows, ClientError> {
    let missing = || ClientError::Internal { what: "a column of a cube was not read" };
    let positions = schema.positions();
    let mut cells = vec![0_u32; batch.rows];
    for axis in &shape.axes {
        let place = *positions.get(axis.column.as_str()).ok_or_else(missing)?;
        let data = batch.columns.get(place).and_then(Option::as_ref).ok_or_else(missing)?;
        let column = RowValues::of(data)?;
        let (known, size) = (&mut Known::new(), axis.len() as u32);
        for (row, cell) in cells.iter_mut().enumerate() {
            let found = known.cell(axis, &column, row).ok_or_else(|| ClientError::NoCell {
                row: batch.first_row + row as u64 + 1,
                column: axis.column.clone(),
            })?;
            *cell = *cell * size + found as u32;
        }
    }
    // Clear columns are added up as encrypted ones are: in units.
    let mut needed = RowBatch { first_row: batch.first_row, rows: batch.rows, columns: Vec::new() };
    let mut places = BTreeMap::new();
    for name in
        shape.lanes.iter().flat_map(|lane| lane.quantity.iter()).flat_map(|quantity| quantity.columns())
    {
        if places.contains_key(name) {
            continue;
        }
        let place = *positions.get(name).ok_or_else(missing)?;
        let data = batch.columns.get(place).and_then(Option::as_ref).ok_or_else(missing)?;
        places.insert(name, needed.columns.len());
        needed.columns.push(Some(ColumnData::Units(units_of(data)?)));
    }
    let lanes = shape.lanes.iter().filter_map(|lane| lane.quantity.as_ref()).map(|quantity| {
        Ok(match quantity_values(quantity, &needed, &places)?.view() {
            View::Exact(Units::I64(values)) => LaneRows::Short(values.to_vec()),
            View::Exact(Units::I128(values)) => LaneRows::Wide(values.to_vec()),
            View::Exact(Units::I256(values)) => {
                LaneRows::Wide(values.iter().map(|value| value.as_i128()).collect())
            }
            View::Approx(_) => return Err(ClientError::Internal { what: "an approximate sum of a cube" }),
        })
    });
    Ok(CubeRows { cells, lanes: lanes.collect::<Result<_, ClientError>>()? })
}

/// Cells that were looked for, by the low bits of their numbers: columns repeat values.
struct Known {
    units: Vec<i64>,
    /// [`Known::NOTHING`] where nothing was looked for.
    cells: Vec<u32>,
}

impl Known {
    /// Numbers that low bits tell apart: as many as days of eleven years.
    const LEN: usize = 1 << 12;
    /// More than a cube has cells.
    const NOTHING: u32 = u32::MAX;

    fn new() -> Self {
        Self { units: vec![0; Self::LEN], cells: vec![Self::NOTHING; Self::LEN] }
    }

    fn cell(&mut self, axis: &Axis, column: &RowValues<'_>, row: usize) -> Option<usize> {
        if !column.is_valid(row) {
            return axis.cell_of_missing();
        }
        let Some(units) = column.units(row) else { return axis.cell_of_text(column.text(row)?) };
        let Ok(short) = i64::try_from(units) else { return axis.cell_of_units(units) };
        let place = short as usize % Self::LEN;
        let (known, cell) = (self.units.get_mut(place)?, self.cells.get_mut(place)?);
        if *cell == Self::NOTHING || *known != short {
            (*known, *cell) = (short, axis.cell_of_units(units)? as u32);
        }
        Some(*cell as usize)
    }
}

impl Drop for Known {
    fn drop(&mut self) {
        wipe(&mut self.units);
        wipe(&mut self.cells);
    }
}

/// Sums of a cube over some rows.
pub(crate) struct Sums {
    /// Number of rows of each cell.
    pub(crate) rows: Vec<i128>,
    /// The other lanes, cell by cell.
    pub(crate) lanes: Vec<Vec<i128>>,
}

impl Sums {
    /// Of no rows.
    pub(crate) fn zeros(shape: &CubeShape) -> Self {
        let zeros = || vec![0; shape.cells() as usize];
        Self { rows: zeros(), lanes: shape.lanes.iter().skip(1).map(|_| zeros()).collect() }
    }

    /// Adds rows.
    pub(crate) fn add(&mut self, rows: &CubeRows) {
        let at = |cell: u32| cell as usize;
        for cell in &rows.cells {
            self.rows.get_mut(at(*cell)).into_iter().for_each(|rows| *rows += 1);
        }
        for (sums, values) in self.lanes.iter_mut().zip(&rows.lanes) {
            // A cell's sum has at most 126 bits, whatever its order.
            let mut add = |cell: u32, value: i128| {
                sums.get_mut(at(cell)).into_iter().for_each(|sum| *sum = sum.wrapping_add(value));
            };
            match values {
                LaneRows::Short(values) => {
                    rows.cells.iter().zip(values).for_each(|(cell, value)| add(*cell, i128::from(*value)));
                }
                LaneRows::Wide(values) => {
                    rows.cells.iter().zip(values).for_each(|(cell, value)| add(*cell, *value));
                }
            }
        }
    }

    /// All lanes, that of rows first.
    fn all(&self) -> impl Iterator<Item = &Vec<i128>> {
        std::iter::once(&self.rows).chain(&self.lanes)
    }

    fn clear(&mut self) {
        // In place: the lanes keep their lengths.
        std::iter::once(&mut self.rows).chain(&mut self.lanes).for_each(|lane| wipe(lane));
    }
}

impl Drop for Sums {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Adds up the rows of a part as they are written, and gives its cubes when it is cut.
#[derive(Clone)]
pub(crate) struct CubeMaker(Option<Arc<Mutex<State>>>);

struct State {
    plan: Arc<CubePlan>,
    pads: PadKey,
    /// Of each cube the sums of the part so far, and whether all of its rows have a cell.
    open: Vec<(Sums, bool)>,
}

impl CubeMaker {
    /// Adds the rows of the next chunk, before it is written.
    pub(crate) fn add(&self, rows: &[Option<CubeRows>]) {
        let Some(state) = &self.0 else { return };
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        for ((sums, is_whole), rows) in state.open.iter_mut().zip(rows) {
            match rows {
                Some(rows) => sums.add(rows),
                None => *is_whole = false,
            }
        }
    }

    /// The cubes of the rows so far.
    pub(crate) fn cut(&self) -> Option<PartCubes> {
        let state = self.0.as_ref()?;
        state.lock().unwrap_or_else(PoisonError::into_inner).cut()
    }
}

impl State {
    /// The cubes of the rows so far. A cube that takes more than these rows would is not made, nor one with a cell of more rows than its schema says:
    /// the rows come back instead.
    fn cut(&mut self) -> Option<PartCubes> {
        let mut id = [0; 16];
        // Without a fresh name there is no fresh pad, and so no cube; whatever else needs randomness will say so.
        let is_named = hush_ring::os_random(&mut id).is_ok();
        let is_smaller = |cube: &PlannedCube, sums: &Sums| {
            let rows = sums.rows.iter().sum::<i128>() as u64;
            u64::from(cube.shape.cells()) * cube.shape.cell_bits() <= rows.saturating_mul(cube.row_bits)
        };
        let made = self.plan.cubes.iter().zip(&self.open);
        let made = made.filter(|(cube, (sums, is_whole))| {
            is_named && *is_whole && is_smaller(cube, sums) && has_room(&cube.shape, sums)
        });
        let cubes = made.map(|(cube, (sums, _))| {
            let pads = pads(&self.pads, &id, (cube.number, &cube.shape));
            StoredCube::new(cube.number, &padded(sums, pads))
        });
        let mut cubes: Vec<StoredCube> = cubes.collect();
        for (sums, is_whole) in &mut self.open {
            sums.clear();
            *is_whole = true;
        }
        cubes.sort_by_key(|cube| cube.number);
        (!cubes.is_empty()).then_some(PartCubes { id: CubesId::from_bytes(id), cubes })
    }
}

/// Whether the cells of a shape have room for their rows.
fn has_room(shape: &CubeShape, sums: &Sums) -> bool {
    let most = shape.lanes.first().map_or(0, |lane| u128::MAX >> (u128::BITS - u32::from(lane.bits)));
    sums.rows.iter().all(|rows| rows.unsigned_abs() <= most)
}

/// The pads of a cube of a part.
pub(crate) fn pads(key: &PadKey, part: &[u8; 16], (number, shape): (u32, &CubeShape)) -> CubeSums {
    let bits = shape.bits();
    let mut stream = Zeroizing::new(vec![0; CubeSums::packed_bytes(shape.cells(), &bits) as usize]);
    key.fill(part, number, &mut stream);
    CubeSums::of_stream(&stream, shape.cells(), &bits)
}

/// Sums with their pads.
fn padded(sums: &Sums, mut pads: CubeSums) -> CubeSums {
    for (place, lane) in sums.all().enumerate() {
        let here: Vec<u128> = pads.lane(place).into_iter().flatten().collect();
        for (cell, (sum, pad)) in lane.iter().zip(here).enumerate() {
            pads.set(place, cell, pad.wrapping_add(*sum as u128));
        }
    }
    pads
}

/// The cubes that questions can be put to, and the parts that they cover.
pub(crate) fn spreads(manifest: &Manifest, half: &PrivateHalf) -> BTreeMap<u32, CubeSpread> {
    let numbered = half.cubes.iter().zip(&half.schema.cubes).enumerate();
    let spread = numbered.filter_map(|(place, (NumberedCube { number, lanes }, cube))| {
        let covers: Vec<bool> = manifest.parts.iter().map(|part| part.has_cube(*number)).collect();
        // Sums over more rows than the schema allows could pass their bits.
        if rows_of_cube(manifest, *number) > half.schema.max_rows {
            return None;
        }
        let shape = covers.contains(&true).then(|| CubeShape::of(&half.schema, cube).ok()).flatten()?;
        let (shape, lanes) = (shape.in_order(lanes)?, lanes.clone());
        let (cells, bits) = (shape.cells(), shape.bits());
        Some((*number, CubeSpread { place, cells, bits, lanes, covers }))
    });
    spread.collect()
}

/// The numbers of the cubes of an altered schema, and the first that none has had. A cube of other cells, sums or bits than before gets a number
/// that no part ever had, nor one that is being written; one that stays keeps the order of its lanes, whatever its columns are called now.
pub(crate) fn renumbered(
    before: &PrivateHalf,
    alteration: &Alteration,
    schema: &Schema,
) -> (Vec<NumberedCube>, u32) {
    let rename = |name: &str| alteration.name_after(name).unwrap_or_else(|| name.to_owned());
    let known = before.cubes.iter().zip(&before.schema.cubes).filter_map(|(numbered, cube)| {
        let after = hush_plan::cube::after(&before.schema, cube, alteration)?;
        let shape = CubeShape::of(&before.schema, cube).ok()?.in_order(&numbered.lanes)?;
        let lanes = numbered.lanes.iter().map(|quantity| quantity.renamed(&rename)).collect();
        Some((NumberedCube { number: numbered.number, lanes }, after, shape))
    });
    let mut known: Vec<(NumberedCube, Cube, CubeShape)> = known.collect();
    let mut next = before.next_cube;
    let numbered = schema.cubes.iter().map(|cube| {
        let shape = CubeShape::of(schema, cube).ok();
        let place = known.iter().position(|(_, after, _)| after == cube);
        let same = place.map(|place| known.remove(place)).filter(|(numbered, _, known)| {
            let shape = shape.clone().and_then(|shape| shape.in_order(&numbered.lanes));
            shape.is_some_and(|shape| shape.has_form_of(known))
        });
        same.map_or_else(
            || {
                next = next.saturating_add(1);
                let lanes = shape.map(|shape| shape.quantities()).unwrap_or_default();
                NumberedCube { number: next - 1, lanes }
            },
            |(numbered, ..)| numbered,
        )
    });
    let numbered = numbered.collect();
    (numbered, next)
}

/// Rows of the parts that answer by a cube.
pub(crate) fn rows_of_cube(manifest: &Manifest, number: u32) -> u64 {
    let covered = manifest.parts.iter().filter(|part| part.has_cube(number)).map(|part| part.rows);
    covered.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests;
