// SPDX-License-Identifier: Apache-2.0
//! Logistic regression of clear columns, which the query engine does not have.
//!
//! | function | value |
//! |---|---|
//! | `logreg(n, y, x1, …)` | the fit as a list: the part that it explains, the constant, the coefficients; NULL where there is no single one |
//! | `logreg_part(fit, i)` | the `i`-th of these, from 0 |
//!
//! `n` says for how many rows a row stands. `y` lies from 0 to 1, or it is an error. A row counts if it has all of them. The order of the rows does
//! not matter, to the last bit: they are sorted first.
//!
//! *Memory.* All rows of all groups, 8 bytes for each value, within the memory of the session.

mod fit;

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array};
use arrow::datatypes::{DataType, Field, FieldRef, Float64Type, Int64Type};
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::common::{ScalarValue, exec_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility,
};

use self::fit::{Rows, fit};

/// The aggregate, `logreg(n, y, x1, …)`.
pub fn aggregate() -> Arc<AggregateUDF> {
    Arc::new(AggregateUDF::from(Logreg { signature: Signature::variadic_any(Volatility::Immutable) }))
}

/// What takes its result apart, `logreg_part(fit, i)`.
pub fn part() -> Arc<ScalarUDF> {
    let kinds = vec![list_of_doubles(), DataType::Int64];
    Arc::new(ScalarUDF::from(LogregPart { signature: Signature::exact(kinds, Volatility::Immutable) }))
}

fn list_of_doubles() -> DataType {
    DataType::List(Arc::new(Field::new_list_field(DataType::Float64, true)))
}

/// A list of one row.
fn list(values: Vec<f64>) -> ScalarValue {
    let array: ArrayRef = Arc::new(Float64Array::from(values));
    ScalarValue::List(Arc::new(SingleRowListArrayBuilder::new(array).build_list_array()))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Logreg {
    signature: Signature,
}

impl AggregateUDFImpl for Logreg {
    fn name(&self) -> &str {
        "logreg"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        match arguments {
            [DataType::Int64, DataType::Float64, DataType::Float64, rest @ ..]
                if rest.iter().all(|kind| *kind == DataType::Float64) =>
            {
                Ok(list_of_doubles())
            }
            _ => exec_err!("logreg of these arguments"),
        }
    }

    fn accumulator(&self, arguments: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Known { width: arguments.exprs.len(), cells: Vec::new() }))
    }

    fn state_fields(&self, arguments: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let name = format_state_name(arguments.name, "rows");
        Ok(vec![Arc::new(Field::new(name, list_of_doubles(), true))])
    }
}

/// An outcome outside of 0 to 1.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("an outcome outside of 0 to 1")]
pub struct OutcomeFault;

/// The rows of a group.
#[derive(Debug)]
struct Known {
    /// Arguments, and cells of a row.
    width: usize,
    /// Row by row: the outcome, the number of rows for which it stands, the variables.
    cells: Vec<f64>,
}

impl Accumulator for Known {
    fn update_batch(&mut self, columns: &[ArrayRef]) -> Result<()> {
        let Some((counts, rest)) = columns.split_first() else { return Ok(()) };
        let Some(counts) = counts.as_primitive_opt::<Int64Type>() else {
            return exec_err!("counts that are none");
        };
        let doubles: Option<Vec<&Float64Array>> =
            rest.iter().map(|column| column.as_primitive_opt::<Float64Type>()).collect();
        let Some(doubles) = doubles else { return exec_err!("variables that are no doubles") };
        let Some((outcomes, variables)) = doubles.split_first() else { return Ok(()) };
        for row in 0..counts.len() {
            let is_known = rest.iter().all(|column| column.is_valid(row)) && counts.is_valid(row);
            if is_known && counts.value(row) > 0 {
                if !(0.0..=1.0).contains(&outcomes.value(row)) {
                    return Err(DataFusionError::External(Box::new(OutcomeFault)));
                }
                self.cells.extend([outcomes.value(row), counts.value(row) as f64]);
                self.cells.extend(variables.iter().map(|column| column.value(row)));
            }
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let rows = states.iter().flat_map(|state| state.as_list::<i32>().iter().flatten());
        rows.for_each(|rows| self.cells.extend(rows.as_primitive::<Float64Type>().values()));
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![list(std::mem::take(&mut self.cells))])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let cells = in_order(&self.cells, self.width);
        Ok(match fit(Rows { cells: &cells, width: self.width }) {
            Some(fit) => list([fit.r2].into_iter().chain(fit.coefficients).collect()),
            None => ScalarValue::try_from(&list_of_doubles())?,
        })
    }

    fn size(&self) -> usize {
        // Twice: they are sorted into a copy.
        size_of_val(self) + 2 * self.cells.capacity() * size_of::<f64>()
    }
}

/// The rows in the order of their values, equal ones as one of their common weight.
fn in_order(cells: &[f64], width: usize) -> Vec<f64> {
    // Without the weight, and with one zero for both.
    let value = |row: &[f64], place: usize| row.get(place).map(|cell| cell + 0.0).unwrap_or_default();
    let places = || (0..width).filter(|place| *place != 1);
    let mut rows: Vec<&[f64]> = cells.chunks_exact(width).collect();
    rows.sort_unstable_by(|one, other| {
        let orders = places().map(|place| value(one, place).total_cmp(&value(other, place)));
        orders.reduce(std::cmp::Ordering::then).unwrap_or(std::cmp::Ordering::Equal)
    });
    let mut joined: Vec<f64> = Vec::with_capacity(cells.len());
    let mut before: Option<&[f64]> = None;
    for row in rows {
        let is_same = before.is_some_and(|before| {
            places().all(|place| value(before, place).total_cmp(&value(row, place)).is_eq())
        });
        let at = joined.len().saturating_sub(width - 1);
        match (is_same, joined.get_mut(at)) {
            // Sums of whole numbers, which doubles hold exactly.
            (true, Some(weight)) => *weight += row.get(1).copied().unwrap_or_default(),
            _ => joined.extend_from_slice(row),
        }
        before = Some(row);
    }
    joined
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct LogregPart {
    signature: Signature,
}

impl ScalarUDFImpl for LogregPart {
    fn name(&self) -> &str {
        "logreg_part"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let columns = ColumnarValue::values_to_arrays(&arguments.args)?;
        let [fits, places] = columns.as_slice() else { return exec_err!("logreg_part of these arguments") };
        let Some(places) = places.as_primitive_opt::<Int64Type>() else {
            return exec_err!("logreg_part of these arguments");
        };
        let part = |(fit, place): (Option<ArrayRef>, Option<i64>)| {
            let fit = fit?;
            let place = usize::try_from(place?).ok().filter(|place| *place < fit.len())?;
            Some(fit.as_primitive::<Float64Type>().value(place))
        };
        let parts: Float64Array = fits.as_list::<i32>().iter().zip(places.iter()).map(part).collect();
        Ok(ColumnarValue::Array(Arc::new(parts)))
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::Int64Array;

    use super::*;

    #[test]
    fn equal_rows_are_one_with_their_common_weight_in_any_order() {
        let rows = [[1.0, 2.0, 5.0], [0.0, 1.0, -0.0], [1.0, 3.0, 5.0], [0.0, 4.0, 0.0], [1.0, 1.0, 4.0]];
        let expected = vec![0.0, 5.0, 0.0, 1.0, 1.0, 4.0, 1.0, 5.0, 5.0];
        for turn in 0..rows.len() {
            let mut rows = rows;
            rows.rotate_left(turn);
            assert_eq!(in_order(rows.as_flattened(), 3), expected);
        }
        assert!(in_order(&[], 3).is_empty());
    }

    #[test]
    fn rows_that_lack_a_value_do_not_count() {
        let mut known = Known { width: 3, cells: Vec::new() };
        let counts: ArrayRef = Arc::new(Int64Array::from(vec![Some(2), Some(1), None, Some(0), Some(3)]));
        let outcomes: ArrayRef =
            Arc::new(Float64Array::from(vec![Some(1.0), None, Some(0.0), Some(0.0), Some(0.0)]));
        let variables: ArrayRef = Arc::new(Float64Array::from(vec![0.5, 0.5, 0.5, 0.5, 7.0]));
        known.update_batch(&[counts.clone(), outcomes, variables]).unwrap();
        assert_eq!(known.cells, [1.0, 2.0, 0.5, 0.0, 3.0, 7.0]);
        let state = known.state().unwrap()[0].to_array().unwrap();
        known.merge_batch(std::slice::from_ref(&state)).unwrap();
        known.merge_batch(&[state]).unwrap();
        assert_eq!(known.cells.len(), 12);
        assert!(known.update_batch(&[counts.clone(), counts]).is_err());
    }
}
