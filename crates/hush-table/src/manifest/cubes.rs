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

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::digest::Digest;
    use crate::error::TableError;
    use crate::fixture::{manifest, sign};
    use crate::manifest::{Dead, SignedManifest};
    use crate::{DeliveryId, DeviceId, StreamId};

    fn cubes(byte: u8, numbers: &[u32]) -> Option<Cubes> {
        let file = PartFile { digest: Digest::of(&[byte]), bytes: 100 };
        Some(Cubes { id: CubesId::from_bytes([byte; 16]), numbers: numbers.to_vec(), file })
    }

    fn with_cubes() -> Manifest {
        let mut manifest = manifest();
        manifest.parts[0].cubes = cubes(1, &[0, 3, u32::MAX]);
        manifest.parts[1].cubes = cubes(2, &[3]);
        manifest
    }

    #[test]
    fn cubes_stand_behind_the_deleted_rows_of_their_part() {
        let text = String::from_utf8(with_cubes().to_json().unwrap()).unwrap();
        let digest = Digest::of(&[2]);
        let id = "02".repeat(16);
        let member = format!(
            ",\"cubes\":{{\"id\":\"{id}\",\"numbers\":[3],\"file\":{{\"digest\":\"{digest}\",\"bytes\":100}}}}}}]"
        );
        assert!(text.contains(&member), "{text}");
        let signed = sign(with_cubes());
        assert_eq!(SignedManifest::decode(signed.as_bytes()).unwrap(), signed);
        assert!(!String::from_utf8(manifest().to_json().unwrap()).unwrap().contains("cubes"));
    }

    #[test]
    fn a_part_with_deleted_rows_has_no_cube_that_counts() {
        let mut manifest = with_cubes();
        let found =
            |manifest: &Manifest| [0, 1, 3, u32::MAX].map(|number| manifest.parts[0].has_cube(number));
        assert_eq!(found(&manifest), [true, false, true, true]);
        let file = PartFile { digest: Digest::of(b"dead"), bytes: 20 };
        manifest.parts[0].dead = Some(Dead { rows: 1, file });
        manifest.check().unwrap();
        assert_eq!(found(&manifest), [false; 4]);
        manifest.parts[0].cubes = None;
        assert_eq!(found(&manifest), [false; 4]);
    }

    #[test]
    fn every_rule_of_cubes_is_checked() {
        with_cubes().check().unwrap();
        let alone = |change: fn(&mut Cubes)| {
            let mut manifest = with_cubes();
            manifest.parts[0].cubes.iter_mut().for_each(change);
            manifest.check().err().map(|error| error.to_string())
        };
        let refused = |index| Some(TableError::from(ManifestFault::Cubes { index }).to_string());
        let repeated = |index| Some(TableError::from(ManifestFault::CubesRepeated { index }).to_string());
        assert_eq!(alone(|cubes| cubes.numbers = (0..64).collect()), None);
        assert_eq!(alone(|cubes| cubes.numbers = (0..65).collect()), refused(0));
        assert_eq!(alone(|cubes| cubes.numbers = Vec::new()), refused(0));
        assert_eq!(alone(|cubes| cubes.numbers = vec![3, 3]), refused(0));
        assert_eq!(alone(|cubes| cubes.numbers = vec![4, 3]), refused(0));
        assert_eq!(alone(|cubes| cubes.file.bytes = 0), refused(0));
        assert_eq!(alone(|cubes| cubes.file.bytes = MAX_PART_BYTES), None);
        assert_eq!(alone(|cubes| cubes.file.bytes = MAX_PART_BYTES + 1), refused(0));
        assert_eq!(alone(|cubes| cubes.id = CubesId::from_bytes([2; 16])), repeated(1));
        assert_eq!(alone(|cubes| cubes.file.digest = Digest::of(&[2])), repeated(1));
        let mut manifest = with_cubes();
        let (device, stream) = (DeviceId::from_bytes([5; 16]), StreamId::from_bytes([4; 16]));
        manifest.parts[1].delivery = Some(DeliveryId { device, stream, number: 0 });
        assert_eq!(manifest.check().err().map(|error| error.to_string()), refused(1));
        assert!(!manifest.suits(&manifest.parts[1]));
    }

    #[test]
    fn cubes_stay_with_their_part() {
        let mut manifest = with_cubes();
        let other = PartEntry { cubes: None, ..manifest.parts[0].clone() };
        manifest.splice_parts(0..1, [other.clone(), other]);
        let found: Vec<_> = manifest.parts.iter().map(|part| part.cubes.clone()).collect();
        assert_eq!(found, [None, None, cubes(2, &[3])]);
    }
}
