// SPDX-License-Identifier: Apache-2.0
//! From rows to the part files of a delivery.

use std::collections::BTreeMap;

use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use hush_encode::{
    MAX_CLEAR_FILE_BYTES, MAX_CLEAR_ROW_BYTES, clear_rows, clear_schema, oversized_row, quantity_values,
};
use hush_plan::{EncodingId, PrivateEncoding};
use hush_schemes::PublicKeyError;
use hush_schemes::bgv::public::PublicEncryptor;
use hush_table::delivery::DELIVERY_FORMAT;
use hush_table::part::{
    ClearPartWriter, EncryptedPartWriter, MAX_PART_CHUNKS, PART_TARGET_BYTES, WrittenPart,
};
use hush_table::source::RowBatch;
use hush_table::{Delivery, DeliveryId, EncodedChunk, SignedDelivery};

use crate::packing::{Plain, out_of_range};
use crate::{DeviceKey, EdgeError};

/// The files of one delivery.
#[derive(Debug)]
pub struct EncryptedRows {
    /// Rows.
    pub rows: usize,
    /// Chunks.
    pub chunks: u32,
    /// The clear columns; `None` for a table without any.
    pub clear: Option<WrittenPart>,
    /// The encoded columns; `None` for a table without any.
    pub encrypted: Option<WrittenPart>,
}

/// Encrypts chunks with a device's key, one after the other.
pub struct DeviceEncryptor {
    clear: SchemaRef,
    encryptor: PublicEncryptor,
}

impl EncryptedRows {
    /// The delivery that would take them in, signed by the device under whose name `id` they were encrypted.
    ///
    /// # Errors
    /// None but bugs.
    pub(crate) fn sign(&self, key: &DeviceKey, id: DeliveryId) -> Result<SignedDelivery, EdgeError> {
        let delivery = Delivery {
            format: DELIVERY_FORMAT,
            table_id: key.table_id,
            encodings: key.digest,
            id,
            rows: self.rows as u64,
            chunks: self.chunks,
            clear: self.clear.as_ref().map(|part| part.file),
            encrypted: self.encrypted.as_ref().map(|part| part.file),
        };
        let sign = |bytes: &[u8]| key.sign(bytes);
        Ok(SignedDelivery::sign(delivery, &key.verifying_key(), &key.certificate, sign)?)
    }

    /// Bytes of both files.
    pub fn bytes(&self) -> u64 {
        [&self.clear, &self.encrypted].into_iter().flatten().map(|part| part.file.bytes).sum()
    }
}

impl DeviceEncryptor {
    /// An encryptor for the table of `key`.
    pub fn new(key: &DeviceKey) -> Self {
        Self { clear: clear_schema(&key.schema), encryptor: PublicEncryptor::new() }
    }

    /// Encrypts a batch of at most a chunk of rows as the part of delivery `id`.
    ///
    /// # Cost
    /// For each ring element and limb two transforms, and one for each encoded column.
    ///
    /// # Errors
    /// [`EdgeError::Range`] for a value outside its column's bounds; [`EdgeError::ClearRow`] and [`EdgeError::ClearFile`] for clear
    /// columns that no owner takes in; no entropy.
    pub fn encrypt(
        &mut self,
        key: &DeviceKey,
        batch: &RowBatch,
        id: DeliveryId,
    ) -> Result<EncryptedRows, EdgeError> {
        let mut part = OpenPart::new(self, key, id)?;
        part.push(self, key, batch)?;
        part.finish()
    }

    fn encode(&mut self, key: &DeviceKey, batch: &RowBatch, number: u32) -> Result<Vec<Bytes>, EdgeError> {
        let positions = &key.schema.positions();
        let mut blobs: BTreeMap<u32, Bytes> = BTreeMap::new();
        for family in &key.families {
            let columns = family.key.columns();
            let encodings = columns.iter().map(|column| {
                let found = key.encodings.iter().find(|encoding| encoding.public.id.0 == column.column);
                found.ok_or(EdgeError::Internal { what: "a public key of no column" })
            });
            let encodings = encodings.collect::<Result<Vec<_>, _>>()?;
            let plain = encodings.iter().map(|encoding| {
                let quantity = quantity_values(&encoding.quantity, batch, positions)?;
                Plain::of(encoding, quantity)
            });
            let plain = plain.collect::<Result<Vec<_>, EdgeError>>()?;
            let values = plain.iter().map(Plain::values).collect::<Result<Vec<_>, _>>()?;
            let encrypted = self.encryptor.encrypt(&family.key, number, &values);
            let encrypted = encrypted.map_err(|error| named(&key.encodings, error))?;
            blobs.extend(
                columns.iter().map(|column| column.column).zip(encrypted.into_iter().map(Bytes::from)),
            );
        }
        let blob = |encoding: &PrivateEncoding| blobs.remove(&encoding.public.id.0);
        let encoded: Option<Vec<Bytes>> = key.encodings.iter().map(blob).collect();
        encoded.ok_or(EdgeError::Internal { what: "a column was left unencrypted" })
    }
}

/// The part of a delivery while chunks are added to it.
pub(crate) struct OpenPart {
    id: DeliveryId,
    clear: Option<ClearPartWriter>,
    encrypted: Option<EncryptedPartWriter>,
    rows: usize,
    chunks: u32,
}

impl OpenPart {
    /// The part of delivery `id`, without rows.
    pub(crate) fn new(
        encryptor: &DeviceEncryptor,
        key: &DeviceKey,
        id: DeliveryId,
    ) -> Result<Self, EdgeError> {
        let has_clear = !encryptor.clear.fields().is_empty();
        let ids: Vec<EncodingId> = key.encodings.iter().map(|encoding| encoding.public.id).collect();
        Ok(Self {
            id,
            clear: has_clear.then(|| ClearPartWriter::new(&encryptor.clear)).transpose()?,
            encrypted: (!ids.is_empty()).then(|| EncryptedPartWriter::new(&ids, &[], 0)),
            rows: 0,
            chunks: 0,
        })
    }

    /// Encrypts the rows of the next chunk: [`hush_table::CHUNK_ROWS`], or fewer in the last.
    ///
    /// # Errors
    /// As [`DeviceEncryptor::encrypt`].
    pub(crate) fn push(
        &mut self,
        encryptor: &mut DeviceEncryptor,
        key: &DeviceKey,
        batch: &RowBatch,
    ) -> Result<(), EdgeError> {
        if let Some(writer) = &mut self.clear {
            let rows = clear_rows(&key.schema, &encryptor.clear, batch, &BTreeMap::new())?;
            if let Some((row, found)) = oversized_row(&rows) {
                return Err(EdgeError::ClearRow { row: row + 1, found, limit: MAX_CLEAR_ROW_BYTES });
            }
            writer.push(&rows)?;
        }
        if let Some(writer) = &mut self.encrypted {
            let encoded = encryptor.encode(key, batch, self.chunks)?;
            let (index, rows, seed) = (self.chunks, batch.rows as u32, self.id.chunk_seed(self.chunks));
            writer.push(EncodedChunk { index, rows, seed, encoded, sealed: Vec::new() })?;
        }
        self.rows += batch.rows;
        self.chunks += 1;
        Ok(())
    }

    /// Whether another chunk would make it larger than a part should be.
    pub(crate) fn is_full(&self) -> bool {
        let encrypted = self.encrypted.as_ref().map_or(0, EncryptedPartWriter::bytes);
        let clear = self.clear.as_ref().map_or(0, ClearPartWriter::bytes);
        self.chunks >= MAX_PART_CHUNKS || encrypted.max(clear) >= PART_TARGET_BYTES
    }

    /// Its delivery.
    pub(crate) fn id(&self) -> DeliveryId {
        self.id
    }

    /// The files.
    ///
    /// # Errors
    /// [`EdgeError::ClearFile`].
    pub(crate) fn finish(self) -> Result<EncryptedRows, EdgeError> {
        let clear = self.clear.map(ClearPartWriter::finish).transpose()?;
        if let Some(part) = clear.as_ref().filter(|part| part.file.bytes > MAX_CLEAR_FILE_BYTES) {
            return Err(EdgeError::ClearFile { found: part.file.bytes, limit: MAX_CLEAR_FILE_BYTES });
        }
        let encrypted = self.encrypted.map(EncryptedPartWriter::finish).transpose()?;
        Ok(EncryptedRows { rows: self.rows, chunks: self.chunks, clear, encrypted })
    }
}

impl std::fmt::Debug for DeviceEncryptor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DeviceEncryptor(..)")
    }
}

/// Names the owner's column in an error.
fn named(encodings: &[PrivateEncoding], error: PublicKeyError) -> EdgeError {
    match &error {
        PublicKeyError::Scheme { column, source } => {
            match encodings.iter().find(|encoding| encoding.public.id.0 == *column) {
                Some(encoding) => out_of_range(encoding, source),
                None => error.into(),
            }
        }
        _ => error.into(),
    }
}
