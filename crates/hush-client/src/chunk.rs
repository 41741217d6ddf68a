// SPDX-License-Identifier: Apache-2.0
//! Encrypting one chunk: every encoded column, and the sealed ones.

use std::collections::BTreeMap;

use arrow::array::ArrayRef;
use arrow::datatypes::{Field, Schema as ArrowSchema};
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use hush_encode::{QuantityValues, View, quantity_values};
use hush_exec::noop::{PlainValues, Scheme};
use hush_keys::{
    ApproxSlotColumn, ApproxSumColumn, ChunkEncryption, Encryptor, SealKey, SlotColumn, SumColumn,
};
use hush_schemes::SchemeError;
use hush_table::EncodedChunk;
use hush_table::source::{ColumnData, RowBatch};
use zeroize::Zeroizing;

use crate::columns::{ColumnKey, ColumnKeys, Space};
use crate::error::ClientError;

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
        for members in self.shared_masks() {
            let encrypted = self.encrypt_shared(chunk, &members, quantities)?;
            for (place, blob) in members.into_iter().zip(encrypted) {
                blobs[place] = Some(blob.into());
            }
        }
        for (place, (key, quantity)) in self.keys.iter().zip(quantities).enumerate() {
            if let Some(blob) = encrypt_slots(chunk, key, quantity)? {
                blobs[place] = Some(blob.into());
            }
        }
        let encoded = blobs.into_iter().collect::<Option<Vec<_>>>();
        encoded.ok_or(ClientError::Internal { what: "a column was left unencrypted" })
    }

    /// What encryption would take, as it is.
    fn copy_columns(&self, quantities: &[QuantityValues<'_>]) -> Result<Vec<Bytes>, ClientError> {
        let copy = |(key, quantity): (&ColumnKey, &QuantityValues<'_>)| {
            let plain = match (quantity.view(), &key.space) {
                (View::Exact(values), Space::Sum { t_log2 }) => {
                    values.check_bits(*t_log2).map_err(|source| out_of_bounds(key, source))?;
                    PlainValues::from(values)
                }
                (View::Exact(values), Space::Slots { max_abs, .. }) => {
                    values.check_max_abs(*max_abs).map_err(|source| out_of_bounds(key, source))?;
                    PlainValues::from(values)
                }
                (
                    View::Approx(values),
                    Space::ApproxSum { max_abs, .. } | Space::ApproxSlots { max_abs, .. },
                ) => {
                    check_magnitude(key, values, *max_abs)?;
                    PlainValues::Approx(values.to_vec())
                }
                _ => return Err(mismatch(key)),
            };
            Ok(plain.encode().into())
        };
        self.keys.iter().zip(quantities).map(copy).collect()
    }

    /// Places of the columns that share a mask: same layout family, same ring.
    fn shared_masks(&self) -> Vec<Vec<usize>> {
        let mut families: Vec<((u16, bool), Vec<usize>)> = Vec::new();
        for (place, key) in self.keys.iter().enumerate() {
            let exact = match key.space {
                Space::Sum { .. } => true,
                Space::ApproxSum { .. } => false,
                Space::Slots { .. } | Space::ApproxSlots { .. } => continue,
            };
            let family = (key.ring().param_code(), exact);
            match families.iter_mut().find(|(known, _)| *known == family) {
                Some((_, members)) => members.push(place),
                None => families.push((family, vec![place])),
            }
        }
        families.into_iter().map(|(_, members)| members).collect()
    }

    fn encrypt_shared(
        &self,
        chunk: &mut ChunkEncryption<'_>,
        members: &[usize],
        quantities: &[QuantityValues<'_>],
    ) -> Result<Vec<Vec<u8>>, ClientError> {
        let (mut exact, mut approx) = (Vec::new(), Vec::new());
        for (place, key) in self.keys.iter().enumerate().filter(|(place, _)| members.contains(place)) {
            let (column, secret) = (key.id().0, &key.secret);
            match (&key.space, quantities[place].view()) {
                (Space::Sum { t_log2 }, View::Exact(values)) => {
                    exact.push(SumColumn { column, secret, t_log2: *t_log2, values });
                }
                (Space::ApproxSum { scale, limit_log2, max_abs }, View::Approx(values)) => {
                    check_magnitude(key, values, *max_abs)?;
                    approx.push(ApproxSumColumn {
                        column,
                        secret,
                        scale: *scale,
                        limit_log2: *limit_log2,
                        values,
                    });
                }
                _ => return Err(mismatch(key)),
            }
        }
        let Some(first) = self.keys.iter().nth(members[0]) else { return Ok(Vec::new()) };
        let encrypted = if approx.is_empty() {
            chunk.encrypt_sum(first.ring(), &exact)
        } else {
            chunk.encrypt_approx_sum(first.ring(), &approx)
        };
        encrypted.map_err(|source| self.name_column(source))
    }

    /// Says which of the owner's columns an encryption error is about.
    fn name_column(&self, source: hush_keys::EncryptError) -> ClientError {
        let place = match &source {
            hush_keys::EncryptError::Scheme { column, .. } => *column,
            _ => return source.into(),
        };
        match self.keys.iter().find(|key| key.id().0 == place) {
            Some(key) => ClientError::OutOfBounds { column: key.content_name(), source },
            None => source.into(),
        }
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

impl ColumnKey {
    /// The owner's name for what the column holds.
    pub(crate) fn content_name(&self) -> String {
        use hush_plan::Quantity;
        match &self.encoding.quantity {
            Quantity::Value(name) | Quantity::Valid(name) | Quantity::Square(name) => name.clone(),
            Quantity::Product(left, right) | Quantity::BothValid(left, right) => format!("{left}*{right}"),
            quantity => quantity.describe(),
        }
    }
}

/// Slot layouts, one column at a time; `None` for the others.
fn encrypt_slots(
    chunk: &mut ChunkEncryption<'_>,
    key: &ColumnKey,
    quantity: &QuantityValues<'_>,
) -> Result<Option<Vec<u8>>, ClientError> {
    let (column, secret) = (key.id().0, &key.secret);
    let encrypted = match (&key.space, quantity.view()) {
        (Space::Slots { encoder, max_abs }, View::Exact(values)) => {
            chunk.encrypt_slots(&SlotColumn { column, secret, encoder, max_abs: *max_abs, values })
        }
        (Space::ApproxSlots { encoder, scale, max_abs }, View::Approx(values)) => {
            check_magnitude(key, values, *max_abs)?;
            chunk.encrypt_approx_slots(&ApproxSlotColumn { column, secret, encoder, scale: *scale, values })
        }
        (Space::Slots { .. } | Space::ApproxSlots { .. }, _) => return Err(mismatch(key)),
        (Space::Sum { .. } | Space::ApproxSum { .. }, _) => return Ok(None),
    };
    match encrypted {
        Ok(blob) => Ok(Some(blob)),
        Err(source @ hush_keys::EncryptError::Scheme { .. }) => {
            Err(ClientError::OutOfBounds { column: key.content_name(), source })
        }
        Err(source) => Err(source.into()),
    }
}

/// The planner's bounds hold for values up to `max_abs`: what exceeds it, or is no number, is refused.
fn check_magnitude(key: &ColumnKey, values: &[f64], max_abs: f64) -> Result<(), ClientError> {
    let fits = |value: &f64| value.abs() <= max_abs;
    let Some(index) = values.iter().position(|value| !fits(value)) else { return Ok(()) };
    Err(out_of_bounds(key, SchemeError::ValueRange { index, limit_log2: max_abs.log2() as u32 }))
}

fn out_of_bounds(key: &ColumnKey, source: SchemeError) -> ClientError {
    let source = hush_keys::EncryptError::Scheme { column: key.id().0, source };
    ClientError::OutOfBounds { column: key.content_name(), source }
}

fn mismatch(key: &ColumnKey) -> ClientError {
    ClientError::Encoding { id: key.id(), what: "its layout does not suit the column's type" }
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
