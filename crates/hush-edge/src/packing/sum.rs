// SPDX-License-Identifier: Apache-2.0
//! The packing `sum` on a device: integers within the plaintext modulus.

use hush_encode::{Quantity, View};
use hush_plan::PrivateEncoding;
use hush_plan::packing::Sum;

use super::{Plain, UNSUITED, out_of_range};
use crate::EdgeError;

pub(super) fn plain<'a>(
    packing: Sum,
    encoding: &PrivateEncoding,
    content: Quantity<'a>,
) -> Result<Plain<'a>, EdgeError> {
    let View::Exact(values) = content.view() else { return Err(UNSUITED) };
    values.check_bits(packing.t_log2).map_err(|error| out_of_range(encoding, &error))?;
    Ok(Plain::Exact(content))
}
