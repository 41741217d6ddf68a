// SPDX-License-Identifier: Apache-2.0
//! Expressions that the owner evaluates on decrypted columns, exactly: those that the server has no layout or no depth
//! for.

use std::ops::Range;

use arrow::record_batch::RecordBatch;
use hush_plan::plan::{RowsTask, SlotExpr};
use num_bigint::BigInt;

use super::rows::clear_units;
use crate::cells::Cells;
use crate::error::ClientError;
use crate::merge::Number;

/// The rows of one chunk that match.
pub(super) struct Input<'a> {
    pub(super) task: &'a RowsTask,
    /// Clear columns of the whole answer.
    pub(super) clear: &'a RecordBatch,
    /// Rows of the chunk in `clear`.
    pub(super) range: Range<usize>,
    /// Columns of the task's `fetch` in the chunk.
    pub(super) fetched: &'a [Cells],
    /// The matching rows in the chunk.
    pub(super) rows: &'a [usize],
}

/// The value of `expr` in every matching row, in units. A clear operand that is NULL counts as 0, a missing encrypted
/// value as what is stored for it: who knows about validity blanks these rows.
///
/// # Errors
/// [`ClientError::Internal`] if the plan reads what it does not fetch.
pub(super) fn evaluate(expr: &SlotExpr, input: &Input<'_>) -> Result<Vec<Number>, ClientError> {
    Ok(units(expr, input)?.into_iter().map(Number::Exact).collect())
}

fn units(expr: &SlotExpr, input: &Input<'_>) -> Result<Vec<BigInt>, ClientError> {
    let missing = || ClientError::Internal { what: "the plan reads a column that it does not fetch" };
    let exact = |number: Number| match number {
        Number::Exact(value) => Ok(value),
        Number::Approx(_) => {
            Err(ClientError::Internal { what: "an exact expression of an approximate column" })
        }
    };
    let both = |a: &SlotExpr, b: &SlotExpr, with: fn(BigInt, BigInt) -> BigInt| {
        let pairs = units(a, input)?.into_iter().zip(units(b, input)?);
        Ok(pairs.map(|(a, b)| with(a, b)).collect())
    };
    match expr {
        SlotExpr::Add(a, b) => both(a, b, |a, b| a + b),
        SlotExpr::Clear(index) => {
            let cells = clear_units(input.clear, *index, input.range.clone())?.into_iter();
            cells.map(|cell| cell.map_or(Ok(BigInt::ZERO), exact)).collect()
        }
        SlotExpr::Column(id) => {
            let place = input.task.fetch.iter().position(|fetched| fetched == id);
            let cells = place.and_then(|place| input.fetched.get(place)).ok_or_else(missing)?;
            input.rows.iter().map(|row| cells.number(*row).ok_or_else(missing).and_then(exact)).collect()
        }
        SlotExpr::Constant(digits) => {
            let value: BigInt = digits
                .parse()
                .map_err(|_| ClientError::Internal { what: "a planned constant is not an integer" })?;
            Ok(vec![value; input.rows.len()])
        }
        SlotExpr::Mul(a, b) => both(a, b, |a, b| a * b),
        SlotExpr::Neg(a) => Ok(units(a, input)?.into_iter().map(|value| -value).collect()),
        SlotExpr::Sub(a, b) => both(a, b, |a, b| a - b),
    }
}
