// SPDX-License-Identifier: Apache-2.0
//! Cells: conditions on columns that decide in which place of an encoded column a row counts.

use serde::{Deserialize, Serialize};

/// A condition on each of some columns; a row is in the cell where all of them hold.
pub type Cell = Vec<Within>;

/// A condition on a column. Private: the server never learns it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Within {
    /// The column.
    pub column: String,
    /// The values for which it holds.
    pub values: CellValues,
}

/// The values of a column that are one cell.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CellValues {
    /// Numbers in units, both ends included.
    Between {
        /// The least.
        low: i128,
        /// The greatest.
        high: i128,
    },
    /// No value.
    Missing,
    /// A text.
    Text(String),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Quantity;

    #[test]
    fn numbers_of_any_size_are_read_as_they_are_written() {
        let within = |values| Within { column: "x".to_owned(), values };
        let cells = vec![
            vec![within(CellValues::Between { low: i128::MIN, high: i128::MAX })],
            vec![within(CellValues::Missing), within(CellValues::Text("\"a\"".to_owned()))],
        ];
        let quantity = Some(Box::new(Quantity::Value("y".to_owned())));
        let whole = Quantity::InCells { quantity, cells, bits: 21 };
        let text = serde_json::to_string(&whole).unwrap();
        assert_eq!(serde_json::from_str::<Quantity>(&text).unwrap(), whole);
    }
}
