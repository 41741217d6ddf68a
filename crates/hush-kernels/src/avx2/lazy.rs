// SPDX-License-Identifier: Apache-2.0
//! Unreduced sums and the reduction at their end: the scalar code, compiled for wider registers where it has no wide
//! products. Double precision does not pay for those: exact 52-bit halves would need corrections.

use crate::scalar::lazy as scalar;
pub(crate) use crate::scalar::lazy::{mul_accumulate, reduce_assign, reduce_wide};

#[target_feature(enable = "avx2")]
pub(crate) fn accumulate(acc: &mut [u64], x: &[u64]) {
    scalar::accumulate(acc, x);
}
