// SPDX-License-Identifier: Apache-2.0
//! Sorted runs as a schema declares them: the rows of each part once more, in the order of a column.

mod fault;

pub use fault::RunFault;

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
}
