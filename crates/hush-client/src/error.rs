// SPDX-License-Identifier: Apache-2.0
//! Errors of the owner's side, with a stable code and a kind that decides the exit status. No message carries a value of a
//! protected column, a key byte or noise. [`remedies`] has the ways out.

mod asked;
mod codes;
mod engines;
mod remedies;
mod unfinished;

use std::path::PathBuf;

use hush_plan::EncodingId;
use hush_plan::error::{Remedy, Subject};
use hush_remote::RemoteError;
pub use hush_table::error::ErrorKind;
pub use unfinished::Unfinished;

/// Errors of the owner's side.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The answer's bytes are not an answer to this plan.
    #[error("the server's answer is refused: {what}")]
    Answer {
        /// The fault.
        what: String,
    },
    /// Arrow refused; a conversion of ours is wrong. Its text is dropped: it may quote values.
    #[error("internal: a column could not be converted")]
    Arrow,
    /// Parts are not written anew.
    #[error(transparent)]
    Compact(#[from] crate::compact::error::CompactError),
    /// `HUSH_CPU` names a path that the machine lacks.
    #[error("{source}")]
    Cpu {
        /// The path asked for, and those that there are.
        source: hush_ring::KernelError,
    },
    /// A decrypted number lies beyond the bound that the plan proved. The message tells neither the number nor its distance.
    #[error(
        "{what}: what it decrypts to cannot come from rows of the table, so that it was falsified, or is damaged\n  Ways out: do not use anything of this answer; push the table again, or ask elsewhere; the server's operator or a device's may know more."
    )]
    Beyond {
        /// The quantity.
        what: String,
    },
    /// Decryption refused.
    #[error("decryption refused: {0}")]
    Decrypt(#[from] hush_keys::DecryptError),
    /// A derived condition that some row refuses. The condition is as the schema has it; nothing of the row is told.
    #[error(
        "derive {condition:?} failed on a row of the table: a number beyond its type, or a text that does not convert\n  Ways out: CAST to a wider type; TRY_CAST, which is NULL where a text does not convert; or the schema without this condition."
    )]
    Derived {
        /// The condition.
        condition: String,
        /// The code of what refused it.
        code: &'static str,
    },
    /// A directory that holds something else than a table.
    #[error(
        "{place} is not empty and no table: it holds {entry:?}\n  Way out: another directory. Nothing was written."
    )]
    Occupied {
        /// The directory.
        place: String,
        /// Something in it.
        entry: String,
    },
    /// A table is there already, and nobody said that it may be replaced.
    #[error(
        "{place} holds version {} with {} rows{}; it would be replaced by {}",
        present.version, present.rows, present.losses(), rows_words(*rows)
    )]
    WouldReplace {
        /// The place.
        place: String,
        /// The table that is there.
        present: crate::replace::present::Present,
        /// Estimated rows of the new table.
        rows: Option<u64>,
    },
    /// Another version came between the look at a place and the lock on it, so nobody was asked about it.
    #[error(
        "{place} got another version of the table while this one was prepared\n  Way out: once more; what would be replaced is said then. Nothing was written."
    )]
    Changed {
        /// The place.
        place: String,
    },
    /// Rows that are changed must be encrypted like those that are there.
    #[error(
        "{place} was encrypted anew, or altered, while a change to it was prepared\n  Way out: once more. Nothing was changed."
    )]
    Reencrypted {
        /// The place.
        place: String,
    },
    /// A batch with the name of one that is in the table, and other rows.
    #[error(
        "batch {batch:?} is in the table since version {version}, with {rows} rows; these are {found} rows, and not the same\n  Ways out: another name for other rows; the file of that time. Nothing was added."
    )]
    OtherBatch {
        /// The batch's name.
        batch: String,
        /// The version that brought it.
        version: u64,
        /// Its rows.
        rows: u64,
        /// The rows that were given now.
        found: u64,
    },
    /// A condition that no row meets.
    #[error("no row of {place} meets the condition\n  Nothing was written.")]
    NoRows {
        /// The place.
        place: String,
    },
    /// A condition that all rows meet, and nobody said that it may.
    #[error("all {rows} rows of {place} meet the condition")]
    AllRows {
        /// The place.
        place: String,
        /// Its rows.
        rows: u64,
    },
    /// A row without a key.
    #[error("row {row} has no key\n  Way out: leave it out, or give it one. Nothing was written.")]
    NullKey {
        /// The row's number in what was given, from 1.
        row: u64,
    },
    /// A value that no cell of a cube is for.
    #[error(
        "row {row}, column {column}: its value has no cell in a cube of the schema\n  Ways out: a range that holds it, or the text among the cube's values. Nothing was written."
    )]
    NoCell {
        /// The row's number in what was given, from 1.
        row: u64,
        /// The column.
        column: String,
    },
    /// A cell of a cube, over all parts, with more rows than the schema says.
    #[error(
        "cube {cube} has a cell with more rows than its max_cell_rows allows\n  Ways out: another way; or encrypt the table with a greater max_cell_rows."
    )]
    FullCell {
        /// The cube's number.
        cube: u32,
    },
    /// More rows of a slot match than are told apart: how many do, and how many can be.
    #[error("too many rows match: {found} of them share a slot, and {most} can be told apart")]
    #[allow(missing_docs, reason = "said above")]
    ManyMatches { found: u64, most: u64 },
    /// Two rows with one key.
    #[error(
        "rows {first} and {second} have the same key\n  Way out: leave one out; or a key of more columns. Nothing was written."
    )]
    DuplicateKey {
        /// The first row's number in what was given, from 1.
        first: u64,
        /// The other row's.
        second: u64,
    },
    /// Keys that no row of the table has.
    #[error("{count} keys are not in {place}, that of row {first} first")]
    MissingKeys {
        /// The place.
        place: String,
        /// Number of the first row with such a key, from 1.
        first: u64,
        /// Such rows.
        count: u64,
    },
    /// A key that several rows of the table have, and nobody said that it may.
    #[error("{found} rows of {place} have the key of row {row}")]
    ManyRows {
        /// The place.
        place: String,
        /// The row's number in what was given, from 1.
        row: u64,
        /// Rows of the table.
        found: u64,
    },
    /// New values of a column that the table does not have.
    #[error(
        "column {column} was dropped when the table was encrypted\n  Way out: leave it out. Nothing was written."
    )]
    DroppedColumn {
        /// The column.
        column: String,
    },
    /// Rows without a column that the table needs and cannot give back.
    #[error(
        "the rows lack column {column}, whose values the table does not give back\n  Way out: give them too. Nothing was written."
    )]
    NeedsColumn {
        /// The column.
        column: String,
    },
    /// An encryption was interrupted here that this one does not continue.
    #[error("{place} holds an interrupted encryption {what}")]
    Unfinished {
        /// The place.
        place: String,
        /// Why not.
        what: Unfinished,
    },
    /// An encoding in the manifest cannot be used.
    #[error("encoded column {}: {what}", id.0)]
    Encoding {
        /// The encoding.
        id: EncodingId,
        /// The fault.
        what: &'static str,
    },
    /// A disk without room for the table.
    #[error(
        "{place}: the encrypted columns take about {}, {} are free\n  Ways out: another disk; fewer columns or purposes in the schema. Nothing was written.",
        megabytes(*needed), megabytes(*free)
    )]
    DiskSpace {
        /// The place.
        place: String,
        /// Bytes that will surely be needed.
        needed: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// A table's encoded columns are too much for a device's memory.
    #[error(
        "{columns} encrypted columns take {} of memory on a device that has {}",
        megabytes(*needed), megabytes(*found)
    )]
    DeviceTooSmall {
        /// Encoded columns.
        columns: u64,
        /// Bytes that they take.
        needed: u64,
        /// Bytes that the device has.
        found: u64,
    },
    /// Encryption refused.
    #[error("encryption refused: {0}")]
    Encrypt(#[from] hush_keys::EncryptError),
    /// An expression on encrypted vectors.
    #[error(transparent)]
    Eval(#[from] crate::eval::EvalError),
    /// The embedded engine refused or failed.
    #[error(transparent)]
    Exec(hush_exec::ExecError),
    /// The query engine refused the final step, which works on decrypted values. The engine's text may quote them, and is dropped.
    #[error("the last step of the query failed: {what}")]
    Finish {
        /// The fault.
        what: &'static str,
    },
    /// The query engine refused a question about several tables before anything was sent. Its text has names and constants of the question alone.
    #[error("the question does not fit these tables: {what}")]
    Tables {
        /// The fault.
        what: String,
    },
    /// Nothing was released.
    #[error(transparent)]
    Release(#[from] crate::release::error::ReleaseError),
    /// A refusal to purge, or a statement that does not hold.
    #[error(transparent)]
    Purge(#[from] crate::purge::error::PurgeError),
    /// A rotation that is refused.
    #[error(transparent)]
    Rotate(#[from] crate::rotate::error::RotateError),
    /// Columns that are not altered.
    #[error(transparent)]
    Alter(#[from] crate::alter::error::AlterError),
    /// A model that cannot be fitted, read or written.
    #[error(transparent)]
    Model(#[from] crate::model::ModelError),
    /// A bug of ours.
    #[error("internal: {what}")]
    Internal {
        /// The impossible finding.
        what: &'static str,
    },
    /// A file would be replaced, and nobody asked for that.
    #[error("{path} exists already", path = path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("{path}: {source}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The operating system refused something that has no file.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// A key file.
    #[error(transparent)]
    KeyFile(#[from] hush_keys::keyfile::KeyFileError),
    /// A limit on memory under which not even one chunk can be encrypted.
    #[error(
        "a memory limit of {} is too low: this table takes {} at the least, and nothing was written",
        megabytes(*limit), megabytes_up(*needed)
    )]
    MemoryLimit {
        /// The limit.
        limit: u64,
        /// The lowest limit that would do.
        needed: u64,
    },
    /// The process took more memory than it may.
    #[error(
        "the process took {}, its limit is {}",
        megabytes_up(*found), megabytes(*limit)
    )]
    MemoryPassed {
        /// The limit.
        limit: u64,
        /// Bytes that the system counted.
        found: u64,
    },
    /// The table belongs to another key.
    #[error(
        "the table was made with key {expected}, this key is {found}\n  Way out: the file of key {expected}."
    )]
    OtherKey {
        /// The key at hand.
        found: String,
        /// The key of the table.
        expected: String,
    },
    /// The key file does not have the root of the table's secrets, and nothing else has.
    #[error(
        "{place}: the table can be erased, and this key file does not have the root of its secrets\n  Ways out: the key file as it is where the table was encrypted or rotated last; a copy of it from after that. If the root was forgotten, the rows are gone."
    )]
    NoRoot {
        /// The table, or its place.
        place: String,
    },
    /// The table had this key once, and has another by now.
    #[error(
        "the table was handed over from key {found} to key {expected}\n  Way out: the file of key {expected}; whoever has the table's key now can give it to you."
    )]
    OldKey {
        /// The key at hand.
        found: String,
        /// The key of the table.
        expected: String,
    },
    /// A value outside its encoding; the source names the position, never the value.
    #[error(
        "column {column}: a value is outside what its encoding holds ({source})\n  Ways out: widen its range in the schema; correct the data. Nothing was written."
    )]
    OutOfBounds {
        /// The owner's column.
        column: String,
        /// The fault.
        source: hush_keys::EncryptError,
    },
    /// A product of rows exceeds the largest double.
    #[error(
        "a PRODUCT exceeds the largest double, 1.8e308\n  Way out: GEOMEAN; SELECT fewer rows, or group them."
    )]
    Magnitude,
    /// A result does not fit its planned type; the planner's ranges should have excluded it.
    #[error("internal: a result exceeds the range that the planner derived")]
    Overflow,
    /// A parameter set is unknown.
    #[error(transparent)]
    Params(#[from] hush_params::ParamsError),
    /// A pin is damaged.
    #[error(
        "{path} is not what was remembered of a table\n  Way out: remove it; which version was seen last is forgotten then.",
        path = path.display()
    )]
    Pin {
        /// The file.
        path: PathBuf,
    },
    /// Refused by the planner, for a table that is stored or being made.
    #[error(transparent)]
    Plan(#[from] hush_plan::PlanError),
    /// Refused by the planner, of a file of queries.
    #[error("query {number} of the workload: {source}")]
    Query {
        /// The number of the query, from 1.
        number: usize,
        /// The refusal.
        source: hush_plan::PlanError,
    },
    /// Refused by the planner at a rehearsal, where protections are a choice.
    #[error("{source}")]
    Rehearsed {
        /// The refusal.
        source: hush_plan::PlanError,
        /// The thing that decided on the protections.
        by: Subject,
    },
    /// No entropy.
    #[error(transparent)]
    Randomness(#[from] hush_ring::RandomnessError),
    /// Code that owners share with devices refused.
    #[error(transparent)]
    Edge(#[from] hush_edge::EdgeError),
    /// Rows in another form than their table has them.
    #[error(transparent)]
    Encode(#[from] hush_encode::EncodeError),
    /// A server refused, or was not reached.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// A server shows a table under another name than its own.
    #[error("{place} shows the table {found:?}\n  Way out: ask the server's operator; do not use the table.")]
    OtherName {
        /// Server and name.
        place: String,
        /// The table's own name.
        found: String,
    },
    /// A place holds another table than it did before.
    #[error(
        "{place} is another table than the one seen there last\n  Ways out: ask who can write there, a server's operator for one; if you put it there, remove {pin}.",
        pin = pin.display()
    )]
    Replaced {
        /// Server and name, or the directory.
        place: String,
        /// The pin of the place.
        pin: PathBuf,
    },
    /// Ring construction refused.
    #[error(transparent)]
    Ring(#[from] hush_ring::RingError),
    /// A binary form refused.
    #[error(transparent)]
    Codec(#[from] hush_rlwe::CodecError),
    /// A faulty edit of a schema in memory. The message tells no line, because nobody has seen lines.
    #[error("schema: {}", without_line(&source.to_string()))]
    SchemaEdit {
        /// The fault.
        source: hush_plan::schema::file::SchemaError,
    },
    /// A schema's text.
    #[error("schema: {source}")]
    SchemaText {
        /// The fault.
        source: hush_plan::schema::file::SchemaError,
    },
    /// A schema file.
    #[error("{}: {source}", path.display())]
    SchemaFile {
        /// The file.
        path: PathBuf,
        /// The fault.
        source: hush_plan::schema::file::SchemaError,
    },
    /// A scheme refused.
    #[error(transparent)]
    Scheme(#[from] hush_schemes::SchemeError),
    /// Sealed data does not open.
    #[error(transparent)]
    Seal(#[from] hush_keys::SealError),
    /// The input file.
    #[error(transparent)]
    Source(#[from] hush_table::source::SourceError),
    /// A stored table.
    #[error(transparent)]
    Table(#[from] hush_table::TableError),
    /// `--verify` found a difference. That is the worst error, and the reason for this option.
    #[error(
        "the result differs from the plaintext engine's in column {column}\n  This is a bug: please report it with the query. Do not use the result."
    )]
    Unequal {
        /// Column of the result.
        column: String,
    },
    /// No schema file where one should be.
    #[error("{path}: there is no schema file", path = path.display())]
    NoSchema {
        /// The place.
        path: PathBuf,
    },
    /// A server still has its earlier version, and this machine has made a newer one.
    #[error(
        "{place} has version {found} of the table, as before; version {expected} was made on this machine and has not been pushed"
    )]
    NotPushed {
        /// Server and name.
        place: String,
        /// The server's version.
        found: u64,
        /// The newest one.
        expected: u64,
    },
    /// The request contradicts itself, or names something that does not exist.
    #[error("{what}")]
    Usage {
        /// The fault and its way out.
        what: String,
    },
    /// As [`ClientError::Usage`], with a way out that each front words.
    #[error("{what}")]
    Misused {
        /// The fault.
        what: String,
        /// The way out.
        way: Remedy,
    },
}

/// A sentence without the line number at its beginning.
fn without_line(sentence: &str) -> &str {
    let Some(rest) = sentence.strip_prefix("line ") else { return sentence };
    rest.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start_matches([':', ',']).trim_start()
}

fn rows_words(rows: Option<u64>) -> String {
    rows.map_or_else(|| "the rows of a stream".to_owned(), |rows| format!("about {rows} rows"))
}

/// Bytes as megabytes, a tenth at the finest.
fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

/// Bytes as whole megabytes, rounded up so that they suffice.
fn megabytes_up(bytes: u64) -> String {
    format!("{} MB", bytes.div_ceil(1_000_000))
}

impl From<hush_exec::ExecError> for ClientError {
    fn from(error: hush_exec::ExecError) -> Self {
        match error {
            // The engine is in this process, and so is whoever can mend the store.
            hush_exec::ExecError::Store { operation, place, fault } => {
                Self::Table(hush_table::TableError::Store { operation, place, fault })
            }
            error => Self::Exec(error),
        }
    }
}
