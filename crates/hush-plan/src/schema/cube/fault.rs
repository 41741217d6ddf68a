// SPDX-License-Identifier: Apache-2.0
//! Why there can be no such cube.

/// A fault of a cube.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CubeFault {
    /// Bins that are none.
    #[error("the bins of {column} have to rise, within the column's range")]
    Bins {
        /// The column.
        column: String,
    },
    /// A clear column as a hidden dimension.
    #[error("{column} is clear: rows are grouped by it anyway, together with hidden columns")]
    ClearDimension {
        /// The column.
        column: String,
    },
    /// An expression that cannot be added up.
    #[error("{text} cannot be added up: {why}")]
    Expression {
        /// The expression.
        text: String,
        /// The planner's words.
        why: String,
    },
    /// A grain of another type.
    #[error("{column} has no {grain}: it is no date")]
    Grain {
        /// The column.
        column: String,
        /// The grain.
        grain: &'static str,
    },
    /// No dimension.
    #[error("it has no dimension")]
    NoDimension,
    /// A column that there is not.
    #[error("there is no column {column}")]
    NoColumn {
        /// Its name.
        column: String,
    },
    /// A column with values that are added up approximately.
    #[error("{column} cannot be added up exactly")]
    NotExact {
        /// The column.
        column: String,
    },
    /// A sealed column with the purpose of encrypted ones.
    #[error(
        "{column} is sealed: say how its values make cells, group = [{{ by = [{{ column = \"{column}\", values = [\"…\"] }}] }}]"
    )]
    NotOfPurpose {
        /// The column.
        column: String,
    },
    /// A column that is not in the table, or that nobody adds up.
    #[error("{column} is not stored so that it can be used")]
    NotStored {
        /// The column.
        column: String,
    },
    /// A term without a column that is summed.
    #[error(
        "{text} is of dimensions alone, and cells are not added up by what they are: add it up in another one"
    )]
    OfDimensions {
        /// The term.
        text: String,
    },
    /// A text whose values nobody has listed.
    #[error(
        "{column} is a text: its values have to be listed, {{ column = \"{column}\", values = [\"…\"] }}"
    )]
    NoValues {
        /// The column.
        column: String,
    },
    /// A float, which has no values that could be counted.
    #[error("{column} is a float: give it bins, {{ column = \"{column}\", bins = […] }}, and a range")]
    Uncounted {
        /// The column.
        column: String,
    },
    /// More encoded columns than sums by hidden values may have.
    #[error(
        "with those before it takes {found} encoded columns, some {bytes} bytes a row, and {limit} are the most: fewer values or sums, or a cube"
    )]
    TooManyColumns {
        /// Columns so far.
        found: usize,
        /// Bytes that a row of them takes.
        bytes: u64,
        /// Most of them.
        limit: usize,
    },
    /// More cells than a cube may have.
    #[error(
        "it would have {cells} cells ({by}), and {limit} are the most: declare ranges, or use months, years or bins"
    )]
    TooMany {
        /// Cells that it would have.
        cells: u64,
        /// Most cells.
        limit: u64,
        /// The dimensions with their sizes.
        by: String,
    },
    /// More sums than a cube may have.
    #[error(
        "it would have {found} sums for each of {cells} cells, and {limit} are the most: make another cube of some"
    )]
    TooManySums {
        /// Its cells.
        cells: u64,
        /// Sums of each, with the number of rows.
        found: usize,
        /// Most of them.
        limit: usize,
    },
    /// More numbers than the cubes of a table may have.
    #[error("with those before it has {numbers} numbers, and {limit} are the most: fewer cells or sums")]
    TooManyNumbers {
        /// Numbers so far.
        numbers: u64,
        /// Most of them.
        limit: u64,
    },
    /// Sums of too many bits.
    #[error("sums of {text} over max_rows rows have more than 126 bits")]
    TooWide {
        /// What is added up.
        text: String,
    },
    /// A column that is a dimension twice.
    #[error("{column} is a dimension twice")]
    Twice {
        /// The column.
        column: String,
    },
}
