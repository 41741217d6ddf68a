// SPDX-License-Identifier: Apache-2.0
//! Which values of a column lie in a range, and sums of the values that a selection takes: the loops of conditions on columns in the clear.
//!
//! A **selection** has one bit a value, the first in the lowest bit of the first word. The unused high bits of its last word are
//! zero when written and ignored when read.
//!
//! # Timing
//! Constant-time in the values, the bounds and the selection.

pub use crate::operands::selection_words;
use crate::{Cpu, cpu::dispatch};

/// Selects the values from `low` to `high`, both included; none if `low > high`.
///
/// # Panics
/// If `selection` is not [`selection_words`]`(values.len())` long.
pub fn within_i64(cpu: Cpu, values: &[i64], low: i64, high: i64, selection: &mut [u64]) {
    expect_selection(values.len(), selection.len());
    dispatch!(cpu, plain select::within(values: &[i64], low: i64, high: i64, selection: &mut [u64]));
}

/// As [`within_i64`].
///
/// # Panics
/// As [`within_i64`].
pub fn within_i32(cpu: Cpu, values: &[i32], low: i32, high: i32, selection: &mut [u64]) {
    expect_selection(values.len(), selection.len());
    dispatch!(cpu, plain select::within(values: &[i32], low: i32, high: i32, selection: &mut [u64]));
}

/// As [`within_i64`].
///
/// # Panics
/// As [`within_i64`].
pub fn within_i128(cpu: Cpu, values: &[i128], low: i128, high: i128, selection: &mut [u64]) {
    expect_selection(values.len(), selection.len());
    dispatch!(cpu, plain select::within(values: &[i128], low: i128, high: i128, selection: &mut [u64]));
}

/// The sum of the values that a selection takes. No slice is long enough for it to overflow.
///
/// # Panics
/// If `selection` is not [`selection_words`]`(values.len())` long.
pub fn sum_selected(cpu: Cpu, values: &[i64], selection: &[u64]) -> i128 {
    expect_selection(values.len(), selection.len());
    dispatch!(cpu, plain select::sum_selected(values: &[i64], selection: &[u64]) -> i128)
}

fn expect_selection(values: usize, words: usize) {
    assert_eq!(words, selection_words(values), "a selection has one bit for each value");
}

#[cfg(test)]
mod tests;
