// SPDX-License-Identifier: Apache-2.0
//! Reading answers from an untrusted server.

// Bytes from outside are cut by pattern and `get`, numbers from outside added with care.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use hush_table::{Digest, PackedSums};

use super::clear::{count_matching, read_clear, read_matching, unnumbered};
use super::{
    AggregateAnswer, Answer, AnswerError, BLOCK_ENTRY_BYTES, BlockAnswers, CHECKSUM_BYTES, CHUNK_ENTRY_BYTES,
    EncryptedHalf, HEAD_BYTES, Kind, MAGIC, NUMBERS_IN_COLUMN, PartialAnswer, ProductsAnswer, ProductsRun,
    RANGE_BYTES, RUN_ENTRY_BYTES, RowNumbers, RowsChunk, RunPieces, SectionKind, VERSION,
};
use crate::parts::PartSet;

/// Forms, in sentences.
const PARTIAL: &str = "a partial answer";
const WHOLE: &str = "a whole answer";

impl<'a> Answer<'a> {
    /// Bytes of the clear half.
    pub fn clear_len(&self) -> u64 {
        self.clear.len() as u64
    }

    /// Checks lengths, version and checksum, and cuts the answer into its pieces.
    ///
    /// # Errors
    /// An [`AnswerError`] that names the first fault.
    ///
    /// # Cost
    /// One pass over the bytes for the checksum; allocates for the directory alone.
    pub fn decode(bytes: &'a [u8], max_bytes: u64) -> Result<Self, AnswerError> {
        match Self::decode_either(bytes, max_bytes)? {
            (answer, None) => Ok(answer),
            (_, Some(_)) => Err(AnswerError::Extent { found: PARTIAL, expected: WHOLE }),
        }
    }

    /// An answer, or a partial answer with the parts that it covers.
    fn decode_either(bytes: &'a [u8], max_bytes: u64) -> Result<(Self, Option<PartSet>), AnswerError> {
        let found = bytes.len() as u64;
        if found > max_bytes {
            return Err(AnswerError::TooLarge { found, limit: max_bytes });
        }
        let head = Head::parse(bytes)?;
        let mut rest = Slices(head.rest);
        let directory = rest.take(head.directory_bytes)?;
        let clear = rest.take(head.clear_bytes)?;
        let (content, checksum) = rest.0.split_last_chunk::<CHECKSUM_BYTES>().ok_or(short(rest.0.len()))?;
        let signed = bytes.split_last_chunk::<CHECKSUM_BYTES>().map_or(&[][..], |(signed, _)| signed);
        if Digest::of(signed).as_bytes() != checksum {
            return Err(AnswerError::Checksum);
        }
        let (kind, is_partial) = Kind::read(head.kind).ok_or(AnswerError::Field)?;
        let section_kind = SectionKind::read(head.section).ok_or(AnswerError::Field)?;
        let may_have_section = kind == Kind::Rows && head.version == VERSION;
        let has_section = head.section_bytes != 0 || section_kind != SectionKind::Cells;
        if (!is_partial && head.ranges != 0) || (!may_have_section && has_section) {
            return Err(AnswerError::Field);
        }
        let mut content = Slices(content);
        let (mut cells, mut pieces) = (None, None);
        match (section_kind, content.take(head.section_bytes)?) {
            (SectionKind::Cells, []) => {}
            (SectionKind::Cells, found) => cells = Some(PackedSums::decode(found).ok_or(AnswerError::Cells)?),
            (SectionKind::Pieces, found) => {
                pieces = Some(RunPieces::decode(found).ok_or(AnswerError::Pieces)?);
            }
        }
        let mut directory = Slices(directory);
        let covered = directory.take(u64::from(head.ranges).saturating_mul(RANGE_BYTES as u64))?;
        let parts = is_partial.then(|| parts(covered)).transpose()?;
        let encrypted = match kind {
            Kind::Aggregate if head.second != 0 => return Err(AnswerError::Field),
            Kind::Aggregate => EncryptedHalf::Aggregate(aggregate(&head, directory.0, content.0)?),
            // A kind that had no version before. Without a clear half there are no groups.
            Kind::Products if head.version != VERSION || (clear.is_empty() && head.second != 0) => {
                return Err(AnswerError::Field);
            }
            Kind::Products => {
                let groups = (!clear.is_empty()).then_some(head.second);
                EncryptedHalf::Products(products(&head, groups, directory.0, content.0)?)
            }
            Kind::Rows => EncryptedHalf::Rows(rows(&head, directory.0, content.0)?),
        };
        Ok((
            Self {
                manifest: head.manifest,
                plan: head.plan,
                encrypted,
                cells,
                pieces,
                clear,
                version: head.version,
            },
            parts,
        ))
    }

    /// Refuses an answer to another plan, or computed on another version of the table.
    ///
    /// # Errors
    /// [`AnswerError::OtherManifest`], [`AnswerError::OtherPlan`].
    pub fn expect(&self, manifest: Digest, plan: Digest) -> Result<(), AnswerError> {
        if self.manifest != manifest {
            return Err(AnswerError::OtherManifest { found: self.manifest });
        }
        if self.plan != plan { Err(AnswerError::OtherPlan) } else { Ok(()) }
    }

    /// The clear half: columns `k0…`, `c0…` with one row per group, or `row`, `c0…` with one row per matching
    /// row of a table of `rows` rows; of products without groups nothing. Names, types and the number of columns are the server's statement; compare them with the plan.
    ///
    /// # Errors
    /// [`AnswerError::Clear`], also if an aggregate answer has not one row per group, or a row lies outside the table.
    pub fn clear(&self, rows: u64) -> Result<RecordBatch, AnswerError> {
        match &self.encrypted {
            EncryptedHalf::Aggregate(answer) => self.clear_of_groups(answer.group_count),
            EncryptedHalf::Products(answer) => match answer.group_count {
                Some(count) => self.clear_of_groups(count),
                None => Ok(RecordBatch::new_empty(Arc::new(Schema::empty()))),
            },
            EncryptedHalf::Rows(_) if self.version == NUMBERS_IN_COLUMN => {
                read_clear(self.clear, self.clear.len() / 8)
            }
            EncryptedHalf::Rows(_) => {
                let (numbers, columns) = read_matching(self.clear, rows)?;
                numbers.before(&columns).map_err(|_| AnswerError::Clear)
            }
        }
    }

    /// A clear half with a row for each of so many groups.
    fn clear_of_groups(&self, count: u32) -> Result<RecordBatch, AnswerError> {
        // Each group has a count of eight bytes.
        let batch = read_clear(self.clear, self.clear.len() / 8)?;
        if batch.num_rows() == count as usize { Ok(batch) } else { Err(AnswerError::Clear) }
    }

    /// The clear half of an answer to a rows task of a table of `rows` rows: the numbers of the matching rows, and the columns `c0…`.
    ///
    /// # Errors
    /// [`AnswerError::Clear`], also for another kind of answer, or numbers of no rows of the table.
    pub fn matching(&self, rows: u64) -> Result<(RowNumbers, RecordBatch), AnswerError> {
        match &self.encrypted {
            EncryptedHalf::Aggregate(_) | EncryptedHalf::Products(_) => Err(AnswerError::Clear),
            EncryptedHalf::Rows(_) if self.version == NUMBERS_IN_COLUMN => {
                unnumbered(&self.clear(rows)?, rows)
            }
            EncryptedHalf::Rows(_) => read_matching(self.clear, rows),
        }
    }

    /// The rows of the clear half, without reading its columns.
    ///
    /// # Errors
    /// As [`Answer::clear`].
    pub fn clear_rows(&self, rows: u64) -> Result<u64, AnswerError> {
        match &self.encrypted {
            EncryptedHalf::Aggregate(answer) => Ok(answer.group_count.into()),
            EncryptedHalf::Products(answer) => Ok(answer.group_count.map_or(0, u64::from)),
            EncryptedHalf::Rows(_) if self.version == NUMBERS_IN_COLUMN => {
                Ok(self.clear(rows)?.num_rows() as u64)
            }
            EncryptedHalf::Rows(_) => count_matching(self.clear, rows),
        }
    }
}

impl<'a> PartialAnswer<'a> {
    /// As [`Answer::decode`], of a partial answer.
    ///
    /// # Errors
    /// An [`AnswerError`] that names the first thing wrong.
    ///
    /// # Cost
    /// That of [`Answer::decode`].
    pub fn decode(bytes: &'a [u8], max_bytes: u64) -> Result<Self, AnswerError> {
        match Answer::decode_either(bytes, max_bytes)? {
            (answer, Some(parts)) => Ok(Self { parts, answer }),
            (_, None) => Err(AnswerError::Extent { found: WHOLE, expected: PARTIAL }),
        }
    }
}

struct Head<'a> {
    version: u16,
    kind: u8,
    items: u32,
    first: u32,
    second: u32,
    ranges: u32,
    section: u8,
    section_bytes: u64,
    clear_bytes: u64,
    directory_bytes: u64,
    manifest: Digest,
    plan: Digest,
    rest: &'a [u8],
}

impl<'a> Head<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, AnswerError> {
        if !bytes.starts_with(&MAGIC) {
            return Err(AnswerError::Magic);
        }
        let (head, rest) = bytes.split_first_chunk::<HEAD_BYTES>().ok_or(short(bytes.len()))?;
        let mut fields = Slices(head.get(MAGIC.len()..).unwrap_or_default());
        let found = u16::from_le_bytes(fields.array()?);
        if !(NUMBERS_IN_COLUMN..=VERSION).contains(&found) {
            return Err(AnswerError::Version { found, expected: VERSION });
        }
        let [kind, flags] = fields.array()?;
        let [items, first, second] = [fields.u32()?, fields.u32()?, fields.u32()?];
        let [total, clear_bytes, directory_bytes] = [fields.u64()?, fields.u64()?, fields.u64()?];
        let (manifest, plan) = (Digest::from_bytes(fields.array()?), Digest::from_bytes(fields.array()?));
        let (ranges, section_bytes) = (fields.u32()?, fields.u64()?);
        let [reserved @ .., section] = fields.array::<4>()?;
        if flags != 0 || reserved != [0; 3] {
            return Err(AnswerError::Field);
        }
        if total != bytes.len() as u64 {
            return Err(AnswerError::Length { found: bytes.len() as u64, expected: total });
        }
        Ok(Self {
            version: found,
            kind,
            items,
            first,
            second,
            ranges,
            section,
            section_bytes,
            clear_bytes,
            directory_bytes,
            manifest,
            plan,
            rest,
        })
    }
}

/// The parts that some ranges are.
fn parts(covered: &[u8]) -> Result<PartSet, AnswerError> {
    let mut ranges = Vec::with_capacity(covered.len() / RANGE_BYTES);
    let mut covered = Slices(covered);
    while !covered.0.is_empty() {
        ranges.push(covered.u32()?..covered.u32()?);
    }
    PartSet::from_ranges(ranges).ok_or(AnswerError::Ranges)
}

fn aggregate<'a>(
    head: &Head<'_>,
    directory: &'a [u8],
    content: &'a [u8],
) -> Result<AggregateAnswer<'a>, AnswerError> {
    let expected = u64::from(head.first).saturating_mul(BLOCK_ENTRY_BYTES as u64);
    same_length(directory.len(), expected)?;
    let mut content = Slices(content);
    let mut blocks = Vec::with_capacity(head.first as usize);
    for entry in directory.chunks_exact(BLOCK_ENTRY_BYTES) {
        let mut entry = Slices(entry);
        let mask = entry.u32()?;
        let param_code = u16::from_le_bytes(entry.array()?);
        if entry.array::<2>()? != [0; 2] {
            return Err(AnswerError::Field);
        }
        let (body_count, object_bytes) = (entry.u32()?, entry.u32()?);
        let objects = content.take(u64::from(object_bytes).saturating_mul(u64::from(head.items)))?;
        blocks.push(BlockAnswers {
            mask,
            param_code,
            body_count,
            object_bytes: object_bytes as usize,
            objects,
        });
    }
    same_length(content.0.len(), 0)?;
    Ok(AggregateAnswer { group_count: head.items, blocks })
}

fn rows<'a>(
    head: &Head<'_>,
    directory: &'a [u8],
    content: &'a [u8],
) -> Result<Vec<RowsChunk<'a>>, AnswerError> {
    let objects = u64::from(head.first).saturating_add(u64::from(head.second));
    let entry_bytes = objects.saturating_mul(4).saturating_add(CHUNK_ENTRY_BYTES as u64);
    let expected = u64::from(head.items).checked_mul(entry_bytes).ok_or(AnswerError::Field)?;
    same_length(directory.len(), expected)?;
    let mut content = Slices(content);
    let mut chunks = Vec::with_capacity(head.items as usize);
    let mut last: Option<u32> = None;
    for entry in directory.chunks_exact(entry_bytes as usize) {
        let mut entry = Slices(entry);
        let (chunk, rows, seed) = (entry.u32()?, entry.u32()?, entry.array()?);
        if last.replace(chunk).is_some_and(|last| last >= chunk) {
            return Err(AnswerError::Field);
        }
        let mut next = |_| content.take(u64::from(entry.u32()?));
        let programs = (0..head.first).map(&mut next).collect::<Result<_, _>>()?;
        let fetched = (0..head.second).map(&mut next).collect::<Result<_, _>>()?;
        chunks.push(RowsChunk { chunk, rows, seed, programs, fetched });
    }
    same_length(content.0.len(), 0)?;
    Ok(chunks)
}

fn products<'a>(
    head: &Head<'_>,
    group_count: Option<u32>,
    directory: &'a [u8],
    content: &'a [u8],
) -> Result<ProductsAnswer<'a>, AnswerError> {
    let objects = u64::from(head.first).checked_mul(group_count.map_or(1, u64::from));
    let objects = objects.ok_or(AnswerError::Field)?;
    let entry_bytes = objects.saturating_mul(4).saturating_add(RUN_ENTRY_BYTES as u64);
    let expected = u64::from(head.items).checked_mul(entry_bytes).ok_or(AnswerError::Field)?;
    same_length(directory.len(), expected)?;
    let mut content = Slices(content);
    let mut runs = Vec::with_capacity(head.items as usize);
    let mut last: Option<u32> = None;
    for entry in directory.chunks_exact(entry_bytes as usize) {
        let mut entry = Slices(entry);
        let number = entry.u32()?;
        if last.replace(number).is_some_and(|last| last >= number) {
            return Err(AnswerError::Field);
        }
        let objects = (0..objects).map(|_| content.take(u64::from(entry.u32()?)));
        runs.push(ProductsRun { number, objects: objects.collect::<Result<_, _>>()? });
    }
    same_length(content.0.len(), 0)?;
    Ok(ProductsAnswer { group_count, runs })
}

/// Bytes not yet read.
struct Slices<'a>(&'a [u8]);

impl<'a> Slices<'a> {
    fn take(&mut self, length: u64) -> Result<&'a [u8], AnswerError> {
        let wrong = AnswerError::Length { found: self.0.len() as u64, expected: length };
        let length = usize::try_from(length).map_err(|_| wrong)?;
        let (taken, rest) = self.0.split_at_checked(length).ok_or(wrong)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], AnswerError> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or(short(self.0.len()))?;
        self.0 = rest;
        Ok(*taken)
    }

    fn u32(&mut self) -> Result<u32, AnswerError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn u64(&mut self) -> Result<u64, AnswerError> {
        Ok(u64::from_le_bytes(self.array()?))
    }
}

fn same_length(found: usize, expected: u64) -> Result<(), AnswerError> {
    let found = found as u64;
    if found == expected { Ok(()) } else { Err(AnswerError::Length { found, expected }) }
}

fn short(found: usize) -> AnswerError {
    AnswerError::Length { found: found as u64, expected: (HEAD_BYTES + CHECKSUM_BYTES) as u64 }
}
