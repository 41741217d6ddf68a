// SPDX-License-Identifier: Apache-2.0
//! Answers: one binary container that a server sends back for a plan, the same in embedded and in network mode.
//!
//! The bytes are specified in `docs/formats/answer.md`. Everything inside is either clear by the owner's decision
//! or ciphertext. The reader trusts nobody. It compares lengths with each other and with the bytes present before it
//! looks at or allocates anything; then it compares the checksum, and then it reads the pieces. The owner's plan, not the
//! answer, says what form the encrypted objects must have: see [`hush_rlwe::UncheckedSumAnswer::conform`] and
//! [`hush_rlwe::UncheckedCiphertextSet::conform`].

mod clear;
mod numbers;
mod pieces;
mod read;
#[cfg(test)]
mod tests;
mod write;

use hush_table::{Digest, PackedSums};

use crate::parts::PartSet;

pub use crate::conform::{
    ProductRun, RunChunks, Strata, SumBlock, SumPlace, masks_products, product_runs, sum_blocks,
};
pub(crate) use clear::{write_clear, write_matching};
pub use numbers::RowNumbers;
pub(crate) use numbers::{ROW, bytes_of_first, bytes_of_some};
pub use pieces::RunPieces;
pub(crate) use pieces::pieces_bytes;
pub(crate) use write::{AnswerHead, RowsChunkParts, Section, encode_aggregate, encode_products, encode_rows};

/// First bytes of every answer.
pub const MAGIC: [u8; 8] = *b"HUSHANS1";
/// Version of the container.
pub const VERSION: u16 = 2;
/// The version before, in which the numbers of matching rows are a column of the clear half.
pub(crate) const NUMBERS_IN_COLUMN: u16 = 1;
/// Bytes of the fixed head.
pub const HEAD_BYTES: usize = 128;
/// Bytes of the checksum at the end.
pub const CHECKSUM_BYTES: usize = 32;
/// Bytes of a range of parts in a partial answer.
pub const RANGE_BYTES: usize = 8;
/// Bytes of a block's entry in an aggregate answer.
pub const BLOCK_ENTRY_BYTES: usize = 16;
/// Bytes of a chunk's entry in a rows answer, before its objects' lengths.
pub const CHUNK_ENTRY_BYTES: usize = 40;
/// Bytes of a run's entry in a products answer, before its objects' lengths.
pub const RUN_ENTRY_BYTES: usize = 4;

/// A decoded answer: views into the bytes received.
///
/// *Secrecy.* Clear columns are clear; everything else is ciphertext.
#[derive(Clone, Debug)]
pub struct Answer<'a> {
    /// Digest of the manifest that the server worked on.
    pub manifest: Digest,
    /// BLAKE3 of the plan's bytes.
    pub plan: Digest,
    /// The encrypted half.
    pub encrypted: EncryptedHalf<'a>,
    /// Of a rows task with a cube: the cells' sums over the parts that have it, with the owner's pads in them.
    pub cells: Option<PackedSums<'a>>,
    /// Of a rows task with a sorted run: what was asked of the parts that have it, as the owner has sealed it.
    pub pieces: Option<RunPieces<'a>>,
    clear: &'a [u8],
    version: u16,
}

/// The share of some parts of a table in an answer, decoded. [`crate::Combiner`] adds up those of all parts.
///
/// Its form is that of an answer, with two differences: it names the parts, and its clear half has aggregates `a0…` as they merge in
/// the place of `c0…`.
///
/// *Secrecy.* As an answer.
#[derive(Clone, Debug)]
pub struct PartialAnswer<'a> {
    /// The parts that it covers, by their places in the manifest.
    pub parts: PartSet,
    /// Their share, in the form of an answer.
    pub answer: Answer<'a>,
}

/// The kinds of content; the bytes tell partial answers from whole ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Aggregate,
    Products,
    Rows,
}

impl Kind {
    /// The byte in the head.
    fn written(self, is_partial: bool) -> u8 {
        match (self, is_partial) {
            (Self::Aggregate, false) => 1,
            (Self::Rows, false) => 2,
            (Self::Aggregate, true) => 3,
            (Self::Rows, true) => 4,
            (Self::Products, false) => 5,
            (Self::Products, true) => 6,
        }
    }

    /// The kind that a byte means, and whether of a partial answer.
    fn read(byte: u8) -> Option<(Self, bool)> {
        let all = [Self::Aggregate, Self::Products, Self::Rows].map(|kind| [(kind, false), (kind, true)]);
        all.into_iter().flatten().find(|(kind, is_partial)| kind.written(*is_partial) == byte)
    }
}

/// What stands in front of the objects of a rows answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum SectionKind {
    /// The cells of a cube, or nothing.
    #[default]
    Cells,
    /// Pieces of a sorted run.
    Pieces,
}

impl SectionKind {
    /// The byte in the head.
    fn written(self) -> u8 {
        match self {
            Self::Cells => 0,
            Self::Pieces => 1,
        }
    }

    /// The kind that a byte means.
    fn read(byte: u8) -> Option<Self> {
        [Self::Cells, Self::Pieces].into_iter().find(|kind| kind.written() == byte)
    }
}

/// The encrypted half of an answer.
#[derive(Clone, Debug)]
pub enum EncryptedHalf<'a> {
    /// Of an aggregate task.
    Aggregate(AggregateAnswer<'a>),
    /// Of a task of products.
    Products(ProductsAnswer<'a>),
    /// Of a rows task: the chunks with matching rows, ascending.
    Rows(Vec<RowsChunk<'a>>),
}

/// Encrypted sums, one answer per block and group.
#[derive(Clone, Debug)]
pub struct AggregateAnswer<'a> {
    /// Number of groups; the clear half has as many rows.
    pub group_count: u32,
    /// In the order of [`sum_blocks`].
    pub blocks: Vec<BlockAnswers<'a>>,
}

/// The answers of one block: [`hush_rlwe::SumAnswer`] objects of equal length.
#[derive(Clone, Copy, Debug)]
pub struct BlockAnswers<'a> {
    /// Index of the mask in the plan.
    pub mask: u32,
    /// Code of the parameter set.
    pub param_code: u16,
    /// Bodies of each object.
    pub body_count: u32,
    object_bytes: usize,
    objects: &'a [u8],
}

impl<'a> BlockAnswers<'a> {
    /// Bytes of each object; 0 without groups.
    pub(crate) fn object_bytes(&self) -> usize {
        self.object_bytes
    }

    /// The object of a group.
    pub fn object(&self, group: u32) -> Option<&'a [u8]> {
        self.objects.chunks_exact(self.object_bytes.max(1)).nth(group as usize)
    }
}

/// Encrypted sums of products, of each run of chunks ([`product_runs`]).
#[derive(Clone, Debug)]
pub struct ProductsAnswer<'a> {
    /// Number of groups, where the plan has keys; the clear half has as many rows.
    pub group_count: Option<u32>,
    /// Numbers rising. An answer has all runs, a partial one those of which it covers a part.
    pub runs: Vec<ProductsRun<'a>>,
}

/// The sums of products over one run of chunks.
#[derive(Clone, Debug)]
pub struct ProductsRun<'a> {
    /// The run's place among those of the table.
    pub number: u32,
    /// An object for each sum of the plan, of groups for each of these in turn: rounded as the plan says, in a partial answer with residues. In a dry run a plain sum.
    pub objects: Vec<&'a [u8]>,
}

/// One chunk of a rows answer.
#[derive(Clone, Debug)]
pub struct RowsChunk<'a> {
    /// Global index of the chunk.
    pub chunk: u32,
    /// Rows of the chunk.
    pub rows: u32,
    /// The chunk's public seed, from which the masks of fetched columns are expanded.
    pub seed: [u8; 32],
    /// One [`hush_rlwe::CiphertextSet`] object per program of the plan.
    pub programs: Vec<&'a [u8]>,
    /// One body object per fetched column of the plan, as stored; then the blobs of its sealed columns.
    pub fetched: Vec<&'a [u8]>,
}

/// A fault of bytes that are not an answer, or not the one asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// Does not begin like an answer.
    #[error("this is not an answer of a Hushtable server")]
    Magic,
    /// Another version of the format.
    #[error("the answer has format {found}, this program reads {expected}")]
    Version {
        /// Version found.
        found: u16,
        /// Version read.
        expected: u16,
    },
    /// More bytes than the plan allowed.
    #[error("the answer has {found} bytes, the plan allowed {limit}")]
    TooLarge {
        /// Bytes found.
        found: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// Lengths that contradict each other or the bytes present.
    #[error("the answer's lengths do not fit together: {found} bytes where {expected} are due")]
    Length {
        /// Bytes found.
        found: u64,
        /// Bytes expected.
        expected: u64,
    },
    /// Damaged in transit.
    #[error("the answer was damaged in transit: its checksum does not match")]
    Checksum,
    /// A field with a value that this version does not have.
    #[error("the answer has a field that this version does not know")]
    Field,
    /// Cells of a cube that have no possible shape, or another length than it.
    #[error("the cells of the answer are malformed")]
    Cells,
    /// Pieces of a sorted run that are none, out of order, or of other lengths than they say.
    #[error("the pieces of a sorted run in the answer are malformed")]
    Pieces,
    /// The clear half is not an Arrow stream of one batch that fits the rest.
    #[error("the clear half of the answer is malformed")]
    Clear,
    /// Computed on another version of the table.
    #[error("the answer was computed on another version of the table ({found})")]
    OtherManifest {
        /// Digest of the manifest that the server used.
        found: Digest,
    },
    /// Answers another plan.
    #[error("the answer belongs to another plan")]
    OtherPlan,
    /// A partial answer in place of a whole one, or the other way round.
    #[error(
        "the bytes are {found}, expected is {expected}; a whole answer is made by combining the partial ones of all parts"
    )]
    Extent {
        /// Form found.
        found: &'static str,
        /// Form expected.
        expected: &'static str,
    },
    /// Ranges of parts that are empty, out of order, or not apart.
    #[error(
        "the partial answer names its parts in another way than the one there is; evaluate those parts again"
    )]
    Ranges,
}

impl AnswerError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Magic => "HUSH-E080",
            Self::Version { .. } => "HUSH-E081",
            Self::TooLarge { .. } => "HUSH-E082",
            Self::Length { .. } => "HUSH-E083",
            Self::Checksum => "HUSH-E084",
            Self::Field => "HUSH-E085",
            Self::Clear => "HUSH-E086",
            Self::OtherManifest { .. } => "HUSH-E087",
            Self::OtherPlan => "HUSH-E088",
            Self::Extent { .. } => "HUSH-E089",
            Self::Ranges => "HUSH-E090",
            Self::Cells => "HUSH-E091",
            Self::Pieces => "HUSH-E092",
        }
    }
}

/// Bytes that an aggregate answer takes beside its clear half and its objects.
pub(crate) fn aggregate_overhead(blocks: usize) -> u64 {
    (HEAD_BYTES + blocks * BLOCK_ENTRY_BYTES + CHECKSUM_BYTES) as u64
}

/// Bytes that a products answer of so many runs, each with so many sums, takes beside its clear half and its objects.
pub(crate) fn products_overhead(runs: usize, sums: usize, ranges: usize) -> u64 {
    let run_bytes = (RUN_ENTRY_BYTES + 4 * sums) as u64;
    let directory = (runs as u64).saturating_mul(run_bytes).saturating_add((ranges * RANGE_BYTES) as u64);
    directory.saturating_add((HEAD_BYTES + CHECKSUM_BYTES) as u64)
}

/// Bytes that a chunk of a rows answer takes beside its objects.
pub(crate) fn chunk_overhead(objects: usize) -> u64 {
    (CHUNK_ENTRY_BYTES + 4 * objects) as u64
}
