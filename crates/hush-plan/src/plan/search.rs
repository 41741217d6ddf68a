// SPDX-License-Identifier: Apache-2.0
//! Questions that are answered in rounds: `crate::filter` has how.

use super::run::RankAt;

/// Places of a column's order that are searched for in rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// The column.
    pub column: String,
    /// The places that are wanted in each group.
    pub ranks: Vec<RankAt>,
    /// Questions, the one with the answer among them.
    pub rounds: usize,
    /// The round, of a plan that is one.
    pub round: Option<Round>,
}

/// A round: the values of the column in runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// The column.
    pub column: String,
    /// The first value of each run but the first, in units, rising.
    pub starts: Vec<i128>,
    /// Its number, from 0 on.
    pub number: usize,
    /// Whether runs with wanted places are single values.
    pub is_last: bool,
}
