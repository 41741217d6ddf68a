// SPDX-License-Identifier: Apache-2.0
//! Encrypting chunks: every encoded column, and the sealed ones. Those that share ring elements are encrypted together.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{Field, Schema as ArrowSchema, SchemaRef};
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use hush_encode::{Codewords, QuantityValues, clear_rows, quantity_values};
use hush_keys::{Cipher, Encryptor, SealKey, TableKeys};
use hush_plan::quantity::{Flag, FlagOf};
use hush_plan::schema::Column;
use hush_plan::{Quantity, Schema};
use hush_table::source::{ColumnData, RowBatch};
use hush_table::{AppendId, EncodedChunk};
use zeroize::Zeroizing;

use crate::columns::ColumnKeys;
use crate::copy;
use crate::derived::DerivedPlan;
use crate::error::ClientError;
use crate::packing::{self, ColumnKey};
use crate::prepare::{PreparePlan, PreparedRows};
use crate::private::PrivateHalf;
use crate::run::ChunkRanks;
use crate::scheme::Scheme;
use crate::tokens::Tokens;

/// Everything that encrypts a table's chunks.
pub(crate) struct ChunkPlan<'a> {
    /// Encoded columns with their keys.
    pub(crate) keys: &'a ColumnKeys,
    /// Place of every column in a batch.
    pub(crate) positions: BTreeMap<&'a str, usize>,
    /// The columns under a seal, with the description of each and its place in a batch.
    pub(crate) sealed: Vec<(&'a Seal, &'a Column, usize)>,
    /// The scheme of the encoded columns.
    pub(crate) scheme: &'a dyn Scheme,
    /// The append that the chunks are of.
    pub(crate) append: Option<AppendId>,
    /// What is prepared of their rows.
    pub(crate) prepare: PreparePlan,
    /// What makes the tokens of their join keys.
    tokens: Arc<Tokens>,
    /// The conditions that are worked out of their rows.
    derived: DerivedPlan,
    /// Most chunks of a part that are together in ring elements.
    together: usize,
}

/// A chunk as writers take it.
pub(crate) struct Encrypted {
    pub(crate) clear: RecordBatch,
    pub(crate) chunk: EncodedChunk,
    /// What its rows give to cubes and runs.
    pub(crate) prepared: PreparedRows,
}

impl<'a> ChunkPlan<'a> {
    /// Encrypts chunks of an encryption. Of `seals` those are taken whose columns the schema has.
    pub(crate) fn new(
        schema: &'a Schema,
        keys: &'a ColumnKeys,
        seals: &'a [Seal],
        scheme: &'a dyn Scheme,
    ) -> Self {
        let positions = schema.positions();
        let sealed = seals.iter().filter_map(|seal| {
            let column = schema.under_seal().find(|column| column.name == seal.name)?;
            Some((seal, column, *positions.get(seal.name.as_str())?))
        });
        let (sealed, derived) = (sealed.collect(), DerivedPlan::of(schema, keys));
        let (append, prepare, tokens) = (None, PreparePlan::default(), Arc::default());
        let together = keys.iter().map(chunks_together).max().unwrap_or(1);
        Self { keys, positions, sealed, scheme, append, prepare, tokens, derived, together }
    }

    /// How many chunks of a part are made at a time, the first of each part among the first ones: those that share ring elements.
    pub(crate) fn together(&self) -> usize {
        self.together
    }

    /// With the tokens of the table's join keys, without which no chunk is made of rows that have any.
    pub(crate) fn with_tokens(self, tokens: Arc<Tokens>) -> Self {
        Self { tokens, ..self }
    }

    /// With the cubes and runs of a table.
    pub(crate) fn with_prepared(self, half: &PrivateHalf) -> Self {
        Self { prepare: PreparePlan::of(half), ..self }
    }

    /// Encrypts chunks of an append.
    pub(crate) fn of_append(self, id: AppendId) -> Self {
        Self { append: Some(id), ..self }
    }

    /// Encrypts batches of this schema, of new rows or of rows that are stored already, as the chunks from `first` on, [`ChunkPlan::together`] at
    /// most, with their clear columns and what is prepared of them.
    ///
    /// # Errors
    /// As [`ChunkPlan::encrypt`]; [`ClientError::NoCell`].
    pub(crate) fn make(
        &self,
        encryptor: &mut Encryptor,
        (first, batches): (u32, &[RowBatch]),
        (schema, clear): (&Schema, &SchemaRef),
        is_stored: bool,
    ) -> Result<Vec<Encrypted>, ClientError> {
        let ranks = batches.iter().map(|batch| self.prepare.ranks(schema, batch));
        let ranks: Vec<Vec<ChunkRanks>> = ranks.collect::<Result<_, _>>()?;
        let chunks = self.encrypt(encryptor, first, (batches, &ranks))?;
        let made = chunks.into_iter().zip(batches).zip(&ranks).map(|((chunk, batch), ranks)| {
            let prepared = self.prepare.rows(schema, (batch, ranks), is_stored)?;
            let tokens = self.tokens.of_rows(schema, batch)?;
            Ok(Encrypted { clear: clear_rows(schema, clear, batch, &tokens)?, chunk, prepared })
        });
        made.collect()
    }

    /// Encrypts the batches, whose values have these ranks, as the chunks from `first` on, each under a fresh seed. Columns that share ring elements are
    /// encrypted under that of the first.
    ///
    /// # Errors
    /// A value outside its encoding's bounds, named by column; or no entropy.
    pub(crate) fn encrypt(
        &self,
        encryptor: &mut Encryptor,
        first: u32,
        (batches, ranks): (&[RowBatch], &[Vec<ChunkRanks>]),
    ) -> Result<Vec<EncodedChunk>, ClientError> {
        let quantities = batches.iter().zip(ranks).map(|(batch, ranks)| self.quantities(batch, ranks));
        let quantities: Vec<Vec<QuantityValues<'_>>> = quantities.collect::<Result<_, _>>()?;
        let shared = self.shared(&quantities)?;
        let behind = batches.iter().skip(1).map(|batch| batch.rows).sum();
        let of_chunk = |((index, place), (batch, quantities)): (_, (&RowBatch, &Vec<QuantityValues<'_>>))| {
            let chunk = encryptor.begin_chunk(index, batch.rows)?;
            // Appends may be small and many.
            let chunk = if self.append.is_some() { chunk.cut() } else { chunk };
            let mut chunk = if place == 0 { chunk.followed_by(behind) } else { chunk };
            let columns = self.keys.iter().zip(quantities).zip(&shared);
            let columns = columns.map(|((key, own), shared)| match shared {
                Some(all) => (place == 0).then(|| packing::Column { key, values: all.view() }),
                None => Some(packing::Column { key, values: own.view() }),
            });
            let columns: Vec<_> = columns.collect();
            let encoded = self.scheme.encode(&mut chunk, &columns)?;
            let sealed = self.seal_columns(index, batch)?;
            let seed = chunk.seed().to_bytes();
            Ok(EncodedChunk { index, rows: batch.rows as u32, seed, encoded, sealed })
        };
        (first..).zip(0_usize..).zip(batches.iter().zip(&quantities)).map(of_chunk).collect()
    }

    /// The numbers of all chunks for the columns that share ring elements, if there are several.
    fn shared(
        &self,
        quantities: &[Vec<QuantityValues<'_>>],
    ) -> Result<Vec<Option<QuantityValues<'static>>>, ClientError> {
        let joined = |(place, key): (usize, &ColumnKey)| {
            if quantities.len() < 2 || chunks_together(key) < 2 {
                return Ok(None);
            }
            let of_chunks: Vec<_> = quantities.iter().filter_map(|chunk| chunk.get(place)).collect();
            let joined = QuantityValues::joined(&of_chunks);
            joined.map(Some).ok_or(ClientError::Internal { what: "numbers of chunks that are together" })
        };
        self.keys.iter().enumerate().map(joined).collect()
    }

    /// The numbers of every encoded column.
    fn quantities<'b>(
        &self,
        batch: &'b RowBatch,
        ranks: &[ChunkRanks],
    ) -> Result<Vec<QuantityValues<'b>>, ClientError> {
        let flags = self.derived.flags(batch)?;
        let words = self.codewords(batch)?;
        let values = |key: &ColumnKey| match &key.encoding.quantity {
            Quantity::Flag(Flag { column, of: FlagOf::Codeword(flag) }) => {
                let words = words.get(column.as_str());
                let words = words.ok_or(ClientError::Internal { what: "a column has no codewords" })?;
                Ok(words.flags(flag.number))
            }
            Quantity::Flag(Flag { column, of: FlagOf::Ranked(place) }) => {
                Ok(QuantityValues::I64(ChunkRanks::find(ranks, column)?.flags(*place)?))
            }
            Quantity::Holds(holds) => flags.of(holds),
            quantity => Ok(quantity_values(quantity, batch, &self.positions)?),
        };
        self.keys.iter().map(values).collect()
    }

    /// The codewords of the batch's columns for equality, each column's found once for all of its flags.
    fn codewords(&self, batch: &RowBatch) -> Result<BTreeMap<&str, Codewords>, ClientError> {
        let mut words = BTreeMap::new();
        for key in self.keys.iter() {
            if let Quantity::Flag(Flag { column, of: FlagOf::Codeword(flag) }) = &key.encoding.quantity
                && !words.contains_key(column.as_str())
            {
                words.insert(column.as_str(), Codewords::of(flag, column, batch, &self.positions)?);
            }
        }
        Ok(words)
    }

    fn seal_columns(&self, index: u32, batch: &RowBatch) -> Result<Vec<Bytes>, ClientError> {
        let seal_one = |(seal, column, place): &(&Seal, &Column, usize)| {
            let plain = match batch.columns.get(*place) {
                Some(Some(ColumnData::Array(array))) => to_ipc(&column.name, array)?,
                Some(Some(ColumnData::Units(data))) => copy::pack(column, data)?,
                _ => return Err(ClientError::Internal { what: "a sealed column's data was not read" }),
            };
            let plain = Zeroizing::new(plain);
            Ok(seal.key.seal(&sealed_place(seal.number, self.append, index), &plain)?.into())
        };
        self.sealed.iter().map(seal_one).collect()
    }
}

/// How many chunks of a part are together in the ring elements of a column.
pub(crate) fn chunks_together(key: &ColumnKey) -> usize {
    key.ring().set().map_or(1, |set| key.encoding.public.packing.chunks_together(set) as usize)
}

/// What seals a column.
pub(crate) struct Seal {
    /// Its number in the manifest.
    pub(crate) number: u32,
    /// The column's name.
    pub(crate) name: String,
    /// Its key.
    pub(crate) key: SealKey,
}

/// The keys of columns under a seal.
pub(crate) fn seals_of<'a>(
    keys: TableKeys<'_>,
    cipher: Cipher,
    columns: impl IntoIterator<Item = (u32, &'a str)>,
) -> Vec<Seal> {
    let seal = |(number, name): (u32, &str)| Seal {
        number,
        name: name.to_owned(),
        key: keys.column_seal(number, cipher),
    };
    columns.into_iter().map(seal).collect()
}

/// The place to which a sealed blob is bound: its column number, the append that it is of, and the number of its chunk there.
pub(crate) fn sealed_place(number: u32, append: Option<AppendId>, chunk: u32) -> Vec<u8> {
    let mut place = [b"column".as_slice(), &number.to_le_bytes()].concat();
    if let Some(append) = append {
        place.extend_from_slice(b"append");
        place.extend_from_slice(append.as_bytes());
    }
    place.extend_from_slice(b"chunk");
    place.extend_from_slice(&chunk.to_le_bytes());
    place
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
/// [`ClientError::Arrow`] if [`ChunkPlan::encrypt`] did not seal the blob.
pub(crate) fn from_ipc(plain: &[u8]) -> Result<ArrayRef, ClientError> {
    let mut reader = arrow::ipc::reader::StreamReader::try_new(plain, None)?;
    let batch = reader.next().transpose()?;
    let column = batch.and_then(|batch| batch.columns().first().cloned());
    column.ok_or(ClientError::Internal { what: "a sealed column is empty" })
}
