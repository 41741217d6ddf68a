// SPDX-License-Identifier: Apache-2.0
//! Noise by population counts, eight samples at a time.

use super::vector::Avx512;
use crate::{operands::CBD21_BYTES, scalar::sample as scalar};

#[inline(always)]
pub(crate) fn cbd21_into(simd: Avx512, random: &[u8], out: &mut [i32]) {
    // Bytes 6j … 6j+7 to lane j: the two bytes too many are shifted or masked away.
    let gather: [u8; 64] = std::array::from_fn(|i| (i / 8 * CBD21_BYTES + i % 8) as u8);
    let gather = simd.load_bytes(&gather);
    let (low_21, shift) = (simd.splat((1 << 21) - 1), simd.splat(21));
    // A group reads 64 bytes and uses 48: so many groups do not read past the end.
    let group_count = (random.len().saturating_sub(64 - GROUP_BYTES) / GROUP_BYTES).min(out.len() / 8);
    let (groups, tail) = out.split_at_mut(8 * group_count);
    for (group, samples) in groups.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let Some(bytes) = random[GROUP_BYTES * group..].first_chunk::<64>() else { break };
        let lanes = simd.permute_bytes(gather, simd.load_bytes(bytes));
        let up = simd.count_ones(simd.and(lanes, low_21));
        let down = simd.count_ones(simd.and(simd.shift_right(lanes, shift), low_21));
        simd.store_low_halves(samples, simd.sub(up, down));
    }
    scalar::cbd21_into(&random[GROUP_BYTES * group_count..], tail);
}

/// Random bytes of eight samples.
const GROUP_BYTES: usize = 8 * CBD21_BYTES;
