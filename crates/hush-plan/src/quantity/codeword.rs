// SPDX-License-Identifier: Apache-2.0
//! Constant-weight codes: values as sets of flags that are all of one size, for equality alone.
//!
//! A value's codeword is the set of flags that are 1 for it. Codewords have the same number of flags, their weight, so that a value is equal to a constant
//! where the product of the flags of the constant's codeword is 1. There are as many codewords as there are sets of that size: 75 flags write 65,536 values
//! with weight 3, where a thermometer of three digits takes 120.
//!
//! ```text
//!   5 flags, weight 2    value   0    1    2    3    …
//!                        set    a,b  a,d  b,c  d,e            x = 2:  flag b · flag c
//! ```
//!
//! *Which set.* Sets are numbered as sums of binomials (the combinatorial number system). A value has the set whose number is its own times a constant,
//! modulo how many sets there are: values near each other then have no more flags in common than others.
//!
//! *Source.* Mahdavi and Kerschbaum, Constant-weight PIR, USENIX Security 2022.

use num_integer::Integer;
use serde::{Deserialize, Serialize};

/// Most flags of a codeword.
pub const MAX_WEIGHT: usize = 4;
/// Most flags of a code.
pub const MAX_LENGTH: u16 = 512;
/// Most flags of a code as long as a greater weight makes it shorter.
const USUAL_LENGTH: u16 = 96;

/// A code in which every word has the same weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConstantWeight {
    /// Flags.
    pub length: u16,
    /// Those of a codeword, 1 to [`MAX_WEIGHT`].
    pub weight: u8,
}

/// A flag of a constant-weight code: whether the codeword of a value has it. The place of a value is how far it lies above the least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodewordFlag {
    /// The least value, in units.
    pub low: i128,
    /// The code.
    pub code: ConstantWeight,
    /// The flag's number in the code.
    pub number: u16,
}

/// The numbers of a codeword's flags, falling; 0 behind those of its weight.
pub type Codeword = [u16; MAX_WEIGHT];

impl ConstantWeight {
    /// A code for so many values: of the least weight that keeps it short, or of the greatest that is allowed. `None` if no code has so many words.
    pub fn of(values: u64, most_weight: usize) -> Option<Self> {
        let greatest = most_weight.clamp(1, MAX_WEIGHT) as u8;
        let code = |weight: u8| {
            let has_room = |length: &u16| binomial((*length).into(), weight.into()) >= values;
            Some(Self { length: (u16::from(weight)..=MAX_LENGTH).find(has_room)?, weight })
        };
        let short = (greatest.min(2)..=greatest).filter_map(code).find(|code| code.length <= USUAL_LENGTH);
        short.or_else(|| code(greatest))
    }

    /// Codewords.
    pub fn words(self) -> u64 {
        binomial(self.length.into(), self.weight.into())
    }

    /// What finds the codeword of a place, which is below [`ConstantWeight::words`]. No two places have the same.
    pub fn coder(self) -> impl Fn(u64) -> Codeword {
        let words = self.words().max(1);
        let step = step_of(words);
        move |place| {
            // Codes of up to 512 flags have fewer than 2^32 words.
            let mut rest = place.wrapping_mul(step) % words;
            let (mut word, mut below) = ([0; MAX_WEIGHT], self.length);
            for (flag, left) in word.iter_mut().zip((1..=u64::from(self.weight)).rev()) {
                // The largest number whose binomial is at most the rest.
                let (mut low, mut high) = (left as u16 - 1, below);
                while low + 1 < high {
                    let middle = low + (high - low) / 2;
                    if binomial(middle.into(), left) <= rest { low = middle } else { high = middle }
                }
                rest -= binomial(low.into(), left).min(rest);
                (*flag, below) = (low, low);
            }
            word
        }
    }

    /// The flags of a codeword.
    pub fn flags_of(self, word: &Codeword) -> &[u16] {
        word.get(..usize::from(self.weight)).unwrap_or(word)
    }
}

/// Sets of `size` of `all` things, for sizes up to [`MAX_WEIGHT`].
fn binomial(all: u64, size: u64) -> u64 {
    (0..size).fold(1, |found, taken| found * all.saturating_sub(taken) / (taken + 1))
}

/// The number nearest to a golden section that has no factor in common with another.
fn step_of(words: u64) -> u64 {
    let golden = (u128::from(words) * 618_033_988_749 / 1_000_000_000_000) as u64;
    (1..=golden.max(1)).rev().find(|step| step.gcd(&words) == 1).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn codes_have_words_for_all_values_and_are_short() {
        let code = |values, most| ConstantWeight::of(values, most).map(|code| (code.length, code.weight));
        assert_eq!([code(2, 4), code(10, 4), code(11, 4)], [Some((3, 2)), Some((5, 2)), Some((6, 2))]);
        assert_eq!([code(4560, 4), code(4561, 4)], [Some((96, 2)), Some((32, 3))]);
        assert_eq!([code(65_536, 4), code(65_536, 2)], [Some((75, 3)), Some((363, 2))]);
        assert_eq!([code(1 << 24, 4), code(1 << 24, 3)], [Some((144, 4)), Some((467, 3))]);
        assert_eq!([code(7, 1), code(512, 1), code(513, 1)], [Some((7, 1)), Some((512, 1)), None]);
        let most = ConstantWeight { length: MAX_LENGTH, weight: 4 }.words();
        assert_eq!((most, code(most, 4), code(most + 1, 4)), (2_829_877_120, Some((512, 4)), None));
        // The product of a place and a step stays within 64 bits.
        assert!(most < 1 << 32);
    }

    /// Every word of small codes, and words of the longest: as many flags as the weight, each below the length, and none twice.
    #[test]
    fn codewords_are_sets_of_one_size_and_no_two_are_alike() {
        for code in [(1, 1), (9, 1), (3, 2), (40, 2), (12, 3), (33, 3), (4, 4), (20, 4)] {
            let code = ConstantWeight { length: code.0, weight: code.1 };
            let (coder, mut all) = (code.coder(), BTreeSet::new());
            for place in 0..code.words() {
                let word = coder(place);
                let flags = code.flags_of(&word);
                assert_eq!(flags.len(), usize::from(code.weight));
                assert!(flags.windows(2).all(|pair| pair[0] > pair[1]), "{code:?} {word:?}");
                assert!(flags[0] < code.length, "{code:?} {word:?}");
                all.insert(word);
            }
            assert_eq!(all.len() as u64, code.words(), "{code:?}");
        }
        let code = ConstantWeight { length: MAX_LENGTH, weight: 4 };
        let (coder, last) = (code.coder(), code.words() - 1);
        let some: BTreeSet<Codeword> = (0..5000).chain(last - 5000..=last).map(&coder).collect();
        assert_eq!(some.len(), 10_001);
        assert!(
            some.iter().all(|word| word[0] < MAX_LENGTH && word.windows(2).all(|pair| pair[0] > pair[1]))
        );
    }

    /// Neighbours have about as many flags in common as any two values.
    #[test]
    fn values_near_each_other_have_no_more_flags_in_common() {
        let code = ConstantWeight::of(65_536, 4).unwrap();
        let coder = code.coder();
        let common = |one: u64, other: u64| {
            let (one, other) = (coder(one), coder(other));
            code.flags_of(&one).iter().filter(|flag| code.flags_of(&other).contains(flag)).count()
        };
        let shared: usize = (0..60_000).map(|place| common(place, place + 1)).sum();
        // Of two random words of 3 of 75 flags, 9 / 75 of a flag is common.
        assert!(shared < 60_000 / 4, "{shared}");
    }
}
