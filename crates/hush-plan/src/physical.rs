// SPDX-License-Identifier: Apache-2.0
//! Plans of one query over one version of a table: logical sums and programs bound to the encodings there are.
//!
//! Every bound is checked here against the encodings that will be used: message and noise for sums (over all rows of
//! the table, whatever the filter), value and noise for programs. What passes decrypts with failure probability below
//! `2^-128` and cannot overflow. The same function plans a query whose columns are all clear; it then asks the server
//! for clear aggregates only, and the owner's half is the same.

use sqlparser::ast::Expr;

use crate::bounds::Bound;
use crate::catalog::{AnswerForm, Catalog};
use crate::conditions::predicate;
use crate::encoding::{Encoding, PrivateEncoding};
use crate::error::PlanError;
use crate::graph;
use crate::leakage;
use crate::plan::{PLAN_FORMAT, Predicate, QueryPlan, ServerPlan, Task};
use crate::predict::{ASSUMED_GROUPS, Site};
use crate::report::Way;
use crate::schema::Schema;
use crate::sql::{Query, check_expression};
use crate::steps;
pub use crate::ways::Limits;
use crate::ways::{self, Case, Proposal, Proposals};

/// Groups above which a front should warn: an answer has tens of kilobytes per group and column.
pub const MANY_GROUPS: u64 = 100;

/// Plans `query` over the table at `site` whose manifest has the digest `manifest` (hexadecimal).
///
/// `encodings` may hold several of one quantity; the smallest that suffices is used. Where a query by row can be answered in
/// several ways, the one with the lowest predicted time at `site` is chosen ([`QueryPlan::ways`]).
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
    let catalog = Catalog::new(schema, encodings, site.shape.rows())?;
    let Proposals { all, refusal } =
        ways::proposals(&Case { schema, catalog: &catalog, query, limits, shape: &site.shape })?;
    let public = encodings.iter().map(|encoding| encoding.public.clone()).collect();
    let planner = Planner { schema, encodings, public, site, manifest, query, limits };
    let Picked { taken, instead, ways } = planner.pick(all)?;
    let (needed, limit) = (taken.cost.answer_bytes_each, limits.max_answer_bytes);
    if needed > limit {
        return Err(PlanError::AnswerTooLarge { needed, limit });
    }
    let mut plan = planner.finish(taken, ways.clone())?;
    if let Some(refusal) = refusal.filter(PlanError::is_of_encodings) {
        plan.notes.push(format!("you answer this by yourself on columns that come back, because {refusal}"));
    }
    if let Some(instead) = instead {
        // Whoever asks for the rows has asked for the groups before.
        plan.leakage.query.extend(instead.tells.iter().cloned());
        let mut gathered = planner.finish(instead, ways)?;
        gathered.leakage = plan.leakage.clone();
        for way in &mut gathered.ways {
            way.taken = !way.taken;
        }
        plan.gathered = Some(Box::new(gathered));
    }
    Ok(plan)
}

/// Bounds of the numbers that stored rows decrypt to, for each encoding.
///
/// # Errors
/// [`PlanError::BadEncoding`].
pub fn stored_bounds(schema: &Schema, encodings: &[PrivateEncoding]) -> Result<Vec<Bound>, PlanError> {
    let catalog = Catalog::new(schema, encodings, 1)?;
    let stored = |encoding: &PrivateEncoding| catalog.stored(encoding.public.id, AnswerForm::Residues);
    Ok(encodings.iter().filter_map(stored).map(|found| found.bound()).collect())
}

/// The proposals that are taken.
struct Picked {
    taken: Proposal,
    /// For more groups than [`Cost::max_groups`](crate::report::Cost::max_groups) of what is taken.
    instead: Option<Proposal>,
    /// The ways that were weighed; empty where there was only one.
    ways: Vec<Way>,
}

/// Predicted seconds of server, link and owner, and bytes of the answer.
#[derive(Clone, Copy)]
struct Price {
    seconds: f64,
    bytes_down: u64,
}

struct Planner<'a> {
    schema: &'a Schema,
    encodings: &'a [PrivateEncoding],
    public: Vec<Encoding>,
    site: &'a Site,
    manifest: &'a str,
    query: &'a Query,
    limits: &'a Limits,
}

impl Planner<'_> {
    fn server(&self, task: Task, filter: Option<&Expr>) -> ServerPlan {
        ServerPlan {
            format: PLAN_FORMAT,
            table: self.schema.table.clone(),
            manifest: self.manifest.to_owned(),
            predicate: filter.map(predicate),
            task,
            max_answer_bytes: self.limits.max_answer_bytes,
        }
    }

    /// The price of a proposal for so many groups.
    ///
    /// # Errors
    /// Those of [`Site::price`].
    fn price(&self, proposal: &Proposal, groups: u64) -> Result<Price, PlanError> {
        let server = self.server(proposal.task.clone(), proposal.filter.as_ref());
        let (seconds, bytes_down) = self.site.price(&server, &proposal.owner, &self.public, groups)?;
        let extra = self.site.link.map_or(0.0, |speed| proposal.clear_bytes as f64 / speed);
        Ok(Price { seconds: seconds + extra, bytes_down: bytes_down + proposal.clear_bytes })
    }

    fn pick(&self, proposals: Vec<Proposal>) -> Result<Picked, PlanError> {
        let is_by_group = |proposal: &Proposal| matches!(proposal.task, Task::Aggregate(_));
        let (by_group, by_row): (Vec<_>, Vec<_>) = proposals.into_iter().partition(is_by_group);
        match by_group.into_iter().next() {
            Some(sums) => self.split(sums, by_row),
            None => self.quickest(by_row),
        }
    }

    /// The way with the least predicted time; of equals the first.
    fn quickest(&self, mut proposals: Vec<Proposal>) -> Result<Picked, PlanError> {
        let prices = proposals.iter().map(|proposal| self.price(proposal, 1));
        let prices = prices.collect::<Result<Vec<_>, _>>()?;
        let best = least(&prices);
        let way = |(place, (proposal, price)): (usize, (&Proposal, &Price))| {
            way(&proposal.what, *price, place == best)
        };
        let mut ways: Vec<Way> = proposals.iter().zip(&prices).enumerate().map(way).collect();
        if ways.len() == 1 {
            ways.clear();
        }
        Ok(Picked { taken: proposals.swap_remove(best), instead: None, ways })
    }

    /// Sums up to as many groups as they are quicker for, and the quickest of what goes by row for more. Nobody knows the number of
    /// groups beforehand.
    fn split(&self, mut sums: Proposal, mut by_row: Vec<Proposal>) -> Result<Picked, PlanError> {
        let prices = by_row.iter().map(|proposal| self.price(proposal, 1));
        let prices = prices.collect::<Result<Vec<_>, _>>()?;
        let best = least(&prices);
        let price = prices.get(best).filter(|price| price.bytes_down <= self.limits.max_answer_bytes);
        let Some(price) = price else { return Ok(Picked { taken: sums, instead: None, ways: Vec::new() }) };
        let instead = by_row.swap_remove(best);
        let seconds = |groups| Ok(self.price(&sums, groups)?.seconds);
        let most = groups_worth_summing(sums.cost.max_groups, price.seconds, seconds)?;
        let assumed = self.price(&sums, ASSUMED_GROUPS.min(most))?;
        let ways = vec![
            way(&format!("up to {most} groups {}", sums.what), assumed, true),
            way(&format!("with more {}", instead.what), *price, false),
        ];
        sums.cost.max_groups = most;
        if let Task::Aggregate(task) = &mut sums.task {
            task.max_groups = most;
        }
        Ok(Picked { taken: sums, instead: Some(instead), ways })
    }

    /// The whole plan.
    ///
    /// # Errors
    /// More SQL than a server parses.
    fn finish(&self, proposal: Proposal, ways: Vec<Way>) -> Result<QueryPlan, PlanError> {
        let Self { schema, encodings, .. } = *self;
        let Proposal { task, filter, owner, cost, tells, .. } = proposal;
        // What is told of it is about the condition that the server has.
        let query = &Query { filter: filter.clone(), ..self.query.clone() };
        let mut leakage = leakage::of_query(schema, encodings, self.site.shape.rows(), query, &task, &tells);
        if owner.own.is_some() {
            leakage.hidden.push("the rest of the question".to_owned());
        }
        let steps = steps::of_query(query, encodings, &task, &owner);
        let graph = graph::of_query(query, encodings, &task, &owner);
        let server = self.server(task, filter.as_ref());
        // A query that the server would not parse is refused here, where it can still be asked in another way.
        server.predicates().try_for_each(Predicate::check_size)?;
        server.expressions().try_for_each(check_expression)?;
        let notes = query.notes();
        Ok(QueryPlan { server, owner, cost, leakage, graph, steps, notes, ways, gathered: None })
    }
}

fn way(what: &str, price: Price, taken: bool) -> Way {
    Way { what: what.to_owned(), seconds: price.seconds, bytes_down: price.bytes_down, taken }
}

/// The place of the least time; of equals the first.
fn least(prices: &[Price]) -> usize {
    (0..prices.len()).min_by(|a, b| prices[*a].seconds.total_cmp(&prices[*b].seconds)).unwrap_or(0)
}

/// Largest number of groups, at most `most`, for which sums are the quicker way. At least the number that is assumed where nobody knows, so that
/// few groups never take a second question.
///
/// # Errors
/// Those of `seconds`, the predicted time for so many groups.
fn groups_worth_summing(
    most: u64,
    gathered: f64,
    seconds: impl Fn(u64) -> Result<f64, PlanError>,
) -> Result<u64, PlanError> {
    let (mut low, mut high) = (ASSUMED_GROUPS.min(most), most);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if seconds(middle)? <= gathered {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    Ok(low)
}

#[cfg(test)]
mod tests;
