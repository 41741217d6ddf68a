// SPDX-License-Identifier: Apache-2.0
//! The ways to answer a query. Each is a function of a file of its own: whether it applies, what the server is asked and
//! what the owner does, what that costs and what the server learns. Every way gives the same result.
//!
//! The planner prices what they propose, and picks. A new way is a file here and a line in [`WAYS`].

mod cost;
mod fetch;
mod gathered;
mod rows;
mod sums;

use sqlparser::ast::Expr;

use crate::catalog::Catalog;
use crate::error::PlanError;
use crate::plan::{OwnerPlan, Task};
use crate::predict::TableShape;
use crate::report::Cost;
use crate::schema::Schema;
use crate::sql::Query;

/// A way: what it proposes for a query, none where it does not apply. It may build on what the ways before it propose.
type Proposer = fn(&Case<'_>, &[Proposal]) -> Result<Vec<Proposal>, PlanError>;

/// All ways.
const WAYS: [Proposer; 4] = [sums::plan, rows::plan, gathered::plan, fetch::plan];

/// A query, and the table that it is asked of.
#[derive(Clone, Copy)]
pub(crate) struct Case<'a> {
    pub(crate) schema: &'a Schema,
    pub(crate) catalog: &'a Catalog<'a>,
    pub(crate) query: &'a Query,
    pub(crate) limits: &'a Limits,
    /// How the table lies in files.
    pub(crate) shape: &'a TableShape,
}

/// A plan that would answer a query.
pub(crate) struct Proposal {
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

/// What the ways make of a query.
pub(crate) struct Proposals {
    /// At least one.
    pub(crate) all: Vec<Proposal>,
    /// Why a way that comes before these could not answer.
    pub(crate) refusal: Option<PlanError>,
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
    of_ways(case, &WAYS[..3])
}

fn of_ways(case: &Case<'_>, ways: &[Proposer]) -> Result<Proposals, PlanError> {
    let (mut all, mut refusal) = (Vec::new(), None);
    for way in ways {
        match way(case, &all) {
            Ok(further) => all.extend(further),
            // What the table could have is the better advice.
            Err(error) if !refusal.as_ref().is_some_and(PlanError::is_of_encodings) => refusal = Some(error),
            Err(_) => {}
        }
    }
    match refusal {
        Some(error) if all.is_empty() => Err(crate::fetch::refused(case.schema, case.query, error)),
        refusal => Ok(Proposals { all, refusal }),
    }
}
