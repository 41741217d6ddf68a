// SPDX-License-Identifier: Apache-2.0
//! A population count and a high product.

use crate::operands::{CBD21_BYTES, TERNARY_BYTES};

/// The bits that count.
pub(crate) const LOW_42: u64 = (1 << 42) - 1;
/// The bits that count down.
pub(crate) const DOWN: u64 = LOW_42 - ((1 << 21) - 1);

#[inline(always)]
pub(crate) fn cbd21_into(random: &[u8], out: &mut [i32]) {
    for (bytes, out) in random.as_chunks::<CBD21_BYTES>().0.iter().zip(out) {
        let [b0, b1, b2, b3, b4, b5] = *bytes;
        let bits = u64::from_le_bytes([b0, b1, b2, b3, b4, b5, 0, 0]);
        // Bits that count down are counted where they are 0: `ups + (21 − downs) − 21`.
        *out = ((bits ^ DOWN) & LOW_42).count_ones() as i32 - 21;
    }
}

#[inline(always)]
pub(crate) fn ternary_into(random: &[u8], out: &mut [i8]) {
    for (bytes, out) in random.as_chunks::<TERNARY_BYTES>().0.iter().zip(out) {
        let third = (u128::from(u64::from_le_bytes(*bytes)) * 3) >> 64;
        *out = third as i8 - 1;
    }
}
