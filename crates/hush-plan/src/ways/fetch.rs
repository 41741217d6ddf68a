// SPDX-License-Identifier: Apache-2.0
//! The way for every question: columns come back, and the owner answers the whole query on them ([`crate::fetch`]).
//!
//! *What it shows.* The columns, and which rows of them go back: those that a condition on clear columns leaves. Where that must stay hidden, all
//! rows go back.

use super::{Case, Proposal, cost, rows};
use crate::bounds::Bounds;
use crate::catalog::{AnswerForm, Rounded, UsableEncoding};
use crate::error::PlanError;
use crate::fetch::{self, Fetch};
use crate::limits::WayName;
use crate::plan::{OwnColumn, OwnQuery, OwnerPlan, RowsTask, Task};
use crate::schema::Column;
use crate::sql::quoted;

/// Proposes answers in residues and rounded ones.
///
/// # Errors
/// Those of [`fetch::compile`]; [`PlanError::MissingLayout`] for a column that is not stored so that it can be given back.
pub(super) fn plan(case: &Case<'_>, before: &[Proposal]) -> Result<Vec<Proposal>, PlanError> {
    let has_copy =
        |column: &Column| column.has_copy() && case.shape.sealed_number(case.schema, &column.name).is_some();
    let Some(mut fetch) = fetch::compile(case.schema, case.query, case.catalog.rows(), &has_copy)? else {
        return Ok(Vec::new());
    };
    if fetch.encrypted.is_empty() && fetch.sealed.is_empty() && !before.is_empty() {
        return Ok(Vec::new());
    }
    if !case.hide.is_empty() {
        (fetch.filter, fetch.limit) = (None, None);
    }
    let whole = in_form(case, &fetch, AnswerForm::Residues)?;
    let rounded = in_form(case, &fetch, AnswerForm::Rounded)?;
    let is_other = |task: &Task| matches!(task, Task::Rows(task) if !task.fetch_bits.is_empty());
    Ok(std::iter::once(whole).chain(is_other(&rounded.task).then_some(rounded)).collect())
}

fn in_form(case: &Case<'_>, fetch: &Fetch<'_>, form: AnswerForm) -> Result<Proposal, PlanError> {
    let fetched = fetch.quantities().map(|quantity| case.catalog.fetched(&quantity, form));
    let fetched: Vec<UsableEncoding<'_>> = fetched.collect::<Result<_, _>>()?;
    let bits = fetched.iter().map(|found| found.rounded.map(|Rounded { bits, .. }| bits));
    let bits: Vec<Option<u32>> = bits.collect();
    let is_rounded = bits.iter().any(Option::is_some);
    let names = |columns: &[&Column]| columns.iter().map(|column| column.name.clone()).collect::<Vec<_>>();
    // Names and numbers go together: the owner tells what comes back by its place.
    let numbered = fetch.sealed.iter().filter_map(|column| {
        Some((case.shape.sealed_number(case.schema, &column.name)?, column.name.clone()))
    });
    let (numbers, sealed): (Vec<u32>, Vec<String>) = numbered.unzip();
    let task = RowsTask {
        clear: fetch.clear.iter().map(|column| quoted(&column.name)).collect(),
        fetch: fetched.iter().map(|found| found.encoding.public.id).collect(),
        fetch_bits: if is_rounded { bits } else { Vec::new() },
        sealed: numbers,
        limit: fetch.limit,
        ..RowsTask::default()
    };
    let own = OwnQuery {
        clear: names(&fetch.clear),
        encrypted: own_columns(&fetch.encrypted),
        sealed,
        query: case.query.clone(),
    };
    let bounds = Bounds { fetched: fetched.iter().map(UsableEncoding::bound).collect(), ..Bounds::default() };
    let clear = fetch.clear.iter().map(|column| column.name.as_str());
    Ok(Proposal {
        name: WayName::Fetch,
        what: "columns come back, and you answer on them".to_owned(),
        tells: rows::tells(&task),
        task: Task::Rows(task),
        filter: fetch.filter.clone(),
        owner: OwnerPlan { own: Some(own), bounds, ..OwnerPlan::default() },
        cost: cost::of_rows(&fetched, &[], &[]),
        // Groups have a clear half of a row for each group; here it has one for each row.
        clear_bytes: if case.query.is_grouped() { case.clear_bytes(clear) } else { 0 },
    })
}

/// Where the values and the validity of each column are among the fetched quantities.
fn own_columns(columns: &[&Column]) -> Vec<OwnColumn> {
    let mut next = 0..;
    let mut place = || next.next().unwrap_or_default();
    let own = columns.iter().map(|column| OwnColumn {
        name: column.name.clone(),
        value: place(),
        valid: column.nullable.then(&mut place),
    });
    own.collect()
}
