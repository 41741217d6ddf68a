// SPDX-License-Identifier: Apache-2.0
//! The packing `approx_sum` on a device: reals, scaled and rounded.

use hush_encode::{QuantityValues, View};
use hush_plan::PrivateEncoding;
use hush_plan::packing::ApproxSum;
use hush_schemes::ckks::{Scale, encode_coefficients};
use num_bigint::BigUint;
use num_traits::ToPrimitive;
use zeroize::Zeroizing;

use super::{Plain, UNSUITED, column_name, out_of_range};
use crate::EdgeError;

pub(super) fn plain<'a>(
    packing: ApproxSum,
    encoding: &PrivateEncoding,
    values: &QuantityValues<'_>,
) -> Result<Plain<'a>, EdgeError> {
    let View::Approx(reals) = values.view() else { return Err(UNSUITED) };
    let bound = encoding.max_abs.parse::<BigUint>().ok();
    let bound = bound.ok_or(EdgeError::Internal { what: "a column's bound is not a number" })?;
    let most = bound.to_f64().unwrap_or(f64::INFINITY);
    // NaN is not within any bound.
    if let Some(index) = reals.iter().position(|value| value.is_nan() || value.abs() > most) {
        return Err(EdgeError::Range { column: column_name(encoding), row: index + 1 });
    }
    let limit = bound.bits() as u32 + packing.scale_log2;
    let scaled =
        Scale::from_log2(packing.scale_log2).and_then(|scale| encode_coefficients(reals, scale, limit));
    Ok(Plain::Scaled(Zeroizing::new(scaled.map_err(|error| out_of_range(encoding, &error))?)))
}
