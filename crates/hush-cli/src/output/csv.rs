// SPDX-License-Identifier: Apache-2.0
//! Comma-separated values in which a missing value and an empty text are two: nothing between the commas, and `""`.
//!
//! PostgreSQL and DuckDB read it so. Arrow's own writer makes no difference, and gives a row of one missing value as `""`; only the
//! texts of values are Arrow's.

use std::fmt::Write as _;
use std::io::{self, Write};

use arrow::array::Array;
use arrow::datatypes::Schema;
use arrow::record_batch::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};

/// Writes the names of the columns.
pub(super) fn header(schema: &Schema, out: &mut impl Write) -> io::Result<()> {
    for (place, field) in schema.fields().iter().enumerate() {
        separate(place, out)?;
        text(field.name(), out)?;
    }
    out.write_all(b"\n")
}

/// Writes rows.
pub(super) fn rows(batch: &RecordBatch, out: &mut impl Write) -> io::Result<()> {
    let options = FormatOptions::default();
    let columns = batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options));
    let columns = columns.collect::<Result<Vec<_>, _>>().map_err(io::Error::other)?;
    let mut cell = String::new();
    for row in 0..batch.num_rows() {
        for (place, (values, column)) in columns.iter().zip(batch.columns()).enumerate() {
            separate(place, out)?;
            if column.is_valid(row) {
                cell.clear();
                write!(cell, "{}", values.value(row)).map_err(io::Error::other)?;
                text(&cell, out)?;
            }
        }
        out.write_all(b"\n")?;
    }
    Ok(())
}

fn separate(place: usize, out: &mut impl Write) -> io::Result<()> {
    if place == 0 { Ok(()) } else { out.write_all(b",") }
}

/// A text in quotes, where it would be read as something else without.
fn text(text: &str, out: &mut impl Write) -> io::Result<()> {
    match text.is_empty() || text.contains([',', '"', '\n', '\r']) {
        true => write!(out, "\"{}\"", text.replace('"', "\"\"")),
        false => out.write_all(text.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Int64Array, StringArray};

    use super::*;

    fn written(names: [&str; 2], texts: Vec<Option<&str>>) -> String {
        let numbers = Int64Array::from_iter((0..texts.len() as i64).map(|row| (row % 2 == 0).then_some(row)));
        let batch = RecordBatch::try_from_iter([
            (names[0], Arc::new(StringArray::from(texts)) as _),
            (names[1], Arc::new(numbers) as _),
        ]);
        let (batch, mut out) = (batch.unwrap(), Vec::new());
        header(&batch.schema(), &mut out).unwrap();
        rows(&batch, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn missing_values_are_nothing_and_empty_texts_are_quoted() {
        let found = written(["a", "b,c"], vec![Some(""), None, Some("x \"y\", z"), Some("é"), Some(" ")]);
        assert_eq!(found, "a,\"b,c\"\n\"\",0\n,\n\"x \"\"y\"\", z\",2\né,\n ,4\n");
    }
}
