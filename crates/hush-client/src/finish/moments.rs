// SPDX-License-Identifier: Apache-2.0
//! AVG, VARIANCE and STDDEV over windows of exact numbers: from exact sums, rounded once, as without a window.
//!
//! The query engine's own functions work in doubles, which cannot tell neighbouring numbers beyond 2^53 apart. In a moving
//! frame they lose numbers much smaller than one that has left it. Its mean of decimals is cut to some digits. Doubles are
//! still left to it.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal256Type, Field, FieldRef};
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result};
use datafusion::functions_aggregate::{average, stddev, variance};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility};
use hush_plan::plan::MomentFunction;
use num_bigint::BigInt;
use num_traits::Zero;

use crate::exact::{Moments, big_of_arrow};

/// The functions, in place of the query engine's of the same names.
pub(super) fn functions() -> Vec<Arc<AggregateUDF>> {
    use MomentFunction::{Avg, StddevPop, StddevSamp, VarPop, VarSamp};
    let exact = |function, engine: Arc<AggregateUDF>| {
        Arc::new(AggregateUDF::from(ExactStatistic {
            function,
            engine,
            signature: Signature::any(1, Volatility::Immutable),
        }))
    };
    vec![
        exact(Avg, average::avg_udaf()),
        exact(StddevPop, stddev::stddev_pop_udaf()),
        exact(StddevSamp, stddev::stddev_udaf()),
        exact(VarPop, variance::var_pop_udaf()),
        exact(VarSamp, variance::var_samp_udaf()),
    ]
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ExactStatistic {
    function: MomentFunction,
    /// The engine's function, for doubles.
    engine: Arc<AggregateUDF>,
    signature: Signature,
}

impl AggregateUDFImpl for ExactStatistic {
    fn name(&self) -> &str {
        self.engine.name()
    }

    fn aliases(&self) -> &[String] {
        self.engine.aliases()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        match arguments {
            [kind] if kind.is_numeric() => Ok(DataType::Float64),
            _ => Err(DataFusionError::Plan("means and variances are of numbers".to_owned())),
        }
    }

    fn accumulator(&self, arguments: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let scale = match arguments.expr_fields.first().map(|field| field.data_type()) {
            Some(DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale)) => {
                u8::try_from(*scale).ok()
            }
            Some(kind) if kind.is_integer() => Some(0),
            _ => None,
        };
        let Some(scale) = scale else { return self.engine.accumulator(arguments) };
        let zero = BigInt::zero;
        let squares = self.function.reads_squares().then(zero);
        let moments = Moments { count: zero(), sum: zero(), squares, scale };
        Ok(Box::new(ExactMoments { function: self.function, moments }))
    }

    fn state_fields(&self, arguments: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        Ok(vec![Arc::new(Field::new(arguments.name, DataType::Binary, true))])
    }
}

#[derive(Debug)]
struct ExactMoments {
    function: MomentFunction,
    moments: Moments,
}

impl ExactMoments {
    /// Counts the values `times` (1 or -1).
    fn add(&mut self, arrays: &[ArrayRef], times: i8) -> Result<()> {
        let wide = DataType::Decimal256(76, self.moments.scale as i8);
        for array in arrays {
            for value in
                cast(array, &wide)?.as_primitive::<Decimal256Type>().iter().flatten().map(big_of_arrow)
            {
                self.moments.count += times;
                if let Some(squares) = &mut self.moments.squares {
                    *squares += &value * &value * times;
                }
                self.moments.sum += value * times;
            }
        }
        Ok(())
    }
}

impl Accumulator for ExactMoments {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.add(values, 1)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.add(values, -1)
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Float64(self.moments.statistic(self.function)))
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Err(alone())
    }

    fn merge_batch(&mut self, _states: &[ArrayRef]) -> Result<()> {
        Err(alone())
    }
}

/// Windows are computed in one piece.
fn alone() -> DataFusionError {
    DataFusionError::NotImplemented("statistics in several pieces".to_owned())
}
