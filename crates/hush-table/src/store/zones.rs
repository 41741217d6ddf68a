// SPDX-License-Identifier: Apache-2.0
//! The zone file of a version, written and read.

use super::TableStore;
use crate::error::TableError;
use crate::manifest::Manifest;
use crate::part::{FileKind, MIN_ZONED_PARTS, Zones, ZonesWriter};

impl TableStore {
    /// Reads the zone file of a version, all of it checked against its digest; `None` if it has none.
    ///
    /// # Errors
    /// As [`TableStore::open_part`]; [`TableError::BadPart`], [`TableError::Parquet`], [`TableError::TooLarge`] for a file that is none of
    /// this table.
    ///
    /// # Cost
    /// The size of the file, in one or two requests.
    pub fn zones(&self, manifest: &Manifest) -> Result<Option<Zones>, TableError> {
        let Some(file) = manifest.zones else { return Ok(None) };
        let source = self.part_at_hand(FileKind::Zones, &file)?;
        Zones::open(&source, manifest, file.digest).map(Some)
    }

    /// Stores the zone file of a manifest in the making, and names it there, if the table gets one: it has clear columns and at least
    /// [`MIN_ZONED_PARTS`] parts, which are all stored.
    ///
    /// # Errors
    /// Those of [`TableStore::open_clear`]; [`TableError::Io`].
    ///
    /// # Cost
    /// The footers of all parts.
    pub fn put_zones(&self, manifest: &mut Manifest) -> Result<(), TableError> {
        let columns = manifest.clear_schema()?;
        self.put_zones_with(manifest, ZonesWriter::new(columns.as_ref()))
    }

    /// As [`TableStore::put_zones`], where the bounds of the last parts are known.
    pub(super) fn put_zones_with(
        &self,
        manifest: &mut Manifest,
        known: ZonesWriter,
    ) -> Result<(), TableError> {
        if manifest.clear_columns.is_empty() || manifest.parts.len() < MIN_ZONED_PARTS {
            return Ok(());
        }
        let unknown = manifest.parts.len().saturating_sub(known.parts());
        let mut zones = ZonesWriter::new(manifest.clear_schema()?.as_ref());
        for entry in manifest.parts.iter().take(unknown) {
            zones.push(zones.row(&self.open_clear(manifest, entry)?)?)?;
        }
        zones.append(known)?;
        let Some(written) = zones.finish()? else { return Ok(()) };
        manifest.zones = Some(written.file);
        self.put_part(&written)
    }
}
