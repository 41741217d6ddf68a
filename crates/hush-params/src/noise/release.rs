// SPDX-License-Identifier: Apache-2.0
//! How much noise drowns the error of a decrypted approximate result before it leaves its owner, and what precision is left.
//!
//! # Math
//! A released number is `p + ν` for a phase `p = m + e` and a discrete Gaussian `ν` of deviation `σ`. Of all that is published
//! only `e` depends on the secret. Let `‖e‖₂ ≤ E`, over all coefficients that are released as one number, and let at most `q`
//! numbers be released under one budget, chosen one after the other. Shifting a discrete Gaussian over the integers by `e`
//! changes it by a relative entropy of `‖e‖₂²/(2σ²)`; these add up over the releases, and Pinsker's inequality gives for
//! everything together a statistical distance of at most `½·√q·E/σ` from numbers in which `e` is 0. With
//! `σ = E·√q·2^(λ−1)` that is `2^-λ`.
//!
//! The noise is made of levels, `ν = Σ_{i<n} 2^i·x_i` with `x_i` of deviation [`BASE_DEVIATION`], so that `σ` takes the values
//! `5·√((4^n − 1)/3)`; the first that suffices is taken. See docs/security/release.md for the proof and for what the levels
//! cost: less than 2^-80 at the largest budget.

use super::tail;

/// Statistical distance of a whole budget from noise-free numbers, as a power of two: λ.
pub const DISTANCE_LOG2: f64 = 40.0;

/// Deviation of one level of the noise.
pub const BASE_DEVIATION: f64 = 5.0;

/// Most levels: the noise stays below `2^117`.
pub const MAX_LEVELS: u32 = 110;

/// Most numbers that one budget may have.
pub const MAX_ANSWERS: u32 = 1 << 16;

/// Levels of noise for an error of norm `2^error_log2` and a budget of `answers` numbers; `None` beyond [`MAX_LEVELS`].
pub fn levels(error_log2: f64, answers: u32) -> Option<u32> {
    let needed = error_log2 + 0.5 * f64::from(answers.max(1)).log2() + DISTANCE_LOG2 - 1.0;
    (1..=MAX_LEVELS).find(|levels| deviation_log2(*levels) >= needed)
}

/// log2 of the deviation of so many levels.
pub fn deviation_log2(levels: u32) -> f64 {
    let powers = ((2.0 * f64::from(levels)).exp2() - 1.0) / 3.0;
    BASE_DEVIATION.log2() + 0.5 * powers.log2()
}

/// log2 of what one of `count` numbers with noise of so many levels is off by at most, but with a chance of 2^-128: noise and
/// the error `2^error_log2` that it hides.
pub fn off_log2(levels: u32, count: f64, error_log2: f64) -> f64 {
    super::add_phase_log2(tail(count).log2() + deviation_log2(levels), error_log2)
}

/// log2 of the norm of the error of a fresh ring element, which a chance below 2^-226 exceeds; see
/// [`super::norm_failure_log2`].
pub fn element_norm_log2(degree: usize) -> f64 {
    0.5 * (2.0 * super::ERROR_VARIANCE * degree as f64).log2()
}

/// The same where coefficients deviate more by `factor` and depend on each other, as those of devices do
/// ([`super::device_factor`]; 1 for the owner's): each within its own tail.
pub fn stored_norm_log2(degree: usize, factor: f64) -> f64 {
    if factor <= 1.0 {
        return element_norm_log2(degree);
    }
    coefficient_log2(degree, factor) + 0.5 * (degree as f64).log2()
}

/// log2 of what no coefficient of a stored element's error exceeds but with a chance of 2^-128.
pub fn coefficient_log2(degree: usize, factor: f64) -> f64 {
    (tail(degree as f64) * factor).log2() + 0.5 * super::ERROR_VARIANCE.log2()
}

/// log2 of what one released value of a stored element is off by at most: noise, error, and the rounding of its encoding.
pub fn stored_off_log2(levels: u32, degree: usize, factor: f64) -> f64 {
    off_log2(levels, degree as f64, super::add_phase_log2(coefficient_log2(degree, factor), -1.0))
}

/// log2 of what the noise on a ring element's coefficients adds to the real part of one of its slots at most: in every direction
/// of the complex plane a slot of `N` independent coefficients has half their summed variance.
pub fn slot_off_log2(levels: u32, degree: usize) -> f64 {
    let degree = degree as f64;
    tail(degree / 2.0).log2() + deviation_log2(levels) + 0.5 * (degree / 2.0).log2()
}

/// Decimal digits after the point that are right up to one unit of the last digit, for numbers with an error of at most `2^off_log2`
/// at the scale `2^scale_log2`: twice the error is at most `10^-digits`. Negative if not even the units are right.
pub fn digits(off_log2: f64, scale_log2: f64) -> i32 {
    (-(1.0 + off_log2 - scale_log2) / std::f64::consts::LOG2_10).floor() as i32
}

/// The smallest log2 of a scale at which so many digits are right.
pub fn scale_log2(off_log2: f64, digits: u8) -> f64 {
    (1.0 + off_log2 + f64::from(digits) * std::f64::consts::LOG2_10).ceil()
}

#[cfg(test)]
mod tests {
    use super::super::sum_deviation;
    use super::*;

    /// The design's example: 10^7 rows, 1024 numbers, λ = 40 leave two digits at a scale of 72.5 bits; levels cost up to a bit.
    #[test]
    fn ten_million_rows_take_a_scale_of_seventy_three_bits() {
        let error = (tail(1.0) * sum_deviation(1e7, 1.0)).log2();
        assert!((error - 17.1).abs() < 0.1, "{error}");
        let levels = levels(error, 1024).unwrap();
        let off = off_log2(levels, 1.0, error);
        assert!((64.8..65.9).contains(&off), "{off}");
        let scale = scale_log2(off, 2);
        assert!((73.0..=74.0).contains(&scale), "{scale}");
        assert_eq!((digits(off, scale), digits(off, scale - 1.0)), (2, 1));
    }

    /// The bound itself: ½·√q·E/σ ≤ 2^-40, with the levels that are taken and not with one fewer.
    #[test]
    fn the_distance_is_below_its_bound_and_no_level_is_wasted() {
        for error in [0.0, 5.4, 17.1, 40.0] {
            for answers in [1, 1000, MAX_ANSWERS] {
                let levels = levels(error, answers).unwrap();
                let distance =
                    |levels| -1.0 + 0.5 * f64::from(answers).log2() + error - deviation_log2(levels);
                assert!(distance(levels) <= -DISTANCE_LOG2);
                assert!(distance(levels - 1) > -DISTANCE_LOG2);
            }
        }
        assert_eq!(levels(100.0, 1), None);
    }

    #[test]
    fn deviations_double_with_each_level() {
        assert!((deviation_log2(1).exp2() - BASE_DEVIATION).abs() < 1e-12);
        for levels in 5..MAX_LEVELS {
            assert!((deviation_log2(levels + 1) - deviation_log2(levels) - 1.0).abs() < 1e-2);
        }
        assert_eq!(digits(10.0, 5.0), -2);
    }
}
