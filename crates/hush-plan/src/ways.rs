// SPDX-License-Identifier: Apache-2.0
//! The ways to answer a query. Each is a function of a file of its own: whether it applies, what the server is asked and
//! what the owner does, what that costs and what the server learns. Every way gives the same result.
//!
//! The planner prices what they propose, and picks. A new way is a file here and a line in [`WAYS`].

mod cost;
mod cube;
mod fetch;
mod filter;
mod gathered;
mod group;
mod order;
mod prepared;
mod rows;
mod shown;
mod sums;

use sqlparser::ast::Expr;

use crate::catalog::Catalog;
use crate::error::PlanError;
use crate::limits::{Limits, Shown, WayName};
use crate::plan::{OwnerPlan, Round, Task};
use crate::predict::{TableShape, bytes_of};
use crate::report::Cost;
use crate::schema::Schema;
use crate::sql::Query;
pub(crate) use shown::shown_by;

/// A way: what it proposes for a query, none where it does not apply. It may build on what the ways before it propose.
type Proposer = fn(&Case<'_>, &[Proposal]) -> Result<Vec<Proposal>, PlanError>;

/// All ways.
const WAYS: [(WayName, Proposer); 8] = [
    (WayName::Cube, cube::plan),
    (WayName::Group, group::plan),
    (WayName::Order, order::plan),
    (WayName::Filter, filter::plan),
    (WayName::Sum, sums::plan),
    (WayName::Rows, rows::plan),
    (WayName::Gather, gathered::plan),
    (WayName::Fetch, fetch::plan),
];

/// A query, and the table that it is asked of.
#[derive(Clone, Copy)]
pub(crate) struct Case<'a> {
    pub(crate) schema: &'a Schema,
    pub(crate) catalog: &'a Catalog<'a>,
    pub(crate) query: &'a Query,
    pub(crate) limits: &'a Limits,
    /// What must not be shown to the server.
    pub(crate) hide: Shown,
    /// How the table lies in files.
    pub(crate) shape: &'a TableShape,
    /// The round of a search, where it is one.
    pub(crate) round: Option<&'a Round>,
}

impl Case<'_> {
    /// Bytes of the clear half of an answer with every row of these columns. The numbers of all rows take next to nothing.
    fn clear_bytes<'n>(&self, columns: impl Iterator<Item = &'n str>) -> u64 {
        let bytes = columns.map(|name| bytes_of(self.catalog.rows(), name, &self.shape.clear));
        bytes.fold(0, u64::saturating_add)
    }
}

/// A plan that would answer a query.
pub(crate) struct Proposal {
    pub(crate) name: WayName,
    /// The party that evaluates, and the form of the answer, in words.
    pub(crate) what: String,
    pub(crate) task: Task,
    /// The condition that the server evaluates.
    pub(crate) filter: Option<Expr>,
    pub(crate) owner: OwnerPlan,
    pub(crate) cost: Cost,
    /// Bytes of a clear half of the answer that other ways do not have.
    pub(crate) clear_bytes: u64,
    /// Sentences on what the server learns from the task.
    pub(crate) tells: Vec<String>,
}

/// What the ways make of a query.
pub(crate) struct Proposals {
    /// At least one.
    pub(crate) all: Vec<Proposal>,
    /// Why a way could not answer, by its name.
    pub(crate) refusals: Vec<(WayName, PlanError)>,
}

/// Why a way proposes nothing, where that is because of what the table was prepared for.
pub(crate) fn why_not(case: &Case<'_>, name: WayName) -> Option<String> {
    match name {
        WayName::Filter => filter::why_not(case),
        _ => prepared::why_not(case, name),
    }
}

/// The proposals of all ways.
///
/// # Errors
/// The refusal of the last way that applies, if no way can answer: it needs the least of the table. But that for encodings which the table could
/// have, if there is one.
pub(crate) fn proposals(case: &Case<'_>) -> Result<Proposals, PlanError> {
    of_ways(case, &WAYS)
}

/// The proposals of those ways in which a server computes on ciphertexts.
///
/// # Errors
/// As [`proposals`].
#[cfg(test)]
pub(crate) fn on_ciphertexts(case: &Case<'_>) -> Result<Proposals, PlanError> {
    of_ways(case, &WAYS[4..7])
}

fn of_ways(case: &Case<'_>, ways: &[(WayName, Proposer)]) -> Result<Proposals, PlanError> {
    let (mut all, mut refusals) = (Vec::new(), Vec::new());
    for (name, way) in ways {
        match way(case, &all) {
            Ok(further) => all.extend(further),
            Err(error) => refusals.push((*name, error)),
        }
    }
    if all.is_empty()
        && let Some(error) = telling(refusals.clone())
    {
        return Err(crate::fetch::refused(case.schema, case.query, error));
    }
    Ok(Proposals { all, refusals })
}

/// The refusal that helps most: the first for what the table could have, else the last.
fn telling(refusals: Vec<(WayName, PlanError)>) -> Option<PlanError> {
    let place = refusals.iter().position(|(_, error)| error.is_of_encodings());
    let place = place.or(refusals.len().checked_sub(1))?;
    refusals.into_iter().nth(place).map(|(_, error)| error)
}
