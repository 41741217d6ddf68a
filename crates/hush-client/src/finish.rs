// SPDX-License-Identifier: Apache-2.0
//! The last step of every query: decrypted groups or rows become the result with an ordinary query engine,
//! which evaluates expressions on aggregates, HAVING, ORDER BY and LIMIT.

use std::sync::Arc;

use arrow::array::{ArrayRef, Decimal128Array, Decimal256Array, Float64Array, Int64Array};
use arrow::datatypes::i256;
use arrow::record_batch::RecordBatch;
use datafusion::prelude::{SessionConfig, SessionContext};
use hush_plan::plan::OutputType;
use num_bigint::BigInt;
use num_traits::ToPrimitive;

use crate::error::ClientError;

/// Runs `sql` over the one table `merged`.
///
/// # Errors
/// [`ClientError::Finish`] if the engine refuses the expression (for instance a division by zero).
pub(crate) fn finish(merged: RecordBatch, sql: &str) -> Result<Vec<RecordBatch>, ClientError> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let config = SessionConfig::new().with_target_partitions(1).with_information_schema(false);
    let context = SessionContext::new_with_config(config);
    context.register_batch("merged", merged)?;
    let batches = runtime.block_on(async {
        let frame = context.sql(sql).await?;
        let schema = Arc::clone(frame.schema().inner());
        let mut batches = frame.collect().await?;
        if batches.is_empty() {
            batches.push(RecordBatch::new_empty(schema));
        }
        Ok::<_, datafusion::error::DataFusionError>(batches)
    })?;
    Ok(batches)
}

/// A number in a type of Arrow's. One that does not fit is an error, never a NULL.
///
/// # Errors
/// [`ClientError::Overflow`].
pub(crate) fn checked<T>(
    value: Option<&BigInt>,
    convert: impl Fn(&BigInt) -> Option<T>,
) -> Result<Option<T>, ClientError> {
    value.map(|value| convert(value).ok_or(ClientError::Overflow)).transpose()
}

/// Exact numbers of one output column, in units of `10^-scale`, as an Arrow array of the planned type.
///
/// # Errors
/// [`ClientError::Overflow`] if a value does not fit the type; the planner's ranges exclude it.
pub(crate) fn number_array(values: &[Option<BigInt>], output: OutputType) -> Result<ArrayRef, ClientError> {
    let overflow = || ClientError::Overflow;
    Ok(match output {
        OutputType::Int => {
            let cells = values.iter().map(|cell| optional(cell, BigInt::to_i64));
            Arc::new(cells.collect::<Option<Int64Array>>().ok_or_else(overflow)?)
        }
        OutputType::Decimal { scale, wide: false } => {
            let cells = values.iter().map(|cell| optional(cell, BigInt::to_i128));
            let array: Decimal128Array = cells.collect::<Option<_>>().ok_or_else(overflow)?;
            Arc::new(array.with_precision_and_scale(38, scale as i8)?)
        }
        OutputType::Decimal { scale, wide: true } => {
            let cells = values.iter().map(|cell| optional(cell, to_i256));
            let array: Decimal256Array = cells.collect::<Option<_>>().ok_or_else(overflow)?;
            Arc::new(array.with_precision_and_scale(76, scale as i8)?)
        }
        OutputType::Float => {
            let cells = values.iter().map(|cell| cell.as_ref().and_then(BigInt::to_f64));
            Arc::new(cells.collect::<Float64Array>())
        }
    })
}

/// `Some(None)` for NULL, `Some(Some(v))` for a value that fits, `None` for one that does not.
fn optional<T>(cell: &Option<BigInt>, convert: impl Fn(&BigInt) -> Option<T>) -> Option<Option<T>> {
    match cell {
        None => Some(None),
        Some(value) => convert(value).map(Some),
    }
}

fn to_i256(value: &BigInt) -> Option<i256> {
    let bytes = value.to_signed_bytes_le();
    if bytes.len() > 32 {
        return None;
    }
    let fill = if value.sign() == num_bigint::Sign::Minus { 0xff } else { 0 };
    let mut wide = [fill; 32];
    wide[..bytes.len()].copy_from_slice(&bytes);
    Some(i256::from_le_bytes(wide))
}
