// SPDX-License-Identifier: Apache-2.0
//! Part files: a run of chunks, its clear columns as ordinary Parquet and its encrypted ones as Parquet with one
//! row per chunk.
//!
//! Encrypted parts are read page by page, without an Arrow decoder between: a blob is a slice of the page that
//! was read, and a page is a slice of the file where the file is in memory. Nothing is copied that is not read
//! from a disk.

mod clear;
mod contain;
mod cube;
mod dead;
mod encrypted;
mod memory;
mod run;
mod source;
#[cfg(test)]
mod tests;
mod tree;
mod write;
mod zones;

use bytes::Bytes;
use hush_plan::EncodingId;

pub(crate) use clear::bytes_of;
pub use clear::{ClearPart, ClearPartWriter, ColumnBounds};
pub(crate) use cube::CubesHead;
pub use cube::{
    CubeSums, MAX_CUBE_CELLS, MAX_CUBE_LANES, MAX_CUBES, MAX_LANE_BITS, PackedSums, PartCubes, StoredCube,
};
pub use dead::DeadRows;
pub use encrypted::{ChunkRows, EncryptedPart};
pub(crate) use memory::{RangeMemory, Run};
pub use run::{PartRuns, RunBytes};
pub use source::PartSource;
pub(crate) use source::{GroupChecks, PIECE_BYTES, ReadRanges, Recheck, groups_around};
pub use tree::{DigestTree, GROUP_BYTES, TreeHasher};
pub use write::EncryptedPartWriter;
pub(crate) use zones::ZonesWriter;
pub use zones::{MIN_ZONED_PARTS, Zones};

pub use hush_params::size::CHUNK_ROWS;

use crate::digest::Digest;
use crate::manifest::PartFile;

/// Name of the folder of parts below a table's prefix.
pub const PARTS_NAME: &str = "parts";
/// Name of the folder of evaluation keys below a table's prefix.
pub const KEYS_NAME: &str = "keys";

/// Most chunks of a part.
pub const MAX_PART_CHUNKS: u32 = 64;
/// A part is cut at the first chunk that reaches this size.
pub const PART_TARGET_BYTES: u64 = 32 << 20;
/// Largest size of a part's columns once decompressed: far above what a writer makes, far below what hurts.
pub const MAX_UNCOMPRESSED_BYTES: u64 = 1 << 31;

/// Parts of at least this size have their hash tree beside them; smaller ones are read whole anyway.
pub const TREE_FROM_BYTES: u64 = 1 << 20;

/// Version of both kinds of part file, under [`FORMAT_KEY`] in the Parquet footer of encrypted ones.
pub const PART_FORMAT: &str = "1";
/// Footer key of the version.
pub const FORMAT_KEY: &str = "hushtable.part";

/// The kinds of file that a manifest names: the two halves of a part, and evaluation keys, zones, lists of dead rows, cubes and sorted
/// runs, which are stored, sent and checked as parts are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// Clear columns.
    Clear,
    /// Encodings and sealed columns.
    Encrypted,
    /// Evaluation keys.
    Key,
    /// Bounds of the clear columns of all parts.
    Zones,
    /// The rows of a part that were deleted.
    Dead,
    /// The cubes of a part.
    Cubes,
    /// The sorted runs of a part.
    Runs,
}

impl FileKind {
    /// Every kind.
    pub const ALL: [Self; 7] =
        [Self::Clear, Self::Encrypted, Self::Key, Self::Zones, Self::Dead, Self::Cubes, Self::Runs];

    /// The folder of files of this kind, below a table's prefix.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Clear | Self::Encrypted | Self::Zones | Self::Dead | Self::Cubes | Self::Runs => PARTS_NAME,
            Self::Key => KEYS_NAME,
        }
    }

    /// Name of a file of this kind in its folder.
    pub fn file_name(self, digest: &Digest) -> String {
        match self {
            Self::Clear => format!("{digest}.clear.parquet"),
            Self::Encrypted => format!("{digest}.enc.parquet"),
            Self::Key => format!("{digest}.key"),
            Self::Zones => format!("{digest}.zones.parquet"),
            Self::Dead => format!("{digest}.dead"),
            Self::Cubes => format!("{digest}.cubes"),
            Self::Runs => format!("{digest}.runs"),
        }
    }

    /// Name of the file that holds the hash tree of a file of this kind, beside it.
    pub fn tree_name(self, digest: &Digest) -> String {
        match self {
            Self::Clear => format!("{digest}.clear.tree"),
            Self::Encrypted => format!("{digest}.enc.tree"),
            Self::Key => format!("{digest}.key.tree"),
            Self::Zones => format!("{digest}.zones.tree"),
            Self::Dead => format!("{digest}.dead.tree"),
            Self::Cubes => format!("{digest}.cubes.tree"),
            Self::Runs => format!("{digest}.runs.tree"),
        }
    }
}

/// The name of a file of a part or of keys: its kind, and the digest of its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PartName {
    /// Its kind.
    pub kind: FileKind,
    /// BLAKE3 of its content.
    pub digest: Digest,
}

impl PartName {
    /// The name of a part.
    pub fn new(kind: FileKind, digest: Digest) -> Self {
        Self { kind, digest }
    }

    /// The file's name in its folder.
    pub fn file_name(&self) -> String {
        self.kind.file_name(&self.digest)
    }

    /// Name of the file with its hash tree, beside it.
    pub fn tree_name(&self) -> String {
        self.kind.tree_name(&self.digest)
    }

    /// The part or key to which a file belongs: itself, or its hash tree. `None` for other files.
    pub fn of_file(name: &str) -> Option<Self> {
        let digest = name.split('.').next()?.parse().ok()?;
        let parts = FileKind::ALL.map(|kind| Self { kind, digest });
        parts.into_iter().find(|part| part.file_name() == name || part.tree_name() == name)
    }
}

/// One chunk as encryption hands it over.
#[derive(Clone, Debug)]
pub struct EncodedChunk {
    /// Global index of the chunk in its table.
    pub index: u32,
    /// Rows, 1 to [`CHUNK_ROWS`].
    pub rows: u32,
    /// Public seed that all its encodings share.
    pub seed: [u8; 32],
    /// One blob per encoding, in the order of the manifest.
    pub encoded: Vec<Bytes>,
    /// One blob per sealed column.
    pub sealed: Vec<Bytes>,
}

/// One chunk as it is read back: the columns that the [`Projection`] asked for, in its order.
#[derive(Clone, Debug)]
pub struct ChunkRow {
    /// Global index of the chunk in its table.
    pub index: u32,
    /// The index in the file, to which the blobs are bound. It differs from `index` in parts that a device made.
    pub written: u32,
    /// Rows, 1 to [`CHUNK_ROWS`].
    pub rows: u32,
    /// The seed, if asked for.
    pub seed: Option<[u8; 32]>,
    /// One blob per encoding asked for.
    pub encoded: Vec<Bytes>,
    /// One blob per sealed column asked for.
    pub sealed: Vec<Bytes>,
}

/// The columns and chunks of an encrypted part that are to be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Projection {
    /// Whether to read seeds.
    pub seed: bool,
    /// Encodings to read.
    pub encodings: Vec<EncodingId>,
    /// Sealed columns to read, by number.
    pub sealed: Vec<u32>,
    /// Global indices of the chunks to read, in any order; `None` reads all.
    pub chunks: Option<Vec<u32>>,
}

impl Projection {
    /// Some encodings of every chunk, with seeds.
    pub fn encodings(encodings: impl IntoIterator<Item = EncodingId>) -> Self {
        Self { seed: true, encodings: encodings.into_iter().collect(), ..Self::default() }
    }
}

/// A part file that has been written but not yet stored.
#[derive(Clone, Debug)]
pub struct WrittenPart {
    /// Which kind.
    pub kind: FileKind,
    /// The file's content.
    pub bytes: Bytes,
    /// Digest and length, for the manifest.
    pub file: PartFile,
    /// Hash tree of the content.
    pub tree: DigestTree,
    /// Table rows that it covers.
    pub rows: u64,
    /// Chunks that it covers.
    pub chunks: u32,
}

impl WrittenPart {
    pub(crate) fn new(kind: FileKind, bytes: impl Into<Bytes>, rows: u64, chunks: u32) -> Self {
        let bytes = bytes.into();
        let tree = DigestTree::of(&bytes);
        let file = PartFile { digest: tree.digest(), bytes: bytes.len() as u64 };
        Self { kind, bytes, file, tree, rows, chunks }
    }
}

/// Name of an encoding's column in an encrypted part.
fn encoding_column(id: EncodingId) -> String {
    format!("e{}", id.0)
}

/// Name of a sealed column in an encrypted part.
fn sealed_column(number: u32) -> String {
    format!("s{number}")
}
