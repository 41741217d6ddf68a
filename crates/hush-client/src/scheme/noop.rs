// SPDX-License-Identifier: Apache-2.0
//! The scheme that encrypts nothing, for dry runs and for rows that are decrypted already. Nothing of it is ever stored or sent.

use bytes::Bytes;
use ethnum::I256;
use hush_exec::answer::RowsChunk;
use hush_exec::plain::PlainSum;
use hush_exec::{Engine, Limits};
use hush_keys::ChunkEncryption;
use hush_plan::bounds::Bound;
use hush_table::TableStore;

use super::{BlockSums, Computed, Fetched, Scheme};
use crate::bounds::check_rows;
use crate::cells::Cells;
use crate::error::ClientError;
use crate::number::Number;
use crate::packing::{Column, ColumnKey, SumOfProducts};
use crate::release::Release;

/// Copies values. It releases them as they are, because there are no errors of encryption to hide.
pub(crate) struct NoOp;

impl Scheme for NoOp {
    fn encode(
        &self,
        _chunk: &mut ChunkEncryption<'_>,
        columns: &[Option<Column<'_>>],
    ) -> Result<Vec<Bytes>, ClientError> {
        let copy = |column: &Option<Column<'_>>| match column {
            Some(Column { key, values }) => Ok(key.codec.owned().plain(key, *values)?.encode().into()),
            None => Ok(Bytes::new()),
        };
        columns.iter().map(copy).collect()
    }

    fn engine(&self, store: TableStore, threads: usize, limits: Limits) -> Result<Engine, ClientError> {
        Ok(Engine::dry_run(store, threads, limits)?)
    }

    fn sums<'a>(
        &self,
        object: &'a [u8],
        _group: u32,
        _columns: &[&ColumnKey],
    ) -> Result<Box<dyn BlockSums + 'a>, ClientError> {
        Ok(Box::new(PlainSums(object)))
    }

    fn products(&self, _key: &ColumnKey, sums: &[SumOfProducts<'_>]) -> Result<Vec<i128>, ClientError> {
        let missing = || ClientError::Answer { what: "a run of chunks has no plain sums".into() };
        let number = |sum: &SumOfProducts<'_>| match PlainSum::decode(sum.object) {
            Some(PlainSum::Exact(number)) => i128::try_from(number).map_err(|_| missing()),
            Some(PlainSum::Approx(_)) | None => Err(missing()),
        };
        sums.iter().map(number).collect()
    }

    fn slots(&self, _key: &ColumnKey, sums: &[SumOfProducts<'_>]) -> Result<Vec<Vec<i128>>, ClientError> {
        let missing = || ClientError::Answer { what: "a run of chunks has no plain slots".into() };
        let slots = |sum: &SumOfProducts<'_>| match Cells::plain(sum.object)? {
            Cells::Exact(slots) => {
                let narrow = |slot: &I256| i128::try_from(*slot).map_err(|_| missing());
                slots.iter().map(narrow).collect()
            }
            Cells::Approx(_) => Err(missing()),
        };
        sums.iter().map(slots).collect()
    }

    fn fetched(
        &self,
        column: &Fetched<'_>,
        _chunk: (&RowsChunk<'_>, u32),
        blob: &[u8],
        _release: Option<&Release<'_>>,
    ) -> Result<Cells, ClientError> {
        let cells = Cells::plain(blob)?;
        check_rows(&column.key.content_name(), &cells, column.bound)?;
        Ok(cells)
    }

    fn computed(
        &self,
        _program: &Computed<'_>,
        _chunk: &RowsChunk<'_>,
        object: &[u8],
        _release: Option<&Release<'_>>,
    ) -> Result<Cells, ClientError> {
        Cells::plain(object)
    }
}

/// Sums of equal length, one after the other.
struct PlainSums<'a>(&'a [u8]);

impl BlockSums for PlainSums<'_> {
    fn number(&self, place: usize, key: &ColumnKey, _bound: &Bound) -> Result<Number, ClientError> {
        let sum = self.0.chunks(PlainSum::BYTES).nth(place).and_then(PlainSum::decode);
        let number = sum.map(|sum| key.codec.owned().plain_sum(sum)).transpose()?;
        number.flatten().ok_or_else(|| ClientError::Answer { what: "a group has no plain sums".into() })
    }

    fn released(
        &self,
        _place: usize,
        _key: &ColumnKey,
        _bound: &Bound,
        _release: &Release<'_>,
    ) -> Result<Option<Number>, ClientError> {
        Ok(None)
    }
}
