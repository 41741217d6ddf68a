// SPDX-License-Identifier: Apache-2.0
//! Writing answers.

use std::collections::BTreeMap;

use bytes::Bytes;
use hush_table::{CubeSums, Digest};

use super::{CHECKSUM_BYTES, HEAD_BYTES, Kind, MAGIC, SectionKind, SumBlock, VERSION, pieces};
use crate::ExecError;
use crate::parts::PartSet;

/// Metadata that every answer carries.
pub(crate) struct AnswerHead {
    pub(crate) manifest: Digest,
    pub(crate) plan: Digest,
    pub(crate) max_bytes: u64,
    /// The parts that a partial answer covers; `None` for an answer.
    pub(crate) parts: Option<PartSet>,
}

/// One chunk of a rows answer, owned.
pub(crate) struct RowsChunkParts {
    pub(crate) chunk: u32,
    pub(crate) rows: u32,
    pub(crate) seed: [u8; 32],
    /// Programs' objects, then fetched ones.
    pub(crate) objects: Vec<Vec<u8>>,
}

/// What parts send in the place of rows, as it stands in front of the objects.
#[derive(Debug, Default)]
pub(crate) struct Section {
    kind: SectionKind,
    bytes: Vec<u8>,
}

impl Section {
    /// The cells of a cube; nothing where no part has it.
    pub(crate) fn of_cells(cells: Option<&CubeSums>) -> Self {
        Self { kind: SectionKind::Cells, bytes: cells.map(CubeSums::encode).unwrap_or_default() }
    }

    /// Pieces of a sorted run, by the numbers of their parts; nothing where no part has it.
    pub(crate) fn of_pieces(pieces: BTreeMap<u32, Bytes>) -> Self {
        let kind = if pieces.is_empty() { SectionKind::default() } else { SectionKind::Pieces };
        Self { kind, bytes: pieces::encode(&pieces) }
    }

    /// Its length.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }
}

/// The counts of the head.
struct Counts {
    kind: Kind,
    items: u32,
    first: u32,
    second: u32,
}

/// Puts an aggregate answer together: for each block the objects of all groups.
///
/// # Errors
/// [`ExecError::AnswerLimit`]; [`ExecError::Internal`] if objects of a block differ in length.
pub(crate) fn encode_aggregate(
    head: &AnswerHead,
    clear: &[u8],
    group_count: usize,
    blocks: &[(SumBlock, Vec<Vec<u8>>)],
) -> Result<Vec<u8>, ExecError> {
    let mut directory = Vec::new();
    let mut objects: Vec<&[u8]> = Vec::new();
    for (block, answers) in blocks {
        let length = answers.first().map_or(0, Vec::len);
        if answers.len() != group_count || answers.iter().any(|answer| answer.len() != length) {
            return Err(ExecError::Internal { place: "answers of a block" });
        }
        directory.extend_from_slice(&(block.mask as u32).to_le_bytes());
        directory.extend_from_slice(&block.set.code().to_le_bytes());
        directory.extend_from_slice(&[0; 2]);
        directory.extend_from_slice(&(block.columns.len() as u32).to_le_bytes());
        directory.extend_from_slice(&length_field(length)?);
        objects.extend(answers.iter().map(Vec::as_slice));
    }
    let counts =
        Counts { kind: Kind::Aggregate, items: group_count as u32, first: blocks.len() as u32, second: 0 };
    assemble(head, &counts, (&directory, clear, &Section::default()), &objects)
}

/// Puts a rows answer together, of so many programs and so many fetched and sealed columns, and of what parts send in the
/// place of rows.
///
/// # Errors
/// [`ExecError::AnswerLimit`].
pub(crate) fn encode_rows(
    head: &AnswerHead,
    clear: &[u8],
    (program_count, fetch_count): (usize, usize),
    chunks: &[RowsChunkParts],
    section: &Section,
) -> Result<Vec<u8>, ExecError> {
    let mut directory = Vec::new();
    let mut objects: Vec<&[u8]> = Vec::new();
    for chunk in chunks {
        if chunk.objects.len() != program_count + fetch_count {
            return Err(ExecError::Internal { place: "objects of a chunk" });
        }
        directory.extend_from_slice(&chunk.chunk.to_le_bytes());
        directory.extend_from_slice(&chunk.rows.to_le_bytes());
        directory.extend_from_slice(&chunk.seed);
        for object in &chunk.objects {
            directory.extend_from_slice(&length_field(object.len())?);
            objects.push(object);
        }
    }
    let counts = Counts {
        kind: Kind::Rows,
        items: chunks.len() as u32,
        first: program_count as u32,
        second: fetch_count as u32,
    };
    assemble(head, &counts, (&directory, clear, section), &objects)
}

/// Puts an answer on products together: the numbers of runs, rising, with an object for each of so many sums; of groups for each of these in turn, with
/// their clear half.
///
/// # Errors
/// [`ExecError::AnswerLimit`]; [`ExecError::Internal`] for another number of objects.
pub(crate) fn encode_products(
    head: &AnswerHead,
    sum_count: usize,
    groups: Option<(&[u8], usize)>,
    runs: &[(u32, Vec<Vec<u8>>)],
) -> Result<Vec<u8>, ExecError> {
    let (clear, group_count) = groups.unwrap_or_default();
    let object_count = sum_count * groups.map_or(1, |(_, count)| count);
    let mut directory = Vec::new();
    let mut objects: Vec<&[u8]> = Vec::new();
    for (number, sums) in runs {
        if sums.len() != object_count {
            return Err(ExecError::Internal { place: "objects of a run" });
        }
        directory.extend_from_slice(&number.to_le_bytes());
        for object in sums {
            directory.extend_from_slice(&length_field(object.len())?);
            objects.push(object);
        }
    }
    let counts = Counts {
        kind: Kind::Products,
        items: runs.len() as u32,
        first: sum_count as u32,
        second: group_count as u32,
    };
    assemble(head, &counts, (&directory, clear, &Section::default()), &objects)
}

fn assemble(
    head: &AnswerHead,
    counts: &Counts,
    (directory, clear, section): (&[u8], &[u8], &Section),
    objects: &[&[u8]],
) -> Result<Vec<u8>, ExecError> {
    let ranges = head.parts.as_ref().map_or(&[][..], PartSet::ranges);
    let covered = ranges.iter().flat_map(|range| [range.start.to_le_bytes(), range.end.to_le_bytes()]);
    let directory = [covered.flatten().collect::<Vec<u8>>().as_slice(), directory].concat();
    let body: usize = objects.iter().map(|object| object.len()).sum();
    let total = HEAD_BYTES + directory.len() + clear.len() + section.len() + body + CHECKSUM_BYTES;
    if total as u64 > head.max_bytes {
        return Err(ExecError::AnswerLimit { found: total as u64, limit: head.max_bytes });
    }
    let mut bytes = Vec::with_capacity(total);
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&[counts.kind.written(head.parts.is_some()), 0]);
    for count in [counts.items, counts.first, counts.second] {
        bytes.extend_from_slice(&count.to_le_bytes());
    }
    for length in [total, clear.len(), directory.len()] {
        bytes.extend_from_slice(&(length as u64).to_le_bytes());
    }
    bytes.extend_from_slice(head.manifest.as_bytes());
    bytes.extend_from_slice(head.plan.as_bytes());
    bytes.extend_from_slice(&(ranges.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&(section.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&[0, 0, 0, section.kind.written()]);
    bytes.extend_from_slice(&directory);
    bytes.extend_from_slice(clear);
    bytes.extend_from_slice(&section.bytes);
    objects.iter().for_each(|object| bytes.extend_from_slice(object));
    let checksum = Digest::of(&bytes);
    bytes.extend_from_slice(checksum.as_bytes());
    Ok(bytes)
}

fn length_field(length: usize) -> Result<[u8; 4], ExecError> {
    let length = u32::try_from(length).map_err(|_| ExecError::Internal { place: "object length" })?;
    Ok(length.to_le_bytes())
}
