// SPDX-License-Identifier: Apache-2.0
//! Grouped queries: the server adds up what is encrypted, and the owner decrypts sums.

use super::{Case, Proposal, cost};
use crate::bounds::Bounds;
use crate::catalog::UsableEncoding;
use crate::error::PlanError;
use crate::grouped;
use crate::leakage::{list, numbered};
use crate::limits::{Limits, WayName};
use crate::plan::{AggregateTask, EncryptedSum, OwnerPlan, Task};
use crate::range::Interval;
use crate::report::Cost;
use crate::sql::shown;

/// One plan. Applies to grouped queries.
///
/// # Errors
/// Those of [`grouped::compile`], and what no encoding of the table can do.
pub(super) fn plan(case: &Case<'_>, _: &[Proposal]) -> Result<Vec<Proposal>, PlanError> {
    let Case { schema, catalog, query, limits, shape, .. } = *case;
    if !query.is_grouped() {
        return Ok(Vec::new());
    }
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
    let mut cost = cost::of_sums(&sums, &bound, shape.domains().len());
    cost.max_groups = most_groups(limits, &cost, plan.keys.is_empty());
    let task = AggregateTask {
        keys: plan.keys,
        clear: plan.clear,
        masks: plan.masks.into_iter().map(|bounded| bounded.mask).collect(),
        sums,
        max_groups: cost.max_groups,
    };
    let bounds = Bounds { sums: bound.iter().map(UsableEncoding::bound).collect(), ..Bounds::default() };
    let owner =
        OwnerPlan { aggregates: plan.outputs, bounds, final_sql: plan.final_sql, ..OwnerPlan::default() };
    let keys: Vec<String> = query.keys.iter().map(shown).collect();
    let tells = tells(&keys, &task);
    let what = "the server adds up".to_owned();
    let (task, filter) = (Task::Aggregate(task), query.filter.clone());
    Ok(vec![Proposal { name: WayName::Sum, what, task, filter, owner, cost, clear_bytes: 0, tells }])
}

/// Most groups of an answer of such a cost; one where there are no keys.
pub(super) fn most_groups(limits: &Limits, cost: &Cost, is_whole: bool) -> u64 {
    match limits.max_answer_bytes.checked_div(cost.answer_bytes_each) {
        _ if is_whole => 1,
        Some(affordable) => limits.max_groups.min(affordable.max(1)),
        None => limits.max_groups,
    }
}

/// Sentences on what the server learns, of groups by these keys.
pub(super) fn tells(keys: &[String], task: &AggregateTask) -> Vec<String> {
    let mut says = Vec::new();
    if !keys.is_empty() {
        says.push(format!("that rows are grouped by {}, and the size of each group", list(keys)));
    }
    if task.clear.len() > 1 {
        says.push(format!("the clear aggregates {}", list(task.clear.get(1..).unwrap_or_default())));
    }
    if task.sums.is_empty() {
        return says;
    }
    let mut ids: Vec<u32> = task.sums.iter().map(|sum| sum.column.0).collect();
    ids.sort_unstable();
    ids.dedup();
    says.push(format!("which encrypted quantities are added up in each group ({})", numbered(&ids)));
    for mask in &task.masks {
        if let Some(weight) = &mask.weight {
            says.push(format!("that some are weighted by {weight}"));
        }
        if let Some(condition) = &mask.condition {
            says.push(format!("that some count only where {condition}"));
        }
    }
    says
}
