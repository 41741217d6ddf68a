// SPDX-License-Identifier: Apache-2.0
//! Means with their confidence intervals.

use serde::{Deserialize, Serialize};

/// Statistics over all repetitions, and over the first apart from the later ones, which find memory and caches warm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Statistics {
    /// Mean of all.
    pub mean: f64,
    /// Half the width of the 95 % confidence interval of the mean, by Student's distribution; none of one repetition.
    pub ci95: Option<f64>,
    /// Median of all: what ratios are taken of.
    pub median: f64,
    /// The first.
    pub first: f64,
    /// Mean of the later ones; none of one repetition.
    pub later_mean: Option<f64>,
    /// Half the width of its interval; none of two repetitions.
    pub later_ci95: Option<f64>,
}

impl Statistics {
    /// Of these values; zeros for none.
    pub fn of(values: &[f64]) -> Self {
        let later = values.get(1..).unwrap_or(&[]);
        Self {
            mean: mean(values),
            ci95: half_width(values),
            median: crate::split_table::median(values),
            first: values.first().copied().unwrap_or(0.0),
            later_mean: (!later.is_empty()).then(|| mean(later)),
            later_ci95: half_width(later),
        }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// `t·s/√k` of `k` values with standard deviation `s`.
fn half_width(values: &[f64]) -> Option<f64> {
    let degrees = values.len().checked_sub(1).filter(|&degrees| degrees > 0)?;
    let mean = mean(values);
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / degrees as f64;
    Some(quantile_975(degrees) * (variance / values.len() as f64).sqrt())
}

/// The 97.5 % quantile of Student's distribution, by bisection of its integral.
fn quantile_975(degrees: usize) -> f64 {
    let (mut low, mut high) = (1.9, 12.8);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if probability_within(middle, degrees) < 0.95 { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// `P(|T| < t)`, which is a finite sum for a whole number of degrees of freedom: Abramowitz and Stegun, 26.7.3 and 26.7.4.
fn probability_within(t: f64, degrees: usize) -> f64 {
    let theta = (t / (degrees as f64).sqrt()).atan();
    let (sine, cosine) = theta.sin_cos();
    // cos θ·(1 + 2/3·cos² θ + …) for odd degrees, 1 + 1/2·cos² θ + … for even ones.
    let mut term = if degrees % 2 == 1 { cosine } else { 1.0 };
    let mut sum = 0.0;
    let mut divisor = if degrees % 2 == 1 { 1.0 } else { 0.0 };
    for _ in 0..degrees / 2 {
        sum += term;
        divisor += 2.0;
        term *= cosine * cosine * (divisor - 1.0) / divisor;
    }
    if degrees % 2 == 1 { std::f64::consts::FRAC_2_PI * (theta + sine * sum) } else { sine * sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (degrees, expected) in [
            (1, 12.7062),
            (2, 4.3027),
            (3, 3.1824),
            (4, 2.7764),
            (5, 2.5706),
            (9, 2.2622),
            (30, 2.0423),
            (100, 1.9840),
        ] {
            let found = quantile_975(degrees);
            assert!((found - expected).abs() < 6e-5, "{degrees}: {found}");
        }
    }

    #[test]
    fn the_first_repetition_is_told_from_the_later_ones() {
        let found = Statistics::of(&[4.0, 1.0, 2.0, 3.0]);
        assert_eq!((found.mean, found.median, found.first, found.later_mean), (2.5, 2.5, 4.0, Some(2.0)));
        // s = √(5/3) and 1.
        assert!((found.ci95.unwrap() - 3.182_446 * (5.0_f64 / 12.0).sqrt()).abs() < 1e-5);
        assert!((found.later_ci95.unwrap() - 4.302_653 / 3.0_f64.sqrt()).abs() < 1e-5);
        let one = Statistics::of(&[2.0]);
        assert_eq!((one.mean, one.ci95, one.later_mean, one.later_ci95), (2.0, None, None, None));
        assert_eq!(Statistics::of(&[]), Statistics::default());
    }
}
