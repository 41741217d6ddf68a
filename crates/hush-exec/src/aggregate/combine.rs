// SPDX-License-Identifier: Apache-2.0
//! Combination of partial answers to aggregate tasks, as they come.
//!
//! Groups are matched by the bytes of their keys, as rows are (`NULL` equals `NULL`, floats by their bits). Clear aggregates
//! merge by [`crate::clear::merge`], encrypted sums add modulo `Q`. All three have the result of one pass over the rows, so
//! the answer is that of one machine, byte for byte; and so is a partial answer for the parts that it covers.
//!
//! *Memory.* One sum for each group and block, about 1.4 times the answer; nothing of a partial answer stays.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::SchemaRef;
use arrow::row::{RowConverter, SortField};
use datafusion::common::hash_utils::RandomState;
use hush_plan::plan::AggregateTask;
use rayon::prelude::*;

use super::{Block, blocks, check_answer_size, clear_half, group, max_groups};
use crate::answer::{self, AggregateAnswer, Answer, EncryptedHalf, PartialAnswer};
use crate::clear::groups::{GroupQuery, PartialQuery};
use crate::clear::merge::MergedColumn;
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
    let schema = over_parts.query.group_schema(&job.session, &job.clear);
    let schema = job.workers.wait(job.stop.guard(schema))?;
    let keys = schema.fields().iter().take(task.keys.len());
    let fields = keys.map(|key| SortField::new(key.data_type().clone())).collect();
    let aggregates = schema.fields().iter().skip(task.keys.len());
    let columns = over_parts.merges.iter().zip(aggregates);
    let columns =
        columns.map(|(merge, field)| MergedColumn::new(*merge, field.data_type().clone())).collect();
    Ok(Box::new(Combined::<S> {
        blocks: blocks(job, task)?,
        max_groups: max_groups(job, task),
        converter: RowConverter::new(fields).map_err(|_| INTERNAL)?,
        query,
        over_parts,
        schema,
        groups: HashMap::default(),
        key_bytes: 0,
        columns,
        totals: Vec::new(),
        is_spent: false,
    }))
}

struct Combined<S: Scheme> {
    blocks: Vec<Block>,
    max_groups: u64,
    query: GroupQuery,
    over_parts: PartialQuery,
    /// The columns of partial answers: `k0…`, `a0…`.
    schema: SchemaRef,
    converter: RowConverter,
    /// Places of the groups, in the order in which they came.
    groups: HashMap<Box<[u8]>, usize, RandomState>,
    key_bytes: u64,
    columns: Vec<MergedColumn>,
    /// For each group a total of each block.
    totals: Vec<Vec<S::Total>>,
    is_spent: bool,
}

/// The groups of one partial answer.
struct Incoming<'a> {
    sums: AggregateAnswer<'a>,
    batch: RecordBatch,
    keys: Vec<Box<[u8]>>,
}

impl<S: Scheme> Combine for Combined<S> {
    fn add(&mut self, job: &Job, partial: &PartialAnswer<'_>) -> Result<(), ExecError> {
        let incoming = self.incoming(&partial.answer)?;
        self.check_limits(job, &incoming.keys)?;
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

    fn finish(
        mut self: Box<Self>,
        job: &Job,
        extent: Extent,
        covered: &PartSet,
    ) -> Result<Vec<u8>, ExecError> {
        let mut order: Vec<(Box<[u8]>, usize)> = std::mem::take(&mut self.groups).into_iter().collect();
        order.sort_unstable();
        let count = order.len();
        let places: Vec<usize> = order.iter().map(|(_, place)| *place).collect();
        let batch = self.batch(&order, &places)?;
        drop(order);
        let batch = if extent == Extent::Whole && !self.over_parts.is_enough {
            self.whole(job, &batch)?
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
    fn check_limits(&self, job: &Job, keys: &[Box<[u8]>]) -> Result<(), ExecError> {
        let new = keys.iter().filter(|key| !self.groups.contains_key(*key));
        let (more, more_bytes) =
            new.fold((0, 0), |(count, bytes), key| (count + 1, bytes + key.len() as u64));
        let count = self.groups.len() + more;
        if count as u64 > self.max_groups.min(u64::from(u32::MAX) - 1) {
            return Err(ExecError::GroupLimit { limit: self.max_groups });
        }
        if self.key_bytes + more_bytes + count as u64 * GROUP_BYTES > job.limits.memory_bytes / 2 {
            return Err(ExecError::MemoryLimit);
        }
        check_answer_size(job, &self.blocks, count, 0)
    }

    fn absorb(&mut self, job: &Job, incoming: Incoming<'_>) -> Result<(), ExecError> {
        let Incoming { sums, batch, keys } = incoming;
        let known = self.groups.len();
        let mut places = Vec::with_capacity(keys.len());
        for key in keys {
            let next = self.groups.len();
            let bytes = key.len() as u64;
            let place = *self.groups.entry(key).or_insert(next);
            self.key_bytes += if place == next { bytes } else { 0 };
            places.push(place);
        }
        let aggregates = batch.columns().iter().skip(self.key_count());
        for (column, values) in self.columns.iter_mut().zip(aggregates) {
            column.absorb(values, &places)?;
        }
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
        if batch.schema() != self.schema {
            return Err(differ("clear columns"));
        }
        let keys = self.keys(&batch)?;
        if !keys.is_sorted_by(|one, other| one < other) || (self.key_count() == 0 && keys.len() != 1) {
            return Err(differ("groups"));
        }
        Ok(Incoming { sums: sums.clone(), batch, keys })
    }

    fn key_count(&self) -> usize {
        self.schema.fields().len() - self.columns.len()
    }

    /// The bytes of the keys of each group; of no keys no bytes.
    fn keys(&self, batch: &RecordBatch) -> Result<Vec<Box<[u8]>>, ExecError> {
        let keys: &[ArrayRef] = batch.columns().get(..self.key_count()).unwrap_or_default();
        if keys.is_empty() {
            return Ok(vec![Box::default(); batch.num_rows()]);
        }
        let rows = self.converter.convert_columns(keys).map_err(|_| INTERNAL)?;
        Ok(rows.iter().map(|row| row.data().into()).collect())
    }

    /// The groups in order, as a job over all their parts has them.
    fn batch(&mut self, order: &[(Box<[u8]>, usize)], places: &[usize]) -> Result<RecordBatch, ExecError> {
        let mut columns = Vec::with_capacity(self.schema.fields().len());
        if self.key_count() > 0 {
            let parser = self.converter.parser();
            let keys = order.iter().map(|(key, _)| parser.parse(key));
            columns.extend(self.converter.convert_rows(keys).map_err(|_| INTERNAL)?);
        }
        for column in std::mem::take(&mut self.columns) {
            columns.push(column.finish(places)?);
        }
        RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(|_| INTERNAL)
    }

    /// The groups over all parts from the clear files, with aggregates that do not merge.
    ///
    /// # Errors
    /// [`PartialFault::Groups`] unless they have the keys and the rows of the partial answers.
    fn whole(&self, job: &Job, counted: &RecordBatch) -> Result<RecordBatch, ExecError> {
        let groups = group(job, &self.query, self.max_groups)?;
        let same = counted.num_columns();
        let found = groups.batch.columns().get(..same).unwrap_or_default();
        if found != counted.columns() {
            let (found, expected) = (counted.num_rows(), groups.count());
            return Err(PartialFault::Groups { found, expected }.into());
        }
        Ok(groups.batch)
    }
}

/// Bytes that a group takes beside its key, its aggregates and its sums.
const GROUP_BYTES: u64 = 64;
/// An error that conversions of checked columns do not have.
const INTERNAL: ExecError = ExecError::Internal { place: "combined groups" };
