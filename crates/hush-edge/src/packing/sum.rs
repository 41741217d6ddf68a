// SPDX-License-Identifier: Apache-2.0
//! The packing `sum` on a device: integers within the plaintext modulus.

use hush_encode::{QuantityValues, View};
use hush_plan::PrivateEncoding;
use hush_plan::packing::Sum;

use super::{Plain, UNSUITED, out_of_range};
use crate::EdgeError;

pub(super) fn plain<'a>(
    packing: Sum,
    encoding: &PrivateEncoding,
    values: QuantityValues<'a>,
) -> Result<Plain<'a>, EdgeError> {
    let View::Exact(integers) = values.view() else { return Err(UNSUITED) };
    integers.check_bits(packing.t_log2).map_err(|error| out_of_range(encoding, &error))?;
    Ok(Plain::Exact(values))
}
