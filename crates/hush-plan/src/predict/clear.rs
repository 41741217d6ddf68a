// SPDX-License-Identifier: Apache-2.0
//! Work of the query engine on the clear half of a plan, row by row.

use std::collections::BTreeSet;

use sqlparser::dialect::GenericDialect;
use sqlparser::tokenizer::{Token, Tokenizer};

use super::{MeanBytes, Work};

/// A clear column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClearColumn {
    /// Its name.
    pub name: String,
    /// Whether its values are texts, which take longer than numbers.
    pub is_text: bool,
    /// Of texts their bytes, if they were counted.
    pub mean: Option<MeanBytes>,
}

/// Bytes of the place where a text begins.
const OFFSET_BYTES: u64 = 4;
/// Bytes of a clear value in an answer, and of a text whose length nobody knows.
const CELL_BYTES: u64 = 8;

/// Bytes of so many rows of a column in an answer, by its name.
pub(crate) fn bytes_of(rows: u64, name: &str, columns: &[ClearColumn]) -> u64 {
    let mean = columns.iter().find(|column| column.name == name).and_then(|column| column.mean);
    // Texts have an offset beside.
    mean.map_or(rows * CELL_BYTES, |mean| mean.of_rows(rows).saturating_add(rows * OFFSET_BYTES))
}

/// Counts `rows` rows of some expressions: each column that they name is decoded, each of them evaluated.
pub(super) fn evaluated(rows: u64, expressions: &[&str], columns: &[ClearColumn]) -> Work {
    let named: BTreeSet<&str> = expressions.iter().flat_map(|text| named_in(text, columns)).collect();
    let is_text = |name: &&&str| columns.iter().any(|column| column.is_text && column.name == ***name);
    let texts = named.iter().filter(is_text).count() as u64;
    let numbers = named.len() as u64 - texts;
    Work {
        clear_cells: rows * (numbers + expressions.len() as u64),
        text_cells: rows * texts,
        ..Work::default()
    }
}

/// The columns that an expression names. What does not divide into tokens, no engine takes either.
fn named_in<'c>(text: &str, columns: &'c [ClearColumn]) -> Vec<&'c str> {
    let tokens = Tokenizer::new(&GenericDialect {}, text).tokenize().unwrap_or_default();
    let words: BTreeSet<String> = tokens
        .into_iter()
        .filter_map(|token| match token {
            Token::Word(word) => Some(word.value),
            _ => None,
        })
        .collect();
    columns.iter().filter(|column| words.contains(&column.name)).map(|column| column.name.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_column_is_decoded_once_and_each_expression_evaluated() {
        let column = |name: &str, is_text| ClearColumn { name: name.to_owned(), is_text, mean: None };
        let columns =
            [column("y", false), column("big one", false), column("name", true), column("z", false)];
        let count = |expressions: &[&str]| {
            let work = evaluated(10, expressions, &columns);
            (work.clear_cells, work.text_cells)
        };
        assert_eq!(count(&[]), (0, 0));
        assert_eq!(count(&["y > 3 AND y < 9"]), (20, 0));
        assert_eq!(count(&["name LIKE 'y%'"]), (10, 10));
        assert_eq!(count(&["CAST(\"big one\" AS BIGINT)", "y + \"big one\"", "name"]), (50, 10));
        assert_eq!(count(&["'unfinished"]), (10, 0));
    }
}
