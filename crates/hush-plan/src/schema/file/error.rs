// SPDX-License-Identifier: Apache-2.0
//! Faults of a schema file. Errors show names and keys, never values of the data (a schema has none).

use std::borrow::Cow;

use thiserror::Error;

use crate::error::Remedy;
use crate::schema::cube::CubeFault;
use crate::schema::filter::FilterFault;
use crate::schema::run::RunFault;

/// Why a range is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RangeProblem {
    /// Low end above the high end.
    #[error("its low end is above its high end")]
    Empty,
    /// An end is not a value of the type.
    #[error("an end is not a value of the column's type")]
    NotOfType,
    /// Not two values.
    #[error("a range is two values, [low, high]")]
    NotTwo,
    /// A type that has no range.
    #[error("this type has no range")]
    Untyped,
}

/// A fault of a schema, with a stable [`code`](SchemaError::code) and a [way out](SchemaError::remedy).
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// A cube that cannot be.
    #[error("cube {number}: {fault}")]
    Cube {
        /// Its number in the file, from 1.
        number: usize,
        /// What is wrong with it.
        fault: CubeFault,
    },
    /// A version that this program does not know.
    #[error("line {line}: format {found}, this program reads format {expected}")]
    Format {
        /// Line in the file.
        line: usize,
        /// The value in the file.
        found: String,
        /// The format that is read.
        expected: i64,
    },
    /// A key that must be there is not.
    #[error("line {line}: {place} has no {key}")]
    MissingKey {
        /// Line of the table that lacks it.
        line: usize,
        /// "the schema" or the column.
        place: String,
        /// The key.
        key: &'static str,
    },
    /// A column that the schema does not have.
    #[error("the schema has no column {found:?}")]
    NoColumn {
        /// The name.
        found: String,
    },
    /// No columns at all.
    #[error("the schema lists no columns")]
    NoColumns,
    /// Nobody has approved it.
    #[error("not approved")]
    NotApproved,
    /// A product of something that is not an encrypted number.
    #[error("line {line}: a product with {factor}: all factors must be encrypted columns of the schema")]
    Product {
        /// Line in the file.
        line: usize,
        /// The factor that is not.
        factor: String,
    },
    /// A bad range.
    #[error("line {line}, column {column}: {problem}")]
    Range {
        /// Line in the file.
        line: usize,
        /// The column.
        column: String,
        /// The fault.
        problem: RangeProblem,
    },
    /// A sorted run that cannot be.
    #[error("order {number}: {fault}")]
    Run {
        /// Its number in the file, from 1; columns for `order` follow those that are declared.
        number: usize,
        /// What is wrong with it.
        fault: RunFault,
    },
    /// Sums by hidden values that cannot be.
    #[error("group {number}: {fault}")]
    Group {
        /// Its number in the file, from 1; columns for `group` follow those that are declared.
        number: usize,
        /// What is wrong with it.
        fault: CubeFault,
    },
    /// A condition or a measure that cannot be.
    #[error("filter: {fault}")]
    Filter {
        /// What is wrong with it.
        fault: FilterFault,
    },
    /// Not TOML.
    #[error("line {line}: {message}")]
    Syntax {
        /// Line in the file.
        line: usize,
        /// The TOML reader's words.
        message: String,
    },
    /// Text cannot be encrypted homomorphically.
    #[error("line {line}, column {column}: {kind} cannot be encrypted to compute on")]
    TextEncrypted {
        /// Line in the file.
        line: usize,
        /// The column.
        column: String,
        /// Its type.
        kind: String,
    },
    /// Columns that wait for a decision.
    #[error("{} column{} undecided ({})", columns.len(), if columns.len() == 1 { "" } else { "s" }, columns.join(", "))]
    Undecided {
        /// Their names.
        columns: Vec<String>,
    },
    /// A key that no schema has.
    #[error("line {line}: unknown key {key} in {place}")]
    UnknownKey {
        /// Line in the file.
        line: usize,
        /// The key.
        key: String,
        /// "the schema" or the column.
        place: String,
    },
    /// A type that does not exist.
    #[error("line {line}, column {column}: unknown type {found:?}")]
    UnknownType {
        /// Line in the file.
        line: usize,
        /// The column.
        column: String,
        /// The value in the file.
        found: String,
    },
    /// A key with a value of the wrong kind.
    #[error("line {line}, {place}: {key} must be {expected}")]
    WrongValue {
        /// Line in the file.
        line: usize,
        /// "the schema" or the column.
        place: String,
        /// The key.
        key: &'static str,
        /// Values that are allowed.
        expected: Cow<'static, str>,
    },
}

impl SchemaError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Syntax { .. } => "HUSH-S001",
            Self::NotApproved => "HUSH-S002",
            Self::Undecided { .. } => "HUSH-S003",
            Self::UnknownType { .. } => "HUSH-S004",
            Self::Range { .. } => "HUSH-S005",
            Self::UnknownKey { .. } => "HUSH-S006",
            Self::MissingKey { .. } => "HUSH-S007",
            Self::WrongValue { .. } => "HUSH-S008",
            Self::TextEncrypted { .. } => "HUSH-S009",
            Self::Product { .. } => "HUSH-S010",
            Self::NoColumns => "HUSH-S011",
            Self::Format { .. } => "HUSH-S012",
            Self::NoColumn { .. } => "HUSH-S013",
            Self::Cube { .. } => "HUSH-S014",
            Self::Run { .. } => "HUSH-S015",
            Self::Group { .. } => "HUSH-S016",
            Self::Filter { .. } => "HUSH-S017",
        }
    }

    /// What to do about it.
    pub fn remedy(&self) -> Remedy {
        let text = match self {
            Self::Format { .. } => return Remedy::ProposeAgain,
            Self::Filter { .. } => "correct it, or remove it from filter, derive, measure and `for`",
            Self::Group { .. } => "correct it, or remove it from group",
            Self::MissingKey { .. } | Self::WrongValue { .. } => return Remedy::ProposeExample,
            Self::Cube { .. } => "correct the cube, or remove it from cubes",
            Self::NoColumn { .. } => "use a column of the schema, by its exact name",
            Self::NoColumns => "have one proposed for the data",
            Self::NotApproved => return Remedy::Approve,
            Self::Product { .. } => "set protect = \"encrypt\" for it, or remove the product from products",
            Self::Range { .. } => {
                "write range = [low, high] in values of the column; quote more than 15 digits"
            }
            Self::Run { .. } => "correct it, or remove it from order",
            Self::Syntax { .. } => "correct the line and rerun",
            Self::TextEncrypted { .. } => {
                "use protect = \"seal\" (stored; no server computes on it), \"clear\" or \"drop\""
            }
            Self::Undecided { .. } => return Remedy::Decide,
            Self::UnknownKey { .. } => "check the spelling, or remove it",
            Self::UnknownType { .. } => {
                "types: int(8|16|32|64), decimal(p,s), float(digits), bool, date, timestamp, category, text"
            }
        };
        text.into()
    }
}
