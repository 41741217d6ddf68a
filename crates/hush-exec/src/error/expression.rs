// SPDX-License-Identifier: Apache-2.0
//! Faults of SQL expressions in plans.

use hush_plan::error::Measure;
use hush_plan::sql::TextFault;

/// The role of an SQL expression in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExpressionRole {
    /// A clear output column.
    Clear(usize),
    /// The clear half as a whole.
    ClearHalf,
    /// A group key.
    Key(usize),
    /// A mask's condition.
    MaskCondition(usize),
    /// A mask's weight.
    MaskWeight(usize),
    /// A program's clear operand.
    Operand(usize),
    /// The plan's predicate.
    Predicate,
}

/// A fault of an SQL expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExpressionFault {
    /// A function that the server does not run.
    Function,
    /// Functions that put texts into texts, one in another or with a long text.
    Growing,
    /// Does not parse, or names a column that is not clear.
    Malformed,
    /// Subqueries, windows, variables, nested aggregates and the like.
    NotScalar,
    /// Longer, deeper or more work than this server takes.
    TooLarge {
        /// The measure.
        what: Measure,
        /// Found.
        found: usize,
        /// Allowed.
        limit: usize,
    },
    /// Another type than its role asks for.
    Type,
}

impl ExpressionFault {
    /// The stable code.
    pub fn code(self) -> &'static str {
        match self {
            Self::Malformed => "HUSH-E020",
            Self::NotScalar => "HUSH-E021",
            Self::Function => "HUSH-E022",
            Self::Growing | Self::TooLarge { .. } => "HUSH-E023",
            Self::Type => "HUSH-E024",
        }
    }
}

impl std::fmt::Display for ExpressionRole {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Clear(index) => write!(f, "clear column c{index}"),
            Self::ClearHalf => f.write_str("the clear half"),
            Self::Key(index) => write!(f, "group key k{index}"),
            Self::MaskCondition(index) => write!(f, "the condition of mask {index}"),
            Self::MaskWeight(index) => write!(f, "the weight of mask {index}"),
            Self::Operand(index) => write!(f, "operand {index}"),
            Self::Predicate => f.write_str("the WHERE condition"),
        }
    }
}

impl std::fmt::Display for ExpressionFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::TooLarge { what, found, limit } => {
                return write!(
                    f,
                    "has {found} {what}, at most {limit} are read; ask for less in one expression, or in several queries"
                );
            }
            Self::Growing => {
                "puts texts into texts that it has made; nest such functions less and use shorter texts"
            }
            Self::Function => "calls a function that this server does not run",
            Self::Malformed => "is not SQL over the table's clear columns",
            Self::NotScalar => {
                "is not a scalar expression (or not an aggregate of scalars, where one is due)"
            }
            Self::Type => "has another type than its place asks for",
        })
    }
}

impl From<TextFault> for ExpressionFault {
    fn from(fault: TextFault) -> Self {
        match fault {
            TextFault::Query => Self::NotScalar,
            TextFault::TooMuch { what, found, limit } => Self::TooLarge { what, found, limit },
            _ => Self::Malformed,
        }
    }
}
