// SPDX-License-Identifier: Apache-2.0
//! Flags of constant-weight codes: a row's codeword is found once for all of them.

use std::collections::BTreeMap;

use hush_plan::quantity::{Codeword, CodewordFlag, ConstantWeight};
use hush_table::source::{RowBatch, TypedColumn, Values as Units};
use zeroize::Zeroize;

use super::{QuantityValues, is_valid, units};
use crate::EncodeError;

/// The codewords of a column's values in a chunk of rows, from which every flag of the column is read.
pub struct Codewords {
    code: ConstantWeight,
    /// `None` without a value.
    words: Vec<Option<Codeword>>,
}

impl Drop for Codewords {
    fn drop(&mut self) {
        self.words.zeroize();
    }
}

impl Codewords {
    /// Those of the code that a flag of `column` is of.
    ///
    /// # Errors
    /// [`EncodeError::Internal`] if the batch was read without the column.
    ///
    /// # Cost
    /// A multiplication and some thirty comparisons of binomials for each row.
    pub fn of(
        flag: &CodewordFlag,
        column: &str,
        batch: &RowBatch,
        positions: &BTreeMap<&str, usize>,
    ) -> Result<Self, EncodeError> {
        Ok(Self::of_column(flag, units(column, batch, positions)?))
    }

    pub(super) fn of_column(flag: &CodewordFlag, column: &TypedColumn) -> Self {
        let coder = flag.code.coder();
        let word = |row: usize, units: i128| {
            let place = units.checked_sub(flag.low).and_then(|place| u64::try_from(place).ok());
            place.filter(|_| is_valid(column, row)).map(&coder)
        };
        let words = match &column.values {
            Units::I64(values) => (0..).zip(values).map(|(row, units)| word(row, (*units).into())).collect(),
            Units::I128(values) => (0..).zip(values).map(|(row, units)| word(row, *units)).collect(),
            Units::F64(values) => vec![None; values.len()],
        };
        Self { code: flag.code, words }
    }

    /// The flag of each row with a number in the code, 0 where there is no value.
    pub fn flags<'a>(&self, number: u16) -> QuantityValues<'a> {
        let has = |word: &Codeword| self.code.flags_of(word).contains(&number);
        QuantityValues::I64(self.words.iter().map(|word| i64::from(word.as_ref().is_some_and(has))).collect())
    }
}

#[cfg(test)]
mod tests {
    use hush_schemes::Values;

    use super::super::View;
    use super::*;

    /// Each row with a value has as many flags as the weight, those of its codeword, and one without has none.
    #[test]
    fn flags_of_codewords_are_those_of_values() {
        let code = ConstantWeight::of(500, 4).unwrap();
        let units: Vec<i64> = (-40..460).collect();
        let valid: Vec<bool> = (0..units.len()).map(|row| row % 7 != 3).collect();
        let wide = units.iter().map(|units| (*units).into()).collect();
        for values in [Units::I64(units.clone()), Units::I128(wide)] {
            let column = TypedColumn { values, valid: Some(valid.clone()) };
            let words = Codewords::of_column(&CodewordFlag { low: -40, code, number: 0 }, &column);
            let coder = code.coder();
            for number in 0..code.length {
                let found = words.flags(number);
                let View::Exact(Values::I64(found)) = found.view() else { panic!("flags are integers") };
                let expected = units.iter().zip(&valid).map(|(units, valid)| {
                    let word = coder((units + 40) as u64);
                    i64::from(*valid && code.flags_of(&word).contains(&number))
                });
                assert_eq!(*found, expected.collect::<Vec<_>>(), "{number}");
            }
        }
    }
}
