// SPDX-License-Identifier: Apache-2.0
//! What can be wrong with an owner's file: the place, a stable code and a way out, never a value.

use std::fmt;
use std::path::PathBuf;

use hush_plan::error::Remedy;
use thiserror::Error;

use super::fault::ObjectFault;
use super::lookup::LookupFault;
use crate::error::{StoreFault, StoreTrouble};

/// Where in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The names of its folders.
    Path,
    /// Line of a text file, from 1; that of the record's first line.
    Line(u64),
    /// Row of a Parquet file, from 1.
    Row(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path => write!(f, "in its path"),
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
    /// A device, a pipe or a socket.
    #[error("no file but a device, a pipe or a socket")]
    Special,
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

/// What is wrong with the path of a file in a folder.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PathFault {
    /// A column of the path is one of the file too.
    #[error("column {column} stands both in the path and in the file")]
    AlsoInFile {
        /// The column.
        column: String,
    },
    /// A folder called `=value`.
    #[error("a folder has a value but no key")]
    NoKey,
    /// A key or value that is not UTF-8.
    #[error("a key or value is not UTF-8")]
    NotText,
    /// Other keys than the first file has.
    #[error("its folders give {}, those of {first} {}", keys(found), keys(expected))]
    OtherKeys {
        /// Keys of the path.
        found: Vec<String>,
        /// The first file.
        first: String,
        /// Keys of its path.
        expected: Vec<String>,
    },
    /// One key twice in a path.
    #[error("its path has the key {column} twice")]
    Twice {
        /// The key.
        column: String,
    },
}

fn keys(keys: &[String]) -> String {
    if keys.is_empty() { "no column".to_owned() } else { listed(keys) }
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
    /// A file of a folder, or an object, has changed since it was found.
    #[error("{file} has changed while it was read")]
    FileChanged {
        /// Its path in the folder; the address of an object.
        file: String,
    },
    /// Something is wrong with one file of a folder.
    #[error("{file}: {error}")]
    InFile {
        /// Its path in the folder.
        file: String,
        /// What.
        error: Box<SourceError>,
    },
    /// The header is not UTF-8.
    #[error("line 1: the column names are not UTF-8")]
    HeaderNotText,
    /// Rows that are looked up, or what is found there.
    #[error("{file}: {what}")]
    Lookup {
        /// The file that is looked up.
        file: Box<str>,
        /// What is wrong.
        what: LookupFault,
    },
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
    /// A folder without files.
    #[error("no files below {}; names that begin with . or _ do not count", folder.display())]
    NoFiles {
        /// The folder.
        folder: PathBuf,
    },
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
    /// A file has other columns than the first one of its folder.
    #[error("{file} has other columns than {first}{}", differences(absent, more))]
    OtherColumns {
        /// The file.
        file: String,
        /// The first one.
        first: String,
        /// Columns of the first that it lacks.
        absent: Vec<String>,
        /// Columns that the first lacks.
        more: Vec<String>,
    },
    /// A file is of another kind than the first one of its folder.
    #[error("{file} is {}, but {first} is not", kind(*found))]
    OtherKind {
        /// The file.
        file: String,
        /// Its kind.
        found: super::Format,
        /// The first one.
        first: String,
    },
    /// No type holds a column of two files.
    #[error("column {column} is {found} in {file}, but {expected} in {first}")]
    OtherType {
        /// The column.
        column: String,
        /// A file.
        file: Box<str>,
        /// Its type.
        found: Box<str>,
        /// A file before it.
        first: Box<str>,
        /// Its type.
        expected: Box<str>,
    },
    /// The path of a file in a folder.
    #[error("{file}: {what}")]
    Path {
        /// The file.
        file: String,
        /// What is wrong.
        what: PathFault,
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
    /// A server, where data are needed.
    #[error("{place} is a server, not a file")]
    Server {
        /// Its address.
        place: String,
    },
    /// An object store did not do what it was asked.
    #[error("cannot read {place}: {fault}")]
    Store {
        /// The address of the object or prefix.
        place: String,
        /// Why.
        fault: StoreFault,
    },
    /// More columns than a table may have.
    #[error("more than {limit} columns")]
    TooManyColumns {
        /// The limit.
        limit: usize,
    },
    /// More files than a folder may have.
    #[error("the folder has more than {limit} files")]
    TooManyFiles {
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
    /// What it means that bytes could not be read.
    pub(super) fn reading(source: std::io::Error) -> Self {
        let fault = source.get_ref().and_then(|error| error.downcast_ref::<ObjectFault>()).cloned();
        fault.map_or(Self::Read { source }, Self::from)
    }

    /// The error of a file of a folder, which it names.
    pub(super) fn in_file(self, file: &str) -> Self {
        match self {
            // They name it by its address.
            Self::FileChanged { .. } | Self::Store { .. } => self,
            error => Self::InFile { file: file.to_owned(), error: Box::new(error) },
        }
    }

    /// The fault of the object store, if that is what failed.
    pub fn store_fault(&self) -> Option<&StoreFault> {
        match self {
            Self::InFile { error, .. } => error.store_fault(),
            Self::Store { fault, .. } => Some(fault),
            _ => None,
        }
    }

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
            Self::InFile { error, .. } => error.code(),
            Self::Lookup { what, .. } => what.code(),
            Self::NoFiles { .. } => "HUSH-D040",
            Self::OtherKind { .. } => "HUSH-D041",
            Self::OtherColumns { .. } => "HUSH-D042",
            Self::OtherType { .. } => "HUSH-D043",
            Self::Path { .. } => "HUSH-D044",
            Self::FileChanged { .. } => "HUSH-D045",
            Self::TooManyFiles { .. } => "HUSH-D046",
            Self::Server { .. } => "HUSH-T052",
            Self::Store { .. } => "HUSH-T051",
            Self::Unlisted { .. } => "HUSH-S020",
            Self::Absent { .. } => "HUSH-S021",
        }
    }

    /// What to do about it.
    pub fn remedy(&self) -> Remedy {
        let text = match self {
            Self::Absent { .. } => {
                "remove them from the schema, check that this is the right file, or look them up in the file that has them"
            }
            Self::Batches { .. } => "read the data into a table first, and look at its columns",
            Self::ChunkTooLarge { .. } => return Remedy::LongTexts,
            Self::DuplicateColumn { .. } => "rename one of them",
            Self::Empty => "check the path; a table needs column names and rows",
            Self::FileChanged { .. } => "let nothing write to it meanwhile, and run the command again",
            Self::InFile { error, .. } => return error.remedy(),
            Self::Lookup { what, .. } => what.remedy(),
            Self::NoFiles { .. } => "check the path; it must hold CSV or Parquet files",
            Self::OtherColumns { .. } => {
                "give all files the same columns, or name a folder of those that have them"
            }
            Self::OtherKind { .. } => "move it elsewhere, or let its name begin with an underscore",
            Self::OtherType { .. } => "write one of them again with the other's type",
            Self::Path { .. } => "name all folders by the same keys, which no file has as columns",
            Self::TooManyFiles { .. } => "join small files first, or name a folder of fewer",
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
            Self::Server { .. } => "name a file, a folder, or a place in an object store",
            Self::Store { fault, .. } => fault.remedy(),
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

impl From<ObjectFault> for SourceError {
    fn from(fault: ObjectFault) -> Self {
        match fault {
            ObjectFault::Changed { place } => Self::FileChanged { file: place },
            ObjectFault::Store(StoreTrouble { place, fault }) => Self::Store { place, fault },
            ObjectFault::Other { .. } => Self::Read { source: fault.into() },
        }
    }
}

fn differences(absent: &[String], more: &[String]) -> String {
    let list = |what: &str, columns: &[String]| {
        if columns.is_empty() { String::new() } else { format!("; it {what} {}", listed(columns)) }
    };
    list("lacks", absent) + &list("adds", more)
}

fn kind(format: super::Format) -> &'static str {
    match format {
        super::Format::Arrow => "a stream of Arrow batches",
        super::Format::Csv { .. } => "CSV",
        super::Format::Parquet => "Parquet",
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
