// SPDX-License-Identifier: Apache-2.0
//! Aligned columns for people: text to the left, numbers to the right, doubles shortened, NULL as a dot, control
//! characters as escapes.

use std::io::{self, Write};

use arrow::array::{Array, Float64Array};
use arrow::record_batch::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};

use crate::terminal::visible;

/// A column as it is shown.
struct Shown {
    /// The header and the values.
    cells: Vec<String>,
    right: bool,
    width: usize,
}

/// Writes the batches as a table; as several, one below the other and each with the first column, where it is wider than `most`
/// characters.
pub(super) fn write(batches: &[RecordBatch], most: Option<usize>, out: &mut impl Write) -> io::Result<()> {
    let Some(first) = batches.first() else { return Ok(()) };
    let schema = first.schema();
    let columns = (0..schema.fields().len())
        .map(|index| {
            let mut cells = vec![visible(schema.field(index).name())];
            for batch in batches {
                cells.extend(texts(batch.column(index).as_ref())?);
            }
            let right = schema.field(index).data_type().is_numeric();
            let width = cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
            Ok(Shown { cells, right, width })
        })
        .collect::<io::Result<Vec<_>>>()?;
    let pages = pages(&columns.iter().map(|column| column.width).collect::<Vec<_>>(), most);
    for (number, page) in pages.iter().enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        if pages.len() > 1 {
            let new = page.iter().filter(|index| number == 0 || **index > 0);
            let (from, to) = (new.clone().min().unwrap_or(&0) + 1, new.max().unwrap_or(&0) + 1);
            writeln!(out, " columns {from} to {to} of {}", columns.len())?;
        }
        lines(&page.iter().filter_map(|index| columns.get(*index)).collect::<Vec<_>>(), out)?;
    }
    Ok(())
}

/// Which columns stand side by side in lines of at most `most` characters.
fn pages(widths: &[usize], most: Option<usize>) -> Vec<Vec<usize>> {
    let Some(most) = most else { return vec![(0..widths.len()).collect()] };
    let length = |width: usize| width + 2;
    let mut pages: Vec<Vec<usize>> = vec![Vec::new()];
    let (mut used, mut own) = (0, 0);
    // A wide first column would leave too little.
    let repeated = widths.first().map(|width| length(*width)).filter(|first| *first <= most / 3);
    for (index, width) in widths.iter().enumerate() {
        if own > 0 && used + length(*width) > most + 1 {
            (used, own) = (repeated.unwrap_or(0), 0);
            pages.push(repeated.map(|_| 0).into_iter().collect());
        }
        (used, own) = (used + length(*width), own + 1);
        pages.last_mut().into_iter().for_each(|page| page.push(index));
    }
    pages
}

fn lines(columns: &[&Shown], out: &mut impl Write) -> io::Result<()> {
    let rows = columns.first().map_or(0, |column| column.cells.len());
    for row in 0..rows {
        let mut line = String::new();
        for Shown { cells, right, width } in columns {
            let cell = cells.get(row).map_or("", String::as_str);
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
    fn pages_hold_every_column_once_beside_the_first_and_no_line_is_longer() {
        let widths = [4, 10, 7, 30, 5, 5, 60, 9, 1];
        for most in 10..140 {
            let pages = pages(&widths, Some(most));
            let own: Vec<usize> = pages
                .iter()
                .enumerate()
                .flat_map(|(number, page)| {
                    page.iter().copied().filter(move |index| number == 0 || *index > 0)
                })
                .collect();
            assert_eq!(own, (0..widths.len()).collect::<Vec<_>>(), "{most}");
            for page in pages {
                let length = page.iter().map(|index| widths[*index] + 2).sum::<usize>() - 1;
                assert!(length <= most || page.len() <= 2, "{most}: {page:?}");
            }
        }
        assert_eq!(pages(&widths, None).len(), 1);
    }

    #[test]
    fn columns_align_and_null_is_a_dot() {
        let batch = RecordBatch::try_from_iter_with_nullable([
            ("ward", Arc::new(StringArray::from(vec!["surgery", "er"])) as _, true),
            ("n", Arc::new(Int64Array::from(vec![Some(858), None])) as _, true),
        ])
        .unwrap();
        let mut out = Vec::new();
        write(&[batch], None, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), " ward       n\n surgery  858\n er         .\n");
    }
}
