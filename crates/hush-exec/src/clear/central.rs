// SPDX-License-Identifier: Apache-2.0
//! SKEWNESS and KURTOSIS of doubles, which the query engine does not have: from central moments, in the order of the rows.
//!
//! The mean and the sums of powers of the deviations from it are kept up to date row by row and added up over parts by one
//! formula (Pebay08). Sums of powers of the values themselves would cancel where the mean is
//! large.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{Accumulator, AggregateUDF, Volatility, create_udaf};

/// A statistic of the moments; NULL if no value differs from another.
#[derive(Clone, Copy, Debug)]
enum Statistic {
    Kurtosis,
    KurtosisPop,
    Skewness,
}

/// KURTOSIS: of a sample, the excess; NULL for fewer than four values.
pub fn kurtosis() -> Arc<AggregateUDF> {
    function("kurtosis", Statistic::Kurtosis)
}

/// KURTOSIS_POP: the excess.
pub fn kurtosis_pop() -> Arc<AggregateUDF> {
    function("kurtosis_pop", Statistic::KurtosisPop)
}

/// SKEWNESS: of a sample; NULL for fewer than three values.
pub fn skewness() -> Arc<AggregateUDF> {
    function("skewness", Statistic::Skewness)
}

/// All of them.
pub(super) fn functions() -> [Arc<AggregateUDF>; 3] {
    [kurtosis(), kurtosis_pop(), skewness()]
}

fn function(name: &str, statistic: Statistic) -> Arc<AggregateUDF> {
    let double = Arc::new(DataType::Float64);
    let state = vec![DataType::Float64; 5];
    let new = move |_: AccumulatorArgs<'_>| -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(OfRows { statistic, moments: Moments::default() }))
    };
    let input = vec![DataType::Float64];
    Arc::new(create_udaf(name, input, double, Volatility::Immutable, Arc::new(new), Arc::new(state)))
}

/// The mean of some values and sums of powers of their deviations from it.
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    count: f64,
    mean: f64,
    squares: f64,
    cubes: f64,
    fourths: f64,
}

impl Moments {
    fn of(value: f64) -> Self {
        Self { count: 1.0, mean: value, ..Self::default() }
    }

    /// Those of both.
    fn plus(self, other: Self) -> Self {
        let (a, b) = (self.count, other.count);
        let n = a + b;
        if n == 0.0 {
            return self;
        }
        let delta = other.mean - self.mean;
        let (part, rest) = (delta / n, delta * a * b / n);
        let squares = self.squares + other.squares + delta * rest;
        let cubes = self.cubes
            + other.cubes
            + delta * part * rest * (a - b)
            + 3.0 * part * (a * other.squares - b * self.squares);
        let fourths = self.fourths
            + other.fourths
            + delta * part * part * rest * (a * a - a * b + b * b)
            + 6.0 * part * part * (a * a * other.squares + b * b * self.squares)
            + 4.0 * part * (a * other.cubes - b * self.cubes);
        Self { count: n, mean: self.mean + part * b, squares, cubes, fourths }
    }

    fn statistic(&self, statistic: Statistic) -> Option<f64> {
        let (n, squares) = (self.count, self.squares);
        let fewest = match statistic {
            Statistic::Kurtosis => 4.0,
            Statistic::KurtosisPop => 1.0,
            Statistic::Skewness => 3.0,
        };
        if n < fewest || squares == 0.0 {
            return None;
        }
        let fourth = n * self.fourths / (squares * squares);
        Some(match statistic {
            Statistic::Kurtosis => {
                (n - 1.0) * ((n + 1.0) * fourth - 3.0 * (n - 1.0)) / ((n - 2.0) * (n - 3.0))
            }
            Statistic::KurtosisPop => fourth - 3.0,
            Statistic::Skewness => {
                n * (n - 1.0).sqrt() / (n - 2.0) * (self.cubes / (squares * squares.sqrt()))
            }
        })
    }
}

#[derive(Debug)]
struct OfRows {
    statistic: Statistic,
    moments: Moments,
}

impl Accumulator for OfRows {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for array in values {
            let array = cast(array, &DataType::Float64)?;
            for value in array.as_primitive::<Float64Type>().iter().flatten() {
                self.moments = self.moments.plus(Moments::of(value));
            }
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let columns: Vec<_> = states.iter().map(|state| state.as_primitive::<Float64Type>()).collect();
        let [counts, means, squares, cubes, fourths] = columns.as_slice() else { return Ok(()) };
        for row in 0..counts.len() {
            let other = Moments {
                count: counts.value(row),
                mean: means.value(row),
                squares: squares.value(row),
                cubes: cubes.value(row),
                fourths: fourths.value(row),
            };
            self.moments = self.moments.plus(other);
        }
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let Moments { count, mean, squares, cubes, fourths } = self.moments;
        Ok([count, mean, squares, cubes, fourths].map(ScalarValue::from).to_vec())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Float64(self.moments.statistic(self.statistic)))
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Array, Float64Array};
    use hush_testkit::Draw;

    use super::*;

    const ALL: [Statistic; 3] = [Statistic::Kurtosis, Statistic::KurtosisPop, Statistic::Skewness];

    fn of_rows(values: &[Option<f64>], statistic: Statistic) -> OfRows {
        let mut found = OfRows { statistic, moments: Moments::default() };
        found.update_batch(&[Arc::new(Float64Array::from(values.to_vec()))]).unwrap();
        found
    }

    fn value(found: &mut OfRows) -> Option<f64> {
        let ScalarValue::Float64(value) = found.evaluate().unwrap() else { panic!() };
        value
    }

    /// By the textbook, in two passes over small integers whose sums are exact.
    fn by_two_passes(values: &[f64], statistic: Statistic) -> f64 {
        let n = values.len() as f64;
        let total: f64 = values.iter().sum();
        // n^k times the sum of powers of deviations.
        let of = |k: i32| values.iter().map(|value| (n * value - total).powi(k)).sum::<f64>();
        match statistic {
            Statistic::Skewness => n * (n - 1.0).sqrt() / (n - 2.0) * of(3) / of(2).powf(1.5),
            Statistic::KurtosisPop => n * of(4) / of(2).powi(2) - 3.0,
            Statistic::Kurtosis => {
                let excess = (n + 1.0) * (n * of(4) / of(2).powi(2)) - 3.0 * (n - 1.0);
                (n - 1.0) / (n - 2.0) * excess / (n - 3.0)
            }
        }
    }

    #[test]
    fn statistics_in_one_pass_and_in_parts_are_those_of_two_passes() {
        let mut draw = Draw::new();
        for _ in 0..500 {
            let count = 4 + draw.below(40);
            let offset = [0.0, 1e6, -3e6][draw.below(3)];
            let values: Vec<f64> = (0..count).map(|_| draw.below(30) as f64).collect();
            if values.iter().all(|value| *value == values[0]) {
                continue;
            }
            let moved: Vec<Option<f64>> =
                values.iter().flat_map(|value| [Some(value + offset), None]).collect();
            let cut = draw.below(moved.len() + 1);
            for statistic in ALL {
                let expected = by_two_passes(&values, statistic);
                let near = |found: Option<f64>| {
                    let found = found.unwrap();
                    assert!(
                        (found - expected).abs() < 1e-6 * (1.0 + expected.abs()),
                        "{statistic:?} {values:?}: {found} {expected}"
                    );
                };
                near(value(&mut of_rows(&moved, statistic)));
                let mut left = of_rows(&moved[..cut], statistic);
                let state = of_rows(&moved[cut..], statistic).state().unwrap();
                let state: Vec<ArrayRef> = state.iter().map(|part| part.to_array().unwrap()).collect();
                assert!(state.iter().all(|part| part.len() == 1));
                left.merge_batch(&state).unwrap();
                near(value(&mut left));
            }
        }
    }

    #[test]
    fn too_few_values_and_equal_ones_have_none() {
        let has = |values: &[f64]| {
            let values: Vec<Option<f64>> = values.iter().copied().map(Some).collect();
            ALL.map(|statistic| value(&mut of_rows(&values, statistic)).is_some())
        };
        assert_eq!(has(&[]), [false, false, false]);
        assert_eq!(has(&[1.5]), [false, false, false]);
        assert_eq!(has(&[1.5, 2.0]), [false, true, false]);
        assert_eq!(has(&[1.5, 2.0, 1.5]), [false, true, true]);
        assert_eq!(has(&[1.5, 2.0, 1.5, 9.0]), [true, true, true]);
        assert_eq!(has(&[0.1; 9]), [false, false, false]);
    }
}
