// SPDX-License-Identifier: Apache-2.0
//! Rows that match a condition which a server has evaluated on encrypted columns: `crate::filter` has how they are found.

/// The rows that match, in sums of powers of the numbers of ring elements, slot by slot.
///
/// *Sums of the task*, in this order: of the rows themselves the powers 0 to [`MatchingRows::most`], and of each digit in turn the powers below that.
#[derive(Clone, Debug, PartialEq)]
pub struct MatchingRows {
    /// Most rows of a slot that the sums tell apart.
    pub most: u8,
    /// Digits that a row has.
    pub digits: usize,
    /// The columns that are put together from digits.
    pub columns: Vec<MatchingColumn>,
    /// log2 of the largest phase that each sum can be decrypted from.
    pub phases: Vec<f64>,
    /// What a slot behind the rows counts as, where there is no mask.
    pub padding: i64,
    /// Whether a mask leaves out the slots behind the rows.
    pub is_masked: bool,
}

/// A column of the rows that match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchingColumn {
    /// Name.
    pub name: String,
    /// Its value.
    pub value: MatchingValue,
    /// The place of the digit that is 1 where there is a value, and 0 elsewhere, if that is a digit of its own.
    pub valid: Option<usize>,
}

/// How digits make a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchingValue {
    /// Digits of the column's flags, from this place on ([`Code::value_of`](crate::filter::Code::value_of)).
    Flags {
        /// Place of the first.
        first: usize,
        /// How many there are.
        count: usize,
    },
    /// The digit at this place, from 1 on, of the column's texts, and 0 for none ([`Code::value_of`](crate::filter::Code::value_of)).
    Text(usize),
    /// Limbs, the lowest first.
    Limbs {
        /// Place of the first.
        first: usize,
        /// How many there are.
        count: usize,
        /// Bits of each.
        bits: u8,
        /// Whether none is negative.
        natural: bool,
    },
}

impl MatchingRows {
    /// Sums of a task for so many rows of a slot, and digits.
    pub fn sum_count(most: u8, digits: usize) -> usize {
        let most = usize::from(most);
        most + 1 + most * digits
    }
}
