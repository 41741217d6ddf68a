// SPDX-License-Identifier: Apache-2.0
//! Cubes of a schema worked out: the cells of each dimension, and the lanes of sums with as many bits as the largest sum needs.
//!
//! ```text
//! schema::Cube ─ CubeShape::of ─▶ axes (cell of a value, value of a cell) × lanes (quantity, bits)
//!                    │
//!                    └─ view: a schema in which dimensions are clear and sums are of encrypted columns
//! query on the view ─ grouped::compile_cells ─▶ sums over cells instead of rows
//! ```
//!
//! *Which lanes.* Those that the planner needs to answer `COUNT`, `SUM` and, of a single column, `VAR_POP` of what the cube adds up.
//! So a cube answers what encodings of these quantities would.

mod altered;
mod axis;
mod grain;
mod spanned;

use hush_params::presets;
use num_bigint::BigInt;
use num_traits::{One, ToPrimitive, Zero};
use serde::{Deserialize, Serialize};

pub(crate) use altered::sums_after;
pub use altered::{after, altered, forget_lost};
pub use axis::{Axis, Place};
pub(crate) use grain::{is_constant, is_constant_on_cells};
pub(crate) use spanned::is_spanned;
use spanned::on_lanes;

use crate::encoding::{Encoding, EncodingId, PrivateEncoding};
use crate::error::PlanError;
use crate::grouped::{self, Grouped};
use crate::packing::{Packing, Sum};
use crate::quantity::Quantity;
use crate::range::Interval;
use crate::schema::cube::Cube;
pub use crate::schema::cube::CubeFault;
use crate::schema::file::SchemaError;
use crate::schema::units::type_bounds;
use crate::schema::{ColumnType, Protection, Schema};
use crate::sql::{self, Query};

/// Most cells of a cube.
pub const MAX_CELLS: u64 = 1 << 20;
/// Most lanes of a cube.
pub const MAX_LANES: usize = 64;
/// Most numbers of a cube, and of all cubes of a table.
pub const MAX_NUMBERS: u64 = 1 << 23;
/// Most bits of a lane: owners add up in 128.
pub(crate) const MAX_LANE_BITS: u64 = 126;
/// Bits of sums in the owner's own table of cells, in which nothing is encrypted.
pub(crate) const PLAIN_BITS: u32 = 250;

/// A cube of a schema.
#[derive(Clone, Debug, PartialEq)]
pub struct CubeShape {
    /// The dimensions. The last one varies quickest from cell to cell.
    pub axes: Vec<Axis>,
    /// What each cell has; the first lane is the number of rows.
    pub lanes: Vec<Lane>,
}

/// The number of a cube in a table, and what its lanes are. Parts have numbers without names, so that their order is written down and does not
/// hang on the planner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NumberedCube {
    /// Its number.
    pub number: u32,
    /// The quantities behind the number of rows.
    pub lanes: Vec<Quantity>,
}

/// One number for each cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Lane {
    /// What is added up; `None` for rows.
    pub quantity: Option<Quantity>,
    /// The numbers of one row.
    pub row: Interval,
    /// The smallest sum that a table can have.
    pub low: i128,
    /// Bits of the largest sum less the smallest one.
    pub bits: u8,
}

impl Lane {
    pub(crate) fn new(quantity: Option<Quantity>, row: Interval, rows: u64) -> Option<Self> {
        let (low, high) = (row.low() * rows, row.high() * rows);
        let bits = (&high - &low).bits().max(1);
        let fits = bits <= MAX_LANE_BITS && low.bits() <= MAX_LANE_BITS;
        let low = low.to_i128().filter(|_| fits)?;
        Some(Self { quantity, row, low, bits: bits as u8 })
    }

    /// The sum that is given modulo `2^bits`.
    pub fn sum(&self, found: u128) -> i128 {
        let mask = u128::MAX >> (u128::BITS - u32::from(self.bits));
        self.low.wrapping_add((found.wrapping_sub(self.low as u128) & mask) as i128)
    }
}

impl CubeShape {
    /// Works a cube out, of a table that may grow to as many rows as its schema says, and cells that may have as many as the cube says.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of(schema: &Schema, cube: &Cube) -> Result<Self, CubeFault> {
        let mut axes: Vec<Axis> = Vec::with_capacity(cube.by.len());
        for dimension in &cube.by {
            if axes.iter().any(|axis| axis.column == dimension.column) {
                return Err(CubeFault::Twice { column: dimension.column.clone() });
            }
            axes.push(Axis::of(schema, dimension)?);
        }
        if axes.is_empty() {
            return Err(CubeFault::NoDimension);
        }
        let cells = axes.iter().fold(1_u64, |cells, axis| cells.saturating_mul(axis.len() as u64));
        if cells > MAX_CELLS {
            let by = axes.iter().map(|axis| format!("{} {}", axis.column, axis.len()));
            return Err(CubeFault::TooMany {
                cells,
                limit: MAX_CELLS,
                by: by.collect::<Vec<_>>().join(" × "),
            });
        }
        // As many as the bits of a number of rows hold: then the number itself shows whether it has passed them.
        let most = |rows: u64| u64::MAX >> rows.leading_zeros();
        let rows = cube.max_cell_rows.map_or(u64::MAX, most).min(schema.max_rows).max(1);
        let lanes = lanes(schema, cube, rows)?;
        if lanes.len() > MAX_LANES || cells.saturating_mul(lanes.len() as u64) > MAX_NUMBERS {
            let (found, limit) = (lanes.len(), MAX_LANES.min((MAX_NUMBERS / cells.max(1)) as usize));
            return Err(CubeFault::TooManySums { cells, found, limit });
        }
        Ok(Self { axes, lanes })
    }

    /// Cells.
    pub fn cells(&self) -> u32 {
        self.axes.iter().fold(1, |cells, axis| cells * axis.len() as u32)
    }

    /// Bits of each lane.
    pub fn bits(&self) -> Vec<u8> {
        self.lanes.iter().map(|lane| lane.bits).collect()
    }

    /// Bits of a cell.
    pub fn cell_bits(&self) -> u64 {
        self.lanes.iter().map(|lane| u64::from(lane.bits)).sum()
    }

    /// What is added up beside rows, lane by lane.
    pub fn quantities(&self) -> Vec<Quantity> {
        self.lanes.iter().filter_map(|lane| lane.quantity.clone()).collect()
    }

    /// The same cube with its lanes in this order; `None` if they are others.
    pub fn in_order(mut self, lanes: &[Quantity]) -> Option<Self> {
        if self.lanes.len() != lanes.len() + 1 {
            return None;
        }
        let mut ordered = vec![self.lanes.remove(0)];
        for quantity in lanes {
            let place = self.lanes.iter().position(|lane| lane.quantity.as_ref() == Some(quantity))?;
            ordered.push(self.lanes.remove(place));
        }
        Some(Self { lanes: ordered, ..self })
    }

    /// Whether another cube, perhaps of columns of other names, has the same cells, and lanes of the same numbers in the same order.
    pub fn has_form_of(&self, other: &Self) -> bool {
        let lane = |lane: &Lane| (lane.low, lane.bits);
        self.axes.len() == other.axes.len()
            && self.axes.iter().zip(&other.axes).all(|(one, other)| one.has_form_of(other))
            && self.lanes.iter().map(lane).eq(other.lanes.iter().map(lane))
    }

    /// The columns that cells are made of.
    pub fn columns(&self) -> Vec<&str> {
        let summed = self.lanes.iter().flat_map(|lane| lane.quantity.iter().flat_map(Quantity::columns));
        let mut columns: Vec<&str> =
            self.axes.iter().map(|axis| axis.column.as_str()).chain(summed).collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    }
}

/// Checks that there can be the cubes of a schema.
///
/// # Errors
/// [`SchemaError::Cube`] for the first that cannot be.
pub fn check(schema: &Schema) -> Result<(), SchemaError> {
    let mut numbers = 0_u64;
    for (place, cube) in schema.cubes.iter().enumerate() {
        let refused = |fault| SchemaError::Cube { number: place + 1, fault };
        let shape = CubeShape::of(schema, cube).map_err(refused)?;
        numbers += u64::from(shape.cells()) * shape.lanes.len() as u64;
        if numbers > MAX_NUMBERS {
            return Err(refused(CubeFault::TooManyNumbers { numbers, limit: MAX_NUMBERS }));
        }
    }
    Ok(())
}

/// The lanes of a cube over so many rows.
fn lanes(schema: &Schema, cube: &Cube, rows: u64) -> Result<Vec<Lane>, CubeFault> {
    let counted = Interval::point(BigInt::zero()).hull(&Interval::point(BigInt::one()));
    let too_wide = |text: &str| CubeFault::TooWide { text: text.to_owned() };
    let mut lanes = vec![Lane::new(None, counted, rows).ok_or_else(|| too_wide("the number of rows"))?];
    for text in &cube.sum {
        let first = added_up(schema, cube, text, rows)?;
        let view = view(schema, cube, std::slice::from_ref(text))?;
        let squares = is_column(schema, text).then(|| squared(schema, cube, text, rows)).transpose()?;
        for (place, sum) in first.sums.iter().chain(squares.iter().flat_map(|found| &found.sums)).enumerate()
        {
            if lanes.iter().any(|lane| lane.quantity.as_ref() == Some(&sum.quantity)) {
                continue;
            }
            let row = sum.quantity.row_values(&view);
            match Lane::new(Some(sum.quantity.clone()), row, rows) {
                Some(lane) => lanes.push(lane),
                // Without the squares a cube still has sums.
                None if place >= first.sums.len() => {}
                None => return Err(too_wide(text)),
            }
        }
    }
    Ok(lanes)
}

/// The plan of SUM and COUNT of one of the texts that a cube adds up.
///
/// # Errors
/// Why it cannot be added up.
pub(crate) fn added_up(schema: &Schema, cube: &Cube, text: &str, rows: u64) -> Result<Grouped, CubeFault> {
    let found = of_aggregates(schema, cube, text, (&["SUM", "COUNT"], rows))?;
    if found.sums.is_empty() {
        return Err(CubeFault::OfDimensions { text: text.to_owned() });
    }
    Ok(found)
}

/// The plan of the variance of a column, which has its squares.
///
/// # Errors
/// As [`added_up`].
pub(crate) fn squared(schema: &Schema, cube: &Cube, name: &str, rows: u64) -> Result<Grouped, CubeFault> {
    of_aggregates(schema, cube, name, (&["VAR_POP"], rows))
}

/// The plan of aggregates of one of the texts that a cube adds up.
fn of_aggregates(
    schema: &Schema,
    cube: &Cube,
    text: &str,
    (names, rows): (&[&str], u64),
) -> Result<Grouped, CubeFault> {
    let view = view(schema, cube, &[text.to_owned()])?;
    let argument = if is_column(schema, text) { sql::quoted(text) } else { text.to_owned() };
    let calls: Vec<String> = names.iter().map(|name| format!("{name}({argument})")).collect();
    let query = format!("SELECT {} FROM {}", calls.join(", "), sql::quoted(&view.table));
    let plan = sql::parse(&view, &query).and_then(|query| grouped::compile(&view, &query, rows));
    plan.map_err(|fault| CubeFault::Expression { text: text.to_owned(), why: fault.to_string() })
}

/// Whether what is added up is a column as it stands.
pub(crate) fn is_column(schema: &Schema, text: &str) -> bool {
    schema.columns.iter().any(|column| column.name == text)
}

/// Lanes of sums over so many rows, whatever the rows are of.
///
/// # Errors
/// What cannot be added up.
pub(crate) fn lanes_over(schema: &Schema, sum: &[String], rows: u64) -> Result<Vec<Lane>, CubeFault> {
    lanes(schema, &Cube { by: Vec::new(), sum: sum.to_vec(), max_cell_rows: None }, rows)
}

/// The schema of a query on cells: dimensions are clear, what the sums are of is encrypted, and there is nothing else.
pub(crate) fn view_of(schema: &Schema, cube: &Cube) -> Result<Schema, CubeFault> {
    view(schema, cube, &cube.sum)
}

fn view(schema: &Schema, cube: &Cube, sum: &[String]) -> Result<Schema, CubeFault> {
    let mut summed = Vec::new();
    for text in sum {
        if is_column(schema, text) {
            summed.push(text.clone());
            continue;
        }
        let query = format!("SELECT SUM({text}) FROM {}", sql::quoted(&schema.table));
        let unfit = |fault: PlanError| CubeFault::Expression { text: text.clone(), why: fault.to_string() };
        summed.extend(sql::parse(schema, &query).map_err(unfit)?.columns());
    }
    let mut view = schema.all_clear();
    for (column, declared) in view.columns.iter_mut().zip(&schema.columns) {
        if cube.by.iter().any(|dimension| dimension.column == column.name) {
            continue;
        }
        if !summed.contains(&column.name) {
            column.protect = Protection::Drop;
            continue;
        }
        let is_float = matches!(declared.kind, ColumnType::Float { .. });
        let is_exact = type_bounds(declared.kind).is_some() && !declared.is_approximate();
        // Sums of clear floats are sums of doubles, whatever their range.
        if !is_exact || (is_float && declared.protect != Protection::Encrypt) {
            return Err(CubeFault::NotExact { column: column.name.clone() });
        }
        if !matches!(declared.protect, Protection::Encrypt | Protection::Clear | Protection::Decide) {
            return Err(CubeFault::NotStored { column: column.name.clone() });
        }
        *column = declared.clone();
        column.protect = Protection::Encrypt;
        column.purposes.clear();
    }
    Ok(view)
}

/// A grouped query over cells.
pub(crate) struct OnCells {
    pub(crate) grouped: Grouped,
    /// The lane of each sum.
    pub(crate) lanes: Vec<usize>,
    /// The name of the column with the rows of each cell.
    pub(crate) count: String,
}

/// A query of a table of so many rows, over cells; `None` where the cube does not answer it.
pub(crate) fn compile(
    schema: &Schema,
    (cube, shape): (&Cube, &CubeShape),
    query: &Query,
    rows: u64,
) -> Option<OnCells> {
    compile_on(&view_of(schema, cube).ok()?, shape, query, rows)
}

/// The same on a view of the schema.
pub(crate) fn compile_on(view: &Schema, shape: &CubeShape, query: &Query, rows: u64) -> Option<OnCells> {
    if !query.is_grouped() || !shape.axes.iter().all(|axis| is_constant_on_cells(axis, query)) {
        return None;
    }
    let mut count = "rows of the cell".to_owned();
    while view.column(&count).is_some() {
        count.push('_');
    }
    let grouped = grouped::compile_cells(view, query, rows, &count).ok()?;
    let quantities: Vec<Option<&Quantity>> = shape.lanes.iter().map(|lane| lane.quantity.as_ref()).collect();
    let (grouped, lanes) = on_lanes(grouped, &quantities)?;
    Some(OnCells { grouped, lanes, count })
}

/// What stands for lane `index` in the owner's own table of cells: an encoding as wide as there is one.
pub fn plain_encoding(index: usize, quantity: &Quantity) -> PrivateEncoding {
    let widest = presets().iter().max_by(|one, other| one.log_q().total_cmp(&other.log_q()));
    let params = widest.map_or("", |set| set.name()).to_owned();
    let public =
        Encoding { id: EncodingId(index as u32), params, packing: Packing::Sum(Sum { t_log2: PLAIN_BITS }) };
    let secret_id = format!("{index:032x}");
    PrivateEncoding { public, quantity: quantity.clone(), max_abs: "1".to_owned(), secret_id }
}

#[cfg(test)]
mod tests;
