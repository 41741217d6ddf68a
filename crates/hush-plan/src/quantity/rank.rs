// SPDX-License-Identifier: Apache-2.0
//! Ranks in flags: where a value stands among those of its chunk, for columns of more values than there are flags for.
//!
//! The rank of a value is the number of rows of its chunk with less, so that rows of equal values have equal ranks. A chunk has at most [`CHUNK_ROWS`]
//! rows: three digits write any rank, each as a thermometer. Who knows how many rows of a chunk lie below a constant compares ranks with that number.
//!
//! ```text
//!   values   40  7  25  7        rank    3  0  2  0         x < 25:  two rows lie below 25, so rank < 2
//! ```
//!
//! A thermometer has both of its ends: a flag that is set for every value, and one that is set for none. So a comparison reads two flags of a digit, which are
//! never the same, whatever the constant. Two flags stand beside: one of every value, for whether there is one, and one of none, for equality with what no
//! row has.

use hush_params::size::CHUNK_ROWS;

/// Values of each digit, most significant first.
const BASES: [u32; 3] = [19, 21, 21];
const _: () = assert!(BASES[0] * BASES[1] * BASES[2] > CHUNK_ROWS);

/// Digits of a rank.
pub const RANK_DIGITS: usize = BASES.len();

/// Flags of a rank.
pub const RANK_FLAGS: u8 = 2 + (BASES[0] + BASES[1] + BASES[2] + 3) as u8;

/// A flag of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankFlag {
    /// Set where there is a value.
    Valid,
    /// Set nowhere.
    Nothing,
    /// Set where a digit is at least this, from 0 to one more than the greatest.
    AtLeast {
        /// The digit, from the most significant one on.
        digit: usize,
        /// Its least value.
        least: u32,
    },
}

impl RankFlag {
    /// All flags, each at its number.
    pub fn all() -> impl Iterator<Item = Self> {
        let of_digit = |(digit, base)| (0..=base).map(move |least| Self::AtLeast { digit, least });
        [Self::Valid, Self::Nothing].into_iter().chain(BASES.into_iter().enumerate().flat_map(of_digit))
    }

    /// The flag that is set where a digit is at least that of `rank`, or with `next` greater.
    pub fn at(rank: u32, digit: usize, next: bool) -> Self {
        Self::AtLeast { digit, least: digit_of(rank, digit) + u32::from(next) }
    }

    /// Such a flag that, with the one that has `next`, makes a product of 0, if that of every other digit is [`RankFlag::at`]. It depends on `rank` no more
    /// than they do.
    pub fn at_none(rank: u32, digit: usize, next: bool) -> Self {
        match (digit, next) {
            (0, false) => Self::AtLeast { digit, least: BASES.first().copied().unwrap_or_default() },
            (0, true) => Self::Nothing,
            _ => Self::at(rank, digit, next),
        }
    }

    /// Its number, from 0 to below [`RANK_FLAGS`].
    pub fn number(self) -> u8 {
        Self::all().position(|known| known == self).unwrap_or_default() as u8
    }

    /// Whether it is set for a rank; `None` is a missing value.
    pub fn is_set(self, rank: Option<u32>) -> bool {
        match (self, rank) {
            (_, None) | (Self::Nothing, _) => false,
            (Self::Valid, _) => true,
            (Self::AtLeast { digit, least }, Some(rank)) => digit_of(rank, digit) >= least,
        }
    }
}

/// A digit of a rank. The most significant one has no bound of its own.
fn digit_of(rank: u32, digit: usize) -> u32 {
    let step: u32 = BASES.iter().skip(digit + 1).product();
    let place = rank / step.max(1);
    if digit == 0 { place } else { place % BASES.get(digit).copied().unwrap_or(1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_have_the_numbers_of_their_places() {
        let all: Vec<RankFlag> = RankFlag::all().collect();
        assert_eq!(all.len(), usize::from(RANK_FLAGS));
        assert!((0..).zip(&all).all(|(number, flag)| flag.number() == number));
    }

    /// The comparison that plans make of the flags at a bound is that of ranks, from no row below it to all.
    #[test]
    fn flags_at_a_bound_compare_ranks_with_it() {
        let all: Vec<RankFlag> = RankFlag::all().collect();
        let some = [0, 1, 20, 21, 22, 440, 441, 442, 461, 462, 4096, 8191, 8192];
        for bound in some {
            for rank in some.into_iter().filter(|rank| *rank < CHUNK_ROWS) {
                let is_set = |digit, next| RankFlag::at(bound, digit, next).is_set(Some(rank));
                let at_least = (0..RANK_DIGITS)
                    .rev()
                    .fold(true, |rest, digit| is_set(digit, true) || (is_set(digit, false) && rest));
                assert_eq!(at_least, rank >= bound, "{rank} {bound}");
                let is_equal = (0..RANK_DIGITS).all(|digit| is_set(digit, false) && !is_set(digit, true));
                assert_eq!(is_equal, rank == bound, "{rank} {bound}");
                let is_set = |next| RankFlag::at_none(bound, 0, next).is_set(Some(rank));
                assert!(!is_set(false) && !is_set(true));
            }
        }
        assert!(all.iter().all(|flag| !flag.is_set(None)));
    }

    /// Whatever the bound, as many flags are named, and none twice.
    #[test]
    fn no_flag_of_a_bound_is_named_twice() {
        for bound in 0..=CHUNK_ROWS {
            for at in [RankFlag::at, RankFlag::at_none] {
                let mut numbers: Vec<u8> = (0..RANK_DIGITS)
                    .flat_map(|digit| [false, true].map(|next| at(bound, digit, next).number()))
                    .collect();
                numbers.sort_unstable();
                numbers.dedup();
                assert_eq!(
                    (numbers.len(), numbers.contains(&RankFlag::Valid.number())),
                    (6, false),
                    "{bound}"
                );
            }
        }
    }
}
