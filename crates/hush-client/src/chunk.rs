// SPDX-License-Identifier: Apache-2.0
//! Encrypting one chunk: every encoded column, and the sealed ones.

use std::collections::BTreeMap;

use arrow::array::ArrayRef;
use arrow::datatypes::{Field, Schema as ArrowSchema};
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use hush_encode::{QuantityValues, quantity_values};
use hush_exec::noop::Scheme;
use hush_keys::{ChunkEncryption, Encryptor, SealKey};
use hush_table::EncodedChunk;
use hush_table::source::{ColumnData, RowBatch};
use zeroize::Zeroizing;

use crate::columns::ColumnKeys;
use crate::error::ClientError;
use crate::packing::{Column, ColumnKey};

/// What a table's chunks are encrypted with.
pub(crate) struct ChunkPlan<'a> {
    /// Encoded columns with their keys.
    pub(crate) keys: &'a ColumnKeys,
    /// Place of every column in a batch.
    pub(crate) positions: BTreeMap<&'a str, usize>,
    /// Sealed columns: place in the batch and name.
    pub(crate) sealed: Vec<(usize, &'a str)>,
    /// The key of each.
    pub(crate) seals: &'a [SealKey],
    /// `NoOp` for a dry run: encoded columns stay plain.
    pub(crate) scheme: Scheme,
}

impl ChunkPlan<'_> {
    /// Encrypts the batch as chunk `index` under a fresh seed.
    ///
    /// # Cost
    /// Columns of the `sum` layout that share a ring share the expansion of its mask.
    ///
    /// # Errors
    /// A value outside its encoding's bounds, named by column; or no entropy.
    pub(crate) fn encrypt(
        &self,
        encryptor: &mut Encryptor,
        index: u32,
        batch: &RowBatch,
    ) -> Result<EncodedChunk, ClientError> {
        let mut chunk = encryptor.begin_chunk(index, batch.rows)?;
        let quantities = self
            .keys
            .iter()
            .map(|key| quantity_values(&key.encoding.quantity, batch, &self.positions))
            .collect::<Result<Vec<_>, _>>()?;
        let encoded = match self.scheme {
            Scheme::Lattice => self.encrypt_columns(&mut chunk, &quantities)?,
            Scheme::NoOp => self.copy_columns(&quantities)?,
        };
        let sealed = self.seal_columns(index, batch)?;
        let seed = chunk.seed().to_bytes();
        Ok(EncodedChunk { index, rows: batch.rows as u32, seed, encoded, sealed })
    }

    fn encrypt_columns(
        &self,
        chunk: &mut ChunkEncryption<'_>,
        quantities: &[QuantityValues<'_>],
    ) -> Result<Vec<Bytes>, ClientError> {
        let mut blobs: Vec<Option<Bytes>> = quantities.iter().map(|_| None).collect();
        for places in self.families() {
            let columns = self.keys.iter().zip(quantities).enumerate();
            let columns = columns.filter(|(place, _)| places.contains(place));
            let columns = columns.map(|(_, (key, quantity))| Column { key, values: quantity.view() });
            let columns: Vec<Column<'_>> = columns.collect();
            let Some(first) = columns.first() else { continue };
            let encrypted = first.key.codec.owned().encrypt(chunk, &columns)?;
            for (place, blob) in places.into_iter().zip(encrypted) {
                blobs[place] = Some(blob.into());
            }
        }
        let encoded = blobs.into_iter().collect::<Option<Vec<_>>>();
        encoded.ok_or(ClientError::Internal { what: "a column was left unencrypted" })
    }

    /// What encryption would take, as it is.
    fn copy_columns(&self, quantities: &[QuantityValues<'_>]) -> Result<Vec<Bytes>, ClientError> {
        let copy = |(key, quantity): (&ColumnKey, &QuantityValues<'_>)| {
            Ok(key.codec.owned().plain(key, quantity.view())?.encode().into())
        };
        self.keys.iter().zip(quantities).map(copy).collect()
    }

    /// Places of the columns that are encrypted together, since they may share a mask: those of one packing over one ring.
    fn families(&self) -> Vec<Vec<usize>> {
        let mut families: Vec<(&ColumnKey, Vec<usize>)> = Vec::new();
        for (place, key) in self.keys.iter().enumerate() {
            let alike = |(other, _): &&mut (&ColumnKey, _)| {
                other.ring().param_code() == key.ring().param_code() && other.codec.is_like(&key.codec)
            };
            match families.iter_mut().find(alike) {
                Some((_, members)) => members.push(place),
                None => families.push((key, vec![place])),
            }
        }
        families.into_iter().map(|(_, members)| members).collect()
    }

    fn seal_columns(&self, index: u32, batch: &RowBatch) -> Result<Vec<Bytes>, ClientError> {
        let seal_one = |((number, (place, name)), seal): ((u32, &(usize, &str)), &SealKey)| {
            let Some(Some(ColumnData::Array(array))) = batch.columns.get(*place) else {
                return Err(ClientError::Internal { what: "a sealed column's data was not read" });
            };
            let plain = Zeroizing::new(to_ipc(name, array)?);
            Ok(seal.seal(&sealed_place(number, index), &plain)?.into())
        };
        (0..).zip(&self.sealed).zip(self.seals).map(seal_one).collect()
    }
}

/// What a sealed blob is bound to: its column number and chunk.
pub(crate) fn sealed_place(number: u32, chunk: u32) -> Vec<u8> {
    [b"column".as_slice(), &number.to_le_bytes(), b"chunk", &chunk.to_le_bytes()].concat()
}

fn to_ipc(name: &str, array: &ArrayRef) -> Result<Vec<u8>, ClientError> {
    let field = Field::new(name, array.data_type().clone(), true);
    let schema = std::sync::Arc::new(ArrowSchema::new(vec![field]));
    let batch = RecordBatch::try_new(schema.clone(), vec![array.clone()])?;
    let mut writer = arrow::ipc::writer::StreamWriter::try_new(Vec::new(), &schema)?;
    writer.write(&batch)?;
    writer.finish()?;
    Ok(writer.into_inner()?)
}

/// The array in an opened sealed blob.
///
/// # Errors
/// [`ClientError::Arrow`] if the blob is not what [`ChunkPlan::encrypt`] sealed.
pub(crate) fn from_ipc(plain: &[u8]) -> Result<ArrayRef, ClientError> {
    let mut reader = arrow::ipc::reader::StreamReader::try_new(plain, None)?;
    let batch = reader.next().transpose()?;
    let column = batch.and_then(|batch| batch.columns().first().cloned());
    column.ok_or(ClientError::Internal { what: "a sealed column is empty" })
}
