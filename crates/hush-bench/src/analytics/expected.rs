// SPDX-License-Identifier: Apache-2.0
//! The results from the plaintext: exact sums, then doubles.

/// Sums of the columns of a set and of their products, exact.
struct Moments {
    count: i128,
    sums: Vec<i128>,
    products: Vec<Vec<i128>>,
}

impl Moments {
    fn new(columns: usize) -> Self {
        Self { count: 0, sums: vec![0; columns], products: vec![vec![0; columns]; columns] }
    }

    fn add(&mut self, row: &[i64]) {
        self.count += 1;
        for (i, &x) in row.iter().enumerate() {
            self.sums[i] += i128::from(x);
            for (j, &y) in row.iter().enumerate() {
                self.products[i][j] += i128::from(x) * i128::from(y);
            }
        }
    }

    /// n times the centred sum of products.
    fn centred(&self, i: usize, j: usize) -> f64 {
        (self.count * self.products[i][j] - self.sums[i] * self.sums[j]) as f64
    }

    fn mean(&self, i: usize) -> f64 {
        self.sums[i] as f64 / self.count as f64
    }
}

/// `g, COUNT(*), SUM(a), AVG(b), VARIANCE(c), CORR(a, b)` for each group that has rows; `g` stands first in a row, a,
/// b and c fifth to seventh.
pub(super) fn groups(rows: impl Iterator<Item = Vec<i64>>, count: usize) -> Vec<Vec<f64>> {
    let mut moments: Vec<Moments> = (0..count).map(|_| Moments::new(3)).collect();
    for row in rows {
        moments[row[0] as usize].add(&row[4..7]);
    }
    let filled = moments.iter().enumerate().filter(|(_, of)| of.count > 0);
    let result = filled.map(|(group, of)| {
        let n = of.count as f64;
        vec![
            group as f64,
            n,
            of.sums[0] as f64,
            of.mean(1),
            of.centred(2, 2) / n / (n - 1.0),
            of.centred(0, 1) / (of.centred(0, 0) * of.centred(1, 1)).sqrt(),
        ]
    });
    result.collect()
}

/// Intercept, coefficients, r² and count of the least-squares fit of the first column by the others.
pub(super) fn regression(rows: impl Iterator<Item = Vec<i64>>, features: usize) -> Vec<f64> {
    let mut moments = Moments::new(features + 1);
    rows.for_each(|row| moments.add(&row));
    let mut system: Vec<Vec<f64>> =
        (1..=features).map(|i| (1..=features).chain([0]).map(|j| moments.centred(i, j)).collect()).collect();
    let slopes = solve(&mut system);
    let explained: f64 = slopes.iter().zip(1..).map(|(slope, i)| slope * moments.centred(i, 0)).sum();
    let fitted: f64 = slopes.iter().zip(1..).map(|(slope, i)| slope * moments.mean(i)).sum();
    let mut result = vec![moments.mean(0) - fitted];
    result.extend(slopes);
    result.extend([explained / moments.centred(0, 0), moments.count as f64]);
    result
}

/// Gaussian elimination with pivots by column.
fn solve(system: &mut [Vec<f64>]) -> Vec<f64> {
    let size = system.len();
    for column in 0..size {
        let pivot =
            (column..size).max_by(|&i, &j| system[i][column].abs().total_cmp(&system[j][column].abs()));
        system.swap(column, pivot.unwrap_or(column));
        let row = system[column].clone();
        for (_, other) in system.iter_mut().enumerate().filter(|(index, _)| *index != column) {
            let factor = other[column] / row[column];
            other.iter_mut().zip(&row).for_each(|(cell, pivot)| *cell -= factor * pivot);
        }
    }
    (0..size).map(|i| system[i][size] / system[i][i]).collect()
}

/// The largest relative error of a cell; infinite if the shapes differ or a cell is not a number.
pub(crate) fn relative_error(found: &[Vec<f64>], expected: &[Vec<f64>]) -> f64 {
    let is_same_shape =
        found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| a.len() == b.len());
    if !is_same_shape {
        return f64::INFINITY;
    }
    let cells = found.iter().flatten().zip(expected.iter().flatten());
    cells
        .map(|(a, b)| if a == b { 0.0 } else { (a - b).abs() / b.abs() })
        .fold(0.0, |worst, error| if error.is_nan() { f64::INFINITY } else { worst.max(error) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plane_is_fitted_exactly_and_groups_are_the_textbook_ones() {
        let rows = (0..60_i64).map(|i| {
            let (x, z) = (i % 7, i * i % 11);
            vec![5 + 2 * x - 3 * z, x, z]
        });
        let fit = regression(rows, 2);
        assert!(relative_error(&[fit], &[vec![5.0, 2.0, -3.0, 1.0, 60.0]]) < 1e-12);
        let row = |a: i64, b: i64, c: i64| vec![1, 0, 0, 0, a, b, c, 0];
        let grouped = groups([row(1, 2, 3), row(2, 4, 5), row(3, 3, 10)].into_iter(), 3);
        assert!(relative_error(&grouped, &[vec![1.0, 3.0, 6.0, 3.0, 13.0, 0.5]]) < 1e-12);
    }

    #[test]
    fn errors_are_seen() {
        assert_eq!(relative_error(&[vec![1.0]], &[vec![2.0]]), 0.5);
        assert_eq!(relative_error(&[vec![f64::NAN]], &[vec![2.0]]), f64::INFINITY);
        assert_eq!(relative_error(&[vec![1.0]], &[vec![1.0], vec![2.0]]), f64::INFINITY);
        assert_eq!(relative_error(&[vec![0.0]], &[vec![0.0]]), 0.0);
    }
}
