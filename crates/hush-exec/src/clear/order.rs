// SPDX-License-Identifier: Apache-2.0
//! Aggregates of the values in their order, which the query engine does not have in this exactness. They keep all values of a group.
//!
//! | function | value, of `n` values in rising order, with `p = numerator / denominator` |
//! |---|---|
//! | `mode(x)` | the one that occurs most often; of several the least |
//! | `quantile_at(x, numerator, denominator, k)` | at place `⌊(n − 1)·p⌋ + k`, but at the last at most |
//! | `quantile_cont(x, numerator, denominator)` | between those at `⌊(n − 1)·p⌋` and the next one in proportion; doubles and timestamps |
//! | `quantile_disc(x, numerator, denominator, 0)` | at place `⌈n·p⌉ − 1`, but at the first at least; with 1 counted from the last |
//!
//! *Memory.* All values of all groups, within the memory of the session.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, make_comparator, new_empty_array};
use arrow::compute::{SortOptions, concat, filter, is_not_null, sort_to_indices, take};
use arrow::datatypes::{DataType, Field, FieldRef, Int64Type};
use datafusion::common::{ScalarValue, exec_err};
use datafusion::error::Result;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility};

/// All of them.
pub(super) fn functions() -> Vec<Arc<AggregateUDF>> {
    let function = |(name, kind, arguments)| {
        let signature = Signature::any(arguments, Volatility::Immutable);
        Arc::new(AggregateUDF::from(Function { name, kind, signature }))
    };
    [
        ("mode", Kind::Mode, 1),
        ("quantile_at", Kind::At, 4),
        ("quantile_cont", Kind::Cont, 3),
        ("quantile_disc", Kind::Disc, 4),
    ]
    .map(function)
    .to_vec()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    At,
    Cont,
    Disc,
    Mode,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Function {
    name: &'static str,
    kind: Kind,
    signature: Signature,
}

impl AggregateUDFImpl for Function {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        match (self.kind, arguments.first()) {
            (Kind::Cont, Some(kind @ (DataType::Float64 | DataType::Timestamp(..)))) => Ok(kind.clone()),
            (Kind::At | Kind::Disc | Kind::Mode, Some(kind)) => Ok(kind.clone()),
            _ => exec_err!("{} of these arguments", self.name),
        }
    }

    fn accumulator(&self, arguments: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Ordered {
            kind: self.kind,
            of: arguments.return_field.data_type().clone(),
            values: Vec::new(),
            given: [0; 3],
        }))
    }

    fn state_fields(&self, arguments: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let item = Arc::new(Field::new_list_field(arguments.return_field.data_type().clone(), true));
        let name = |part: &str| format_state_name(arguments.name, part);
        let given = ["numerator", "denominator", "further"];
        let given = given.map(|part| Arc::new(Field::new(name(part), DataType::Int64, true)));
        let values = Arc::new(Field::new(name("values"), DataType::List(item), true));
        Ok(std::iter::once(values).chain(given).collect())
    }
}

/// The values of a group.
#[derive(Debug)]
struct Ordered {
    kind: Kind,
    of: DataType,
    values: Vec<ArrayRef>,
    /// Numerator, denominator, and the last argument.
    given: [i64; 3],
}

impl Ordered {
    fn keep(&mut self, values: &ArrayRef) -> Result<()> {
        let known = filter(values, &is_not_null(values)?)?;
        if !known.is_empty() {
            self.values.push(known);
        }
        Ok(())
    }

    /// Takes the constants from their columns.
    fn read_given(&mut self, columns: &[ArrayRef]) {
        for (given, column) in self.given.iter_mut().zip(columns) {
            let constant =
                column.as_primitive_opt::<Int64Type>().and_then(|column| column.iter().flatten().next());
            *given = constant.unwrap_or(*given);
        }
    }

    fn all(&self) -> Result<ArrayRef> {
        let values: Vec<&dyn Array> = self.values.iter().map(|values| &**values).collect();
        if values.is_empty() { Ok(new_empty_array(&self.of)) } else { Ok(concat(&values)?) }
    }

    fn sorted(&self) -> Result<ArrayRef> {
        let values = self.all()?;
        let order = sort_to_indices(&values, Some(SortOptions::default()), None)?;
        Ok(take(&values, &order, None)?)
    }

    /// The place `⌊(n − 1)·p⌋` among `n` values, and the numerator of what is missing to `(n − 1)·p`.
    fn place(&self, count: usize) -> Result<(usize, i128)> {
        let [numerator, denominator, _] = self.given.map(i128::from);
        if denominator <= 0 || !(0..=denominator).contains(&numerator) {
            return exec_err!("a part of rows that is none");
        }
        let at = (count as i128 - 1) * numerator;
        Ok(((at / denominator) as usize, at % denominator))
    }
}

impl Accumulator for Ordered {
    fn update_batch(&mut self, columns: &[ArrayRef]) -> Result<()> {
        let Some((values, given)) = columns.split_first() else { return Ok(()) };
        self.read_given(given);
        self.keep(values)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let Some((lists, given)) = states.split_first() else { return Ok(()) };
        self.read_given(given);
        lists.as_list::<i32>().iter().flatten().try_for_each(|values| self.keep(&values))
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let values = ScalarValue::List(Arc::new(
            datafusion::common::utils::SingleRowListArrayBuilder::new(self.all()?).build_list_array(),
        ));
        Ok(std::iter::once(values).chain(self.given.map(ScalarValue::from)).collect())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let values = self.sorted()?;
        let count = values.len();
        if count == 0 {
            return ScalarValue::try_from(&self.of);
        }
        let last = count - 1;
        let [_, denominator, further] = self.given.map(i128::from);
        let at = match self.kind {
            Kind::Mode => most_frequent(&values)?,
            Kind::At => {
                let (place, _) = self.place(count)?;
                place.saturating_add(usize::try_from(further).unwrap_or(0)).min(last)
            }
            Kind::Disc => {
                self.place(count)?;
                let upto = (count as i128 * i128::from(self.given[0]) + denominator - 1) / denominator;
                let place = (upto.max(1) - 1) as usize;
                if further == 1 { last - place.min(last) } else { place.min(last) }
            }
            Kind::Cont => {
                let (place, behind) = self.place(count)?;
                let ends = [place, (place + 1).min(last)].map(|at| ScalarValue::try_from_array(&values, at));
                let [low, high] = ends;
                return between(low?, high?, (behind, denominator));
            }
        };
        ScalarValue::try_from_array(&values, at)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.values.iter().map(|values| values.get_array_memory_size()).sum::<usize>()
    }
}

/// The value that lies `behind / whole` of the way from one to another; timestamps are rounded down.
fn between(low: ScalarValue, high: ScalarValue, (behind, whole): (i128, i128)) -> Result<ScalarValue> {
    use ScalarValue::{Float64, TimestampMicrosecond, TimestampNanosecond};
    let ticks = |low: i64, high: i64| {
        let apart = (i128::from(high) - i128::from(low)) * behind;
        (i128::from(low) + apart.div_euclid(whole)) as i64
    };
    Ok(match (&low, &high) {
        (Float64(Some(low)), Float64(Some(high))) => {
            let part = behind as f64 / whole as f64;
            Float64(Some(if behind == 0 { *low } else { low + (high - low) * part }))
        }
        (TimestampMicrosecond(Some(low), zone), TimestampMicrosecond(Some(high), _)) => {
            TimestampMicrosecond(Some(ticks(*low, *high)), zone.clone())
        }
        (TimestampNanosecond(Some(low), zone), TimestampNanosecond(Some(high), _)) => {
            TimestampNanosecond(Some(ticks(*low, *high)), zone.clone())
        }
        _ => return exec_err!("no value lies between these"),
    })
}

/// The place of the first of the values that occur most often, of some in order.
fn most_frequent(values: &ArrayRef) -> Result<usize> {
    let compare = make_comparator(values, values, SortOptions::default())?;
    let (mut best, mut first) = ((0, 0), 0);
    for at in 1..=values.len() {
        if at == values.len() || compare(first, at) != Ordering::Equal {
            if at - first > best.1 {
                best = (first, at - first);
            }
            first = at;
        }
    }
    Ok(best.0)
}
