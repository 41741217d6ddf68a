// SPDX-License-Identifier: Apache-2.0
//! What errors tell of the question that was refused.

use hush_plan::error::Subject;

use super::ClientError;

impl ClientError {
    /// The same error for a rehearsal, with protections from a schema or a proposal.
    pub(crate) fn rehearsed(self, by: Subject) -> Self {
        match self {
            Self::Plan(source) => Self::Rehearsed { source, by },
            other => other,
        }
    }

    /// Whether the table got a new version between the plan and its run: planned again, the query can succeed.
    pub fn is_stale_version(&self) -> bool {
        match self {
            Self::Exec(source) => matches!(source, hush_exec::ExecError::StaleManifest),
            Self::Remote(source) => {
                source.server_code().is_some_and(|code| STALE_VERSION_CODES.contains(&code))
            }
            _ => false,
        }
    }

    /// Whether a question was refused because it is one for a [`Catalogue`](crate::Catalogue), be it of one table.
    pub fn needs_catalogue(&self) -> bool {
        use hush_plan::{PlanError, Protection};
        match self {
            Self::Plan(error) if error.is_for_several() => true,
            Self::Plan(PlanError::NotQueryable { protect, .. }) => *protect == Protection::JoinKey,
            _ => false,
        }
    }

    /// Whether a question was refused because its answer would be too large, in groups or in a server's memory.
    pub(crate) fn is_of_size(&self) -> bool {
        let is_memory = match self {
            Self::Exec(source) => source.code() == "HUSH-E042",
            Self::Remote(source) => source.server_code() == Some("HUSH-E042"),
            _ => false,
        };
        is_memory || self.is_too_many_groups()
    }

    /// Whether an answer would have had more groups than its plan allowed.
    pub(crate) fn is_too_many_groups(&self) -> bool {
        match self {
            Self::Exec(source) => matches!(source, hush_exec::ExecError::GroupLimit { .. }),
            Self::Remote(source) => source.server_code() == Some("HUSH-E040"),
            _ => false,
        }
    }
}

/// Codes with which a server says that a plan was made for another version.
const STALE_VERSION_CODES: [&str; 2] = [hush_protocol::code::OTHER_VERSION, "HUSH-E031"];
