// SPDX-License-Identifier: Apache-2.0
//! Combination of partial answers to aggregate tasks, as they come.
//!
//! Groups merge by [`crate::clear::merged`], encrypted sums add modulo `Q`. Both have the result of one pass over the rows, so
//! the answer is that of one machine, byte for byte; and so is a partial answer for the parts that it covers.
//!
//! *Memory.* One sum for each group and block, about 1.4 times the answer; nothing of a partial answer stays.

use arrow::array::RecordBatch;
use hush_plan::plan::AggregateTask;
use rayon::prelude::*;

use super::{Block, blocks, check_answer_size, clear_half, group, max_groups};
use crate::answer::{self, AggregateAnswer, Answer, EncryptedHalf, PartialAnswer};
use crate::clear::groups::GroupQuery;
use crate::clear::merged::{GroupKey, MergedGroups};
use crate::error::{ExecError, PartialFault};
use crate::job::{Combine, Extent, Job};
use crate::parts::PartSet;
use crate::scheme::{Scheme, Total};

/// Begins a combination for an aggregate task.
///
/// # Errors
/// Any [`ExecError`] of a plan that does not fit its table.
pub(crate) fn combine<S: Scheme>(job: &Job, task: &AggregateTask) -> Result<Box<dyn Combine>, ExecError> {
    let scope = job.scope();
    let predicate = job.predicate(&scope)?;
    let query = GroupQuery::parse(&scope, predicate.as_ref(), task, job.workers.threads())?;
    let over_parts = query.over_parts(&job.clear)?;
    Ok(Box::new(Combined::<S> {
        blocks: blocks(job, task)?,
        max_groups: max_groups(job, task),
        groups: MergedGroups::new(job, &over_parts, task.keys.len())?,
        query,
        is_enough: over_parts.is_enough,
        totals: Vec::new(),
        is_spent: false,
    }))
}

struct Combined<S: Scheme> {
    blocks: Vec<Block>,
    max_groups: u64,
    query: GroupQuery,
    /// Whether the groups hold all that an answer needs.
    is_enough: bool,
    groups: MergedGroups,
    /// For each group a total of each block.
    totals: Vec<Vec<S::Total>>,
    is_spent: bool,
}

/// The groups of one partial answer.
struct Incoming<'a> {
    sums: AggregateAnswer<'a>,
    batch: RecordBatch,
    keys: Vec<GroupKey>,
}

impl<S: Scheme> Combine for Combined<S> {
    fn add(&mut self, job: &Job, partial: &PartialAnswer<'_>) -> Result<(), ExecError> {
        let incoming = self.incoming(&partial.answer)?;
        let count = self.groups.count_with(job, &incoming.keys, self.max_groups)?;
        check_answer_size(job, &self.blocks, count, 0)?;
        self.is_spent = true;
        self.absorb(job, incoming)?;
        self.is_spent = false;
        Ok(())
    }

    fn is_spent(&self) -> bool {
        self.is_spent
    }

    fn is_decided(&self, _: &Job, _: &PartSet) -> bool {
        false
    }

    fn finish(self: Box<Self>, job: &Job, extent: Extent, covered: &PartSet) -> Result<Vec<u8>, ExecError> {
        let (batch, places) = self.groups.finish()?;
        let count = places.len();
        let batch = if extent == Extent::Whole && !self.is_enough {
            whole(job, (&self.query, self.max_groups), &batch)?
        } else {
            batch
        };
        let clear = clear_half(job, &self.query, extent, &batch)?;
        let mut totals: Vec<Option<Vec<S::Total>>> = self.totals.into_iter().map(Some).collect();
        let sorted: Vec<_> = places.iter().filter_map(|place| totals.get_mut(*place)?.take()).collect();
        let encode = |(group, totals): (usize, Vec<S::Total>)| {
            job.stop.check()?;
            totals.iter().map(|total| total.encode(group as u32)).collect::<Result<Vec<_>, _>>()
        };
        let encoded = job
            .workers
            .install(|| sorted.into_par_iter().enumerate().map(encode).collect::<Result<Vec<_>, _>>())?;
        let mut answered: Vec<_> =
            self.blocks.into_iter().map(|block| (block.block, Vec::with_capacity(count))).collect();
        for objects in encoded {
            for ((_, all), object) in answered.iter_mut().zip(objects) {
                all.push(object);
            }
        }
        answer::encode_aggregate(&job.head(extent, covered), &clear, count, &answered)
    }
}

impl<S: Scheme> Combined<S> {
    fn absorb(&mut self, job: &Job, incoming: Incoming<'_>) -> Result<(), ExecError> {
        let Incoming { sums, batch, keys } = incoming;
        let known = self.groups.len();
        let places = self.groups.absorb(&batch, keys)?;
        // The rows of the groups that were known, by their places; the others follow in the order of rows.
        let mut row_of = vec![None; known];
        for (row, place) in (0_u32..).zip(&places) {
            if let Some(known) = row_of.get_mut(*place) {
                *known = Some(row);
            }
        }
        let new: Vec<u32> =
            (0_u32..).zip(&places).filter(|(_, place)| **place >= known).map(|(row, _)| row).collect();
        let blocks = &self.blocks;
        let decode = |row: u32, index: usize, block: &Block| {
            job.stop.check()?;
            let object = sums.blocks.get(index).and_then(|answers| answers.object(row));
            let total = object
                .and_then(|object| S::Total::decode(object, &block.ring, row, block.block.columns.len()));
            total.ok_or(ExecError::from(PartialFault::OtherTask { what: "encrypted sums" }))
        };
        let known = self.totals.par_iter_mut().zip(row_of).filter_map(|(totals, row)| Some((totals, row?)));
        known.try_for_each(|(totals, row)| {
            let sums = totals.iter_mut().zip(blocks).enumerate();
            sums.into_iter().try_for_each(|(index, (total, block))| total.add(decode(row, index, block)?))
        })?;
        let decoded = new
            .par_iter()
            .map(|row| blocks.iter().enumerate().map(|(index, block)| decode(*row, index, block)).collect());
        let decoded: Vec<Vec<S::Total>> = decoded.collect::<Result<_, ExecError>>()?;
        self.totals.extend(decoded);
        Ok(())
    }

    /// The groups of a partial answer, with the columns and blocks that the plan asks for.
    fn incoming<'a>(&self, partial: &Answer<'a>) -> Result<Incoming<'a>, ExecError> {
        let differ = |what| ExecError::from(PartialFault::OtherTask { what });
        let EncryptedHalf::Aggregate(sums) = &partial.encrypted else { return Err(differ("kinds of task")) };
        let expected = self.blocks.iter().map(|block| {
            let columns = block.block.columns.len();
            let bytes = S::Total::object_bytes(&block.ring, columns);
            (block.block.mask as u32, block.block.set.code(), columns as u32, bytes)
        });
        let found = sums.blocks.iter();
        let found = found.map(|block| (block.mask, block.param_code, block.body_count, block.object_bytes()));
        // An answer without groups has objects without bytes.
        if !found.eq(expected.map(|(mask, code, columns, bytes)| {
            (mask, code, columns, if sums.group_count == 0 { 0 } else { bytes })
        })) {
            return Err(differ("blocks of encrypted sums"));
        }
        let batch = partial.clear(0).map_err(PartialFault::from)?;
        let keys = self.groups.keys(&batch)?;
        Ok(Incoming { sums: sums.clone(), batch, keys })
    }
}

/// The groups over all parts from the clear files, with aggregates that do not merge.
///
/// # Errors
/// [`PartialFault::Groups`] unless they have the keys and the rows of the partial answers.
fn whole(
    job: &Job,
    (query, max_groups): (&GroupQuery, u64),
    counted: &RecordBatch,
) -> Result<RecordBatch, ExecError> {
    let groups = group(job, query, max_groups)?;
    let same = counted.num_columns();
    let found = groups.batch.columns().get(..same).unwrap_or_default();
    if found != counted.columns() {
        let (found, expected) = (counted.num_rows(), groups.count());
        return Err(PartialFault::Groups { found, expected }.into());
    }
    Ok(groups.batch)
}
