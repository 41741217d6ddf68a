// SPDX-License-Identifier: Apache-2.0
//! The zone file of a version, written and read.

use std::ops::Range;

use super::TableStore;
use super::append::PartBounds;
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

    /// Stores the zone file of a manifest in the making, of which new parts took the place of those in `replaced` of an earlier version
    /// with the zones `before`, and names it there; takes its zone file away if it gets none. Parts of which nothing was known stay so.
    ///
    /// # Errors
    /// [`TableError::Io`].
    pub fn put_spliced_zones(
        &self,
        manifest: &mut Manifest,
        before: &Zones,
        replaced: Range<usize>,
        new: PartBounds,
    ) -> Result<(), TableError> {
        let columns = manifest.clear_schema()?;
        let mut zones = ZonesWriter::new(columns.as_ref());
        zones.extend(before, 0..replaced.start)?;
        // Behind the last part of which something is known nothing can be said.
        if before.parts() >= replaced.start {
            zones.append(new.0)?;
            zones.extend(before, replaced.end..before.parts())?;
        }
        manifest.zones = None;
        let Some(written) = zones.finish()? else { return Ok(()) };
        manifest.zones = Some(written.file);
        self.put_part(&written)
    }

    /// Stores the zone file of a manifest in the making whose parts all have these bounds, and names it there; takes its zone file away if it gets
    /// none.
    ///
    /// # Errors
    /// [`TableError::Io`].
    pub fn put_bounds(&self, manifest: &mut Manifest, bounds: PartBounds) -> Result<(), TableError> {
        manifest.zones = None;
        let Some(written) = bounds.0.finish()? else { return Ok(()) };
        manifest.zones = Some(written.file);
        self.put_part(&written)
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
