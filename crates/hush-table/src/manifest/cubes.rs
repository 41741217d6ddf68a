// SPDX-License-Identifier: Apache-2.0
//! The cubes of parts: where the manifest names them, and what that is allowed to say.
// Bytes from outside are cut by pattern and `get`, numbers from outside added with care.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::{MAX_PART_BYTES, Manifest, PartEntry, PartFile};
use crate::digest::CubesId;
use crate::error::ManifestFault;
use crate::part::MAX_CUBES;

/// The cubes of a part.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cubes {
    /// Random; no other part of the table has the same.
    pub id: CubesId,
    /// Numbers of the cubes, rising.
    pub numbers: Vec<u32>,
    /// Their file ([`crate::PartCubes`]).
    pub file: PartFile,
}

impl PartEntry {
    /// Whether a cube stands for the part's rows: the part has it, and all the rows that it had when the cube was made.
    pub fn has_cube(&self, number: u32) -> bool {
        let cubes = self.cubes.as_ref().filter(|_| self.dead.is_none());
        cubes.is_some_and(|cubes| cubes.numbers.binary_search(&number).is_ok())
    }
}

/// What can be said of the cubes of a part without the others. Devices make none: they have not the owner's key.
pub(super) fn check_alone(index: usize, part: &PartEntry) -> Result<(), ManifestFault> {
    let Some(Cubes { numbers, file, .. }) = &part.cubes else { return Ok(()) };
    let fits = (1..=MAX_CUBES).contains(&numbers.len())
        && numbers.is_sorted_by(|before, after| before < after)
        && (1..=MAX_PART_BYTES).contains(&file.bytes)
        && part.delivery.is_none();
    if fits { Ok(()) } else { Err(ManifestFault::Cubes { index }) }
}

/// No two parts have the same cubes: the pads of both would be the same, which tells the difference of the sums.
pub(super) fn check(manifest: &Manifest) -> Result<(), ManifestFault> {
    let (mut ids, mut files) = (HashSet::new(), HashSet::new());
    let cubes =
        manifest.parts.iter().enumerate().filter_map(|(index, part)| Some((index, part.cubes.as_ref()?)));
    for (index, cubes) in cubes {
        if !ids.insert(cubes.id) || !files.insert(cubes.file.digest) {
            return Err(ManifestFault::CubesRepeated { index });
        }
    }
    Ok(())
}
