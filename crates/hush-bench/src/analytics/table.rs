// SPDX-License-Identifier: Apache-2.0
//! The tables of the questions: functions of seed and size.

use std::io::{self, Write};

use hush::Purpose;
use serde::{Deserialize, Serialize};

use super::expected;
use crate::synthetic::mix;

/// Name of the table, as SQL knows it.
pub(super) const NAME: &str = "t";
/// Groups of the grouped question.
const GROUPS: i64 = 8;
/// Features of the regression.
const FEATURES: usize = 8;
/// Rows that leave the regression something to fit.
pub(super) const FEWEST_ROWS_OF_A_FIT: u64 = 100;
/// First year that the grouped question looks at, of ten that there are.
const FIRST_YEAR: i64 = 2017;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// Count, sum, mean, variance and correlation by a clear group, under a clear condition.
    Groups,
    /// Least squares by 8 encrypted features.
    Regression,
}

impl Question {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Groups => "groups",
            Self::Regression => "regression",
        }
    }

    /// The columns of its table.
    pub fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Groups => &["g", "year", "site", "kind", "a", "b", "c", "d"],
            Self::Regression => &["y", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8"],
        }
    }

    /// Those that are encrypted.
    pub fn encrypted(self) -> &'static [&'static str] {
        match self {
            Self::Groups => &["a", "b", "c", "d"],
            Self::Regression => self.columns(),
        }
    }

    /// The query.
    pub fn sql(self) -> String {
        match self {
            Self::Groups => format!(
                "SELECT g, COUNT(*), SUM(a), AVG(b), VARIANCE(c), CORR(a, b) FROM {NAME} WHERE year >= {FIRST_YEAR} \
                 GROUP BY g ORDER BY g"
            ),
            Self::Regression => format!("SELECT LINREG({}) FROM {NAME}", self.columns().join(", ")),
        }
    }

    /// Whether every row of a part counts once.
    pub(super) fn sums_whole_parts(self) -> bool {
        self == Self::Regression
    }

    /// The same for a database without regressions by many columns: the sums of the normal equations.
    pub(super) fn plaintext_sql(self) -> String {
        let Self::Regression = self else { return self.sql() };
        let columns = self.columns();
        let pairs = columns
            .iter()
            .enumerate()
            .flat_map(|(i, x)| columns.iter().skip(i).map(move |y| format!("SUM({x} * {y})")));
        let sums: Vec<String> = columns.iter().map(|x| format!("SUM({x})")).chain(pairs).collect();
        format!("SELECT COUNT(*), {} FROM {NAME}", sums.join(", "))
    }

    /// The schema of a column.
    pub(super) fn purposes(self, column: &str) -> Vec<Purpose> {
        match (self, column) {
            (Self::Groups, "c") => vec![Purpose::Sum, Purpose::Variance],
            _ if self.encrypted().contains(&column) => vec![Purpose::Sum],
            _ => Vec::new(),
        }
    }

    /// Sets of columns whose moments are encrypted.
    pub(super) fn moments(self) -> Vec<Vec<String>> {
        let names = |columns: &[&str]| vec![columns.iter().map(|&column| column.to_owned()).collect()];
        match self {
            Self::Groups => names(&["a", "b"]),
            Self::Regression => names(self.columns()),
        }
    }
}

/// A table that is a function of its seed and size.
pub(super) struct Table {
    question: Question,
    rows: u64,
    seed: u64,
}

impl Table {
    /// Of so many rows.
    pub(super) fn new(question: Question, rows: u64, seed: u64) -> Self {
        Self { question, rows, seed }
    }

    pub(super) fn question(&self) -> Question {
        self.question
    }

    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// One row, in the order of [`Question::columns`].
    pub(super) fn row(&self, row: u64) -> Vec<i64> {
        let mut drawn = 0;
        let mut below = |bound: i64| {
            drawn += 1;
            (mix(self.seed ^ mix(row << 8 | drawn)) % bound as u64) as i64
        };
        match self.question {
            Question::Groups => {
                let clear = [below(GROUPS), 2015 + below(10), below(40), below(2)];
                let a = below(120);
                let encrypted = [a, 2 * a + below(400) - 200, below(1000), below(250_000)];
                clear.into_iter().chain(encrypted).collect()
            }
            Question::Regression => {
                let features: Vec<i64> = (0..FEATURES).map(|_| below(1000)).collect();
                let fit: i64 = features.iter().zip(1..).map(|(x, weight)| weight * x).sum();
                [fit + below(2001) - 1000].into_iter().chain(features).collect()
            }
        }
    }

    /// The expected result of the query, from the plaintext.
    pub(super) fn expected(&self) -> Vec<Vec<f64>> {
        let rows = (0..self.rows).map(|row| self.row(row));
        match self.question {
            Question::Groups => expected::groups(rows.filter(|row| row[1] >= FIRST_YEAR), GROUPS as usize),
            Question::Regression => vec![expected::regression(rows, FEATURES)],
        }
    }

    /// Writes the table as CSV.
    ///
    /// # Errors
    /// Those of the writer.
    pub(super) fn write_csv(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{}", self.question.columns().join(","))?;
        for row in 0..self.rows {
            let cells: Vec<String> = self.row(row).iter().map(i64::to_string).collect();
            writeln!(out, "{}", cells.join(","))?;
        }
        Ok(())
    }
}
