// SPDX-License-Identifier: Apache-2.0
//! The way of sorted runs: some blocks of each part's run come back, and the owner answers on their rows and on what the index says of the others
//! ([`crate::run`]).
//!
//! *What it shows.* That this run was asked for, and places of blocks in files, which say nothing of the values in them; the same place is known
//! again. As many blocks of each part are read as the question needs of one, and no fewer than its conditions can need. Where rows come back, or groups
//! are chosen, their number shows about how many rows count. Parts without the run, and parts with deleted rows, give back their rows, as for a cube.

use sqlparser::ast::{BinaryOperator, Expr};

use super::prepared::{beside, on_sums};
use super::{Case, Proposal};
use crate::error::PlanError;
use crate::fetch;
use crate::limits::WayName;
use crate::plan::{Opens, OwnerPlan, RowsTask, RunQuery, RunRead, RunTask, Task};
use crate::predict::{ASSUMED_GROUPS, RunSize, RunSpread};
use crate::run::{Asking, BLOCK_ROWS, OnRun, RunShape};

/// Proposes each run that answers the query.
///
/// # Errors
/// None: where a run does not answer, or rows without it cannot come back, there is no proposal.
pub(super) fn plan(case: &Case<'_>, _: &[Proposal]) -> Result<Vec<Proposal>, PlanError> {
    let runs = case.schema.all_runs();
    let proposals = case.shape.runs.iter().filter_map(|(number, spread)| {
        let run = runs.get(spread.place)?;
        let shape = &RunShape::of(case.schema, run)
            .ok()?
            .in_order(&spread.numbered)
            .filter(|shape| !shape.by_chunk)?;
        let (query, rows) = (case.query, case.catalog.rows());
        let asking = Asking { schema: case.schema, place: spread.place, run, shape, query, rows };
        let found = match asking.on_segments() {
            Some((run, on_run)) => (run, Some(on_run)),
            None => {
                // What the owner cannot answer on rows either is refused before anything is sent.
                fetch::compile(case.schema, query, rows, &|_| true).ok()?;
                (asking.on_rows()?, None)
            }
        };
        of_run(case, (*number, spread), &asking, found)
    });
    Ok(proposals.collect())
}

fn of_run(
    case: &Case<'_>,
    (number, spread): (u32, &RunSpread),
    asking: &Asking<'_>,
    (run, on_run): (RunQuery, Option<OnRun>),
) -> Option<Proposal> {
    // Of groups only those count that can match, and of rows as many come back as match or are wanted.
    let by_groups = !asking.run.within.is_empty() && run.segments.is_some();
    let by_values = by_groups || !matches!(run.opens, Opens::Parted(_));
    let sizes: Vec<RunSize> = spread.parts.iter().flatten().copied().collect();
    let of_parts = sizes.iter().map(|size| (0..expected(&run, asking, size)).collect()).collect();
    let task = RunTask { number, read: RunRead::Blocks { of_parts, by_values } };
    let left = Task::Rows(RowsTask { run: Some(task.clone()), ..RowsTask::default() });
    let mut rows = beside(case, &case.shape.read_by(&left))?;
    let mut owner = OwnerPlan { own: rows.own.take(), run: Some(run), ..OwnerPlan::default() };
    if let Some(OnRun { grouped, lanes, count }) = on_run {
        let read = case.query.columns();
        let within = asking.run.within.iter().chain([&asking.run.by]);
        let clear = within.filter(|name| read.contains(*name)).cloned().collect();
        let row_of = |lane: usize| asking.shape.lanes.get(lane).map(|lane| &lane.row);
        let place = (spread.place, clear, count);
        owner.cells = Some(on_sums(case, (&grouped, &lanes), row_of, place, &mut rows.bounds)?);
        (owner.aggregates, owner.final_sql) = (grouped.outputs, grouped.final_sql);
    }
    let index_bytes: u64 = sizes.iter().map(|size| u64::from(size.index_bytes)).sum();
    let mut tells = vec![
        format!("that run {number} was asked for"),
        "places of blocks in its files, and when the same are read again".to_owned(),
    ];
    if by_values {
        tells.push("how many blocks have rows that count".to_owned());
    }
    tells.extend(rows.tells("run"));
    let (bounds, cost) = (std::mem::take(&mut rows.bounds), rows.cost);
    Some(Proposal {
        name: WayName::Order,
        what: format!("blocks of run {number} come back, and once its index of {index_bytes} bytes"),
        task: Task::Rows(RowsTask { run: Some(task), ..rows.task }),
        filter: None,
        owner: OwnerPlan { bounds, ..owner },
        cost,
        clear_bytes: rows.clear_bytes + index_bytes,
        tells,
    })
}

/// Blocks of a part that a question is expected to read; the index decides.
fn expected(run: &RunQuery, asking: &Asking<'_>, size: &RunSize) -> u32 {
    let groups = if asking.run.within.is_empty() { 1 } else { ASSUMED_GROUPS };
    let least = run.least as u64;
    let few = asking.query.filter.as_ref().is_some_and(are_values);
    let pairs = run.cuts.windows(2).filter(|pair| pair[0].at == pair[1].at).count() as u64;
    let blocks = match &run.opens {
        Opens::Parted(_) => groups * least,
        Opens::First { rows, .. } => groups * (least + 1) + rows.div_ceil(u64::from(BLOCK_ROWS)),
        Opens::Matching if pairs > 0 && 2 * pairs == least && few => least,
        Opens::Matching => u64::from(size.blocks / 4).max(1),
    };
    u32::try_from(blocks).unwrap_or(u32::MAX).min(size.blocks)
}

/// Whether a condition asks for single values alone, as `x = 3 OR x IN (5, 7)` does: few rows are taken to have them.
fn are_values(condition: &Expr) -> bool {
    match condition {
        Expr::Nested(inner) => are_values(inner),
        Expr::BinaryOp { left, op: BinaryOperator::And | BinaryOperator::Or, right } => {
            are_values(left) && are_values(right)
        }
        Expr::BinaryOp { op: BinaryOperator::Eq, .. } => true,
        Expr::InList { negated, .. } => !negated,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::parse;
    use crate::tables::patients;

    #[test]
    fn conditions_for_single_values_match_few_rows() {
        for (text, expected) in [
            ("age = 3", true),
            ("(age = 3 OR age IN (5, 7)) AND ward = 'a'", true),
            ("age <> 3", false),
            ("age NOT IN (5, 7)", false),
            ("NOT age = 3", false),
            ("age = 3 OR age < 1", false),
            ("age BETWEEN 3 AND 3", false),
        ] {
            let query = parse(&patients(), &format!("SELECT age FROM patients WHERE {text}")).unwrap();
            assert_eq!(are_values(&query.filter.unwrap()), expected, "{text}");
        }
    }
}
