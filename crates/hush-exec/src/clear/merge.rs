// SPDX-License-Identifier: Apache-2.0
//! Rules by which an aggregate over some rows and the same over others give the aggregate over all, bit for bit.
//!
//! Whether there is such a rule is decided by function and type, before anything runs. Without a rule (for sums of floats, which
//! depend on the order in their last bits, for averages, deviations and distinct values) the end of the combination computes the clear
//! half over all rows.

use std::cmp::Ordering;

use arrow::array::{ArrayRef, new_empty_array};
use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Expr;

use super::sums;
use crate::error::{ExecError, ExpressionRole};

/// How an aggregate merges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Merge {
    /// Both are true.
    And,
    /// The sum, as the query engine adds: modulo the width of the type.
    Add,
    /// The sum in 128 bits; beyond them it is an error.
    AddExactly,
    /// The greater.
    Greatest,
    /// The lesser.
    Least,
    /// One is true.
    Or,
}

impl Merge {
    /// The rule of an aggregate with results of a type; `None` for those that do not merge.
    pub(super) fn of(aggregate: &Expr, result: &DataType) -> Option<Self> {
        let Expr::AggregateFunction(call) = aggregate else { return None };
        if call.params.distinct {
            return None;
        }
        match call.func.name() {
            "bool_and" => Some(Self::And),
            "bool_or" => Some(Self::Or),
            "count" => Some(Self::Add).filter(|_| *result == DataType::Int64),
            "max" => Some(Self::Greatest).filter(|_| is_ordered(result)),
            "min" => Some(Self::Least).filter(|_| is_ordered(result)),
            sums::EXACT => Some(Self::AddExactly),
            "sum" => Some(Self::Add).filter(|_| is_modular(result)),
            _ => None,
        }
    }

    /// One value from two of the same type. NULL says that no row had a value.
    fn merged(self, one: &ScalarValue, other: &ScalarValue) -> Result<ScalarValue, ExecError> {
        use ScalarValue::{Boolean, Decimal128, Decimal256, Int64, UInt64};
        if one.is_null() || other.is_null() {
            return Ok(if one.is_null() { other } else { one }.clone());
        }
        let internal = ExecError::Internal { place: "merged aggregate" };
        let chosen = |wanted: Ordering| match other.partial_cmp(one) {
            Some(order) => Ok(if order == wanted { other } else { one }.clone()),
            None => Err(ExecError::Internal { place: "merged aggregate" }),
        };
        Ok(match (self, one, other) {
            (Self::Greatest, ..) => chosen(Ordering::Greater)?,
            (Self::Least, ..) => chosen(Ordering::Less)?,
            (Self::And, Boolean(Some(one)), Boolean(Some(other))) => Boolean(Some(*one && *other)),
            (Self::Or, Boolean(Some(one)), Boolean(Some(other))) => Boolean(Some(*one || *other)),
            (Self::Add, Int64(Some(one)), Int64(Some(other))) => Int64(Some(one.wrapping_add(*other))),
            (Self::Add, UInt64(Some(one)), UInt64(Some(other))) => UInt64(Some(one.wrapping_add(*other))),
            (Self::Add, Decimal128(Some(one), p, s), Decimal128(Some(other), ..)) => {
                Decimal128(Some(one.wrapping_add(*other)), *p, *s)
            }
            (Self::Add, Decimal256(Some(one), p, s), Decimal256(Some(other), ..)) => {
                Decimal256(Some(one.wrapping_add(*other)), *p, *s)
            }
            (Self::AddExactly, Decimal128(Some(one), p, s), Decimal128(Some(other), ..)) => {
                let overflow = ExecError::Evaluation { role: ExpressionRole::ClearHalf };
                Decimal128(Some(one.checked_add(*other).ok_or(overflow)?), *p, *s)
            }
            _ => return Err(internal),
        })
    }
}

/// Types of which equal values have equal bytes, so that it does not matter which of two is taken.
fn is_ordered(kind: &DataType) -> bool {
    kind.is_integer()
        || matches!(
            kind,
            DataType::Boolean
                | DataType::Date32
                | DataType::Date64
                | DataType::Decimal128(..)
                | DataType::Decimal256(..)
                | DataType::LargeUtf8
                | DataType::Time32(_)
                | DataType::Time64(_)
                | DataType::Timestamp(..)
                | DataType::Utf8
        )
}

/// Types whose sums the query engine takes modulo their width.
fn is_modular(kind: &DataType) -> bool {
    matches!(kind, DataType::Int64 | DataType::UInt64 | DataType::Decimal128(..) | DataType::Decimal256(..))
}

/// One aggregate of every group.
#[derive(Debug)]
pub(crate) struct MergedColumn {
    merge: Merge,
    kind: DataType,
    values: Vec<ScalarValue>,
}

impl MergedColumn {
    /// Of no group yet.
    pub(crate) fn new(merge: Merge, kind: DataType) -> Self {
        Self { merge, kind, values: Vec::new() }
    }

    /// Merges values into the groups that `places` names for them; the first of a group comes at the number of groups there are.
    ///
    /// # Errors
    /// [`ExecError::Evaluation`] for sums beyond 128 bits; [`ExecError::Internal`] for another type. Some of the values have been
    /// merged then.
    pub(crate) fn absorb(&mut self, values: &ArrayRef, places: &[usize]) -> Result<(), ExecError> {
        let internal = || ExecError::Internal { place: "merged aggregate" };
        for (row, place) in places.iter().enumerate() {
            let value = ScalarValue::try_from_array(values, row).map_err(|_| internal())?;
            let groups = self.values.len();
            match self.values.get_mut(*place) {
                Some(known) => *known = self.merge.merged(known, &value)?,
                None if *place == groups => self.values.push(value),
                None => return Err(internal()),
            }
        }
        Ok(())
    }

    /// The values of the groups, in the order of `places`.
    ///
    /// # Errors
    /// [`ExecError::Internal`].
    pub(crate) fn finish(mut self, places: &[usize]) -> Result<ArrayRef, ExecError> {
        let internal = || ExecError::Internal { place: "merged aggregate" };
        if places.is_empty() {
            return Ok(new_empty_array(&self.kind));
        }
        let take = |place: &usize| Some(std::mem::replace(self.values.get_mut(*place)?, ScalarValue::Null));
        let values: Option<Vec<ScalarValue>> = places.iter().map(take).collect();
        let array = ScalarValue::iter_to_array(values.ok_or_else(internal)?).map_err(|_| internal())?;
        if *array.data_type() == self.kind { Ok(array) } else { Err(internal()) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{BooleanArray, Decimal128Array, Int64Array, StringArray};

    use super::*;

    /// The column of one rule after some batches, in the order of the groups.
    fn merged(merge: Merge, batches: &[(ArrayRef, &[usize])]) -> Result<ArrayRef, ExecError> {
        let mut column = MergedColumn::new(merge, batches[0].0.data_type().clone());
        batches.iter().try_for_each(|(values, places)| column.absorb(values, places))?;
        let groups = column.values.len();
        column.finish(&(0..groups).collect::<Vec<_>>())
    }

    fn integers(values: &[Option<i64>]) -> ArrayRef {
        Arc::new(Int64Array::from(values.to_vec()))
    }

    #[test]
    fn every_rule_keeps_nulls_apart_from_values() {
        let ints = [
            (integers(&[Some(3), None, Some(-7)]), [0, 1, 2].as_slice()),
            (integers(&[None, Some(5), Some(9)]), &[1, 0, 2]),
        ];
        for (merge, expected) in [
            (Merge::Add, [Some(8), None, Some(2)]),
            (Merge::Greatest, [Some(5), None, Some(9)]),
            (Merge::Least, [Some(3), None, Some(-7)]),
        ] {
            assert_eq!(&merged(merge, &ints).unwrap(), &integers(&expected), "{merge:?}");
        }
        let truths = |values: &[Option<bool>]| Arc::new(BooleanArray::from(values.to_vec())) as ArrayRef;
        let bools = [
            (truths(&[Some(true), None, Some(false)]), [0, 1, 2].as_slice()),
            (truths(&[Some(false), Some(true), None]), &[0, 1, 2]),
        ];
        let both = merged(Merge::And, &bools).unwrap();
        assert_eq!(&both, &truths(&[Some(false), Some(true), Some(false)]));
        let either = merged(Merge::Or, &bools).unwrap();
        assert_eq!(&either, &truths(&[Some(true), Some(true), Some(false)]));
        let texts = |values: &[&str]| Arc::new(StringArray::from(values.to_vec())) as ArrayRef;
        let found = merged(Merge::Least, &[(texts(&["b", "é"]), &[0, 1]), (texts(&["ab", "z"]), &[0, 1])]);
        assert_eq!(&found.unwrap(), &texts(&["ab", "z"]));
    }

    #[test]
    fn sums_wrap_where_the_query_engine_wraps_and_fail_where_it_fails() {
        let wrapping = [(integers(&[Some(i64::MAX)]), [0].as_slice()), (integers(&[Some(1)]), &[0])];
        assert_eq!(&merged(Merge::Add, &wrapping).unwrap(), &integers(&[Some(i64::MIN)]));
        let digits = |value: i128| {
            let array = Decimal128Array::from(vec![value]).with_precision_and_scale(38, 0).unwrap();
            (Arc::new(array) as ArrayRef, [0].as_slice())
        };
        let exact = merged(Merge::AddExactly, &[digits(1 << 100), digits(-1), digits(1 << 100)]).unwrap();
        assert_eq!(&exact, &digits((1 << 101) - 1).0);
        let overflow = merged(Merge::AddExactly, &[digits(i128::MAX), digits(1)]).unwrap_err();
        assert_eq!(overflow.code(), "HUSH-E050");
    }
}
