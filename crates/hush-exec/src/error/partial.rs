// SPDX-License-Identifier: Apache-2.0
//! Reasons not to combine partial answers.

use hush_table::Digest;

use crate::answer::AnswerError;
use crate::parts::PartSet;

/// Faults of partial answers, alone or together. No total has been made of them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PartialFault {
    /// Not a partial answer, or a damaged one.
    #[error("a partial answer cannot be read: {0}; evaluate its parts again")]
    Unreadable(#[from] AnswerError),
    /// It answers another plan.
    #[error(
        "a partial answer belongs to plan {found}, expected is {expected}; evaluate its parts again with this plan"
    )]
    OtherPlan {
        /// Digest of the plan that it answers.
        found: Digest,
        /// Digest of the plan of the combination.
        expected: Digest,
    },
    /// It was computed on another table, or on another version.
    #[error(
        "a partial answer was computed on the table version with manifest {found}, expected is {expected}; evaluate its parts again on this version"
    )]
    OtherTable {
        /// Digest of the manifest that it was computed on.
        found: Digest,
        /// Digest of the manifest of the combination.
        expected: Digest,
    },
    /// Parts that the table does not have.
    #[error(
        "a partial answer covers parts {found}, the table has {expected} of them; evaluate parts below that number"
    )]
    UnknownParts {
        /// Parts found.
        found: PartSet,
        /// Number of parts of the table.
        expected: u32,
    },
    /// Parts that another partial answer has covered before.
    #[error(
        "a partial answer covers parts {found}, of which {covered} are in the combination already; give each part once, in one of the two"
    )]
    Overlap {
        /// Parts found.
        found: PartSet,
        /// Those of them that were covered.
        covered: PartSet,
    },
    /// Parts that no partial answer covers.
    #[error("the partial answers cover parts {found}, missing are {missing}; evaluate those and add them")]
    Missing {
        /// Parts covered.
        found: PartSet,
        /// Parts missing.
        missing: PartSet,
    },
    /// Its content is one of another task.
    #[error(
        "a partial answer does not fit its plan: {what} differ; evaluate its parts again with this version of the program"
    )]
    OtherTask {
        /// The members that differ.
        what: &'static str,
    },
    /// Groups of partial answers that are not those of the clear columns.
    #[error(
        "the partial answers have {found} groups, the clear columns {expected}, or their rows differ; evaluate all parts again"
    )]
    Groups {
        /// Groups of the partial answers.
        found: usize,
        /// Groups of the clear columns of all parts.
        expected: usize,
    },
    /// A partial answer could not be added to the end.
    #[error("an earlier partial answer was refused half way; begin the combination again")]
    Spent,
}

impl PartialFault {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unreadable(error) => error.code(),
            Self::OtherPlan { .. } => "HUSH-E070",
            Self::OtherTable { .. } => "HUSH-E071",
            Self::UnknownParts { .. } => "HUSH-E072",
            Self::Overlap { .. } => "HUSH-E073",
            Self::Missing { .. } => "HUSH-E074",
            Self::OtherTask { .. } => "HUSH-E075",
            Self::Groups { .. } => "HUSH-E076",
            Self::Spent => "HUSH-E077",
        }
    }
}
