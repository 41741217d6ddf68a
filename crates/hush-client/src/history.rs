// SPDX-License-Identifier: Apache-2.0
//! What the versions of a table have changed, by its signed manifest.

use hush_plan::schema::units::format_timestamp;
use hush_table::manifest::ChangeKind;
use hush_table::{Manifest, SignedManifest, named_files};
use serde::Serialize;

use crate::error::ClientError;
use crate::owner::OwnerKey;
use crate::pins::Pins;
use crate::place::TablePlace;

/// A table's versions and what it holds now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct History {
    /// The table's name.
    pub table: String,
    /// Its version.
    pub version: u64,
    /// Rows that were not deleted.
    pub living_rows: u64,
    /// Rows that were deleted and that its parts still hold.
    pub deleted_rows: u64,
    /// Rows that its parts hold.
    pub stored_rows: u64,
    /// Parts.
    pub parts: u64,
    /// Bytes of its files, without the manifest.
    pub bytes: u64,
    /// What its versions have changed, the newest first.
    pub versions: Vec<VersionChange>,
    /// The first version of which the table says what it changed; `None` if it says so of none.
    pub since: Option<u64>,
}

/// What one version has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VersionChange {
    /// The version.
    pub version: u64,
    /// When it was made, by its owner's clock: `2026-11-25T16:00:00Z`.
    pub at: String,
    /// What was done: `encrypt`, `append`, `accept`, `update`, `delete`, `compact` or `devices`.
    pub what: &'static str,
    /// Rows that came.
    pub added: u64,
    /// Rows that went.
    pub removed: u64,
    /// Rows of this version that were not deleted; `None` where a version between it and the present one does not say what it changed.
    pub living_rows: Option<u64>,
}

/// What the versions of a table have changed, as its owner has written it down in the manifest. Nothing but the manifest is read.
///
/// With `key` the table must be this key's, and of no version before the one seen last. Without it, whoever signed the manifest is believed.
///
/// # Errors
/// No table there; a damaged manifest; another key, a rollback; another table than the one seen there.
pub fn history(place: TablePlace<'_>, key: Option<&OwnerKey>, pins: &Pins) -> Result<History, ClientError> {
    let signed: SignedManifest = match key {
        Some(key) => place.open(key.seed(), pins)?.manifest,
        None => place.look(pins)?,
    };
    Ok(History::of(signed.manifest()))
}

impl History {
    /// The history that a manifest tells.
    pub fn of(manifest: &Manifest) -> Self {
        // Counted back from the present rows, as far as each version says what it has changed.
        let (mut next, mut living) = (manifest.version, Some(manifest.living_rows()));
        let mut versions = Vec::with_capacity(manifest.changes.len());
        for change in manifest.changes.iter().rev() {
            living = living.filter(|_| change.version == next);
            versions.push(VersionChange {
                version: change.version,
                at: utc(change.at),
                what: ChangeKind::name(change.what),
                added: change.added,
                removed: change.removed,
                living_rows: living,
            });
            living = living
                .and_then(|living| living.checked_add(change.removed))
                .and_then(|before| before.checked_sub(change.added));
            next = change.version.saturating_sub(1);
        }
        Self {
            table: manifest.table.clone(),
            version: manifest.version,
            living_rows: manifest.living_rows(),
            deleted_rows: manifest.dead_rows(),
            stored_rows: manifest.rows,
            parts: manifest.parts.len() as u64,
            bytes: named_files(manifest).fold(0, |sum: u64, (_, file)| sum.saturating_add(file.bytes)),
            since: versions.last().map(|first| first.version),
            versions,
        }
    }
}

/// Seconds since 1970 as `2026-11-25T16:00:00Z`; of years after 9999, the last second.
pub(crate) fn utc(seconds: u64) -> String {
    let micros = i128::from(seconds) * 1_000_000;
    let text = format_timestamp(micros);
    let whole = text.split('.').next().unwrap_or_default();
    format!("{whole}Z")
}

#[cfg(test)]
mod tests;
