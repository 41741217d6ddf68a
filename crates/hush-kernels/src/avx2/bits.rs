// SPDX-License-Identifier: Apache-2.0
//! Bit streams: the scalar code, compiled with the bit-manipulation instructions that come with AVX2.

pub(crate) use crate::scalar::bits::pack;
use crate::{BitWidth, scalar::bits as scalar};

#[target_feature(enable = "avx2,bmi1,bmi2")]
pub(crate) fn unpack(width: BitWidth, packed: &[u8], values: &mut [u64]) {
    scalar::unpack(width, packed, values);
}

#[target_feature(enable = "avx2,bmi1,bmi2")]
pub(crate) fn unpack_sum(width: BitWidth, packed: &[u8], count: usize) -> u64 {
    scalar::unpack_sum(width, packed, count)
}

#[target_feature(enable = "avx2,bmi1,bmi2")]
pub(crate) fn all_below(values: &[u64], bound: u64) -> bool {
    scalar::all_below(values, bound)
}
