// SPDX-License-Identifier: Apache-2.0
//! The sorted runs of parts: where the manifest names them, where they lie in their file, and what may be said of them.
// Bytes from outside are cut by pattern and `get`, numbers from outside added with care.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

use std::collections::HashSet;
use std::ops::Range;

use hush_plan::run::MAX_RUNS;
use serde::{Deserialize, Serialize};

use super::{MAX_PART_BYTES, Manifest, PartEntry, PartFile};
use crate::digest::RunsId;
use crate::error::ManifestFault;

/// The sorted runs of a part.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Runs {
    /// Random; no other part of the table has the same.
    pub id: RunsId,
    /// The runs, numbers rising.
    pub runs: Vec<StoredRun>,
    /// Their file, which has no head: run after run, the index and then the blocks.
    pub file: PartFile,
}

/// A sorted run of a part: its rows once more, sorted, in blocks of one size behind an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredRun {
    /// Its number in the table.
    pub number: u32,
    /// Bytes of its index, sealed.
    pub index_bytes: u32,
    /// Blocks.
    pub blocks: u32,
    /// Bytes of each block, sealed.
    pub block_bytes: u32,
}

/// A sorted run in the file of its part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedRun {
    /// The run.
    pub run: StoredRun,
    /// Where its index begins in the file.
    pub first_byte: u64,
}

impl StoredRun {
    /// Bytes of the index and all blocks.
    pub fn bytes(&self) -> u64 {
        let blocks = u64::from(self.blocks).saturating_mul(self.block_bytes.into());
        blocks.saturating_add(self.index_bytes.into())
    }
}

impl PlacedRun {
    /// Where the index lies in the file.
    pub(crate) fn index(&self) -> Range<u64> {
        self.first_byte..self.blocks_begin()
    }

    /// Where some blocks lie in the file that follow each other.
    pub(crate) fn blocks(&self, places: Range<u32>) -> Range<u64> {
        let at = |place: u32| {
            let before = u64::from(place).saturating_mul(self.run.block_bytes.into());
            self.blocks_begin().saturating_add(before)
        };
        at(places.start)..at(places.end)
    }

    fn blocks_begin(&self) -> u64 {
        self.first_byte.saturating_add(self.run.index_bytes.into())
    }
}

impl Runs {
    /// Whether a file of so many bytes can hold them.
    pub(crate) fn is_possible(&self) -> bool {
        let is_whole = |run: &StoredRun| run.index_bytes > 0 && run.blocks > 0 && run.block_bytes > 0;
        let bytes = self.runs.iter().fold(0_u64, |sum, run| sum.saturating_add(run.bytes()));
        (1..=MAX_RUNS).contains(&self.runs.len())
            && self.runs.is_sorted_by(|before, after| before.number < after.number)
            && self.runs.iter().all(is_whole)
            && bytes == self.file.bytes
            && bytes <= MAX_PART_BYTES
    }
}

impl PartEntry {
    /// The sorted run of this number, if it stands for the part's rows: the part has it, and all the rows that it had when the run was made.
    pub fn run(&self, number: u32) -> Option<PlacedRun> {
        let Runs { runs, .. } = self.runs.as_ref().filter(|_| self.dead.is_none())?;
        let place = runs.binary_search_by_key(&number, |run| run.number).ok()?;
        let first_byte = runs.iter().take(place).fold(0_u64, |sum, run| sum.saturating_add(run.bytes()));
        Some(PlacedRun { run: *runs.get(place)?, first_byte })
    }

    /// Whether a sorted run stands for the part's rows.
    pub fn has_run(&self, number: u32) -> bool {
        self.run(number).is_some()
    }
}

/// What can be said of the sorted runs of a part without the others. Devices make none: they have not the owner's key.
pub(super) fn check_alone(index: usize, part: &PartEntry) -> Result<(), ManifestFault> {
    let Some(runs) = &part.runs else { return Ok(()) };
    if runs.is_possible() && part.delivery.is_none() { Ok(()) } else { Err(ManifestFault::Runs { index }) }
}

/// No two parts have the same sorted runs: the owner binds blocks to the name of their part's runs, so that none can stand for another.
pub(super) fn check(manifest: &Manifest) -> Result<(), ManifestFault> {
    let (mut ids, mut files) = (HashSet::new(), HashSet::new());
    let runs =
        manifest.parts.iter().enumerate().filter_map(|(index, part)| Some((index, part.runs.as_ref()?)));
    for (index, runs) in runs {
        if !ids.insert(runs.id) || !files.insert(runs.file.digest) {
            return Err(ManifestFault::RunsRepeated { index });
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::digest::Digest;
    use crate::error::TableError;
    use crate::fixture::{manifest, sign};
    use crate::manifest::{Dead, SignedManifest};
    use crate::{DeliveryId, DeviceId, StreamId};

    const RUN: StoredRun = StoredRun { number: 3, index_bytes: 7, blocks: 5, block_bytes: 100 };

    fn runs(byte: u8, runs: &[StoredRun]) -> Option<Runs> {
        let bytes = runs.iter().map(StoredRun::bytes).sum();
        let file = PartFile { digest: Digest::of(&[byte]), bytes };
        Some(Runs { id: RunsId::from_bytes([byte; 16]), runs: runs.to_vec(), file })
    }

    fn numbered(number: u32) -> StoredRun {
        StoredRun { number, ..RUN }
    }

    fn with_runs() -> Manifest {
        let mut manifest = manifest();
        let last = StoredRun { number: u32::MAX, index_bytes: 1, blocks: 2, block_bytes: 9 };
        manifest.parts[0].runs = runs(1, &[numbered(0), RUN, last]);
        manifest.parts[1].runs = runs(2, &[RUN]);
        manifest
    }

    #[test]
    fn runs_stand_behind_the_cubes_of_their_part() {
        let text = String::from_utf8(with_runs().to_json().unwrap()).unwrap();
        let (digest, id) = (Digest::of(&[2]), "02".repeat(16));
        let member = format!(
            ",\"runs\":{{\"id\":\"{id}\",\"runs\":[{{\"number\":3,\"index_bytes\":7,\"blocks\":5,\"block_bytes\":100}}],\"file\":{{\"digest\":\"{digest}\",\"bytes\":507}}}}}}]"
        );
        assert!(text.contains(&member), "{text}");
        let signed = sign(with_runs());
        assert_eq!(SignedManifest::decode(signed.as_bytes()).unwrap(), signed);
        assert!(!String::from_utf8(manifest().to_json().unwrap()).unwrap().contains("runs"));
    }

    #[test]
    fn a_run_lies_behind_those_of_lower_numbers() {
        let part = &with_runs().parts[0];
        let found = |number| part.run(number).map(|run| (run.run.number, run.index(), run.blocks(1..2)));
        assert_eq!(found(0), Some((0, 0..7, 107..207)));
        assert_eq!(found(3), Some((3, 507..514, 614..714)));
        assert_eq!(found(u32::MAX), Some((u32::MAX, 1014..1015, 1024..1033)));
        assert_eq!(found(1), None);
        assert_eq!(part.stored_bytes(), manifest().parts[0].stored_bytes() + 1033);
    }

    #[test]
    fn a_part_with_deleted_rows_has_no_run_that_counts() {
        let mut manifest = with_runs();
        let found = |manifest: &Manifest| [0, 1, 3, u32::MAX].map(|number| manifest.parts[0].has_run(number));
        assert_eq!(found(&manifest), [true, false, true, true]);
        let file = PartFile { digest: Digest::of(b"dead"), bytes: 20 };
        manifest.parts[0].dead = Some(Dead { rows: 1, file });
        manifest.check().unwrap();
        assert_eq!(found(&manifest), [false; 4]);
        manifest.parts[0].runs = None;
        assert_eq!(found(&manifest), [false; 4]);
    }

    #[test]
    fn every_rule_of_runs_is_checked() {
        with_runs().check().unwrap();
        let alone = |change: &dyn Fn(&mut Runs)| {
            let mut manifest = with_runs();
            manifest.parts[0].runs.iter_mut().for_each(change);
            manifest.check().err().map(|error| error.to_string())
        };
        let refused = |index| Some(TableError::from(ManifestFault::Runs { index }).to_string());
        let repeated = |index| Some(TableError::from(ManifestFault::RunsRepeated { index }).to_string());
        // Other runs, in a file of their size.
        let of = |list: &[StoredRun]| alone(&|found| *found = runs(1, list).unwrap());
        let many: Vec<_> = (0..33).map(numbered).collect();
        assert_eq!(of(&many[..32]), None);
        assert_eq!(of(&many), refused(0));
        assert_eq!(of(&[]), refused(0));
        assert_eq!(of(&[RUN, RUN]), refused(0));
        assert_eq!(of(&[numbered(4), RUN]), refused(0));
        assert_eq!(of(&[StoredRun { index_bytes: 0, ..RUN }]), refused(0));
        assert_eq!(of(&[StoredRun { blocks: 0, ..RUN }]), refused(0));
        assert_eq!(of(&[StoredRun { block_bytes: 0, ..RUN }]), refused(0));
        let full = StoredRun { number: 3, index_bytes: 1 << 29, blocks: 1 << 9, block_bytes: 1 << 20 };
        assert_eq!(of(&[full]), None);
        assert_eq!(of(&[StoredRun { index_bytes: (1 << 29) + 1, ..full }]), refused(0));
        let largest = StoredRun { number: 3, index_bytes: u32::MAX, blocks: u32::MAX, block_bytes: u32::MAX };
        assert_eq!(of(&[largest]), refused(0));
        assert_eq!(alone(&|runs| runs.file.bytes += 1), refused(0));
        assert_eq!(alone(&|runs| runs.file.bytes -= 1), refused(0));
        assert_eq!(alone(&|runs| runs.id = RunsId::from_bytes([2; 16])), repeated(1));
        assert_eq!(alone(&|runs| runs.file.digest = Digest::of(&[2])), repeated(1));
        let mut manifest = with_runs();
        let (device, stream) = (DeviceId::from_bytes([5; 16]), StreamId::from_bytes([4; 16]));
        manifest.parts[1].delivery = Some(DeliveryId { device, stream, number: 0 });
        assert_eq!(manifest.check().err().map(|error| error.to_string()), refused(1));
        assert!(!manifest.suits(&manifest.parts[1]));
    }

    #[test]
    fn runs_stay_with_their_part() {
        let mut manifest = with_runs();
        let other = PartEntry { runs: None, ..manifest.parts[0].clone() };
        manifest.splice_parts(0..1, [other.clone(), other]);
        let found: Vec<_> = manifest.parts.iter().map(|part| part.runs.clone()).collect();
        assert_eq!(found, [None, None, runs(2, &[RUN])]);
    }
}
