// SPDX-License-Identifier: Apache-2.0
//! PRODUCT and GEOMEAN of clear columns, which the query engine does not have: in doubles, in the order of the table.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{Accumulator, AggregateUDF, Volatility, create_udaf};

/// The two functions, each of one DOUBLE. Both are NULL without rows; GEOMEAN is NULL if a value is negative.
pub fn functions() -> Vec<Arc<AggregateUDF>> {
    let function = |(name, is_root)| {
        let double = Arc::new(DataType::Float64);
        let state = vec![DataType::Int64, DataType::Float64, DataType::Float64, DataType::Boolean];
        let new = move |_: AccumulatorArgs<'_>| -> Result<Box<dyn Accumulator>> {
            Ok(Box::new(Product::new(is_root)))
        };
        let input = vec![DataType::Float64];
        Arc::new(create_udaf(name, input, double, Volatility::Immutable, Arc::new(new), Arc::new(state)))
    };
    [("geomean", true), ("product", false)].map(function).to_vec()
}

#[derive(Debug)]
struct Product {
    is_root: bool,
    count: i64,
    product: f64,
    /// Sum of logarithms of absolute values.
    logs: f64,
    has_negative: bool,
}

impl Product {
    fn new(is_root: bool) -> Self {
        Self { is_root, count: 0, product: 1.0, logs: 0.0, has_negative: false }
    }
}

impl Accumulator for Product {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for value in values.iter().flat_map(|array| array.as_primitive::<Float64Type>()).flatten() {
            self.count += 1;
            self.product *= value;
            self.logs += value.abs().ln();
            self.has_negative |= value < 0.0;
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let [counts, products, logs, negatives] = states else { return Ok(()) };
        self.count += counts.as_primitive::<Int64Type>().iter().flatten().sum::<i64>();
        self.product *= products.as_primitive::<Float64Type>().iter().flatten().product::<f64>();
        self.logs += logs.as_primitive::<Float64Type>().iter().flatten().sum::<f64>();
        self.has_negative |= negatives.as_boolean().iter().flatten().any(|negative| negative);
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![
            ScalarValue::from(self.count),
            ScalarValue::from(self.product),
            ScalarValue::from(self.logs),
            ScalarValue::from(self.has_negative),
        ])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let value = match (self.count, self.is_root) {
            (0, _) => None,
            (_, false) => Some(self.product),
            (_, true) if self.has_negative => None,
            (count, true) => Some((self.logs / count as f64).exp()),
        };
        Ok(ScalarValue::Float64(value))
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}
