// SPDX-License-Identifier: Apache-2.0
//! Sorted runs of altered schemas: they follow the names of their columns, and go with those that they are ordered by or add up.

use super::RunShape;
use crate::cube::sums_after;
use crate::schema::alter::Alteration;
use crate::schema::{Protection, Run, Schema};

/// What a run of a schema is after an alteration, or `None` if a column is dropped that it is ordered or parted by, or that it adds up.
pub fn after(schema: &Schema, run: &Run, alteration: &Alteration) -> Option<Run> {
    let name_after = |name: &String| alteration.name_after(name);
    Some(Run {
        by: name_after(&run.by)?,
        within: run.within.iter().map(name_after).collect::<Option<_>>()?,
        sum: sums_after(schema, &run.sum, alteration)?,
        cover: run.cover.iter().filter_map(name_after).collect(),
        by_chunk: run.by_chunk,
    })
}

/// Gives an altered schema the runs that the one before had, as far as there can be such.
pub fn altered(before: &Schema, alteration: &Alteration, next: &mut Schema) {
    next.runs = before.runs.iter().filter_map(|run| after(before, run, alteration)).collect();
    forget_lost(next);
}

/// Forgets the runs whose columns are no longer such that there can be one. What is covered beside is left out alone.
pub fn forget_lost(schema: &mut Schema) {
    let mut runs = std::mem::take(&mut schema.runs);
    let is_dropped = |name: &String| schema.protected(Protection::Drop).any(|column| column.name == *name);
    runs.iter_mut().for_each(|run| run.cover.retain(|name| !is_dropped(name)));
    runs.retain(|run| RunShape::of(schema, run).is_ok());
    schema.runs = runs;
}
