// SPDX-License-Identifier: Apache-2.0
//! The groups of partial answers, as they come.
//!
//! Groups are matched by the bytes of their keys, as rows are (`NULL` equals `NULL`, floats by their bits), and their aggregates merge by
//! [`super::merge`]. In order they are those of one pass over the rows.

use std::collections::HashMap;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::SchemaRef;
use arrow::row::{RowConverter, SortField};
use datafusion::common::hash_utils::RandomState;

use super::groups::PartialQuery;
use super::merge::MergedColumn;
use crate::error::{ExecError, PartialFault};
use crate::job::Job;

/// The bytes of the keys of a group; of no keys none.
pub(crate) type GroupKey = Box<[u8]>;

/// Groups that were found in some partial answers.
pub(crate) struct MergedGroups {
    /// The columns of partial answers: `k0…`, `a0…`.
    schema: SchemaRef,
    converter: RowConverter,
    /// Places of the groups, in the order in which they came.
    places: HashMap<GroupKey, usize, RandomState>,
    key_bytes: u64,
    columns: Vec<MergedColumn>,
}

impl MergedGroups {
    /// No groups yet, of a query with so many keys.
    ///
    /// # Errors
    /// [`ExecError::Evaluation`] if the query engine refuses the query.
    pub(crate) fn new(job: &Job, over_parts: &PartialQuery, key_count: usize) -> Result<Self, ExecError> {
        let schema = over_parts.query.group_schema(&job.session, &job.clear);
        let schema = job.workers.wait(job.stop.guard(schema))?;
        let keys = schema.fields().iter().take(key_count);
        let fields = keys.map(|key| SortField::new(key.data_type().clone())).collect();
        let aggregates = schema.fields().iter().skip(key_count);
        let columns = over_parts.merges.iter().zip(aggregates);
        let columns =
            columns.map(|(merge, field)| MergedColumn::new(*merge, field.data_type().clone())).collect();
        let converter = RowConverter::new(fields).map_err(|_| INTERNAL)?;
        Ok(Self { schema, converter, places: HashMap::default(), key_bytes: 0, columns })
    }

    /// Groups found.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// The keys of the groups in the clear half of a partial answer.
    ///
    /// # Errors
    /// [`PartialFault::OtherTask`] for other columns, or groups that are out of order.
    pub(crate) fn keys(&self, batch: &RecordBatch) -> Result<Vec<GroupKey>, ExecError> {
        let differ = |what| ExecError::from(PartialFault::OtherTask { what });
        if batch.schema() != self.schema {
            return Err(differ("clear columns"));
        }
        let columns: &[ArrayRef] = batch.columns().get(..self.key_count()).unwrap_or_default();
        let keys: Vec<GroupKey> = if columns.is_empty() {
            vec![Box::default(); batch.num_rows()]
        } else {
            let rows = self.converter.convert_columns(columns).map_err(|_| INTERNAL)?;
            rows.iter().map(|row| row.data().into()).collect()
        };
        if !keys.is_sorted_by(|one, other| one < other) || (columns.is_empty() && keys.len() != 1) {
            return Err(differ("groups"));
        }
        Ok(keys)
    }

    /// How many groups there are with these, if they may be so many, and fit the memory.
    ///
    /// # Errors
    /// [`ExecError::GroupLimit`], [`ExecError::MemoryLimit`].
    pub(crate) fn count_with(
        &self,
        job: &Job,
        keys: &[GroupKey],
        max_groups: u64,
    ) -> Result<usize, ExecError> {
        let new = keys.iter().filter(|key| !self.places.contains_key(*key));
        let (more, more_bytes) =
            new.fold((0, 0), |(count, bytes), key| (count + 1, bytes + key.len() as u64));
        let count = self.places.len() + more;
        if count as u64 > max_groups.min(u64::from(u32::MAX) - 1) {
            return Err(ExecError::GroupLimit { limit: max_groups });
        }
        if self.key_bytes + more_bytes + count as u64 * GROUP_BYTES > job.limits.memory_bytes / 2 {
            return Err(ExecError::MemoryLimit);
        }
        Ok(count)
    }

    /// Adds the groups of a partial answer: the place of each.
    ///
    /// # Errors
    /// Those of merging aggregates.
    pub(crate) fn absorb(
        &mut self,
        batch: &RecordBatch,
        keys: Vec<GroupKey>,
    ) -> Result<Vec<usize>, ExecError> {
        let mut places = Vec::with_capacity(keys.len());
        for key in keys {
            let next = self.places.len();
            let bytes = key.len() as u64;
            let place = *self.places.entry(key).or_insert(next);
            self.key_bytes += if place == next { bytes } else { 0 };
            places.push(place);
        }
        let aggregates = batch.columns().iter().skip(self.key_count());
        for (column, values) in self.columns.iter_mut().zip(aggregates) {
            column.absorb(values, &places)?;
        }
        Ok(places)
    }

    /// The groups in order, as a job over all their parts has them, and the place of each.
    ///
    /// # Errors
    /// [`ExecError::Internal`].
    pub(crate) fn finish(self) -> Result<(RecordBatch, Vec<usize>), ExecError> {
        let key_count = self.key_count();
        let mut order: Vec<(GroupKey, usize)> = self.places.into_iter().collect();
        order.sort_unstable();
        let places: Vec<usize> = order.iter().map(|(_, place)| *place).collect();
        let mut columns = Vec::with_capacity(self.schema.fields().len());
        if key_count > 0 {
            let parser = self.converter.parser();
            let keys = order.iter().map(|(key, _)| parser.parse(key));
            columns.extend(self.converter.convert_rows(keys).map_err(|_| INTERNAL)?);
        }
        for column in self.columns {
            columns.push(column.finish(&places)?);
        }
        Ok((RecordBatch::try_new(self.schema, columns).map_err(|_| INTERNAL)?, places))
    }

    fn key_count(&self) -> usize {
        self.schema.fields().len() - self.columns.len()
    }
}

/// Bytes that a group takes beside its key, its aggregates and its sums.
const GROUP_BYTES: u64 = 64;
/// An error that conversions of checked columns do not have.
const INTERNAL: ExecError = ExecError::Internal { place: "combined groups" };
