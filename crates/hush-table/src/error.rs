// SPDX-License-Identifier: Apache-2.0
//! Why a table cannot be read, written or trusted. Codes are stable; messages name places, sizes, versions and
//! digests, never a value of the table.

use hush_plan::EncodingId;

use crate::digest::{Digest, TableId};

/// Everything that can go wrong with a stored table.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The bytes do not begin with the manifest's magic.
    #[error("this is not a Hushtable manifest (the first 8 bytes are not HUSHTBL1)")]
    NotAManifest,
    /// The manifest has another format version.
    #[error("manifest format {found}, this version reads {expected}")]
    UnknownFormat {
        /// Version found.
        found: u32,
        /// Version that this program reads.
        expected: u32,
    },
    /// The container's length disagrees with its header.
    #[error("the manifest has {found} bytes where its header implies {expected}")]
    WrongLength {
        /// Bytes present.
        found: u64,
        /// Bytes that the header implies (saturating).
        expected: u64,
    },
    /// A size is above its limit.
    #[error("{what} is {found}, above the limit of {limit}")]
    TooLarge {
        /// Which size.
        what: Measured,
        /// Size found.
        found: u64,
        /// Largest size taken.
        limit: u64,
    },
    /// The signature does not belong to these bytes.
    #[error("the manifest's signature is not valid: it was altered after its owner signed it")]
    BadSignature,
    /// Signed by somebody else.
    #[error("the manifest is signed by key {found}, expected {expected}")]
    ForeignKey {
        /// Digest of the verifying key found.
        found: Digest,
        /// Digest of the verifying key expected.
        expected: Digest,
    },
    /// The body is not the JSON of a manifest.
    #[error("the manifest's body is not valid: {source}")]
    BadBody {
        /// What the JSON reader says.
        source: serde_json::Error,
    },
    /// The body does not follow the rules of the format.
    #[error("the manifest contradicts itself: {fault}")]
    BadManifest {
        /// Which rule.
        #[source]
        fault: ManifestFault,
    },
    /// The store presents an older version than one seen before.
    #[error("the store presents version {found} of the table, but version {expected} has been seen")]
    RolledBack {
        /// Version presented.
        found: u64,
        /// Version pinned.
        expected: u64,
    },
    /// The store presents another manifest under a version seen before.
    #[error("version {version} of the table is not the one seen before: {found} instead of {expected}")]
    Forked {
        /// The version.
        version: u64,
        /// Digest presented.
        found: Digest,
        /// Digest pinned.
        expected: Digest,
    },
    /// No table at this place.
    #[error("there is no table at {place:?} (no manifest.hush)")]
    NoTable {
        /// Directory or prefix.
        place: String,
    },
    /// The place holds another table.
    #[error("{place:?} already holds another table (id {found}, not {expected})")]
    OtherTable {
        /// Directory or prefix.
        place: String,
        /// Table found there.
        found: TableId,
        /// Table to be written.
        expected: TableId,
    },
    /// The version to be written does not follow the one present.
    #[error("version {found} cannot be written over version {present}")]
    StaleVersion {
        /// Version to be written.
        found: u64,
        /// Version present.
        present: u64,
    },
    /// Another process writes to this table.
    #[error("another process is writing to the table at {place:?}")]
    Busy {
        /// Directory.
        place: String,
    },
    /// A part that the manifest names is not in the store.
    #[error("part {name:?} is missing from the store")]
    PartMissing {
        /// File name of the part.
        name: String,
    },
    /// A part is not the one that the manifest names.
    #[error("part {name:?} was altered: its content has digest {found}")]
    PartAltered {
        /// File name of the part; holds the expected digest.
        name: String,
        /// Digest of what is there.
        found: Digest,
    },
    /// A part has another size than the manifest says.
    #[error("part {name:?} has {found} bytes, the manifest says {expected}")]
    PartSize {
        /// File name of the part.
        name: String,
        /// Bytes present.
        found: u64,
        /// Bytes in the manifest.
        expected: u64,
    },
    /// A part's content does not follow the format.
    #[error("part {part}: {fault}")]
    BadPart {
        /// Digest of the part (all zero while it is being written).
        part: Digest,
        /// What is wrong.
        #[source]
        fault: PartFault,
    },
    /// The Parquet or Arrow layer failed.
    #[error("part {part}: {source}")]
    Parquet {
        /// Digest of the part (all zero while it is being written).
        part: Digest,
        /// The layer's own words.
        source: parquet::errors::ParquetError,
    },
    /// What was given to a writer is not what its layout announced.
    #[error("chunk {chunk} does not fit the table's layout: {fault}")]
    BadChunk {
        /// Global index of the chunk.
        chunk: u32,
        /// What is wrong.
        #[source]
        fault: PartFault,
    },
    /// A column type that clear columns cannot have.
    #[error("column {column:?} has type {found}, which clear columns cannot have")]
    ClearType {
        /// Column name.
        column: String,
        /// Arrow's name of the type.
        found: String,
    },
    /// A name that cannot name a table.
    #[error("{found:?} cannot name a table")]
    BadName {
        /// The name, cut to 64 characters.
        found: String,
    },
    /// The file system or object store failed.
    #[error("cannot {operation} {place:?}: {source}")]
    Io {
        /// What was tried.
        operation: Operation,
        /// File, directory or object.
        place: String,
        /// The cause.
        source: std::io::Error,
    },
}

/// Sizes that have limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Measured {
    /// Bytes of the manifest's body.
    ManifestBody,
    /// Bytes of one part file.
    PartFile,
    /// Bytes that a part's columns take once decompressed.
    PartUncompressed,
    /// Chunks of a table.
    TableChunks,
}

/// Operations on files and objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operation {
    /// Create a directory.
    CreateDirectory,
    /// Delete.
    Delete,
    /// List.
    List,
    /// Lock.
    Lock,
    /// Read.
    Read,
    /// Rename into place.
    Rename,
    /// Make durable.
    Sync,
    /// Write.
    Write,
}

/// Rules that a manifest's body can break.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ManifestFault {
    /// Not the canonical text.
    #[error("its body is not in canonical form")]
    NotCanonical,
    /// Unknown body format.
    #[error("body format {found}, this version reads {expected}")]
    Format {
        /// Found.
        found: u16,
        /// Expected.
        expected: u16,
    },
    /// Not a table name.
    #[error("its table name is empty, too long or holds characters that names cannot have")]
    TableName,
    /// Versions begin at 1.
    #[error("its version is 0")]
    Version,
    /// Key ids are 16 to 64 lowercase hex digits.
    #[error("its key id is not 16 to 64 lowercase hexadecimal digits")]
    KeyId,
    /// Chunks of another size.
    #[error("it cuts chunks of {found} rows, this version of {expected}")]
    ChunkRows {
        /// Found.
        found: u32,
        /// Expected.
        expected: u32,
    },
    /// Too many of something.
    #[error("it has {found} {what}, more than {limit}")]
    TooMany {
        /// Of what.
        what: Counted,
        /// Found.
        found: u64,
        /// Limit.
        limit: u64,
    },
    /// Two clear columns of one name, or a name without characters.
    #[error("clear column {index} has an empty or repeated name")]
    ClearName {
        /// Position of the column.
        index: usize,
    },
    /// A clear column of a type that clear columns cannot have.
    #[error("clear column {index} has a type that clear columns cannot have")]
    ClearType {
        /// Position of the column.
        index: usize,
    },
    /// Encoding ids must rise.
    #[error("encoding {} repeats an id or is out of order", id.0)]
    EncodingOrder {
        /// The encoding.
        id: EncodingId,
    },
    /// An encoding names parameters that do not exist here.
    #[error("encoding {} names an unknown parameter set", id.0)]
    Params {
        /// The encoding.
        id: EncodingId,
    },
    /// An encoding's plaintext space does not belong to its layout and parameters.
    #[error("encoding {} has a plaintext space that its layout or parameters cannot have", id.0)]
    Plaintext {
        /// The encoding.
        id: EncodingId,
    },
    /// A table without columns.
    #[error("it has no columns")]
    NoColumns,
    /// A part whose rows do not fill its chunks.
    #[error("part {index} has {rows} rows in {chunks} chunks")]
    PartRows {
        /// Position of the part.
        index: usize,
        /// Rows.
        rows: u64,
        /// Chunks.
        chunks: u32,
    },
    /// A part that lacks a file which the columns ask for, or has one too many.
    #[error("part {index} does not have exactly the files that the table's columns need")]
    PartFiles {
        /// Position of the part.
        index: usize,
    },
    /// A part file of no bytes or too many.
    #[error("part {index} names a file of {bytes} bytes")]
    PartBytes {
        /// Position of the part.
        index: usize,
        /// Bytes.
        bytes: u64,
    },
    /// The same file twice.
    #[error("part {index} repeats the file of another part")]
    PartRepeated {
        /// Position of the part.
        index: usize,
    },
    /// The rows of the parts do not add up.
    #[error("its parts have {found} rows, its head says {expected}")]
    Rows {
        /// Sum over the parts (saturating).
        found: u64,
        /// In the head.
        expected: u64,
    },
}

/// Things that a manifest may have only so many of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Counted {
    /// Clear columns.
    ClearColumns,
    /// Encodings.
    Encodings,
    /// Parts.
    Parts,
    /// Bytes of the sealed schema.
    SchemaBytes,
    /// Sealed columns.
    SealedColumns,
}

/// What can be wrong inside a part, or with a chunk offered to a writer.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum PartFault {
    /// Another number of rows.
    #[error("{found} rows where {expected} are expected")]
    Rows {
        /// Found.
        found: u64,
        /// Expected.
        expected: u64,
    },
    /// Another number of chunks.
    #[error("{found} chunks where {expected} are expected")]
    Chunks {
        /// Found.
        found: u64,
        /// Expected.
        expected: u64,
    },
    /// Chunk indices are not consecutive, or begin elsewhere.
    #[error("chunk index {found} where {expected} is expected")]
    ChunkIndex {
        /// Found.
        found: u32,
        /// Expected.
        expected: u32,
    },
    /// The number of encoded blobs is not the number of encodings.
    #[error("{found} encoded blobs where the table has {expected} encodings")]
    EncodedBlobs {
        /// Found.
        found: usize,
        /// Expected.
        expected: usize,
    },
    /// The number of sealed blobs is not the number of sealed columns.
    #[error("{found} sealed blobs where the table has {expected} sealed columns")]
    SealedBlobs {
        /// Found.
        found: usize,
        /// Expected.
        expected: usize,
    },
    /// A column is absent.
    #[error("it has no column {column:?}")]
    NoColumn {
        /// Name of the column.
        column: String,
    },
    /// A chunk is not in this part.
    #[error("chunk {index} is not in it")]
    NoChunk {
        /// Its index.
        index: u32,
    },
    /// The footer names no version, or another one.
    #[error("it has another part format, or none")]
    Version,
    /// A column has another type, or is stored in a way that the format does not have.
    #[error("column {column:?} is not stored as the format says")]
    ColumnForm {
        /// Name of the column.
        column: String,
    },
    /// A page ends inside a value or goes on after the last.
    #[error("column {column:?} holds a damaged page")]
    Page {
        /// Name of the column.
        column: String,
    },
    /// The same chunk seed twice.
    #[error("chunks {first} and {second} have the same seed")]
    RepeatedSeed {
        /// Index of one.
        first: u32,
        /// Index of the other.
        second: u32,
    },
    /// A short chunk that is not the last of its part.
    #[error("chunk {index} is short but not the last of its part")]
    ShortChunk {
        /// Its index.
        index: u32,
    },
}

impl TableError {
    /// The stable code, for documentation, logs, the wire and tests.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotAManifest => "HUSH-T001",
            Self::UnknownFormat { .. } => "HUSH-T002",
            Self::WrongLength { .. } => "HUSH-T003",
            Self::TooLarge { .. } => "HUSH-T004",
            Self::BadSignature => "HUSH-T005",
            Self::ForeignKey { .. } => "HUSH-T006",
            Self::BadBody { .. } => "HUSH-T007",
            Self::BadManifest { .. } => "HUSH-T008",
            Self::RolledBack { .. } => "HUSH-T010",
            Self::Forked { .. } => "HUSH-T011",
            Self::NoTable { .. } => "HUSH-T020",
            Self::OtherTable { .. } => "HUSH-T021",
            Self::StaleVersion { .. } => "HUSH-T022",
            Self::Busy { .. } => "HUSH-T023",
            Self::PartMissing { .. } => "HUSH-T030",
            Self::PartAltered { .. } => "HUSH-T031",
            Self::PartSize { .. } => "HUSH-T032",
            Self::BadPart { .. } => "HUSH-T033",
            Self::Parquet { .. } => "HUSH-T034",
            Self::BadChunk { .. } => "HUSH-T040",
            Self::ClearType { .. } => "HUSH-T041",
            Self::BadName { .. } => "HUSH-T042",
            Self::Io { .. } => "HUSH-T050",
        }
    }

    /// What a person can do about it; `None` where nothing but the cause helps.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::NotAManifest | Self::NoTable { .. } => {
                "name the directory that `hush encrypt -o` wrote; an interrupted run leaves no manifest: run it again"
            }
            Self::UnknownFormat { .. } => "use a version of Hushtable that reads this format, or encrypt again",
            Self::WrongLength { .. } | Self::BadSignature | Self::BadBody { .. } | Self::BadManifest { .. } => {
                "restore manifest.hush from a copy, or encrypt the data again; do not trust this table"
            }
            Self::PartMissing { .. }
            | Self::PartAltered { .. }
            | Self::PartSize { .. }
            | Self::BadPart { .. }
            | Self::Parquet { .. } => {
                "restore the part from a copy, push the table again, or encrypt the data again"
            }
            Self::ForeignKey { .. } => "use the keys that encrypted this table, or pin its owner's verifying key",
            Self::RolledBack { .. } | Self::Forked { .. } => {
                "the store shows a past or another table: ask its operator; to accept it, remove the pin by hand"
            }
            Self::OtherTable { .. } => "choose another directory, or delete the table that is there first",
            Self::StaleVersion { .. } => "read the present version and write the next one",
            Self::Busy { .. } => "wait until the other process has finished, or choose another directory",
            Self::TooLarge { .. } => "split the table",
            Self::ClearType { .. } => "cast the column to a flat type, or drop it in the schema",
            Self::BadName { .. } => {
                "use 1 to 128 bytes without control characters, slashes, quotes or a dot in front"
            }
            Self::Io { source, .. } if source.kind() == std::io::ErrorKind::StorageFull => {
                "free some space and run the same command again; nothing half-written is visible"
            }
            Self::Io { .. } => "check the place and its permissions and run the same command again",
            Self::BadChunk { .. } => return None,
        })
    }
}

impl std::fmt::Display for Measured {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::ManifestBody => "the manifest's length in bytes",
            Self::PartFile => "the part's length in bytes",
            Self::PartUncompressed => "the part's decompressed length in bytes",
            Self::TableChunks => "the table's number of chunks",
        })
    }
}

impl std::fmt::Display for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::CreateDirectory => "create the directory",
            Self::Delete => "delete",
            Self::List => "list",
            Self::Lock => "lock",
            Self::Read => "read",
            Self::Rename => "move into place",
            Self::Sync => "make durable",
            Self::Write => "write",
        })
    }
}

impl std::fmt::Display for Counted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::ClearColumns => "clear columns",
            Self::Encodings => "encodings",
            Self::Parts => "parts",
            Self::SchemaBytes => "bytes of sealed schema",
            Self::SealedColumns => "sealed columns",
        })
    }
}

impl From<ManifestFault> for TableError {
    fn from(fault: ManifestFault) -> Self {
        Self::BadManifest { fault }
    }
}
