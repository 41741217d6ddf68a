// SPDX-License-Identifier: Apache-2.0
//! Rows that were added behind an encryption: the numbers of their chunks, and the batches that their owner named.
//!
//! Parts of an encryption have their chunks numbered by their place in the table. Those of an append have not: when they are encrypted, nobody
//! knows behind which other append they will stand. They are numbered through the append, from 0.
// Bytes from outside are cut by pattern and `get`, numbers from outside added with care.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::{Manifest, PartEntry};
use crate::digest::{AppendId, BatchTag, Digest};
use crate::error::{Counted, ManifestFault};

/// Most batches that a table remembers.
pub const MAX_BATCHES: usize = 1 << 16;

/// Where a part stands in the append that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Appended {
    /// The append.
    pub id: AppendId,
    /// Number of the part's first chunk in it, and so in the part's file.
    pub first: u32,
}

/// A batch of rows that is in the table, so that the same batch is not taken twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Batch {
    /// Stands for its name.
    pub tag: BatchTag,
    /// Its rows.
    pub rows: u64,
    /// Keyed digest of name and rows: tells its owner whether two batches are the same, and others nothing.
    pub content: Digest,
    /// The version that brought it.
    pub version: u64,
}

impl Manifest {
    /// The batch with this tag, if the table has it.
    pub fn batch(&self, tag: BatchTag) -> Option<&Batch> {
        self.batches.iter().find(|batch| batch.tag == tag)
    }
}

/// No chunk of an append is there twice; batches are few enough, different, and of versions up to this one.
pub(super) fn check(manifest: &Manifest) -> Result<(), ManifestFault> {
    chunks(&manifest.parts)?;
    let batches = &manifest.batches;
    if batches.len() > MAX_BATCHES {
        let (found, limit) = (batches.len() as u64, MAX_BATCHES as u64);
        return Err(ManifestFault::TooMany { what: Counted::Batches, found, limit });
    }
    let mut tags = HashSet::with_capacity(batches.len());
    let wrong = batches.iter().position(|batch| {
        let is_possible = batch.rows > 0 && (1..=manifest.version).contains(&batch.version);
        !is_possible || !tags.insert(batch.tag)
    });
    wrong.map_or(Ok(()), |index| Err(ManifestFault::Batch { index }))
}

fn chunks(parts: &[PartEntry]) -> Result<(), ManifestFault> {
    let appended =
        parts.iter().enumerate().filter_map(|(index, part)| Some((part.append?, index, part.chunks)));
    let mut runs: Vec<_> =
        appended.map(|(Appended { id, first }, index, chunks)| (id, first, index, chunks)).collect();
    runs.sort_unstable();
    let mut before = None;
    for (id, first, index, chunks) in runs {
        let fault = ManifestFault::Appended { index };
        let end = first.checked_add(chunks).ok_or(ManifestFault::Appended { index })?;
        let overlaps = before.is_some_and(|(other, end)| other == id && first < end);
        let is_delivery = parts.get(index).is_some_and(|part| part.delivery.is_some());
        if overlaps || is_delivery {
            return Err(fault);
        }
        before = Some((id, end));
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests;
