// SPDX-License-Identifier: Apache-2.0
//! The synthetic table of the split-table workload: 8 columns, the first 4 of them sensitive.

use std::io::{self, Write};

/// Columns; the first [`SENSITIVE`] are the sensitive ones.
pub(crate) const COLUMNS: [&str; 8] =
    ["age", "glucose", "bp", "income", "ward", "visits", "temperature", "year"];

/// How many columns are sensitive.
pub(crate) const SENSITIVE: usize = 4;

/// Value ranges `[low, high)`, one a column.
const RANGES: [(i64, i64); 8] =
    [(0, 105), (40, 400), (60, 220), (0, 250_000), (1, 40), (0, 60), (340, 420), (2015, 2025)];

/// A table that is a function of its seed and size.
pub(crate) struct Synthetic {
    rows: u64,
    seed: u64,
}

impl Synthetic {
    /// A table of `rows` rows.
    pub(crate) fn new(rows: u64, seed: u64) -> Self {
        Self { rows, seed }
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// The value at (`row`, `column`); any cell can be computed without the others.
    pub(crate) fn cell(&self, row: u64, column: usize) -> i64 {
        let (low, high) = RANGES[column];
        let draw = mix(self.seed ^ mix(row.wrapping_mul(COLUMNS.len() as u64).wrapping_add(column as u64)));
        low + (draw % (high - low) as u64) as i64
    }

    /// One whole column; for tables that fit in memory.
    pub(crate) fn column(&self, column: usize) -> Vec<i64> {
        (0..self.rows).map(|row| self.cell(row, column)).collect()
    }

    /// The true sum of a column.
    pub(crate) fn sum(&self, column: usize) -> i128 {
        (0..self.rows).map(|row| i128::from(self.cell(row, column))).sum()
    }

    /// Writes the table as CSV.
    ///
    /// # Errors
    /// Those of the writer.
    pub(crate) fn write_csv(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{}", COLUMNS.join(","))?;
        let mut line = String::new();
        for row in 0..self.rows {
            line.clear();
            for column in 0..COLUMNS.len() {
                let separator = if column + 1 == COLUMNS.len() { '\n' } else { ',' };
                line.push_str(&self.cell(row, column).to_string());
                line.push(separator);
            }
            out.write_all(line.as_bytes())?;
        }
        Ok(())
    }
}

/// The finaliser of SplitMix64: a bijection with outputs that look random.
pub(crate) fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_csv_holds_the_cells_and_the_seed_decides_them() {
        let table = Synthetic::new(50, 7);
        let mut csv = Vec::new();
        table.write_csv(&mut csv).unwrap();
        let text = String::from_utf8(csv).unwrap();
        let rows: Vec<Vec<i64>> = text
            .lines()
            .skip(1)
            .map(|line| line.split(',').map(|cell| cell.parse().unwrap()).collect())
            .collect();
        assert_eq!(rows.len(), 50);
        for column in 0..COLUMNS.len() {
            let values: Vec<i64> = rows.iter().map(|row| row[column]).collect();
            assert_eq!(values, table.column(column));
            assert_eq!(values.iter().map(|v| i128::from(*v)).sum::<i128>(), table.sum(column));
        }
        assert_ne!(table.column(0), Synthetic::new(50, 8).column(0));
    }
}
