// SPDX-License-Identifier: Apache-2.0
//! Sorted runs as a schema declares them: the rows of each part once more, in the order of a column.

mod fault;

pub use fault::RunFault;

use super::file::{quoted, quoted_list};
use super::{Column, Protection, Purpose, Schema};

/// Most runs of a table.
pub const MAX_RUNS: usize = 32;

/// A sorted run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The column in whose order the rows stand.
    pub by: String,
    /// Columns by whose values they are parted before that.
    pub within: Vec<String>,
    /// What is added up for each block: columns, with their squares, or expressions of columns, as SQL.
    pub sum: Vec<String>,
    /// Further columns whose values stand in the blocks.
    pub cover: Vec<String>,
    /// Whether each chunk has an order of its own. Such a run tells ranks for conditions ([`Schema::all_filters`]), and answers nothing by itself.
    pub by_chunk: bool,
}

impl Run {
    /// A run by a column and of it alone.
    pub fn by(column: &str) -> Self {
        Self {
            by: column.to_owned(),
            within: Vec::new(),
            sum: Vec::new(),
            cover: Vec::new(),
            by_chunk: false,
        }
    }

    /// A run that tells the ranks of a column's values in their chunks.
    pub fn of_ranks(column: &str) -> Self {
        Self { by_chunk: true, ..Self::by(column) }
    }

    /// In words, for people: `charges within ward`.
    pub fn describe(&self) -> String {
        match self.within.as_slice() {
            [] if self.by_chunk => format!("{} in each chunk", self.by),
            [] => self.by.clone(),
            within => format!("{} within {}", self.by, within.join(", ")),
        }
    }

    /// As a schema file has it.
    pub(crate) fn written(&self) -> String {
        let lists = [("within", &self.within), ("sum", &self.sum), ("cover", &self.cover)];
        let lists = lists.into_iter().filter(|(_, names)| !names.is_empty());
        let lists =
            lists.map(|(key, names)| format!(", {key} = {}", quoted_list(names.iter().map(String::as_str))));
        format!("{{ by = {}{} }}", quoted(&self.by), lists.collect::<String>())
    }
}

impl Schema {
    /// The runs that are declared, behind them those of columns that are encrypted for their order, and last those that tell ranks. A run that has the whole
    /// table in the order of a column serves its order as well.
    pub fn all_runs(&self) -> Vec<Run> {
        let is_served =
            |column: &Column| self.runs.iter().any(|run| run.by == column.name && run.within.is_empty());
        let ordered = self.protected(Protection::Encrypt);
        let ordered =
            ordered.filter(|column| column.purposes.contains(&Purpose::Order) && !is_served(column));
        let ordered = ordered.map(|column| Run::by(&column.name));
        let ranked = self.ranked().map(|column| Run::of_ranks(&column.name));
        self.runs.iter().cloned().chain(ordered).chain(ranked).collect()
    }
}
