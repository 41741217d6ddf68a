// SPDX-License-Identifier: Apache-2.0
//! Approximate results with the digits that hold. Digits below the error are noise, and are not shown.

use hush_plan::QueryPlan;
use hush_plan::plan::MomentFunction;

/// Digits after the point below which a double prints nothing new.
const MOST_DIGITS: f64 = 300.0;

/// Absolute error bounds of the encrypted operations of a plan, in the order of its task; 0 for exact ones.
pub(crate) fn errors(plan: &QueryPlan) -> Vec<f64> {
    plan.cost.nodes.iter().map(|node| node.error.unwrap_or(0.0)).collect()
}

/// A value with an error of at most `error`, rounded to the last decimal place with a unit of at least that size.
pub(crate) fn rounded(value: f64, error: f64) -> f64 {
    if !(error > 0.0 && error.is_finite() && value.is_finite()) {
        return value;
    }
    let digits = (-error.log10()).floor().clamp(-MOST_DIGITS, MOST_DIGITS);
    if digits < 0.0 {
        let unit = 10_f64.powf(-digits);
        return (value / unit).round() * unit;
    }
    to_digits(value, digits as usize)
}

/// A value rounded to so many digits after the point.
pub(crate) fn to_digits(value: f64, digits: usize) -> f64 {
    // By way of the text, which gives the double nearest to the decimal. That prints as the decimal.
    let text = format!("{value:.digits$}");
    text.parse().map_or(value, |rounded: f64| if rounded == 0.0 { 0.0 } else { rounded })
}

/// The error of a statistic of `n` values, with sum and sum of squares known up to `errors`.
pub(crate) fn statistic_error(
    function: MomentFunction,
    n: f64,
    statistic: f64,
    sum: f64,
    errors: (f64, f64),
) -> f64 {
    use MomentFunction as F;
    let (of_sum, of_squares) = errors;
    let sample = matches!(function, F::VarSamp | F::StddevSamp);
    let freedom = if sample { n - 1.0 } else { n };
    let variance = (of_squares + (2.0 * sum.abs() * of_sum + of_sum * of_sum) / n) / freedom;
    match function {
        F::Sum => of_sum,
        F::Avg => of_sum / n,
        F::VarPop | F::VarSamp => variance,
        // |√(v + δ) − √v| is at most √δ, and about δ/2√v where v is larger.
        F::StddevPop | F::StddevSamp if statistic > 0.0 => variance.sqrt().min(variance / statistic),
        F::StddevPop | F::StddevSamp => variance.sqrt(),
        // Of approximate columns the planner refuses them.
        F::Kurtosis | F::KurtosisPop | F::Skewness => f64::INFINITY,
    }
}

/// Digits after the point to which values of an approximate column with this error can be rounded again and again without moving: one
/// more than the schema declares, as decryption shows them, else as many. `None` if they are known less well.
pub(crate) fn stable_digits(declared: u8, error: f64) -> Option<usize> {
    let is_stable = |digits: &usize| error < 0.5 * 10_f64.powi(-(*digits as i32));
    [usize::from(declared) + 1, usize::from(declared)].into_iter().find(is_stable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_to_which_rounding_does_not_move() {
        let digits = [1e-5, 0.0004, 0.004, 0.006, f64::NAN].map(|error| stable_digits(2, error));
        assert_eq!(digits, [Some(3), Some(3), Some(2), None, None]);
    }

    #[test]
    fn no_digit_is_shown_below_the_error() {
        assert_eq!(rounded(2.345_678_901_234_567, 3e-7).to_string(), "2.345679");
        assert_eq!(rounded(-1.234_567e-9, 4e-15).to_string(), "-0.00000000123457");
        assert_eq!(rounded(123_456.0, 20.0), 123_500.0);
        assert_eq!(rounded(-1e-9, 1e-3).to_string(), "0");
        for value in [1.5, f64::NAN, f64::INFINITY] {
            assert_eq!(rounded(value, 0.0).to_bits(), value.to_bits());
            assert!(rounded(value, f64::NAN).to_bits() == value.to_bits());
        }
    }

    /// Compared with statistics of sums that are off by as much as allowed, computed in doubles.
    #[test]
    fn the_error_of_a_statistic_bounds_what_moments_that_are_off_give() {
        use MomentFunction as F;
        let of = |function, n: f64, sum: f64, squares: f64| {
            let variance = ((squares - sum * sum / n) / (n - 1.0)).max(0.0);
            match function {
                F::Avg => sum / n,
                F::VarSamp => variance,
                _ => variance.sqrt(),
            }
        };
        for values in [vec![1.0, 2.0, 4.0], vec![1e-4, 2e-4], vec![7.0, 7.0, 7.0], vec![-1e3, 1e3, 5.0, 5.5]]
        {
            let n = values.len() as f64;
            let (sum, squares) = (values.iter().sum::<f64>(), values.iter().map(|v| v * v).sum::<f64>());
            for function in [F::Avg, F::VarSamp, F::StddevSamp] {
                for (a, b) in [(1e-6, 1e-6), (1e-6, -1e-6), (-1e-6, 1e-6), (-1e-6, -1e-6)] {
                    let (exact, off) = (of(function, n, sum, squares), of(function, n, sum + a, squares + b));
                    let bound = statistic_error(function, n, off, sum + a, (1e-6, 1e-6));
                    assert!(
                        (exact - off).abs() <= bound * (1.0 + 1e-6) + 1e-12 + 1e-15 * squares,
                        "{function:?} {values:?} {bound}"
                    );
                }
            }
        }
    }

    /// By hand, for 4 values with the sum 10: δ(Σx²) and δ(Σx)·(2·|Σx| + δ(Σx))/n, over the degrees of freedom.
    #[test]
    fn the_error_of_a_statistic_is_its_formula() {
        use MomentFunction as F;
        let error = |function, statistic| statistic_error(function, 4.0, statistic, -10.0, (0.5, 2.0));
        let spread = 2.0 + (20.0 * 0.5 + 0.25) / 4.0;
        assert_eq!((error(F::Sum, 1.0), error(F::Avg, 1.0)), (0.5, 0.125));
        assert_eq!((error(F::VarPop, 1.0), error(F::VarSamp, 1.0)), (spread / 4.0, spread / 3.0));
        // Near 0 the root of the error, far from it the error over the root.
        assert_eq!(
            (error(F::StddevPop, 0.0), error(F::StddevPop, 0.1)),
            ((spread / 4.0).sqrt(), (spread / 4.0).sqrt())
        );
        assert_eq!(error(F::StddevPop, 50.0), spread / 4.0 / 50.0);
        assert_eq!(error(F::StddevSamp, 50.0), spread / 3.0 / 50.0);
    }

    #[test]
    fn whole_units_are_kept_where_the_error_is_below_one() {
        assert_eq!((rounded(12.6, 1.0), rounded(12.6, 0.99), rounded(126.0, 1.01)), (13.0, 13.0, 130.0));
        assert_eq!(rounded(1.5, f64::INFINITY), 1.5);
        assert_eq!(rounded(12.34, -1.0), 12.34);
    }
}
