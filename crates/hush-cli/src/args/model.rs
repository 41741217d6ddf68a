// SPDX-License-Identifier: Apache-2.0
//! Arguments of `hush fit` and `hush score`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use hush::{ModelKind, TreeSize};

use super::{KeyArgs, TokenArgs, WayArgs};
use crate::output::Format;

#[derive(Debug, Args)]
pub(crate) struct Fit {
    /// Table directory, SERVER/tables/NAME, or s3://BUCKET/PREFIX
    pub(crate) table: PathBuf,
    /// The kind of model
    #[arg(long, value_enum)]
    model: Kind,
    /// What it says: SQL of a number, or of a condition such as "stay > 7"
    #[arg(long, value_name = "SQL")]
    pub(crate) outcome: String,
    /// From what: columns, or SQL of numbers and conditions such as "age,ward = 'A'"
    #[arg(long, value_name = "SQL,...", required = true)]
    features: Vec<String>,
    /// Only from rows of this condition
    #[arg(long = "where", value_name = "SQL")]
    pub(crate) condition: Option<String>,
    /// Questions one after the other, at most, in a tree
    #[arg(long, value_name = "N", default_value_t = 4)]
    depth: u32,
    /// Rows of a leaf of a tree, at least
    #[arg(long, value_name = "N", default_value_t = 20)]
    leaf_rows: usize,
    /// The model's file, which only you can read
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: PathBuf,
    /// Replace a file that is there
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) ways: WayArgs,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
    #[command(flatten)]
    pub(crate) token: TokenArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Score {
    /// The model's file
    pub(crate) model: PathBuf,
    /// Table directory, SERVER/tables/NAME, or s3://BUCKET/PREFIX
    #[arg(required_unless_present = "print")]
    pub(crate) table: Option<PathBuf>,
    /// Columns beside the score
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    pub(crate) keep: Vec<String>,
    /// Only rows of this condition
    #[arg(long = "where", value_name = "SQL")]
    pub(crate) condition: Option<String>,
    /// Print the model instead: SQL of a row's score, or an expression for hush eval on encrypted vectors
    #[arg(long, value_enum, conflicts_with_all = ["table", "keep", "condition"])]
    pub(crate) print: Option<Printed>,
    /// Format of the result
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
    /// Do not break a table that is wider than the terminal
    #[arg(long)]
    pub(crate) wide: bool,
    #[command(flatten)]
    pub(crate) ways: WayArgs,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
    #[command(flatten)]
    pub(crate) token: TokenArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    /// The least-squares fit of the outcome by a constant and the features
    Linear,
    /// The most likely chances of a condition
    Logistic,
    /// Means of the outcome on rows that the same questions part
    Tree,
}

/// How a model is printed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Printed {
    Sql,
    Expression,
}

impl Fit {
    /// The kind of model.
    pub(crate) fn kind(&self) -> ModelKind {
        match self.model {
            Kind::Linear => ModelKind::Linear,
            Kind::Logistic => ModelKind::Logistic,
            Kind::Tree => ModelKind::Tree(TreeSize { depth: self.depth, leaf_rows: self.leaf_rows }),
        }
    }

    /// The features, each by itself.
    pub(crate) fn features(&self) -> Vec<String> {
        self.features.iter().flat_map(|list| split(list)).map(|part| part.trim().to_owned()).collect()
    }
}

/// The members of a list, parted at its commas, but not within brackets or quotes.
fn split(list: &str) -> Vec<&str> {
    let (mut parts, mut first, mut depth, mut quote) = (Vec::new(), 0, 0_usize, None);
    for (place, letter) in list.char_indices() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(letter),
            (None, '(') => depth += 1,
            (None, ')') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                parts.push(list.get(first..place).unwrap_or_default());
                first = place + 1;
            }
            _ => {}
        }
    }
    parts.push(list.get(first..).unwrap_or_default());
    parts
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn lists_are_parted_between_expressions() {
        assert_eq!(split("age,bp"), ["age", "bp"]);
        assert_eq!(
            split("coalesce(a, b),ward = 'A,B', \"x,\"\"y\""),
            ["coalesce(a, b)", "ward = 'A,B'", " \"x,\"\"y\""]
        );
        assert_eq!(split("a),b"), ["a)", "b"]);
        assert_eq!(split(""), [""]);
    }
}
