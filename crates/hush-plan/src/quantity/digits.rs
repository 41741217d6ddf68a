// SPDX-License-Identifier: Apache-2.0
//! Limbs: the digits of a number, small enough for many of them to add up in a slot.

use num_bigint::BigInt;
use num_traits::{One, Zero};
use serde::{Deserialize, Serialize};

use crate::range::Interval;

/// Digits of numbers in base `2^bits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Digits {
    /// Bits of a digit.
    pub bits: u8,
    /// From 0 to less than `2^bits`, for numbers that are never negative; else from `-2^(bits-1)` to less than `2^(bits-1)`.
    ///
    /// Digits of both signs take a bit more for the same number: one limb more where it is the last.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub natural: bool,
}

impl Digits {
    /// Digits for the numbers of an interval.
    pub fn of(numbers: &Interval, bits: u8) -> Self {
        Self { bits, natural: *numbers.low() >= BigInt::zero() }
    }

    /// The smallest and the largest digit.
    pub fn range(self) -> Interval {
        let low = self.below();
        let high = (BigInt::one() << self.bits) - 1 - &low;
        Interval::point(-low).hull(&Interval::point(high))
    }

    /// How far digits reach below 0.
    fn below(self) -> BigInt {
        if self.natural { BigInt::zero() } else { BigInt::one() << self.bits.saturating_sub(1) }
    }

    /// How many write every number of an interval.
    pub fn places(self, numbers: &Interval) -> u8 {
        let (mut reach, mut weight) = (Interval::point(BigInt::zero()), BigInt::one());
        for places in 0..u8::MAX {
            if places > 0 && reach.contains(numbers) {
                return places;
            }
            reach = reach.add(&self.range().mul(&Interval::point(weight.clone())));
            weight <<= self.bits;
        }
        u8::MAX
    }

    /// The digit of a number at a place, the lowest first.
    pub fn digit(self, number: &BigInt, place: u8) -> i64 {
        // With its reach below 0 added to this digit and to all below, digits are those of ordinary numbers.
        let below = self.below();
        let all_below = (0..=place).fold(BigInt::zero(), |sum, _| (sum << self.bits) + &below);
        let shifted: BigInt = (number + all_below) >> (usize::from(self.bits) * usize::from(place));
        let mask = (BigInt::one() << self.bits) - 1;
        i64::try_from((shifted & mask) - below).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Digits lie in their range and add up to the number, and one fewer would not do for the ends of what so many write.
    #[test]
    fn digits_make_the_number() {
        for bits in [2, 6, 9, 13] {
            for number in [0, 1, -1, 255, 256, -256, 257, 65_535, -65_536, 123_456_789, -987_654_321_i64] {
                let numbers = Interval::point(number.into()).hull(&Interval::point(BigInt::zero()));
                let digits = Digits::of(&numbers, bits);
                assert_eq!(digits.natural, number >= 0);
                let both = Digits { natural: false, ..digits };
                for digits in [digits, both] {
                    let written: Vec<i64> = (0..digits.places(&numbers))
                        .map(|place| digits.digit(&number.into(), place))
                        .collect();
                    let is_one = |digit: &i64| digits.range().contains(&Interval::point((*digit).into()));
                    assert!(written.iter().all(is_one), "{number} {digits:?}");
                    let sum = written.iter().rev().fold(BigInt::zero(), |sum, digit| (sum << bits) + digit);
                    assert_eq!(sum, number.into(), "{number} {digits:?}");
                }
                assert!(both.places(&numbers) >= digits.places(&numbers));
            }
        }
    }

    #[test]
    fn as_few_places_as_hold_an_interval() {
        let places = |low: i64, high: i64, bits| {
            let numbers = Interval::point(low.into()).hull(&Interval::point(high.into()));
            Digits::of(&numbers, bits).places(&numbers)
        };
        assert_eq!([places(0, 0, 9), places(0, 511, 9), places(0, 512, 9)], [1, 1, 2]);
        assert_eq!([places(0, (1 << 27) - 1, 9), places(0, 1 << 27, 9)], [3, 4]);
        assert_eq!([places(-256, 255, 9), places(-256, 256, 9), places(-257, 0, 9)], [1, 2, 2]);
        // Two digits of both signs reach from -256 * 513 to 255 * 513.
        assert_eq!([places(-131_328, 130_815, 9), places(-1, 130_816, 9), places(-131_329, 0, 9)], [2, 3, 3]);
        assert_eq!(places(i64::MIN, i64::MAX, 6), 11);
    }
}
