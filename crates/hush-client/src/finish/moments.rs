// SPDX-License-Identifier: Apache-2.0
//! Functions of moments of exact numbers, over windows and in questions about several tables: from exact sums, rounded once, as of one table
//! without a window.
//!
//! The query engine's own functions work in doubles, which cannot tell neighbouring numbers beyond 2^53 apart. In a moving
//! frame they lose numbers much smaller than one that has left it. Its mean of decimals is cut to some digits. Doubles are
//! still left to it, and to [`hush_exec::central`] where it has no function.

mod merged;

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal256Type, Field, FieldRef};
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result};
use datafusion::functions_aggregate::{average, stddev, variance};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility};
use hush_exec::central;
use hush_plan::plan::MomentFunction;
use num_bigint::BigInt;
use num_traits::Zero;

pub(crate) use self::merged::{is_of_groups, moments_of, of_groups};
use crate::exact::{Moments, big_of_arrow};

/// A function of exact numbers in place of one of the query engine's.
fn exact(function: MomentFunction, engine: Arc<AggregateUDF>) -> Arc<AggregateUDF> {
    let name = engine.name().to_owned();
    let signature = Signature::any(1, Volatility::Immutable);
    Arc::new(AggregateUDF::from(ExactStatistic { function, name, engine, signature }))
}

/// AVG of exact numbers under a name of its own, so that no rule takes it for the query engine's.
pub(crate) fn average() -> Arc<AggregateUDF> {
    let (function, name) = (MomentFunction::Avg, "exact_avg".to_owned());
    let signature = Signature::any(1, Volatility::Immutable);
    Arc::new(AggregateUDF::from(ExactStatistic { function, name, engine: average::avg_udaf(), signature }))
}

/// The functions, in place of the query engine's of the same names.
pub(super) fn functions() -> Vec<Arc<AggregateUDF>> {
    use MomentFunction as F;
    vec![
        exact(F::Avg, average::avg_udaf()),
        exact(F::Kurtosis, central::kurtosis()),
        exact(F::KurtosisPop, central::kurtosis_pop()),
        exact(F::Skewness, central::skewness()),
        exact(F::StddevPop, stddev::stddev_pop_udaf()),
        exact(F::StddevSamp, stddev::stddev_udaf()),
        exact(F::VarPop, variance::var_pop_udaf()),
        exact(F::VarSamp, variance::var_samp_udaf()),
    ]
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ExactStatistic {
    function: MomentFunction,
    name: String,
    /// The engine's function, for doubles.
    engine: Arc<AggregateUDF>,
    signature: Signature,
}

impl AggregateUDFImpl for ExactStatistic {
    fn name(&self) -> &str {
        &self.name
    }

    fn aliases(&self) -> &[String] {
        if self.name == self.engine.name() { self.engine.aliases() } else { &[] }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        match arguments {
            [kind] if kind.is_numeric() => Ok(DataType::Float64),
            _ => Err(DataFusionError::Plan("moments are of numbers".to_owned())),
        }
    }

    fn accumulator(&self, arguments: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let scale = arguments.expr_fields.first().and_then(|field| scale(field.data_type()));
        let Some(scale) = scale else { return self.engine.accumulator(arguments) };
        let powers = vec![BigInt::zero(); self.function.order() as usize];
        let moments = Moments { count: BigInt::zero(), powers, scale };
        let seen = arguments.is_distinct.then(BTreeSet::new);
        Ok(Box::new(ExactMoments { function: self.function, moments, seen }))
    }

    fn state_fields(&self, arguments: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        match arguments.input_fields.first().and_then(|field| scale(field.data_type())) {
            Some(_) => Ok(vec![Arc::new(Field::new(arguments.name, DataType::Utf8, true))]),
            None => self.engine.state_fields(arguments),
        }
    }
}

/// The decimal scale of exact numbers; `None` for others.
pub(super) fn scale(kind: &DataType) -> Option<u8> {
    match kind {
        DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) => u8::try_from(*scale).ok(),
        kind if kind.is_integer() => Some(0),
        _ => None,
    }
}

#[derive(Debug)]
struct ExactMoments {
    function: MomentFunction,
    moments: Moments,
    /// The values that were counted, where each counts once.
    seen: Option<BTreeSet<BigInt>>,
}

impl ExactMoments {
    /// Counts the values `times` (1 or -1).
    fn add(&mut self, arrays: &[ArrayRef], times: i8) -> Result<()> {
        let wide = DataType::Decimal256(76, self.moments.scale as i8);
        for array in arrays {
            for value in
                cast(array, &wide)?.as_primitive::<Decimal256Type>().iter().flatten().map(big_of_arrow)
            {
                if self.seen.as_mut().is_some_and(|seen| !seen.insert(value.clone())) {
                    continue;
                }
                self.moments.count += times;
                let mut power = BigInt::from(times);
                for sum in &mut self.moments.powers {
                    power *= &value;
                    *sum += &power;
                }
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
        self.seen.is_none()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Float64(self.moments.statistic(self.function)))
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }

    /// The count and the sums in decimal digits.
    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        if self.seen.is_some() {
            return Err(alone());
        }
        let numbers = std::iter::once(&self.moments.count).chain(&self.moments.powers);
        let digits: Vec<String> = numbers.map(BigInt::to_string).collect();
        Ok(vec![ScalarValue::Utf8(Some(digits.join(" ")))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let foreign = || DataFusionError::Internal("a state of another function".to_owned());
        let states = states.first().and_then(|states| states.as_string_opt::<i32>()).ok_or_else(foreign)?;
        if self.seen.is_some() {
            return Err(alone());
        }
        for state in states.iter().flatten() {
            let mut numbers = state.split(' ').map(str::parse::<BigInt>);
            let mut next = || numbers.next().and_then(std::result::Result::ok).ok_or_else(foreign);
            self.moments.count += next()?;
            for sum in &mut self.moments.powers {
                *sum += next()?;
            }
        }
        Ok(())
    }
}

/// Distinct values are counted in one piece.
fn alone() -> DataFusionError {
    DataFusionError::NotImplemented("statistics of distinct values in several pieces".to_owned())
}
