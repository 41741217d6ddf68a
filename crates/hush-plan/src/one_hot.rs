// SPDX-License-Identifier: Apache-2.0
//! Sums by hidden values: for each cell of some hidden dimensions an encoded column that is another quantity on the rows of this cell, and 0
//! elsewhere. A server adds such columns up under any clear condition and in any clear groups, as it does with others, and learns of no row in
//! which cell it is: it adds up all of them.
//!
//! ```text
//! schema `group` ─ shape ─▶ axes × lanes ─ quantities ─▶ Quantity::InCells, several cells in places of one number
//! query ─ compile ─▶ clear condition, clear keys (server) │ the rest, on cells (owner)
//! ```
//!
//! *Source.* One-hot columns times a measure, as splayed columns of Seabed (Papadimitriou et al., OSDI 2016), here under LWE and several to a
//! ciphertext.

mod altered;
#[cfg(test)]
mod tests;

use num_bigint::BigInt;
use sqlparser::ast::Expr;

pub use altered::{altered, forget_lost};

use crate::aggregates;
use crate::cube::{CubeShape, Lane, OnCells, compile_on, lanes_over, view_of};
use crate::error::Clause;
use crate::fetch::{and, conjuncts};
use crate::layout::Needs;
use crate::packing::sum;
use crate::quantity::{Cell, Quantity, Within};
use crate::schema::cube::{Cube, CubeFault};
use crate::schema::file::SchemaError;
use crate::schema::{Column, Protection, Purpose, Schema};
use crate::sql::Query;
use crate::sql::clear::encrypted_in;

/// Most encoded columns of all sums by hidden values of a table.
pub const MAX_ONE_HOT_COLUMNS: usize = 1024;
/// Most cells in one encoded column.
const MAX_PLACES: usize = 16;
/// Bytes that an encoded column takes of a row, at least; for words.
const COLUMN_BYTES: f64 = 11.5;

/// Works sums by hidden values out: the cells, and what is added up in each. Squares of a column are among them where the column itself has them.
///
/// # Errors
/// What is wrong with them.
pub fn shape(schema: &Schema, group: &Cube) -> Result<CubeShape, CubeFault> {
    let clear = |name: &String| schema.protected(Protection::Clear).any(|column| column.name == *name);
    if let Some(dimension) = group.by.iter().find(|dimension| clear(&dimension.column)) {
        return Err(CubeFault::ClearDimension { column: dimension.column.clone() });
    }
    let mut shape = CubeShape::of(schema, group)?;
    shape.lanes.retain(|lane| is_wanted(schema, &group.sum, lane));
    Ok(shape)
}

/// Whether what is added up needs a lane: squares of a column where the column itself has them, or where an expression has them.
fn is_wanted(schema: &Schema, sum: &[String], lane: &Lane) -> bool {
    let column = |name: &String| schema.columns.iter().find(|column| column.name == *name);
    match &lane.quantity {
        Some(Quantity::Square(name)) if sum.contains(name) => {
            let orders = column(name).into_iter().flat_map(|column| &column.purposes);
            let has_squares = orders.copied().flat_map(aggregates::of_purpose).any(|entry| entry.order() > 1);
            let expressions: Vec<String> =
                sum.iter().filter(|text| column(text).is_none()).cloned().collect();
            let of_expressions = lanes_over(schema, &expressions, schema.max_rows.max(1)).unwrap_or_default();
            has_squares || of_expressions.iter().any(|other| other.quantity == lane.quantity)
        }
        _ => true,
    }
}

/// Checks that there can be the sums by hidden values of a schema.
///
/// # Errors
/// [`SchemaError::Group`] for the first that cannot be.
pub fn check(schema: &Schema) -> Result<(), SchemaError> {
    // A purpose asks for the values of an encrypted column; those of others have to be listed, or are the server's.
    let asks = |column: &&Column| column.purposes.contains(&Purpose::Group);
    let fault = schema.columns.iter().filter(asks).find_map(|column| match column.protect {
        Protection::Clear => Some(CubeFault::ClearDimension { column: column.name.clone() }),
        Protection::Seal => Some(CubeFault::NotOfPurpose { column: column.name.clone() }),
        Protection::Decide | Protection::Drop | Protection::Encrypt | Protection::JoinKey => None,
    });
    if let Some(fault) = fault {
        return Err(SchemaError::Group { number: schema.groups.len() + 1, fault });
    }
    let mut found = 0;
    for (place, group) in schema.all_groups().iter().enumerate() {
        let refused = |fault| SchemaError::Group { number: place + 1, fault };
        let shape = shape(schema, group).map_err(refused)?;
        found += column_count(schema, &shape);
        if found > MAX_ONE_HOT_COLUMNS {
            let (bytes, limit) = ((found as f64 * COLUMN_BYTES) as u64, MAX_ONE_HOT_COLUMNS);
            return Err(refused(CubeFault::TooManyColumns { found, bytes, limit }));
        }
    }
    Ok(())
}

/// The dimensions of a schema's sums by hidden values in which a row may have no cell: of sealed columns, whose values nothing bounds. Each without
/// what is added up.
pub fn unbounded(schema: &Schema) -> Vec<CubeShape> {
    let is_sealed = |name: &str| schema.protected(Protection::Seal).any(|column| column.name == name);
    let shapes = schema.all_groups();
    let shapes = shapes.iter().filter_map(|group| shape(schema, group).ok());
    let axes = shapes.map(|shape| shape.axes.into_iter().filter(|axis| is_sealed(&axis.column)).collect());
    axes.map(|axes| CubeShape { axes, lanes: Vec::new() }).filter(|shape| !shape.axes.is_empty()).collect()
}

impl Needs {
    /// Adds what the sums by hidden values of a schema need. Those that cannot be are left out; [`check`] refuses them.
    pub fn add_one_hot(&mut self, schema: &Schema) {
        let shapes = schema.all_groups();
        for shape in shapes.iter().filter_map(|group| shape(schema, group).ok()) {
            if column_count(schema, &shape) <= MAX_ONE_HOT_COLUMNS {
                quantities(schema, &shape).into_iter().for_each(|quantity| self.add_sum(quantity, 1.into()));
            }
        }
    }
}

/// The conditions of all cells.
pub(crate) fn cells(shape: &CubeShape) -> Vec<Cell> {
    shape.axes.iter().fold(vec![Vec::new()], |cells, axis| {
        let within = |cell: usize| Within { column: axis.column.clone(), values: axis.values(cell) };
        let all = cells.iter().flat_map(|before: &Cell| {
            (0..axis.len()).map(|cell| before.iter().cloned().chain([within(cell)]).collect())
        });
        all.collect()
    })
}

/// What the encoded columns of a shape hold.
fn quantities(schema: &Schema, shape: &CubeShape) -> Vec<Quantity> {
    let cells = cells(shape);
    let of_lane = |lane: &Lane| {
        let quantity = lane.quantity.clone().map(Box::new);
        let of_cells = |cells: &[Cell]| Quantity::InCells {
            quantity: quantity.clone(),
            cells: cells.to_vec(),
            bits: lane.bits,
        };
        cells.chunks(places(schema, lane)).map(of_cells).collect::<Vec<_>>()
    };
    shape.lanes.iter().flat_map(of_lane).collect()
}

fn column_count(schema: &Schema, shape: &CubeShape) -> usize {
    let cells = shape.cells() as usize;
    shape.lanes.iter().map(|lane| cells.div_ceil(places(schema, lane))).sum()
}

/// Cells that share an encoded column.
fn places(schema: &Schema, lane: &Lane) -> usize {
    sum::places(lane.bits.into(), MAX_PLACES, schema.max_rows.max(1), schema.writers())
}

/// Whether sums over so many rows fit the places that they have.
pub(crate) fn holds(schema: &Schema, quantity: Option<&Quantity>, bits: u8, rows: u64) -> bool {
    let row = quantity.map(|quantity| quantity.row_values(schema));
    let width = row.map_or_else(|| BigInt::from(1), |row| row.high().max(&BigInt::default()) - row.low());
    (width * rows).bits() <= u64::from(bits)
}

/// Whether some sums by hidden values of a schema answer a query.
pub fn answers(schema: &Schema, query: &Query) -> bool {
    schema.all_groups().iter().any(|group| {
        let shape = shape(schema, group).ok();
        shape.is_some_and(|shape| compile(schema, (group, &shape), query, schema.max_rows.max(1)).is_some())
    })
}

/// A query on cells, and what the server does before.
pub(crate) struct Asked {
    /// The query without the condition that clear columns decide.
    pub(crate) query: Query,
    /// That condition.
    pub(crate) filter: Option<Expr>,
    /// Names of the clear columns that the rest reads: rows are grouped by them.
    pub(crate) keys: Vec<String>,
    pub(crate) on_cells: OnCells,
}

/// A query of a table of so many rows, over cells; `None` where they do not answer it, or where it reads no hidden dimension.
pub(crate) fn compile(
    schema: &Schema,
    (group, shape): (&Cube, &CubeShape),
    query: &Query,
    rows: u64,
) -> Option<Asked> {
    let conditions = query.filter.iter().flat_map(conjuncts);
    let (clear, rest): (Vec<&Expr>, Vec<&Expr>) =
        conditions.partition(|condition| matches!(encrypted_in(schema, condition, Clause::Where), Ok(None)));
    let (filter, rest) = (clear.into_iter().cloned().reduce(and), rest.into_iter().cloned().reduce(and));
    let query = Query { filter: rest, ..query.clone() };
    let used = query.columns();
    if !shape.axes.iter().any(|axis| used.contains(&axis.column)) {
        return None;
    }
    let (keys, on_cells) = compile_by_keys(schema, (group, shape), &query, rows)?;
    Some(Asked { query, filter, keys, on_cells })
}

/// A query over the cells of a cube in each group of the clear columns that it reads, with the names of these.
pub(crate) fn compile_by_keys(
    schema: &Schema,
    (cube, shape): (&Cube, &CubeShape),
    query: &Query,
    rows: u64,
) -> Option<(Vec<String>, OnCells)> {
    let used = query.columns();
    // Clear columns that are added up may be keys as well, but not both at once.
    [false, true].into_iter().find_map(|are_keys| {
        let mut view = view_of(schema, cube).ok()?;
        let mut keys = Vec::new();
        for (column, declared) in view.columns.iter_mut().zip(schema.all_clear().columns) {
            let is_clear = schema.protected(Protection::Clear).any(|clear| clear.name == declared.name);
            let is_free = are_keys || column.protect == Protection::Drop;
            if is_clear && is_free && used.contains(&declared.name) {
                keys.push(declared.name.clone());
                *column = declared;
            }
        }
        Some((keys, compile_on(&view, shape, query, rows)?))
    })
}
