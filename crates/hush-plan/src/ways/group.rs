// SPDX-License-Identifier: Apache-2.0
//! The way of sums by hidden values: the server adds up encoded columns that are 0 outside a cell, under the clear condition and in the clear
//! groups of a query, and the owner answers the rest of it on cells ([`crate::one_hot`]).
//!
//! *What it shows.* That these columns were added up, all cells of them whatever the question; beside that the clear condition, and the sizes of clear
//! groups, as with other sums.

use std::collections::BTreeMap;

use super::prepared::on_sums;
use super::{Case, Proposal, cost, sums};
use crate::bounds::Bounds;
use crate::catalog::UsableEncoding;
use crate::cube::CubeShape;
use crate::error::PlanError;
use crate::grouped::QuantitySum;
use crate::limits::WayName;
use crate::one_hot::{self, Asked};
use crate::plan::{AggregateTask, EncryptedSum, HiddenSums, Mask, OwnQuery, OwnerPlan, PlacedSums, Task};
use crate::quantity::{Cell, Quantity};
use crate::range::Interval;
use crate::schema::cube::Cube;
use crate::sql::quoted;

/// Proposes each of the groups that answers the query.
///
/// # Errors
/// None: where a group does not answer, or some part does not have it, there is no proposal.
pub(super) fn plan(case: &Case<'_>, _: &[Proposal]) -> Result<Vec<Proposal>, PlanError> {
    let groups = case.schema.all_groups();
    Ok(groups.iter().enumerate().filter_map(|(place, group)| with_group(case, place, group)).collect())
}

fn with_group(case: &Case<'_>, place: usize, group: &Cube) -> Option<Proposal> {
    let Case { schema, catalog, limits, .. } = *case;
    let shape = one_hot::shape(schema, group).ok()?;
    let asked = one_hot::compile(schema, (group, &shape), case.query, catalog.rows())?;
    let Asked { query, filter, keys, on_cells } = asked;
    let on_rest = &Case { query: &query, ..*case };
    let used = query.columns();
    let read = shape.axes.iter().map(|axis| &axis.column).filter(|name| used.contains(*name)).cloned();
    let row_of = |lane: usize| shape.lanes.get(lane).map(|lane| &lane.row);
    let at = (place, read.collect(), on_cells.count);
    let mut bounds = Bounds::default();
    let grouped = on_cells.grouped;
    let cells = on_sums(on_rest, (&grouped, &on_cells.lanes), row_of, at, &mut bounds)?;
    let lanes: Vec<usize> = std::iter::once(0).chain(cells.lanes.iter().copied()).collect();
    let (found, placed) = stored(case, &shape, &lanes)?;
    let task = AggregateTask {
        keys: keys.iter().map(|name| quoted(name)).collect(),
        clear: vec!["COUNT(*)".to_owned()],
        masks: vec![Mask { condition: None, weight: None }],
        sums: found.iter().map(|found| EncryptedSum { mask: 0, column: found.encoding.public.id }).collect(),
        max_groups: 1,
    };
    let mut cost = cost::of_sums(&task.sums, &found, case.shape.domains().len());
    cost.max_groups = sums::most_groups(limits, &cost, keys.is_empty());
    let task = AggregateTask { max_groups: cost.max_groups, ..task };
    let tells = sums::tells(&keys, &task);
    let hidden = HiddenSums { keys, sums: placed, bounds: found.iter().map(UsableEncoding::bound).collect() };
    let own = OwnQuery { clear: vec![], encrypted: vec![], sealed: vec![], query: case.query.clone() };
    let owner = OwnerPlan {
        aggregates: grouped.outputs,
        own: Some(own),
        cells: Some(cells),
        hidden: Some(hidden),
        bounds,
        final_sql: grouped.final_sql,
        ..OwnerPlan::default()
    };
    let by: Vec<String> = group.by.iter().map(|dimension| dimension.describe()).collect();
    Some(Proposal {
        name: WayName::Group,
        what: format!("the server adds up {} cells by {}", shape.cells(), by.join(", ")),
        task: Task::Aggregate(task),
        filter,
        owner,
        cost,
        clear_bytes: 0,
        tells,
    })
}

/// The encoded columns that hold these lanes of all cells, and what stands in the places of each; `None` if one is missing, or too narrow for the
/// rows that the table has.
fn stored<'a>(
    case: &Case<'a>,
    shape: &CubeShape,
    lanes: &[usize],
) -> Option<(Vec<UsableEncoding<'a>>, Vec<PlacedSums>)> {
    let Case { schema, catalog, .. } = *case;
    let mut places: BTreeMap<(Option<&Quantity>, &Cell), &Quantity> = BTreeMap::new();
    for whole in catalog.quantities() {
        if let Quantity::InCells { quantity, cells, .. } = whole {
            for cell in cells {
                places.entry((quantity.as_deref(), cell)).or_insert(whole);
            }
        }
    }
    let all_cells = one_hot::cells(shape);
    let number: BTreeMap<&Cell, u32> = all_cells.iter().zip(0..).collect();
    let (mut found, mut placed) = (Vec::new(), Vec::new());
    for (place, lane) in lanes.iter().enumerate() {
        let lane = shape.lanes.get(*lane)?;
        let mut taken: Vec<&Quantity> = Vec::new();
        for cell in &all_cells {
            let whole = *places.get(&(lane.quantity.as_ref(), cell))?;
            if taken.contains(&whole) {
                continue;
            }
            taken.push(whole);
            let Quantity::InCells { quantity, cells, bits } = whole else { return None };
            if !one_hot::holds(schema, quantity.as_deref(), *bits, catalog.rows()) {
                return None;
            }
            let one = Interval::point(1.into());
            let (text, together) = (whole.describe(), Vec::new());
            let asked = QuantitySum { mask: 0, quantity: whole.clone(), text, together };
            found.push(catalog.sum(&asked, &one).ok()?);
            let low = i128::try_from(lane.row.low() * catalog.rows()).ok()?;
            let cells = cells.iter().map(|cell| number.get(cell).copied()).collect();
            placed.push(PlacedSums { lane: place, bits: *bits, low, cells });
        }
    }
    Some((found, placed))
}
