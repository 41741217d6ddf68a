// SPDX-License-Identifier: Apache-2.0
//! Why a table cannot be read, written or trusted. Codes are stable; messages name places, sizes, versions and
//! digests, never a value of the table.

mod fault;
mod kind;
mod store;

pub use fault::{Counted, DeliveryFault, KeyFault, ManifestFault, Measured, Operation, PartFault};
pub use kind::ErrorKind;
pub(crate) use store::StoreTrouble;
pub use store::{Said, StoreFault};

use hush_plan::error::Remedy;

use crate::digest::{Digest, TableId};

/// Everything that can go wrong with a stored table.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The bytes do not begin with the manifest's magic.
    #[error("this is not a Hushtable manifest (the first 8 bytes are not HUSHTBL1)")]
    NotAManifest,
    /// The manifest has another format version.
    #[error("the table has format {found}, this version reads format {expected} alone")]
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
    /// An encryption was interrupted here, whose parts no version names yet.
    #[error("an encryption was interrupted at {place:?}, and its parts are of no version yet")]
    Interrupted {
        /// Directory or prefix.
        place: String,
    },
    /// A part that the manifest names is not in the store.
    #[error("file {name:?} is missing from the store")]
    PartMissing {
        /// File name of the part.
        name: String,
    },
    /// A part is not the one that the manifest names.
    #[error("file {name:?} was altered: its content has digest {found}")]
    PartAltered {
        /// File name of the part; holds the expected digest.
        name: String,
        /// Digest of what is there.
        found: Digest,
    },
    /// Some bytes of a part are not those that the manifest names.
    #[error("part {part} was altered: its bytes from {start} on do not belong to this digest")]
    RangeAltered {
        /// The expected digest.
        part: Digest,
        /// First byte of the altered group of 64 KiB.
        start: u64,
    },
    /// A part was changed while it was read.
    #[error("part {part} was changed while it was read")]
    PartChanged {
        /// The expected digest.
        part: Digest,
    },
    /// A part has another size than the manifest says.
    #[error("file {name:?} has {found} bytes, the manifest says {expected}")]
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
    /// What a device delivered is not for this table, or damaged.
    #[error("the delivery is refused: {fault}")]
    BadDelivery {
        /// What is wrong.
        fault: DeliveryFault,
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
    /// An object store did not do what it was asked.
    #[error("cannot {operation} {place}: {fault}")]
    Store {
        /// What was tried.
        operation: Operation,
        /// Its address.
        place: String,
        /// Why.
        fault: StoreFault,
    },
    /// A server, where a directory or an object store is needed.
    #[error("{place} is a server, which keeps its files to itself")]
    Server {
        /// Its address.
        place: String,
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
            Self::Interrupted { .. } => "HUSH-T024",
            Self::PartMissing { .. } => "HUSH-T030",
            Self::PartAltered { .. } | Self::RangeAltered { .. } | Self::PartChanged { .. } => "HUSH-T031",
            Self::PartSize { .. } => "HUSH-T032",
            Self::BadPart { .. } => "HUSH-T033",
            Self::Parquet { .. } => "HUSH-T034",
            Self::BadChunk { .. } => "HUSH-T040",
            Self::ClearType { .. } => "HUSH-T041",
            Self::BadName { .. } => "HUSH-T042",
            Self::Io { .. } => "HUSH-T050",
            Self::Store { .. } => "HUSH-T051",
            Self::Server { .. } => "HUSH-T052",
            Self::BadDelivery { .. } => "HUSH-T060",
        }
    }

    /// A failure of the file system, or of the object store that is the cause of it.
    pub(crate) fn failed(operation: Operation, place: String, source: std::io::Error) -> Self {
        match StoreTrouble::below(&source) {
            Some(trouble) => trouble.during(operation),
            None => Self::Io { operation, place, source },
        }
    }

    /// As an error of the operating system: the one that caused it, if one did.
    pub fn into_io(self) -> std::io::Error {
        match self {
            Self::Io { source, .. } => source,
            Self::Store { fault, place, .. } => {
                std::io::Error::new(fault.io_kind(), StoreTrouble { place, fault })
            }
            other => std::io::Error::other(other),
        }
    }

    /// What a person can do about it; `None` where nothing but the cause helps.
    pub fn remedy(&self) -> Option<Remedy> {
        let text = match self {
            Self::NotAManifest | Self::NoTable { .. } => {
                "name the directory or prefix that a table was encrypted into; an interrupted run leaves no manifest: run it again"
            }
            Self::UnknownFormat { .. } => {
                "tables of other formats are not read: encrypt the source again into a new directory, or use the version of Hushtable that wrote the table"
            }
            Self::WrongLength { .. }
            | Self::BadSignature
            | Self::BadBody { .. }
            | Self::BadManifest { .. } => {
                "restore manifest.hush from a copy, or encrypt the data again; do not trust this table"
            }
            Self::PartMissing { .. }
            | Self::PartAltered { .. }
            | Self::RangeAltered { .. }
            | Self::PartChanged { .. }
            | Self::PartSize { .. }
            | Self::BadPart { .. }
            | Self::Parquet { .. } => {
                "restore the part from a copy, push the table again, or encrypt the data again"
            }
            Self::ForeignKey { .. } => {
                "use the keys that encrypted this table, or pin its owner's verifying key"
            }
            Self::RolledBack { .. } => {
                "if the newer version is yours and has not been pushed yet, push it; if it is just being pushed, run the command again; else the store shows a past version: ask its operator; to accept it, remove the pin by hand"
            }
            Self::Forked { .. } => {
                "the store shows a past or another table: ask its operator; to accept it, remove the pin by hand"
            }
            Self::OtherTable { .. } => "choose another directory, or delete the table that is there first",
            Self::StaleVersion { .. } => "read the present version and write the next one",
            Self::Busy { .. } => "wait until the other process has finished, or choose another directory",
            Self::Interrupted { .. } => {
                "run the encryption again, which finishes it, or remove encryption.journal there"
            }
            Self::TooLarge { .. } => "split the table",
            Self::ClearType { .. } => "cast the column to a flat type, or drop it in the schema",
            Self::BadName { .. } => {
                "use 1 to 64 of the letters a to z, digits, _ and -, without a - in front"
            }
            Self::Io { source, .. } if source.kind() == std::io::ErrorKind::StorageFull => {
                "free some space and run the same command again; nothing half-written is visible"
            }
            Self::Io { .. } => "check the place and its permissions and run the same command again",
            Self::Store { fault, .. } => fault.remedy(),
            Self::Server { .. } => "name a directory or an object store, or download the table first",
            Self::BadDelivery { .. } => return Some(Remedy::NewDeviceKey),
            Self::BadChunk { .. } => return None,
        };
        Some(text.into())
    }
}

impl From<ManifestFault> for TableError {
    fn from(fault: ManifestFault) -> Self {
        Self::BadManifest { fault }
    }
}
