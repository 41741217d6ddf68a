// SPDX-License-Identifier: Apache-2.0
//! Aggregate answers: every group's sums decrypted, merged with the clear half into the table `merged`.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatchOptions};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal256Type, Field, Schema as ArrowSchema};
use arrow::record_batch::RecordBatch;
use hush_exec::answer::{AggregateAnswer, Answer, Strata, SumPlace, sum_blocks};
use hush_plan::EncodingId;
use hush_plan::bounds::Bound;
use hush_plan::plan::{AggregateTask, OwnerAggregate};
use num_bigint::BigInt;
use num_traits::ToPrimitive;
use rayon::prelude::*;

use super::{Asked, answer_error};
use crate::bounds::check_sum;
use crate::error::ClientError;
use crate::exact::big_of_arrow;
use crate::merge::{GroupNumbers, aggregate_column};
use crate::number::Number;
use crate::packing::ColumnKey;
use crate::threads::on_threads;

/// Builds `merged`: keys `k0…` and aggregates `a0…`, one row per group. `errors` bounds the errors of the encrypted sums.
///
/// # Errors
/// [`ClientError::Answer`] if the answer is not one to this task.
pub(super) fn merge(
    asked: &Asked<'_>,
    task: &AggregateTask,
    answer: &Answer<'_>,
    sums: &AggregateAnswer<'_>,
    errors: &[f64],
) -> Result<RecordBatch, ClientError> {
    let clear = answer.clear(0).map_err(answer_error)?;
    let (keys, aggregates) = (task.keys.len(), task.clear.len());
    if clear.num_columns() != keys + aggregates {
        return Err(ClientError::Answer { what: "its clear half has another number of columns".into() });
    }
    let clear_numbers = clear.columns().iter().skip(keys).map(integers);
    let mut clear_numbers = clear_numbers.collect::<Result<Vec<_>, _>>()?;
    let Asked { table, owner, .. } = *asked;
    let mut most = table.manifest.manifest().living_rows();
    if owner.cells.is_some() && clear_numbers.len() > 1 {
        // A row is a cell and stands for as many as the second number says; that cells can have them has been checked.
        let rows = clear_numbers.get(1).cloned().unwrap_or_default();
        clear_numbers.splice(..1, [rows]).for_each(drop);
        most = u64::MAX;
    }
    let rows = group_rows(most, clear_numbers.first(), sums.group_count)?;
    let encrypted = decrypt_groups(asked, task, sums, &rows)?;
    let groups: Vec<GroupNumbers> = encrypted
        .into_iter()
        .enumerate()
        .map(|(group, encrypted)| {
            let clear = clear_numbers.iter().map(|column| column.get(group).cloned()).collect::<Option<_>>();
            let fewer = || ClientError::Answer { what: "its clear half has fewer groups".into() };
            Ok(GroupNumbers { clear: clear.ok_or_else(fewer)?, encrypted })
        })
        .collect::<Result<_, ClientError>>()?;
    let mut fields = Vec::new();
    let mut columns: Vec<ArrayRef> = Vec::new();
    for (index, column) in clear.columns().iter().take(keys).enumerate() {
        fields.push(Field::new(format!("k{index}"), column.data_type().clone(), true));
        columns.push(column.clone());
    }
    for (index, aggregate) in owner.aggregates.iter().enumerate() {
        let column = match aggregate {
            OwnerAggregate::ClearOutput { index } => clear.columns().get(keys + index).cloned(),
            _ => Some(aggregate_column(aggregate, &groups, errors)?),
        };
        let column =
            column.ok_or(ClientError::Internal { what: "the plan passes on a column that it lacks" })?;
        fields.push(Field::new(format!("a{index}"), column.data_type().clone(), true));
        columns.push(column);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(groups.len()));
    Ok(RecordBatch::try_new_with_options(Arc::new(ArrowSchema::new(fields)), columns, &options)?)
}

/// Rows of each group, from `COUNT(*)`: together no more than there can be.
pub(super) fn group_rows(
    most: u64,
    counts: Option<&Vec<Number>>,
    groups: u32,
) -> Result<Vec<u64>, ClientError> {
    let count = |number: &Number| match number {
        Number::Exact(count) => count.to_u64(),
        Number::Approx(_) => None,
    };
    let rows: Option<Vec<u64>> = counts.and_then(|counts| counts.iter().map(count).collect());
    let rows = rows.filter(|rows| rows.len() == groups as usize);
    let rows =
        rows.ok_or_else(|| ClientError::Answer { what: "its groups have no number of rows".into() })?;
    let total = rows.iter().try_fold(0_u64, |total, rows| total.checked_add(*rows));
    if total.is_none_or(|total| total > most) {
        return Err(ClientError::Answer { what: "its groups have more rows than the table".into() });
    }
    Ok(rows)
}

/// Per group the plan's encrypted sums, in the plan's order, each within its bound for the rows of the group.
pub(super) fn decrypt_groups(
    asked: &Asked<'_>,
    task: &AggregateTask,
    sums: &AggregateAnswer<'_>,
    rows: &[u64],
) -> Result<Vec<Vec<Number>>, ClientError> {
    let Asked { table, owner, .. } = *asked;
    let manifest = table.manifest.manifest();
    let blocks = sum_blocks(&task.sums, &manifest.encodings, &Strata::of(manifest));
    let (blocks, places) = blocks.map_err(|_| ClientError::Internal {
        what: "the plan names an encoded column that the table lacks",
    })?;
    if blocks.len() != sums.blocks.len() {
        return Err(ClientError::Answer { what: "it has another number of encrypted blocks".into() });
    }
    let bounded = |block: usize, body: usize| {
        let places = places.iter().zip(&owner.bounds.sums);
        let found = places.into_iter().find(|(places, _)| places.contains(&SumPlace { block, body }));
        let unbounded = ClientError::Internal { what: "the plan bounds less than it asks for" };
        found.map(|(_, bound)| bound).ok_or(unbounded)
    };
    let columns = blocks.iter().enumerate().map(|(block, sums)| {
        let keys = &table.keys.of(manifest, sums.domain)?.columns;
        let column = |(body, id): (usize, &EncodingId)| Ok((keys.get(*id)?, bounded(block, body)?));
        sums.columns.iter().enumerate().map(column).collect::<Result<Vec<_>, ClientError>>()
    });
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let groups = (0..sums.group_count).into_par_iter().zip(rows).map(|(group, rows)| {
        let numbers = sums
            .blocks
            .iter()
            .zip(&columns)
            .map(|(block, columns)| block_numbers(asked, block.object(group), (group, *rows), columns))
            .collect::<Result<Vec<_>, _>>()?;
        let number = |place: &SumPlace| {
            let number = numbers.get(place.block).and_then(|numbers| numbers.get(place.body));
            number.cloned().ok_or(NO_PLACE)
        };
        places
            .iter()
            .zip(&owner.bounds.sums)
            .map(|(places, bound)| {
                let of_domains = places.iter().map(number).collect::<Result<Vec<_>, _>>()?;
                let total = of_domains.into_iter().reduce(|a, b| a + b).ok_or(NO_PLACE)?;
                // Each is within the bound of all rows of the group, and together they are.
                if let (Number::Exact(_), [first, _, ..]) = (&total, places.as_slice()) {
                    let column = columns.get(first.block).and_then(|columns| columns.get(first.body));
                    check_sum(column.ok_or(NO_PLACE)?.0, &total, bound, *rows)?;
                }
                Ok(total)
            })
            .collect()
    });
    on_threads(table.costs.threads, || groups.collect())
}

const NO_PLACE: ClientError = ClientError::Internal { what: "a sum has no place in the answer" };

/// The sums of a block's columns in one group.
fn block_numbers(
    asked: &Asked<'_>,
    object: Option<&[u8]>,
    (group, rows): (u32, u64),
    columns: &[(&ColumnKey, &Bound)],
) -> Result<Vec<Number>, ClientError> {
    let object =
        object.ok_or_else(|| ClientError::Answer { what: "a group has no encrypted sums".into() })?;
    let keys: Vec<&ColumnKey> = columns.iter().map(|(key, _)| *key).collect();
    let sums = asked.table.scheme.sums(object, group, &keys)?;
    let number = |(place, (key, bound)): (usize, &(&ColumnKey, &Bound))| {
        let number = sums.number(place, key, bound)?;
        check_sum(key, &number, bound, rows)?;
        // Only a number within its bound gets noise.
        match asked.release {
            Some(release) => Ok(sums.released(place, key, bound, release)?.unwrap_or(number)),
            None => Ok(number),
        }
    };
    columns.iter().enumerate().map(number).collect()
}

/// A clear aggregate as numbers: integers exactly, doubles as they are, NULL (a sum over no rows) as 0.
pub(super) fn integers(column: &ArrayRef) -> Result<Vec<Number>, ClientError> {
    if column.data_type().is_floating() {
        let doubles = cast(column, &DataType::Float64)?;
        let doubles = doubles.as_primitive::<arrow::datatypes::Float64Type>();
        return Ok(doubles.iter().map(|cell| Number::Approx(cell.unwrap_or(0.0))).collect());
    }
    let scale = match column.data_type() {
        DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) => *scale,
        _ => 0,
    };
    if !column.data_type().is_numeric() {
        // Passed on as it is; no linear form reads it.
        return Ok(vec![Number::Exact(BigInt::default()); column.len()]);
    }
    let wide = cast(column, &DataType::Decimal256(76, scale))?;
    let wide = wide.as_primitive::<Decimal256Type>();
    Ok(wide.iter().map(|cell| Number::Exact(cell.map_or_else(BigInt::default, big_of_arrow))).collect())
}
