// SPDX-License-Identifier: Apache-2.0
//! Ways out that differ by front: what is an option of the command line is an argument in Python.

use super::{Clause, Feature, PlanError};
use crate::schema::{ColumnType, NO_VALUES, Protection};

/// The program that shows an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Front {
    /// `hush`.
    #[default]
    CommandLine,
    /// The package `hushtable`.
    Python,
}

/// The thing that a query was asked of: it decides how a column becomes clear.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Subject {
    /// Data at hand, protected by a proposal and the caller's choice: a rehearsal.
    #[default]
    Proposal,
    /// Data at hand, protected by a schema: a rehearsal too.
    Schema,
    /// A table that is stored, or is being made.
    Table,
}

/// A way out of a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy {
    /// Let the server read a column.
    Clear {
        /// Its name.
        column: String,
        /// Its protection.
        of: Subject,
    },
    /// Have the owner's columns back without a query.
    Decrypt,
    /// Take a table off a server, whose place another one wants.
    Delete {
        /// The server's address.
        url: String,
        /// The table.
        table: String,
    },
    /// Let the process take more memory.
    Memory {
        /// How much, as people write it: `64MB`.
        needed: String,
    },
    /// Release a result with other digits.
    Release {
        /// After the point; below 0, whole tens, hundreds, ….
        digits: i32,
    },
    /// Open a table again, which has a new version.
    Reopen,
    /// Have a schema proposed.
    Propose,
    /// Give a table another name.
    Rename,
    /// Replace a file.
    Replace,
    /// Show a server its token.
    Token,
    /// Encrypt again, for the queries that shall be asked.
    Workload,
    /// The same in every front.
    Say(String),
}

impl Remedy {
    /// The remedy in the words of a front, a phrase without a stop.
    pub fn describe(&self, front: Front) -> String {
        match (self, front) {
            (Self::Clear { column, of }, front) => clear(column, *of, front),
            (Self::Decrypt, Front::CommandLine) => "hush decrypt returns sealed columns".to_owned(),
            (Self::Decrypt, Front::Python) => "Table.decrypt() returns sealed columns".to_owned(),
            (Self::Delete { url, table }, Front::CommandLine) => {
                format!("hush delete {url} {table} --yes, if the server's is not wanted any more")
            }
            (Self::Delete { .. }, Front::Python) => {
                "delete the server's table, if it is not wanted any more".to_owned()
            }
            (Self::Rename, Front::CommandLine) => {
                "another name for this one: table = \"NAME\" in its schema, and encrypt again".to_owned()
            }
            (Self::Rename, Front::Python) => {
                "another name for this one: schema.table = \"NAME\", and encrypt again".to_owned()
            }
            (Self::Memory { needed }, Front::CommandLine) => {
                format!("--memory-limit {needed} (in a container, its limit too)")
            }
            (Self::Memory { needed }, Front::Python) => {
                format!("a limit of {needed} or more for the process (in a container, the container's)")
            }
            (Self::Release { digits }, front) => release(*digits, front),
            (Self::Reopen, Front::CommandLine) => "run the command again".to_owned(),
            (Self::Reopen, Front::Python) => "open it again, by hushtable.open".to_owned(),
            (Self::Token, Front::CommandLine) => {
                "--token-file FILE with that server's token; hush-server prints its path when it starts"
                    .to_owned()
            }
            (Self::Token, Front::Python) => {
                "token_file=, the file with that server's token; hush-server prints its path when it starts"
                    .to_owned()
            }
            (Self::Propose, Front::CommandLine) => {
                "hush init FILE proposes one, which a person approves; --schema names another".to_owned()
            }
            (Self::Propose, Front::Python) => {
                "propose(data) makes one, which a person approves; schema= names another".to_owned()
            }
            (Self::Replace, Front::CommandLine) => {
                "edit it; --force to replace it; -o another file".to_owned()
            }
            (Self::Replace, Front::Python) => "edit it; replace=True; another path".to_owned(),
            (Self::Workload, Front::CommandLine) => {
                "hush encrypt FILE -o TABLE --for queries.sql, with this query in queries.sql".to_owned()
            }
            (Self::Workload, Front::Python) => {
                "encrypt(..., workload=\"queries.sql\"), with this query in queries.sql".to_owned()
            }
            (Self::Say(words), _) => words.clone(),
        }
    }
}

impl From<&str> for Remedy {
    fn from(words: &str) -> Self {
        Self::Say(words.to_owned())
    }
}

impl From<String> for Remedy {
    fn from(words: String) -> Self {
        Self::Say(words)
    }
}

impl PlanError {
    /// What the user can do instead where the query was asked of `subject`, most useful first; each stands alone.
    pub fn remedies(&self, subject: Subject) -> Vec<Remedy> {
        let fixed = |ways: &[&str]| ways.iter().map(|way| Remedy::from(*way)).collect();
        let clear = |column: &String| Remedy::Clear { column: column.clone(), of: subject };
        match self {
            Self::EncryptedComparison { column, .. } => {
                vec![clear(column), "filter before encrypting".into()]
            }
            Self::EncryptedOperand { clause: Clause::OrderBy, column, .. } => {
                vec![format!("order by an aggregate of {column}").into(), clear(column)]
            }
            Self::EncryptedOperand { column, .. } => vec![clear(column)],
            Self::MissingLayout { .. } => vec![
                Remedy::Workload,
                "the column's `for`, or `products` or `moments`, in the schema, then encrypt again".into(),
            ],
            Self::MixedArithmetic { approximate, .. } => {
                vec![format!("a range for {approximate} in the schema makes it exact fixed point").into()]
            }
            Self::NoTable => fixed(&["FROM and the name of the table"]),
            Self::NoBound { .. } => fixed(&[
                "a range for the clear column in the schema",
                "CAST it to DECIMAL(p,s), which bounds it by p digits",
            ]),
            Self::NoParameters { .. } => fixed(&[
                "a narrower range for the column in the schema",
                "smaller constants or clear factors",
                "fewer rows per table",
            ]),
            Self::Mismatch { .. } => fixed(&[
                "write values as their column has them: 2024, 12.50, 'text', DATE '2024-03-31'",
                "CAST the column",
            ]),
            Self::NotByDevices { .. } => fixed(&[
                "another protection or purpose for the column in the schema",
                "a table without `edge = true`, which the owner encrypts",
            ]),
            Self::Noise { .. } | Self::Overflow { .. } => vec![
                Remedy::Workload,
                "a narrower range for the clear factor in the schema".into(),
                "split the query by a clear condition".into(),
            ],
            Self::NotGrouped { column, .. } => vec![format!("add {column} to GROUP BY").into()],
            Self::NotOneSelect { found: 1, .. } => {
                fixed(&["to change a table, change its data and encrypt it again"])
            }
            Self::NotPolynomial { .. } => fixed(&[
                "divide or round the aggregate: SUM(x)/100, ROUND(AVG(x), 2)",
                "compute it before encrypting",
            ]),
            Self::NotQueryable { column, protect, kind, reason, .. } => {
                not_queryable(column, *protect, *kind, reason)
            }
            Self::TooManyFactors { .. } => fixed(&["multiply two of them before encrypting"]),
            // Somebody may have meant a text.
            Self::UnknownColumn { found, quoted, nearest, clause, .. }
                if *quoted || nearest.is_none() && matches!(clause, Clause::Where | Clause::Having) =>
            {
                vec![format!("a text takes single quotes: {}", in_quotes(found)).into()]
            }
            Self::Unsupported { feature: Feature::Nothing, .. } => {
                vec![Remedy::Decrypt, "COUNT(*) counts rows".into()]
            }
            Self::Unsupported { feature, .. } | Self::UnsupportedCall { feature, .. } => {
                feature.way_out().map(Remedy::from).into_iter().collect()
            }
            Self::AnswerTooLarge { .. } => fixed(&["a higher limit", "fewer columns in one query"]),
            _ => Vec::new(),
        }
    }
}

/// How a column becomes clear, which is a choice at a rehearsal and a new encryption of a table.
fn clear(column: &str, of: Subject, front: Front) -> String {
    let choice = match (of, front) {
        (Subject::Proposal, Front::CommandLine) => format!("--clear {column}"),
        (Subject::Proposal, Front::Python) => format!("clear=[{column:?}]"),
        (Subject::Schema | Subject::Table, _) => format!("protect = \"clear\" for {column} in the schema"),
    };
    let again = if of == Subject::Table { ", then encrypt again" } else { "" };
    format!("{choice}{again} (the server reads {column})")
}

/// A release of so many digits.
fn release(digits: i32, front: Front) -> String {
    let tens = if digits < 0 { format!(" (whole multiples of 10^{})", -digits) } else { String::new() };
    let option = if front == Front::CommandLine { "--release" } else { "release" };
    format!("{option}={digits}{tens}")
}

/// What makes a column queryable: what its type allows.
fn not_queryable(column: &str, protect: Protection, kind: ColumnType, reason: &str) -> Vec<Remedy> {
    if reason == NO_VALUES {
        let typed = format!(
            "give {column} its type in the schema, with nullable = true and protect = \"encrypt\": \
             a column without values sums to NULL"
        );
        return vec![typed.into()];
    }
    let is_text = matches!(kind, ColumnType::Category | ColumnType::Text);
    let again = match is_text {
        // Texts are never computed on.
        true => "protect = \"clear\" in the schema (the server reads it), then encrypt again",
        false => "protect = \"clear\" or \"encrypt\" in the schema, then encrypt again",
    };
    let decrypt = (protect == Protection::Seal).then_some(Remedy::Decrypt);
    decrypt.into_iter().chain([again.into()]).collect()
}

/// A text as a literal.
fn in_quotes(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
