// SPDX-License-Identifier: Apache-2.0
//! The other way to answer a grouped query: the rows that match go back, and the owner groups them.
//!
//! Sums take tens of kilobytes for each group and parameter set, whatever the number of rows; rows take a few bytes for each
//! quantity, whatever the number of groups. With many groups the rows are less, and nothing else has to be published for it: no key with
//! which a server could pack the sums of many groups in one ciphertext.
//!
//! Nobody knows the number of groups beforehand. A plan for sums therefore tells the server up to how many these are the quicker way; it
//! counts groups before it adds anything up, and with more it refuses. Then the rows are asked for.

use super::{Case, Proposal, cost, rows};
use crate::bounds::Bounds;
use crate::catalog::{AnswerForm, UsableEncoding};
use crate::encoding::EncodingId;
use crate::error::PlanError;
use crate::limits::WayName;
use crate::plan::{AggregateTask, OwnerPlan, Regroup, RowsTask, Task};
use crate::schema::Protection;
use crate::sql::quoted;

/// Proposes answers in residues and rounded ones. Applies if an exact encrypted quantity is summed in groups and there may be many groups.
///
/// # Errors
/// None.
pub(super) fn plan(case: &Case<'_>, before: &[Proposal]) -> Result<Vec<Proposal>, PlanError> {
    let sums = before.iter().find_map(|proposal| match &proposal.task {
        Task::Aggregate(task)
            if proposal.name == WayName::Sum && !task.keys.is_empty() && !task.sums.is_empty() =>
        {
            Some((task, &proposal.owner))
        }
        _ => None,
    });
    let Some((task, owner)) = sums else { return Ok(Vec::new()) };
    let mut columns: Vec<EncodingId> = task.sums.iter().map(|sum| sum.column).collect();
    columns.sort_unstable();
    columns.dedup();
    let is_clear =
        |name: &String| case.schema.protected(Protection::Clear).any(|column| column.name == *name);
    let clear: Vec<String> = case.query.grouped_columns().into_iter().filter(is_clear).collect();
    let with = |form| with_rows(case, (task, owner), &columns, &clear, form);
    Ok([AnswerForm::Residues, AnswerForm::Rounded].into_iter().filter_map(with).collect())
}

/// The rows in this form; `None` where something is approximate: the precision of such sums is stated of what the server adds up.
fn with_rows(
    case: &Case<'_>,
    (task, owner): (&AggregateTask, &OwnerPlan),
    columns: &[EncodingId],
    clear: &[String],
    form: AnswerForm,
) -> Option<Proposal> {
    let fetched: Option<Vec<UsableEncoding<'_>>> =
        columns.iter().map(|id| case.catalog.stored(*id, form)).collect();
    let fetched = fetched.filter(|all| all.iter().all(|found| found.error.is_none()))?;
    let bits = fetched.iter().map(|found| found.rounded.map(|rounded| rounded.bits));
    let rows = RowsTask {
        clear: clear.iter().map(|name| quoted(name)).collect(),
        operands: Vec::new(),
        programs: Vec::new(),
        fetch: columns.to_vec(),
        program_bits: Vec::new(),
        fetch_bits: if form == AnswerForm::Rounded { bits.collect() } else { Vec::new() },
        sealed: Vec::new(),
        cube: None,
        run: None,
        operand_limit_log2: 0,
        limit: None,
    };
    let regroup =
        Regroup { clear: clear.to_vec(), task: AggregateTask { max_groups: u64::MAX, ..task.clone() } };
    let bounds =
        Bounds { fetched: fetched.iter().map(UsableEncoding::bound).collect(), ..owner.bounds.clone() };
    let tells = rows::tells(&rows);
    Some(Proposal {
        name: WayName::Gather,
        what: "you group the rows".to_owned(),
        task: Task::Rows(rows),
        filter: case.query.filter.clone(),
        owner: OwnerPlan { regroup: Some(regroup), bounds, ..owner.clone() },
        cost: cost::of_rows(&fetched, &[], &[]),
        // Sums have a clear half of a row for each group; here it has one for each row.
        clear_bytes: case.clear_bytes(clear.iter().map(String::as_str)),
        tells,
    })
}
