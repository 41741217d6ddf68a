// SPDX-License-Identifier: Apache-2.0
//! A polynomial that is a cosine near integers.
//!
//! # Math
//! Wanted is `cos(2π·(x − 1/4)/2^r)` for `x = I + δ` with integers `|I| < R` and a small `δ`; doubling the angle `r` times makes `sin(2π·x) = sin(2π·δ)` of it. The polynomial of
//! degree `2·(R − 1)` that meets the cosine at every integer of the range has no error there, and beside it one of `δ` times the difference of the slopes: its error is relative
//! to the result. With `R = 16` and `r = 3` the slopes differ by less than `2^-35` of themselves up to `|I| = 8`, `2^-31` up to 10, which one bootstrapping in some million exceeds,
//! and `2^-16` at 15, which none reaches.
//!
//! Points so far apart make coefficients from which rounding would be magnified by 2^20 or so: they are computed with 256 bits after the point.

use num_bigint::BigInt;
use num_traits::{One, Signed, ToPrimitive, Zero};

/// Bits after the point.
const BITS: u32 = 256;

/// Chebyshev coefficients in `x/range`, so that `x` runs from `−range` to `range`.
pub(super) fn near_integers(range: u32, doublings: u32) -> Vec<f64> {
    let last = i64::from(range) - 1;
    let nodes: Vec<i64> = (-last..=last).collect();
    let values: Vec<BigInt> = nodes.iter().map(|&x| cosine(4 * x - 1, 2 << doublings)).collect();
    let differences = divided_differences(values);
    // Horner: p ← p·(x − node) + difference, x = range·u.
    let mut series: Vec<BigInt> = Vec::new();
    for (difference, &node) in differences.iter().zip(&nodes).rev() {
        let mut next = vec![BigInt::zero(); series.len() + 1];
        for (index, coefficient) in series.iter().enumerate() {
            next[index] -= coefficient * node;
            // u·T_i = (T_(i+1) + T_|i−1|)/2, and u·T_0 = T_1.
            let moved = coefficient * range;
            if index == 0 {
                next[1] += moved;
            } else {
                let half: BigInt = moved >> 1;
                next[index + 1] += &half;
                next[index - 1] += &half;
            }
        }
        next[0] += difference;
        series = next;
    }
    series.iter().map(real).collect()
}

/// The largest error at an integer of the range in relation to a small `δ`: the difference of the slopes, divided by the cosine's own.
pub(super) fn relative_error(series: &[f64], range: u32, doublings: u32) -> f64 {
    let last = range as i32 - 1;
    (-last..=last).map(|x| error_at(series, range, doublings, x)).fold(0.0, f64::max)
}

/// [`relative_error`] at one integer. Doubles are good for `2^-38`.
fn error_at(series: &[f64], range: u32, doublings: u32, integer: i32) -> f64 {
    let frequency = std::f64::consts::TAU / f64::from(1_u32 << doublings);
    let expected = -frequency * (frequency * (f64::from(integer) - 0.25)).sin();
    // T_i and T_i' by their recurrences.
    let u = f64::from(integer) / f64::from(range);
    let (mut t, mut d) = ([1.0, u], [0.0, 1.0]);
    let mut slope = 0.0;
    for &c in series.iter().skip(1) {
        slope += c * d[1];
        (t, d) = ([t[1], 2.0 * u * t[1] - t[0]], [d[1], 2.0 * t[1] + 2.0 * u * d[1] - d[0]]);
    }
    (slope / f64::from(range) / expected - 1.0).abs()
}

/// Newton's, over the integers in a row.
fn divided_differences(mut values: Vec<BigInt>) -> Vec<BigInt> {
    for order in 1..values.len() {
        for index in (order..values.len()).rev() {
            values[index] = (&values[index] - &values[index - 1]) / BigInt::from(order);
        }
    }
    values
}

/// `cos(π·numerator/denominator)`: `cos(2π·(x − 1/4)/2^r)` is that of `4x − 1` and `2·2^r`.
fn cosine(numerator: i64, denominator: i64) -> BigInt {
    let angle = pi() * numerator / denominator;
    let square: BigInt = (&angle * &angle) >> BITS;
    let (mut term, mut sum) = (BigInt::one() << BITS, BigInt::zero());
    let mut order = 0;
    while !term.is_zero() {
        sum += &term;
        term = -((&term * &square) >> BITS) / BigInt::from((order + 1) * (order + 2));
        order += 2;
    }
    sum
}

/// `16·atan(1/5) − 4·atan(1/239)`.
fn pi() -> BigInt {
    let arctangent = |inverse: i64| {
        let mut power = (BigInt::one() << BITS) / inverse;
        let (mut sum, mut order) = (BigInt::zero(), 1_i64);
        while !power.is_zero() {
            sum += &power / order;
            power = -power / (inverse * inverse);
            order += 2;
        }
        sum
    };
    arctangent(5) * 16 - arctangent(239) * 4
}

/// The nearest number of 53 bits, or next to it.
fn real(value: &BigInt) -> f64 {
    let bits = value.abs().bits() as i64;
    let shift = (bits - 64).max(0);
    (value >> shift as u64).to_f64().unwrap_or(0.0) * ((shift - i64::from(BITS)) as f64).exp2()
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;

    #[test]
    fn pi_and_cosines_are_those_of_the_library() {
        assert_eq!(real(&pi()), PI);
        for (numerator, denominator) in [(0, 1), (1, 3), (1, 2), (-61, 16), (59, 16)] {
            let expected = (PI * numerator as f64 / denominator as f64).cos();
            assert!((real(&cosine(numerator, denominator)) - expected).abs() < 1e-14);
        }
    }

    #[test]
    fn the_polynomial_meets_the_cosine_at_every_integer_and_nearly_follows_it_there() {
        let (range, doublings) = (16, 3);
        let series = near_integers(range, doublings);
        assert_eq!(series.len(), 31);
        assert!(series.iter().all(|c| c.abs() < 1.0));
        for x in -15_i32..=15 {
            let value = crate::polynomial::chebyshev_value(&series, f64::from(x) / 16.0);
            let expected = (2.0 * PI / 8.0 * (f64::from(x) - 0.25)).cos();
            assert!((value - expected).abs() < (-48.0_f64).exp2(), "{x}: {:e}", value - expected);
            let error = error_at(&series, range, doublings, x).log2();
            let most = match x.abs() {
                ..9 => -35.0,
                9..11 => -31.0,
                11..13 => -27.0,
                _ => -16.0,
            };
            assert!(error < most, "{x}: 2^{error:.1}");
        }
        let largest = relative_error(&series, range, doublings).log2();
        assert!((-18.0..-16.0).contains(&largest), "2^{largest:.1}");
        // Another polynomial is told apart.
        assert!(relative_error(&series[..21], range, doublings) > 1e-4);
    }
}
