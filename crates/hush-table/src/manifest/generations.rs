// SPDX-License-Identifier: Apache-2.0
//! Generations: the parts of a table whose encrypted files have the same columns.
//!
//! A table begins with generation 0. Where an alteration adds or drops an encrypted or sealed column, it begins the next one: rows that come
//! from then on are stored with the new columns, and parts of earlier generations stay as they are.
//!
//! **What a part lacks is 0 in it.** Every quantity that an encoding can hold is 0 where its columns have no value, and validity is among them.
//! So a part from before a column was added has NULL there, and nobody need store it. The other reason for which a part lacks
//! an encoding is that its column was there before and the encoding was not: then 0 would be wrong. Only the owner knows which columns an
//! encoding is made of; plans of hers leave such encodings out until the parts of *incomplete* generations have been written anew.
// Bytes from outside are cut by pattern and `get`, numbers from outside added with care.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};

use hush_plan::EncodingId;
use serde::{Deserialize, Serialize};

use super::{MAX_COLUMNS, MAX_ENCODINGS, Manifest, PartEntry};
use crate::error::{Counted, ManifestFault};

/// Most generations of a table beside the present one.
pub const MAX_EARLIER_GENERATIONS: usize = 255;

/// A generation before the present one that still has parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Generation {
    /// Its number: generations are counted from 0 through the life of an encryption.
    pub number: u32,
    /// The encodings in the files of its parts, ids rising.
    pub encodings: Vec<EncodingId>,
    /// The sealed columns there, numbers rising.
    pub sealed: Vec<u32>,
    /// Whether its parts are to be written anew, because they lack encodings of columns that they have.
    #[serde(default, skip_serializing_if = "super::is_false")]
    pub incomplete: bool,
}

/// The columns in the encrypted file of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredColumns<'a> {
    /// Encodings, ids rising.
    pub encodings: Cow<'a, [EncodingId]>,
    /// Numbers of sealed columns, rising.
    pub sealed: Cow<'a, [u32]>,
}

impl StoredColumns<'_> {
    /// Whether there is none, and so no encrypted file.
    pub fn is_empty(&self) -> bool {
        self.encodings.is_empty() && self.sealed.is_empty()
    }
}

impl Manifest {
    /// Numbers of the sealed columns, rising.
    pub fn sealed_numbers(&self) -> Vec<u32> {
        (0..self.sealed_columns).filter(|number| self.unsealed.binary_search(number).is_err()).collect()
    }

    /// The encrypted columns that the files of new parts have.
    pub fn stored_columns(&self) -> StoredColumns<'static> {
        StoredColumns { encodings: self.encoding_ids().into(), sealed: self.sealed_numbers().into() }
    }

    /// The encrypted columns in the files of a generation; none if the table has no such generation.
    pub fn columns_of(&self, generation: u32) -> StoredColumns<'_> {
        if generation == self.generation {
            return self.stored_columns();
        }
        let found = self.generations.iter().find(|earlier| earlier.number == generation);
        let (encodings, sealed) =
            found.map_or((&[][..], &[][..]), |found| (found.encodings.as_slice(), found.sealed.as_slice()));
        StoredColumns { encodings: encodings.into(), sealed: sealed.into() }
    }

    /// Whether the parts of a generation have encrypted files.
    pub(super) fn has_encrypted(&self, generation: u32) -> bool {
        if generation == self.generation {
            return !self.encodings.is_empty() || self.unsealed.len() < self.sealed_columns as usize;
        }
        let found = self.generations.iter().find(|earlier| earlier.number == generation);
        found.is_some_and(|found| !found.encodings.is_empty() || !found.sealed.is_empty())
    }

    /// Whether the parts of a generation have no values of an encoding, so that it is 0 there.
    pub fn lacks(&self, generation: u32, id: EncodingId) -> bool {
        generation != self.generation
            && self
                .generations
                .iter()
                .find(|earlier| earlier.number == generation)
                .is_none_or(|earlier| earlier.encodings.binary_search(&id).is_err())
    }

    /// The generations whose parts have no values of an encoding, numbers rising.
    pub fn lacking(&self, id: EncodingId) -> Vec<u32> {
        let lacks = self.generations.iter().filter(|earlier| earlier.encodings.binary_search(&id).is_err());
        lacks.map(|earlier| earlier.number).collect()
    }

    /// Whether a part is to be written anew, because it lacks encodings of columns that it has.
    pub fn is_incomplete(&self, part: &PartEntry) -> bool {
        self.generations.iter().any(|earlier| earlier.number == part.generation && earlier.incomplete)
    }

    /// Whether rows that were prepared for a part of this version can be one of another version of the table: nothing was encrypted anew,
    /// rotated or altered between them.
    pub fn is_written_like(&self, other: &Self) -> bool {
        (self.encryption, self.generation) == (other.encryption, other.generation)
            && self.encodings == other.encodings
            && self.clear_columns == other.clear_columns
    }

    /// Begins a generation; the caller then gives the table its new columns. Parts stay where they are.
    pub fn begin_generation(&mut self) {
        let StoredColumns { encodings, sealed } = self.stored_columns();
        let (encodings, sealed) = (encodings.into_owned(), sealed.into_owned());
        self.generations.push(Generation { number: self.generation, encodings, sealed, incomplete: false });
        self.generation = self.generation.saturating_add(1);
        self.forget_unused();
    }

    /// Leaves out earlier generations whose parts have all been written anew.
    pub(super) fn forget_empty_generations(&mut self) {
        let used: BTreeSet<u32> = self.parts.iter().map(|part| part.generation).collect();
        self.generations.retain(|earlier| used.contains(&earlier.number));
    }

    /// An id that no encoding of any part has.
    pub fn next_encoding(&self) -> EncodingId {
        let earlier = self.generations.iter().flat_map(|earlier| earlier.encodings.iter().copied());
        let present = self.encodings.iter().map(|encoding| encoding.id);
        EncodingId(earlier.chain(present).map(|id| id.0.saturating_add(1)).max().unwrap_or(0))
    }
}

/// Generations are few enough, in order, different, and those of the parts; what they name is in order.
pub(super) fn check(manifest: &Manifest) -> Result<(), ManifestFault> {
    let earlier = &manifest.generations;
    let too_many = |what, found: usize, limit: usize| ManifestFault::TooMany {
        what,
        found: found as u64,
        limit: limit as u64,
    };
    if earlier.len() > MAX_EARLIER_GENERATIONS {
        return Err(too_many(Counted::Generations, earlier.len(), MAX_EARLIER_GENERATIONS));
    }
    if !rises(&manifest.unsealed)
        || manifest.unsealed.last().is_some_and(|last| *last >= manifest.sealed_columns)
    {
        return Err(ManifestFault::Unsealed);
    }
    let used: HashSet<u32> = manifest.parts.iter().map(|part| part.generation).collect();
    let mut next = 0;
    for (index, generation) in earlier.iter().enumerate() {
        let is_in_order = next <= generation.number && generation.number < manifest.generation;
        next = generation.number.saturating_add(1);
        let is_named = rises(&generation.encodings) && rises(&generation.sealed);
        let is_known = generation.sealed.last().is_none_or(|last| *last < manifest.sealed_columns);
        if !(is_in_order && is_named && is_known && used.contains(&generation.number)) {
            return Err(ManifestFault::Generation { index });
        }
        if generation.encodings.len() > MAX_ENCODINGS {
            return Err(too_many(Counted::Encodings, generation.encodings.len(), MAX_ENCODINGS));
        }
        if generation.sealed.len() > MAX_COLUMNS {
            return Err(too_many(Counted::SealedColumns, generation.sealed.len(), MAX_COLUMNS));
        }
    }
    let known: HashSet<u32> =
        earlier.iter().map(|generation| generation.number).chain([manifest.generation]).collect();
    let unknown = manifest.parts.iter().position(|part| !known.contains(&part.generation));
    unknown.map_or(Ok(()), |index| Err(ManifestFault::PartGeneration { index }))
}

fn rises<T: Ord>(numbers: &[T]) -> bool {
    numbers.is_sorted_by(|one, other| one < other)
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests;
