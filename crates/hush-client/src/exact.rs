// SPDX-License-Identifier: Apache-2.0
//! From exact sums to results: rationals rounded once, to the nearest double.
//!
//! Every statistic is a ratio of integers, or the square root of one, so that nothing is rounded before the
//! last step; two machines that hold the same sums print the same digits.

mod joint;
mod moments;

use arrow::datatypes::i256;
use ethnum::I256;
use hush_plan::plan::Fraction;
use num_bigint::{BigInt, BigUint, Sign};
use num_integer::Integer;
use num_traits::{Pow, Signed, ToPrimitive, Zero};

pub(crate) use joint::Joint;
pub(crate) use moments::Moments;

/// Bits kept before the one rounding: 53 of the double, a guard and the sticky bit.
const WORKING_BITS: i64 = 66;

/// `I256` as a big integer.
pub(crate) fn big(value: I256) -> BigInt {
    let magnitude = BigUint::from_bytes_le(&value.unsigned_abs().to_le_bytes());
    BigInt::from_biguint(if value < 0 { Sign::Minus } else { Sign::Plus }, magnitude)
}

/// An Arrow 256-bit integer as a big integer.
pub(crate) fn big_of_arrow(value: i256) -> BigInt {
    BigInt::from_signed_bytes_le(&value.to_le_bytes())
}

/// The value at the place `(count − 1)·part`, of which `low` and `high` are the neighbours.
pub(crate) fn between(part: Fraction, count: &BigInt, (low, high): (&BigInt, &BigInt), scale: u8) -> f64 {
    let denominator = BigInt::from(part.denominator);
    let place: BigInt = (count - 1) * part.numerator;
    let behind = place.mod_floor(&denominator);
    let weighted = low * (&denominator - &behind) + high * behind;
    ratio(&weighted, &(denominator * ten_to(u32::from(scale))))
}

/// `10^exponent`.
pub(crate) fn ten_to(exponent: u32) -> BigInt {
    BigInt::from(10u8).pow(exponent)
}

/// `numerator / denominator` rounded to the nearest double, ties to even; `denominator` must be positive.
///
/// Exact for every result in the normal range; a ratio of sums is never near the subnormals.
pub(crate) fn ratio(numerator: &BigInt, denominator: &BigInt) -> f64 {
    let magnitude = positive_ratio(numerator.magnitude(), denominator.magnitude());
    if numerator.is_negative() { -magnitude } else { magnitude }
}

/// `√(numerator / denominator)` rounded to the nearest double; both at least 0, `denominator` positive.
pub(crate) fn root_ratio(numerator: &BigInt, denominator: &BigInt) -> f64 {
    let (top, bottom) = (numerator.magnitude(), denominator.magnitude());
    if top.is_zero() {
        return 0.0;
    }
    let have = (top.bits() as i64 - bottom.bits() as i64).div_euclid(2);
    let shift = (WORKING_BITS - have).max(0) as u64;
    let (quotient, remainder) = (top << (2 * shift)).div_rem(bottom);
    let root = quotient.sqrt();
    let inexact = !remainder.is_zero() || &root * &root != quotient;
    scaled(root, inexact, shift)
}

fn positive_ratio(top: &BigUint, bottom: &BigUint) -> f64 {
    if top.is_zero() {
        return 0.0;
    }
    let shift = (WORKING_BITS - (top.bits() as i64 - bottom.bits() as i64)).max(0) as u64;
    let (quotient, remainder) = (top << shift).div_rem(bottom);
    scaled(quotient, !remainder.is_zero(), shift)
}

/// `value · 2^-shift` as a double. A lost remainder becomes the last bit of `value`, far below the rounding
/// position, so that the conversion rounds the true number.
fn scaled(value: BigUint, inexact: bool, shift: u64) -> f64 {
    let sticky = if inexact { value | BigUint::from(1u8) } else { value };
    let rounded = sticky.to_f64().unwrap_or(f64::INFINITY);
    rounded * (-(shift as f64)).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_round_to_the_nearest_double() {
        for (top, bottom, expected) in [
            (1, 3, 1.0 / 3.0),
            (-2, 3, -2.0 / 3.0),
            (10, 2, 5.0),
            (0, 7, 0.0),
            (i64::MAX, 1, i64::MAX as f64),
        ] {
            assert_eq!(ratio(&BigInt::from(top), &BigInt::from(bottom)), expected);
        }
        // Halfway between two doubles, and one unit above it: ties go to even, the rest up.
        let half = (BigInt::from(1u64) << 60u32) + (1 << 7);
        assert_eq!(ratio(&half, &BigInt::from(1)), (1u64 << 60) as f64);
        assert_eq!(ratio(&(&half * 1000 + 1), &BigInt::from(1000)), (1u64 << 60) as f64 + 256.0);
    }

    #[test]
    fn roots_round_to_the_nearest_double() {
        for n in [2u64, 3, 5, 7, 10, 1_000_003, 144, u32::MAX as u64] {
            assert_eq!(root_ratio(&BigInt::from(n), &BigInt::from(1)), (n as f64).sqrt());
        }
        assert_eq!(root_ratio(&BigInt::from(1), &BigInt::from(4)), 0.5);
    }

    /// A finite double as a fraction.
    fn fraction(value: f64) -> (BigInt, BigInt) {
        let bits = value.to_bits();
        let exponent = ((bits >> 52) & 0x7ff) as i64 - 1075;
        let mantissa = BigInt::from((bits & ((1 << 52) - 1)) | 1 << 52);
        let power = BigInt::from(1) << exponent.unsigned_abs();
        if exponent < 0 { (mantissa, power) } else { (mantissa * power, BigInt::from(1)) }
    }

    /// The midpoints between `found` and its neighbours: the two ends of the numbers that round to `found`.
    fn ends(found: f64) -> [(BigInt, BigInt); 2] {
        [found.next_down(), found.next_up()].map(|neighbour| {
            let ((a, b), (c, d)) = (fraction(found), fraction(neighbour));
            (&a * &d + &c * &b, BigInt::from(2) * b * d)
        })
    }

    /// Fractions show that results are the nearest doubles, for ratios and roots of any size.
    #[test]
    fn no_double_is_nearer() {
        let mut draw = hush_testkit::Draw::new();
        // A number of exactly so many bits.
        let mut wide = |bits: usize| {
            let words = (0..bits.div_ceil(32)).map(|_| draw.word() as u32).collect();
            let cut = BigUint::new(words) >> (bits.next_multiple_of(32) - bits);
            BigInt::from_biguint(Sign::Plus, cut | BigUint::from(1_u8) << (bits - 1))
        };
        for (top, bottom) in
            [(1, 1), (20, 3), (3, 20), (64, 64), (300, 20), (20, 300), (131, 130), (130, 131), (250, 120)]
        {
            for _ in 0..50 {
                let (p, q) = (wide(top), wide(bottom));
                let [below, above] = ends(ratio(&p, &q));
                assert!(&below.0 * &q <= &p * &below.1 && &p * &above.1 <= &above.0 * &q, "{p}/{q}");
                assert_eq!(ratio(&-&p, &q), -ratio(&p, &q));
                let [below, above] =
                    ends(root_ratio(&p, &q)).map(|(top, bottom)| (&top * &top, &bottom * &bottom));
                assert!(&below.0 * &q <= &p * &below.1 && &p * &above.1 <= &above.0 * &q, "root of {p}/{q}");
            }
        }
        assert_eq!(root_ratio(&BigInt::from(0), &BigInt::from(3)), 0.0);
        // Halfway, and the least bit above it.
        let half = (BigInt::from(1) << 53) + 1;
        let square = &half * &half;
        assert_eq!(root_ratio(&square, &BigInt::from(1)), 53_f64.exp2());
        assert_eq!(root_ratio(&(&square + 1), &BigInt::from(1)), 53_f64.exp2() + 2.0);
        assert_eq!(root_ratio(&(&square * 7 + 1), &BigInt::from(7)), 53_f64.exp2() + 2.0);
    }
}
