// SPDX-License-Identifier: Apache-2.0
//! The way of prepared sums: the server adds up the cells of a cube over the parts that have it, and the owner answers on cells.
//!
//! *What it shows.* That this cube was asked for: the whole of it goes back, whatever the question. Parts without the cube, and parts with
//! deleted rows, give back their rows, so that none is forgotten; the owner adds them to the cells.

use super::prepared::{beside, on_sums};
use super::{Case, Proposal};
use crate::cube::{CubeShape, OnCells, compile};
use crate::error::PlanError;
use crate::limits::WayName;
use crate::plan::{OwnerPlan, RowsTask, Task};
use crate::predict::CubeSpread;

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
    let mut rows = beside(case, &case.shape.beside(spread))?;
    let OnCells { grouped, lanes, count } = found;
    let columns = case.query.columns();
    let clear = shape.axes.iter().map(|axis| axis.column.clone()).filter(|name| columns.contains(name));
    let row_of = |lane: usize| shape.lanes.get(lane).map(|lane| &lane.row);
    let place = (spread.place, clear.collect(), count);
    let cells = on_sums(case, (&grouped, &lanes), row_of, place, &mut rows.bounds)?;
    let count = shape.cells();
    let mut tells = vec![format!("that cube {number} was asked for, all {count} cells of it")];
    tells.extend(rows.tells("cube"));
    if case.schema.cubes.get(spread.place).is_some_and(|cube| cube.max_cell_rows.is_some()) {
        tells.push("which columns come back instead where a cell has outgrown max_cell_rows".to_owned());
    }
    let mut cost = rows.cost;
    cost.answer_bytes_each = cost.answer_bytes_each.max(spread.answer_bytes());
    let owner = OwnerPlan {
        aggregates: grouped.outputs,
        own: rows.own,
        cells: Some(cells),
        bounds: rows.bounds,
        final_sql: grouped.final_sql,
        ..OwnerPlan::default()
    };
    Some(Proposal {
        name: WayName::Cube,
        what: format!("the server adds up {count} cells of cube {number}"),
        task: Task::Rows(RowsTask { cube: Some(number), ..rows.task }),
        filter: None,
        owner,
        cost,
        clear_bytes: rows.clear_bytes,
        tells,
    })
}
