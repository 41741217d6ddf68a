// SPDX-License-Identifier: Apache-2.0
//! Ranges in integers of any width.

use num_bigint::BigInt;
use num_traits::{One, Signed, ToPrimitive, Zero};

/// log2 of the smallest power of two that the owner's 256-bit arithmetic cannot hold.
pub const MAX_MESSAGE_LOG2: u32 = 255;

/// A closed interval of integers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Interval {
    low: BigInt,
    high: BigInt,
}

impl Interval {
    /// The interval of one number.
    pub fn point(value: BigInt) -> Self {
        Self { low: value.clone(), high: value }
    }

    /// `[low, high]`, where `low ≤ high`.
    pub(crate) fn between(low: BigInt, high: BigInt) -> Self {
        Self { low, high }
    }

    /// `[-max_abs, max_abs]`.
    pub fn symmetric(max_abs: BigInt) -> Self {
        Self { low: -max_abs.clone(), high: max_abs }
    }

    /// The smallest number.
    pub fn low(&self) -> &BigInt {
        &self.low
    }

    /// The largest number.
    pub fn high(&self) -> &BigInt {
        &self.high
    }

    /// Sums of one number of each.
    pub fn add(&self, other: &Self) -> Self {
        Self { low: &self.low + &other.low, high: &self.high + &other.high }
    }

    /// Products of one number of each.
    pub fn mul(&self, other: &Self) -> Self {
        let corners = [
            &self.low * &other.low,
            &self.low * &other.high,
            &self.high * &other.low,
            &self.high * &other.high,
        ];
        let (mut low, mut high) = (corners[0].clone(), corners[0].clone());
        for corner in corners {
            low = low.min(corner.clone());
            high = high.max(corner);
        }
        Self { low, high }
    }

    /// Powers of one number of it; an even power is never negative.
    pub fn pow(&self, exponent: u32) -> Self {
        let (low, high) = (self.low.pow(exponent), self.high.pow(exponent));
        let crosses = self.low.is_negative() && self.high.is_positive();
        if exponent.is_multiple_of(2) && crosses {
            return Self { low: BigInt::from(u8::from(exponent == 0)), high: low.max(high) };
        }
        Self { low: low.clone().min(high.clone()), high: low.max(high) }
    }

    /// The smallest interval that holds both.
    pub fn hull(&self, other: &Self) -> Self {
        Self { low: self.low.clone().min(other.low.clone()), high: self.high.clone().max(other.high.clone()) }
    }

    /// Whether every number of `other` is in `self`.
    pub fn contains(&self, other: &Self) -> bool {
        self.low <= other.low && other.high <= self.high
    }

    /// Largest absolute value.
    pub fn max_abs(&self) -> BigInt {
        self.low.abs().max(self.high.abs())
    }
}

/// `10^exponent`.
pub fn power_of_ten(exponent: u32) -> BigInt {
    BigInt::from(10u8).pow(exponent)
}

/// log2 of a positive number, `0` for zero; exact to a double's precision.
pub fn log2(value: &BigInt) -> f64 {
    let bits = value.bits();
    if bits <= 1 {
        return 0.0;
    }
    let shift = bits.saturating_sub(60);
    let top = (value.abs() >> shift).to_f64().unwrap_or(1.0);
    top.log2() + shift as f64
}

/// `rows · weight_max · max_abs`, the largest sum in absolute value.
pub fn largest_sum(rows: u64, weight_max: &BigInt, max_abs: &BigInt) -> BigInt {
    BigInt::from(rows.max(1)) * weight_max * max_abs
}

/// The smallest `k` with `|sum| < 2^(k−1)`, and at least 2.
pub fn message_log2(sum: &BigInt) -> u64 {
    (sum.abs().bits() + 1).max(2)
}

/// Whether `|value| ≤ i64::MAX`.
pub(crate) fn fits_int64(value: &BigInt) -> bool {
    value.bits() < 64
}

/// Whether `|value| < 10^digits`.
pub(crate) fn fits_digits(value: &BigInt, digits: u32) -> bool {
    value.abs() < power_of_ten(digits)
}

/// At least one, so that products with an all-zero column keep their width.
pub(crate) fn at_least_one(value: BigInt) -> BigInt {
    if value.is_zero() { BigInt::one() } else { value }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn interval(a: i64, b: i64) -> Interval {
        Interval { low: a.min(b).into(), high: a.max(b).into() }
    }

    proptest! {
        #[test]
        fn intervals_hold_what_their_parts_give(
            a in any::<(i64, i64)>(), b in any::<(i64, i64)>(), s in 0u8..=8, r in 0u8..=8,
        ) {
            let pick = |range: &Interval, at: u8| -> BigInt { range.low() + (range.high() - range.low()) * at / 8 };
            let (left, right) = (interval(a.0, a.1), interval(b.0, b.1));
            let (x, y) = (pick(&left, s), pick(&right, r));
            prop_assert!(left.add(&right).contains(&Interval::point(&x + &y)));
            prop_assert!(left.mul(&right).contains(&Interval::point(&x * &y)));
            for exponent in 0..5 {
                prop_assert!(left.pow(exponent).contains(&Interval::point(x.pow(exponent))));
            }
            prop_assert!(left.hull(&right).contains(&left) && left.hull(&right).contains(&right));
            prop_assert!(left.max_abs() >= x.abs());
        }

        #[test]
        fn the_message_width_is_the_smallest(sum in any::<i128>()) {
            let sum = BigInt::from(sum);
            let k = message_log2(&sum);
            prop_assert!(sum.abs() < BigInt::one() << (k - 1));
            prop_assert!(k == 2 || sum.abs() >= BigInt::one() << (k - 2));
        }
    }

    /// Every operation on small intervals is exactly the hull of what its operands' numbers give.
    #[test]
    fn intervals_are_no_wider_than_they_must_be() {
        let hull = |numbers: &mut dyn Iterator<Item = i64>| {
            let numbers: Vec<i64> = numbers.collect();
            interval(*numbers.iter().min().unwrap(), *numbers.iter().max().unwrap())
        };
        let all: Vec<(i64, i64)> = (-4..=4).flat_map(|a| (a..=4).map(move |b| (a, b))).collect();
        for &(a, b) in &all {
            let left = interval(a, b);
            for exponent in 0..5 {
                assert_eq!(
                    left.pow(exponent),
                    hull(&mut (a..=b).map(|x| x.pow(exponent))),
                    "{a}..{b}^{exponent}"
                );
            }
            for &(c, d) in &all {
                let right = interval(c, d);
                let pairs = || (a..=b).flat_map(|x| (c..=d).map(move |y| (x, y)));
                assert_eq!(left.add(&right), hull(&mut pairs().map(|(x, y)| x + y)));
                assert_eq!(left.mul(&right), hull(&mut pairs().map(|(x, y)| x * y)));
                assert_eq!(left.contains(&right), (c..=d).all(|y| (a..=b).contains(&y)), "{a}..{b} {c}..{d}");
            }
        }
        assert_eq!(Interval::symmetric(BigInt::from(3)), interval(-3, 3));
    }

    #[test]
    fn digits_are_counted_to_the_last() {
        for (value, digits, expected) in
            [(999, 3, true), (1000, 3, false), (-999, 3, true), (-1000, 3, false), (0, 0, true)]
        {
            assert_eq!(fits_digits(&BigInt::from(value), digits), expected, "{value}");
        }
    }

    #[test]
    fn sixty_four_bit_extremes() {
        let lowest = BigInt::from(i64::MIN).abs();
        assert_eq!(message_log2(&largest_sum(1, &BigInt::one(), &lowest)), 65);
        assert_eq!(message_log2(&largest_sum(1, &BigInt::one(), &BigInt::from(i64::MAX))), 64);
        assert_eq!(message_log2(&largest_sum(1 << 20, &BigInt::one(), &lowest)), 85);
        assert!(!fits_int64(&lowest) && fits_int64(&BigInt::from(i64::MAX)));
    }

    #[test]
    fn logarithms_of_wide_numbers() {
        assert_eq!(log2(&(BigInt::one() << 300)), 300.0);
        assert!((log2(&BigInt::from(10)) - 10f64.log2()).abs() < 1e-12);
        assert_eq!(log2(&BigInt::zero()), 0.0);
    }
}
