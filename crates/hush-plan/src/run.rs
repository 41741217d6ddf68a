// SPDX-License-Identifier: Apache-2.0
//! Sorted runs of a schema worked out: the columns of their rows, and the lanes of sums for each block.
//!
//! ```text
//! schema::Run ─ RunShape::of ─▶ columns (form of each) × lanes (quantity, bits)
//! ```
//!
//! The rows of a part stand in the order of the `within` columns and then of `by`, missing values behind the others, in blocks of [`BLOCK_ROWS`].
//! A **segment** is what a block has of one combination of `within` values, with `by` or without.

mod altered;
mod asked;
mod cut;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use altered::{after, altered, forget_lost};
pub(crate) use asked::{Asking, OnRun};
pub(crate) use cut::cuts_of_prefix;

use crate::cube::{Lane, lanes_over};
use crate::quantity::Quantity;
pub use crate::schema::MAX_RUNS;
use crate::schema::file::SchemaError;
use crate::schema::units::column_bounds;
use crate::schema::{Column, ColumnType, Protection, Run, RunFault, Schema};

/// Rows of a block; the last one of a part may have fewer.
pub const BLOCK_ROWS: u32 = 512;
/// Rows of a block in the order of a chunk; the last one of a chunk may have fewer.
pub const RANK_BLOCK_ROWS: u32 = 128;
/// Most columns of a run.
pub const MAX_RUN_COLUMNS: usize = 64;
/// Most lanes of a run.
pub const MAX_RUN_LANES: usize = 32;

/// A run of a schema.
#[derive(Clone, Debug, PartialEq)]
pub struct RunShape {
    /// The columns of its rows: those of `within`, `by`, and behind it those that are summed or covered, each once.
    pub columns: Vec<RunColumn>,
    /// How many of them stand before `by`.
    pub within: usize,
    /// Whether rows keep their number in the part, which settles ties as elsewhere: where further columns make rows of it.
    pub has_numbers: bool,
    /// What each segment has; the first lane is the number of rows.
    pub lanes: Vec<Lane>,
    /// Whether each chunk has an order of its own, by which ranks are known.
    pub by_chunk: bool,
}

/// A column of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: ColumnType,
    /// Whether values may be missing.
    pub nullable: bool,
    /// How values are stored and ordered.
    pub form: RunForm,
}

/// How values of a run are stored and ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunForm {
    /// Doubles, in IEEE 754's total order.
    Doubles,
    /// Texts, in the order of their bytes.
    Texts,
    /// Numbers in units from `low` on, in so many bits.
    Units {
        /// The least.
        low: i128,
        /// Bits of the greatest less the least.
        bits: u8,
    },
}

/// The number of a run in a table, and what its lanes are ([`crate::cube::NumberedCube`] says why).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NumberedRun {
    /// Its number.
    pub number: u32,
    /// The quantities behind the number of rows.
    pub lanes: Vec<Quantity>,
    /// The names of the columns, in the order of [`RunShape::columns`].
    pub columns: Vec<String>,
}

impl NumberedRun {
    /// A run of a schema with its number; one that there cannot be has no columns.
    pub fn of(schema: &Schema, run: &Run, number: u32) -> Self {
        let none = |_| Self { number, lanes: Vec::new(), columns: Vec::new() };
        RunShape::of(schema, run).map_or_else(none, |shape| shape.numbered(number))
    }
}

impl RunColumn {
    fn of(column: &Column) -> Self {
        let is_text = matches!(column.kind, ColumnType::Category | ColumnType::Text);
        let is_double = matches!(column.kind, ColumnType::Float { .. })
            && (column.protect != Protection::Encrypt || column.range.is_none());
        let form = match column_bounds(column) {
            _ if is_text => RunForm::Texts,
            Some(bounds) if !is_double => {
                let bits = u128::BITS - bounds.high.abs_diff(bounds.low).leading_zeros();
                RunForm::Units { low: bounds.low, bits: bits as u8 }
            }
            _ => RunForm::Doubles,
        };
        Self { name: column.name.clone(), kind: column.kind, nullable: column.nullable, form }
    }
}

impl RunShape {
    /// Works a run out.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of(schema: &Schema, run: &Run) -> Result<Self, RunFault> {
        let lanes = lanes_over(schema, &run.sum, u64::from(BLOCK_ROWS))?;
        if lanes.len() > MAX_RUN_LANES {
            return Err(RunFault::TooMany { what: "sums", found: lanes.len(), limit: MAX_RUN_LANES });
        }
        let ordered: Vec<&String> = run.within.iter().chain([&run.by]).collect();
        if let Some(place) = (1..ordered.len()).find(|place| ordered[..*place].contains(&ordered[*place])) {
            return Err(RunFault::Twice { column: ordered[place].clone() });
        }
        let summed = lanes.iter().flat_map(|lane| &lane.quantity).flat_map(Quantity::columns);
        let mut columns: Vec<RunColumn> = Vec::new();
        for name in
            ordered.iter().map(|name| name.as_str()).chain(summed).chain(run.cover.iter().map(String::as_str))
        {
            if columns.iter().any(|known| known.name == name) {
                continue;
            }
            let column = schema.columns.iter().find(|column| column.name == name);
            let column = column.ok_or_else(|| RunFault::NoColumn { column: name.to_owned() })?;
            if matches!(column.protect, Protection::Drop | Protection::JoinKey) {
                return Err(RunFault::NotStored { column: name.to_owned() });
            }
            if column.is_approximate() && column.protect == Protection::Encrypt && !column.has_copy() {
                return Err(RunFault::Approximate { column: name.to_owned() });
            }
            columns.push(RunColumn::of(column));
        }
        if columns.len() > MAX_RUN_COLUMNS {
            return Err(RunFault::TooMany { what: "columns", found: columns.len(), limit: MAX_RUN_COLUMNS });
        }
        let (within, has_numbers) = (run.within.len(), !run.cover.is_empty());
        Ok(Self { columns, within, has_numbers, lanes, by_chunk: run.by_chunk })
    }

    /// Rows of a block; the last one may have fewer.
    pub fn block_rows(&self) -> u32 {
        if self.by_chunk { RANK_BLOCK_ROWS } else { BLOCK_ROWS }
    }

    /// The column in whose order the rows stand.
    pub fn by(&self) -> Option<&RunColumn> {
        self.columns.get(self.within)
    }

    /// What is added up beside rows, lane by lane.
    pub fn quantities(&self) -> Vec<Quantity> {
        self.lanes.iter().filter_map(|lane| lane.quantity.clone()).collect()
    }

    /// The number of this run, as it is now.
    pub fn numbered(&self, number: u32) -> NumberedRun {
        let columns = self.columns.iter().map(|column| column.name.clone()).collect();
        NumberedRun { number, lanes: self.quantities(), columns }
    }

    /// The same run with its columns and lanes in the order that is written down; `None` if they are others.
    pub fn in_order(mut self, numbered: &NumberedRun) -> Option<Self> {
        if self.lanes.len() != numbered.lanes.len() + 1 || self.columns.len() != numbered.columns.len() {
            return None;
        }
        let mut lanes = vec![self.lanes.remove(0)];
        for quantity in &numbered.lanes {
            let place = self.lanes.iter().position(|lane| lane.quantity.as_ref() == Some(quantity))?;
            lanes.push(self.lanes.remove(place));
        }
        let mut columns = Vec::new();
        for name in &numbered.columns {
            let place = self.columns.iter().position(|column| column.name == *name)?;
            columns.push(self.columns.remove(place));
        }
        Some(Self { lanes, columns, ..self })
    }

    /// Whether another run, perhaps of columns of other names, has values of the same forms, and lanes of the same numbers.
    pub fn has_form_of(&self, other: &Self) -> bool {
        let lane = |lane: &Lane| (lane.low, lane.bits);
        let column = |column: &RunColumn| (column.kind, column.nullable, column.form);
        (self.within, self.has_numbers, self.by_chunk) == (other.within, other.has_numbers, other.by_chunk)
            && self.columns.iter().map(column).eq(other.columns.iter().map(column))
            && self.lanes.iter().map(lane).eq(other.lanes.iter().map(lane))
    }
}

/// Checks that there can be the sorted runs of a schema.
///
/// # Errors
/// [`SchemaError::Run`] for the first that cannot be.
pub fn check(schema: &Schema) -> Result<(), SchemaError> {
    let runs = schema.all_runs();
    for (place, run) in runs.iter().enumerate() {
        let refused = |fault| SchemaError::Run { number: place + 1, fault };
        if place >= MAX_RUNS {
            return Err(refused(RunFault::TooManyRuns { found: runs.len(), limit: MAX_RUNS }));
        }
        RunShape::of(schema, run).map_err(refused)?;
    }
    Ok(())
}
