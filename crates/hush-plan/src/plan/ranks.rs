// SPDX-License-Identifier: Apache-2.0
//! Ranks in a plan: flags that are others in each chunk. Which they are, the owner finds in the order of each chunk's values, and writes it into the plan.

use serde::{Deserialize, Serialize};

use super::run::{Cut, Key};
use crate::encoding::EncodingId;

/// Encoded columns of which factors read one for each chunk of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choices {
    /// The columns, rising.
    pub among: Vec<EncodingId>,
    /// What factors name by its place here: for each chunk, in the order of the table, a byte with a place in [`Choices::among`], in base64.
    pub of_chunks: Vec<String>,
}

/// A flag of a column's rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenFlag {
    /// The column.
    pub column: String,
    /// Which flag.
    pub of: ChosenOf,
}

/// Which flag of a rank is chosen in a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChosenOf {
    /// That of codes whose digit is at least that of the first value above a cut.
    AtLeast {
        /// The cut.
        cut: Cut,
        /// The digit, from the most significant one on.
        digit: usize,
        /// Whether it has to be greater.
        next: bool,
    },
    /// The same of a value's own code, which no row has in chunks without the value.
    Equal {
        /// The value.
        at: Key,
        /// The digit.
        digit: usize,
        /// Whether it has to be greater.
        next: bool,
    },
    /// That of all values.
    Valid,
}

impl ChosenOf {
    /// The cuts that decide it.
    pub fn cuts(&self) -> Vec<Cut> {
        match self {
            Self::AtLeast { cut, .. } => vec![cut.clone()],
            Self::Equal { at, .. } => [false, true].map(|behind| Cut { at: at.clone(), behind }).into(),
            Self::Valid => Vec::new(),
        }
    }
}

/// What the owner finds before a plan is sent: the flags of one of its [`Choices`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RanksQuery {
    /// The run by chunks that tells ranks, by its place in the schema.
    pub place: usize,
    /// Its number.
    pub number: u32,
    /// The flags, in the order of [`Choices::of_chunks`].
    pub flags: Vec<ChosenOf>,
}

impl RanksQuery {
    /// The cuts that decide its flags, rising.
    pub fn cuts(&self) -> Vec<Cut> {
        let mut cuts: Vec<Cut> = self.flags.iter().flat_map(ChosenOf::cuts).collect();
        cuts.sort_unstable();
        cuts.dedup();
        cuts
    }
}
