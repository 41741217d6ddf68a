// SPDX-License-Identifier: Apache-2.0
//! Expressions that the owner evaluates exactly on decrypted columns, because the server has no layout or no depth for
//! them.

use std::ops::Range;

use arrow::record_batch::RecordBatch;
use ethnum::I256;
use hush_plan::plan::{RowsTask, SlotExpr};
use num_bigint::BigInt;

use super::clear::clear_units;
use crate::arrays::wrapped;
use crate::cells::Cells;
use crate::error::ClientError;

/// The matching rows of one chunk.
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

/// The value of `expr` in every matching row, in units. A NULL in a clear operand counts as 0, a missing encrypted value
/// as the number stored for it. The caller blanks these rows by validity.
///
/// Arithmetic is modulo `2^256`. Intermediate numbers may wrap, because the planner ensures that the result has at most 76
/// digits.
///
/// # Errors
/// [`ClientError::Internal`] if the plan reads a column that it does not fetch.
pub(super) fn evaluate(expr: &SlotExpr, input: &Input<'_>) -> Result<Vec<I256>, ClientError> {
    let missing = || ClientError::Internal { what: "the plan reads a column that it does not fetch" };
    let both = |a: &SlotExpr, b: &SlotExpr, with: fn(I256, I256) -> I256| {
        let (mut left, right) = (evaluate(a, input)?, evaluate(b, input)?);
        left.iter_mut().zip(right).for_each(|(left, right)| *left = with(*left, right));
        Ok(left)
    };
    match expr {
        SlotExpr::Add(a, b) => both(a, b, I256::wrapping_add),
        SlotExpr::Clear(index) => Ok(clear_units(input.clear, *index, input.range.clone())?.0),
        SlotExpr::Column(id) => {
            let place = input.task.fetch.iter().position(|fetched| fetched == id);
            let cells = place.and_then(|place| input.fetched.get(place)).ok_or_else(missing)?;
            match cells.at(input.rows).ok_or_else(missing)? {
                Cells::Exact(values) => Ok(values),
                Cells::Approx(_) => {
                    Err(ClientError::Internal { what: "an exact expression of an approximate column" })
                }
            }
        }
        SlotExpr::Constant(digits) => {
            let value: BigInt = digits
                .parse()
                .map_err(|_| ClientError::Internal { what: "a planned constant is not an integer" })?;
            Ok(vec![wrapped(&value); input.rows.len()])
        }
        SlotExpr::Mul(a, b) => both(a, b, I256::wrapping_mul),
        SlotExpr::Neg(a) => Ok(evaluate(a, input)?.into_iter().map(I256::wrapping_neg).collect()),
        SlotExpr::Sub(a, b) => both(a, b, I256::wrapping_sub),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::Int64Array;
    use hush_plan::EncodingId;

    use super::*;

    /// `f(v) = v² − (v² − v·c) + k − 2^256` is `v·c + k` in every picked row, though its squares exceed 256 bits.
    #[test]
    fn numbers_on_the_way_may_wrap() {
        let column = || Box::new(SlotExpr::Column(EncodingId(7)));
        let square = || Box::new(SlotExpr::Mul(column(), column()));
        let product = SlotExpr::Mul(column(), Box::new(SlotExpr::Clear(0)));
        let rest = SlotExpr::Sub(square(), Box::new(product));
        let difference = SlotExpr::Sub(square(), Box::new(rest));
        let modulus = BigInt::from(2).pow(256).to_string();
        let constant = SlotExpr::Neg(Box::new(SlotExpr::Constant(modulus)));
        let five = SlotExpr::Add(Box::new(SlotExpr::Constant("5".to_owned())), Box::new(constant));
        let expr = SlotExpr::Add(Box::new(difference), Box::new(five));
        let task = RowsTask {
            clear: vec!["\"c\"".to_owned()],
            operands: Vec::new(),
            sealed: vec![],
            cube: None,
            run: None,
            operand_limit_log2: 0,
            programs: Vec::new(),
            fetch: vec![EncodingId(7)],
            program_bits: Vec::new(),
            fetch_bits: Vec::new(),
            limit: None,
        };
        let clear = RecordBatch::try_from_iter([
            ("row", Arc::new(Int64Array::from(vec![0, 1, 2])) as _),
            ("c", Arc::new(Int64Array::from(vec![Some(99), Some(-3), None])) as _),
        ])
        .unwrap();
        let large = I256::from(1) << 200;
        let fetched = [Cells::Exact(vec![large, -large, I256::from(2)])];
        let input = Input { task: &task, clear: &clear, range: 1..3, fetched: &fetched, rows: &[0, 2] };
        let five = I256::from(5);
        assert_eq!(evaluate(&expr, &input).unwrap(), [large * -3 + five, five]);
        assert!(evaluate(&SlotExpr::Column(EncodingId(8)), &input).is_err());
    }
}
