// SPDX-License-Identifier: Apache-2.0
//! The results that the questions must have, computed from the drawn rows by sorting and adding, without any engine.

use std::sync::Arc;

use arrow::array::{ArrayRef, Decimal128Array, Float64Array, Int64Array};
use arrow::record_batch::RecordBatch;

use super::{BELOW, GROUPS, QUERIES, ROW, group, measure, value};
use crate::BenchError;
use crate::prepared::Options;

/// Rows that the question for the greatest values asks for.
const TOP: usize = 10;

/// What is known of the rows after reading them once.
#[derive(Default)]
struct Seen {
    values: Vec<i64>,
    of_group: Vec<Vec<i64>>,
    /// The greatest values with their measures, and more that were once among them.
    top: Vec<(i64, u64)>,
    below: (i64, u64),
    same: Vec<u64>,
}

/// The result of each of the questions, in their order.
///
/// # Cost
/// Memory: 16 bytes for each row.
///
/// # Errors
/// [`BenchError::Arrow`] never, for columns of the same length.
pub(super) fn results(options: &Options) -> Result<[RecordBatch; QUERIES.len()], BenchError> {
    let mut seen = Seen { of_group: vec![Vec::new(); GROUPS as usize], ..Seen::default() };
    let asked = value(options, ROW);
    for row in 0..options.rows {
        let (value, measure) = (value(options, row), measure(options, row));
        seen.values.push(value);
        seen.of_group[group(options, row) as usize].push(value);
        seen.top.push((value, measure));
        if seen.top.len() > 1000 {
            keep_top(&mut seen.top);
        }
        if value < BELOW {
            seen.below = (seen.below.0 + 1, seen.below.1 + measure);
        }
        if value == asked {
            seen.same.push(measure);
        }
    }
    keep_top(&mut seen.top);
    let (least, greatest) = (seen.values.iter().min().copied(), seen.values.iter().max().copied());
    let (values, measures): (Vec<i64>, Vec<u64>) = seen.top.into_iter().unzip();
    let of_group = seen.of_group.into_iter().zip(0..).filter(|(values, _)| !values.is_empty());
    let (medians, groups): (Vec<f64>, Vec<i64>) =
        of_group.map(|(values, group)| (median(values), group)).unzip();
    Ok([
        batch([doubles(vec![median(seen.values)])])?,
        batch([integers(least.into_iter().collect()), integers(greatest.into_iter().collect())])?,
        batch([integers(values), cents(&measures)?])?,
        batch([integers(vec![seen.below.0]), cents(&[seen.below.1])?])?,
        batch([cents(&seen.same)?])?,
        batch([integers(groups), doubles(medians)])?,
    ])
}

/// The rows of the greatest values, those first.
fn keep_top(rows: &mut Vec<(i64, u64)>) {
    rows.sort_unstable_by(|one, other| other.cmp(one));
    rows.truncate(TOP);
}

/// The middle value, or the mean of the two in the middle.
fn median(mut values: Vec<i64>) -> f64 {
    let middle = values.len() / 2;
    let is_even = values.len().is_multiple_of(2);
    let (before, upper, _) = values.select_nth_unstable(middle);
    let lower = if is_even { before.iter().max().copied() } else { None }.unwrap_or(*upper);
    (i128::from(lower) + i128::from(*upper)) as f64 / 2.0
}

fn integers(values: Vec<i64>) -> ArrayRef {
    Arc::new(Int64Array::from(values))
}

fn doubles(values: Vec<f64>) -> ArrayRef {
    Arc::new(Float64Array::from(values))
}

/// Amounts of two digits after the point.
fn cents(units: &[u64]) -> Result<ArrayRef, BenchError> {
    let units = Decimal128Array::from_iter_values(units.iter().copied().map(i128::from));
    Ok(Arc::new(units.with_precision_and_scale(38, 2)?))
}

fn batch<const N: usize>(columns: [ArrayRef; N]) -> Result<RecordBatch, BenchError> {
    let named = columns.into_iter().enumerate().map(|(place, column)| (format!("c{place}"), column, true));
    Ok(RecordBatch::try_from_iter_with_nullable(named)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_in_the_middle_of_its_values() {
        assert_eq!(median(vec![5]), 5.0);
        assert_eq!(median(vec![9, -1, 4]), 4.0);
        assert_eq!(median(vec![9, 1, 4, 6]), 5.0);
        // Their sum has no 64 bits.
        assert_eq!(median(vec![i64::MAX, i64::MAX]), i64::MAX as f64);
    }

    #[test]
    fn the_greatest_stay_whenever_rows_are_dropped() {
        let mut rows: Vec<(i64, u64)> = (0..30).map(|row| (row * 7 % 30, 0)).collect();
        keep_top(&mut rows);
        assert!(rows.iter().map(|(value, _)| *value).eq((20..30).rev()));
    }
}
