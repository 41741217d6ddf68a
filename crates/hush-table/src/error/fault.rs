// SPDX-License-Identifier: Apache-2.0
//! The details of errors: the rule that a manifest breaks, the fault of a part, the size or operation concerned.

use hush_params::ParamsError;
use hush_plan::EncodingId;

/// Sizes that have limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Measured {
    /// Bytes of the journal of an encryption.
    Journal,
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
    /// Open a store.
    Open,
    /// Read.
    Read,
    /// Rename into place.
    Rename,
    /// Make durable.
    Sync,
    /// Write.
    Write,
}

/// The fault of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeliveryFault {
    /// Another run of its job was there before.
    #[error("another run of its job has delivered already")]
    Announced,
    /// Not JSON, not canonical, of another format or without rows.
    #[error("its body is not that of a delivery")]
    Body,
    /// Not signed by the table's owner for this device and these encodings.
    #[error("the table's owner has not certified the device for it")]
    Certificate,
    /// Another one has its number.
    #[error("another delivery of its stream has its number; a spool was copied")]
    Conflict,
    /// Made by an earlier version.
    #[error("it was made by an earlier version, whose deliveries are not read")]
    Format,
    /// Deliveries that do not belong together.
    #[error("its deliveries are not those of one run of a job, each stream from 0 without gaps")]
    Mixed,
    /// Its device was revoked.
    #[error("the table's owner has revoked the device")]
    Revoked,
    /// A seed that does not follow from its name.
    #[error("a chunk has another seed than its name gives")]
    Seed,
    /// The table took its number before, and has merged the rows with others since: whether they were these is not known any more.
    #[error("the table took a delivery of its number before, and has merged the rows with others")]
    Settled,
    /// Not the files that parts of the table have.
    #[error("it lacks a file that parts of the table have, or has one that they do not")]
    Files,
    /// Other columns than the table has by now.
    #[error("its columns are not those that the table has; a device's key is of the columns of its day")]
    Columns,
    /// Not the bytes of a delivery.
    #[error("it does not have the form or length of a delivery")]
    Length,
    /// Altered.
    #[error("its signature is not valid")]
    Signature,
    /// Of another table.
    #[error("it belongs to another table")]
    Table,
}

/// What is wrong with an entry of evaluation keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyFault {
    /// The keys that it names have another size.
    #[error("it names a file of {found} bytes, but its keys have {expected}")]
    Bytes {
        /// Bytes in the entry.
        found: u64,
        /// Bytes that kind and chain give.
        expected: u64,
    },
    /// Galois elements that do not exist, or not in order.
    #[error("its Galois elements are not odd numbers from 3 up to twice the ring degree, rising")]
    Elements,
    /// Not the chain of any keys.
    #[error(
        "it names no secure modulus chain with special primes, or for keys of powers no secure ring; define the chain in the same manifest"
    )]
    Params,
    /// Keys of powers that no sum of products has.
    #[error("its highest power is {found}, expected 2 to {most}")]
    Powers {
        /// The power in the entry.
        found: u32,
        /// The highest that there is.
        most: u32,
    },
    /// A key or a file that another entry has.
    #[error("it repeats a key or the file of another entry")]
    Repeated,
    /// Keys that no reader takes.
    #[error(
        "its keys take {found} bytes, above the limit of {limit}; divide its Galois elements among several files"
    )]
    TooLarge {
        /// Bytes that the keys take.
        found: u64,
        /// Largest number.
        limit: u64,
    },
    /// Errors without a unit.
    #[error("its unit is 0; it is the plaintext modulus, or 1")]
    Unit,
}

/// Rules that a manifest's body can break.
#[derive(Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
pub enum ManifestFault {
    /// A part of an append has the chunks of another one, or is a delivery too.
    #[error("part {index} is of an append, and has chunks of another part of it, or is a delivery too")]
    Appended {
        /// Position of the part.
        index: usize,
    },
    /// A batch that cannot be.
    #[error("batch {index} has no rows, a version that was not yet, or the name of another one")]
    Batch {
        /// Position of the batch.
        index: usize,
    },
    /// More deleted rows than there are, or a list of them that cannot be one.
    #[error("the deleted rows of part {index} are none, more than it has, or in a list of a wrong size")]
    Dead {
        /// Position of the part.
        index: usize,
    },
    /// Cubes that a part cannot have.
    #[error(
        "the cubes of part {index} are none, too many, out of order, in a file of a wrong size, or those of a delivery"
    )]
    Cubes {
        /// Position of the part.
        index: usize,
    },
    /// Cubes that another part has.
    #[error("the cubes of part {index} are those of another part too")]
    CubesRepeated {
        /// Position of the part.
        index: usize,
    },
    /// Sorted runs that a part cannot have.
    #[error(
        "the sorted runs of part {index} are none, too many, out of order, without an index or blocks, of other bytes than their file, or those of a delivery"
    )]
    Runs {
        /// Position of the part.
        index: usize,
    },
    /// Sorted runs that another part has.
    #[error("the sorted runs of part {index} are those of another part too")]
    RunsRepeated {
        /// Position of the part.
        index: usize,
    },
    /// A change that cannot be.
    #[error("change {index} is of a version that was not yet, or not after that of the change before")]
    Change {
        /// Position of the change.
        index: usize,
    },
    /// A domain that cannot be.
    #[error("domain {index} before the present one is out of order, repeats an encryption, or has no parts")]
    Domain {
        /// Position of the domain.
        index: usize,
    },
    /// Nothing is left to be written anew.
    #[error("it says that a rotation goes on, and has no domain before the present one")]
    Rotating,
    /// A generation that cannot be.
    #[error(
        "generation {index} before the present one is out of order, names columns out of order or that were never there, or has no parts"
    )]
    Generation {
        /// Position of the generation.
        index: usize,
    },
    /// A part of no generation.
    #[error("part {index} is of a generation that the table does not have")]
    PartGeneration {
        /// Position of the part.
        index: usize,
    },
    /// Numbers of sealed columns that the table has no more.
    #[error("the sealed columns that the table has no more are out of order, or were never there")]
    Unsealed,
    /// A part of no domain.
    #[error("part {index} is of a domain that the table does not have")]
    PartDomain {
        /// Position of the part.
        index: usize,
    },
    /// A key that did not sign the one behind it.
    #[error("the owner's key before, number {index}, has not signed the one that took its place")]
    Predecessor {
        /// Position of the key.
        index: usize,
    },
    /// A definition of a chain that cannot be used.
    #[error("definition {index} of a modulus chain: {cause}")]
    Chain {
        /// Position of the definition.
        index: usize,
        /// What is wrong with it.
        cause: Box<ParamsError>,
    },
    /// A chain that nothing in the manifest names.
    #[error("definition {index} of a modulus chain is used by no encoding and no key")]
    ChainUnused {
        /// Position of the definition.
        index: usize,
    },
    /// A file of evaluation keys.
    #[error("key {index}: {fault}")]
    Key {
        /// Position of the entry.
        index: usize,
        /// What is wrong with it.
        fault: KeyFault,
    },
    /// One delivery twice.
    #[error("part {index} is a delivery that an earlier part is")]
    DeliveryRepeated {
        /// The part.
        index: usize,
    },
    /// Lists of devices that do not rise, or contradict the parts.
    #[error("its decisions about devices are out of order, or contradict its parts")]
    DeviceRules,
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
    /// Key ids are 32 lowercase hex digits.
    #[error("its key id is not 32 lowercase hexadecimal digits")]
    KeyId,
    /// The id of another key than the one that signed.
    #[error("its key id is not that of the key that signed it")]
    KeyIdOfSigner,
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
        /// The kind.
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
    /// Lengths of a column that has none, or more than a column may have.
    #[error(
        "the lengths of column {column} are of no rows, of more than a table may have, or of a column without any"
    )]
    Length {
        /// Its place among the clear columns, or its number under a seal.
        column: u32,
    },
    /// Lengths of columns in another order, or twice.
    #[error("the lengths of columns do not stand in the order of these")]
    LengthOrder,
    /// A zone file of no bytes or too many, or of a table without clear columns or parts.
    #[error("a zone file of {bytes} bytes, of a table that has none or a smaller one")]
    Zones {
        /// Bytes.
        bytes: u64,
    },
}

/// Things that a manifest may have only so many of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Counted {
    /// Batches of appended rows.
    Batches,
    /// Changes that versions have made.
    Changes,
    /// Modulus chains.
    Chains,
    /// Clear columns.
    ClearColumns,
    /// Bytes of the definition of a chain.
    DefinitionBytes,
    /// Domains before the present one.
    Domains,
    /// Generations before the present one.
    Generations,
    /// Encodings.
    Encodings,
    /// Files of evaluation keys.
    Keys,
    /// Parts.
    Parts,
    /// Owner's keys before the present one.
    Predecessors,
    /// Rejected deliveries.
    Rejected,
    /// Streams whose parts were merged.
    Settled,
    /// Revoked devices.
    Revoked,
    /// Bytes of the sealed roots.
    RootsBytes,
    /// Bytes of the sealed schema.
    SchemaBytes,
    /// Sealed columns.
    SealedColumns,
}

/// Faults inside a part, or of a chunk offered to a writer.
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
    /// The Parquet reader broke down on it.
    #[error("it is not readable as Parquet")]
    Unreadable,
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
    /// A list of deleted rows that is none, or not that of its part.
    #[error("it is not the list of the part's deleted rows")]
    DeadRows,
    /// Cubes that are none, or not those of their part.
    #[error("it has not the cubes of the part")]
    Cubes,
    /// Sorted runs that no file can hold.
    #[error("its sorted runs are none, too many, out of order, without an index or blocks, or too large")]
    Runs,
    /// Blocks of a sorted run that are asked for in another order than that of their places, or that it does not have.
    #[error("run {number} has {blocks} blocks; ask for some of these, each once, by rising place")]
    RunBlocks {
        /// Number of the run.
        number: u32,
        /// Its blocks.
        blocks: u32,
    },
    /// The zone file has other bounds than the part.
    #[error("the bounds of part {index} are not those of the part")]
    Zone {
        /// Position of the part.
        index: usize,
    },
}

impl std::fmt::Display for Measured {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Journal => "the length in bytes of the journal",
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
            Self::Open => "open",
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
            Self::Batches => "batches",
            Self::Changes => "changes",
            Self::Chains => "modulus chains",
            Self::ClearColumns => "clear columns",
            Self::DefinitionBytes => "bytes of a chain's definition",
            Self::Domains => "domains before the present one",
            Self::Generations => "generations before the present one",
            Self::Encodings => "encodings",
            Self::Keys => "files of evaluation keys",
            Self::Parts => "parts",
            Self::Predecessors => "owner's keys before the present one",
            Self::Rejected => "rejected deliveries",
            Self::Settled => "streams whose parts were merged",
            Self::Revoked => "revoked devices",
            Self::RootsBytes => "bytes of the sealed roots",
            Self::SchemaBytes => "bytes of sealed schema",
            Self::SealedColumns => "sealed columns",
        })
    }
}
