//! Ranks in flags: where a value stands among those of its chunk, for columns of more values than there are flags for.
//!
//! The rank of a value is the number of rows of its chunk with less, so that rows of equal values have equal ranks. A chunk has at most [`CHUNK_ROWS`]
//! rows. Each rank r has two codes, 2·r and 2·r + 1, of which one is drawn that its rows have; the other is the code of a value that no row has and that
//! would have this rank. Codes are written in three digits, each as a thermometer. Who knows how many rows of a chunk lie below a constant, and what was drawn,
//! compares codes.
//!
//! ```text
//!   values   40  7  25  7        rank    3  0  2  0        code   7  1  4  1        x < 25:  two rows lie below 25, so code < 4
//! ```
//!
//! A thermometer has both of its ends: a flag that is set for every value, and one that is set for none. So a comparison reads two flags of a digit, which are
//! never the same, whatever the constant. A flag of every value stands beside, for whether there is one.

use hush_params::size::CHUNK_ROWS;

/// Values of each digit, most significant first.
const BASES: [u32; 3] = [25, 26, 26];
const _: () = assert!(BASES[0] * BASES[1] * BASES[2] > 2 * CHUNK_ROWS + 1);

/// Digits of a code.
pub const RANK_DIGITS: usize = BASES.len();

/// Flags of a code.
pub const RANK_FLAGS: u8 = 1 + (BASES[0] + BASES[1] + BASES[2] + 3) as u8;

/// A flag of a rank's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankFlag {
    /// Set where there is a value.
    Valid,
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
        [Self::Valid].into_iter().chain(BASES.into_iter().enumerate().flat_map(of_digit))
    }

    /// The flag that is set where a digit is at least that of a code, or with `next` greater.
    pub fn at(code: u32, digit: usize, next: bool) -> Self {
        Self::AtLeast { digit, least: digit_of(code, digit) + u32::from(next) }
    }

    /// Its number, from 0 to below [`RANK_FLAGS`].
    pub fn number(self) -> u8 {
        Self::all().position(|known| known == self).unwrap_or_default() as u8
    }

    /// Whether it is set for a code; `None` is a missing value.
    pub fn is_set(self, code: Option<u32>) -> bool {
        match (self, code) {
            (_, None) => false,
            (Self::Valid, _) => true,
            (Self::AtLeast { digit, least }, Some(code)) => digit_of(code, digit) >= least,
        }
    }
}

/// A digit of a code. The most significant one has no bound of its own.
fn digit_of(code: u32, digit: usize) -> u32 {
    let step: u32 = BASES.iter().skip(digit + 1).product();
    let place = code / step.max(1);
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

    /// The comparison that plans make of the flags at a bound is that of codes, from the least to the greatest.
    #[test]
    fn flags_at_a_bound_compare_codes_with_it() {
        let some = [0, 1, 25, 26, 27, 675, 676, 677, 701, 702, 4096, 8192, 16_383, 16_384, 16_385];
        for bound in some {
            for code in some {
                let is_set = |digit, next| RankFlag::at(bound, digit, next).is_set(Some(code));
                let at_least = (0..RANK_DIGITS)
                    .rev()
                    .fold(true, |rest, digit| is_set(digit, true) || (is_set(digit, false) && rest));
                assert_eq!(at_least, code >= bound, "{code} {bound}");
                let is_equal = (0..RANK_DIGITS).all(|digit| is_set(digit, false) && !is_set(digit, true));
                assert_eq!(is_equal, code == bound, "{code} {bound}");
            }
        }
        assert!(RankFlag::all().all(|flag| !flag.is_set(None)));
    }

    /// Whatever the bound, as many flags are named, and none twice.
    #[test]
    fn no_flag_of_a_bound_is_named_twice() {
        for bound in 0..=2 * CHUNK_ROWS + 1 {
            let mut numbers: Vec<u8> = (0..RANK_DIGITS)
                .flat_map(|digit| [false, true].map(|next| RankFlag::at(bound, digit, next).number()))
                .collect();
            numbers.sort_unstable();
            numbers.dedup();
            assert_eq!((numbers.len(), numbers.contains(&RankFlag::Valid.number())), (6, false), "{bound}");
        }
    }
}
