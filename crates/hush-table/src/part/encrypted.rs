// SPDX-License-Identifier: Apache-2.0
//! Reading encrypted parts: a column alone, some chunks alone, as views into the pages.

// Bytes from outside are cut by pattern and `get`, numbers from outside added with care.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, Type as PhysicalType};
use parquet::column::page::{Page, PageReader};
use parquet::file::metadata::{ColumnChunkMetaData, FileMetaData};
use parquet::file::reader::{FileReader, SerializedFileReader};

use super::contain::contain;
use super::{
    CHUNK_ROWS, ChunkRow, FORMAT_KEY, PART_FORMAT, PartSource, Projection, encoding_column, sealed_column,
};
use crate::digest::Digest;
use crate::error::{PartFault, TableError};
use crate::manifest::{Manifest, PartEntry, PartPlace};

/// An encrypted part whose footer agrees with its manifest.
///
/// *Invariants*: one row group; exactly the columns of the manifest, required, plain, uncompressed, inside the
/// file; chunk indices and row counts as the manifest's entry implies.
pub struct EncryptedPart {
    reader: SerializedFileReader<PartSource>,
    digest: Digest,
    heads: Vec<ChunkHead>,
    columns: Vec<String>,
}

/// Index and rows of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ChunkHead {
    index: u32,
    rows: u32,
}

/// How long the values of a column are.
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
        contain(digest, || Self::open_contained(source, manifest, place, entry, digest))
    }

    fn open_contained(
        source: PartSource,
        manifest: &Manifest,
        place: PartPlace,
        entry: &PartEntry,
        digest: Digest,
    ) -> Result<Self, TableError> {
        let length = source.length();
        let reader = SerializedFileReader::new(source)
            .map_err(|cause| TableError::Parquet { part: digest, source: cause })?;
        let bad = |fault| TableError::BadPart { part: digest, fault };
        let columns = expected_columns(manifest);
        check_footer(&reader, &columns, entry.chunks, length).map_err(bad)?;
        let mut part = Self { reader, digest, heads: Vec::new(), columns };
        part.heads = part.read_heads(entry)?;
        check_heads(&part.heads, place, entry).map_err(bad)?;
        Ok(part)
    }

    /// Chunks of the part.
    pub fn chunk_count(&self) -> u32 {
        self.heads.len() as u32
    }

    /// Reads some columns of some chunks, in chunk order.
    ///
    /// # Errors
    /// [`TableError::BadPart`]: an encoding, sealed column or chunk that the part does not have, or a damaged
    /// page; [`TableError::Parquet`] from the page reader.
    ///
    /// # Cost
    /// Reads the pages of these columns and chunks alone. Blobs are views: of the part where it is in memory, else
    /// of the page just read.
    pub fn read(&self, projection: &Projection) -> Result<Vec<ChunkRow>, TableError> {
        contain(self.digest, || self.read_contained(projection))
    }

    fn read_contained(&self, projection: &Projection) -> Result<Vec<ChunkRow>, TableError> {
        let wanted = self.wanted(projection)?;
        let mut rows: Vec<ChunkRow> = self
            .heads
            .iter()
            .zip(&wanted)
            .filter(|(_, wanted)| **wanted)
            .map(|(head, _)| ChunkRow {
                index: head.index,
                rows: head.rows,
                seed: None,
                encoded: Vec::with_capacity(projection.encodings.len()),
                sealed: Vec::with_capacity(projection.sealed.len()),
            })
            .collect();
        if projection.seed {
            for (row, seed) in rows.iter_mut().zip(self.column("seed", ValueForm::Fixed(32), &wanted)?) {
                row.seed = seed.as_ref().try_into().ok();
            }
        }
        for id in &projection.encodings {
            let blobs = self.column(&encoding_column(*id), ValueForm::Prefixed, &wanted)?;
            rows.iter_mut().zip(blobs).for_each(|(row, blob)| row.encoded.push(blob));
        }
        for number in &projection.sealed {
            let blobs = self.column(&sealed_column(*number), ValueForm::Prefixed, &wanted)?;
            rows.iter_mut().zip(blobs).for_each(|(row, blob)| row.sealed.push(blob));
        }
        Ok(rows)
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

    fn read_heads(&self, entry: &PartEntry) -> Result<Vec<ChunkHead>, TableError> {
        let all = vec![true; entry.chunks as usize];
        let numbers = |name: &str| -> Result<Vec<u32>, TableError> {
            let values = self.column(name, ValueForm::Fixed(4), &all)?;
            let number = |value: &Bytes| value.as_ref().try_into().map_or(0, u32::from_le_bytes);
            Ok(values.iter().map(number).collect())
        };
        let (indices, rows) = (numbers("chunk")?, numbers("rows")?);
        Ok(indices.into_iter().zip(rows).map(|(index, rows)| ChunkHead { index, rows }).collect())
    }

    /// The wanted values of a column, in order.
    fn column(&self, name: &str, form: ValueForm, wanted: &[bool]) -> Result<Vec<Bytes>, TableError> {
        let position = self.columns.iter().position(|column| column == name);
        let position = position.ok_or_else(|| self.bad(PartFault::NoColumn { column: name.to_owned() }))?;
        let parquet = |source| TableError::Parquet { part: self.digest, source };
        let group = self.reader.get_row_group(0).map_err(parquet)?;
        let pages = group.get_column_page_reader(position).map_err(parquet)?;
        let mut values = Vec::with_capacity(wanted.iter().filter(|wanted| **wanted).count());
        read_pages(pages, form, wanted, &mut values).map_err(|cause| match cause {
            PageError::Damaged => self.bad(PartFault::Page { column: name.to_owned() }),
            PageError::Parquet(source) => parquet(source),
        })?;
        Ok(values)
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

/// Walks a column's pages, skipping those without a wanted value, and slices the values out. Pages must be plain
/// and cover exactly `wanted.len()` values.
fn read_pages(
    mut pages: Box<dyn PageReader>,
    form: ValueForm,
    wanted: &[bool],
    values: &mut Vec<Bytes>,
) -> Result<(), PageError> {
    let mut rest = wanted;
    while !rest.is_empty() {
        let ahead = pages.peek_next_page()?.ok_or(PageError::Damaged)?;
        let count = ahead.num_levels.or(ahead.num_rows).ok_or(PageError::Damaged)?;
        let (here, after) = rest.split_at_checked(count).filter(|_| count > 0).ok_or(PageError::Damaged)?;
        rest = after;
        if here.contains(&true) {
            let page = pages.get_next_page()?.ok_or(PageError::Damaged)?;
            slice_page(&page, form, here, values).ok_or(PageError::Damaged)?;
        } else {
            pages.skip_next_page()?;
        }
    }
    if pages.peek_next_page()?.is_some() { Err(PageError::Damaged) } else { Ok(()) }
}

/// Slices one plain page of required values; `None` if it does not hold exactly `wanted.len()` of them.
fn slice_page(page: &Page, form: ValueForm, wanted: &[bool], values: &mut Vec<Bytes>) -> Option<()> {
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
            values.push(buf.slice(at..end));
        }
        at = end;
    }
    (at == buf.len()).then_some(())
}

/// Names of all columns of an encrypted part, in order.
fn expected_columns(manifest: &Manifest) -> Vec<String> {
    let fixed = ["chunk", "rows", "seed"].map(str::to_owned);
    let encoded = manifest.encodings.iter().map(|encoding| encoding_column(encoding.id));
    fixed.into_iter().chain(encoded).chain((0..manifest.sealed_columns).map(sealed_column)).collect()
}

fn check_footer(
    reader: &SerializedFileReader<PartSource>,
    expected: &[String],
    chunks: u32,
    length: u64,
) -> Result<(), PartFault> {
    let metadata = reader.metadata();
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
        let expected = place.first_chunk.saturating_add(offset as u32);
        if head.index != expected {
            return Err(PartFault::ChunkIndex { found: head.index, expected });
        }
        if !(1..=CHUNK_ROWS).contains(&head.rows) || (head.rows < CHUNK_ROWS && offset != last) {
            return Err(PartFault::ShortChunk { index: head.index });
        }
    }
    let found = heads.iter().map(|head| u64::from(head.rows)).sum();
    if found == entry.rows { Ok(()) } else { Err(PartFault::Rows { found, expected: entry.rows }) }
}
