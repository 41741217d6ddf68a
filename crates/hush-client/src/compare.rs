// SPDX-License-Identifier: Apache-2.0
//! Comparing a result with the plaintext engine's, cell by cell.

use arrow::array::{Array, AsArray};
use arrow::compute::concat_batches;
use arrow::datatypes::Float64Type;
use arrow::record_batch::RecordBatch;

use crate::account::Verified;
use crate::error::ClientError;

/// Relative difference that fixed point or CKKS may leave in a float column.
const FLOAT_TOLERANCE: f64 = 1e-6;

/// Magnitude below which differences are absolute, not relative: 1, or less if approximate columns are known better, so that
/// small results are compared at all. A result may then be off by a thousand times the error of one sum.
pub(crate) fn smallest_magnitude(precision: Option<f64>) -> f64 {
    precision.map_or(1.0, |error| (1e9 * error).min(1.0))
}

/// Compares two results. Columns must be equal. Doubles may differ if floats were encrypted: by the tolerance times their
/// magnitude, or times `floats` if that is larger.
///
/// # Errors
/// [`ClientError::Unequal`] with the first column that differs.
pub(crate) fn compare(
    found: &[RecordBatch],
    expected: &[RecordBatch],
    floats: Option<f64>,
) -> Result<Verified, ClientError> {
    let (found, expected) = (one(found)?, one(expected)?);
    let differs = |column: &str| ClientError::Unequal { column: column.to_owned() };
    if found.num_columns() != expected.num_columns() || found.num_rows() != expected.num_rows() {
        return Err(differs("count"));
    }
    let mut worst = None;
    for (field, (left, right)) in
        found.schema().fields().iter().zip(found.columns().iter().zip(expected.columns()))
    {
        let right = &arrow::compute::cast(right, left.data_type())?;
        if left == right {
            continue;
        }
        let doubles = (left.as_primitive_opt::<Float64Type>(), right.as_primitive_opt::<Float64Type>());
        let (Some(left), Some(right), Some(least)) = (doubles.0, doubles.1, floats) else {
            return Err(differs(field.name()));
        };
        for (left, right) in left.iter().zip(right.iter()) {
            let error = match (left, right) {
                (Some(left), Some(right)) => (left - right).abs() / right.abs().max(least),
                (None, None) => 0.0,
                _ => f64::INFINITY,
            };
            if error.is_nan() || error > FLOAT_TOLERANCE {
                return Err(differs(field.name()));
            }
            worst = Some(error.max(worst.unwrap_or(0.0)));
        }
    }
    Ok(worst.map_or(Verified::Exactly, Verified::Within))
}

fn one(batches: &[RecordBatch]) -> Result<RecordBatch, ClientError> {
    let first = batches.first().ok_or(ClientError::Internal { what: "a result without a batch" })?;
    Ok(concat_batches(&first.schema(), batches)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{ArrayRef, Float64Array, Int64Array};
    use std::sync::Arc;

    fn batch(integers: Vec<i64>, floats: Vec<f64>) -> Vec<RecordBatch> {
        let columns: [(&str, ArrayRef); 2] =
            [("n", Arc::new(Int64Array::from(integers))), ("x", Arc::new(Float64Array::from(floats)))];
        vec![RecordBatch::try_from_iter(columns).unwrap()]
    }

    #[test]
    fn every_difference_is_found() {
        let result = batch(vec![1, 2], vec![0.5, 1.5]);
        assert_eq!(compare(&result, &result, None).unwrap(), Verified::Exactly);
        let other = batch(vec![1, 3], vec![0.5, 1.5]);
        assert!(
            matches!(compare(&result, &other, Some(1.0)), Err(ClientError::Unequal { column }) if column == "n")
        );
        let near = batch(vec![1, 2], vec![0.5, 1.5 + 1e-12]);
        assert!(compare(&result, &near, None).is_err());
        assert!(matches!(compare(&result, &near, Some(1.0)), Ok(Verified::Within(e)) if e > 0.0));
        // Nanograms are not all the same.
        let (small, smaller) = (batch(vec![1], vec![3e-9]), batch(vec![1], vec![2e-9]));
        assert!(compare(&small, &smaller, Some(smallest_magnitude(Some(5e-15)))).is_err());
        assert!(
            compare(&small, &batch(vec![1], vec![3e-9 + 4e-15]), Some(smallest_magnitude(Some(5e-15))))
                .is_ok()
        );
        assert!(compare(&result, &batch(vec![1], vec![0.5]), Some(1.0)).is_err());
    }
}
