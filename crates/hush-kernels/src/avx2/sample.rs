// SPDX-License-Identifier: Apache-2.0
//! Noise: the scalar code, compiled with the population count that comes with AVX2.

use crate::scalar::sample as scalar;
pub(crate) use crate::scalar::sample::ternary_into;

#[target_feature(enable = "avx2,popcnt")]
pub(crate) fn cbd21_into(random: &[u8], out: &mut [i32]) {
    scalar::cbd21_into(random, out);
}
