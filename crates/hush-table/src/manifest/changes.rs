// SPDX-License-Identifier: Apache-2.0
//! What the versions of a table have changed, as its owner wrote it down.
// Bytes from outside are cut by pattern and `get`, numbers from outside added with care.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::Manifest;
use crate::error::{Counted, ManifestFault};

/// Most changes that a table remembers; then the oldest one is forgotten for each new one.
pub const MAX_CHANGES: usize = 1 << 16;

/// What one version has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The version.
    pub version: u64,
    /// When, by the owner's clock, in seconds since the beginning of 1970.
    pub at: u64,
    /// What was done.
    pub what: ChangeKind,
    /// Rows that came.
    pub added: u64,
    /// Rows that went.
    pub removed: u64,
}

/// What was done to a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// All rows were encrypted from their source.
    Encrypt,
    /// Rows of the owner's were added.
    Append,
    /// Rows of devices were taken in.
    Accept,
    /// Rows got new values.
    Update,
    /// Rows were deleted.
    Delete,
    /// Parts were written anew, without their deleted rows.
    Compact,
    /// Something was decided about devices.
    Devices,
    /// The table got another owner's key, or new secrets for the rows to come.
    Rotate,
    /// Columns were added, dropped, renamed, widened or given a further purpose.
    Alter,
}

impl ChangeKind {
    /// Its name in commands and formats.
    pub fn name(self) -> &'static str {
        match self {
            Self::Encrypt => "encrypt",
            Self::Append => "append",
            Self::Accept => "accept",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Compact => "compact",
            Self::Devices => "devices",
            Self::Rotate => "rotate",
            Self::Alter => "alter",
        }
    }
}

impl Manifest {
    /// Writes down what this version changes, now. To be called once its number is set.
    pub fn record(&mut self, what: ChangeKind, added: u64, removed: u64) {
        let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let too_many = self.changes.len().saturating_add(1).saturating_sub(MAX_CHANGES);
        self.changes.drain(..too_many.min(self.changes.len()));
        self.changes.push(Change { version: self.version, at, what, added, removed });
    }
}

/// Changes are few enough, and each is of a later version than the one before, up to this version.
pub(super) fn check(manifest: &Manifest) -> Result<(), ManifestFault> {
    let changes = &manifest.changes;
    if changes.len() > MAX_CHANGES {
        let (found, limit) = (changes.len() as u64, MAX_CHANGES as u64);
        return Err(ManifestFault::TooMany { what: Counted::Changes, found, limit });
    }
    let mut before = 0;
    let wrong = changes.iter().position(|change| {
        let is_possible = before < change.version && change.version <= manifest.version;
        before = change.version;
        !is_possible
    });
    wrong.map_or(Ok(()), |index| Err(ManifestFault::Change { index }))
}
