// SPDX-License-Identifier: Apache-2.0
//! What conditions on encrypted columns and sums under them are made of: flags.

use serde::{Deserialize, Serialize};

use super::codeword::CodewordFlag;
use crate::schema::units::civil_from_days;
use crate::sql::renamed_condition;

/// A flag of a column's value: 0 where it is missing. Private: the server never learns of what it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flag {
    /// The column.
    pub column: String,
    /// When it is 1.
    pub of: FlagOf,
}

/// When a flag is 1.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FlagOf {
    /// Where the codeword of the value has it.
    Codeword(CodewordFlag),
    /// Where a part of a date is late enough.
    Date(DateFlag),
    /// Where a digit of the value's place is large enough.
    Digit(DigitFlag),
    /// Where one of the flags of the value's rank is set, by its place in an order that each chunk has of its own ([`super::RankFlag`]).
    Ranked(u8),
    /// Where the value is this text.
    Text(String),
}

/// Whether a digit is large enough: `place / step mod base ≥ least`. The place of a value is how far it lies above the least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DigitFlag {
    /// The least value, in units.
    pub low: i128,
    /// What the digit weighs.
    pub step: u64,
    /// How many values the digit has.
    pub base: u64,
    /// The least digit for which the flag is 1; at least 1.
    pub least: u64,
}

/// Whether a part of a date is late enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DateFlag {
    /// The part.
    pub part: DatePart,
    /// The least part for which the flag is 1.
    pub least: i64,
}

/// A part of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DatePart {
    /// Of its month, from 1 on.
    Day,
    /// Of its year, from 1 on.
    Month,
    /// As people count them.
    Year,
}

impl DatePart {
    /// It of a date, in days since 1970.
    pub fn of(self, days: i128) -> i64 {
        let bounded = days.clamp(-1 << 40, 1 << 40);
        let (year, month, day) = civil_from_days(bounded as i64);
        match self {
            Self::Day => day,
            Self::Month => month,
            Self::Year => year,
        }
    }
}

impl DateFlag {
    /// Whether it is 1 for a date.
    pub fn is_set(&self, units: i128) -> bool {
        self.part.of(units) >= self.least
    }
}

/// A condition on a row, worked out when it is encrypted. Private: the server never learns of which.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Holds {
    /// The condition, resolved: every column in double quotes.
    pub condition: String,
    /// Its columns, sorted, each once.
    pub columns: Vec<String>,
    /// Whether it marks rows for which the condition is true, or those for which it is false.
    pub truth: bool,
}

impl Holds {
    /// In words.
    pub fn describe(&self) -> String {
        let condition = self.condition.replace('"', "");
        if self.truth { format!("where {condition}") } else { format!("where NOT {condition}") }
    }

    /// The same of columns with other names.
    pub(crate) fn renamed(&self, name: &dyn Fn(&str) -> String) -> Self {
        let mut columns: Vec<String> = self.columns.iter().map(|column| name(column)).collect();
        columns.sort_unstable();
        let condition = renamed_condition(&self.condition, &|column| Some(name(column)));
        Self { condition: condition.unwrap_or_else(|| self.condition.clone()), columns, truth: self.truth }
    }
}

impl Flag {
    /// In words.
    pub fn describe(&self) -> String {
        let column = &self.column;
        match &self.of {
            FlagOf::Codeword(CodewordFlag { number, .. }) => {
                format!("flag {number} of the codeword of {column}")
            }
            FlagOf::Digit(DigitFlag { step, least, .. }) => {
                format!("the flag {least} of {column} in steps of {step}")
            }
            FlagOf::Date(DateFlag { part, least }) => {
                let part = match part {
                    DatePart::Day => "day",
                    DatePart::Month => "month",
                    DatePart::Year => "year",
                };
                format!("the flag of {column} from {part} {least} on")
            }
            FlagOf::Ranked(place) => format!("flag {place} of the rank of {column} in its chunk"),
            FlagOf::Text(text) => format!("the flag {text:?} of {column}"),
        }
    }
}

impl DigitFlag {
    /// Whether it is 1 for a value.
    pub fn is_set(&self, units: i128) -> bool {
        let place = units.wrapping_sub(self.low) as u128;
        place / u128::from(self.step.max(1)) % u128::from(self.base.max(1)) >= u128::from(self.least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_compare_digits_of_places() {
        let flag = |step, base, least| DigitFlag { low: -3, step, base, least };
        for units in -3_i128..97 {
            let place = (units + 3) as u64;
            for least in 1..10 {
                assert_eq!(flag(1, 10, least).is_set(units), place % 10 >= least, "{units}");
                assert_eq!(flag(10, 10, least).is_set(units), place / 10 >= least, "{units}");
            }
        }
    }
}
