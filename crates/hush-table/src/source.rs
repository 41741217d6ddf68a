// SPDX-License-Identifier: Apache-2.0
//! Reading an owner's CSV or Parquet file as typed chunks, in one pass and bounded memory.
//!
//! ```text
//!  CSV bytes ── records ──▶ fields ─┐                        ┌─▶ TypedColumn (units, to be encrypted)
//!                                   ├─▶ ColumnBuilder ───────┤
//!  Parquet ──── columns ──▶ arrays ─┤   parse, check range   └─▶ Arrow array (clear or sealed)
//!  Arrow ────── batches ──▶ arrays ─┘
//! ```
//!
//! On several threads ([`TypedReader::chunks_ahead`]) one of them finds where records of CSV end (`scan`); whoever makes the values of a
//! chunk finds its fields (`marks`, `grid`) and reads them column by column, or decodes its columns of Parquet (`parquet_file`). Chunks that
//! are no grid go through the parser record by record (`records`).
//!
//! *Words.* A **cell** is one value as the file holds it; its **units** are the integer that stands for it
//! (`hush_plan::schema::ColumnType`). [`ReadAs`] says what a pass makes of a column.
//!
//! *Invariants.* Every batch has [`CHUNK_ROWS`](crate::part::CHUNK_ROWS) rows but the last. Values are exact (no binary float between
//! the digits of a decimal and its units), inside the declared range, and missing only where the schema
//! allows it: anything else is a [`SourceError`] that names the line and the column and never the value.
//! No field, record or column count is believed before it is checked against a limit.
//!
//! *CSV dialect.* RFC 4180 with a header line, UTF-8 with or without a byte-order mark; the delimiter is found
//! among `,` `;` tab `|`; lines end in LF, CRLF or CR; blank lines are skipped, but in a table of one column, where each is
//! a row whose value is missing; blanks around numbers, dates
//! and truth values are ignored and those of text kept. In files with semicolons a decimal comma is understood.
//! A column without a name is called `column_<position>`.
//!
//! A folder of files is read as one table (`dataset`). Files in object stores are read in ranges (`object`). Columns of other files can stand
//! beside those of a file, found by a key (`lookup`).
//!
//! *Non-goals.* Guessing types (`profile`), writing, compressed CSV.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, SchemaRef};
use bytes::Bytes;
use hush_plan::schema::{Column, Protection, Schema, units::DecimalPoint};

mod ahead;
mod arrow_rows;
mod batch;
mod batches;
pub(crate) mod cells;
mod column;
mod cut;
mod dataset;
mod error;
mod fault;
mod fingerprint;
mod grid;
mod guarded;
mod lines;
mod lookup;
mod marks;
mod name;
#[cfg_attr(not(feature = "parquet-rows"), allow(dead_code))]
mod object;
mod origin;
#[cfg(not(feature = "parquet-rows"))]
#[path = "source/no_parquet.rs"]
mod parquet_file;
#[cfg(feature = "parquet-rows")]
mod parquet_file;
#[cfg(feature = "stores")]
mod place;
mod raw;
mod record;
mod records;
mod scan;
mod typed;
#[cfg(feature = "parquet-rows")]
mod window;

pub use ahead::{ChunkTyper, RawChunk, RawChunks};
pub use batch::{ColumnData, RowBatch, TypedColumn, Values};
pub use batches::{BatchColumn, BatchReader, BatchSource};
pub use dataset::{DataFile, FILE_LIMIT};
pub use error::{BatchFault, NotATable, PathFault, Place, SourceError};
pub(crate) use lookup::RawRows;
pub use lookup::{KeyKind, LOOKUP_BYTES, LookupFault};
pub use typed::TypedReader;

use arrow_rows::ArrowRows;
use batches::MemoryBatches;
use dataset::Dataset;
use lookup::Joined;
use object::ObjectFile;

/// A place that data are read from.
#[derive(Clone)]
enum Origin {
    Batches(Arc<dyn BatchSource>),
    Dataset(Arc<Dataset>),
    File(PathBuf),
    /// Rows of one of these, with columns of others.
    Joined(Arc<Joined>),
    Memory(Bytes),
    /// A file in an object store.
    Object(Arc<ObjectFile>),
    /// Read once: its first bytes, and what follows until somebody takes it.
    Stream {
        start: Bytes,
        rest: Arc<Mutex<Option<Input>>>,
    },
}

/// What is read from one end to the other.
type Input = Box<dyn Read + Send>;

/// Bytes of a stream that are read to find the delimiter and the names of the columns.
const STREAM_START_BYTES: u64 = 1 << 20;

/// First bytes of every Parquet file.
pub const PARQUET_MAGIC: &[u8] = b"PAR1";

/// Rows of a batch.
const CHUNK_ROWS: usize = crate::part::CHUNK_ROWS as usize;

/// How to open a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenOptions {
    /// The CSV delimiter; found by looking at the first lines if `None`.
    pub delimiter: Option<u8>,
    /// Texts that mean a missing value while a CSV file is profiled (a typed pass takes those of the schema).
    pub null_tokens: Vec<String>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self { delimiter: None, null_tokens: vec![String::new()] }
    }
}

/// What kind of file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Arrow batches, which are no file.
    Arrow,
    /// Delimited text.
    Csv {
        /// The byte between fields.
        delimiter: u8,
    },
    /// Apache Parquet.
    Parquet,
}

impl Format {
    /// How numbers are written: with semicolons between fields, a comma may be the decimal point.
    pub fn decimal_point(self) -> DecimalPoint {
        match self {
            Self::Csv { delimiter: b';' } => DecimalPoint::DotOrComma,
            Self::Arrow | Self::Csv { .. } | Self::Parquet => DecimalPoint::Dot,
        }
    }
}

/// What a typed pass makes of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadAs {
    /// An Arrow array of the column's type.
    Array,
    /// Nothing: the column is not even parsed.
    Skip,
    /// Integers (or, for floats without a range, floats) to be encrypted.
    Units,
}

impl ReadAs {
    /// What a column's protection asks for. An undecided number is treated as encrypted, undecided
    /// text as sealed.
    pub fn of(column: &Column) -> Self {
        let is_text = hush_plan::schema::units::type_bounds(column.kind).is_none();
        match column.protect {
            Protection::Clear | Protection::JoinKey | Protection::Seal => Self::Array,
            Protection::Decide if is_text => Self::Array,
            Protection::Decide | Protection::Encrypt => Self::Units,
            Protection::Drop => Self::Skip,
        }
    }
}

/// A file, a folder of files (on a disk or in an object store), or batches that somebody holds, that can be read as a table, as often as
/// needed; or a stream, once. Columns of other data may stand beside its own ([`Source::with_lookup`]).
///
/// Cheap to clone. Holds the names of the columns, no values but the first megabyte of a stream.
#[derive(Clone, Debug)]
pub struct Source {
    origin: Origin,
    format: Format,
    columns: Arc<[SourceColumn]>,
    name: Option<String>,
    null_tokens: Vec<String>,
    rows: Option<u64>,
    estimated_rows: Option<u64>,
    decode_bytes: u64,
}

/// A column as the file declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceColumn {
    /// Its name.
    pub name: String,
    /// The name of its type, if it is one that tables cannot hold (nested or binary Parquet types).
    pub unsupported: Option<String>,
    /// What the file says of its numbers or instants, where it says something (Parquet and Arrow).
    pub declared: Option<Declared>,
    /// The type that the file gives it, where it gives one (Parquet and Arrow).
    kind: Option<DataType>,
}

/// A type of numbers or instants that a file declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Declared {
    /// Exact decimals.
    Decimal {
        /// Total digits, at most 38.
        precision: u8,
        /// Digits after the point.
        scale: u8,
    },
    /// Binary floats of double precision.
    Float,
    /// Binary floats of single or half precision.
    Single,
    /// Instants with a time zone.
    Zoned,
}

impl Source {
    /// Opens a file: tells Parquet from CSV by its first bytes, finds the delimiter, reads the names. A folder is opened as
    /// [`Source::open_folder`] does.
    ///
    /// # Errors
    /// [`SourceError`] if it cannot be opened, is neither format, is empty or has a bad header.
    pub fn open(path: &Path, options: &OpenOptions) -> Result<Self, SourceError> {
        if path.is_dir() {
            return Self::open_folder(path, options);
        }
        Self::with_origin(Origin::File(path.to_owned()), options)
    }

    /// A file's content in memory, as [`Source::open`].
    ///
    /// # Errors
    /// As [`Source::open`].
    pub fn from_bytes(bytes: Bytes, options: &OpenOptions) -> Result<Self, SourceError> {
        Self::with_origin(Origin::Memory(bytes), options)
    }

    /// CSV that can be read only once, such as standard input. Looking at its names takes its first megabyte, or all that
    /// there is; the first typed pass takes the rest, and a second one is [`SourceError::ReadOnce`].
    ///
    /// # Errors
    /// As [`Source::open`]; Parquet is [`SourceError::NotATable`], for its index is at its end.
    pub fn from_stream(mut input: Input, options: &OpenOptions) -> Result<Self, SourceError> {
        let mut start = Vec::new();
        let read = input.by_ref().take(STREAM_START_BYTES).read_to_end(&mut start);
        read.map_err(|source| SourceError::Read { source })?;
        if start.starts_with(PARQUET_MAGIC) {
            return Err(SourceError::NotATable { found: NotATable::ParquetStream });
        }
        let rest = Arc::new(Mutex::new(Some(input)));
        Self::with_origin(Origin::Stream { start: start.into(), rest }, options)
    }

    /// Arrow batches of one schema, called `name` as a file of that name would be. Shares their memory; nothing is copied.
    ///
    /// # Errors
    /// No columns or rows, two columns of one name, too many columns.
    pub fn from_batches(name: &str, schema: SchemaRef, batches: &[RecordBatch]) -> Result<Self, SourceError> {
        Self::from_batch_source(name, Arc::new(MemoryBatches::new(schema, batches)))
    }

    /// Arrow batches that somebody else holds, called `name` as a file of that name would be. Every pass reads them anew,
    /// batch by batch; no pass gathers them.
    ///
    /// # Errors
    /// As [`Source::from_batches`].
    pub fn from_batch_source(name: &str, batches: Arc<dyn BatchSource>) -> Result<Self, SourceError> {
        let found = batches.columns();
        if found.len() > record::COLUMN_LIMIT {
            return Err(SourceError::TooManyColumns { limit: record::COLUMN_LIMIT });
        }
        let column = |(i, column): (usize, &BatchColumn)| SourceColumn {
            name: named(&column.name, i),
            unsupported: column.unsupported(),
            declared: column.kind.as_ref().ok().and_then(cells::declared),
            kind: column.kind.clone().ok(),
        };
        let columns: Arc<[SourceColumn]> = found.iter().enumerate().map(column).collect();
        check_names(&columns)?;
        let rows = batches.rows();
        if rows == Some(0) {
            return Err(SourceError::NoRows);
        }
        Ok(Self {
            decode_bytes: batches.batch_bytes(),
            origin: Origin::Batches(batches),
            format: Format::Arrow,
            columns,
            name: Some(name.to_owned()),
            null_tokens: OpenOptions::default().null_tokens,
            rows,
            estimated_rows: None,
        })
    }

    fn with_origin(origin: Origin, options: &OpenOptions) -> Result<Self, SourceError> {
        let source = Self::inspect(origin, options)?;
        if source.rows == Some(0) { Err(SourceError::NoRows) } else { Ok(source) }
    }

    /// As [`Source::open`], of a file that may have no rows.
    fn inspect(origin: Origin, options: &OpenOptions) -> Result<Self, SourceError> {
        let mut start = Vec::with_capacity(records::SNIFF_BYTES);
        let beginning = origin.beginning()?.take(records::SNIFF_BYTES as u64).read_to_end(&mut start);
        beginning.map_err(SourceError::reading)?;
        let mut source = Self {
            origin,
            format: Format::Parquet,
            columns: Arc::new([]),
            name: None,
            null_tokens: options.null_tokens.clone(),
            rows: None,
            estimated_rows: None,
            decode_bytes: 0,
        };
        if start.starts_with(PARQUET_MAGIC) {
            let described = parquet_file::describe(&source)?;
            source.columns = described.columns.into();
            source.rows = Some(described.rows);
            source.decode_bytes = described.decode_bytes;
        } else {
            records::check_text(&start)?;
            let delimiter = options.delimiter.unwrap_or_else(|| records::sniff_delimiter(&start));
            source.format = Format::Csv { delimiter };
            let mut first = records::Records::new(source.origin.beginning()?, delimiter);
            source.columns = records::header(&mut first)?.into();
            source.estimated_rows = estimated_rows(&start, source.origin.bytes());
            source.decode_bytes = records::READER_BYTES + source.origin.ahead_bytes();
        }
        check_names(&source.columns)?;
        Ok(source)
    }

    /// The columns in file order.
    pub fn columns(&self) -> &[SourceColumn] {
        &self.columns
    }

    /// What kind of file it is.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Rows, where the file says so without being read (Parquet).
    pub fn rows(&self) -> Option<u64> {
        self.rows
    }

    /// About how many rows there are: what the file says, or what its size and its first lines suggest. `None` for a stream.
    pub fn estimated_rows(&self) -> Option<u64> {
        self.rows.or(self.estimated_rows)
    }

    /// About how many bytes of memory a pass takes beside the chunks that it makes: read buffers, or the pages of Parquet.
    pub fn decode_bytes(&self) -> u64 {
        self.decode_bytes
    }

    /// Starts a typed pass: chunks of the columns of `schema` as their protections ask for.
    ///
    /// # Errors
    /// As [`Source::typed_with`].
    pub fn typed(&self, schema: &Schema) -> Result<TypedReader, SourceError> {
        self.typed_with(schema, ReadAs::of)
    }

    /// Starts a typed pass with a [`ReadAs`] for each column of `schema`. Memory: one chunk and a read buffer (CSV),
    /// or one chunk and a decoded row-group window (Parquet).
    ///
    /// # Errors
    /// Columns of the file that the schema does not list, columns of the schema that the file lacks, a form
    /// that the type cannot have, or the file cannot be read.
    pub fn typed_with(
        &self,
        schema: &Schema,
        read_as: impl Fn(&Column) -> ReadAs,
    ) -> Result<TypedReader, SourceError> {
        TypedReader::new(self, schema, &read_as)
    }

    /// The cells of some columns as text, `None` for a missing one: one list for each place in [`Source::columns`] that is asked for.
    ///
    /// # Memory
    /// All of these cells.
    ///
    /// # Errors
    /// [`SourceError`] for a ragged record, or if the file cannot be read.
    pub fn text_of(&self, places: &[usize]) -> Result<Vec<Vec<Option<String>>>, SourceError> {
        let mut out = vec![Vec::new(); places.len()];
        let mut rows = self.raw()?;
        while rows.next_row(|column, cell| {
            for (place, cells) in places.iter().zip(&mut out) {
                if *place == column {
                    cells.push(cell.map(|bytes| String::from_utf8_lossy(bytes).into_owned()));
                }
            }
        })? {}
        Ok(out)
    }

    /// The bytes of the file, for another reader than this module.
    ///
    /// # Errors
    /// [`SourceError::Open`]; [`SourceError::ReadOnce`] for a stream that was read.
    pub fn bytes(&self) -> Result<Box<dyn Read + Send>, SourceError> {
        self.origin.reader()
    }

    /// The batches of Parquet or Arrow data as they are; none of any other file. Columns that tables cannot hold have no values
    /// in them.
    ///
    /// # Errors
    /// The data cannot be read.
    pub fn arrow_batches(
        &self,
    ) -> Result<impl Iterator<Item = Result<RecordBatch, SourceError>> + use<>, SourceError> {
        let readable = |i: &usize| self.columns.get(*i).is_some_and(|column| column.unsupported.is_none());
        let read: Vec<usize> = (0..self.columns.len()).filter(readable).collect();
        let mut rows = match self.format {
            Format::Csv { .. } => None,
            Format::Arrow | Format::Parquet => Some(ArrowRows::open(self, &read)?),
        };
        let width = self.columns.len();
        Ok(std::iter::from_fn(move || {
            let slice = rows.as_mut()?.next_slice(CHUNK_ROWS).transpose()?;
            Some(slice.and_then(|slice| batches::widened(&slice.batch(), &read, width)))
        }))
    }

    /// Starts a pass over the cells as text.
    pub(crate) fn raw(&self) -> Result<RawRows, SourceError> {
        RawRows::new(self)
    }

    /// Texts that mean a missing value while profiling: none in typed files, which have missing values of their own.
    pub(crate) fn null_tokens(&self) -> &[String] {
        match self.format {
            Format::Csv { .. } => &self.null_tokens,
            Format::Arrow | Format::Parquet => &[],
        }
    }

    /// A record reader behind the header.
    fn records(&self) -> Result<records::Records, SourceError> {
        let delimiter = match self.format {
            Format::Csv { delimiter } => delimiter,
            Format::Arrow | Format::Parquet => b',',
        };
        let mut records = records::Records::new(self.origin.reader()?, delimiter);
        records.next()?;
        if self.columns.len() == 1 {
            records.keep_blank_lines();
        }
        Ok(records)
    }
}

/// Rows of a text of `bytes` that begins with `start`, by its line ends: quoted ones count, so it is rather too many.
fn estimated_rows(start: &[u8], bytes: Option<u64>) -> Option<u64> {
    let lines = start.iter().filter(|byte| **byte == b'\n').count() as u64;
    let rows = u128::from(bytes?) * u128::from(lines) / (start.len().max(1) as u128);
    u64::try_from(rows).ok()
}

/// A column's name, or one after its position where it has none.
fn named(name: &str, position: usize) -> String {
    if name.trim().is_empty() { format!("column_{}", position + 1) } else { name.to_owned() }
}

fn check_names(columns: &[SourceColumn]) -> Result<(), SourceError> {
    let mut seen = std::collections::HashSet::with_capacity(columns.len());
    match columns.iter().find(|column| !seen.insert(column.name.as_str())) {
        Some(column) => Err(SourceError::DuplicateColumn { column: column.name.clone() }),
        None if columns.is_empty() => Err(SourceError::Empty),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
