// SPDX-License-Identifier: Apache-2.0
//! Aligned columns for people: text to the left, numbers to the right, doubles shortened, NULL as a dot, control
//! characters as escapes.

use std::io::{self, Write};

use arrow::array::{Array, Float64Array};
use arrow::record_batch::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};

use crate::terminal::visible;

/// Writes the batches as one table.
pub(super) fn write(batches: &[RecordBatch], out: &mut impl Write) -> io::Result<()> {
    let Some(first) = batches.first() else { return Ok(()) };
    let schema = first.schema();
    let columns = (0..schema.fields().len())
        .map(|index| {
            let mut cells = vec![visible(schema.field(index).name())];
            for batch in batches {
                cells.extend(texts(batch.column(index).as_ref())?);
            }
            let right = schema.field(index).data_type().is_numeric();
            Ok((cells, right))
        })
        .collect::<io::Result<Vec<_>>>()?;
    let widths: Vec<usize> = columns
        .iter()
        .map(|(cells, _)| cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0))
        .collect();
    let rows = columns.first().map_or(0, |(cells, _)| cells.len());
    for row in 0..rows {
        let mut line = String::new();
        for ((cells, right), width) in columns.iter().zip(&widths) {
            let cell = &cells[row];
            let gap = " ".repeat(width - cell.chars().count());
            line.push_str(if line.is_empty() { " " } else { "  " });
            let (before, after) = if *right { (gap.as_str(), "") } else { ("", gap.as_str()) };
            line.push_str(before);
            line.push_str(cell);
            line.push_str(after);
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

fn texts(array: &dyn Array) -> io::Result<Vec<String>> {
    if let Some(doubles) = array.as_any().downcast_ref::<Float64Array>() {
        return Ok(doubles.iter().map(|cell| cell.map_or_else(|| ".".to_owned(), shorten)).collect());
    }
    let options = FormatOptions::default().with_null(".");
    let formatter = ArrayFormatter::try_new(array, &options).map_err(io::Error::other)?;
    Ok((0..array.len()).map(|row| visible(&formatter.value(row).to_string())).collect())
}

/// Two decimals from 1 upward, four significant digits below; every digit is in the other formats.
fn shorten(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() || size >= 1e15 {
        format!("{value:e}")
    } else if size >= 1.0 || value == 0.0 {
        format!("{value:.2}")
    } else if size >= 1e-4 {
        let decimals = (3 - size.log10().floor() as i32).clamp(0, 12) as usize;
        format!("{value:.decimals$}")
    } else {
        format!("{value:.3e}")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Int64Array, StringArray};

    use super::*;

    #[test]
    fn doubles_are_shortened_by_size() {
        let shown: Vec<_> = [61.370_01, 0.0, -0.012_345, 2e-7, 1e20].map(shorten).into();
        assert_eq!(shown, ["61.37", "0.00", "-0.01235", "2.000e-7", "1e20"]);
    }

    #[test]
    fn columns_align_and_null_is_a_dot() {
        let batch = RecordBatch::try_from_iter_with_nullable([
            ("ward", Arc::new(StringArray::from(vec!["surgery", "er"])) as _, true),
            ("n", Arc::new(Int64Array::from(vec![Some(858), None])) as _, true),
        ])
        .unwrap();
        let mut out = Vec::new();
        write(&[batch], &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), " ward       n\n surgery  858\n er         .\n");
    }
}
