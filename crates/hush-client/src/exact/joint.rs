// SPDX-License-Identifier: Apache-2.0
//! Covariance, correlation and least squares from exact moments.
//!
//! With `n` rows, sums `S_i` and sums of products `P_ij`, the integers `M_ij = n·P_ij − S_i·S_j` are `n²` times the
//! covariances, and every statistic here is a ratio of polynomials in them. The fit of `y` (variable 0) by the others
//! solves `A·β = b` with `A_ij = M_ij` and `b_i = M_0i`, by elimination without fractions (Bareiss 1968): each division is
//! exact, intermediate numbers are minors of `A`, and `β_i = N_i/det A` with integers on both sides. `A` is positive
//! semi-definite, so that a leading minor is 0 only if `A` is singular, and no rows need to be exchanged.
//!
//! *Cost.* `O(k³)` products of integers of up to `k` times the bits of a moment: a millisecond for `k = 32`.

use hush_plan::plan::JointFunction;
use num_bigint::BigInt;
use num_traits::{Signed, Zero};

use super::{ratio, root_ratio, ten_to};

/// Moments of some variables over the rows that they have in common.
pub(crate) struct Joint {
    /// Rows.
    pub(crate) count: BigInt,
    /// Decimal scale of each variable.
    pub(crate) scales: Vec<u8>,
    /// Sum of each variable, in units of its scale.
    pub(crate) sums: Vec<BigInt>,
    /// Sums of products as a full symmetric matrix, row by row, in units of both scales. Entries that the function does not
    /// read may be anything.
    pub(crate) products: Vec<Vec<BigInt>>,
}

/// A least-squares fit: `β_i = numerators[i − 1] / determinant`, in units of `10^(scale of x_i − scale of y)`.
struct Fit {
    numerators: Vec<BigInt>,
    /// Positive.
    determinant: BigInt,
}

impl Joint {
    /// The statistic, correctly rounded, or `None` where SQL says NULL.
    pub(crate) fn statistic(&self, function: JointFunction) -> Option<f64> {
        use JointFunction as F;
        if !self.count.is_positive() {
            return None;
        }
        match function {
            F::Mean(index) => Some(ratio(self.sums.get(index)?, &(&self.count * self.unit(index)))),
            F::Spread(i, j) => Some(ratio(&self.spread(i, j)?, &(&self.count * self.unit(i) * self.unit(j)))),
            F::CovarPop => self.covariance(self.count.clone()),
            F::CovarSamp => self.covariance(&self.count - 1),
            F::Corr => {
                let (xx, yy, xy) = (self.spread(1, 1)?, self.spread(0, 0)?, self.spread(0, 1)?);
                let divisor = xx * yy;
                if !divisor.is_positive() {
                    return None;
                }
                let magnitude = root_ratio(&(&xy * &xy), &divisor);
                Some(if xy.is_negative() { -magnitude } else { magnitude })
            }
            F::Slope(index) => {
                let fit = self.fit()?;
                let numerator = fit.numerators.get(index.checked_sub(1)?)? * self.unit(index);
                Some(ratio(&numerator, &(fit.determinant * self.unit(0))))
            }
            F::Intercept => self.intercept(),
            F::R2 => self.explained(),
        }
    }

    /// Whether variables can have these moments: no variance is negative, and no covariance more than the variances allow (Cauchy
    /// and Schwarz). `read` are the pairs with known products.
    pub(crate) fn is_possible<'a>(&self, read: impl Iterator<Item = &'a (usize, usize)> + Clone) -> bool {
        let has = |i: usize| read.clone().any(|pair| *pair == (i, i));
        read.clone().filter(|(i, j)| has(*i) && has(*j)).all(|(i, j)| {
            let spreads = (self.spread(*i, *i), self.spread(*j, *j), self.spread(*i, *j));
            let (Some(left), Some(right), Some(both)) = spreads else { return false };
            !left.is_negative() && !right.is_negative() && &both * &both <= left * right
        })
    }

    /// `10^scale` of a variable.
    fn unit(&self, index: usize) -> BigInt {
        ten_to(self.scales.get(index).copied().map_or(0, u32::from))
    }

    /// `M_ij`.
    fn spread(&self, i: usize, j: usize) -> Option<BigInt> {
        let product = self.products.get(i)?.get(j)?;
        Some(&self.count * product - self.sums.get(i)? * self.sums.get(j)?)
    }

    /// `M_01` over `n` and the degrees of freedom.
    fn covariance(&self, freedom: BigInt) -> Option<f64> {
        if !freedom.is_positive() {
            return None;
        }
        Some(ratio(&self.spread(0, 1)?, &(&self.count * freedom * self.unit(0) * self.unit(1))))
    }

    /// `ȳ − Σ β_i·x̄_i`; in units the scales of the `x` cancel.
    fn intercept(&self) -> Option<f64> {
        let fit = self.fit()?;
        let slopes = fit.numerators.iter().zip(self.sums.iter().skip(1));
        let explained: BigInt = slopes.map(|(numerator, sum)| numerator * sum).sum();
        let numerator = &fit.determinant * self.sums.first()? - explained;
        Some(ratio(&numerator, &(fit.determinant * &self.count * self.unit(0))))
    }

    /// `Σ β_i·b_i / M_00`.
    fn explained(&self) -> Option<f64> {
        let fit = self.fit()?;
        let total = self.spread(0, 0)?;
        if total.is_zero() {
            return Some(1.0);
        }
        let mut explained = BigInt::zero();
        for (index, numerator) in (1..).zip(&fit.numerators) {
            explained += numerator * self.spread(0, index)?;
        }
        Some(ratio(&explained, &(fit.determinant * total)))
    }

    /// Solves the normal equations; `None` if they are singular.
    fn fit(&self) -> Option<Fit> {
        let size = self.sums.len().checked_sub(1)?;
        let row = |i: usize| (1..=size).chain([0]).map(|j| self.spread(i, j)).collect::<Option<Vec<_>>>();
        let mut rows = (1..=size).map(row).collect::<Option<Vec<_>>>()?;
        let mut last = BigInt::from(1);
        for step in 0..size {
            let pivot_row = rows.get(step)?.clone();
            let pivot = pivot_row.get(step)?;
            if !pivot.is_positive() {
                return None;
            }
            for (_, row) in rows.iter_mut().enumerate().filter(|(index, _)| *index != step) {
                let factor = row.get(step)?.clone();
                for (cell, above) in row.iter_mut().zip(&pivot_row) {
                    *cell = (&*cell * pivot - &factor * above) / &last;
                }
            }
            last = pivot.clone();
        }
        let numerators = rows.into_iter().map(|mut row| row.pop()).collect::<Option<Vec<_>>>()?;
        Some(Fit { numerators, determinant: last })
    }
}

#[cfg(test)]
mod tests {
    use num_integer::Integer;
    use num_traits::One;

    use super::*;

    /// Moments of rows of integers, the first of each `y`.
    fn joint(rows: &[Vec<i64>], scales: &[u8]) -> Joint {
        let big = |value: i64| BigInt::from(value);
        let width = scales.len();
        let sum = |i: usize| rows.iter().map(|row| big(row[i])).sum();
        let product = |i: usize, j: usize| rows.iter().map(|row| big(row[i]) * row[j]).sum();
        Joint {
            count: rows.len().into(),
            scales: scales.to_vec(),
            sums: (0..width).map(sum).collect(),
            products: (0..width).map(|i| (0..width).map(|j| product(i, j)).collect()).collect(),
        }
    }

    /// A rational in lowest terms, for a solver of our own.
    #[derive(Clone)]
    struct Rational(BigInt, BigInt);

    impl Rational {
        fn new(top: BigInt, bottom: BigInt) -> Self {
            let common = top.gcd(&bottom);
            let sign = if bottom.is_negative() { -BigInt::one() } else { BigInt::one() };
            Self(&top / &common * &sign, &bottom / &common * sign)
        }

        fn minus_product(&self, a: &Self, b: &Self) -> Self {
            Self::new(&self.0 * &a.1 * &b.1 - &a.0 * &b.0 * &self.1, &self.1 * &a.1 * &b.1)
        }

        fn over(&self, other: &Self) -> Self {
            Self::new(&self.0 * &other.1, &self.1 * &other.0)
        }
    }

    /// The fit with an explicit column of ones, by Gauss and Jordan with pivots, in fractions: intercept and slopes.
    fn by_fractions(rows: &[Vec<i64>]) -> Option<Vec<Rational>> {
        let size = rows[0].len();
        let design = |row: &[i64], j: usize| BigInt::from(if j == 0 { 1 } else { row[j] });
        let entry = |i: usize, j: usize| -> BigInt {
            rows.iter()
                .map(|row| design(row, i) * if j == size { BigInt::from(row[0]) } else { design(row, j) })
                .sum()
        };
        let rational = |i, j| Rational::new(entry(i, j), BigInt::one());
        let mut system: Vec<Vec<Rational>> =
            (0..size).map(|i| (0..=size).map(|j| rational(i, j)).collect()).collect();
        for step in 0..size {
            let pivot = (step..size).find(|row| !system[*row][step].0.is_zero())?;
            system.swap(step, pivot);
            let top = system[step].clone();
            let top: Vec<Rational> = top.iter().map(|cell| cell.over(&top[step])).collect();
            system[step].clone_from(&top);
            for (index, row) in system.iter_mut().enumerate() {
                if index != step {
                    let factor = row[step].clone();
                    for (cell, above) in row.iter_mut().zip(&top) {
                        *cell = cell.minus_product(&factor, above);
                    }
                }
            }
        }
        Some(system.into_iter().map(|mut row| row.pop().unwrap()).collect())
    }

    /// Numbers that look random.
    fn draws(mut state: u64) -> impl FnMut(i64) -> i64 {
        move |limit| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) as i64) % (2 * limit + 1) - limit
        }
    }

    #[test]
    fn fits_equal_those_of_an_independent_solver_to_the_last_bit() {
        let mut draw = draws(11);
        for features in 1..=9usize {
            for extra in [0, 1, 7, 40] {
                let row =
                    |draw: &mut dyn FnMut(i64) -> i64| (0..=features).map(|_| draw(1_000_000_000)).collect();
                let rows: Vec<Vec<i64>> = (0..=features + extra).map(|_| row(&mut draw)).collect();
                let expected = by_fractions(&rows).expect("random rows are independent");
                let fitted = joint(&rows, &vec![0; features + 1]);
                let expected: Vec<f64> = expected.iter().map(|r| ratio(&r.0, &r.1)).collect();
                assert_eq!(fitted.statistic(JointFunction::Intercept), Some(expected[0]));
                for (index, want) in expected.iter().enumerate().skip(1) {
                    assert_eq!(fitted.statistic(JointFunction::Slope(index)), Some(*want));
                }
            }
        }
    }

    /// Means, covariances and spreads by their definitions, in fractions; with scales that differ.
    #[test]
    fn moments_are_those_of_the_definitions() {
        let mut draw = draws(5);
        for rows in [2_usize, 3, 17] {
            let rows: Vec<Vec<i64>> = (0..rows).map(|_| vec![draw(1_000_000), draw(1000)]).collect();
            let (n, scales) = (BigInt::from(rows.len()), [3, 1]);
            let found = joint(&rows, &scales);
            let unit = |i: usize| BigInt::from(10).pow(scales[i].into());
            let sum = |i: usize| -> BigInt { rows.iter().map(|row| BigInt::from(row[i])).sum() };
            let spread = |i: usize, j: usize| -> BigInt {
                let off = |row: &Vec<i64>, i: usize| &n * row[i] - sum(i);
                rows.iter().map(|row| off(row, i) * off(row, j)).sum()
            };
            for i in 0..2 {
                let mean = ratio(&sum(i), &(&n * unit(i)));
                assert_eq!(found.statistic(JointFunction::Mean(i)), Some(mean));
                for j in i..2 {
                    let expected = ratio(&spread(i, j), &(&n * &n * unit(i) * unit(j)));
                    assert_eq!(found.statistic(JointFunction::Spread(i, j)), Some(expected));
                }
            }
            let divisor = &n * &n * unit(0) * unit(1);
            for (function, freedom) in
                [(JointFunction::CovarPop, n.clone()), (JointFunction::CovarSamp, &n - 1)]
            {
                let expected = ratio(&spread(0, 1), &(&divisor * &freedom));
                assert_eq!(found.statistic(function), Some(expected), "{function:?}");
            }
        }
    }

    /// Values of a falsified answer: a negative variance, a covariance beyond the variances.
    #[test]
    fn moments_that_no_numbers_have_are_told() {
        let rows = [vec![1, 2], vec![3, 5], vec![-4, 0]];
        let pairs = [(0, 0), (0, 1), (1, 1)];
        let possible = |change: &dyn Fn(&mut Joint), read: &[(usize, usize)]| {
            let mut moments = joint(&rows, &[0, 0]);
            change(&mut moments);
            moments.is_possible(read.iter())
        };
        assert!(possible(&|_| (), &pairs));
        let zero = |i: usize, j: usize| move |moments: &mut Joint| moments.products[i][j] = BigInt::zero();
        assert!(!possible(&zero(1, 1), &pairs));
        assert!(!possible(&|moments| moments.products[0][0] = BigInt::from(-1), &pairs));
        // M_01² = (3·p)² and M_00·M_11 = 78·38 meet between 18 and 19.
        for (product, expected) in [(18, true), (-18, true), (19, false), (-19, false)] {
            let change = move |moments: &mut Joint| moments.products[0][1] = BigInt::from(product);
            assert_eq!(possible(&change, &pairs), expected, "{product}");
        }
        // A product cannot be compared without its squares.
        assert!(possible(&zero(1, 1), &[(0, 0), (0, 1)]));
        assert!(!possible(&|moments| moments.products.clear(), &pairs));
    }

    #[test]
    fn a_plane_is_found_exactly_whatever_the_scales() {
        // y = 1.5 + 2·a − 0.25·b, with y in thousandths, a in tenths and b in hundredths.
        let points = [(1, 1), (2, 5), (3, 2), (10, 7), (-4, 11)];
        let rows: Vec<Vec<i64>> =
            points.iter().map(|(a, b)| vec![1500 + 2000 * a - 250 * b, 10 * a, 100 * b]).collect();
        let plane = joint(&rows, &[3, 1, 2]);
        let found =
            [JointFunction::Intercept, JointFunction::Slope(1), JointFunction::Slope(2), JointFunction::R2];
        assert_eq!(
            found.map(|function| plane.statistic(function)),
            [Some(1.5), Some(2.0), Some(-0.25), Some(1.0)]
        );
    }

    #[test]
    fn dependent_columns_have_no_fit() {
        let rows: Vec<Vec<i64>> = (0..9).map(|i| vec![i * i, i, 3 * i - 7, i % 3]).collect();
        let singular = joint(&rows, &[0, 0, 0, 0]);
        for function in [JointFunction::Intercept, JointFunction::Slope(3), JointFunction::R2] {
            assert_eq!(singular.statistic(function), None);
        }
        // Fewer rows than unknowns.
        let few = joint(&[vec![1, 2, 3], vec![4, 5, 7]], &[0, 0, 0]);
        assert_eq!(few.statistic(JointFunction::Slope(1)), None);
    }

    #[test]
    fn edges_of_pairs_are_those_of_sql() {
        let one = joint(&[vec![3, 4]], &[0, 0]);
        assert_eq!(one.statistic(JointFunction::CovarPop), Some(0.0));
        for function in [JointFunction::CovarSamp, JointFunction::Corr, JointFunction::Slope(1)] {
            assert_eq!(one.statistic(function), None);
        }
        let none = joint(&[], &[0, 0]);
        assert_eq!(none.statistic(JointFunction::Mean(0)), None);
        assert_eq!(none.statistic(JointFunction::Spread(0, 1)), None);
        let flat = joint(&[vec![5, 1], vec![5, 2], vec![5, 9]], &[0, 0]);
        assert_eq!(flat.statistic(JointFunction::R2), Some(1.0));
        assert_eq!(flat.statistic(JointFunction::Corr), None);
        assert_eq!(flat.statistic(JointFunction::Slope(1)), Some(0.0));
    }

    #[test]
    fn correlation_survives_cancellation() {
        let base = 4_000_000_000_000_000i64;
        let rows = [vec![base + 1, base + 2], vec![base + 2, base + 4], vec![base + 3, base + 6]];
        assert_eq!(joint(&rows, &[0, 0]).statistic(JointFunction::Corr), Some(1.0));
        let rows = [vec![base + 1, -base], vec![base + 2, -base - 7], vec![base + 3, -base - 14]];
        let falling = joint(&rows, &[0, 0]);
        assert_eq!(falling.statistic(JointFunction::Corr), Some(-1.0));
        assert_eq!(falling.statistic(JointFunction::Slope(1)), Some(-1.0 / 7.0));
    }
}
