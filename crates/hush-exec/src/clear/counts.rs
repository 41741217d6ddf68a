// SPDX-License-Identifier: Apache-2.0
//! Row counts of groups, for queries that ask nothing else of the clear columns. That is the usual case: all sums are of
//! encrypted columns. One pass over the keys, by the expressions of the masks; the query engine would take a plan and twice
//! the time.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::Int64Type;
use arrow::row::{RowConverter, SortField};
use datafusion::common::hash_utils::RandomState;
use rayon::prelude::*;

use super::groups::{GroupQuery, Groups};
use super::keys::each_selected;
use super::masks::MaskSet;
use crate::error::ExecError;
use crate::job::Job;
use crate::table::PartRef;

type Map<K> = HashMap<K, i64, RandomState>;

/// Bytes of a group in a table of counts, beside its key.
const GROUP_BYTES: u64 = 64;

/// Rows by key.
enum Counts {
    /// No row yet.
    Nothing,
    /// Of one integer key.
    Integers(Map<Option<i64>>),
    /// Of keys as bytes.
    Bytes(Map<Box<[u8]>>),
}

/// The groups of a query that only counts their rows; `None` for other queries.
///
/// # Errors
/// [`ExecError::GroupLimit`] above `max_groups` groups; [`ExecError::MemoryLimit`] if their keys take more than a thread's share
/// of the memory for hash tables, which is half of all; those of reading and evaluation.
pub(crate) fn groups(
    job: &Job,
    masks: &MaskSet,
    query: &GroupQuery,
    max_groups: u64,
) -> Result<Option<Groups>, ExecError> {
    if !query.counts_groups() {
        return Ok(None);
    }
    let schema = query.schema(job.clear.whole())?;
    let types = masks.key_types()?;
    // The types that the query engine would give to the answer.
    if !schema.fields().iter().take(types.len()).map(|field| field.data_type()).eq(&types) {
        return Ok(None);
    }
    let fields = types.into_iter().map(SortField::new).collect();
    let converter = RowConverter::new(fields).map_err(|_| ExecError::Internal { place: "group keys" })?;
    let counter = Counter { job, masks, converter, max_groups };
    let parts = job.placed_parts();
    let counts = job.workers.install(|| {
        let counted = parts.par_iter().map(|part| counter.part(*part));
        counted.try_reduce(|| Counts::Nothing, |one, other| counter.both(one, other))
    })?;
    let (mut columns, counts) = counter.keys(counts)?;
    let keys = columns.len();
    columns.push(Arc::new(Int64Array::from(counts)));
    let internal = |_| ExecError::Internal { place: "counted groups" };
    Groups::new(RecordBatch::try_new(schema, columns).map_err(internal)?, keys).map(Some)
}

struct Counter<'a> {
    job: &'a Job,
    masks: &'a MaskSet,
    converter: RowConverter,
    max_groups: u64,
}

impl Counter<'_> {
    fn part(&self, part: PartRef<'_>) -> Result<Counts, ExecError> {
        self.job.stop.check()?;
        let clear = self.job.snapshot.clear_part(part)?;
        if clear.as_ref().is_some_and(|clear| self.masks.excludes(clear)) {
            return Ok(Counts::Nothing);
        }
        let living = self.job.snapshot.living(part)?;
        let batches = living.rows_of(self.masks.read(clear.as_ref(), part.entry.rows)?)?;
        let counted = batches.par_iter().map(|batch| self.batch(batch));
        counted.try_reduce(|| Counts::Nothing, |one, other| self.both(one, other))
    }

    fn batch(&self, batch: &RecordBatch) -> Result<Counts, ExecError> {
        let Some((selected, keys)) = self.masks.keys(batch)? else { return Ok(Counts::Nothing) };
        let selected = selected.as_ref();
        if let [key] = keys.as_slice()
            && let Some(key) = key.as_primitive_opt::<Int64Type>()
        {
            return Ok(Counts::Integers(integers(key, selected)));
        }
        let internal = |_| ExecError::Internal { place: "group keys" };
        let bytes = self.converter.convert_columns(&keys).map_err(internal)?;
        let mut counts = Map::<Box<[u8]>>::default();
        each_selected(selected, batch.num_rows(), |row| {
            let key = bytes.row(row);
            match counts.get_mut(key.data()) {
                Some(count) => *count += 1,
                None => drop(counts.insert(key.data().into(), 1)),
            }
        });
        Ok(Counts::Bytes(counts))
    }

    fn both(&self, one: Counts, other: Counts) -> Result<Counts, ExecError> {
        let both = match (one, other) {
            (Counts::Nothing, counts) | (counts, Counts::Nothing) => counts,
            (Counts::Integers(one), Counts::Integers(other)) => Counts::Integers(added(one, other)),
            (Counts::Bytes(one), Counts::Bytes(other)) => Counts::Bytes(added(one, other)),
            _ => return Err(ExecError::Internal { place: "group keys" }),
        };
        if both.len() as u64 > self.max_groups.min(u64::from(u32::MAX) - 1) {
            return Err(ExecError::GroupLimit { limit: self.max_groups });
        }
        let share = self.job.limits.memory_bytes / 2 / self.job.workers.threads().max(1) as u64;
        if both.bytes() > share { Err(ExecError::MemoryLimit) } else { Ok(both) }
    }

    /// The keys of all groups, and their row counts.
    fn keys(&self, counts: Counts) -> Result<(Vec<ArrayRef>, Vec<i64>), ExecError> {
        let internal = |_| ExecError::Internal { place: "group keys" };
        Ok(match counts {
            Counts::Integers(counts) => {
                let (keys, counts): (Vec<Option<i64>>, _) = counts.into_iter().unzip();
                (vec![Arc::new(Int64Array::from(keys))], counts)
            }
            Counts::Nothing => (self.converter.convert_rows([]).map_err(internal)?, Vec::new()),
            Counts::Bytes(counts) => {
                let parser = self.converter.parser();
                let keys = counts.keys().map(|key| parser.parse(key));
                (self.converter.convert_rows(keys).map_err(internal)?, counts.values().copied().collect())
            }
        })
    }
}

impl Counts {
    fn len(&self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Integers(counts) => counts.len(),
            Self::Bytes(counts) => counts.len(),
        }
    }

    fn bytes(&self) -> u64 {
        let keys = match self {
            Self::Nothing | Self::Integers(_) => 0,
            Self::Bytes(counts) => counts.keys().map(|key| key.len() as u64).sum(),
        };
        keys + self.len() as u64 * GROUP_BYTES
    }
}

/// Counts of integers: in a table by value if all values lie within a span smaller than the number of rows.
fn integers(key: &Int64Array, selected: Option<&BooleanBuffer>) -> Map<Option<i64>> {
    let mut counts = Map::default();
    let bounds = arrow::compute::min(key).zip(arrow::compute::max(key));
    let near = bounds.filter(|(low, high)| high.abs_diff(*low) < key.len() as u64);
    let Some((low, high)) = near.filter(|_| key.null_count() == 0) else {
        each_selected(selected, key.len(), |row| {
            *counts.entry(key.is_valid(row).then(|| key.value(row))).or_default() += 1;
        });
        return counts;
    };
    let mut table = vec![0_i64; high.abs_diff(low) as usize + 1];
    each_selected(selected, key.len(), |row| table[key.value(row).abs_diff(low) as usize] += 1);
    let values = (0_i64..).zip(table).filter(|(_, count)| *count > 0);
    counts.extend(values.map(|(place, count)| (Some(low + place), count)));
    counts
}

fn added<K: Eq + Hash>(mut one: Map<K>, other: Map<K>) -> Map<K> {
    other.into_iter().for_each(|(key, count)| *one.entry(key).or_default() += count);
    one
}
