// SPDX-License-Identifier: Apache-2.0
//! Plans of one query over one version of a table: logical sums and programs bound to the encodings there are.
//!
//! Every bound is checked here against the encodings that will be used: message and noise for sums (over all rows of
//! the table, whatever the filter), value and noise for programs. What passes decrypts with failure probability below
//! `2^-128` and cannot overflow. The same function plans a query whose columns are all clear; it then asks the server
//! for clear aggregates only, and the owner's half is the same.

mod bind;
mod cost;
mod found;
mod gathered;
mod rows;

use crate::bounds::{Bound, Bounds};
use crate::encoding::PrivateEncoding;
use crate::error::PlanError;
use crate::graph;
use crate::grouped;
use crate::leakage;
use crate::plan::{AggregateTask, EncryptedSum, OwnerPlan, PLAN_FORMAT, QueryPlan, ServerPlan, Task};
use crate::predict::{ASSUMED_GROUPS, Site};
use crate::range::Interval;
use crate::report::{Cost, Way};
use crate::schema::Schema;
use crate::sql::{Query, check_expression};
use crate::steps;
use bind::Catalog;
use found::{Form, Found};
use gathered::groups_worth_summing;

/// Groups above which a front should warn: an answer has tens of kilobytes per group and column.
pub const MANY_GROUPS: u64 = 100;

/// Limits that the owner sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most groups of an answer.
    pub max_groups: u64,
    /// Most bytes of an answer.
    pub max_answer_bytes: u64,
}

impl Default for Limits {
    /// 10,000 groups and 1 GiB.
    fn default() -> Self {
        Self { max_groups: 10_000, max_answer_bytes: 1 << 30 }
    }
}

/// Plans `query` over the table at `site` whose manifest has the digest `manifest` (hexadecimal).
///
/// `encodings` may hold several of one quantity; the smallest that suffices is used. Where a query by row can be answered in
/// several ways, the one takes least time that `site` predicts least of ([`QueryPlan::ways`]).
///
/// # Errors
/// [`PlanError`]: what no encoding could do (see the codes of `grouped` and `by_row` queries), a missing layout, a
/// bound that an encoding does not keep, an answer above the limit, or more SQL than a server parses.
pub fn plan_query(
    schema: &Schema,
    encodings: &[PrivateEncoding],
    site: &Site,
    manifest: &str,
    query: &Query,
    limits: &Limits,
) -> Result<QueryPlan, PlanError> {
    let rows = site.shape.rows();
    let catalog = Catalog::new(schema, encodings, rows)?;
    let server = |task| ServerPlan {
        format: PLAN_FORMAT,
        table: schema.table.clone(),
        manifest: manifest.to_owned(),
        predicate: query.filter.as_ref().map(ToString::to_string),
        task,
        max_answer_bytes: limits.max_answer_bytes,
    };
    let public: Vec<_> = encodings.iter().map(|encoding| encoding.public.clone()).collect();
    let price = |task: &Task, owner: &OwnerPlan, groups: u64| {
        site.price(&server(task.clone()), owner, &public, groups)
    };
    let of_rows = |task: &Task, owner: &OwnerPlan| price(task, owner, 1);
    let mut planned = if query.is_grouped() {
        plan_grouped(schema, &catalog, query, limits)?
    } else {
        rows::plan(schema, &catalog, query, &of_rows)?
    };
    let mut instead = None;
    if let Task::Aggregate(task) = &planned.task {
        let both = (task, &planned.owner);
        let gathered = gathered::plan(schema, &catalog, query, both, site, &of_rows)?;
        if let Some(gathered) = gathered.filter(|gathered| gathered.bytes_down <= limits.max_answer_bytes) {
            let seconds = |groups| Ok(price(&planned.task, &planned.owner, groups)?.0);
            let most = groups_worth_summing(planned.cost.max_groups, gathered.seconds, seconds)?;
            let assumed = price(&planned.task, &planned.owner, ASSUMED_GROUPS.min(most))?;
            planned.limit_groups(most, assumed, (gathered.seconds, gathered.bytes_down));
            instead = Some(gathered);
        }
    }
    let Planned { task, owner, cost, ways } = planned;
    if cost.answer_bytes_each > limits.max_answer_bytes {
        return Err(PlanError::AnswerTooLarge {
            needed: cost.answer_bytes_each,
            limit: limits.max_answer_bytes,
        });
    }
    let finish = |task: Task, owner: OwnerPlan, cost, ways, gathered| {
        let leakage = leakage::of_query(schema, encodings, rows, query, &task);
        let steps = steps::of_query(query, encodings, &task, &owner);
        let graph = graph::of_query(query, encodings, &task, &owner);
        let server = server(task);
        // What the server would not parse is refused here, where it can still be asked for otherwise.
        server.expressions().try_for_each(check_expression)?;
        let notes = query.notes();
        Ok::<_, PlanError>(QueryPlan { server, owner, cost, leakage, graph, steps, notes, ways, gathered })
    };
    let instead = instead.map(|other| finish(other.task, other.owner, other.cost, ways.clone(), None));
    let mut plan = finish(task, owner, cost, ways, None)?;
    plan.gathered = instead.transpose()?.map(Box::new);
    if let Some(gathered) = &mut plan.gathered {
        // Whoever asks for the rows has asked for the groups before.
        plan.leakage.query.extend(leakage::of_many_groups(&gathered.server.task));
        gathered.leakage = plan.leakage.clone();
        for way in &mut gathered.ways {
            way.taken = !way.taken;
        }
    }
    Ok(plan)
}

/// What stored rows decrypt to, for each encoding.
///
/// # Errors
/// [`PlanError::BadEncoding`].
pub fn stored_bounds(schema: &Schema, encodings: &[PrivateEncoding]) -> Result<Vec<Bound>, PlanError> {
    let catalog = Catalog::new(schema, encodings, 1)?;
    let stored = |encoding: &PrivateEncoding| catalog.stored(encoding.public.id, Form::Residues);
    Ok(encodings.iter().filter_map(stored).map(|found| found.bound()).collect())
}

/// One way to answer a query.
struct Planned {
    task: Task,
    owner: OwnerPlan,
    cost: Cost,
    /// What it was weighed against, itself included.
    ways: Vec<Way>,
}

impl Planned {
    /// Leaves more groups than `most` to the other way. Both prices are seconds and bytes: of so many groups as are assumed, and of
    /// the rows.
    fn limit_groups(&mut self, most: u64, (seconds, bytes_down): (f64, u64), rows: (f64, u64)) {
        self.cost.max_groups = most;
        if let Task::Aggregate(task) = &mut self.task {
            task.max_groups = most;
        }
        let sums = format!("up to {most} groups the server adds up");
        self.ways = vec![
            Way { what: sums, seconds, bytes_down, taken: true },
            Way {
                what: "with more you group the rows".to_owned(),
                seconds: rows.0,
                bytes_down: rows.1,
                taken: false,
            },
        ];
    }
}

fn plan_grouped(
    schema: &Schema,
    catalog: &Catalog<'_>,
    query: &Query,
    limits: &Limits,
) -> Result<Planned, PlanError> {
    let plan = grouped::compile(schema, query, catalog.rows())?;
    let mut bound = Vec::with_capacity(plan.sums.len());
    for sum in &plan.sums {
        let weights = plan.masks.get(sum.mask).map(|mask| mask.weights.clone());
        bound.push(catalog.sum(sum, &weights.unwrap_or_else(|| Interval::point(0.into())))?);
    }
    let sums: Vec<EncryptedSum> = plan
        .sums
        .iter()
        .zip(&bound)
        .map(|(sum, found)| EncryptedSum { mask: sum.mask, column: found.encoding.public.id })
        .collect();
    let mut cost = cost::of_sums(&sums, &bound);
    cost.max_groups = match limits.max_answer_bytes.checked_div(cost.answer_bytes_each) {
        _ if plan.keys.is_empty() => 1,
        Some(affordable) => limits.max_groups.min(affordable.max(1)),
        None => limits.max_groups,
    };
    let task = Task::Aggregate(AggregateTask {
        keys: plan.keys,
        clear: plan.clear,
        masks: plan.masks.into_iter().map(|bounded| bounded.mask).collect(),
        sums,
        max_groups: cost.max_groups,
    });
    let bounds = Bounds { sums: bound.iter().map(Found::bound).collect(), ..Bounds::default() };
    let owner =
        OwnerPlan { aggregates: plan.outputs, bounds, final_sql: plan.final_sql, ..OwnerPlan::default() };
    Ok(Planned { task, owner, cost, ways: Vec::new() })
}

#[cfg(test)]
mod tests;
