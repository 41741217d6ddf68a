// SPDX-License-Identifier: Apache-2.0
//! Parameters of the `sum` layout.
//!
//! A quantity of at most `m` per row, summed over `rows` rows with clear weights up to `W`, needs
//! `k_min = ⌈log2(2·rows·W·m + 1)⌉` bits of message; a parameter set's noise allows up to `k_max` bits (see
//! [`crate::range`]). A later query with weights `2^b` times larger needs `b` bits more of either, so the plaintext
//! modulus is `2^k` with `k = k_min + ⌊(k_max − k_min)/2⌋`: what is spare goes half to the message, half to noise.

use hush_params::{ParamSet, presets};
use num_bigint::BigInt;

use super::{Choice, content_words};
use crate::encoding::{Content, Layout, Plaintext};
use crate::error::PlanError;
use crate::range::{largest_sum, message_log2, noise_room_log2};

/// Largest `k` that a plaintext modulus `2^k` may have.
const MAX_T_LOG2: u32 = 250;
/// Rows of a chunk.
const CHUNK_ROWS: usize = 8192;

/// The smallest parameter set that holds the sums, by stored bytes per value in full chunks.
pub(super) fn choose(
    content: &Content,
    max_abs: &BigInt,
    rows: u64,
    weight_max: &BigInt,
) -> Result<Choice, PlanError> {
    let least = message_log2(&largest_sum(rows, weight_max, max_abs));
    let fitting = presets().iter().filter_map(|set| {
        let most = u64::from(noise_room_log2(set, rows, weight_max)?.min(MAX_T_LOG2));
        let log2 = u32::try_from(least + most.checked_sub(least)? / 2).ok()?;
        Some((set, log2))
    });
    let (set, log2) = fitting
        .min_by_key(|(set, _)| stored_bits(set))
        .ok_or_else(|| PlanError::NoParameters { content: content_words(content), rows, bits: least })?;
    Ok(Choice {
        layout: Layout::Sum,
        params: set.name(),
        plaintext: Plaintext::PowerOfTwo { log2 },
        max_abs: max_abs.clone(),
    })
}

/// Bits stored per value in a full chunk; a ring larger than a chunk is partly padding.
pub(super) fn stored_bits(set: &ParamSet) -> usize {
    set.limb_count() * set.residue_bits() as usize * (set.degree() / CHUNK_ROWS).max(1)
}
