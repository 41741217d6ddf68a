// SPDX-License-Identifier: Apache-2.0
//! Conditions on the rows of a table, as a plan carries them: AND, OR and NOT over atoms.
//!
//! *Words.* An **atom** is a condition that nobody here takes apart. A **predicate** joins atoms in SQL's three-valued logic: an
//! atom on a row is true, false or NULL, and a row counts only where the whole is true.
//!
//! *One spelling.* NOT stands at atoms alone: De Morgan's laws and `NOT NOT x = x` hold in three-valued logic too. A list has at
//! least two members, none of its own kind and none twice. Members keep the order in which they were typed, because an engine
//! may pass over what stands behind a member that decides. The functions here build this form; [`Predicate::check`] refuses any
//! other that was read, and whatever is too large to be walked.

use std::collections::HashSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Measure, PlanError};

/// Most members, lists and atoms, of one predicate.
pub const MAX_PREDICATE_NODES: usize = 1000;
/// Most lists inside each other, with the atom in the innermost; the reader of JSON goes down a little more than twice as far.
pub const MAX_PREDICATE_DEPTH: usize = 40;

/// A condition on rows.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Predicate {
    /// True where all are; false where one is false.
    And(Vec<Predicate>),
    /// The atom.
    Is(Atom),
    /// True where the atom is false; NULL where it is NULL.
    Not(Atom),
    /// True where one is; false where all are false.
    Or(Vec<Predicate>),
}

/// A condition that is not taken apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Atom {
    /// A scalar SQL expression of type boolean over clear columns, quoted and normalised by the planner.
    Clear(String),
}

/// A fault of a predicate that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PredicateFault {
    /// A list of AND in one of AND, or of OR in one of OR.
    #[error("has a list in a list of its own kind; put its members in the outer one")]
    Nested,
    /// A member that stands twice in its list.
    #[error("has a member twice in one list; leave one out")]
    Repeated,
    /// A list of fewer than two.
    #[error("has a list of {found}, at least 2 are due; put a single member in its place")]
    Short {
        /// Members found.
        found: usize,
    },
    /// More than is walked.
    #[error(transparent)]
    TooMuch(#[from] TooMuch),
}

/// More of something in one predicate than is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("has {found} {what}, at most {limit} are read; ask for less in one condition, or in several queries")]
pub struct TooMuch {
    /// The measure.
    pub what: Measure,
    /// Found.
    pub found: usize,
    /// Allowed.
    pub limit: usize,
}

impl From<TooMuch> for PlanError {
    fn from(fault: TooMuch) -> Self {
        Self::TooComplex { what: fault.what, limit: fault.limit as u64 }
    }
}

impl Predicate {
    /// An atom over clear columns.
    pub fn clear(sql: impl Into<String>) -> Self {
        Self::Is(Atom::Clear(sql.into()))
    }

    /// True where both are.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let members = |side| match side {
            Self::And(members) => members,
            one => vec![one],
        };
        Self::list(members(self), members(other), Self::And)
    }

    /// True where one of the two is.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let members = |side| match side {
            Self::Or(members) => members,
            one => vec![one],
        };
        Self::list(members(self), members(other), Self::Or)
    }

    /// True where all `members` are; `None` without members.
    pub fn all(members: impl IntoIterator<Item = Self>) -> Option<Self> {
        members.into_iter().reduce(Self::and)
    }

    /// True where this is false, and NULL where it is NULL.
    #[must_use]
    pub fn negated(self) -> Self {
        let each = |members: Vec<Self>| members.into_iter().map(Self::negated).collect();
        match self {
            Self::And(members) => Self::Or(each(members)),
            Self::Is(atom) => Self::Not(atom),
            Self::Not(atom) => Self::Is(atom),
            Self::Or(members) => Self::And(each(members)),
        }
    }

    /// The list of the members of two, each once; the member where there is one.
    fn list(mut members: Vec<Self>, more: Vec<Self>, kind: fn(Vec<Self>) -> Self) -> Self {
        for member in more {
            if !members.contains(&member) {
                members.push(member);
            }
        }
        match members.pop() {
            Some(only) if members.is_empty() => only,
            last => kind(members.into_iter().chain(last).collect()),
        }
    }

    /// The SQL of its clear atoms, in order, as often as they stand in it.
    pub fn clear_sql(&self) -> Vec<&str> {
        match self {
            Self::And(members) | Self::Or(members) => members.iter().flat_map(Self::clear_sql).collect(),
            Self::Is(Atom::Clear(sql)) | Self::Not(Atom::Clear(sql)) => vec![sql],
        }
    }

    /// Checks that it can be walked and has the one spelling, whoever wrote it. Does not look into atoms.
    ///
    /// # Errors
    /// A [`PredicateFault`].
    pub fn check(&self) -> Result<(), PredicateFault> {
        self.check_size()?;
        self.check_spelling()
    }

    /// Checks that it can be walked.
    ///
    /// # Errors
    /// [`TooMuch`].
    pub(crate) fn check_size(&self) -> Result<(), TooMuch> {
        let at_most =
            |what, found, limit| if found <= limit { Ok(()) } else { Err(TooMuch { what, found, limit }) };
        let (nodes, depth) = self.size();
        at_most(Measure::Nesting, depth, MAX_PREDICATE_DEPTH)?;
        at_most(Measure::Nodes, nodes, MAX_PREDICATE_NODES)
    }

    /// Nodes, and lists inside each other with the atom in the innermost.
    fn size(&self) -> (usize, usize) {
        match self {
            Self::And(members) | Self::Or(members) => {
                let sizes = members.iter().map(Self::size);
                let (nodes, depth) =
                    sizes.fold((0, 0), |(nodes, depth), (n, d)| (nodes + n, usize::max(depth, d)));
                (nodes + 1, depth + 1)
            }
            Self::Is(_) | Self::Not(_) => (1, 1),
        }
    }

    fn check_spelling(&self) -> Result<(), PredicateFault> {
        let (Self::And(members) | Self::Or(members)) = self else { return Ok(()) };
        if members.len() < 2 {
            return Err(PredicateFault::Short { found: members.len() });
        }
        let kind = std::mem::discriminant(self);
        if members.iter().any(|member| std::mem::discriminant(member) == kind) {
            return Err(PredicateFault::Nested);
        }
        let distinct: HashSet<&Self> = members.iter().collect();
        if distinct.len() < members.len() {
            return Err(PredicateFault::Repeated);
        }
        members.iter().try_for_each(Self::check_spelling)
    }
}

/// Stands in every atom that may end in a comparison by `IS [NOT] DISTINCT FROM`, in the spelling of the planner.
const DISTINCT: &str = "DISTINCT FROM";

/// As SQL.
impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (members, word) = match self {
            Self::And(members) => (members, " AND "),
            Self::Is(atom) => return atom.fmt(f),
            Self::Not(atom) => return write!(f, "NOT ({atom})"),
            Self::Or(members) => (members, " OR "),
        };
        for (index, member) in members.iter().enumerate() {
            if index > 0 {
                f.write_str(word)?;
            }
            match member {
                Self::Or(_) => write!(f, "({member})")?,
                // Parsers take all that follows for the right side of `IS DISTINCT FROM`, the next member too.
                Self::Is(Atom::Clear(sql)) if sql.contains(DISTINCT) => write!(f, "({sql})")?,
                member => member.fmt(f)?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clear(sql) => f.write_str(sql),
        }
    }
}

#[cfg(test)]
mod tests;
