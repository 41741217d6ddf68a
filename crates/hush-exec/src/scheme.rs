// SPDX-License-Identifier: Apache-2.0
//! Everything that depends on whether a table is encrypted: the data in stored columns and answers, and computation on it.
//!
//! [`Lattice`] computes on ciphertexts, [`NoOp`] on plain values. An engine has one of them from the start, and everything
//! between a plan and its answer is generic over [`Scheme`]: loops over rows are compiled for each scheme, and no other code
//! asks which scheme it is.

mod computed;
mod lattice;
mod noop;
mod products;
mod program;

use hush_plan::{EncodingId, Packing};
use hush_ring::Ring;
use hush_rlwe::ObjectRounding;
use hush_table::ChunkRow;

pub(crate) use self::lattice::Lattice;
pub(crate) use self::noop::NoOp;
pub(crate) use self::products::{ProductChunk, ProductTotal, Products, RunningProducts};
pub(crate) use self::program::Program;

use crate::clear::masks::RowMask;
use crate::clear::select::Operand;
use crate::error::ExecError;
use crate::kept::KeptSum;
use crate::table::{PartRef, Snapshot};

/// A representation of columns, with the computation on it.
pub(crate) trait Scheme: Sync + 'static {
    /// Its sums.
    type Sums: RunningSums;
    /// A finished sum.
    type Total: Total;
    /// Its sums of products.
    type Products: RunningProducts;

    /// The rounding of an answer's objects to `bits` bits; `None` if they are not rounded.
    ///
    /// # Errors
    /// [`ExecError::Internal`] for bits out of range, which the check of the plan rules out.
    fn rounding(ring: &Ring, packing: &Packing, bits: u32) -> Result<Option<ObjectRounding>, ExecError>;

    /// Evaluates a program on the rows of a chunk: the object that the answer carries.
    ///
    /// # Errors
    /// [`ExecError::Corrupt`], [`ExecError::Weight`], [`ExecError::Internal`].
    fn evaluate(
        program: &Program<'_>,
        chunk: &ChunkInput<'_>,
        operands: &[Operand],
    ) -> Result<Vec<u8>, ExecError>;
}

/// Sums of one block's columns on one thread, for each of some groups.
pub(crate) trait RunningSums: Send + Sized {
    /// Whether the sum of a whole part can be kept for the next plan, which is faster than to sum it again.
    const CAN_BE_KEPT: bool;

    /// Sums of no rows yet.
    fn new(ring: &Ring, group_count: usize, column_count: usize) -> Self;

    /// Memory of so many sums.
    fn memory_bytes(ring: &Ring, group_count: usize, column_count: usize) -> usize;

    /// Adds the rows of a chunk that a mask selects, each as often as its weight says.
    ///
    /// # Errors
    /// [`ExecError::Corrupt`] if a column does not fit the manifest; [`ExecError::Internal`].
    fn absorb(&mut self, mask: &RowMask, block: &BlockInput<'_>) -> Result<(), ExecError>;

    /// Adds the sums of another thread.
    ///
    /// # Errors
    /// [`ExecError::Internal`].
    fn merge(&mut self, other: Self) -> Result<(), ExecError>;

    /// The answer's object of each group; the first group has number `first`.
    ///
    /// # Errors
    /// [`ExecError::Internal`].
    fn encode(self, first: usize) -> Result<Vec<Vec<u8>>, ExecError>;

    /// The sum of a whole part, to be kept.
    ///
    /// # Errors
    /// [`ExecError::Internal`], always if sums cannot be kept.
    fn into_kept(self) -> Result<KeptSum, ExecError> {
        Err(ExecError::Internal { place: "kept sum" })
    }

    /// Adds a sum that was kept.
    ///
    /// # Errors
    /// As [`RunningSums::into_kept`].
    fn absorb_kept(&mut self, _sum: &KeptSum) -> Result<(), ExecError> {
        Err(ExecError::Internal { place: "kept sum" })
    }
}

/// The sums of one block's columns for one group, as partial answers carry and add them.
pub(crate) trait Total: Send + Sized {
    /// Reads an object that [`RunningSums::encode`] or [`Total::encode`] has written for group `group`; `None` if it is none for so
    /// many columns.
    fn decode(object: &[u8], ring: &Ring, group: u32, column_count: usize) -> Option<Self>;

    /// Adds the sums over other rows. The order does not matter, except for the last bits of reals in dry runs.
    ///
    /// # Errors
    /// [`ExecError::Internal`] if they are of other columns, and in dry runs for sums beyond 255 bits.
    fn add(&mut self, other: Self) -> Result<(), ExecError>;

    /// The object that the answer carries.
    ///
    /// # Errors
    /// [`ExecError::Internal`].
    fn encode(&self, group: u32) -> Result<Vec<u8>, ExecError>;

    /// Bytes of every such object.
    fn object_bytes(ring: &Ring, column_count: usize) -> usize;
}

/// One chunk as its file has it.
#[derive(Clone, Copy)]
pub(crate) struct ChunkInput<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) part: PartRef<'a>,
    /// The encoded columns that were read, ascending; blobs of `row` in the same order.
    pub(crate) columns: &'a [EncodingId],
    pub(crate) row: &'a ChunkRow,
}

/// The columns of one block in one chunk.
pub(crate) struct BlockInput<'a> {
    pub(crate) ring: &'a Ring,
    pub(crate) columns: &'a [EncodingId],
    pub(crate) chunk: ChunkInput<'a>,
}

impl<'a> ChunkInput<'a> {
    /// The blob of a column.
    ///
    /// # Errors
    /// [`ExecError::Internal`] if it has not been read.
    pub(crate) fn blob(&self, column: EncodingId) -> Result<&'a [u8], ExecError> {
        let place = self.columns.binary_search(&column).ok();
        let blob = place.and_then(|place| self.row.encoded.get(place));
        blob.map(AsRef::as_ref).ok_or(ExecError::Internal { place: "column of a chunk" })
    }

    /// Number of rows.
    pub(crate) fn row_count(&self) -> usize {
        self.row.rows as usize
    }
}

/// The error of a chunk that does not fit its manifest.
const DAMAGED: ExecError = ExecError::Corrupt { code: "HUSH-T033" };
