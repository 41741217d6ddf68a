// SPDX-License-Identifier: Apache-2.0
//! Vectors from arguments, files and programs, as exact numbers.

use std::path::Path;

use hush_circuits::program::Vector;
use hush_expr::{Expression, Interval, Ratio};
use hush_table::source::{Declared, Source};
use num_bigint::BigInt;

use super::{EvalError, EvalOptions};
use crate::data::open_data;
use crate::error::ClientError;

/// The source of a vector.
#[derive(Clone)]
pub enum VectorSource {
    /// Numbers of a program.
    Numbers(Numbers),
    /// `1,2.5,3`, `@FILE` with numbers between blanks, commas or line breaks, or `FILE:COLUMN` of a CSV or Parquet file.
    Text(String),
}

/// Numbers of a program.
///
/// *Secrecy.* Plaintext: no `Debug`.
#[derive(Clone)]
pub enum Numbers {
    /// Approximate by their type.
    Doubles(Vec<f64>),
    /// Exact.
    Integers(Vec<i64>),
}

/// A vector's values.
pub(super) struct Column {
    pub(super) values: Vec<Ratio>,
    unit: Ratio,
    pub(super) is_float: bool,
}

impl Column {
    pub(super) fn vector(&self) -> Vector {
        let zero = Ratio::zero();
        let low = self.values.iter().min().unwrap_or(&zero).clone();
        let high = self.values.iter().max().unwrap_or(&zero).clone();
        Vector { unit: self.unit.clone(), range: Interval::new(low, high), is_float: self.is_float }
    }

    /// A column of decimal texts. A number with an exponent makes it one of floats.
    fn of_texts<'a>(
        name: &str,
        texts: impl Iterator<Item = Option<&'a str>>,
        is_float: bool,
    ) -> Result<Self, EvalError> {
        let (mut values, mut is_float) = (Vec::new(), is_float);
        for (index, text) in texts.enumerate() {
            let position = index + 1;
            let text = text.ok_or_else(|| EvalError::Missing { name: name.to_owned(), position })?.trim();
            let value = Ratio::from_decimal(text);
            values.push(value.ok_or_else(|| EvalError::NotANumber { name: name.to_owned(), position })?);
            is_float |= text.contains(['e', 'E']);
        }
        Ok(Self::of_values(values, is_float))
    }

    fn of_values(values: Vec<Ratio>, is_float: bool) -> Self {
        // Decimals, and sums of powers of two, have decimals that end.
        let places = values.iter().filter_map(Ratio::decimal_places).max().unwrap_or(0);
        let unit = Ratio::new(1.into(), BigInt::from(10).pow(places));
        Self { values, unit: unit.unwrap_or_else(Ratio::one), is_float }
    }

    fn of_numbers(name: &str, numbers: &Numbers) -> Result<Self, EvalError> {
        let not_finite = |index: usize| EvalError::NotANumber { name: name.to_owned(), position: index + 1 };
        match numbers {
            Numbers::Doubles(values) => {
                let exact = values.iter().enumerate();
                let exact = exact.map(|(i, &value)| Ratio::from_f64(value).ok_or_else(|| not_finite(i)));
                Ok(Self::of_values(exact.collect::<Result<_, _>>()?, true))
            }
            Numbers::Integers(values) => {
                let exact = values.iter().map(|&value| Ratio::from(BigInt::from(value)));
                Ok(Self::of_values(exact.collect(), false))
            }
        }
    }
}

/// One column for each name of the expression, in its order, all of one length that is not zero.
pub(super) fn read_columns(
    expression: &Expression,
    options: &EvalOptions,
) -> Result<Vec<Column>, ClientError> {
    let names = expression.names();
    let vectors = &options.vectors;
    for (index, (name, _)) in vectors.iter().enumerate() {
        if !names.contains(name) || vectors[..index].iter().any(|(earlier, _)| earlier == name) {
            return Err(EvalError::Unused { name: name.clone() }.into());
        }
    }
    let data = options.data.as_deref().map(open_data).transpose()?;
    let mut columns: Vec<Column> = Vec::with_capacity(names.len());
    for name in names {
        let given = vectors.iter().find(|(known, _)| known == name).map(|(_, source)| source);
        let column = match (given, &data) {
            (Some(VectorSource::Numbers(numbers)), _) => Column::of_numbers(name, numbers)?,
            (Some(VectorSource::Text(text)), _) => of_text(name, text)?,
            (None, Some(source)) => of_source(name, source, name)?,
            (None, None) => return Err(EvalError::NoVector { name: name.clone() }.into()),
        };
        if column.values.is_empty() {
            return Err(EvalError::Empty { name: name.clone() }.into());
        }
        if let (Some(before), Some(other)) = (columns.last(), names.get(columns.len().wrapping_sub(1))) {
            let (found, expected) = (column.values.len(), before.values.len());
            if found != expected {
                let (name, other) = (name.clone(), other.clone());
                return Err(EvalError::Lengths { name, found, other, expected }.into());
            }
        }
        columns.push(column);
    }
    Ok(columns)
}

fn of_text(name: &str, text: &str) -> Result<Column, ClientError> {
    if let Some(path) = text.strip_prefix('@') {
        let failed = |source| ClientError::File { path: path.into(), source };
        let numbers = std::fs::read_to_string(path).map_err(failed)?;
        return Ok(Column::of_texts(name, numbers.lines().flat_map(words), false)?);
    }
    // A number has no colon.
    if let Some((path, column)) = text.rsplit_once(':') {
        let source = open_data(Path::new(path))?;
        return of_source(name, &source, column);
    }
    if text.trim().is_empty() {
        return Err(EvalError::Empty { name: name.to_owned() }.into());
    }
    Ok(Column::of_texts(name, text.split(',').map(Some), false)?)
}

/// The numbers of a line, between blanks or commas; `None` where a comma has none before it.
fn words<'a>(line: &'a str) -> Vec<Option<&'a str>> {
    let line = line.trim();
    if line.is_empty() {
        return Vec::new();
    }
    let fields = line.strip_suffix(',').unwrap_or(line).split(',');
    let of_field = |field: &'a str| match field.trim() {
        "" => vec![None],
        _ => field.split_whitespace().map(Some).collect(),
    };
    fields.flat_map(of_field).collect()
}

fn of_source(name: &str, source: &Source, column: &str) -> Result<Column, ClientError> {
    let place = source.columns().iter().position(|known| known.name == column);
    let missing = || EvalError::NoColumn { name: name.to_owned(), column: column.to_owned() };
    let place = place.ok_or_else(missing)?;
    let is_float = source.columns()[place].declared == Some(Declared::Float);
    let cells = source.text_of(&[place])?.pop().unwrap_or_default();
    Ok(Column::of_texts(name, cells.iter().map(Option::as_deref), is_float)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_line_stand_between_blanks_or_commas() {
        for (line, expected) in [
            ("", &[][..]),
            (" 1 2,3 , 4 ", &[Some("1"), Some("2"), Some("3"), Some("4")]),
            // A comma may end a line. What is missing before one is not passed over.
            ("1,2,", &[Some("1"), Some("2")]),
            ("1,,3", &[Some("1"), None, Some("3")]),
            (",1", &[None, Some("1")]),
            ("1, ,", &[Some("1"), None]),
            (",", &[None]),
        ] {
            assert_eq!(words(line), expected, "{line:?}");
        }
    }
}
