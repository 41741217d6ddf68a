// SPDX-License-Identifier: Apache-2.0
//! Clear parts: ordinary Parquet, one row per table row.

// Bytes from outside are cut by pattern and `get`, numbers from outside added with care.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

mod bounds;

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::properties::WriterProperties;

pub use self::bounds::ColumnBounds;
use super::contain::contain;
use super::{CHUNK_ROWS, FileKind, MAX_UNCOMPRESSED_BYTES, PartSource, WrittenPart};
use crate::digest::Digest;
use crate::error::{Measured, PartFault, TableError};
use crate::manifest::{Manifest, PartEntry};

/// Writes the clear columns of one part: Zstandard level 1, statistics on (they prune chunks), one row group.
#[derive(Debug)]
pub struct ClearPartWriter {
    writer: ArrowWriter<Vec<u8>>,
    rows: u64,
    bytes: u64,
}

impl ClearPartWriter {
    /// Begins a part with these columns.
    ///
    /// # Errors
    /// [`TableError::Parquet`] for types that Parquet does not have.
    pub fn new(schema: &SchemaRef) -> Result<Self, TableError> {
        let properties = WriterProperties::builder().set_created_by("hushtable".to_owned());
        let properties = properties.set_compression(Compression::ZSTD(ZstdLevel::default())).build();
        let writer = ArrowWriter::try_new(Vec::new(), schema.clone(), Some(properties)).map_err(unwritten)?;
        Ok(Self { writer, rows: 0, bytes: 0 })
    }

    /// Takes the rows of the next chunk.
    ///
    /// # Errors
    /// [`TableError::Parquet`] if the columns are not those announced.
    pub fn push(&mut self, batch: &RecordBatch) -> Result<(), TableError> {
        self.writer.write(batch).map_err(unwritten)?;
        self.rows = self.rows.saturating_add(batch.num_rows() as u64);
        self.bytes = self.bytes.saturating_add(bytes_of(batch));
        Ok(())
    }

    /// Bytes of the rows taken so far, before compression.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Writes the part.
    ///
    /// # Errors
    /// [`TableError::Parquet`] from the Parquet writer.
    pub fn finish(self) -> Result<WrittenPart, TableError> {
        let bytes = self.writer.into_inner().map_err(unwritten)?;
        let chunks = self.rows.div_ceil(u64::from(CHUNK_ROWS)) as u32;
        Ok(WrittenPart::new(FileKind::Clear, bytes, self.rows, chunks))
    }
}

/// Memory that the values of some rows take; arrays that cannot tell count as nothing.
pub(crate) fn bytes_of(rows: &RecordBatch) -> u64 {
    let sliced = |array: &ArrayRef| array.to_data().get_slice_memory_size().unwrap_or(0) as u64;
    rows.columns().iter().map(sliced).fold(0, u64::saturating_add)
}

fn unwritten(source: ParquetError) -> TableError {
    TableError::Parquet { part: Digest::from_bytes([0; 32]), source }
}

/// A clear part whose footer agrees with its manifest.
#[derive(Debug)]
pub struct ClearPart {
    source: PartSource,
    /// The footer, read once.
    footer: ArrowReaderMetadata,
    digest: Digest,
    schema: SchemaRef,
}

impl ClearPart {
    /// Opens a part as entry `entry` of a manifest. The caller has checked the part's digest.
    ///
    /// # Errors
    /// [`TableError::Parquet`] if it is not Parquet; [`TableError::BadPart`] for other columns or rows than the
    /// manifest says; [`TableError::TooLarge`] if it would decompress to more than [`MAX_UNCOMPRESSED_BYTES`].
    pub fn open(source: PartSource, manifest: &Manifest, entry: &PartEntry) -> Result<Self, TableError> {
        let digest = entry.clear.map_or(Digest::from_bytes([0; 32]), |file| file.digest);
        contain(digest, &source, || Self::open_contained(source.clone(), manifest, entry, digest))
    }

    fn open_contained(
        source: PartSource,
        manifest: &Manifest,
        entry: &PartEntry,
        digest: Digest,
    ) -> Result<Self, TableError> {
        let schema = manifest.clear_schema()?;
        let parquet = |source| TableError::Parquet { part: digest, source };
        let footer = ArrowReaderMetadata::load(&source, ArrowReaderOptions::default()).map_err(parquet)?;
        let part = Self { source, footer, digest, schema };
        part.check_size(part.footer.metadata())?;
        let bad = |fault| TableError::BadPart { part: digest, fault };
        let found = u64::try_from(part.footer.metadata().file_metadata().num_rows()).unwrap_or(0);
        if found != entry.rows {
            return Err(bad(PartFault::Rows { found, expected: entry.rows }));
        }
        for (index, expected) in part.schema.fields().iter().enumerate() {
            let found = part.footer.schema().fields().get(index);
            if found.is_none_or(|found| found.name() != expected.name()) {
                return Err(bad(PartFault::NoColumn { column: expected.name().clone() }));
            }
            if found.is_none_or(|found| found.data_type() != expected.data_type()) {
                return Err(bad(PartFault::ColumnForm { column: expected.name().clone() }));
            }
        }
        match part.footer.schema().fields().get(part.schema.fields().len()) {
            Some(extra) => Err(bad(PartFault::ColumnForm { column: extra.name().clone() })),
            None => Ok(part),
        }
    }

    /// A part with these columns that was just written.
    ///
    /// # Errors
    /// [`TableError::Parquet`] never occurs for what [`ClearPartWriter`] has written; kept typed, not asserted.
    pub(crate) fn of_written(written: &WrittenPart, schema: &SchemaRef) -> Result<Self, TableError> {
        let (source, digest) = (PartSource::from_memory(written.bytes.clone()), written.file.digest);
        let footer = ArrowReaderMetadata::load(&source, ArrowReaderOptions::default());
        let footer = footer.map_err(|source| TableError::Parquet { part: digest, source })?;
        Ok(Self { source, footer, digest, schema: schema.clone() })
    }

    /// Schema of the clear columns, as in the manifest.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The bytes, for engines that read Parquet themselves: checked as they are read, if they were when the part was opened.
    pub fn source(&self) -> &PartSource {
        &self.source
    }

    /// The error of a read of [`ClearPart::source`] that has failed: the part was altered, could not be read, or is damaged.
    pub fn failed(&self, cause: std::io::Error) -> TableError {
        // A read that goes past the end, which the footer led to, is neither.
        let damaged = || self.parquet(ParquetError::External(Box::new(cause)));
        self.source.trouble(self.digest).unwrap_or_else(damaged)
    }

    /// What the footer says; the part agrees with its manifest as far as it tells.
    pub fn footer(&self) -> &Arc<ParquetMetaData> {
        self.footer.metadata()
    }

    /// Reads some columns (positions in the schema, in its order) in batches of one chunk each.
    ///
    /// # Errors
    /// [`TableError::BadPart`] for a position that does not exist; [`TableError::Parquet`] from the reader.
    pub fn read(&self, columns: &[usize]) -> Result<Vec<RecordBatch>, TableError> {
        if let Some(outside) = columns.iter().find(|column| **column >= self.schema.fields().len()) {
            let fault = PartFault::NoColumn { column: outside.to_string() };
            return Err(TableError::BadPart { part: self.digest, fault });
        }
        contain(self.digest, &self.source, || self.read_contained(columns))
    }

    fn read_contained(&self, columns: &[usize]) -> Result<Vec<RecordBatch>, TableError> {
        let builder = self.builder(Some(columns))?;
        let mask = ProjectionMask::roots(builder.parquet_schema(), columns.iter().copied());
        let reader = builder.with_projection(mask).with_batch_size(CHUNK_ROWS as usize).build();
        let batches: Result<Vec<_>, ArrowError> = reader.map_err(|cause| self.parquet(cause))?.collect();
        batches.map_err(|cause| self.parquet(cause.into()))
    }

    /// Hands all columns to `look`, at most `rows` rows at a time and no two batches in memory together; ends at the first error.
    ///
    /// # Errors
    /// [`TableError::Parquet`] from the reader; within, what `look` found.
    pub fn for_each<E>(
        &self,
        rows: usize,
        look: &mut dyn FnMut(&RecordBatch) -> Result<(), E>,
    ) -> Result<Result<(), E>, TableError> {
        contain(self.digest, &self.source, || {
            let reader =
                self.builder(None)?.with_batch_size(rows).build().map_err(|cause| self.parquet(cause))?;
            for batch in reader {
                if let Err(found) = look(&batch.map_err(|cause| self.parquet(cause.into()))?) {
                    return Ok(Err(found));
                }
            }
            Ok(Ok(()))
        })
    }

    /// Reads some columns, or all: of an object their bytes are asked for at once.
    fn builder(
        &self,
        columns: Option<&[usize]>,
    ) -> Result<ParquetRecordBatchReaderBuilder<PartSource>, TableError> {
        let is_read = |index: usize| columns.is_none_or(|columns| columns.contains(&index));
        let groups = self.footer.metadata().row_groups().iter();
        let read = groups.flat_map(|group| group.columns().iter().enumerate());
        let ranges: Vec<_> = read
            .filter(|(index, _)| is_read(*index))
            .map(|(_, column)| column.byte_range())
            .map(|(start, length)| start..start.saturating_add(length))
            .collect();
        let source = self.source.with_ranges(&ranges);
        let source = source.map_err(|cause| self.parquet(ParquetError::External(Box::new(cause))))?;
        Ok(ParquetRecordBatchReaderBuilder::new_with_metadata(source, self.footer.clone()))
    }

    /// Refuses what would decompress to far more than it is, or claims to lie outside the file.
    fn check_size(&self, metadata: &ParquetMetaData) -> Result<(), TableError> {
        let mut total = 0_u64;
        for column in metadata.row_groups().iter().flat_map(|group| group.columns()) {
            let place = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
            let numbers = [place, column.data_page_offset(), column.compressed_size(), column.num_values()];
            if numbers.iter().any(|number| *number < 0) {
                let fault = PartFault::ColumnForm { column: column.column_path().string() };
                return Err(TableError::BadPart { part: self.digest, fault });
            }
            total = total.saturating_add(u64::try_from(column.uncompressed_size()).unwrap_or(u64::MAX));
        }
        if total > MAX_UNCOMPRESSED_BYTES {
            let what = Measured::PartUncompressed;
            return Err(TableError::TooLarge { what, found: total, limit: MAX_UNCOMPRESSED_BYTES });
        }
        Ok(())
    }

    fn parquet(&self, source: ParquetError) -> TableError {
        TableError::Parquet { part: self.digest, source }
    }
}
