// SPDX-License-Identifier: Apache-2.0
//! Comparisons and sums in blocks of as many values as a word has bits.

use crate::operands::SELECTED;

#[inline(always)]
pub(crate) fn within<T: Copy + PartialOrd>(values: &[T], low: T, high: T, selection: &mut [u64]) {
    let (blocks, tail) = values.as_chunks::<SELECTED>();
    let (words, last) = selection.split_at_mut(blocks.len());
    for (block, word) in blocks.iter().zip(words) {
        *word = inside(block, low, high);
    }
    if let Some(word) = last.first_mut() {
        *word = inside(tail, low, high);
    }
}

/// One bit for each of at most 64 values.
#[inline(always)]
fn inside<T: Copy + PartialOrd>(values: &[T], low: T, high: T) -> u64 {
    let bit = |(index, value): (usize, &T)| u64::from((low <= *value) & (*value <= high)) << index;
    values.iter().enumerate().map(bit).fold(0, |word, bit| word | bit)
}

#[inline(always)]
pub(crate) fn sum_selected(values: &[i64], selection: &[u64]) -> i128 {
    let (blocks, tail) = values.as_chunks::<SELECTED>();
    let sums = blocks.iter().zip(selection).map(|(block, word)| sum_of_block(block, *word));
    let last = selection.get(blocks.len()).map_or(0, |word| sum_of_block(tail, *word));
    sums.fold(last, |all, sum| all + sum)
}

/// The sum of at most 64 values: of their halves, which 64 bits hold.
#[inline(always)]
fn sum_of_block(values: &[i64], word: u64) -> i128 {
    let (mut low, mut high) = (0_u64, 0_i64);
    for (index, value) in values.iter().enumerate() {
        let taken = (word >> index & 1).wrapping_neg() as i64 & value;
        low += taken as u64 & u64::from(u32::MAX);
        high += taken >> 32;
    }
    (i128::from(high) << 32) + i128::from(low)
}
