// SPDX-License-Identifier: Apache-2.0
//! When what is stored more is worth it.

use super::Answer;

/// How many times cheaper an answer has to be.
const CLEARLY: f64 = 2.0;
/// What a structure has to save at least: nobody waits for less.
const WORTH_S: f64 = 1e-3;
const WORTH_BYTES: u64 = 8192;

/// Whether some query is answered at last, or clearly cheaper.
pub(super) fn improves(before: &[Option<Answer>], after: &[Option<Answer>]) -> bool {
    before.iter().zip(after).any(|pair| match pair {
        (None, Some(_)) => true,
        (Some(before), Some(after)) => is_cheaper(before, after),
        (_, None) => false,
    })
}

/// Whether an answer takes at most half of the time or of the bytes, and not more of the time.
fn is_cheaper(before: &Answer, after: &Answer) -> bool {
    let quicker = after.seconds * CLEARLY <= before.seconds && before.seconds - after.seconds >= WORTH_S;
    let saved = before.bytes_down.saturating_sub(after.bytes_down);
    let smaller = after.bytes_down as f64 * CLEARLY <= before.bytes_down as f64 && saved >= WORTH_BYTES;
    quicker || (smaller && after.seconds <= before.seconds)
}
