// SPDX-License-Identifier: Apache-2.0
//! From decrypted sums to aggregates: linear forms, exact arithmetic, one rounding at the end.

use arrow::array::{ArrayRef, Float64Array};
use hush_plan::plan::{
    JointMoments, LinearForm, Moment, MomentFunction, OutputType, OwnerAggregate, ProductFunction,
    ProductMoments,
};
use num_bigint::{BigInt, Sign};
use num_integer::Integer;
use num_traits::{One, Signed, ToPrimitive, Zero};
use std::sync::Arc;

use crate::arrays::big_numbers;
use crate::bounds::beyond;
use crate::error::ClientError;
use crate::exact::{Joint, Moments, between, ten_to};
use crate::number::Number;
use crate::precision::{rounded, statistic_error};
use hush_encode::logarithm::{Power, power};

const NOT_A_NUMBER: ClientError = ClientError::Internal { what: "a planned coefficient is not a number" };

/// The values of one group in the answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct GroupNumbers {
    /// Clear aggregates `c0…`, NULL as 0 (a sum over no rows; the count tells).
    pub(crate) clear: Vec<Number>,
    /// Encrypted sums, in the plan's order.
    pub(crate) encrypted: Vec<Number>,
}

/// One aggregate over all groups, as an output column. `errors` bound those of the encrypted sums: an approximate result is
/// rounded to the digits that hold.
///
/// # Errors
/// [`ClientError::Overflow`] if a value exceeds its planned type, [`ClientError::Internal`] if the plan names
/// a moment that the answer lacks, or passes on a column of the server as it is.
pub(crate) fn aggregate_column(
    aggregate: &OwnerAggregate,
    groups: &[GroupNumbers],
    errors: &[f64],
) -> Result<ArrayRef, ClientError> {
    let values = groups.iter().map(|group| aggregate_value(aggregate, group, errors));
    let values = values.collect::<Result<Vec<_>, _>>()?;
    let output = match aggregate {
        OwnerAggregate::Count { .. } => OutputType::Int,
        OwnerAggregate::Moments { output, .. } => *output,
        OwnerAggregate::ClearOutput { .. }
        | OwnerAggregate::Joint { .. }
        | OwnerAggregate::Product { .. }
        | OwnerAggregate::Quantile { .. } => OutputType::Float,
    };
    if output == OutputType::Float || values.iter().flatten().any(|v| matches!(v, Number::Approx(_))) {
        let floats = values.iter().map(|value| value.as_ref().map(Number::to_f64));
        return Ok(Arc::new(floats.collect::<Float64Array>()));
    }
    let integers: Vec<Option<BigInt>> = values
        .into_iter()
        .map(|value| match value {
            Some(Number::Exact(value)) => Some(value),
            _ => None,
        })
        .collect();
    big_numbers(&integers, output)
}

/// The aggregate in one group; `None` is NULL.
fn aggregate_value(
    aggregate: &OwnerAggregate,
    group: &GroupNumbers,
    errors: &[f64],
) -> Result<Option<Number>, ClientError> {
    match aggregate {
        OwnerAggregate::ClearOutput { .. } => {
            Err(ClientError::Internal { what: "an aggregate of the server is finished once more" })
        }
        OwnerAggregate::Count { count } => Ok(Some(Number::Exact(row_count(count, group)?))),
        OwnerAggregate::Joint { function, count, moments } => {
            let Some(count) = some_rows(count, group)? else { return Ok(None) };
            let joint = joint(moments, count, group)?;
            require(joint.is_possible(moments.products.keys()), "moments of several columns")?;
            Ok(joint.statistic(*function).map(Number::Approx))
        }
        OwnerAggregate::Moments { function, count, powers, scale, output } => {
            let Some(count) = some_rows(count, group)? else { return Ok(None) };
            of_moments(*function, count, powers, (*scale, *output), group, errors)
        }
        OwnerAggregate::Quantile { part, count, low, high, scale } => {
            let Some(count) = some_rows(count, group)? else { return Ok(None) };
            let (low, high) = (exact(low, group)?, exact(high, group)?);
            require(low <= high, "values in their order")?;
            Ok(Some(Number::Approx(between(*part, &count, (&low, &high), *scale))))
        }
        OwnerAggregate::Product { function, count, moments } => {
            let Some(count) = some_rows(count, group)? else { return Ok(None) };
            product(moments, *function, &count, group)
        }
    }
}

/// A number of rows of the group.
fn row_count(count: &LinearForm, group: &GroupNumbers) -> Result<BigInt, ClientError> {
    let count = exact(count, group)?;
    require(is_part(&count, group), "a number of rows")?;
    Ok(count)
}

/// As [`row_count`]; `None` for no rows.
fn some_rows(count: &LinearForm, group: &GroupNumbers) -> Result<Option<BigInt>, ClientError> {
    Ok(Some(row_count(count, group)?).filter(|count| !count.is_zero()))
}

/// A function of the moments of one group of `count` rows, from the forms of its sums of powers.
fn of_moments(
    function: MomentFunction,
    count: BigInt,
    forms: &[LinearForm],
    (scale, output): (u8, OutputType),
    group: &GroupNumbers,
    errors: &[f64],
) -> Result<Option<Number>, ClientError> {
    let sums = forms.iter().map(|form| linear(form, group)).collect::<Result<Vec<_>, _>>()?;
    let exact = sums.iter().map(|sum| match sum {
        Number::Exact(sum) => Some(sum.clone()),
        Number::Approx(_) => None,
    });
    let Some(powers) = exact.collect::<Option<Vec<BigInt>>>() else {
        let reals = sums.iter().zip(forms).map(|(sum, form)| (sum.to_f64(), form_error(form, errors)));
        return Ok(approximate(function, &count, &reals.collect::<Vec<_>>())?.map(Number::Approx));
    };
    let moments = Moments { count, powers, scale };
    require(moments.is_possible(), "sums of powers")?;
    match (function, moments.powers.as_slice()) {
        (MomentFunction::Sum, [sum]) if output != OutputType::Float => Ok(Some(Number::Exact(sum.clone()))),
        _ => Ok(moments.statistic(function).map(Number::Approx)),
    }
}

/// Whether the group can have so many rows; `COUNT(*)` is the first of the clear numbers.
fn is_part(count: &BigInt, group: &GroupNumbers) -> bool {
    let all = match group.clear.first() {
        Some(Number::Exact(all)) => Some(all),
        _ => None,
    };
    !count.is_negative() && all.is_some_and(|all| count <= all)
}

fn require(is_possible: bool, what: &'static str) -> Result<(), ClientError> {
    if is_possible { Ok(()) } else { Err(beyond(what)) }
}

/// PRODUCT or GEOMEAN of one group of `count` rows.
fn product(
    moments: &ProductMoments,
    function: ProductFunction,
    count: &BigInt,
    group: &GroupNumbers,
) -> Result<Option<Number>, ClientError> {
    let (logs, mut zeros) = (exact(&moments.logs, group)?, exact(&moments.zeros, group)?);
    let mut negatives = exact(&moments.negatives, group)?;
    for counted in [&zeros, &negatives] {
        require(is_part(counted, group), "a number of rows")?;
    }
    let mut factors = Vec::with_capacity(moments.constants.len());
    for (digits, scale, rows) in &moments.constants {
        let rows = exact(rows, group)?;
        let factor: BigInt = digits.parse().map_err(|_| NOT_A_NUMBER)?;
        match factor.sign() {
            Sign::Minus => negatives += &rows,
            Sign::NoSign => zeros += &rows,
            Sign::Plus => {}
        }
        factors.push((factor.abs(), ten_to(*scale), rows));
    }
    let is_root = function == ProductFunction::Geomean;
    if is_root && !negatives.is_zero() {
        return Ok(None);
    }
    if !zeros.is_zero() {
        return Ok(Some(Number::Approx(0.0)));
    }
    let powers =
        factors.iter().map(|(numerator, denominator, exponent)| Power { numerator, denominator, exponent });
    let root = if is_root { count.clone() } else { BigInt::one() };
    let size = power(&logs, &powers.filter(|p| !p.numerator.is_zero()).collect::<Vec<_>>(), &root);
    if size.is_infinite() {
        return Err(ClientError::Magnitude);
    }
    Ok(Some(Number::Approx(if negatives.is_odd() { -size } else { size })))
}

/// The moments of several columns in one group; products that were not planned are 0 and not read.
fn joint(moments: &JointMoments, count: BigInt, group: &GroupNumbers) -> Result<Joint, ClientError> {
    let sums = moments.sums.iter().map(|form| exact(form, group)).collect::<Result<Vec<_>, _>>()?;
    let mut products = vec![vec![BigInt::zero(); sums.len()]; sums.len()];
    for ((i, j), form) in &moments.products {
        let value = exact(form, group)?;
        for (row, column) in [(*i, *j), (*j, *i)] {
            let cell = products.get_mut(row).and_then(|row| row.get_mut(column));
            *cell.ok_or(ClientError::Internal { what: "a product of a variable that there is not" })? =
                value.clone();
        }
    }
    Ok(Joint { count, scales: moments.scales.clone(), sums, products })
}

/// A linear form in exact moments.
fn exact(form: &LinearForm, group: &GroupNumbers) -> Result<BigInt, ClientError> {
    match linear(form, group)? {
        Number::Exact(value) => Ok(value),
        Number::Approx(_) => Err(ClientError::Internal { what: "an exact moment is approximate" }),
    }
}

/// A statistic of an approximate column, in doubles, with the digits that hold. `sums` are those of the values and of their
/// squares, each with a bound on its error.
///
/// # Errors
/// [`ClientError::Internal`] for functions of higher powers than squares, which the planner refuses.
fn approximate(
    function: MomentFunction,
    count: &BigInt,
    sums: &[(f64, f64)],
) -> Result<Option<f64>, ClientError> {
    use MomentFunction as F;
    let place = |index: usize| sums.get(index).copied().unwrap_or_default();
    let ((sum, of_sum), (squares, of_squares)) = (place(0), place(1));
    let n = count.to_f64().unwrap_or(f64::NAN);
    let sample = matches!(function, F::VarSamp | F::StddevSamp);
    let freedom = if sample { n - 1.0 } else { n };
    let variance = || ((squares - sum * sum / n) / freedom).max(0.0);
    let value = match function {
        F::Sum => sum,
        F::Avg => sum / n,
        F::VarPop | F::VarSamp | F::StddevPop | F::StddevSamp if freedom <= 0.0 => return Ok(None),
        F::VarPop | F::VarSamp => variance(),
        F::StddevPop | F::StddevSamp => variance().sqrt(),
        F::Kurtosis | F::KurtosisPop | F::Skewness => {
            return Err(ClientError::Internal { what: "approximate sums of higher powers" });
        }
    };
    Ok(Some(rounded(value, statistic_error(function, n, value, sum, (of_sum, of_squares)))))
}

/// `Σ coefficient·moment`: exact where all moments are.
fn linear(form: &LinearForm, group: &GroupNumbers) -> Result<Number, ClientError> {
    let mut exact = BigInt::zero();
    let mut approx: Option<f64> = None;
    for (coefficient, moment) in &form.terms {
        let number = match moment {
            Moment::Clear(index) => group.clear.get(*index),
            Moment::Encrypted(index) => group.encrypted.get(*index),
        };
        let number = number.ok_or(ClientError::Internal { what: "the answer lacks a planned sum" })?;
        let coefficient: BigInt = coefficient.parse().map_err(|_| NOT_A_NUMBER)?;
        match number {
            Number::Exact(value) => exact += coefficient * value,
            Number::Approx(value) => {
                *approx.get_or_insert(0.0) += coefficient.to_f64().unwrap_or(f64::NAN) * value;
            }
        }
    }
    Ok(match approx {
        None => Number::Exact(exact),
        Some(sum) => Number::Approx(sum + exact.to_f64().unwrap_or(f64::NAN)),
    })
}

/// Bound on the error of a linear form.
fn form_error(form: &LinearForm, errors: &[f64]) -> f64 {
    let term = |(coefficient, moment): &(String, Moment)| match moment {
        Moment::Clear(_) => 0.0,
        Moment::Encrypted(index) => {
            let error = errors.get(*index).copied().unwrap_or(0.0);
            coefficient.parse::<f64>().map_or(error, |coefficient| coefficient.abs() * error)
        }
    };
    form.terms.iter().map(term).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Array, Decimal128Array, Int64Array};

    fn form(terms: &[(&str, Moment)]) -> LinearForm {
        LinearForm { terms: terms.iter().map(|(c, m)| ((*c).to_owned(), *m)).collect() }
    }

    fn group(count: i64, sum: i64) -> GroupNumbers {
        GroupNumbers { clear: vec![Number::Exact(count.into())], encrypted: vec![Number::Exact(sum.into())] }
    }

    #[test]
    fn linear_forms_weigh_moments_and_empty_groups_are_null() {
        // SUM(2*x + 3) over `count` rows.
        let count = LinearForm::of(Moment::Clear(0));
        let sum = |output| OwnerAggregate::Moments {
            function: MomentFunction::Sum,
            count: count.clone(),
            powers: vec![form(&[("2", Moment::Encrypted(0)), ("3", Moment::Clear(0))])],
            scale: 0,
            output,
        };
        let aggregate = sum(OutputType::Int);
        let column = aggregate_column(&aggregate, &[group(4, 10), group(0, 0), group(1, -5)], &[]).unwrap();
        let column = column.as_any().downcast_ref::<Int64Array>().unwrap();
        assert_eq!(column.iter().collect::<Vec<_>>(), [Some(32), None, Some(-7)]);

        let aggregate = sum(OutputType::Decimal { scale: 2, wide: false });
        let column = aggregate_column(&aggregate, &[group(4, 10)], &[]).unwrap();
        let column = column.as_any().downcast_ref::<Decimal128Array>().unwrap();
        assert_eq!(column.value_as_string(0), "0.32");

        let aggregate = OwnerAggregate::Count { count };
        let column = aggregate_column(&aggregate, &[group(0, 0)], &[]).unwrap();
        assert!(!column.is_null(0));
    }

    #[test]
    fn one_approximate_moment_makes_the_result_approximate() {
        let aggregate = OwnerAggregate::Moments {
            function: MomentFunction::Avg,
            count: LinearForm::of(Moment::Clear(0)),
            powers: vec![LinearForm::of(Moment::Encrypted(0))],
            scale: 0,
            output: OutputType::Float,
        };
        let mut numbers = group(4, 0);
        numbers.encrypted[0] = Number::Approx(10.0);
        let column = aggregate_column(&aggregate, &[numbers], &[]).unwrap();
        assert_eq!(column.as_any().downcast_ref::<Float64Array>().unwrap().value(0), 2.5);
    }

    /// Sums that no rows have are refused whatever the function, and approximate ones above squares have no bound.
    #[test]
    fn sums_of_powers_must_be_possible_and_exact() {
        let aggregate = OwnerAggregate::Moments {
            function: MomentFunction::Skewness,
            count: LinearForm::of(Moment::Clear(0)),
            powers: (0..3).map(|index| LinearForm::of(Moment::Encrypted(index))).collect(),
            scale: 0,
            output: OutputType::Float,
        };
        let asked = |numbers: [Number; 3]| {
            let group = GroupNumbers { encrypted: numbers.to_vec(), ..group(3, 0) };
            aggregate_column(&aggregate, &[group], &[])
        };
        let exact = |numbers: [i64; 3]| asked(numbers.map(|number| Number::Exact(number.into())));
        // 1, 2 and 4.
        let column = exact([7, 21, 73]).unwrap();
        let found = column.as_any().downcast_ref::<Float64Array>().unwrap().value(0);
        assert_eq!(found, 0.935_219_529_582_824_5);
        assert!(matches!(exact([7, 21, 173]), Err(ClientError::Beyond { .. })));
        assert!(matches!(asked([7.0, 21.0, 73.0].map(Number::Approx)), Err(ClientError::Internal { .. })));
    }
}
