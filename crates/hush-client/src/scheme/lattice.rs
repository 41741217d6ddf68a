// SPDX-License-Identifier: Apache-2.0
//! BGV and CKKS: columns and answers are ciphertexts.

use bytes::Bytes;
use hush_exec::answer::RowsChunk;
use hush_exec::{Engine, Limits};
use hush_keys::ChunkEncryption;
use hush_plan::bounds::Bound;
use hush_rlwe::{CiphertextSetId, SumAnswer, UncheckedCiphertextSet, UncheckedSumAnswer, has_masks};
use hush_table::TableStore;

use super::{BlockSums, Computed, Fetched, Scheme};
use crate::cells::Cells;
use crate::cells::decrypt::{body_of, decrypt_chunk};
use crate::error::ClientError;
use crate::number::Number;
use crate::packing::{Column, ColumnKey, ProgramResult, SumOfProducts};
use crate::release::Release;

/// Encrypts and decrypts.
pub(crate) struct Lattice;

impl Scheme for Lattice {
    /// Columns of one packing over one ring share the expansion of a mask, where the packing has one.
    fn encode(
        &self,
        chunk: &mut ChunkEncryption<'_>,
        columns: &[Option<Column<'_>>],
    ) -> Result<Vec<Bytes>, ClientError> {
        let mut blobs = vec![Bytes::new(); columns.len()];
        for (places, family) in families(columns) {
            let Some(first) = family.first() else { continue };
            let encrypted = first.key.codec.owned().encrypt(chunk, &family)?;
            if encrypted.len() != places.len() {
                return Err(ClientError::Internal { what: "a column was left unencrypted" });
            }
            for (place, blob) in places.into_iter().zip(encrypted) {
                blobs[place] = blob.into();
            }
        }
        Ok(blobs)
    }

    fn engine(&self, store: TableStore, threads: usize, limits: Limits) -> Result<Engine, ClientError> {
        Ok(Engine::for_table(store, threads, limits)?)
    }

    fn sums<'a>(
        &self,
        object: &'a [u8],
        group: u32,
        columns: &[&ColumnKey],
    ) -> Result<Box<dyn BlockSums + 'a>, ClientError> {
        let Some(first) = columns.first() else {
            return Err(ClientError::Internal { what: "a block of sums without columns" });
        };
        let answer =
            UncheckedSumAnswer::decode(object)?.conform(first.ring(), group, columns.len() as u32)?;
        Ok(Box::new(EncryptedSums(answer)))
    }

    fn products(&self, key: &ColumnKey, sums: &[SumOfProducts<'_>]) -> Result<Vec<i128>, ClientError> {
        key.codec.owned().products(key, sums)
    }

    fn slots(&self, key: &ColumnKey, sums: &[SumOfProducts<'_>]) -> Result<Vec<Vec<i128>>, ClientError> {
        key.codec.owned().slots_of_products(key, sums)
    }

    fn fetched(
        &self,
        Fetched { key, rounding, bound }: &Fetched<'_>,
        (chunk, written): (&RowsChunk<'_>, u32),
        blob: &[u8],
        release: Option<&Release<'_>>,
    ) -> Result<Cells, ClientError> {
        let decrypt =
            |blob: &[u8]| decrypt_chunk(key, (chunk.seed, written, chunk.rows), blob, bound, release);
        // Bodies that devices encrypted come whole.
        match rounding.as_ref().filter(|_| !has_masks(blob)) {
            None => decrypt(blob),
            Some(rounding) => {
                let (kind, id) = body_of(key, written, chunk.rows)?;
                decrypt(&rounding.restore_body(blob, kind, id)?)
            }
        }
    }

    fn computed(
        &self,
        Computed { shape, key, rounding, bound }: &Computed<'_>,
        chunk: &RowsChunk<'_>,
        object: &[u8],
        release: Option<&Release<'_>>,
    ) -> Result<Cells, ClientError> {
        let id = CiphertextSetId {
            chunk: chunk.chunk,
            element_count: shape.packing.element_count(shape.set, chunk.rows),
            lanes: shape.lanes(),
            components: shape.components(),
        };
        let set = match rounding {
            Some(rounding) => rounding.restore_ciphertexts(object, id)?,
            None => UncheckedCiphertextSet::decode(object)?.conform(key.ring(), id)?,
        };
        let result = ProgramResult {
            ciphertexts: &set.ciphertexts,
            lanes: usize::from(id.lanes),
            scale_power: shape.scale_power,
            bound,
        };
        key.codec.owned().program(key, &result, release)
    }
}

struct EncryptedSums(SumAnswer);

impl BlockSums for EncryptedSums {
    fn number(&self, place: usize, key: &ColumnKey, bound: &Bound) -> Result<Number, ClientError> {
        key.codec.owned().sum(key, (&self.0, place), bound)
    }

    fn released(
        &self,
        place: usize,
        key: &ColumnKey,
        bound: &Bound,
        release: &Release<'_>,
    ) -> Result<Option<Number>, ClientError> {
        key.codec.owned().release_sum(key, (&self.0, place), bound, release)
    }
}

/// The columns that are encrypted together, since they may share a mask, with their places: those of one packing over one ring.
fn families<'a>(columns: &[Option<Column<'a>>]) -> Vec<(Vec<usize>, Vec<Column<'a>>)> {
    let mut families: Vec<(Vec<usize>, Vec<Column<'a>>)> = Vec::new();
    for (place, column) in columns.iter().enumerate() {
        let Some(column @ Column { key, .. }) = column else { continue };
        let alike = |(_, members): &&mut (Vec<usize>, Vec<Column<'a>>)| {
            members.first().is_some_and(|Column { key: other, .. }| {
                other.ring().param_code() == key.ring().param_code() && other.codec.is_like(&key.codec)
            })
        };
        match families.iter_mut().find(alike) {
            Some((places, members)) => {
                places.push(place);
                members.push(*column);
            }
            None => families.push((vec![place], vec![*column])),
        }
    }
    families
}
