// SPDX-License-Identifier: Apache-2.0
//! Odd polynomials nearest to 1 on a positive interval, and so to the sign on it and its mirror image.
//!
//! # Math
//! The odd polynomials of degree up to `2·n − 1` are a Chebyshev system of dimension `n` on `[low, high]`, `low > 0`: the error
//! of the best one takes its extreme value at `n + 1` points with alternating signs. Remez's exchange solves
//! `p(x_i) + (−1)^i·E = 1` for `p` and `E`, moves the points to the extremes of the error, and repeats. `|E|` bounds the least
//! error from below, and the largest extreme from above, so that the result is certified by their ratio.
//!
//! # References
//! \[LLNK22\] minimax composites for comparison in CKKS.

use std::f64::consts::PI;

use crate::CircuitError;
use crate::polynomial::{MAX_DEGREE, chebyshev_value, check_interval};

/// The best odd polynomial and its error.
#[derive(Clone, PartialEq, Debug)]
pub struct OddMinimax {
    /// Coefficients of `T_i(x/high)`, `i = 0 … degree`; the even ones are 0.
    pub coefficients: Vec<f64>,
    /// The largest `|p(x) − 1|` on the interval, as measured; no less than the rounding of `f64`.
    pub error: f64,
    /// `|E|`: no odd polynomial of the degree has a smaller error.
    pub least_error: f64,
}

/// The odd polynomial of an odd `degree` that is nearest to 1 on `[low, high]`.
///
/// # Cost
/// For each of some ten exchanges `n³/3` products and `2^6·n²` for the search of extremes.
///
/// # Errors
/// [`CircuitError::Interval`] unless `0 < low < high`; [`CircuitError::Degree`] for an even degree or one above 63, where
/// `f64` does not suffice.
pub fn minimax_sign(degree: usize, low: f64, high: f64) -> Result<OddMinimax, CircuitError> {
    check_interval(low, high)?;
    if low <= 0.0 {
        return Err(CircuitError::Interval { low, high });
    }
    if degree.is_multiple_of(2) || degree > MAX_MINIMAX_DEGREE.min(MAX_DEGREE) {
        return Err(CircuitError::Degree { found: degree, max: MAX_MINIMAX_DEGREE });
    }
    let (low, count) = (low / high, degree.div_ceil(2));
    // Chebyshev points, where the extremes of a polynomial without the restriction to odd ones would be.
    let angle = |k: usize| PI * (count - k) as f64 / count as f64;
    let mut points: Vec<f64> =
        (0..=count).map(|k| f64::midpoint(low, 1.0) + 0.5 * (1.0 - low) * angle(k).cos()).collect();
    let mut best: Option<OddMinimax> = None;
    for _ in 0..MAX_EXCHANGES {
        let Some((coefficients, level)) = levelled(&points) else { break };
        points = extremes(&coefficients, &points, low);
        let error =
            points.iter().map(|&x| (chebyshev_value(&coefficients, x) - 1.0).abs()).fold(0.0, f64::max);
        let least_error = level.abs();
        if best.as_ref().is_none_or(|best| error < best.error) {
            // A measurement below the rounding of `f64` means nothing.
            best = Some(OddMinimax { coefficients, error: error.max(ROUNDING), least_error });
        }
        if error <= least_error * (1.0 + CONVERGED) || error < ROUNDING {
            break;
        }
    }
    best.ok_or(CircuitError::Interval { low: low * high, high })
}

/// `p` and `E` with `p(x_i) + (−1)^i·E = 1`; `None` if two points coincide.
fn levelled(points: &[f64]) -> Option<(Vec<f64>, f64)> {
    let size = points.len();
    let row = |(i, &x): (usize, &f64)| {
        let mut row = Vec::with_capacity(size + 1);
        // T_1, T_3, …: T_(k+2) = 2·T_2·T_k − T_(k−2), T_(−1) = T_1.
        let twice = 2.0 * (2.0 * x * x - 1.0);
        let (mut before, mut now) = (x, x);
        for _ in 1..size {
            row.push(now);
            (before, now) = (now, twice * now - before);
        }
        row.push(if i % 2 == 0 { 1.0 } else { -1.0 });
        row.push(1.0);
        row
    };
    let mut solution = solve(points.iter().enumerate().map(row).collect())?;
    let level = solution.pop()?;
    let coefficients = solution.iter().flat_map(|&c| [0.0, c]).collect();
    Some((coefficients, level))
}

/// Gaussian elimination with row pivots of the system `[A | b]`.
fn solve(mut rows: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let size = rows.len();
    for column in 0..size {
        let pivot =
            (column..size).max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs()))?;
        rows.swap(column, pivot);
        let (done, rest) = rows.split_at_mut(column + 1);
        let pivot = &done[column];
        if pivot[column] == 0.0 || !pivot[column].is_finite() {
            return None;
        }
        for row in rest {
            let factor = row[column] / pivot[column];
            row.iter_mut().zip(pivot).skip(column).for_each(|(entry, &above)| *entry -= factor * above);
        }
    }
    let mut solution = vec![0.0; size];
    for index in (0..size).rev() {
        let known: f64 = (index + 1..size).map(|k| rows[index][k] * solution[k]).sum();
        solution[index] = (rows[index][size] - known) / rows[index][index];
    }
    solution.iter().all(|value| value.is_finite()).then_some(solution)
}

/// One extreme of the error between each two neighbouring zeros of it, and the ends: the new points, rising.
fn extremes(coefficients: &[f64], points: &[f64], low: f64) -> Vec<f64> {
    let error = |x: f64| chebyshev_value(coefficients, x) - 1.0;
    // The error has opposite signs at neighbouring points, and hence a zero between them.
    let zero = |pair: &[f64]| {
        let (mut left, mut right) = (pair[0], pair[1]);
        let sign = error(left).signum();
        for _ in 0..60 {
            let middle = f64::midpoint(left, right);
            *(if error(middle).signum() == sign { &mut left } else { &mut right }) = middle;
        }
        f64::midpoint(left, right)
    };
    let mut bounds = vec![low];
    bounds.extend(points.windows(2).map(zero));
    bounds.push(1.0);
    let extreme = |bounds: &[f64]| {
        let (left, right) = (bounds[0], bounds[1]);
        let place = |k: usize| left + (right - left) * k as f64 / GRID as f64;
        let largest = |a: &f64, b: &f64| error(*a).abs().total_cmp(&error(*b).abs());
        let peak = (0..=GRID).map(place).max_by(largest).unwrap_or(left);
        let step = (right - left) / GRID as f64;
        golden(|x| error(x).abs(), (peak - step).max(left), (peak + step).min(right))
    };
    bounds.windows(2).map(extreme).collect()
}

/// The maximum of a function with one peak, by golden sections.
fn golden(function: impl Fn(f64) -> f64, mut left: f64, mut right: f64) -> f64 {
    let section = 0.5 * (5_f64.sqrt() - 1.0);
    for _ in 0..40 {
        let (a, b) = (right - section * (right - left), left + section * (right - left));
        if function(a) < function(b) { left = a } else { right = b }
    }
    let candidates = [left, f64::midpoint(left, right), right];
    candidates.into_iter().max_by(|&a, &b| function(a).total_cmp(&function(b))).unwrap_or(left)
}

/// The largest degree for which the exchange converges in `f64`.
const MAX_MINIMAX_DEGREE: usize = 63;
/// Points between two zeros of the error, where its extreme is first looked for.
const GRID: usize = 32;
const MAX_EXCHANGES: usize = 60;
/// Relative distance of the measured from the least error at which the exchange ends.
const CONVERGED: f64 = 1e-6;
/// Errors below are the rounding of `f64`.
const ROUNDING: f64 = 1e-14;
