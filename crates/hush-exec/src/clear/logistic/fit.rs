// SPDX-License-Identifier: Apache-2.0
//! The fit: the coefficients that make the rows most likely, by Newton's method on standardised variables.
//!
//! With weights `w`, outcomes `y` from 0 to 1 and probabilities `p = 1 / (1 + exp(−η))`, `η = b₀ + Σ b_j·x_j`, the loss
//! `−Σ w·(y·ln p + (1 − y)·ln(1 − p))` is convex. Its gradient is `−Σ w·(y − p)·x`, its second derivative `Σ w·p·(1 − p)·x·xᵀ`
//! (McCullagh and Nelder, *Generalized Linear Models*, 1989, sections 2.5 and 4.4).

/// What is known about rows of the same width: a weight, an outcome and variables.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows<'a> {
    /// Row by row: the outcome from 0 to 1, the weight above 0, the variables.
    pub(super) cells: &'a [f64],
    /// Cells of a row, at least 3.
    pub(super) width: usize,
}

/// A fit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fit {
    /// How much of the logarithm of the likelihood of a fit without variables this one explains, from 0 to 1 (McFadden 1974).
    pub(super) r2: f64,
    /// The constant, then the coefficient of each variable.
    pub(super) coefficients: Vec<f64>,
}

/// Steps at most. Each moves a row's `η` by about 1 where it is far from its place, so that 100 reach any `η` whose probability a
/// double tells from 0 and 1.
const MAX_STEPS: usize = 100;
/// Evaluations of the loss at most, steps that are too long and their halves among them: whoever waits cannot stop them.
const MAX_EVALUATIONS: usize = 150;
/// A step that moves every `η` by less has arrived: the next one, which is still taken, is as good as doubles are.
const ARRIVED: f64 = 1e-7;
/// Least part of a diagonal entry of the second derivative that earlier variables may leave of it.
const LEAST_PIVOT: f64 = 1e-11;

/// The fit of some rows; `None` where there is no single one: variables that are linearly dependent (or constant), outcomes
/// that the variables separate (all of them alike, for one), values that are not finite, no rows.
///
/// # Cost
/// Some ten passes over the rows, each of `width²/2` products for each row.
pub(super) fn fit(rows: Rows<'_>) -> Option<Fit> {
    if rows.cells.iter().any(|cell| !cell.is_finite()) || rows.outcomes().any(|y| !(0.0..=1.0).contains(&y)) {
        return None;
    }
    let scales = Scales::of(rows)?;
    let mut found = vec![0.0; scales.count()];
    let mut state = Derivatives::at(rows, &scales, &found);
    let (mut is_last, mut left) = (false, MAX_EVALUATIONS);
    for _ in 0..MAX_STEPS {
        let step = state.step()?;
        let (moved, next) = shortened(rows, &scales, (&found, &state), &step, &mut left)?;
        let change = largest_change(rows, &scales, &found, &moved);
        (found, state) = (moved, next);
        if is_last {
            let r2 = 1.0 - state.loss / constant_loss(rows);
            return Some(Fit { r2: r2.max(0.0), coefficients: scales.undone(&found) });
        }
        is_last = change < ARRIVED;
    }
    None
}

impl<'a> Rows<'a> {
    fn iter(self) -> impl Iterator<Item = (f64, f64, &'a [f64])> {
        self.cells.chunks_exact(self.width).filter_map(|row| match row {
            [outcome, weight, variables @ ..] => Some((*outcome, *weight, variables)),
            _ => None,
        })
    }

    fn outcomes(self) -> impl Iterator<Item = f64> + 'a {
        self.iter().map(|(outcome, ..)| outcome)
    }
}

/// Means and deviations of the variables.
struct Scales(Vec<(f64, f64)>);

impl Scales {
    fn of(rows: Rows<'_>) -> Option<Self> {
        let total: f64 = rows.iter().map(|(_, weight, _)| weight).sum();
        let of_variable = |place: usize| {
            let values = || rows.iter().filter_map(move |(_, weight, x)| Some((weight, *x.get(place)?)));
            let mean = values().map(|(weight, x)| weight * x).sum::<f64>() / total;
            let square = values().map(|(weight, x)| weight * (x - mean) * (x - mean)).sum::<f64>() / total;
            let is_constant = !square.is_normal() || square.sqrt() <= LEAST_PIVOT * mean.abs();
            (!is_constant && square.is_finite()).then(|| (mean, square.sqrt()))
        };
        (0..rows.width - 2).map(of_variable).collect::<Option<_>>().map(Self)
    }

    /// Coefficients, with the constant.
    fn count(&self) -> usize {
        self.0.len() + 1
    }

    /// Writes 1 and the standardised variables of a row.
    fn standardise(&self, variables: &[f64], into: &mut [f64]) {
        if let Some((first, rest)) = into.split_first_mut() {
            *first = 1.0;
            for ((cell, x), (mean, deviation)) in rest.iter_mut().zip(variables).zip(&self.0) {
                *cell = (x - mean) / deviation;
            }
        }
    }

    /// The coefficients of variables as they were.
    fn undone(&self, standardised: &[f64]) -> Vec<f64> {
        let Some((constant, slopes)) = standardised.split_first() else { return Vec::new() };
        let slopes: Vec<f64> = slopes.iter().zip(&self.0).map(|(b, (_, deviation))| b / deviation).collect();
        let shift: f64 = slopes.iter().zip(&self.0).map(|(b, (mean, _))| b * mean).sum();
        [constant - shift].into_iter().chain(slopes).collect()
    }
}

/// The loss at some coefficients, and how it changes.
struct Derivatives {
    loss: f64,
    /// Downhill: `Σ w·(y − p)·x`.
    gradient: Vec<f64>,
    /// Lower triangle, row by row.
    curvature: Vec<Vec<f64>>,
}

impl Derivatives {
    fn at(rows: Rows<'_>, scales: &Scales, coefficients: &[f64]) -> Self {
        let count = scales.count();
        let mut gradient = vec![0.0; count];
        let mut curvature: Vec<Vec<f64>> = (1..=count).map(|length| vec![0.0; length]).collect();
        let (mut loss, mut x) = (0.0, vec![0.0; count]);
        for (outcome, weight, variables) in rows.iter() {
            scales.standardise(variables, &mut x);
            let score = dot(coefficients, &x);
            let (chance, other) = (logistic(score), logistic(-score));
            loss += weight * loss_of(outcome, score);
            // `y − p`, which keeps its digits where `p` is near 1.
            let pull = weight * (outcome * other - (1.0 - outcome) * chance);
            let bend = weight * chance * other;
            for (place, (slope, line)) in gradient.iter_mut().zip(&mut curvature).enumerate() {
                let at = x.get(place).copied().unwrap_or_default();
                *slope += pull * at;
                line.iter_mut().zip(&x).for_each(|(cell, other)| *cell += bend * at * other);
            }
        }
        Self { loss, gradient, curvature }
    }

    /// Newton's step, by Cholesky's decomposition; `None` where variables are linearly dependent.
    fn step(&self) -> Option<Vec<f64>> {
        let mut lower: Vec<Vec<f64>> = Vec::with_capacity(self.gradient.len());
        for line in &self.curvature {
            let mut row: Vec<f64> = Vec::with_capacity(line.len());
            let (diagonal, before) = line.split_last()?;
            for (cell, other) in before.iter().zip(&lower) {
                row.push((cell - dot(&row, other)) / other.last()?);
            }
            let pivot = diagonal - dot(&row, &row);
            if !(pivot > LEAST_PIVOT * diagonal && pivot.is_normal()) {
                return None;
            }
            row.push(pivot.sqrt());
            lower.push(row);
        }
        let mut step: Vec<f64> = Vec::with_capacity(lower.len());
        for (slope, row) in self.gradient.iter().zip(&lower) {
            step.push((slope - dot(row, &step)) / row.last()?);
        }
        for place in (0..step.len()).rev() {
            let behind = lower.iter().zip(&step).skip(place + 1);
            let known: f64 = behind.filter_map(|(row, value)| Some(row.get(place)? * value)).sum();
            let (cell, pivot) = (step.get_mut(place)?, lower.get(place)?.last()?);
            *cell = (*cell - known) / pivot;
        }
        Some(step)
    }
}

/// The coefficients behind a step, or behind the longest of its halves that makes the loss no greater; `None` where `left`
/// evaluations find none.
fn shortened(
    rows: Rows<'_>,
    scales: &Scales,
    (from, before): (&[f64], &Derivatives),
    step: &[f64],
    left: &mut usize,
) -> Option<(Vec<f64>, Derivatives)> {
    let mut part = 1.0;
    while *left > 0 {
        *left -= 1;
        let moved: Vec<f64> = from.iter().zip(step).map(|(b, s)| b + part * s).collect();
        let after = Derivatives::at(rows, scales, &moved);
        // At the end of the way the loss changes by its rounding.
        if after.loss <= before.loss * (1.0 + 1e-12) {
            return Some((moved, after));
        }
        part /= 2.0;
    }
    None
}

/// How far the score of any row moves.
fn largest_change(rows: Rows<'_>, scales: &Scales, from: &[f64], to: &[f64]) -> f64 {
    let difference: Vec<f64> = from.iter().zip(to).map(|(from, to)| to - from).collect();
    let mut x = vec![0.0; scales.count()];
    rows.iter().fold(0.0, |most: f64, (_, _, variables)| {
        scales.standardise(variables, &mut x);
        most.max(dot(&difference, &x).abs())
    })
}

/// The loss of the best constant.
fn constant_loss(rows: Rows<'_>) -> f64 {
    let (total, ones) = rows
        .iter()
        .fold((0.0, 0.0), |(total, ones), (outcome, weight, _)| (total + weight, ones + weight * outcome));
    let part: f64 = ones / total;
    -(ones * part.ln() + (total - ones) * (1.0 - part).ln())
}

/// `1 / (1 + exp(−score))`.
fn logistic(score: f64) -> f64 {
    let small = (-score.abs()).exp();
    if score >= 0.0 { 1.0 / (1.0 + small) } else { small / (1.0 + small) }
}

/// `−(y·ln p + (1 − y)·ln(1 − p))`, without loss where `p` is near 0 or 1.
fn loss_of(outcome: f64, score: f64) -> f64 {
    (-score.abs()).exp().ln_1p() + score.max(0.0) - outcome * score
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use hush_testkit::Draw;

    use super::*;

    /// An outcome and its variables.
    type Sample<'a> = (f64, &'a [f64]);

    fn fit_of(rows: &[Sample<'_>]) -> Option<Fit> {
        let width = rows.first().map_or(3, |(_, x)| x.len() + 2);
        let cells: Vec<f64> =
            rows.iter().flat_map(|(y, x)| [*y, 1.0].into_iter().chain(x.iter().copied())).collect();
        fit(Rows { cells: &cells, width })
    }

    /// Gearboxes by weight, of 32 cars (Henderson and Velleman 1981): what R's `glm(am ~ wt, binomial)` prints.
    #[test]
    fn a_published_fit_comes_out() {
        let manual = [2.62, 2.875, 2.32, 2.2, 1.615, 1.835, 1.935, 2.14, 1.513, 3.17, 2.77, 3.57, 2.78];
        let automatic = [
            3.215, 3.44, 3.46, 3.57, 3.19, 3.15, 3.44, 3.44, 4.07, 3.73, 3.78, 5.25, 5.424, 5.345, 2.465,
            3.52, 3.435, 3.84, 3.845,
        ];
        let rows = manual.iter().map(|x| (1.0, x)).chain(automatic.iter().map(|x| (0.0, x)));
        let rows: Vec<(f64, &[f64])> = rows.map(|(y, x)| (y, std::slice::from_ref(x))).collect();
        let found = fit_of(&rows).unwrap();
        assert!((found.coefficients[0] - 12.040).abs() < 5e-4, "{found:?}");
        assert!((found.coefficients[1] + 4.024).abs() < 5e-4, "{found:?}");
        // Residual and null deviance: 19.176 and 43.230.
        assert!((found.r2 - (1.0 - 19.176 / 43.230)).abs() < 1e-4, "{found:?}");
    }

    /// At the fit of random rows the gradient of the loss is zero, computed without standardisation; weights are repetitions.
    #[test]
    fn random_rows_are_at_the_top_of_their_likelihood() {
        let mut draw = Draw::of(7);
        for variables in 1..5_usize {
            let mut cells = Vec::new();
            let mut repeated = Vec::new();
            for _ in 0..400 {
                let x: Vec<f64> =
                    (0..variables).map(|place| 1e3 * place as f64 + 20.0 * draw.unit()).collect();
                let score: f64 = x.iter().map(|x| 0.2 * (x % 1e3) - 2.0).sum::<f64>() / variables as f64;
                let y = f64::from(draw.unit() < logistic(score));
                let weight = (1.0 + 3.0 * draw.unit()).floor();
                cells.extend([y, weight].into_iter().chain(x.iter().copied()));
                for _ in 0..weight as usize {
                    repeated.extend([y, 1.0].into_iter().chain(x.iter().copied()));
                }
            }
            let rows = Rows { cells: &cells, width: variables + 2 };
            let found = fit(rows).unwrap();
            for place in 0..=variables {
                let (mut sum, mut size) = (0.0, 0.0);
                for (y, weight, x) in rows.iter() {
                    let score = found.coefficients[0] + dot(&found.coefficients[1..], x);
                    let factor = if place == 0 { 1.0 } else { x[place - 1] };
                    sum += weight * (y - logistic(score)) * factor;
                    size += weight * factor.abs();
                }
                assert!(sum.abs() < 1e-9 * size, "{variables} {place}: {sum} of {size}");
            }
            let again = fit(Rows { cells: &repeated, ..rows }).unwrap();
            for (one, other) in found.coefficients.iter().zip(&again.coefficients) {
                assert!((one - other).abs() < 1e-8 * (1.0 + one.abs()));
            }
        }
    }

    #[test]
    fn rows_without_a_single_fit_have_none() {
        let no: [(&str, &[Sample<'_>]); 7] = [
            ("no rows", &[]),
            ("one outcome", &[(1.0, &[1.0]), (1.0, &[2.0]), (1.0, &[5.0])]),
            ("a constant", &[(1.0, &[2.0]), (0.0, &[2.0]), (1.0, &[2.0])]),
            ("separated", &[(0.0, &[1.0]), (0.0, &[2.0]), (1.0, &[3.0]), (1.0, &[4.0])]),
            ("separated but for a tie", &[(0.0, &[1.0]), (0.0, &[2.0]), (1.0, &[2.0]), (1.0, &[4.0])]),
            (
                "dependent",
                &[
                    (0.0, &[1.0, 2.0]),
                    (1.0, &[2.0, 4.0]),
                    (0.0, &[3.0, 6.0]),
                    (1.0, &[4.0, 8.0]),
                    (0.0, &[5.0, 10.0]),
                ],
            ),
            ("not finite", &[(0.0, &[1.0]), (1.0, &[f64::NAN]), (1.0, &[1.5]), (0.0, &[4.0])]),
        ];
        for (name, rows) in no {
            assert_eq!(fit_of(rows), None, "{name}");
        }
        let overlapping = [(0.0, [1.0]), (1.0, [2.0]), (0.0, [3.0]), (1.0, [4.0])];
        let overlapping: Vec<(f64, &[f64])> = overlapping.iter().map(|(y, x)| (*y, x.as_slice())).collect();
        assert!(fit_of(&overlapping).is_some());
    }

    /// With one variable there is a fit unless the values of one outcome end where those of the other begin (Albert and Anderson 1984).
    #[test]
    fn few_rows_have_a_fit_unless_they_are_separated() {
        let mut draw = Draw::of(11);
        let mut fitted = 0;
        for turn in 0..3000 {
            let count = 2 + draw.below(9);
            let rows: Vec<(f64, [f64; 1])> =
                (0..count).map(|_| (draw.below(2) as f64, [1000.0 * draw.below(7) as f64 - 12.5])).collect();
            let ends = |outcome: f64| {
                let values = rows.iter().filter(|(y, _)| *y == outcome).map(|(_, [x])| *x);
                values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)))
            };
            let (zeros, ones) = (ends(0.0), ends(1.0));
            let is_separated = zeros.1 <= ones.0 || ones.1 <= zeros.0;
            let rows: Vec<(f64, &[f64])> = rows.iter().map(|(y, x)| (*y, x.as_slice())).collect();
            let found = fit_of(&rows);
            assert_eq!(found.is_none(), is_separated, "{turn}: {rows:?} {found:?}");
            fitted += usize::from(found.is_some());
        }
        assert!(fitted > 500, "{fitted}");
    }

    /// Outcomes far from a half, and variables far from zero.
    #[test]
    fn rare_outcomes_and_large_offsets_are_fitted() {
        let x: Vec<f64> = (0..20_000).map(|row| 1e9 + f64::from(row)).collect();
        let rows: Vec<(f64, &[f64])> = x
            .iter()
            .enumerate()
            .map(|(row, x)| (f64::from(u8::from(row % 4001 == 4000)), std::slice::from_ref(x)))
            .collect();
        let found = fit_of(&rows).unwrap();
        let chances: f64 =
            x.iter().map(|x| logistic(found.coefficients[0] + found.coefficients[1] * x)).sum();
        assert!((chances - 4.0).abs() < 1e-3, "{chances} {found:?}");
    }
}
