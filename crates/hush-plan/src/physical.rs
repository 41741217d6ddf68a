// SPDX-License-Identifier: Apache-2.0
//! Plans of one query over one version of a table: logical sums and programs bound to the encodings there are.
//!
//! Every bound is checked here against the encodings that will be used: message and noise for sums (over all rows of
//! the table, whatever the filter), value and noise for programs. What passes decrypts with failure probability below
//! `2^-128` and cannot overflow. The same function plans a query whose columns are all clear; it then asks the server
//! for clear aggregates only, and the owner's half is the same.

mod pick;

use sqlparser::ast::{Expr, Ident};

use crate::bounds::Bound;
use crate::catalog::{AnswerForm, Catalog};
use crate::conditions::predicate;
use crate::encoding::{Encoding, PrivateEncoding};
use crate::error::PlanError;
use crate::graph;
use crate::leakage;
use crate::limits::{Limits, Shown, WayName};
use crate::plan::{PLAN_FORMAT, Predicate, QueryPlan, Round, ServerPlan, Task};
use crate::predict::{Price, Site};
use crate::report::Way;
use crate::schema::Schema;
use crate::sql::{Query, check_expression};
use crate::steps;
use crate::ways::{self, Case, Proposal, Proposals};
use pick::Picked;

/// Groups above which a front should warn: an answer has tens of kilobytes per group and column.
pub const MANY_GROUPS: u64 = 100;

/// Plans `query` over the table at `site` whose manifest has the digest `manifest` (hexadecimal).
///
/// `encodings` may hold several of one quantity; the smallest that suffices is used. Of several ways the one with the lowest
/// predicted time at `site` is chosen ([`QueryPlan::ways`]), but among those that `limits` and schema allow.
///
/// # Errors
/// [`PlanError`]: what no encoding could do (see the codes of `grouped` and `by_row` queries), a missing layout, a
/// bound that an encoding does not keep, an answer above the limit, no way that is allowed, or more SQL than a server parses.
pub fn plan_query(
    schema: &Schema,
    encodings: &[PrivateEncoding],
    site: &Site,
    manifest: &str,
    query: &Query,
    limits: &Limits,
) -> Result<QueryPlan, PlanError> {
    plan_round(schema, encodings, site, (manifest, query, None), limits)
}

/// The same for a round of a search ([`OwnerPlan::search`](crate::OwnerPlan::search)), where it is one: such a question is put by the way that asks
/// in rounds.
///
/// # Errors
/// As [`plan_query`].
pub fn plan_round(
    schema: &Schema,
    encodings: &[PrivateEncoding],
    site: &Site,
    (manifest, query, round): (&str, &Query, Option<&Round>),
    limits: &Limits,
) -> Result<QueryPlan, PlanError> {
    let limits = &Limits { way: round.map_or(limits.way, |_| Some(WayName::Filter)), ..*limits };
    let catalog = Catalog::new(schema, encodings, site.shape.rows())?;
    let hide = limits.hide.union(schema.allow.others());
    let case = &Case { schema, catalog: &catalog, query, limits, hide, shape: &site.shape, round };
    let public = encodings.iter().map(|encoding| encoding.public.clone()).collect();
    let planner = Planner { schema, encodings, public, site, manifest, query, limits };
    let Proposals { all, refusals } = ways::proposals(case)?;
    let possible = planner.allowed(case, all, &refusals)?;
    let Picked { taken, instead, ways, .. } = planner.pick(possible)?;
    let (needed, limit) = (taken.cost.answer_bytes_each, limits.max_answer_bytes);
    if needed > limit {
        return Err(PlanError::AnswerTooLarge { needed, limit });
    }
    let tells = taken.tells.clone();
    let mut plan = planner.finish(taken, ways.clone(), &tells)?;
    let lacking = refusals.into_iter().map(|(_, refusal)| refusal).find(PlanError::is_of_encodings);
    if let Some(refusal) = lacking.filter(|_| plan.way == WayName::Fetch) {
        plan.notes.push(format!("you answer this by yourself on columns that come back, because {refusal}"));
    }
    if let Some(instead) = instead {
        let told = |line: &String| format!("with more groups than it adds up, {line}");
        let tells: Vec<String> = instead.tells.iter().map(told).collect();
        // Whoever asks for the rows has asked for the groups before.
        plan.leakage.query.extend(tells.iter().cloned());
        let mut gathered = planner.finish(instead, ways, &tells)?;
        gathered.leakage = plan.leakage.clone();
        for way in &mut gathered.ways {
            way.taken = way.name == gathered.way;
        }
        plan.gathered = Some(Box::new(gathered));
    }
    Ok(plan)
}

/// The way that [`plan_query`] takes, with its price. What all ways have in common is left out of it.
///
/// # Errors
/// As [`plan_query`].
pub(crate) fn price_query(
    schema: &Schema,
    encodings: &[PrivateEncoding],
    site: &Site,
    query: &Query,
) -> Result<(WayName, Price), PlanError> {
    // How many rows will match nobody knows beforehand.
    let limits = &Limits { rows_of_slot: 0, ..Limits::default() };
    let catalog = Catalog::new(schema, encodings, site.shape.rows())?;
    let hide = schema.allow.others();
    let case = &Case { schema, catalog: &catalog, query, limits, hide, shape: &site.shape, round: None };
    let public = encodings.iter().map(|encoding| encoding.public.clone()).collect();
    let planner = Planner { schema, encodings, public, site, manifest: "", query, limits };
    let Proposals { all, refusals } = ways::proposals(case)?;
    let Picked { taken, price, .. } = planner.pick(planner.allowed(case, all, &refusals)?)?;
    let (needed, limit) = (taken.cost.answer_bytes_each, limits.max_answer_bytes);
    if needed > limit { Err(PlanError::AnswerTooLarge { needed, limit }) } else { Ok((taken.name, price)) }
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

    /// The proposals that the owner allows.
    ///
    /// # Errors
    /// [`PlanError::NoWay`], or why the way that is wanted cannot answer.
    fn allowed(
        &self,
        case: &Case<'_>,
        all: Vec<Proposal>,
        refusals: &[(WayName, PlanError)],
    ) -> Result<Vec<Proposal>, PlanError> {
        let mut found: Vec<WayName> = all.iter().map(|proposal| proposal.name).collect();
        found.dedup();
        let shows = |proposal: &Proposal| {
            ways::shown_by(&self.server(proposal.task.clone(), proposal.filter.as_ref())).both(case.hide)
        };
        let (hidden, showing): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|proposal| shows(proposal).is_empty());
        let is_wanted = |name: WayName| self.limits.way.is_none_or(|way| way == name);
        let shown = showing.iter().filter(|proposal| is_wanted(proposal.name)).map(shows);
        let shown = shown.fold(Shown::default(), Shown::union);
        let possible: Vec<Proposal> =
            hidden.into_iter().filter(|proposal| is_wanted(proposal.name)).collect();
        if !possible.is_empty() {
            return Ok(possible);
        }
        let refusal = refusals.iter().find(|(name, _)| self.limits.way == Some(*name));
        Err(refusal.map(|(_, error)| error.clone()).unwrap_or(PlanError::NoWay {
            wanted: self.limits.way,
            why: self.limits.way.and_then(|way| ways::why_not(case, way)),
            found,
            shown,
        }))
    }

    /// The whole plan.
    ///
    /// # Errors
    /// More SQL than a server parses.
    fn finish(&self, proposal: Proposal, ways: Vec<Way>, tells: &[String]) -> Result<QueryPlan, PlanError> {
        let Self { schema, encodings, .. } = *self;
        let Proposal { name: way, task, filter, owner, cost, .. } = proposal;
        // What is told of it is about the condition and the groups that the server has.
        let mut query = Query { filter: filter.clone(), ..self.query.clone() };
        if let Some(hidden) = &owner.hidden {
            query.keys = hidden.keys.iter().map(|name| Expr::Identifier(Ident::new(name))).collect();
        }
        let query = &query;
        let mut leakage = leakage::of_query(schema, encodings, self.site.shape.rows(), query, &task, tells);
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
        let gathered = None;
        Ok(QueryPlan { server, owner, cost, leakage, graph, steps, notes, way, ways, gathered })
    }
}

#[cfg(test)]
mod tests;
