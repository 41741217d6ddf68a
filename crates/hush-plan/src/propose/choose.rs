// SPDX-License-Identifier: Apache-2.0
//! The choice among candidates: those that make a query clearly cheaper, and that no other makes superfluous.

use super::table::LaidOut;
use super::worth::improves;
use super::{Answer, Finder, KINDS, Structure, Workload, filters};
use crate::cube;
use crate::filter;
use crate::one_hot;
use crate::run;

/// A structure, with what it takes and the answers with it alone.
pub(super) struct Candidate {
    pub(super) structure: Structure,
    pub(super) answers: Vec<Option<Answer>>,
    row_bytes: f64,
}

/// The structures that are worth it.
pub(super) fn chosen(workload: &Workload<'_>, base: &LaidOut) -> Vec<Structure> {
    let without: Vec<Option<Answer>> = workload.queries.iter().map(|query| base.price(query).ok()).collect();
    let mut kept: Vec<Candidate> = Vec::new();
    // What takes few bytes comes first: what takes more has to be clearly cheaper than that.
    for candidate in candidates(workload, base, &KINDS) {
        let present = best(&without, &kept);
        if !improves(&present, &candidate.answers) {
            continue;
        }
        let Some(place) = kept.iter().position(|known| are_of_one_ring(known, &candidate)) else {
            if is_possible(workload, &kept, &candidate) {
                kept.push(candidate);
            }
            continue;
        };
        let known = kept.remove(place);
        let both = joined(workload, base, &known, &candidate).filter(|both| {
            let is_worse = improves(&both.answers, &known.answers);
            !is_worse && improves(&present, &both.answers) && is_possible(workload, &kept, both)
        });
        kept.insert(place, both.unwrap_or(known));
    }
    // Of what was taken before, some may be of no use now.
    let mut place = 0;
    while place < kept.len() {
        let candidate = kept.remove(place);
        if improves(&best(&without, &kept), &candidate.answers) {
            kept.insert(place, candidate);
            place += 1;
        }
    }
    kept.into_iter().map(|candidate| candidate.structure).collect()
}

/// All candidates with which a table can be made, those that take the fewest bytes first.
pub(super) fn candidates(workload: &Workload<'_>, base: &LaidOut, kinds: &[Finder]) -> Vec<Candidate> {
    let structures = kinds.iter().flat_map(|find| find(workload));
    let mut found: Vec<Candidate> =
        structures.filter_map(|structure| candidate(workload, base, structure)).collect();
    found.sort_by(|one, other| one.row_bytes.total_cmp(&other.row_bytes));
    found
}

/// A structure, with the table that there would be.
fn candidate(workload: &Workload<'_>, base: &LaidOut, structure: Structure) -> Option<Candidate> {
    let mut schema = workload.schema.clone();
    structure.add_to(&mut schema);
    let with = LaidOut::of(&schema, workload.situation).ok()?;
    let answers = workload.queries.iter().map(|query| with.price(query).ok()).collect();
    Some(Candidate { structure, answers, row_bytes: with.row_bytes() - base.row_bytes() })
}

/// Conditions without keys share their parameters, so that what they take is not the sum of what each takes alone.
fn are_of_one_ring(one: &Candidate, other: &Candidate) -> bool {
    matches!((&one.structure, &other.structure), (Structure::Filters(_), Structure::Filters(_)))
}

/// One for the queries of both.
fn joined(workload: &Workload<'_>, base: &LaidOut, one: &Candidate, other: &Candidate) -> Option<Candidate> {
    let (Structure::Filters(first), Structure::Filters(second)) = (&one.structure, &other.structure) else {
        return None;
    };
    let both = filters::joined(workload, (first, &one.answers), (second, &other.answers))?;
    candidate(workload, base, Structure::Filters(both))
}

/// Of each query the quickest answer.
fn best(without: &[Option<Answer>], kept: &[Candidate]) -> Vec<Option<Answer>> {
    let quickest = |(place, without): (usize, &Option<Answer>)| {
        let with = kept.iter().filter_map(|candidate| candidate.answers.get(place).copied().flatten());
        with.chain(*without).min_by(|one, other| one.seconds.total_cmp(&other.seconds))
    };
    without.iter().enumerate().map(quickest).collect()
}

/// Whether a schema can have it beside those that are kept.
fn is_possible(workload: &Workload<'_>, kept: &[Candidate], candidate: &Candidate) -> bool {
    let mut schema = workload.schema.clone();
    kept.iter().chain([candidate]).for_each(|candidate| candidate.structure.add_to(&mut schema));
    cube::check(&schema).is_ok()
        && one_hot::check(&schema).is_ok()
        && run::check(&schema).is_ok()
        && filter::check(&schema).is_ok()
        && LaidOut::of(&schema, workload.situation).is_ok()
}
