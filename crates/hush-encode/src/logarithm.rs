// SPDX-License-Identifier: Apache-2.0
//! Natural logarithms of integers in fixed point, and back: what PRODUCT and GEOMEAN are made of.
//!
//! *Rows.* [`ln_units`] multiplies the mantissa up to 2 by factors `1 + 2^-k`, each at most once, and subtracts their
//! logarithms (pseudo-division, Briggs 1624): shifts and additions of 128 bits, some 100 ns a value.
//!
//! *Results.* [`power`] is the sum of a few series in integers of any width: `exp` of a sum of up to `2^31` logarithms,
//! with an error far below the last digit of a double.

use std::sync::LazyLock;

use ethnum::U256;
use hush_plan::quantity::LOG_FRACTION_BITS;
use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, Signed, ToPrimitive, Zero};

/// Binary digits after the point of the tables: leaves 8 for `ln 2^256`.
const TABLE_BITS: u32 = 118;
/// Factors `1 + 2^-k` with `k` up to this are divided out; the rest is below `2^-STEPS`.
const STEPS: usize = 90;
/// Binary digits after the point of a result's logarithm.
const RESULT_BITS: u32 = 192;
/// Doubles end at `2^1024` and, with subnormals, at `2^-1074`.
const LARGEST_EXPONENT: i64 = 1100;

/// `ln 2` and `ln(1 + 2^-k)` for `k` from 1, in units of `2^-TABLE_BITS`.
static TABLE: LazyLock<(u128, Vec<u128>)> = LazyLock::new(|| {
    let to_table = |value: BigInt| {
        let shift = RESULT_BITS - TABLE_BITS;
        ((value + (BigInt::one() << (shift - 1))) >> shift).to_u128().unwrap_or(0)
    };
    let factors = (1..=STEPS).map(|k| to_table(ln(&((BigInt::one() << k) + 1u8)) - ln_of_two() * k));
    (to_table(ln_of_two()), factors.collect())
});

/// `ln magnitude` in units of `2^-`[`LOG_FRACTION_BITS`], to the nearest within 2^-8 of a unit; `magnitude` is at least 1.
///
/// # Cost
/// 90 steps of a shift, an addition and a comparison: some 100 ns.
pub fn ln_units(magnitude: U256) -> i128 {
    let (ln_two, factors) = &*TABLE;
    let exponent = 255 - magnitude.leading_zeros();
    // In [1, 2), with 126 digits after the point.
    let mut mantissa = ((magnitude << (255 - exponent)) >> 129u32).as_u128();
    let mut left = *ln_two;
    for (factor, k) in factors.iter().zip(1u32..) {
        let larger = mantissa + (mantissa >> k);
        if larger >> 127 == 0 {
            mantissa = larger;
            left -= factor;
        }
    }
    let total = u128::from(exponent) * ln_two + left;
    let drop = TABLE_BITS - LOG_FRACTION_BITS;
    ((total + (1 << (drop - 1))) >> drop) as i128
}

/// A power `base^exponent` of a positive rational, as its logarithm.
pub struct Power<'a> {
    /// Positive integer.
    pub numerator: &'a BigInt,
    /// Positive integer.
    pub denominator: &'a BigInt,
    /// Its multiplicity in the product.
    pub exponent: &'a BigInt,
}

/// `(exp(logs·2^-LOG_FRACTION_BITS) · Π powers)^(1/root)`, with a relative error below `2^-80` beside that of `logs`. Infinite
/// above the largest double.
pub fn power(logs: &BigInt, powers: &[Power<'_>], root: &BigInt) -> f64 {
    let mut total = logs << (RESULT_BITS - LOG_FRACTION_BITS);
    for factor in powers {
        total += (ln(factor.numerator) - ln(factor.denominator)) * factor.exponent;
    }
    exp(&(total / root))
}

/// `exp` of a number in units of `2^-RESULT_BITS`, rounded to the nearest double.
fn exp(value: &BigInt) -> f64 {
    let ln_two = ln_of_two();
    let exponent = (value + (&ln_two >> 1u8)).div_floor(&ln_two);
    let rest = value - &exponent * &ln_two;
    let (mut term, mut sum) = (BigInt::one() << RESULT_BITS, BigInt::zero());
    for step in 1u32.. {
        sum += &term;
        term = ((term * &rest) >> RESULT_BITS) / step;
        if term.bits() <= 1 {
            break;
        }
    }
    let limit = LARGEST_EXPONENT;
    let exponent = exponent.to_i64().unwrap_or(if exponent.is_negative() { -limit } else { limit });
    let exponent = exponent.clamp(-limit, limit) as i32;
    // In two steps, so that neither power of two is out of range.
    let mantissa = sum.to_f64().unwrap_or(f64::NAN) * (-f64::from(RESULT_BITS)).exp2();
    mantissa * f64::from(exponent / 2).exp2() * f64::from(exponent - exponent / 2).exp2()
}

/// `ln` of a positive integer in units of `2^-RESULT_BITS`: `e·ln 2 + 2·artanh((m − 1)/(m + 1))` with `m` in [1, 2).
fn ln(value: &BigInt) -> BigInt {
    let exponent = value.bits().saturating_sub(1);
    let mantissa = (value << RESULT_BITS) >> exponent;
    let one = BigInt::one() << RESULT_BITS;
    let fraction = ((&mantissa - &one) << RESULT_BITS) / (&mantissa + &one);
    artanh(fraction) * 2u8 + if exponent == 0 { BigInt::zero() } else { ln_of_two() * exponent }
}

/// `ln 2 = 2·artanh(1/3)` in units of `2^-RESULT_BITS`.
fn ln_of_two() -> BigInt {
    static LN_TWO: LazyLock<BigInt> = LazyLock::new(|| artanh((BigInt::one() << RESULT_BITS) / 3u8) * 2u8);
    LN_TWO.clone()
}

/// `artanh` of a number in [0, 1/3], in units of `2^-RESULT_BITS`.
fn artanh(fraction: BigInt) -> BigInt {
    let square = (&fraction * &fraction) >> RESULT_BITS;
    let (mut term, mut sum) = (fraction, BigInt::zero());
    for step in 0u32.. {
        if term.is_zero() {
            break;
        }
        sum += &term / (2 * step + 1);
        term = (term * &square) >> RESULT_BITS;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use hush_testkit::Draw;

    #[test]
    fn logarithms_of_rows_are_those_of_the_series() {
        let mut draw = Draw::of(91);
        let mut word = || (u128::from(draw.word()) << 64) | u128::from(draw.word());
        let half = BigInt::one() << (RESULT_BITS - LOG_FRACTION_BITS - 1);
        for case in 0..2000u32 {
            let bits = 1 + case % 256;
            let random = U256::from_words(word(), word()) >> (256 - bits);
            for magnitude in [random.max(U256::ONE), U256::ONE << (bits - 1), U256::MAX >> (256 - bits)] {
                let exact = ln(&BigInt::from_bytes_le(num_bigint::Sign::Plus, &magnitude.to_le_bytes()));
                let found = BigInt::from(ln_units(magnitude)) << (RESULT_BITS - LOG_FRACTION_BITS);
                let error = (found - exact).abs();
                assert!(error <= &half + (&half >> 7u8), "{magnitude}: {error}");
            }
        }
        assert_eq!(ln_units(U256::ONE), 0);
    }

    #[test]
    fn products_of_integers_come_out_whole() {
        for values in [vec![2u64, 3, 4], vec![7; 18], vec![1_000_003, 999_983], vec![1; 1000], vec![10; 22]] {
            let logs: BigInt = values.iter().map(|v| BigInt::from(ln_units(U256::from(*v)))).sum();
            let expected: BigInt = values.iter().map(|v| BigInt::from(*v)).product();
            assert_eq!(power(&logs, &[], &BigInt::one()), expected.to_f64().unwrap(), "{values:?}");
        }
    }

    #[test]
    fn constant_factors_and_roots() {
        let (three, hundred, five) = (BigInt::from(3), BigInt::from(100), BigInt::from(5));
        let percent = Power { numerator: &three, denominator: &hundred, exponent: &five };
        assert_eq!(power(&BigInt::zero(), &[percent], &BigInt::one()), 2.43e-8);
        let logs = BigInt::from(ln_units(U256::from(1_000_000u32)));
        assert_eq!(power(&logs, &[], &BigInt::from(2)), 1000.0);
    }

    #[test]
    fn what_no_double_holds_is_infinite_or_nothing() {
        let thousand = BigInt::from(ln_units(U256::from(1000u32)));
        assert_eq!(power(&(&thousand * 102), &[], &BigInt::one()), 1e306);
        assert_eq!(power(&(&thousand * 103), &[], &BigInt::one()), f64::INFINITY);
        assert_eq!(power(&(&thousand * 1_000_000_000u64), &[], &BigInt::one()), f64::INFINITY);
        assert_eq!(power(&(&thousand * -107), &[], &BigInt::one()), 1e-321);
        assert_eq!(power(&(&thousand * -1_000_000_000i64), &[], &BigInt::one()), 0.0);
    }
}
