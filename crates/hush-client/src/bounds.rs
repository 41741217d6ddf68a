// SPDX-License-Identifier: Apache-2.0
//! Compares decrypted numbers with the bounds that their plan proved.
//!
//! A server can send anything, and a device can have encrypted anything. A number beyond its bound was not computed honestly
//! from rows of the table, so the whole answer is refused. A falsified ciphertext decrypts to a random phase. It passes with a
//! chance of about `2^-margin`, the share of the modulus that honest phases use, or less if the values are narrower than the
//! plaintext modulus. The error tells neither the number nor its distance from the bound.

use ethnum::I256;
use hush_keys::{DecryptError, PhaseLimit};
use hush_plan::bounds::{Bound, Values};
use hush_plan::range::Interval;
use num_bigint::{BigInt, Sign};

use crate::cells::Cells;
use crate::error::ClientError;
use crate::number::Number;
use crate::packing::ColumnKey;

/// The largest phase of numbers with this bound.
pub(crate) fn phase_limit(bound: &Bound) -> PhaseLimit {
    bound.phase_log2.map_or(PhaseLimit::NONE, PhaseLimit::from_log2)
}

/// A refusal to decrypt, with the quantity's name.
pub(crate) fn named(key: &ColumnKey, error: DecryptError) -> ClientError {
    match error {
        DecryptError::Beyond => beyond(&key.content_name()),
        error => error.into(),
    }
}

/// The refusal of a number that no rows of the table give.
pub(crate) fn beyond(what: &str) -> ClientError {
    ClientError::Beyond { what: what.to_owned() }
}

/// Refuses a sum over at most `rows` rows that lies beyond its bound.
///
/// # Errors
/// [`ClientError::Beyond`].
pub(crate) fn check_sum(key: &ColumnKey, sum: &Number, bound: &Bound, rows: u64) -> Result<(), ClientError> {
    let is_possible = match sum {
        Number::Exact(sum) => bound.allows(sum, rows),
        Number::Approx(sum) => bound.allows_real(*sum, rows),
    };
    if is_possible { Ok(()) } else { Err(beyond(&key.content_name())) }
}

/// Refuses rows if one lies beyond its bound.
///
/// # Errors
/// [`ClientError::Beyond`].
pub(crate) fn check_rows(what: &str, cells: &Cells, bound: &Bound) -> Result<(), ClientError> {
    let is_possible = match (cells, &bound.values) {
        (Cells::Exact(values), Values::Exact(row)) => {
            let (low, high) = ends(row);
            values.iter().all(|value| low <= *value && *value <= high)
        }
        (Cells::Approx(values), Values::Approx { .. }) => {
            values.iter().all(|value| bound.allows_real(*value, 1))
        }
        // A dry run's engine has no reals without an encoding of reals.
        _ => false,
    };
    if is_possible { Ok(()) } else { Err(beyond(what)) }
}

/// Whether values are those that an encryption leaves where there is no row: its errors alone.
pub(crate) fn are_empty(cells: &Cells, bound: &Bound) -> bool {
    match (cells, &bound.values) {
        (Cells::Exact(values), Values::Exact(_)) => values.iter().all(|value| *value == I256::ZERO),
        (Cells::Approx(values), Values::Approx { error, .. }) => {
            values.iter().all(|value| value.abs() <= *error)
        }
        _ => false,
    }
}

/// Both ends of an interval; bounds of rows have at most 255 bits.
pub(crate) fn ends(interval: &Interval) -> (I256, I256) {
    (clamped(interval.low()), clamped(interval.high()))
}

fn clamped(value: &BigInt) -> I256 {
    let is_negative = value.sign() == Sign::Minus;
    if value.bits() > 255 {
        return if is_negative { I256::MIN } else { I256::MAX };
    }
    crate::arrays::wrapped(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Beyond either end, wherever it stands; of the wrong kind.
    #[test]
    fn one_row_beyond_its_bound_is_enough() {
        let row = Interval::symmetric(5.into()).add(&Interval::symmetric(0.into()));
        let exact = Bound { values: Values::Exact(row), phase_log2: None };
        let approx = Bound { values: Values::Approx { row: 5.0, error: 0.5, noise: 0.5 }, phase_log2: None };
        let integers = |values: &[i64]| Cells::Exact(values.iter().map(|value| I256::from(*value)).collect());
        for (values, expected) in
            [(&[][..], true), (&[-5, 0, 5], true), (&[0, 6], false), (&[-6, 0], false), (&[6, -6], false)]
        {
            assert_eq!(check_rows("x", &integers(values), &exact).is_ok(), expected, "{values:?}");
        }
        let reals = |values: &[f64]| check_rows("x", &Cells::Approx(values.to_vec()), &approx).is_ok();
        assert!(reals(&[5.5, -5.5]) && !reals(&[0.0, 5.6]) && !reals(&[-5.6]) && !reals(&[f64::NAN]));
        assert!(check_rows("x", &integers(&[0]), &approx).is_err());
        assert!(check_rows("x", &Cells::Approx(vec![0.0]), &exact).is_err());
    }

    #[test]
    fn ends_of_any_width_are_held() {
        let wide = BigInt::from(1) << 300;
        assert_eq!(ends(&Interval::symmetric(wide)), (I256::MIN, I256::MAX));
        let edge = (BigInt::from(1) << 255) - 1;
        assert_eq!(ends(&Interval::symmetric(edge)), (I256::MIN + I256::ONE, I256::MAX));
        assert_eq!(ends(&Interval::symmetric(7.into())), (I256::from(-7), I256::from(7)));
    }
}

#[cfg(test)]
mod forged;
