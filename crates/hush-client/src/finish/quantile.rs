// SPDX-License-Identifier: Apache-2.0
//! Medians and quantiles of exact numbers in questions about several tables: the value in proportion between its two neighbours, rounded once, as of one table.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal256Type, Field, FieldRef, Int64Type, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Signature, TypeSignature, Volatility,
};
use hush_plan::plan::Fraction;
use num_bigint::BigInt;

use super::moments::scale;
use crate::exact::{between, big_of_arrow};

/// `exact_quantile(x, numerator, denominator)`: the value at the place `(n − 1)·p` of `n` values in rising order, `p = numerator / denominator`. With
/// one more argument each value stands for as many rows as that integer says.
pub(crate) fn exact_quantile() -> Arc<AggregateUDF> {
    let signature = [3, 4].map(TypeSignature::Any).to_vec();
    let signature = Signature::one_of(signature, Volatility::Immutable);
    Arc::new(AggregateUDF::from(ExactQuantile { signature }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ExactQuantile {
    signature: Signature,
}

impl AggregateUDFImpl for ExactQuantile {
    fn name(&self) -> &str {
        "exact_quantile"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Between days and instants lies an instant. Other functions take the places of this one for what is no exact number, once types are settled.
    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        Ok(match arguments.first() {
            Some(DataType::Date32 | DataType::Timestamp(..)) => {
                DataType::Timestamp(TimeUnit::Microsecond, None)
            }
            _ => DataType::Float64,
        })
    }

    fn accumulator(&self, arguments: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let scale = arguments.expr_fields.first().and_then(|field| scale(field.data_type()));
        let scale = scale.ok_or_else(|| DataFusionError::Plan("quantiles of exact numbers".to_owned()))?;
        Ok(Box::new(Values { scale, rows: BTreeMap::new(), part: Fraction { numerator: 0, denominator: 1 } }))
    }

    fn state_fields(&self, arguments: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        Ok(vec![Arc::new(Field::new(arguments.name, DataType::Utf8, true))])
    }
}

/// The values of a group.
#[derive(Debug)]
struct Values {
    scale: u8,
    /// Rows of each value, in units of the scale.
    rows: BTreeMap<BigInt, u64>,
    part: Fraction,
}

impl Values {
    fn value_at(&self, place: u64) -> Option<&BigInt> {
        let mut before = 0_u64;
        self.rows.iter().find_map(|(value, rows)| {
            before = before.saturating_add(*rows);
            (place < before).then_some(value)
        })
    }

    fn quantile(&self) -> Option<f64> {
        let count = self.rows.values().fold(0_u64, |count, rows| count.saturating_add(*rows));
        let last = count.checked_sub(1)?;
        let Fraction { numerator, denominator } = self.part;
        let place = u128::from(last) * u128::from(numerator) / u128::from(denominator);
        let place = u64::try_from(place).ok()?;
        let (low, high) = (self.value_at(place)?, self.value_at(place.saturating_add(1).min(last))?);
        Some(between(self.part, &BigInt::from(count), (low, high), self.scale))
    }
}

impl Accumulator for Values {
    fn update_batch(&mut self, columns: &[ArrayRef]) -> Result<()> {
        let [values, numerator, denominator, weights @ ..] = columns else { return Ok(()) };
        let constant = |column: &ArrayRef| {
            let some =
                column.as_primitive_opt::<Int64Type>().and_then(|column| column.iter().flatten().next());
            some.and_then(|some| u64::try_from(some).ok())
        };
        if let (Some(numerator), Some(denominator)) = (constant(numerator), constant(denominator)) {
            if denominator == 0 || numerator > denominator {
                return Err(DataFusionError::Execution("a part of rows that is none".to_owned()));
            }
            self.part = Fraction { numerator, denominator };
        }
        let wide = cast(values, &DataType::Decimal256(76, self.scale as i8))?;
        let weights = weights.first().and_then(|weights| weights.as_primitive_opt::<Int64Type>());
        for (row, value) in wide.as_primitive::<Decimal256Type>().iter().enumerate() {
            let rows = weights.map_or(1, |weights| if weights.is_null(row) { 0 } else { weights.value(row) });
            if let (Some(value), Ok(rows @ 1..)) = (value, u64::try_from(rows)) {
                let known = self.rows.entry(big_of_arrow(value)).or_default();
                *known = known.saturating_add(rows);
            }
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Float64(self.quantile()))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.rows.len() * (size_of::<(BigInt, u64)>() + size_of::<u128>())
    }

    /// Numerator, denominator, and each value with its rows, in decimal digits.
    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let mut text = format!("{} {}", self.part.numerator, self.part.denominator);
        for (value, rows) in &self.rows {
            text.push_str(&format!(" {value} {rows}"));
        }
        Ok(vec![ScalarValue::Utf8(Some(text))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let foreign = || DataFusionError::Internal("a state of another function".to_owned());
        let states = states.first().and_then(|states| states.as_string_opt::<i32>()).ok_or_else(foreign)?;
        for state in states.iter().flatten() {
            let mut words = state.split(' ');
            let mut number = || words.next()?.parse::<u64>().ok();
            let (numerator, denominator) = number().zip(number()).ok_or_else(foreign)?;
            if state.split(' ').nth(2).is_some() {
                self.part = Fraction { numerator, denominator };
            }
            while let Some(value) = words.next() {
                let value = value.parse::<BigInt>().map_err(|_| foreign())?;
                let rows = words.next().and_then(|rows| rows.parse::<u64>().ok()).ok_or_else(foreign)?;
                let known = self.rows.entry(value).or_default();
                *known = known.saturating_add(rows);
            }
        }
        Ok(())
    }
}
