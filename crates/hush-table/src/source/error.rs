// SPDX-License-Identifier: Apache-2.0
//! What can be wrong with an owner's file: the place, a stable code and a way out, never a value.

use std::fmt;
use std::path::PathBuf;

use hush_plan::error::Remedy;
use thiserror::Error;

/// Where in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// Line of a text file, from 1; that of the record's first line.
    Line(u64),
    /// Row of a Parquet file, from 1.
    Row(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Row(row) => write!(f, "row {row}"),
        }
    }
}

/// What a file is instead of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NotATable {
    /// Holds bytes that no text has.
    #[error("binary data")]
    Binary,
    /// gzip, zip, zstd, bzip2 or xz.
    #[error("a compressed file")]
    Compressed,
    /// A directory.
    #[error("a directory")]
    Directory,
    /// A spreadsheet's or database's own format.
    #[error("a database file")]
    Database,
    /// Parquet, for a program that was built without it.
    #[error("a Parquet file, which this program was built without")]
    ParquetNotBuilt,
    /// Parquet on standard input; its index is at its end.
    #[error("Parquet that cannot be read from its end")]
    ParquetStream,
    /// UTF-16 text.
    #[error("UTF-16 text")]
    Utf16,
}

/// What is wrong with Arrow batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BatchFault {
    /// The stream ended with an error, or its batches do not have the columns that it announced.
    #[error("the stream broke off, or its batches are not what it announced")]
    Broken,
    /// Columns that cannot be read are asked for.
    #[error("it has columns of unknown types")]
    Columns,
}

/// What is wrong with a file, with a stable [`code`](SourceError::code) and a [way out](SourceError::remedy).
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The schema lists columns that the file does not have.
    #[error("the schema lists {}, which the data lacks", listed(columns))]
    Absent {
        /// Their names.
        columns: Vec<String>,
    },
    /// Arrow batches that cannot be read.
    #[error("not readable as Arrow batches: {what}")]
    Batches {
        /// Why.
        what: BatchFault,
    },
    /// The texts of one chunk take more memory than was set aside for them.
    #[error(
        "{place}: the texts of {rows} rows take more than {limit_bytes} bytes, which the limit on memory leaves them"
    )]
    ChunkTooLarge {
        /// Where it was noticed.
        place: Place,
        /// Rows of the chunk so far.
        rows: usize,
        /// Bytes set aside.
        limit_bytes: usize,
    },
    /// Two columns have one name.
    #[error("two columns are named {column}")]
    DuplicateColumn {
        /// The name.
        column: String,
    },
    /// Nothing in the file.
    #[error("the file is empty")]
    Empty,
    /// The header is not UTF-8.
    #[error("line 1: the column names are not UTF-8")]
    HeaderNotText,
    /// A value is missing where the schema says that none is.
    #[error("{place}, column {column}: a value is missing{}", more_text(*more))]
    Missing {
        /// Where.
        place: Place,
        /// The column.
        column: String,
        /// Further ones in the same chunk.
        more: u64,
    },
    /// The first line holds values instead of names.
    #[error("line 1 looks like data, not like column names")]
    NoHeader,
    /// A header and nothing else.
    #[error("the table has column names but no rows")]
    NoRows,
    /// Neither CSV nor Parquet.
    #[error("neither CSV nor Parquet: {found}")]
    NotATable {
        /// What it is.
        found: NotATable,
    },
    /// Integers asked of a column that has none.
    #[error("column {column}: {kind} cannot be encrypted to compute on")]
    NotUnits {
        /// The column.
        column: String,
        /// Its type.
        kind: String,
    },
    /// A text is not UTF-8.
    #[error("{place}, column {column}: not UTF-8 text (value hidden){}", more_text(*more))]
    NotUtf8 {
        /// Where.
        place: Place,
        /// The column.
        column: String,
        /// Further ones in the same chunk.
        more: u64,
    },
    /// Cannot be opened.
    #[error("cannot open {}: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A value outside the declared range.
    #[error("{place}, column {column}: outside the declared range (value hidden){}", more_text(*more))]
    OutOfRange {
        /// Where.
        place: Place,
        /// The column.
        column: String,
        /// Further ones in the same chunk.
        more: u64,
    },
    /// The Parquet file is damaged or uses a feature that is not supported.
    #[error("not readable as Parquet: {source}")]
    Parquet {
        /// Why.
        source: parquet::errors::ParquetError,
    },
    /// A record with more or fewer fields than there are columns.
    #[error("line {line}: {found} fields, the header has {expected}")]
    Ragged {
        /// Line of the record's start.
        line: u64,
        /// Fields found.
        found: usize,
        /// Columns.
        expected: usize,
    },
    /// A second pass over what can be read once.
    #[error("a stream can be read only once")]
    ReadOnce,
    /// Reading failed.
    #[error("reading failed: {source}")]
    Read {
        /// Why.
        source: std::io::Error,
    },
    /// A record longer than any table's, most often after an unclosed quote.
    #[error("line {line}: a record of more than {limit_bytes} bytes")]
    RecordTooLong {
        /// Line of the record's start.
        line: u64,
        /// The limit.
        limit_bytes: usize,
    },
    /// More columns than a table may have.
    #[error("more than {limit} columns")]
    TooManyColumns {
        /// The limit.
        limit: usize,
    },
    /// More rows than the schema's sums are sized for.
    #[error("more than {limit} rows, the schema's max_rows")]
    TooManyRows {
        /// The limit.
        limit: u64,
    },
    /// A quote that is opened and never closed.
    #[error("line {line}: a quote is opened and never closed")]
    UnclosedQuote {
        /// Line of the record's start.
        line: u64,
    },
    /// Columns that the schema does not list.
    #[error("the data has {}, which the schema does not list", listed(columns))]
    Unlisted {
        /// Their names.
        columns: Vec<String>,
    },
    /// A nested, binary or otherwise unsuitable type.
    #[error("column {column}: tables cannot hold the type {found}")]
    UnsupportedType {
        /// The column.
        column: String,
        /// The type's name.
        found: String,
    },
    /// A value that is not of the column's type.
    #[error("{place}, column {column}: not {} {expected} (value hidden){}", article(expected), more_text(*more))]
    WrongType {
        /// Where.
        place: Place,
        /// The column.
        column: String,
        /// The column's type.
        expected: String,
        /// Further ones in the same chunk.
        more: u64,
    },
}

impl SourceError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Open { .. } => "HUSH-D001",
            Self::NotATable { .. } => "HUSH-D002",
            Self::Parquet { .. } => "HUSH-D003",
            Self::Read { .. } => "HUSH-D004",
            Self::UnsupportedType { .. } => "HUSH-D005",
            Self::NotUnits { .. } => "HUSH-D006",
            Self::Empty => "HUSH-D010",
            Self::NoRows => "HUSH-D011",
            Self::DuplicateColumn { .. } => "HUSH-D012",
            Self::NoHeader => "HUSH-D013",
            Self::HeaderNotText => "HUSH-D014",
            Self::Ragged { .. } => "HUSH-D015",
            Self::UnclosedQuote { .. } => "HUSH-D016",
            Self::RecordTooLong { .. } => "HUSH-D017",
            Self::TooManyColumns { .. } => "HUSH-D018",
            Self::Missing { .. } => "HUSH-D020",
            Self::WrongType { .. } => "HUSH-D021",
            Self::OutOfRange { .. } => "HUSH-D022",
            Self::NotUtf8 { .. } => "HUSH-D023",
            Self::TooManyRows { .. } => "HUSH-D024",
            Self::ChunkTooLarge { .. } => "HUSH-D025",
            Self::ReadOnce => "HUSH-D026",
            Self::Batches { .. } => "HUSH-D027",
            Self::Unlisted { .. } => "HUSH-S020",
            Self::Absent { .. } => "HUSH-S021",
        }
    }

    /// What to do about it.
    pub fn remedy(&self) -> Remedy {
        let text = match self {
            Self::Absent { .. } => "remove them from the schema, or check that this is the right file",
            Self::Batches { .. } => "read the data into a table first, and look at its columns",
            Self::ChunkTooLarge { .. } => return Remedy::LongTexts,
            Self::DuplicateColumn { .. } => "rename one of them",
            Self::Empty => "check the path; a table needs column names and rows",
            Self::HeaderNotText | Self::NotUtf8 { .. } => "save the file as UTF-8",
            Self::Missing { .. } => "set nullable = true for the column in the schema. Nothing was written",
            Self::NoHeader => "add a first line with the names of the columns",
            Self::NoRows => "add rows; an empty table has nothing to encrypt",
            Self::NotATable { found: NotATable::ParquetNotBuilt } => {
                "save it as CSV, or take the program with Parquet"
            }
            Self::NotATable { found: NotATable::ParquetStream } => "save it as a file first",
            Self::NotATable { .. } => "save it as UTF-8 CSV or as Parquet, uncompressed on the outside",
            Self::NotUnits { .. } => "use protect = \"seal\", \"clear\" or \"drop\" for it",
            Self::Open { .. } => "check the path and its permissions",
            Self::OutOfRange { .. } => "widen range in the schema if the value is right. Nothing was written",
            Self::Parquet { .. } => "write the file again with snappy, zstd or no compression",
            Self::Ragged { .. } => {
                "quote fields that hold the delimiter or a line break. Nothing was written"
            }
            Self::ReadOnce => "save it as a file first, or read it into memory",
            Self::Read { .. } => "check the disk and run the command again",
            Self::RecordTooLong { .. } | Self::UnclosedQuote { .. } => {
                "close the quote (\"\" inside one). Nothing was written"
            }
            Self::TooManyColumns { .. } => "split the table, or check the delimiter",
            Self::TooManyRows { .. } => "raise max_rows in the schema. Nothing was written",
            Self::Unlisted { .. } => {
                "add them to the schema (protect = \"drop\" leaves them out), then approve it again"
            }
            Self::UnsupportedType { .. } => "set protect = \"drop\", or convert the column to a plain type",
            Self::WrongType { expected, .. } if expected == "date" || expected == "timestamp" => {
                "day or month first? Set date_format. A missing-value marker? Add it to null_tokens. Nothing was written"
            }
            Self::WrongType { .. } => {
                "a missing-value marker? Add it to null_tokens. A limit such as <5? Set censored. Nothing was written"
            }
        };
        text.into()
    }
}

fn more_text(more: u64) -> String {
    if more == 0 { String::new() } else { format!("; {more} more") }
}

fn article(kind: &str) -> &'static str {
    if kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
}

fn listed(columns: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown = columns.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    let plural = if columns.len() == 1 { "column" } else { "columns" };
    match columns.len().saturating_sub(SHOWN) {
        0 => format!("{plural} {shown}"),
        hidden => format!("{plural} {shown} and {hidden} more"),
    }
}
