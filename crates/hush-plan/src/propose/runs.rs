// SPDX-License-Identifier: Apache-2.0
//! Sorted runs for medians, ends, ranges and first rows.

use std::collections::BTreeSet;

use super::cubes::terms;
use super::reads::Reads;
use super::table::few_values;
use super::{Structure, Workload};
use crate::plan::{Opens, RunQuery};
use crate::run::{Asking, RunShape};
use crate::schema::Run;
use crate::sql::{Query, bare, column_name, columns_of};

/// The runs of all queries. Those of one order are one.
pub(super) fn find(workload: &Workload<'_>) -> Vec<Structure> {
    let mut found: Vec<Run> = Vec::new();
    for run in workload.queries.iter().flat_map(|query| of_query(workload, query)) {
        match found.iter_mut().find(|known| known.by == run.by && known.within == run.within) {
            Some(known) => {
                add(&mut known.sum, run.sum);
                add(&mut known.cover, run.cover);
            }
            None => found.push(run),
        }
    }
    found.into_iter().map(Structure::Run).collect()
}

fn add(names: &mut Vec<String>, further: Vec<String>) {
    for name in further {
        if !names.contains(&name) {
            names.push(name);
        }
    }
}

/// The runs each of which answers a query.
fn of_query(workload: &Workload<'_>, query: &Query) -> Vec<Run> {
    let reads = Reads::of(workload.schema, query);
    let sums = query.is_grouped().then(|| terms(workload, &reads, query)).flatten();
    let mut found: Vec<Run> = Vec::new();
    for by in orders(query, &reads) {
        let others = reads.compared.iter().filter(|name| **name != by).cloned().collect::<Vec<_>>();
        let parted = others.iter().all(|name| makes_few_groups(workload, name));
        let run = |within: &[String], sum: &[String], cover: &[String]| Run {
            by: by.clone(),
            within: within.to_vec(),
            sum: sum.to_vec(),
            cover: cover.to_vec(),
            by_chunk: false,
        };
        let mut tried: Vec<Run> = sums.iter().filter(|_| parted).map(|sum| run(&others, sum, &[])).collect();
        // As rows, with all that is read in the run. Of few values each has too many rows.
        let read = || query.columns().into_iter().filter(|name| *name != by);
        let compared = compared(query);
        let is_part = |name: &String| compared.contains(name) && makes_few_groups(workload, name);
        let (within, cover): (Vec<String>, Vec<String>) = read().partition(|name| is_part(name));
        if !makes_few_groups(workload, &by) {
            tried.push(run(&within, &[], &cover));
            tried.push(run(&[], &[], &read().collect::<Vec<_>>()));
        }
        let answers = |run: &Run| answers(workload, run, query);
        found.extend(tried.into_iter().find(answers));
    }
    found
}

/// Columns by which a run may be ordered for a query: that of its first rows, those in its conditions, those whose values it asks for.
fn orders(query: &Query, reads: &Reads) -> Vec<String> {
    let first = query.order.first().filter(|_| query.limit.is_some() && !query.is_grouped());
    let first = first.and_then(|key| column_name(bare(&key.expr))).map(str::to_owned);
    let values = reads.compared.iter().filter(|_| query.is_grouped());
    let mut orders: Vec<String> = Vec::new();
    add(&mut orders, first.into_iter().chain(compared(query)).chain(values.cloned()).collect());
    orders
}

/// Columns in the condition.
fn compared(query: &Query) -> BTreeSet<String> {
    query.filter.iter().flat_map(columns_of).collect()
}

fn makes_few_groups(workload: &Workload<'_>, name: &str) -> bool {
    let column = workload.schema.columns.iter().find(|column| column.name == name);
    column.is_some_and(|column| few_values(column, workload.situation).is_some())
}

/// Whether there can be a run, and it answers a query.
fn answers(workload: &Workload<'_>, run: &Run, query: &Query) -> bool {
    let Ok(shape) = &RunShape::of(workload.schema, run) else { return false };
    let (schema, rows) = (workload.schema, workload.situation.rows.max(1));
    let asking = Asking { schema, place: 0, run, shape, query, rows };
    // Rows that `by` does not tell apart come back anyway.
    let is_narrow = |run: &RunQuery| !run.cuts.is_empty() || matches!(run.opens, Opens::First { .. });
    asking.on_segments().is_some() || asking.on_rows().as_ref().is_some_and(is_narrow)
}
