// SPDX-License-Identifier: Apache-2.0
//! Values as digits of numbers: what flags add up to in a row, and back.

use super::{Code, Digit, Values};
use crate::filter::term::Term;

/// A value as its digits tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeValue<'a> {
    /// A number, in units. Where values may be missing, the flag of validity says whether there is one.
    Units(i128),
    /// A text.
    Text(&'a str),
    /// No text.
    Missing,
}

impl Code {
    /// The digits of a row's value: each a sum of flags. Of texts one digit, from 1 on, and 0 where there is none; of what has no digits none.
    pub(crate) fn digit_terms(&self) -> Vec<Term> {
        match &self.values {
            Values::Digits { digits, .. } => {
                let flags =
                    |digit: &Digit| Term::sum((1..digit.base()).map(|least| self.at_least(*digit, least)));
                digits.iter().map(flags).collect()
            }
            Values::Texts(texts) => {
                let weighed = texts
                    .iter()
                    .zip(1..)
                    .map(|(text, number)| Term::Constant(number).times(Term::Stored(self.text(text))));
                vec![Term::sum(weighed)]
            }
            Values::Codewords { .. } | Values::Condition { .. } | Values::Ranks(_) => Vec::new(),
        }
    }

    /// The value with these digits, most significant first; `None` where no value has them.
    pub fn value_of(&self, found: &[u64]) -> Option<CodeValue<'_>> {
        match &self.values {
            Values::Texts(texts) => match found {
                [0] => Some(CodeValue::Missing),
                [number] => texts.get(usize::try_from(number - 1).ok()?).map(|text| CodeValue::Text(text)),
                _ => None,
            },
            Values::Digits { count, digits, .. } => {
                let place = self.place_of(digits, found)?;
                let is_of_it = |(digit, value): (&Digit, &u64)| digit.of(self.low(), place) == *value;
                let is_value = place < *count && digits.iter().zip(found).all(is_of_it);
                is_value.then(|| CodeValue::Units(self.low() + i128::from(place)))
            }
            Values::Codewords { .. } | Values::Condition { .. } | Values::Ranks(_) => None,
        }
    }

    /// The place of the value with these digits, if there is such a value.
    fn place_of(&self, digits: &[Digit], found: &[u64]) -> Option<u64> {
        if digits.len() != found.len() {
            return None;
        }
        let (mut place, mut date) = (0_u64, [None; 3]);
        for (digit, value) in digits.iter().zip(found) {
            match digit {
                Digit::Even { step, .. } => place = place.checked_add(value.checked_mul(*step)?)?,
                Digit::Part { part, first, .. } => {
                    *date.get_mut(*part as usize)? = Some(first.checked_add_unsigned(*value)?);
                }
            }
        }
        match date {
            [None, None, None] => Some(place),
            [Some(day), Some(month), Some(year)] => {
                let days = crate::schema::units::days_from_civil(year, month, day)?;
                u64::try_from(i128::from(days) - self.low()).ok()
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::{Flag, FlagOf, Quantity};
    use crate::schema::cube::{Dimension, Grain};
    use crate::schema::{ColumnType, Protection};
    use crate::tables::{column, ranged, schema};

    fn flag(quantity: &Quantity, units: i128) -> i64 {
        let Quantity::Flag(Flag { of, .. }) = quantity else { return 1 };
        i64::from(match of {
            FlagOf::Digit(flag) => flag.is_set(units),
            FlagOf::Date(flag) => flag.is_set(units),
            FlagOf::Codeword(_) | FlagOf::Ranked(_) | FlagOf::Text(_) => false,
        })
    }

    /// Every value of columns of one to three digits, and of dates by the calendar, is that of its digits, and other digits are those of no value.
    #[test]
    fn digits_are_those_of_one_value() {
        let of = |kind, low, high, grain| {
            let column = ranged(column("x", kind, Protection::Encrypt), low, high);
            let schema = schema("t", vec![column]);
            Code::of(&schema, &Dimension { column: "x".into(), grain }).unwrap()
        };
        let days = of(ColumnType::Date, 10_649, 11_383, Grain::Calendar);
        let codes = [
            of(ColumnType::Int { bits: 8 }, -5, 50, Grain::Each),
            of(ColumnType::Int { bits: 16 }, 7, 3000, Grain::Each),
            of(ColumnType::Int { bits: 32 }, 7, 10_000, Grain::Each),
            of(ColumnType::Date, 10_649, 11_383, Grain::Each),
            days.clone(),
        ];
        for code in &codes {
            let terms = code.digit_terms();
            let mut most = vec![0; terms.len()];
            for units in code.low()..=code.high() {
                let of_term = |term: &Term| term.evaluate(&|quantity| flag(quantity, units)) as u64;
                let found: Vec<u64> = terms.iter().map(of_term).collect();
                assert_eq!(code.value_of(&found), Some(CodeValue::Units(units)), "{units} {found:?}");
                most.iter_mut().zip(&found).for_each(|(most, digit)| *most = (*most).max(*digit));
            }
            for place in 0..most.len() {
                let mut beyond = vec![0; most.len()];
                beyond[place] = most[place] + 1;
                assert_eq!(code.value_of(&beyond), None, "{beyond:?}");
            }
            assert_eq!((code.value_of(&[]), code.value_of(&vec![u64::MAX; most.len()])), (None, None));
        }
        // The last of February 2000 is the 29th.
        let february = |day: u64| days.value_of(&[1, 1, day - 1]);
        assert!(matches!(february(29), Some(CodeValue::Units(_))));
        assert_eq!((february(30), days.value_of(&[9, 1, 1])), (None, None));
    }

    #[test]
    fn texts_are_numbers_from_one_on() {
        let texts = ["a", "bb", "c"].map(str::to_owned);
        let table = schema("t", vec![column("x", ColumnType::Text, Protection::Seal)]);
        let grain = Grain::Texts(texts.clone().into());
        let code = Code::of(&table, &Dimension { column: "x".into(), grain }).unwrap();
        let terms = code.digit_terms();
        for (text, number) in texts.iter().zip(1..) {
            let is_it = |quantity: &Quantity| i64::from(*quantity == code.text(text));
            assert_eq!(terms.iter().map(|term| term.evaluate(&is_it)).collect::<Vec<_>>(), [number]);
            assert_eq!(code.value_of(&[number as u64]), Some(CodeValue::Text(text)));
        }
        assert_eq!(code.value_of(&[0]), Some(CodeValue::Missing));
        assert_eq!([code.value_of(&[4]), code.value_of(&[]), code.value_of(&[1, 1])], [None; 3]);
    }
}
