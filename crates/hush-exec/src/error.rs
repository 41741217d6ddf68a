// SPDX-License-Identifier: Apache-2.0
//! Reasons not to run a plan. They have stable codes and fixed sentences, which are safe to show to the plan's sender.
//!
//! Causes below this crate are dropped on purpose where their text may quote a value of the table (a failed
//! cast, a division by zero) or tell of the inside of the service.

mod expression;
mod partial;

use hush_plan::EncodingId;
use hush_plan::plan::{PlanReadFault, PredicateFault};
use hush_rlwe::CodecError;
use hush_table::error::{Operation, StoreFault};
use hush_table::{Digest, TableError};

pub use self::expression::{ExpressionFault, ExpressionRole};
pub use self::partial::PartialFault;

/// Kinds of errors, for exit codes and HTTP statuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The plan is malformed, or does not fit the table.
    BadPlan,
    /// The table on the server is damaged.
    Corrupt,
    /// A fault of this program.
    Internal,
    /// The storage failed.
    Io,
    /// A limit of the server or of the plan.
    Limit,
    /// No such table, or another version of it.
    NotFound,
    /// Partial answers that do not go together.
    Partial,
}

/// Why [`crate::Engine::run`] refused or failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExecError {
    /// The plan does not hold together.
    #[error("the plan is not valid: {0}")]
    Plan(#[from] PlanFault),
    /// An SQL expression of the plan.
    #[error("{role} of the plan {fault}")]
    Expression {
        /// The expression.
        role: ExpressionRole,
        /// The fault.
        fault: ExpressionFault,
    },
    /// Nothing is stored under the prefix.
    #[error("there is no such table")]
    NoTable,
    /// The plan was made for another version.
    #[error(
        "the table has another version than the one that the query was planned for: it was encrypted again, or got rows"
    )]
    StaleManifest,
    /// More groups than the plan or the server allows.
    #[error("the query has more than {limit} groups; group by fewer or coarser columns, or raise the limit")]
    GroupLimit {
        /// Largest number allowed.
        limit: u64,
    },
    /// A larger answer than the plan or the server allows.
    #[error(
        "the answer would take {found} bytes, the limit is {limit}; ask for fewer groups, rows or columns"
    )]
    AnswerLimit {
        /// Bytes predicted (a lower bound).
        found: u64,
        /// Largest number allowed.
        limit: u64,
    },
    /// Too little memory for even a single group or chunk, or for the clear half.
    #[error("the query needs more memory than this server allows; ask for fewer groups or columns")]
    MemoryLimit,
    /// The plan ran for longer than its deadline allows.
    #[error(
        "the query ran for {found_s} seconds, the limit is {limit_s}; ask for fewer rows, groups or columns, or raise the limit"
    )]
    Deadline {
        /// Seconds it ran.
        found_s: u64,
        /// Seconds allowed.
        limit_s: u64,
    },
    /// The plan was cancelled: nobody waits for its answer.
    #[error("the query was cancelled; ask again")]
    Cancelled,
    /// A logistic regression of what is no condition.
    #[error(
        "the outcome of a logistic regression lies from 0 to 1, and that of some row does not\n  Way out: a condition, as in LOGREG(x > 3, y)."
    )]
    Outcome,
    /// The clear half could not be computed on this table.
    #[error(
        "{role} failed on a row of the table: a number beyond its type, or a text that does not convert\n  Ways out: CAST to a wider type; TRY_CAST, which is NULL where a text does not convert."
    )]
    Evaluation {
        /// The expression, as far as it is known.
        role: ExpressionRole,
    },
    /// A weight or operand outside 128 bits, or not an integer.
    #[error("{role} has a value that does not fit")]
    Weight {
        /// The expression.
        role: ExpressionRole,
    },
    /// The stored table is damaged.
    #[error("the stored table is damaged or was altered ({code}); push it again")]
    Corrupt {
        /// Code of the lower layer.
        code: &'static str,
    },
    /// The query engine found another number of rows in the clear files than the manifest has.
    #[error("the clear files of the table show {found} rows, its manifest says {expected}; push it again")]
    MissingRows {
        /// Rows found.
        found: u64,
        /// Rows of the manifest.
        expected: u64,
    },
    /// The table defines a chain that is not valid.
    #[error(
        "a modulus chain that the table defines has a number that is no prime, or shares a factor with the plaintext modulus; make its keys again over another chain"
    )]
    BadChain,
    /// A file of evaluation keys that has its digest, but other keys than the manifest says.
    #[error(
        "the keys in file {file} are not those that the manifest names: {fault}; make the keys again and push the table"
    )]
    BadKey {
        /// The file.
        file: Digest,
        /// The difference.
        fault: Box<CodecError>,
    },
    /// The manifest names no such keys.
    #[error(
        "the table has no evaluation keys for these parameters and this secret; its owner has to add them"
    )]
    NoKeys,
    /// Reading failed.
    #[error("the table cannot be read from the storage")]
    Io,
    /// Reading from an object store failed.
    #[error("cannot {operation} {place}: {fault}")]
    Store {
        /// What was tried.
        operation: Operation,
        /// The address of what was to be read.
        place: String,
        /// Why.
        fault: StoreFault,
    },
    /// Partial answers that do not go together.
    #[error(transparent)]
    Partial(#[from] PartialFault),
    /// Should not happen.
    #[error("internal error: {place}")]
    Internal {
        /// The place, for a bug report.
        place: &'static str,
    },
}

/// A fault of a plan as a whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanFault {
    /// Too many bytes.
    #[error("{found} bytes, at most {limit} are read")]
    Size {
        /// Bytes found.
        found: usize,
        /// Bytes allowed.
        limit: usize,
    },
    /// Not the JSON of a plan.
    #[error("not the JSON of a plan of this version")]
    Json,
    /// Another version of the format.
    #[error("format {found}, this server reads {expected}; update the older of the two programs")]
    Format {
        /// Version found.
        found: u16,
        /// Version read.
        expected: u16,
    },
    /// A condition that is not spelled in its one canonical way, or is too large.
    #[error("{role} {fault}")]
    Condition {
        /// The condition.
        role: ExpressionRole,
        /// The fault.
        fault: PredicateFault,
    },
    /// A digest that is not 64 hexadecimal digits.
    #[error("its manifest digest is malformed")]
    Digest,
    /// A list is too long.
    #[error("{found} {what}, at most {limit}")]
    TooMany {
        /// Name of the items.
        what: &'static str,
        /// Found.
        found: usize,
        /// Allowed.
        limit: usize,
    },
    /// `c0` must be the row count.
    #[error("an aggregate task must begin its clear columns with COUNT(*)")]
    NoCount,
    /// An index beyond its list.
    #[error("{what} {found} of {count}")]
    Index {
        /// Name of an item.
        what: &'static str,
        /// Index found.
        found: usize,
        /// Length of the list.
        count: usize,
    },
    /// The table has no such encoding.
    #[error("the table has no encoded column {}", id.0)]
    UnknownEncoding {
        /// Its number.
        id: EncodingId,
    },
    /// The encoding's layout does not allow the operation.
    #[error("encoded column {} has a layout that cannot be used so", id.0)]
    WrongLayout {
        /// Its number.
        id: EncodingId,
    },
    /// Columns of one program differ in layout, parameters or plaintext space.
    #[error("program {program} mixes encoded columns that do not fit together")]
    MixedProgram {
        /// Position in the plan.
        program: usize,
    },
    /// A program without an encoded column.
    #[error("program {program} uses no encoded column")]
    ClearProgram {
        /// Position in the plan.
        program: usize,
    },
    /// More products than the layout allows.
    #[error("program {program} multiplies more than two encoded factors")]
    Degree {
        /// Position in the plan.
        program: usize,
    },
    /// A constant that is no number, or too long.
    #[error("program {program} holds a constant that is not a number of its kind")]
    Constant {
        /// Position in the plan.
        program: usize,
    },
    /// A result or a column of the rows task cannot be rounded so.
    #[error("{what} {index} cannot be rounded to {found} bits: 1 to {max}, and exact columns alone")]
    RoundedBits {
        /// `program` or `fetched column`.
        what: &'static str,
        /// Position in the plan.
        index: usize,
        /// Bits found.
        found: u32,
        /// Most bits.
        max: u32,
    },
    /// A cube beside what it cannot answer.
    #[error("cube {number} stands beside a condition, a limit, a program or an operand")]
    CubeTask {
        /// Its number.
        number: u32,
    },
    /// No part of the table has such a cube that stands for its rows.
    #[error("no part of the table has cube {number}")]
    UnknownCube {
        /// Its number.
        number: u32,
    },
    /// A sorted run beside what it cannot answer.
    #[error("run {number} stands beside a condition, a limit, a program, an operand or a cube")]
    RunTask {
        /// Its number.
        number: u32,
    },
    /// No part of the table has such a sorted run that stands for its rows.
    #[error("no part of the table has run {number}")]
    UnknownRun {
        /// Its number.
        number: u32,
    },
    /// Lists of blocks for another number of parts than have the sorted run.
    #[error("blocks of run {number} are named for {found} parts, and {expected} have it")]
    RunParts {
        /// Its number.
        number: u32,
        /// Lists found.
        found: usize,
        /// Parts that have it.
        expected: usize,
    },
    /// Blocks that a part's sorted run does not have, or that do not rise.
    #[error(
        "the blocks of run {number} that are named for part {part} do not rise, or are not among its {blocks}"
    )]
    RunBlocks {
        /// Its number.
        number: u32,
        /// Number of the part in the table.
        part: usize,
        /// Blocks that it has.
        blocks: u32,
    },
    /// Columns of products that differ in layout, parameters or plaintext prime, or have more than one prime.
    #[error("encoded column {} has not the one ring and the one plaintext prime of a task of products", id.0)]
    MixedProducts {
        /// The number of one that differs.
        id: EncodingId,
    },
    /// Products of too many encoded columns.
    #[error("{what} {index} multiplies more than {limit} encoded columns")]
    ProductDegree {
        /// `factor` or `sum`.
        what: &'static str,
        /// Position in the plan.
        index: usize,
        /// Most columns.
        limit: usize,
    },
    /// Encrypted constants that are none.
    #[error("its encrypted constants are no ciphertext over the modulus chain of the table's keys")]
    Constants,
    /// A condition with encrypted constants over a chain that is not for its columns, or has too few levels for it.
    #[error(
        "its encrypted constants are over a chain of keys that is not for its columns, or has too few levels"
    )]
    ComputedLevels,
    /// A sum, by its position, that the condition with encrypted constants does not decide.
    #[error("sum {0} is no multiple of the condition with encrypted constants")]
    NotComputed(usize),
    /// A sum of products without a width for each of its components.
    #[error("sum {sum} has {expected} components and names the bits of {found}")]
    ProductBits {
        /// Position in the plan.
        sum: usize,
        /// Widths found.
        found: usize,
        /// Its components.
        expected: usize,
    },
    /// Answers of fewer ring elements than a chunk has.
    #[error("products are added up over {found} ring elements at most, and a chunk has {least}")]
    ProductElements {
        /// Elements found.
        found: u32,
        /// Those of a full chunk.
        least: u32,
    },
    /// More work than this server takes on.
    #[error(
        "its products cost {found} multiplications of polynomials for each ring element, at most {limit} are done; ask for less in one query"
    )]
    ProductCost {
        /// Multiplications found.
        found: u64,
        /// Most of them.
        limit: u64,
    },
    /// Products of a column that some parts lack.
    #[error("some parts of the table have no values of encoded column {}, of which products are asked for", id.0)]
    LackingProducts {
        /// Its number.
        id: EncodingId,
    },
    /// An approximate program whose scale grows too far.
    #[error("program {program} multiplies more approximate factors than its scale allows")]
    Scale {
        /// Position in the plan.
        program: usize,
    },
}

impl ExecError {
    /// The stable code, for documentation, logs, the wire and tests.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Plan(fault) => fault.code(),
            Self::Expression { fault, .. } => fault.code(),
            Self::NoTable => "HUSH-E030",
            Self::StaleManifest => "HUSH-E031",
            Self::GroupLimit { .. } => "HUSH-E040",
            Self::AnswerLimit { .. } => "HUSH-E041",
            Self::MemoryLimit => "HUSH-E042",
            Self::Deadline { .. } => "HUSH-E043",
            Self::Cancelled => "HUSH-E044",
            Self::Evaluation { .. } => "HUSH-E050",
            Self::Outcome => "HUSH-E052",
            Self::Weight { .. } => "HUSH-E051",
            Self::Corrupt { .. } => "HUSH-E060",
            Self::Io | Self::Store { .. } => "HUSH-E061",
            Self::MissingRows { .. } => "HUSH-E062",
            Self::BadKey { .. } => "HUSH-E063",
            Self::NoKeys => "HUSH-E064",
            Self::BadChain => "HUSH-E065",
            Self::Partial(fault) => fault.code(),
            Self::Internal { .. } => "HUSH-E099",
        }
    }

    /// The kind.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Plan(_)
            | Self::Expression { .. }
            | Self::Evaluation { .. }
            | Self::Outcome
            | Self::Weight { .. } => ErrorKind::BadPlan,
            Self::NoTable | Self::StaleManifest | Self::NoKeys => ErrorKind::NotFound,
            Self::GroupLimit { .. }
            | Self::AnswerLimit { .. }
            | Self::MemoryLimit
            | Self::Deadline { .. }
            | Self::Cancelled => ErrorKind::Limit,
            Self::Corrupt { .. } | Self::MissingRows { .. } | Self::BadKey { .. } | Self::BadChain => {
                ErrorKind::Corrupt
            }
            Self::Io | Self::Store { .. } => ErrorKind::Io,
            Self::Partial(_) => ErrorKind::Partial,
            Self::Internal { .. } => ErrorKind::Internal,
        }
    }
}

impl PlanFault {
    /// The fault of bytes that are no plan.
    pub(crate) fn of_bytes(fault: PlanReadFault) -> Self {
        match fault {
            PlanReadFault::Format { found, expected } => Self::Format { found, expected },
            PlanReadFault::MaskCondition { mask, fault } => {
                Self::Condition { role: ExpressionRole::MaskCondition(mask), fault }
            }
            PlanReadFault::Predicate(fault) => Self::Condition { role: ExpressionRole::Predicate, fault },
            _ => Self::Json,
        }
    }

    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Size { .. } => "HUSH-E001",
            Self::Json => "HUSH-E002",
            Self::Format { .. } => "HUSH-E003",
            Self::Digest => "HUSH-E004",
            Self::TooMany { .. } => "HUSH-E005",
            Self::NoCount => "HUSH-E006",
            Self::Index { .. } => "HUSH-E007",
            Self::Condition { fault: PredicateFault::TooMuch(_), .. } => "HUSH-E005",
            Self::Condition { .. } => "HUSH-E008",
            Self::UnknownEncoding { .. } => "HUSH-E010",
            Self::WrongLayout { .. } => "HUSH-E011",
            Self::MixedProgram { .. } | Self::MixedProducts { .. } | Self::NotComputed(_) => "HUSH-E012",
            Self::ClearProgram { .. } => "HUSH-E013",
            Self::Degree { .. } | Self::ProductDegree { .. } | Self::ComputedLevels => "HUSH-E014",
            Self::Constant { .. } | Self::Constants => "HUSH-E015",
            Self::RoundedBits { .. } | Self::ProductBits { .. } => "HUSH-E017",
            Self::Scale { .. } => "HUSH-E016",
            Self::CubeTask { .. } => "HUSH-E018",
            Self::UnknownCube { .. } => "HUSH-E019",
            Self::RunTask { .. } => "HUSH-E025",
            Self::UnknownRun { .. } => "HUSH-E026",
            Self::RunParts { .. } | Self::RunBlocks { .. } => "HUSH-E027",
            Self::ProductElements { .. } => "HUSH-E028",
            Self::ProductCost { .. } => "HUSH-E029",
            Self::LackingProducts { .. } => "HUSH-E009",
        }
    }
}

impl From<TableError> for ExecError {
    fn from(error: TableError) -> Self {
        Self::from(&error)
    }
}

impl From<&TableError> for ExecError {
    fn from(error: &TableError) -> Self {
        match error {
            TableError::NoTable { .. } => Self::NoTable,
            TableError::Io { .. } => Self::Io,
            TableError::Store { operation, place, fault } => {
                Self::Store { operation: *operation, place: place.clone(), fault: fault.clone() }
            }
            other => Self::Corrupt { code: other.code() },
        }
    }
}
