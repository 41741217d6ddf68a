// SPDX-License-Identifier: Apache-2.0
//! Clear columns of the rows that match.

use std::ops::Range;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal256Type};
use arrow::record_batch::RecordBatch;
use ethnum::I256;

use crate::error::ClientError;

/// Clear integer units at the matching rows `range`, 0 where they are NULL.
pub(super) fn clear_units(
    clear: &RecordBatch,
    index: usize,
    range: Range<usize>,
) -> Result<(Vec<I256>, Option<NullBuffer>), ClientError> {
    let column = clear_column(clear, index)?.slice(range.start, range.len());
    let wide = cast(&column, &DataType::Decimal256(76, 0))?;
    let wide = wide.as_primitive::<Decimal256Type>();
    let units =
        wide.iter().map(|cell| cell.map_or(I256::ZERO, |cell| I256::from_le_bytes(cell.to_le_bytes())));
    Ok((units.collect(), wide.nulls().cloned()))
}

/// Clear column `index` of the task at the matching rows. The column of row numbers comes before all of them.
pub(super) fn clear_column(clear: &RecordBatch, index: usize) -> Result<&ArrayRef, ClientError> {
    let lacking = ClientError::Internal { what: "the plan names a clear column that it lacks" };
    clear.columns().get(index + 1).ok_or(lacking)
}
