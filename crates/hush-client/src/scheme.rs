// SPDX-License-Identifier: Apache-2.0
//! The owner's work that depends on whether a table is encrypted: storing its columns, and opening the objects of answers.
//!
//! [`Lattice`] encrypts, [`NoOp`] copies. The code that makes or opens a table in memory chooses one. All other code asks the
//! table's scheme, once for a chunk or for an object of an answer. `hush-exec` has the server's half of each scheme.

mod lattice;
mod noop;

use bytes::Bytes;
use hush_exec::answer::RowsChunk;
use hush_exec::program::ProgramShape;
use hush_exec::{Engine, Limits};
use hush_keys::ChunkEncryption;
use hush_plan::bounds::Bound;
use hush_rlwe::ObjectRounding;
use hush_table::TableStore;

use crate::cells::Cells;
use crate::error::ClientError;
use crate::number::Number;
use crate::packing::{Column, ColumnKey, SumOfProducts};
use crate::release::Release;

pub(crate) use self::lattice::Lattice;
pub(crate) use self::noop::NoOp;

/// The owner's half of a scheme.
pub(crate) trait Scheme: Sync {
    /// The stored form of a chunk's columns, in their order: nothing for those whose ring elements an earlier chunk has.
    ///
    /// # Errors
    /// [`ClientError::OutOfBounds`] for a value that its encoding does not hold; no entropy.
    fn encode(
        &self,
        chunk: &mut ChunkEncryption<'_>,
        columns: &[Option<Column<'_>>],
    ) -> Result<Vec<Bytes>, ClientError>;

    /// An engine in this process that computes on such columns.
    ///
    /// # Errors
    /// [`ClientError::Exec`].
    fn engine(&self, store: TableStore, threads: usize, limits: Limits) -> Result<Engine, ClientError>;

    /// Opens the sums of one block of columns in one group.
    ///
    /// # Errors
    /// Bytes that are no such sums.
    fn sums<'a>(
        &self,
        object: &'a [u8],
        group: u32,
        columns: &[&ColumnKey],
    ) -> Result<Box<dyn BlockSums + 'a>, ClientError>;

    /// Opens sums of products: what the slots of each add up to. `key` is that of one of the columns that were multiplied; all are under one secret.
    ///
    /// # Errors
    /// Bytes that are no such sums; a phase beyond its limit; a secret for which roundings cannot be trusted.
    fn products(&self, key: &ColumnKey, sums: &[SumOfProducts<'_>]) -> Result<Vec<i128>, ClientError>;

    /// The same, each slot by itself: numbers that are the slots' modulo the prime of slots.
    ///
    /// # Errors
    /// As [`Scheme::products`].
    fn slots(&self, key: &ColumnKey, sums: &[SumOfProducts<'_>]) -> Result<Vec<Vec<i128>>, ClientError>;

    /// A stored column that an answer carries, each value within its bound. With a `release`, approximate values have the form that
    /// may leave the owner. `chunk` is the chunk with its number in its file.
    ///
    /// # Errors
    /// Bytes that are damaged or belong elsewhere; [`ClientError::Beyond`].
    fn fetched(
        &self,
        column: &Fetched<'_>,
        chunk: (&RowsChunk<'_>, u32),
        blob: &[u8],
        release: Option<&Release<'_>>,
    ) -> Result<Cells, ClientError>;

    /// The result of a program on a chunk, not compared with its bound yet. With a `release`, approximate values have the form that
    /// may leave the owner.
    ///
    /// # Errors
    /// Bytes that are damaged or belong elsewhere.
    fn computed(
        &self,
        program: &Computed<'_>,
        chunk: &RowsChunk<'_>,
        object: &[u8],
        release: Option<&Release<'_>>,
    ) -> Result<Cells, ClientError>;
}

/// The sums of one block in one group.
pub(crate) trait BlockSums {
    /// The sum of the column at `place` of the block, not compared with its bound yet.
    ///
    /// # Errors
    /// Those of decryption; bytes that are no sum of the column.
    fn number(&self, place: usize, key: &ColumnKey, bound: &Bound) -> Result<Number, ClientError>;

    /// The number that may leave the owner in place of the sum; `None` if the sum may leave as it is.
    ///
    /// # Errors
    /// Those of [`Release`].
    fn released(
        &self,
        place: usize,
        key: &ColumnKey,
        bound: &Bound,
        release: &Release<'_>,
    ) -> Result<Option<Number>, ClientError>;
}

/// A stored column that an answer carries.
pub(crate) struct Fetched<'a> {
    pub(crate) key: &'a ColumnKey,
    /// The rounding of its objects, if any.
    pub(crate) rounding: Option<ObjectRounding>,
    pub(crate) bound: &'a Bound,
}

/// A program whose results an answer carries.
pub(crate) struct Computed<'a> {
    pub(crate) shape: ProgramShape,
    /// One of its columns: all are under one secret.
    pub(crate) key: &'a ColumnKey,
    /// The rounding of its objects, if any.
    pub(crate) rounding: Option<ObjectRounding>,
    pub(crate) bound: &'a Bound,
}
