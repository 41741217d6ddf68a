// SPDX-License-Identifier: Apache-2.0
//! Writing encrypted parts: one Parquet row per chunk, one row group, every blob a page of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use hush_plan::EncodingId;
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, FixedLenByteArray, FixedLenByteArrayType, Int32Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{PrimitiveTypeBuilder, Type, TypePtr};

use super::{
    CHUNK_ROWS, EncodedChunk, FORMAT_KEY, FileKind, MAX_PART_CHUNKS, PART_FORMAT, WrittenPart,
    encoding_column, sealed_column,
};
use crate::digest::Digest;
use crate::error::{PartFault, TableError};

/// Smallest page that is closed on its own: above a seed column of 64 chunks, below every blob of a full chunk.
const PAGE_BYTES: usize = 4096;

/// Collects the chunks of one part and writes them.
///
/// *Invariants*: chunk indices are consecutive, every chunk but the last is full, seeds differ.
#[derive(Debug)]
pub struct EncryptedPartWriter {
    encodings: Vec<EncodingId>,
    sealed: Vec<u32>,
    first_chunk: u32,
    chunks: Vec<EncodedChunk>,
    seeds: BTreeMap<[u8; 32], u32>,
    bytes: u64,
}

impl EncryptedPartWriter {
    /// Begins a part with these encodings and sealed columns (by number), whose first chunk has the global index `first_chunk`.
    pub fn new(encodings: &[EncodingId], sealed: &[u32], first_chunk: u32) -> Self {
        let (encodings, sealed) = (encodings.to_vec(), sealed.to_vec());
        Self { encodings, sealed, first_chunk, chunks: Vec::new(), seeds: BTreeMap::new(), bytes: 0 }
    }

    /// Takes the next chunk. Blobs are kept, not copied.
    ///
    /// # Errors
    /// [`TableError::BadChunk`]; the part stays as it was.
    pub fn push(&mut self, chunk: EncodedChunk) -> Result<(), TableError> {
        self.check(&chunk).map_err(|fault| TableError::BadChunk { chunk: chunk.index, fault })?;
        self.bytes += chunk.encoded.iter().chain(&chunk.sealed).map(|blob| blob.len() as u64).sum::<u64>();
        self.seeds.insert(chunk.seed, chunk.index);
        self.chunks.push(chunk);
        Ok(())
    }

    /// Bytes of blobs taken so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Chunks taken so far.
    pub fn chunk_count(&self) -> u32 {
        self.chunks.len() as u32
    }

    /// Whether another chunk can follow.
    pub fn is_full(&self) -> bool {
        self.chunk_count() >= MAX_PART_CHUNKS || self.chunks.last().is_some_and(|last| last.rows < CHUNK_ROWS)
    }

    /// Writes the part.
    ///
    /// # Errors
    /// [`TableError::Parquet`] from the Parquet writer; [`TableError::BadPart`] without chunks.
    ///
    /// # Cost
    /// About three passes over the blobs (page, file, digest); holds them twice in memory until it returns.
    pub fn finish(self) -> Result<WrittenPart, TableError> {
        let part = Digest::from_bytes([0; 32]);
        if self.chunks.is_empty() {
            return Err(TableError::BadPart { part, fault: PartFault::Chunks { found: 0, expected: 1 } });
        }
        let rows = self.chunks.iter().map(|chunk| u64::from(chunk.rows)).sum();
        let chunks = self.chunk_count();
        let bytes = self.to_parquet().map_err(|source| TableError::Parquet { part, source })?;
        Ok(WrittenPart::new(FileKind::Encrypted, bytes, rows, chunks))
    }

    fn check(&self, chunk: &EncodedChunk) -> Result<(), PartFault> {
        let expected = self.first_chunk.saturating_add(self.chunk_count());
        if chunk.index != expected {
            return Err(PartFault::ChunkIndex { found: chunk.index, expected });
        }
        if self.chunk_count() >= MAX_PART_CHUNKS {
            let limit = u64::from(MAX_PART_CHUNKS);
            return Err(PartFault::Chunks { found: limit + 1, expected: limit });
        }
        if let Some(last) = self.chunks.last().filter(|last| last.rows < CHUNK_ROWS) {
            return Err(PartFault::ShortChunk { index: last.index });
        }
        if !(1..=CHUNK_ROWS).contains(&chunk.rows) {
            return Err(PartFault::Rows { found: chunk.rows.into(), expected: CHUNK_ROWS.into() });
        }
        let expected = self.encodings.len();
        if chunk.encoded.len() != expected {
            return Err(PartFault::EncodedBlobs { found: chunk.encoded.len(), expected });
        }
        let expected = self.sealed.len();
        if chunk.sealed.len() != expected {
            return Err(PartFault::SealedBlobs { found: chunk.sealed.len(), expected });
        }
        match self.seeds.get(&chunk.seed) {
            Some(first) => Err(PartFault::RepeatedSeed { first: *first, second: chunk.index }),
            None => Ok(()),
        }
    }

    fn to_parquet(&self) -> Result<Vec<u8>, ParquetError> {
        let columns = self.encodings.len() + self.sealed.len();
        // Page headers and footer: some 40 bytes per page and 150 per column.
        let estimate = self.bytes as usize + 64 * self.chunks.len() * (columns + 1) + 256 * (columns + 8);
        let mut file = SerializedFileWriter::new(
            Vec::with_capacity(estimate),
            schema(&self.encodings, &self.sealed)?,
            Arc::new(properties()),
        )?;
        let mut group = file.next_row_group()?;
        write_heads(&mut group, &self.chunks)?;
        for column in 0..self.encodings.len() {
            write_blobs(&mut group, self.chunks.iter().filter_map(|chunk| chunk.encoded.get(column)))?;
        }
        for column in 0..self.sealed.len() {
            write_blobs(&mut group, self.chunks.iter().filter_map(|chunk| chunk.sealed.get(column)))?;
        }
        group.close()?;
        file.into_inner()
    }
}

/// Columns `chunk`, `rows` and `seed`.
fn write_heads(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    chunks: &[EncodedChunk],
) -> Result<(), ParquetError> {
    // Unsigned 32-bit numbers are stored as the 32-bit pattern of Parquet's INT32.
    let numbers =
        |of: fn(&EncodedChunk) -> u32| chunks.iter().map(|chunk| of(chunk) as i32).collect::<Vec<_>>();
    for values in [numbers(|chunk| chunk.index), numbers(|chunk| chunk.rows)] {
        let mut column = next(group)?;
        column.typed::<Int32Type>().write_batch(&values, None, None)?;
        column.close()?;
    }
    let seeds: Vec<_> = chunks
        .iter()
        .map(|chunk| FixedLenByteArray::from(ByteArray::from(Bytes::copy_from_slice(&chunk.seed))))
        .collect();
    let mut column = next(group)?;
    column.typed::<FixedLenByteArrayType>().write_batch(&seeds, None, None)?;
    column.close()
}

fn write_blobs<'a>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    blobs: impl Iterator<Item = &'a Bytes>,
) -> Result<(), ParquetError> {
    let blobs: Vec<_> = blobs.map(|blob| ByteArray::from(blob.clone())).collect();
    let mut column = next(group)?;
    column.typed::<ByteArrayType>().write_batch(&blobs, None, None)?;
    column.close()
}

fn next<'a>(
    group: &'a mut SerializedRowGroupWriter<'_, Vec<u8>>,
) -> Result<parquet::file::writer::SerializedColumnWriter<'a>, ParquetError> {
    group.next_column()?.ok_or_else(|| ParquetError::General("fewer columns than the schema has".to_owned()))
}

/// Nothing may depend on values, and nothing may be transformed: no statistics, dictionary or compression.
fn properties() -> WriterProperties {
    WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_created_by("hushtable".to_owned())
        .set_key_value_metadata(Some(vec![KeyValue::new(FORMAT_KEY.to_owned(), PART_FORMAT.to_owned())]))
        .set_compression(Compression::UNCOMPRESSED)
        .set_encoding(Encoding::PLAIN)
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .set_write_batch_size(1)
        .set_data_page_size_limit(PAGE_BYTES)
        .build()
}

/// `chunk, rows: UINT_32; seed: FIXED[32]; e<id>…, s<k>…: BYTE_ARRAY`, all required.
fn schema(encodings: &[EncodingId], sealed: &[u32]) -> Result<TypePtr, ParquetError> {
    fn column(name: &str, kind: PhysicalType) -> PrimitiveTypeBuilder<'_> {
        Type::primitive_type_builder(name, kind).with_repetition(Repetition::REQUIRED)
    }
    let unsigned = || Some(LogicalType::integer(32, false));
    let mut fields = vec![
        Arc::new(column("chunk", PhysicalType::INT32).with_logical_type(unsigned()).build()?),
        Arc::new(column("rows", PhysicalType::INT32).with_logical_type(unsigned()).build()?),
        Arc::new(column("seed", PhysicalType::FIXED_LEN_BYTE_ARRAY).with_length(32).build()?),
    ];
    let sealed = sealed.iter().map(|number| sealed_column(*number));
    let blobs = encodings.iter().map(|id| encoding_column(*id)).chain(sealed);
    for name in blobs {
        fields.push(Arc::new(column(&name, PhysicalType::BYTE_ARRAY).build()?));
    }
    Ok(Arc::new(Type::group_type_builder("chunks").with_fields(fields).build()?))
}
