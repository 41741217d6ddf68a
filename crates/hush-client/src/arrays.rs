// SPDX-License-Identifier: Apache-2.0
//! Decrypted numbers as Arrow arrays. A number that does not fit its type is an error, never a NULL.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, ArrowPrimitiveType, BooleanArray, Decimal256Array, Float64Array, NullBufferBuilder,
    PrimitiveArray,
};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{Decimal128Type, Int64Type, i256};
use ethnum::I256;
use hush_plan::plan::OutputType;
use num_bigint::{BigInt, Sign};

use crate::error::ClientError;

/// Integers of any width, in units of `10^-scale`, as an array of the planned type.
///
/// # Errors
/// [`ClientError::Overflow`] if a value does not fit the type; the planner's ranges exclude it.
pub(crate) fn big_numbers(values: &[Option<BigInt>], output: OutputType) -> Result<ArrayRef, ClientError> {
    let mut present = NullBufferBuilder::new(values.len());
    let mut narrow = Vec::with_capacity(values.len());
    for value in values {
        present.append(value.is_some());
        narrow.push(value.as_ref().map_or(Some(I256::ZERO), narrowed).ok_or(ClientError::Overflow)?);
    }
    numbers(&narrow, present.finish(), output)
}

/// Integers in units of `10^-scale` as an array of the planned type.
///
/// # Errors
/// As [`big_numbers`].
pub(crate) fn numbers(
    values: &[I256],
    nulls: Option<NullBuffer>,
    output: OutputType,
) -> Result<ArrayRef, ClientError> {
    Ok(match output {
        OutputType::Int => Arc::new(integers::<Int64Type>(values, nulls)?),
        OutputType::Decimal { scale, wide: false } => {
            let units = integers::<Decimal128Type>(values, nulls)?;
            Arc::new(units.with_precision_and_scale(38, scale as i8)?)
        }
        OutputType::Decimal { scale, wide: true } => {
            let units = values.iter().map(|value| i256::from_le_bytes(value.to_le_bytes()));
            let units = Decimal256Array::try_new(units.collect(), nulls)?;
            Arc::new(units.with_precision_and_scale(76, scale as i8)?)
        }
        OutputType::Float => floats(values.iter().map(|value| value.as_f64()).collect(), nulls)?,
    })
}

/// Integers in a narrower type.
///
/// # Errors
/// As [`big_numbers`].
pub(crate) fn integers<T>(
    values: &[I256],
    nulls: Option<NullBuffer>,
) -> Result<PrimitiveArray<T>, ClientError>
where
    T: ArrowPrimitiveType<Native: TryFrom<I256>>,
{
    let is_null = |row: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
    let cells = values.iter().enumerate().map(|(row, value)| {
        if is_null(row) { Ok(T::Native::default()) } else { T::Native::try_from(*value) }
    });
    let cells = cells.collect::<Result<Vec<_>, _>>().map_err(|_| ClientError::Overflow)?;
    Ok(PrimitiveArray::try_new(cells.into(), nulls)?)
}

/// Truth values: all numbers but 0 are true.
pub(crate) fn booleans(values: &[I256], nulls: Option<NullBuffer>) -> ArrayRef {
    Arc::new(BooleanArray::new(values.iter().map(|value| *value != 0).collect(), nulls))
}

/// Doubles.
///
/// # Errors
/// None but bugs: there are as many values as entries in `nulls`.
pub(crate) fn floats(values: Vec<f64>, nulls: Option<NullBuffer>) -> Result<ArrayRef, ClientError> {
    Ok(Arc::new(Float64Array::try_new(values.into(), nulls)?))
}

/// The number in 256 bits; `None` if it needs more.
pub(crate) fn narrowed(value: &BigInt) -> Option<I256> {
    let bytes = value.to_signed_bytes_le();
    (bytes.len() <= I256::BITS as usize / 8).then(|| wrapped(value))
}

/// The number modulo `2^256`, as a signed one.
pub(crate) fn wrapped(value: &BigInt) -> I256 {
    let fill = if value.sign() == Sign::Minus { 0xff } else { 0 };
    let mut wide = [fill; 32];
    wide.iter_mut().zip(value.to_signed_bytes_le()).for_each(|(wide, byte)| *wide = byte);
    I256::from_le_bytes(wide)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Array, AsArray};
    use arrow::datatypes::Decimal256Type;
    use num_traits::Pow;

    #[test]
    fn numbers_that_do_not_fit_are_refused_and_nulls_are_not_looked_at() {
        let values = [I256::from(7), I256::MAX, I256::from(-1)];
        let nulls = Some(NullBuffer::from(vec![true, false, true]));
        let short = integers::<Int64Type>(&values, nulls.clone()).unwrap();
        assert_eq!(short.iter().collect::<Vec<_>>(), [Some(7), None, Some(-1)]);
        assert!(matches!(integers::<Int64Type>(&values, None), Err(ClientError::Overflow)));
        assert!(numbers(&values, None, OutputType::Decimal { scale: 2, wide: false }).is_err());
        let wide = numbers(&values, nulls, OutputType::Decimal { scale: 2, wide: true }).unwrap();
        assert_eq!(wide.as_primitive::<Decimal256Type>().value_as_string(2), "-0.01");
        assert_eq!(wide.null_count(), 1);
    }

    #[test]
    fn big_integers_keep_their_sign_and_their_low_bits() {
        let two = BigInt::from(2);
        let limit: BigInt = two.clone().pow(255_u32);
        assert_eq!(narrowed(&(&limit - 1)), Some(I256::MAX));
        assert_eq!(narrowed(&-&limit), Some(I256::MIN));
        assert_eq!((narrowed(&limit), narrowed(&(-&limit - 1))), (None, None));
        assert_eq!(wrapped(&limit), I256::MIN);
        assert_eq!(wrapped(&(two.pow(256_u32) * 3 - 5)), I256::from(-5));
        let found = big_numbers(&[Some(BigInt::from(-3)), None], OutputType::Int).unwrap();
        assert_eq!(found.as_primitive::<Int64Type>().iter().collect::<Vec<_>>(), [Some(-3), None]);
        assert!(matches!(big_numbers(&[Some(limit)], OutputType::Int), Err(ClientError::Overflow)));
    }
}
