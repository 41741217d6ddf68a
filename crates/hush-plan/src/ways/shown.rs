// SPDX-License-Identifier: Apache-2.0
//! What a question shows the server, beside the columns that it names: found from the plan that is sent, so that no way can say less of itself.

use crate::limits::{Facet, Shown};
use crate::plan::{RowsTask, RunRead, RunTask, ServerPlan, SlotExpr, Task};
use crate::sql::has_literal;

/// What a plan shows.
pub(crate) fn shown_by(plan: &ServerPlan) -> Shown {
    let has_condition = plan.predicates().next().is_some();
    // Factors name encoded columns by their numbers: the same constants are known again, but not for what they are.
    let (reads_blocks, by_values) = match &plan.task {
        // Encrypted constants are the same bytes for nobody, and the same columns are read for all of them.
        Task::Products(task) => (task.computed.is_none(), false),
        Task::Rows(RowsTask {
            run: Some(RunTask { read: RunRead::Blocks { by_values, .. }, .. }), ..
        }) => (true, *by_values),
        _ => (false, false),
    };
    let (has_groups, has_limit, has_constant) = match &plan.task {
        Task::Aggregate(task) => (!task.keys.is_empty(), false, false),
        // Where rows come back, a second question says that many share a slot. Bounds by ranks share flags in a chunk where few of its rows lie between.
        Task::Products(task) => {
            let has_sizes =
                !task.keys.is_empty() || task.highest_power().is_some() || !task.choices.is_empty();
            (has_sizes, false, false)
        }
        Task::Rows(task) => (false, task.limit.is_some(), task.programs.iter().any(names_constant)),
    };
    let has_constant = has_constant || plan.expressions().any(has_literal);
    let found = [
        (Facet::Constants, has_constant || has_condition || has_limit || by_values),
        (Facet::Pattern, has_condition || has_limit || reads_blocks),
        (Facet::Sizes, has_condition || has_groups || has_limit || by_values),
    ];
    found.into_iter().filter_map(|(facet, is_shown)| is_shown.then_some(facet)).collect()
}

fn names_constant(program: &SlotExpr) -> bool {
    match program {
        SlotExpr::Constant(_) => true,
        SlotExpr::Clear(_) | SlotExpr::Column(_) => false,
        SlotExpr::Neg(inner) => names_constant(inner),
        SlotExpr::Add(left, right) | SlotExpr::Sub(left, right) | SlotExpr::Mul(left, right) => {
            names_constant(left) || names_constant(right)
        }
    }
}
