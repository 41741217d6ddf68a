// SPDX-License-Identifier: Apache-2.0
//! Sums by hidden values for grouped queries whose clear conditions no cube has cells for.

use std::collections::BTreeSet;

use super::cubes::{grain, terms};
use super::reads::Reads;
use super::{Structure, Workload};
use crate::one_hot;
use crate::schema::{Cube, Dimension, Protection};
use crate::sql::Query;

/// The groups of all queries. Those of the same cells are one.
pub(super) fn find(workload: &Workload<'_>) -> Vec<Structure> {
    let mut found: Vec<Cube> = Vec::new();
    for group in workload.queries.iter().filter_map(|query| of_query(workload, query)) {
        match found.iter_mut().find(|known| known.by == group.by) {
            Some(known) => {
                let further = group.sum.into_iter().filter(|term| !known.sum.contains(term));
                let further: Vec<String> = further.collect();
                known.sum.extend(further);
            }
            None => found.push(group),
        }
    }
    found.into_iter().map(Structure::Group).collect()
}

/// The group that answers a query, if one does.
fn of_query(workload: &Workload<'_>, query: &Query) -> Option<Cube> {
    if !query.is_grouped() {
        return None;
    }
    let schema = workload.schema;
    let reads = Reads::of(schema, query);
    let clear: BTreeSet<&String> = schema.protected(Protection::Clear).map(|column| &column.name).collect();
    let hidden = reads.compared.iter().filter(|name| !clear.contains(name));
    let by = hidden.map(|name| {
        let column = schema.columns.iter().find(|column| column.name == *name)?;
        Some(Dimension { column: name.clone(), grain: grain(workload, column, (&reads, query), 2)? })
    });
    let by: Vec<Dimension> = by.collect::<Option<_>>()?;
    let group = Cube { by, sum: terms(workload, &reads, query)?, max_cell_rows: None };
    let shape = one_hot::shape(schema, &group).ok()?;
    let asked = one_hot::compile(schema, (&group, &shape), query, workload.situation.rows.max(1));
    asked.is_some().then_some(group)
}
