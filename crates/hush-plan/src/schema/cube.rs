// SPDX-License-Identifier: Apache-2.0
//! Cubes as a schema declares them: sums over the rows of each cell of some dimensions, made when rows are encrypted.

mod fault;

pub use fault::CubeFault;

use super::file::{lists_of_units, quoted, quoted_list};
use super::{Column, ColumnType, Protection, Purpose, Schema};

/// A cube: for each combination of values of some columns the number of rows, and sums over them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cube {
    /// The dimensions; at least one, each of another column.
    pub by: Vec<Dimension>,
    /// What is added up beside rows: columns, with their squares, or expressions of columns, as SQL.
    pub sum: Vec<String>,
    /// Rows that no cell will have more of, whatever the table: its numbers need fewer bits then. Without it a cell has room for all rows.
    pub max_cell_rows: Option<u64>,
}

/// A dimension of a cube: a column, and how its values make cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// The column.
    pub column: String,
    /// Which of its values are one cell.
    pub grain: Grain,
}

/// The values that are one cell. Missing values are a cell of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grain {
    /// Each date, by its year, its month and its day: for conditions, of which those on whole years and months are simpler then.
    Calendar,
    /// Numbers between bounds: each of these, in units, begins a cell, and the lowest value of the column the first.
    Bins(Vec<i128>),
    /// Each value.
    Each,
    /// Each value, of which conditions tell whether it is equal to a constant, and nothing else.
    Equality,
    /// Dates of a month.
    Month,
    /// Dates of a quarter.
    Quarter,
    /// These texts, each by itself; there are no others.
    Texts(Vec<String>),
    /// Dates of a year.
    Year,
}

impl Grain {
    /// The grains that have a word.
    pub(crate) const WORDS: [(&'static str, Self); 5] = [
        ("calendar", Self::Calendar),
        ("equality", Self::Equality),
        ("month", Self::Month),
        ("quarter", Self::Quarter),
        ("year", Self::Year),
    ];
}

impl Dimension {
    /// Reads `month(admitted)`, or the name of a column.
    pub(crate) fn named(schema: &Schema, text: &str) -> Self {
        let each = Self { column: text.to_owned(), grain: Grain::Each };
        if schema.columns.iter().any(|column| column.name == text) {
            return each;
        }
        let grain = Grain::WORDS.into_iter().find_map(|(word, grain)| {
            let column = text.strip_prefix(word)?.trim_start().strip_prefix('(')?.strip_suffix(')')?;
            Some(Self { column: column.trim().to_owned(), grain })
        });
        grain.unwrap_or(each)
    }

    /// In words, for people: `month(admitted)`, `age in 3 bins`.
    pub fn describe(&self) -> String {
        match &self.grain {
            Grain::Bins(bins) => format!("{} in {} bins", self.column, bins.len() + 1),
            Grain::Each | Grain::Texts(_) => self.column.clone(),
            worded => {
                let word = Grain::WORDS.into_iter().find(|(_, grain)| grain == worded);
                format!("{}({})", word.map_or("", |(word, _)| word), self.column)
            }
        }
    }

    /// Whether a schema file lists texts for it.
    pub(crate) fn lists_texts(&self) -> bool {
        matches!(self.grain, Grain::Texts(_))
    }

    /// As a schema file has it.
    pub(crate) fn written(&self, schema: &Schema) -> String {
        let column = quoted(&self.column);
        match &self.grain {
            Grain::Each => column,
            Grain::Bins(bins) => {
                let kind =
                    schema.columns.iter().find(|known| known.name == self.column).map(|known| known.kind);
                let bins = kind.map(|kind| lists_of_units(kind, bins)).unwrap_or_default();
                format!("{{ column = {column}, bins = {bins} }}")
            }
            Grain::Texts(texts) => {
                let texts = quoted_list(texts.iter().map(String::as_str));
                format!("{{ column = {column}, values = {texts} }}")
            }
            worded => {
                let word = Grain::WORDS.into_iter().find(|(_, grain)| grain == worded);
                quoted(&format!("{}({})", word.map_or("", |(word, _)| word), self.column))
            }
        }
    }
}

impl Cube {
    /// As a schema file has it.
    pub(crate) fn written(&self, schema: &Schema) -> String {
        let by: Vec<String> = self.by.iter().map(|dimension| dimension.written(schema)).collect();
        let sum = quoted_list(self.sum.iter().map(String::as_str));
        let most = self.max_cell_rows.map(|most| format!(", max_cell_rows = {most}")).unwrap_or_default();
        format!("{{ by = [{}], sum = {sum}{most} }}", by.join(", "))
    }
}

impl Schema {
    /// The groups that are declared, and behind them those of columns that are encrypted for it: by their values, with the sums of all encrypted
    /// columns that are there to be summed exactly.
    pub fn all_groups(&self) -> Vec<Cube> {
        let is_served = |column: &Column| {
            let alone = [Dimension { column: column.name.clone(), grain: Grain::Each }];
            self.groups.iter().any(|group| group.by == alone)
        };
        let is_time = |column: &Column| matches!(column.kind, ColumnType::Date | ColumnType::Timestamp);
        let hidden = self.protected(Protection::Encrypt);
        let hidden = hidden.filter(|column| column.purposes.contains(&Purpose::Group) && !is_served(column));
        let by = hidden.map(|hidden| {
            let summed = self.protected(Protection::Encrypt).filter(|column| {
                column.name != hidden.name
                    && column.is_summed()
                    && !column.is_approximate()
                    && !is_time(column)
            });
            Cube {
                by: vec![Dimension { column: hidden.name.clone(), grain: Grain::Each }],
                sum: summed.map(|column| column.name.clone()).collect(),
                max_cell_rows: None,
            }
        });
        self.groups.iter().cloned().chain(by).collect()
    }
}
