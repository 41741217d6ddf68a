// SPDX-License-Identifier: Apache-2.0
//! Flags of digits, and limbs: what conditions on encrypted columns, and sums under them, are made of.

use ethnum::I256;
use hush_plan::quantity::{DateFlag, DigitFlag, Digits, Flag, FlagOf};
use hush_schemes::Values;
use hush_table::source::{ColumnData, TypedColumn, Values as Units};

use super::codewords::Codewords;
use super::{QuantityValues, View, is_valid};
use crate::EncodeError;
use crate::units::RowValues;

/// A flag of each row's value, 0 where it is missing.
///
/// # Errors
/// [`EncodeError::Internal`] for a flag of a text on a column of numbers, and the other way round.
///
/// # Cost
/// Two divisions for each row, or a comparison of texts.
pub(super) fn flags<'a>(flag: &Flag, data: &ColumnData) -> Result<QuantityValues<'a>, EncodeError> {
    Ok(QuantityValues::I64(match (&flag.of, data) {
        (FlagOf::Codeword(flag), ColumnData::Units(column)) => {
            return Ok(Codewords::of_column(flag, column).flags(flag.number));
        }
        (FlagOf::Date(flag), ColumnData::Units(column)) => of_date(flag, column),
        (FlagOf::Digit(flag), ColumnData::Units(column)) => of_digit(flag, column),
        (FlagOf::Text(text), data) => {
            let rows = match RowValues::of(data)? {
                RowValues::Texts(texts) => texts,
                RowValues::Borrowed(_) | RowValues::Units(_) => return Err(OTHER_TYPE),
            };
            rows.iter().map(|found| i64::from(found == Some(text.as_str()))).collect()
        }
        (FlagOf::Codeword(_) | FlagOf::Date(_) | FlagOf::Digit(_), ColumnData::Array(_)) => {
            return Err(OTHER_TYPE);
        }
        (FlagOf::Ranked(_), _) => {
            return Err(EncodeError::Internal { what: "a flag of a rank without its chunk" });
        }
    }))
}

const OTHER_TYPE: EncodeError = EncodeError::Internal { what: "a flag is of a column of another type" };

fn of_digit(flag: &DigitFlag, column: &TypedColumn) -> Vec<i64> {
    let set = |units: i128, row: usize| i64::from(is_valid(column, row) && flag.is_set(units));
    match &column.values {
        Units::I64(values) => of_short(flag, values, column),
        Units::I128(values) => values.iter().zip(0..).map(|(units, row)| set(*units, row)).collect(),
        Units::F64(values) => vec![0; values.len()],
    }
}

/// Days of which flags are worked out once, and then looked up.
const MAX_DAYS: u64 = 1 << 17;

fn of_date(flag: &DateFlag, column: &TypedColumn) -> Vec<i64> {
    let is_set = |row: usize, days: i64| i64::from(is_valid(column, row) && flag.is_set(days.into()));
    let Units::I64(values) = &column.values else { return vec![0; column.values.len()] };
    let rows = || values.iter().enumerate().filter(|(row, _)| is_valid(column, *row));
    let first = rows().map(|(_, days)| *days).min().unwrap_or_default();
    let last = rows().map(|(_, days)| *days).max().unwrap_or_default();
    if last.abs_diff(first) >= MAX_DAYS {
        return values.iter().enumerate().map(|(row, days)| is_set(row, *days)).collect();
    }
    let known: Vec<bool> = (first..=last).map(|days| flag.is_set(days.into())).collect();
    let looked_up = |(row, days): (usize, &i64)| {
        let place = days.wrapping_sub(first) as usize;
        i64::from(is_valid(column, row) && known.get(place) == Some(&true))
    };
    values.iter().enumerate().map(looked_up).collect()
}

/// The same of values in 64 bits, without long divisions.
fn of_short(flag: &DigitFlag, values: &[i64], column: &TypedColumn) -> Vec<i64> {
    let low = flag.low.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64;
    let (step, base) = (flag.step.max(1), flag.base.max(1));
    let set = |units: &i64| i64::from(units.wrapping_sub(low) as u64 / step % base >= flag.least);
    let mut flags: Vec<i64> = values.iter().map(set).collect();
    if let Some(valid) = &column.valid {
        flags.iter_mut().zip(valid).for_each(|(flag, valid)| *flag &= i64::from(*valid));
    }
    flags
}

/// The digits of numbers at a place, as [`Digits::digit`] has them.
///
/// # Errors
/// [`EncodeError::Internal`] for numbers that are no integers.
pub(super) fn limbs<'a>(
    numbers: &QuantityValues<'_>,
    Digits { bits, natural }: Digits,
    place: u8,
) -> Result<QuantityValues<'a>, EncodeError> {
    let (bits, place) = (u32::from(bits), u32::from(place));
    let shift = bits * place;
    let below = if natural { I256::ZERO } else { I256::ONE << bits.saturating_sub(1) };
    let all_below = (0..=place).fold(I256::ZERO, |sum, _| sum.wrapping_shl(bits).wrapping_add(below));
    let mask = (I256::ONE << bits) - I256::ONE;
    let limb = |number: I256| {
        // Beyond the number there is nothing but its sign.
        let shifted = number.wrapping_add(all_below) >> shift.min(255);
        ((shifted & mask) - below).as_i64()
    };
    Ok(QuantityValues::I64(match numbers.view() {
        View::Exact(Values::I64(values)) => values.iter().map(|number| limb(I256::from(*number))).collect(),
        View::Exact(Values::I128(values)) => values.iter().map(|number| limb(I256::from(*number))).collect(),
        View::Exact(Values::I256(values)) => values.iter().map(|number| limb(*number)).collect(),
        View::Approx(_) => {
            return Err(EncodeError::Internal { what: "an approximate sum under a condition" });
        }
    }))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::StringArray;
    use hush_plan::quantity::DatePart;
    use num_bigint::BigInt;

    use super::*;

    fn numbers(values: &QuantityValues<'_>) -> Vec<i64> {
        match values.view() {
            View::Exact(Values::I64(values)) => values.to_vec(),
            _ => Vec::new(),
        }
    }

    #[test]
    fn flags_of_any_width_are_those_of_the_planner() {
        let units: Vec<i128> = (-40..400).chain([i128::from(i64::MAX), i128::from(i64::MIN) + 40]).collect();
        let valid: Vec<bool> = (0..units.len()).map(|row| row % 7 != 3).collect();
        let short: Vec<i64> = units.iter().map(|units| *units as i64).collect();
        for (step, base, least) in [(1, 20, 5), (20, 22, 1), (1, 440, 300), (7, 9, 8)] {
            let flag = DigitFlag { low: -40, step, base, least };
            let set = |(units, valid): (&i128, &bool)| i64::from(*valid && flag.is_set(*units));
            let expected: Vec<i64> = units.iter().zip(&valid).map(set).collect();
            let of = Flag { column: "x".into(), of: FlagOf::Digit(flag) };
            for values in [Units::I64(short.clone()), Units::I128(units.clone())] {
                let column = TypedColumn { values, valid: Some(valid.clone()) };
                let found = numbers(&flags(&of, &ColumnData::Units(column)).unwrap());
                // The least integer is more than 64 bits above nothing but itself.
                assert_eq!(found[..440], expected[..440], "{flag:?}");
            }
        }
    }

    #[test]
    fn flags_of_dates_are_parts_of_them() {
        let days: Vec<i64> = (-800..800).chain([30_000, 2_932_896]).collect();
        let valid: Vec<bool> = (0..days.len()).map(|row| row % 5 != 2).collect();
        // Close together, and so far apart that they are not looked up.
        for count in [1600, days.len()] {
            for (part, least) in [(DatePart::Year, 1970), (DatePart::Month, 3), (DatePart::Day, 31)] {
                let flag = DateFlag { part, least };
                let set = |row: usize| i64::from(valid[row] && part.of(days[row].into()) >= least);
                let expected: Vec<i64> = (0..count).map(set).collect();
                let values = Units::I64(days[..count].to_vec());
                let column = TypedColumn { values, valid: Some(valid[..count].to_vec()) };
                let of = Flag { column: "x".into(), of: FlagOf::Date(flag) };
                assert_eq!(numbers(&flags(&of, &ColumnData::Units(column)).unwrap()), expected, "{flag:?}");
            }
        }
    }

    #[test]
    fn texts_have_a_flag_each() {
        let texts = StringArray::from(vec![Some("a"), None, Some("b"), Some("a")]);
        let data = ColumnData::Array(Arc::new(texts));
        let of = |text: &str| Flag { column: "x".into(), of: FlagOf::Text(text.into()) };
        assert_eq!(numbers(&flags(&of("a"), &data).unwrap()), [1, 0, 0, 1]);
        assert_eq!(numbers(&flags(&of("c"), &data).unwrap()), [0; 4]);
        let digit = DigitFlag { low: 0, step: 1, base: 2, least: 1 };
        assert!(flags(&Flag { column: "x".into(), of: FlagOf::Digit(digit) }, &data).is_err());
    }

    #[test]
    fn limbs_are_those_of_the_planner() {
        let values = vec![0, 1, -1, 500, -513, i64::MAX, i64::MIN, 123_456_789];
        let cases = [(6, 0), (6, 3), (9, 1), (9, 7), (13, 4), (10, 6)];
        for ((bits, place), natural) in cases.into_iter().flat_map(|case| [(case, false), (case, true)]) {
            let digits = Digits { bits, natural };
            let expected: Vec<i64> =
                values.iter().map(|value| digits.digit(&BigInt::from(*value), place)).collect();
            let wide: Vec<i128> = values.iter().map(|value| i128::from(*value)).collect();
            for given in [QuantityValues::I64(values.clone()), QuantityValues::I128(wide)] {
                assert_eq!(
                    numbers(&limbs(&given, digits, place).unwrap()),
                    expected,
                    "{digits:?} at {place}"
                );
            }
        }
    }
}
