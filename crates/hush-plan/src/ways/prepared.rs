// SPDX-License-Identifier: Apache-2.0
//! What the ways have in common that answer on what was prepared when rows were encrypted: rows of parts without it come back, and a grouped query
//! is put to sums.

use sqlparser::ast::Expr;

use super::{Case, Proposal, fetch};
use crate::EncodingId;
use crate::bounds::{Bound, Bounds, Values};
use crate::conditions::predicate;
use crate::cube::{MAX_LANE_BITS, PLAIN_BITS};
use crate::grouped::Grouped;
use crate::limits::WayName;
use crate::plan::{AggregateTask, CellsQuery, EncryptedSum, OwnQuery, RowsTask, Task};
use crate::predict::TableShape;
use crate::quantity::Quantity;
use crate::range::Interval;
use crate::report::Cost;

/// All rows of some parts, whatever the condition.
#[derive(Default)]
pub(super) struct Beside {
    pub(super) task: RowsTask,
    pub(super) own: Option<OwnQuery>,
    pub(super) bounds: Bounds,
    pub(super) cost: Cost,
    pub(super) clear_bytes: u64,
}

/// The rows of the parts that are left; `None` where they cannot come back.
pub(super) fn beside(case: &Case<'_>, left: &TableShape) -> Option<Beside> {
    if left.parts.is_empty() {
        let own = OwnQuery { clear: vec![], encrypted: vec![], sealed: vec![], query: case.query.clone() };
        return Some(Beside { own: Some(own), ..Beside::default() });
    }
    let mut rest = fetch::plan(case, &[]).ok()?.into_iter();
    let Proposal { task: Task::Rows(task), owner, cost, clear_bytes, .. } = rest.next()? else {
        return None;
    };
    let (beside, all) = (u128::from(left.rows()), u128::from(case.shape.rows().max(1)));
    let clear_bytes = (u128::from(clear_bytes) * beside / all) as u64;
    let task = RowsTask { limit: None, ..task };
    Some(Beside { task, own: Some(owner.own?), bounds: owner.bounds, cost, clear_bytes })
}

impl Beside {
    /// What the rows tell.
    pub(super) fn tells(&self, what: &str) -> Vec<String> {
        if self.task.object_count() + self.task.clear.len() == 0 {
            return Vec::new();
        }
        let told = super::rows::tells(&self.task).into_iter();
        told.map(|told| format!("{told}, of parts without the {what}")).collect()
    }
}

/// Why a way does not answer on what was prepared; `None` for other ways.
pub(super) fn why_not(case: &Case<'_>, name: WayName) -> Option<String> {
    let Case { schema, catalog, shape, .. } = *case;
    let is_in_cells = |quantity: &Quantity| matches!(quantity, Quantity::InCells { .. });
    let (what, is_declared, is_stored) = match name {
        WayName::Cube => ("cube", !schema.cubes.is_empty(), !shape.cubes.is_empty()),
        WayName::Group => ("group", !schema.all_groups().is_empty(), catalog.quantities().any(is_in_cells)),
        WayName::Order => {
            ("sorted run", schema.all_runs().iter().any(|run| !run.by_chunk), !shape.runs.is_empty())
        }
        WayName::Filter | WayName::Sum | WayName::Rows | WayName::Gather | WayName::Fetch => return None,
    };
    let is_summed = name != WayName::Order;
    Some(match (is_declared, is_stored) {
        _ if is_declared && is_summed && catalog.rows() > schema.max_rows => format!(
            "sums of a {what} are made for {} rows (`max_rows` of the schema), and the table has {}",
            schema.max_rows,
            catalog.rows()
        ),
        (false, _) => format!("the schema declares no {what}"),
        (true, false) => format!("no part of the table has its {what}"),
        (true, true) => format!("no {what} of the table has every column, condition and sum of the query"),
    })
}

/// The grouped query on what is prepared, whose lanes have these numbers in a row; bounds of its sums are added. `None` where a sum could pass its
/// bits.
pub(super) fn on_sums<'a>(
    case: &Case<'_>,
    (grouped, sums): (&Grouped, &[usize]),
    row_of: impl Fn(usize) -> Option<&'a Interval>,
    (place, clear, count): (usize, Vec<String>, String),
    bounds: &mut Bounds,
) -> Option<CellsQuery> {
    let mut lanes = sums.to_vec();
    lanes.sort_unstable();
    lanes.dedup();
    let number = |lane: &usize| lanes.iter().position(|known| known == lane).unwrap_or_default();
    for (sum, lane) in grouped.sums.iter().zip(sums) {
        let lane = row_of(*lane)?;
        let row = lane.mul(&grouped.masks.get(sum.mask)?.weights);
        let bits = |row: &Interval| (row.max_abs() * case.catalog.rows()).bits();
        // Rows of other parts are added to sums whose bits were made for these.
        if bits(lane) > MAX_LANE_BITS || bits(&row) >= u64::from(PLAIN_BITS) {
            return None;
        }
        bounds.sums.push(Bound { values: Values::Exact(row), phase_log2: None });
    }
    let task = AggregateTask {
        keys: grouped.keys.clone(),
        clear: grouped.clear.clone(),
        sums: (grouped.sums.iter().zip(sums))
            .map(|(sum, lane)| EncryptedSum { mask: sum.mask, column: EncodingId(number(lane) as u32) })
            .collect(),
        masks: grouped.masks.iter().map(|bounded| bounded.mask.clone()).collect(),
        max_groups: u64::MAX,
    };
    let predicate = case.query.filter.as_ref().map(|filter: &Expr| predicate(filter));
    Some(CellsQuery { place, clear, count, lanes, predicate, task })
}
