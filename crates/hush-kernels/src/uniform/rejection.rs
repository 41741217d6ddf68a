// SPDX-License-Identifier: Apache-2.0
//! Words of the stream become residues; words that are not below the modulus are drawn again.

use hush_arith::Modulus;

/// The candidate in a word, if it is below `q`.
#[inline]
pub(crate) fn accept(modulus: Modulus, word: u64) -> Option<u64> {
    let candidate = word & ((1 << modulus.bits()) - 1);
    (candidate < modulus.value()).then_some(candidate)
}

/// The number of attempts after the first.
pub(crate) const MAX_ATTEMPT: u64 = 255;

/// The counter of a retry.
#[inline]
pub(crate) fn retry_counter(attempt: u64, index: usize) -> u64 {
    attempt << 56 | index as u64
}

/// The first candidate of the retries of coefficient `index` that is below `q`; `first_word(c)` gives the first word of `B(c)`.
pub(crate) fn retry(modulus: Modulus, index: usize, first_word: impl Fn(u64) -> u64) -> u64 {
    let word = |attempt| first_word(retry_counter(attempt, index));
    (1..=MAX_ATTEMPT)
        .find_map(|attempt| accept(modulus, word(attempt)))
        .unwrap_or_else(|| (word(MAX_ATTEMPT) & ((1 << modulus.bits()) - 1)) - modulus.value())
}
