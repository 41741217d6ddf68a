// SPDX-License-Identifier: Apache-2.0
//! Covariances, correlations and regressions of exact numbers in questions about several tables: from exact sums, rounded once, as of one table.
//!
//! *Cost.* For each row the products of all pairs of variables, in integers of any length.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal256Type, Field, FieldRef};
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility};
use hush_plan::plan::JointFunction;
use num_bigint::BigInt;
use num_traits::Zero;

use super::moments::scale;
use crate::exact::{Joint, big_of_arrow};

/// `exact_joint('corr', y, x1, …)` of exact numbers, over the rows where all have a value. The first argument says what, as
/// [`JointFunction::code`] writes it.
pub(crate) fn exact_joint() -> Arc<AggregateUDF> {
    Arc::new(AggregateUDF::from(ExactJoint { signature: Signature::variadic_any(Volatility::Immutable) }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ExactJoint {
    signature: Signature,
}

impl AggregateUDFImpl for ExactJoint {
    fn name(&self) -> &str {
        "exact_joint"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn accumulator(&self, arguments: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let variables = arguments.expr_fields.iter().skip(1);
        let scales: Option<Vec<u8>> = variables.map(|field| scale(field.data_type())).collect();
        let scales = scales.ok_or_else(|| DataFusionError::Plan("statistics of exact numbers".to_owned()))?;
        let zeros = vec![BigInt::zero(); scales.len()];
        let products = vec![zeros.clone(); scales.len()];
        let sums = Joint { count: BigInt::zero(), scales, sums: zeros, products };
        Ok(Box::new(Sums { function: None, sums }))
    }

    fn state_fields(&self, arguments: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        Ok(vec![Arc::new(Field::new(arguments.name, DataType::Utf8, true))])
    }
}

struct Sums {
    /// Unknown until there is a row.
    function: Option<JointFunction>,
    sums: Joint,
}

impl fmt::Debug for Sums {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sums").field("function", &self.function).finish_non_exhaustive()
    }
}

/// A state that this function has not written.
fn foreign() -> DataFusionError {
    DataFusionError::Internal("a state of another function".to_owned())
}

impl Sums {
    fn name(&mut self, code: &str) -> Result<()> {
        self.function = Some(JointFunction::of_code(code).ok_or_else(foreign)?);
        Ok(())
    }

    fn add(&mut self, row: &[BigInt]) {
        let Joint { count, sums, products, .. } = &mut self.sums;
        *count += 1;
        for ((value, sum), products) in row.iter().zip(sums).zip(products) {
            *sum += value;
            products.iter_mut().zip(row).for_each(|(product, other)| *product += value * other);
        }
    }

    /// All sums, in one order.
    fn all(&mut self) -> impl Iterator<Item = &mut BigInt> {
        let Joint { count, sums, products, .. } = &mut self.sums;
        std::iter::once(count).chain(sums).chain(products.iter_mut().flatten())
    }
}

impl Accumulator for Sums {
    fn update_batch(&mut self, columns: &[ArrayRef]) -> Result<()> {
        let [codes, variables @ ..] = columns else { return Ok(()) };
        let texts = cast(codes, &DataType::Utf8)?;
        if let Some(code) = texts.as_string::<i32>().iter().flatten().next() {
            self.name(code)?;
        }
        let wide = variables.iter().zip(&self.sums.scales);
        let wide = wide.map(|(array, scale)| cast(array, &DataType::Decimal256(76, *scale as i8)));
        let wide: Vec<ArrayRef> = wide.collect::<std::result::Result<_, _>>()?;
        let mut columns: Vec<_> =
            wide.iter().map(|array| array.as_primitive::<Decimal256Type>().iter()).collect();
        for _ in 0..texts.len() {
            let row: Vec<_> = columns.iter_mut().map(|column| column.next().flatten()).collect();
            let known: Option<Vec<BigInt>> = row.into_iter().map(|value| value.map(big_of_arrow)).collect();
            known.iter().for_each(|row| self.add(row));
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Float64(self.function.and_then(|function| self.sums.statistic(function))))
    }

    fn size(&self) -> usize {
        size_of_val(self) + 64 * (self.sums.sums.len() + 1).pow(2)
    }

    /// The function, and all sums in decimal digits; nothing where there was no row.
    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let Some(function) = self.function else { return Ok(vec![ScalarValue::Utf8(None)]) };
        let digits: Vec<String> = self.all().map(|sum| sum.to_string()).collect();
        Ok(vec![ScalarValue::Utf8(Some(format!("{} {}", function.code(), digits.join(" "))))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let states = states.first().and_then(|states| states.as_string_opt::<i32>()).ok_or_else(foreign)?;
        for state in states.iter().flatten() {
            let (code, digits) = state.split_once(' ').ok_or_else(foreign)?;
            self.name(code)?;
            let mut numbers = digits.split(' ').map(str::parse::<BigInt>);
            for sum in self.all() {
                *sum += numbers.next().and_then(std::result::Result::ok).ok_or_else(foreign)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Decimal128Array, Int64Array, StringArray};

    use super::*;

    fn sums(scales: &[u8]) -> Sums {
        let zeros = vec![BigInt::zero(); scales.len()];
        let products = vec![zeros.clone(); scales.len()];
        Sums {
            function: None,
            sums: Joint { count: BigInt::zero(), scales: scales.to_vec(), sums: zeros, products },
        }
    }

    /// y = 2x + 1 where both have a value, in one piece and in two that are put together.
    #[test]
    fn pieces_are_put_together() {
        let columns = |code: &str, rows: std::ops::Range<usize>| -> Vec<ArrayRef> {
            let y = [Some(250), Some(450), None, Some(850), Some(10)];
            let x = [Some(1), Some(3), Some(9), Some(7), None];
            let y = Decimal128Array::from(y[rows.clone()].to_vec()).with_precision_and_scale(9, 2).unwrap();
            let x = Int64Array::from(x[rows.clone()].to_vec());
            vec![Arc::new(StringArray::from(vec![code; rows.len()])), Arc::new(y), Arc::new(x)]
        };
        for (code, expected) in [
            ("slope:1", 1.0),
            ("intercept", 1.5),
            ("r2", 1.0),
            ("corr", 1.0),
            ("mean:1", 11.0 / 3.0),
            ("spread:1:1", 56.0 / 3.0),
        ] {
            let mut whole = sums(&[2, 0]);
            whole.update_batch(&columns(code, 0..5)).unwrap();
            let mut parts = sums(&[2, 0]);
            for rows in [0..0, 0..2, 2..5] {
                let mut part = sums(&[2, 0]);
                part.update_batch(&columns(code, rows)).unwrap();
                let state = part.state().unwrap();
                let [ScalarValue::Utf8(state)] = state.as_slice() else { panic!("{code}") };
                parts.merge_batch(&[Arc::new(StringArray::from(vec![state.clone()]))]).unwrap();
            }
            for found in [&mut whole, &mut parts] {
                assert_eq!(found.evaluate().unwrap(), ScalarValue::Float64(Some(expected)), "{code}");
            }
        }
        assert_eq!(sums(&[0, 0]).evaluate().unwrap(), ScalarValue::Float64(None));
        assert!(sums(&[0, 0]).merge_batch(&[Arc::new(StringArray::from(vec!["corr 1 2"]))]).is_err());
        assert!(sums(&[0, 0]).update_batch(&columns("cor", 0..1)).is_err());
    }
}
