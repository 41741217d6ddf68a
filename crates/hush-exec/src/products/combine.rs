// SPDX-License-Identifier: Apache-2.0
//! Combination of partial answers on products, as they come: sums of the same run are added residue by residue, and rounded at the end.
//!
//! The groups of a task with keys merge by [`crate::clear::merged`].
//!
//! *Memory.* One sum for each run, group and sum of the plan, with all residues.

use std::collections::BTreeMap;

use arrow::array::RecordBatch;
use hush_plan::plan::ProductsTask;
use rayon::prelude::*;

use super::{Total, check_answer_size, covered, prepare};
use crate::aggregate;
use crate::answer::{self, EncryptedHalf, PartialAnswer, ProductsRun};
use crate::clear::groups::GroupQuery;
use crate::clear::masks::{MaskSet, clear_task};
use crate::clear::merged::{GroupKey, MergedGroups};
use crate::conform::ProductRun;
use crate::error::{ExecError, PartialFault};
use crate::job::{Combine, Extent, Job};
use crate::parts::PartSet;
use crate::scheme::{ProductTotal, Products, Scheme};

/// Begins a combination for a task on products.
///
/// # Errors
/// [`ExecError::Plan`] for a plan that does not fit its table, [`ExecError::AnswerLimit`] if the answer would be too large.
pub(crate) fn combine<S: Scheme>(job: &Job, task: &ProductsTask) -> Result<Box<dyn Combine>, ExecError> {
    let (products, runs) = prepare(job, task, Extent::Whole)?;
    // A condition that nobody can evaluate is refused here too.
    let scope = job.scope();
    let predicate = job.predicate(&scope)?;
    let asked = clear_task(task);
    MaskSet::parse(&scope, predicate.as_ref(), &asked)?;
    check_answer_size::<S>(job, (&products, 1), (runs.len(), 0), Extent::Whole, &job.parts)?;
    let groups = if task.keys.is_empty() {
        None
    } else {
        let query = GroupQuery::parse(&scope, predicate.as_ref(), &asked, job.workers.threads())?;
        let over_parts = query.over_parts(&job.clear)?;
        let merged = MergedGroups::new(job, &over_parts, task.keys.len())?;
        Some(Groups { query, merged, max_groups: aggregate::max_groups(job, &asked) })
    };
    Ok(Box::new(Combined::<S> { products, runs, groups, totals: BTreeMap::new(), is_spent: false }))
}

/// The groups of a task with keys.
struct Groups {
    query: GroupQuery,
    merged: MergedGroups,
    max_groups: u64,
}

struct Combined<S: Scheme> {
    products: Products,
    runs: Vec<ProductRun>,
    groups: Option<Groups>,
    /// By the number of the run and the place of the group.
    totals: BTreeMap<(u32, usize), Total<S>>,
    is_spent: bool,
}

/// The groups of a partial answer, if there are keys.
struct Incoming {
    batch: RecordBatch,
    keys: Vec<GroupKey>,
}

impl<S: Scheme> Combine for Combined<S> {
    fn add(&mut self, job: &Job, partial: &PartialAnswer<'_>) -> Result<(), ExecError> {
        job.stop.check()?;
        let differ = |what| ExecError::from(PartialFault::OtherTask { what });
        let EncryptedHalf::Products(found) = &partial.answer.encrypted else {
            return Err(differ("kinds of task"));
        };
        let numbers = covered(&self.runs, &partial.parts);
        if !found.runs.iter().map(|run| run.number).eq(numbers.iter().copied()) {
            return Err(differ("runs of chunks"));
        }
        let incoming = self.incoming(partial)?;
        let (here, all) = match (&incoming, &self.groups) {
            (Some(incoming), Some(groups)) => {
                let all = groups.merged.count_with(job, &incoming.keys, groups.max_groups)?;
                (incoming.keys.len(), all)
            }
            _ => (1, 1),
        };
        let known =
            |number: &&u32| self.totals.range((**number, 0)..=(**number, usize::MAX)).next().is_some();
        let runs = numbers.len() - numbers.iter().filter(known).count() + self.run_count();
        let memory = Total::<S>::memory_bytes(&self.products).saturating_mul((runs * all) as u64);
        if memory > job.limits.memory_bytes / 2 {
            return Err(ExecError::MemoryLimit);
        }
        check_answer_size::<S>(job, (&self.products, all), (self.runs.len(), 0), Extent::Whole, &job.parts)?;
        let sums = self.products.task.sums.len();
        let decode = |(run, group): (&ProductsRun<'_>, usize)| {
            job.stop.check()?;
            let objects = run.objects.get(group * sums..(group + 1) * sums);
            let total = objects.and_then(|objects| Total::<S>::decode(&self.products, objects));
            Ok((run.number, group, total.ok_or(differ("encrypted sums"))?))
        };
        let objects: Vec<_> =
            found.runs.iter().flat_map(|run| (0..here).map(move |group| (run, group))).collect();
        if found.runs.iter().any(|run| run.objects.len() != here * sums) {
            return Err(differ("encrypted sums"));
        }
        let decoded: Vec<_> = objects.into_par_iter().map(decode).collect::<Result<_, ExecError>>()?;
        self.is_spent = true;
        let places = match (incoming, &mut self.groups) {
            (Some(incoming), Some(groups)) => groups.merged.absorb(&incoming.batch, incoming.keys)?,
            _ => vec![0],
        };
        for (number, group, more) in decoded {
            let place = places.get(group).copied().ok_or(differ("groups"))?;
            match self.totals.get_mut(&(number, place)) {
                Some(total) => total.add(more)?,
                None => drop(self.totals.insert((number, place), more)),
            }
        }
        self.is_spent = false;
        Ok(())
    }

    fn is_spent(&self) -> bool {
        self.is_spent
    }

    fn is_decided(&self, _: &Job, _: &PartSet) -> bool {
        false
    }

    fn finish(self: Box<Self>, job: &Job, extent: Extent, parts: &PartSet) -> Result<Vec<u8>, ExecError> {
        let Self { products, runs, groups, mut totals, .. } = *self;
        let (clear, places) = match groups {
            None => (None, vec![0]),
            Some(Groups { query, merged, .. }) => {
                let (batch, places) = merged.finish()?;
                (Some(aggregate::clear_half(job, &query, extent, &batch)?), places)
            }
        };
        let numbers = covered(&runs, parts);
        let clear_bytes = clear.as_ref().map_or(0, Vec::len);
        check_answer_size::<S>(job, (&products, places.len()), (numbers.len(), clear_bytes), extent, parts)?;
        let taken = numbers.iter().map(|number| {
            let of_group = |place: &usize| totals.remove(&(*number, *place));
            (*number, places.iter().map(of_group).collect::<Vec<Option<Total<S>>>>())
        });
        let taken: Vec<_> = taken.collect();
        let encode = |(number, totals): (u32, Vec<Option<Total<S>>>)| {
            job.stop.check()?;
            // A group may have no row in a run.
            let nothing = || Total::<S>::zero(&products);
            let objects =
                totals.into_iter().map(|total| total.unwrap_or_else(nothing).encode(&products, extent));
            Ok((number, objects.collect::<Result<Vec<_>, ExecError>>()?.concat()))
        };
        let encoded = job
            .workers
            .install(|| taken.into_par_iter().map(encode).collect::<Result<Vec<_>, ExecError>>())?;
        let groups = clear.as_deref().map(|clear| (clear, places.len()));
        answer::encode_products(&job.head(extent, parts), products.task.sums.len(), groups, &encoded)
    }
}

impl<S: Scheme> Combined<S> {
    /// The groups of a partial answer; `None` where there are no keys.
    fn incoming(&self, partial: &PartialAnswer<'_>) -> Result<Option<Incoming>, ExecError> {
        let differ = |what| ExecError::from(PartialFault::OtherTask { what });
        let EncryptedHalf::Products(found) = &partial.answer.encrypted else {
            return Err(differ("kinds of task"));
        };
        match (&self.groups, found.group_count) {
            (None, None) => Ok(None),
            (Some(groups), Some(_)) => {
                let batch = partial.answer.clear(0).map_err(PartialFault::from)?;
                let keys = groups.merged.keys(&batch)?;
                Ok(Some(Incoming { batch, keys }))
            }
            _ => Err(differ("groups")),
        }
    }

    /// Runs of which there are sums.
    fn run_count(&self) -> usize {
        let mut numbers: Vec<u32> = self.totals.keys().map(|(number, _)| *number).collect();
        numbers.dedup();
        numbers.len()
    }
}
