// SPDX-License-Identifier: Apache-2.0
//! Functions of one real variable as Chebyshev series.

use std::f64::consts::PI;

use super::MAX_DEGREE;
use crate::CircuitError;

/// The coefficients `c_0 … c_degree` of the polynomial `Σ c_i·T_i(u)` that agrees with a function at the `degree + 1` Chebyshev
/// nodes of `[low, high]`, where `u` runs from −1 to 1 as the argument runs from `low` to `high`.
///
/// # Math
/// With `u_k = cos(π·(k + 1/2)/n)` and `n = degree + 1`, `c_j = (2/n)·Σ_k f(u_k)·cos(π·j·(k + 1/2)/n)`, half of it for `j = 0`.
/// Its largest error is within a factor of `2 + (2/π)·ln n` of the best polynomial's. Coefficients below the rounding of
/// `f64` are set to zero, so that odd and even functions have odd and even series.
///
/// # Cost
/// `n` values of the function, `n²` cosines.
///
/// # Errors
/// [`CircuitError::Interval`]; [`CircuitError::Degree`] above [`MAX_DEGREE`]; [`CircuitError::NotFinite`] with the position of
/// a node where the function is not finite.
pub fn chebyshev_interpolation(
    function: impl Fn(f64) -> f64,
    degree: usize,
    low: f64,
    high: f64,
) -> Result<Vec<f64>, CircuitError> {
    check_interval(low, high)?;
    if degree > MAX_DEGREE {
        return Err(CircuitError::Degree { found: degree, max: MAX_DEGREE });
    }
    let count = degree + 1;
    let angle = |k: usize| PI * (k as f64 + 0.5) / count as f64;
    let node = |k: usize| f64::midpoint(low, high) + 0.5 * (high - low) * angle(k).cos();
    let values: Vec<f64> = (0..count).map(|k| function(node(k))).collect();
    if let Some(index) = values.iter().position(|value| !value.is_finite()) {
        return Err(CircuitError::NotFinite { index });
    }
    let coefficient = |j: usize| {
        let sum: f64 = values.iter().enumerate().map(|(k, value)| value * (j as f64 * angle(k)).cos()).sum();
        sum * if j == 0 { 1.0 } else { 2.0 } / count as f64
    };
    let mut coefficients: Vec<f64> = (0..count).map(coefficient).collect();
    let largest = values.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    let rounding = largest * 2.0 * f64::EPSILON * (count as f64).sqrt();
    coefficients.iter_mut().filter(|c| c.abs() < rounding).for_each(|c| *c = 0.0);
    Ok(coefficients)
}

/// `Σ c_i·T_i(u)`, by Clenshaw's recurrence.
pub(crate) fn chebyshev_value(coefficients: &[f64], u: f64) -> f64 {
    let (mut next, mut after) = (0.0, 0.0);
    for &coefficient in coefficients.iter().skip(1).rev() {
        (next, after) = (2.0 * u * next - after + coefficient, next);
    }
    u * next - after + coefficients.first().copied().unwrap_or(0.0)
}

/// Refuses an interval that is empty or not finite.
pub(crate) fn check_interval(low: f64, high: f64) -> Result<(), CircuitError> {
    if low.is_finite() && high.is_finite() && low < high {
        return Ok(());
    }
    Err(CircuitError::Interval { low, high })
}
