// SPDX-License-Identifier: Apache-2.0
//! Reading encrypted parts: a column alone, some chunks alone, as views into the pages.

// Bytes from outside are cut by pattern and `get`, numbers from outside added with care.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use hush_plan::EncodingId;
use parquet::basic::{Compression, Encoding, Type as PhysicalType};
use parquet::column::page::{Page, PageReader};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, FileMetaData, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::serialized_reader::SerializedPageReader;

use super::contain::contain;
use super::{
    CHUNK_ROWS, ChunkRow, FORMAT_KEY, PART_FORMAT, PartSource, Projection, encoding_column, sealed_column,
};
use crate::digest::Digest;
use crate::error::{PartFault, TableError};
use crate::manifest::{Manifest, PartEntry, PartPlace};

/// An encrypted part whose footer agrees with its manifest.
///
/// *Invariants*: one row group; exactly the columns of its generation in the manifest, required, plain, uncompressed, inside the
/// file; chunk indices and row counts as the manifest's entry implies.
pub struct EncryptedPart {
    source: PartSource,
    metadata: Arc<ParquetMetaData>,
    digest: Digest,
    heads: Vec<ChunkHead>,
    columns: Vec<String>,
}

/// Index and rows of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ChunkHead {
    /// In the table.
    index: u32,
    /// In the file.
    written: u32,
    rows: u32,
}

/// Length of the values of a column.
#[derive(Clone, Copy)]
enum ValueForm {
    /// Always so many bytes.
    Fixed(usize),
    /// A 32-bit length in front of each.
    Prefixed,
}

impl EncryptedPart {
    /// Opens a part as entry `entry` at `place` of a manifest. The caller has checked the part's digest.
    ///
    /// # Errors
    /// [`TableError::Parquet`] if it is not Parquet, [`TableError::BadPart`] if it is not the part that the
    /// manifest describes.
    ///
    /// # Cost
    /// Reads the footer and the two number columns: four small reads, whatever the part's size.
    pub fn open(
        source: PartSource,
        manifest: &Manifest,
        place: PartPlace,
        entry: &PartEntry,
    ) -> Result<Self, TableError> {
        let digest = entry.encrypted.map_or(Digest::from_bytes([0; 32]), |file| file.digest);
        contain(digest, &source, || Self::open_contained(source.clone(), manifest, place, entry, digest))
    }

    fn open_contained(
        source: PartSource,
        manifest: &Manifest,
        place: PartPlace,
        entry: &PartEntry,
        digest: Digest,
    ) -> Result<Self, TableError> {
        let length = source.length();
        let parquet = |cause| TableError::Parquet { part: digest, source: cause };
        let metadata = ParquetMetaDataReader::new().parse_and_finish(&source).map_err(parquet)?;
        let bad = |fault| TableError::BadPart { part: digest, fault };
        let columns = expected_columns(manifest, entry);
        check_footer(&metadata, &columns, entry.chunks, length).map_err(bad)?;
        let mut part = Self { source, metadata: Arc::new(metadata), digest, heads: Vec::new(), columns };
        part.source = part.with_columns(["chunk", "rows"].map(str::to_owned))?;
        part.heads = part.read_heads(place, entry)?;
        check_heads(&part.heads, place, entry).map_err(bad)?;
        Ok(part)
    }

    /// Chunks of the part.
    pub fn chunk_count(&self) -> u32 {
        self.heads.len() as u32
    }

    /// Fetches the seeds, some encodings and some sealed columns of all chunks: from an object store in one request, after which no read
    /// of them makes another.
    ///
    /// # Errors
    /// As [`EncryptedPart::chunks`].
    pub fn fetched(mut self, encodings: &[EncodingId], sealed: &[u32]) -> Result<Self, TableError> {
        let names = std::iter::once("seed".to_owned()).chain(encodings.iter().map(|id| encoding_column(*id)));
        let names = names.chain(sealed.iter().map(|number| sealed_column(*number)));
        self.source = contain(self.digest, &self.source, || self.with_columns(names))?;
        Ok(self)
    }

    /// Refuses a part whose file was changed since it was opened. Ranges that were checked before are not hashed again, so bytes
    /// read from such a file cannot be trusted.
    ///
    /// # Errors
    /// [`TableError::PartChanged`].
    pub fn expect_unchanged(&self) -> Result<(), TableError> {
        if self.source.looks_unchanged() {
            Ok(())
        } else {
            Err(TableError::PartChanged { part: self.digest })
        }
    }

    /// Reads some columns of some chunks, in chunk order, all together.
    ///
    /// # Errors
    /// The errors of [`EncryptedPart::chunks`], of its items, and of [`EncryptedPart::expect_unchanged`].
    pub fn read(&self, projection: &Projection) -> Result<Vec<ChunkRow>, TableError> {
        let chunks = self.chunks(projection)?.collect::<Result<_, _>>()?;
        self.expect_unchanged()?;
        Ok(chunks)
    }

    /// Some columns of some chunks, in chunk order, each chunk read when it is asked for.
    ///
    /// # Errors
    /// [`TableError::BadPart`]: an encoding, sealed column or chunk that the part does not have. Of the items: a damaged
    /// page, or [`TableError::Parquet`] from the page reader; nothing follows an error.
    ///
    /// # Cost
    /// Reads the pages of these columns and chunks alone, and the headers of those before them. Blobs are views: of the
    /// part where it is in memory, else of the page just read.
    pub fn chunks(&self, projection: &Projection) -> Result<ChunkRows<'_>, TableError> {
        contain(self.digest, &self.source, || {
            let wanted: Arc<[bool]> = self.wanted(projection)?.into();
            let seed = projection.seed.then(|| "seed".to_owned());
            let encoded: Vec<_> = projection.encodings.iter().map(|id| encoding_column(*id)).collect();
            let sealed: Vec<_> = projection.sealed.iter().map(|number| sealed_column(*number)).collect();
            let source = self.with_columns(seed.iter().chain(&encoded).chain(&sealed).cloned())?;
            let column = |name: &String, form| self.column(&source, name, form, &wanted);
            let seed = seed.map(|name| column(&name, ValueForm::Fixed(32))).transpose()?;
            let encoded = encoded.iter().map(|name| column(name, ValueForm::Prefixed));
            let sealed = sealed.iter().map(|name| column(name, ValueForm::Prefixed));
            let (encoded, sealed) = (encoded.collect::<Result<_, _>>()?, sealed.collect::<Result<_, _>>()?);
            let heads = self.heads.iter().zip(&*wanted).filter(|(_, wanted)| **wanted);
            let heads: Vec<ChunkHead> = heads.map(|(head, _)| *head).collect();
            Ok(ChunkRows { part: self, heads: heads.into_iter(), seed, encoded, sealed })
        })
    }

    /// One flag per chunk of the part: whether the projection asks for it.
    fn wanted(&self, projection: &Projection) -> Result<Vec<bool>, TableError> {
        let Some(chunks) = &projection.chunks else { return Ok(vec![true; self.heads.len()]) };
        let first = self.heads.first().map_or(0, |head| head.index);
        let mut wanted = vec![false; self.heads.len()];
        for chunk in chunks {
            let flag = chunk.checked_sub(first).and_then(|offset| wanted.get_mut(offset as usize));
            *flag.ok_or_else(|| self.bad(PartFault::NoChunk { index: *chunk }))? = true;
        }
        Ok(wanted)
    }

    fn read_heads(&self, place: PartPlace, entry: &PartEntry) -> Result<Vec<ChunkHead>, TableError> {
        let all: Arc<[bool]> = vec![true; entry.chunks as usize].into();
        let numbers = |name: &str| -> Result<Vec<u32>, TableError> {
            let mut values = self.column(&self.source, name, ValueForm::Fixed(4), &all)?;
            let number = |value: Bytes| value.as_ref().try_into().map_or(0, u32::from_le_bytes);
            all.iter().map(|_| values.next(self).map(number)).collect()
        };
        let (indices, rows) = (numbers("chunk")?, numbers("rows")?);
        let heads = (place.first_chunk..).zip(indices).zip(rows);
        Ok(heads.map(|((index, written), rows)| ChunkHead { index, written, rows }).collect())
    }

    /// The wanted values of a column, in order, from a source that holds it.
    fn column(
        &self,
        source: &PartSource,
        name: &str,
        form: ValueForm,
        wanted: &Arc<[bool]>,
    ) -> Result<Values, TableError> {
        let column = self.described(name)?;
        let pages = SerializedPageReader::new(Arc::new(source.clone()), column, wanted.len(), None);
        let pages = Box::new(pages.map_err(|source| TableError::Parquet { part: self.digest, source })?);
        let wanted = wanted.clone();
        Ok(Values { column: name.to_owned(), form, pages, wanted, passed: 0, ready: VecDeque::new() })
    }

    /// The source with the bytes of some columns at hand, fetched together where they are far away.
    fn with_columns(&self, names: impl IntoIterator<Item = String>) -> Result<PartSource, TableError> {
        let range = |name: String| {
            let (start, length) = self.described(&name)?.byte_range();
            Ok(start..start.saturating_add(length))
        };
        let ranges = names.into_iter().map(range).collect::<Result<Vec<_>, TableError>>()?;
        self.source.with_ranges(&ranges).map_err(|cause| {
            let source = ParquetError::External(Box::new(cause));
            TableError::Parquet { part: self.digest, source }
        })
    }

    /// A column in the footer.
    fn described(&self, name: &str) -> Result<&ColumnChunkMetaData, TableError> {
        let position = self.columns.iter().position(|column| column == name);
        let group = self.metadata.row_groups().first();
        let column = position.zip(group).and_then(|(position, group)| group.columns().get(position));
        column.ok_or_else(|| self.bad(PartFault::NoColumn { column: name.to_owned() }))
    }

    fn bad(&self, fault: PartFault) -> TableError {
        TableError::BadPart { part: self.digest, fault }
    }
}

impl std::fmt::Debug for EncryptedPart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EncryptedPart")
            .field("digest", &self.digest)
            .field("chunks", &self.heads.len())
            .finish_non_exhaustive()
    }
}

enum PageError {
    Damaged,
    Parquet(parquet::errors::ParquetError),
}

impl From<parquet::errors::ParquetError> for PageError {
    fn from(cause: parquet::errors::ParquetError) -> Self {
        Self::Parquet(cause)
    }
}

/// Chunks of a part, each read when it is asked for.
pub struct ChunkRows<'a> {
    part: &'a EncryptedPart,
    heads: std::vec::IntoIter<ChunkHead>,
    seed: Option<Values>,
    encoded: Vec<Values>,
    sealed: Vec<Values>,
}

impl ChunkRows<'_> {
    fn read(&mut self, head: ChunkHead) -> Result<ChunkRow, TableError> {
        let part = self.part;
        let seed = self.seed.as_mut().map(|values| values.next(part)).transpose()?;
        let seed = seed.and_then(|seed| seed.as_ref().try_into().ok());
        let encoded = self.encoded.iter_mut().map(|values| values.next(part)).collect::<Result<_, _>>()?;
        let sealed = self.sealed.iter_mut().map(|values| values.next(part)).collect::<Result<_, _>>()?;
        Ok(ChunkRow { index: head.index, written: head.written, rows: head.rows, seed, encoded, sealed })
    }
}

impl Iterator for ChunkRows<'_> {
    type Item = Result<ChunkRow, TableError>;

    fn next(&mut self) -> Option<Self::Item> {
        let head = self.heads.next()?;
        let part = self.part;
        let read = contain(part.digest, &part.source, || self.read(head));
        if read.is_err() {
            self.heads = Vec::new().into_iter();
        }
        Some(read)
    }
}

/// The wanted values of one column, page by page.
struct Values {
    column: String,
    form: ValueForm,
    pages: Box<dyn PageReader>,
    wanted: Arc<[bool]>,
    /// Values in the pages that were read or skipped.
    passed: usize,
    /// Wanted values of the page last read.
    ready: VecDeque<Bytes>,
}

impl Values {
    fn next(&mut self, part: &EncryptedPart) -> Result<Bytes, TableError> {
        self.advance().map_err(|cause| match cause {
            PageError::Damaged => part.bad(PartFault::Page { column: self.column.clone() }),
            PageError::Parquet(source) => TableError::Parquet { part: part.digest, source },
        })
    }

    /// Walks on to the next page with a wanted value. Pages are plain and cover exactly as many values as there are
    /// chunks.
    fn advance(&mut self) -> Result<Bytes, PageError> {
        while self.ready.is_empty() {
            let ahead = self.pages.peek_next_page()?.ok_or(PageError::Damaged)?;
            let count = ahead.num_levels.or(ahead.num_rows).filter(|count| *count > 0);
            let end = count.and_then(|count| self.passed.checked_add(count)).ok_or(PageError::Damaged)?;
            let here = self.wanted.get(self.passed..end).ok_or(PageError::Damaged)?;
            if here.contains(&true) {
                let page = self.pages.get_next_page()?.ok_or(PageError::Damaged)?;
                slice_page(&page, self.form, here, &mut self.ready).ok_or(PageError::Damaged)?;
            } else {
                self.pages.skip_next_page()?;
            }
            self.passed = end;
            if end == self.wanted.len() && self.pages.peek_next_page()?.is_some() {
                return Err(PageError::Damaged);
            }
        }
        self.ready.pop_front().ok_or(PageError::Damaged)
    }
}

/// Slices one plain page of required values; `None` if it does not hold exactly `wanted.len()` of them.
fn slice_page(page: &Page, form: ValueForm, wanted: &[bool], values: &mut VecDeque<Bytes>) -> Option<()> {
    let Page::DataPage { buf, num_values, encoding: Encoding::PLAIN, .. } = page else { return None };
    if *num_values as usize != wanted.len() {
        return None;
    }
    let mut at = 0_usize;
    for wanted in wanted {
        let length = match form {
            ValueForm::Fixed(length) => length,
            ValueForm::Prefixed => {
                let prefix = buf.get(at..)?.first_chunk::<4>()?;
                at = at.checked_add(4)?;
                u32::from_le_bytes(*prefix) as usize
            }
        };
        let end = at.checked_add(length)?;
        if end > buf.len() {
            return None;
        }
        if *wanted {
            values.push_back(buf.slice(at..end));
        }
        at = end;
    }
    (at == buf.len()).then_some(())
}

/// Names of all columns of an encrypted part, in order.
fn expected_columns(manifest: &Manifest, entry: &PartEntry) -> Vec<String> {
    let fixed = ["chunk", "rows", "seed"].map(str::to_owned);
    let stored = manifest.columns_of(entry.generation);
    let encoded = stored.encodings.iter().map(|id| encoding_column(*id));
    fixed
        .into_iter()
        .chain(encoded)
        .chain(stored.sealed.iter().map(|number| sealed_column(*number)))
        .collect()
}

fn check_footer(
    metadata: &ParquetMetaData,
    expected: &[String],
    chunks: u32,
    length: u64,
) -> Result<(), PartFault> {
    check_version(metadata.file_metadata())?;
    let [group] = metadata.row_groups() else {
        return Err(PartFault::Chunks { found: 0, expected: chunks.into() });
    };
    let found = u64::try_from(group.num_rows()).unwrap_or(0);
    if found != u64::from(chunks) {
        return Err(PartFault::Chunks { found, expected: chunks.into() });
    }
    for (position, name) in expected.iter().enumerate() {
        let column = group.columns().get(position).filter(|column| column.column_path().string() == *name);
        let column = column.ok_or_else(|| PartFault::NoColumn { column: name.clone() })?;
        if !column_form_is_right(column, position, chunks, length) {
            return Err(PartFault::ColumnForm { column: name.clone() });
        }
    }
    match group.columns().get(expected.len()) {
        Some(extra) => Err(PartFault::ColumnForm { column: extra.column_path().string() }),
        None => Ok(()),
    }
}

fn check_version(metadata: &FileMetaData) -> Result<(), PartFault> {
    let pairs = metadata.key_value_metadata().map(Vec::as_slice).unwrap_or_default();
    let version = pairs.iter().find(|pair| pair.key == FORMAT_KEY).and_then(|pair| pair.value.as_deref());
    if version == Some(PART_FORMAT) { Ok(()) } else { Err(PartFault::Version) }
}

/// Whether a column is required, plain, uncompressed, of the type that its position asks for and in the file.
fn column_form_is_right(column: &ColumnChunkMetaData, position: usize, chunks: u32, length: u64) -> bool {
    let described = column.column_descr();
    let kind = match position {
        0 | 1 => PhysicalType::INT32,
        2 => PhysicalType::FIXED_LEN_BYTE_ARRAY,
        _ => PhysicalType::BYTE_ARRAY,
    };
    let start = u64::try_from(column.data_page_offset()).ok();
    let size = u64::try_from(column.compressed_size()).ok();
    let inside =
        start.zip(size).and_then(|(start, size)| start.checked_add(size)).is_some_and(|end| end <= length);
    column.column_type() == kind
        && (position != 2 || described.type_length() == 32)
        && described.max_def_level() == 0
        && described.max_rep_level() == 0
        && column.compression() == Compression::UNCOMPRESSED
        && column.dictionary_page_offset().is_none()
        && column.num_values() == i64::from(chunks)
        && inside
}

/// Indices run on from the manifest's place; all chunks but the last are full; rows add up.
fn check_heads(heads: &[ChunkHead], place: PartPlace, entry: &PartEntry) -> Result<(), PartFault> {
    let last = heads.len().saturating_sub(1);
    for (offset, head) in heads.iter().enumerate() {
        let expected = entry.first_written(place).saturating_add(offset as u32);
        if head.written != expected {
            return Err(PartFault::ChunkIndex { found: head.written, expected });
        }
        if !(1..=CHUNK_ROWS).contains(&head.rows) || (head.rows < CHUNK_ROWS && offset != last) {
            return Err(PartFault::ShortChunk { index: head.index });
        }
    }
    let found = heads.iter().map(|head| u64::from(head.rows)).sum();
    if found == entry.rows { Ok(()) } else { Err(PartFault::Rows { found, expected: entry.rows }) }
}
