// SPDX-License-Identifier: Apache-2.0
//! Why a query or a table cannot be planned: a stable code, the place, the reason, and ways out to copy.
//!
//! The text shown for a place is the clause that the user typed; no error carries a value of the table.

mod place;
mod refusals;
mod remedy;

pub use place::{Clause, Feature, Unfit};
pub use remedy::{Front, Remedy, Subject};

use crate::limits::{Facet, Shown, WayName};
use crate::schema::{ColumnType, Protection};

/// A refusal by the planner. Nothing was encrypted, sent or computed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The answer would be larger than the limit, even for one group or one chunk.
    #[error("the answer takes at least {needed} bytes; the limit is {limit}")]
    AnswerTooLarge {
        /// Bytes of the smallest answer.
        needed: u64,
        /// The limit asked for.
        limit: u64,
    },
    /// A question for the owner alone, about a column of which only values near the true ones come back.
    #[error(
        "{column} is approximate: what comes back is near its values, and this question has no exact answer from that"
    )]
    ApproximateColumn {
        /// The column.
        column: String,
    },
    /// No way to answer that the owner allows.
    #[error("{}", no_way(*.wanted, why.as_deref(), found, *.shown))]
    NoWay {
        /// The way asked for.
        wanted: Option<WayName>,
        /// Why the table cannot answer by it, if more is known than that it does not.
        why: Option<String>,
        /// The ways that there are.
        found: Vec<WayName>,
        /// What those that were wanted show and must not.
        shown: Shown,
    },
    /// An encoding of the table contradicts itself or this version.
    #[error("encoding {id} of the table cannot be used: {fault}")]
    BadEncoding {
        /// Number of the encoding.
        id: u32,
        /// The fault.
        fault: EncodingFault,
    },
    /// A comparison on an encrypted column.
    #[error("{clause} {text}: {column} is encrypted; comparisons on it are not supported")]
    EncryptedComparison {
        /// Where.
        clause: Clause,
        /// The comparison as typed.
        text: String,
        /// The column.
        column: String,
    },
    /// An encrypted column where only clear columns can stand.
    #[error("{clause} {text}: {column} is encrypted; {clause} can only use clear columns")]
    EncryptedOperand {
        /// Where.
        clause: Clause,
        /// The expression as typed.
        text: String,
        /// The column.
        column: String,
    },
    /// An aggregate where none can stand.
    #[error("{clause} {text}: an aggregate cannot stand here")]
    MisplacedAggregate {
        /// Where.
        clause: Clause,
        /// The aggregate as typed.
        text: String,
    },
    /// Parts of an expression that do not go together.
    #[error("{clause} {text}: {why}")]
    Mismatch {
        /// Where.
        clause: Clause,
        /// The expression as typed.
        text: String,
        /// Their kinds.
        why: String,
    },
    /// The query uses a layout that the table does not have.
    #[error("{text} needs {layout} of {columns}, which this table does not have")]
    MissingLayout {
        /// The expression as typed.
        text: String,
        /// The missing layout, in words.
        layout: String,
        /// The columns.
        columns: String,
    },
    /// Exact and approximate encrypted columns in one expression.
    #[error(
        "{text}: {exact} is exact and {approximate} approximate; one expression cannot mix them encrypted"
    )]
    MixedArithmetic {
        /// The expression as typed.
        text: String,
        /// An exact column.
        exact: String,
        /// An approximate column.
        approximate: String,
    },
    /// No bound on a clear factor of an encrypted column.
    #[error("{text}: no bound is known for this clear factor, so overflow cannot be excluded ({reason})")]
    NoBound {
        /// The factor as typed.
        text: String,
        /// Why there is none.
        reason: Unfit,
    },
    /// A column's declared type or range suits no parameter set.
    #[error("{quantity} over {rows} rows needs sums of {bits} bits; the largest parameter set holds fewer")]
    NoParameters {
        /// The encoded quantity, in words.
        quantity: String,
        /// Rows to be summed.
        rows: u64,
        /// Bits of the largest sum.
        bits: u64,
    },
    /// A column of a table for devices needs what only the owner can do.
    #[error("{column}: {what} needs the owner's secret, which a device does not have")]
    NotByDevices {
        /// The column.
        column: String,
        /// The use that needs the secret.
        what: &'static str,
    },
    /// Too much noise for the parameters that the column was encrypted with.
    #[error(
        "{text}: the clear factors of {columns} leave too little room for noise ({missing_bits} bits missing)"
    )]
    Noise {
        /// The expression as typed.
        text: String,
        /// The encrypted columns.
        columns: String,
        /// Bits by which the bound exceeds its limit, rounded up.
        missing_bits: u32,
    },
    /// A column outside an aggregate that is no group key.
    #[error("{clause}: {column} is neither in GROUP BY nor inside an aggregate")]
    NotGrouped {
        /// Where.
        clause: Clause,
        /// The column.
        column: String,
    },
    /// A SELECT without FROM.
    #[error("the query names no table")]
    NoTable,
    /// More than one statement, or one that is no SELECT.
    #[error("{}", statements(*found, verb))]
    NotOneSelect {
        /// Number of statements, or 1 where it is no SELECT.
        found: usize,
        /// The first word of the one statement, such as `UPDATE`.
        verb: &'static str,
    },
    /// An aggregate's argument that is no polynomial of its encrypted columns.
    #[error("{text}: {column} is encrypted, and {reason}")]
    NotPolynomial {
        /// The expression as typed.
        text: String,
        /// An encrypted column in it.
        column: String,
        /// The reason.
        reason: Unfit,
    },
    /// A column that queries cannot use.
    #[error("{clause}: {column} is {}{}", protection_words(*protect), because(reason))]
    NotQueryable {
        /// Where.
        clause: Clause,
        /// The column.
        column: String,
        /// Its protection.
        protect: Protection,
        /// Its type.
        kind: ColumnType,
        /// Why it has this protection, as the schema says; may be empty.
        reason: String,
    },
    /// The sum could exceed what the encoded column holds.
    #[error("{text}: sums of {columns} could reach {needed_bits} bits; they were encrypted for {held_bits}")]
    Overflow {
        /// The expression as typed.
        text: String,
        /// The encrypted columns.
        columns: String,
        /// Bits of the largest possible sum, with sign.
        needed_bits: u64,
        /// Bits that the encoding holds.
        held_bits: u64,
    },
    /// An ordinal, LIMIT or OFFSET that is no usable number.
    #[error("{clause}: expected a number from {low} to {high}")]
    Position {
        /// Where.
        clause: Clause,
        /// Smallest valid number.
        low: u64,
        /// Largest valid number.
        high: u64,
    },
    /// Not SQL.
    #[error("not valid SQL: {message}")]
    Syntax {
        /// The expected token and its place.
        message: String,
    },
    /// The parser's nesting or our limits on size are exceeded.
    #[error("the query is too complex: {what} above {limit}")]
    TooComplex {
        /// The measure.
        what: Measure,
        /// The limit.
        limit: u64,
    },
    /// Too many encrypted factors.
    #[error("{text}: a product here has at most {limit} encrypted factors")]
    TooManyFactors {
        /// The expression as typed.
        text: String,
        /// The limit.
        limit: usize,
    },
    /// No such column.
    #[error("{clause}: no column {found:?} in table {table:?}{}", did_you_mean(nearest.as_deref()))]
    UnknownColumn {
        /// Where.
        clause: Clause,
        /// As typed.
        found: String,
        /// Whether it was in double quotes.
        quoted: bool,
        /// The column that was probably meant.
        nearest: Option<String>,
        /// The table.
        table: String,
    },
    /// No such function, or one whose result is not determined by its arguments.
    #[error("{clause}: function {name} is not supported{}", did_you_mean(*nearest))]
    UnknownFunction {
        /// Where.
        clause: Clause,
        /// As typed.
        name: String,
        /// The function that was probably meant.
        nearest: Option<&'static str>,
    },
    /// No such table among several.
    #[error("no table {found:?}; the tables given are {given}")]
    NoSuchTable {
        /// As typed.
        found: String,
        /// Those there are.
        given: String,
    },
    /// No such table.
    #[error("no table {found:?}; this file's table is {expected:?}")]
    UnknownTable {
        /// As typed.
        found: String,
        /// The one there is.
        expected: String,
    },
    /// A part of SQL that is not supported.
    #[error("{clause}: {feature} is not supported")]
    Unsupported {
        /// Where.
        clause: Clause,
        /// The part.
        feature: Feature,
    },
    /// A call of a function that is supported otherwise.
    #[error("{text}: {feature} is not supported")]
    UnsupportedCall {
        /// The call.
        text: String,
        /// The part of it.
        feature: Feature,
    },
    /// A type that the function or operator does not take.
    #[error("{text}: {reason}")]
    WrongType {
        /// The expression as typed.
        text: String,
        /// The reason.
        reason: Unfit,
    },
}

/// A fault of an encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodingFault {
    /// The bound on one row is not a number.
    #[error("its row bound is not a decimal number")]
    Bound,
    /// The plaintext space does not belong to the layout.
    #[error("its plaintext space does not suit its layout")]
    Plaintext,
    /// The parameter set is unknown.
    #[error("its parameter set is unknown to this version")]
    UnknownParams,
}

/// A measure of [`PlanError::TooComplex`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Measure {
    /// Bytes of SQL text.
    #[error("bytes of text")]
    Bytes,
    /// Digits after the decimal point.
    #[error("digits after the decimal point")]
    Digits,
    /// `x` of a regression.
    #[error("x of a regression")]
    Features,
    /// Nesting of parentheses, CASE and functions.
    #[error("levels of nesting")]
    Nesting,
    /// Parts of an expression, with those that giving it types puts in.
    #[error("parts to evaluate")]
    Nodes,
    /// Operators.
    #[error("operators")]
    Operators,
    /// Branches after expansion.
    #[error("combinations of CASE branches")]
    Pieces,
    /// Terms of a polynomial.
    #[error("terms of a polynomial")]
    Terms,
    /// Words, signs and brackets.
    #[error("words, signs and brackets")]
    Tokens,
}

impl PlanError {
    /// Whether it refuses what is planned as a question about [several](crate::sql::several()) tables, be it of one.
    pub fn is_for_several(&self) -> bool {
        use Feature::{
            CommonTable, DistinctOn, GroupingSets, Join, RowAggregate, SetOperation, Subquery, Window,
        };
        let (Self::Unsupported { feature, .. } | Self::UnsupportedCall { feature, .. }) = self else {
            return false;
        };
        matches!(
            feature,
            CommonTable | DistinctOn | GroupingSets | Join | RowAggregate | SetOperation | Subquery | Window
        )
    }

    /// The stable code, for documents, logs and tests.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Syntax { .. } => "HUSH-P001",
            Self::NoTable | Self::NoSuchTable { .. } | Self::UnknownTable { .. } => "HUSH-P002",
            Self::UnknownColumn { .. } => "HUSH-P003",
            Self::NotOneSelect { .. } => "HUSH-P004",
            Self::Unsupported { .. } | Self::UnsupportedCall { .. } => "HUSH-P005",
            Self::UnknownFunction { .. } => "HUSH-P006",
            Self::NotGrouped { .. } => "HUSH-P007",
            Self::MisplacedAggregate { .. } => "HUSH-P008",
            Self::Position { .. } => "HUSH-P009",
            Self::NotQueryable { .. } => "HUSH-P010",
            Self::WrongType { .. } => "HUSH-P011",
            Self::TooComplex { .. } => "HUSH-P012",
            Self::EncryptedComparison { .. } => "HUSH-P014",
            Self::EncryptedOperand { .. } => "HUSH-P015",
            Self::NotPolynomial { .. } => "HUSH-P016",
            Self::TooManyFactors { .. } => "HUSH-P017",
            Self::NoBound { .. } => "HUSH-P019",
            Self::MissingLayout { .. } => "HUSH-P020",
            Self::Overflow { .. } => "HUSH-P021",
            Self::Noise { .. } => "HUSH-P022",
            Self::NoParameters { .. } => "HUSH-P023",
            Self::MixedArithmetic { .. } => "HUSH-P024",
            Self::AnswerTooLarge { .. } => "HUSH-P025",
            Self::BadEncoding { .. } => "HUSH-P026",
            Self::NotByDevices { .. } => "HUSH-P027",
            Self::Mismatch { .. } => "HUSH-P028",
            Self::ApproximateColumn { .. } => "HUSH-P029",
            Self::NoWay { .. } => "HUSH-P030",
        }
    }

    /// Whether the same table, encrypted for the query, would answer it.
    pub(crate) fn is_of_encodings(&self) -> bool {
        matches!(self, Self::MissingLayout { .. } | Self::Overflow { .. } | Self::Noise { .. })
    }

    /// The remedies in the words of a front, where the query was asked of `subject`.
    pub fn ways_out(&self, front: Front, subject: Subject) -> Vec<String> {
        self.remedies(subject).iter().map(|remedy| remedy.describe(front)).collect()
    }

    /// Code, sentence and ways out, as a terminal shows them at a rehearsal.
    pub fn report(&self) -> String {
        let ways = self.ways_out(Front::CommandLine, Subject::Proposal);
        let end = if ways.is_empty() { String::new() } else { format!("\n  Ways out: {}.", ways.join("; ")) };
        let sentence = self.to_string();
        let stop = if sentence.ends_with('?') { "" } else { "." };
        format!("{} {sentence}{stop}{end}", self.code())
    }
}

/// The name that was probably meant.
fn did_you_mean(name: Option<&str>) -> String {
    name.map_or(String::new(), |name| format!("; did you mean {name}?"))
}

/// The words for the statements found instead of one SELECT.
fn statements(found: usize, verb: &str) -> String {
    match found {
        0 => "no statement; a query is one SELECT".to_owned(),
        1 => format!("{verb} is not supported; a query is one SELECT, which changes nothing"),
        _ => format!("{found} statements; a query is one SELECT"),
    }
}

/// The schema's reason in brackets, if it gives one.
fn because(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(" (the schema says: {reason})") }
}

fn protection_words(protect: Protection) -> &'static str {
    match protect {
        Protection::Clear => "clear",
        Protection::Decide => "undecided; decide on its protection first",
        Protection::Drop => "dropped; it is not in the encrypted table",
        Protection::Encrypt => "encrypted",
        Protection::JoinKey => "a join key; nothing but equality shows of it",
        Protection::Seal => "sealed; no server computes on it",
    }
}

/// The sentence of [`PlanError::NoWay`].
fn no_way(wanted: Option<WayName>, why: Option<&str>, found: &[WayName], shown: Shown) -> String {
    let words = |names: Vec<&str>| names.join(", ");
    let found = words(found.iter().map(|way| way.name()).collect());
    let shown = words(shown.iter().map(Facet::name).collect());
    match (wanted, shown.as_str()) {
        (Some(way), "") => {
            let why = why.map_or_else(String::new, |why| format!(": {why}"));
            format!("the query is not answered by {}{why}; it is by {found}", way.name())
        }
        (Some(way), _) => {
            let why =
                why.map_or_else(String::new, |why| format!("; with that hidden it does not answer: {why}"));
            format!("{} shows the server what is to be hidden: {shown}{why}", way.name())
        }
        (None, _) => format!(
            "every way that answers the query ({found}) shows the server what is to be hidden: {shown}"
        ),
    }
}
