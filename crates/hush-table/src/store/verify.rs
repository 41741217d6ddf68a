// SPDX-License-Identifier: Apache-2.0
//! Checking a whole table before it is relied upon: what a server does once, when a version is committed.

use std::collections::HashMap;

use super::TableStore;
use crate::digest::Digest;
use crate::error::{PartFault, TableError};
use crate::manifest::Manifest;
use crate::part::{FileKind, Projection};

impl TableStore {
    /// Opens every file that a manifest names and checks digests, sizes, columns, chunk numbers, rows, bounds, lists of deleted rows, cubes, sorted
    /// runs, and that no two chunks of the table share a seed (which would tell the difference of their plaintexts).
    ///
    /// # Errors
    /// The first fault found: those of [`TableStore::open_encrypted`] and [`TableStore::open_clear`], or
    /// [`PartFault::RepeatedSeed`].
    ///
    /// # Cost
    /// One pass over all bytes for digests not yet checked; 40 bytes of memory per chunk for the seeds.
    pub fn verify(&self, manifest: &Manifest) -> Result<(), TableError> {
        for entry in &manifest.keys {
            self.open_part(FileKind::Key, &entry.file)?;
        }
        let zones = self.zones(manifest)?;
        let mut seeds = HashMap::new();
        let heads = Projection { seed: true, ..Projection::default() };
        for (index, (place, entry)) in manifest.placed_parts().enumerate() {
            self.dead_rows(entry)?;
            self.cubes(entry)?;
            if let Some(runs) = &entry.runs {
                self.open_part(FileKind::Runs, &runs.file)?;
            }
            if let Some(file) = &entry.clear {
                self.open_part(FileKind::Clear, file)?;
                let clear = self.open_clear(manifest, entry)?;
                let zones = zones.as_ref().filter(|zones| index < zones.parts());
                if let (Some(zones), Some(found)) = (zones, manifest.zones)
                    && !zones.agrees(index, &clear)?
                {
                    return Err(TableError::BadPart { part: found.digest, fault: PartFault::Zone { index } });
                }
            }
            let Some(file) = entry.encrypted else { continue };
            self.open_part(FileKind::Encrypted, &file)?;
            for chunk in self.open_encrypted(manifest, place, entry)?.read(&heads)? {
                let Some(seed) = chunk.seed else { continue };
                if let Some(first) = seeds.insert(seed, chunk.index) {
                    return Err(repeated(file.digest, first, chunk.index));
                }
            }
        }
        Ok(())
    }
}

fn repeated(part: Digest, first: u32, second: u32) -> TableError {
    TableError::BadPart { part, fault: PartFault::RepeatedSeed { first, second } }
}
