// SPDX-License-Identifier: Apache-2.0
//! Aggregate answers: every group's sums decrypted, merged with the clear half into the table `merged`.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatchOptions};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal256Type, Field, Schema as ArrowSchema};
use arrow::record_batch::RecordBatch;
use ethnum::I256;
use hush_exec::answer::{AggregateAnswer, Answer, SumPlace, sum_blocks};
use hush_exec::noop::{PlainSum, Scheme};
use hush_keys::{decrypt_approx_sum, decrypt_sum};
use hush_plan::OwnerPlan;
use hush_plan::plan::{AggregateFunction, AggregateTask};
use hush_rlwe::{SumAnswer, UncheckedSumAnswer};
use num_bigint::BigInt;
use rayon::prelude::*;

use super::answer_error;
use crate::columns::{ColumnKey, Space};
use crate::error::ClientError;
use crate::exact::{big, big_of_arrow};
use crate::merge::{GroupNumbers, Number, aggregate_column};
use crate::table::OwnedTable;

/// Builds `merged`: keys `k0…` and aggregates `a0…`, one row per group. `errors` bound those of the encrypted sums.
///
/// # Errors
/// [`ClientError::Answer`] if the answer is not one to this task.
pub(super) fn merge(
    table: &OwnedTable,
    owner: &OwnerPlan,
    task: &AggregateTask,
    answer: &Answer<'_>,
    sums: &AggregateAnswer<'_>,
    errors: &[f64],
) -> Result<RecordBatch, ClientError> {
    let clear = answer.clear().map_err(answer_error)?;
    let (keys, aggregates) = (task.keys.len(), task.clear.len());
    if clear.num_columns() != keys + aggregates {
        return Err(ClientError::Answer { what: "its clear half has another number of columns".into() });
    }
    let clear_numbers = clear.columns().iter().skip(keys).map(integers).collect::<Result<Vec<_>, _>>()?;
    let encrypted = decrypt_groups(table, task, sums)?;
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
        let column = match aggregate.function {
            AggregateFunction::ClearOutput(output) => clear.columns().get(keys + output).cloned(),
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

/// Per group the plan's encrypted sums, in the plan's order.
fn decrypt_groups(
    table: &OwnedTable,
    task: &AggregateTask,
    sums: &AggregateAnswer<'_>,
) -> Result<Vec<Vec<Number>>, ClientError> {
    let encodings = &table.manifest.manifest().encodings;
    let (blocks, places) = sum_blocks(&task.sums, encodings).map_err(|_| ClientError::Internal {
        what: "the plan names an encoded column that the table lacks",
    })?;
    if blocks.len() != sums.blocks.len() {
        return Err(ClientError::Answer { what: "it has another number of encrypted blocks".into() });
    }
    let columns = blocks
        .iter()
        .map(|block| block.columns.iter().map(|id| table.keys.get(*id)).collect::<Result<Vec<_>, _>>())
        .collect::<Result<Vec<_>, _>>()?;
    (0..sums.group_count)
        .into_par_iter()
        .map(|group| {
            let numbers = sums
                .blocks
                .iter()
                .zip(&columns)
                .map(|(block, columns)| block_numbers(table.scheme, block.object(group), group, columns))
                .collect::<Result<Vec<_>, _>>()?;
            let number = |place: &SumPlace| {
                let number = numbers.get(place.block).and_then(|numbers| numbers.get(place.body));
                number.cloned().ok_or(ClientError::Internal { what: "a sum has no place in the answer" })
            };
            places.iter().map(number).collect()
        })
        .collect()
}

/// The sums of a block's columns in one group.
fn block_numbers(
    scheme: Scheme,
    object: Option<&[u8]>,
    group: u32,
    columns: &[&ColumnKey],
) -> Result<Vec<Number>, ClientError> {
    let object =
        object.ok_or_else(|| ClientError::Answer { what: "a group has no encrypted sums".into() })?;
    if scheme == Scheme::NoOp {
        return columns
            .iter()
            .zip(object.chunks(PlainSum::BYTES))
            .map(|(key, sum)| plain(key, sum))
            .collect();
    }
    let Some(first) = columns.first() else {
        return Err(ClientError::Internal { what: "a block of sums without columns" });
    };
    let answer = UncheckedSumAnswer::decode(object)?.conform(first.ring(), group, columns.len() as u32)?;
    columns.iter().enumerate().map(|(body, key)| decrypt(key, &answer, body)).collect()
}

/// A sum of a dry run, which the planner's range analysis has promised to fit its plaintext space.
fn plain(key: &ColumnKey, sum: &[u8]) -> Result<Number, ClientError> {
    match (PlainSum::decode(sum), &key.space) {
        (Some(PlainSum::Exact(sum)), Space::Sum { t_log2 }) => {
            let sum = big(sum);
            // One bit of t is the sign.
            if sum.bits() >= u64::from(*t_log2) {
                return Err(ClientError::Internal {
                    what: "a sum exceeds the range that was planned for it",
                });
            }
            Ok(Number::Exact(sum))
        }
        (Some(PlainSum::Approx(sum)), Space::ApproxSum { .. }) => Ok(Number::Approx(sum)),
        // No row counted.
        (Some(PlainSum::Exact(I256::ZERO)), Space::ApproxSum { .. }) => Ok(Number::Approx(0.0)),
        _ => Err(ClientError::Answer { what: "a group has no plain sums".into() }),
    }
}

fn decrypt(key: &ColumnKey, answer: &SumAnswer, body: usize) -> Result<Number, ClientError> {
    match &key.space {
        Space::Sum { t_log2 } => Ok(Number::Exact(big(decrypt_sum(&key.secret, answer, body, *t_log2)?))),
        Space::ApproxSum { scale, .. } => {
            Ok(Number::Approx(decrypt_approx_sum(&key.secret, answer, body, *scale)?))
        }
        Space::Slots { .. } | Space::ApproxSlots { .. } => {
            Err(ClientError::Internal { what: "the plan sums a column of slots" })
        }
    }
}

/// A clear aggregate as numbers: integers exactly, doubles as they are, NULL (a sum over no rows) as 0.
fn integers(column: &ArrayRef) -> Result<Vec<Number>, ClientError> {
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
