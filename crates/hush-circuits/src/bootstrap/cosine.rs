// SPDX-License-Identifier: Apache-2.0
//! A polynomial that is a cosine near integers.
//!
//! # Math
//! Wanted is `c(x) = cos(2π·(x − 1/4)/2^r)` for `x = I + δ` with integers `|I| < R` and `|δ| ≤ ε`; doubling the angle `r` times makes `sin(2π·x) = sin(2π·δ)` of it. The polynomial of
//! degree `2·(R − 1)` that meets the cosine at every integer errs by `δ` times the difference of the slopes. That is nothing in the middle, and `2^-16` of the result at the ends, which
//! a bound cannot leave out. A polynomial that passes an integer at a distance `a` may have a slope that is nearer by far: `a` and the difference of slopes `b` depend
//! linearly on the values at the integers, and those are chosen for which the sum of all `(a/ε)² + b²`, in units of the cosine's own slope, is least. With `R = 16`, `r = 3` and `ε = 2^-15.33`
//! what is left is below `2^-25` of the largest result, at every integer.
//!
//! Points so far apart make coefficients from which rounding would be magnified by 2^20 or so: they are computed with 256 bits after the point.

use num_bigint::BigInt;
use num_traits::{One, Signed, ToPrimitive, Zero};

/// Bits after the point.
const BITS: u32 = 256;

/// Chebyshev coefficients in `x/range`, so that `x` runs from `−range` to `range`, of the polynomial for `|δ| ≤ epsilon`.
pub(super) fn near_integers(range: u32, doublings: u32, epsilon: f64) -> Vec<f64> {
    let last = i64::from(range) - 1;
    let nodes: Vec<i64> = (-last..=last).collect();
    let mut values: Vec<BigInt> = nodes.iter().map(|&x| cosine(4 * x - 1, 2 << doublings)).collect();
    let exact = interpolated(&values, &nodes, range);
    for (value, distance) in values.iter_mut().zip(distances(&exact, &nodes, (range, doublings), epsilon)) {
        *value += scaled(distance);
    }
    interpolated(&values, &nodes, range)
}

/// The largest error at an integer of the range, in relation to the largest result.
pub(super) fn largest_error(series: &[f64], range: u32, doublings: u32, epsilon: f64) -> f64 {
    let last = i64::from(range) - 1;
    let error = |x: i64| {
        let (distance, slope) = error_at(series, range, doublings, x);
        distance.abs() / epsilon + slope.abs()
    };
    (-last..=last).map(error).fold(0.0, f64::max)
}

/// The error of a series at an integer, and that of its slope, both in units of the cosine's slope there. Doubles are good for `2^-50` and `2^-38`.
fn error_at(series: &[f64], range: u32, doublings: u32, integer: i64) -> (f64, f64) {
    let frequency = std::f64::consts::TAU / f64::from(1_u32 << doublings);
    let angle = frequency * (integer as f64 - 0.25);
    let own = -frequency * angle.sin();
    // T_i and T_i' by their recurrences.
    let u = integer as f64 / f64::from(range);
    let (mut t, mut d) = ([1.0, u], [0.0, 1.0]);
    let (mut value, mut slope) = (series.first().copied().unwrap_or(0.0), 0.0);
    for &c in series.iter().skip(1) {
        value += c * t[1];
        slope += c * d[1];
        (t, d) = ([t[1], 2.0 * u * t[1] - t[0]], [d[1], 2.0 * t[1] + 2.0 * u * d[1] - d[0]]);
    }
    ((value - angle.cos()) / own, slope / f64::from(range) / own - 1.0)
}

/// How far from the cosine the polynomial passes each integer, for the slopes that it has without that.
fn distances(series: &[f64], nodes: &[i64], (range, doublings): (u32, u32), epsilon: f64) -> Vec<f64> {
    let frequency = std::f64::consts::TAU / f64::from(1_u32 << doublings);
    let own: Vec<f64> = nodes.iter().map(|&x| -frequency * (frequency * (x as f64 - 0.25)).sin()).collect();
    let slopes = slopes_of_values(nodes);
    // The unknowns are distances in units of ε times the slope.
    let mut rows = Vec::with_capacity(2 * nodes.len());
    for (index, &x) in nodes.iter().enumerate() {
        let (_, slope) = error_at(series, range, doublings, x);
        let of_distance = (0..nodes.len()).map(|other| if other == index { 1.0 } else { 0.0 });
        rows.push(of_distance.chain([0.0]).collect());
        let of_slope = (0..nodes.len()).map(|other| slopes[index][other] * epsilon * own[other] / own[index]);
        rows.push(of_slope.chain([-slope]).collect());
    }
    least_squares(rows).iter().zip(&own).map(|(distance, own)| distance * epsilon * own).collect()
}

/// By how much the slope of an interpolation at each node grows with the value at each node.
fn slopes_of_values(nodes: &[i64]) -> Vec<Vec<f64>> {
    let others = |node: i64| nodes.iter().copied().filter(move |&other| other != node);
    let weights: Vec<f64> = nodes
        .iter()
        .map(|&node| others(node).map(|other| (node - other) as f64).product::<f64>().recip())
        .collect();
    let slope = |at: usize, of: usize| match nodes[at] - nodes[of] {
        0 => others(nodes[at]).map(|other| ((nodes[at] - other) as f64).recip()).sum(),
        difference => weights[of] / weights[at] / difference as f64,
    };
    (0..nodes.len()).map(|at| (0..nodes.len()).map(|of| slope(at, of)).collect()).collect()
}

/// The unknowns for which the squares of all equations sum up to the least; in each the last number is what the rest should be. By Householder's reflections.
fn least_squares(mut rows: Vec<Vec<f64>>) -> Vec<f64> {
    let count = rows.first().map_or(0, |row| row.len() - 1);
    for column in 0..count {
        let norm = rows[column..].iter().map(|row| row[column] * row[column]).sum::<f64>().sqrt();
        let mut normal: Vec<f64> = rows[column..].iter().map(|row| row[column]).collect();
        normal[0] += if normal[0] < 0.0 { -norm } else { norm };
        let square: f64 = normal.iter().map(|x| x * x).sum();
        for other in column..=count {
            let along: f64 = rows[column..].iter().zip(&normal).map(|(row, x)| row[other] * x).sum();
            for (row, x) in rows[column..].iter_mut().zip(&normal) {
                row[other] -= 2.0 * along / square * x;
            }
        }
    }
    let mut unknowns = vec![0.0; count];
    for column in (0..count).rev() {
        let known: f64 = (column + 1..count).map(|other| rows[column][other] * unknowns[other]).sum();
        unknowns[column] = (rows[column][count] - known) / rows[column][column];
    }
    unknowns
}

/// The polynomial with these values, as Chebyshev coefficients in `x/range`.
fn interpolated(values: &[BigInt], nodes: &[i64], range: u32) -> Vec<f64> {
    let differences = divided_differences(values.to_vec());
    // Horner: p ← p·(x − node) + difference, x = range·u.
    let mut series: Vec<BigInt> = Vec::new();
    for (difference, &node) in differences.iter().zip(nodes).rev() {
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

/// A double as a number with [`BITS`] after the point, for magnitudes below 1.
fn scaled(value: f64) -> BigInt {
    let mantissa = (value * 100.0_f64.exp2()) as i128;
    BigInt::from(mantissa) << (BITS - 100)
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
    fn without_room_the_polynomial_meets_the_cosine_at_every_integer() {
        let (range, doublings) = (16, 3);
        // Next to nothing beside an integer: distances would cost more than slopes gain.
        let series = near_integers(range, doublings, (-60.0_f64).exp2());
        for x in -15_i64..=15 {
            let value = crate::polynomial::chebyshev_value(&series, x as f64 / 16.0);
            let expected = (2.0 * PI / 8.0 * (x as f64 - 0.25)).cos();
            assert!((value - expected).abs() < (-48.0_f64).exp2(), "{x}: {:e}", value - expected);
            let (_, slope) = error_at(&series, range, doublings, x);
            let most = match x.abs() {
                ..9 => -35.0,
                9..11 => -31.0,
                11..13 => -27.0,
                _ => -16.0,
            };
            assert!(slope.abs().log2() < most, "{x}: 2^{:.1}", slope.abs().log2());
        }
    }

    #[test]
    fn the_polynomial_follows_the_cosine_near_every_integer() {
        let (range, doublings) = (16, 3);
        for (epsilon_log2, most) in [(-15.33_f64, -25.0), (-9.33, -27.0)] {
            let epsilon = epsilon_log2.exp2();
            let series = near_integers(range, doublings, epsilon);
            assert_eq!(series.len(), 31);
            assert!(series.iter().all(|c| c.abs() < 1.0));
            let largest = largest_error(&series, range, doublings, epsilon).log2();
            assert!((most - 3.0..most).contains(&largest), "2^{largest:.1}");
            // The errors of a series are what it says of itself, at the ends and between.
            let frequency = 2.0 * PI / 8.0;
            for x in -15_i64..=15 {
                let own = frequency * (frequency * (x as f64 - 0.25)).sin().abs();
                for share in [-1.0, -0.3, 0.0, 0.7, 1.0] {
                    let at = x as f64 + share * epsilon;
                    let value = crate::polynomial::chebyshev_value(&series, at / 16.0);
                    let error = (value - (frequency * (at - 0.25)).cos()).abs() / own / epsilon;
                    // Doubles are good for 2^-50 of 1.
                    let slack = (-48.0_f64).exp2() / own / epsilon;
                    assert!(error <= largest.exp2() + slack, "{x} + {share}·ε: 2^{:.1}", error.log2());
                }
            }
            // Another polynomial is told apart.
            assert!(largest_error(&series[..21], range, doublings, epsilon) > 1e-4);
        }
    }

    #[test]
    fn least_squares_are_least() {
        // Through (0, 1), (1, 3), (2, 4): 7/6 + 3/2·x.
        let row = |x: f64, y: f64| vec![1.0, x, y];
        let line = least_squares(vec![row(0.0, 1.0), row(1.0, 3.0), row(2.0, 4.0)]);
        assert!((line[0] - 7.0 / 6.0).abs() < 1e-12 && (line[1] - 1.5).abs() < 1e-12, "{line:?}");
    }
}
