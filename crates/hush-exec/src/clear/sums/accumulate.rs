// SPDX-License-Identifier: Apache-2.0
//! The addition: an aggregate function of one or two arguments, each a `BIGINT` or the digits of a decimal.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Decimal128Array};
use datafusion::arrow::buffer::{BooleanBuffer, NullBuffer};
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Field, FieldRef, Int64Type};
use datafusion::arrow::error::ArrowError;
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, Signature, Volatility,
};
use hush_ring::select::{selection_words, sum_selected};

use super::{EXACT, TOTAL};
use crate::machine::cpu;

/// The function. Plans cannot name it: no session knows it.
pub(super) fn function() -> Arc<AggregateUDF> {
    static FUNCTION: LazyLock<Arc<AggregateUDF>> = LazyLock::new(|| {
        let signature = Signature::variadic_any(Volatility::Immutable);
        Arc::new(AggregateUDF::from(ExactSum { signature }))
    });
    FUNCTION.clone()
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ExactSum {
    signature: Signature,
}

impl AggregateUDFImpl for ExactSum {
    fn name(&self) -> &'static str {
        EXACT
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(TOTAL)
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        Ok(vec![Arc::new(Field::new(format_state_name(args.name, "sum"), TOTAL, true))])
    }

    fn accumulator(&self, _: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(One::default()))
    }

    fn groups_accumulator_supported(&self, _: AccumulatorArgs<'_>) -> bool {
        true
    }

    fn create_groups_accumulator(&self, _: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(Many::default()))
    }
}

/// The sum of a batch's products in the rows that the filter lets pass; `None` if all of them have NULL.
///
/// # Errors
/// [`ArrowError::ArithmeticOverflow`].
pub(in crate::clear) fn total(arguments: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Option<i128>> {
    Terms::new(arguments, filter)?.total()
}

/// The values of an argument.
#[derive(Clone, Copy)]
enum Factor<'a> {
    Digits(&'a [i128]),
    Integers(&'a [i64]),
}

/// The products of a batch's arguments, and the rows that have one.
struct Terms<'a> {
    first: Factor<'a>,
    second: Option<Factor<'a>>,
    /// Rows without NULL that the filter lets pass; `None` if all are.
    present: Option<NullBuffer>,
}

impl<'a> Terms<'a> {
    /// Takes one or two arguments of one length.
    fn new(arguments: &'a [ArrayRef], filter: Option<&BooleanArray>) -> Result<Self> {
        let (first, second) = match arguments {
            [first] => (first, None),
            [first, second] => (first, Some(second)),
            _ => return Err(unexpected()),
        };
        let passed = filter.map(|filter| match filter.nulls() {
            Some(known) => NullBuffer::new(filter.values() & known.inner()),
            None => NullBuffer::new(filter.values().clone()),
        });
        let both = NullBuffer::union(first.nulls(), second.and_then(|second| second.nulls()));
        let present = NullBuffer::union(both.as_ref(), passed.as_ref()).filter(|rows| rows.null_count() > 0);
        Ok(Self { first: factor(first)?, second: second.map(factor).transpose()?, present })
    }

    /// Calls `add` with every row that has a term, and the term. `add` returns whether it overflowed.
    ///
    /// # Errors
    /// [`ArrowError::ArithmeticOverflow`] if it did, or if a product of digits overflows.
    fn add_to(&self, mut add: impl FnMut(usize, i128) -> bool) -> Result<()> {
        let mut overflow = false;
        let present = self.present.as_ref();
        match (self.first, self.second) {
            (Factor::Integers(values), None) => {
                each(values, present, |row, value| overflow |= add(row, i128::from(value)));
            }
            (Factor::Digits(values), None) => {
                each(values, present, |row, value| overflow |= add(row, value));
            }
            (Factor::Integers(left), Some(Factor::Integers(right))) => {
                // At most 2^126.
                let product = |(left, right): (i64, i64)| i128::from(left) * i128::from(right);
                pairs(left, right, present, |row, pair| overflow |= add(row, product(pair)));
            }
            (left, Some(right)) => {
                let (left, right) = (left.widened(), right.widened());
                pairs(&left, &right, present, |row, (left, right)| match left.checked_mul(right) {
                    Some(product) => overflow |= add(row, product),
                    None => overflow = true,
                });
            }
        }
        if overflow { Err(overflowed()) } else { Ok(()) }
    }

    /// The sum of all terms; `None` if there are none.
    fn total(&self) -> Result<Option<i128>> {
        if let (Factor::Integers(values), None) = (self.first, self.second) {
            // No memory holds enough of them to overflow.
            let (count, sum) = match &self.present {
                None => (
                    values.len(),
                    values.iter().fold(0, |sum: i128, value| sum.wrapping_add((*value).into())),
                ),
                Some(present) => (present.len() - present.null_count(), sum_present(values, present)?),
            };
            return Ok((count > 0).then_some(sum));
        }
        let (mut sum, mut found) = (0_i128, false);
        self.add_to(|_, term| {
            found = true;
            add_checked(&mut sum, term)
        })?;
        Ok(found.then_some(sum))
    }
}

impl Factor<'_> {
    fn widened(self) -> Vec<i128> {
        match self {
            Self::Digits(values) => values.to_vec(),
            Self::Integers(values) => values.iter().map(|value| i128::from(*value)).collect(),
        }
    }
}

fn factor(argument: &ArrayRef) -> Result<Factor<'_>> {
    if let Some(values) = argument.as_primitive_opt::<Int64Type>() {
        return Ok(Factor::Integers(values.values()));
    }
    let values = argument.as_primitive_opt::<Decimal128Type>().ok_or_else(unexpected)?;
    Ok(Factor::Digits(values.values()))
}

/// The sum of the values of the rows that are present.
///
/// # Errors
/// [`DataFusionError::Internal`] if the machine's kernels cannot be chosen.
fn sum_present(values: &[i64], present: &NullBuffer) -> Result<i128> {
    let cpu = cpu().map_err(|_| DataFusionError::Internal("kernels".to_owned()))?;
    let words = present.inner().bit_chunks().iter_padded().take(selection_words(values.len()));
    Ok(sum_selected(cpu, values, &words.collect::<Vec<_>>()))
}

#[inline]
fn each<T: Copy>(values: &[T], present: Option<&NullBuffer>, mut add: impl FnMut(usize, T)) {
    match present {
        None => values.iter().enumerate().for_each(|(row, value)| add(row, *value)),
        Some(present) => present.valid_indices().for_each(|row| add(row, values[row])),
    }
}

#[inline]
fn pairs<T: Copy>(left: &[T], right: &[T], present: Option<&NullBuffer>, mut add: impl FnMut(usize, (T, T))) {
    match present {
        None => {
            let pairs = left.iter().copied().zip(right.iter().copied());
            pairs.enumerate().for_each(|(row, pair)| add(row, pair));
        }
        Some(present) => present.valid_indices().for_each(|row| add(row, (left[row], right[row]))),
    }
}

/// Adds, and returns whether that overflowed.
#[inline]
fn add_checked(sum: &mut i128, term: i128) -> bool {
    let (added, overflow) = sum.overflowing_add(term);
    *sum = added;
    overflow
}

/// The sum over all rows.
#[derive(Debug, Default)]
struct One {
    /// NULL before the first term.
    sum: Option<i128>,
}

impl Accumulator for One {
    fn update_batch(&mut self, arguments: &[ArrayRef]) -> Result<()> {
        if let Some(more) = Terms::new(arguments, None)?.total()? {
            let sum = self.sum.unwrap_or(0).checked_add(more);
            self.sum = Some(sum.ok_or_else(overflowed)?);
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Decimal128(self.sum, super::MAX_DIGITS, 0))
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}

/// A sum for each group.
#[derive(Debug, Default)]
struct Many {
    sums: Vec<i128>,
    /// Groups that have a term; the others' sums are NULL.
    found: Vec<bool>,
}

impl GroupsAccumulator for Many {
    fn update_batch(
        &mut self,
        arguments: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        group_count: usize,
    ) -> Result<()> {
        self.sums.resize(group_count, 0);
        self.found.resize(group_count, false);
        let (sums, found) = (&mut self.sums, &mut self.found);
        Terms::new(arguments, filter)?.add_to(|row, term| {
            let group = groups[row];
            found[group] = true;
            add_checked(&mut sums[group], term)
        })
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], group_count: usize) -> Result<()> {
        self.update_batch(states, groups, None, group_count)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let (sums, found) = (emit_to.take_needed(&mut self.sums), emit_to.take_needed(&mut self.found));
        Ok(totals(sums, found))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.evaluate(emit_to)?])
    }

    fn convert_to_state(
        &self,
        arguments: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let rows: Vec<usize> = (0..arguments.first().map_or(0, |argument| argument.len())).collect();
        let mut each = Self::default();
        each.update_batch(arguments, &rows, filter, rows.len())?;
        each.state(EmitTo::All)
    }

    fn size(&self) -> usize {
        self.sums.capacity() * size_of::<i128>() + self.found.capacity()
    }
}

fn totals(sums: Vec<i128>, found: Vec<bool>) -> ArrayRef {
    let present = NullBuffer::new(BooleanBuffer::from(found));
    let present = Some(present).filter(|present| present.null_count() > 0);
    Arc::new(Decimal128Array::new(sums.into(), present).with_data_type(TOTAL))
}

fn overflowed() -> DataFusionError {
    ArrowError::ArithmeticOverflow("a sum beyond 128 bits".to_owned()).into()
}

fn unexpected() -> DataFusionError {
    DataFusionError::Internal("arguments of an exact sum".to_owned())
}
