// SPDX-License-Identifier: Apache-2.0
//! Functions of moments whose rows come in groups: of the groups' counts, sums and sums of squares.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal256Type, Field, FieldRef};
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility};
use hush_plan::plan::MomentFunction;
use num_bigint::BigInt;
use num_traits::Zero;

use super::{ExactMoments, ExactStatistic, scale};
use crate::exact::{Moments, big_of_arrow};

/// The function of moments that an aggregate is.
pub(crate) fn moments_of(aggregate: &AggregateUDF) -> Option<MomentFunction> {
    aggregate.inner().downcast_ref::<ExactStatistic>().map(|statistic| statistic.function)
}

/// Whether an aggregate is one of [`of_groups`].
pub(crate) fn is_of_groups(aggregate: &AggregateUDF) -> bool {
    aggregate.inner().is::<GroupedStatistic>()
}

/// A function of the moments of rows that come in groups. Its arguments are a group's number of values, their sum, and the sums of their
/// powers as far as the function reads them; the sum of power `k` in units of `10^-(k·scale)`.
pub(crate) fn of_groups(function: MomentFunction) -> Arc<AggregateUDF> {
    let (name, arguments) = (format!("{function:?}_of_groups").to_lowercase(), 1 + function.order() as usize);
    let signature = Signature::any(arguments, Volatility::Immutable);
    Arc::new(AggregateUDF::from(GroupedStatistic { function, name, signature }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct GroupedStatistic {
    function: MomentFunction,
    name: String,
    signature: Signature,
}

impl AggregateUDFImpl for GroupedStatistic {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn accumulator(&self, arguments: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let sums = arguments.expr_fields.get(1).and_then(|field| scale(field.data_type()));
        let scale = sums.ok_or_else(|| DataFusionError::Plan("sums of groups are exact".to_owned()))?;
        let powers = vec![BigInt::zero(); self.function.order() as usize];
        let moments = Moments { count: BigInt::zero(), powers, scale };
        Ok(Box::new(Groups(ExactMoments { function: self.function, moments, seen: None })))
    }

    fn state_fields(&self, arguments: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        Ok(vec![Arc::new(Field::new(arguments.name, DataType::Utf8, true))])
    }
}

#[derive(Debug)]
struct Groups(ExactMoments);

impl Accumulator for Groups {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let moments = &mut self.0.moments;
        let totals = std::iter::once(&mut moments.count).chain(&mut moments.powers);
        for (total, column) in totals.zip(values) {
            let scale = match column.data_type() {
                DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) => *scale,
                _ => 0,
            };
            let wide = cast(column, &DataType::Decimal256(76, scale))?;
            // A group without a value has no sum.
            *total +=
                wide.as_primitive::<Decimal256Type>().iter().flatten().map(big_of_arrow).sum::<BigInt>();
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.0.evaluate()
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.0.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.0.merge_batch(states)
    }
}
