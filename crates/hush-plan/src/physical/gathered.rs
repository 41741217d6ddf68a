// SPDX-License-Identifier: Apache-2.0
//! The other way to answer a grouped query: the rows that match go back, and the owner groups them.
//!
//! Sums take tens of kilobytes for each group and parameter set, whatever the number of rows; rows take a few bytes for each
//! quantity, whatever the number of groups. With many groups the rows are less, and nothing else has to be published for it: no key with
//! which a server could pack the sums of many groups in one ciphertext.
//!
//! Nobody knows the number of groups beforehand. The plan therefore tells the server up to how many the sums are the quicker way; it
//! counts groups before it adds anything up, and with more it refuses. Then the rows are asked for.

use super::bind::Catalog;
use super::cost;
use super::found::{Form, Found};
use super::rows::Price;
use crate::bounds::Bounds;
use crate::encoding::EncodingId;
use crate::error::PlanError;
use crate::plan::{AggregateTask, OwnerPlan, Regroup, RowsTask, Task};
use crate::predict::{ASSUMED_GROUPS, Site};
use crate::report::Cost;
use crate::schema::{Protection, Schema};
use crate::sql::{Query, quoted};

/// Task, owner's half and cost, with predicted seconds and bytes of the answer.
pub(super) struct Gathered {
    pub(super) task: Task,
    pub(super) owner: OwnerPlan,
    pub(super) cost: Cost,
    pub(super) seconds: f64,
    pub(super) bytes_down: u64,
}

/// Plans the rows for a grouped task; `None` where it sums nothing encrypted or something approximate, or has
/// one group anyway.
///
/// # Errors
/// Those of `price`.
pub(super) fn plan(
    schema: &Schema,
    catalog: &Catalog<'_>,
    query: &Query,
    (task, owner): (&AggregateTask, &OwnerPlan),
    site: &Site,
    price: &Price<'_>,
) -> Result<Option<Gathered>, PlanError> {
    if task.keys.is_empty() || task.sums.is_empty() {
        return Ok(None);
    }
    let mut columns: Vec<EncodingId> = task.sums.iter().map(|sum| sum.column).collect();
    columns.sort_unstable();
    columns.dedup();
    let is_clear = |name: &String| schema.protected(Protection::Clear).any(|column| column.name == *name);
    let clear: Vec<String> = query.grouped_columns().into_iter().filter(is_clear).collect();
    let mut best: Option<Gathered> = None;
    for form in [Form::Residues, Form::Rounded] {
        let fetched: Option<Vec<Found<'_>>> = columns.iter().map(|id| catalog.stored(*id, form)).collect();
        // The precision of approximate sums is stated of what the server adds up.
        let Some(fetched) = fetched.filter(|all| all.iter().all(|found| found.error.is_none())) else {
            return Ok(None);
        };
        let bits = fetched.iter().map(|found| found.rounded.map(|rounded| rounded.bits));
        let rows = Task::Rows(RowsTask {
            clear: clear.iter().map(|name| quoted(name)).collect(),
            operands: Vec::new(),
            programs: Vec::new(),
            fetch: columns.clone(),
            program_bits: Vec::new(),
            fetch_bits: if form == Form::Rounded { bits.collect() } else { Vec::new() },
            operand_limit_log2: 0,
            limit: None,
        });
        let regroup =
            Regroup { clear: clear.clone(), task: AggregateTask { max_groups: u64::MAX, ..task.clone() } };
        let bounds = Bounds { fetched: fetched.iter().map(Found::bound).collect(), ..owner.bounds.clone() };
        let owner = OwnerPlan { regroup: Some(regroup), bounds, ..owner.clone() };
        let (mut seconds, mut bytes_down) = price(&rows, &owner)?;
        // Sums have a clear half of a row for each group; here it has one for each row.
        let clear_bytes = catalog.rows() * (1 + clear.len() as u64) * CLEAR_CELL_BYTES;
        bytes_down += clear_bytes;
        seconds += site.link.map_or(0.0, |speed| clear_bytes as f64 / speed);
        if best.as_ref().is_none_or(|best| seconds < best.seconds) {
            best = Some(Gathered {
                task: rows,
                owner,
                cost: cost::of_rows(&fetched, &[], &[]),
                seconds,
                bytes_down,
            });
        }
    }
    Ok(best)
}

/// Up to how many groups, of at most `most`, sums are the quicker way. At least the number that is assumed where nobody knows, so that
/// few groups never take a second question.
///
/// # Errors
/// Those of `seconds`, the predicted time for so many groups.
pub(super) fn groups_worth_summing(
    most: u64,
    gathered: f64,
    seconds: impl Fn(u64) -> Result<f64, PlanError>,
) -> Result<u64, PlanError> {
    let (mut low, mut high) = (ASSUMED_GROUPS.min(most), most);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if seconds(middle)? <= gathered {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    Ok(low)
}

/// Bytes of a clear value in an answer; texts are some longer.
const CLEAR_CELL_BYTES: u64 = 8;
