// SPDX-License-Identifier: Apache-2.0
//! Getting to know a table in one pass over all its rows, and proposing a schema for it.
//!
//! ```text
//!  rows ──▶ per column: possible types, magnitudes, missing values, distinct values, pattern hits
//!       └─▶ over the columns that may become clear: how often each combination occurs
//!                                    │
//!                                 propose ──▶ Schema (types, ranges with headroom, protections, reasons)
//! ```
//!
//! *Invariants.* All rows are looked at, none sampled. Memory is bounded whatever the table: counts of values
//! are exact up to some thousands of distinct ones and estimated beyond. A profile keeps no values, only counts,
//! hashes and orders of magnitude, and it stays on the owner's machine; a proposed schema holds no observed
//! minimum or maximum, only the power of ten that leaves at least a factor of two.
//!
//! *Non-goals.* Deciding: a person approves a proposal. Anonymity of clear columns is counted, not promised.

use crate::source::{Source, SourceError};

mod column;
mod counts;
mod joint;
mod kind;
mod numbers;
mod propose;
mod readings;

pub use column::{AlmostNumber, ColumnProfile};
pub use kind::Kind;
pub use propose::{
    FEW_ROWS, Proposed, RANGE_FACTOR, keep_possible_purposes, propose, single_out_note, zone_note,
};

use column::ColumnProfiler;
use counts::{TupleCounts, hash_tuple, hash_value};
use joint::JointCounts;

/// Options of a pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProfileOptions {
    /// Columns that the caller means to leave clear: counted together with those that the names suggest.
    pub clear: Vec<String>,
}

/// The findings of one pass over a table.
#[derive(Clone, Debug)]
pub struct TableProfile {
    rows: u64,
    columns: Vec<ColumnProfile>,
    joint: JointCounts,
    null_tokens: Vec<String>,
}

/// Counts of the rows that a set of columns tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SingledOut {
    /// Rows of the table.
    pub rows: u64,
    /// Rows whose combination of values no other row has.
    pub alone: u64,
    /// Rows whose combination fewer than [`SHARED_BY`](crate::classify::SHARED_BY) rows have.
    pub few: u64,
    /// Whether the counts are estimates, because there are too many combinations to keep.
    pub estimated: bool,
}

/// Reads `source` once and counts.
///
/// # Cost
/// One pass; memory below about 1 MB per column and 16 MB for combinations.
///
/// # Errors
/// A malformed record, no rows, or reading fails.
pub fn profile(source: &Source, options: &ProfileOptions) -> Result<TableProfile, SourceError> {
    let profiler = |(position, column)| ColumnProfiler::new(column, source.decimal_point_of(position));
    let mut columns: Vec<ColumnProfiler> = source.columns().iter().enumerate().map(profiler).collect();
    let wanted = |column: &crate::source::SourceColumn| {
        options.clear.contains(&column.name)
            || crate::classify::class_of_name(&column.name) == Some(crate::classify::Class::Public)
    };
    let positions = source.columns().iter().enumerate().filter(|(_, column)| wanted(column)).map(|(i, _)| i);
    let mut joint = JointCounts::new(source.columns().len(), positions);
    let mut raw = source.raw()?;
    let mut rows = 0;
    while raw.next_row(|position, cell| {
        let hash = hash_value(cell);
        joint.cell(position, hash);
        if let Some(column) = columns.get_mut(position) {
            column.add(cell, hash);
        }
    })? {
        joint.end_row();
        rows += 1;
    }
    if rows == 0 {
        return Err(SourceError::NoRows);
    }
    let columns = columns.into_iter().map(ColumnProfiler::finish).collect();
    Ok(TableProfile { rows, columns, joint, null_tokens: source.null_tokens().to_vec() })
}

/// Counts how many rows the columns `names` single out together, in a pass of its own. Names that the file
/// does not have are ignored.
///
/// # Errors
/// As [`profile`].
pub fn singled_out(source: &Source, names: &[&str]) -> Result<SingledOut, SourceError> {
    let wanted: Vec<bool> =
        source.columns().iter().map(|column| names.contains(&column.name.as_str())).collect();
    let mut counts = TupleCounts::new(1 << 18);
    let mut raw = source.raw()?;
    let (mut rows, mut tuple) = (0, 0);
    while raw.next_row(|position, cell| {
        if wanted.get(position) == Some(&true) {
            tuple = hash_tuple(tuple, hash_value(cell));
        }
    })? {
        counts.add(tuple);
        tuple = 0;
        rows += 1;
    }
    if rows == 0 {
        return Err(SourceError::NoRows);
    }
    Ok(SingledOut {
        rows,
        alone: counts.rows_below(2).min(rows),
        few: counts.rows_below(crate::classify::SHARED_BY).min(rows),
        estimated: counts.is_estimate(),
    })
}

impl TableProfile {
    /// Rows of the table.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The columns in file order.
    pub fn columns(&self) -> &[ColumnProfile] {
        &self.columns
    }

    /// How many rows the columns `names` single out together, exactly; `None` if this pass could not count
    /// that combination (use [`singled_out`]).
    pub fn singled_out(&self, names: &[&str]) -> Option<SingledOut> {
        let position = |name: &&str| self.columns.iter().position(|column| column.name() == *name);
        let positions: Vec<usize> = names.iter().map(position).collect::<Option<_>>()?;
        let counts = self.joint.project(&positions)?;
        let below = |limit: u64| counts.values().filter(|count| **count < limit).sum();
        Some(SingledOut {
            rows: self.rows,
            alone: below(2),
            few: below(crate::classify::SHARED_BY),
            estimated: false,
        })
    }

    fn null_tokens(&self) -> &[String] {
        &self.null_tokens
    }
}

#[cfg(test)]
mod tests;
