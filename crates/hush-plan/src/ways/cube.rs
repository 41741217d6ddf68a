// SPDX-License-Identifier: Apache-2.0
//! The way of prepared sums: the server adds up the cells of a cube over the parts that have it, and the owner answers on cells.
//!
//! *What it shows.* That this cube was asked for: the whole of it goes back, whatever the question. Parts without the cube, and parts with
//! deleted rows, give back their rows, so that none is forgotten; the owner adds them to the cells.

use super::{Case, Proposal, fetch};
use crate::EncodingId;
use crate::bounds::{Bound, Bounds, Values};
use crate::conditions::predicate;
use crate::cube::{CubeShape, MAX_LANE_BITS, OnCells, PLAIN_BITS, compile};
use crate::error::PlanError;
use crate::limits::WayName;
use crate::plan::{AggregateTask, CellsQuery, EncryptedSum, OwnQuery, OwnerPlan, RowsTask, Task};
use crate::predict::CubeSpread;
use crate::range::Interval;
use crate::report::Cost;

/// Proposes each cube that answers the query.
///
/// # Errors
/// None: where a cube does not answer, or rows without it cannot come back, there is no proposal.
pub(super) fn plan(case: &Case<'_>, _: &[Proposal]) -> Result<Vec<Proposal>, PlanError> {
    let proposals = case.shape.cubes.iter().filter_map(|(number, spread)| {
        let cube = case.schema.cubes.get(spread.place)?;
        let shape = CubeShape::of(case.schema, cube).ok()?.in_order(&spread.lanes)?;
        let found = compile(case.schema, (cube, &shape), case.query, case.catalog.rows())?;
        with_cube(case, *number, spread, &shape, found)
    });
    Ok(proposals.collect())
}

fn with_cube(
    case: &Case<'_>,
    number: u32,
    spread: &CubeSpread,
    shape: &CubeShape,
    found: OnCells,
) -> Option<Proposal> {
    let left = case.shape.beside(spread);
    let (rows, own, mut bounds, mut cost, clear_bytes) = if left.parts.is_empty() {
        let own = OwnQuery { clear: vec![], encrypted: vec![], sealed: vec![], query: case.query.clone() };
        (RowsTask::default(), own, Bounds::default(), Cost::default(), 0)
    } else {
        // All of their rows, whatever the condition.
        let mut rest = fetch::plan(case, &[]).ok()?.into_iter();
        let Proposal { task: Task::Rows(task), owner, cost, clear_bytes, .. } = rest.next()? else {
            return None;
        };
        let (beside, all) = (u128::from(left.rows()), u128::from(case.shape.rows().max(1)));
        let share = |bytes: u64| (u128::from(bytes) * beside / all) as u64;
        (RowsTask { limit: None, ..task }, owner.own?, owner.bounds, cost, share(clear_bytes))
    };
    let OnCells { grouped, lanes: sums, count } = found;
    let mut lanes = sums.clone();
    lanes.sort_unstable();
    lanes.dedup();
    let place = |lane: &usize| lanes.iter().position(|known| known == lane).unwrap_or_default();
    let weights = |mask: usize| grouped.masks.get(mask).map(|mask| mask.weights.clone());
    for (sum, lane) in grouped.sums.iter().zip(&sums) {
        let lane = &shape.lanes.get(*lane)?.row;
        let row = lane.mul(&weights(sum.mask)?);
        let bits = |row: &Interval| (row.max_abs() * case.catalog.rows()).bits();
        // Rows of parts without the cube are added to cells whose bits were made for the others.
        if bits(lane) > MAX_LANE_BITS || bits(&row) >= u64::from(PLAIN_BITS) {
            return None;
        }
        bounds.sums.push(Bound { values: Values::Exact(row), phase_log2: None });
    }
    let columns = case.query.columns();
    let clear =
        shape.axes.iter().map(|axis| axis.column.clone()).filter(|name| columns.contains(name)).collect();
    let predicate = case.query.filter.as_ref().map(predicate);
    let task = AggregateTask {
        keys: grouped.keys,
        clear: grouped.clear,
        sums: (grouped.sums.iter().zip(&sums))
            .map(|(sum, lane)| EncryptedSum { mask: sum.mask, column: EncodingId(place(lane) as u32) })
            .collect(),
        masks: grouped.masks.into_iter().map(|bounded| bounded.mask).collect(),
        max_groups: u64::MAX,
    };
    let owner = OwnerPlan {
        aggregates: grouped.outputs,
        own: Some(own),
        cells: Some(CellsQuery { cube: spread.place, clear, count, lanes, predicate, task }),
        bounds,
        final_sql: grouped.final_sql,
        ..OwnerPlan::default()
    };
    cost.answer_bytes_each = cost.answer_bytes_each.max(spread.answer_bytes());
    let cells = shape.cells();
    let mut tells = vec![format!("that cube {number} was asked for, all {cells} cells of it")];
    if rows.object_count() + rows.clear.len() > 0 {
        tells.extend(
            super::rows::tells(&rows).into_iter().map(|told| format!("{told}, of parts without the cube")),
        );
    }
    Some(Proposal {
        name: WayName::Cube,
        what: format!("the server adds up {cells} cells of cube {number}"),
        task: Task::Rows(RowsTask { cube: Some(number), ..rows }),
        filter: None,
        owner,
        cost,
        clear_bytes,
        tells,
    })
}
